//! Sections of text: notes, phases, facts, and preformatted text.

use crate::sheet::Sheet;

/// Notes for the reader.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// One line each.
    pub lines: Vec<String>,
}

/// The phases of a run, with the numbers that charts use.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    /// The heading.
    pub heading: String,
    /// The phases.
    pub phases: Vec<PhaseLine>,
}

/// A phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseLine {
    /// Its name.
    pub name: String,
    /// Its time.
    pub when: String,
    /// What it shows.
    pub about: String,
    /// The commands at its start, as typed.
    pub commands: Vec<String>,
}

/// Facts with names: the machine, and the origin of a run.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The heading.
    pub heading: String,
    /// The facts; empty ones are left out.
    pub facts: Vec<Fact>,
}

/// A fact.
#[derive(Clone, Debug, Default)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Preformatted text: a plan, or the command that repeats a run.
#[derive(Clone, Debug, Default)]
pub struct Preformatted {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The text.
    pub text: String,
    /// Whether lines may be wrapped, for text that is copied and need not align.
    pub wraps: bool,
}

impl Fact {
    /// A fact.
    pub fn of(name: impl Into<String>, value: impl Into<String>) -> Fact {
        Fact { name: name.into(), value: value.into() }
    }
}

impl Notes {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        if self.lines.is_empty() {
            return;
        }
        sheet.section("notes", "What to know when reading this", |sheet| {
            sheet.out.open("ul", &[]);
            self.lines.iter().for_each(|line| sheet.out.text("li", &[], line));
            sheet.out.close("ul");
        });
    }
}

impl Phases {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        if self.phases.is_empty() {
            return;
        }
        sheet.section("", &self.heading, |sheet| {
            sheet.out.open("ol", &[("class", "phases")]);
            for phase in &self.phases {
                sheet.out.open("li", &[]);
                sheet.out.open("div", &[]);
                sheet.out.text("strong", &[], &phase.name);
                sheet.out.text("span", &[("class", "when")], &phase.when);
                if !phase.about.is_empty() {
                    sheet.out.text("span", &[("class", "about")], &phase.about);
                }
                sheet.out.close("div");
                phase.commands.iter().for_each(|line| sheet.out.text("code", &[("class", "command")], line));
                sheet.out.close("li");
            }
            sheet.out.close("ol");
        });
    }
}

impl Facts {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        let told = || self.facts.iter().filter(|fact| !fact.value.is_empty());
        if told().next().is_none() {
            return;
        }
        sheet.section("", &self.heading, |sheet| {
            sheet.out.open("dl", &[]);
            for fact in told() {
                sheet.out.open("div", &[]);
                sheet.out.text("dt", &[], &fact.name);
                sheet.out.text("dd", &[], &fact.value);
                sheet.out.close("div");
            }
            sheet.out.close("dl");
        });
    }
}

impl Preformatted {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        if self.text.is_empty() {
            return;
        }
        sheet.section("", &self.heading, |sheet| {
            sheet.paragraph("lead", &self.lead);
            let class = if self.wraps { "wraps" } else { "" };
            sheet.out.open("pre", &[("tabindex", "0"), ("class", class)]);
            sheet.out.lines(&self.text);
            sheet.out.close("pre");
        });
    }
}
