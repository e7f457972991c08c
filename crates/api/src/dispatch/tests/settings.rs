//! The document lists exactly the fields that the resources accept in bodies.

use super::*;
use crate::setting::of_method;

/// The other fields that each resource requires in a POST.
fn base(name: &str) -> Value {
    match name {
        "volume" => json!({ "name": "new", "svm": { "name": "s" } }),
        "LUN" => json!({ "name": "/vol/v1/new", "svm": { "name": "s" }, "space": { "size": 4096 } }),
        "qtree" => json!({ "name": "new", "svm": { "name": "s" }, "volume": { "name": "v1" } }),
        "file" => json!({ "path": "new", "size": 4096 }),
        "policy group" => json!({ "name": "new", "svm": { "name": "s" } }),
        _ => json!({ "name": "new" }),
    }
}

/// Sets a value at a dotted name, unless there is one.
fn put(body: &mut Value, name: &str, value: Value) {
    match name.split_once('.') {
        Some((first, rest)) => put(&mut body[first], rest, value),
        None if body[name].is_null() => body[name] = value,
        None => {}
    }
}

fn code_of(reply: &Reply) -> &str {
    reply.body["error"]["code"].as_str().unwrap_or_default()
}

fn check<R: Resource>(resource: &R, instance: &str) {
    for method in ["POST", "PATCH"] {
        let target = if method == "POST" { resource.path() } else { instance.to_owned() };
        for setting in of_method(resource.settings(), method) {
            let mut bench = Bench::new();
            let mut body = if method == "POST" { base(R::NAME) } else { json!({}) };
            put(&mut body, setting.name, setting.takes.example());
            let reply = bench.ask(method, &target, &body.to_string());
            assert!(code_of(&reply) != "262196" && reply.status < 500, "{method} {target} {body}: {}", reply.body);
        }
        let unset = |field: &&str| !of_method(resource.settings(), method).any(|s| field.starts_with(s.name));
        for field in resource.fields().iter().map(|field| field.name).filter(unset) {
            let mut bench = Bench::new();
            let mut body = if method == "POST" { base(R::NAME) } else { json!({}) };
            if R::NAME == "policy group" && method == "POST" {
                body["fixed"] = json!({ "max_throughput_iops": 5 });
            }
            put(&mut body, field, json!("x"));
            let reply = bench.ask(method, &target, &body.to_string());
            assert_eq!(code_of(&reply), "262196", "{method} {target} {body}: {}", reply.body);
        }
    }
}

#[test]
fn bodies_take_what_the_document_says() {
    let mut bench = Bench::new();
    let href = |bench: &mut Bench, query: &str| {
        bench.get(query)["records"][0]["_links"]["self"]["href"].as_str().unwrap().to_owned()
    };
    let volume = href(&mut bench, "/api/storage/volumes?name=v1");
    check(&Volumes, &volume);
    check(&Svms, &href(&mut bench, "/api/svm/svms"));
    check(&Luns, &href(&mut bench, "/api/storage/luns"));
    check(&Policies, &href(&mut bench, "/api/storage/qos/policies?name=p"));
}

/// Every schema of the document has typed properties, and those of bodies contain the required
/// ones.
#[test]
fn no_schema_is_without_typed_properties() {
    fn walk(place: &str, schema: &Value) {
        if let Some(choices) = schema["oneOf"].as_array() {
            return choices.iter().for_each(|choice| walk(place, choice));
        }
        if schema["$ref"].is_string() {
            return;
        }
        let kind = schema["type"].as_str().unwrap_or_else(|| panic!("{place} has no type: {schema}"));
        if kind == "array" {
            return walk(&format!("{place}[]"), &schema["items"]);
        }
        let Some(properties) = schema["properties"].as_object() else { return assert_ne!(kind, "object", "{place}") };
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{place}: {required}");
        }
        properties.iter().for_each(|(name, schema)| walk(&format!("{place}.{name}"), schema));
    }
    let document = openapi::document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    schemas.iter().for_each(|(name, schema)| walk(name, schema));
    let volume = &schemas["volume_post"];
    assert_eq!(volume["required"], json!(["name", "svm"]));
    assert!(schemas["volume_patch"]["properties"]["svm"].is_null(), "a volume stays in its SVM");
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let answers = operation["responses"].as_object().unwrap();
            let schemas = answers.values().map(|answer| &answer["content"]["application/hal+json"]["schema"]);
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            schemas
                .chain((!body.is_null()).then_some(body))
                .for_each(|schema| walk(&format!("{method} {path}"), schema));
        }
    }
}
