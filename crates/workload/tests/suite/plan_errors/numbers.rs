//! Numbers, sizes, durations and ranges that are out of bounds or meaningless.

use super::{assert_told, told};

#[test]
fn numbers_out_of_bounds() {
    assert_told(&[
        (
            "depth = 256",
            "depth = 0",
            "p.toml:19: depth: must be from 1 to 65536, got 0; it counts requests in flight on each connection",
        ),
        (
            "rate = 5000",
            "rate = 0",
            "p.toml:23: rate: must be from 1 to 100000000, got 0; it counts requests a second of the whole workload",
        ),
        (
            "rate = 5000",
            "rate = 5000\noutstanding = 70000",
            "p.toml:24: outstanding: must be from 1 to 65536, got 70000; it caps requests in flight on each connection",
        ),
        (
            "connections = 2",
            "connections = 0",
            "p.toml:18: connections: must be 1 or more, got 0; a workload that begins later has 0 in the first phase \
             instead",
        ),
        (
            "server1 = { connections = 32 }",
            "server1 = { connections = 2000 }",
            "p.toml:29: server1.connections: must be at most 1024, got 2000; raise the depth instead",
        ),
        (
            "connections = 2",
            "read_percent = 101",
            "p.toml:18: read_percent: must be from 0 to 100, got 101; say how many of a hundred requests read",
        ),
        (
            "connections = 2",
            "requests = 0",
            "p.toml:18: requests: must be 1 or more, got 0; leave it out to run until the end",
        ),
        (
            "seconds = 3",
            "seconds = 0",
            "p.toml:28: seconds: must be from 1 to 604800, got 0; figures are recorded a second each",
        ),
        (
            "phase_seconds = 2",
            "phase_seconds = 0",
            "p.toml:4: phase_seconds: must be from 1 to 604800, got 0; figures are recorded a second each",
        ),
        (
            "seconds = 3",
            "seconds = 0.5",
            "p.toml:28: seconds: must be a whole number without quotes, sign, unit or point, got 0.5; such as 8",
        ),
        (
            "seconds = 3",
            "seconds = -1",
            "p.toml:28: seconds: must be a whole number without quotes, sign, unit or point, got -1; such as 8",
        ),
        (
            "seconds = 3",
            "seconds = 604801",
            "p.toml:28: seconds: must be from 1 to 604800, got 604801; figures are recorded a second each",
        ),
        (
            "connections = 2",
            "connections = 4294967296",
            "p.toml:18: connections: must be a smaller number, got 4294967296; this one has too many digits",
        ),
        (
            "published_iops = 21000",
            "published_iops = 0",
            "p.toml:6: published_iops: must be 1 or more, got 0; say what the published machine did, or leave [scale] out",
        ),
        ("part = 0.7", "part = 70", "p.toml:36: part: must be a number above 0 and up to 1, got 70; 0.95 means 95 %"),
        ("part = 0.7", "part = nan", "p.toml:36: part: must be a number above 0 and up to 1, got nan; 0.95 means 95 %"),
        (
            "servers = 8",
            "servers = 0",
            "p.toml:39: servers: must be from 1 to 65536, got 0; say how many requests it serves at a time",
        ),
        (
            "service = \"100us\"",
            "service = \"0s\"",
            "p.toml:40: service: must be above zero, got \"0s\"; a real device takes at least some microseconds",
        ),
    ]);
}

#[test]
fn blocks_and_ranges() {
    let range = "make the block smaller or the range larger";
    assert_told(&[
        (
            "connections = 2",
            "block = 1000",
            "p.toml:18: block: must be a power of two from 512 B to 32 MiB, got 1000 B; 4k and 64k are common",
        ),
        (
            "connections = 2",
            "block = \"64MiB\"",
            "p.toml:18: block: must be a power of two from 512 B to 32 MiB, got 64 MiB; 4k and 64k are common",
        ),
        (
            "connections = 2",
            "block = 0",
            "p.toml:18: block: must be a power of two from 512 B to 32 MiB, got 0 B; 4k and 64k are common",
        ),
        (
            "connections = 2",
            "size = \"8KiB\"\nblock = \"64k\"",
            &format!("p.toml:19: block: must fit into the range of 8 KiB, got 64 KiB; {range}"),
        ),
        (
            "connections = 2",
            "size = 2048",
            &format!("p.toml:15: block: must fit into the range of 2 KiB, got 4 KiB; {range}"),
        ),
        (
            "size = \"1GiB\"",
            "size = 0",
            "p.toml:11: size: must be a size above zero, got 0; 100GB and 512MiB are common",
        ),
        (
            "connections = 2",
            "block = { 4k = 60, 64k = 30 }",
            "p.toml:18: block: must be sizes whose percentages sum to 100, got 90; such as { 4k = 60, 64k = 40 }",
        ),
        (
            "connections = 2",
            "block = { 4k = 100, 64k = 0 }",
            "p.toml:18: block: the weight of 64 KiB must be 1 or more, got 0; leave the size out if it never occurs",
        ),
        ("connections = 2", "offset = 100", "p.toml:18: offset: must be a multiple of 512 B, got 100 bytes; round it"),
        (
            "connections = 2",
            "offset = \"1GiB\"",
            "p.toml:18: offset: must lie before the end of the target at 1 GiB, got 1 GiB; lower it",
        ),
        (
            "connections = 2",
            "size = 5",
            "p.toml:18: size: must be a multiple of 512 B above zero, got 5 bytes; leave it out to go to the end",
        ),
        (
            "connections = 2",
            "size = \"2GiB\"",
            "p.toml:18: size: must end within the target of 1 GiB, got 2 GiB from 0 B on; leave it out to go to the end",
        ),
    ]);
    // Changes of a device's capacity, each mistake on its own line.
    let device = |changes: &str| told("servers = 8", &format!("servers = 8\nchanges = {changes}"));
    assert!(device("[{ at = \"1s\", percent = 0 }, { at = \"2s\", percent = 100 }]").is_empty());
    assert_eq!(
        device("[{ at = \"2s\", percent = 50 }, { at = \"1s\", percent = 100 }]"),
        ["p.toml:40: at: must be no earlier than the change before it, got \"1s\"; put them in the order of time"]
    );
    assert_eq!(
        device("[{ at = \"2s\" }]"),
        ["p.toml:40: percent: missing in changes; say how much of its capacity it has \
        from then on"]
    );
    assert!(device("[{ at = \"1s\", percent = 0 }]")[0].contains("above 0 percent, or it stands still for ever"));
    assert!(device("5")[0].contains("changes: must be a list, got 5; such as [{ at"));
    assert_eq!(
        told("connections = 2", "block = { 8k = 50, \"8KiB\" = 50 }"),
        ["p.toml:18: block: must be sizes that differ, got 8k again; add the percentages of both up"]
    );
}

#[test]
fn sizes_and_durations_without_sense() {
    assert_told(&[
        (
            "size = \"1GiB\"",
            "size = \"1.5GB\"",
            "p.toml:11: size: a size is a whole number with a unit, such as 512MiB or 1GB; got \"1.5GB\"",
        ),
        (
            "connections = 2",
            "block = \"4q\"",
            "p.toml:18: block: unknown unit \"q\" in \"4q\"; sizes take B, k/KB/KiB, M/MB/MiB, G/GB/GiB, T/TB/TiB (all \
             binary)",
        ),
        (
            "connections = 2",
            "block = { 4k = 60, big = 40 }",
            "p.toml:18: block: a size is a whole number with a unit, such as 4k, 512MiB or 1GB; got \"big\"",
        ),
        (
            "service = \"100us\"",
            "service = \"100\"",
            "p.toml:40: service: a duration needs one of the units ns, us, ms, s, min, h; got \"100\"",
        ),
        (
            "connections = 2",
            "connections = \"2\"",
            "p.toml:18: connections: must be a whole number without quotes, sign, unit or point, got \"2\"; such as 8",
        ),
    ]);
}

/// Criteria whose bound can never fail are refused, with a hint that fits the key.
#[test]
fn bounds_that_bound_nothing() {
    let criterion = |lines: &str| told("part = 0.7", &format!("part = 0.7\n[[criterion]]\n{lines}"));
    let of = |kind: &str, rest: &str| {
        criterion(&format!("kind = \"{kind}\"\nworkloads = [\"server1\"]\nphase = \"even\"\n{rest}"))
    };
    let one = |told: Vec<String>, says: &str| {
        assert!(told.len() == 1 && told[0].ends_with(says), "{told:?}");
    };
    let nothing = "must be above zero, got 0; every workload has at least nothing; say what it is to have";
    one(of("rate-reached", "iops = 0"), &format!("iops: {nothing}"));
    one(of("rate-is", "tolerance = 0.1\nbytes = 0"), &format!("bytes: {nothing}"));
    let within = |rest: &str| of("response-within", rest);
    one(
        within("percentile = 99\nat_most = \"0ms\""),
        "at_most: must be above zero, got \"0ms\"; say within which time, such as \"1ms\"",
    );
    one(
        within("percentile = 101\nat_most = \"1ms\""),
        "percentile: must be a number above 0 and up to 100, got 101; say how many of a hundred requests, 99.9 or 100 for \
         all",
    );
    one(
        criterion("kind = \"rate-reached\"\nworkloads = [\"server1\", \"server1\"]\nphase = \"even\"\niops = 1"),
        "workloads: must be each workload once, got \"server1\" twice; leave one out",
    );
}

/// With an explicit rate neither peak nor credit has a default.
#[test]
fn a_peak_and_its_credit_go_together() {
    let device = |lines: &str| {
        let text = format!("[device]\nkind = \"cloud-volume\"\n{lines}\n");
        workload::plan::Device::read(&text, "d.toml").err().map(|errors| errors.to_string())
    };
    for lines in ["iops = 9\niops_credit = 0", "iops_credit = 9", "iops = 9\niops_peak = 19\niops_credit = 9"] {
        assert_eq!(device(lines), None, "{lines}");
    }
    let credit = device("iops = 9\niops_credit = 9").unwrap_or_default();
    assert!(credit.starts_with("d.toml:4: iops_credit: means nothing without iops_peak; "), "{credit}");
    let peak = device("bytes = \"9MB\"\nbytes_peak = \"19MB\"").unwrap_or_default();
    assert!(peak.starts_with("d.toml:4: bytes_peak: means nothing without bytes_credit; "), "{peak}");
}
