//! One call of fio: parsed, unfolded and checked.

use crate::command_line;
use crate::error::{Error, Problem};
use crate::flags::{Action, Flags};
use crate::job::Job;
use crate::jobfile;
use crate::script::Script;
use crate::unfold::{self, LeftOut};
use crate::world::World;

/// The meaning of a command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// Flags of the run: what to do, outputs, limits.
    pub flags: Flags,
    /// The job files that were read, in order.
    pub files: Vec<String>,
    /// The jobs in order, clones next to each other. Empty if the action needs none.
    pub jobs: Vec<Job>,
    /// The final values that global sections set, by fio's names, for the report; `None` if they
    /// set nothing.
    pub global: Option<Vec<(String, String)>>,
    /// Jobs that cannot run and do not prevent the others from running. With `--strict-fio` they
    /// make the exit code 1.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user before the run; one line each.
    pub notes: Vec<String>,
    pub(crate) scripts: Vec<Script>,
}

impl Invocation {
    /// Parses a command line, without the program's name, and the job files that it names.
    ///
    /// # Errors
    /// See [`Error`]; nothing was run or written.
    pub fn parse(arguments: &[String], world: &dyn World) -> Result<Invocation, Error> {
        let line = command_line::read(arguments, world)?;
        let flags = line.flags;
        let mut scripts = vec![line.script];
        for file in &line.files {
            scripts.push(jobfile::read(file, world, flags.dialect())?);
        }
        let mut invocation = Invocation {
            notes: flags.notes.clone(),
            flags,
            files: line.files,
            jobs: Vec::new(),
            global: None,
            left_out: Vec::new(),
            scripts,
        };
        if !matches!(invocation.flags.action, Action::Run | Action::ParseOnly | Action::ShowCommand) {
            return Ok(invocation);
        }
        invocation.check_sections()?;
        invocation.unfold(world)?;
        Ok(invocation)
    }

    fn unfold(&mut self, world: &dyn World) -> Result<(), Error> {
        let unfolded = unfold::unfold(&self.scripts, &self.flags, world)?;
        self.notes.extend(unfolded.notes);
        self.notes.extend(unfolded.left_out.iter().map(LeftOut::note));
        (self.jobs, self.global, self.left_out) = (unfolded.jobs, unfolded.global, unfolded.left_out);
        if self.jobs.is_empty() && self.left_out.is_empty() && self.flags.action == Action::Run {
            return Err(Error::on_command_line(Problem::NoJob));
        }
        Ok(())
    }

    fn check_sections(&self) -> Result<(), Error> {
        let sections = self.scripts.iter().filter(|script| script.file.is_some()).flat_map(|script| &script.sections);
        let there: Vec<&str> = sections.filter(|section| !section.is_global).map(|section| &*section.name).collect();
        match self.flags.sections.iter().find(|wanted| !there.contains(&wanted.as_str())) {
            Some(name) if !self.flags.strict_fio => {
                let there = if there.is_empty() { "none".into() } else { there.join(", ") };
                Err(Error::on_command_line(Problem::NoSuchSection { name: name.clone(), there }))
            }
            _ => Ok(()),
        }
    }

    /// The jobs that are reported as one entry, by index and in order: the jobs of a group with
    /// `group_reporting` together, all others separately, and those with `stats=0` not at all.
    pub fn entries(&self) -> Vec<Vec<usize>> {
        let mut entries: Vec<Vec<usize>> = Vec::new();
        let mut open: Option<u32> = None;
        for (index, job) in self.jobs.iter().enumerate().filter(|(_, job)| job.options.report.stats) {
            match entries.last_mut() {
                Some(entry) if job.options.report.group && open == Some(job.group) => entry.push(index),
                _ => entries.push(vec![index]),
            }
            open = job.options.report.group.then_some(job.group);
        }
        entries
    }
}
