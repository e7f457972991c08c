//! `seawall install-names`: links with the names of the classic tools.

use crate::names::NAMES;
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Link the names of the classic tools to this program
///
/// Creates the links fio, dgen.pl, dgen, RampRun.pl, RampRun, ranread, orion and charbench in a
/// folder, such as one on the path. When called by such a name, the program is that tool. An
/// existing link to this program stays; if anything else has one of the names, no link is created.
#[derive(clap::Args)]
pub struct InstallNames {
    /// The folder for the links
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl InstallNames {
    pub fn run(self) -> Result<Answer> {
        if !self.folder.is_dir() {
            bail!("{}: is no folder; make it, or name another", self.folder.display());
        }
        let program = std::env::current_exe().context("this program's own file")?;
        let links = NAMES.map(|(name, command)| (self.folder.join(name), command));
        let mut missing = Vec::new();
        // All names are checked before the first link is created.
        for (link, command) in &links {
            if !is_there(link, &program)? {
                missing.push((link, command));
            }
        }
        for (link, command) in missing {
            std::os::unix::fs::symlink(&program, link).with_context(|| link.display().to_string())?;
            terminal::line(&format!("{} is seawall {command}", link.display()));
        }
        Ok(Answer::Yes)
    }
}

/// Whether the name is a link to the program already.
fn is_there(link: &Path, program: &Path) -> Result<bool> {
    match std::fs::symlink_metadata(link) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| link.display().to_string()),
        Ok(_) if std::fs::read_link(link).is_ok_and(|to| to == program) => Ok(true),
        Ok(_) => bail!("{}: is something else already; remove it, or choose another folder", link.display()),
    }
}
