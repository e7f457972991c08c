//! Made-up outcomes of jobs with simple numbers, the same in every run.

use block::Span;
use fio::{Given, Invocation};
use stats::job::{DiskUse, ErrorKind, HistogramRow, JobOutcome, JobUsage, LogRow, SteadyReport};
use stats::run::Class;
use stats::{Direction, TapeSlice, Track};
use workload::job::EngineKind;

/// Parses a command line in a world without files; panics if it is wrong.
pub fn parsed(line: &str) -> Invocation {
    match Invocation::parse(&words(line), &Given::default()) {
        Ok(invocation) => invocation,
        Err(error) => panic!("{line}: {error}"),
    }
}

/// The words of a line.
pub fn words(line: &str) -> Vec<String> {
    line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// One outcome for each job: 2000 requests of each of its directions in two seconds.
pub fn outcomes(invocation: &Invocation) -> Vec<JobOutcome> {
    let outcome = |job: &fio::Job| {
        let spec = job.spec().unwrap();
        let mut outcome = JobOutcome {
            name: job.name.clone(),
            number: job.number,
            group: job.group,
            elapsed: Span::from_millis(2001),
            measured: Span::from_millis(2000),
            usage: JobUsage {
                user: Span::from_millis(150),
                system: Span::from_millis(250),
                switches: 4000,
                faults_major: 0,
                faults_minor: 17,
            },
            backend: "io_uring".into(),
            seed: job.seed,
            disks: vec![disk()],
            ..JobOutcome::default()
        };
        for direction in spec.reach.directions() {
            let block = u64::from(spec.reach.blocks[direction].most());
            outcome.tape[direction] = figures(direction, block, spec.engine == EngineKind::Uring);
        }
        outcome.depth.count(spec.pacing.depth, 4000);
        outcome.submitted.count(1, 4000);
        outcome.completed.count(2, 2000);
        let open = spec.pacing.rate.iter().any(|(_, pace)| pace.is_some());
        if open {
            outcome.tape.punctuality.scheduled = true;
            (outcome.tape.punctuality.late, outcome.tape.punctuality.late_most) = (3, Span::from_millis(7));
        }
        if spec.ending.steady.is_some() {
            let (reached, at, rounds) = (true, Some(Span::from_millis(1500)), vec![900.0, 1100.0]);
            let rule = "a rule".to_owned();
            outcome.steady = Some(SteadyReport { reached, at, rounds, rule, ..SteadyReport::default() });
        }
        if spec.logs.each_request {
            outcome.log = vec![row(Direction::Read, 0), row(Direction::Write, 4096)];
        }
        if spec.logs.histogram_interval.is_some() {
            let clat = outcome.tape[Direction::Read].service.clone();
            outcome.histogram_log.push(HistogramRow {
                end: Span::from_millis(1000),
                direction: Direction::Read,
                block: 4096,
                clat,
            });
        }
        if spec.forgive.read {
            outcome.errors.count(ErrorKind::Io, Some(5));
        }
        outcome
    };
    invocation.jobs.iter().map(outcome).collect()
}

/// 1 to 2000 µs once each, in two slices. A system call is submitted at once.
fn figures(direction: Direction, block: u64, is_async: bool) -> Track {
    let mut figures = Track {
        ops: 2000,
        bytes: 2000 * block,
        measured: Span::from_millis(2000),
        ..Track::new(Class::named(direction.name()))
    };
    for us in 1..=2000 {
        if is_async {
            figures.submission.record(Span::from_nanos(900));
        }
        figures.service.record(Span::from_micros(us));
        figures.response.record(Span::from_micros(us) + Span::from_nanos(900));
    }
    for (end, ops) in [(1000, 900), (2000, 1100)] {
        figures.slices.push(TapeSlice {
            end: Span::from_millis(end),
            length: Span::SECOND,
            ops,
            bytes: ops * block,
            submission_sum: Span::from_nanos(900 * ops),
            service_sum: Span::from_micros(1000 * ops),
            response_sum: Span::from_nanos(1_000_900 * ops),
            ..TapeSlice::default()
        });
    }
    figures
}

fn row(direction: Direction, at: u64) -> LogRow {
    let [slat, clat, lat] = [1_000, 100_000, 101_000].map(Span::from_nanos);
    LogRow { end: Span::from_millis(5), direction, slat, clat, lat, at, len: 4096 }
}

fn disk() -> DiskUse {
    DiskUse {
        name: "vda".into(),
        ios: [2000, 1000],
        merges: [0, 1],
        sectors: [16_000, 8_000],
        ticks: [Span::from_millis(900), Span::from_millis(400)],
        in_queue: Span::from_millis(1300),
        busy: Span::from_millis(1500),
        over: Span::from_millis(2000),
    }
}
