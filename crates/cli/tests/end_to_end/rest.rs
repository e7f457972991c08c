//! REST, as the official Python client uses it, unchanged; and what it sets binds on the data path.

use crate::requires::{requires, skip};
use crate::running::{seawall, succeed};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, read_text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that has the client, where `cargo xtask test` put it.
pub fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    if !python.is_file() {
        skip("netapp-ontap is not in target/python; cargo xtask test puts it there");
        return None;
    }
    Some(python)
}

/// A server with REST, and its port.
pub fn start(scratch: &Scratch) -> (Server, String) {
    let mut server = Server::start_with(scratch, &["--rest", "127.0.0.1:0"]);
    let said = server.running().seen.iter().find(|line| line.starts_with("REST: https://")).cloned();
    let said = said.expect("it says where REST is");
    let port = said.trim_end_matches("/api").rsplit(':').next().unwrap_or_default().to_owned();
    (server, port)
}

/// Adds a user to the pool in `scratch`; returns the password that is printed once.
pub fn add_user(scratch: &Scratch, name: &str, role: &str) -> String {
    let out = succeed(seawall(scratch.path()).args(["user", "add", name, "--role", role, "--pool", "pool"]));
    out.trim().rsplit(' ').next().unwrap_or_default().to_owned()
}

/// Runs a script with the client, which must come to its end; two minutes are given to it.
pub fn play(python: &Path, scratch: &Scratch, text: &str, arguments: &[&str]) -> String {
    play_for(120, python, scratch, text, arguments)
}

/// The same with so many seconds to it.
fn play_for(seconds: u32, python: &Path, scratch: &Scratch, text: &str, arguments: &[&str]) -> String {
    let script = scratch.join("script.py");
    std::fs::write(&script, text).unwrap();
    let mut command = Command::new("timeout");
    // It would warn with every request that it was told to take any certificate.
    command
        .current_dir(scratch.path())
        .args(["--kill-after=5", &seconds.to_string()])
        .arg(python)
        .args(["-W", "ignore"])
        .arg(script)
        .args(arguments);
    succeed(&mut command)
}

/// Every call of administrators' scripts, and every refusal: see `rest.py` beside this file. All
/// that was changed is in the trail with the name of whoever logged in, as is what was denied, and
/// no password is anywhere.
#[test]
fn the_official_client_administrates() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new();
    let (server, port) = start(&scratch);
    server.tell(&["vserver create svm2"]);
    let users = [("admin", "admin"), ("viewer", "readonly"), ("tenant", "svm:svm2")];
    let passwords = users.map(|(name, role)| add_user(&scratch, name, role));
    let arguments: Vec<&str> = [port.as_str()].into_iter().chain(passwords.iter().map(String::as_str)).collect();
    play(&python, &scratch, include_str!("rest.py"), &arguments);
    let trail = read_text(&scratch.join("pool/audit.jsonl"));
    let by_tenant = "\"who\":{\"user\":\"tenant\",\"address\":\"127.0.0.1\"}";
    let of_tenant: Vec<&str> = trail.lines().filter(|line| line.contains(by_tenant)).collect();
    let (denied, done): (Vec<&str>, Vec<&str>) = of_tenant.iter().partition(|line| line.contains("may not do that"));
    assert_eq!((done.len(), denied.len()), (2, 3), "{trail}");
    assert!(
        denied[0].contains("POST /api/storage/qos/policies") && denied[1].contains("POST /api/svm/svms"),
        "{trail}"
    );
    let shown = server.tell(&["volume show -vserver svm2 -fields qos-policy-group"]);
    assert!(shown.lines().any(|line| line.split_whitespace().eq(["svm2", "own", "own"])), "{shown}");
    let (ended, said) = server.stop();
    assert!(ended.success(), "{said:?}");
    let everything = [trail, read_text(&scratch.join("pool/users.json")), said.join("\n")].concat();
    assert!(passwords.iter().all(|password| !everything.contains(password)));
}

/// Each call of administrators' scripts by itself, with a line for each: see `rest_rows.py` beside
/// this file.
#[test]
fn every_call_of_the_official_client_passes() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new();
    let (server, port) = start(&scratch);
    let passwords = [("admin", "admin"), ("viewer", "readonly")].map(|(name, role)| add_user(&scratch, name, role));
    let said = play(&python, &scratch, include_str!("rest_rows.py"), &[&port, &passwords[0], &passwords[1]]);
    assert!(said.lines().filter(|line| line.starts_with("pass  ")).count() >= 50, "{said}");
    server.stop();
}

/// A job that the server's sudden end cut off is listed after the next start: as done where what it
/// made is there, as failed where it is not. Twenty volumes are made one after the other while the
/// server is killed, several times over.
#[test]
fn jobs_that_a_kill_cut_off_are_settled_at_the_next_start() {
    requires!("python3");
    let scratch = Scratch::new();
    let (mut server, mut port) = start(&scratch);
    let password = add_user(&scratch, "admin", "admin");
    for round in 0..4 {
        let round_text = round.to_string();
        let mut maker = Command::new("python3");
        let script = scratch.join("maker.py");
        std::fs::write(&script, include_str!("rest_killed.py")).unwrap();
        let maker = maker.current_dir(scratch.path()).arg(&script).args(["make", &port, &password, &round_text]);
        let mut maker = maker.stdout(std::process::Stdio::piped()).spawn().unwrap();
        // It says when the first is answered; those after it are under way from then on.
        let mut first = String::new();
        let mut said = std::io::BufReader::new(maker.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut said, &mut first).unwrap();
        assert!(first.starts_with("answered"), "{first}");
        server.kill();
        assert!(maker.wait().unwrap().success());
        (server, port) = start(&scratch);
        play(Path::new("python3"), &scratch, include_str!("rest_killed.py"), &["check", &port, &password, &round_text]);
    }
    server.stop();
}

/// Requests made of the document that the server gives of itself, by schemathesis: nothing that it
/// refuses or takes is a failure of the server's, and every answer is as the document says. See
/// `rest_schema.py` beside this file. Some thousand requests: on a machine that is very busy
/// they take minutes.
#[test]
fn answers_are_as_the_document_says() {
    let Some(python) = python() else { return };
    if !python.with_file_name("schemathesis").is_file() {
        return skip("schemathesis is not in target/python; cargo xtask test puts it there");
    }
    let scratch = Scratch::new();
    let (server, port) = start(&scratch);
    let password = add_user(&scratch, "admin", "admin");
    play_for(290, &python, &scratch, include_str!("rest_schema.py"), &[&port, &password]);
    assert!(server.tell(&["vserver show"]).contains("Vserver"), "it serves still");
    server.stop();
}

/// Lines by REST, with a log-in: what they answer, what is refused, and that who may only look
/// changes nothing.
#[test]
fn the_shell_reaches_a_server_by_rest() {
    let scratch = Scratch::new();
    let (server, port) = start(&scratch);
    let passwords = [("admin", "admin"), ("viewer", "readonly")].map(|(name, role)| add_user(&scratch, name, role));
    let shell = |user: &str, password: &str, lines: &[&str]| {
        let mut command = seawall(scratch.path());
        command.args(["shell", "--rest", &format!("https://127.0.0.1:{port}"), "--user", user, "--password-stdin"]);
        command.args(["--ca", "pool/rest-cert.pem"]);
        lines.iter().for_each(|line| {
            command.args(["-c", line]);
        });
        let file = scratch.join("password");
        std::fs::write(&file, format!("{password}\n")).unwrap();
        crate::running::run(command.stdin(std::fs::File::open(file).unwrap()))
    };
    let lines = ["vserver create s", "volume create v -size 1GB", "volume show -fields size", "df"];
    let done = shell("admin", &passwords[0], &lines);
    assert!(done.code == Some(0) && done.out.contains("/vol/v/") && done.out.contains("GB"), "{done:?}");
    let looked = shell("viewer", &passwords[1], &["volume show", "volume delete v"]);
    assert!(looked.code == Some(1) && looked.err.contains("viewer: may not run that line"), "{looked:?}");
    let wrong = shell("admin", "wrong password", &["volume show"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("not authorized"), "{wrong:?}");
    let gated = server.ask(&["qos policy-group delete p -force true"]);
    assert!(gated.code == Some(1) && gated.err.contains("set -privilege advanced"), "{gated:?}");
    let advanced = server.ask(&["set -privilege advanced", "qos policy-group delete p -force true"]);
    assert!(advanced.err.contains("there is no such policy group"), "{advanced:?}");
    let trail = read_text(&scratch.join("pool/audit.jsonl"));
    assert!(trail.contains("volume create v") && trail.contains("\"user\":\"admin\""), "{trail}");
    server.stop();
}

/// The server goes on with a certificate that has expired, and says so; Seawall's own client
/// refuses it, with the date.
#[test]
fn an_expired_certificate_is_told_and_refused() {
    let scratch = Scratch::new();
    let (mut server, port) = start(&scratch);
    let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
    (params.not_before, params.not_after) = (rcgen::date_time_ymd(2020, 1, 1), rcgen::date_time_ymd(2020, 2, 1));
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(scratch.join("pool/rest-cert.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(scratch.join("pool/rest-key.pem"), key.serialize_pem()).unwrap();
    server.running().signal("HUP");
    let told = server.running().wait_for("the server's certificate expired on 2020-02-01 00:00:00 UTC; ");
    assert!(told.contains("WARN") && told.contains("pool/rest-cert.pem: "), "{told}");
    std::fs::write(scratch.join("password"), "secret\n").unwrap();
    let url = format!("https://127.0.0.1:{port}");
    let mut shell = seawall(scratch.path());
    shell.args(["shell", "--rest", &url, "--user", "admin", "--password-stdin", "--ca", "pool/rest-cert.pem"]);
    let ended = crate::running::run(shell.stdin(std::fs::File::open(scratch.join("password")).unwrap()));
    let why = "the server's certificate expired on 2020-02-01 00:00:00 UTC; it has to be renewed there";
    assert_eq!((ended.code, ended.err), (Some(2), format!("seawall: --rest {url}: {why}\n")));
    server.stop();
}

/// 64 connections, clients that vanish or are slow, what is no HTTP, bodies that are too much,
/// names that are paths: see `rest_wire.py` beside this file. A host reads a LUN meanwhile. After
/// SIGHUP new connections have the certificate that is there then.
#[test]
fn whoever_misbehaves_is_refused_and_the_others_are_served() {
    requires!("python3", "openssl");
    let scratch = Scratch::new();
    let (mut server, port) = start(&scratch);
    server.make_lun("16MiB");
    let password = add_user(&scratch, "admin", "admin");
    let script = concat!(include_str!("nbd_client.py"), include_str!("rest_wire.py"));
    let socket = server.socket().display().to_string();
    let said = play(Path::new("python3"), &scratch, script, &[&port, &password, &socket, LUN]);
    assert!(said.contains("reads of a host meanwhile"), "{said}");
    let (certificate, key) = (scratch.join("pool/rest-cert.pem"), scratch.join("pool/rest-key.pem"));
    let shown = || {
        let text = format!("import ssl; print(ssl.get_server_certificate(('127.0.0.1', {port})), end='')");
        succeed(Command::new("python3").args(["-c", &text]))
    };
    assert_eq!(shown(), read_text(&certificate));
    let mut other = Command::new("openssl");
    other.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-subj",
        "/CN=other",
    ]);
    succeed(other.arg("-keyout").arg(&key).arg("-out").arg(&certificate));
    server.running().signal("HUP");
    server.running().wait_for("certificates are read again");
    assert_eq!(shown(), read_text(&certificate));
    server.stop();
}

#[test]
fn users_are_added_listed_and_deleted() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(&["vserver create svm1"]);
    add_user(&scratch, "bob", "svm:svm1");
    let user = |arguments: &[&str]| crate::running::run(seawall(scratch.path()).arg("user").args(arguments));
    assert_eq!(user(&["list", "--pool", "pool"]).out, "bob svm:svm1\n");
    let again = user(&["add", "bob", "--pool", "pool"]);
    assert!(again.code == Some(2) && again.err.contains("user bob: there is one already"), "{again:?}");
    let odd = user(&["add", "eve", "--role", "root", "--pool", "pool"]);
    assert!(odd.code == Some(2) && odd.err.contains("svm:NAME"), "{odd:?}");
    let none = user(&["add", "eve", "--role", "svm:svm2", "--pool", "pool"]);
    assert!(none.code == Some(2) && none.err.contains("no SVM svm2; there are: svm1"), "{none:?}");
    let renamed = server.ask(&["vserver rename svm1 -newname svm2"]);
    assert!(renamed.code == Some(1) && renamed.err.contains("(bob)"), "{renamed:?}");
    let nowhere = user(&["list", "--pool", "nowhere"]);
    assert!(nowhere.code == Some(2) && nowhere.err.contains("--pool nowhere"), "{nowhere:?}");
    assert_eq!(user(&["delete", "bob", "--pool", "pool"]).code, Some(0));
    assert_eq!(user(&["delete", "bob", "--pool", "pool"]).code, Some(2));
    server.stop();
}

/// Judged by the machine's time, so nothing runs beside it: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// A policy of 1000 IOPS, made and attached by the client while a host reads at depth 32:
    /// within a second of the answer no more than that passes. See `rest_binds.py` beside this
    /// file.
    #[test]
    fn a_limit_set_by_rest_binds_within_a_second() {
        let Some(python) = python() else { return };
        let scratch = Scratch::new();
        let (server, port) = start(&scratch);
        server.make_lun("16MiB");
        let password = add_user(&scratch, "admin", "admin");
        let socket = server.socket().display().to_string();
        let said = play(
            &python,
            &scratch,
            concat!(include_str!("nbd_client.py"), include_str!("rest_binds.py")),
            &[&port, &password, &socket, LUN],
        );
        assert!(said.contains("the limit of 1000 binds"), "{said}");
        server.stop();
    }

    /// `examples/noisy_neighbour.py`, three seconds a phase: it builds, loads, reads, draws, and
    /// leaves nothing behind.
    #[test]
    fn the_example_of_the_noisy_neighbour_shows_the_limit() {
        let Some(python) = python() else { return };
        let scratch = Scratch::new();
        let (server, port) = start(&scratch);
        let password = add_user(&scratch, "admin", "admin");
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "120"]).arg(python).args(["-W", "ignore"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/noisy_neighbour.py"));
        let nbd = format!("nbd+unix:///{{}}?socket={}", server.socket().display());
        command.args(["--user", "admin", "--port", &port, "--nbd", &nbd, "--seconds", "3", "--limit", "300"]);
        command.args(["--seawall", env!("CARGO_BIN_EXE_seawall")]).current_dir(scratch.path());
        // Its loads are no results of whoever runs the tests.
        let said = succeed(command.env("SEAWALL_PASSWORD", &password).env("SEAWALL_RESULTS", "none"));
        let row = |name: &str| -> Vec<f64> {
            let line = said.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{said}"));
            line[name.len()..].split_whitespace().map(|figure| figure.parse().unwrap()).collect()
        };
        let (with, limited) = (row("with the bully"), row("the bully limited"));
        // The second in which the limit came is left out, and one sample may span more than its
        // second.
        assert!(with[2] > 600.0 && (150.0..=450.0).contains(&limited[2]), "{said}");
        let picture = read_text(&scratch.join("neighbours.svg"));
        assert_eq!(picture.matches("<polyline").count(), 3);
        assert!(!server.tell(&["vserver show"]).contains("neighbours"));
        server.stop();
    }
}
