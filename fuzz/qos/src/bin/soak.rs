//! Drives the target functions with bytes from a seeded generator for a time, without a fuzzing
//! engine: `soak SECONDS SEED`. A failing input is printed as the line that repeats it:
//! `soak TARGET:HEX`.

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 2] = [("scheduler", fuzz_qos::scheduler), ("registry", fuzz_qos::registry)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [input] if input.contains(':') => repeat(input),
        [seconds, seed] => match (seconds.parse(), seed.parse()) {
            (Ok(seconds), Ok(seed)) => soak(Duration::from_secs(seconds), seed),
            _ => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: soak SECONDS SEED, or soak TARGET:HEX to repeat one input");
    ExitCode::from(2)
}

fn repeat(input: &str) -> ExitCode {
    let (name, hex) = input.split_once(':').unwrap_or((input, ""));
    let Some((_, target)) = TARGETS.iter().find(|(known, _)| *known == name) else { return usage() };
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let Some(bytes) = bytes else { return usage() };
    target(&bytes);
    println!("{name}: nothing found in {} bytes", bytes.len());
    ExitCode::SUCCESS
}

fn soak(time: Duration, seed: u64) -> ExitCode {
    let start = clock();
    let mut dice = Dice(seed);
    let mut counts = [(0u64, 0u64); TARGETS.len()];
    let mut told = start;
    while start.elapsed() < time {
        for ((name, target), count) in TARGETS.iter().zip(&mut counts) {
            // Short inputs find what is simple, long ones what needs a past.
            let length = 16 << (dice.next() % 9);
            let bytes: Vec<u8> = (0..length / 8).flat_map(|_| dice.next().to_le_bytes()).collect();
            if catch_unwind(|| target(&bytes)).is_err() {
                let bytes = shortest(*target, bytes);
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                println!("{name}: found after {} inputs of seed {seed}; repeat with: soak {name}:{hex}", count.0);
                return ExitCode::FAILURE;
            }
            *count = (count.0 + 1, count.1 + bytes.len() as u64);
        }
        if told.elapsed() > Duration::from_secs(60) {
            told = clock();
            println!("{:>5} s: {}", start.elapsed().as_secs(), line(&counts));
        }
    }
    println!("seed {seed}, {} s: {}; nothing found", time.as_secs(), line(&counts));
    ExitCode::SUCCESS
}

#[allow(clippy::disallowed_methods, reason = "this program runs for a time")]
fn clock() -> Instant {
    Instant::now()
}

fn line(counts: &[(u64, u64)]) -> String {
    let each = TARGETS.iter().zip(counts);
    each.map(|((name, _), (inputs, bytes))| format!("{name} {inputs} inputs of {bytes} bytes in all"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Takes pieces away from a failing input for as long as it still fails.
fn shortest(target: fn(&[u8]), mut bytes: Vec<u8>) -> Vec<u8> {
    std::panic::set_hook(Box::new(|_| {}));
    let mut piece = bytes.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < bytes.len() {
            let end = (at + piece).min(bytes.len());
            let less = [&bytes[..at], &bytes[end..]].concat();
            if catch_unwind(|| target(&less)).is_err() { bytes = less } else { at = end }
        }
        piece /= 2;
    }
    let _ = std::panic::take_hook();
    bytes
}

/// A small seeded generator (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
