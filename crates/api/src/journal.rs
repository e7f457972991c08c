//! The journal of jobs, so that a job that was interrupted by the end of the server is known at the
//! next start: `jobs.jsonl` in the pool's folder, with a line when a job begins and a line when it
//! ends.
//!
//! ```text
//!   {"begun":{"uuid":…,"description":"POST /api/storage/volumes","time":…,"svms":[1],"generation":41}}
//!   {"ended":{"uuid":…,"error":{"message":…,"code":8}}}
//! ```
//! The first line is durable before anything is changed. A change makes the catalogue's next
//! generation, or has no effect, and changes are made one at a time. So a job without an end took
//! effect if the catalogue's generation is larger than at its beginning; otherwise nothing of it is
//! left. Data is made to agree when the pool is opened.

use crate::problem::{Problem, code};
use crate::resource::Job;
use block::ObjectId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file's name in the pool's folder.
pub(crate) const JOBS_FILE: &str = "jobs.jsonl";
/// Length in bytes at which the file is rewritten with the jobs that are kept.
const BYTES_MAX: u64 = 4 << 20;
/// The longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Begun(Begun),
    Ended(Ended),
}

#[derive(Serialize, Deserialize)]
struct Begun {
    uuid: u128,
    description: String,
    time: u64,
    svms: Vec<u32>,
    generation: u64,
}

#[derive(Serialize, Deserialize)]
struct Ended {
    uuid: u128,
    /// The client got another answer in place of this job.
    #[serde(default)]
    withdrawn: bool,
    error: Option<Failure>,
}

#[derive(Serialize, Deserialize)]
struct Failure {
    message: String,
    code: u32,
    target: Option<String>,
}

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Journal {
    /// Reads the kept jobs, at most `most`, and rewrites the file with their ends. `generation` is
    /// the catalogue's present one.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path, generation: u64, most: usize) -> std::io::Result<(Journal, VecDeque<Job>)> {
        let jobs = match File::open(path) {
            Ok(file) => settled(BufReader::new(file), generation, most)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => VecDeque::new(),
            Err(error) => return Err(error),
        };
        let file = append_to(path)?;
        let mut journal = Journal { path: path.into(), file, bytes: 0 };
        journal.rewrite(jobs.iter())?;
        Ok((journal, jobs))
    }

    /// Records the beginning of a job, durably.
    pub fn begin(&mut self, job: &Job, generation: u64) -> std::io::Result<()> {
        self.add(&begun(job, generation))?;
        self.file.sync_data()
    }

    /// Records the end of a job, or that the client was answered without a job.
    pub fn end(&mut self, job: &Job, withdrawn: bool) -> std::io::Result<()> {
        self.add(&ended(job, withdrawn))?;
        // A job that succeeded is known from the catalogue. One that failed must be durable, or it
        // would be taken for successful once the generation grows.
        if job.problem.is_some() { self.file.sync_data() } else { Ok(()) }
    }

    /// Rewrites the file if it has become too long.
    pub fn trim<'a>(&mut self, jobs: impl Iterator<Item = &'a Job>) -> std::io::Result<()> {
        if self.bytes < BYTES_MAX { Ok(()) } else { self.rewrite(jobs) }
    }

    fn add(&mut self, line: &Line) -> std::io::Result<()> {
        let text = text_of(line);
        self.file.write_all(text.as_bytes())?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    fn rewrite<'a>(&mut self, jobs: impl Iterator<Item = &'a Job>) -> std::io::Result<()> {
        let beside = self.path.with_extension("jsonl.new");
        let mut text = String::new();
        for job in jobs {
            text += &text_of(&begun(job, 0));
            text += &text_of(&ended(job, false));
        }
        let _ = std::fs::remove_file(&beside);
        let mut file = append_to(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        std::fs::rename(&beside, &self.path)?;
        (self.file, self.bytes) = (file, text.len() as u64);
        Ok(())
    }
}

fn append_to(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn begun(job: &Job, generation: u64) -> Line {
    let svms = job.svms.iter().map(|svm| svm.0).collect();
    Line::Begun(Begun { uuid: job.uuid, description: job.description.clone(), time: job.time, svms, generation })
}

fn ended(job: &Job, withdrawn: bool) -> Line {
    let failure = |problem: &Problem| Failure {
        message: problem.message.clone(),
        code: problem.code,
        target: problem.target.clone(),
    };
    Line::Ended(Ended { uuid: job.uuid, withdrawn, error: job.problem.as_ref().map(failure) })
}

fn text_of(line: &Line) -> String {
    serde_json::to_string(line).map(|text| text + "\n").unwrap_or_default()
}

/// The jobs of a file, with their ends. Incomplete lines and those of other versions are left out.
fn settled(reader: impl BufRead, generation: u64, most: usize) -> std::io::Result<VecDeque<Job>> {
    let mut jobs: VecDeque<(Job, Option<u64>)> = VecDeque::new();
    for line in reader.split(b'\n') {
        let line = line?;
        match serde_json::from_slice(&line[..line.len().min(LINE_BYTES_MAX)]) {
            Ok(Line::Begun(begun)) => {
                let Begun { uuid, description, time, svms, generation } = begun;
                let svms: BTreeSet<ObjectId> = svms.into_iter().map(ObjectId).collect();
                jobs.push_back((Job { uuid, description, time, svms, problem: None }, Some(generation)));
            }
            Ok(Line::Ended(ended)) => {
                let Some(at) = jobs.iter().rposition(|(job, _)| job.uuid == ended.uuid) else { continue };
                if ended.withdrawn {
                    jobs.remove(at);
                    continue;
                }
                let failure =
                    |Failure { message, code, target }| Problem { target, ..Problem::new(409, code, message) };
                (jobs[at].0.problem, jobs[at].1) = (ended.error.map(failure), None);
            }
            Err(_) => {}
        }
    }
    let end = |(mut job, begun): (Job, Option<u64>)| {
        if begun.is_some_and(|begun| begun >= generation) {
            let message = "the server ended before it was done, and nothing was changed; ask for it again";
            job.problem = Some(Problem::new(500, code::INTERNAL, message));
        }
        job
    };
    let surplus = jobs.len().saturating_sub(most);
    Ok(jobs.into_iter().skip(surplus).map(end).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(uuid: u128) -> Job {
        let svms = BTreeSet::from([ObjectId(3)]);
        Job { uuid, description: format!("POST {uuid}"), time: 5, svms, problem: None }
    }

    /// Four jobs begin at generation 41. The first succeeds, the second fails, the third is
    /// answered without a job, the fourth is interrupted: it took effect if the catalogue is at 42
    /// at the next start, and did not if it is at 41.
    #[test]
    fn what_was_cut_off_was_done_if_the_catalogue_went_on() {
        for (generation, done) in [(41, false), (42, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(JOBS_FILE);
            let (mut journal, jobs) = Journal::open(&path, 41, 10).unwrap();
            assert!(jobs.is_empty());
            for number in 1..=4 {
                journal.begin(&job(number), 41).unwrap();
                let problem = (number == 2).then(|| Problem::new(409, 8, "in use"));
                if number < 4 {
                    journal.end(&Job { problem, ..job(number) }, number == 3).unwrap();
                }
            }
            drop(journal);
            // A line that a power loss cut off.
            append_to(&path).unwrap().write_all(b"{\"begun\":{\"uuid\":9,").unwrap();
            for _ in 0..2 {
                let (_, jobs) = Journal::open(&path, generation, 10).unwrap();
                let ends: Vec<(u128, Option<u32>)> =
                    jobs.iter().map(|job| (job.uuid, job.problem.as_ref().map(|problem| problem.code))).collect();
                let last = (!done).then_some(code::INTERNAL);
                assert_eq!(ends, [(1, None), (2, Some(8)), (4, last)], "generation {generation}");
                assert_eq!(jobs[0], job(1));
            }
        }
    }

    #[test]
    fn the_latest_are_kept_and_the_file_stays_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOBS_FILE);
        let (mut journal, _) = Journal::open(&path, 1, 2).unwrap();
        for number in 1..=5 {
            journal.begin(&job(number), 1).unwrap();
            journal.end(&job(number), false).unwrap();
        }
        journal.bytes = BYTES_MAX;
        journal.trim([job(4), job(5)].iter()).unwrap();
        let (_, jobs) = Journal::open(&path, 9, 2).unwrap();
        assert_eq!(jobs.iter().map(|job| job.uuid).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4);
    }
}
