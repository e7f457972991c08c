//! A small plan for tests: one workload, a phase without a limit and one with.

use crate::scratch::Scratch;
use std::path::PathBuf;

/// The plan's ceiling, in operations per second: far below what any disk does.
pub const CEILING: u64 = 500;

/// A second of `free` to warm up and three of `held` under [`CEILING`]. The simulated device does 8
/// / 0.5 ms = 16 000 operations per second, far more than the ceiling.
pub const PLAN: &str = r#"
title = "One host, one ceiling"
about = "a ceiling binds"
seed = 7

[server]
svm = "svm01"

[[volume]]
name = "vol1"
size = "16MiB"

[[workload]]
name = "server1"
lun = "/vol/vol1/lun1"
pattern = "random"
read_percent = 70
block = "4k"
connections = 2
depth = 8

[[phase]]
name = "free"
about = "no limit"
seconds = 2

[[phase]]
name = "held"
about = "a policy limits vol1"
seconds = 4
commands = [
  "qos policy-group create slow -vserver svm01 -max-throughput 500IOPS -is-shared false",
  "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
]

[[criterion]]
kind = "ceiling-held"
tolerance = 0.01

[device]
kind = "parallel-servers"
servers = 8
service = "500us"
"#;

/// Writes a plan into the test's folder and returns where.
pub fn write(scratch: &Scratch, text: &str) -> PathBuf {
    let path = scratch.join("plan.toml");
    std::fs::write(&path, text).expect("the plan can be written");
    path
}
