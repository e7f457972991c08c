//! `seawall check`: checks and repairs a pool.

use crate::{Answer, terminal};
use anyhow::{Result, bail};
use std::path::PathBuf;
use store::{Checked, RepairSettings};

/// Check a pool that is not being served
///
/// Reads its settings, its catalogue and its maps, and reports what is wrong; the data itself has
/// no checksums and is not read. Nothing is written without --repair. Exit code 1 if something is
/// wrong.
#[derive(clap::Args)]
pub struct Check {
    /// The pool's folder
    #[arg(value_name = "POOL")]
    pool: PathBuf,
    /// Repair what can be repaired; what is lost reads as zeroes afterwards, and is listed
    #[arg(long, requires = "copy")]
    repair: bool,
    /// Folder for a copy of everything that a repair may overwrite; must not exist yet
    #[arg(long, value_name = "DIR", requires = "repair")]
    copy: Option<PathBuf>,
    /// Let a repair give this up, by the name that the check prints: a lost LUN is created anew
    /// with all zeroes; data that the catalogue does not name is removed, by its number; may be
    /// given several times
    #[arg(long, value_name = "NAME", requires = "repair")]
    give_up: Vec<String>,
    /// Let a repair use the existing catalogue although the data belongs to another edition of it
    #[arg(long, requires = "repair")]
    take_catalogue: bool,
}

impl Check {
    pub fn run(self) -> Result<Answer> {
        if self.pool.exists() && !self.pool.is_dir() {
            bail!(
                "{}: must be a pool's folder, and this is a file; seawall simulate and seawall run check a plan before \
                 they do anything",
                self.pool.display()
            );
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
            // The server has the rules of names and policies.
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
