//! The body of a page in progress: markup, and counters that make ids unique.

use crate::chart::Width;
use crate::markup::Markup;
use crate::section::{Drawing, Figure};

/// A page in progress.
#[derive(Default)]
pub(crate) struct Sheet {
    pub out: Markup,
    sections: usize,
    charts: usize,
    wide_boxes: usize,
}

impl Sheet {
    /// Adds a section with its heading, which also labels it.
    pub(crate) fn section(&mut self, class: &str, heading: &str, body: impl FnOnce(&mut Sheet)) {
        self.sections += 1;
        let id = format!("section-{}", self.sections);
        let mut attributes = vec![("aria-labelledby", id.as_str())];
        if !class.is_empty() {
            attributes.insert(0, ("class", class));
        }
        self.out.open("section", &attributes);
        self.out.text("h2", &[("id", &id)], heading);
        body(self);
        self.out.close("section");
    }

    /// Adds a paragraph, unless it is empty.
    pub(crate) fn paragraph(&mut self, class: &str, text: &str) {
        if !text.is_empty() {
            self.out.text("p", &[("class", class)], text);
        }
    }

    /// Adds a chart with heading and caption; `small` ones are side by side.
    pub(crate) fn figure(&mut self, figure: &Figure, small: bool) {
        self.charts += 1;
        let id = format!("chart-{}", self.charts);
        self.out.open("figure", &[]);
        if !figure.heading.is_empty() {
            let class = figure.look.map_or(String::new(), |look| look.class());
            self.out.text("h3", &[("class", &class)], &figure.heading);
        }
        let widths: &[(Width, &str)] =
            if small { &[(Width::Narrow, "s")] } else { &[(Width::Wide, "w"), (Width::Narrow, "n")] };
        for (width, suffix) in widths {
            let id = format!("{id}-{suffix}");
            let svg = match &figure.drawing {
                Drawing::Chart(chart) => chart.svg(&id, *width),
                Drawing::Strips(strips) => strips.svg(&id, *width),
            };
            self.out.raw(&svg);
        }
        if !figure.caption.is_empty() || !figure.key.is_empty() {
            self.out.open("figcaption", &[]);
            self.out.content(&figure.caption);
            for (class, says) in &figure.key {
                self.out.open("span", &[("class", "key")]);
                self.out.open("i", &[("class", class)]);
                self.out.close("i");
                self.out.content(says);
                self.out.close("span");
            }
            self.out.close("figcaption");
        }
        self.out.close("figure");
    }

    /// Adds something that may be wider than the page, in a box that scrolls, also by keyboard.
    pub(crate) fn wide(&mut self, says: &str, body: impl FnOnce(&mut Sheet)) {
        self.wide_boxes += 1;
        // Regions need distinct labels.
        let name = format!("{says}, table {}", self.wide_boxes);
        self.out.open("div", &[("class", "wide-box"), ("role", "region"), ("tabindex", "0"), ("aria-label", &name)]);
        body(self);
        self.out.close("div");
    }
}
