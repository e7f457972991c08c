//! Dispatches a request: finds the resource, reads the records it shows, and makes the commands of
//! its changes.
//!
//! ```text
//!   GET     /api/storage/volumes?name=v*        records that the query picks
//!   GET     /api/storage/volumes/UUID           one record
//!   POST    /api/storage/volumes                one, or {"records": […]}
//!   PATCH   /api/storage/volumes/UUID           one
//!   PATCH   /api/storage/volumes?name=v*        all that the query picks, or {"records": […]} by their keys
//!   DELETE                                      likewise
//! ```
//! The changes of one request take effect as a unit.

use crate::body::Body;
use crate::caller::Caller;
use crate::exposition;
use crate::json;
use crate::openapi;
use crate::parameter;
use crate::pass_through;
use crate::problem::{Problem, code};
use crate::query::{Query, decoded};
use crate::record::{instance, page, picked};
use crate::resource::{
    Aggregates, Certificates, Cluster, EmsEvents, Job, Jobs, JobsResource, Luns, Metrics, Policies, Qtrees, Resource,
    Svms, View, VolumeFiles, VolumeSnapshots, Volumes, Workloads, unsupported,
};
use admin::{Administration, At};
use block::{ObjectId, Span};
use ontap::Command;
use qos::RefusalKind;
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// A request, as parsed by HTTP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// The query string, after the question mark.
    pub query: &'a str,
    pub body: &'a [u8],
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reply {
    pub status: u16,
    /// The location of what was made.
    pub location: Option<String>,
    /// How long to wait before asking again.
    pub wait: Option<Span>,
    /// The methods that are supported, if another one was used.
    pub allow: Option<String>,
    pub body: Value,
    /// A body that is Prometheus' text and not JSON.
    pub text: Option<String>,
}

/// Access to the administration's state and its commands.
pub(crate) trait PoolAccess {
    /// Lets the caller inspect the state.
    fn look(&self, look: &mut dyn FnMut(&Administration, &At<'_>)) -> Result<(), Problem>;

    /// The generation of the catalogue: it grows by one with each change.
    fn generation(&self) -> u64;

    /// Runs a command line, with the password that it needs; returns its answer as text.
    fn line(&mut self, line: &str, secret: Option<&str>) -> Result<String, Problem>;

    /// Runs commands as a unit.
    fn run(&mut self, commands: Vec<Command>) -> Result<(), Problem>;
}

/// State of the REST server beyond that of its pool.
#[derive(Debug)]
pub(crate) struct RestState {
    pub cluster: Cluster,
    pub jobs: Jobs,
}

/// Answers a request.
pub(crate) fn answer(state: &mut RestState, pool: &mut dyn PoolAccess, caller: &Caller, request: Request<'_>) -> Reply {
    let mut errand = Errand { state, pool, caller, request, methods: vec!["GET"] };
    let mut reply = errand.answer().unwrap_or_else(Reply::from);
    reply.allow = (reply.status == 405).then(|| errand.methods.join(", "));
    reply
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Reply {
        Reply { status: problem.status, wait: problem.wait, body: problem.body(), ..Reply::default() }
    }
}

struct Errand<'a> {
    state: &'a mut RestState,
    pool: &'a mut dyn PoolAccess,
    caller: &'a Caller,
    request: Request<'a>,
    /// The methods that the path supports.
    methods: Vec<&'static str>,
}

/// Makes the commands that change one item as its body says.
type CommandsOf<'a, T> = &'a dyn Fn(&View<'_>, T, &mut Body) -> Result<Vec<Command>, Problem>;

/// The items of a change, with their bodies.
struct Change<T> {
    items: Vec<(T, Body)>,
    /// Whether it was addressed by the key of one item.
    is_instance: bool,
}

/// The end of a change.
struct Ended {
    reply: Reply,
    /// If not, the reply has the job that failed.
    is_done: bool,
}

impl Errand<'_> {
    fn answer(&mut self) -> Result<Reply, Problem> {
        let path = decoded(&self.request.path.replace('+', "%2B"))?;
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match parts[..] {
            ["metrics"] => self.exposition(),
            ["docs", "api"] => self.only_shown("document", openapi::document),
            ["api", "private", "cli", ref words @ ..] => self.line(words),
            ["api", "cluster"] => self.only_shown("cluster", || self.state.cluster.record()),
            ["api", "cluster", "jobs", ref key @ ..] => self.resource(&JobsResource, key),
            ["api", "security", "certificates", ref key @ ..] => self.resource(&Certificates, key),
            ["api", "svm", "svms", ref key @ ..] => self.resource(&Svms, key),
            ["api", "storage", "aggregates", ref key @ ..] => self.resource(&Aggregates, key),
            ["api", "support", "ems", "events", ref key @ ..] => self.resource(&EmsEvents, key),
            ["api", "storage", "luns", lun, "metrics", ref key @ ..] => self.metrics(&Luns, lun, key),
            ["api", "storage", "qtrees", volume, id, "metrics", ref key @ ..] => {
                self.metrics(&Qtrees, &format!("{volume}/{id}"), key)
            }
            ["api", "storage", "qos", "workloads", workload, "metrics", ref key @ ..] => {
                self.metrics(&Workloads, workload, key)
            }
            ["api", "storage", "volumes", volume, "metrics", ref key @ ..] => self.metrics(&Volumes, volume, key),
            ["api", "storage", "luns", ref key @ ..] => self.resource(&Luns, key),
            ["api", "storage", "qtrees", ref key @ ..] => self.resource(&Qtrees, key),
            ["api", "storage", "qos", "policies", ref key @ ..] => self.resource(&Policies, key),
            ["api", "storage", "qos", "workloads", ref key @ ..] => self.resource(&Workloads, key),
            ["api", "storage", "volumes", volume, "snapshots", ref key @ ..] => {
                let volume = self.look(|view| known(&Volumes, view, volume))?;
                self.resource(&VolumeSnapshots { volume }, key)
            }
            ["api", "storage", "volumes", volume, "files", ref key @ ..] => {
                let volume = self.look(|view| known(&Volumes, view, volume))?;
                self.resource(&VolumeFiles { volume }, key)
            }
            ["api", "storage", "volumes", ref key @ ..] => self.resource(&Volumes, key),
            _ => Err(Problem::missing(format!("{path}: there is nothing at this path"))),
        }
    }

    /// The metrics for Prometheus.
    fn exposition(&self) -> Result<Reply, Problem> {
        match self.request.method {
            "GET" => {
                let text = self.look(|view| Ok(exposition::text(view)))?;
                Ok(Reply { status: 200, text: Some(text), ..Reply::default() })
            }
            method => Err(unsupported("page of metrics", method)),
        }
    }

    /// A resource that can only be read.
    fn only_shown(&self, what: &str, record: impl Fn() -> Value) -> Result<Reply, Problem> {
        if self.request.method != "GET" {
            return Err(unsupported(what, self.request.method));
        }
        Query::read(self.request.query)?.picks_nothing(&format!("the one {what}"), &[])?;
        Ok(Reply { status: 200, body: record(), ..Reply::default() })
    }

    /// Runs a command line.
    fn line(&mut self, words: &[&str]) -> Result<Reply, Problem> {
        let Request { method, query, body, .. } = self.request;
        self.methods.extend(["POST", "PATCH", "DELETE"]);
        if !self.methods.contains(&method) {
            return Err(unsupported("command", method));
        }
        let line = pass_through::line(words, method, query, json::object(body)?)?;
        pass_through::check(self.caller, &line.text)?;
        let text = self.pool.line(&line.text, line.secret.as_deref())?;
        let status = if line.answer == pass_through::Answer::Text && method == "POST" { 201 } else { 200 };
        Ok(Reply { status, body: pass_through::told(line.answer, &text), ..Reply::default() })
    }

    fn resource<R: Resource>(&mut self, resource: &R, key: &[&str]) -> Result<Reply, Problem> {
        let key = key.join("/");
        let key = Some(key.as_str()).filter(|key| !key.is_empty());
        let method = self.request.method;
        let is_there = |change: &str| change != "POST" || key.is_none() || R::MADE_AT_KEY;
        self.methods.extend(R::CHANGES.iter().copied().filter(|change| is_there(change)));
        if !self.methods.contains(&method) {
            return Err(unsupported(R::NAME, method));
        }
        let query = Query::read(self.request.query)?;
        if key.is_some() || method == "POST" {
            let texts = if method == "PATCH" { R::IN_QUERY } else { &[] };
            query.picks_nothing(&format!("the one {}", R::NAME), texts)?;
        }
        match (method, key) {
            ("GET", _) => self.get(resource, key, &query),
            ("POST", key) => self.post(resource, key, &query),
            ("PATCH", _) => {
                let modify = |view: &View<'_>, item, body: &mut Body| resource.modify(view, item, body);
                self.change(resource, key, &query, &modify)
            }
            ("DELETE", _) => {
                let delete = |view: &View<'_>, item, _: &mut Body| resource.delete(view, item);
                self.change(resource, key, &query, &delete)
            }
            (method, _) => Err(unsupported(R::NAME, method)),
        }
    }

    /// The metrics of one object over time.
    fn metrics<R: Resource<Item = ObjectId>>(&self, of: &R, one: &str, key: &[&str]) -> Result<Reply, Problem> {
        if self.request.method != "GET" {
            return Err(unsupported(Metrics::NAME, self.request.method));
        }
        let (mut query, key) = (Query::read(self.request.query)?, key.join("/"));
        let interval = Metrics::interval(&mut query)?;
        let path = format!("{}/{one}/metrics", of.path());
        let metrics = self.look(|view| Metrics::read(view, path.clone(), known(of, view, one)?, interval))?;
        self.get(&metrics, Some(key.as_str()).filter(|key| !key.is_empty()), &query)
    }

    fn get<R: Resource>(&self, resource: &R, key: Option<&str>, query: &Query) -> Result<Reply, Problem> {
        let body = self.look(|view| match key {
            None => page(resource, view, query),
            Some(key) => instance(resource, view, known(resource, view, key)?, query),
        })?;
        Ok(Reply { status: 200, body, ..Reply::default() })
    }

    fn post<R: Resource>(&mut self, resource: &R, key: Option<&str>, query: &Query) -> Result<Reply, Problem> {
        let mut body = Body::from(json::object(self.request.body)?);
        if let Some(key) = key {
            resource.put_key(&mut body, key)?;
        }
        let list = body.list("records")?;
        let is_list = list.is_some();
        let bodies = list.unwrap_or_else(|| vec![std::mem::take(&mut body)]);
        body.end()?;
        let (commands, svms) = self.look(|view| {
            let (mut commands, mut of) = (Vec::new(), BTreeSet::new());
            for body in &bodies {
                let mut body = body.clone();
                let svm = svm_named(view, &body).or(resource.of_svm(view));
                view.may_change(svm)?;
                of.extend(svm);
                commands.extend(resource.create(view, &mut body)?);
                body.end()?;
            }
            Ok((commands, of))
        })?;
        let Ended { mut reply, is_done } = self.done(resource, query, 201, svms, commands)?;
        if !is_done {
            return Ok(reply);
        }
        let (keys, records) = self.look(|view| {
            let items = bodies.iter().filter_map(|body| resource.made(view, body.clone()));
            let items: Vec<R::Item> = items.collect();
            let keys: Vec<String> = items.iter().map(|item| resource.key(view, *item)).collect();
            let plain = Query::default();
            let wanted = if query.return_records == Some(true) { &items[..] } else { &[] };
            let records = wanted.iter().map(|item| instance(resource, view, *item, &plain));
            Ok((keys, records.collect::<Result<Vec<Value>, Problem>>()?))
        })?;
        if let [key] = &keys[..] {
            reply.location = Some(format!("{}/{key}", resource.path()));
        }
        if is_list || query.return_records == Some(true) {
            reply.body["num_records"] = bodies.len().into();
        }
        if query.return_records == Some(true) {
            reply.body["records"] = records.into();
        }
        Ok(reply)
    }

    fn change<R: Resource>(
        &mut self,
        resource: &R,
        key: Option<&str>,
        query: &Query,
        commands_of: CommandsOf<'_, R::Item>,
    ) -> Result<Reply, Problem> {
        let mut body = Body::from(json::object(self.request.body)?);
        for field in R::IN_QUERY.iter().filter(|_| key.is_some()) {
            if let Some(text) = query.text(field) {
                body.put(field, text)?;
            }
        }
        let (commands, number, svms) = self.look(|view| {
            if let Some(key) = key.filter(|key| self.request.method == "PATCH" && resource.find(view, key).is_none()) {
                let mut body = body.clone();
                if let Some(commands) = resource.modify_other(view, key, &mut body) {
                    let commands = commands?;
                    body.end()?;
                    return Ok((commands, None, resource.of_svm(view).into_iter().collect()));
                }
            }
            let Change { items, is_instance } =
                change(resource, view, (self.request.method, key), query, body.clone())?;
            let (number, mut commands, mut of) = (items.len(), Vec::new(), BTreeSet::new());
            for (item, mut body) in items {
                let svm = resource.svm(view, item);
                view.may_change(svm)?;
                of.extend(svm);
                commands.extend(commands_of(view, item, &mut body)?);
                body.end()?;
            }
            Ok((commands, (!is_instance).then_some(number), of))
        })?;
        let Ended { mut reply, .. } = self.done(resource, query, 200, svms, commands)?;
        if let Some(number) = number {
            reply.body["num_records"] = number.into();
        }
        Ok(reply)
    }

    /// Executes a change, and answers at once, or with a job if the client does not say that it
    /// waits.
    fn done<R: Resource>(
        &mut self,
        resource: &R,
        query: &Query,
        status: u16,
        svms: BTreeSet<ObjectId>,
        commands: Vec<Command>,
    ) -> Result<Ended, Problem> {
        if !R::HAS_JOBS || query.return_timeout.is_some_and(|seconds| seconds > 0) {
            self.run(resource, commands)?;
            return Ok(Ended { reply: Reply { status, body: json!({}), ..Reply::default() }, is_done: true });
        }
        let (uuid, time) = self.look(|view| Ok((view.at.world.uuid(), view.at.date())))?;
        let description = format!("{} {}", self.request.method, self.request.path);
        let mut job = Job { uuid, description, time, svms, problem: None };
        self.state.jobs.begin(&job, self.pool.generation())?;
        // Invalid input is answered at once. An obstacle makes the job fail, and so does a failure
        // after the change took effect.
        let fails_later = |problem: &Problem| {
            problem.is_in_force || matches!(problem.kind, Some(RefusalKind::InUse | RefusalKind::Full))
        };
        match self.run(resource, commands) {
            Err(problem) if !fails_later(&problem) => {
                self.state.jobs.withdraw(&job);
                return Err(problem);
            }
            ended => job.problem = ended.err(),
        }
        let is_done = job.problem.is_none();
        self.state.jobs.end(job);
        let uuid = admin::uuid_text(uuid);
        let href = format!("{}/{uuid}", JobsResource.path());
        let body = json!({ "job": { "uuid": uuid, "_links": { "self": { "href": href } } } });
        Ok(Ended { reply: Reply { status: 202, body, ..Reply::default() }, is_done })
    }

    /// Runs commands. An error about a parameter is reported for the field that it came from.
    fn run<R: Resource>(&mut self, resource: &R, commands: Vec<Command>) -> Result<(), Problem> {
        if commands.is_empty() {
            return Ok(());
        }
        self.pool.run(commands).map_err(|problem| {
            let body = json::object(self.request.body).unwrap_or_default();
            let field = |parameter: &String| parameter::field(parameter, resource.settings(), &body);
            Problem { target: problem.target.as_ref().and_then(field), ..problem }
        })
    }

    fn look<T>(&self, look: impl Fn(&View<'_>) -> Result<T, Problem>) -> Result<T, Problem> {
        let RestState { cluster, jobs } = &*self.state;
        let mut seen = None;
        self.pool.look(&mut |administration, at| {
            let events = OnceCell::new();
            let view = View { administration, at, caller: self.caller, jobs, cluster, events };
            seen = Some(look(&view));
        })?;
        seen.unwrap_or_else(|| Err(Problem::new(500, code::INTERNAL, "nobody looked")))
    }
}

/// The item with a key, if the caller may see it.
fn known<R: Resource>(resource: &R, view: &View<'_>, key: &str) -> Result<R::Item, Problem> {
    let found = resource.find(view, key).filter(|item| resource.is_seen(view, *item));
    found.ok_or_else(|| Problem::missing(format!("there is no {} {key:?} (entry doesn't exist)", R::NAME)))
}

/// The items of a PATCH or DELETE, and the body for each.
fn change<R: Resource>(
    resource: &R,
    view: &View<'_>,
    (method, key): (&str, Option<&str>),
    query: &Query,
    mut body: Body,
) -> Result<Change<R::Item>, Problem> {
    if let Some(key) = key {
        return Ok(Change { items: vec![(known(resource, view, key)?, body)], is_instance: true });
    }
    if let Some(list) = body.list("records")? {
        body.end()?;
        let one = |mut body: Body| {
            let key = resource.key_in(&mut body)?;
            Ok((known(resource, view, &key)?, body))
        };
        return Ok(Change { items: list.into_iter().map(one).collect::<Result<_, Problem>>()?, is_instance: false });
    }
    if query.filters.is_empty() {
        let message =
            format!("{}: give a key in the path, or at least one field to pick by, such as ?name=v*", R::NAME);
        return Err(Problem::new(400, code::BAD_FIELD, message));
    }
    // If the query picks no items, nothing else checks the body.
    body.check(resource.settings(), method)?;
    let items = picked(resource, view, query)?.into_iter().map(|item| (item, body.clone())).collect();
    Ok(Change { items, is_instance: false })
}

/// The SVM that a body names, if it exists.
fn svm_named(view: &View<'_>, body: &Body) -> Option<ObjectId> {
    let mut svm = body.clone().object("svm").ok()??;
    match (svm.text("name").ok()?, svm.text("uuid").ok()?) {
        (Some(name), _) => view.registry().find_svm(&name),
        (None, Some(uuid)) => view.object(qos::ObjectKind::Svm, &uuid),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
