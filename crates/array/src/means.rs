//! Means: what an array gives in the long run, computed instead of played. This is the level of
//! phases: a table of thirty minutes by thirty rows takes milliseconds here and hours as single
//! requests.
//!
//! ```text
//!   stages ──► stations: servers, how long each request keeps one, and how often it comes
//!   X = min(asked, outstanding / R)      R = Σ (service + wait)      wait = C(c, a) · s / (c (1 - u)) · (va + vs) / 2
//! ```
//! X is a flow's rate, R its response time, u a station's utilisation. The wait is that of M/M/c by
//! Erlang's formula C, times half the sum of the squared variations of arrivals and of service
//! (Allen and Cunneen). A flow does not wait behind itself, so its own share of `1 / outstanding`
//! is left out (the arrival theorem, Reiser and Lavenberg 1980). Where a station would be used
//! beyond its capacity, all flows that need it wait longer until it is not: that is what a queue
//! does.
//!
//! What it leaves out: time (a log that is full for a while, credit that ends: both are computed as
//! they are now), reordering in a disk (which does more than is computed), what a log joins or has
//! twice, pauses, and waits of parts of one request for each other.

mod path;

use crate::array::{Array, ArrayStage};
use block::{Bytes, OpKind};
use path::Station;
use qos::CreditLimit;

/// Requests of one kind and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Read or write.
    pub kind: OpKind,
    /// How large each is.
    pub len: Bytes,
    /// How many are asked for per second; infinite for as many as `outstanding` allows.
    pub rate: f64,
    /// How many are outstanding at most; infinite for an open load.
    pub outstanding: f64,
    /// Over how many bytes they are spread evenly; `None` for so many that a cache holds almost
    /// none.
    pub spread: Option<Bytes>,
}

/// What a flow gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Requests per second.
    pub rate: f64,
    /// Seconds from arrival to answer, without the time that a request waits to be among the
    /// outstanding.
    pub response: f64,
}

/// What flows get of an array together.
#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// By flow.
    pub flows: Vec<Mean>,
    /// By station, from the hosts on: its name and the part of it that is used, from 0 to 1; above
    /// 1 where open flows ask for more than it can do.
    pub used: Vec<(String, f64)>,
}

impl Means {
    /// The station with the highest utilisation.
    pub fn limit(&self) -> Option<&(String, f64)> {
        self.used.iter().max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// How the name of a station of disks ends. Disks do more than is computed where they may choose
/// which request to serve next.
pub const DISKS: &str = "disks";
/// How the name of a station ends where a log writes each block to its own place, unless disks
/// follow. It joins neighbours, so it does more sequential work than is computed.
pub const IN_PLACE: &str = " in place";

/// Steps of a bisection: more than an `f64` has binary digits.
const HALVES: usize = 60;
/// Most rounds until rates have settled; where nothing is near its capacity, each halves the
/// distance.
const ROUNDS: usize = 1000;
/// The highest utilisation for which waits are computed. Beyond it, the search for a longer wait
/// decides.
const NEARLY_ALL: f64 = 0.999;

impl Array {
    /// What these flows get together. `credit` is whether stages with credit for bursts have some
    /// left.
    pub fn means(&self, flows: &[Flow], credit: bool) -> Means {
        let most = self.outstanding();
        // Closed flows share what the adapters let be outstanding.
        let closed: f64 = flows.iter().map(|flow| flow.outstanding).filter(|outstanding| outstanding.is_finite()).sum();
        let part = if closed > most { most / closed } else { 1.0 };
        let flows: Vec<Flow> =
            flows.iter().map(|flow| Flow { outstanding: (flow.outstanding * part).min(most), ..*flow }).collect();
        let flows = flows.as_slice();
        let (stations, fixed) = path::stations(self, flows, credit);
        let settle = |at: Option<usize>, longer: f64| settle(&stations, &fixed, flows, at, longer);
        let rates = settle(None, 0.0);
        let used: Vec<f64> = stations.iter().map(|station| station.used(&rates)).collect();
        let first = (0..stations.len()).max_by(|&one, &other| used[one].total_cmp(&used[other]));
        let (rates, longer) = match first.filter(|&station| used[station] > NEARLY_ALL) {
            Some(station) => {
                // Waits of hours are not searched for: open flows beyond the capacity never get it.
                let (mut low, mut high) = (0.0, 1.0e4);
                for _ in 0..HALVES {
                    let middle = f64::midpoint(low, high);
                    let over = stations[station].used(&settle(first, middle)) > NEARLY_ALL;
                    *(if over { &mut low } else { &mut high }) = middle;
                }
                (settle(first, high), high)
            }
            None => (rates, 0.0),
        };
        let mean = |flow: usize| {
            let response = response(&stations, &fixed, flows, &rates, flow, first.filter(|_| longer > 0.0), longer);
            Mean { rate: rates[flow], response }
        };
        let used = stations.iter().map(|station| (station.name.clone(), station.used(&rates))).collect();
        Means { flows: (0..flows.len()).map(mean).collect(), used }
    }
}

impl Array {
    /// Its limits with credit for bursts, by the name of their station.
    pub fn credits(&self) -> Vec<(String, CreditLimit)> {
        path::credits(self)
    }

    /// How many requests its hosts' adapters let be outstanding in all.
    fn outstanding(&self) -> f64 {
        let most = |stage: &ArrayStage| match stage {
            ArrayStage::HostAdapters(adapters) => adapters.outstanding() as f64,
            _ => f64::INFINITY,
        };
        self.stages.iter().map(most).fold(f64::INFINITY, f64::min)
    }
}

/// The rates that agree with the response times of all flows, where every request waits `longer` at
/// one station.
fn settle(stations: &[Station], fixed: &[f64], flows: &[Flow], at: Option<usize>, longer: f64) -> Vec<f64> {
    let alone = vec![0.0; flows.len()];
    let all = 0..flows.len();
    let reaches = |flow: usize, rates: &[f64]| {
        let response = response(stations, fixed, flows, rates, flow, at, longer);
        flows[flow].rate.min(if response > 0.0 { flows[flow].outstanding / response } else { f64::INFINITY })
    };
    let mut rates: Vec<f64> = all.clone().map(|flow| reaches(flow, &alone)).collect();
    // Near a station's capacity a little more rate means far more response time. A step that goes
    // too far is undone by the next, and steps are halved until they do not.
    let (mut steps, mut before) = (vec![0.5f64; flows.len()], vec![0.0f64; flows.len()]);
    for _ in 0..ROUNDS {
        let mut moved = false;
        let gaps: Vec<f64> = all.clone().map(|flow| reaches(flow, &rates) - rates[flow]).collect();
        for flow in all.clone() {
            let turned = gaps[flow] * before[flow] < 0.0;
            steps[flow] = if turned { steps[flow] / 2.0 } else { (steps[flow] * 1.05).min(0.5) };
            let step = steps[flow] * gaps[flow];
            moved |= step.abs() > 1e-9 * rates[flow];
            rates[flow] += step;
        }
        before = gaps;
        if !moved {
            break;
        }
    }
    rates
}

fn response(
    stations: &[Station],
    fixed: &[f64],
    flows: &[Flow],
    rates: &[f64],
    flow: usize,
    at: Option<usize>,
    longer: f64,
) -> f64 {
    // One of the outstanding does not wait behind itself.
    let own = 1.0 - 1.0 / flows[flow].outstanding.max(1.0);
    let seen: Vec<f64> = rates.iter().enumerate().map(|(k, rate)| if k == flow { rate * own } else { *rate }).collect();
    let open: Vec<f64> = flows.iter().map(|flow| if flow.rate.is_finite() { 1.0 } else { 0.0 }).collect();
    let mut sum = fixed[flow];
    for (index, station) in stations.iter().enumerate() {
        let visit = &station.visits[flow];
        if visit.work == 0.0 {
            continue;
        }
        if at == Some(index) {
            sum += longer;
        }
        if visit.rounds > 0.0 {
            sum += visit.shown + visit.rounds * station.wait(flow, &seen, &open);
        }
    }
    sum
}
