//! The data that a model is fitted to: the closed loops of kept runs.

use crate::command::results;
use crate::memory::Memory;
use anyhow::{Result, anyhow, bail};
use capacity::{CalibrationPoint, LeftOut, calibration_apart, calibration_points};
use stats::run::{Run, Setting, Value};
use workload::plan::{DatabasePlan, HostsPlan, Plan};
use workload::{Arrival, Pattern, Spec};

/// Points and their source.
pub struct Recordings {
    /// The points.
    pub points: Vec<CalibrationPoint>,
    /// The source: `run 17`, `runs 17, 18`.
    pub from: String,
    /// The loaded place.
    pub about: String,
    /// Points that were left out, and why.
    pub notes: Vec<String>,
}

impl Recordings {
    /// The points of these runs in the results database.
    ///
    /// # Errors
    /// There is no such run, or it says nothing about storage.
    pub fn of(names: &[String], memory: &Memory) -> Result<Recordings> {
        let database = results::open(memory)?;
        let mut numbers: Vec<i64> = Vec::new();
        let mut each: Vec<Vec<CalibrationPoint>> = Vec::new();
        let mut found = Recordings { points: Vec::new(), from: String::new(), about: String::new(), notes: Vec::new() };
        for name in names {
            let number = database.number_of(name)?;
            if numbers.contains(&number) {
                bail!("--run {name}: is run {number}, which is named already; name each once");
            }
            numbers.push(number);
            let mut run = database.load(number)?;
            if matches!(run.identity.tool.as_str(), "run" | "simulate" | "demo") {
                say_load(&mut run, number)?;
            }
            let before = found.points.len();
            found.add(&run, &format!("run {number}"))?;
            each.push(found.points[before..].to_vec());
        }
        if let Some((one, other, times)) = calibration_apart(&each) {
            bail!(
                "--run: runs {} and {} are not of one storage: of the same loads one did {times:.1} times as much as the \
                 other; name runs of one",
                numbers[one],
                numbers[other]
            );
        }
        found.from = listed(&numbers);
        Ok(found)
    }

    /// The points of a ladder's run.
    ///
    /// # Errors
    /// It says nothing about storage.
    pub fn of_one(run: &Run, from: String) -> Result<Recordings> {
        let mut found = Recordings { points: Vec::new(), about: String::new(), notes: Vec::new(), from };
        let name = found.from.clone();
        found.add(run, &name)?;
        Ok(found)
    }

    fn add(&mut self, run: &Run, name: &str) -> Result<()> {
        let (points, left_out) = calibration_points(run).map_err(|rule| anyhow!("{name}: {rule}"))?;
        if points.is_empty() {
            let why = left_out.first().map_or("nothing was done in it", |left_out| left_out.why);
            bail!("{name}: has no point that a model can be fitted to: {why}");
        }
        self.points.extend(points);
        for LeftOut { name: point, why } in left_out {
            self.notes.push(format!("{name}, {point}: left out, {why}"));
        }
        if self.about.is_empty() {
            let place = run.places.first().map_or("storage", |place| place.name.as_str());
            self.about =
                if run.machine.host.is_empty() { place.into() } else { format!("{place} on {}", run.machine.host) };
        }
        Ok(())
    }
}

/// A list of runs: `run 17`, `runs 17, 18`, or `runs 1 to 18` for many consecutive ones.
fn listed(numbers: &[i64]) -> String {
    match numbers {
        [one] => format!("run {one}"),
        [first, .., last] if numbers.len() > 3 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1) => {
            format!("runs {first} to {last}")
        }
        _ => format!("runs {}", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Adds the number of requests in flight to a plan's run: the plan has it, by phase and workload.
fn say_load(run: &mut Run, number: i64) -> Result<()> {
    let text = &run.identity.text;
    if DatabasePlan::is_meant(text) || HostsPlan::is_meant(text) {
        bail!(
            "run {number}: is of a plan of a database or of hosts, which do not load storage in closed loops; name runs \
               of plans with phases or of fio"
        );
    }
    let plan = Plan::read(text, &format!("run {number}")).map_err(|errors| anyhow!("{errors}"))?;
    if plan.phases.len() != run.points.len() || plan.workloads.len() != run.actors.len() {
        bail!("run {number}: has other phases or workloads than its plan says; name runs of simpler plans or of fio");
    }
    for (point, phase) in (0..).zip(&plan.phases) {
        for (actor, spec) in (0..).zip(&phase.specs) {
            for (key, value) in said(spec) {
                run.settings.push(Setting { point: Some(point), actor: Some(actor), key, value });
            }
        }
    }
    Ok(())
}

fn said(spec: &Spec) -> Vec<(String, Value)> {
    let order = if spec.pattern == Pattern::Sequential { "sequential" } else { "random" };
    let mut said = vec![("order".into(), Value::Word(order.into()))];
    match spec.arrival {
        Arrival::Closed { depth } => {
            said.push(("depth".into(), Value::Number(f64::from(depth) * f64::from(spec.connections))));
        }
        Arrival::Open { rate, .. } => said.push(("open_rate_iops".into(), Value::Number(rate.0 as f64))),
    }
    if let Some(pace) = spec.pace {
        said.push(("pace_rate_iops".into(), Value::Number(pace.0 as f64)));
    }
    said
}
