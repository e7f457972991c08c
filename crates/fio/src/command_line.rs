//! fio's command line: flags of the run, job files, and options of jobs, in any order.
//!
//! Options of jobs before the first `--name`, or after `--name=global`, are defaults. Every other
//! `--name` begins a job. Both `--option=value` and `--option value` are accepted. If the value is
//! optional, the next argument is taken only if it is 0 or 1.

use crate::catalogue::{self, Form};
use crate::error::{Error, Place, Problem};
use crate::expansion;
use crate::flags::{Flag, Flags, MISSING};
use crate::script::{Script, Section, Setting};
use crate::world::World;
use std::slice::Iter;

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Flags of the run.
    pub flags: Flags,
    /// Its own sections.
    pub script: Script,
    /// The job files that it names, in order.
    pub files: Vec<String>,
}

/// Parses the arguments, without the program's name.
///
/// # Errors
/// A flag or option is unknown, or its value is missing.
pub fn read(arguments: &[String], world: &dyn World) -> Result<CommandLine, Error> {
    let mut line = CommandLine::default();
    // This flag changes how all others are read, wherever it is.
    line.flags.strict_fio = arguments.iter().any(|argument| argument == "--strict-fio");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix("--") {
            Some("") => line.files.extend(rest.by_ref().cloned()),
            Some(option) => line.option(option, &mut rest, world)?,
            None if argument.len() > 1 && argument.starts_with('-') => line.short(argument)?,
            None => line.files.push(argument.clone()),
        }
    }
    Ok(line)
}

impl CommandLine {
    /// One option; its value may be the next argument.
    fn option(&mut self, typed: &str, rest: &mut Iter<'_, String>, world: &dyn World) -> Result<(), Error> {
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (typed, None),
        };
        let name = self.whole_name(name);
        if let Some(flag) = Flag::find(&name) {
            return self.flag(flag, value, rest);
        }
        if let Some((_, instead)) = MISSING.iter().find(|(missing, _)| *missing == name) {
            let (option, instead) = (format!("--{name}"), (*instead).to_owned());
            return Err(self.problem(Problem::NotHere { option, instead }));
        }
        let value = match value {
            Some(value) => Some(value),
            None => self.value_behind(&name, rest)?,
        };
        if name == "name" {
            return self.open(value);
        }
        let value = value.map(|value| expansion::keywords(&value, world));
        let section = self.section();
        let place = section.place.clone();
        section.settings.push(Setting { option: name, value, place });
        Ok(())
    }

    fn flag(&mut self, flag: &Flag, value: Option<String>, rest: &mut Iter<'_, String>) -> Result<(), Error> {
        let value = match (flag.example, value) {
            (None, None) => String::new(),
            (None, Some(value)) => {
                let rule = format!("takes no value; write --{}", flag.name).into();
                return Err(self.problem(Problem::Value { option: format!("--{}", flag.name), value, rule }));
            }
            (Some(_), Some(value)) => value,
            (Some(""), None) => match rest.as_slice().first() {
                Some(next) if !next.starts_with('-') => rest.next().cloned().unwrap_or_default(),
                _ => String::new(),
            },
            (Some(example), None) => self.next_value(flag.name, example, rest)?,
        };
        flag.take(&mut self.flags, &value).map_err(|problem| self.problem(problem))
    }

    /// The value of a job's option if it is the next argument.
    fn value_behind(&self, name: &str, rest: &mut Iter<'_, String>) -> Result<Option<String>, Error> {
        // An unknown option takes no value. Its error is reported later, with its section.
        let Some(definition) = catalogue::find(name) else { return Ok(None) };
        let next = rest.as_slice().first();
        let takes_next = match definition.form {
            Form::Flag => false,
            Form::Bool if self.flags.strict_fio => true,
            Form::Bool => next.is_some_and(|next| matches!(next.as_str(), "0" | "1")),
            Form::Prefix => next.is_some_and(|next| !next.starts_with("--")),
            _ => true,
        };
        match takes_next {
            true => self.next_value(name, definition.form.example(), rest).map(Some),
            false => Ok(None),
        }
    }

    fn next_value(&self, name: &str, example: &str, rest: &mut Iter<'_, String>) -> Result<String, Error> {
        let missing = || self.problem(Problem::NeedsValue { option: format!("--{name}"), example: example.to_owned() });
        match rest.next() {
            Some(value) if self.flags.strict_fio || !value.starts_with("--") => Ok(value.clone()),
            _ => Err(missing()),
        }
    }

    /// `-h` and `-v`, as in fio.
    fn short(&mut self, argument: &str) -> Result<(), Error> {
        match argument {
            "-h" => self.flags.action = crate::flags::Action::Help,
            "-v" => self.flags.action = crate::flags::Action::Version,
            _ => {
                let bare = argument.trim_start_matches('-');
                let known =
                    Flag::find(bare).is_some() || catalogue::find(bare.split('=').next().unwrap_or(bare)).is_some();
                let nearest = known.then(|| format!("-{argument}"));
                return Err(self.problem(Problem::UnknownOption { option: argument.to_owned(), nearest }));
            }
        }
        Ok(())
    }

    fn open(&mut self, name: Option<String>) -> Result<(), Error> {
        let name = name.unwrap_or_default();
        if name.is_empty() {
            return Err(self.problem(Problem::NeedsValue { option: "--name".into(), example: "reader".into() }));
        }
        let place = Place { section: Some(name.clone()), ..Place::default() };
        let is_global = name == "global";
        self.script.sections.push(Section { name, is_global, settings: Vec::new(), place });
        Ok(())
    }

    /// The current section; initially that of the defaults.
    fn section(&mut self) -> &mut Section {
        if self.script.sections.is_empty() {
            let place = Place::default();
            self.script.sections.push(Section { name: "global".into(), is_global: true, settings: Vec::new(), place });
        }
        let last = self.script.sections.len() - 1;
        &mut self.script.sections[last]
    }

    /// fio accepts an unambiguous abbreviation of a name.
    fn whole_name(&self, typed: &str) -> String {
        let known = |name: &str| Flag::find(name).is_some() || catalogue::find(name).is_some();
        if known(typed) {
            return typed.to_owned();
        }
        if !self.flags.strict_fio {
            // fio's options have underscores and its flags hyphens. They are easily mixed up, and
            // no name is ambiguous.
            let other = [typed.replace('-', "_"), typed.replace('_', "-")].into_iter().find(|name| known(name));
            return other.unwrap_or_else(|| typed.to_owned());
        }
        let options = catalogue::all().flat_map(|d| std::iter::once(&d.name).chain(d.aliases)).copied();
        let mut begin =
            crate::flags::FLAGS.iter().map(|flag| flag.name).chain(options).filter(|n| n.starts_with(typed));
        match (begin.next(), begin.next()) {
            (Some(only), None) => only.to_owned(),
            _ => typed.to_owned(),
        }
    }

    fn problem(&self, problem: Problem) -> Error {
        let section = self.script.sections.last().filter(|section| !section.is_global);
        let place = Place { section: section.map(|section| section.name.clone()), ..Place::default() };
        Error { place, problem: Box::new(problem) }
    }
}

/// The flag of the run that was probably meant.
pub fn nearest_flag(typed: &str) -> Option<String> {
    nearest::to(typed, crate::flags::FLAGS.iter().map(|flag| flag.name)).map(|name| format!("--{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Action, Eta, Format};
    use crate::world::Given;
    use block::Span;

    fn line(text: &str) -> Result<CommandLine, String> {
        let arguments: Vec<String> = text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        read(&arguments, &Given::default()).map_err(|error| error.to_string())
    }

    fn sections_of(line: &CommandLine) -> Vec<String> {
        let section = |section: &Section| {
            let settings = section.settings.iter().map(|setting| match &setting.value {
                Some(value) => format!(" {}={value}", setting.option),
                None => format!(" {}", setting.option),
            });
            format!("{}:{}", section.name, settings.collect::<String>())
        };
        line.script.sections.iter().map(section).collect()
    }

    #[test]
    fn both_spellings_and_the_order_of_names() {
        let line = line(
            "--bs=4k a.fio --name=x --runtime 60 --time_based --direct --norandommap --name=global --rw=read --name y b.fio",
        );
        let line = line.unwrap();
        assert_eq!(
            sections_of(&line),
            ["global: bs=4k", "x: runtime=60 time_based direct norandommap", "global: rw=read", "y:"]
        );
        assert_eq!(line.files, ["a.fio", "b.fio"]);
    }

    #[test]
    fn flags_of_the_run_belong_to_no_job() {
        let line = line(
            "--name=x --eta-newline=1 --output-format=normal,json+,json --eta never --showcmd --section=a --section b",
        );
        let line = line.unwrap();
        assert_eq!(sections_of(&line), ["x:"]);
        assert_eq!(line.flags.eta_newline, Some(Span::SECOND));
        assert_eq!(line.flags.formats, [Format::JsonPlus, Format::Normal]);
        assert_eq!((line.flags.eta, line.flags.action), (Eta::Never, Action::ShowCommand));
        assert_eq!(line.flags.sections, ["a", "b"]);
    }

    #[test]
    fn a_flag_takes_0_or_1_and_nothing_else() {
        assert_eq!(sections_of(&line("--name=x --direct 1 --bs=4k").unwrap()), ["x: direct=1 bs=4k"]);
        assert_eq!(sections_of(&line("--name=x --direct a.fio").unwrap()), ["x: direct"]);
        // fio takes whatever comes next.
        assert_eq!(sections_of(&line("--strict-fio --name=x --direct --bs=4k").unwrap()), ["x: direct=--bs=4k"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("--name=x --bs --rw=read", "[x]: --bs: needs a value, as in --bs=4k"),
            ("--name=x --bs", "needs a value"),
            ("--name", "needs a value"),
            ("--output-format=xml", "--output-format=xml: must be one of"),
            ("--showcmd=1", "takes no value"),
            ("--client=h", "--client: fio has this option and seawall does not"),
            ("-rw=read", "the nearest is \"--rw=read\""),
            ("--eta-interval=100", "at least 250 ms"),
        ] {
            let error = line(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn beginnings_of_names_are_strict_fio() {
        assert_eq!(sections_of(&line("--strict-fio --nam=x --ioeng=null").unwrap()), ["x: ioengine=null"]);
        assert_eq!(sections_of(&line("--nam=x").unwrap()), ["global: nam=x"]);
    }
}
