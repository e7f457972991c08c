//! The selection of every `show` command: which objects, which of their fields, in which form.

use crate::grammar::{Arguments, Parameter, Problem};
use crate::value::{FieldKind, Output, Query, Switch, Value, ValueError};
use crate::word::Word;

/// What a `show` command selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Conditions that must all hold.
    pub filters: Vec<Filter>,
    /// The layout of the answer.
    pub form: Form,
    /// The form of the output.
    pub output: Output,
}

/// A condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The field, named as its parameter.
    pub field: &'static str,
    /// The condition on its text.
    pub query: Query,
}

/// The layout of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A table with the usual columns.
    #[default]
    Summary,
    /// A block of `label: value` lines for each object: with `-instance`, or if the keys identify a
    /// single object.
    Instance,
    /// A table with the keys and these columns (`-fields`).
    Fields(Vec<&'static str>),
}

pub(crate) const FIELDS: Parameter =
    Parameter::new::<Option<FieldList>>("fields", "Columns to show, with commas between them", None);
pub(crate) const INSTANCE: Parameter = Parameter::new::<Switch>("instance", "Show every field of each object", None);

pub(crate) const OUTPUT: Parameter =
    Parameter::new::<Output>("output", "As a table, or as JSON for programs", Some("text"));

/// The value of `-fields`: names to be checked once the command's columns are known.
struct FieldList(Vec<String>);

impl Value for FieldList {
    const SYNTAX: &'static str = "<fieldname>,...";

    fn from_word(word: &Word) -> Result<FieldList, ValueError> {
        let names: Vec<String> = word.text.split(',').map(|n| n.trim().to_ascii_lowercase()).collect();
        match names.iter().any(String::is_empty) {
            true => Err(ValueError::new(&word.text, "is not a list of fields: write names with single commas between")),
            false => Ok(FieldList(names)),
        }
    }
}

impl Selection {
    /// The query on a field, if there is one.
    pub fn query(&self, field: &str) -> Option<&Query> {
        self.filters.iter().find(|f| f.field == field).map(|f| &f.query)
    }

    pub(crate) fn read(
        arguments: &Arguments,
        columns: &[(&'static str, FieldKind)],
        keys: &[&'static str],
    ) -> Result<Selection, Vec<Problem>> {
        let (mut filters, mut problems) = (Vec::new(), Vec::new());
        for (field, kind) in columns.iter().copied() {
            let Some(query) = arguments.read::<Option<Query>>(field, None)? else { continue };
            match kind.read(query) {
                Ok(query) => filters.push(Filter { field, query }),
                Err(error) => problems.push(Problem::BadValue { parameter: field, error }),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let columns: Vec<&'static str> = columns.iter().map(|(field, _)| *field).collect();
        let named = |key: &&str| filters.iter().any(|f| f.field == *key && f.query.literal().is_some());
        let Switch(instance) = arguments.read("instance", None)?;
        let form = match arguments.read::<Option<FieldList>>("fields", None)? {
            Some(list) => Form::Fields(list.resolve(&columns)?),
            None if instance || (!keys.is_empty() && keys.iter().all(named)) => Form::Instance,
            None => Form::Summary,
        };
        let output = arguments.read("output", OUTPUT.default)?;
        Ok(Selection { filters, form, output })
    }
}

impl FieldList {
    fn resolve(&self, columns: &[&'static str]) -> Result<Vec<&'static str>, Vec<Problem>> {
        let mut fields = Vec::new();
        for name in &self.0 {
            let is_named = |column: &str| column == name || column.replace('-', "") == *name;
            match columns.iter().find(|column| is_named(column)) {
                Some(column) if fields.contains(column) => {}
                Some(column) => fields.push(*column),
                None => return Err(vec![Self::unknown(name, columns)]),
            }
        }
        Ok(fields)
    }

    fn unknown(name: &str, columns: &[&'static str]) -> Problem {
        let error = ValueError::new(name, format!("is not a field; there are {}", columns.join(", ")));
        let error = match nearest::to(name, columns.iter().copied()) {
            Some(meant) => error.meaning(meant),
            None => error,
        };
        Problem::BadValue { parameter: "fields", error }
    }
}
