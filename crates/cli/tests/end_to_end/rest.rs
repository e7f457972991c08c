//! REST, as the official Python client uses it, unchanged; and what it sets binds on the data path.

use crate::requires::{requires, skip};
use crate::running::{seawall, succeed};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, read_text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that has the client, where `cargo xtask test` put it.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    if !python.is_file() {
        skip("netapp-ontap is not in target/python; cargo xtask test puts it there");
        return None;
    }
    Some(python)
}

/// A server with REST, and its port.
fn start(scratch: &Scratch) -> (Server, String) {
    let mut server = Server::start_with(scratch, &["--rest", "127.0.0.1:0"]);
    let said = server.running().seen.iter().find(|line| line.starts_with("REST: https://")).cloned();
    let said = said.expect("it says where REST is");
    let port = said.trim_end_matches("/api").rsplit(':').next().unwrap_or_default().to_owned();
    (server, port)
}

/// Adds a user to the pool in `scratch`; returns the password that is printed once.
fn add_user(scratch: &Scratch, name: &str, role: &str) -> String {
    let out = succeed(seawall(scratch.path()).args(["user", "add", name, "--role", role, "--pool", "pool"]));
    out.trim().rsplit(' ').next().unwrap_or_default().to_owned()
}

/// Runs a script with the client, which must come to its end; two minutes are given to it.
fn play(python: &Path, scratch: &Scratch, text: &str, arguments: &[&str]) {
    let script = scratch.join("script.py");
    std::fs::write(&script, text).unwrap();
    let mut command = Command::new("timeout");
    // It would warn with every request that it was told to take any certificate.
    command.args(["--kill-after=5", "120"]).arg(python).args(["-W", "ignore"]).arg(script).args(arguments);
    succeed(&mut command);
}

/// Every call of administrators' scripts, and every refusal: see `rest.py` beside this file. All that was changed is in the
/// trail with the name of whoever logged in, and no password is anywhere.
#[test]
fn the_official_client_administrates() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new();
    let (server, port) = start(&scratch);
    let users = [("admin", "admin"), ("viewer", "readonly"), ("tenant", "svm:svm2")];
    let passwords = users.map(|(name, role)| add_user(&scratch, name, role));
    let arguments: Vec<&str> = [port.as_str()].into_iter().chain(passwords.iter().map(String::as_str)).collect();
    play(&python, &scratch, include_str!("rest.py"), &arguments);
    let trail = read_text(&scratch.join("pool/audit.jsonl"));
    let by_tenant = "\"who\":{\"user\":\"tenant\",\"address\":\"127.0.0.1\"}";
    assert_eq!(trail.lines().filter(|line| line.contains(by_tenant)).count(), 2, "{trail}");
    let shown = server.tell(&["volume show -vserver svm2 -fields qos-policy-group"]);
    assert!(shown.lines().any(|line| line.split_whitespace().eq(["svm2", "own", "own"])), "{shown}");
    let (ended, said) = server.stop();
    assert!(ended.success(), "{said:?}");
    let everything = [trail, read_text(&scratch.join("pool/users.json")), said.join("\n")].concat();
    assert!(passwords.iter().all(|password| !everything.contains(password)));
}

/// 64 connections, clients that vanish, what is no HTTP: see `rest_wire.py` beside this file. After SIGHUP new connections
/// have the certificate that is there then.
#[test]
fn whoever_misbehaves_is_refused_and_the_others_are_served() {
    requires!("python3", "openssl");
    let scratch = Scratch::new();
    let (mut server, port) = start(&scratch);
    let password = add_user(&scratch, "admin", "admin");
    play(Path::new("python3"), &scratch, include_str!("rest_wire.py"), &[&port, &password]);
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
    add_user(&scratch, "bob", "svm:svm1");
    let user = |arguments: &[&str]| crate::running::run(seawall(scratch.path()).arg("user").args(arguments));
    assert_eq!(user(&["list", "--pool", "pool"]).out, "bob svm:svm1\n");
    let again = user(&["add", "bob", "--pool", "pool"]);
    assert!(again.code == Some(2) && again.err.contains("user bob: there is one already"), "{again:?}");
    let odd = user(&["add", "eve", "--role", "root", "--pool", "pool"]);
    assert!(odd.code == Some(2) && odd.err.contains("svm:NAME"), "{odd:?}");
    let nowhere = user(&["list", "--pool", "nowhere"]);
    assert!(nowhere.code == Some(2) && nowhere.err.contains("--pool nowhere"), "{nowhere:?}");
    assert_eq!(user(&["delete", "bob", "--pool", "pool"]).code, Some(0));
    assert_eq!(user(&["delete", "bob", "--pool", "pool"]).code, Some(2));
    server.stop();
}

/// Judged by the machine's time, so nothing runs beside it: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// A policy of 1000 IOPS, made and attached by the client, as fio sees it over four seconds at depth 32.
    #[test]
    fn a_limit_set_by_rest_binds() {
        requires!("fio");
        let Some(python) = python() else { return };
        let scratch = Scratch::new();
        let (server, port) = start(&scratch);
        server.make_lun("16MiB");
        let password = add_user(&scratch, "admin", "admin");
        let free = crate::fio::read_rate(&scratch, &server.uri(LUN), 1);
        assert!(free.per_second() > 2000.0, "{free:?}");
        let text = "
import sys
from netapp_ontap import HostConnection
from netapp_ontap.resources import QosPolicy, Volume
with HostConnection('127.0.0.1', username='admin', password=sys.argv[2], verify=False, port=int(sys.argv[1])):
    QosPolicy(name='p', svm={'name': 'svm01'}, fixed={'max_throughput_iops': 1000}).post()
    volume = Volume.find(name='vol1')
    volume.qos = {'policy': {'name': 'p'}}
    volume.patch()
";
        play(&python, &scratch, text, &[&port, &password]);
        let held = crate::fio::read_rate(&scratch, &server.uri(LUN), 4);
        // What the limit allows in that time, plus what fio had in flight at the end and counts; and a tenth less.
        let (least, most) = (1000.0 * held.seconds * 0.9, 1000.0 * held.seconds * 1.02 + 32.0);
        assert!((least..=most).contains(&(held.operations as f64)), "{held:?}, {least} to {most}");
        server.stop();
    }
}
