//! Records: each resource has a table of fields, and only fields that are shown, sorted or filtered
//! by are read.

use crate::filter::Filter;
use crate::openapi::of_kind;
use crate::problem::{Problem, code};
use crate::query::Query;
use crate::resource::{Resource, View};
use crate::selection::{Cost, is_within};
use ontap::value::FieldKind;
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// A field of a resource's records.
pub(crate) struct Field<T> {
    /// Its dotted name.
    pub name: &'static str,
    /// What it costs to read.
    pub cost: Cost,
    /// The type of its value.
    pub kind: Kind,
    /// Reads its value; `None` if it has none.
    pub read: fn(&View<'_>, T) -> Option<Value>,
}

/// The type of a field's value, for the OpenAPI document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number, not negative: bytes, operations per second, seconds, or a count, as its name
    /// says.
    Number,
    /// A boolean.
    Truth,
    /// `2026-11-23T15:45:58Z`
    Moment,
    /// A ceiling, as text: `1000IOPS,300MB/s`.
    Ceiling,
    /// A floor, as text.
    Floor,
    /// `{"name": …, "uuid": …}`
    Named,
    /// A list of those.
    NamedList,
    /// `{"message": …, "code": …, "target": …}`
    Error,
    /// `{"read": …, "write": …, "other": …, "total": …}`, operations or bytes per second.
    ReadWrite,
    /// `{"total": …}` and where it went, in microseconds.
    Latency,
    /// Rates over one interval.
    Metric,
    /// Counters since the server started.
    Counters,
}

impl<T> Field<T> {
    /// The same field with another type.
    pub(crate) const fn of(self, kind: Kind) -> Field<T> {
        Field { kind, ..self }
    }

    /// The kind of values that `filter` compares this field with, or the part of it at `name`.
    ///
    /// # Errors
    /// It has no such part, or the part is an object: an object can only be tested for presence.
    fn kind_for(&self, filter: &Filter, name: &str) -> Result<FieldKind, Problem> {
        match self.kind {
            Kind::Ceiling if name == self.name => return Ok(FieldKind::Ceiling),
            Kind::Floor if name == self.name => return Ok(FieldKind::Floor),
            Kind::Word(words) if name == self.name => return Ok(FieldKind::Word(words)),
            _ => {}
        }
        let mut place = (self.name.to_owned(), each(of_kind(self.kind)));
        for part in parts_beneath(self.name, name) {
            let (whole, mut schema) = place;
            place =
                (format!("{whole}.{part}"), each(schema["properties"].get_mut(part).map_or(Value::Null, Value::take)));
            if place.1.is_null() {
                let message = format!("{name:?}: {whole} has no part {part:?}; {}", parts_of(&whole, &schema));
                return Err(Problem::bad(code::UNEXPECTED, name, message));
            }
        }
        let (whole, schema) = place;
        if schema.get("properties").is_some() && matches!(filter, Filter::Fits { .. }) {
            let message = format!("{name}: must be null or !null, or name a part of it; {}", parts_of(&whole, &schema));
            return Err(Problem::bad(code::INVALID_VALUE, name, message));
        }
        Ok(match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("integer"), _) => FieldKind::Count,
            (Some("boolean"), _) => FieldKind::Truth,
            (_, Some("date-time")) => FieldKind::Time,
            _ => FieldKind::Text,
        })
    }
}

/// The schema of a list's elements, or the schema itself.
fn each(mut schema: Value) -> Value {
    match schema.get_mut("items") {
        Some(items) => items.take(),
        None => schema,
    }
}

fn parts_of(whole: &str, schema: &Value) -> String {
    match schema["properties"].as_object() {
        Some(parts) => {
            format!("it has {}", parts.keys().map(|part| format!("{whole}.{part}")).collect::<Vec<_>>().join(", "))
        }
        None => "it has none".into(),
    }
}

/// A field that is always shown.
pub(crate) const fn key<T>(name: &'static str, read: fn(&View<'_>, T) -> Option<Value>) -> Field<T> {
    Field { name, cost: Cost::Key, kind: Kind::Text, read }
}

/// A field that is shown on request.
pub(crate) const fn known<T>(name: &'static str, read: fn(&View<'_>, T) -> Option<Value>) -> Field<T> {
    Field { name, cost: Cost::Known, kind: Kind::Text, read }
}

/// A field that is shown if it is named, or with `**`: it requires asking the data thread.
pub(crate) const fn asked<T>(name: &'static str, read: fn(&View<'_>, T) -> Option<Value>) -> Field<T> {
    Field { name, cost: Cost::Asked, kind: Kind::Text, read }
}

/// Most records in an answer, by default.
const RECORDS_MAX: usize = 10_000;

/// The items of a collection that a query picks.
///
/// # Errors
/// The query names an unknown field, or compares a field with an impossible value.
pub(crate) fn picked<R: Resource>(resource: &R, view: &View<'_>, query: &Query) -> Result<Vec<R::Item>, Problem> {
    let known = |name: &str| {
        let field = resource.fields().iter().find(|field| is_within(name, field.name));
        field.ok_or_else(|| unknown(resource, name))
    };
    let conditions = query.filters.iter().map(|(name, filter)| {
        let field = known(name)?;
        let kind = field.kind_for(filter, name)?;
        Ok((field, name.as_str(), kind, filter.of_kind(kind, name)?))
    });
    let conditions: Vec<_> = conditions.collect::<Result<_, Problem>>()?;
    let fits = |item: &R::Item| {
        let holds = |(field, name, kind, filter): &(&Field<R::Item>, &str, FieldKind, Filter)| {
            filter.holds(*kind, within(field, name, view, *item).as_ref())
        };
        conditions.iter().all(holds)
    };
    let mut items: Vec<R::Item> =
        resource.items(view).into_iter().filter(|item| resource.is_seen(view, *item)).filter(fits).collect();
    // Sorts by the last field first: sorting is stable.
    for (name, largest_first) in query.order_by.iter().rev() {
        let field = known(name)?;
        field.kind_for(&Filter::Present, name)?;
        let mut keyed: Vec<(Option<Value>, R::Item)> =
            items.into_iter().map(|item| (within(field, name, view, item), item)).collect();
        keyed.sort_by(|(a, _), (b, _)| if *largest_first { order(b, a) } else { order(a, b) });
        items = keyed.into_iter().map(|(_, item)| item).collect();
    }
    Ok(items)
}

/// One page of a collection.
///
/// # Errors
/// The query names an unknown field.
pub(crate) fn page<R: Resource>(resource: &R, view: &View<'_>, query: &Query) -> Result<Value, Problem> {
    check_fields(resource, query)?;
    let items = picked(resource, view, query)?;
    let path = resource.path();
    let (begin, most) = (query.offset.min(items.len()), query.max_records.unwrap_or(RECORDS_MAX).min(RECORDS_MAX));
    let shown = &items[begin..items.len().min(begin + most)];
    let mut links = json!({ "self": { "href": query.link(&path, query.offset) } });
    if query.return_records == Some(false) {
        return Ok(json!({ "num_records": items.len(), "_links": links }));
    }
    if begin + shown.len() < items.len() {
        links["next"] = json!({ "href": query.link(&path, begin + shown.len()) });
    }
    let records: Vec<Value> = shown.iter().map(|item| record(resource, view, *item, query, false)).collect();
    Ok(json!({ "records": records, "num_records": records.len(), "_links": links }))
}

/// A single record; shows all known fields if no fields were asked for.
///
/// # Errors
/// The query names an unknown field.
pub(crate) fn instance<R: Resource>(
    resource: &R,
    view: &View<'_>,
    item: R::Item,
    query: &Query,
) -> Result<Value, Problem> {
    check_fields(resource, query)?;
    Ok(record(resource, view, item, query, true))
}

fn record<R: Resource>(resource: &R, view: &View<'_>, item: R::Item, query: &Query, alone: bool) -> Value {
    let mut record = Map::new();
    for field in resource.fields() {
        // Fields in filters are shown too, so that a client sees why it got the record.
        let is_asked = query.filters.iter().any(|(name, _)| is_within(name, field.name));
        let is_shown = match &query.fields {
            Some(selection) => selection.shows(field.name, field.cost),
            None => field.cost == Cost::Key || alone && field.cost == Cost::Known,
        };
        if (is_shown || is_asked)
            && let Some(value) = (field.read)(view, item)
        {
            put(&mut record, field.name, value);
        }
    }
    let href = format!("{}/{}", resource.path(), resource.key(view, item));
    record.insert("_links".into(), json!({ "self": { "href": href } }));
    record.into()
}

/// Sets a value at a dotted name.
fn put(record: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => drop(record.insert(name.into(), value)),
        Some((first, rest)) => {
            let inner = record.entry(first).or_insert_with(|| Map::new().into());
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// A field's value, or the part at `name` of it; for a list, that of each element.
fn within<T>(field: &Field<T>, name: &str, view: &View<'_>, item: T) -> Option<Value> {
    let value = (field.read)(view, item)?;
    parts_beneath(field.name, name).try_fold(value, |value, part| match value {
        Value::Array(list) => Some(list.iter().filter_map(|one| one.get(part).cloned()).collect::<Vec<_>>().into()),
        value => value.get(part).cloned(),
    })
}

/// The part of a dotted name that follows the field's own name.
fn parts_beneath<'a>(field: &str, name: &'a str) -> impl Iterator<Item = &'a str> {
    name[field.len()..].split('.').filter(|part| !part.is_empty())
}

/// Numbers by size, texts alphabetically; missing values come last.
fn order(a: &Option<Value>, b: &Option<Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a.cmp(b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

fn check_fields<R: Resource>(resource: &R, query: &Query) -> Result<(), Problem> {
    let names = query.fields.iter().flat_map(|selection| selection.names());
    let is_known = |name: &str| {
        name == "_links"
            || resource.fields().iter().any(|field| is_within(field.name, name) || is_within(name, field.name))
    };
    match names.into_iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("fields: {} have no field {name:?}; {}", resource.path(), names_of(resource));
            Err(Problem::bad(code::INVALID_VALUE, "fields", message))
        }
    }
}

fn unknown<R: Resource>(resource: &R, name: &str) -> Problem {
    let message = format!("{name:?} is no parameter here and no field of {}; {}", resource.path(), names_of(resource));
    Problem::bad(code::UNEXPECTED, name, message)
}

fn names_of<R: Resource>(resource: &R) -> String {
    let names: Vec<&str> = resource.fields().iter().map(|field| field.name).collect();
    format!("fields are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_of_what_has_a_value() {
        let asked = |kind, name: &str, text: &str| {
            let field = known::<()>("svm", |_, ()| None).of(kind);
            field.kind_for(&Filter::read(name, text).unwrap(), name).map_err(|problem| problem.message)
        };
        assert_eq!(asked(Kind::Named, "svm.name", "a*"), Ok(FieldKind::Text));
        assert_eq!(asked(Kind::NamedList, "svm.uuid", "a"), Ok(FieldKind::Text), "of each of them");
        assert_eq!(asked(Kind::Metric, "svm.iops.total", ">5"), Ok(FieldKind::Count));
        assert!(asked(Kind::Named, "svm", "!null").is_ok(), "whether it is there is known of a whole");
        let whole = "svm: must be null or !null, or name a part of it; it has svm.name, svm.uuid";
        assert_eq!(asked(Kind::NamedList, "svm", "a"), Err(whole.into()));
        let absent = "\"svm.nope\": svm has no part \"nope\"; it has svm.name, svm.uuid";
        assert_eq!(asked(Kind::Named, "svm.nope", "null"), Err(absent.into()));
        let deeper = "\"svm.name.x\": svm.name has no part \"x\"; it has none";
        assert_eq!(asked(Kind::Named, "svm.name.x", "a"), Err(deeper.into()));
        let ceiling = "\"svm.iops\": svm has no part \"iops\"; it has none";
        assert_eq!(asked(Kind::Ceiling, "svm.iops", "5"), Err(ceiling.into()));
    }
}
