//! Plans whose volumes are storage that is there already: files, exports of other servers, nothing.

use crate::requires::{client, requires};
use crate::running::{RESULTS, Running, run, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::{pattern, read};

/// A plan of one volume at `place`, a second and two long, whose one workload has `load`.
fn plan(place: &str, load: &str) -> String {
    format!(
        "title = \"A place\"\n[[volume]]\nname = \"db\"\n{place}\n[[workload]]\nname = \"host\"\nvolume = \"db\"\n{load}\n\
         [[phase]]\nname = \"only\"\nseconds = 3\n[[criterion]]\nkind = \"response-within\"\nworkloads = [\"host\"]\n\
         phase = \"only\"\npercentile = 50\nat_most = \"30s\"\n[device]\nkind = \"flash\"\n"
    )
}

fn play(scratch: &Scratch, plan: &str, more: &[&str]) -> crate::running::Ended {
    std::fs::write(scratch.join("plan.toml"), plan).unwrap();
    let mut command = seawall(scratch.path());
    run(command.env(RESULTS, "kept.sqlite").args(["run", "plan.toml", "--quiet", "--out", "out"]).args(more))
}

/// A file that is missing is made and stays; it is our own, so the next run may write it again. The
/// run is in the results with the place as it was named, and no server and no pool was made for it.
#[test]
fn a_missing_file_is_made_loaded_and_stays() {
    let scratch = Scratch::new();
    let text = plan("place = \"db.dat\"\nsize = \"8MiB\"", "depth = 4\nread_percent = 50");
    for _ in 0..2 {
        let ended = play(&scratch, &text, &[]);
        assert!(ended.has_verdict(), "{ended:?}");
        assert!(ended.out.contains("50 % of the requests of host within 30.0 s in only"), "{}", ended.out);
    }
    assert_eq!(std::fs::metadata(scratch.join("db.dat")).unwrap().len(), 8 << 20);
    assert!(!scratch.listing().iter().any(|name| name.contains("pool")), "{:?}", scratch.listing());
    let query = "select place.kind, place.name, count(*) from place join actor on actor.run = place.run group by 1, 2";
    let mut command = seawall(scratch.path());
    let told = succeed(command.env(RESULTS, "kept.sqlite").args(["results", "sql", "--csv", query]));
    assert!(told.contains("file,db.dat,2"), "{told}");
}

/// What holds something of others is written only where that was said; a plan that only reads needs
/// no word and changes nothing.
#[test]
fn data_of_others_is_read_without_a_word_and_written_with_one() {
    let scratch = Scratch::new();
    let file = scratch.join("theirs");
    let data = pattern(4 << 20);
    std::fs::write(&file, &data).unwrap();
    let (reads, writes) =
        (plan("place = \"theirs\"", "depth = 2"), plan("place = \"theirs\"", "depth = 2\nread_percent = 0"));
    let refused = play(&scratch, &writes, &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("volume db") && refused.err.contains("--destroy-data=theirs"), "{}", refused.err);
    let ended = play(&scratch, &reads, &[]);
    assert!(ended.has_verdict(), "{ended:?}");
    assert!(read(&file) == data, "a plan that reads has changed what it read");
    let ended = play(&scratch, &writes, &["--destroy-data=theirs"]);
    assert!(ended.has_verdict(), "{ended:?}");
    assert!(read(&file) != data, "nothing was written");
}

/// An export of another server over several connections; its block size is kept.
#[test]
fn an_export_of_nbdkit_is_loaded_and_judged() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let socket = scratch.join("kit.sock");
    let mut command = client("nbdkit");
    command.args(["--foreground", "--exit-with-parent", "--filter=blocksize-policy", "--unix"]).arg(&socket);
    command.args(["memory", "16M", "blocksize-minimum=4096", "blocksize-error-policy=error"]);
    let mut nbdkit = Running::start(command);
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(nbdkit.ended().is_none(), "{:?}", nbdkit.seen);
        std::thread::yield_now();
    }
    let place = format!("place = \"nbd+unix:///?socket={}\"", socket.display());
    let ended = play(&scratch, &plan(&place, "depth = 4\nread_percent = 50\nconnections = 3"), &[]);
    assert!(ended.has_verdict(), "{ended:?}");
    let odd = play(&scratch, &plan(&place, "depth = 4\nblock = \"512\""), &[]);
    assert!(odd.code == Some(2) && odd.err.contains("takes whole multiples of 4 KiB"), "{odd:?}");
    nbdkit.signal("TERM");
    nbdkit.end();
}

/// What does not fit a place is told before anything is made.
#[test]
fn what_does_not_fit_is_one_line() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("small"), pattern(1 << 20)).unwrap();
    for (place, load, line) in [
        ("place = \"small\"\nsize = \"2MiB\"", "depth = 1", "volume db: small has 1 MiB, and the plan asks for 2 MiB"),
        ("place = \"small\"", "depth = 1\nblock = \"2m\"", "host"),
        ("place = \"nbd://\"", "depth = 1", "volume db: "),
        ("place = \"/dev/null\"", "depth = 1", "volume db: "),
        ("place = \"small\"\nlun = \"l\"", "depth = 1", "lun: must be absent beside place"),
    ] {
        let ended = play(&scratch, &plan(place, load), &[]);
        assert_eq!(ended.code, Some(2), "{place}: {ended:?}");
        assert!(ended.err.contains(line) && ended.err.trim_end().lines().count() == 1, "{place}: {}", ended.err);
    }
    assert_eq!(scratch.listing().iter().filter(|name| name.contains("out")).count(), 0, "{:?}", scratch.listing());
    let commands = plan("place = \"small\"", "depth = 1").replace("seconds = 3", "seconds = 3\ncommands = [\"help\"]");
    let ended = play(&scratch, &commands, &[]);
    assert!(ended.err.contains("commands: must be absent where no volume is served"), "{}", ended.err);
}

/// Three places as one volume: a file, a folder of files and an export of another server, one
/// behind the other and in stripes. Writes get to all of them, the results have them by what the
/// plan named, and a load's blocks fit the export's.
#[test]
fn several_places_are_one_volume() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let socket = scratch.join("kit.sock");
    let mut command = client("nbdkit");
    let disk = scratch.join("disk");
    std::fs::File::create(&disk).unwrap().set_len(4 << 20).unwrap();
    command.args(["--foreground", "--exit-with-parent", "--unix"]).arg(&socket).arg("file").arg(&disk);
    let mut nbdkit = Running::start(command);
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(nbdkit.ended().is_none(), "{:?}", nbdkit.seen);
        std::thread::yield_now();
    }
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    for (stripe, kind, size) in [("", "concatenated", 16 << 20), ("\nstripe = \"64KiB\"", "striped", 16 << 20)] {
        std::fs::create_dir_all(scratch.join("folder")).unwrap();
        let files = ["one", "folder/a", "folder/b", "disk"].map(|name| scratch.join(name));
        for file in &files {
            std::fs::File::options().create(true).write(true).truncate(file != &disk).open(file).unwrap();
            std::fs::File::options().write(true).open(file).unwrap().set_len(4 << 20).unwrap();
        }
        std::fs::write(&disk, vec![0; 4 << 20]).unwrap();
        let place = format!("place = [\"one\", \"folder\", \"{uri}\"]{stripe}");
        let text = plan(&place, "depth = 8\nread_percent = 20\nblock = \"256k\"\nconnections = 2");
        let ended = play(&scratch, &text, &["--destroy-data=one", "--destroy-data=folder"]);
        assert!(ended.has_verdict(), "{ended:?}");
        for file in &files {
            assert!(read(file).iter().any(|byte| *byte != 0), "nothing was written to {}", file.display());
        }
        let query = format!("select count(*) from place where kind = '{kind}' and size_bytes = {size}");
        let mut command = seawall(scratch.path());
        let told = succeed(command.env(RESULTS, "kept.sqlite").args(["results", "sql", "--csv", &query]));
        assert_eq!(told.lines().nth(1), Some("1"), "{told}");
    }
    nbdkit.signal("TERM");
    nbdkit.end();
}

/// Leave is asked for at all places before any is written, and what is said of them together is one
/// line.
#[test]
fn places_together_that_do_not_fit_are_one_line() {
    let scratch = Scratch::new();
    for (name, bytes) in [("free", vec![0; 1 << 20]), ("also", vec![0; 1 << 20]), ("theirs", pattern(1 << 20))] {
        std::fs::write(scratch.join(name), bytes).unwrap();
    }
    std::fs::create_dir(scratch.join("bare")).unwrap();
    let writes = "depth = 1\nread_percent = 0";
    for (place, load, line) in [
        ("place = [\"free\", \"theirs\"]", writes, "--destroy-data=theirs"),
        ("place = [\"free\", \"none\"]", writes, "none: is not there, and a file that is made is a volume alone"),
        ("place = [\"free\", \"./free\"]", "depth = 1", "volume db: free: is named twice"),
        ("place = \"bare\"", "depth = 1", "volume db: bare: has no file of 4 KiB or more"),
        ("place = [\"free\"]\nstripe = \"64KiB\"", "depth = 1", "volume db: stripe: needs several places, got one"),
        ("place = [\"free\", \"also\"]\nstripe = 0", "depth = 1", "stripe: must be a multiple of 512 B above zero"),
        ("place = [\"free\", \"also\"]\nstripe = 100", "depth = 1", "stripe: must be a multiple of 512 B above zero"),
        ("place = \"http://h/x\"", writes, "volume db: place: http://h/x: unknown kind of place http://; known: "),
        ("place = \"no/such\"", writes, "volume db: no/such: the folder no is not there; make or mount it first"),
        ("place = [\"free\", \"also\"]\nstripe = \"2MiB\"", "depth = 1", "volume db: free, also has 0 B together"),
        (
            "place = [\"free\", \"also\"]\nsize = \"3MiB\"",
            "depth = 1",
            "volume db: free, also has 2 MiB, and the plan asks for 3 MiB",
        ),
    ] {
        let ended = play(&scratch, &plan(place, load), &["--destroy-data=free"]);
        assert_eq!(ended.code, Some(2), "{place}: {ended:?}");
        assert!(ended.err.contains(line) && ended.err.trim_end().lines().count() == 1, "{place}: {}", ended.err);
        assert!(read(&scratch.join("free")).iter().all(|byte| *byte == 0), "{place}: was written");
    }
    assert!(!scratch.join("http:").exists() && !scratch.join("no").exists(), "a folder was made for a place");
}

/// An error that is found after the plan was read names the plan's line, and the option whose value
/// caused it.
#[test]
fn errors_name_the_line_of_the_plan_and_the_option() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("small"), vec![0; 1 << 20]).unwrap();
    // Line 4 has the place or the size, line 8 the load, line 9 its size.
    let load = "depth = 1\nsize = \"64MiB\"";
    let within = "host.size: must end within the target of";
    for (place, more, says) in [
        ("place = \"no/file\"", &[][..], "plan.toml:4: volume db: no/file: the folder no is not there"),
        ("place = \"small\"", &["--place", "db=no/file"], "seawall: --place db=no/file: no/file: the folder no"),
        ("place = \"nbd://\"", &[], "plan.toml:4: volume db: place: must name its host"),
        ("place = \"small\"\nsize = \"80MiB\"", &[], "plan.toml:4: volume db: small has 1 MiB, and the plan asks for"),
        ("place = \"small\"", &[], &format!("seawall: plan.toml:9: {within} 1 MiB")),
        ("place = \"other\"\nsize = \"80MiB\"", &["--place", "db=small"], "--place db=small: small has 1 MiB"),
        (
            "lun = \"l\"\n[server]\nsvm = \"s\"",
            &["--size", "2MiB"],
            &format!("plan.toml:11: --size 2 MiB: {within} 2 MiB"),
        ),
    ] {
        let ended = play(&scratch, &plan(place, load), more);
        assert_eq!(ended.code, Some(2), "{place}: {ended:?}");
        assert!(ended.err.contains(says) && ended.err.trim_end().lines().count() == 1, "{says}: {}", ended.err);
    }
    let large = load.replace("64MiB", "1GiB");
    let ended = play(&scratch, &plan("lun = \"l\"\n[server]\nsvm = \"s\"", &large), &[]);
    assert!(ended.err.contains("plan.toml:11: --size 512 MiB (the default): host.size: must end"), "{ended:?}");
}

/// A place that ends every request at once is loaded for as long as the phases are, and no longer.
#[test]
fn a_place_that_answers_at_once_ends_with_its_phases() {
    let scratch = Scratch::new();
    let ended = play(&scratch, &plan("place = \"null:1GiB\"", "depth = 8"), &[]);
    assert!(ended.has_verdict(), "{ended:?}");
}

/// The same plan in virtual time, where every volume is the simulator's.
#[test]
fn a_plan_with_places_runs_in_virtual_time() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("plan.toml"), plan("place = \"/dev/none\"", "depth = 4")).unwrap();
    let told = succeed(seawall(scratch.path()).args(["simulate", "plan.toml", "--out", "out"]));
    assert!(told.contains("The one criterion held"), "{told}");
    // What is no place by its form is none there either.
    std::fs::write(scratch.join("plan.toml"), plan("place = \"null:x\"", "depth = 4")).unwrap();
    let ended = run(seawall(scratch.path()).args(["simulate", "plan.toml", "--out", "out"]));
    assert!(ended.code == Some(2) && ended.err.contains("volume db: place: null:x: "), "{ended:?}");
}
