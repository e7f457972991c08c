//! What `--help`, `--cmdhelp` and `--enghelp` answer.

use anyhow::{Result, bail};
use fio::catalogue;
use fio::flags::FLAGS;
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
        let _ = writeln!(text, "  {typed:<28} {}", flag.about);
    }
    text.push_str("\nOptions of jobs: --cmdhelp lists them, --cmdhelp=NAME describes one.\n");
    text.push_str("Exit codes: 0 done, 1 a job failed or was interrupted, 2 could not.\n");
    text
}

/// The engines.
pub fn engines() -> String {
    "Engines:\n\
     \x20 io_uring          asynchronous; libaio, posixaio and the like are done by it, with a note\n\
     \x20 psync             system calls; sync, vsync, pvsync, pvsync2 are done by it\n\
     \x20 null              nothing at all: the cost of asking\n\
     \x20 nbd               an export of an NBD server, named by uri=\n"
        .into()
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
                let _ = writeln!(text, "{:<28} {}", option.name, option.about);
            }
        }
        Some(name) => {
            let Some(option) = catalogue::find(name) else {
                let nearest =
                    catalogue::nearest_to(name).map_or(String::new(), |near| format!("; the nearest is {near}"));
                bail!("--cmdhelp: there is no option {name}{nearest}");
            };
            let _ = writeln!(text, "{}: {}", option.name, option.about);
            if !option.aliases.is_empty() {
                let _ = writeln!(text, "also: {}", option.aliases.join(", "));
            }
            let _ = writeln!(text, "takes: {}, as in {}={}", option.form.name(), option.name, option.form.example());
        }
    }
    Ok(text)
}
