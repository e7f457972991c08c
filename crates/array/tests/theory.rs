//! Theory: simulated stations beside laws of queueing that are known exactly, and the level of
//! means beside the level of single requests.
//!
//! A law holds if it lies within the 95 % confidence interval of ten runs with different seeds, and
//! the mean is within 1 % of it (Student's t of 9 degrees of freedom, 2.262).

mod load;

use array::{
    Array, ArrayStage, CachePolicy, Controller, DeviceSpec, Flow, Level, Link, Model, ParallelServers, Raid, ReadCache,
    VirtualClock, WriteLog,
};
use block::{Bytes, Completion, Driver, OpKind, Span, Submitted, Target, Time, Wakeup};
use cache::{PageClass, Replacement, Residence};
use load::{Ask, closed_loop, request, scattered};

/// Random numbers by xorshift64* (Vigna 2016): the tests have their own, so that what is tested
/// does not judge itself.
struct Chance(u64);

impl Chance {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (bits as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

/// One server of a microsecond for 64 bytes: a request of random length has a service time of the
/// same distribution.
fn servers(servers: u32) -> DeviceSpec {
    let service = Span::from_nanos(1);
    let none = Span::ZERO;
    let model = ParallelServers { servers, service, size_unit: Some(Bytes(1)), flush: none, trim: none };
    DeviceSpec::of(Model::ParallelServers(model))
}

/// Mean response in milliseconds of `count` requests that arrive at random at `rate` a second, each
/// with an exponential service time of `mean` seconds; the first tenth is left out.
fn poisson(spec: &DeviceSpec, seed: u64, rate: f64, mean: f64, count: usize) -> f64 {
    let mut device = spec.build(seed).expect("a device");
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut now, mut done) = (0.0, Vec::new());
    for tag in 0..count as u64 {
        now += chance.exponential(1.0 / rate);
        let at = Time::from_nanos((now * 1e9) as u64);
        let ask = Ask::Read { at: 0, len: (chance.exponential(mean) * 1e9) as u64 };
        let Submitted::Taken(_) = device.submit(at, request(tag, at, ask)) else { panic!("full") };
    }
    drain(&mut *device, Time::from_nanos((now * 1e9) as u64), &mut done);
    done.retain(|completion: &Completion| completion.tag >= count as u64 / 10);
    done.iter().map(|completion| completion.service.as_secs_f64() * 1e3).sum::<f64>() / done.len() as f64
}

fn drain(device: &mut dyn Target, mut now: Time, done: &mut Vec<Completion>) {
    loop {
        device.poll(now, done);
        match device.next_wakeup() {
            Wakeup::At(at) => now = at,
            Wakeup::Now => {}
            _ => return,
        }
    }
}

/// Whether ten figures have a law in their interval of 95 %, and within 1 % of their mean.
fn holds(what: &str, law: f64, figures: impl Iterator<Item = f64>) {
    let figures: Vec<f64> = figures.collect();
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n;
    let spread = (figures.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let half = 2.262 * spread / n.sqrt();
    assert!((mean / law - 1.0).abs() < 0.01, "{what}: {mean:.5}, and the law says {law:.5}");
    assert!((mean - law).abs() < half.max(1e-9 * law), "{what}: {mean:.5} ± {half:.5}, and the law says {law:.5}");
}

fn erlang_c(c: u32, load: f64) -> f64 {
    let b = (1..=c).fold(1.0, |b, k| load * b / (f64::from(k) + load * b));
    b / (1.0 - load / f64::from(c) * (1.0 - b))
}

/// M/M/1: R = s / (1 - u).
#[test]
fn one_server_waits_as_the_law_says() {
    for (used, count) in [(0.5, 100_000), (0.8, 400_000)] {
        let law = 1.0 / (1.0 - used);
        let runs = (1..=10).map(|seed| poisson(&servers(1), seed, used * 1e3, 1e-3, count));
        holds(&format!("M/M/1 at {used}"), law, runs);
    }
}

/// M/M/c: R = s + C(c, a) s / (c (1 - u)).
#[test]
fn several_servers_wait_as_erlang_says() {
    for (c, used) in [(4, 0.7), (20, 0.8)] {
        let law = 1.0 + erlang_c(c, used * f64::from(c)) / (f64::from(c) * (1.0 - used));
        let runs = (1..=10).map(|seed| poisson(&servers(c), seed, used * f64::from(c) * 1e3, 1e-3, 200_000));
        holds(&format!("M/M/{c} at {used}"), law, runs);
    }
}

/// A closed loop of N over one server of rate μ has X = μ; over c servers with N ≤ c, X = N μ; and
/// over a fixed way of Z before a server of s, X = min(N / (Z + s), 1 / s) where nothing is left to
/// chance (the asymptotic bounds, which a deterministic network reaches).
#[test]
fn closed_loops_reach_their_bounds() {
    let link = Link { bandwidth: Bytes(1 << 40), latency: Span::from_millis(5), flow: None, flows: 1 };
    let server = ParallelServers { servers: 1, service: Span::from_millis(1), ..ParallelServers::default() };
    let array = Array { stages: vec![ArrayStage::Link(link)], media: Box::new(Model::ParallelServers(server)) };
    let spec = DeviceSpec::of(Model::Array(array));
    for (n, law) in [(1, 1000.0 / 11.0), (5, 5000.0 / 11.0), (10, 10_000.0 / 11.0), (11, 1000.0), (40, 1000.0)] {
        let until = Time::ZERO + Span::from_secs(110);
        let done = closed_loop(&spec, 1, n, until, |_| Ask::Read { at: 0, len: 1 });
        let rate = done.iter().filter(|c| c.end > Time::ZERO + Span::from_secs(11)).count() as f64 / 99.0;
        assert!((rate / law - 1.0).abs() < 0.01, "{n} outstanding: {rate}, and the law says {law}");
    }
}

/// Rounds a second of a closed network in which each of `n` customers thinks for `think` seconds on
/// average, and is then served at one station after the other, all times exponential and
/// independent.
fn rounds(seed: u64, n: u32, think: f64, services: &[f64], seconds: f64) -> f64 {
    let station = |k: usize| servers(1).build(seed + 100 * k as u64).expect("a device");
    let mut stations: Vec<_> = (0..services.len()).map(station).collect();
    let (mut clock, mut ended) = (VirtualClock::new(), Vec::new());
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut thinking: Vec<f64> = (0..n).map(|_| chance.exponential(think)).collect();
    let (mut done, mut tag) = (0u64, 0u64);
    loop {
        let soonest = thinking.iter().copied().fold(1e6, f64::min);
        let next = stations.iter().fold(Wakeup::At(Time::from_nanos((soonest * 1e9) as u64)), |next, station| {
            next.sooner(station.next_wakeup())
        });
        let now = clock.turn(Some(if let Wakeup::At(at) = next { at } else { clock.now() }));
        if now.as_nanos() as f64 / 1e9 > seconds {
            return done as f64 / seconds;
        }
        let due = |at: &f64| (at * 1e9) as u64 <= now.as_nanos();
        let mut arrive = thinking.iter().filter(|at| due(at)).count();
        thinking.retain(|at| !due(at));
        for (station, service) in stations.iter_mut().zip(services) {
            station.poll(now, &mut ended);
            for _ in 0..arrive {
                let ask = Ask::Read { at: 0, len: (chance.exponential(*service) * 1e9) as u64 };
                let Submitted::Taken(_) = station.submit(now, request(tag, now, ask)) else { panic!("full") };
                tag += 1;
            }
            arrive = ended.drain(..).count();
        }
        done += arrive as u64;
        thinking.extend((0..arrive).map(|_| now.as_nanos() as f64 / 1e9 + chance.exponential(think)));
    }
}

/// A closed network of N customers with exponential service at one station and a think time of Z
/// (the machine repairman): U = 1 - p0, p0 = 1 / Σ N! / (N - k)! (s / Z)^k.
#[test]
fn closed_networks_follow_the_repairman() {
    let (n, think, service) = (8u32, 7e-3, 1e-3);
    let weights = (0..=n).scan(1.0, |weight, k| {
        let now = *weight;
        *weight *= f64::from(n - k) * service / think;
        Some(now)
    });
    let law = (1.0 - 1.0 / weights.sum::<f64>()) / service;
    holds("the repairman's throughput", law, (1..=10).map(|seed| rounds(seed, n, think, &[service], 400.0)));
}

/// Mean value analysis (Reiser and Lavenberg 1980), exact for exponential stations:
/// R_k(n) = s_k (1 + Q_k(n - 1)), X(n) = n / (Z + Σ R_k(n)), Q_k(n) = X(n) R_k(n).
#[test]
fn closed_networks_of_several_stations_follow_mean_value_analysis() {
    for (n, think, services) in [(6u32, 5e-3, vec![1e-3, 2e-3]), (12, 20e-3, vec![1e-3, 0.7e-3, 1.3e-3])] {
        let (mut queues, mut law) = (vec![0.0; services.len()], 0.0);
        for customers in 1..=n {
            let stays: Vec<f64> =
                services.iter().zip(&queues).map(|(service, queue)| service * (1.0 + queue)).collect();
            law = f64::from(customers) / (think + stays.iter().sum::<f64>());
            queues = stays.iter().map(|stay| law * stay).collect();
        }
        let runs = (1..=10).map(|seed| rounds(seed, n, think, &services, 150.0));
        holds(&format!("{n} customers at {} stations", services.len()), law, runs);
    }
}

/// One core that takes reads before writes: requests of random length at random times, at the given
/// rates; returns the mean milliseconds of a read and of a write.
fn reads_before_writes(seed: u64, rates: [f64; 2], mean: f64, count: usize) -> [f64; 2] {
    let each = Span::from_nanos(1);
    let controller = Controller {
        cores: 1,
        read: each,
        write: each,
        size_unit: Some(Bytes(1)),
        reads_first: true,
        ..Controller::default()
    };
    let media = ParallelServers { servers: 65_536, service: each, ..ParallelServers::default() };
    let array =
        Array { stages: vec![ArrayStage::Controller(controller)], media: Box::new(Model::ParallelServers(media)) };
    let mut device = DeviceSpec::of(Model::Array(array)).build(seed).expect("a device");
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut now, mut done) = (0.0, Vec::new());
    for tag in 0..count as u64 {
        now += chance.exponential(1.0 / (rates[0] + rates[1]));
        let at = Time::from_nanos((now * 1e9) as u64);
        let len = (chance.exponential(mean) * 1e9) as u64;
        let is_read = chance.unit() < rates[0] / (rates[0] + rates[1]);
        let ask = if is_read { Ask::Read { at: 0, len } } else { Ask::Write { at: 0, len } };
        let Submitted::Taken(_) = device.submit(at, request(tag, at, ask)) else { panic!("full") };
    }
    drain(&mut *device, Time::from_nanos((now * 1e9) as u64), &mut done);
    [OpKind::Read, OpKind::Write].map(|kind| {
        let times: Vec<f64> = done.iter().filter(|c| c.kind == kind).map(|c| c.service.as_secs_f64() * 1e3).collect();
        times.iter().sum::<f64>() / times.len() as f64
    })
}

/// Two classes, the first before the second, none interrupted (Cobham 1954): with W0 = λ s², of
/// exponential service, W1 = W0 / (1 - u1) and W2 = W0 / ((1 - u1)(1 - u)).
#[test]
fn reads_that_go_first_wait_as_cobham_says() {
    let (rates, mean): ([f64; 2], f64) = ([300.0, 400.0], 1e-3);
    let used = (rates[0] + rates[1]) * mean;
    let (under_way, first) = (used * mean * 1e3, rates[0] * mean);
    let laws = [under_way / (1.0 - first) + 1.0, under_way / ((1.0 - first) * (1.0 - used)) + 1.0];
    let runs: Vec<[f64; 2]> = (1..=10).map(|seed| reads_before_writes(seed, rates, mean, 200_000)).collect();
    holds("a read that goes first", laws[0], runs.iter().map(|run| run[0]));
    holds("a write behind reads", laws[1], runs.iter().map(|run| run[1]));

    // The level of means has the same law; with a fixed service time half of it is under way.
    let ms = Span::from_millis(1);
    let controller = Controller { cores: 1, read: ms, write: ms, reads_first: true, ..Controller::default() };
    let media = ParallelServers { servers: 65_536, service: Span::from_nanos(1), ..ParallelServers::default() };
    let array =
        Array { stages: vec![ArrayStage::Controller(controller)], media: Box::new(Model::ParallelServers(media)) };
    let flow = |kind, rate| Flow { kind, len: Bytes(1), rate, outstanding: f64::INFINITY, spread: None };
    let means = array.means(&[flow(OpKind::Read, rates[0]), flow(OpKind::Write, rates[1])], true);
    for (flow, law) in means.flows.iter().zip(laws) {
        let law = 1.0 + (law - 1.0) / 2.0;
        assert!(
            (flow.response * 1e3 / law - 1.0).abs() < 1e-3,
            "{} ms computed, and the law says {law}",
            flow.response
        );
    }
}

/// LRU with favourites (Che, Tung, Wang 2002): a page asked for λ times a second is there with 1 -
/// exp(-λ T), with T such that the expected pages just fit.
#[test]
fn a_cache_of_the_least_recently_used_hits_as_che_says() {
    const PAGES: usize = 2000;
    let weights: Vec<f64> = (1..=PAGES).map(|rank| (rank as f64).powf(-0.8)).collect();
    let sum: f64 = weights.iter().sum();
    let parts: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    let classes: Vec<PageClass> =
        parts.iter().map(|part| PageClass { pages: 1.0, visits: *part, touches: 1.0 }).collect();
    for room in [100.0, 500.0] {
        let at = Residence::new(&classes, 0.0, room, Replacement::LeastRecent);
        let law: f64 = classes.iter().map(|class| class.visits * (1.0 - at.missing(class))).sum();
        let run = |seed: u64| {
            let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let mut upto: Vec<f64> =
                parts.iter().scan(0.0, |sum, part| Some(*sum + part).inspect(|next| *sum = *next)).collect();
            upto[PAGES - 1] = 1.0;
            let page = Bytes::kib(8);
            let cache =
                ReadCache { size: Bytes(page.0 * room as u64), page, policy: CachePolicy::Lru, ..ReadCache::default() };
            let hit = cache.latency;
            let media =
                Model::ParallelServers(ParallelServers { service: Span::from_millis(1), ..ParallelServers::default() });
            let spec =
                DeviceSpec::of(Model::Array(Array { stages: vec![ArrayStage::Cache(cache)], media: Box::new(media) }));
            let ask = |_| {
                let drawn = chance.unit();
                Ask::Read { at: upto.partition_point(|sum| *sum < drawn) as u64 * page.0, len: page.0 }
            };
            let done = closed_loop(&spec, seed, 1, Time::ZERO + Span::from_secs(40), ask);
            let counted = &done[done.len() / 10..];
            counted.iter().filter(|completion| completion.service == hit).count() as f64 / counted.len() as f64
        };
        holds(&format!("hits of {room} pages"), law, (1..=10).map(run));
    }
}

/// An all-flash pair's shape: link with flows, controller, fast media.
fn pair() -> Array {
    let link = Link {
        bandwidth: Bytes(12_800_000_000),
        latency: Span::from_micros(10),
        flow: Some(Bytes(1_000_000_000)),
        flows: 48,
    };
    let controller =
        Controller { cores: 8, read: Span::from_micros(60), write: Span::from_micros(40), ..Controller::default() };
    let media = ParallelServers { servers: 256, service: Span::from_micros(100), ..ParallelServers::default() };
    Array {
        stages: vec![ArrayStage::Link(link), ArrayStage::Controller(controller)],
        media: Box::new(Model::ParallelServers(media)),
    }
}

/// Means against single requests, both closed: few outstanding (no queue), near the knee, and far
/// beyond it.
#[test]
fn means_are_what_single_requests_come_to() {
    let array = pair();
    let spec = DeviceSpec::of(Model::Array(array.clone()));
    for depth in [1u32, 4, 12, 64, 400] {
        for kind in [OpKind::Read, OpKind::Write] {
            let mut place = scattered(9, 8192, 1 << 26);
            let ask = |_| match kind {
                OpKind::Read => Ask::Read { at: place(), len: 8192 },
                _ => Ask::Write { at: place(), len: 8192 },
            };
            let until = Time::ZERO + Span::from_millis(1100);
            let done = closed_loop(&spec, 1, depth as usize, until, ask);
            let played = done.iter().filter(|c| c.end > Time::ZERO + Span::from_millis(100)).count() as f64;
            let flow = Flow { kind, len: Bytes(8192), rate: f64::INFINITY, outstanding: depth.into(), spread: None };
            let means = array.means(&[flow], true);
            let computed = means.flows[0].rate;
            assert!(
                (computed / played - 1.0).abs() < 0.02,
                "{kind:?} by {depth}: {computed:.0} computed, {played} played"
            );
        }
    }
}

/// Reads and writes of 8 KiB, 32 outstanding, on groups of disks of 1 ms. Small writes read what is
/// replaced or what stays, whichever is less; parity that stays on its members is asked for nothing
/// by reads. A second level of cache as large as the first answers nothing.
#[test]
fn means_of_groups_are_what_single_requests_come_to() {
    let millisecond = || {
        let servers = ParallelServers { servers: 1, service: Span::from_millis(1), ..ParallelServers::default() };
        Box::new(Model::ParallelServers(servers))
    };
    let raid = |level, members| Raid { level, members, unit: Bytes::kib(64) };
    let cache = |mib| ReadCache {
        size: Bytes::mib(mib),
        page: Bytes::kib(8),
        policy: CachePolicy::Lru,
        ..ReadCache::default()
    };
    let cases = [
        ("5 of 4", vec![ArrayStage::Raid(raid(Level::Five, 4))]),
        ("5 of 8", vec![ArrayStage::Raid(raid(Level::Five, 8))]),
        ("6 of 5", vec![ArrayStage::Raid(raid(Level::Six, 5))]),
        ("6 of 12", vec![ArrayStage::Raid(raid(Level::Six, 12))]),
        ("dp of 4", vec![ArrayStage::Raid(raid(Level::Dp, 4))]),
        ("dp of 12", vec![ArrayStage::Raid(raid(Level::Dp, 12))]),
        ("alike", vec![ArrayStage::Cache(cache(256)), ArrayStage::Cache(cache(256))]),
        ("larger", vec![ArrayStage::Cache(cache(128)), ArrayStage::Cache(cache(512))]),
    ];
    for (name, stages) in cases {
        let array = Array { stages, media: millisecond() };
        let spec = DeviceSpec { size: Bytes::gib(1), ..DeviceSpec::of(Model::Array(array.clone())) };
        for kind in [OpKind::Read, OpKind::Write] {
            let mut place = scattered(9, 8192, 1 << 17);
            let ask = |_| match kind {
                OpKind::Read => Ask::Read { at: place(), len: 8192 },
                _ => Ask::Write { at: place(), len: 8192 },
            };
            let (from, until) = (Time::ZERO + Span::from_secs(200), Time::ZERO + Span::from_secs(260));
            let done = closed_loop(&spec, 1, 64, until, ask);
            let played = done.iter().filter(|c| c.end > from).count() as f64 / 60.0;
            let (rate, spread) = (f64::INFINITY, Some(Bytes::gib(1)));
            let flow = Flow { kind, len: Bytes(8192), rate, outstanding: 64.0, spread };
            let computed = array.means(&[flow], true).flows[0].rate;
            // Writes that wait for all members that were read, and what one cache still has that
            // the other let go.
            let within = if name == "alike" || kind == OpKind::Write { 0.06 } else { 0.02 };
            let off = computed / played - 1.0;
            assert!(off.abs() < within, "{name} {kind:?}: {computed:.0} computed, {played:.0} played");
        }
    }
}

/// Writes of 8 KiB, 64 outstanding, through a log that has few writes to its media outstanding: how
/// long these take decides how much comes in, with or without a group of disks between them, one
/// behind the other or each in its own place.
#[test]
fn means_of_a_log_are_held_to_what_it_has_outstanding() {
    let log = |depth, anywhere| {
        let (half, unit) = (Bytes::mib(4), Bytes::kib(64));
        ArrayStage::WriteLog(WriteLog { half, depth, unit, anywhere, ..WriteLog::default() })
    };
    let raid = ArrayStage::Raid(Raid { level: Level::Five, members: 5, unit: Bytes::kib(16) });
    for (stages, law) in [
        (vec![log(1, true)], 8000.0),
        (vec![log(8, true)], 64_000.0),
        (vec![log(4, false)], 4000.0),
        (vec![log(4, true), raid.clone()], 32_000.0),
        // Old data and parity are read before both are written.
        (vec![log(4, false), raid], 2000.0),
    ] {
        let servers = ParallelServers { servers: 256, service: Span::from_millis(1), ..ParallelServers::default() };
        let array = Array { stages, media: Box::new(Model::ParallelServers(servers)) };
        let spec = DeviceSpec { size: Bytes::gib(64), ..DeviceSpec::of(Model::Array(array.clone())) };
        let mut place = scattered(9, 8192, 1 << 23);
        let (from, until) = (Time::ZERO + Span::from_secs(20), Time::ZERO + Span::from_secs(40));
        let done = closed_loop(&spec, 1, 64, until, |_| Ask::Write { at: place(), len: 8192 });
        let played = done.iter().filter(|c| c.end > from).count() as f64 / 20.0;
        let (kind, spread) = (OpKind::Write, Some(Bytes::gib(64)));
        let flow = Flow { kind, len: Bytes(8192), rate: f64::INFINITY, outstanding: 64.0, spread };
        let means = array.means(&[flow], true);
        let (computed, limit) = (means.flows[0].rate, means.limit().expect("a limit"));
        assert!((computed / played - 1.0).abs() < 0.03, "{array:?}: {computed:.0} computed, {played:.0} played");
        assert!((computed / law - 1.0).abs() < 0.01 && limit.0.starts_with("log's writes"), "{array:?}: {means:?}");
    }
}

/// Open load beyond capacity shows in the station's utilisation, not in a figure that looks like an
/// answer.
#[test]
fn what_is_asked_beyond_capacity_shows_as_used_up() {
    let ask = |rate| Flow { kind: OpKind::Read, len: Bytes(8192), rate, outstanding: f64::INFINITY, spread: None };
    // 8 cores of 60 µs: 133 333 reads a second.
    let means = pair().means(&[ask(200_000.0)], true);
    let (name, used) = means.limit().expect("it has stations");
    assert!(name == "controller" && (used - 1.5).abs() < 1e-9, "{name} {used}");
    let within = pair().means(&[ask(100_000.0)], true);
    assert!((within.limit().expect("a limit").1 - 0.75).abs() < 1e-9);
}
