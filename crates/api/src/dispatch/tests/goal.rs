//! The goal of utilisation, by REST.

use super::*;

/// The pool's goal of utilisation applies as in the shell: 600 and 501 of 500 IOPS are refused, and
/// leave nothing behind.
#[test]
fn a_promise_beyond_the_goal_is_refused() {
    let mut bench = Bench::new();
    let goal = Some(qos::Goal { capacity: block::Iops(1000), percent: 50, beyond: qos::Beyond::Refuse });
    bench.pool.administration = Administration::new(RegistrySettings { goal, ..RegistrySettings::default() });
    let create = "qos policy-group create p -min-throughput 600IOPS -is-shared false";
    for line in ["vserver create s", "volume create v -size 1GB", create] {
        let _ = bench.pool.administration.execute(line, Time::ZERO, &|_| 0).unwrap();
    }
    let (volume, policy) = ("/api/storage/volumes?name=v&return_timeout=15", "/api/storage/qos/policies?name=p");
    let attach = r#"{"qos": {"policy": {"name": "p"}}}"#;
    let floor = |iops: u64| json!({ "fixed": { "min_throughput_iops": iops } }).to_string();
    let steps = [
        (volume, attach.into(), 400),
        (policy, floor(500), 200),
        (volume, attach.into(), 200),
        (policy, floor(501), 400),
    ];
    for (path, body, status) in steps {
        let reply = bench.ask("PATCH", path, &body);
        assert_eq!(reply.status, status, "{body}: {}", reply.body);
        assert!(status == 200 || reply.body["error"]["code"] == "8454935", "{}", reply.body);
    }
    assert_eq!(bench.pool.administration.registry.promised(), block::Iops(500));
}
