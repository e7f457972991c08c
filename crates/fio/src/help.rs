//! What `--help`, `--cmdhelp` and `--enghelp` print, made from the tables that the parser uses.

use crate::catalogue::{self, Definition};
use crate::error::{Error, Problem};
use crate::flags::{Action, FLAGS};
use crate::invocation::Invocation;
use crate::render::VERSION;

impl Invocation {
    /// What is to be printed in place of a run: version, help, a command line; `None` where jobs are to run or to be checked.
    ///
    /// # Errors
    /// Help was asked for an option that is not there.
    pub fn answer(&self) -> Result<Option<String>, Error> {
        Ok(Some(match &self.flags.action {
            Action::Run | Action::ParseOnly => return Ok(None),
            Action::ShowCommand => self.command(),
            Action::Version => format!("{VERSION}\n"),
            Action::Help => usage(),
            Action::CommandHelp(None) => catalogue::all().map(line).collect(),
            Action::CommandHelp(Some(name)) => described(name)?,
            Action::EngineHelp => engines(),
        }))
    }
}

fn usage() -> String {
    let flags = FLAGS.iter().map(|flag| {
        let value = match flag.example {
            None => String::new(),
            Some("") => "[=OPTION]".into(),
            Some(example) => format!("={example}"),
        };
        format!("  {:<30} {}\n", format!("--{}{value}", flag.name), flag.about)
    });
    let head = "fio [options] [job options] <job file(s)>\n";
    let tail = "Options of jobs: --cmdhelp lists them, --cmdhelp=OPTION describes one.\n";
    head.to_owned() + &flags.collect::<String>() + tail
}

fn line(definition: &Definition) -> String {
    format!("{:<28}: {}\n", definition.name, definition.about)
}

fn described(name: &str) -> Result<String, Error> {
    let Some(definition) = catalogue::find(name) else {
        let problem = match catalogue::instead_of(name) {
            Some(instead) => Problem::NotHere { option: name.to_owned(), instead: instead.to_owned() },
            None => Problem::UnknownOption { option: name.to_owned(), nearest: catalogue::nearest_to(name) },
        };
        return Err(Error::on_command_line(problem));
    };
    let aliases = match definition.aliases {
        [] => String::new(),
        names => format!("{:>20}: {}\n", "alias", names.join(", ")),
    };
    let form =
        format!("{:>20}: {}\n{:>20}: {}\n", "type", definition.form.name(), "example", definition.form.example());
    Ok(format!("{:>20}: {}\n{aliases}{form}", definition.name, definition.about))
}

fn engines() -> String {
    let lines = catalogue::ENGINES.iter().map(|(name, _, note)| match *note {
        "" => format!("\t{name}\n"),
        note => format!("\t{name}: {note}\n"),
    });
    "Available IO engines:\n".to_owned() + &lines.collect::<String>()
}
