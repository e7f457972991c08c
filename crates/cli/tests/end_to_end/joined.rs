//! Several places as one under every tool: what is written is where it belongs, losses are told,
//! results name the whole.

use crate::running::{RESULTS, Running, run, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use serde_json::Value;

fn file(scratch: &Scratch, name: &str, bytes: u64) {
    std::fs::File::create(scratch.join(name)).unwrap().set_len(bytes).unwrap();
}

fn fio(scratch: &Scratch, uri: &str, more: &[&str]) -> std::process::Command {
    let mut command = seawall(scratch.path());
    command.env(RESULTS, "kept.sqlite").args(["fio", "--name=j", "--ioengine=joined", "--direct=1"]);
    command.args(["--output-format=json", "--output=report.json", &format!("--uri={uri}")]).args(more);
    command
}

fn report(scratch: &Scratch) -> Value {
    let text = std::fs::read_to_string(scratch.join("report.json")).expect("there is a report");
    serde_json::from_str::<Value>(&text).unwrap()["jobs"][0].clone()
}

fn kept(scratch: &Scratch, kind: &str) -> String {
    let query = format!("select count(*) from place where kind = '{kind}'");
    succeed(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(["results", "sql", "--csv", &query]))
}

/// A job writes 12 MiB over three files in stripes, with checksums, in requests of 96 KiB that
/// cross the borders, reads them back and finds them right. Each file got a third. Read again in
/// another order of the files, all is wrong.
#[test]
fn fio_verifies_what_it_wrote_over_stripes() {
    let scratch = Scratch::new();
    ["a", "b", "c"].iter().for_each(|name| file(&scratch, name, 4 << 20));
    let load = ["--rw=write", "--bs=96k", "--iodepth=4", "--verify=crc32c", "--destroy-data=*"];
    let ended = run(&mut fio(&scratch, "striped:64KiB:a,b,c", &load));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let job = report(&scratch);
    assert_eq!(
        (&job["write"]["io_bytes"], &job["read"]["io_bytes"]),
        (&(12 << 20).into(), &(12 << 20).into()),
        "{job}"
    );
    for name in ["a", "b", "c"] {
        let bytes = std::fs::read(scratch.join(name)).unwrap();
        assert!(
            bytes.chunks(65536).all(|stripe| stripe.iter().any(|byte| *byte != 0)),
            "{name} has a stripe unwritten"
        );
    }
    assert_eq!(kept(&scratch, "striped").lines().nth(1), Some("1"));
    let check = [&load[..], &["--verify_only"]].concat();
    assert_eq!(run(&mut fio(&scratch, "striped:64KiB:a,b,c", &check)).code, Some(0));
    assert_ne!(run(&mut fio(&scratch, "striped:64KiB:b,a,c", &check)).code, Some(0));
}

/// Leave is asked of every member before any is written.
#[test]
fn no_member_is_written_without_leave() {
    let scratch = Scratch::new();
    ["free", "theirs"].iter().for_each(|name| std::fs::write(scratch.join(name), vec![0; 1 << 20]).unwrap());
    for (uri, line) in [
        ("concat:free,theirs", "--destroy-data=theirs"),
        ("concat:free,none", "none: is not there"),
        ("concat:free,./free", "is named twice"),
        ("free", "ioengine=joined needs uri=concat:A,B"),
    ] {
        let ended = run(&mut fio(&scratch, uri, &["--rw=write", "--destroy-data=free"]));
        assert!(ended.code != Some(0) && ended.err.contains(line), "{uri}: {ended:?}");
        assert!(std::fs::read(scratch.join("free")).unwrap().iter().all(|byte| *byte == 0), "{uri}: was written");
    }
}

/// A file and an export whose server is killed and comes back: the job goes on, and its losses are
/// told as of one export.
#[test]
fn losses_of_a_member_are_told() {
    let scratch = Scratch::new();
    file(&scratch, "a", 16 << 20);
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let uri = format!("striped:64KiB:a,{}&reconnect=600", server.uri(LUN));
    let load = ["--rw=randread", "--bs=4k", "--iodepth=8", "--runtime=600", "--time_based", "--eta=always"];
    let mut job = Running::start(fio(&scratch, &uri, &load));
    job.wait_for("IOPS");
    server.kill();
    let _server = Server::start(&scratch);
    let rate = |line: &str| line.contains("IOPS") && !line.contains(" 0 IOPS");
    while !rate(&job.wait_for("IOPS")) {}
    job.wait_for("IOPS");
    job.signal("INT");
    job.end();
    let job = report(&scratch);
    let losses = &job["seawall"]["connection_losses"];
    assert_eq!((&losses["lost"], &losses["regained"]), (&1.into(), &1.into()), "{job}");
}

/// The same of a plan, whose lanes have a connection each: the phase goes on, and its losses are an
/// event and a note.
#[test]
fn losses_of_a_plan_are_told() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let text = format!(
        "title = \"A loss\"\n[[volume]]\nname = \"db\"\nplace = \"{}&reconnect=600\"\n[[workload]]\nname = \"host\"\n\
         volume = \"db\"\ndepth = 4\nconnections = 2\n[[phase]]\nname = \"only\"\nseconds = 600\n[[criterion]]\n\
         kind = \"response-within\"\nworkloads = [\"host\"]\nphase = \"only\"\npercentile = 50\nat_most = \"30s\"\n",
        server.uri(LUN)
    );
    std::fs::write(scratch.join("plan.toml"), text).unwrap();
    let mut command = seawall(scratch.path());
    command.env(RESULTS, "kept.sqlite").args(["run", "plan.toml", "--out", "out", "--scale", "1"]);
    let mut plan = Running::start(command);
    plan.wait_for("IOPS");
    server.kill();
    let _server = Server::start(&scratch);
    let rate = |line: &str| line.contains("IOPS") && !line.contains(" 0 IOPS");
    while !rate(&plan.wait_for("IOPS")) {}
    plan.wait_for("IOPS");
    plan.signal("INT");
    let (_, lines) = plan.end();
    let query = "select number, name from event where kind = 'connections_lost'";
    let told = succeed(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(["results", "sql", "--csv", query]));
    assert!(told.contains("\n2,") && told.contains("connections lost: 2, made again: 2"), "{told} {lines:?}");
    assert!(lines.iter().any(|line| line.contains("host: connections lost: 2")), "{lines:?}");
}

/// dgen fills two files as one device, finds every block again, and a ramp loads it with its
/// journal behind the data.
#[test]
fn a_ramp_runs_on_what_dgen_filled() {
    let scratch = Scratch::new();
    ["a", "b"].iter().for_each(|name| file(&scratch, name, 32 << 20));
    let whole = "striped:64KiB:a,b";
    let mut dgen = seawall(scratch.path());
    succeed(dgen.args([
        "dgen",
        "--quiet",
        "--device",
        whole,
        "--pctfull",
        "50",
        "--destroy-data=a",
        "--destroy-data=b",
    ]));
    succeed(seawall(scratch.path()).args(["dgen", "--verify", "--device", whole]));
    let words = format!(
        "ramp --miniops 200 --maxiops 200 --numruns 1 --runtime 2s --cycle 1s --disable-warmup --device {whole} \
         --wijfile {whole} --comment Two files as one"
    );
    let ended = run(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(words.split_whitespace()));
    assert!(ended.code == Some(0) || ended.code == Some(1), "{ended:?}");
    assert!(ended.out.contains("200"), "{}", ended.out);
    succeed(seawall(scratch.path()).args(["dgen", "--verify", "--device", whole]));
}

/// RanRead and Orion read a folder's files as one.
#[test]
fn ranread_and_orion_load_a_folder() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("folder")).unwrap();
    ["folder/a", "folder/b"].iter().for_each(|name| file(&scratch, name, 8 << 20));
    let mut command = seawall(scratch.path());
    let ranread = command.env("XDG_STATE_HOME", scratch.join("state")).env(RESULTS, "kept.sqlite");
    let ended = run(ranread.args(["ranread", "run", "concat:folder", "2", "100"]));
    assert!(ended.out.contains("100"), "{ended:?}");
    std::fs::write(scratch.join("x.lun"), "concat:folder\n").unwrap();
    let words =
        ["orion", "-run", "advanced", "-testname", "x", "-matrix", "point", "-num_small", "1", "-num_large", "0"];
    let ended = run(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(words).args(["-duration", "2"]));
    assert!(ended.code == Some(0) || ended.code == Some(1) || ended.err.contains("cannot say"), "{ended:?}");
    assert_eq!(kept(&scratch, "concatenated").lines().nth(1), Some("2"));
}

/// In virtual time the device is what is joined. A disk serves one request at a time, so four of
/// them in stripes do more than twice as much with eight outstanding, and less than eight times.
#[test]
fn simulated_devices_are_joined() {
    let scratch = Scratch::new();
    let iops = |members: &str| -> f64 {
        std::fs::write(scratch.join("d.toml"), format!("[device]\nkind = \"disk\"\nwindow = 1\n{members}")).unwrap();
        let words = ["simulate", "fio", "--device", "d.toml", "--name=j", "--rw=randread", "--bs=4k", "--size=4g"];
        let more = ["--ioengine=io_uring", "--iodepth=8", "--runtime=30", "--time_based", "--output-format=json"];
        let text = succeed(seawall(scratch.path()).args(words).args(more));
        let at = text.find('{').expect("it is JSON");
        serde_json::from_str::<Value>(&text[at..]).unwrap()["jobs"][0]["read"]["iops"].as_f64().unwrap()
    };
    let (one, four) = (iops(""), iops("members = 4\nstripe = \"64KiB\"\n"));
    assert!(four > 2.0 * one && four < 8.0 * one, "{one} and {four}");
}
