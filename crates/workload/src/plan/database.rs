//! A plan of a database: users of a real one on a volume, other workloads on others, and arms that
//! take turns. `plans/order-entry-beside-a-bully.toml` is one.
//!
//! | table | keys |
//! | --- | --- |
//! | the plan | `title`, `about`, `seed` (1) |
//! | `[scale]`, `[server]`, `[[volume]]`, `[[workload]]`, `[device]` | as in every plan |
//! | `[database]` | see [`PlannedDatabase`] |
//! | `[policies]` | `create`: the lines that make policies, run once; `reset`: those that take them off, run before each arm |
//! | `[[arm]]` | `name`, `about`, `commands`, and `WORKLOAD = { … }` for what changes in its load |
//! | `[[criterion]]` | `kind` (`tpm-kept`, `tpm-lost`), `arm`, `baseline`, `part` |
//!
//! Arms differ from phases in that each starts from the plan's base: what one arm changes is not in
//! force in the next.

use super::advice;
use super::error::{PlanErrors, Problem};
use super::read::{Entry, Sections, Unique, document, owned, phase};
use super::server;
use super::table::{Found, Report, Table};
use super::{Plan, Volume, device};
use block::{Bytes, Span};

/// A database next to other workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabasePlan {
    /// Volumes, workloads, server and device. Its phases are the arms, each with its complete load.
    pub plan: Plan,
    /// The database.
    pub database: PlannedDatabase,
    /// The commands that create policies, run once.
    pub create: Vec<String>,
    /// The commands that detach them, run before each arm's own.
    pub reset: Vec<String>,
    /// The criteria of the run.
    pub goals: Vec<Goal>,
}

/// The database and its users.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedDatabase {
    /// Index of its volume in the plan's volumes.
    pub volume: usize,
    /// Scale of its setup: 1 is a million customers.
    pub scale: f64,
    /// Number of users at work, each without think time.
    pub users: u32,
    /// The database's own cache.
    pub buffers: Bytes,
    /// Memory limit of its processes, page cache included.
    pub memory: Bytes,
    /// Number of turns of each arm.
    pub rounds: u32,
    /// Time that users work before a turn is measured.
    pub warm_up: Span,
    /// Length of the measurement.
    pub window: Span,
    /// What makes the server's disk the bottleneck on real storage.
    pub bottleneck: Bottleneck,
    /// The latency of its requests alone on the published machine. On real storage the plan's
    /// latencies are multiplied by the measured latency divided by this.
    pub published_latency: Option<Span>,
    /// In a simulation: the size of the database.
    pub size: Bytes,
    /// In a simulation: processor time of a transaction.
    pub host_time: Span,
    /// In a simulation: number of the host's processors.
    pub processors: u32,
}

/// What makes the server's disk the bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bottleneck {
    /// A control group that allows a quarter of the disk's measured throughput.
    #[default]
    Cgroup,
    /// A separate disk with a fixed latency and a limited number of requests at a time.
    Delay,
    /// Nothing.
    None,
}

/// A criterion on the transactions of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Direction of the comparison.
    pub kind: GoalKind,
    /// Index of the arm.
    pub arm: usize,
    /// Index of the arm to compare it with.
    pub baseline: usize,
    /// Fraction of the baseline's transactions, above 0 and up to 1.
    pub part: f64,
}

/// Direction of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalKind {
    /// At least the fraction is kept.
    Kept,
    /// Less than the fraction is left; otherwise there is nothing to protect the database from.
    Lost,
}

/// Maximum number of users: each is a thread and a connection.
const USERS_MAX: u32 = 1024;
/// Maximum number of rounds.
const ROUNDS_MAX: u32 = 100;
/// Longest turn, in seconds.
const SECONDS_MAX: u32 = 3600;

impl DatabasePlan {
    /// Whether `text` is a plan of a database, recognised by its `[database]`.
    pub fn is_meant(text: &str) -> bool {
        toml::de::DeTable::parse_recoverable(text).0.get_ref().contains_key("database")
    }

    /// Reads a plan of a database from `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// Every mistake, one line each.
    pub fn read(text: &str, file: &str) -> Result<DatabasePlan, PlanErrors> {
        let report = Report::new(text, file);
        let Some(document) = document(text, &report) else { return Err(report.into_errors()) };
        let plan = plan(&Table::root(&report, document.get_ref()), text, file);
        if report.is_clean() { Ok(plan) } else { Err(report.into_errors()) }
    }
}

fn plan(root: &Table<'_>, text: &str, file: &str) -> DatabasePlan {
    let known = ["title", "about", "seed", "scale", "server", "volume", "workload", "database", "policies", "arm"];
    root.only(&[&known[..], &["criterion", "device"]].concat());
    root.missing("title", "say in a few words what the experiment is called");
    root.missing("server", "begin it with a line [server] and name its svm");
    let (svm, settings) = server::read(root);
    let seed = root.whole("seed").unwrap_or(1);
    let sections = Sections { root: root.clone() };
    let volumes = sections.volumes();
    if !volumes.iter().all(|volume| volume.is_served() && volume.clone_of.is_none()) {
        root.wrong("volume", "volumes of the plan's own server", "leave place and clone_of out beside a [database]");
    }
    let workloads = sections.workloads(seed, &volumes);
    let database = database(root, &volumes, &workloads);
    let phases = arms(root, &workloads, &volumes);
    let names: Vec<&str> = phases.iter().map(|arm| arm.name.as_str()).collect();
    let goals = root.tables("criterion", "[[criterion]]").iter().filter_map(|table| goal(table, &names)).collect();
    let (create, reset) = policies(root);
    let plan = Plan {
        file: file.to_owned(),
        text: text.to_owned(),
        title: owned(root.text("title")),
        about: owned(root.text("about")),
        seed,
        published_iops: sections.published_iops(),
        scale_most: sections.scale_most(),
        svm,
        settings,
        phase_length: database.window,
        volumes,
        workloads: workloads.into_iter().map(|entry| entry.workload).collect(),
        phases,
        criteria: Vec::new(),
        device: root.table("device", "[device]").and_then(|table| device::read(&table)),
    };
    DatabasePlan { plan, database, create, reset, goals }
}

fn arms(root: &Table<'_>, workloads: &[Entry], volumes: &[Volume]) -> Vec<super::Phase> {
    root.missing("arm", "begin each with a line [[arm]] and name it");
    let mut names = Unique::default();
    let arm = |table: &Table<'_>| {
        if table.has("seconds") {
            table.wrong("seconds", "absent in an arm", "all arms are as long as [database] says");
        }
        phase(table, &mut workloads.to_vec(), volumes, &mut names)
    };
    root.tables("arm", "[[arm]]").iter().map(arm).collect()
}

fn policies(root: &Table<'_>) -> (Vec<String>, Vec<String>) {
    let Some(table) = root.table("policies", "[policies]") else { return Default::default() };
    table.only(&["create", "reset"]);
    let lines = |key| table.texts(key).into_iter().map(|line| line.value.to_owned()).collect();
    (lines("create"), lines("reset"))
}

fn database(root: &Table<'_>, volumes: &[Volume], workloads: &[Entry]) -> PlannedDatabase {
    let mut planned = PlannedDatabase {
        volume: 0,
        scale: 0.1,
        users: 8,
        buffers: Bytes::mib(16),
        memory: Bytes::mib(128),
        rounds: 5,
        warm_up: Span::from_secs(3),
        window: Span::from_secs(12),
        bottleneck: Bottleneck::Cgroup,
        published_latency: None,
        size: Bytes::gib(1),
        host_time: Span::from_millis(1),
        processors: 2,
    };
    let Some(table) = root.table("database", "[database]") else { return planned };
    table.only(&[
        "volume",
        "scale",
        "users",
        "buffers",
        "memory",
        "rounds",
        "warm_up_seconds",
        "seconds",
        "bottleneck",
        "published_latency",
        "size",
        "host_time",
        "processors",
    ]);
    planned.volume = on_volume(&table, volumes, workloads);
    let ranged = |key: &str, least: u32, most: u32, advice: &str| {
        let given = table.count(key)?;
        if !(least..=most).contains(&given) {
            table.wrong(key, format!("from {least} to {most}"), advice);
        }
        Some(given)
    };
    planned.scale =
        table.number("scale", 0.0, 1000.0, "1 has a million customers, 0.1 is usual").unwrap_or(planned.scale);
    planned.users = ranged("users", 1, USERS_MAX, "each is a connection").unwrap_or(planned.users);
    planned.rounds = ranged("rounds", 1, ROUNDS_MAX, "five are the least that say something").unwrap_or(planned.rounds);
    planned.processors =
        ranged("processors", 1, USERS_MAX, "those of the database's host").unwrap_or(planned.processors);
    let seconds = |given: Option<u32>| given.map(|given| Span::from_secs(u64::from(given)));
    let advice = "10 to 20 are enough";
    planned.window = seconds(ranged("seconds", 2, SECONDS_MAX, advice)).unwrap_or(planned.window);
    planned.warm_up = seconds(ranged("warm_up_seconds", 2, SECONDS_MAX, advice)).unwrap_or(planned.warm_up);
    sizes(&table, &mut planned);
    let words = [("cgroup", Bottleneck::Cgroup), ("delay", Bottleneck::Delay), ("none", Bottleneck::None)];
    planned.bottleneck = table.choice("bottleneck", &words).unwrap_or_default();
    planned.published_latency = table.duration("published_latency");
    if planned.published_latency == Some(Span::ZERO) {
        table.wrong("published_latency", "more than 0", "say what a request of the database takes alone");
    }
    planned.host_time = table.duration("host_time").unwrap_or(planned.host_time);
    planned
}

fn sizes(table: &Table<'_>, planned: &mut PlannedDatabase) {
    for (key, size, advice) in [
        ("buffers", &mut planned.buffers, "16MiB of buffers are few, 128MiB the database's own default"),
        ("memory", &mut planned.memory, "128MiB are usual here, page cache included"),
        ("size", &mut planned.size, "1GiB is usual here"),
    ] {
        let Some(given) = table.space(key) else { continue };
        if given < Bytes::mib(1) {
            table.wrong(key, "at least 1 MiB", advice);
        }
        *size = given;
    }
    if planned.memory < planned.buffers {
        table.wrong("memory", "at least buffers", "the database's processes have their buffers in it");
    }
}

/// The volume that only the database uses.
fn on_volume(table: &Table<'_>, volumes: &[Volume], workloads: &[Entry]) -> usize {
    table.missing("volume", "name the volume that its data are on");
    let Some(found) = table.name("volume") else { return 0 };
    let Some(index) = volumes.iter().position(|volume| volume.name == found.value) else {
        unknown(
            table,
            "volume",
            "volume",
            found,
            &volumes.iter().map(|volume| volume.name.as_str()).collect::<Vec<_>>(),
        );
        return 0;
    };
    if workloads.iter().any(|entry| entry.workload.volumes.contains(&index)) {
        table.wrong("volume", "a volume without a workload", "a load would overwrite its file system");
    }
    index
}

/// Reads the goal of a `[[criterion]]`.
fn goal(table: &Table<'_>, arms: &[&str]) -> Option<Goal> {
    table.missing("kind", "choose tpm-kept or tpm-lost");
    let kind = table.choice("kind", &[("tpm-kept", GoalKind::Kept), ("tpm-lost", GoalKind::Lost)]);
    table.only(&["kind", "arm", "baseline", "part"]);
    table.missing("part", "say which part of the baseline's transactions, such as 0.9");
    let named = |key: &str| {
        table.missing(key, "name an arm");
        let found = table.text(key)?;
        let index = arms.iter().position(|name| *name == found.value);
        if index.is_none() {
            unknown(table, key, "arm", found, arms);
        }
        index
    };
    let (arm, baseline, part) = (named("arm"), named("baseline"), table.part("part"));
    if arm.is_some() && arm == baseline {
        table.wrong("baseline", "another arm", "nothing is held against itself");
    }
    Some(Goal { kind: kind?, arm: arm?, baseline: baseline?, part: part? })
}

fn unknown(table: &Table<'_>, key: &str, what: &'static str, found: Found<&str>, known: &[&str]) {
    let (key, given, advice) = (table.full(key), found.value.to_owned(), advice::advice(found.value, known));
    table.note(found.line, Problem::UnknownName { key, what, given, advice });
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLED: &str = include_str!("../../../../plans/order-entry-beside-a-bully.toml");
    const GOOD: &str = "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"db\"\nsize = \"4GiB\"\n\
        [[volume]]\nname = \"other\"\n[[workload]]\nname = \"bully\"\nvolume = \"other\"\ndepth = 64\n\
        [database]\nvolume = \"db\"\nusers = 4\n[policies]\nreset = [\"x\"]\n\
        [[arm]]\nname = \"alone\"\nbully = { connections = 0 }\n[[arm]]\nname = \"beside\"\n\
        [[criterion]]\nkind = \"tpm-lost\"\narm = \"beside\"\nbaseline = \"alone\"\npart = 0.7\n";

    /// Changes of one arm are not in force in the next.
    #[test]
    fn arms_begin_anew() {
        let plan = DatabasePlan::read(GOOD, "p.toml").unwrap();
        assert!(DatabasePlan::is_meant(GOOD) && !DatabasePlan::is_meant("title = \"t\"\n"));
        let connections: Vec<u32> = plan.plan.phases.iter().map(|arm| arm.specs[0].connections).collect();
        assert_eq!((connections, plan.database.users, plan.database.rounds), (vec![0, 1], 4, 5));
        assert_eq!(plan.goals, [Goal { kind: GoalKind::Lost, arm: 1, baseline: 0, part: 0.7 }]);
        assert_eq!((plan.create, plan.reset), (vec![], vec!["x".to_owned()]));
    }

    /// At least 90 % kept where less than 70 % would be left, in at least five rounds of five arms.
    #[test]
    fn the_bundled_plan_asks_for_the_goal() {
        let plan = DatabasePlan::read(BUNDLED, "p.toml").unwrap_or_else(|errors| panic!("{errors}"));
        let arms: Vec<&str> = plan.plan.phases.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(arms, ["alone", "bully", "ceiling", "floor by IOPS", "floor by latency"]);
        assert!(plan.database.rounds >= 5);
        let goal = |kind, arm, part| Goal { kind, arm, baseline: 0, part };
        assert_eq!(plan.goals, [goal(GoalKind::Lost, 1, 0.7), goal(GoalKind::Kept, 4, 0.9)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (from, to, says) in [
            ("volume = \"db\"\n", "", "volume: missing in [database]; name the volume"),
            ("volume = \"db\"", "volume = \"dc\"", "volume: no volume is called \"dc\"; did you mean db?"),
            ("volume = \"db\"", "volume = \"other\"", "volume: must be a volume without a workload, got \"other\""),
            (
                "baseline = \"alone\"",
                "baseline = \"aloen\"",
                "baseline: no arm is called \"aloen\"; did you mean alone?",
            ),
            ("baseline = \"alone\"", "baseline = \"beside\"", "baseline: must be another arm"),
            ("tpm-lost", "tpm-last", "kind: must be tpm-kept or tpm-lost"),
            ("part = 0.7\n", "", "part: missing in [[criterion]]"),
            ("users = 4", "users = 0", "users: must be from 1 to 1024, got 0"),
            ("users = 4", "buffers = \"1GiB\"\nmemory = \"64MiB\"", "memory: must be at least buffers"),
            ("users = 4", "published_latency = \"0us\"", "published_latency: must be more than 0"),
            ("name = \"beside\"", "name = \"beside\"\nseconds = 4", "seconds: must be absent in an arm"),
            ("name = \"beside\"", "name = \"alone\"", "must be different for each [[arm]]"),
            ("[[arm]]\nname = \"alone\"", "[[phase]]\nname = \"alone\"", "phase: no such key in the plan"),
            ("size = \"4GiB\"", "place = \"/dev/null\"", "volume: must be volumes of the plan's own server"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let found = DatabasePlan::read(&GOOD.replacen(from, to, 1), "p.toml").unwrap_err().to_string();
            assert!(found.contains(says), "{from:?} to {to:?}: {found}");
        }
    }
}
