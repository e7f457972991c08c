//! One load job from the command line, to see what the engine itself costs.
//!
//! ```text
//! cargo run --release -p engine --example job -- null|sync|uring [FILE] [--rw read|write|randread|randwrite] [--bs N]
//!     [--depth N] [--seconds N] [--direct] [--warm] [--jobs N] [--rate IOPS] [--poisson] [--size BYTES]
//! ```

use block::{Bytes, Iops, Span};
use engine::job::{JobProgress, RunSettings, Watch, run};
use std::path::Path;
use std::process::ExitCode;
use workload::Spacing;
use workload::job::{
    Amount, BlockCoverage, BlockSizes, Direction, EngineKind, FileSpec, JobPlace, JobSpec, Mix, Order, Pace,
    PerDirection,
};

struct Silent;

impl Watch for Silent {
    fn laying_out(&mut self, path: &Path, bytes: u64) {
        eprintln!("laying out {} ({})", path.display(), Bytes(bytes));
    }
    fn progress(&mut self, _passed: Span, _jobs: &[JobProgress]) {}
    fn wants_stop(&mut self) -> bool {
        false
    }
}

fn main() -> ExitCode {
    match arguments().and_then(|(spec, jobs)| measure(&spec, jobs)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("job: {message}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<(JobSpec, u32), String> {
    let mut spec = JobSpec { name: "job".into(), seed: 1, ..JobSpec::default() };
    let mut given = std::env::args().skip(1).peekable();
    let kind = given.next().ok_or("null, sync or uring?")?;
    spec.place = match kind.as_str() {
        "null" => JobPlace::Null { size: Bytes::gib(1) },
        _ => JobPlace::Files(vec![FileSpec { path: given.next().ok_or("which file?")?.into(), ..FileSpec::default() }]),
    };
    spec.engine = if kind == "sync" { EngineKind::Sync } else { EngineKind::Uring };
    spec.reach.order = Order::RANDOM;
    spec.reach.coverage = BlockCoverage::Free;
    spec.pacing.depth = 32;
    (spec.ending.time_based, spec.ending.runtime) = (true, Some(Span::from_secs(3)));
    let mut jobs = 1;
    while let Some(option) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{option} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
        match option.as_str() {
            "--rw" => set_pattern(&mut spec, &value()?)?,
            "--bs" => spec.reach.blocks = PerDirection::all(BlockSizes::Fixed(number(value()?)? as u32)),
            "--depth" => spec.pacing.depth = number(value()?)? as u32,
            "--seconds" => spec.ending.runtime = Some(Span::from_secs(number(value()?)?)),
            "--jobs" => jobs = number(value()?)? as u32,
            "--rate" => spec.pacing.rate = PerDirection::all(Some(Pace::Iops(Iops(number(value()?)?)))),
            "--poisson" => spec.pacing.spacing = Spacing::Poisson,
            "--direct" => spec.direct = true,
            "--warm" => spec.layout.read_ahead = true,
            "--size" => {
                let size = Bytes(number(value()?)?);
                if let JobPlace::Files(files) = &mut spec.place {
                    files[0].size = Some(Amount::Bytes(size));
                }
            }
            _ => return Err(format!("{option}: no such option")),
        }
    }
    Ok((spec, jobs))
}

fn set_pattern(spec: &mut JobSpec, pattern: &str) -> Result<(), String> {
    let (order, direction) = match pattern {
        "read" => (Order::Sequential { hole: 0 }, Direction::Read),
        "write" => (Order::Sequential { hole: 0 }, Direction::Write),
        "randread" => (Order::RANDOM, Direction::Read),
        "randwrite" => (Order::RANDOM, Direction::Write),
        _ => return Err(format!("{pattern}: no such pattern")),
    };
    (spec.reach.order, spec.reach.mix) = (order, Mix::Only(direction));
    Ok(())
}

fn measure(spec: &JobSpec, jobs: u32) -> Result<(), String> {
    let specs: Vec<JobSpec> = (0..jobs).map(|number| JobSpec { number, ..spec.clone() }).collect();
    let settings = RunSettings { destroy: vec!["job".into()], ..RunSettings::default() };
    let outcomes = run(&specs, &settings, &mut Silent).map_err(|error| error.to_string())?;
    let mut all = outcomes[0].clone();
    outcomes[1..].iter().for_each(|outcome| all.absorb(outcome));
    println!("{}", all.backend);
    for (direction, figures) in all.tape.directions().filter(|(_, figures)| figures.ops > 0) {
        let each = |span: Span| span.as_micros_f64() / figures.ops as f64;
        println!(
            "{}: {:.0} IOPS, {:.1} MiB/s over {}; {:.3} µs of CPU each ({:.3} user, {:.3} system); slat {} clat p50 {} p99 {} lat p99 {}",
            direction.name(),
            figures.iops(),
            figures.bytes_per_second() / f64::from(1 << 20),
            figures.measured,
            each(all.usage.user + all.usage.system),
            each(all.usage.user),
            each(all.usage.system),
            figures.submission.quantile(0.5),
            figures.service.quantile(0.5),
            figures.service.quantile(0.99),
            figures.response.quantile(0.99),
        );
    }
    println!("{:?}", all.tape.punctuality);
    if let Some(error) = &all.error {
        println!("{}", error.text);
    }
    Ok(())
}
