//! The plan in plain language before anything runs: what each job will do, with the values as they
//! were understood.

use crate::invocation::Invocation;
use crate::job::{Job, STANDARD_INPUT};
use crate::options::{Blocks, Directions, Engine, Options};
use crate::trace::{Action, ReplayOptions};
use block::{Bytes, Span, count};
use stats::{Direction, PerDirection};
use workload::job::{Amount, Distribution, Hash, WriteSync};

impl Invocation {
    /// One line for each job with its clones; if there are several stages, also one line for each
    /// stage.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let stages = self.jobs.last().map_or(0, |job| job.stage);
        let mut last = None;
        for job in self.jobs.iter().filter(|job| job.number == 0) {
            if stages > 0 && last != Some(job.stage) {
                lines.push(format!("stage {} of {}:", job.stage + 1, stages + 1));
                last = Some(job.stage);
            }
            lines.push(job.describe());
        }
        lines
    }
}

impl Job {
    /// The job and its clones in one sentence.
    pub fn describe(&self) -> String {
        let options = &self.options;
        let clones = match options.course.numjobs {
            1 => String::new(),
            n => format!("{n} clones, each "),
        };
        if let Some(recording) = &options.target.read_iolog {
            return format!("{}: {clones}{}; {}", self.name, recorded(options, recording), depth(options));
        }
        let mut parts = vec![format!("{clones}{}", kind(options))];
        parts.push(format!("blocks of {}", self.blocks()));
        parts.extend(spread(options));
        parts.extend(pieces(options));
        parts.push(self.region());
        parts.push(depth(options));
        parts.extend(pace(options));
        parts.extend(durability(options));
        parts.extend(checks(options));
        parts.push(self.course());
        parts.extend(seed(options));
        format!("{}: {}", self.name, parts.join("; "))
    }

    fn blocks(&self) -> String {
        let pattern = &self.options.pattern;
        if pattern.blocks_by_order {
            let [in_order, random] = [&pattern.blocks.read, &pattern.blocks.write].map(|blocks| sizes(blocks.as_ref()));
            return format!("{in_order} in order and {random} at random places");
        }
        let used = used(&self.options);
        let phrases: Vec<String> = used.iter().map(|direction| sizes(pattern.blocks[*direction].as_ref())).collect();
        if phrases.iter().all(|text| *text == phrases[0]) {
            return phrases[0].clone();
        }
        let named = used.iter().zip(phrases).map(|(direction, text)| format!("{text} for {}s", direction.name()));
        named.collect::<Vec<_>>().join(" and ")
    }

    fn region(&self) -> String {
        let target = &self.options.target;
        let size = match (target.size, target.filesize) {
            (None, None) if target.layout.until_full => "all the space there is, in ".to_owned(),
            (Some(Amount::Bytes(bytes)), None) => format!("{bytes} of "),
            (Some(Amount::Percent(percent)), None) => format!("{percent} % of "),
            (_, Some(filesize)) => self.of_each(filesize),
            (None, None) => "all of ".into(),
        };
        let offset = match target.offset {
            _ if target.layout.append => " behind what it holds already".into(),
            Amount::Bytes(Bytes(0)) => String::new(),
            Amount::Bytes(bytes) => format!(" from {bytes} on"),
            Amount::Percent(percent) => format!(" from {percent} % on"),
        };
        let cache = if target.direct { ", past the page cache" } else { "" };
        match target.engine {
            Engine::Null => format!("{} that are stored nowhere (null)", Bytes(self.null_bytes())),
            Engine::Nbd | Engine::Joined => {
                format!("{size}{}{offset}", target.uri.as_deref().unwrap_or("an NBD export"))
            }
            Engine::Nfs => {
                let file = self.paths().into_iter().next().unwrap_or_default();
                format!("{size}{file} in {}{offset}", target.nfs_url.as_deref().unwrap_or("a folder of an NFS server"))
            }
            Engine::Sync | Engine::Space | Engine::Uring => {
                let paths = self.paths();
                let names = match &paths[..] {
                    [] => "no file".to_owned(),
                    [one] if self.options.course.numjobs > 1 && target.filename.is_none() => {
                        format!("a file each ({one} …)")
                    }
                    [one] => one.clone(),
                    [first, .., last] => format!("{} files, {first} to {last}", paths.len()),
                };
                let shared = self.options.course.numjobs > 1 && target.filename.is_some();
                format!("{size}{names}{}{offset}{cache}", if shared { ", shared by all clones" } else { "" })
            }
        }
    }
}

impl Job {
    /// How much of each file is used if `filesize` gives their length.
    fn of_each(&self, (least, most): (u64, u64)) -> String {
        let each = if self.paths().len() > 1 { "each of " } else { "of " };
        let used = |whole| self.used_from(self.options.target.offset.of(Bytes(whole)), Bytes(whole));
        match least == most {
            true => format!("{} {each}", used(least)),
            false => format!("{} to {} {each}", used(least), used(most)),
        }
    }

    /// How it ends, and when it begins.
    fn course(&self) -> String {
        ending(&self.options, self.ending().amount)
    }
}

/// The directions that occur.
fn used(options: &Options) -> Vec<Direction> {
    match options.pattern.kind.directions {
        Directions::Only(direction) => vec![direction],
        Directions::ReadWrite => vec![Direction::Read, Direction::Write],
        Directions::TrimWrite => vec![Direction::Trim, Direction::Write],
    }
}

/// A recording that is replayed, how fast, and on what.
fn recorded(options: &Options, recording: &str) -> String {
    let speed = match options.target.replay {
        replay if replay.no_stall => "as fast as it goes".to_owned(),
        replay if replay.speed_percent == 100 => "at its own times".to_owned(),
        replay => format!("at {} % of its speed", replay.speed_percent),
    };
    let recording = if recording == STANDARD_INPUT { "on the standard input" } else { recording };
    let mut phrases = vec![format!("the recording {recording} again, {speed}")];
    let ReplayOptions { scale, align, skip, .. } = options.target.replay;
    if scale > 1 {
        phrases.push(format!("its offsets divided by {scale}"));
    }
    if align > 1 {
        phrases.push(format!("its offsets rounded down to a multiple of {}", Bytes(align)));
    }
    let kinds = [
        (Action::Read, "reads"),
        (Action::Write, "writes"),
        (Action::Trim, "trims"),
        (Action::Flush { data_only: false }, "flushes"),
    ];
    let left_out: Vec<&str> = kinds.iter().filter(|(kind, _)| skip.has(*kind)).map(|(_, name)| *name).collect();
    if !left_out.is_empty() {
        phrases.push(format!("without its {}", left_out.join(" and ")));
    }
    phrases.extend(options.target.replay_redirect.as_ref().map(|place| format!("all of it on {place}")));
    phrases.join(", ")
}

fn kind(options: &Options) -> String {
    let pattern = &options.pattern;
    let (order, how) = match (pattern.kind.random, pattern.more) {
        (true, Some(run)) if pattern.identical => ("random", format!(", each place {run} times")),
        (true, Some(run)) => ("random", format!(", {run} in a row")),
        (true, None) => ("random", in_order(options)),
        (false, Some(hole)) if hole < 0 => ("backward", format!(" in steps of {}", Bytes(hole.unsigned_abs()))),
        (false, Some(hole)) => ("sequential", format!(" with gaps of {}", Bytes(hole.unsigned_abs()))),
        (false, None) => ("sequential", String::new()),
    };
    let directions = match pattern.kind.directions {
        Directions::Only(direction) => format!("{}s", direction.name()),
        Directions::ReadWrite => format!("reads and writes, {} : {}", pattern.read_percent, 100 - pattern.read_percent),
        Directions::TrimWrite => "trims, each followed by a write".into(),
    };
    format!("{order} {directions}{how}")
}

/// The share of random requests that follow the previous request.
fn in_order(options: &Options) -> String {
    let percents = &options.pattern.random_percent;
    let used = used(options);
    let phrase = |direction: &Direction| format!("{} % of {}s", 100 - percents[*direction].min(100), direction.name());
    match percents[used[0]] {
        percent if used.iter().any(|direction| percents[*direction] != percent) => {
            format!(", of which {} in order", used.iter().map(phrase).collect::<Vec<_>>().join(" and "))
        }
        100.. => String::new(),
        percent => format!(", {} % of them in order", 100 - percent),
    }
}

fn sizes(blocks: Option<&Blocks>) -> String {
    match blocks {
        None => Bytes(4096).to_string(),
        Some(Blocks::Fixed(size)) => Bytes(*size).to_string(),
        Some(Blocks::Range(least, most)) => format!("{} to {}", Bytes(*least), Bytes(*most)),
        Some(Blocks::Split(parts)) => {
            let phrases = parts.iter().map(|(size, percent)| format!("{} ({percent} %)", Bytes(*size)));
            phrases.collect::<Vec<_>>().join(", ")
        }
    }
}

fn spread(options: &Options) -> Option<String> {
    if !options.pattern.kind.random {
        return None;
    }
    let way = |distribution: &Distribution| match distribution {
        Distribution::Uniform => None,
        Distribution::Zipf { theta, .. } => Some(format!("places by zipf {theta}")),
        Distribution::Pareto { h, .. } => Some(format!("places by pareto {h}")),
        Distribution::Normal { width_percent, .. } => Some(format!("places around the middle, ±{width_percent} %")),
        Distribution::Zoned(zones) => Some(format!("places in {} zones", zones.len())),
    };
    let PerDirection { read, write, .. } = &options.pattern.distribution;
    way(read).or_else(|| way(write)).or_else(|| options.pattern.norandommap.then(|| "places may repeat".into()))
}

fn pieces(options: &Options) -> Option<String> {
    let pattern = &options.pattern;
    let range = if pattern.zone_range > 0 { pattern.zone_range } else { pattern.zone_bytes };
    let skip = match pattern.zone_skip {
        0 => String::new(),
        skip => format!(" with {} left out between", Bytes(skip)),
    };
    let (bytes, range) = (Bytes(pattern.zone_bytes), Bytes(range));
    pattern.strided.then(|| format!("{bytes} in each piece of {range}, one piece after the other{skip}"))
}

fn depth(options: &Options) -> String {
    let (target, clones) = (&options.target, options.course.numjobs);
    let depth = if target.engine.calls() { 1 } else { options.pace.depth };
    let all = match clones {
        1 => String::new(),
        _ => format!(" each, {} in all", u64::from(depth) * u64::from(clones)),
    };
    format!("{depth} in flight{all} ({})", target.engine_name)
}

fn pace(options: &Options) -> Vec<String> {
    let pace = &options.pace;
    let mut phrases = Vec::new();
    let spacing = if pace.poisson { ", at random times (poisson)" } else { "" };
    let each = if options.course.numjobs > 1 { " for each clone" } else { "" };
    let used = used(options);
    let mut rate = |values: &PerDirection<Option<u64>>, unit: &dyn Fn(u64) -> String| {
        let given = used.iter().filter_map(|direction| values[*direction].map(|value| (direction, value)));
        let rates: Vec<String> =
            given.map(|(direction, value)| format!("{} of {}s", unit(value), direction.name())).collect();
        if !rates.is_empty() {
            phrases.push(format!("due at {}{each}{spacing}", rates.join(" and ")));
        }
    };
    rate(&pace.rate, &|bytes| format!("{}/s", Bytes(bytes)));
    rate(&pace.rate_iops, &|iops| format!("{iops} IOPS"));
    if pace.think.time > Span::ZERO {
        let (think, after) = (&pace.think, pace.think.work_time);
        let after = if after > Span::ZERO { after.spoken() } else { requests(u64::from(think.every)) };
        let spin = match think.spin.min(think.time) {
            Span::ZERO => String::new(),
            spin => format!(", {} of it busy", spin.spoken()),
        };
        phrases.push(format!("a pause of {}{spin} after every {after}", think.time.spoken()));
    }
    if pace.search.target > Span::ZERO {
        let (target, percent) = (pace.search.target.spoken(), pace.search.percent);
        phrases.push(format!("looks for the highest depth with {percent} % within {target}"));
    }
    if pace.flow > 0 {
        phrases.push(format!("weight {} in flow {}", pace.flow, pace.flow_id));
    }
    if let Some(most) = pace.latency_most {
        phrases.push(format!("stops at a request above {}", most.spoken()));
    }
    phrases
}

fn requests(count: u64) -> String {
    if count == 1 { "request".into() } else { format!("{count} requests") }
}

fn durability(options: &Options) -> Vec<String> {
    let mut phrases = Vec::new();
    let flushes = &options.data.flushes;
    for (every, name) in [(flushes.fsync_every, "fsync"), (flushes.fdatasync_every, "fdatasync")] {
        if every > 0 {
            phrases.push(format!(
                "{name} after every {}",
                if every == 1 { "write".into() } else { format!("{every} writes") }
            ));
        }
    }
    if flushes.at_end {
        phrases.push("fsync at the end".into());
    }
    match options.target.write_sync {
        WriteSync::None => {}
        WriteSync::Data => phrases.push("each write durable (O_DSYNC)".into()),
        WriteSync::All => phrases.push("each write durable (O_SYNC)".into()),
    }
    phrases
}

fn checks(options: &Options) -> Option<String> {
    let how = match options.data.verify.as_ref()? {
        Hash::Crc32c => "crc32c",
        Hash::Xxhash64 => "xxhash",
        Hash::Header => "its header",
        Hash::Pattern(_) => "its pattern",
        Hash::HeaderPattern(_) => "its header and its pattern",
        Hash::Crc7 => "crc7",
        Hash::Crc16 => "crc16",
        Hash::Crc32 => "crc32",
        Hash::Crc64 => "crc64",
        Hash::Md5 => "md5",
        Hash::Sha1 => "sha1",
        Hash::Sha256 => "sha256",
        Hash::Sha512 => "sha512",
        Hash::Sha3L224 => "sha3-224",
        Hash::Sha3L256 => "sha3-256",
        Hash::Sha3L384 => "sha3-384",
        Hash::Sha3L512 => "sha3-512",
    };
    let trims = &options.data.trims;
    let trimmed = match (trims.percent, trims.expect_zeroes) {
        (0, _) => String::new(),
        (percent, false) => format!(", {percent} % of it trimmed instead"),
        (percent, true) => format!(", {percent} % of it trimmed before and checked for zeroes"),
    };
    Some(match (options.data.verify_only, options.data.verify_not_now) {
        (true, _) => format!("checks what an earlier run wrote, by {how}"),
        (_, true) => format!("written so that {how} can be checked later"),
        _ => format!("what is read back is checked by {how}{trimmed}"),
    })
}

/// Whether a repeated run makes the same requests again, which a cache may hold by then.
fn seed(options: &Options) -> Option<String> {
    let pattern = &options.pattern;
    match (pattern.kind.random, pattern.repeat) {
        (false, _) => None,
        (true, true) => Some(format!("the same places at each run (seed {:#x})", pattern.seed)),
        (true, false) => Some("other places at each run".into()),
    }
}

fn ending(options: &Options, amount: Option<Amount>) -> String {
    let ending = &options.course.ending;
    let mut phrases = Vec::new();
    match (ending.runtime, ending.time_based) {
        (Some(runtime), true) => phrases.push(format!("runtime {}", runtime.spoken())),
        (Some(runtime), false) => phrases.push(format!("until its size is done, at most {}", runtime.spoken())),
        (None, _) => phrases.push("until its size is done".to_owned()),
    }
    match amount {
        Some(Amount::Bytes(bytes)) => phrases.push(format!("{bytes} in all")),
        Some(Amount::Percent(percent)) => phrases.push(format!("{percent} % in all")),
        None => {}
    }
    if let Some(most) = ending.requests {
        let is_repeated = ending.loops > 1 || (ending.time_based && ending.runtime.is_some());
        let each = if is_repeated { " a pass" } else { "" };
        phrases.push(format!("at most {}{each}", count(most as usize, "request", "requests")));
    }
    if ending.loops > 1 {
        let anew = if options.target.layout.renew { ", on new files each time" } else { "" };
        phrases.push(format!("{} times{anew}", ending.loops));
    }
    if ending.ramp > Span::ZERO {
        phrases.push(format!("the first {} not measured", ending.ramp.spoken()));
    }
    if options.course.steady.is_some() && options.course.steady_duration > Span::ZERO {
        phrases.push(format!("or until steady over {}", options.course.steady_duration.spoken()));
    }
    if let Some(earlier) = &options.course.wait_for {
        phrases.push(format!("starts when {earlier} has ended"));
    }
    let (least, most) = options.course.delay;
    if most > Span::ZERO {
        let delay = if least == most { least.spoken() } else { format!("{} to {}", least.spoken(), most.spoken()) };
        phrases.push(format!("starts after {delay}"));
    }
    phrases.join(", ")
}
