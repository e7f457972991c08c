//! `cargo xtask test`: every check and every test, step by step, and one line of counts at the end.
//!
//! A step that fails does not prevent the later ones, so that one run shows everything that is
//! wrong. A test that skips itself for lack of a program writes its name and reason to a file that
//! this command names in the environment. The runner counts such a test as passed, so it is
//! recounted here. With `CI=true` such a test fails instead.

use crate::step::{self, Ended, Watch};
use crate::tally::Tally;
use crate::{root, tidy, tools};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The environment variable with the file of skipped tests, which `crates/cli/tests` write to.
const SKIPPED_VARIABLE: &str = "SEAWALL_TESTS_SKIPPED";

/// One line of the final table.
struct Line {
    name: &'static str,
    tally: Tally,
    took: Duration,
    /// Why the step was not run, if it was not.
    unused: Option<&'static str>,
}

/// Runs all steps; returns whether everything passed.
///
/// # Errors
/// A step could not be started.
pub fn run() -> Result<bool> {
    let watch = Watch::start();
    let steps = Steps { root: root(), skipped: root().join("target/xtask/skipped") };
    step::heading("what the tests need");
    tools::provide();
    tools::provide_node_packages();
    tools::provide_python_packages();
    let lines = [
        steps.check("format", cargo(&["fmt", "--all", "--check"]))?,
        steps.tidy()?,
        steps
            .check("lint", cargo(&["clippy", "--workspace", "--all-targets", FEATURES, "--", "--deny", "warnings"]))?,
        // The default build has a library for certificates only. The whole workspace is given, so
        // that only what the keys change is compiled again; tests are built with all features.
        steps.check("default", cargo(&["clippy", "--workspace", "--bins", "--", "--deny", "warnings"]))?,
        steps.tests()?,
        steps.runner("doc tests", cargo(&["test", "--workspace", "--doc", FEATURES]))?,
        steps.documents()?,
        steps.licences()?,
    ];
    step::heading("summary");
    let mut sum = Tally::default();
    for line in &lines {
        sum += line.tally;
        let seconds = line.took.as_secs_f64();
        println!("{:<10} {:>7.1} s   {}", line.name, seconds, line.unused.map_or(line.tally.to_string(), String::from));
    }
    println!("{:<10} {:>7.1} s", "all", watch.elapsed().as_secs_f64());
    println!("{sum}");
    Ok(sum.failed == 0)
}

struct Steps {
    root: PathBuf,
    /// The file of skipped tests.
    skipped: PathBuf,
}

impl Steps {
    /// A step that is one check.
    fn check(&self, name: &'static str, command: Command) -> Result<Line> {
        let ended = self.command(name, command)?;
        Ok(Line { name, tally: Tally::of_check(ended.good), took: ended.took, unused: None })
    }

    /// A step that runs tests and counts them.
    fn runner(&self, name: &'static str, command: Command) -> Result<Line> {
        let ended = self.command(name, command)?;
        let mut tally = Tally::of_output(&ended.output);
        // If the tests could not even be compiled, the runner counts none.
        tally.failed += u64::from(!ended.good && tally.failed == 0);
        Ok(Line { name, tally, took: ended.took, unused: None })
    }

    fn tidy(&self) -> Result<Line> {
        let (name, watch) = ("tidy", Watch::start());
        step::heading(name);
        if !self.root.join(".git").exists() {
            let unused = Some("not run: git says which files there are, and this is no clone");
            return Ok(Line { name, tally: Tally::default(), took: Duration::ZERO, unused });
        }
        let findings = tidy::findings(&self.root)?;
        findings.iter().for_each(|finding| println!("{finding}"));
        let tally = Tally::of_check(findings.is_empty());
        Ok(Line { name, tally, took: watch.elapsed(), unused: None })
    }

    fn tests(&self) -> Result<Line> {
        self.forget_skipped()?;
        let mut line = Line { name: "tests", tally: Tally::default(), took: Duration::ZERO, unused: None };
        for arguments in test_runs(answers(cargo(&["nextest", "--version"]))) {
            let mut command = cargo(arguments);
            // Snapshots of output are compared with the repository and never renewed here.
            command.env("INSTA_UPDATE", "no").env(SKIPPED_VARIABLE, &self.skipped);
            let run = self.runner("tests", command)?;
            line.tally += run.tally;
            line.took += run.took;
        }
        let skipped = std::fs::read_to_string(&self.skipped).unwrap_or_default();
        for test in skipped.lines() {
            println!("skipped: {test}");
        }
        let count = (skipped.lines().count() as u64).min(line.tally.passed);
        line.tally.passed -= count;
        line.tally.skipped += count;
        Ok(line)
    }

    fn documents(&self) -> Result<Line> {
        let mut command = cargo(&["doc", "--workspace", "--no-deps"]);
        command.env("RUSTDOCFLAGS", "--deny warnings");
        self.check("documents", command)
    }

    /// Checks licences, banned and duplicate packages, and sources; not advisories, which require a
    /// download.
    fn licences(&self) -> Result<Line> {
        let name = "licences";
        let unused = match () {
            () if !self.root.join("deny.toml").is_file() => Some("not run: there is no deny.toml"),
            () if !answers(cargo(&["deny", "--version"])) => Some("not run: cargo-deny is not installed"),
            () => None,
        };
        if unused.is_some() {
            return Ok(Line { name, tally: Tally::default(), took: Duration::ZERO, unused });
        }
        self.check(name, cargo(&["deny", "--offline", "check", "licenses", "bans", "sources"]))
    }

    fn command(&self, name: &'static str, mut command: Command) -> Result<Ended> {
        step::heading(name);
        // Without colours, because counts are parsed from the output.
        command.current_dir(&self.root).env("CARGO_TERM_COLOR", "never");
        step::run(command)
    }

    fn forget_skipped(&self) -> Result<()> {
        let folder = self.skipped.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        std::fs::write(&self.skipped, "").with_context(|| format!("write {}", self.skipped.display()))
    }
}

/// All tests are run with pre-shared keys and Parquet, which the default build leaves out.
const FEATURES: &str = "--features=seawall/psk,seawall/parquet";

/// The test runs. Tests in modules `alone` must not run beside others: nextest's configuration says
/// so; without nextest they are a separate run, one at a time.
fn test_runs(nextest: bool) -> &'static [&'static [&'static str]] {
    const TOGETHER: &[&str] = &[
        "test",
        "--workspace",
        FEATURES,
        "--lib",
        "--bins",
        "--tests",
        "--examples",
        "--no-fail-fast",
        "--",
        "--skip",
        "alone::",
    ];
    const ALONE: &[&str] =
        &["test", "--workspace", FEATURES, "--tests", "--no-fail-fast", "alone::", "--", "--test-threads=1"];
    match nextest {
        true => &[&["nextest", "run", "--workspace", FEATURES, "--no-fail-fast"]],
        false => &[TOGETHER, ALONE],
    }
}

/// The cargo that runs this program.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Whether a command exists and works.
fn answers(mut command: Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
