//! Where requests go, beside fio itself.

use crate::fio_command::{ours, report};
use crate::fio_likeness::theirs;
use crate::fio_options::both;
use crate::requires::requires;
use crate::scratch::Scratch;
use std::collections::{BTreeMap, BTreeSet};

/// The offset of each request, given as `direction offset length`.
fn offsets(requests: &[String]) -> Vec<u64> {
    requests.iter().map(|request| request.split(' ').nth(1).unwrap().parse().unwrap()).collect()
}

/// The same options by fio and by us; the offsets of each.
fn places(scratch: &Scratch, options: &str) -> [Vec<u64>; 2] {
    let words: Vec<&str> = options.split(' ').collect();
    let found = both(scratch, &words).map(|requests| offsets(&requests));
    for name in ["theirs.log", "theirs", "own"] {
        let _ = std::fs::remove_file(scratch.join(name));
    }
    found
}

/// An alignment that is not the block's makes offsets repeat, as many as with fio; the block's own
/// does not.
#[test]
fn offsets_are_aligned_as_asked() {
    requires!("fio");
    let scratch = Scratch::new();
    for (options, align) in [
        ("--rw=randread --ba=16k --size=256k --bs=4k", 16 << 10),
        ("--rw=randwrite --ba=512 --size=32k --bs=4k", 512),
        ("--rw=randread --ba=4k --size=256k --bs=4k", 4096),
    ] {
        let [fio, own] = places(&scratch, &format!("--ioengine=null {options}"));
        assert_eq!(own.len(), fio.len(), "{options}");
        assert!(own.iter().chain(&fio).all(|at| at % align == 0), "{options}: {own:?}");
        let distinct = |places: &[u64]| places.iter().collect::<BTreeSet<_>>().len();
        // 64 draws of 16 leave one out in one case of four: 16 × (15/16)^64 = 0.26.
        assert!(distinct(&own).abs_diff(distinct(&fio)) <= 3, "{options}: {own:?} against {fio:?}");
    }
    assert!(!own_is_aligned(&scratch), "512 is not 4096");
    let said = ours(&scratch, &["--name=j", "--rw=randread", "--ba=16k", "--size=256k", "--parse-only"]);
    assert!(said.out.contains("ba is not the smallest block, so random offsets may repeat"), "{}", said.out);
}

/// Whether all offsets with a small alignment happen to be those of whole blocks.
fn own_is_aligned(scratch: &Scratch) -> bool {
    let [_, own] = places(scratch, "--ioengine=null --rw=randwrite --ba=512 --size=32k --bs=4k");
    own.iter().all(|at| at % 4096 == 0)
}

/// Runs begin at any block and overlap, so that as much is left out as with fio.
#[test]
fn runs_overlap_as_in_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    for run in [2, 4, 8] {
        let [fio, own] = places(&scratch, &format!("--ioengine=null --rw=randread:{run} --bs=4k --size=4m"))
            .map(|places| (places.len(), places.iter().collect::<BTreeSet<_>>().len()));
        assert_eq!(own.0, fio.0);
        // Of 1024 blocks 65 to 75 % are visited; the deviation is below 15.
        assert!(own.1.abs_diff(fio.1) < 90, "runs of {run}: {own:?} against {fio:?}");
    }
}

/// Without a centre each clone has a hot block of its own.
#[test]
fn clones_have_their_own_hot_blocks() {
    let scratch = Scratch::new();
    let line = "--name=j --ioengine=null --rw=randread --bs=4k --size=16m --number_ios=2000 --norandommap \
                --random_distribution=zipf:1.2 --numjobs=3 --write_iolog=hot.log";
    report(&scratch, &line.split_whitespace().collect::<Vec<_>>());
    let hottest = |name: &str| {
        let text = std::fs::read_to_string(scratch.join(name)).unwrap();
        let mut counts = BTreeMap::<&str, u32>::new();
        let places = text.lines().filter_map(|line| line.split(' ').skip_while(|word| *word != "read").nth(1));
        places.for_each(|place| *counts.entry(place).or_default() += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0.to_owned()
    };
    let hot: BTreeSet<String> = ["hot.log", "hot.log.1", "hot.log.2"].map(hottest).into();
    assert_eq!(hot.len(), 3, "{hot:?}");
}

/// A part of a file is one of the file as it is found: none of one that is not there yet, which
/// becomes as long as `filesize` says.
#[test]
fn a_part_of_a_new_file_is_as_in_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    let line = "--name=j --rw=write --size=1m --offset=25% --filesize=1m --ioengine=psync --bs=4k";
    let words: Vec<&str> = line.split(' ').collect();
    for written in [1 << 20, 768 << 10] {
        let fio = theirs(&scratch, &[&words[..], &["--filename=theirs"]].concat());
        let own = report(&scratch, &[&words[..], &["--filename=own"]].concat());
        let bytes = [&fio, &own].map(|json| json["jobs"][0]["write"]["io_bytes"].as_u64());
        assert_eq!(bytes, [Some(written); 2]);
        let lengths = ["theirs", "own"].map(|name| std::fs::metadata(scratch.join(name)).unwrap().len());
        assert_eq!(lengths, [1 << 20; 2]);
    }
}
