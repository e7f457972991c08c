//! Mathematical functions under SQLite's names, for queries; the embedded SQLite has none. As in
//! SQLite, arguments that are not numbers and undefined results (`sqrt(-1)`) give NULL.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};
use std::f64::consts::PI;

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;

/// Functions of one argument.
const OF_ONE: [(&str, OfOne); 25] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", f64::to_degrees),
    ("exp", f64::exp),
    ("floor", f64::floor),
    ("ln", f64::ln),
    ("log", f64::log10),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("radians", f64::to_radians),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
    ("trunc", f64::trunc),
    // From ODBC; SQLite does not have it.
    ("cot", |x| x.tan().recip()),
];

/// Functions of two arguments.
const OF_TWO: [(&str, OfTwo); 5] = [
    ("atan2", f64::atan2),
    ("log", |base, x| x.log(base)),
    ("mod", |x, by| x % by),
    ("pow", f64::powf),
    ("power", f64::powf),
];

/// Registers the functions for queries of this connection.
pub(super) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("pi", 0, flags, |_| Ok(PI))?;
    for (name, of) in OF_ONE {
        connection.create_scalar_function(name, 1, flags, move |given| Ok(number(given, 0).map(of).and_then(known)))?;
    }
    for (name, of) in OF_TWO {
        connection.create_scalar_function(name, 2, flags, move |given| {
            Ok(number(given, 0).zip(number(given, 1)).map(|(one, other)| of(one, other)).and_then(known))
        })?;
    }
    Ok(())
}

fn number(given: &Context<'_>, at: usize) -> Option<f64> {
    match given.get_raw(at) {
        ValueRef::Integer(whole) => Some(whole as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(words) => std::str::from_utf8(words).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// `None` for undefined results, such as the logarithm of 0.
fn known(answer: f64) -> Option<f64> {
    answer.is_finite().then_some(answer)
}
