//! Finds lines in a plan's text again, for errors that are found after it was read.

use super::{Plan, unfold};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A step from a part of a plan's text into a part of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStep<'a> {
    /// The value of a key.
    Key(&'a str),
    /// The table with this name in an array of tables.
    Named(&'a str),
    /// This text in an array.
    Text(&'a str),
    /// The phase with this name; plans of databases call them arms.
    Phase(&'a str),
}

impl Plan {
    /// `file:line` of the part of the plan to which the steps lead. Steps from the first one that
    /// leads nowhere are ignored; for a missing key this is the line of its table.
    pub fn at(&self, steps: &[PlanStep<'_>]) -> String {
        format!("{}:{}", self.file, line_of(&self.text, steps))
    }

    /// `file:line` of a volume's key, or of the volume if it does not have the key.
    pub fn at_volume(&self, name: &str, key: &str) -> String {
        self.at(&[PlanStep::Key("volume"), PlanStep::Named(name), PlanStep::Key(key)])
    }

    /// `file:line` of a workload's key, or of the workload if it does not have the key.
    pub fn at_workload(&self, name: &str, key: &str) -> String {
        self.at(&[PlanStep::Key("workload"), PlanStep::Named(name), PlanStep::Key(key)])
    }

    /// `file:line` of a command that is run at the start of a phase or arm: its own, or one that a
    /// plan of a database runs before each arm.
    pub fn at_command(&self, phase: &str, command: &str) -> String {
        let own = [PlanStep::Phase(phase), PlanStep::Key("commands"), PlanStep::Text(command)];
        let shared = |key| [PlanStep::Key("policies"), PlanStep::Key(key), PlanStep::Text(command)];
        let places = [own, shared("create"), shared("reset")];
        let line = places.iter().find_map(|steps| find(&self.text, steps).ok());
        format!("{}:{}", self.file, line.unwrap_or_else(|| line_of(&self.text, &own)))
    }
}

/// The line, from 1, of the part of `text` to which the steps lead; see [`Plan::at`].
pub fn line_of(text: &str, steps: &[PlanStep<'_>]) -> u32 {
    let (Ok(line) | Err(line)) = find(text, steps);
    line
}

/// The line to which all steps lead, or as an error the line to which the first ones of them lead.
fn find(text: &str, steps: &[PlanStep<'_>]) -> Result<u32, u32> {
    let document = DeTable::parse_recoverable(text).0;
    let root = Place { at: 0, part: Part::Table(document.get_ref()) };
    let last = steps.iter().try_fold(root, |place, step| place.step(*step).ok_or(place));
    let line = |place: Place<'_>| 1 + text[..place.at.min(text.len())].matches('\n').count() as u32;
    last.map(line).map_err(line)
}

/// A part of the text, and where it begins.
#[derive(Clone, Copy)]
struct Place<'t> {
    at: usize,
    part: Part<'t>,
}

#[derive(Clone, Copy)]
enum Part<'t> {
    Table(&'t DeTable<'t>),
    Value(&'t DeValue<'t>),
}

impl<'t> Place<'t> {
    fn step(self, step: PlanStep<'_>) -> Option<Place<'t>> {
        match (step, self.part) {
            (PlanStep::Key(name), Part::Table(table) | Part::Value(DeValue::Table(table))) => {
                let (key, value) = table.get_key_value(name)?;
                Some(Place { at: key.span().start, part: Part::Value(value.get_ref()) })
            }
            (PlanStep::Named(name), Part::Value(DeValue::Array(tables))) => {
                let is_it = |table: &&'t Spanned<DeValue<'t>>| {
                    let given = table.get_ref().get("name").and_then(|given| given.get_ref().as_str());
                    given.is_some_and(|given| given == name || unfold(given).iter().any(|one| one == name))
                };
                tables.iter().find(is_it).map(of)
            }
            (PlanStep::Text(text), Part::Value(DeValue::Array(texts))) => {
                texts.iter().find(|value| value.get_ref().as_str() == Some(text)).map(of)
            }
            (PlanStep::Phase(name), _) => {
                let tables = self.step(PlanStep::Key("phase")).or_else(|| self.step(PlanStep::Key("arm")))?;
                tables.step(PlanStep::Named(name))
            }
            _ => None,
        }
    }
}

fn of<'t>(value: &'t Spanned<DeValue<'t>>) -> Place<'t> {
    Place { at: value.span().start, part: Part::Value(value.get_ref()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "title = \"t\"\n\n[[volume]]\nname = \"a\"\n[[volume]]\nname = \"dev{1..3}\"\nsize = \"1GB\"\n\
                        [[phase]]\nname = \"one\"\ncommands = [\n    \"x\",\n    \"y\",\n]\nw = { depth = 1 }\n";

    #[test]
    fn steps_lead_to_lines() {
        let volume = |name, key| line_of(TEXT, &[PlanStep::Key("volume"), PlanStep::Named(name), PlanStep::Key(key)]);
        assert_eq!((volume("dev2", "size"), volume("dev2", "name")), (7, 6));
        assert_eq!((volume("a", "size"), volume("dev3", "place")), (3, 5), "without the key it is the table");
        assert_eq!(volume("none", "size"), 3, "without the table it is the first of the tables");
        let phase = |last: &[PlanStep<'_>]| line_of(TEXT, &[&[PlanStep::Phase("one")], last].concat());
        assert_eq!(phase(&[PlanStep::Key("commands"), PlanStep::Text("y")]), 12);
        assert_eq!(phase(&[PlanStep::Key("commands"), PlanStep::Text("z")]), 10);
        assert_eq!(phase(&[PlanStep::Key("w"), PlanStep::Key("depth")]), 14);
        assert_eq!(line_of(TEXT, &[]), 1);
        assert_eq!(line_of("\n[[arm]]\nname = \"one\"\nw = 1\n", &[PlanStep::Phase("one"), PlanStep::Key("w")]), 4);
    }
}
