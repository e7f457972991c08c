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

mod page;

use crate::hosts_on::{HostLoad, HostsOn};
use array::{Array, ArrayStage, Flow, Means};
use block::{Bytes, OpKind};
pub use page::{size_page, size_text};

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
    /// Its utilisation.
    pub limit_used: f64,
    /// The load in operations a second at which it is exhausted.
    pub full_at: f64,
    /// Time of a burst in seconds.
    pub cycle: f64,
    /// The load in operations a second at which a burst takes its maximum time.
    pub cycle_at: f64,
}

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
        let (limit, limit_used, full_at) = match self.cycle_at < full_at {
            true => (WRITE_CYCLE.into(), cycle / constants.cycle_limit().as_secs_f64(), self.cycle_at),
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

/// Time of a burst in seconds.
fn seconds(cycle: f64) -> String {
    if cycle < 1000.0 { format!("{cycle:.1}") } else { ">999".into() }
}

/// Which limit a standing exceeds; if both, the one that is exhausted first.
fn beyond(standing: &Standing, most: f64, when: &str, need: &Need) -> Option<String> {
    let (resource, used) = standing.fullest();
    let [cycle, longest] = [standing.cycle, need.constants.cycle_limit().as_secs_f64()];
    let full = (used > most).then(|| format!("{resource} {} used{when}, at most {:.0} %", percent(used), 100.0 * most));
    let late = (cycle > longest).then(|| format!("a burst takes {} s{when}, at most {longest:.0} s", seconds(cycle)));
    if standing.limit == WRITE_CYCLE { late.or(full) } else { full.or(late) }
}

fn why_not(all: &Standing, down: &Standing, need: &Need) -> Option<String> {
    let slow = |index: usize, what: &str| {
        let (took, most) = (all.response()[index], need.response[index]);
        (took > most).then(|| format!("a {what} takes {:.2} ms, at most {:.2} ms", 1e3 * took, 1e3 * most))
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
        why_not: why_not(&all, &all_down, need),
        why_no_silo: why_not(&silo, &silo_down, need),
        all,
        one_down: all_down,
        silo,
        years: (0..=need.years).map(grown).collect(),
    }
}

/// The best candidate for all instances, by [`cheapest`].
pub fn choice(sized: &[Sized]) -> Option<&Sized> {
    let carry = sized.iter().filter(|one| one.why_not.is_none());
    cheapest(carry, |one| one.price, |one| 1.0 - one.all.fullest().1)
}

/// The best candidate for each instance alone.
fn silo_choice(sized: &[Sized]) -> Option<&Sized> {
    let carry = sized.iter().filter(|one| one.why_no_silo.is_none());
    cheapest(carry, |one| one.price, |one| 1.0 - one.silo.fullest().1)
}

/// Of the candidates that carry the load, the cheapest if all have prices, otherwise the one with
/// the least headroom.
pub fn cheapest<'a, T>(
    carry: impl Iterator<Item = &'a T> + Clone,
    price: impl Fn(&T) -> Option<f64>,
    spare: impl Fn(&T) -> f64,
) -> Option<&'a T> {
    let costs = |one: &T| price(one).unwrap_or(0.0);
    match carry.clone().all(|one| price(one).is_some()) {
        true => carry.min_by(|one, other| costs(one).total_cmp(&costs(other))),
        false => carry.min_by(|one, other| spare(one).total_cmp(&spare(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::{Controller, Link, Model, ParallelServers, ReadCache};
    use block::Span;

    fn candidate(name: &str, cores: u32) -> Candidate {
        let link = Link { bandwidth: Bytes(100_000_000_000), latency: Span::ZERO, flow: None, flows: 1 };
        let each = Span::from_micros(100);
        let controller = Controller { cores, read: each, write: each, ..Controller::default() };
        let media = ParallelServers { servers: 10_000, service: each, ..ParallelServers::default() };
        let stages = vec![ArrayStage::Link(link), ArrayStage::Controller(controller)];
        Candidate {
            name: name.into(),
            array: Array { stages, media: Box::new(Model::ParallelServers(media)) },
            price: None,
        }
    }

    fn need(iops: f64, instances: u32) -> Need {
        Need {
            iops,
            instances,
            most: 0.7,
            most_one_down: 1.0,
            response: [2e-3, 1e-3],
            growth: 0.25,
            years: 3,
            spread: None,
            constants: Constants::default(),
        }
    }

    /// 10 000 IOPS are 7500 reads and 2500 × 80 / 45 × (1 + 1/32) = 4583 writes of 100 us: 1.208
    /// cores.
    #[test]
    fn utilisation_is_by_hand() {
        let found = &size(&need(10_000.0, 1), &[candidate("a", 4)])[0];
        let (resource, used) = found.all.fullest();
        assert_eq!(resource, "controller");
        assert!((used - 1.208_33 / 4.0).abs() < 1e-4, "{used}");
        assert!((found.one_down.fullest().1 / used - 2.0).abs() < 1e-6);
        // A load without bursts is limited only by the resource.
        let reads = Constants { read_percent: 99, ..Constants::default() };
        let found = &size(&Need { constants: reads, ..need(10_000.0, 1) }, &[candidate("a", 4)])[0];
        let used = found.all.fullest().1;
        assert_eq!((found.all.limit.as_str(), found.all.limit_used), ("controller", used));
        assert!((found.all.full_at - 10_000.0 / used).abs() < 1.0);
        assert!((found.years[1].used / used - 1.25).abs() < 1e-6 && found.years.len() == 4);
    }

    /// 10 000 IOPS at 80 s are a burst of 200 000 blocks. Large and small writes take 100 us in the
    /// controller and 100 us in the media, and 7500 reads a second leave most of the four cores
    /// free. So one stream of 32 blocks in 200 us does 160 000 blocks a second, and eight writers
    /// 40 000.
    #[test]
    fn a_burst_is_by_hand() {
        let fast = candidate("fast", 1000);
        let found = &size(&need(10_000.0, 1), std::slice::from_ref(&fast))[0];
        assert!((found.all.cycle - (200.0 / 160.0 + 200.0 / 40.0)).abs() < 2e-2, "{}", found.all.cycle);
        // The controller is saturated at millions of IOPS, and bursts take 45 s at 72 000.
        assert_eq!(found.all.limit, WRITE_CYCLE);
        assert!((found.all.full_at - 72_000.0).abs() < 300.0, "{}", found.all.full_at);
        assert_eq!(choice(std::slice::from_ref(found)).map(|one| one.name.as_str()), Some("fast"));
        // Two instances have two streams and sixteen writers.
        let two = &size(&need(10_000.0, 2), std::slice::from_ref(&fast))[0];
        assert!((two.all.cycle / found.all.cycle - 1.0).abs() < 1e-2, "{}", two.all.cycle);
        let beyond = &size(&need(75_000.0, 1), &[fast])[0];
        assert_eq!(beyond.why_not.as_deref(), Some("a burst takes 47.0 s, at most 45 s"));
        assert!(choice(std::slice::from_ref(beyond)).is_none());
    }

    /// The smallest that carries it: two instances need the larger one, and none carries ten.
    #[test]
    fn the_smallest_that_carries_it_is_chosen() {
        let both = [candidate("small", 4), candidate("large", 16)];
        let chosen = |instances| choice(&size(&need(15_000.0, instances), &both)).map(|one| one.name.clone());
        assert_eq!(chosen(1).as_deref(), Some("small"));
        assert_eq!(chosen(3).as_deref(), Some("large"));
        assert_eq!(chosen(20), None);
        let refused = size(&need(15_000.0, 20), &both);
        assert!(
            refused[0].why_not.as_deref().is_some_and(|why| why.starts_with("a burst takes ")),
            "{:?}",
            refused[0].why_not
        );
    }

    /// The message names what is exhausted first, even if another limit is exceeded too.
    #[test]
    fn what_is_told_is_what_gives_out_first() {
        let both = |limit: &str| {
            let mut standing = size(&need(10_000.0, 1), &[candidate("one", 4)])[0].all.clone();
            (standing.limit, standing.cycle) = (limit.into(), 60.0);
            standing.means.used = vec![("controller".into(), 1.02)];
            beyond(&standing, 1.0, "", &need(10_000.0, 1))
        };
        assert_eq!(both(WRITE_CYCLE).as_deref(), Some("a burst takes 60.0 s, at most 45 s"));
        assert_eq!(both("controller").as_deref(), Some("controller 102 % used, at most 100 %"));
    }

    #[test]
    fn years_beyond_the_scale_say_so() {
        let need = Need { growth: 9.0, ..need(10_000.0, 1) };
        let text = size_text(&need, &size(&need, &[candidate("grown", 100)]));
        assert!(text.lines().any(|line| line.starts_with("grown") && line.contains("/>999")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    /// Four instances of 1 TB are like one with four times the operations on 4 TB.
    #[test]
    fn several_instances_share_a_cache() {
        let mut array = candidate("cached", 4);
        let cache = ReadCache { size: Bytes(1_000_000_000_000), ..ReadCache::default() };
        array.array.stages.push(ArrayStage::Cache(cache));
        let full_at = |iops, instances, spread| {
            let need = Need { spread: Some(Bytes(spread)), ..need(iops, instances) };
            size(&need, std::slice::from_ref(&array))[0].all.means.used.clone()
        };
        assert_eq!(full_at(1000.0, 4, 1_000_000_000_000), full_at(4000.0, 1, 4_000_000_000_000));
    }

    #[test]
    fn the_cheaper_of_two_is_chosen_where_prices_are_known() {
        let both = [
            Candidate { price: Some(9.0), ..candidate("small", 4) },
            Candidate { price: Some(5.0), ..candidate("large", 16) },
        ];
        let sized = size(&need(10_000.0, 2), &both);
        assert_eq!(choice(&sized).map(|one| one.name.as_str()), Some("large"));
        let text = size_text(&need(10_000.0, 2), &sized);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("large carries it for 5:"), "{text}");
        assert!(text.contains("2 × large, 4 controllers and 2 media, for 10."), "{text}");
        assert!(text.contains("2 controllers and 1 media fewer, and 5 less to pay."), "{text}");
    }
}
