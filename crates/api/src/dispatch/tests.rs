//! Requests to a bare administration: no HTTP, no pool, no clock. The requests that the official
//! client makes are tested with the built program.

mod asked;
mod certificates;
mod events;
mod exposition;
mod goal;
mod metrics;
mod roles;
mod settings;
mod single;

use super::*;
use crate::caller::Role;
use admin::World;
use block::Time;
use proptest::prelude::*;
use qos::RegistrySettings;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// User, group and permissions of a volume's top folder, as far as they are given.
type Permitted = (Option<u32>, Option<u32>, Option<u32>);

/// An administration alone, which counts the questions to the world.
struct Bare {
    administration: Administration,
    asked: Cell<u32>,
    /// The owners that were set for the tops of volumes.
    permitted: RefCell<Vec<Permitted>>,
    /// Whether something fails after a change was made.
    fails_afterwards: bool,
}

impl Bare {
    fn at<T>(&self, then: impl FnOnce(&At<'_>) -> T) -> T {
        then(&At { now: Time::ZERO, began: 0, world: &asked::Counted(&self.asked) })
    }
}

impl PoolAccess for Bare {
    fn look(&self, look: &mut dyn FnMut(&Administration, &At<'_>)) -> Result<(), Problem> {
        self.at(|at| look(&self.administration, at));
        Ok(())
    }

    fn line(&mut self, line: &str, _: Option<&str>) -> Result<String, Problem> {
        let outcome = self.administration.execute(line, Time::ZERO, &|_| 0);
        outcome.map(|outcome| outcome.answer.text()).map_err(|error| Problem::from(&error))
    }

    fn generation(&self) -> u64 {
        0
    }

    fn run(&mut self, commands: Vec<Command>) -> Result<(), Problem> {
        let asked = Cell::new(0);
        let at = At { now: Time::ZERO, began: 0, world: &asked::Counted(&asked) };
        let outcome = self.administration.run_all(commands, &at).map_err(|error| Problem::from(&error))?;
        let permitted = outcome.effects.iter().filter_map(|effect| match *effect {
            admin::Effect::Permit { user, group, mode, .. } => Some((user, group, mode)),
            _ => None,
        });
        self.permitted.borrow_mut().extend(permitted);
        match self.fails_afterwards {
            true => Err(Problem { is_in_force: true, ..Problem::new(500, code::INTERNAL, "done, but") }),
            false => Ok(()),
        }
    }
}

/// An SVM `s` with volumes `v1` and `v2`, a LUN in each, and a policy `p` on `v1`.
struct Bench {
    state: RestState,
    pool: Bare,
    caller: Caller,
}

impl Bench {
    fn new() -> Bench {
        let mut administration = Administration::new(RegistrySettings::default());
        for line in [
            "vserver create s",
            "volume create v1 -size 1GB",
            "volume create v2 -size 2GB",
            "lun create /vol/v1/l -size 1MB",
            "lun create /vol/v2/l -size 1MB",
            "qos policy-group create p -max-throughput 1000IOPS,300MB/s -is-shared false",
            "volume modify v1 -qos-policy-group p",
        ] {
            let _ = administration.execute(line, Time::ZERO, &|_| 0).unwrap();
        }
        let cluster = Cluster { name: "pool".into(), uuid: "c".into() };
        Bench {
            state: RestState { cluster, jobs: Jobs::default() },
            pool: Bare { administration, asked: Cell::new(0), permitted: RefCell::default(), fails_afterwards: false },
            caller: Caller { name: "alice".into(), role: Role::Admin },
        }
    }

    fn ask(&mut self, method: &str, target: &str, body: &str) -> Reply {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let request = Request { method, path, query, body: body.as_bytes() };
        answer(&mut self.state, &mut self.pool, &self.caller, request)
    }

    fn get(&mut self, target: &str) -> Value {
        let reply = self.ask("GET", target, "");
        assert_eq!(reply.status, 200, "{target}: {}", reply.body);
        reply.body
    }
}

fn names(page: &Value) -> Vec<&str> {
    page["records"].as_array().unwrap().iter().map(|record| record["name"].as_str().unwrap()).collect()
}

#[test]
fn a_page_shows_what_was_asked_for_and_leads_to_the_next() {
    let mut bench = Bench::new();
    let page = bench.get("/api/storage/volumes?max_records=1&order_by=name%20desc&fields=size,svm.name");
    assert_eq!(page["num_records"], 1);
    let record = &page["records"][0];
    assert_eq!((&record["name"], &record["size"]), (&json!("v2"), &json!(2_000_003_072_u64)), "whole blocks of 4 KiB");
    assert!(record["state"].is_null() && record["_links"]["self"]["href"].is_string());
    let next = page["_links"]["next"]["href"].as_str().unwrap();
    let page = bench.get(next);
    assert_eq!(names(&page), ["v1"]);
    assert!(page["_links"]["next"].is_null());
    assert_eq!(names(&bench.get("/api/storage/volumes?qos.policy.name=null")), ["v2"]);
    assert_eq!(names(&bench.get("/api/storage/volumes?size=%3E1500000000")), ["v2"]);
    assert_eq!(names(&bench.get("/api/storage/luns?location.volume.name=v1")), ["/vol/v1/l"]);
    // 1000 IOPS are compared as a number, not alphabetically.
    assert_eq!(names(&bench.get("/api/storage/qos/policies?fixed.max_throughput=%3E900IOPS")), ["p"]);
    assert_eq!(names(&bench.get("/api/storage/qos/policies?fixed.max_throughput=0..2000IOPS&name=p*")), ["p"]);
    assert_eq!(names(&bench.get("/api/storage/qos/policies?fixed.capacity_shared=False&name=p")), ["p"]);
    assert_eq!(names(&bench.get("/api/storage/volumes?aggregates.name=pool")), ["v1", "v2"]);
    let count = bench.get("/api/storage/volumes?return_records=false");
    assert_eq!((&count["num_records"], &count["records"]), (&json!(2), &Value::Null));
}

/// `space.used` of a volume with one LUN takes two questions: the LUN, and clients' files on the
/// volume.
#[test]
fn the_data_thread_is_asked_only_for_what_is_shown() {
    let mut bench = Bench::new();
    for (target, asked) in [
        ("/api/storage/volumes", 0),
        ("/api/storage/volumes?fields=*", 0),
        ("/api/storage/volumes?fields=space.used", 4),
        ("/api/storage/volumes?fields=space.used&max_records=1", 2),
        ("/api/storage/volumes?fields=space.used&name=v1", 2),
        ("/api/storage/volumes?space.used=%3E9000", 4),
        ("/api/storage/luns?fields=status.state", 0),
        ("/api/storage/luns?fields=status.mapped", 2),
    ] {
        bench.pool.asked.set(0);
        bench.get(target);
        assert_eq!(bench.pool.asked.get(), asked, "{target}");
    }
}

/// A change that took effect but could not be recorded in the trail is a job that failed; its error
/// says so.
#[test]
fn what_fails_once_a_change_is_made_fails_its_job() {
    let mut bench = Bench::new();
    bench.pool.fails_afterwards = true;
    let body = r#"{"name": "late", "svm": {"name": "s"}, "size": 1048576}"#;
    let reply = bench.ask("POST", "/api/storage/volumes", body);
    assert_eq!(reply.status, 202, "{}", reply.body);
    let job = bench.get(reply.body["job"]["_links"]["self"]["href"].as_str().unwrap());
    assert_eq!((&job["state"], &job["error"]["message"]), (&"failure".into(), &"done, but".into()), "{job}");
    assert_eq!(names(&bench.get("/api/storage/volumes?name=late")), ["late"]);
    let body = r#"{"name": "later", "svm": {"name": "s"}, "size": 1048576}"#;
    assert_eq!(bench.ask("POST", "/api/storage/volumes?return_timeout=5", body).status, 500);
}

/// The volumes cannot be made so small, and the name of the first cannot change alone.
#[test]
fn a_change_is_made_as_a_whole_or_not_at_all() {
    let mut bench = Bench::new();
    let before = bench.pool.administration.clone();
    let small = bench.ask("PATCH", "/api/storage/volumes?name=v*&return_timeout=5", r#"{"size": 8192}"#);
    assert_eq!(small.status, 400, "{}", small.body);
    let uuid = bench.get("/api/storage/volumes?name=v1")["records"][0]["uuid"].as_str().unwrap().to_owned();
    let both = bench.ask("PATCH", &format!("/api/storage/volumes/{uuid}"), r#"{"size": 20000000, "name": "v2"}"#);
    assert_eq!(both.status, 409, "{}", both.body);
    let several = r#"{"records": [{"name": "a", "svm": {"name": "s"}, "fixed": {"max_throughput_iops": 5}},
                                  {"name": "p", "svm": {"name": "s"}, "fixed": {"max_throughput_iops": 5}}]}"#;
    assert_eq!(bench.ask("POST", "/api/storage/qos/policies", several).status, 409);
    assert!(bench.pool.administration == before);
    let fitting = bench.ask("PATCH", "/api/storage/volumes?name=v*", r#"{"size": 20000000}"#);
    assert_eq!((fitting.status, &fitting.body["num_records"]), (202, &json!(2)));
}

#[test]
fn what_a_change_does_not_name_stays() {
    let mut bench = Bench::new();
    let policy = bench.get("/api/storage/qos/policies?name=p&fields=fixed")["records"][0].clone();
    assert_eq!(policy["fixed"]["max_throughput"], "1000IOPS,300MB/s");
    let path = policy["_links"]["self"]["href"].as_str().unwrap().to_owned();
    let mut change = |body: &str| {
        let reply = bench.ask("PATCH", &path, body);
        assert_eq!((reply.status, &reply.body), (200, &json!({})), "{body}");
        bench.get(&path)["fixed"].clone()
    };
    let fixed = change(r#"{"fixed": {"max_throughput_iops": 500}}"#);
    assert_eq!((&fixed["max_throughput_iops"], &fixed["max_throughput_mbps"]), (&json!(500), &json!(300)));
    let fixed = change(r#"{"fixed": {"max_throughput_mbps": 0, "min_throughput_iops": 100}}"#);
    assert_eq!(fixed["max_throughput"], "500IOPS");
    assert_eq!(fixed["min_throughput_iops"], 100);
    assert_eq!(change("{}"), fixed);
    let both = bench.ask("PATCH", &path, r#"{"fixed": {"max_throughput_iops": 1, "max_throughput": "1IOPS"}}"#);
    assert_eq!((both.status, &both.body["error"]["target"]), (400, &json!("fixed.max_throughput_iops")));
}

/// An adaptive policy with a minimum of zero.
const NO_MINIMUM: &str = r#"{"name": "a", "svm": {"name": "s"},
    "adaptive": {"expected_iops": 1, "peak_iops": 2, "absolute_min_iops": 0}}"#;

#[test]
fn what_is_wrong_is_named() {
    let mut bench = Bench::new();
    for (method, target, body, status, field) in [
        ("GET", "/api/storage/volumes?odd=1", "", 400, "odd"),
        ("GET", "/api/storage/volumes?fields=odd", "", 400, "fields"),
        ("GET", "/api/storage/volumes?order_by=odd", "", 400, "odd"),
        ("GET", "/api/storage/volumes?size=x", "", 400, "size"),
        ("GET", "/api/storage/volumes?metric.iops.total=%3Ex", "", 400, "metric.iops.total"),
        ("GET", "/api/storage/qos/policies?fixed.capacity_shared=maybe", "", 400, "fixed.capacity_shared"),
        ("GET", "/api/storage/qos/policies?fixed.max_throughput=%3Cfast", "", 400, "fixed.max_throughput"),
        ("GET", "/api/cluster/jobs?start_time=%3Eyesterday", "", 400, "start_time"),
        ("DELETE", "/api/storage/volumes?size=x", "", 400, "size"),
        ("POST", "/api/storage/volumes", r#"{"svm": {"name": "s"}}"#, 400, "name"),
        ("POST", "/api/storage/volumes", r#"{"name": "a"}"#, 400, "svm"),
        ("POST", "/api/storage/volumes", r#"{"name": "../a", "svm": {"name": "s"}}"#, 400, "name"),
        ("POST", "/api/storage/volumes", r#"{"name": "a", "svm": {"name": "x"}}"#, 404, "svm.name"),
        ("POST", "/api/storage/volumes", r#"{"name": "a", "svm": {"name": "s"}, "style": "flexgroup"}"#, 400, "style"),
        ("POST", "/api/storage/volumes", r#"{"name": "a", "svm": {"name": "s"}, "size": "1GB"}"#, 400, "size"),
        ("POST", "/api/storage/luns", r#"{"name": "/vol/v1/m", "svm": {"name": "s"}}"#, 400, "space.size"),
        // A refused command is reported for the field that was written.
        (
            "POST",
            "/api/storage/luns",
            r#"{"name": "/vol/v1/m", "svm": {"name": "s"}, "space": {"size": 99999999999999999}}"#,
            400,
            "space.size",
        ),
        (
            "PATCH",
            "/api/storage/volumes?name=v1",
            r#"{"qos": {"policy": {"name": "nowhere"}}}"#,
            404,
            "qos.policy.name",
        ),
        ("PATCH", "/api/storage/luns?name=/vol/v2/l", r#"{"qos_policy": {"name": "nowhere"}}"#, 404, "qos_policy.name"),
        ("POST", "/api/storage/qos/policies", NO_MINIMUM, 400, "adaptive.absolute_min_iops"),
    ] {
        let reply = bench.ask(method, target, body);
        assert_eq!((reply.status, &reply.body["error"]["target"]), (status, &json!(field)), "{target} {}", reply.body);
    }
    for (method, target, status) in [
        ("DELETE", "/api/storage/volumes", 400),
        ("PUT", "/api/storage/volumes", 405),
        // An unknown method is refused, whatever else is wrong.
        ("TRACE", "/api/storage/volumes?odd=%zz", 405),
        ("TRACE", "/api/storage/luns/x/metrics?interval=2h", 405),
        ("TRACE", "/api/cluster?odd=1", 405),
        ("TRACE", "/api/private/cli/volume?fields=%zz", 405),
        ("TRACE", "/metrics?odd=%zz", 405),
        ("POST", "/api/storage/qos/workloads", 405),
        ("GET", "/api/storage", 404),
        ("GET", "/", 404),
    ] {
        assert_eq!(bench.ask(method, target, "").status, status, "{method} {target}");
    }
}

/// A qtree is found by its volume's identifier and its own number, also after another one was
/// deleted.
#[test]
fn a_qtree_keeps_its_number() {
    let mut bench = Bench::new();
    let make = |name: &str| format!(r#"{{"name": "{name}", "svm": {{"name": "s"}}, "volume": {{"name": "v1"}}}}"#);
    let first = bench.ask("POST", "/api/storage/qtrees?return_timeout=5", &make("a"));
    let second = bench.ask("POST", "/api/storage/qtrees?return_timeout=5", &make("b"));
    assert_eq!((first.status, second.status), (201, 201));
    let (first, second) = (first.location.unwrap(), second.location.unwrap());
    assert_eq!(bench.ask("DELETE", &first, "{}").status, 202);
    assert_eq!(bench.get(&second)["name"], "b");
    assert_eq!(bench.ask("GET", &first, "").status, 404);
}

/// A file in the volume's root and one in a qtree. The slash in a path is `%2F` from the client,
/// and unencoded from others.
#[test]
fn files_are_known_by_their_paths() {
    let mut bench = Bench::new();
    for line in [
        "volume qtree create -volume v1 -qtree q",
        "volume file create -volume v1 -file /dir/disk.img -size 1MB",
        "volume file create -volume v1 -file /q/disk.img -size 1MB",
        "volume file create -volume v2 -file /other.img -size 1MB",
    ] {
        let _ = bench.pool.administration.execute(line, Time::ZERO, &|_| 0).unwrap();
    }
    let volume = bench.get("/api/storage/volumes?name=v1")["records"][0]["uuid"].as_str().unwrap().to_owned();
    let files = format!("/api/storage/volumes/{volume}/files");
    let page = bench.get(&format!("{files}?fields=*&order_by=path"));
    let paths: Vec<_> = page["records"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, ["dir/disk.img", "q/disk.img"]);
    assert_eq!(names(&page), ["disk.img", "disk.img"]);
    let href = page["records"][0]["_links"]["self"]["href"].as_str().unwrap().to_owned();
    assert_eq!(href, format!("{files}/dir%2Fdisk.img"));
    let attached = bench.ask("PATCH", &format!("{href}?return_timeout=5"), r#"{"qos_policy": {"name": "p"}}"#);
    assert_eq!(attached.status, 400, "v1 has a policy itself: {}", attached.body);
    assert_eq!(
        bench.ask("PATCH", &format!("/api/storage/volumes/{volume}"), r#"{"qos": {"policy": {"name": ""}}}"#).status,
        202
    );
    assert_eq!(bench.ask("PATCH", &href, r#"{"qos_policy": {"name": "p"}, "size": 2097152}"#).status, 202);
    let file = bench.get(&format!("{files}/dir/disk.img"));
    assert_eq!((&file["qos_policy"]["name"], &file["size"]), (&json!("p"), &json!(2_097_152)));
    assert_eq!(bench.ask("PATCH", &href, r#"{"path": "dir/new.img"}"#).status, 202);
    assert_eq!(bench.ask("GET", &href, "").status, 404);
    assert_eq!(bench.ask("PATCH", &format!("{files}/dir%2Fnew.img"), r#"{"path": "dir/../new.img"}"#).status, 400);
    assert_eq!(bench.ask("DELETE", &format!("{files}/dir%2Fnew.img"), "{}").status, 202);
    assert_eq!(bench.get(&files)["num_records"], 1);
    assert_eq!(bench.ask("POST", &files, r#"{"path": "x"}"#).status, 400, "without a size");
}

/// Words of requests, and similar ones.
const WORDS: &[&str] = &[
    "name",
    "fields",
    "size",
    "uuid",
    "svm",
    "qos",
    "policy",
    "fixed",
    "max_throughput_iops",
    "records",
    "order_by",
    "max_records",
    "offset",
    "return_timeout",
    "s",
    "v1",
    "p",
    "null",
    "true",
    "-1",
    "1e99",
    "18446744073709551616",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "=",
    "&",
    "%",
    "%2F",
    "..",
    "/",
    "*",
    "|",
    "!",
    "<",
    ">=",
    ".",
    "",
];

fn piece() -> impl Strategy<Value = String> {
    proptest::sample::select(WORDS).prop_map(str::to_owned)
}

fn pieces() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

/// JSON with existing fields and names in arbitrary places.
fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        piece().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = proptest::collection::vec((piece(), inner.clone()), 0..4);
        prop_oneof![
            proptest::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

const PATHS: [&str; 11] = [
    "/api/cluster",
    "/api/cluster/jobs",
    "/api/svm/svms",
    "/api/storage/aggregates",
    "/api/storage/luns",
    "/api/storage/qtrees",
    "/api/storage/qos/policies",
    "/api/storage/qos/workloads",
    "/api/storage/volumes",
    "/api/storage/volumes/{v1}/files",
    "/api/storage/volumes/{v1}/snapshots",
];

/// Checks that a value matches a schema of the document, without additional fields.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return check(document, document.pointer(name.trim_start_matches('#')).unwrap(), value, place);
    }
    let is_so = match schema["type"].as_str().unwrap_or_else(|| panic!("{place} has no type: {schema}")) {
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{place}: {other}"),
    };
    assert!(is_so, "{place} is {value}, not {schema}");
    for (index, one) in value.as_array().into_iter().flatten().enumerate() {
        check(document, &schema["items"], one, &format!("{place}[{index}]"));
    }
    for (name, one) in value.as_object().into_iter().flatten() {
        check(document, &schema["properties"][name], one, &format!("{place}.{name}"));
    }
}

/// Everything, read with all its fields, matches the document; each path accepts the methods that
/// it lists, and no others.
#[test]
fn the_document_says_what_is_answered() {
    let mut bench = Bench::new();
    for line in [
        "volume qtree create -volume v1 -qtree q",
        "volume file create -volume v1 -file /disk.img -size 1MB",
        "volume snapshot create -volume v1 -snapshot s1",
        "qos adaptive-policy-group create a -vserver s -expected-iops 10IOPS/TB -peak-iops 20IOPS/TB",
        "vserver modify s -qos-adaptive-policy-group-template a",
    ] {
        let _ = bench.pool.administration.execute(line, Time::ZERO, &|_| 0).unwrap();
    }
    let v1 = bench.get("/api/storage/volumes?name=v1")["records"][0]["uuid"].as_str().unwrap().to_owned();
    assert_eq!(bench.ask("DELETE", &format!("/api/storage/volumes/{v1}"), "{}").status, 202, "a job that fails");
    let document = bench.get("/docs/api");
    let content = "/responses/200/content/application~1hal+json/schema";
    for path in PATHS {
        let described = &document["paths"][path.replace("{v1}", "{volume.uuid}")];
        let path = path.replace("{v1}", &v1);
        let query = if path == "/api/cluster" { "" } else { "?fields=**" };
        let page = bench.get(&format!("{path}{query}"));
        assert_ne!(page["num_records"], 0, "{path}");
        check(&document, described["get"].pointer(content).unwrap(), &page, &path);
        for method in ["post", "patch", "delete"] {
            let is_taken = bench.ask(&method.to_uppercase(), &path, "{}").status != 405;
            assert_eq!(is_taken, described[method].is_object(), "{method} {path}");
        }
    }
    let refused = bench.ask("GET", "/api/storage/volumes/none", "");
    check(&document, &document["components"]["schemas"]["error"], &refused.body, "a refusal");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2_000)))]

    /// Whatever is requested: nothing panics, nothing is the server's fault, each refusal has a
    /// message and a code, and a request that is refused at once has no effect.
    #[test]
    fn whatever_is_sent_is_answered(
        method in proptest::sample::select(&["GET", "POST", "PATCH", "DELETE", "PUT"][..]),
        path in proptest::sample::select(&PATHS[..]),
        key in prop_oneof![3 => Just(String::new()), 1 => pieces().prop_map(|key| format!("/{key}"))],
        query in prop_oneof![2 => Just(String::new()), 1 => pieces()],
        body in prop_oneof![3 => object().prop_map(|body| body.to_string()), 1 => pieces()],
    ) {
        let mut bench = Bench::new();
        let v1 = admin::uuid_of(bench.pool.administration.registry.objects().find(|object| object.name() == "v1").unwrap().id());
        let before = bench.pool.administration.clone();
        let reply = bench.ask(method, &format!("{}{key}?{query}", path.replace("{v1}", &v1)), &body);
        prop_assert!((200..500).contains(&reply.status), "{} {}", reply.status, reply.body);
        if reply.status >= 400 {
            let error = &reply.body["error"];
            prop_assert!(error["message"].is_string() && error["code"].is_string(), "{}", reply.body);
            prop_assert!(bench.pool.administration == before);
        }
    }
}
