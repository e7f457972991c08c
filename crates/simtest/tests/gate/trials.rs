//! Scenes that show what parts of the floors' controller are there for, each with one figure;
//! higher is better.

use array::{
    Absence, Array, ArrayStage, Change, Collection, ControlGroup, DeviceSpec, Disk, Flash, Host, Model, ParallelServers,
};
use block::{Bytes, ObjectId, Span, Time};
use qos::{Corrections, Edit, Gate, Settings};
use simtest::{Client, Load, Mix, Recording, Scene, Shape, Tree, floor, latency};

/// A scene and its figure.
pub struct Trial {
    pub name: &'static str,
    /// What the figure is.
    pub figure: &'static str,
    pub play: fn(u64, Corrections) -> f64,
}

pub const TRIALS: &[Trial] = &[
    Trial { name: "edge", figure: "all together, of 104 500/s", play: edge },
    Trial { name: "deep", figure: "percent of what all do without floors", play: deep },
    Trial { name: "known", figure: "percent of what all do without floors", play: known },
    Trial { name: "back", figure: "the floors' worst second, percent", play: back },
    Trial { name: "beside", figure: "the floor's worst second, percent", play: beside },
    Trial { name: "overcommitted", figure: "the floor of the shallowest, percent", play: overcommitted },
    Trial { name: "shallow", figure: "the owner, a second", play: shallow },
    Trial { name: "shallow, all", figure: "all together, of 80 000/s", play: shallow_all },
    Trial { name: "shallow, slow", figure: "percent of what all do without the floor", play: shallow_slow },
    Trial { name: "shallow, knee", figure: "the owner, of 250/s", play: shallow_knee },
    Trial { name: "away", figure: "percent of what all do without the floor", play: away },
    Trial { name: "leisure", figure: "percent of what all do without the floor", play: leisure },
    Trial { name: "leisure, queue", figure: "the owner's median, times a second", play: leisure_median },
    Trial { name: "more than its floor", figure: "what the others do a second", play: more_than_its_floor },
    Trial { name: "sizes", figure: "all together, requests a second", play: sizes },
    Trial { name: "sizes, bytes", figure: "all together, MB a second", play: sizes_bytes },
    Trial { name: "large", figure: "the floor's worst second, percent", play: large },
    Trial { name: "slow", figure: "the floor's worst second, percent", play: slow },
    Trial { name: "less than its floor", figure: "the owner's worst second, percent", play: less_than_its_floor },
    Trial { name: "stops", figure: "percent of what all do half a second later", play: stops },
    Trial { name: "had again", figure: "the owner's worst median of a second, times a second", play: had_again },
    Trial { name: "slices", figure: "the owner's mean rate, a second", play: slices },
];

fn second(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

fn run(scene: &Scene, corrections: Corrections) -> Recording {
    scene.play(|device| Gate::new(device, Settings { corrections, ..Settings::default() }))
}

fn closed(depths: &[u32]) -> Vec<Client> {
    depths.iter().zip(0..).map(|(&depth, n)| Client::closed(ObjectId(n), depth)).collect()
}

fn scene(device: DeviceSpec, clients: Vec<Client>, floors: &[u64], seconds: u64, seed: u64) -> Scene {
    let flat = Tree::flat(clients.iter().map(|client| client.object.0 + 1).max().unwrap_or(0));
    let tree = floors.iter().zip(0..).fold(flat, |tree, (&floor, n)| tree.floor(n, floor));
    Scene { device, clients, edits: tree.edits(), until: second(seconds), seed }
}

/// The processor is there for so many milliseconds on average, and away for so many.
pub fn absence(every_ms: u64, length_ms: u64) -> Option<Absence> {
    Some(Absence { every: Span::from_millis(every_ms), length: Span::from_millis(length_ms) })
}

/// 386 µs a turn and 6.6 µs a request.
pub fn host(absence: Option<Absence>) -> DeviceSpec {
    turns(386, 6_600, absence)
}

/// The host of a bench of floors: 82 000 a second at depth 132.
pub fn bench_host(absence: Option<Absence>) -> DeviceSpec {
    turns(158, 10_500, absence)
}

/// So long a turn, and a request in it.
fn turns(turn_us: u64, request_ns: u64, absence: Option<Absence>) -> DeviceSpec {
    let (turn, request) = (Span::from_micros(turn_us), Span::from_nanos(request_ns));
    DeviceSpec::of(Model::Host(Host { turn, request, absence, ..Host::default() }))
}

/// 85 000 a second.
fn soft(absence: Option<Absence>) -> DeviceSpec {
    DeviceSpec { queue_limit: Some(512), ..DeviceSpec::of(Model::Host(Host { absence, ..Host::default() })) }
}

fn servers(servers: u32) -> DeviceSpec {
    DeviceSpec::of(Model::ParallelServers(ParallelServers { servers, ..ParallelServers::default() }))
}

/// So many microseconds each.
fn slow_servers(servers: u32, us: u64) -> DeviceSpec {
    let service = Span::from_micros(us);
    DeviceSpec::of(Model::ParallelServers(ParallelServers { servers, service, ..ParallelServers::default() }))
}

/// All together from a second on.
fn total(recording: &Recording, from: u64) -> f64 {
    recording.total_rate(second(from), recording.until)
}

/// With floors, in percent of without.
fn percent(mut scene: Scene, from: u64, corrections: Corrections) -> f64 {
    let with = total(&run(&scene, corrections), from);
    scene.edits.retain(|(_, edit)| matches!(edit, Edit::AddObject { .. }));
    100.0 * with / total(&run(&scene, corrections), from)
}

/// The worst second of these floors from a second on, in percent.
fn worst(recording: &Recording, floors: &[u64], from: usize) -> f64 {
    let of = |(track, &floor): (&simtest::Track, &u64)| {
        let least = *track.per_second(recording.until)[from..].iter().min().expect("there are seconds");
        100.0 * least as f64 / floor as f64
    };
    recording.tracks.iter().zip(floors).map(of).fold(f64::INFINITY, f64::min)
}

/// An owner that takes so many microseconds between an answer and its next request.
pub fn thinking(object: u32, depth: u32, least_us: u64, most_us: u64) -> Client {
    let load = Load::Thinking { depth, least: Span::from_micros(least_us), most: Span::from_micros(most_us) };
    Client { load, ..Client::closed(ObjectId(object), depth) }
}

fn edge(seed: u64, corrections: Corrections) -> f64 {
    total(&run(&scene(host(None), closed(&[4, 128]), &[5_000], 10, seed), corrections), 4)
}

fn deep(seed: u64, corrections: Corrections) -> f64 {
    let clients = closed(&[500, 500, 8_000]);
    percent(scene(soft(absence(250, 20)), clients, &[19_850, 19_850], 8, seed), 1, corrections)
}

/// Half of the device is away from second 2 to 5; from the second after next the floors hold.
fn back(seed: u64, corrections: Corrections) -> f64 {
    let changes = vec![Change { at: second(2), percent: 33 }, Change { at: second(5), percent: 100 }];
    let floors = [30_000, 15_000];
    let device = DeviceSpec { changes, ..servers(8) };
    worst(&run(&scene(device, closed(&[16, 8, 512]), &floors, 10, seed), corrections), &floors, 7)
}

/// Three floors that are more than the device does: 8 750 of 7 500 a second, and the smallest is of
/// an owner with four requests at a time.
fn overcommitted(seed: u64, corrections: Corrections) -> f64 {
    let floors = [5_000, 2_500, 1_250];
    let scene = scene(slow_servers(3, 400), closed(&[64, 16, 4, 512]), &floors, 40, seed);
    run(&scene, corrections).tracks[2].rate(second(10), second(40)) / 12.5
}

/// Two floors, of which the second is out of reach: its owner has one request at a time.
fn beside(seed: u64, corrections: Corrections) -> f64 {
    let clients = vec![thinking(0, 4, 100, 400), Client::closed(ObjectId(1), 1), Client::closed(ObjectId(2), 128)];
    let scene = scene(bench_host(None), clients, &[5_000, 9_000], 20, seed);
    worst(&run(&scene, corrections), &[5_000], 1)
}

/// One at a time gets 10 000 at most, beside depth 512.
fn shallow(seed: u64, corrections: Corrections) -> f64 {
    let scene = scene(servers(8), closed(&[1, 512]), &[20_000], 10, seed);
    run(&scene, corrections).tracks[0].rate(second(2), second(10))
}

fn shallow_all(seed: u64, corrections: Corrections) -> f64 {
    total(&run(&scene(servers(8), closed(&[1, 512]), &[20_000], 40, seed), corrections), 0)
}

/// With 16 in flight on 8 servers of 2 ms a request takes 4 ms: one at a time gets 250 a second,
/// and the 25 of a tenth of a second are few to judge it by.
fn shallow_knee(seed: u64, corrections: Corrections) -> f64 {
    let scene = scene(slow_servers(8, 2_000), closed(&[1, 64]), &[800], 60, seed);
    run(&scene, corrections).tracks[0].rate(second(2), second(60))
}

fn away(seed: u64, corrections: Corrections) -> f64 {
    percent(scene(host(absence(20, 40)), closed(&[4, 128]), &[5_000], 30, seed), 0, corrections)
}

/// An owner that thinks for about as long as its requests take, and a processor that is away now
/// and then.
fn more_than_its_floor(seed: u64, corrections: Corrections) -> f64 {
    let clients = vec![thinking(0, 4, 100, 400), Client::closed(ObjectId(1), 128)];
    run(&scene(bench_host(absence(5, 1)), clients, &[5_000], 60, seed), corrections).tracks[1]
        .rate(second(10), second(60))
}

fn leisurely(seed: u64) -> Scene {
    let clients = vec![thinking(0, 64, 8_000, 12_000), Client::closed(ObjectId(1), 256)];
    scene(soft(absence(250, 10)), clients, &[5_000], 10, seed)
}

fn leisure(seed: u64, corrections: Corrections) -> f64 {
    percent(leisurely(seed), 1, corrections)
}

fn leisure_median(seed: u64, corrections: Corrections) -> f64 {
    1.0 / run(&leisurely(seed), corrections).tracks[0].percentile(50.0, second(2), second(10)).as_secs_f64()
}

/// Floors that go and come back each second, where the knee is far from where the search begins.
fn known(seed: u64, corrections: Corrections) -> f64 {
    let limits = |s: u64| if s.is_multiple_of(2) { floor(20_000) } else { qos::Limits::default() };
    let set = |s: u64| Edit::SetLimits { object: ObjectId(0), limits: limits(s) };
    let tree = (0..12).fold(Tree::flat(2), |tree, s| tree.at(second(s), set(s)));
    let scene = Scene { edits: tree.edits(), ..scene(host(None), closed(&[40, 256]), &[], 12, seed) };
    percent(scene, 2, corrections)
}

/// Choosing among 8, about 145 a second.
pub fn disk() -> DeviceSpec {
    DeviceSpec::of(Model::Disk(Disk { window: 8, trim: Span::from_millis(4), ..Disk::default() }))
}

/// Four channels: 100 µs a read, 50 µs for 4 KiB of a 16 KiB page, and 3 ms of collection after
/// every 4 MiB written to a channel: 6 % of a busy writer's time.
pub fn flash() -> DeviceSpec {
    DeviceSpec::of(Model::Flash(Flash {
        channels: 4,
        page: Bytes::kib(16),
        read: Span::from_micros(100),
        program: Span::from_micros(200),
        collection: Some(Collection { every: Bytes::mib(4), stall: Span::from_millis(3) }),
        pause: None,
        flush: Span::from_micros(100),
        trim: Span::from_micros(200),
    }))
}

/// An owner of 2 000 a second, and reads and writes of so many bytes beside it.
fn beside_writes(device: DeviceSpec, bytes: u32, seed: u64) -> Scene {
    let mut clients = closed(&[16, 64, 32]);
    clients[1].mix = Mix::Any(vec![Shape::Read(4096)]);
    clients[2].mix = Mix::Any(vec![Shape::Write(bytes)]);
    scene(device, clients, &[2_000], 16, seed)
}

/// A larger window lets in more of the writes, which cost more than the reads that they displace:
/// no more is done, and the queue is longer.
fn sizes(seed: u64, corrections: Corrections) -> f64 {
    total(&run(&beside_writes(flash(), 256 << 10, seed), corrections), 4)
}

/// A smaller window keeps them out: there are more requests, and fewer bytes.
fn sizes_bytes(seed: u64, corrections: Corrections) -> f64 {
    let service = Span::from_micros(400);
    let size_unit = Some(Bytes::kib(128));
    let model = ParallelServers { servers: 8, service, size_unit, ..ParallelServers::default() };
    let device = DeviceSpec::of(Model::ParallelServers(model));
    let recording = run(&beside_writes(device, 1 << 20, seed), corrections);
    recording.tracks.iter().map(|track| track.byte_rate(second(4), second(16))).sum::<f64>() / 1e6
}

fn large(seed: u64, corrections: Corrections) -> f64 {
    let mut clients = closed(&[32, 128]);
    clients[1].mix = Mix::Any(vec![Shape::Write(1 << 20)]);
    worst(&run(&scene(flash(), clients, &[12_750], 6, seed), corrections), &[12_750], 1)
}

/// A disk of 145 a second that owes 60 to an owner at depth 8.
fn slow(seed: u64, corrections: Corrections) -> f64 {
    worst(&run(&scene(disk(), closed(&[8, 64]), &[45], 40, seed), corrections), &[45], 2)
}

/// Five minutes on 8 servers of 8 ms, 1000 a second: 125 for one at a time.
fn shallow_slow(seed: u64, corrections: Corrections) -> f64 {
    let model = ParallelServers { servers: 8, service: Span::from_millis(8), ..ParallelServers::default() };
    percent(scene(DeviceSpec::of(Model::ParallelServers(model)), closed(&[1, 64]), &[200], 300, seed), 0, corrections)
}

/// An owner that asks a disk for 28 a second under a floor of 42.
fn less_than_its_floor(seed: u64, corrections: Corrections) -> f64 {
    let model = Disk { window: 8, trim: Span::from_millis(4), ..Disk::default() };
    let reads = Client::open(ObjectId(0), 28).asking(Mix::Any(vec![Shape::Read(4096)]));
    let clients = vec![reads, Client::closed(ObjectId(1), 128)];
    let recording = run(&scene(DeviceSpec::of(Model::Disk(model)), clients, &[42], 12, seed), corrections);
    worst(&recording, &[28], 1)
}

/// An owner of one request at a time holds the others back to the last request, and stops at the
/// third second.
fn stops(seed: u64, corrections: Corrections) -> f64 {
    let model = ParallelServers {
        servers: 8,
        service: Span::from_micros(400),
        size_unit: Some(Bytes::kib(128)),
        flush: Span::from_micros(400),
        trim: Span::from_micros(800),
    };
    let one = Client::closed(ObjectId(1), 1).between(second(2), second(3));
    let clients = vec![Client::open(ObjectId(0), 500), one, Client::closed(ObjectId(2), 128)];
    let mut scene = scene(DeviceSpec::of(Model::ParallelServers(model)), clients, &[1_000, 2_300], 4, seed);
    let later = second(3) + Span::from_millis(500);
    let with = run(&scene, corrections).total_rate(later, scene.until);
    scene.edits = Tree::flat(3).edits();
    100.0 * with / run(&scene, corrections).total_rate(later, scene.until)
}

/// A disk of 80 000 a second that a control group holds to a quarter of each kind: a request takes
/// 100 us, and a spent slice holds everybody for up to a tenth of a second.
pub fn sliced() -> DeviceSpec {
    let group = ArrayStage::ControlGroup(ControlGroup { reads: 20_000, writes: 20_000, ..ControlGroup::default() });
    let DeviceSpec { model: disk, .. } = DeviceSpec::named("parallel-servers").expect("there is one");
    DeviceSpec::of(Model::Array(Array { stages: vec![group], media: Box::new(disk) }))
}

/// An owner that asks at a rate, with a floor by latency, on a device that is slow from second 5 to
/// 9.
pub fn slow_for_a_while(most: Span, seconds: u64, seed: u64) -> Scene {
    let changes = vec![Change { at: second(5), percent: 15 }, Change { at: second(9), percent: 100 }];
    let device = DeviceSpec { changes, ..bench_host(None) };
    let clients = vec![Client::open(ObjectId(0), 1_000), Client::closed(ObjectId(1), 128)];
    Scene { device, clients, edits: Tree::flat(2).limits(0, latency(most)).edits(), until: second(seconds), seed }
}

/// 600 us, from second 16 on.
fn had_again(seed: u64, corrections: Corrections) -> f64 {
    let recording = run(&slow_for_a_while(Span::from_micros(600), 20, seed), corrections);
    let median = |s: u64| recording.tracks[0].percentile(50.0, second(s), second(s + 1)).as_secs_f64();
    1.0 / (16..20).map(median).fold(0.0, f64::max)
}

/// Four users who think for 0.4 ms and are promised 0.3: 5700 a second.
fn slices(seed: u64, corrections: Corrections) -> f64 {
    let clients = vec![thinking(0, 4, 200, 600), Client::closed(ObjectId(1), 128)];
    let edits = Tree::flat(2).limits(0, latency(Span::from_micros(300))).edits();
    let scene = Scene { device: sliced(), clients, edits, until: second(8), seed };
    run(&scene, corrections).tracks[0].rate(second(2), second(8))
}
