//! The stations of an array: its stages as servers, with the work that each flow asks of them.

use super::{DISKS, Flow, IN_PLACE};
use crate::array::{Array, ArrayStage};
use crate::cloud_volume::CloudVolume;
use crate::control_group::ControlGroup;
use crate::device::Model;
use crate::link::Link;
use crate::raid::{Level, Raid};
use crate::read_cache::ReadCache;
use crate::write_log::WriteLog;
use block::{Bytes, OpKind, Span};
use qos::CreditLimit;
use std::collections::VecDeque;

/// Servers with a queue in front of them, or several such queues that are alike.
pub(super) struct Station {
    pub name: String,
    /// Servers of one queue.
    servers: f64,
    /// How many queues there are; requests are spread over them evenly.
    queues: f64,
    /// By flow.
    pub visits: Vec<Visit>,
    /// Which flows go before the others, if any do.
    first: Option<Vec<bool>>,
}

/// What one request of a flow asks of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Visit {
    /// Seconds of a server, in all.
    pub work: f64,
    /// The sum of squares of the same.
    squares: f64,
    /// How many times a server is asked.
    count: f64,
    /// How many waits for a server the request itself has, one after the other; what happens beside
    /// it does not count.
    pub rounds: f64,
    /// Seconds of service that the request itself sees.
    pub shown: f64,
}

impl Station {
    /// The utilisation.
    pub fn used(&self, rates: &[f64]) -> f64 {
        let work: f64 = self.visits.iter().zip(rates).map(|(visit, rate)| visit.work * rate).sum();
        work / (self.servers * self.queues)
    }

    /// Seconds until a server is free. `open` is 1 for flows that arrive on a schedule of their
    /// own, and 0 for those that arrive when they are answered: these are as regular as the station
    /// that they wait for, unless chance spreads them over queues.
    pub fn wait(&self, flow: usize, rates: &[f64], open: &[f64]) -> f64 {
        let sum = |of: fn(&Visit) -> f64| -> f64 { self.visits.iter().zip(rates).map(|(v, rate)| of(v) * rate).sum() };
        let (count, work, squares) = (sum(|visit| visit.count), sum(|visit| visit.work), sum(|visit| visit.squares));
        if count == 0.0 || work == 0.0 {
            return 0.0;
        }
        let used = (work / (self.servers * self.queues)).min(super::NEARLY_ALL);
        let service = work / count;
        let variation = (squares / count) / (service * service) - 1.0;
        let by_chance: f64 =
            self.visits.iter().zip(rates).zip(open).map(|((v, rate), open)| v.count * rate * open).sum();
        let arrivals = if self.queues > 1.0 { 1.0 } else { by_chance / count };
        let erlang = erlang_c(self.servers, used * self.servers);
        let under_way = erlang * service / self.servers * (arrivals + variation.max(0.0)) / 2.0;
        let Some(first) = &self.first else { return under_way / (1.0 - used) };
        // By Cobham, of several servers alike (Kella and Yechiali 1985).
        let before = self.visits.iter().zip(rates).zip(first).filter(|(_, first)| **first);
        let before: f64 = before.map(|((visit, rate), _)| visit.work * rate).sum();
        let before = (before / (self.servers * self.queues)).min(super::NEARLY_ALL);
        under_way / (1.0 - before) / if first[flow] { 1.0 } else { 1.0 - used }
    }
}

/// The part of arrivals that wait with c servers and a load of a (Erlang 1917), by the recursion
/// for his formula B.
fn erlang_c(servers: f64, load: f64) -> f64 {
    // This many servers are never busy at once: Poisson's tail is below 1e-20.
    if servers > load + 12.0 * load.sqrt() + 30.0 {
        return 0.0;
    }
    let mut b = 1.0;
    let mut k = 1.0;
    while k <= servers {
        b = load * b / (k + load * b);
        k += 1.0;
    }
    let used = load / servers;
    b / (1.0 - used * (1.0 - b))
}

/// A flow as it arrives at some point on the way down.
#[derive(Clone, Copy)]
struct Asked {
    flow: usize,
    kind: OpKind,
    len: f64,
    /// How many requests there are for each of the flow's.
    count: f64,
    /// How many of them follow one another before the answer.
    rounds: f64,
    /// Over how many bytes they are spread.
    spread: Option<Bytes>,
    /// The largest part of those bytes that a cache on the way holds.
    cached: f64,
    /// The group of the path that they go to.
    group: usize,
}

/// Servers that are alike and share what is asked of them evenly.
#[derive(Clone)]
struct Peers {
    /// What their stations' names begin with.
    name: String,
    /// How many there are.
    queues: f64,
}

struct Path {
    stations: Vec<Station>,
    fixed: Vec<f64>,
    asked: Vec<Asked>,
    /// One group, until something below a RAID of disks has members of several roles.
    groups: Vec<Peers>,
    credit: bool,
    /// Names of its stages with credit, the next first.
    credits: VecDeque<String>,
}

/// The stations from the hosts to the media, and by flow the seconds that pass without a queue.
pub(super) fn stations(array: &Array, flows: &[Flow], credit: bool) -> (Vec<Station>, Vec<f64>) {
    let asked = |(flow, of): (usize, &Flow)| Asked {
        flow,
        kind: of.kind,
        len: of.len.0 as f64,
        count: 1.0,
        rounds: 1.0,
        spread: of.spread,
        cached: 0.0,
        group: 0,
    };
    let mut path = Path {
        stations: Vec::new(),
        fixed: vec![0.0; flows.len()],
        asked: flows.iter().enumerate().map(asked).collect(),
        groups: vec![Peers { name: String::new(), queues: 1.0 }],
        credit,
        credits: names_of_credits(array),
    };
    path.walk(&array.stages, &array.media);
    (path.stations, path.fixed)
}

/// Seconds that one write of so many bytes takes from here to the media and back when nothing else
/// is under way.
fn alone(stages: &[ArrayStage], media: &Model, len: f64) -> f64 {
    let flow = Flow {
        kind: OpKind::Write,
        len: Bytes(len.ceil() as u64),
        rate: f64::INFINITY,
        outstanding: 1.0,
        spread: None,
    };
    let below = Array { stages: stages.to_vec(), media: Box::new(media.clone()) };
    let (stations, fixed) = stations(&below, &[flow], true);
    fixed[0] + stations.iter().map(|station| station.visits[0].shown).sum::<f64>()
}

/// The limits with credit, by the name of their station.
pub(super) fn credits(array: &Array) -> Vec<(String, CreditLimit)> {
    let mut names = names_of_credits(array);
    let stages = array.stages.iter().filter_map(|stage| match stage {
        ArrayStage::Credits(limits) => Some((names.pop_front()?, limits)),
        _ => None,
    });
    let mut found: Vec<(String, &CloudVolume)> = stages.collect();
    if let Model::CloudVolume(limits) = &*array.media {
        found.push((VOLUME.into(), limits));
    }
    let both = |(name, of): (String, &CloudVolume)| {
        [(format!("{name}, operations"), of.operations), (format!("{name}, bytes"), of.bytes)]
    };
    found.into_iter().flat_map(both).filter(|(_, limit)| limit.credit > 0 && limit.peak > limit.base).collect()
}

/// The name of the station of a volume with credit.
const VOLUME: &str = "volume";

/// The names of stages with credit: by number where there are several.
fn names_of_credits(array: &Array) -> VecDeque<String> {
    let count = array.stages.iter().filter(|stage| matches!(stage, ArrayStage::Credits(_))).count();
    (1..=count).map(|number| if count == 1 { "credits".into() } else { format!("credits {number}") }).collect()
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

fn per(bytes: f64, rate: Bytes) -> f64 {
    bytes / rate.0 as f64
}

impl Path {
    /// Adds a station; `service` gives how long each request keeps a server, and how much of that
    /// is the request's own time.
    fn station(&mut self, name: &str, servers: f64, queues: f64, service: impl Fn(&Asked) -> (f64, f64)) {
        for (group, peers) in self.groups.iter().enumerate() {
            let mut visits = vec![Visit::default(); self.fixed.len()];
            for asked in self.asked.iter().filter(|asked| asked.group == group) {
                let (time, shown) = service(asked);
                let visit = &mut visits[asked.flow];
                visit.work += asked.count * time;
                visit.squares += asked.count * time * time;
                visit.count += if time > 0.0 { asked.count } else { 0.0 };
                visit.rounds += if time > 0.0 { asked.rounds } else { 0.0 };
                visit.shown += asked.rounds * shown;
            }
            let (name, queues) = (format!("{}{name}", peers.name), peers.queues * queues);
            self.stations.push(Station { name, servers, queues, visits, first: None });
        }
    }

    /// Adds time that passes without a queue.
    fn delay(&mut self, takes: impl Fn(&Asked) -> f64) {
        for asked in &self.asked {
            self.fixed[asked.flow] += asked.rounds * takes(asked);
        }
    }

    /// All stages and the media behind them.
    fn walk(&mut self, stages: &[ArrayStage], media: &Model) {
        for (index, stage) in stages.iter().enumerate() {
            self.stage(stage);
            if let ArrayStage::WriteLog(log) = stage {
                self.flush(log, media, |len| alone(&stages[index + 1..], media, len));
            }
        }
        self.media(media);
    }

    fn stage(&mut self, stage: &ArrayStage) {
        match stage {
            // The bound on what is outstanding is applied to the flows (`Array::means`).
            ArrayStage::HostAdapters(_) => {}
            ArrayStage::Link(link) => self.link(link),
            ArrayStage::Controller(controller) => {
                let unit = controller.size_unit;
                let (read, write) = (controller.read, controller.write);
                self.station("controller", controller.cores.into(), 1.0, |asked| {
                    let base = seconds(if asked.kind == OpKind::Write { write } else { read });
                    let time = unit.map_or(base, |unit| base * (1.0 + asked.len / unit.0 as f64));
                    (time, time)
                });
                if controller.reads_first {
                    let mut first = vec![false; self.fixed.len()];
                    self.asked.iter().for_each(|asked| first[asked.flow] |= asked.kind != OpKind::Write);
                    let added = self.stations.len() - self.groups.len();
                    self.stations[added..].iter_mut().for_each(|station| station.first = Some(first.clone()));
                }
            }
            ArrayStage::WriteLog(log) => self.write_log(log),
            ArrayStage::Cache(cache) => self.cache(cache),
            ArrayStage::Credits(credits) => {
                let name = self.credits.pop_front().expect("each has a name");
                self.limits(&name, credits);
            }
            ArrayStage::ControlGroup(group) => self.control_group(group),
            ArrayStage::Raid(raid) => self.raid(raid),
        }
    }

    fn link(&mut self, link: &Link) {
        self.delay(|_| 2.0 * seconds(link.latency));
        for (name, carried) in [("link down", OpKind::Write), ("link up", OpKind::Read)] {
            let bytes = |asked: &Asked| if asked.kind == carried { asked.len } else { 0.0 };
            self.station(name, 1.0, 1.0, |asked| {
                let time = per(bytes(asked), link.bandwidth);
                (time, if link.flow.is_none() { time } else { 0.0 })
            });
            if let Some(flow) = link.flow {
                self.station(&format!("flows, {name}"), 1.0, link.flows.into(), |asked| {
                    let time = per(bytes(asked), flow);
                    (time, time.max(per(bytes(asked), link.bandwidth)))
                });
            }
        }
    }

    /// Writes end in the log; what goes down from it is in nobody's response time.
    fn write_log(&mut self, log: &WriteLog) {
        let is_write = |asked: &Asked| asked.kind == OpKind::Write;
        self.delay(|asked| if is_write(asked) { seconds(log.latency) } else { 0.0 });
        if let Some(bandwidth) = log.bandwidth {
            self.station("write log", 1.0, 1.0, |asked| {
                let time = if is_write(asked) { per(asked.len, bandwidth) } else { 0.0 };
                (time, time)
            });
        }
        for asked in self.asked.iter_mut().filter(|asked| is_write(asked)) {
            asked.rounds = 0.0;
            if log.anywhere {
                asked.count *= asked.len / log.unit.0 as f64;
                asked.len = log.unit.0 as f64;
            }
        }
    }

    /// The writes that a log may have outstanding at its points are a station of so many servers.
    /// Each is kept for as long as a write takes below, which its length gives: in the long run no
    /// more comes in than that.
    fn flush(&mut self, log: &WriteLog, media: &Model, takes: impl Fn(f64) -> f64) {
        let place = if log.anywhere { "" } else { IN_PLACE };
        let disks = if matches!(media, Model::Disk(_)) { format!(" to {DISKS}") } else { String::new() };
        self.station(&format!("log's writes{place}{disks}"), log.depth.into(), 1.0, |asked| {
            (if asked.kind == OpKind::Write { takes(asked.len) } else { 0.0 }, 0.0)
        });
    }

    /// Of reads spread evenly over W bytes, a cache of C answers C / W, and the second level its
    /// own part of the rest. A cache below another one is asked for what that one lacks, and holds
    /// first what that one was last asked for, so a smaller one answers nothing.
    fn cache(&mut self, cache: &ReadCache) {
        for asked in self.asked.iter_mut().filter(|asked| asked.kind != OpKind::Write) {
            let Some(spread) = asked.spread.filter(|spread| spread.0 > 0) else { continue };
            let upto = |bytes: Bytes| (bytes.0 as f64 / spread.0 as f64).min(1.0);
            let missed = 1.0 - asked.cached;
            if missed <= 0.0 {
                continue;
            }
            // Of those that arrive here.
            let beyond = |upto: f64| (upto - asked.cached).max(0.0) / missed;
            let first = beyond(upto(cache.size));
            let both = beyond(upto(Bytes(cache.size.0.saturating_add(cache.second.0))));
            self.fixed[asked.flow] += asked.rounds * first * seconds(cache.latency);
            self.fixed[asked.flow] += asked.rounds * (both - first) * seconds(cache.second_latency);
            asked.count *= 1.0 - both;
            asked.rounds *= 1.0 - both;
            asked.cached = 1.0 - missed * (1.0 - both);
        }
    }

    fn limits(&mut self, name: &str, limits: &CloudVolume) {
        let credit = self.credit;
        let rate = |of: CreditLimit| if credit && of.credit > 0 { of.peak } else { of.base } as f64;
        let (operations, bytes) = (rate(limits.operations), rate(limits.bytes));
        let unit = limits.io_unit.0 as f64;
        self.station(&format!("{name}, operations"), 1.0, 1.0, |asked| {
            ((asked.len / unit).ceil().max(1.0) / operations, 0.0)
        });
        self.station(&format!("{name}, bytes"), 1.0, 1.0, |asked| (asked.len / bytes, 0.0));
        self.delay(|_| seconds(limits.latency) + seconds(limits.jitter) / 2.0);
    }

    fn control_group(&mut self, group: &ControlGroup) {
        for (name, held, rate) in [("held reads", false, group.reads), ("held writes", true, group.writes)] {
            self.station(name, 1.0, 1.0, |asked| {
                let is_write = asked.kind == OpKind::Write;
                (if is_write == held { 1.0 / rate as f64 } else { 0.0 }, 0.0)
            });
        }
    }

    fn raid(&mut self, raid: &Raid) {
        let (unit, data, members) = (raid.unit.0 as f64, raid.data() as f64, f64::from(raid.members));
        let copies = match raid.level {
            Level::One => members,
            Level::Ten => 2.0,
            _ => 1.0,
        };
        let parities = if matches!(raid.level, Level::Five | Level::Six | Level::Dp) { members - data } else { 0.0 };
        // Where parity stays on members of its own, these are a group beside the data's.
        let apart = raid.level == Level::Dp;
        let groups = self.groups.len();
        // Beside the data's, and in nobody's response time.
        let parity = |asked: Asked| Asked { group: asked.group + groups, rounds: 0.0, ..asked };
        let mut below = Vec::with_capacity(self.asked.len());
        for asked in std::mem::take(&mut self.asked) {
            let parts = (asked.len / unit).ceil().max(1.0);
            let part = Asked { len: asked.len / parts, count: asked.count * parts, ..asked };
            match asked.kind {
                OpKind::Write if parities > 0.0 => {
                    // Cut as single requests are: for a stripe that is written in part, either what
                    // is replaced or what stays is read, whichever is less.
                    let stripes = (asked.len / (unit * data)).max(1.0);
                    let touched = parts / stripes;
                    let per = |count: f64| Asked { count: asked.count * stripes * count, ..part };
                    let modify = touched + parities <= data - touched;
                    let of = |kind, data: f64, parities: f64| match apart {
                        true => vec![Asked { kind, ..per(data) }, parity(Asked { kind, ..per(parities) })],
                        false => vec![Asked { kind, ..per(data + parities) }],
                    };
                    if asked.len < unit * data {
                        let (old, parities) = if modify { (touched, parities) } else { (data - touched, 0.0) };
                        below.extend(of(OpKind::Read, old, parities));
                    }
                    below.extend(of(OpKind::Write, touched, parities));
                }
                OpKind::Write => below.push(Asked { count: part.count * copies, ..part }),
                _ => below.push(part),
            }
        }
        self.asked = below;
        let peers = |of: &Peers, name: &str, members: f64| Peers {
            name: format!("{name}{}", of.name),
            queues: of.queues * members,
        };
        self.groups = match apart {
            true => {
                let data = self.groups.iter().map(|of| peers(of, "", data));
                data.chain(self.groups.iter().map(|of| peers(of, "parity ", parities))).collect()
            }
            false => self.groups.iter().map(|of| peers(of, "", members)).collect(),
        };
    }

    fn media(&mut self, media: &Model) {
        match media {
            Model::ParallelServers(of) => self.station("media", of.servers.into(), 1.0, |asked| {
                let time = seconds(of.service) * of.size_unit.map_or(1.0, |unit| 1.0 + asked.len / unit.0 as f64);
                (time, time)
            }),
            Model::Disk(of) => {
                // Two random places lie a third of the way apart on average, and the square root of
                // that distance is 8/15 on average.
                let reach = seconds(of.seek_longest) - seconds(of.seek_shortest);
                let seek = seconds(of.seek_shortest) + reach * (8.0 / 15.0 + 1.0 / 3.0) / 2.0;
                let turn = seconds(of.rotation);
                // For a place anywhere. More bytes lie where tracks are long, so the mean of turns
                // by byte is one over the mean track.
                let track = of.track.0.midpoint(of.track_inner.unwrap_or(of.track).0) as f64;
                self.station(DISKS, 1.0, 1.0, |asked| {
                    let time = seek + turn / 2.0 + turn * asked.len / track;
                    (time, time)
                });
            }
            Model::Flash(of) => {
                let channels = f64::from(of.channels);
                let stall = of.collection.map_or(0.0, |c| seconds(c.stall) / c.every.0 as f64);
                let page = of.page.0 as f64;
                for asked in &mut self.asked {
                    let parts = (asked.len / page).ceil().clamp(1.0, channels);
                    asked.count *= parts;
                    asked.len /= parts;
                }
                self.station("flash", 1.0, channels, |asked| match asked.kind {
                    OpKind::Write => {
                        let time = seconds(of.program) * asked.len / page;
                        (time + stall * asked.len, time)
                    }
                    _ => {
                        let time = seconds(of.read) * (asked.len / page).ceil();
                        (time, time)
                    }
                });
            }
            Model::CloudVolume(of) => self.limits(VOLUME, of),
            Model::Host(of) => {
                let (turn, request) = (seconds(of.turn), seconds(of.request));
                self.station("host", 1.0, 1.0, |asked| {
                    let time = request * of.size_unit.map_or(1.0, |unit| 1.0 + asked.len / unit.0 as f64);
                    (time, turn + time)
                });
            }
            Model::Array(inner) => self.walk(&inner.stages, &inner.media),
        }
    }
}
