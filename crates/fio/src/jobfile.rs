//! fio's job files: `[section]`, `option=value`, comments, `include`.
//!
//! `;` and `#` begin a comment at the start of a line or after a value. fio also accepts them
//! within a word, and reads `filename=a#b` as `a`; this is refused here, except in a description.
//! Spaces around names and values are ignored. A section named `global` (in fio: one whose name
//! begins with it) sets defaults for the sections after it.

use crate::catalogue;
use crate::dialect::Dialect;
use crate::error::{Error, Place, Problem};
use crate::expansion;
use crate::script::{Script, Section, Setting};
use crate::world::World;

/// Maximum depth of files that include files; deeper is a cycle.
const INCLUDE_DEPTH_LIMIT: u32 = 16;

/// Maximum bytes of a job file with all that it includes.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Reads a job file and what it includes.
///
/// # Errors
/// It cannot be read, or breaks the grammar.
pub fn read(path: &str, world: &dyn World, dialect: Dialect) -> Result<Script, Error> {
    let mut reader = Reader { world, dialect, bytes: 0, sections: Vec::new() };
    reader.file(path, 0, &Place::default())?;
    Ok(Script { file: Some(path.to_owned()), sections: reader.sections })
}

struct Reader<'w> {
    world: &'w dyn World,
    dialect: Dialect,
    bytes: u64,
    sections: Vec<Section>,
}

impl Reader<'_> {
    /// Reads one file. `depth` is the number of files that include it, `from` the position of the
    /// include.
    fn file(&mut self, path: &str, depth: u32, from: &Place) -> Result<(), Error> {
        let text = self
            .world
            .read(path)
            .map_err(|why| Error::at(from, Problem::Unreadable { path: path.to_owned(), why: why.to_string() }))?;
        self.bytes += text.len() as u64;
        if self.bytes > TEXT_BYTES_MAX {
            let too_much = Problem::TooMuch { what: "bytes of job files", given: self.bytes, limit: TEXT_BYTES_MAX };
            return Err(Error::at(from, too_much));
        }
        for (index, line) in text.lines().enumerate() {
            let section = self.sections.last().map(|section| section.name.clone());
            let place = Place { file: Some(path.to_owned()), line: index as u32 + 1, section };
            self.line(self.uncommented(line, &place)?, depth, place)?;
        }
        Ok(())
    }

    /// A line without its comment and surrounding spaces.
    fn uncommented<'l>(&self, line: &'l str, place: &Place) -> Result<&'l str, Error> {
        let line = line.trim();
        let Some(at) = line.find([';', '#']) else { return Ok(line) };
        let (content, comment) = line.split_at(at);
        let apart = content.is_empty() || content.ends_with([' ', '\t', ']']);
        // In prose, losing the rest does no harm.
        let is_prose = content.split_once('=').is_some_and(|(option, _)| option.trim_end() == "description");
        if !apart && !is_prose && !self.dialect.strict_fio {
            let rule =
                format!("fio takes {comment:?} for a comment and drops it; put a blank in front of it if it is one");
            return Err(Error::at(place, Problem::Rule(rule)));
        }
        Ok(content.trim_end())
    }

    fn line(&mut self, line: &str, depth: u32, place: Place) -> Result<(), Error> {
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with('[') {
            if depth > 0 {
                return Err(Error::at(&place, Problem::SectionIncluded(line.to_owned())));
            }
            return self.head(line, place);
        }
        let Some(section) = self.sections.last_mut() else {
            return Err(Error::at(&place, Problem::OutsideSection(line.to_owned())));
        };
        if let Some(path) = line.strip_prefix("include").and_then(|rest| rest.strip_prefix([' ', '\t'])) {
            return self.include(path.trim(), depth, &place);
        }
        let (option, value) = match line.split_once('=') {
            Some((option, value)) => (option.trim_end(), Some(value.trim_start())),
            None => (line, None),
        };
        let value = value
            .map(|value| expanded(option, value, self.world))
            .transpose()
            .map_err(|problem| Error::at(&place, problem))?;
        section.settings.push(Setting { option: option.to_owned(), value, place });
        Ok(())
    }

    fn head(&mut self, line: &str, mut place: Place) -> Result<(), Error> {
        place.section = None;
        let (name, rest) =
            line[1..].split_once(']').ok_or_else(|| Error::at(&place, Problem::SectionHead(line.to_owned())))?;
        let name = name.trim();
        if name.is_empty() {
            return Err(Error::at(&place, Problem::SectionName));
        }
        let rest = rest.trim_start();
        if !rest.is_empty() && !self.dialect.strict_fio {
            let rule = format!("{rest:?} follows a section's head, and fio ignores it; give it a line of its own");
            return Err(Error::at(&place, Problem::Rule(rule)));
        }
        // fio compares only the first six letters.
        let is_global = name == "global" || (self.dialect.strict_fio && name.starts_with("global"));
        if !is_global && name.starts_with("global") {
            let rule = format!("fio takes [{name}] for [global]; write [global], or begin the job's name otherwise");
            return Err(Error::at(&place, Problem::Rule(rule)));
        }
        place.section = Some(name.to_owned());
        self.sections.push(Section { name: name.to_owned(), is_global, settings: Vec::new(), place });
        Ok(())
    }

    /// A relative path counts from the folder of the including file.
    fn include(&mut self, path: &str, depth: u32, place: &Place) -> Result<(), Error> {
        let path = expansion::environment(path, self.world).map_err(|problem| Error::at(place, problem))?;
        let folder = place.file.as_deref().and_then(|file| file.rsplit_once('/')).map(|(folder, _)| folder);
        let path = match folder {
            Some(folder) if !path.starts_with('/') => format!("{folder}/{path}"),
            _ => path,
        };
        if depth == INCLUDE_DEPTH_LIMIT {
            return Err(Error::at(place, Problem::IncludeDepth { path, limit: INCLUDE_DEPTH_LIMIT }));
        }
        self.file(&path, depth + 1, place)
    }
}

/// An option's value with its variables and keywords replaced. If nothing is left because a
/// variable is not set, and the option needs a value, that is reported here, since the variable is
/// not known later.
fn expanded(option: &str, value: &str, world: &dyn World) -> Result<String, Problem> {
    let whole = expansion::environment(value, world)?;
    let needy = catalogue::find(option).filter(|found| whole.is_empty() && !found.form.may_stand_alone());
    match needy.zip(expansion::unset(value, world)) {
        Some((definition, variable)) => Err(Problem::UnsetVariable {
            option: option.to_owned(),
            variable: variable.to_owned(),
            example: definition.form.example().to_owned(),
        }),
        None => Ok(expansion::keywords(&whole, world)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Given;

    fn sections(world: &Given) -> Result<Vec<String>, String> {
        let script = read("d/a.fio", world, Dialect::default()).map_err(|error| error.to_string())?;
        let lines = script.sections.iter().map(|section| {
            let settings = section.settings.iter().map(|setting| match &setting.value {
                Some(value) => format!("{}={value}", setting.option),
                None => setting.option.clone(),
            });
            format!("{}: {}", section.name, settings.collect::<Vec<_>>().join(" "))
        });
        Ok(lines.collect())
    }

    #[test]
    fn sections_comments_spaces_and_includes() {
        let text = "; c\n# c\n\n[global]\ndescription=WAL; in segments\n bs = 8k \nnorandommap\n[one two] ; c\nrw=read\t; d # e\ninclude more.fio # f\nsize=${S}m\n";
        let world = Given::default().with_variable("S", "4").with_text("d/a.fio", text);
        let world = world.with_text("d/more.fio", "iodepth=$ncpus\ninclude /abs.fio").with_text("/abs.fio", "direct=1");
        let expected = ["global: description=WAL bs=8k norandommap", "one two: rw=read iodepth=4 direct=1 size=4m"];
        assert_eq!(sections(&world).unwrap(), expected);
    }

    #[test]
    fn what_breaks_the_grammar_says_where() {
        for (text, message) in [
            ("rw=read", "d/a.fio:1: \"rw=read\" is before the first [section]"),
            ("\n[x\n", "d/a.fio:2: \"[x\" begins a section"),
            ("[]\n", "a section needs a name"),
            ("[ ]\n", "a section needs a name"),
            ("[x] y\n", "follows a section's head"),
            ("[globals]\n", "fio takes [globals] for [global]"),
            ("[x]\nfilename=a#b\n", "d/a.fio:2 [x]: fio takes \"#b\" for a comment"),
            ("[x]\nsize=${A\n", "d/a.fio:2 [x]: \"${A\""),
            ("[x]\ninclude none\n", "d/a.fio:2 [x]: cannot read d/none"),
            ("[x]\ninclude a.fio\n", "no sections"),
            ("[x]\ninclude loop\n", "more than 16 files deep"),
        ] {
            let world = Given::default().with_text("d/a.fio", text).with_text("d/loop", "include loop");
            let error = sections(&world).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}
