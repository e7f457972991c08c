//! Two published walk-throughs, each as a transcript with live load behind it: every
//! administrators' line in its order with its answer, and what the clients get beside.
//!
//! The transcripts are compared as text. What differs from run to run is hidden: identifiers,
//! measured figures. What the figures must be stands in the walk: the statistics are asked for
//! until each volume has what is expected of it, and the transcript shows that. So a busy machine
//! makes a walk slow, and a limit that does not bind makes it fail.

use crate::published::{EPIC, FILE_SERVER, lines};
use crate::requires::{find, requires};
use crate::running::Running;
use crate::scratch::Scratch;
use crate::server::Server;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Write as _};
use std::process::Command;

/// How many seconds' statistics are looked at, at most, for what is expected.
const SECONDS_MAX: usize = 60;

/// What the documents ask for to see what is done.
const STATISTICS: &str = "qos statistics volume performance show";

/// What a volume is expected to do, in operations per second.
#[derive(Clone, Copy, Debug)]
enum Iops {
    /// ± 2 %, for requests whose ends are seen in another second than their starts.
    About(u64),
    AtLeast(u64),
    /// From and to: under a high ceiling that a slow machine does not reach beside the others.
    Within(u64, u64),
}
use Iops::{About, AtLeast, Within};

impl Iops {
    fn includes(self, seen: u64) -> bool {
        match self {
            About(iops) => seen.abs_diff(iops) * 50 <= iops,
            AtLeast(iops) => seen >= iops,
            Within(least, most) => (least..=most).contains(&seen),
        }
    }
}

impl Display for Iops {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            About(iops) => write!(f, "{iops}±2%"),
            AtLeast(iops) => write!(f, "≥{iops}"),
            Within(_, most) => write!(f, "≤{most}"),
        }
    }
}

/// By volume; all volumes have the name `-total-`.
type Expected = &'static [(&'static str, Iops)];

/// One thing that happens in a walk.
enum Step {
    /// So many jobs more of fio on an export, each with 3500 IOPS at most: two of them alone on a
    /// volume made some 7000 in the second document.
    Load(&'static str, u32),
    /// A line that is right.
    Line(&'static str),
    /// A line that is mistyped.
    Typo(&'static str),
    /// The statistics, when the volumes' are these.
    Expect(Expected),
}
use Step::{Expect, Line, Load, Typo};

/// A server with load on it, and what was said so far.
struct Walk<'a> {
    scratch: &'a Scratch,
    server: Server,
    loads: Vec<Running>,
    said: String,
}

/// Plays a document's lines, and what stands between them; its transcript.
fn walk(before: &[&str], document: &str, steps: &[Step]) -> String {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(before);
    let mut walk = Walk { scratch: &scratch, server, loads: Vec::new(), said: String::new() };
    let published: Vec<&str> = lines(document).into_iter().map(|(_, line)| line).collect();
    let mut walked = Vec::new();
    for step in steps {
        let line = match step {
            Load(export, jobs) => {
                walk.load(export, *jobs);
                continue;
            }
            Line(line) => walk.line(line),
            Typo(line) => walk.typo(line),
            Expect(expected) => walk.expect(expected),
        };
        // Between the published lines others may stand, in their order.
        if published.get(walked.len()) == Some(&line) {
            walked.push(line);
        }
    }
    assert_eq!(walked, published, "the lines of the document that were walked");
    walk.said
}

impl Walk<'_> {
    /// On 16 MiB, as what is written must fit the machine that tests.
    fn load(&mut self, export: &str, jobs: u32) {
        let mut fio = Command::new(find("fio").expect("it is required"));
        fio.current_dir(self.scratch.path())
            .args(["--name=fio", "--ioengine=nbd", "--thread", "--rw=randrw", "--bs=4k", "--iodepth=256"])
            .args(["--size=16m", "--time_based", "--runtime=3600", "--rate_iops=1750,1750", "--norandommap=1"])
            .args(["--output=/dev/null", &format!("--numjobs={jobs}"), &format!("--uri={}", self.server.uri(export))]);
        self.loads.push(Running::start(fio));
        writeln!(self.said, "# {jobs} jobs more on {export}\n").unwrap();
    }

    fn line(&mut self, line: &'static str) -> &'static str {
        let out = self.server.tell(&[line]);
        self.say(line, &out);
        line
    }

    fn typo(&mut self, line: &'static str) -> &'static str {
        let ended = self.server.ask(&[line]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{line}");
        self.say(line, &ended.err);
        line
    }

    fn expect(&mut self, expected: Expected) -> &'static str {
        let mut table = String::new();
        for _ in 0..SECONDS_MAX {
            // The first of two may have been looked at before.
            let out = self.server.tell(&[&format!("{STATISTICS} -iterations 2")]);
            out[out.rfind("Workload").expect("a table")..].clone_into(&mut table);
            let seen: BTreeMap<&str, u64> = table.lines().filter_map(row).collect();
            if expected.iter().all(|(volume, iops)| seen.get(volume).is_some_and(|&seen| iops.includes(seen))) {
                self.say(STATISTICS, &table_of(&table, expected));
                return STATISTICS;
            }
        }
        panic!("{expected:?} never came; last\n{table}\nafter\n{}", self.said);
    }

    fn say(&mut self, line: &str, answer: &str) {
        writeln!(self.said, "::> {line}\n{}", hidden(answer)).unwrap();
    }
}

/// The name and the operations per second of a table's row; a name's `-wid4` is left out.
fn row(line: &str) -> Option<(&str, u64)> {
    let cells: Vec<&str> = line.split_whitespace().collect();
    Some((cells.first()?.split("-wid").next()?.trim_end_matches('.'), cells.get(2)?.parse().ok()?))
}

/// A table without its measured figures, and with what was expected of them. Its rows are by name,
/// as the busiest of equals is another each time.
fn table_of(table: &str, expected: Expected) -> String {
    let (mut heading, mut rows): (Vec<&str>, Vec<&str>) = table.lines().partition(|line| row(line).is_none());
    rows.sort_by_key(|line| row(line));
    heading.retain(|line| !line.is_empty());
    let told = |line: &str| {
        let (name, _) = row(line)?;
        let known = expected.iter().find(|(volume, _)| *volume == name);
        let iops = known.map_or("#".into(), |(_, iops)| iops.to_string());
        let mut cells = line.split_whitespace();
        Some(format!("{:<15} {:>6} {iops:>8} {:>16} {:>10}", cells.next()?, cells.next()?, "#", "#"))
    };
    let rows = rows.into_iter().filter_map(told).map(|row| row + "\n");
    heading.into_iter().map(|line| format!("{line}\n")).chain(rows).collect()
}

/// An answer without what differs from run to run.
fn hidden(answer: &str) -> String {
    let uuid = |word: &str| word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let lines = answer.lines().map(|line| {
        let found = line.split(' ').find(|word| uuid(word));
        found.map_or_else(|| line.to_owned(), |found| line.replace(found, "(an identifier)")) + "\n"
    });
    lines.collect()
}

/// Judged by the machine's time, so nothing runs beside them: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// Hosts on a file server: two jobs each, then 32 on the first volume, which its policy holds;
    /// the second volume under the same policy, under a shared one, and under an adaptive one that
    /// knows how large the volume is.
    #[test]
    fn quality_of_service_on_a_file_server() {
        requires!("fio");
        let before = [
            FILE_SERVER,
            &["volume create vol3 -vserver svm01 -size 100GB", "lun create /vol/vol1/lun1 -vserver svm01 -size 16GB"],
            &[
                "lun create /vol/vol2/lun1 -vserver svm01 -size 16GB",
                "lun create /vol/vol3/lun1 -vserver svm01 -size 16GB",
            ],
        ];
        let steps = [
            Load("/vol/vol1/lun1", 2),
            Load("/vol/vol2/lun1", 2),
            Load("/vol/vol3/lun1", 2),
            Expect(&[("vol1", About(7000)), ("vol2", About(7000)), ("vol3", About(7000))]),
            Load("/vol/vol1/lun1", 30),
            Expect(&[("vol1", AtLeast(10_500))]),
            Line("qos policy-group create policy1 -vserver svm01 -max-throughput 10000IOPS,300MB/s -is-shared false"),
            Line("qos policy-group show"),
            Line("qos policy-group show -policy-group policy1"),
            Line("volume modify -volume vol1 -qos-policy-group policy1"),
            Expect(&[("vol1", Within(7000, 10_200)), ("vol2", About(7000)), ("vol3", About(7000))]),
            Line("volume modify -volume vol1 -qos-policy-group none"),
            Expect(&[("vol1", AtLeast(10_500))]),
            Line("qos policy-group modify policy1 -max-throughput 1000IOPS,200MB/s"),
            Line("volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1"),
            Expect(&[("vol1", About(1000)), ("vol2", About(7000)), ("vol3", About(7000))]),
            Line("qos policy-group modify policy1 -max-throughput 2000IOPS,200MB/s"),
            Expect(&[("vol1", About(2000)), ("vol2", About(7000)), ("vol3", About(7000))]),
            Line("volume modify -volume vol2 -vserver svm01 -qos-policy-group policy1"),
            Expect(&[("vol1", About(2000)), ("vol2", About(2000)), ("vol3", About(7000))]),
            Line(
                "qos policy-group create policy1-shared -vserver svm01 -max-throughput 3000IOPS,200MB/s -is-shared true",
            ),
            Line("volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1-shared"),
            Line("volume modify -volume vol2 -vserver svm01 -qos-policy-group policy1-shared"),
            // 3000 of the two together, and what the third makes.
            Expect(&[("-total-", About(10_000)), ("vol3", About(7000))]),
            Line(
                "qos adaptive-policy-group create -policy-group adaptive-policy2 -vserver svm01 -expected-IOPS 1000 \
                 -block-size 4k -expected-IOPS-allocation allocated-space -peak-IOPS 1500 -peak-IOPS-allocation \
                 allocated-space",
            ),
            Typo("volume modify -volume vol1 -qos-policy-group -qos-adaptive-policy-group adaptive-policy2"),
            Line("volume modify -volume vol1 -qos-adaptive-policy-group adaptive-policy2"),
            Expect(&[("vol1", About(150))]),
            Line("volume modify -volume vol1 -qos-adaptive-policy-group none"),
            Line("vol modify -vserver svm01 -volume vol2 -qos-adaptive-policy-group adaptive-policy2"),
            Expect(&[("vol1", AtLeast(10_500)), ("vol2", About(150))]),
            Line("volume size vol2 -vserver svm01 -new-size 10TB"),
            Load("/vol/vol2/lun1", 30),
            // What the third, under no policy, has beside 64 jobs is the machine's matter.
            Expect(&[("vol2", Within(2000, 15_300))]),
        ];
        insta::assert_snapshot!(walk(&before.concat(), "003", &steps));
    }

    /// Two production hosts and one that asks for ten times as much: adaptive policies, often
    /// mistyped, for the two. Theirs expects 75 000 of a volume of 5 TB, so that each has all that
    /// its three jobs ask for.
    #[test]
    fn adaptive_quality_of_service_under_a_database() {
        requires!("fio");
        let luns = ["epic_rhel1_01", "epic_rhel1_02", "epic_rhel2_01", "epic_rhel3_01"]
            .map(|volume| format!("lun create /vol/{volume}/lun1 -vserver epic -size 1GB"));
        let before: Vec<&str> = EPIC.iter().copied().chain(luns.iter().map(String::as_str)).collect();
        let published = lines("000");
        let mut steps = vec![
            Load("/vol/epic_rhel1_01/lun1", 3),
            Load("/vol/epic_rhel2_01/lun1", 3),
            Load("/vol/epic_rhel3_01/lun1", 32),
        ];
        for (is_right, line) in published {
            steps.push(if is_right { Line(line) } else { Typo(line) });
        }
        steps.push(Expect(&[
            ("epic_rhel1_01", About(10_500)),
            ("epic_rhel2_01", About(10_500)),
            ("epic_rhel3_01", AtLeast(10_500)),
        ]));
        insta::assert_snapshot!(walk(&before, "000", &steps));
    }
}
