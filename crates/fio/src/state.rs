//! How many writes a verified job made, `verify_state_save` and `verify_state_load`: a file of
//! three lines next to the others, named as by fio. It allows a stopped run to be checked, because
//! blocks that were never written are not expected. fio's own file is binary and specific to fio's
//! headers.

use crate::flags::Flags;
use crate::job::Job;
use stats::job::VerifyOutcome;

const HEAD: &str = "seawall verify state 1";

impl Job {
    /// The path of its file, in the folder of `--aux-path`; as in fio, only this file is kept
    /// there.
    pub fn state_path(&self, flags: &Flags) -> String {
        let name = format!("local-{}-{}-verify.state", self.name, self.number);
        flags.aux_path.as_ref().map_or(name.clone(), |folder| format!("{}/{name}", folder.trim_end_matches('/')))
    }

    /// The content of the file after a run.
    pub(crate) fn state(&self, verify: &VerifyOutcome) -> String {
        format!("{HEAD}\nseed {}\nwrites {}\n", self.seed, verify.written)
    }

    /// The number of writes made by the run that left this text.
    ///
    /// # Errors
    /// It is not such a text, or the text of a job with another seed, which wrote different blocks.
    pub fn writes_of_state(&self, text: &str) -> Result<u64, String> {
        let no_state =
            || format!("is no state of a verified job; it begins with {HEAD:?}, then a seed and a number of writes");
        let mut lines = text.lines();
        let head = lines.next();
        let mut number = |name: &str| lines.next()?.strip_prefix(name)?.trim().parse::<u64>().ok();
        let (seed, writes) = (number("seed "), number("writes "));
        let (Some(HEAD), Some(seed), Some(writes)) = (head, seed, writes) else { return Err(no_state()) };
        match seed == self.seed {
            true => Ok(writes),
            false => Err(format!("is of a run with seed {seed}, and this job has {}; run the same options", self.seed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::flags::Flags;
    use crate::{Given, Invocation};
    use stats::job::VerifyOutcome;

    #[test]
    fn what_is_saved_is_loaded() {
        let line = ["--name=a", "--ioengine=null", "--size=1m", "--numjobs=2"].map(str::to_owned);
        let jobs = Invocation::parse(&line, &Given::default()).unwrap().jobs;
        let text = jobs[0].state(&VerifyOutcome { written: 77, ..VerifyOutcome::default() });
        assert_eq!(jobs[0].writes_of_state(&text), Ok(77));
        assert!(jobs[1].writes_of_state(&text).unwrap_err().contains("run the same options"));
        assert!(jobs[0].writes_of_state("VSHD\0").unwrap_err().starts_with("is no state"));
        assert_eq!(jobs[1].state_path(&Flags::default()), "local-a-1-verify.state");
        let aside = Flags { aux_path: Some("x/y/".into()), ..Flags::default() };
        assert_eq!(jobs[1].state_path(&aside), "x/y/local-a-1-verify.state");
    }
}
