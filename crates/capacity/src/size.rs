//! Which array carries a load: the utilisation of each of its resources, which gives out first and
//! at which load, with all controllers and with one of two, now and as it grows.
//!
//! A database asks for `T` operations a second, of which a part are reads, always; its writes come
//! in a burst every 80 s that has to be written within 45, first to a journal and then to its
//! places. So an array must carry, for as long as a burst lasts, `T × reads` reads,
//! `T × writes × 80 / 45` small writes, and a thirty-second as many large ones.

mod page;

use array::{Array, ArrayStage, Flow, Means};
use block::{Bytes, OpKind};
pub use page::{size_page, size_text};

use ramp::{BLOCK, Constants};

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Operations a second of one instance.
    pub iops: f64,
    /// How many instances there are.
    pub instances: u32,
    /// The part of each resource that may be used, from 0 to 1.
    pub most: f64,
    /// The same with one controller of two.
    pub most_one_down: f64,
    /// Mean seconds of a read, and of a write, at most.
    pub response: [f64; 2],
    /// By how much the load grows in a year: 0.2 for a fifth.
    pub growth: f64,
    /// For how many years.
    pub years: u32,
    /// The space that one instance's reads are spread over, if it is known: what caches are
    /// measured by.
    pub spread: Option<Bytes>,
    /// The test's numbers.
    pub constants: Constants,
}

/// An array and how it is called.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub array: Array,
    /// What one costs, if that is known.
    pub price: Option<f64>,
}

/// An array under a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// By resource the part that is used.
    pub used: Vec<(String, f64)>,
    /// The resource of which most is used.
    pub limit: String,
    /// The load in operations a second at which that is used up.
    pub full_at: f64,
    /// Mean seconds of a read and of a write.
    pub response: [f64; 2],
}

/// What a candidate comes to.
#[derive(Clone, Debug)]
pub struct Sized {
    /// Its name.
    pub name: String,
    /// What one costs.
    pub price: Option<f64>,
    /// Media in one.
    pub media: u64,
    /// All instances on one array.
    pub all: Standing,
    /// The same with one controller of two.
    pub one_down: Standing,
    /// One instance on one array.
    pub silo: Standing,
    /// Why it does not carry all instances; none where it does.
    pub why_not: Option<String>,
    /// Why it does not carry one.
    pub why_no_silo: Option<String>,
    /// By year, from now on: the highest utilisation, and with one controller.
    pub years: Vec<(f64, f64)>,
}

/// The flows of so many operations a second while bursts are written.
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

/// Of so many instances on one array: their data lie beside each other, and a cache has less of
/// each.
fn standing(array: &Array, iops: f64, instances: u32, need: &Need) -> Standing {
    let spread = need.spread.map(|each| Bytes(each.0.saturating_mul(instances.into())));
    let means: Means = array.means(&flows(iops, &need.constants, spread), false);
    let (limit, used) = means.limit().cloned().unwrap_or_default();
    let full_at = if used > 0.0 { iops / used } else { f64::INFINITY };
    Standing { used: means.used.clone(), limit, full_at, response: [means.flows[0].response, means.flows[1].response] }
}

/// The same array with one controller of two: half of its cores, and half of its ways.
fn one_down(array: &Array) -> Array {
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

/// How full a resource is. Beyond 999 % the number says nothing that the load it gives out at does
/// not say better.
fn percent(used: f64) -> String {
    match (100.0 * used).round() {
        percent if percent > 999.0 => ">999 %".into(),
        percent => format!("{percent:.0} %"),
    }
}

fn highest(standing: &Standing) -> f64 {
    standing.used.iter().map(|(_, used)| *used).fold(0.0, f64::max)
}

fn why_not(all: &Standing, down: &Standing, need: &Need) -> Option<String> {
    let beyond = |standing: &Standing, most: f64, when: &str| {
        let used = highest(standing);
        (used > most).then(|| format!("{} {} used{when}, at most {:.0} %", standing.limit, percent(used), 100.0 * most))
    };
    let slow = |index: usize, what: &str| {
        let (took, most) = (all.response[index], need.response[index]);
        (took > most).then(|| format!("a {what} takes {:.2} ms, at most {:.2} ms", 1e3 * took, 1e3 * most))
    };
    beyond(all, need.most, "")
        .or_else(|| beyond(down, need.most_one_down, " with one controller"))
        .or_else(|| slow(0, "read"))
        .or_else(|| slow(1, "write"))
}

/// What each candidate comes to, in their order.
pub fn size(need: &Need, candidates: &[Candidate]) -> Vec<Sized> {
    candidates.iter().map(|candidate| sized(need, candidate)).collect()
}

fn sized(need: &Need, candidate: &Candidate) -> Sized {
    let whole = need.iops * f64::from(need.instances);
    let (array, down) = (&candidate.array, one_down(&candidate.array));
    let of = |array: &Array, iops| standing(array, iops, need.instances, need);
    let alone = |array: &Array| standing(array, need.iops, 1, need);
    let (all, all_down, silo) = (of(array, whole), of(&down, whole), alone(array));
    let grown = |year: u32| {
        let iops = whole * (1.0 + need.growth).powi(year as i32);
        (highest(&of(array, iops)), highest(&of(&down, iops)))
    };
    Sized {
        name: candidate.name.clone(),
        price: candidate.price,
        media: array.media_count(),
        why_not: why_not(&all, &all_down, need),
        why_no_silo: why_not(&silo, &alone(&down), need),
        all,
        one_down: all_down,
        silo,
        years: (0..=need.years).map(grown).collect(),
    }
}

/// The one to take of several: the cheapest that carries the load where all that do have prices,
/// otherwise the one with the least room to spare.
pub fn choice(sized: &[Sized]) -> Option<&Sized> {
    let carry = || sized.iter().filter(|one| one.why_not.is_none());
    let priced = carry().all(|one| one.price.is_some());
    let price = |one: &Sized| one.price.unwrap_or(0.0);
    match priced {
        true => carry().min_by(|one, other| price(one).total_cmp(&price(other))),
        false => carry().min_by(|one, other| one.all.full_at.total_cmp(&other.all.full_at)),
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
        assert_eq!(found.all.limit, "controller");
        let used = highest(&found.all);
        assert!((used - 1.208_33 / 4.0).abs() < 1e-4, "{used}");
        assert!((found.all.full_at - 10_000.0 / used).abs() < 1.0);
        assert!((highest(&found.one_down) / used - 2.0).abs() < 1e-6);
        assert!((found.years[1].0 / used - 1.25).abs() < 1e-6 && found.years.len() == 4);
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
            refused[0].why_not.as_deref().is_some_and(|why| why.starts_with("controller ")),
            "{:?}",
            refused[0].why_not
        );
    }

    /// Four instances of 1 TB are one of four times the operations on 4 TB.
    #[test]
    fn several_instances_share_a_cache() {
        let mut array = candidate("cached", 4);
        let cache = ReadCache { size: Bytes(1_000_000_000_000), ..ReadCache::default() };
        array.array.stages.push(ArrayStage::Cache(cache));
        let full_at = |iops, instances, spread| {
            let need = Need { spread: Some(Bytes(spread)), ..need(iops, instances) };
            size(&need, std::slice::from_ref(&array))[0].all.used.clone()
        };
        assert_eq!(full_at(1000.0, 4, 1_000_000_000_000), full_at(4000.0, 1, 4_000_000_000_000));
    }

    #[test]
    fn the_cheaper_of_two_is_chosen_where_prices_are_known() {
        let both = [
            Candidate { price: Some(9.0), ..candidate("small", 4) },
            Candidate { price: Some(5.0), ..candidate("large", 16) },
        ];
        assert_eq!(choice(&size(&need(10_000.0, 1), &both)).map(|one| one.name.as_str()), Some("large"));
    }
}
