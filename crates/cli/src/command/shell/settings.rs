//! What `set` and `rows` choose: how this session goes on, until it ends.

use anyhow::{Context as _, Result};
use ontap::Command;
use ontap::catalogue::SessionCommand;
use ontap::value::{Confirmations, Privilege};
use rustyline::error::ReadlineError;

/// The choices.
#[derive(Debug, Default)]
pub struct Settings {
    privilege: Privilege,
    confirmations: Confirmations,
    /// Lines of a page at a terminal; 0 for any number.
    pub rows: usize,
}

impl Settings {
    /// Takes a choice in; what there is to say of it.
    pub fn take(&mut self, command: &SessionCommand) -> String {
        match command {
            SessionCommand::Set(set) => {
                self.privilege = set.privilege.unwrap_or(self.privilege);
                self.confirmations = set.confirmations.unwrap_or(self.confirmations);
                match (set.privilege, set.confirmations) {
                    (None, None) => {
                        format!("  Privilege Level: {}\n    Confirmations: {}\n", self.privilege, self.confirmations)
                    }
                    _ => String::new(),
                }
            }
            SessionCommand::Rows(rows) => match rows.rows {
                Some(rows) => {
                    self.rows = rows.0 as usize;
                    String::new()
                }
                None => format!("The number of rows displayed by the shell is {}.\n", self.rows),
            },
        }
    }

    /// Whether the session's privilege is enough for a command.
    pub fn allows(&self, command: &Command) -> bool {
        self.privilege == Privilege::Advanced || command.privilege() == Privilege::Admin
    }

    /// What a line begins with: a star stands for the advanced privilege, as in ONTAP's prompt.
    pub fn prompt(&self) -> &'static str {
        match self.privilege {
            Privilege::Admin => "seawall::> ",
            Privilege::Advanced => "seawall::*> ",
        }
    }

    /// Whether a line that would destroy something is meant; `ask` shows a question and reads its
    /// answer. Whoever answers neither y nor n is asked again; Ctrl-C and the end of the input mean
    /// no.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn is_meant(&self, line: &str, mut ask: impl FnMut(&str) -> rustyline::Result<String>) -> Result<bool> {
        let question = ontap::parse(line).ok().and_then(|command| command.question());
        let Some(question) = question.filter(|_| self.confirmations == Confirmations::On) else { return Ok(true) };
        loop {
            match ask(&format!("Warning: {question} {{y|n}}: ")) {
                Ok(answer) => match answer.trim().to_ascii_lowercase().as_str() {
                    "y" | "yes" => return Ok(true),
                    "n" | "no" => return Ok(false),
                    _ => {}
                },
                Err(ReadlineError::Interrupted | ReadlineError::Eof) => return Ok(false),
                Err(error) => return Err(error).context("the terminal"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(settings: &mut Settings, line: &str) -> String {
        match ontap::parse(line).unwrap() {
            Command::Session(command) => settings.take(&command),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_set_holds_until_it_is_set_again() {
        let mut settings = Settings::default();
        assert_eq!(settings.prompt(), "seawall::> ");
        assert_eq!(take(&mut settings, "set -privilege advanced"), "");
        assert_eq!(settings.prompt(), "seawall::*> ");
        assert_eq!(take(&mut settings, "set -conf off"), "");
        assert_eq!(take(&mut settings, "set"), "  Privilege Level: advanced\n    Confirmations: off\n");
        take(&mut settings, "set advanced");
        take(&mut settings, "rows 24");
        assert_eq!(take(&mut settings, "rows"), "The number of rows displayed by the shell is 24.\n");
    }

    /// Asked until it is y or n; what destroys nothing, and a session without confirmations, is not
    /// asked.
    #[test]
    fn what_destroys_is_asked() {
        let mut settings = Settings::default();
        let asks = |settings: &Settings, line: &str, answers: &[&str]| {
            let (mut answers, mut asked) = (answers.iter(), Vec::new());
            let meant = settings.is_meant(line, |question| {
                asked.push(question.to_owned());
                answers.next().map(|answer| (*answer).to_owned()).ok_or(ReadlineError::Eof)
            });
            (meant.unwrap(), asked.len(), asked.first().cloned().unwrap_or_default())
        };
        let delete = "volume delete vol1 -vserver svm01";
        let question = "Warning: Are you sure you want to delete volume \"vol1\" in Vserver \"svm01\"? {y|n}: ";
        assert_eq!(asks(&settings, delete, &["y"]), (true, 1, question.into()));
        assert_eq!(asks(&settings, delete, &["", "maybe", "N"]), (false, 3, question.into()));
        assert_eq!(asks(&settings, delete, &[]), (false, 1, question.into()));
        assert_eq!(asks(&settings, "volume show", &[]), (true, 0, String::new()));
        take(&mut settings, "set -confirmations off");
        assert_eq!(asks(&settings, delete, &[]), (true, 0, String::new()));
    }
}
