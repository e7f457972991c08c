//! A page: one HTML file that is complete without scripts, other files or a network.
//!
//! It has a head and sections, and does not know what was run: each tool builds its sections (for a
//! plan's run that is [`crate::run_page`]). External text is escaped by [`crate::markup`]; figures
//! for the script are JSON without `<`.

use crate::markup::Markup;
use crate::palette;
use crate::section::Section;
use crate::sheet::Sheet;
use serde::Serialize;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// The version of the program that made it.
    pub version: String,
    /// When and on what it was measured, one line.
    pub facts: String,
    /// What it shows, one or two sentences.
    pub about: String,
    /// Warnings that nobody may overlook: that the device is simulated, or that results are not
    /// comparable.
    pub banners: Vec<String>,
    /// The sections in order.
    pub sections: Vec<Section>,
    /// Figures that a script shows for the second under the cursor; only for charts over time.
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
    /// Its time and phase.
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

    /// Says first that the run ended early, after `how_far`.
    pub fn cut_short(&mut self, how_far: &str) {
        self.banners.insert(0, cut_short(how_far));
    }

    /// Adds a section at the end.
    pub fn add(&mut self, section: impl Into<Section>) {
        self.sections.push(section.into());
    }

    /// The page as the content of a file.
    pub fn render(&self) -> String {
        let mut sheet = Sheet::default();
        self.head(&mut sheet.out);
        sheet.out.open("main", &[]);
        self.sections.iter().for_each(|section| section.draw(&mut sheet));
        sheet.out.close("main");
        let mut out = sheet.out;
        if let Some(seconds) = self.seconds.as_ref().filter(|seconds| !seconds.seconds.is_empty()) {
            // Without `<` it cannot close the element.
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
        // HTML does not allow control characters, escaped or not.
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

/// The warning on a run that ended early, after `how_far`.
pub(crate) fn cut_short(how_far: &str) -> String {
    format!("Cut short: {how_far}, figures are up to there")
}

/// Light, or dark if the reader's system is; light when printed.
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
