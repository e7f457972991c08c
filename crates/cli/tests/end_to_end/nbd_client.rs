//! Our client against our server: `seawall fio` on an export over several connections, and over a
//! server that is lost.

use crate::running::{RESULTS, Running, run, seawall};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use serde_json::Value;
use std::process::Command;

/// `seawall fio` on an export for so long that only a signal or its requests end it; its report
/// goes to a file.
fn fio(scratch: &Scratch, uri: &str, arguments: &[&str]) -> Running {
    Running::start(fio_command(scratch, uri, arguments))
}

fn fio_command(scratch: &Scratch, uri: &str, arguments: &[&str]) -> Command {
    let mut command = seawall(scratch.path());
    command.args(["fio", "--name=job", "--ioengine=nbd", "--output-format=json", "--output=report.json"]);
    command.arg("--eta=always").arg(format!("--uri={uri}")).args(arguments);
    command
}

fn report(scratch: &Scratch) -> Value {
    let text = std::fs::read_to_string(scratch.join("report.json")).expect("there is a report");
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    report["jobs"][0].clone()
}

/// Writes with checksums over four connections and extended headers, read back and verified:
/// nothing is wrong, nothing was lost.
#[test]
fn a_job_over_four_connections_reads_what_it_wrote() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    for parameters in ["&connections=4", "&replies=structured", "&replies=simple&connections=2"] {
        let load = ["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=16m", "--verify=crc32c", "--fsync=128"];
        let uri = format!("{}{parameters}", server.uri(LUN));
        let (status, lines) = fio(&scratch, &uri, &load).end();
        assert!(status.success(), "{lines:?}");
        let job = report(&scratch);
        assert_eq!(job["write"]["io_bytes"], 16 << 20, "{job}");
        assert_eq!(job["read"]["io_bytes"], 16 << 20, "{job}");
        assert_eq!(job["seawall"]["notes"], serde_json::json!([]), "{job}");
    }
}

/// The server is killed under random reads and started again: the job goes on without an error to
/// its last request, and its report says what was lost. A read that was asked again over a
/// connection that is lost a moment later counts with that, too: at most the depth with each of the
/// four connections.
#[test]
fn a_reading_job_survives_a_killed_server_and_says_so() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let uri = format!("{}&connections=4&reconnect=600", server.uri(LUN));
    let load = ["--rw=randread", "--bs=4k", "--iodepth=32", "--size=16m", "--time_based", "--runtime=3600"];
    let mut job = fio(&scratch, &uri, &load);
    job.wait_for("IOPS");
    server.kill();
    let server = Server::start(&scratch);
    // The status line comes once a second. After a second full of reads the connections are back.
    let rate = |line: &str| line.contains("IOPS") && !line.contains(" 0 IOPS");
    while !rate(&job.wait_for("IOPS")) {}
    job.wait_for("IOPS");
    job.signal("INT");
    let (_, lines) = job.end();
    let job = report(&scratch);
    assert_eq!(job["error"], 0, "{lines:?} {job}");
    let losses = &job["seawall"]["connection_losses"];
    assert_eq!((&losses["lost"], &losses["regained"]), (&4.into(), &4.into()), "{job}");
    let reads = losses["under_way"]["reads"].as_u64().expect("some were under way");
    assert!((1..=4 * 32).contains(&reads), "{job}");
    let (again, unsent) = (losses["repeated"]["reads"].as_u64().unwrap_or(0), losses["unsent"].as_u64().unwrap_or(0));
    assert_eq!(again + unsent, reads, "{job}");
    assert!(losses["unknown"].as_object().is_some_and(serde_json::Map::is_empty), "{job}");
    drop(server);
}

/// A server that is there and does not answer (it is stopped) keeps a job beyond its end: the job
/// says how many requests it waits for. Ctrl-C ends it with exit code 2, a report in which they
/// count as unanswered, and a recording.
#[test]
fn a_job_says_that_it_waits_for_a_stalled_server_and_ends_when_told_to() {
    let scratch = Scratch::new();
    let mut server = Server::start(&scratch);
    server.make_lun("16MiB");
    let load = ["--rw=randread", "--bs=4k", "--iodepth=8", "--size=16m", "--time_based", "--runtime=8"];
    let mut command = fio_command(&scratch, &server.uri(LUN), &load);
    command.env(RESULTS, "results.sqlite");
    let mut job = Running::start(command);
    job.wait_for("IOPS");
    server.running().signal("STOP");
    let told = job.wait_for("outstanding for");
    assert!(told.contains("8 requests outstanding for ") && told.contains("(Ctrl-C ends now)"), "{told}");
    job.signal("INT");
    let (status, lines) = job.end();
    server.running().signal("CONT");
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let job = report(&scratch);
    assert_eq!((&job["error"], &job["seawall"]["errors"]["unanswered"]), (&110.into(), &8.into()), "{job}");
    assert!(job["read"]["total_ios"].as_u64() > Some(0), "what was answered before counts: {job}");
    let kept = run(seawall(scratch.path()).args(["results", "list", "--results", "results.sqlite"]));
    assert!(kept.code == Some(0) && kept.out.contains("job"), "{kept:?}");
}

/// Writes do not go on silently: the job fails at the first whose outcome is not known, and says
/// how many there were.
#[test]
fn a_writing_job_fails_at_a_write_of_unknown_outcome() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let uri = format!("{}&reconnect=600", server.uri(LUN));
    let load = ["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=16m", "--time_based", "--runtime=3600"];
    let mut job = fio(&scratch, &uri, &load);
    job.wait_for("IOPS");
    server.kill();
    let (status, lines) = job.end();
    assert_eq!(status.code(), Some(1), "{lines:?}");
    let losses = &report(&scratch)["seawall"]["connection_losses"];
    let unknown = losses["unknown"]["writes"].as_u64().unwrap_or(0);
    assert!((1..=32).contains(&unknown), "{losses}");
    assert_eq!(losses["repeated"].as_object().map(serde_json::Map::len), Some(0), "{losses}");
}

/// An authority's certificate, and those that it gave the server and us, in the folder `papers`.
fn papers(scratch: &Scratch) -> String {
    papers_until(scratch, 2100)
}

/// The same where the server's is valid until the beginning of that year.
fn papers_until(scratch: &Scratch, server_until: i32) -> String {
    let folder = scratch.join("papers");
    std::fs::create_dir(&folder).unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(folder.join("ca-cert.pem"), authority.pem()).unwrap();
    for (who, name) in [("server", "localhost"), ("client", "client.test")] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if who == "server" {
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(server_until, 1, 1));
        }
        let signed = params.signed_by(&key, &authority).unwrap();
        std::fs::write(folder.join(format!("{who}-cert.pem")), signed.pem()).unwrap();
        crate::scratch::secret(&folder.join(format!("{who}-key.pem")), &key.serialize_pem());
    }
    folder.display().to_string()
}

/// A server whose certificate has expired starts and says so; the client gives up with the date.
#[test]
fn an_expired_certificate_is_told_by_both_ends() {
    let scratch = Scratch::new();
    let folder = papers_until(&scratch, 2021);
    let mut server = Server::start_with(&scratch, &["--tls", "required", "--tls-certificates", &folder]);
    let why = "the server's certificate expired on 2021-01-01 00:00:00 UTC; ";
    assert!(server.running().seen.iter().any(|line| line.contains("WARN") && line.contains(why)));
    server.make_lun("16MiB");
    let uri = server.tcp_uri(LUN).replacen("nbd", "nbds", 1).replace("127.0.0.1", "localhost");
    let (status, lines) = fio(&scratch, &format!("{uri}?tls-certificates={folder}"), &["--rw=read", "--size=1m"]).end();
    assert!(!status.success() && lines.iter().any(|line| line.contains(&format!("TLS: {why}"))), "{lines:?}");
}

/// Both ends encrypted and each sure of the other, over TCP and over a Unix socket, two connections
/// each: written, read back, verified. A client of another authority is sent away.
#[test]
fn both_our_ends_talk_in_secret() {
    let (scratch, strangers) = (Scratch::new(), Scratch::new());
    let folder = papers(&scratch);
    let tls = ["--tls", "required", "--tls-certificates", &folder, "--tls-verify-clients"];
    let server = Server::start_with(&scratch, &tls);
    server.make_lun("16MiB");
    let load = ["--rw=randwrite", "--bsrange=4k-64k", "--iodepth=16", "--size=16m", "--verify=crc32c", "--fsync=128"];
    let secret = |uri: String| uri.replacen("nbd", "nbds", 1);
    let tcp = secret(server.tcp_uri(LUN)).replace("127.0.0.1", "localhost");
    for (uri, joint) in [(secret(server.uri(LUN)), '&'), (tcp.clone(), '?')] {
        let uri = format!("{uri}{joint}tls-certificates={folder}&connections=2");
        let (status, lines) = fio(&scratch, &uri, &load).end();
        assert!(status.success(), "{lines:?}");
        assert_eq!(report(&scratch)["read"]["io_bytes"], 16 << 20);
    }
    for (uri, why) in
        [(format!("{tcp}?tls-certificates={}", papers(&strangers)), "certificate"), (server.tcp_uri(LUN), "TLS")]
    {
        let (status, lines) = fio(&scratch, &uri, &load).end();
        assert!(!status.success(), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    }
}
