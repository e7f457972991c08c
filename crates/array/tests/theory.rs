//! Theory: stations that are played and laws of queueing that are known exactly, side by side, and the level of means beside
//! the level of single requests.
//!
//! A law holds where it lies within the interval of 95 % confidence of ten runs by different seeds and the mean is within 1 %
//! (Student's t of 9 degrees, 2.262).

mod load;

use array::{Array, Controller, DeviceSpec, Flow, Link, Model, ParallelServers, Stage, VirtualClock};
use block::{Bytes, Completion, Driver, OpKind, Span, Submitted, Target, Time, Wakeup};
use load::{Ask, closed_loop, request, scattered};

/// Chance, by xorshift64* (Vigna 2016): the tests' own, so that what is tested is not its own judge.
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

/// One server of a microsecond for 64 bytes: a request of chance length has a service time of the same chance.
fn servers(servers: u32) -> DeviceSpec {
    let service = Span::from_nanos(1);
    let none = Span::ZERO;
    let model = ParallelServers { servers, service, size_unit: Some(Bytes(1)), flush: none, trim: none };
    DeviceSpec::of(Model::ParallelServers(model))
}

/// Mean response in milliseconds of `count` requests that arrive by chance at `rate` a second, each of an exponential
/// service time of `mean` seconds; one in ten from the start is left out.
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

/// A closed loop of N over one server of rate μ has X = μ; over c servers with N ≤ c, X = N μ; and over a fixed way of Z
/// before a server of s, X = min(N / (Z + s), 1 / s) where nothing is left to chance (the asymptotic bounds, which a
/// deterministic network reaches).
#[test]
fn closed_loops_reach_their_bounds() {
    let link = Link { bandwidth: Bytes(1 << 40), latency: Span::from_millis(5), flow: None, flows: 1 };
    let server = ParallelServers { servers: 1, service: Span::from_millis(1), ..ParallelServers::default() };
    let array = Array { stages: vec![Stage::Link(link)], media: Box::new(Model::ParallelServers(server)) };
    let spec = DeviceSpec::of(Model::Array(array));
    for (n, law) in [(1, 1000.0 / 11.0), (5, 5000.0 / 11.0), (10, 10_000.0 / 11.0), (11, 1000.0), (40, 1000.0)] {
        let until = Time::ZERO + Span::from_secs(110);
        let done = closed_loop(&spec, 1, n, until, |_| Ask::Read { at: 0, len: 1 });
        let rate = done.iter().filter(|c| c.end > Time::ZERO + Span::from_secs(11)).count() as f64 / 99.0;
        assert!((rate / law - 1.0).abs() < 0.01, "{n} outstanding: {rate}, and the law says {law}");
    }
}

/// A closed network of N customers with exponential service at one station and a think time of Z (the machine repairman):
/// U = 1 - p0, p0 = 1 / Σ N! / (N - k)! (s / Z)^k.
#[test]
fn closed_networks_follow_the_repairman() {
    let (n, think, service) = (8u32, 7e-3, 1e-3);
    let weights = (0..=n).scan(1.0, |weight, k| {
        let now = *weight;
        *weight *= f64::from(n - k) * service / think;
        Some(now)
    });
    let law = (1.0 - 1.0 / weights.sum::<f64>()) / service;
    let run = |seed: u64| {
        let (mut device, mut clock) = (servers(1).build(seed).expect("a device"), VirtualClock::new());
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut thinking: Vec<f64> = (0..n).map(|_| chance.exponential(think)).collect();
        let (mut done, mut ended, until) = (0u64, Vec::new(), 400.0);
        loop {
            let soonest = thinking.iter().copied().fold(f64::INFINITY, f64::min);
            let think_ends = Time::from_nanos((soonest.min(1e6) * 1e9) as u64);
            let at = match device.next_wakeup() {
                Wakeup::At(at) => at.min(think_ends),
                Wakeup::Now => clock.now(),
                _ => think_ends,
            };
            let now = clock.turn(Some(at));
            if now.as_nanos() as f64 / 1e9 > until {
                return done as f64 / until;
            }
            device.poll(now, &mut ended);
            for completion in ended.drain(..) {
                done += 1;
                thinking.push(completion.end.as_nanos() as f64 / 1e9 + chance.exponential(think));
            }
            let due = |at: &f64| (at * 1e9) as u64 <= now.as_nanos();
            for _ in 0..thinking.iter().filter(|at| due(at)).count() {
                let ask = Ask::Read { at: 0, len: (chance.exponential(service) * 1e9) as u64 };
                let Submitted::Taken(_) = device.submit(now, request(done, now, ask)) else { panic!("full") };
            }
            thinking.retain(|at| !due(at));
        }
    };
    holds("the repairman's throughput", law, (1..=10).map(run));
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
        stages: vec![Stage::Link(link), Stage::Controller(controller)],
        media: Box::new(Model::ParallelServers(media)),
    }
}

/// Means against single requests, both closed: few outstanding (no queue), about the knee, and far beyond it.
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

/// Open load beyond capacity is said by the station's utilisation and not by a figure that looks like an answer.
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
