//! Checks what was read back, and dumps what is wrong.

use super::Runner;
use crate::job::slots::{Purpose, Slot};
use block::{Buf, Time};
use stats::job::{ErrorKind, Mismatch, VerifyOutcome};
use std::path::{Path, PathBuf};

/// EILSEQ, as fio reports data that does not verify.
const WRONG_DATA: i32 = 84;

impl Runner {
    /// Checks a block that was read.
    pub(super) fn check(&mut self, slot: &Slot, buf: &Buf, now: Time) {
        let Some(checker) = &mut self.checker else { return };
        // In a mix only blocks that this job wrote can be checked, and the check reads them later.
        let reads_only = slot.purpose == Purpose::Check || !self.spec.reach.mix.changes_data();
        if !reads_only {
            return;
        }
        let checked = self.context.with(buf, |bytes| checker.check(bytes, slot.at, slot.generation));
        let Some(Err((at, wrong))) = checked else {
            return;
        };
        self.errors.count(ErrorKind::Verify, Some(WRONG_DATA));
        let ignored = self.spec.forgive.verify_numbers.contains(&WRONG_DATA);
        if self.spec.verify.as_ref().is_some_and(|verify| verify.dump) {
            self.dump(slot, buf, at);
        }
        let file = self.name_of(slot.file);
        let text = format!("{file}: at {at}: expected {}, found {}", wrong.expected, wrong.found);
        let mismatch = Mismatch { file, at, len: slot.len, expected: wrong.expected, found: wrong.found };
        self.checker.iter_mut().for_each(|checker| checker.outcome.note(mismatch.clone()));
        let fatal = self.spec.verify.as_ref().is_some_and(|verify| verify.fatal);
        if ignored {
            return;
        }
        match fatal && !self.spec.forgive.verify {
            true => self.fail(WRONG_DATA, text, now),
            // All blocks are read before the job fails, so that the report has the number of
            // errors.
            false => self.error = self.error.take().or(Some(stats::job::JobError { number: WRONG_DATA, text })),
        }
    }

    /// Leaves a wrong piece, and what it should be if that is known, in files with fio's names. As
    /// many are left as the report names, since all blocks of a file may be wrong.
    fn dump(&mut self, slot: &Slot, buf: &Buf, at: u64) {
        let Some(checker) = self.checker.as_ref() else { return };
        if checker.outcome.wrong >= VerifyOutcome::MISMATCHES_MAX as u64 {
            return;
        }
        let Some(path) = self.paths.get(slot.file as usize) else { return };
        let mut whole = vec![0; slot.len as usize];
        let again = self.filler.fill_again(slot.generation, &mut whole, slot.at).then_some(whole);
        let pieces = self.context.with(buf, |bytes| checker.pieces(bytes, slot.at, at, slot.generation, again));
        let Some((received, expected)) = pieces else { return };
        let files = [("received", Some(received)), ("expected", expected)];
        let lines: Vec<String> = files
            .into_iter()
            .filter_map(|(what, bytes)| Some((what, dump_path(path, at, what), bytes?)))
            .map(|(what, path, bytes)| match std::fs::write(&path, bytes) {
                Ok(()) => format!("{what} data dumped as {}", path.display()),
                Err(error) => format!("{what} data not dumped: {}: {error}", path.display()),
            })
            .collect();
        self.notes.extend(lines);
    }
}

/// Beside the file; in the present folder for a device, as no file is created in `/dev`.
fn dump_path(path: &Path, at: u64, what: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().filter(|_| path.is_file()).unwrap_or(Path::new(""));
    folder.join(format!("{name}.{at}.{what}"))
}
