//! What was done and where it waited: in the shell, by REST as the official client reads it, and in
//! the bill.

use crate::requires::requires;
use crate::rest::{add_user, play, python, start};
use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::LUN;
use serde_json::Value;

/// Judged by the machine's time, so nothing runs beside it: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// Two seconds of reads at depth 32 under a ceiling of 500 IOPS: history, counters and the hour
    /// agree in what was done, and say that the ceiling held it. The server is stopped before a
    /// minute is over, and the pool has the hour all the same.
    #[test]
    fn what_was_done_is_shown_everywhere_alike() {
        requires!("fio");
        let Some(python) = python() else { return };
        let scratch = Scratch::new();
        let (server, port) = start(&scratch);
        server.make_lun("16MiB");
        server.tell(&[
            "qos policy-group create bronze -max-throughput 500IOPS -is-shared false",
            "volume modify vol1 -vserver svm01 -qos-policy-group bronze",
        ]);
        let password = add_user(&scratch, "admin", "admin");
        let done = crate::fio::read_rate(&scratch, &server.uri(LUN), 3);

        // The latest sample is of a second, so what came last may be missing for a moment.
        let records = || -> Vec<Value> {
            let line = "qos statistics history show -volume vol1 -interval 10m -output json";
            let answer: Value = serde_json::from_str(&server.tell(&[line])).unwrap();
            answer["records"].as_array().cloned().unwrap_or_default()
        };
        let sum = |records: &[Value], of: fn(&Value) -> f64| records.iter().map(of).sum::<f64>();
        let operations =
            |records: &[Value]| sum(records, |r| r["iops"].as_f64().unwrap() * r["duration_s"].as_f64().unwrap());
        let seen = (0..500).map(|_| records()).find(|records| operations(records) >= done.operations as f64 * 0.9);
        let seen = seen.expect("history has it all");
        let held = seen.iter().filter(|record| record["qos_max_ns"].as_u64() > record["disk_ns"].as_u64());
        assert!(held.count() >= 2, "{seen:?}");
        let shown = server.tell(&["qos statistics history show -volume vol1 -vserver svm01 -interval 10m"]);
        assert!(shown.contains("QoS Max") && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let refused = server.ask(&["qos statistics history show -volume vol1 -interval 2h"]);
        assert!(refused.code == Some(1) && refused.err.contains("10m"), "{refused:?}");

        play(&python, &scratch, include_str!("metrics.py"), &[&port, &password, &done.operations.to_string()]);

        server.stop();
        let classes =
            "[[class]]\nname = \"bronze\"\nexpected_iops_per_tb = 250\npeak_iops_per_tb = 500\nprice_per_tb = 20.0\n";
        std::fs::write(scratch.join("levels.toml"), classes).unwrap();
        let report = |arguments: &[&str]| {
            let ended = run(seawall(scratch.path()).arg("levels").args(arguments));
            assert_eq!(ended.code, Some(0), "{ended:?}");
            ended.out
        };
        let bill = report(&["report", "levels.toml", "--pool", "pool", "--csv", "bill.csv"]);
        assert!(bill.contains("vol1") && bill.contains("bronze"), "{bill}");
        let hours = report(&["hours", "--pool", "pool"]);
        let column = |name: &str| hours.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
        let (reads, path) = (column("read_ops"), column("path"));
        let rows: Vec<Vec<&str>> = hours.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let lun = rows.iter().filter(|row| row[path] == "svm01:/vol/vol1/lun1");
        let counted: u64 = lun.map(|row| row[reads].parse::<u64>().unwrap()).sum();
        // What fio had in flight when it ended is done and not in its count.
        assert!((done.operations..=done.operations + 32).contains(&counted), "{counted} of {done:?}: {hours}");
        std::fs::write(scratch.join("hours.csv"), &hours).unwrap();
        assert_eq!(report(&["report", "levels.toml", "--hours", "hours.csv"]), bill.split("\nfigures").next().unwrap());
    }
}
