//! `seawall arrays`, and simulations of what it lists.

use crate::running::{Ended, run, seawall};
use crate::scratch::Scratch;

#[test]
fn the_catalogue_is_listed_shown_and_drawn() {
    let scratch = Scratch::new();
    let list = run(seawall(scratch.path()).args(["arrays", "list"]));
    assert!(list.code == Some(0) && list.out.contains("usp-v-fc-raid5  "), "{list:?}");
    assert!(list.out.lines().all(|line| line.chars().count() <= 80 && !line.starts_with(' ')), "{}", list.out);
    let shown = run(seawall(scratch.path()).args(["arrays", "show", "usp-v-fc-raid5"]));
    assert!(shown.out.contains("400 MB/s  assumed: one path of 4 Gb/s FC"), "{}", shown.out);
    assert!(shown.out.lines().all(|line| line.chars().count() <= 80), "{}", shown.out);
    let rates = run(seawall(scratch.path()).args(["arrays", "show", "fsx-128"])).out;
    for rate in
        ["iops                  1,000,000  ", "bytes                  150 MB/s  ", "bytes peak            1250 MB/s  "]
    {
        assert!(rates.contains(rate), "{rates}");
    }
    let printed = run(seawall(scratch.path()).args(["arrays", "diagram", "aff-a700", "-o", "-"]));
    assert!(printed.out.starts_with("<svg") && !scratch.join("-").exists(), "{printed:?}");
    let drawn = run(seawall(scratch.path()).args(["arrays", "diagram", "aff-a700", "-o", "a.svg"]));
    let svg = std::fs::read_to_string(scratch.join("a.svg")).expect("a drawing");
    assert!(drawn.code == Some(0) && svg.contains("flash  × 18"), "{svg}");
    // One's own begins from what is shown, and is the same array.
    let text = run(seawall(scratch.path()).args(["arrays", "show", "laptop-nvme", "--toml"])).out;
    std::fs::write(scratch.join("mine.toml"), text).expect("written");
    let mine = run(seawall(scratch.path()).args(["arrays", "show", "mine.toml"]));
    assert_eq!(mine.out, run(seawall(scratch.path()).args(["arrays", "show", "laptop-nvme"])).out);
    let unknown = run(seawall(scratch.path()).args(["arrays", "show", "laptop-nvm"]));
    assert!(unknown.code == Some(2) && unknown.err.contains("did you mean laptop-nvme?"), "{unknown:?}");
    assert_eq!(unknown.err.lines().count(), 1, "{}", unknown.err);
}

/// Random reads of 8 KiB on RAID 5 of eight disks and on RAID 10 of the same do alike. Small
/// writes, once the log is full, cost four operations in one and two in the other, and what was
/// read to be written again waits for the platter to come round.
#[test]
fn classic_tools_run_over_arrays() {
    let scratch = Scratch::new();
    let iops = |array: &str, rw: &str| -> f64 {
        let line = format!(
            "simulate fio --device {array} --name=a --size=2t --rw={rw} --bs=8k --ioengine=libaio --iodepth=64 --direct=1 --norandommap=1 --runtime=150 --time_based --output-format=json"
        );
        let ended = run(seawall(scratch.path()).args(line.split(' ')));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let json: serde_json::Value = serde_json::from_str(&ended.out).expect("fio's JSON");
        let side = if rw == "randread" { "read" } else { "write" };
        json["jobs"][0][side]["iops"].as_f64().expect("a rate")
    };
    let (five, ten) = ("usp-v-fc-raid5", "usp-v-fc-raid10");
    let reads = iops(five, "randread") / iops(ten, "randread");
    assert!((0.85..=1.15).contains(&reads), "{reads}");
    let writes = iops(ten, "randwrite") / iops(five, "randwrite");
    assert!((1.8..=3.2).contains(&writes), "{writes}");
}

/// A plan over an array instead of its own device, twice the same, and a wrong name in one line.
#[test]
fn a_plan_runs_over_an_array() {
    let scratch = Scratch::new();
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/floor.toml");
    let tables = ["one", "two"].map(|out| {
        let ended = run(seawall(scratch.path()).args([
            "simulate",
            plan,
            "--array",
            "laptop-nvme",
            "--phase-seconds",
            "2",
            "--out",
            out,
        ]));
        assert!(ended.out.contains("array: link, controller, write-log, flash"), "{ended:?}");
        crate::server::read_text(&crate::results::file(&scratch.join(out), ".csv"))
    });
    assert_eq!(tables[0], tables[1]);
    let wrong = run(seawall(scratch.path()).args(["simulate", plan, "--array", "nothing"]));
    assert!(wrong.code == Some(2) && wrong.err.contains("--array: must be one of"), "{wrong:?}");
}

/// Reads spread over 600 GiB: a partition of 512 GB holds 0.795 of them, one of 4 GB 0.006, so
/// cutting it leaves a fifth of the operations: 1 / (1 - 0.795) over 1 / (1 - 0.006) is 4.85.
#[test]
fn a_cache_partition_that_is_cut_answers_less() {
    let scratch = Scratch::new();
    let text = run(seawall(scratch.path()).args(["arrays", "show", "usp-v-fc-raid10-512", "--toml"])).out;
    let cut = text.replace("512_000_000_000", "4_000_000_000");
    assert_ne!(text, cut);
    std::fs::write(scratch.join("cut.toml"), cut).expect("written");
    let iops = |array: &str| -> f64 {
        let line = format!(
            "simulate fio --device {array} --name=a --size=600g --rw=randread --bs=8k --ioengine=libaio --iodepth=64 --direct=1 --norandommap=1 --runtime=30 --time_based --output-format=json"
        );
        let ended = run(seawall(scratch.path()).args(line.split(' ')));
        let json: serde_json::Value = serde_json::from_str(&ended.out).expect("fio's JSON");
        json["jobs"][0]["read"]["iops"].as_f64().expect("a rate")
    };
    let ratio = iops("usp-v-fc-raid10-512") / iops("cut.toml");
    assert!((4.0..=5.6).contains(&ratio), "{ratio}");
}

#[test]
fn a_file_systems_figures_are_printed_with_their_sources() {
    let scratch = Scratch::new();
    let line = "spec fsx --throughput 128 --ssd 1024GiB --iops 3072 --deployment multi-az";
    let said = run(seawall(scratch.path()).args(line.split(' ')));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("150    1,250 MB/s  published") && said.out.contains("the disks rule, 3072 IOPS"),
        "{}",
        said.out
    );
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    let wrong = run(seawall(scratch.path()).args("spec fsx --throughput 100 --ssd 1024GiB".split(' ')));
    assert!(wrong.code == Some(2) && wrong.err.contains("--throughput: generation 1 has 128, 256"), "{wrong:?}");
    let wrong = run(seawall(scratch.path()).args("spec fsx --throughput 128 --ssd much".split(' ')));
    assert!(wrong.code == Some(2) && wrong.err.contains("must be a size such as 1024GiB or 2TiB"), "{wrong:?}");
    // A run beside it: reads of 1 MiB over one flow.
    let file = scratch.join("kept.sqlite");
    let kept = file.to_string_lossy();
    let mut words = vec!["simulate", "fio", "--device", "fsx-128", "--name=a", "--size=1g", "--rw=read", "--bs=1m"];
    words.extend(["--ioengine=libaio", "--iodepth=64", "--direct=1", "--runtime=20", "--time_based"]);
    let ran = run(seawall(scratch.path()).args(["--results", &kept]).args(words));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let beside = run(seawall(scratch.path()).args(["--results", &kept]).args(line.split(' ')).args(["--compare", "1"]));
    assert!(beside.out.contains("limited by the burst of network"), "{beside:?}");
}

#[test]
fn what_carries_a_load_is_named_with_what_gives_out_first() {
    let scratch = Scratch::new();
    let size = |line: &str| run(seawall(scratch.path()).args(line.split(' ')));
    let found =
        size("size --iops 5000 --used-space 5TB --instances 2 --growth 20 --years 1 --array aff-a300 --array aff-a700");
    assert_eq!(found.code, Some(0), "{found:?}");
    // 5000 · 1.19444 / 5, rounded up.
    assert!(found.out.contains("what is used up first is:") && found.out.contains("1195 IOPS/TB"), "{}", found.out);
    assert!(found.out.contains("  played: burst "), "{}", found.out);
    assert!(found.out.lines().all(|line| line.chars().count() <= 80), "{}", found.out);
    // 5250 reads of 117 us keep one core too busy. Two carry it, nearer to their limit with a
    // slower link.
    let varied = size("size --iops 7000 --array aff-a300 --vary controller.cores=1,2 --vary link.latency=20us");
    assert!(varied.code == Some(0) && varied.out.contains("aff-a300 cores=1 latency=20us\n"), "{varied:?}");
    assert!(varied.out.contains("aff-a300 cores=2 latency=20us carries it"), "{}", varied.out);
    for (vary, words) in [
        ("controller.cors=8", "--vary controller.cors: no such key; there are cores, read"),
        ("tape.speed=8", "--vary tape.speed: no array that is looked at has a stage of this kind"),
        ("controller.cores=many", "controller.cores"),
        ("raid.members=2", "raid: members: level dp needs at least 4, got 2"),
        ("cores=8", "must be a stage, a key and its values"),
        ("controller.cores=0", "--vary controller.cores: must be from 1 to 65536, got 0"),
        ("controller.cores=-1", "--vary controller.cores: must be a whole number from 1 to 65536, got -1"),
        ("controller.cores=8,8", "--vary controller.cores: has 8 twice"),
        ("controller.cores=8 --vary controller.cores=9", "--vary controller.cores: is given twice"),
    ] {
        let wrong = size(&format!("size --iops 1k --used-space 5 --array aff-a300 --vary {vary}"));
        assert!(wrong.code == Some(2) && wrong.err.contains(words), "{vary}: {wrong:?}");
    }
    let beyond = size("size --iops 5000000 --array aff-a300");
    assert!(beyond.code == Some(1) && beyond.out.contains("No array of these carries 5,000,000 IOPS."), "{beyond:?}");
    // A controller with room, and one stream and eight writers that need too long.
    let late = size("size --iops 110000 --array aff-a700");
    assert!(late.code == Some(1) && late.out.contains("  no: a burst takes 51.6 s, at most 45 s\n"), "{late:?}");
    // Bursts are bounded by their time, and headroom is not of it.
    let full = size("size --iops 5000 --array aff-a300 --vary write-log.latency=2ms --write-ms 5");
    assert!(full.code == Some(0) && full.out.contains("aff-a300 latency=2ms carries it"), "{full:?}");
    assert!(full.out.contains("Headroom is of resources while a burst is written"), "{full:?}");
    for (line, words) in [
        ("size", "--iops <IOPS>|--global-references <COUNT>|--require <PLAN>"),
        ("size --iops 75k --years 3", "--growth"),
        ("size --iops 75k --array no.toml", "--array no.toml: no such file"),
        ("size --iops 75k --array /", "--array /: is a folder"),
        ("size --iops 75k --array aff-a300 --array aff-a300=5", "--array aff-a300: is given twice"),
        ("size --iops 75k --used-space 99999999EB", "--used-space: must be a space such as 5TB"),
        ("size --iops 75k --used-space 64MiB --array aff-a300", "--used-space: too small for 75000 IOPS"),
        ("size --iops 75k --array aff-a300 --array nosuch", "--array nosuch: must be an array of seawall arrays list"),
    ] {
        let wrong = size(line);
        assert!(wrong.code == Some(2) && wrong.err.contains(words), "{line}: {wrong:?}");
    }
    // 0.25 ms are more than a tenth.
    let slow = size("size --iops 75k --array aff-a300 --read-ms 0.1");
    assert!(slow.code == Some(1) && slow.out.contains(" ms, at most 0.10 ms"), "{slow:?}");
    let wrong = size("size --iops 0 --array aff-a300");
    assert!(wrong.code == Some(2) && wrong.err.contains("--iops: must be a whole number above 0"), "{wrong:?}");
    let wrong = size("size --iops 1 --array aff-a300=inf");
    assert!(wrong.code == Some(2) && wrong.err.contains("the price must be a number from 0 on"), "{wrong:?}");
}

/// A group of flash with one channel each has room for 6000 IOPS by means, with 1.4 ms for a read.
/// Played, the log takes a burst in 3 s and writes it to the media as fast as these can, and reads
/// wait behind that for most of a second; so the array with all channels is chosen. Of disks a
/// burst is in the log at once, by which they carry more than means say.
#[test]
fn reads_beside_a_burst_as_played_decide() {
    let scratch = Scratch::new();
    let size = |line: &str| run(seawall(scratch.path()).args(line.split(' ')));
    let found = size("size --iops 6000 --array aff-a300 --vary flash.channels=1");
    assert!(found.code == Some(0) && found.out.contains("aff-a300 carries it. By means, "), "{found:?}");
    let refused = found.out.lines().find(|line| line.starts_with("  no: as played, a read takes "));
    let took = refused.and_then(|line| line.split(' ').nth(8)).and_then(|word| word.parse::<f64>().ok());
    assert!(took.is_some_and(|ms| (200.0..3000.0).contains(&ms)), "{refused:?} {}", found.out);
    let disks = size("size --iops 800 --array usp-v-fc-raid10 --read-ms 50");
    assert!(disks.code == Some(0) && disks.out.contains("usp-v-fc-raid10 carries it, as played"), "{disks:?}");
    let disks = size("size --iops 300 --array usp-v-fc-raid10");
    assert!(disks.code == Some(1) && disks.out.contains(" ms on the idle array, at most 2.00 ms"), "{disks:?}");
}

/// Prices add up as they were given: 2 · 100.4 = 200.8.
#[test]
fn prices_keep_their_decimals() {
    let scratch = Scratch::new();
    let line = "size --iops 1000 --instances 2 --array laptop-nvme=100.4";
    let found = run(seawall(scratch.path()).args(line.split(' ')));
    let text = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("laptop-nvme carries it for 100.4."), "{text}");
    assert!(text.contains("for 200.8. One for all") && text.contains("and 100.4 less to pay."), "{text}");
}

/// Another kind of file is refused in one line, and so is a stage where the media must be.
#[test]
fn what_is_no_plan_of_workloads_is_refused_in_one_line() {
    let scratch = Scratch::new();
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
    for (file, kind) in
        [("protected-production.toml", "is a plan of hosts"), ("tiers-published.toml", "is a list of storage tiers")]
    {
        let said = refused(&scratch, &format!("size --require {plans}/{file} --array aff-a300"), kind);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let text = "[device]\nkind = \"array\"\n[[device.stage]]\nkind = \"raid\"\nlevel = \"5\"\nmembers = 8\n";
    std::fs::write(scratch.join("raid.toml"), text).expect("written");
    let words = "--array raid.toml: raid.toml:4: kind: must be a medium in the last stage, got \"raid\"";
    refused(&scratch, "size --iops 1000 --array raid.toml", words);
    refused(&scratch, "reproduce a300 --cycle 1h", "--cycle: must be shorter than a run of");
}

/// 1000 reads a second within 5 ms, on a pair of controllers and on a cloud volume that bursts to
/// 3000: what is asked to stay free decides.
#[test]
fn a_plan_is_carried_with_headroom_to_spare() {
    let scratch = Scratch::new();
    let plan = r#"
title = "Paced reads"
phase_seconds = 2
server = { svm = "svm01" }
volume = [{ name = "data" }]
workload = [{ name = "host", lun = "/vol/data/lun1", read_percent = 100, block = "4k", rate = 1000 }]
phase = [{ name = "alone" }]
criterion = [
  { kind = "response-within", workloads = ["host"], phase = "alone", percentile = 99, at_most = "5ms" },
]
"#;
    std::fs::write(scratch.join("p.toml"), plan).expect("a plan");
    let size = |line: &str| run(seawall(scratch.path()).args(["size", "--require", "p.toml"]).args(line.split(' ')));
    let arrays = "--array aff-a300=200000 --array cloud-volume-burst=10";
    let found = size(arrays);
    assert!(found.code == Some(0) && found.out.contains("cloud-volume-burst carries it for 10:"), "{found:?}");
    assert!(found.out.lines().all(|line| line.chars().count() <= 80), "{}", found.out);
    let found = size(&format!("{arrays} --headroom 80"));
    assert!(found.code == Some(0) && found.out.contains("aff-a300 carries it for 200,000:"), "{found:?}");
    let none = size("--array cloud-volume-burst --headroom 80");
    // 3000 in bursts are 3 times its load, whatever is to stay free.
    let limit = |ended: &Ended| ended.out.lines().find(|line| line.starts_with("cloud-")).map(String::from);
    assert!(limit(&none) == limit(&size("--array cloud-volume-burst --headroom 0")), "{none:?}");
    assert!(none.code == Some(1) && none.out.contains("none held at each step up to 5.00"), "{none:?}");
    let wrong = size("--array aff-a300 --instances 2");
    assert!(wrong.code == Some(2) && wrong.err.contains("--instances"), "{wrong:?}");
    let wrong = size("--array aff-a300 --headroom 90");
    assert!(wrong.code == Some(2) && wrong.err.contains("--headroom: at most 87"), "{wrong:?}");
}

/// A file system of 512 MB/s as an array: what is in no cache is bounded by the IOPS that its disks
/// have, 3 for each of 1024 GiB; what is in memory by the network alone, here by its
/// burst of 1250 MB/s.
#[test]
fn a_file_system_is_an_array() {
    let scratch = Scratch::new();
    let line = "spec fsx --throughput 512 --ssd 1024GiB --toml";
    let text = run(seawall(scratch.path()).args(line.split(' '))).out;
    std::fs::write(scratch.join("fsx.toml"), &text).expect("written");
    let shown = run(seawall(scratch.path()).args(["arrays", "show", "fsx.toml"]));
    assert!(shown.code == Some(0) && !shown.out.contains("no source"), "{shown:?}");
    let rate = |options: &str, figure: &str| -> f64 {
        let line = format!(
            "simulate fio --device fsx.toml --name=a {options} --ioengine=libaio --direct=1 --norandommap=1 --time_based --output-format=json"
        );
        let ended = run(seawall(scratch.path()).args(line.split(' ')));
        let json: serde_json::Value = serde_json::from_str(&ended.out).expect("fio's JSON");
        json["jobs"][0]["read"][figure].as_f64().expect("a rate")
    };
    // 632 GB of caches hold little of what 20 s of reads bring in, of 4 TB spread evenly.
    let cold = rate("--size=4t --rw=randread --bs=4k --iodepth=64 --runtime=20", "iops");
    assert!((3000.0..=3300.0).contains(&cold), "{cold}");
    let warm = rate("--size=1g --rw=read --bs=1m --iodepth=64 --ramp_time=30 --runtime=20", "bw_bytes");
    assert!((1.1e9..=1.26e9).contains(&warm), "{warm}");
}

/// Arrays that cannot be, each in one line that names the file, the key, the rule and what was
/// given, wherever an array is taken.
#[test]
fn impossible_arrays_are_refused_in_one_line() {
    let scratch = Scratch::new();
    for (stage, words) in [
        ("kind = \"raid\"\nlevel = \"5\"\nmembers = 2", "raid: members: level 5 needs at least 3, got 2"),
        ("kind = \"link\"\nbandwidth = 0", "bandwidth: must be above zero, got 0"),
        (
            "kind = \"cache\"\nsize = \"8GiB\"\nmemory = \"4GiB\"",
            "cache: size must not be more than memory, got 8 GiB and 4 GiB",
        ),
    ] {
        let text =
            format!("[device]\nkind = \"array\"\n[[device.stage]]\n{stage}\n[[device.stage]]\nkind = \"flash\"\n");
        std::fs::write(scratch.join("bad.toml"), text).expect("written");
        let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/floor.toml");
        for line in [
            "arrays show bad.toml".to_string(),
            format!("simulate {plan} --array bad.toml"),
            "simulate fio --device bad.toml --name=a --size=1g --rw=read".into(),
            "reproduce a300 --array bad.toml".into(),
            "size --iops 1000 --array bad.toml".into(),
        ] {
            let said = refused(&scratch, &line, words);
            assert_eq!(said.lines().count(), 1, "{line}: {said}");
            assert!(said.contains("bad.toml"), "{line}: {said}");
        }
    }
}

/// What a pair's log flushes leaves reads between: a point that sent all it had at once made them
/// wait for as long as that takes.
#[test]
fn reads_go_on_while_a_pair_flushes_its_log() {
    let scratch = Scratch::new();
    for pair in ["aff-a300", "aff-a700"] {
        let line = format!(
            "simulate ramp --device {pair} --data 100GiB --miniops 15000 --maxiops 15000 --numruns 1 --runtime 25s --cycle 10s \
             --disable-warmup --wijfile w --output {pair}"
        );
        let ended = run(seawall(scratch.path()).args(line.split(' ')));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let summary = std::fs::read_to_string(scratch.join(pair).join("summary.csv")).expect("a summary");
        let [heads, cells] =
            [0, 1].map(|line| summary.lines().nth(line).expect("a line").split(',').collect::<Vec<_>>());
        let at = heads.iter().position(|head| *head == "Read p99.99 (ms)").expect("the column");
        let slowest: f64 = cells[at].parse().expect("a figure");
        assert!(slowest < 5.0, "{pair}: {slowest} ms");
    }
}

/// A cache larger than what its simulation can keep is refused before memory runs out.
#[test]
fn a_server_cache_beyond_memory_is_refused() {
    let scratch = Scratch::new();
    for (keys, words) in [
        ("cache = \"64TiB\"", "[server]: cache: must be at most 1 TiB in a simulation, got 64 TiB"),
        ("cache = \"1GiB\"\nsecond_level = \"2TiB\"", "[server]: second_level: must be at most 1 TiB"),
    ] {
        let plan = format!(
            "title = \"Cache\"\n[server]\nsvm = \"s\"\n{keys}\n[[volume]]\nname = \"v\"\nlun = \"l\"\nsize = \"1GiB\"\n\
             [[workload]]\nname = \"w\"\nlun = \"/vol/v/l\"\nblock = \"4k\"\ndepth = 1\n[[phase]]\nname = \"p\"\n"
        );
        std::fs::write(scratch.join("cache.toml"), plan).expect("written");
        refused(&scratch, "simulate cache.toml --array aff-a300", words);
    }
}

/// What only single requests know is not left out of means without a word.
#[test]
fn means_refuse_what_they_do_not_know() {
    let scratch = Scratch::new();
    for (key, words) in
        [("members = 4", "members: is for simulate alone"), ("queue_limit = 4", "queue_limit: is for simulate alone")]
    {
        let text = format!("[device]\nkind = \"array\"\n{key}\n[[device.stage]]\nkind = \"flash\"\n");
        std::fs::write(scratch.join("joined.toml"), text).expect("written");
        for line in ["size --iops 1000 --array joined.toml", "reproduce a300 --array joined.toml"] {
            refused(&scratch, line, words);
        }
    }
}

/// What asks for what an array lacks is refused in one line: a device without stages where a table
/// needs them, and data where none is kept.
#[test]
fn what_an_array_lacks_is_not_asked_of_it() {
    let scratch = Scratch::new();
    for (line, words) in [
        ("reproduce aqos --array flash", "--array: must be an array with stages, got the kind flash"),
        ("size --iops 1000 --array disk", "--array disk: must be an array with stages, got the kind disk"),
        ("size --iops 1000 --array a300", "or a file with a table [device]; did you mean aff-a300?"),
        ("reproduce a300 --cycle 0s", "--cycle: must be between 1s and 7 days, got \"0s\""),
    ] {
        let said = refused(&scratch, line, words);
        assert_eq!(said.lines().count(), 1, "{line}: {said}");
    }
    let line = "simulate fio --device laptop-nvme --name=a --size=1m --rw=write --ioengine=libaio --verify=crc32c";
    let said = refused(&scratch, line, "a: verify: a simulated device keeps no data; leave it out");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Bursts that the plan's volumes do not hold are refused before anything begins, in its own terms.
#[test]
fn a_plan_of_hosts_is_not_scaled_beyond_its_volumes() {
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/protected-production.toml");
    let line = format!("simulate {plan} --array laptop-nvme --scale 2");
    let said = refused(&Scratch::new(), &line, "--scale 2: makes write bursts that volumes of ");
    assert!(said.lines().count() == 1 && said.contains("volume_size in [ramp] of "), "{said}");
}

/// What is said of a command that is refused: that among it.
fn refused(scratch: &Scratch, line: &str, words: &str) -> String {
    let said = run(seawall(scratch.path()).args(line.split(' ')));
    assert!(said.code == Some(2) && said.err.contains(words), "{line}: {said:?}");
    said.err
}

/// An open load of 900 000 reads a second on an array that does a fifth of it ends, and says how
/// much of what it uses.
#[test]
fn a_load_beyond_capacity_is_told_with_its_utilisation() {
    let scratch = Scratch::new();
    let plan = "title = \"Too much\"\nphase_seconds = 2\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\nlun = \"l\"\n\
                size = \"1GiB\"\n[[workload]]\nname = \"w\"\nlun = \"/vol/v/l\"\npattern = \"random\"\nblock = \"8k\"\n\
                rate = 900000\n[[phase]]\nname = \"all\"\n";
    std::fs::write(scratch.join("much.toml"), plan).expect("written");
    let said = run(seawall(scratch.path()).args(["simulate", "much.toml", "--array", "aff-a300"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("phase all: its open loads ask for 900000 IOPS, "), "{}", said.out);
    assert!(said.out.contains("its queue grows"), "{}", said.out);
}
