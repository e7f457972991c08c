//! `seawall check`: whether a pool is as it should be, and what to do if it is not.

use crate::{Answer, terminal};
use anyhow::{Result, bail};
use std::path::PathBuf;
use store::{Checked, RepairSettings};

/// Check a pool that nobody serves
///
/// Reads its settings, its catalogue and its maps, and names what is wrong; the data itself has no
/// checksums and is not read. Nothing is written without --repair. Exit code 1 if something is
/// wrong.
#[derive(clap::Args)]
pub struct Check {
    /// The pool's folder
    #[arg(value_name = "POOL")]
    pool: PathBuf,
    /// Mend what can be mended; what is lost reads as zeroes afterwards, and is named
    #[arg(long, requires = "copy")]
    repair: bool,
    /// Where a repair first puts a copy of all it may write over: a folder that does not exist yet
    #[arg(long, value_name = "DIR", requires = "repair")]
    copy: Option<PathBuf>,
    /// Let a repair lose this, by the name that the check gives it: a LUN of which nothing is left
    /// is made anew, all zeroes, and data that the catalogue does not name goes, by its number; may
    /// be given several times
    #[arg(long, value_name = "NAME", requires = "repair")]
    give_up: Vec<String>,
    /// Let a repair go on with the catalogue that is there, though the data belongs to another
    /// edition of it
    #[arg(long, requires = "repair")]
    take_catalogue: bool,
}

impl Check {
    pub fn run(self) -> Result<Answer> {
        if self.pool.exists() && !self.pool.is_dir() {
            bail!("{}: must be a pool's folder, and this is a file", self.pool.display());
        }
        let checked = store::check(&self.pool)?;
        server::check_settings(&self.pool)?;
        let mut answer = self.tell(&checked);
        if let Some(copy) = self.copy.as_ref().filter(|_| self.repair && answer == Answer::No) {
            let (give_up, take_catalogue) = (self.give_up.clone(), self.take_catalogue);
            let settings = RepairSettings { copy: copy.clone(), give_up, take_catalogue };
            let repaired = store::repair(&self.pool, &settings)?;
            repaired.done.iter().for_each(|line| terminal::line(&format!("repair: {line}")));
            answer = self.tell(&repaired.after);
        }
        Ok(answer)
    }

    fn tell(&self, checked: &Checked) -> Answer {
        let pool = self.pool.display();
        let mut wrong: Vec<String> = checked.troubles.iter().map(ToString::to_string).collect();
        if wrong.is_empty() {
            // The rules of names and policies are the server's.
            wrong.extend(server::check_catalogue(&checked.contents).err());
        }
        wrong.iter().for_each(|line| terminal::line(line));
        for leftover in &checked.leftovers {
            terminal::line(&format!("{leftover}; it goes when the pool is served again"));
        }
        checked.limits.iter().for_each(|line| terminal::line(line));
        let (leaves, snapshots) = (checked.leaves(), checked.contents.snapshots.len());
        let has = format!("LUNs and files: {leaves}, snapshots: {snapshots}, data: {}", block::Bytes(checked.used));
        let verdict = match wrong.len() {
            0 => "nothing is wrong".into(),
            1 => "1 thing is wrong".into(),
            count => format!("{count} things are wrong"),
        };
        terminal::line(&format!("{pool}: {has}; {verdict}"));
        if wrong.is_empty() { Answer::Yes } else { Answer::No }
    }
}
