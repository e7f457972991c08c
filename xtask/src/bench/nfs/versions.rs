//! The workshop's last question: version 3 compared with version 4, with one client and one server
//! that supports both.

use super::super::median;
use super::super::turns::Turns;
use super::peer::{Ganesha, Loop};
use super::place::Tools;
use super::{LARGE_READS, SMALL_READS, SMALL_WRITES, Shape};
use anyhow::Result;

/// Bytes that one call of version 4.0 and its reply have more than those of version 3, without
/// handles, by the two protocols (RFC 1813, RFC 7530); each is one call. READ: 36 more for the
/// compound (12), PUTFH (4), the operation (4) and its state (16), 68 fewer for attributes (88 of
/// 104 bytes of results, for 36).
const READ: i32 = 36 - 68;
/// WRITE: no count (4), and a reply of 44 bytes in place of 136, which are attributes before and
/// after.
const WRITE: i32 = 32 - 92;

/// The figures of one run.
struct Seen {
    iops: f64,
    /// Processor time per request, in microseconds: of the client and of the server.
    client: f64,
    server: f64,
    /// Bytes on the wire per request besides its data, in both directions, with TCP's and IP's
    /// headers.
    beside: f64,
}

/// A figure of a run.
type Figure = fn(&Seen) -> f64;

const FIGURES: [(&str, Figure); 4] = [
    ("requests a second", |seen| seen.iops),
    ("CPU µs a request, client", |seen| seen.client),
    ("CPU µs a request, server", |seen| seen.server),
    ("bytes a request beside its data", |seen| seen.beside),
];

/// Prints the table.
pub(super) fn run(tools: &Tools, server: &Ganesha, libnfs: &Loop, turns: &Turns<5, 5, 1>) -> Result<()> {
    println!("\nversions: libnfs against nfs-ganesha, by version 3 and by version 4");
    let rows = [
        ("4 KiB random read, depth 32", SMALL_READS, READ),
        ("4 KiB random write, COMMIT each 64, depth 32", SMALL_WRITES, WRITE),
        ("1 MiB read, depth 8", LARGE_READS, READ),
    ];
    for (name, shape, more) in rows {
        let mut runs = Vec::new();
        for _ in 0..turns.runs {
            let once = |version| seen(tools, server, libnfs, version, shape, turns.seconds);
            runs.push((once(3)?, once(4)));
        }
        // libnfs 4.0.0 cannot encode a WRITE of version 4.
        let runs = runs.into_iter().map(|(three, four)| Ok((three, four?))).collect::<Result<Vec<_>>>();
        let runs = match runs {
            Ok(runs) => runs,
            Err(error) => {
                println!("\n  {name}: not to be had by version 4: {error:#}");
                continue;
            }
        };
        println!("\n  {name:<46} {:>9} {:>9} {:>6}", "v3", "v4", "v4/v3");
        for (what, figure) in FIGURES {
            let middle = |of: fn(&(Seen, Seen)) -> &Seen| median(runs.iter().map(|run| figure(of(run))));
            let ratio = median(runs.iter().map(|(three, four)| figure(four) / figure(three)));
            println!("    {what:<44} {:>9.1} {:>9.1} {ratio:>6.2}", middle(|run| &run.0), middle(|run| &run.1));
        }
        println!("    by the protocols: one call each, {more} bytes more by version 4");
    }
    Ok(())
}

fn seen(tools: &Tools, server: &Ganesha, libnfs: &Loop, version: u32, shape: Shape, seconds: u64) -> Result<Seen> {
    let (wire, cpu) = (server.wire_bytes()?, server.cpu_seconds()?);
    let (done, used) = libnfs.run(&server.place, version, shape, seconds, tools.bytes)?;
    let operations = done.operations as f64;
    Ok(Seen {
        iops: done.iops(),
        client: used * 1e6 / operations,
        server: (server.cpu_seconds()? - cpu) * 1e6 / operations,
        beside: (server.wire_bytes()? - wire) as f64 / operations - f64::from(shape.block()),
    })
}
