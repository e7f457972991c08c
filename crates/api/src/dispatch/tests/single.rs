//! Limits of a single object, keys of several kinds, and refusals of filters without a collection.

use super::*;

/// ONTAP accepts limits in place of a policy's name: a policy of the object's own is made for them,
/// changed in place, and deleted.
#[test]
fn limits_of_one_object_are_a_policy_of_its_own() {
    let mut bench = Bench::new();
    let volume = path_of(&mut bench, "/api/storage/volumes?name=v2");
    let patch = |bench: &mut Bench, body: &str| bench.ask("PATCH", &volume, body);
    assert_eq!(patch(&mut bench, r#"{"qos":{"policy":{"max_throughput_iops":500}}}"#).status, 202);
    assert_eq!(patch(&mut bench, r#"{"qos":{"policy":{"max_throughput_mbps":9}}}"#).status, 202);
    let policy = bench.get(&volume)["qos"]["policy"].clone();
    assert_eq!((&policy["max_throughput_iops"], &policy["max_throughput_mbps"]), (&json!(500), &json!(9)));
    assert!(policy["name"].as_str().unwrap().starts_with("v2_auto_gen_policy_"), "{policy}");
    assert_eq!(patch(&mut bench, r#"{"qos":{"policy":{"max_throughput":"0"}}}"#).status, 202);
    assert!(bench.get(&volume)["qos"].is_null());
    assert_eq!(names(&bench.get("/api/storage/qos/policies?name=*auto*")), Vec::<&str>::new());
    let both = patch(&mut bench, r#"{"qos":{"policy":{"name":"p","max_throughput_iops":5}}}"#);
    assert_eq!((both.status, &both.body["error"]["code"]), (400, &json!("8454389")), "{}", both.body);
    // The two fields that exclude one another are those that were sent.
    for (policy, one, other) in [
        (r#"{"min_throughput_iops":100,"name":"v1"}"#, "name", "min_throughput_iops"),
        (r#"{"uuid":"x","max_throughput_mbps":5}"#, "uuid", "max_throughput_mbps"),
        (r#"{"uuid":"x","name":"p","max_throughput":"5IOPS"}"#, "name", "max_throughput"),
    ] {
        let reply = patch(&mut bench, &format!(r#"{{"qos":{{"policy":{policy}}}}}"#));
        let message = format!("qos.policy.{one} and qos.policy.{other} exclude one another; give one of them");
        assert_eq!((reply.status, &reply.body["error"]["message"]), (400, &json!(message)));
        assert_eq!(reply.body["error"]["target"], format!("qos.policy.{other}"));
    }
    let odd = patch(&mut bench, r#"{"qos":{"policy":{"max_throughput":"5IOPS","max_throughput_iops":5}}}"#);
    assert_eq!(odd.status, 400, "{}", odd.body);
}

/// A request for one item by its key, or for a new one, takes no filters: a parameter that would be
/// ignored is refused, and nothing happens.
#[test]
fn a_field_in_the_query_of_one_is_refused() {
    let mut bench = Bench::new();
    let volume = path_of(&mut bench, "/api/storage/volumes?name=v2");
    let lun = path_of(&mut bench, "/api/storage/luns?name=/vol/v2/l");
    for (method, target, body) in [
        ("GET", format!("{volume}?bogus=1"), ""),
        ("DELETE", format!("{lun}?name=other"), ""),
        ("DELETE", format!("{volume}?restore_to.snapshot.name=s"), ""),
        ("PATCH", format!("{volume}?size=1"), r#"{"size":3000000000}"#),
        (
            "POST",
            "/api/storage/volumes?validate_only=true".into(),
            r#"{"svm":{"name":"s"},"name":"v3","size":1048576}"#,
        ),
    ] {
        let before = bench.pool.generation();
        let reply = bench.ask(method, &target, body);
        assert_eq!((reply.status, &reply.body["error"]["code"]), (400, &json!("262179")), "{target}: {}", reply.body);
        assert_eq!(bench.pool.generation(), before, "{target}");
    }
}

/// As in ONTAP: in the query or in the body, by name or identifier.
#[test]
fn a_volume_is_restored_from_its_snapshot() {
    let mut bench = Bench::new();
    let volume = path_of(&mut bench, "/api/storage/volumes?name=v2");
    let snapshots = format!("{volume}/snapshots");
    let others = format!("{}/snapshots", path_of(&mut bench, "/api/storage/volumes?name=v1"));
    for (path, name) in [(&snapshots, "one"), (&others, "other")] {
        assert_eq!(bench.ask("POST", path, &format!(r#"{{"name":"{name}"}}"#)).status, 202);
    }
    let uuid = |bench: &mut Bench, path: &str| {
        bench.get(&format!("{path}?fields=uuid"))["records"][0]["uuid"].as_str().unwrap().to_owned()
    };
    let (one, other) = (uuid(&mut bench, &snapshots), uuid(&mut bench, &others));
    for (query, body) in [
        ("?restore_to.snapshot.name=one".to_owned(), "{}".to_owned()),
        (format!("?restore_to.snapshot.uuid={one}"), "{}".into()),
        (String::new(), r#"{"restore_to":{"snapshot":{"name":"one"}}}"#.into()),
        ("?restore_to.snapshot.name=one".into(), format!(r#"{{"restore_to":{{"snapshot":{{"uuid":"{one}"}}}}}}"#)),
    ] {
        let lun = path_of(&mut bench, "/api/storage/luns?name=/vol/v2/l");
        assert_eq!(bench.ask("DELETE", &lun, "").status, 202);
        let reply = bench.ask("PATCH", &format!("{volume}{query}"), &body);
        assert_eq!(reply.status, 202, "{query} {body}: {}", reply.body);
        assert_eq!(names(&bench.get("/api/storage/luns?name=/vol/v2/l")), ["/vol/v2/l"], "{query} {body}");
    }
    for (query, body, target) in [
        (format!("?restore_to.snapshot.uuid={other}"), "{}".to_owned(), "restore_to.snapshot.uuid"),
        (
            format!("?restore_to.snapshot.uuid={one}&restore_to.snapshot.name=x"),
            "{}".into(),
            "restore_to.snapshot.uuid",
        ),
        (
            "?restore_to.snapshot.name=one".into(),
            r#"{"restore_to":{"snapshot":{"name":"x"}}}"#.into(),
            "restore_to.snapshot.name",
        ),
    ] {
        let reply = bench.ask("PATCH", &format!("{volume}{query}"), &body);
        assert_eq!((reply.status, &reply.body["error"]["target"]), (400, &json!(target)), "{}", reply.body);
    }
    assert_eq!(bench.ask("PATCH", &format!("{volume}?restore_to.snapshot.name=none"), "{}").status, 404);
}

/// A comment is given, shown, changed, and removed; one that is too long is refused by its name.
#[test]
fn a_snapshot_has_a_comment() {
    let mut bench = Bench::new();
    let snapshots = format!("{}/snapshots", path_of(&mut bench, "/api/storage/volumes?name=v2"));
    let made = r#"{"name":"one","comment":"before the upgrade"}"#;
    assert_eq!(bench.ask("POST", &snapshots, made).status, 202);
    let record = |bench: &mut Bench| bench.get(&format!("{snapshots}?fields=uuid,name,comment"))["records"][0].clone();
    let one = record(&mut bench);
    assert_eq!((&one["name"], &one["comment"]), (&json!("one"), &json!("before the upgrade")));
    let path = format!("{snapshots}/{}", one["uuid"].as_str().unwrap());
    for (body, name, comment) in [
        (r#"{"comment":"kept","name":"two"}"#, "two", json!("kept")),
        (r#"{"name":"three"}"#, "three", json!("kept")),
        (r#"{"comment":""}"#, "three", Value::Null),
    ] {
        assert_eq!(bench.ask("PATCH", &path, body).status, 202, "{body}");
        let one = record(&mut bench);
        assert_eq!((&one["name"], &one["comment"]), (&json!(name), &comment), "{body}");
    }
    let reply = bench.ask("PATCH", &path, &json!({ "comment": "a".repeat(256) }).to_string());
    assert_eq!((reply.status, &reply.body["error"]["target"]), (400, &json!("comment")), "{}", reply.body);
}

/// 0 would mean that there is no limit; the text field is exact to the byte.
#[test]
fn a_limit_between_whole_mb_is_not_rounded_to_none() {
    let mut bench = Bench::new();
    let made = r#"{"svm":{"name":"s"},"name":"fine","fixed":{"max_throughput":"500KB/s"}}"#;
    assert_eq!(bench.ask("POST", "/api/storage/qos/policies", made).status, 201);
    let fixed = bench.get("/api/storage/qos/policies?name=fine&fields=fixed")["records"][0]["fixed"].clone();
    assert_eq!((&fixed["max_throughput"], &fixed["max_throughput_mbps"]), (&json!("500KB/s"), &Value::Null));
    let most = r#"{"svm":{"name":"s"},"name":"large","fixed":{"max_throughput_mbps":4194304}}"#;
    assert_eq!(bench.ask("POST", "/api/storage/qos/policies", most).status, 400);
    assert_eq!(bench.ask("POST", "/api/storage/qos/policies", &most.replace("304", "303")).status, 201);
}

#[test]
fn a_qtree_has_its_path_whatever_its_volume_is_called() {
    let mut bench = Bench::new();
    let _ = bench.pool.administration.execute("volume create vol1 -size 1GB", Time::ZERO, &|_| 0).unwrap();
    let _ = bench.pool.administration.execute("volume qtree create q -volume vol1", Time::ZERO, &|_| 0).unwrap();
    assert_eq!(bench.get("/api/storage/qtrees?name=q&fields=path")["records"][0]["path"], "/vol1/q");
}

#[test]
fn a_file_is_made_at_its_path_with_its_policy() {
    let mut bench = Bench::new();
    let files = format!("{}/files", path_of(&mut bench, "/api/storage/volumes?name=v2"));
    let made = bench.ask("POST", &format!("{files}/disks%2Fa.img"), r#"{"size":1048576,"qos_policy":{"name":"p"}}"#);
    assert_eq!((made.status, made.location.as_deref()), (202, Some(format!("{files}/disks%2Fa.img").as_str())));
    assert_eq!(bench.ask("POST", &files, r#"{"path":"b.img","size":1048576}"#).status, 202);
    let file = bench.get(&format!("{files}/disks/a.img"));
    assert_eq!((&file["size"], &file["qos_policy"]["name"]), (&json!(1_048_576), &json!("p")));
    let other = bench.ask("POST", &format!("{files}/c.img"), r#"{"path":"d.img","size":4096}"#);
    assert!(other.status == 400 && other.body["error"]["target"] == "path", "{}", other.body);
    assert_eq!(bench.ask("POST", &format!("{files}/c.img"), "{}").body["error"]["target"], "size");
    let records = r#"{"records":[{"path":"b.img","size":2097152}]}"#;
    assert_eq!(bench.ask("PATCH", &files, records).status, 202);
    assert_eq!(bench.get(&format!("{files}/b.img"))["size"], 2_097_152);
    assert_eq!(bench.ask("POST", "/api/storage/volumes/x", "{}").status, 405, "what has a number is not made under it");
}

/// A clients' file is shown once it has a policy; its size and path cannot be changed.
#[test]
fn a_file_of_clients_has_its_policy_at_its_path() {
    let mut bench = Bench::new();
    let files = format!("{}/files", path_of(&mut bench, "/api/storage/volumes?name=v2"));
    let made = format!("{files}/made%2Fby%20client");
    let assign = r#"{"qos_policy":{"name":"p"}}"#;
    assert_eq!(bench.ask("GET", &made, "").status, 404, "nobody asked for it yet");
    assert_eq!(bench.ask("PATCH", &format!("{files}/none"), assign).status, 404);
    let odd = bench.ask("PATCH", &made, r#"{"odd":1}"#);
    assert_eq!((odd.status, &odd.body["error"]["target"]), (400, &json!("odd")));
    assert_eq!(bench.ask("PATCH", &made, assign).status, 202);
    let file = bench.get(&made);
    assert_eq!((&file["size"], &file["qos_policy"]["name"]), (&json!(5000), &json!("p")));
    let workload = bench.get("/api/storage/qos/workloads?volume=v2&fields=file")["records"][0].clone();
    assert_eq!(workload["file"], "made/by client");
    let resized = bench.ask("PATCH", &made, r#"{"size":4096}"#);
    assert!(resized.status == 202 || resized.status == 409, "{}", resized.body);
    assert_eq!(bench.get(&made)["size"], 5000);
    assert_eq!(bench.ask("PATCH", &made, r#"{"qos_policy":{"name":"none"}}"#).status, 202);
    assert!(bench.get(&made)["qos_policy"].is_null());
    bench.caller.role = Role::Svm("other".into());
    let denied = bench.ask("PATCH", &made, assign).status;
    assert!(denied == 403 || denied == 404, "{denied}");
}

/// Owner and mode of a volume's top folder can be read, and set when the volume is made or later;
/// the digits of permissions are octal.
#[test]
fn the_top_of_a_volume_is_somebodys() {
    let mut bench = Bench::new();
    let volume = path_of(&mut bench, "/api/storage/volumes?name=v2");
    assert!(bench.get(&volume)["nas"]["uid"].is_null(), "it has to be asked for");
    let nas = bench.get(&format!("{volume}?fields=nas.uid,nas.gid,nas.unix_permissions"))["nas"].clone();
    assert_eq!(nas, json!({ "uid": 1000, "gid": 100, "unix_permissions": 1750 }));
    for (method, target, body, status) in [
        ("PATCH", volume.as_str(), r#"{"nas":{"uid":7,"gid":8,"unix_permissions":755,"path":"/db"}}"#, 202),
        ("PATCH", &volume, r#"{"nas":{"security_style":"unix"}}"#, 202),
        ("PATCH", &volume, r#"{"nas":{"security_style":"ntfs"}}"#, 400),
        ("PATCH", &volume, r#"{"nas":{"unix_permissions":789}}"#, 400),
        ("PATCH", &volume, r#"{"nas":{"unix_permissions":"755"}}"#, 400),
        ("PATCH", &volume, r#"{"nas":{"uid":4294967296}}"#, 400),
        ("POST", "/api/storage/volumes", r#"{"name":"new","svm":{"name":"s"},"nas":{"unix_permissions":700}}"#, 202),
        (
            "POST",
            "/api/storage/volumes",
            r#"{"name":"c","svm":{"name":"s"},"clone":{"parent_volume":{"name":"v2"}},"nas":{"uid":1}}"#,
            400,
        ),
    ] {
        let reply = bench.ask(method, target, body);
        assert_eq!(reply.status, status, "{method} {target} {body}: {}", reply.body);
    }
    assert_eq!(bench.pool.permitted.take(), [(Some(7), Some(8), Some(0o755)), (None, None, Some(0o700))]);
}

/// What something stands in the way of is what a job fails of; whoever waits is told of it at once.
#[test]
fn a_volume_smaller_than_its_luns_fails_its_job() {
    let mut bench = Bench::new();
    let small = r#"{"size": 8192}"#;
    let reply = bench.ask("PATCH", "/api/storage/volumes?name=v1", small);
    assert_eq!(reply.status, 202, "{}", reply.body);
    let job = bench.get(reply.body["job"]["_links"]["self"]["href"].as_str().unwrap());
    assert_eq!((&job["state"], &job["error"]["code"]), (&json!("failure"), &json!("8454930")), "{job}");
    let waited = bench.ask("PATCH", "/api/storage/volumes?name=v1&return_timeout=5", small);
    assert_eq!((waited.status, &waited.body["error"]["code"]), (400, &json!("8454930")), "{}", waited.body);
}

/// A PATCH of its path moves a volume in the name space, as in ONTAP, and an empty one takes it out
/// of it; one that is another's is refused and moves nothing.
#[test]
fn a_volume_is_moved_in_the_name_space() {
    let mut bench = Bench::new();
    let [first, second] = ["v1", "v2"].map(|name| path_of(&mut bench, &format!("/api/storage/volumes?name={name}")));
    let mut patch = |volume: &str, path: &str, status: u16| {
        let body = json!({ "nas": { "path": path } }).to_string();
        let reply = bench.ask("PATCH", &format!("{volume}?return_timeout=5"), &body);
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
        bench.get(volume)["nas"]["path"].as_str().unwrap_or_default().to_owned()
    };
    for (volume, path, status, then) in [
        (&first, "/db", 200, "/db"),
        (&first, "/db", 200, "/db"),
        (&first, "/db2", 200, "/db2"),
        (&second, "/db", 200, "/db"),
        (&first, "/db", 409, "/db2"),
        (&first, "", 200, ""),
        (&first, "", 200, ""),
    ] {
        assert_eq!(patch(volume, path, status), then, "{path}");
    }
}

/// The records of a list are identified by the keys of their kind.
#[test]
fn records_are_changed_by_the_keys_of_their_kind() {
    let mut bench = Bench::new();
    let body = r#"{"name":"q","svm":{"name":"s"},"volume":{"name":"v1"}}"#;
    assert_eq!(bench.ask("POST", "/api/storage/qtrees", body).status, 202);
    let qtree = bench.get("/api/storage/qtrees?name=q")["records"][0].clone();
    let record = json!({ "volume": { "uuid": qtree["volume"]["uuid"] }, "id": qtree["id"], "name": "r" });
    let reply = bench.ask("PATCH", "/api/storage/qtrees", &json!({ "records": [record] }).to_string());
    assert_eq!(reply.status, 202, "{}", reply.body);
    assert_eq!(names(&bench.get("/api/storage/qtrees")), ["r"]);
    let without = bench.ask("DELETE", "/api/storage/qtrees", r#"{"records":[{"id":1}]}"#);
    assert_eq!(
        (without.status, &without.body["error"]["target"]),
        (400, &json!("records.volume.uuid")),
        "{}",
        without.body
    );
}

#[test]
fn what_there_is_one_of_takes_no_filter() {
    let mut bench = Bench::new();
    for path in ["/api/cluster?odd=1", "/docs/api?name=x"] {
        let reply = bench.ask("GET", path, "");
        assert_eq!((reply.status, &reply.body["error"]["code"]), (400, &json!("262179")), "{path}");
    }
    assert_eq!(bench.ask("GET", "/api/cluster?fields=name", "").status, 200);
}

#[test]
fn a_lun_is_for_what_it_was_made_for() {
    let mut bench = Bench::new();
    let body = r#"{"name":"/vol/v1/w","svm":{"name":"s"},"os_type":"windows_2008","space":{"size":1048576}}"#;
    assert_eq!(bench.ask("POST", "/api/storage/luns", body).status, 202);
    assert_eq!(names(&bench.get("/api/storage/luns?os_type=windows*")), ["/vol/v1/w"]);
    let clone = r#"{"name":"c","svm":{"name":"s"},"clone":{"is_flexclone":true,"parent_volume":{"name":"v1"}}}"#;
    assert_eq!(bench.ask("POST", "/api/storage/volumes", clone).status, 202);
    assert_eq!(names(&bench.get("/api/storage/luns?os_type=windows*")), ["/vol/v1/w", "/vol/c/w"]);
}

/// A job that concerned two SVMs is shown to the administrator of each, and to no other SVM's.
#[test]
fn a_job_about_several_svms_is_seen_by_the_admins_of_each() {
    let mut bench = Bench::new();
    for svm in ["t", "u"] {
        assert_eq!(bench.ask("POST", "/api/svm/svms", &json!({ "name": svm }).to_string()).status, 202);
    }
    let one = |svm: &str| json!({ "name": "x", "svm": { "name": svm }, "size": 1 << 20 });
    let job = bench.ask("POST", "/api/storage/volumes", &json!({ "records": [one("s"), one("t")] }).to_string());
    assert_eq!(job.status, 202, "{}", job.body);
    for (svm, number) in [("s", 1), ("t", 1), ("u", 0)] {
        bench.caller.role = Role::Svm(svm.into());
        assert_eq!(bench.get("/api/cluster/jobs?description=*volumes")["num_records"], number, "{svm}");
    }
}

/// The body of a change is checked even if no items are picked.
#[test]
fn a_body_is_checked_where_nothing_is_picked() {
    let mut bench = Bench::new();
    for (body, status) in [
        (r#"{"size":1048576,"qos":{"policy":{"name":"p"}}}"#, 202),
        (r#"{"qos":{"policy":{"odd":1}}}"#, 400),
        (r#"{"size":"x"}"#, 400),
        (r#"{"svm":{"name":"s"}}"#, 400),
        (r#"{"qos":1}"#, 400),
    ] {
        assert_eq!(bench.ask("PATCH", "/api/storage/volumes?name=none", body).status, status, "{body}");
    }
    let other = bench.ask("TRACE", "/api/storage/volumes?fields=", "");
    assert_eq!((other.status, other.allow.as_deref()), (405, Some("GET, POST, PATCH, DELETE")));
}

fn path_of(bench: &mut Bench, query: &str) -> String {
    bench.get(query)["records"][0]["_links"]["self"]["href"].as_str().unwrap().to_owned()
}

#[test]
fn a_new_lun_is_named_by_its_path_or_by_its_location() {
    let mut bench = Bench::new();
    let mut make = |body: Value| {
        let mut whole = json!({ "svm": { "name": "s" }, "space": { "size": 4096 } });
        body.as_object().unwrap().iter().for_each(|(field, value)| whole[field] = value.clone());
        let reply = bench.ask("POST", "/api/storage/luns?return_timeout=15&return_records=true", &whole.to_string());
        let name = reply.body["records"][0]["name"].as_str().unwrap_or_default().to_owned();
        (reply.status, name, reply.body["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    let place = |volume: &str, lun: &str| json!({ "volume": { "name": volume }, "logical_unit": lun });
    assert_eq!(make(json!({ "location": place("v1", "a") })), (201, "/vol/v1/a".into(), String::new()));
    let both = json!({ "name": "/vol/v1/b", "location": place("v1", "b") });
    assert_eq!(make(both), (201, "/vol/v1/b".into(), String::new()));
    for (body, told) in [
        (json!({ "name": "/vol/v1/c", "location": place("v2", "c") }), "is another place than the name /vol/v1/c"),
        (json!({ "location": { "volume": { "name": "v1" } } }), "location.logical_unit: is missing"),
        (json!({ "location": { "logical_unit": "c" } }), "location.volume: is missing"),
        (json!({ "location": place("v9", "c") }), "there is no volume"),
        (json!({}), "name: is missing"),
        (
            json!({ "location": { "volume": { "name": "v1" }, "qtree": { "name": "q9" }, "logical_unit": "c" } }),
            "volume v1 has no qtree q9",
        ),
    ] {
        let (status, _, message) = make(body);
        assert!((status == 400 || status == 404) && message.contains(told), "{status} {message}");
    }
}
