//! Replaces variables in values: `${NAME}` from the environment and fio's keywords `$pagesize`,
//! `$mb_memory`, `$ncpus`.
//!
//! A value with a keyword may be arithmetic without parentheses, such as `8*$mb_memory`. It is
//! computed here.

use crate::error::Problem;
use crate::expression;
use crate::world::World;

/// Longer values are refused, because a variable may hold anything.
pub const VALUE_BYTES_MAX: usize = 64 << 10;

/// Replaces the environment's variables in `value`. A variable that is not set is empty, as in fio.
///
/// # Errors
/// A variable is not closed, or the value becomes too long.
pub fn environment(value: &str, world: &dyn World) -> Result<String, Problem> {
    let mut whole = String::new();
    let mut rest = value;
    while let Some(start) = rest.find("${") {
        whole.push_str(&rest[..start]);
        let end = rest[start..].find('}').ok_or_else(|| Problem::Variable(value.to_owned()))? + start;
        whole.push_str(&world.variable(&rest[start + 2..end]).unwrap_or_default());
        rest = &rest[end + 1..];
    }
    whole.push_str(rest);
    let (what, given, limit) = ("bytes of a value", whole.len() as u64, VALUE_BYTES_MAX as u64);
    if whole.len() > VALUE_BYTES_MAX { Err(Problem::TooMuch { what, given, limit }) } else { Ok(whole) }
}

/// The first variable in `value` that is not set.
pub fn unset<'v>(value: &'v str, world: &dyn World) -> Option<&'v str> {
    let mut names = value.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    names.find(|name| world.variable(name).is_none())
}

/// Replaces fio's keywords in `value`, and computes the result if there were any.
pub fn keywords(value: &str, world: &dyn World) -> String {
    let mut text = value.to_owned();
    let numbers = [("$pagesize", world.page_bytes()), ("$mb_memory", world.memory_mib()), ("$ncpus", world.cpus())];
    for (word, number) in numbers {
        text = text.replace(word, &number.to_string());
    }
    if text == value || !text.contains(['*', '/', '+', '%', '^']) || text.contains('(') {
        return text;
    }
    expression::whole(&format!("({text})"), |_| None).map_or(text, |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Given;

    #[test]
    fn variables_and_keywords() {
        let world = Given::default().with_variable("A", "64m");
        let environment = |text| environment(text, &world);
        assert_eq!(environment("x${A}y${A}"), Ok("x64my64m".into()));
        assert_eq!(environment("${NOT_SET}"), Ok(String::new()));
        assert_eq!(unset("${A}${NOT_SET}${NOR_THIS}", &world), Some("NOT_SET"));
        assert_eq!(environment("$jobname.$jobnum"), Ok("$jobname.$jobnum".into()));
        assert_eq!(environment("a${A"), Err(Problem::Variable("a${A".into())));
        assert_eq!(keywords("$pagesize", &world), "4096");
        // 8 · 8192 MiB.
        assert_eq!(keywords("8*$mb_memory", &world), "65536");
        assert_eq!(keywords("0-$ncpus", &world), "0-4");
        assert_eq!(keywords("(2*$ncpus)", &world), "(2*4)");
        assert_eq!(keywords("2*4", &world), "2*4");
    }
}
