//! The server killed at random moments under writes: what was acknowledged is there, the check is
//! clean, the next server starts at once.
//!
//! Two LUNs and two connections to each, each with a band of its own. A writer keeps eight requests
//! in flight: writes of numbered blocks, some with FUA, flushes, and trims. What it knows of each
//! block when the server dies:
//!
//! ```text
//!   writes of a block     1 ── 2 ── 3 ── 4 ── 5       a later one is asked for only when the one before is answered
//!                              ▲              ▲
//!                              covered by a   asked for, answered or not
//!                              flush or FUA
//!   after the kill it may hold 2, 3, 4 or 5, and nothing else
//! ```
//! `SEAWALL_KILLS` sets how often (10 if not set), `SEAWALL_KILL_SEED` what all choices follow
//! from.
//!
//! A start is to take less than a second. On a machine that does other things time says little, so
//! what is always held to that is the processor time of a start; with `SEAWALL_KILLS` the time
//! itself, too, of 99 starts of a hundred.

use crate::raw_client::{Answered, Client};
use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::Server;
use block::Span;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use uring::Clock;

const BLOCK: u64 = 4096;
/// Blocks of a writer's band: few, so that blocks are written again and again.
const BAND: u64 = 512;
const WRITERS: u64 = 4;
const IN_FLIGHT: usize = 8;
const START_MAX: Span = Span::SECOND;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_acknowledged_is_lost_by_kills() {
    let asked = number("SEAWALL_KILLS");
    let seed = number("SEAWALL_KILL_SEED").unwrap_or(1);
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\n").unwrap();
    std::fs::write(scratch.join("cache.toml"), "[cache]\nmemory = \"4MiB\"\n").unwrap();
    let mut server = Server::start(&scratch);
    server.tell(&["vserver create -vserver svm01", "volume create -vserver svm01 -volume v -size 64MiB"]);
    for lun in ["a", "b"] {
        server.tell(&[&format!("lun create -vserver svm01 -path /vol/v/{lun} -size 8MiB")]);
    }
    let mut bands: Vec<Band> = (0..WRITERS).map(|writer| Band::new(writer, seed)).collect();
    let mut chance = Chance(seed);
    let (mut starts, mut busiest, mut answered) = (Vec::new(), 0, 0);
    for kill in 0..asked.unwrap_or(10) {
        // A snapshot now and then, so that writes copy what is shared.
        let old = kill.checked_sub(2).map(|old| format!("volume snapshot delete v -snapshot s{old}"));
        let new = format!("volume snapshot create v -snapshot s{kill}");
        server.tell(&old.iter().chain([&new]).map(String::as_str).collect::<Vec<_>>());
        answered += until_killed(server, &mut bands, chance.below(3000));
        let checked = run(seawall(scratch.path()).args(["check", "pool"]));
        assert_eq!(checked.code, Some(0), "seed {seed}, kill {kill}: {}{}", checked.out, checked.err);
        let clock = Clock::new();
        let began = clock.now();
        // Every other one keeps pages in memory.
        let with_cache: &[&str] = if kill % 2 == 0 { &["--config", "cache.toml"] } else { &[] };
        server = Server::start_with(&scratch, with_cache);
        starts.push(clock.now().since(began));
        busiest = busiest.max(cpu_ticks(server.running().id()));
        for band in &mut bands {
            band.look(&server, &format!("seed {seed}, kill {kill}"));
        }
    }
    let count = asked.unwrap_or(10);
    starts.sort_unstable();
    let late = starts.iter().filter(|took| **took > START_MAX).count() as u64;
    let [median, longest] = [starts[starts.len() / 2], starts[starts.len() - 1]].map(Span::as_secs_f64);
    println!(
        "{count} kills, seed {seed}: {answered} requests answered, all there; starts took {median:.2} s in the \
         middle, {longest:.2} s at most and up to {:.2} s of processor time; {late} took longer than a second",
        busiest as f64 / 100.0
    );
    assert!(busiest < 100, "a start took {busiest} hundredths of a second of processor time");
    assert!(asked.is_none() || late * 100 <= count, "{late} of {count} starts took longer than a second");
}

/// Processor time of a process so far, in hundredths of a second.
fn cpu_ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // Behind the name, which may hold anything, `utime` and `stime` are the 12th and 13th words.
    let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    words[11..13].iter().map(|word| word.parse::<u64>().expect("a number")).sum()
}

/// Lets all writers write, and kills the server when `until` more requests were answered.
fn until_killed(server: Server, bands: &mut [Band], until: u64) -> u64 {
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for band in bands.iter_mut() {
            let client = Client::connect(&server.socket(), &band.export());
            let answered = &answered;
            scope.spawn(move || band.write(client, answered));
        }
        while answered.load(Ordering::SeqCst) < until {
            std::thread::yield_now();
        }
        server.kill();
    });
    answered.load(Ordering::SeqCst)
}

/// Reproducible chance (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// A block as its writer knows it. Versions rise by one and are never used again.
#[derive(Clone, Default)]
struct Known {
    /// What it held after the last kill: whether zeroes, and the version.
    base: (bool, u64),
    /// The last version that was asked for before that kill.
    floor: u64,
    /// The last that was answered.
    answered: u64,
    /// The last that was asked for.
    asked: u64,
    /// The last that a flush or FUA covers; up to `floor`: none since the kill.
    durable: u64,
    /// Those since the kill that are trims: zeroes and not bytes.
    trims: Vec<u64>,
}

impl Known {
    /// What the block may hold after a kill now.
    fn allowed(&self) -> Vec<(bool, u64)> {
        let later = self.durable.max(self.floor + 1)..=self.asked;
        let base = (self.durable <= self.floor).then_some(self.base);
        base.into_iter().chain(later.map(|version| (self.trims.contains(&version), version))).collect()
    }
}

struct Band {
    writer: u64,
    chance: Chance,
    blocks: Vec<Known>,
}

/// A request on its way.
enum Under {
    Change {
        block: usize,
        fua: bool,
    },
    /// What was answered when it was asked for becomes durable.
    Flush(Vec<u64>),
}

impl Band {
    fn new(writer: u64, seed: u64) -> Band {
        let nothing = Known { base: (true, 0), ..Known::default() };
        let blocks = vec![nothing; BAND as usize];
        Band { writer, chance: Chance(seed * 100 + writer), blocks }
    }

    fn export(&self) -> String {
        format!("/vol/v/{}", if self.writer < 2 { "a" } else { "b" })
    }

    fn at(&self, block: usize) -> u64 {
        (self.writer % 2 * BAND + block as u64) * BLOCK
    }

    /// The bytes of a version: each eight say whose they are.
    fn bytes(&self, block: usize, version: u64) -> Vec<u8> {
        (self.writer << 56 | (block as u64) << 40 | version).to_le_bytes().repeat(BLOCK as usize / 8)
    }

    /// Writes until the server is gone.
    fn write(&mut self, mut client: Client, answered: &AtomicU64) {
        let mut under: BTreeMap<u64, Under> = BTreeMap::new();
        for cookie in 0.. {
            if under.len() == IN_FLIGHT {
                let Some(Answered { cookie, failed, .. }) = client.answer() else { return };
                assert!(!failed, "the server failed request {cookie}");
                answered.fetch_add(1, Ordering::SeqCst);
                self.answered(under.remove(&cookie).expect("an answer to a request"));
            }
            let asked = match self.chance.below(20) {
                0 => {
                    under.insert(cookie, Under::Flush(self.blocks.iter().map(|known| known.answered).collect()));
                    client.flush(cookie)
                }
                kind => match self.idle_block() {
                    Some(block) => self.change(&mut client, &mut under, cookie, block, kind),
                    None => continue,
                },
            };
            if !asked {
                return;
            }
        }
    }

    /// A block that has no request on its way.
    fn idle_block(&mut self) -> Option<usize> {
        let block = self.chance.below(BAND) as usize;
        (self.blocks[block].asked == self.blocks[block].answered).then_some(block)
    }

    fn change(
        &mut self,
        client: &mut Client,
        under: &mut BTreeMap<u64, Under>,
        cookie: u64,
        block: usize,
        kind: u64,
    ) -> bool {
        let known = &mut self.blocks[block];
        known.asked += 1;
        let (version, fua, at) = (known.asked, kind < 3, self.at(block));
        under.insert(cookie, Under::Change { block, fua });
        if kind >= 18 {
            self.blocks[block].trims.push(version);
            return client.trim(cookie, at, BLOCK as u32);
        }
        client.write(cookie, at, &self.bytes(block, version), fua)
    }

    fn answered(&mut self, under: Under) {
        match under {
            Under::Change { block, fua } => {
                let known = &mut self.blocks[block];
                known.answered = known.asked;
                if fua {
                    known.durable = known.answered;
                }
            }
            Under::Flush(covered) => {
                for (known, covered) in self.blocks.iter_mut().zip(covered) {
                    known.durable = known.durable.max(covered);
                }
            }
        }
    }

    /// Compares every block with what it may hold, and takes what it holds for what is known from
    /// here on.
    fn look(&mut self, server: &Server, when: &str) {
        let mut client = Client::connect(&server.socket(), &self.export());
        for block in 0..self.blocks.len() {
            let found = client.read(self.at(block), BLOCK as u32);
            let allowed = self.blocks[block].allowed();
            let holds = |(zeroes, version): &(bool, u64)| match zeroes {
                true => found.iter().all(|byte| *byte == 0),
                false => found == self.bytes(block, *version),
            };
            let Some(base) = allowed.iter().rev().find(|choice| holds(choice)) else {
                let first = u64::from_le_bytes(found[..8].try_into().expect("eight bytes"));
                let writer = self.writer;
                panic!("{when}: writer {writer}, block {block} begins with {first:#x}; allowed are {allowed:?}");
            };
            let known = &mut self.blocks[block];
            let asked = known.asked;
            *known = Known { base: *base, floor: asked, answered: asked, asked, durable: asked, trims: Vec::new() };
        }
    }
}
