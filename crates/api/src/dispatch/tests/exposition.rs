//! The metrics for Prometheus.

use super::*;

/// The series of one metric.
fn series<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.split([' ', '{']).next() == Some(name)).collect()
}

/// Every metric has help, a type and then series of its own name, each series once; counters end in
/// `_total`.
#[test]
fn the_text_is_by_the_conventions() {
    let mut bench = Bench::new();
    let reply = bench.ask("GET", "/metrics", "");
    let text = reply.text.unwrap();
    assert_eq!(reply.status, 200);
    let (mut name, mut kind, mut seen) = ("", "", BTreeSet::new());
    for line in text.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["#", "HELP", of, _, ..] => name = of,
            ["#", "TYPE", of, as_] => {
                assert_eq!(of, name);
                kind = as_;
            }
            [ref series @ .., value] => {
                let series = series.join(" ");
                assert_eq!(series.split('{').next(), Some(name), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(name.starts_with("seawall_") && value.parse::<f64>().is_ok(), "{line}");
                assert!(seen.insert(series), "{line} stands twice");
            }
            [] => panic!("an empty line"),
        }
    }
    assert_eq!(
        series(&text, "seawall_volume_ceiling_operations_per_second"),
        ["seawall_volume_ceiling_operations_per_second{svm=\"s\",volume=\"v1\"} 1000"]
    );
    assert_eq!(series(&text, "seawall_volume_size_bytes").len(), 2);
    assert_eq!(series(&text, "seawall_volume_request_seconds_total").len(), 2 * 5);
    assert_eq!(series(&text, "seawall_pool_available_bytes"), ["seawall_pool_available_bytes 400"]);
    assert_eq!(bench.ask("POST", "/metrics", "").status, 405);
}

/// An SVM's administrator sees that SVM's volumes and policy groups, and nothing of the server.
#[test]
fn an_svms_administrator_sees_that_svm() {
    let mut bench = Bench::new();
    let _ = bench.pool.administration.execute("vserver create other", Time::ZERO, &|_| 0).unwrap();
    bench.caller.role = Role::Svm("other".into());
    let text = bench.ask("GET", "/metrics", "").text.unwrap();
    assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
    bench.caller.role = Role::Svm("s".into());
    let text = bench.ask("GET", "/metrics", "").text.unwrap();
    assert!(text.contains("volume=\"v1\"") && !text.contains("seawall_pool") && !text.contains("seawall_connections"));
}
