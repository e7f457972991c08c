//! Which array carries a load: the utilisation of each of its resources, which of them is saturated
//! first and at which load, with all controllers and with one of two, now and after growth.
//!
//! A database makes `T` operations a second, of which a fraction `reads` are reads at all times.
//! Its writes come in a burst every 80 s, which must be written within 45 s, first to a journal and
//! then to their places. So while a burst lasts, an array must carry `T × reads` reads, `T × writes
//! × 80 / 45` small writes, and a thirty-second as many large ones.
//!
//! Capacity alone is not enough: a burst is written to the journal by one stream and to its places
//! by eight writers, each of which waits for its write. With `B` blocks in a burst a cycle takes `B
//! / (blocks a second of the journal) + B / (blocks a second of the writers)`, beside the reads of
//! all instances and with all instances in the same phase.
//!
//! All of this is by means, which do not know how full a log is. What is chosen by them is played
//! (`played.rs`).

mod money;
mod page;
mod played;

use crate::hosts_on::{HostLoad, HostsOn};
use array::{Array, ArrayStage, Flow, Means};
use block::{Bytes, OpKind};
pub use money::money;
pub use page::{size_page, size_text};
pub use played::{Play, Played, played};

use ramp::{BLOCK, Constants, HostPhase, RampLoad, Steady as _};

/// The load to be carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Operations a second of one instance.
    pub iops: f64,
    /// Number of instances.
    pub instances: u32,
    /// Maximum utilisation of each resource, from 0 to 1.
    pub most: f64,
    /// The maximum with one controller of two.
    pub most_one_down: f64,
    /// Maximum mean response times of a read and of a write, in seconds.
    pub response: [f64; 2],
    /// Growth of the load in a year: 0.2 for a fifth.
    pub growth: f64,
    /// Number of years.
    pub years: u32,
    /// The space over which the reads of one instance are spread, if known; caches are rated by it.
    pub spread: Option<Bytes>,
    /// The constants of the test.
    pub constants: Constants,
}

/// An array to consider.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The array.
    pub array: Array,
    /// Price of one, if known.
    pub price: Option<f64>,
}

/// An array under a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Utilisation of its resources, and response times of reads and small writes.
    pub means: Means,
    /// What is exhausted first as the load grows: a resource, or "write cycle".
    pub limit: String,
    /// The part of `full_at` that the load is: for a resource this is its utilisation.
    pub limit_used: f64,
    /// The load in operations a second at which it is exhausted.
    pub full_at: f64,
    /// Time of a burst in seconds.
    pub cycle: f64,
    /// The load in operations a second at which a burst takes its maximum time.
    pub cycle_at: f64,
}

/// Two loads at which something is exhausted are the same if one is at least this part of the
/// other.
const SAME: f64 = 0.99;

/// The limit of a standing whose resources have room while bursts take too long.
const WRITE_CYCLE: &str = "write cycle";

impl Standing {
    /// The resource with the highest utilisation, and that utilisation.
    fn fullest(&self) -> (&str, f64) {
        self.means.limit().map_or(("", 0.0), |(name, used)| (name, *used))
    }

    /// Mean response times of a read and of a small write in seconds.
    fn response(&self) -> [f64; 2] {
        [0, 1].map(|flow| self.means.flows[flow].response)
    }
}

/// The result for a candidate.
#[derive(Clone, Debug)]
pub struct Sized {
    /// Its name.
    pub name: String,
    /// Price of one.
    pub price: Option<f64>,
    /// Number of media in one.
    pub media: u64,
    /// Number of cores of its controllers.
    pub cores: u64,
    /// With all instances on one array.
    pub all: Standing,
    /// The same with one controller of two.
    pub one_down: Standing,
    /// With one instance on one array.
    pub silo: Standing,
    /// Why it does not carry all instances; `None` if it does.
    pub why_not: Option<String>,
    /// Why it does not carry one instance; `None` if it does.
    pub why_no_silo: Option<String>,
    /// Year by year, from now on.
    pub years: Vec<Year>,
    /// Whether there is no second controller that could be left: one has a single core.
    pub single: bool,
    /// Whether means do not decide: it is judged by what was played alone.
    pub by_play: bool,
    /// A write cycle with all instances on one array, if it was played.
    pub played: Option<Played>,
    /// The same with one instance.
    pub played_silo: Option<Played>,
}

impl Sized {
    /// How near to its limit it is, from 0 to 1, with all instances or with one.
    fn nearness(&self, need: &Need, standing: &Standing, played: Option<Played>) -> f64 {
        match played.filter(|_| self.by_play) {
            Some(played) => {
                let burst = played.burst.unwrap_or(f64::INFINITY) / need.constants.cycle_limit().as_secs_f64();
                burst.max(played.read / need.response[0])
            }
            None => standing.limit_used,
        }
    }
}

/// With all instances after some years of growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Year {
    /// Utilisation of what is exhausted first.
    pub used: f64,
    /// The same with one controller of two.
    pub one_down: f64,
    /// Whether it is still carried.
    pub carries: bool,
}

/// The flows of `iops` operations a second while bursts are written.
fn flows(iops: f64, constants: &Constants, spread: Option<Bytes>) -> [Flow; 3] {
    let reads = f64::from(constants.read_percent) / 100.0;
    let writes = iops * (1.0 - reads) * constants.cycle.as_secs_f64() / constants.cycle_limit().as_secs_f64();
    let blocks = (constants.wij_write.0 / BLOCK).max(1);
    let flow = |kind, len, rate| Flow { kind, len: Bytes(len), rate, outstanding: f64::INFINITY, spread };
    [
        flow(OpKind::Read, BLOCK, iops * reads),
        flow(OpKind::Write, BLOCK, writes),
        flow(OpKind::Write, blocks * BLOCK, writes / blocks as f64),
    ]
}

/// Several instances on one array. Their data is side by side, so a cache holds a smaller part of
/// each.
struct Instances<'a> {
    array: &'a Array,
    count: u32,
    need: &'a Need,
    spread: Option<Bytes>,
    /// See [`Standing`].
    cycle_at: f64,
}

impl<'a> Instances<'a> {
    fn on(array: &'a Array, count: u32, need: &'a Need) -> Instances<'a> {
        let spread = need.spread.map(|each| Bytes(each.0.saturating_mul(count.into())));
        let found = Instances { array, count, need, spread, cycle_at: 0.0 };
        let longest = need.constants.cycle_limit().as_secs_f64();
        Instances { cycle_at: last_within(|iops| found.cycle(iops) <= longest), ..found }
    }

    /// The standing at a total of `iops` operations a second.
    fn standing(&self, iops: f64) -> Standing {
        let constants = &self.need.constants;
        let means: Means = self.array.means(&flows(iops, constants, self.spread), false);
        let cycle = self.cycle(iops);
        let (limit, used) = means.limit().cloned().unwrap_or_default();
        let full_at = if used > 0.0 { iops / used } else { f64::INFINITY };
        // Where a resource is full bursts do not end, so a cycle that is too long just before is
        // the resource's.
        let (limit, limit_used, full_at) = match self.cycle_at < SAME * full_at {
            true => (WRITE_CYCLE.into(), iops / self.cycle_at, self.cycle_at),
            false => (limit, used, full_at),
        };
        Standing { means, limit, limit_used, full_at, cycle, cycle_at: self.cycle_at }
    }

    /// Time of the bursts in seconds at a total of `iops` operations a second, with all instances
    /// in the same phase.
    fn cycle(&self, iops: f64) -> f64 {
        let constants = &self.need.constants;
        let load = RampLoad::of((iops / f64::from(self.count)).round() as u64, constants);
        let hosts = [HostLoad { alike: self.count, spread: self.spread, ..HostLoad::of(load) }];
        let mut on = HostsOn::new(self.array, &hosts, constants, false);
        let mut phase = |doing| load.burst as f64 / on.rates(&[doing])[0].blocks;
        if load.burst == 0 { 0.0 } else { phase(HostPhase::Journal) + phase(HostPhase::Blocks) }
    }
}

/// The largest load for which `holds` is true, to a thousandth; infinite if it always is.
fn last_within(holds: impl Fn(f64) -> bool) -> f64 {
    let Some(mut high) = (0..=30).map(|power| f64::from(2u32.pow(power))).find(|iops| !holds(*iops)) else {
        return f64::INFINITY;
    };
    let mut low = high / 2.0;
    while high - low > 1e-3 * low {
        let middle = f64::midpoint(low, high);
        *(if holds(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

/// The same array with one controller of two: half of its cores and of its paths. A file server
/// with credits has a standby with the same figures.
fn one_down(array: &Array) -> Array {
    if array.stages.iter().any(|stage| matches!(stage, ArrayStage::Credits(_))) {
        return array.clone();
    }
    let half = |stage: &ArrayStage| match stage.clone() {
        ArrayStage::Controller(mut controller) => {
            controller.cores = (controller.cores / 2).max(1);
            ArrayStage::Controller(controller)
        }
        ArrayStage::Link(mut link) => {
            link.bandwidth = Bytes((link.bandwidth.0 / 2).max(1));
            link.flows = (link.flows / 2).max(1);
            ArrayStage::Link(link)
        }
        other => other,
    };
    Array { stages: array.stages.iter().map(half).collect(), media: array.media.clone() }
}

/// Whether a controller has a single core, which cannot be halved.
fn is_single(array: &Array) -> bool {
    array.stages.iter().any(|stage| matches!(stage, ArrayStage::Controller(controller) if controller.cores < 2))
}

/// Utilisation as a percentage.
fn percent(used: f64) -> String {
    format!("{} %", whole_percent(used))
}

/// The percentage without its sign. Beyond 999 the load at which the resource is exhausted says
/// more.
fn whole_percent(used: f64) -> String {
    match (100.0 * used).round() {
        percent if percent > 999.0 => ">999".into(),
        percent => format!("{percent:.0}"),
    }
}

/// Seconds as milliseconds for a message: two digits after the point, or three significant ones.
fn milliseconds_of(seconds: f64) -> String {
    let ms = 1e3 * seconds;
    if ms >= 100.0 || !ms.is_finite() { format!("{ms:.0}") } else { format!("{ms:.2}") }
}

/// Time of a burst in seconds.
fn seconds(cycle: f64) -> String {
    if cycle < 1000.0 { format!("{cycle:.1}") } else { ">999".into() }
}

/// The same with as many digits as show on which side of its bound it is.
fn seconds_beside(cycle: f64, longest: f64) -> String {
    if cycle < 1000.0 { stats::told(cycle, &[longest], 1) } else { seconds(cycle) }
}

/// The percentage without its sign, with as many digits as show on which side of its bound it is.
fn whole_percent_beside(used: f64, most: f64) -> String {
    if used < 9.995 { stats::told(100.0 * used, &[100.0 * most], 0) } else { whole_percent(used) }
}

/// Which limit a standing exceeds; if both, the one that is exhausted first.
fn beyond(standing: &Standing, most: f64, when: &str, need: &Need) -> Option<String> {
    let (resource, used) = standing.fullest();
    let [cycle, longest] = [standing.cycle, need.constants.cycle_limit().as_secs_f64()];
    let full = (used > most).then(|| {
        let (percent, most) = (whole_percent_beside(used, most), 100.0 * most);
        format!("{resource} {percent} % used{when}, at most {most:.0} %")
    });
    let late = (cycle > longest).then(|| {
        let seconds = seconds_beside(cycle, longest);
        format!("a burst takes {seconds} s{when}, at most {longest:.0} s")
    });
    if standing.limit == WRITE_CYCLE { late.or(full) } else { full.or(late) }
}

fn why_not(all: &Standing, down: &Standing, need: &Need) -> Option<String> {
    let slow = |index: usize, what: &str| {
        let (took, most) = (all.response()[index], need.response[index]);
        let times = [took, most].map(milliseconds_of);
        (took > most).then(|| format!("a {what} takes {} ms, at most {} ms", times[0], times[1]))
    };
    beyond(all, need.most, "", need)
        .or_else(|| beyond(down, need.most_one_down, " with one controller", need))
        .or_else(|| slow(0, "read"))
        .or_else(|| slow(1, "write"))
}

/// The result for each candidate, in order.
pub fn size(need: &Need, candidates: &[Candidate]) -> Vec<Sized> {
    candidates.iter().map(|candidate| sized(need, candidate)).collect()
}

fn sized(need: &Need, candidate: &Candidate) -> Sized {
    let whole = need.iops * f64::from(need.instances);
    let (array, down) = (&candidate.array, one_down(&candidate.array));
    let [on, on_down] = [array, &down].map(|array| Instances::on(array, need.instances, need));
    let (all, all_down) = (on.standing(whole), on_down.standing(whole));
    let [silo, silo_down] = match need.instances {
        1 => [all.clone(), all_down.clone()],
        _ => [array, &down].map(|array| Instances::on(array, 1, need).standing(need.iops)),
    };
    let grown = |year: u32| {
        let iops = whole * (1.0 + need.growth).powi(year as i32);
        let (all, down) = (on.standing(iops), on_down.standing(iops));
        let carries = why_not(&all, &down, need).is_none();
        Year { used: all.limit_used, one_down: down.limit_used, carries }
    };
    Sized {
        name: candidate.name.clone(),
        price: candidate.price,
        media: array.media_count(),
        cores: cores(array),
        single: is_single(array),
        why_not: why_not(&all, &all_down, need),
        why_no_silo: why_not(&silo, &silo_down, need),
        all,
        one_down: all_down,
        silo,
        years: (0..=need.years).map(grown).collect(),
        by_play: false,
        played: None,
        played_silo: None,
    }
}

/// The cores of all controllers.
fn cores(array: &Array) -> u64 {
    let of = |stage: &ArrayStage| match stage {
        ArrayStage::Controller(controller) => u64::from(controller.cores),
        _ => 0,
    };
    array.stages.iter().map(of).sum()
}

/// The index of the best candidate for all instances, by [`cheapest`].
pub fn choice(need: &Need, sized: &[Sized]) -> Option<usize> {
    let carry = sized.iter().enumerate().filter(|(_, one)| one.why_not.is_none());
    let spare = |one: &Sized| 1.0 - one.nearness(need, &one.all, one.played);
    cheapest(carry, |(_, one)| one.price, |(_, one)| spare(one)).map(|(index, _)| index)
}

/// The index of the best candidate for each instance alone.
fn silo_choice(need: &Need, sized: &[Sized]) -> Option<usize> {
    let carry = sized.iter().enumerate().filter(|(_, one)| one.why_no_silo.is_none());
    let spare = |one: &Sized| 1.0 - one.nearness(need, &one.silo, one.played_silo);
    cheapest(carry, |(_, one)| one.price, |(_, one)| spare(one)).map(|(index, _)| index)
}

/// Of the candidates that carry the load, the cheapest if all have prices, otherwise the one with
/// the least headroom.
pub fn cheapest<T>(
    carry: impl Iterator<Item = T> + Clone,
    price: impl Fn(&T) -> Option<f64>,
    spare: impl Fn(&T) -> f64,
) -> Option<T> {
    let costs = |one: &T| price(one).unwrap_or(0.0);
    match carry.clone().all(|one| price(&one).is_some()) {
        true => carry.min_by(|one, other| costs(one).total_cmp(&costs(other))),
        false => carry.min_by(|one, other| spare(one).total_cmp(&spare(other))),
    }
}

#[cfg(test)]
mod tests;
