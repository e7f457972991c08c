//! What Prometheus scrapes: who may, that promtool finds nothing to complain of, and the dashboard
//! and alerts of `contrib/`.

use crate::requires::requires;
use crate::rest::{add_user, play, start};
use crate::running::{Running, run};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn contrib(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(name)
}

/// `/metrics` as a user sees it, and its status.
fn scraped(port: &str, user: Option<&str>) -> (String, String) {
    let mut command = Command::new("curl");
    command.args(["--silent", "--insecure", "--max-time", "30", "--write-out", "\n%{http_code} %{content_type}"]);
    if let Some(user) = user {
        command.args(["--user", user]);
    }
    let ended = run(command.arg(format!("https://127.0.0.1:{port}/metrics")));
    let (text, status) = ended.out.rsplit_once('\n').expect("a status behind the text");
    (format!("{text}\n"), status.to_owned())
}

fn loaded(scratch: &Scratch) -> (Server, String) {
    let (server, port) = start(scratch);
    server.make_lun("16MiB");
    server.tell(&[
        "qos policy-group create bronze -vserver svm01 -max-throughput 500IOPS -is-shared false",
        "volume modify vol1 -vserver svm01 -qos-policy-group bronze",
        "vserver create svm02",
        "qos policy-group create owed -vserver svm02 -min-throughput 100IOPS -is-shared false",
        "volume create other -vserver svm02 -size 1GB -qos-policy-group owed",
    ]);
    (server, port)
}

/// Nobody without a log-in; an SVM's administrator sees that SVM alone; what a reader of all sees
/// is as promtool wants it.
#[test]
fn metrics_are_for_who_may_see_them_and_as_they_should_be() {
    requires!("curl", "promtool");
    let scratch = Scratch::new();
    let (server, port) = loaded(&scratch);
    let [reader, tenant] = [("prometheus", "readonly"), ("tenant", "svm:svm02")]
        .map(|(name, role)| format!("{name}:{}", add_user(&scratch, name, role)));
    let (refused, status) = scraped(&port, None);
    assert!(status.starts_with("401 ") && !refused.contains("seawall_"), "{status} {refused}");
    let (own, status) = scraped(&port, Some(&tenant));
    assert!(status.starts_with("200 ") && own.contains("volume=\"other\""), "{status} {own}");
    assert!(!own.contains("vol1") && !own.contains("seawall_pool") && !own.contains("bronze"), "{own}");
    let (all, status) = scraped(&port, Some(&reader));
    assert_eq!(status, "200 text/plain; version=0.0.4; charset=utf-8");
    for line in [
        "# TYPE seawall_volume_operations_total counter",
        "seawall_volume_operations_total{svm=\"svm01\",volume=\"vol1\",kind=\"read\"} 0",
        "seawall_volume_ceiling_operations_per_second{svm=\"svm01\",volume=\"vol1\"} 500",
        "seawall_volume_floor_operations_per_second{svm=\"svm02\",volume=\"other\"} 100",
        // In whole blocks of 4 KiB.
        "seawall_volume_size_bytes{svm=\"svm02\",volume=\"other\"} 1000001536",
        "seawall_pool_flush_failed 0",
        "seawall_series_omitted{kind=\"volume\"} 0",
    ] {
        assert!(all.lines().any(|told| told == line), "{line} is not in\n{all}");
    }
    let mut check = Command::new("promtool");
    let mut check = check
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(all.as_bytes()).unwrap();
    let said = check.wait_with_output().unwrap();
    let said = [said.stdout, said.stderr].concat();
    assert!(said.is_empty(), "promtool check metrics: {}", String::from_utf8_lossy(&said));
    server.stop();
}

/// Each alert fires when it should and not before: see `contrib/prometheus/seawall.test.yml`.
#[test]
fn alert_rules_fire_when_they_should() {
    requires!("promtool");
    let folder = contrib("prometheus");
    for arguments in [["check", "rules", "seawall.rules.yml"], ["test", "rules", "seawall.test.yml"]] {
        let ended = run(Command::new("promtool").current_dir(&folder).args(arguments));
        assert!(ended.code == Some(0) && !ended.out.contains("FAILED"), "{ended:?}");
    }
}

/// Judged by the machine's time, so nothing runs beside it: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// A Prometheus with the configuration of `contrib/`, every second, of a server that is read
    /// meanwhile: every query of the dashboard has series, and the figures are those of the load.
    /// See `prometheus.py` beside this file.
    #[test]
    fn every_query_of_the_dashboard_is_answered() {
        requires!("prometheus", "promtool", "python3");
        let scratch = Scratch::new();
        let (server, port) = loaded(&scratch);
        let password = add_user(&scratch, "prometheus", "readonly");
        std::fs::write(scratch.join("password"), password).unwrap();
        let config = std::fs::read_to_string(contrib("prometheus/prometheus.yml")).unwrap();
        let certificate = scratch.join("pool/rest-cert.pem");
        let config = config
            .replace("/etc/prometheus/seawall.password", scratch.join("password").to_str().unwrap())
            .replace("/etc/prometheus/seawall-rest-cert.pem", certificate.to_str().unwrap())
            .replace("localhost:8443", &format!("localhost:{port}"))
            .replace("interval: 15s", "interval: 1s");
        std::fs::write(scratch.join("prometheus.yml"), config).unwrap();
        std::fs::copy(contrib("prometheus/seawall.rules.yml"), scratch.join("seawall.rules.yml")).unwrap();
        let checked =
            run(Command::new("promtool").current_dir(scratch.path()).args(["check", "config", "prometheus.yml"]));
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let mut prometheus = Command::new("prometheus");
        prometheus.current_dir(scratch.path()).args([
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            "--web.listen-address=127.0.0.1:0",
        ]);
        let mut prometheus = Running::start(prometheus);
        let said = prometheus.wait_for("msg=\"Listening on\"");
        let address = said.rsplit("address=").next().unwrap().trim().to_owned();
        let dashboard = contrib("grafana/seawall.json");
        let script = concat!(include_str!("nbd_client.py"), include_str!("prometheus.py"));
        let (dashboard, socket) = (dashboard.to_str().unwrap(), server.socket().display().to_string());
        play(Path::new("python3"), &scratch, script, &[&address, dashboard, &socket, LUN]);
        prometheus.signal("TERM");
        prometheus.end();
        server.stop();
    }
}
