//! The OpenAPI 3 document, generated from the same tables of fields as the records, so that it
//! cannot disagree with them.

use crate::record::{Field, Kind};
use crate::resource::{
    Aggregates, Certificates, Cluster, EmsEvents, JobsResource, Luns, Metrics, Policies, Qtrees, Resource, Svms,
    VolumeFiles, VolumeSnapshots, Volumes, Workloads,
};
use crate::setting::body_schema;
use block::ObjectId;
use ontap::value::{Interval, Value as _};
use serde_json::{Map, Value, json};

/// The document.
pub(crate) fn document() -> Value {
    // The paths and fields of a volume's contents are the same for all volumes.
    let volume = ObjectId::default();
    let mut document = Document::default();
    document.paths.insert(
        "/api/cluster".into(),
        json!({ "get": operation("Show: cluster", &[], None, "200", &Cluster::schema()) }),
    );
    document.add(&JobsResource, "/api/cluster/jobs", &["uuid"]);
    document.add(&Certificates, "/api/security/certificates", &["uuid"]);
    document.add(&Svms, "/api/svm/svms", &["uuid"]);
    document.add(&EmsEvents, "/api/support/ems/events", &["node.name", "index"]);
    document.add(&Aggregates, "/api/storage/aggregates", &["uuid"]);
    document.add(&Volumes, "/api/storage/volumes", &["uuid"]);
    document.add(&VolumeSnapshots { volume }, "/api/storage/volumes/{volume.uuid}/snapshots", &["uuid"]);
    document.add(&VolumeFiles { volume }, "/api/storage/volumes/{volume.uuid}/files", &["path"]);
    metrics(&mut document, "/api/storage/volumes/{volume.uuid}/metrics");
    document.add(&Luns, "/api/storage/luns", &["uuid"]);
    metrics(&mut document, "/api/storage/luns/{lun.uuid}/metrics");
    document.add(&Qtrees, "/api/storage/qtrees", &["volume.uuid", "id"]);
    metrics(&mut document, "/api/storage/qtrees/{volume.uuid}/{qtree.id}/metrics");
    document.add(&Policies, "/api/storage/qos/policies", &["uuid"]);
    document.add(&Workloads, "/api/storage/qos/workloads", &["uuid"]);
    metrics(&mut document, "/api/storage/qos/workloads/{workload.uuid}/metrics");
    let Document { paths, mut schemas } = document;
    schemas.insert("error".into(), error_envelope());
    schemas.insert("job_link".into(), job_link());
    json!({
        "openapi": "3.0.3",
        "info": { "title": "Seawall: ONTAP's REST interface for quality of service", "version": env!("CARGO_PKG_VERSION") },
        "security": [{ "basic": [] }],
        "paths": paths,
        "components": { "securitySchemes": { "basic": { "type": "http", "scheme": "basic" } }, "schemas": schemas },
    })
}

/// Adds the metrics of a resource, with their interval.
fn metrics(document: &mut Document, path: &str) {
    document.add(&Metrics::empty(path.into()), path, &["timestamp"]);
    let asked = json!({
        "name": "interval",
        "in": "query",
        "description": "How far back, and with it how finely",
        "schema": { "type": "string", "enum": Interval::CHOICES },
    });
    for path in [path.to_owned(), format!("{path}/{{timestamp}}")] {
        if let Some(Value::Array(parameters)) =
            document.paths.get_mut(&path).and_then(|path| path.pointer_mut("/get/parameters"))
        {
            parameters.push(asked.clone());
        }
    }
}

#[derive(Default)]
struct Document {
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
}

impl Document {
    /// Adds a collection and its records.
    fn add<R: Resource>(&mut self, resource: &R, path: &str, keys: &[&str]) {
        let name = R::NAME.replace(' ', "_").to_lowercase();
        self.schemas.insert(name.clone(), record_schema(resource.fields()));
        let record = json!({ "$ref": format!("#/components/schemas/{name}") });
        let above: Vec<Value> = placeholders(path).map(in_path).collect();
        let own: Vec<Value> = keys.iter().copied().map(in_path).chain(above.iter().cloned()).collect();
        let (mut collection, mut instance) = (Map::new(), Map::new());
        let filters = resource.fields().iter().map(|field| filter(field.name));
        let picking: Vec<Value> = above.iter().cloned().chain(filters).chain(parameters(PICKING)).collect();
        let picked: Vec<Value> = own.iter().cloned().chain(parameters(&["fields"])).collect();
        let page = page_schema(&record);
        collection.insert("get".into(), operation(&format!("List: {name}"), &picking, None, "200", &page));
        instance.insert("get".into(), operation(&format!("Show: {name}"), &picked, None, "200", &record));
        for &method in R::CHANGES {
            let change = |of: &[Value], body: Option<&Value>| {
                let of: Vec<Value> = of.iter().cloned().chain(parameters(&["return_timeout"])).collect();
                let (verb, status) = match method {
                    "POST" => ("Make", "201"),
                    "PATCH" => ("Change", "200"),
                    _ => ("Delete", "200"),
                };
                let done = object(&json!({ "num_records": { "type": "integer" } }));
                let mut operation = operation(&format!("{verb}: {name}"), &of, body, status, &done);
                if R::HAS_JOBS {
                    let job = json!({ "$ref": "#/components/schemas/job_link" });
                    operation["responses"]["202"] = response("A job tells what becomes of it", &job);
                }
                operation
            };
            if method == "POST" {
                let one = self.body::<R>(resource, &name, method);
                collection.insert("post".into(), change(&above, Some(&one_or_several(&one, &one))));
                if R::MADE_AT_KEY {
                    instance.insert("post".into(), change(&own, Some(&one)));
                }
                continue;
            }
            let one = (method == "PATCH").then(|| self.body::<R>(resource, &name, method));
            let several = with_keys(body_schema(resource.settings(), method), keys);
            let picked = &picking[..picking.len() - PICKING.len()];
            let list = one_or_several(one.as_ref().unwrap_or(&nothing()), &several);
            collection.insert(method.to_lowercase(), change(picked, Some(&list)));
            instance.insert(method.to_lowercase(), change(&own, one.as_ref()));
        }
        let keys: Vec<String> = keys.iter().map(|key| format!("{{{key}}}")).collect();
        self.paths.insert(path.into(), collection.into());
        self.paths.insert(format!("{path}/{}", keys.join("/")), instance.into());
    }

    /// Adds a method's body as a schema of its own.
    fn body<R: Resource>(&mut self, resource: &R, name: &str, method: &str) -> Value {
        let name = format!("{name}_{}", method.to_lowercase());
        let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
        self.schemas.insert(name, body_schema(resource.settings(), method));
        reference
    }
}

/// One item, or `{"records": […]}`.
fn one_or_several(one: &Value, several: &Value) -> Value {
    let list = json!({ "type": "array", "items": several });
    let records = json!({
        "type": "object", "properties": { "records": list }, "required": ["records"], "additionalProperties": false,
    });
    json!({ "oneOf": [one, records] })
}

/// An item in a list of records: its keys, and the fields to change.
fn with_keys(mut schema: Value, keys: &[&str]) -> Value {
    for key in keys {
        let (first, rest) = key.split_once('.').map_or((*key, None), |(first, rest)| (first, Some(rest)));
        let text = json!({ "type": "string" });
        schema["properties"][first] = match (rest, first) {
            (Some(rest), _) => json!({ "type": "object", "properties": { rest: text }, "required": [rest] }),
            (None, "id") => json!({ "type": "integer", "minimum": 0 }),
            (None, _) => text,
        };
    }
    let required: Vec<&str> = keys.iter().map(|key| key.split('.').next().unwrap_or(key)).collect();
    schema["required"] = json!(required);
    schema
}

/// The schema of an empty body.
fn nothing() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// Parameters of a collection beside filters.
const PICKING: &[&str] = &["fields", "order_by", "max_records", "offset", "return_records"];

fn operation(summary: &str, parameters: &[Value], body: Option<&Value>, status: &str, answer: &Value) -> Value {
    let refused = response("Why not", &json!({ "$ref": "#/components/schemas/error" }));
    let mut operation = json!({
        "summary": summary,
        "parameters": parameters,
        "responses": { status: response("Done", answer), "default": refused },
    });
    if let Some(body) = body {
        operation["requestBody"] = json!({ "content": { "application/json": { "schema": body } } });
    }
    operation
}

fn response(description: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { "application/hal+json": { "schema": schema } } })
}

/// The names in braces in a path.
fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn in_path(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } })
}

fn filter(name: &str) -> Value {
    let description = "Only those whose value this query fits";
    json!({ "name": name, "in": "query", "description": description, "schema": { "type": "string" } })
}

fn parameters<'a>(names: &'a [&str]) -> impl Iterator<Item = Value> + 'a {
    names.iter().map(|name| {
        let schema = match *name {
            "max_records" => json!({ "type": "integer", "minimum": 0 }),
            "offset" => json!({ "type": "integer", "minimum": 0 }),
            "return_timeout" => json!({ "type": "integer", "minimum": 0, "maximum": 120 }),
            "return_records" => json!({ "type": "boolean" }),
            _ => json!({ "type": "string" }),
        };
        json!({ "name": name, "in": "query", "schema": schema })
    })
}

/// The schema of a record, from the dotted names of its fields.
pub(crate) fn record_schema<T>(fields: &[Field<T>]) -> Value {
    let mut schema = object(&json!({ "_links": links() }));
    for field in fields {
        let mut place = &mut schema;
        let parts: Vec<&str> = field.name.split('.').collect();
        for part in &parts[..parts.len() - 1] {
            let inner = &mut place["properties"][*part];
            if inner.is_null() {
                *inner = object(&json!({}));
            }
            place = inner;
        }
        place["properties"][parts[parts.len() - 1]] = of_kind(field.kind);
    }
    schema
}

/// The schema of a field's value.
pub(crate) fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::Ceiling | Kind::Floor => json!({ "type": "string" }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Number => json!({ "type": "integer", "minimum": 0 }),
        Kind::Truth => json!({ "type": "boolean" }),
        Kind::Moment => json!({ "type": "string", "format": "date-time" }),
        Kind::Named => named(),
        Kind::NamedList => json!({ "type": "array", "items": named() }),
        Kind::Error => error(),
        Kind::ReadWrite => numbers(&["read", "write", "other", "total"]),
        Kind::Latency => numbers(&LATENCY),
        Kind::Metric => stretch(&["iops", "throughput", "latency"], "duration"),
        Kind::Counters => stretch(&["iops_raw", "throughput_raw", "latency_raw"], "status"),
    }
}

/// The total latency and its parts.
const LATENCY: [&str; 6] = ["total", "network", "qos_max", "qos_min", "store", "disk"];

fn numbers(names: &[&str]) -> Value {
    let number = json!({ "type": "integer", "minimum": 0 });
    object(&names.iter().map(|name| ((*name).to_owned(), number.clone())).collect::<Map<_, _>>().into())
}

/// The schema of one interval: its timestamp and status, one more field called `text`, and
/// operations, bytes and latency under the given names.
fn stretch([iops, throughput, latency]: &[&str; 3], text: &str) -> Value {
    let mut stretch = object(&json!({
        "timestamp": of_kind(Kind::Moment),
        "status": of_kind(Kind::Text),
        text: of_kind(Kind::Text),
    }));
    for (name, kind) in [(iops, Kind::ReadWrite), (throughput, Kind::ReadWrite), (latency, Kind::Latency)] {
        stretch["properties"][*name] = of_kind(kind);
    }
    stretch
}

fn object(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

fn named() -> Value {
    object(&json!({ "name": { "type": "string" }, "uuid": { "type": "string" } }))
}

fn error() -> Value {
    let text = json!({ "type": "string" });
    object(&json!({ "message": text, "code": text, "target": text }))
}

fn error_envelope() -> Value {
    object(&json!({ "error": error() }))
}

fn link() -> Value {
    object(&json!({ "href": { "type": "string" } }))
}

fn links() -> Value {
    object(&json!({ "self": link() }))
}

fn job_link() -> Value {
    let job = object(&json!({ "uuid": { "type": "string" }, "_links": links() }));
    object(&json!({ "job": job, "num_records": { "type": "integer" } }))
}

fn page_schema(record: &Value) -> Value {
    object(&json!({
        "records": { "type": "array", "items": record },
        "num_records": { "type": "integer", "minimum": 0 },
        "_links": object(&json!({ "self": link(), "next": link() })),
    }))
}

impl Cluster {
    fn schema() -> Value {
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        let version = object(&json!({ "full": text, "generation": number, "major": number, "minor": number }));
        object(&json!({ "name": text, "uuid": text, "version": version, "_links": links() }))
    }
}
