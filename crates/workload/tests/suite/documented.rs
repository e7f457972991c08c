//! `docs/plans.md` agrees with the code: its example is a valid plan, and it lists exactly the keys
//! that are read.
//!
//! The code lists its keys in the message about an unknown one: "known here: name, size, lun".

use block::Bytes;
use std::collections::BTreeSet;
use workload::Plan;
use workload::plan::{DatabasePlan, Problem};

const PAGE: &str = include_str!("../../../../docs/plans.md");
/// A key that resembles none, so that the message lists all.
const STRANGER: &str = "zzzzzzzzzzzz";

/// A plan with all tables; `STRANGER` is inserted at one of the marks.
const TEMPLATE: &str = r#"
title = "t"
#plan
[scale]
published_iops = 1
#scale
[server]
svm = "s"
#server
[[volume]]
name = "v"
#volume
[[workload]]
name = "w"
lun = "/vol/v/lun1"
depth = 1
#workload
[[phase]]
name = "p"
#phase
"#;

#[test]
fn the_example_is_a_plan_whose_loads_fit_their_volumes() {
    let example = example();
    let plan = Plan::read(example, "plans.md").and_then(|plan| plan.sized(Bytes::mib(512)));
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((plan.workloads.len(), plan.phases.len(), plan.criteria.len()), (3, 3, 3));
    assert!(plan.device.is_some() && plan.published_iops.is_some());
}

#[test]
fn the_example_shows_every_key_of_plan_volume_workload_and_phase() {
    for section in ["The plan itself", "`[scale]`", "`[server]`", "`[[volume]]`", "`[[workload]]`", "`[[phase]]`"] {
        for key in keys_listed(section) {
            let shown = example().lines().any(|line| {
                let key_of = |part: &str| part.split('=').next().unwrap_or_default().trim() == key;
                key_of(line) || line.starts_with(&format!("[{key}]")) || line.starts_with(&format!("[[{key}]]"))
            });
            assert!(shown, "{key} of {section} is not in the example");
        }
    }
}

#[test]
fn the_tables_list_the_keys_that_are_read() {
    for (mark, section) in [
        ("#plan", "The plan itself"),
        ("#scale", "`[scale]`"),
        ("#server", "`[server]`"),
        ("#volume", "`[[volume]]`"),
        ("#workload", "`[[workload]]`"),
        ("#phase", "`[[phase]]`"),
    ] {
        let mut known = known_at(&TEMPLATE.replace(mark, &format!("{STRANGER} = 1")));
        // A phase also accepts the names of workloads.
        known.remove("w");
        assert_eq!(keys_listed(section), known, "{section}");
    }
}

#[test]
fn the_tables_of_a_plan_of_a_database_list_their_keys() {
    let known = |text: &str| {
        let errors = DatabasePlan::read(text, "f").unwrap_err().0.into_iter().map(|error| error.problem);
        known_in(errors.collect())
    };
    let template = TEMPLATE.replace("[[phase]]", "[[arm]]").replace("#phase", "#arm");
    let template = format!("{template}\n[database]\nvolume = \"v\"\n#database\n[policies]\n#policies\n");
    let marks = [
        ("#plan", "A plan of a database"),
        ("#database", "`[database]`"),
        ("#policies", "`[policies]`"),
        ("#arm", "`[[arm]]`"),
    ];
    for (mark, section) in marks {
        let mut known = known(&template.replace(mark, &format!("{STRANGER} = 1")));
        // An arm also accepts the names of workloads.
        known.remove("w");
        if mark == "#arm" {
            known.remove("seconds");
        }
        assert_eq!(keys_listed(section), known, "{section}");
    }
}

#[test]
fn a_phase_changes_the_keys_of_a_load() {
    let known = known_at(&TEMPLATE.replace("#phase", &format!("w = {{ {STRANGER} = 1 }}")));
    let mut of_workload = keys_listed("`[[workload]]`");
    for key in ["name", "host", "lun", "volume", "seed"] {
        assert!(of_workload.remove(key), "{key}");
    }
    assert_eq!(known, of_workload);
}

#[test]
fn kinds_and_their_keys_are_those_that_are_read() {
    for (section, table) in [("`[[criterion]]`", "[[criterion]]"), ("`[device]`", "[device]")] {
        let kinds = kinds_listed(section);
        // The message about an unknown kind lists all kinds.
        let wrong = errors_of(&format!("{TEMPLATE}\n{table}\nkind = \"{STRANGER}\"\n"));
        let Some(Problem::Value { rule, .. }) = wrong.first() else { panic!("{wrong:?}") };
        assert_eq!(rule.split(" or ").collect::<Vec<_>>(), kinds.iter().map(|(kind, _)| &kind[..]).collect::<Vec<_>>());
        let mut all = BTreeSet::from(["kind".to_string()]);
        for (kind, keys) in kinds {
            let mut known = known_at(&format!("{TEMPLATE}\n{table}\nkind = \"{kind}\"\n{STRANGER} = 1\n"));
            assert!(known.remove("kind"));
            assert_eq!(keys, known, "{kind}");
            all.extend(keys);
        }
        assert_eq!(keys_listed(section), all, "{section}");
    }
}

fn example() -> &'static str {
    PAGE.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).expect("the page has an example").0
}

fn errors_of(text: &str) -> Vec<Problem> {
    Plan::read(text, "f").unwrap_err().0.into_iter().map(|error| error.problem).collect()
}

/// The keys that the code lists in its message about the stranger.
fn known_at(text: &str) -> BTreeSet<String> {
    known_in(errors_of(text))
}

fn known_in(errors: Vec<Problem>) -> BTreeSet<String> {
    let advice = errors.into_iter().find_map(|problem| match problem {
        Problem::UnknownKey { key, advice, .. } if key.ends_with(STRANGER) => Some(advice),
        _ => None,
    });
    let advice = advice.expect("the stranger is noted");
    advice.strip_prefix("known here: ").expect("it resembles none").split(", ").map(str::to_owned).collect()
}

/// The lines of the section with this heading.
fn section(heading: &str) -> impl Iterator<Item = &'static str> {
    let begin = format!("## {heading}");
    PAGE.lines().skip_while(move |line| *line != begin).skip(1).take_while(|line| !line.starts_with("## "))
}

/// All texts in backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// First column of a section's last table, which lists the keys.
fn keys_listed(heading: &str) -> BTreeSet<String> {
    let rows = section(heading).skip_while(|line| !line.starts_with("| key ")).skip(2);
    let rows: Vec<_> = rows.take_while(|line| line.starts_with('|')).collect();
    assert!(!rows.is_empty(), "{heading} has a table of keys");
    rows.into_iter().flat_map(|row| quoted(row.split('|').nth(1).unwrap_or_default())).collect()
}

/// The first and the last column of a section's table of kinds.
fn kinds_listed(heading: &str) -> Vec<(String, BTreeSet<String>)> {
    let rows = section(heading).skip_while(|line| !line.starts_with("| kind ")).skip(2);
    let kind = |row: &str| quoted(row.split('|').nth(1).unwrap_or_default()).pop_first().expect("a kind in backticks");
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| (kind(row), quoted(row.split('|').nth(3).unwrap_or_default())))
        .collect()
}
