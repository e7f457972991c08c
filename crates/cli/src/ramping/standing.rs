//! How a ramp stands: a line on the terminal, and a file in the folder of outputs for `--status`. A
//! file beside it asks the ramp to end, and one that stays says how it ended.

use crate::interrupt::Stop;
use crate::live::{Live, Stream};
use crate::{Answer, error_line};
use anyhow::{Context as _, Result, bail};
use block::Span;
use ramp::{Constants, Progress, RampLoad, RampSettings, WriterPhase};
use report::live::LiveWorkload;
use report::text;
use stats::run::Times;
use stats::{Counts, Interval};
use std::path::{Path, PathBuf};

const STATUS: &str = "ramp.status";
const STOP: &str = "ramp.stop";
/// The exit code and, behind a blank, what the ramp ended with.
const ENDED: &str = "ramp.ended";

/// How a ramp stands.
pub struct Standing {
    folder: PathBuf,
    stop: Stop,
    live: Live,
    /// The run that is shown, and how it stood when its last second ended.
    seen: (usize, Option<Progress>),
    looks: u64,
    runs: usize,
    /// What is said behind each line of a ramp that cannot be compared with published ones.
    stamp: &'static str,
}

impl Standing {
    /// For a ramp with its outputs in `folder`.
    ///
    /// # Errors
    /// Another ramp is writing there.
    pub fn begin(folder: &Path, stop: Stop, settings: &RampSettings, quiet: bool) -> Result<Standing> {
        must_be_free(folder)?;
        for name in [STOP, ENDED] {
            let _ = std::fs::remove_file(folder.join(name));
        }
        let runs = settings.loads().len();
        let stamp = if settings.differences().is_empty() { "" } else { ", not comparable" };
        let mut live = Live::on(Stream::Err, quiet, format!("ramp, outputs in {}", folder.display()));
        live.state.workloads = vec![LiveWorkload::new("read", "")];
        let standing = Standing { folder: folder.into(), stop, live, seen: (0, None), looks: 0, runs, stamp };
        standing.keep("starting")?;
        Ok(standing)
    }

    /// Whether the ramp of process `pid` has begun, with its outputs in `folder`.
    pub fn is_begun(folder: &Path, pid: u32) -> bool {
        matches!(read(folder), Ok(Some((begun, _))) if begun == pid)
    }

    /// Shows how a run stands; whether it is to go on. `run` counts from 1, 0 is the warm-up.
    pub fn show(
        &mut self,
        run: usize,
        load: &RampLoad,
        length: Span,
        constants: &Constants,
        progress: &Progress,
    ) -> bool {
        let line = run_line(run, self.runs, load, length, progress) + self.stamp;
        let cycle = cycle_line(constants, load, progress);
        // A file each second, not each look.
        if self.looks.is_multiple_of(5) {
            let _ = self.keep(&format!("{line}; {cycle}"));
        }
        let state = &mut self.live.state;
        (state.phase, state.phases) = if run == 0 { (0, 0) } else { (run, self.runs) };
        state.name = if run == 0 { "warm-up".into() } else { format!("{} IOPS", text::thousands(load.target)) };
        state.about = format!("{} % reads{}", load.read_percent, self.stamp);
        (state.elapsed, state.total, state.in_force) = (progress.elapsed, length, vec![cycle]);
        self.second(run, progress);
        self.live.draw();
        self.looks += 1;
        !self.is_stopped()
    }

    /// Takes in the reads of another second of `run`, once it is over.
    fn second(&mut self, run: usize, progress: &Progress) {
        let row = &mut self.live.state.workloads[0];
        if self.seen.0 != run {
            (self.seen, row.recent) = ((run, None), Default::default());
        }
        let second = reads_since(self.seen.1.as_ref(), progress);
        if second.length >= Span::SECOND {
            row.push(second);
            self.seen.1 = Some(*progress);
        }
    }

    /// Whether an end was asked for.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_asked() || self.folder.join(STOP).exists()
    }

    /// Takes itself off the terminal, so that there is room for something that stays.
    pub fn clear(&mut self) {
        self.live.clear();
    }

    /// The ramp has ended; `verdict` is on all of its runs, where they were played.
    pub fn end(self, ended: &Result<Answer>, verdict: &str) {
        let line = match ended {
            Ok(Answer::Yes) => format!("0 {verdict}\n"),
            Ok(Answer::No) => format!("1 {verdict}\n"),
            Err(error) => format!("2 {}\n", error_line::of(error)),
        };
        // What cannot be kept was said where the ramp itself says it.
        let _ = std::fs::write(self.folder.join(ENDED), line);
    }

    fn keep(&self, line: &str) -> Result<()> {
        let path = self.folder.join(STATUS);
        let text = format!("{} {line}\n", std::process::id());
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.clear();
        let _ = std::fs::remove_file(self.folder.join(STATUS));
        let _ = std::fs::remove_file(self.folder.join(STOP));
    }
}

/// An error when another ramp has its outputs in `folder`.
pub fn must_be_free(folder: &Path) -> Result<()> {
    match read(folder)?.filter(|(pid, _)| is_alive(*pid)) {
        Some((pid, _)) => {
            bail!("--output: the ramp of process {pid} is running in {}; name another folder", folder.display())
        }
        None => Ok(()),
    }
}

/// How the ramp in `folder` stands, or how the last one there ended: an error where that could not
/// say.
pub fn said(folder: &Path) -> Result<(String, Answer)> {
    match read(folder)? {
        Some((pid, line)) if is_alive(pid) => Ok((format!("process {pid}: {line}"), Answer::Yes)),
        Some((pid, line)) => bail!("the ramp of process {pid} is gone without an end; it stood at: {line}"),
        None => last_said(folder),
    }
}

fn last_said(folder: &Path) -> Result<(String, Answer)> {
    let text = std::fs::read_to_string(folder.join(ENDED)).unwrap_or_default();
    match text.trim().split_once(' ') {
        Some(("0", verdict)) => Ok((format!("over, verdict {verdict}"), Answer::Yes)),
        Some(("1", verdict)) => Ok((format!("over, verdict {verdict}"), Answer::No)),
        Some((_, complaint)) => bail!("--status: the ramp is over: {complaint}"),
        None => bail!("--status: no ramp is running or has ended with its outputs in {}", folder.display()),
    }
}

/// Asks the ramp in `folder` to end.
pub fn ask_to_stop(folder: &Path) -> Result<()> {
    if read(folder)?.is_none_or(|(pid, _)| !is_alive(pid)) {
        bail!("--stop: no ramp is running with its outputs in {}; nothing was stopped", folder.display());
    }
    let path = folder.join(STOP);
    std::fs::write(&path, "").with_context(|| path.display().to_string())
}

fn read(folder: &Path) -> Result<Option<(u32, String)>> {
    let path = folder.join(STATUS);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let (pid, line) = text.trim().split_once(' ').unwrap_or_default();
    Ok(pid.parse().ok().map(|pid| (pid, line.to_owned())))
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn run_line(run: usize, runs: usize, load: &RampLoad, length: Span, progress: &Progress) -> String {
    let seconds = |span: Span| span.as_secs_f64().round();
    let name = if run == 0 { "warm-up".to_owned() } else { format!("run {run} of {runs}") };
    format!(
        "{name}, {} IOPS, {} of {} s, read {}",
        load.target,
        seconds(progress.elapsed),
        seconds(length),
        progress.read_mean,
    )
}

/// The reads that ended between two looks; the first begins with the run. Of means over all reads
/// so far, the mean of those between follows.
fn reads_since(before: Option<&Progress>, now: &Progress) -> Interval {
    let (start, reads, sum) =
        before.map_or((Span::ZERO, 0, Span::ZERO), |at| (at.elapsed, at.reads, at.read_mean * at.reads));
    let count = now.reads.saturating_sub(reads);
    let mean = (now.read_mean * now.reads).saturating_sub(sum) / count.max(1);
    Interval {
        start,
        length: now.elapsed.saturating_sub(start),
        counts: Counts { reads: count, read_bytes: count * ramp::BLOCK, ..Counts::default() },
        response: (count > 0).then_some(Times { count, mean, spread: None, max: None }),
        ..Interval::default()
    }
}

/// Characters of the bar that shows how much of a burst is written.
const BAR: u64 = 10;

fn cycle_line(constants: &Constants, load: &RampLoad, progress: &Progress) -> String {
    let (phase, is_writing) = match progress.phase {
        WriterPhase::Sleep => return format!("cycle {}: asleep", progress.cycles + 1),
        WriterPhase::Journal => ("journal", true),
        WriterPhase::JournalSync => ("journal sync", false),
        WriterPhase::Data => ("database", true),
        WriterPhase::DataSync => ("database sync", false),
        WriterPhase::Clear => ("journal clear", false),
    };
    let mut line = format!("cycle {}: {phase}", progress.cycles + 1);
    if is_writing {
        let done = load.burst.saturating_sub(progress.blocks_left) * BAR / load.burst.max(1);
        let (done, left) = ("#".repeat(done as usize), "-".repeat((BAR - done) as usize));
        line += &format!(" [{done}{left}] {} blocks left", progress.blocks_left);
    }
    let limit = constants.cycle_limit();
    let left = limit.as_secs_f64() - progress.cycle.as_secs_f64();
    match left >= 0.0 {
        true => format!("{line}, {left:.1} s to the {limit} line"),
        false => format!("{line}, {:.1} s over its {limit}", -left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the journal of a burst of 20 000 blocks, 10 s after its start: 35 s to the line; and
    /// 5 s behind it.
    #[test]
    fn the_cycle_is_shown_by_phase_blocks_and_seconds() {
        let (constants, load) = (Constants::default(), RampLoad { target: 1000, read_percent: 75, burst: 20_000 });
        let progress = |phase, blocks_left, cycle| Progress {
            elapsed: Span::from_secs(90),
            phase,
            blocks_left,
            cycle: Span::from_secs(cycle),
            reads: 0,
            read_mean: Span::from_micros(812),
            cycles: 0,
        };
        let line = |phase, left, cycle| cycle_line(&constants, &load, &progress(phase, left, cycle));
        assert_eq!(
            line(WriterPhase::Journal, 10_000, 10),
            "cycle 1: journal [#####-----] 10000 blocks left, 35.0 s to the 45.0 s line"
        );
        assert_eq!(line(WriterPhase::DataSync, 0, 50), "cycle 1: database sync, 5.0 s over its 45.0 s");
        // As long as it gets in a published run: 150 000 IOPS, the last cycle. It is shown whole in
        // 80 columns.
        let (load, last) = (RampLoad { burst: 3_000_000, ..load }, progress(WriterPhase::Data, 1_500_000, 73));
        let longest = cycle_line(&constants, &load, &Progress { cycles: 21, ..last });
        assert_eq!(longest, "cycle 22: database [#####-----] 1500000 blocks left, 28.0 s over its 45.0 s");
        assert!(longest.len() < 80, "{}", longest.len());
        assert_eq!(line(WriterPhase::Sleep, 0, 0), "cycle 1: asleep");
        // 750 reads of 1 ms in the first second, 250 of 5 ms in the next: all of them have a mean
        // of 2 ms.
        let at = |seconds, reads, mean| Progress {
            elapsed: Span::from_secs(seconds),
            reads,
            read_mean: Span::from_millis(mean),
            ..progress(WriterPhase::Sleep, 0, 0)
        };
        let (first, second) = (at(1, 750, 1), at(2, 1000, 2));
        let reads = reads_since(Some(&first), &second);
        assert_eq!((reads.length, reads.counts.reads), (Span::SECOND, 250));
        assert_eq!(reads.response.map(|times| times.mean), Some(Span::from_millis(5)));
        assert_eq!(reads_since(None, &first).iops(), 750.0);
        let run = run_line(2, 10, &load, Span::from_secs(1800), &progress(WriterPhase::Sleep, 0, 0));
        assert_eq!(run, "run 2 of 10, 1000 IOPS, 90 of 1800 s, read 812 µs");
    }
}
