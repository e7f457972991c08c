//! `cargo xtask bench oltp`: the cost of the order-entry driver compared with pgbench, on the same
//! server.
//!
//! ```text
//! statements   browsing products, by our driver and by pgbench with the same statements; runs take turns
//! procedures   the same transactions, one call each
//! commits      the statements again where commits take long: there it is not decided by whose driver leaves the
//!              server more of the processors
//! memory       a thousand users in one process
//! loading      setup at scale 0.1 without indexes, beside psql's COPY of the same rows
//! ```
//! This bench starts the server in a folder in `target`.

use super::engine::resident_most_kib;
use super::postgres::Cluster;
use super::served::children_seconds;
use super::turns::Turns;
use super::{Folder, load_average, median, release_build, succeed};
use crate::root;
use crate::step::Watch;
use anyhow::{Context as _, Result, bail};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Oltp {
    #[command(flatten)]
    turns: Turns<3, 20, 5>,
    /// Users of both drivers
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    users: u32,
}

/// The bounds on ours.
const TPS_WITHIN: f64 = 0.05;
const CPU_MOST: f64 = 1.15;
const PROCEDURES_MOST: f64 = 0.4;
const MEMORY_MOST_MB: f64 = 100.0;
const LOADING_MOST: f64 = 1.0;
/// Delay of a commit before it is flushed, for the part in which storage dominates, in microseconds
/// (`commit_delay`).
const COMMIT_US: u32 = 10_000;
/// Customers and products of scale 0.1.
const CUSTOMERS: u32 = 100_000;
const PRODUCTS: u32 = 1000;

impl Oltp {
    /// Runs all of it and prints a table.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        let folder = Folder::make(&root().join("target/bench-oltp"))?;
        let cluster = Cluster::at(folder.0.join("server"))?;
        let bench = Bench { cluster, seawall: release_build()? };
        println!("{} runs of each, taking turns; medians", self.turns.runs);
        // It also makes the cluster, and stops the server afterwards.
        let private = format!("private:{}", bench.cluster.folder.display());
        succeed(&mut bench.ours(&["setup", "--database", &private, "--scale", "0.1"]))?;
        let served = bench.cluster.serve(&[], &["max_connections=1100", "shared_buffers=512MB"])?;
        self.statements(&bench)?;
        bench.memory()?;
        self.loading(&bench)?;
        drop(served);
        println!("\nload average at the end: {}", load_average()?);
        Ok(())
    }

    fn statements(&self, bench: &Bench) -> Result<()> {
        let scripts = bench.scripts()?;
        let [statements, pgbench, procedures] =
            self.compared(bench, &scripts, ["statements", "pgbench", "procedures"])?;
        let Turns { seconds, .. } = self.turns;
        println!(
            "\nbrowsing products, {} users, {seconds} s: transactions a second, driver's processor time of one",
            self.users
        );
        for (name, (tps, cpu)) in [("statements", statements), ("pgbench", pgbench), ("procedures", procedures)] {
            println!("  {name:<12}{tps:>10.0} TPS{cpu:>10.1} µs");
        }
        let (tps, cpu) = (statements.0 / pgbench.0, statements.1 / pgbench.1);
        let calls = procedures.1 / statements.1;
        println!("  TPS beside pgbench {}", within(tps));
        println!("  processor time beside pgbench {cpu:.2}   at most {CPU_MOST} ×: {}", held(cpu <= CPU_MOST));
        println!(
            "  of a call beside statements {calls:.2}   at most {PROCEDURES_MOST} ×: {}",
            held(calls <= PROCEDURES_MOST)
        );
        bench.delay_commits(COMMIT_US)?;
        let [(ours, _), (pgbench, _)] = self.compared(bench, &scripts, ["statements", "pgbench"])?;
        bench.delay_commits(0)?;
        println!("the same where each commit waits {} ms (commit_delay)", COMMIT_US / 1000);
        println!("  TPS beside pgbench {}   {ours:.0} and {pgbench:.0}", within(ours / pgbench));
        Ok(())
    }

    /// Transactions per second and the driver's processor time per transaction in microseconds:
    /// medians of alternating runs.
    fn compared<const N: usize>(
        &self,
        bench: &Bench,
        scripts: &[PathBuf],
        drivers: [&str; N],
    ) -> Result<[(f64, f64); N]> {
        let (users, seconds) = (self.users.to_string(), self.turns.seconds.to_string());
        let run = |driver: &str| {
            if driver == "pgbench" {
                let mut command = bench.cluster.client("pgbench", "postgres");
                command.args(["-n", "-M", "prepared", "-c", &users, "-j", &users, "-T", &seconds]);
                scripts.iter().for_each(|script| _ = command.arg("-f").arg(script));
                return measured(&mut command, "tps =");
            }
            let words = ["run", "--database", &bench.url(), "--users", &users, "--time", &seconds, "--warm-up", "0"];
            let mut command = bench.ours(&words);
            command.args(["--weights", "BP=1", "--calls", driver]);
            measured(&mut command, "avg TPS")
        };
        let mut all = drivers.map(|_| Vec::new());
        for _ in 0..self.turns.runs {
            for (runs, driver) in all.iter_mut().zip(drivers) {
                runs.push(run(driver)?);
            }
        }
        Ok(all.map(|runs| (median(runs.iter().map(|run| run.tps)), median(runs.iter().map(Run::cpu_us)))))
    }

    fn loading(&self, bench: &Bench) -> Result<()> {
        let tables = [
            "customers",
            "addresses",
            "card_details",
            "warehouses",
            "product_information",
            "product_descriptions",
            "inventories",
            "orders",
            "order_items",
            "logon",
        ];
        bench.cluster.sql("CREATE DATABASE ours")?;
        bench.cluster.sql("CREATE DATABASE theirs")?;
        for table in tables {
            let file = bench.file(table);
            bench.cluster.sql(&format!("\\copy {table} TO '{}'", file.display()))?;
        }
        let url = bench.url().replace("/postgres?", "/ours?");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.turns.runs {
            let words = ["setup", "--database", &url, "--scale", "0.1", "--indexes", "none"];
            ours.push(timed(&mut bench.ours(&words))?);
            succeed(&mut bench.ours(&["drop", "--database", &url]))?;
            // The definitions of the loaded database, for the other one.
            let definitions = bench.definitions(&tables)?;
            bench.psql_in("theirs", &definitions)?;
            let mut command = bench.cluster.psql("theirs");
            for table in tables {
                command.arg("-c").arg(format!("\\copy {table} FROM '{}'", bench.file(table).display()));
            }
            theirs.push(timed(command.args(["-c", "VACUUM ANALYZE", "-c", "CHECKPOINT"]))?);
            bench.psql_in("theirs", &format!("DROP TABLE {} CASCADE", tables.join(", ")))?;
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours / theirs;
        println!(
            "\nloading scale 0.1 without indexes, generation included, beside psql's COPY of files of the same rows"
        );
        println!(
            "  ours {ours:.1} s  psql {theirs:.1} s  ratio {ratio:.2}   at most {LOADING_MOST} ×: {}",
            held(ratio <= LOADING_MOST)
        );
        Ok(())
    }
}

/// What is compared, and the server.
struct Bench {
    cluster: Cluster,
    seawall: PathBuf,
}

impl Bench {
    fn ours(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.seawall);
        command.env("SEAWALL_RESULTS", "none").arg("oltp").args(words);
        command
    }

    fn url(&self) -> String {
        format!("postgres://seawall@/postgres?host={}", self.cluster.folder.display())
    }

    fn file(&self, table: &str) -> PathBuf {
        self.cluster.folder.with_file_name(format!("{table}.rows"))
    }

    /// Delays every commit by this many microseconds before it is flushed, also if it is the only
    /// one.
    fn delay_commits(&self, us: u32) -> Result<()> {
        self.cluster.sql(&format!("ALTER SYSTEM SET commit_delay = {us}"))?;
        self.cluster.sql("ALTER SYSTEM SET commit_siblings = 0")?;
        self.cluster.sql("SELECT pg_reload_conf()")
    }

    fn psql_in(&self, database: &str, sql: &str) -> Result<()> {
        succeed(self.cluster.psql(database).arg("-c").arg(sql))
    }

    /// Statements that make tables without keys and with the same fill factor as the loaded ones:
    /// pages that are a tenth full take ten times as many writes.
    fn definitions(&self, tables: &[&str]) -> Result<String> {
        let mut all = String::new();
        for table in tables {
            let sql = format!(
                "SELECT 'CREATE TABLE {table} (' || string_agg(quote_ident(attname) || ' ' || format_type(atttypid, \
                 atttypmod), ', ' ORDER BY attnum) || ')' || (SELECT COALESCE(' WITH (' || array_to_string(reloptions, ', ') \
                 || ')', '') FROM pg_class WHERE oid = '{table}'::regclass) FROM pg_attribute WHERE attrelid = \
                 '{table}'::regclass AND attnum > 0"
            );
            let output = self.cluster.psql("postgres").args(["-A", "-t", "-c", &sql]).output()?;
            let _ = writeln!(all, "{};", String::from_utf8_lossy(&output.stdout).trim());
        }
        Ok(all)
    }

    /// Scripts with the statements of a browse: one for each number of products, all equally
    /// likely.
    fn scripts(&self) -> Result<Vec<PathBuf>> {
        (1..=5)
            .map(|products| {
                let mut script = format!("\\set customer random(1, {CUSTOMERS})\n");
                for product in 1..=products {
                    let _ = writeln!(script, "\\set product{product} random(1, {PRODUCTS})");
                }
                script += "SELECT cust_first_name, cust_last_name, nls_language, nls_territory, credit_limit, cust_email, \
                           account_mgr_id, customer_class, preferred_address, preferred_card FROM customers WHERE \
                           customer_id = :customer;\nBEGIN;\nSELECT nextval('logon_seq') AS logon \\gset\nINSERT INTO \
                           logon VALUES (:logon, :customer, 1800000000);\nCOMMIT;\n";
                for product in 1..=products {
                    let _ = writeln!(
                        script,
                        "SELECT p.product_id, p.product_name, p.list_price, i.warehouse_id, i.quantity_on_hand FROM \
                         product_information p JOIN inventories i ON i.product_id = p.product_id WHERE p.product_id = \
                         :product{product} LIMIT 14;"
                    );
                }
                let path = self.cluster.folder.with_file_name(format!("browse{products}.sql"));
                std::fs::write(&path, script).with_context(|| path.display().to_string())?;
                Ok(path)
            })
            .collect()
    }

    fn memory(&self) -> Result<()> {
        let mut command = self.ours(&["run", "--database", &self.url(), "--users", "1000", "--time", "5"]);
        command.args(["--warm-up", "0", "--columns", "users"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("seawall")?;
        let lines = BufReader::new(child.stdout.take().context("its output")?).lines();
        let mut peak: f64 = 0.0;
        for line in lines {
            line?;
            // After its last line, the process may have ended.
            peak = peak.max(resident_most_kib(child.id()) * 1024.0 / 1e6);
        }
        child.wait()?;
        println!(
            "\na thousand users: {peak:.0} MB   under {MEMORY_MOST_MB}: {}",
            held(peak > 0.0 && peak < MEMORY_MOST_MB)
        );
        Ok(())
    }
}

/// A driver's run.
struct Run {
    tps: f64,
    cpu: f64,
    seconds: f64,
}

impl Run {
    /// Processor time per transaction, in microseconds.
    fn cpu_us(&self) -> f64 {
        self.cpu / (self.tps * self.seconds) * 1e6
    }
}

/// Runs a driver; its rate follows `mark` in its output.
fn measured(command: &mut Command, mark: &str) -> Result<Run> {
    let (before, watch) = (children_seconds()?, Watch::start());
    let output = command.stdin(Stdio::null()).output().context("a driver")?;
    let (after, seconds) = (children_seconds()?, watch.elapsed().as_secs_f64());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix(mark)?.split_whitespace().next()?.parse().ok());
    let Some(tps) = rate.filter(|_| output.status.success()) else {
        bail!("a driver failed: {said}{}", String::from_utf8_lossy(&output.stderr))
    };
    let cpu = after.user + after.system - before.user - before.system;
    Ok(Run { tps, cpu, seconds })
}

fn timed(command: &mut Command) -> Result<f64> {
    let watch = Watch::start();
    succeed(command)?;
    Ok(watch.elapsed().as_secs_f64())
}

/// Evaluates a ratio of rates.
fn within(tps: f64) -> String {
    format!("{tps:.3}   within {TPS_WITHIN}: {}", held((tps - 1.0).abs() <= TPS_WITHIN))
}

fn held(good: bool) -> &'static str {
    if good { "held" } else { "MISSED" }
}
