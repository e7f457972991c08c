//! A write cycle of several instances on an array, request by request, in virtual time.
//!
//! ```text
//!   reads of all instances ─┐
//!   writer of instance 1   ─┼─ Hub ─► simulated array      │ data 1 │ data 2 │ … │ journal 1 │ …
//!   writer of instance 2   ─┘
//! ```
//! All bursts begin with the reads: the quiet time before the first burst says nothing new.

use anyhow::{Result, bail};
use array::{DeviceSpec, Model, VirtualClock};
use block::{Bytes, Driver as _, ObjectId, Span, Target, Time, Wait, drive};
use capacity::{Need, Play, Played};
use engine::Hub;
use ramp::{BLOCK, Constants, CycleMachine, DataFile, Layout, NoContents, RampLoad, RunSetup, Spot};
use stats::Tape;

use crate::interrupt::Stop;

/// The data of an instance whose used space is not given, as in `seawall simulate ramp`.
const DATA: Bytes = Bytes::gib(100);
/// Most writers of bursts that are played apart. Of more instances several are one writer, with
/// their requests outstanding and with journal writes as large as theirs together.
const WRITERS_MAX: u32 = 16;
const DEVICE: ObjectId = ObjectId(0);
const SEED: u64 = 1;

/// The instances on an array.
struct Instances {
    hub: Hub<Box<dyn Target>>,
    constants: Constants,
    load: RampLoad,
    writers: u32,
    /// Instances of one writer.
    each: u32,
    /// Data and journal of a writer.
    data: u64,
    journal: u64,
    cycles: u32,
}

/// Plays it; `stop` ends it early.
///
/// # Errors
/// It was stopped, or the array cannot be built.
pub fn play(need: &Need, of: &Play, stop: &Stop) -> Result<Played> {
    let on = Instances::on(need, of)?;
    let begins = Time::ZERO + on.constants.cycle;
    let mut clock = VirtualClock::new();
    let mut machines = on.writers()?;
    clock.turn(Some(begins));
    machines.push(on.reads(begins, of)?);
    let end = begins + on.constants.cycle * u64::from(on.cycles);
    let (mut is_stopped, mut next) = (false, begins);
    let now = drive(&mut clock, &mut machines, |now, machines| {
        if now < next {
            return Wait::Until(next);
        }
        is_stopped = stop.is_asked();
        let cycle = now.since(begins).as_nanos() / on.constants.cycle.as_nanos();
        let late = machines.iter().take(on.writers as usize).any(|of| of.progress(now).cycles < cycle);
        if is_stopped || late || now >= end {
            machines.iter_mut().for_each(CycleMachine::stop);
        }
        next = now + Span::SECOND;
        if is_stopped { Wait::End } else { Wait::Until(next) }
    });
    if is_stopped {
        bail!("stopped by hand");
    }
    let mut outcomes: Vec<_> = machines.into_iter().map(|machine| machine.finish(now)).collect();
    let Some(reads) = outcomes.pop() else { bail!("no reads were played") };
    let response = |tape: &Tape, class: usize| tape[class].response.mean().as_secs_f64();
    let bursts = outcomes.iter().map(|one| {
        let longest = one.cycles.iter().map(|cycle| cycle.cycle.as_secs_f64()).max_by(f64::total_cmp);
        longest.filter(|_| one.cycles.len() == on.cycles as usize)
    });
    let burst = if on.load.burst == 0 { Some(0.0) } else { bursts.collect::<Option<Vec<_>>>().map(longest) };
    let write = longest(outcomes.iter().map(|one| response(&one.tape, Tape::WRITE)).collect());
    Ok(Played { read: response(&reads.tape, Tape::READ), write, burst })
}

fn longest(times: Vec<f64>) -> f64 {
    times.into_iter().fold(0.0, f64::max)
}

impl Instances {
    fn on(need: &Need, of: &Play) -> Result<Instances> {
        let constants = need.constants;
        let each = of.instances.div_ceil(WRITERS_MAX);
        let writers = of.instances.div_ceil(each);
        let iops = of.iops * f64::from(of.instances) / f64::from(writers);
        let load = RampLoad::of(iops.round() as u64, &constants);
        let given = need.spread.unwrap_or(DATA).0.saturating_mul(each.into()) / BLOCK;
        let data = given.max(load.burst).max(1) * BLOCK;
        let journal = Layout::wij_need(load.burst);
        let size = Bytes((data + journal).saturating_mul(writers.into()));
        let spec = DeviceSpec { size, ..DeviceSpec::of(Model::Array(of.array.clone())) };
        let hub = Hub::new(spec.build(SEED)?);
        Ok(Instances { hub, constants, load, writers, each, data, journal, cycles: of.cycles })
    }

    /// The writers of all instances; each wakes for its first burst after one cycle.
    fn writers(&self) -> Result<Vec<CycleMachine>> {
        let of = &self.constants;
        let wij_write = Bytes(of.wij_write.0 * u64::from(self.each));
        let constants = Constants { writers: of.writers * self.each, wij_write, ..*of };
        let load = RampLoad { read_percent: 0, ..self.load };
        // The last burst begins a cycle before the end.
        let runtime = of.cycle * u64::from(self.cycles) + Span::SECOND;
        let writer = |number: u32| {
            let number = u64::from(number);
            let data = DataFile { object: DEVICE, at: number * self.data, blocks: self.data / BLOCK };
            let at = u64::from(self.writers) * self.data + number * self.journal;
            let layout = Layout::new(vec![data], Spot { object: DEVICE, at, bytes: self.journal });
            self.machine(layout, &load, RunSetup { constants, runtime, seed: SEED + 1 + number }, Time::ZERO)
        };
        (0..self.writers).map(writer).collect()
    }

    /// The reads of all instances.
    fn reads(&self, begins: Time, of: &Play) -> Result<CycleMachine> {
        let whole = u64::from(self.writers) * self.data;
        let constants = Constants { readers: self.constants.readers * of.instances, ..self.constants };
        let load = RampLoad { burst: 0, target: self.load.target * u64::from(self.writers), ..self.load };
        let data = DataFile { object: DEVICE, at: 0, blocks: whole / BLOCK };
        let layout = Layout::new(vec![data], Spot { object: DEVICE, at: whole, bytes: self.journal });
        let runtime = self.constants.cycle * u64::from(self.cycles);
        self.machine(layout, &load, RunSetup { constants, runtime, seed: SEED }, begins)
    }

    fn machine(&self, layout: Layout, load: &RampLoad, setup: RunSetup, start: Time) -> Result<CycleMachine> {
        Ok(CycleMachine::new(Box::new(self.hub.socket()), Box::new(NoContents), layout, load, &setup, start)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, interrupt};
    use block::Bytes;

    fn played(array: &str, iops: f64, instances: u32) -> Played {
        let device = catalogue::device("--array", array).expect("an array");
        let array = crate::command::reproduce::array_of(&device).expect("stages");
        let constants = Constants { cycle: Span::from_secs(8), ..Constants::default() };
        let need = Need {
            iops,
            instances,
            most: 1.0,
            most_one_down: 1.0,
            response: [1.0; 2],
            growth: 0.0,
            years: 0,
            spread: Some(Bytes::gib(16)),
            constants,
        };
        let of = Play { name: String::new(), array, iops, instances, cycles: 2 };
        play(&need, &of, &interrupt::watch().expect("signals")).expect("played")
    }

    /// 300 IOPS on eight disks behind a log that takes a burst whole: 600 blocks and their journal
    /// are answered from memory, within a tenth of the time that eight disks need for 600 writes
    /// twice (0.9 s). 100 000 make 3.3 GB a burst, more than the 2 GiB of the log, and 200 000
    /// blocks on two disks each take minutes.
    #[test]
    fn a_log_takes_a_burst_and_disks_do_not() {
        let light = played("usp-v-fc-raid10", 300.0, 1);
        assert!(light.burst.is_some_and(|burst| burst < 0.09), "{light:?}");
        assert!((3e-3..30e-3).contains(&light.read) && light.write < 1e-3, "{light:?}");
        assert_eq!(played("usp-v-fc-raid10", 100_000.0, 1).burst, None);
    }

    /// Two instances write their bursts side by side, each as long as one alone.
    #[test]
    fn instances_are_side_by_side() {
        let [one, two] = [1, 2].map(|instances| played("aff-a300", 2000.0, instances).burst.expect("it ends"));
        assert!((two / one - 1.0).abs() < 0.1, "{one} {two}");
    }
}
