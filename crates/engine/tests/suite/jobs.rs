//! Load jobs on real files, from specification to outcome.

use block::{Bytes, Iops, Span};
use engine::job::{JobProgress, RunSettings, SetupError, Watch, run};
use stats::job::{ErrorKind, JobOutcome};
use std::os::unix::fs::FileExt;
use std::path::Path;
use workload::job::*;

/// Ignores everything; its function decides whether to stop, and may act when it is first asked.
struct Calm<F: FnMut() -> bool>(F);

impl<F: FnMut() -> bool> Watch for Calm<F> {
    fn laying_out(&mut self, _path: &Path, _bytes: u64) {}
    fn progress(&mut self, _passed: Span, _jobs: &[JobProgress]) {}
    fn wants_stop(&mut self) -> bool {
        (self.0)()
    }
}

fn play(specs: &[JobSpec]) -> Vec<JobOutcome> {
    run(specs, &RunSettings::default(), &mut Calm(|| false)).unwrap()
}

fn refused(specs: &[JobSpec], settings: &RunSettings) -> String {
    let Err(SetupError(lines)) = run(specs, settings, &mut Calm(|| false)) else { panic!("it ran") };
    lines.join("\n")
}

fn on(path: &Path, change: impl FnOnce(&mut JobSpec)) -> JobSpec {
    let size = Some(Amount::Bytes(Bytes::mib(1)));
    let file = FileSpec { path: path.into(), size, ..FileSpec::default() };
    let mut spec = JobSpec { name: "job".into(), place: JobPlace::Files(vec![file]), seed: 3, ..JobSpec::default() };
    change(&mut spec);
    spec
}

fn writer(path: &Path, engine: EngineKind, hash: Hash) -> JobSpec {
    on(path, |spec| {
        spec.engine = engine;
        spec.pacing.depth = 8;
        spec.reach.mix = Mix::Only(Direction::Write);
        spec.reach.order = Order::RANDOM;
        spec.verify = Some(Verify { hash, ..Verify::default() });
        spec.flushes = Flushes { fdatasync_every: 32, at_end: true, ..Flushes::default() };
    })
}

#[test]
fn what_is_written_is_read_back_and_right() {
    let folder = tempfile::tempdir().unwrap();
    for (engine, hash) in [
        (EngineKind::Sync, Hash::Crc32c),
        (EngineKind::Uring, Hash::Xxhash64),
        (EngineKind::Uring, Hash::Pattern(Pattern { bytes: vec![1, 2, 3], offsets_at: vec![] })),
    ] {
        let path = folder.path().join(format!("{engine:?}"));
        let [outcome] = &play(&[writer(&path, engine, hash)])[..] else { panic!("one job") };
        assert_eq!(outcome.error, None);
        // 1 MiB in blocks of 4 KiB, each written once and read once.
        assert_eq!((outcome.tape[Direction::Write].ops, outcome.tape[Direction::Write].bytes), (256, 1 << 20));
        assert_eq!(outcome.tape[Direction::Read].ops, 256);
        assert_eq!(outcome.verify.as_ref().map(|verify| (verify.blocks, verify.wrong)), Some((256, 0)));
        // One flush between each 32 writes; the one at the end does not count.
        assert_eq!(outcome.tape[stats::Tape::FLUSH].ops, 7);
        for figures in [&outcome.tape[Direction::Read], &outcome.tape[Direction::Write]] {
            assert_eq!([figures.service.count(), figures.response.count()], [256; 2]);
            // A blocking call has no submission time.
            assert_eq!(figures.submission.count(), if engine == EngineKind::Sync { 0 } else { 256 });
            assert_eq!(figures.slices.iter().map(|slice| slice.ops).sum::<u64>(), 256);
        }
    }
}

#[test]
fn a_write_in_the_wrong_place_or_lost_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let write = writer(&path, EngineKind::Uring, Hash::Crc32c);
    play(std::slice::from_ref(&write));
    // The storage swaps two blocks, forgets a third and damages a fourth.
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut blocks = [[0; 4096], [0; 4096]];
    file.read_exact_at(&mut blocks[0], 0).unwrap();
    file.read_exact_at(&mut blocks[1], 40960).unwrap();
    file.write_all_at(&blocks[1], 0).unwrap();
    file.write_all_at(&blocks[0], 40960).unwrap();
    file.write_all_at(&[0; 4096], 81920).unwrap();
    file.write_all_at(&[9], 90000).unwrap();
    let mut check = write;
    check.verify = Some(Verify { only: true, ..Verify::default() });
    let [outcome] = &play(&[check])[..] else { panic!("one job") };
    let verify = outcome.verify.as_ref().unwrap();
    assert_eq!((verify.blocks, verify.wrong), (256, 4));
    assert_eq!((outcome.errors.of(ErrorKind::Verify), outcome.tape[Direction::Write].ops), (4, 0));
    let found = |at: u64| &verify.mismatches.iter().find(|wrong| wrong.at == at).unwrap().found;
    assert!(found(0).contains("offset 40960") && found(0).contains("misplaced"), "{}", found(0));
    assert!(found(40960).contains("a block of offset 0,"), "{}", found(40960));
    assert_eq!(found(81920), "zeroes");
    assert!(found(86016).contains("damaged data"), "{}", found(86016));
    assert!(outcome.error.as_ref().unwrap().text.contains("expected a block of offset"), "{:?}", outcome.error);
}

#[test]
fn foreign_data_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let write = on(&path, |spec| spec.reach.mix = Mix::Only(Direction::Write));
    let line = refused(std::slice::from_ref(&write), &RunSettings::default());
    let path_text = path.display().to_string();
    assert_eq!(
        line,
        format!(
            "job: {path_text}: will not be written: it is a file of 1 MiB that seawall did not lay out; \
             --destroy-data={path_text} overwrites it all the same"
        )
    );
    assert!(std::fs::read(&path).unwrap().iter().all(|&byte| byte == 7), "nothing was touched");
    // Reading needs no consent.
    assert_eq!(play(&[on(&path, |_| ())])[0].tape[Direction::Read].ops, 256);
    // Consent by name suffices; files that seawall made itself need none, however often.
    let settings = RunSettings { destroy: vec![path_text], ..RunSettings::default() };
    let outcomes = run(std::slice::from_ref(&write), &settings, &mut Calm(|| false)).unwrap();
    assert_eq!(outcomes[0].tape[Direction::Write].ops, 256);
    let own = on(&folder.path().join("own"), |spec| spec.reach.mix = Mix::Only(Direction::Write));
    for _ in 0..2 {
        assert_eq!(play(std::slice::from_ref(&own))[0].error, None);
    }
    assert!(refused(&[own], &RunSettings { read_only: true, ..RunSettings::default() }).contains("--readonly"));
}

/// `on`, with a file of `mib` MiB.
fn on_mib(path: &Path, mib: u64) -> JobSpec {
    on(path, |spec| {
        let JobPlace::Files(files) = &mut spec.place else { panic!("on files") };
        files[0].size = Some(Amount::Bytes(Bytes::mib(mib)));
    })
}

/// A run that is read-only does not lay out files that are missing or too short; it reads those
/// that are long enough.
#[test]
fn a_run_that_only_reads_lays_nothing_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let settings = RunSettings { read_only: true, ..RunSettings::default() };
    let said = |what: &str| format!("job: {}: {what}", path.display());
    assert_eq!(
        refused(&[on_mib(&path, 1)], &settings),
        said("is not there, and --readonly forbids making it; make it first, or leave --readonly out")
    );
    assert!(!path.exists());
    play(&[on_mib(&path, 1)]);
    assert_eq!(
        refused(&[on_mib(&path, 2)], &settings),
        said(
            "has 1 MiB, the job needs 2 MiB, and --readonly forbids making it longer; lower size=, or leave --readonly out"
        )
    );
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    let renewed = on(&path, |spec| spec.layout.renew = true);
    assert!(refused(&[renewed], &settings).contains("--readonly forbids that"));
    let outcomes = run(&[on_mib(&path, 1)], &settings, &mut Calm(|| false)).unwrap();
    assert_eq!(outcomes[0].tape[Direction::Read].ops, 256);
}

/// A stop before the third MiB: the file stays short, the next is not created, and no job runs. The
/// next run completes both.
#[test]
fn a_stop_while_files_are_laid_out_leaves_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let specs = [on_mib(&first, 4), on_mib(&second, 4)];
    let mut asked = 0;
    // Asked before the file, and before each MiB of it.
    let stop = || {
        asked += 1;
        asked > 3
    };
    let outcomes = run(&specs, &RunSettings::default(), &mut Calm(stop)).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.interrupted && outcome.error.is_none()), "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| outcome.tape[Direction::Read].ops == 0));
    assert_eq!(std::fs::metadata(&first).unwrap().len(), 2 << 20);
    assert!(!second.exists());
    // 4 MiB in blocks of 4 KiB.
    assert!(play(&specs).iter().all(|outcome| outcome.tape[Direction::Read].ops == 1024 && outcome.error.is_none()));
}

#[test]
fn everything_is_checked_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good"), folder.path().join("bad"));
    let mut sizeless = on(&bad, |_| ());
    if let JobPlace::Files(files) = &mut sizeless.place {
        files[0].size = None;
    }
    let line = refused(&[on(&good, |_| ()), sizeless], &RunSettings::default());
    assert!(line.ends_with("is not there, and no size= says how large it should be; set size="), "{line}");
    assert!(!good.exists());
}

#[test]
fn files_are_laid_out_with_data_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let outcome = &play(&[on(&path, |_| ())])[0];
    assert_eq!((outcome.tape[Direction::Read].ops, outcome.tape[Direction::Read].bytes), (256, 1 << 20));
    let laid_out = std::fs::read(&path).unwrap();
    assert_eq!(laid_out.len(), 1 << 20);
    // Random bytes: each of 256 values 4096 times, with a deviation of 64; ten of them.
    let mut counts = [0u32; 256];
    laid_out.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    assert!(counts.iter().all(|count| count.abs_diff(4096) < 640));
    play(&[on(&path, |_| ())]);
    assert!(std::fs::read(&path).unwrap() == laid_out);
}

#[test]
fn a_file_that_shrinks_is_a_short_read_and_a_failed_job() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let spec = on(&path, |spec| {
        spec.engine = EngineKind::Uring;
        spec.pacing.depth = 4;
        spec.ending.time_based = true;
        spec.ending.runtime = Some(Span::from_secs(600));
    });
    let shrink = || {
        let _ = std::fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(8192));
        false
    };
    let outcome = &run(&[spec], &RunSettings::default(), &mut Calm(shrink)).unwrap()[0];
    assert!(outcome.errors.of(ErrorKind::Short) >= 1, "{:?}", outcome.errors);
    assert!(outcome.error.as_ref().unwrap().text.contains("the file ended early"), "{:?}", outcome.error);
    assert_eq!(outcome.tape[Direction::Read].short, outcome.errors.of(ErrorKind::Short));
}

#[test]
fn a_stop_ends_all_jobs_with_what_they_did() {
    let null = JobSpec {
        name: "endless".into(),
        place: JobPlace::Null { size: Bytes::mib(1) },
        ending: Ending { time_based: true, runtime: Some(Span::from_secs(3600)), ..Ending::default() },
        ..JobSpec::default()
    };
    let second = JobSpec { start: Start { after_earlier: true, ..Start::default() }, ..null.clone() };
    let mut asked = 0;
    let stop = || {
        asked += 1;
        asked > 1
    };
    let outcomes = run(&[null.clone(), null, second], &RunSettings::default(), &mut Calm(stop)).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.interrupted && outcome.error.is_none()));
    assert!(outcomes[..2].iter().all(|outcome| outcome.tape[Direction::Read].ops > 0));
    assert_eq!(outcomes[2].tape[Direction::Read].ops, 0, "it never began");
}

#[test]
fn stages_follow_one_another_and_clones_share_threads() {
    let null = |number, after_earlier| JobSpec {
        name: format!("null{number}"),
        number,
        place: JobPlace::Null { size: Bytes::mib(1) },
        pacing: Pacing { depth: 32, ..Pacing::default() },
        start: Start { after_earlier, ..Start::default() },
        ..JobSpec::default()
    };
    let specs: Vec<JobSpec> = (0..64).map(|number| null(number, number == 32)).collect();
    let outcomes = play(&specs);
    assert!(outcomes.iter().all(|outcome| outcome.tape[Direction::Read].ops == 256 && outcome.error.is_none()));
    let end = outcomes[..32].iter().map(|outcome| outcome.start + outcome.elapsed).max().unwrap();
    assert!(outcomes[32..].iter().all(|outcome| outcome.start >= end));
    assert_eq!(outcomes[40].name, "null40");
}

#[test]
fn a_rate_makes_an_open_loop_and_mixes_keep_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let spec = on(&folder.path().join("f"), |spec| {
        spec.reach.mix = Mix::ReadWrite { read_percent: 50 };
        spec.pacing.rate = PerDirection::all(Some(Pace::Iops(Iops(2000))));
        spec.ending.requests = Some(100);
        spec.logs.each_request = true;
    });
    let outcome = &play(&[spec])[0];
    assert!(outcome.tape.punctuality.scheduled);
    // Both directions have the same rate and take turns.
    assert_eq!((outcome.tape[Direction::Read].ops, outcome.tape[Direction::Write].ops), (50, 50));
    assert_eq!(outcome.log.len(), 100);
    // The 50th of a direction is due 49 × 0.5 ms after the start, and nothing is made early.
    assert!(outcome.measured >= Span::from_micros(24_500), "{}", outcome.measured);
}
