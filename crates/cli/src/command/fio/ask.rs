//! What `--help`, `--cmdhelp` and `--enghelp` answer.

use anyhow::{Result, bail};
use fio::catalogue;
use fio::flags::FLAGS;
use fio::options::Engine;
use std::fmt::Write as _;

/// The flags of a run.
pub fn summary() -> String {
    let mut text = String::from(
        "Runs fio command lines and job files.\n\nUsage: seawall fio [OPTION…] [JOBFILE…]\n\nOptions of the run:\n",
    );
    for flag in FLAGS {
        let typed = match flag.example {
            Some(example) if !example.is_empty() => format!("--{}={example}", flag.name),
            _ => format!("--{}", flag.name),
        };
        text.push_str(&columns(&format!("  {typed}"), flag.about));
    }
    text.push_str("\nOptions of jobs: --cmdhelp lists them, --cmdhelp=NAME describes one.\n");
    text.push_str("Exit codes: 0 done, 1 a job failed, 2 could not, or was stopped.\n");
    text
}

/// Columns that a terminal has at least.
const WIDTH: usize = 80;
/// Where the second column begins.
const SECOND: usize = 31;

/// A name and what it means, in two columns; the second goes on below itself.
fn columns(name: &str, about: &str) -> String {
    let mut text = format!("{name:<width$}", width = SECOND - 1);
    let mut column = text.chars().count().max(SECOND - 1);
    for word in about.split(' ') {
        let len = word.chars().count();
        if column + 1 + len >= WIDTH {
            let _ = write!(text, "\n{:SECOND$}{word}", "");
            column = SECOND + len;
        } else {
            let _ = write!(text, " {word}");
            column += 1 + len;
        }
    }
    text + "\n"
}

/// All engines, or one.
///
/// # Errors
/// There is no such engine.
pub fn engines(name: Option<&str>) -> Result<String> {
    let Some(name) = name else {
        let row = |text: String, (name, engine, note)| text + &columns(&format!("  {name}"), about(engine, note));
        return Ok(catalogue::engines().fold("Engines:\n".into(), row));
    };
    // fio: ENGINE,OPTION describes one option of the engine.
    let (name, option) = name.split_once(',').map_or((name, None), |(name, option)| (name, Some(option)));
    if let Some((_, engine, note)) = catalogue::engines().find(|(known, ..)| *known == name) {
        return match option {
            None => Ok(engine_text(name, engine, note)),
            Some(option) if catalogue::engine_options(engine).any(|known| known.name == option) => {
                options(Some(option))
            }
            Some(option) => {
                bail!("--enghelp={name},{option}: {name} has no option {option}; --enghelp={name} lists them")
            }
        };
    }
    match catalogue::engine_replacement(name) {
        Some(instead) => bail!("--enghelp={name}: fio has this engine and seawall does not; {instead}"),
        None => bail!("--enghelp: there is no engine {name}; --enghelp lists them"),
    }
}

/// An engine and its options.
fn engine_text(name: &str, engine: Engine, note: &'static str) -> String {
    let mut text = format!("{name}: {}\n", about(engine, note));
    let rows: String =
        catalogue::engine_options(engine).map(|option| columns(&format!("  {}", option.name), option.about)).collect();
    match rows.is_empty() {
        true => text.push_str("It has no options of its own.\n"),
        false => text.extend(["Its options:\n", &rows]),
    }
    text
}

/// What differs from fio's engine, or else what it does.
fn about(engine: Engine, note: &'static str) -> &'static str {
    match engine {
        _ if !note.is_empty() => note,
        Engine::Uring => "asynchronous",
        Engine::Sync => "one system call after the other",
        Engine::Space => "takes space and gives it back; nothing is moved",
        Engine::Null => "nothing at all: the cost of asking",
        Engine::Nbd => "an export of an NBD server, named by uri=",
        Engine::Nfs => "a file of an NFS server, in the folder nfs_url=, or directory=nfs://…",
        Engine::Joined => "several places as one: uri=concat:A,B or uri=striped:64KiB:A,B",
    }
}

/// All options of jobs, or one.
///
/// # Errors
/// There is no such option.
pub fn options(name: Option<&str>) -> Result<String> {
    let mut text = String::new();
    match name {
        None => {
            for option in catalogue::all() {
                text.push_str(&columns(option.name, option.about));
            }
        }
        Some(name) => {
            if let Some(instead) = catalogue::replacement(name) {
                bail!("--cmdhelp={name}: fio has this option and seawall does not; {instead}");
            }
            let Some(option) = catalogue::find(name) else {
                let nearest =
                    catalogue::nearest_to(name).map_or(String::new(), |near| format!("; the nearest is {near}"));
                bail!("--cmdhelp: there is no option {name}{nearest}");
            };
            let _ = writeln!(text, "{}: {}", option.name, option.about);
            if !option.aliases.is_empty() {
                let _ = writeln!(text, "also: {}", option.aliases.join(", "));
            }
            let takes = match option.words() {
                Some(words) => format!("one of {}", words.join(", ")),
                None => option.form.name().to_owned(),
            };
            let _ = writeln!(text, "takes: {takes}, as in {}={}", option.name, option.form.example());
        }
    }
    Ok(text)
}
