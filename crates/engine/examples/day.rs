//! `cargo xtask bench results`: the memory that a plan with a hundred workloads needs to run for a
//! day.
//!
//! Arguments: hours, workloads. The stage is a stub and the time is virtual. What is measured is
//! the run that the conductor builds: reads and writes of every second, the gate's statistics and
//! the dispatches.

use block::{Bytes, Span, Time};
use engine::{Conductor, Managed, ObjectSecond, RunWatcher, Second, Stage, StageError, WorkloadSecond};
use stats::run::{Run, RunPlace};
use stats::{DispatchTrace, Ended, HeldBy, LimitsInForce, Noted, Tape, Waits};
use std::fmt::Write as _;
use workload::{Plan, Spec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [hours, workloads] = numbers[..] else { return Err("name the hours and the workloads".into()) };
    let plan = Plan::read(&text(hours, workloads), "day.toml")?;
    let path = |n| format!("svm01:/vol/v{n}/l");
    let places = (0..workloads).map(|n| RunPlace { kind: "volume".into(), name: path(n), size: None }).collect();
    let mut stage = Even { now: Time::ZERO, paths: (0..workloads).map(path).collect() };
    let mut on = On;
    let conductor = Conductor::new(&plan, &mut stage, &mut on, places, Span::from_micros(100));
    let (run, played) = conductor.play(vec![Vec::new()], Run::default());
    played?;
    let bins: usize = run.objects.iter().map(|object| object.trace.len()).sum();
    println!(
        "{:>7} MB  most memory of a plan of {hours} h with {workloads} workloads; at its end {} slices and {bins} bins",
        most_memory()? / 1_000_000,
        run.slices()
    );
    println!("{:>7.1} s   of the processor to play it", uring::usage::thread_cpu().as_secs_f64());
    Ok(())
}

fn text(hours: u64, workloads: u64) -> String {
    let mut text = format!("title = \"A day\"\nphase_seconds = {}\n[server]\nsvm = \"svm01\"\n", hours * 3600);
    for n in 0..workloads {
        let _ = write!(
            text,
            "[[volume]]\nname = \"v{n}\"\nsize = \"1GB\"\nlun = \"l\"\n[[workload]]\nname = \"w{n}\"\n\
             lun = \"/vol/v{n}/l\"\ndepth = 4\n"
        );
    }
    text + "[[phase]]\nname = \"day\"\n"
}

/// Peak memory of this process in bytes, as the kernel reports it.
fn most_memory() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the kernel does not say")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// A stage that returns the same second every time, at no cost.
struct Even {
    now: Time,
    paths: Vec<String>,
}

impl Managed for Even {
    fn command(&mut self, _line: &str) -> Result<String, StageError> {
        Ok(String::new())
    }

    fn limits(&mut self) -> Vec<(String, LimitsInForce)> {
        Vec::new()
    }

    fn used(&mut self) -> Vec<(String, Bytes)> {
        Vec::new()
    }
}

impl Stage for Even {
    fn managed(&mut self) -> Option<&mut dyn Managed> {
        Some(self)
    }

    fn reshape(&mut self, _workload: usize, _spec: &Spec) -> Result<(), StageError> {
        Ok(())
    }

    fn run(&mut self, until: Time) -> Result<Second, StageError> {
        let from = std::mem::replace(&mut self.now, until);
        let workloads = self.paths.iter().map(|_| second(from)).collect();
        let objects = self.paths.iter().map(|path| object(path, from)).collect();
        Ok(Second { workloads, objects, ..Second::default() })
    }

    fn now(&self) -> Time {
        self.now
    }
}

/// Reads and writes from 50 µs to 25 ms.
fn second(from: Time) -> WorkloadSecond {
    let mut tape = Tape::new(from, Noted { gate: true, ..Noted::default() });
    for n in 0..60u64 {
        let (class, bytes) = if n % 4 == 0 { (Tape::WRITE, 8192) } else { (Tape::READ, 4096) };
        let due = from + Span::from_millis(n * 10);
        let end =
            due + Span::from_nanos((50e3 * 500f64.powf(n as f64 / 60.0)) as u64 + from.as_nanos() / 1_000_000 % 997);
        tape.ended(&Ended { class, due, made: due, handed: due, end, gate: Span::from_micros(n), bytes });
    }
    WorkloadSecond { tape, outstanding: 4, ..WorkloadSecond::default() }
}

fn object(path: &str, from: Time) -> ObjectSecond {
    let mut trace = DispatchTrace::default();
    (0..100).for_each(|bin| trace.add_bin(from.as_nanos() / 10_000_000 + bin, 27, 27 * 4096));
    let waits = Waits { device: Span::from_micros(300 + from.as_nanos() / 1_000_000_000 % 89), ..Waits::default() };
    ObjectSecond { path: path.into(), trace, waits, held_by: HeldBy::CeilingIops, ..ObjectSecond::default() }
}

/// A watcher that never stops the run.
struct On;

impl RunWatcher for On {
    fn second(&mut self, _run: &Run, _phase: usize, _passed: Span, _whole: Span) -> bool {
        true
    }
}
