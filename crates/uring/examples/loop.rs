//! The bare loop: random 4 KiB reads of a file at a depth, to compare with other tools on the same
//! file.
//!
//! ```text
//! cargo run --release -p uring --example loop -- FILE [--depth N] [--seconds N] [--size BYTES]
//!                                                     [--burst N] [--cache direct|page] [--backend auto|uring|threads]
//! fio --name=x --filename=FILE --readonly --rw=randread --bs=4k --ioengine=io_uring --direct=1 --iodepth=N \
//!     --fixedbufs --registerfiles --norandommap --time_based --runtime=N
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use block::{Bytes, Driver, Span, Time};
use uring::disk::{self, Caching, Opening};
use uring::usage::{Usage, Who, usage};
use uring::{Choice, FileId, Io, IoSettings, Job, Port};

struct Arguments {
    file: PathBuf,
    depth: u32,
    size: u32,
    burst: u32,
    span: Span,
    cache: Caching,
    backend: Choice,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("loop: {message}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut given = std::env::args().skip(1);
    let file = given.next().ok_or("name a file to read")?.into();
    let mut arguments = Arguments {
        file,
        depth: 32,
        size: 4096,
        burst: u32::MAX,
        span: Span::from_secs(5),
        cache: Caching::Direct,
        backend: Choice::Auto,
    };
    while let Some(option) = given.next() {
        let value = given.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse::<u32>().ok().filter(|&n| n > 0).ok_or_else(|| format!("{option}: {value}?"));
        match (option.as_str(), value.as_str()) {
            ("--depth", _) => arguments.depth = number()?,
            ("--size", _) => arguments.size = number()?,
            ("--burst", _) => arguments.burst = number()?,
            ("--seconds", _) => arguments.span = Span::from_secs(number()?.into()),
            ("--cache", "direct") => arguments.cache = Caching::Direct,
            ("--cache", "page") => arguments.cache = Caching::Page,
            ("--backend", "auto") => arguments.backend = Choice::Auto,
            ("--backend", "uring") => arguments.backend = Choice::Uring,
            ("--backend", "threads") => arguments.backend = Choice::Threads,
            _ => return Err(format!("{option} {value}: no such option or value")),
        }
    }
    Ok(arguments)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let disk = disk::open(&arguments.file, Opening { cache: arguments.cache, ..Opening::default() })
        .map_err(|error| error.to_string())?;
    let blocks = disk.size.0 / u64::from(arguments.size);
    if blocks == 0 {
        return Err(format!("{}: shorter than one block of {}", arguments.file.display(), arguments.size));
    }
    let slab = Bytes(u64::from(arguments.size.next_power_of_two().max(4096)) * u64::from(arguments.depth));
    let settings = IoSettings {
        backend: arguments.backend,
        entries: arguments.depth.next_power_of_two().min(4096),
        in_flight: arguments.depth,
        slab,
        ..IoSettings::default()
    };
    let mut io = Io::open(&settings).map_err(|error| error.to_string())?;
    println!("{}", io.backend());
    let file = io.register(disk.file);
    let before = usage(Who::Process);
    let (reads, turns, span) = drive(&mut io, file, blocks, arguments)?;
    report(reads, turns, span, &before, &usage(Who::Process));
    Ok(())
}

/// Keeps `depth` reads in flight until the time is up. Returns the number of reads, the number of
/// turns, and the time.
fn drive(io: &mut Io, file: FileId, blocks: u64, arguments: &Arguments) -> Result<(u64, u64, Span), String> {
    let port = io.port();
    let mut places = Places(0x9E37_79B9_7F4A_7C15);
    let read = |port: &Port, places: &mut Places, buf| {
        let at = places.below(blocks) * u64::from(arguments.size);
        port.push(0, Job::Read { file, at, buf }).expect("as many places as reads");
    };
    for _ in 0..arguments.depth {
        let buf = io.take(arguments.size).expect("the slab has a slot for each read");
        read(&port, &mut places, buf);
    }
    let start = io.now();
    let (mut reads, mut turns, mut now) = (0, 0, start);
    let mut done = Vec::with_capacity(arguments.depth as usize);
    while now < start + arguments.span {
        now = io.turn(Some(Time::MAX));
        turns += 1;
        port.reap(&mut done);
        let mut fresh = 0;
        for done in done.drain(..) {
            done.result.map_err(|failure| format!("a read failed: {failure}"))?;
            reads += 1;
            read(&port, &mut places, done.buf.expect("a read has its buffer"));
            fresh += 1;
            if fresh % arguments.burst == 0 {
                io.submit();
            }
        }
    }
    Ok((reads, turns, now.since(start)))
}

fn report(reads: u64, turns: u64, span: Span, before: &Usage, after: &Usage) {
    let each = |span: Span| span.as_micros_f64() / reads as f64;
    let user = after.user.saturating_sub(before.user);
    let system = after.system.saturating_sub(before.system);
    println!(
        "{reads} reads in {span}: {:.0} IOPS, {:.2} µs of CPU each ({:.2} user, {:.2} system), {:.2} reads a turn",
        reads as f64 / span.as_secs_f64(),
        each(user + system),
        each(user),
        each(system),
        reads as f64 / turns as f64,
    );
}

/// Random places (xorshift64*): good enough to defeat read-ahead, and almost free.
struct Places(u64);

impl Places {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((u128::from(mixed) * u128::from(limit)) >> 64) as u64
    }
}
