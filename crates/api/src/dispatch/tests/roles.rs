//! What an SVM's administrator and a read-only user see and may change.

use super::*;

#[test]
fn an_admin_of_one_svm_has_no_other() {
    let mut bench = Bench::new();
    let _ = bench.pool.administration.execute("vserver create t", Time::ZERO, &|_| 0).unwrap();
    let volume = bench.get("/api/storage/volumes?name=v1")["records"][0]["_links"]["self"]["href"].clone();
    let volume = volume.as_str().unwrap();
    bench.caller.role = Role::Svm("t".into());
    assert_eq!(names(&bench.get("/api/svm/svms")), ["t"]);
    assert_eq!(bench.get("/api/storage/volumes")["num_records"], 0);
    for (method, target, body, status) in [
        ("GET", volume, "", 404),
        ("PATCH", volume, "{}", 404),
        ("DELETE", volume, "{}", 404),
        ("GET", &format!("{volume}/snapshots"), "", 404),
        ("POST", "/api/svm/svms", r#"{"name": "u"}"#, 403),
        ("DELETE", "/api/svm/svms?name=t", "{}", 403),
        ("POST", "/api/storage/volumes", r#"{"name": "w", "svm": {"name": "s"}}"#, 403),
        ("DELETE", "/api/storage/qos/policies?name=extreme", "{}", 403),
        ("POST", "/api/storage/volumes", r#"{"name": "w", "svm": {"name": "t"}}"#, 202),
    ] {
        let reply = bench.ask(method, target, body);
        assert_eq!(reply.status, status, "{method} {target} {body}: {}", reply.body);
    }
    bench.caller.role = Role::ReadOnly;
    assert_eq!(names(&bench.get("/api/storage/volumes")), ["v1", "v2", "w"]);
    for (method, target, body) in [
        ("DELETE", "/api/storage/volumes?name=w", ""),
        ("POST", &format!("{volume}/snapshots"), r#"{"name": "x"}"#),
        ("POST", "/api/storage/qos/policies", r#"{"name": "x", "svm": {"name": "t"}, "fixed": {}}"#),
        ("POST", "/api/svm/svms", r#"{"name": "u", "svm": {"name": "t"}}"#),
    ] {
        assert_eq!(bench.ask(method, target, body).status, 403, "{method} {target}");
    }
}
