//! Order entry on an array by means: the transaction rate that a closed population of users
//! reaches.
//!
//! ```text
//!   N = X · (think + R(X))        R = host + reads · R_read + commits · 1.5 · R_log
//! ```
//! R(X) is the response time of a transaction at a rate of X, where one user of N does not wait for
//! itself (Schweitzer's form of the arrival theorem). The host is M/M/c (Sakasegawa 1977); reads
//! and the log come from [`Array::means`](array::Array::means), whose stations also serve the pages
//! written back in the background. A commit waits for half of the log write in progress and for its
//! own. [`oltp::Shopping`] plays the same [`Shop`] request by request; a test compares the two.

use array::{Array, ArrayStage, Flow, VirtualClock};
use block::{Bytes, Driver as _, OpKind, Span, Target, Wait, drive};
use oltp::{Ledger, Shop, ShopDemand, Shopping};

/// Plays the users of a shop on a target in virtual time and returns what they did in `window`
/// after `warm_up`. If `is_stopped` ends it early, the window is as long as it got.
pub fn play_shop(
    shop: &Shop,
    target: Box<dyn Target>,
    seed: u64,
    [warm_up, window]: [Span; 2],
    is_stopped: &dyn Fn() -> bool,
) -> Ledger {
    let mut clock = VirtualClock::new();
    let mut users = Shopping::new(*shop, target, seed, clock.now(), [warm_up, window]);
    let end = clock.now() + warm_up + window;
    let is_end = |now| now >= end || is_stopped();
    drive(
        &mut clock,
        std::slice::from_mut(&mut users),
        |now, _| if is_end(now) { Wait::End } else { Wait::Until(end) },
    );
    users.finish(clock.now())
}

/// What users reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// Transactions a second.
    pub tps: f64,
    /// Mean seconds of one, without think time.
    pub response: f64,
    /// The resource with the highest utilisation, and that utilisation.
    pub limit: (String, f64),
    /// The media, and their utilisation.
    pub media: (String, f64),
}

/// Steps of the bisection for the rate.
const HALVES: usize = 50;
/// A station with a higher utilisation counts as saturated.
const FULL: f64 = 0.9989;

/// Seconds of a transaction in the storage at some rate, and the resource with the highest
/// utilisation.
struct Met {
    storage: f64,
    limit: (String, f64),
    media: (String, f64),
}

/// Size of the log's writes to the media: whole stripes, if the array has a RAID.
fn stripe(array: &Array) -> Bytes {
    let raid = array.stages.iter().find_map(|stage| match stage {
        ArrayStage::Raid(raid) => Some(raid),
        _ => None,
    });
    raid.map_or(Bytes::kib(64), |raid| Bytes(raid.unit.0 * raid.data()))
}

/// The fraction of the population that one user finds ahead of it.
fn others(shop: &Shop) -> f64 {
    1.0 - 1.0 / f64::from(shop.users.max(1))
}

fn met(array: &Array, shop: &Shop, tps: f64) -> Met {
    let demand = shop.demand();
    let (reads, writes) = (demand.pages, demand.changed);
    let seen = tps * others(shop);
    let log = stripe(array);
    let flow = |kind, len, rate, spread| Flow { kind, len, rate, outstanding: f64::INFINITY, spread };
    let anywhere = Some(shop.database);
    let flows = [
        flow(OpKind::Read, shop.page, seen * reads, anywhere),
        flow(OpKind::Write, shop.page, seen * writes, anywhere),
        flow(OpKind::Write, log, seen * demand.commits * Shop::RECORD.0 as f64 / log.0 as f64, None),
        // The write that a commit waits for; its bandwidth is in the flow above.
        flow(OpKind::Write, Shop::RECORD, 0.0, None),
    ];
    let means = array.means(&flows, false);
    let limit = means.limit().cloned().unwrap_or_default();
    let media = means.used.last().cloned().unwrap_or_default();
    let response = |flow: usize| means.flows[flow].response;
    let storage = if limit.1 > FULL { f64::INFINITY } else { reads * response(0) + 1.5 * demand.commits * response(3) };
    Met { storage, limit, media }
}

/// Seconds at the host.
fn at_host(shop: &Shop, tps: f64) -> f64 {
    let (service, servers) = (shop.host.as_secs_f64(), f64::from(shop.processors.max(1)));
    let used = tps * others(shop) * service / servers;
    if used >= 1.0 {
        return f64::INFINITY;
    }
    service * (1.0 + used.powf((2.0 * (servers + 1.0)).sqrt() - 1.0) / (servers * (1.0 - used)))
}

/// What the users of a shop reach on an array.
pub fn carried(array: &Array, shop: &Shop) -> Carried {
    let (users, think) = (f64::from(shop.users.max(1)), shop.think.as_secs_f64());
    let (mut low, mut high) = (0.0, users / (think + shop.host.as_secs_f64().max(1e-6)));
    for _ in 0..HALVES {
        let tps = f64::midpoint(low, high);
        let takes = think + at_host(shop, tps) + met(array, shop, tps).storage;
        *(if tps * takes < users { &mut low } else { &mut high }) = tps;
    }
    let met = met(array, shop, low);
    let host = low * shop.host.as_secs_f64() / f64::from(shop.processors.max(1));
    let limit = if host > met.limit.1 { ("host".to_string(), host) } else { met.limit };
    Carried { tps: low, response: users / low - think, limit, media: met.media }
}

/// Fits the fraction of pages that is missing and the host's time, with one processor and no think
/// time, such that two arrays reach their published rates with the same population. `None` if no
/// fraction does.
pub fn fit_two(arrays: [&Array; 2], tps: [f64; 2], shop: &Shop) -> Option<(f64, f64)> {
    let (users, part) = (f64::from(shop.users), others(shop));
    // The host's time from the second array for a given missing fraction: residence H = d / (1 - X
    // d part).
    let host = |missing: f64| {
        let rest =
            users / tps[1] - met(arrays[1], &Shop { asks: ShopDemand::anywhere(missing), ..*shop }, tps[1]).storage;
        (rest > 0.0).then(|| rest / (1.0 + tps[1] * part * rest))
    };
    // The resulting excess of the first array's response time.
    let over = |missing: f64| {
        let d = host(missing)?;
        let at_host = d / (1.0 - tps[0] * part * d);
        Some(
            at_host + met(arrays[0], &Shop { asks: ShopDemand::anywhere(missing), ..*shop }, tps[0]).storage
                - users / tps[0],
        )
    };
    let is_over = |missing: f64| over(missing).is_none_or(|over| over > 0.0);
    let (mut low, mut high) = (0.0, 1.0);
    if is_over(low) || !is_over(high) {
        return None;
    }
    for _ in 0..HALVES {
        let middle = f64::midpoint(low, high);
        *(if is_over(middle) { &mut high } else { &mut low }) = middle;
    }
    Some((low, host(low)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::{DeviceSpec, Model, ParallelServers};
    use oltp::{Figures, TransactionMix};

    fn shop(users: u32, host: Span, missing: f64) -> Shop {
        let (mix, database, page) = (TransactionMix::V2, Bytes::gib(30), Bytes::kib(8));
        Shop { users, mix, think: Span::ZERO, host, processors: 1, asks: ShopDemand::anywhere(missing), database, page }
    }

    fn servers(servers: u32, service: Span) -> Array {
        let media = ParallelServers { servers, service, ..ParallelServers::default() };
        Array { stages: Vec::new(), media: Box::new(Model::ParallelServers(media)) }
    }

    /// The transaction rate in virtual time, in a minute after ten seconds.
    fn played(array: &Array, shop: Shop) -> f64 {
        let spec = DeviceSpec { size: shop.size(), ..DeviceSpec::of(Model::Array(array.clone())) };
        let window = [Span::from_secs(10), Span::from_secs(60)];
        Figures::of(&play_shop(&shop, spec.build(3).expect("a device"), 3, window, &|| false), shop.users).avg_tps
    }

    /// Stopped at the pass after the hundred thousandth: the window has ended early, at the rate of
    /// the whole.
    #[test]
    fn a_stop_ends_the_window_early() {
        let (array, shop) = (servers(64, Span::from_millis(1)), shop(8, Span::from_millis(1), 0.5));
        let spec = DeviceSpec { size: shop.size(), ..DeviceSpec::of(Model::Array(array.clone())) };
        let (asked, window) = (std::cell::Cell::new(0), [Span::ZERO, Span::from_secs(1_000_000)]);
        let is_stopped = || asked.replace(asked.get() + 1) >= 100_000;
        let stopped = play_shop(&shop, spec.build(3).expect("a device"), 3, window, &is_stopped);
        let figures = Figures::of(&stopped, shop.users);
        assert_eq!(asked.get(), 100_001, "the pass that follows is the last");
        assert!(figures.window > Span::SECOND && figures.window < Span::from_secs(1000), "{:?}", figures.window);
        let whole = played(&array, shop);
        assert!((figures.avg_tps / whole - 1.0).abs() < 0.1, "{} of {whole}", figures.avg_tps);
    }

    /// A single user without queueing: 1 ms of host, half of 9.72 reads of 1 ms, and 1.48 log
    /// writes.
    #[test]
    fn one_user_takes_the_sum_of_its_parts() {
        let array = servers(64, Span::from_millis(1));
        let alone = carried(&array, &shop(1, Span::from_millis(1), 0.5));
        let by_hand = 1.0 / (1e-3 + 4.86e-3 + 1.5 * 1.48e-3);
        assert!((alone.tps / by_hand - 1.0).abs() < 0.01, "{alone:?}, by hand {by_hand}");
    }

    /// A host of 1 ms is saturated at 1000 a second, storage of four servers and 1 ms at 4000
    /// requests: 0.9 of 9.72 + 5.32 and the log.
    #[test]
    fn what_gives_out_first_is_named_and_bounds_the_rate() {
        let fast = carried(&servers(64, Span::from_micros(10)), &shop(72, Span::from_millis(1), 0.05));
        assert!(fast.limit.0 == "host" && (fast.tps / 1000.0 - 1.0).abs() < 0.01, "{fast:?}");
        let slow = carried(&servers(4, Span::from_millis(1)), &shop(72, Span::from_millis(1), 0.9));
        let log = 1.48 * 4096.0 / 65_536.0;
        let by_hand = 4000.0 / (0.9 * (9.72 + 5.32) + log);
        assert!(slow.limit.0 == "media" && (slow.tps / by_hand - 1.0).abs() < 0.03, "{slow:?}, by hand {by_hand}");
    }

    /// Means compared with single requests: with the host as the limit, the storage, and neither.
    #[test]
    fn means_are_what_users_in_virtual_time_reach() {
        let cases = [
            (servers(16, Span::from_micros(500)), shop(72, Span::from_millis(1), 0.2)),
            (servers(4, Span::from_millis(1)), shop(48, Span::from_micros(300), 0.3)),
            (
                servers(32, Span::from_millis(1)),
                Shop { think: Span::from_millis(100), ..shop(40, Span::from_micros(500), 0.4) },
            ),
        ];
        for (array, shop) in cases {
            let (computed, played) = (carried(&array, &shop), played(&array, shop));
            assert!((computed.tps / played - 1.0).abs() < 0.05, "{computed:?} computed, {played} played");
        }
    }

    /// A fit recovers the values from which two rates were computed.
    #[test]
    fn a_fit_finds_what_rates_were_made_of() {
        let (one, other) = (servers(4, Span::from_millis(2)), servers(4, Span::from_millis(1)));
        let truth = shop(72, Span::from_micros(1000), 0.13);
        let rates = [&one, &other].map(|array| carried(array, &truth).tps);
        let (missing, host) = fit_two([&one, &other], rates, &truth).expect("there is one");
        assert!((missing / 0.13 - 1.0).abs() < 0.01 && (host / 1e-3 - 1.0).abs() < 0.01, "{missing} {host}");
    }
}
