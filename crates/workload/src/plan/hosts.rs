//! A plan of hosts: several databases on one server, each ramped independently, once with floors
//! and once without. `plans/protected-production.toml` is one.
//!
//! | table | keys |
//! | --- | --- |
//! | the plan | `title`, `about`, `seed` (1) |
//! | `[server]` | `svm`, `units` (`decimal`) |
//! | `[ramp]` | `runs`, `cycle_seconds`, `run_seconds`, `volume_size`, `used_tb`, `drain_seconds` (36), `writers` (8) |
//! | `[[host]]` | `name`, `volumes`, `journal`, `from_iops`, `to_iops`, `protected` |
//! | `[floors]` | `create`: the administrators' lines that make policies, run once; `on`, `off`: those that protect, and those that end it, run before each run |
//! | `[device]` | as in every plan: what stands in for the disk in a simulation |
//!
//! Rates are those of the published machine; one factor, measured before the run, scales them to
//! this machine. `used_tb` is the space that a published host used, by which rates per TB are
//! converted to the space used here.

use super::error::{PlanErrors, Problem};
use super::read::{Unique, document, owned};
use super::table::{Report, Table};
use super::{Device, PlanUnits, device};
use block::{Bytes, Span};

/// Several databases on one server.
#[derive(Clone, Debug, PartialEq)]
pub struct HostsPlan {
    /// The file's name, as given to [`HostsPlan::read`].
    pub file: String,
    /// The file's text, for the record.
    pub text: String,
    /// What the experiment is called.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// The SVM that owns the volumes.
    pub svm: String,
    /// How the server counts a TB.
    pub units: PlanUnits,
    /// Number of runs of each ramp.
    pub runs: u32,
    /// Period of the write cycles.
    pub cycle: Span,
    /// Length of a run.
    pub run_length: Span,
    /// Size of each volume's LUN of data.
    pub volume_size: Bytes,
    /// Space that a published host used, in thousandths of a TB.
    pub used_milli_tb: u64,
    /// Time in which protected hosts should write a burst, at the database's own period of 80 s.
    pub drain: Span,
    /// Synchronous writers of a host's burst, each with one request outstanding.
    pub writers: u32,
    /// The hosts, in the file's order; at least one protected and one not.
    pub hosts: Vec<PlannedHost>,
    /// The commands that create policies, run once before the first run.
    pub floors_create: Vec<String>,
    /// The commands that set floors, run before each run with floors.
    pub floors_on: Vec<String>,
    /// The commands that remove them, run before each run without floors.
    pub floors_off: Vec<String>,
    /// The simulated device.
    pub device: Option<Device>,
}

/// One database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedHost {
    /// Its name.
    pub name: String,
    /// Its volumes, each with a LUN of data.
    pub volumes: Vec<String>,
    /// The volume that holds its journal: one of `volumes`, or one of its own.
    pub journal: String,
    /// Lower end of its ramp, in total IOPS.
    pub from: u64,
    /// Upper end.
    pub to: u64,
    /// Whether floors protect it.
    pub protected: bool,
}

/// Maximum number of hosts.
const HOSTS_MAX: usize = 16;
/// Maximum number of volumes of a host.
const VOLUMES_MAX: usize = 64;

impl HostsPlan {
    /// Whether `text` is a plan of hosts, recognised by a `[[host]]`.
    pub fn is_meant(text: &str) -> bool {
        toml::de::DeTable::parse_recoverable(text).0.get_ref().contains_key("host")
    }

    /// Reads a plan of hosts from `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// Every mistake, one line each.
    pub fn read(text: &str, file: &str) -> Result<HostsPlan, PlanErrors> {
        let report = Report::new(text, file);
        let Some(document) = document(text, &report) else { return Err(report.into_errors()) };
        let plan = plan(&Table::root(&report, document.get_ref()), text, file);
        if report.is_clean() { Ok(plan) } else { Err(report.into_errors()) }
    }

    /// All volumes, each once, in the order of the hosts.
    pub fn volumes(&self) -> Vec<&str> {
        let mut volumes = Vec::new();
        for volume in self.hosts.iter().flat_map(|host| host.volumes.iter().chain([&host.journal])) {
            if !volumes.contains(&volume.as_str()) {
                volumes.push(volume);
            }
        }
        volumes
    }
}

impl PlannedHost {
    /// Paths of its data LUNs, as the server names them within the SVM.
    pub fn data_paths(&self) -> Vec<String> {
        self.volumes.iter().map(|volume| format!("/vol/{volume}/data")).collect()
    }

    /// Path of its journal's LUN.
    pub fn journal_path(&self) -> String {
        format!("/vol/{}/wij", self.journal)
    }
}

fn plan(root: &Table<'_>, text: &str, file: &str) -> HostsPlan {
    root.only(&["title", "about", "seed", "server", "ramp", "host", "floors", "device"]);
    root.missing("title", "say in a few words what the experiment is called");
    let (svm, units) = server(root);
    let mut plan = HostsPlan {
        file: file.to_owned(),
        text: text.to_owned(),
        title: owned(root.text("title")),
        about: owned(root.text("about")),
        seed: root.whole("seed").unwrap_or(1),
        svm,
        units,
        runs: 1,
        cycle: Span::SECOND,
        run_length: Span::SECOND,
        volume_size: Bytes(0),
        used_milli_tb: 1,
        drain: Span::from_secs(36),
        writers: 8,
        hosts: hosts(root),
        floors_create: Vec::new(),
        floors_on: Vec::new(),
        floors_off: Vec::new(),
        device: root.table("device", "[device]").and_then(|table| device::read(&table)),
    };
    ramp(root, &mut plan);
    floors(root, &mut plan);
    plan
}

fn server(root: &Table<'_>) -> (String, PlanUnits) {
    root.missing("server", "begin it with a line [server] and name its svm");
    let Some(table) = root.table("server", "[server]") else { return Default::default() };
    table.only(&["svm", "units"]);
    table.missing("svm", "name the SVM that owns the volumes, such as epic");
    let units =
        table.choice("units", &[("decimal", PlanUnits::Decimal), ("binary", PlanUnits::Binary)]).unwrap_or_default();
    table.count_in(units);
    (owned(table.name("svm")), units)
}

fn ramp(root: &Table<'_>, plan: &mut HostsPlan) {
    root.missing(
        "ramp",
        "begin it with a line [ramp] and say runs, cycle_seconds, run_seconds, volume_size and used_tb",
    );
    let Some(table) = root.table("ramp", "[ramp]") else { return };
    table.only(&["runs", "cycle_seconds", "run_seconds", "volume_size", "used_tb", "drain_seconds", "writers"]);
    for (key, advice) in [
        ("runs", "say how many runs each ramp has, such as 4"),
        ("cycle_seconds", "say how far apart write cycles are; a database has 80"),
        ("run_seconds", "say how long a run is; published ones had 1800"),
        ("volume_size", "say how large each volume is, such as 256MiB"),
        ("used_tb", "say what a published host used; policies are rates per TB of it"),
    ] {
        table.missing(key, advice);
    }
    let ranged = |key: &str, least: u32, most: u32, advice: &str| {
        let given = table.count(key)?;
        if !(least..=most).contains(&given) {
            table.wrong(key, format!("from {least} to {most}"), advice);
        }
        Some(given)
    };
    plan.runs = ranged("runs", 1, 100, "the published ramps had 10").unwrap_or(1);
    let seconds = |given: Option<u32>| given.map(|given| Span::from_secs(u64::from(given)));
    plan.cycle = seconds(ranged("cycle_seconds", 1, 600, "a database has 80")).unwrap_or(plan.cycle);
    plan.run_length = seconds(ranged("run_seconds", 2, 86_400, "published ones had 1800")).unwrap_or(plan.run_length);
    plan.drain = seconds(ranged("drain_seconds", 1, 45, "of 80 s; a cycle must end within 45")).unwrap_or(plan.drain);
    plan.writers = ranged("writers", 1, 1024, "each host's bursts have 8 elsewhere").unwrap_or(plan.writers);
    if plan.run_length <= plan.cycle && table.has("run_seconds") {
        let advice = "the first cycle begins one period after the start, so no cycle would be seen";
        table.wrong("run_seconds", "longer than cycle_seconds", advice);
    }
    if let Some(size) = table.space("volume_size") {
        plan.volume_size = Bytes(size.0.next_multiple_of(1 << 20));
        if size.0 < 1 << 20 {
            table.wrong("volume_size", "at least 1 MiB", "256MiB is common");
        }
    }
    plan.used_milli_tb =
        table.number("used_tb", 0.0, 1e6, "in TB, such as 2.5").map_or(1, |tb| ((tb * 1000.0).round() as u64).max(1));
}

fn floors(root: &Table<'_>, plan: &mut HostsPlan) {
    root.missing("floors", "begin it with a line [floors] and say on and off, the lines that protect and that end it");
    let Some(table) = root.table("floors", "[floors]") else { return };
    table.only(&["create", "on", "off"]);
    table.missing("on", "list the administrators' lines that protect");
    table.missing("off", "list the administrators' lines that end it");
    let lines = |key| table.texts(key).into_iter().map(|line| line.value.to_owned()).collect();
    (plan.floors_create, plan.floors_on, plan.floors_off) = (lines("create"), lines("on"), lines("off"));
}

fn hosts(root: &Table<'_>) -> Vec<PlannedHost> {
    root.missing("host", "begin each with a line [[host]] and name it");
    let mut names = Unique::default();
    let mut taken: Vec<String> = Vec::new();
    let tables = root.tables("host", "[[host]]");
    let hosts: Vec<PlannedHost> = tables.iter().map(|table| host(table, &mut names, &mut taken)).collect();
    if tables.len() > HOSTS_MAX {
        root.wrong("host", format!("at most {HOSTS_MAX} tables [[host]]"), "each is a process");
    }
    for (protected, advice) in [(true, "say protected = true of those that floors protect"), (false, "the neighbour")] {
        if !hosts.is_empty() && !hosts.iter().any(|host| host.protected == protected) {
            let rule = if protected { "at least one protected host" } else { "at least one host without protection" };
            root.wrong("host", rule, advice);
        }
    }
    hosts
}

fn host(table: &Table<'_>, names: &mut Unique, taken: &mut Vec<String>) -> PlannedHost {
    table.only(&["name", "volumes", "journal", "from_iops", "to_iops", "protected"]);
    table.missing("name", "name the host, such as epic_rhel1");
    table.missing("volumes", "list its volumes, such as [\"epic_rhel1_db1\"]");
    table.missing("journal", "name the volume that holds its journal");
    table.missing("from_iops", "say where its ramp begins, in total IOPS");
    table.missing("to_iops", "say where its ramp ends; the same for a constant load");
    let name = table.name("name");
    names.note_if_taken(table, "[[host]]", name);
    let volumes: Vec<String> = table.texts("volumes").into_iter().map(|found| found.value.to_owned()).collect();
    if table.has("volumes") && !(1..=VOLUMES_MAX).contains(&volumes.len()) {
        table.wrong("volumes", format!("1 to {VOLUMES_MAX} volumes"), "list them in brackets");
    }
    let journal = owned(table.name("journal"));
    for volume in &volumes {
        if taken.contains(volume) {
            let problem = Problem::Value {
                key: table.full("volumes"),
                rule: "volumes that no other line names".into(),
                given: format!("{volume:?}"),
                advice: "each volume belongs to one host".into(),
            };
            table.note(table.line_of("volumes"), problem);
        }
        taken.push(volume.clone());
    }
    if !volumes.contains(&journal) {
        if taken.contains(&journal) {
            table.wrong("journal", "a volume of this host, or one of its own", "no other host's volume");
        }
        taken.push(journal.clone());
    }
    let rate = |key: &str| {
        let rate = table.whole(key)?;
        if !(1..=100_000_000).contains(&rate) {
            table.wrong(key, "from 1 to 100000000", "published hosts had 75000 to 150000");
        }
        Some(rate)
    };
    let (from, to) = (rate("from_iops").unwrap_or(1), rate("to_iops").unwrap_or(1));
    if to < from {
        table.wrong("to_iops", "not below from_iops", "a ramp goes up");
    }
    let protected = table.flag("protected").unwrap_or(false);
    PlannedHost { name: owned(name), volumes, journal, from, to, protected }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "title = \"t\"\n[server]\nsvm = \"epic\"\n[ramp]\nruns = 4\ncycle_seconds = 8\n\
        run_seconds = 21\nvolume_size = \"256MiB\"\nused_tb = 5\n\
        [[host]]\nname = \"a\"\nvolumes = [\"a1\", \"a2\"]\njournal = \"a1\"\nfrom_iops = 75000\nto_iops = 75000\n\
        protected = true\n\
        [[host]]\nname = \"b\"\nvolumes = [\"b1\"]\njournal = \"bj\"\nfrom_iops = 75000\nto_iops = 150000\n\
        [floors]\non = [\"x\"]\noff = [\"y\"]\n";

    #[test]
    fn a_plan_of_hosts_is_read() {
        let plan = HostsPlan::read(GOOD, "p.toml").unwrap();
        assert!(HostsPlan::is_meant(GOOD) && !HostsPlan::is_meant("title = \"t\"\n[[workload]]\nname = \"w\"\n"));
        assert_eq!((plan.runs, plan.cycle, plan.drain), (4, Span::from_secs(8), Span::from_secs(36)));
        assert_eq!((plan.used_milli_tb, plan.volume_size, plan.writers), (5000, Bytes::mib(256), 8));
        assert_eq!(plan.volumes(), ["a1", "a2", "b1", "bj"]);
        assert_eq!((plan.hosts[0].protected, plan.hosts[1].protected), (true, false));
        assert_eq!(plan.hosts[0].data_paths(), ["/vol/a1/data", "/vol/a2/data"]);
        assert_eq!(plan.hosts[1].journal_path(), "/vol/bj/wij");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error = |from: &str, to: &str| {
            assert!(GOOD.contains(from), "{from}");
            HostsPlan::read(&GOOD.replacen(from, to, 1), "p.toml").unwrap_err().to_string()
        };
        for (from, to, says) in [
            ("runs = 4\n", "", "p.toml:4: runs: missing in [ramp]; say how many runs"),
            ("runs = 4", "runs = 0", "p.toml:5: runs: must be from 1 to 100, got 0"),
            ("run_seconds = 21", "run_seconds = 8", "p.toml:7: run_seconds: must be longer than cycle_seconds, got 8"),
            ("to_iops = 150000", "to_iops = 7", "to_iops: must be not below from_iops, got 7"),
            ("protected = true\n", "", "must be at least one protected host"),
            ("[\"b1\"]", "[\"a1\"]", "volumes that no other line names, got \"a1\""),
            ("\"bj\"", "\"a2\"", "journal: must be a volume of this host, or one of its own, got \"a2\""),
            ("name = \"b\"", "name = \"a\"", "must be different for each [[host]]"),
            ("off = [\"y\"]", "of = [\"y\"]", "of: no such key in [floors]"),
        ] {
            let found = error(from, to);
            assert!(found.contains(says), "{from:?} to {to:?}: {found}");
        }
    }
}
