//! The least for an empty request at depth 1: one thread sends over a Unix socket and sleeps
//! until another one has answered. The answering thread sleeps in its receive, or waits awake: it
//! receives without blocking until there is a request. No server that does either can take less.

use crate::step::Watch;
use anyhow::{Context as _, Result, anyhow};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;

/// Lengths of NBD requests and replies with 4 KiB of data, in bytes.
const REQUEST: usize = 28;
const REPLY: usize = 16 + 4096;
/// Number of requests: about a second.
const ROUNDS: u32 = 20_000;

/// Measures the time of a round and the processor time of the answering thread, asleep and, if the
/// two have a processor each, awake; returns a line for each.
///
/// # Errors
/// There is no socket, or the kernel does not report a thread's processor time.
pub(super) fn lines(has_two: bool) -> Result<Vec<String>> {
    let ways = [(true, "both sleep", false), (has_two, "one waits awake", true)];
    ways.into_iter()
        .filter(|(is_wanted, ..)| *is_wanted)
        .map(|(_, how, is_awake)| {
            let (round, cpu) = exchange(is_awake)?;
            Ok(format!("    two threads and a socket, {how}: {round:.1} µs a round, CPU {cpu:.1} µs to answer"))
        })
        .collect()
}

/// The time of a round, and the processor time of the answering thread in it, in microseconds.
fn exchange(is_awake: bool) -> Result<(f64, f64)> {
    let (mut asking, mut answering) = UnixStream::pair().context("a pair of sockets")?;
    answering.set_nonblocking(is_awake)?;
    let answers = std::thread::spawn(move || -> Result<f64> {
        let (mut request, reply) = ([0; REQUEST], [0; REPLY]);
        for _ in 0..ROUNDS {
            // The kernel hands over a request whole, and has room for a reply: each was read.
            while let Err(error) = answering.read_exact(&mut request) {
                anyhow::ensure!(error.kind() == ErrorKind::WouldBlock, error);
            }
            answering.write_all(&reply)?;
        }
        thread_cpu_us()
    });
    let watch = Watch::start();
    let mut reply = [0; REPLY];
    for _ in 0..ROUNDS {
        asking.write_all(&[0; REQUEST])?;
        asking.read_exact(&mut reply)?;
    }
    let round = 1e6 * watch.elapsed().as_secs_f64() / f64::from(ROUNDS);
    let cpu = answers.join().map_err(|_| anyhow!("the answering thread ended early"))?? / f64::from(ROUNDS);
    Ok((round, cpu))
}

/// What this machine's processors do when idle, which is most of the cost of a request at depth 1:
/// those that halt at once have to be woken by an interrupt each time.
pub(super) fn idle_processors() -> String {
    let read = |file: &str| std::fs::read_to_string(file).map_or("unknown".into(), |text| text.trim().to_owned());
    let driver = read("/sys/devices/system/cpu/cpuidle/current_driver");
    match driver.as_str() {
        "haltpoll" => {
            format!("haltpoll, guest_halt_poll_ns = {}", read("/sys/module/haltpoll/parameters/guest_halt_poll_ns"))
        }
        _ => driver,
    }
}

/// Processor time of this thread, in microseconds.
fn thread_cpu_us() -> Result<f64> {
    let file = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(file).context(file)?;
    let ns: f64 = text.split(' ').next().unwrap_or_default().parse().context(file)?;
    Ok(ns / 1e3)
}
