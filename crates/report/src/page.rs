//! A page: one HTML file that needs nothing else, no script to be complete, no file beside it, no
//! network.
//!
//! It has a head and sections, and knows nothing of what ran: each tool builds its sections (for a
//! run of a plan it is [`crate::run_page`]). Everything from outside is escaped by
//! [`crate::markup`], the figures for the script as JSON without `<`.

use crate::markup::Markup;
use crate::palette;
use crate::section::Section;
use crate::sheet::Sheet;
use serde::Serialize;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What it is called.
    pub title: String,
    /// The version of the program that made it.
    pub version: String,
    /// When and on what it was measured, in a line.
    pub facts: String,
    /// What it shows, in a sentence or two.
    pub about: String,
    /// What nobody may overlook: that it is no real device, that it is not comparable.
    pub banners: Vec<String>,
    /// The sections, in the order of reading.
    pub sections: Vec<Section>,
    /// What a script shows of the second under the cursor; charts over time alone have such.
    pub seconds: Option<Seconds>,
}

/// The figures of every second.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seconds {
    /// The names of the figures.
    pub headings: Vec<&'static str>,
    /// The seconds, in order.
    pub seconds: Vec<Second>,
}

/// The figures of a second.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Second {
    /// When, and in which phase.
    pub at: String,
    /// Its middle, in seconds from the start.
    pub middle: f64,
    /// For each workload the number of its colour, its name, and its figures.
    pub rows: Vec<(usize, String, Vec<String>)>,
}

impl Page {
    /// A page with a title.
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Page {
        Page { title: title.into(), version: version.into(), ..Page::default() }
    }

    /// Adds a section behind those that are there.
    pub fn add(&mut self, section: impl Into<Section>) {
        self.sections.push(section.into());
    }

    /// The page as a file's content.
    pub fn render(&self) -> String {
        let mut sheet = Sheet::default();
        self.head(&mut sheet.out);
        sheet.out.open("main", &[]);
        self.sections.iter().for_each(|section| section.draw(&mut sheet));
        sheet.out.close("main");
        let mut out = sheet.out;
        if let Some(seconds) = self.seconds.as_ref().filter(|seconds| !seconds.seconds.is_empty()) {
            // Without `<` nothing in it can end the element.
            let json = serde_json::to_string(seconds).expect("strings and finite numbers").replace('<', "\\u003c");
            out.raw(&format!(
                "<div id=\"hover\" hidden></div>\n<script type=\"application/json\" id=\"seconds\">{json}</script>\n\
                 <script>{}</script>\n",
                include_str!("../templates/page.js")
            ));
        }
        let mut html = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n");
        let mut head = Markup::default();
        head.raw("<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        head.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
        head.text("title", &[], &format!("{} · Seawall", self.title));
        html += &head.finish();
        html += &format!("<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n", style(), out.finish());
        // Control characters are no part of HTML, escaped or not.
        html.retain(|c| !c.is_control() || c == '\n' || c == '\t');
        html
    }

    fn head(&self, out: &mut Markup) {
        out.open("header", &[]);
        out.text("p", &[("class", "maker")], format!("Seawall {}", self.version).trim_end());
        out.text("h1", &[], &self.title);
        for (class, text) in [("facts", &self.facts), ("lead", &self.about)] {
            if !text.is_empty() {
                out.text("p", &[("class", class)], text);
            }
        }
        self.banners.iter().for_each(|banner| out.text("p", &[("class", "banner")], banner));
        out.close("header");
    }
}

/// Light, and dark where the reader's system is; paper is always light.
fn style() -> String {
    let set = |colours: &palette::Palette| {
        let styles = [palette::chart_style(colours), palette::strip_style(colours), palette::shade_style(colours)];
        format!(":root{{{}}}{}", palette::variables(colours), styles.concat())
    };
    format!(
        "{}@media screen and (prefers-color-scheme:dark){{{}}}{}",
        set(&palette::LIGHT),
        set(&palette::DARK),
        include_str!("../templates/page.css")
    )
}
