//! The shell at a terminal: lines are edited, completed and remembered; `?` lists at once what
//! could follow; Ctrl-C ends what runs, or drops the line, and never the shell.

use super::link::{Link, Place};
use super::{Session, run_line};
use crate::{Answer, state, terminal};
use anyhow::{Context as _, Result};
use ontap::Names;
use report::text::wrap;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyEvent, RepeatCount,
};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The width that lists are laid out for.
const COLUMNS: usize = 80;
/// Lines that are remembered.
const HISTORY_MAX: usize = 1000;

/// Answers lines until the input ends or one says `exit`.
///
/// # Errors
/// The terminal cannot be read, or the server went away for good.
pub fn converse(session: &mut Session) -> Result<Answer> {
    let asked = Arc::new(AtomicBool::new(false));
    let mut editor = editor(&asked, Words::of(&session.place)).context("the terminal")?;
    let history = history();
    // There is none before the first time, and none where it may not be kept.
    let _ = history.as_ref().map(|path| editor.load_history(path));
    let mut begun = (String::new(), String::new());
    loop {
        let typed = std::mem::take(&mut begun);
        let line = match editor.readline_with_initial(session.settings.prompt(), (&typed.0, &typed.1)) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(Answer::Yes),
            Err(error) => return Err(error).context("the terminal"),
        };
        if asked.swap(false, Relaxed) {
            terminal::print(&ways_on(&line));
            begun.0 = line;
            continue;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // A line that is not remembered is no reason to stop.
        if !names_a_password(line) {
            let _ = editor.add_history_entry(line);
            let _ = history.as_ref().map(|path| editor.append_history(path));
        }
        if matches!(line, "exit" | "quit") {
            return Ok(Answer::Yes);
        }
        if !session.settings.is_meant(line, |question| editor.readline(question))? {
            continue;
        }
        run_line(session, line)?;
    }
}

/// Whether a line has a password in it, which is refused and must not be remembered.
fn names_a_password(line: &str) -> bool {
    line.split_whitespace().any(|word| word.to_ascii_lowercase().starts_with("-passw"))
}

fn editor(asked: &Arc<AtomicBool>, words: Words) -> rustyline::Result<Editor<Words, FileHistory>> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(HISTORY_MAX)?
        .history_ignore_dups(true)?
        .auto_add_history(false)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(words));
    let questions = EventHandler::Conditional(Box::new(Questions(Arc::clone(asked))));
    editor.bind_sequence(Event::from(KeyEvent::from('?')), questions);
    Ok(editor)
}

/// The file of remembered lines, in a folder that only its owner reads.
fn history() -> Option<PathBuf> {
    let folder = state::folder()?;
    state::make(&folder).ok()?;
    Some(folder.join("shell_history"))
}

/// What could stand at the end of a line, each with what it is.
fn ways_on(line: &str) -> String {
    let candidates = ontap::complete(line).candidates;
    if candidates.is_empty() {
        return "  a value, or the end of the line\n".into();
    }
    let width = candidates.iter().map(|candidate| candidate.word.len()).max().unwrap_or(0);
    let row = |word: &str, help: &str| {
        let below = format!("\n{:1$}", "", width + 4);
        format!("  {word:width$}  {}", wrap(help, COLUMNS.saturating_sub(width + 4)).join(&below)).trim_end().to_owned()
            + "\n"
    };
    candidates.iter().map(|candidate| row(&candidate.word, candidate.help)).collect()
}

/// `?` asks for help, but within quotes it is a letter.
struct Questions(Arc<AtomicBool>);

impl ConditionalEventHandler for Questions {
    fn handle(&self, _event: &Event, _times: RepeatCount, _positive: bool, at: &EventContext<'_>) -> Option<Cmd> {
        let before = &at.line()[..at.pos()];
        let is_quoted = !before.matches('"').count().is_multiple_of(2);
        // What stands behind the cursor would be lost: there it is a letter too.
        if is_quoted || at.pos() < at.line().len() {
            return None;
        }
        self.0.store(true, Relaxed);
        Some(Cmd::AcceptLine)
    }
}

/// Names that are listed at most; more are not read.
const NAMES_MAX: usize = 200;

/// Completion by the tables of the grammar, and of names by what the server has.
struct Words {
    place: Place,
    /// A connection of its own: that of the lines may be waiting. Made when it is first needed, and
    /// anew when it is gone.
    server: RefCell<Option<Link>>,
}

impl Words {
    fn of(place: &Place) -> Words {
        Words { place: place.clone(), server: RefCell::new(None) }
    }

    /// Names that begin with what is typed; none where the server does not answer.
    fn names(&self, names: &Names) -> Vec<String> {
        let mut server = self.server.borrow_mut();
        if server.is_none() {
            *server = self.place.connect().ok();
        }
        let Names { command, field, typed } = names;
        let answer = server.as_mut().map(|server| server.run(&format!("{command} -fields {field} -output json")));
        let Some(Ok(Ok(answer))) = answer else {
            *server = None;
            return Vec::new();
        };
        let listed: Value = serde_json::from_str(&answer).unwrap_or_default();
        let records = listed["records"].as_array().cloned().unwrap_or_default();
        let name = |record: &Value| record[field.replace('-', "_")].as_str().map(str::to_owned);
        let found: BTreeSet<String> = records.iter().filter_map(name).filter(|name| name.starts_with(typed)).collect();
        found.into_iter().take(NAMES_MAX).collect()
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _context: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let completion = ontap::complete(&line[..at]);
        let pair = |word: String| Pair { replacement: format!("{word} "), display: word };
        let names = completion.names.map(|names| self.names(&names)).unwrap_or_default();
        let words = completion.candidates.into_iter().map(|candidate| candidate.word);
        Ok((completion.start, words.chain(names).map(pair).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_lists_what_could_follow() {
        let shown = ways_on("qos policy-group ");
        assert!(shown.starts_with("  create  ") && shown.lines().all(|line| line.starts_with("  ")), "{shown}");
        assert_eq!(ways_on("volume ").lines().find(|line| line.chars().count() > 80), None);
        assert_eq!(ways_on("volume create -volume v -size "), "  a value, or the end of the line\n");
    }
}
