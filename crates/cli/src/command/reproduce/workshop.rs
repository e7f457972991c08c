//! The workshop's fio command lines in virtual time.

use super::Setting;
use crate::command::fio;
use anyhow::Result;
use capacity::{Cells, Comparison, WalkStep, WalkSteps};
use workload::plan::{Device, DeviceFigure};

/// Length of the curves in seconds: past the end of the credit, at 27.2 minutes.
const LONG: u64 = 1900;
/// Seconds for each point of a curve.
const POINT: usize = 10;

pub fn workshop(setting: &Setting) -> Result<Comparison> {
    let device = setting.array("fsx-128")?;
    let published = Cells::of("fsx_workshop_expectations.csv", &setting.others)?;
    let mut steps = Vec::new();
    for row in 0..published.len() {
        let word = |column: &str| published.text(row, column);
        let (name, operation, block) = (word("step")?, word("op")?, word("block_size")?);
        // NFSv3 does not differ in anything modelled, and the source prints no figure for it.
        if name.ends_with("nfs3") {
            continue;
        }
        let write = operation.ends_with("write");
        let line = Line { write, block, size: word("file_size")?, jobs: word("numjobs")?, depth: word("iodepth")? };
        let flows = published.number(row, "nconnect")? as u64;
        let done = play(&line, published.number(row, "runtime_s")? as u64, &with_flows(&device, flows))?;
        let figure = if block == "1M" { done.mb_s() } else { done.iops() };
        steps.push(WalkStep { name: name.into(), figures: vec![(figure, figure)] });
    }
    let mut curves = Vec::new();
    let ways = [
        ("memory, nconnect=16", "16M", 16, LONG),
        ("NVMe, nconnect=16", "16G", 16, LONG),
        ("memory, one connection", "16M", 1, LONG / 6),
    ];
    for (name, size, flows, seconds) in ways {
        let line = Line { write: false, block: "1M", size, jobs: "2", depth: "64" };
        curves.push((name.to_string(), play(&line, seconds, &with_flows(&device, flows))?.curve()));
    }
    Ok(capacity::workshop(&WalkSteps(steps), curves, &setting.others)?)
}

/// What differs between the workshop's lines.
struct Line<'a> {
    write: bool,
    block: &'a str,
    size: &'a str,
    jobs: &'a str,
    depth: &'a str,
}

/// The same device with this many connections.
fn with_flows(device: &Device, flows: u64) -> Device {
    let mut device = device.clone();
    for (name, figure) in device.stages.iter_mut().flat_map(|stage| &mut stage.said) {
        if *name == "flows" {
            *figure = DeviceFigure::Count(flows);
        }
    }
    device
}

/// The result of a line: requests and bytes completed in each second.
struct Done {
    seconds: Vec<(u64, u64)>,
}

impl Done {
    fn iops(&self) -> f64 {
        self.seconds.iter().map(|second| second.0).sum::<u64>() as f64 / self.seconds.len().max(1) as f64
    }

    fn mb_s(&self) -> f64 {
        self.seconds.iter().map(|second| second.1).sum::<u64>() as f64 / 1e6 / self.seconds.len().max(1) as f64
    }

    /// MB/s at the middle of each point.
    fn curve(&self) -> Vec<(f64, f64)> {
        let point = |(index, seconds): (usize, &[(u64, u64)])| {
            let mb = seconds.iter().map(|second| second.1).sum::<u64>() as f64 / 1e6;
            ((index * POINT) as f64 + seconds.len() as f64 / 2.0, mb / seconds.len() as f64)
        };
        self.seconds.chunks(POINT).enumerate().map(point).collect()
    }
}

/// Simulates one of the workshop's fio command lines.
fn play(line: &Line<'_>, seconds: u64, device: &Device) -> Result<Done> {
    let Line { write, block, size, jobs, depth } = line;
    let mode = if *write { "write" } else { "read" };
    let words = format!(
        "--name=workshop --rw={mode} --time_based --bs={block} --ioengine=libaio --numjobs={jobs} --direct=1 --iodepth={depth} \
         --offset=0 --size={size} --directory=. --group_reporting --runtime={seconds}"
    );
    let words: Vec<String> = words.split_whitespace().map(String::from).collect();
    let mut done = vec![(0, 0); seconds as usize];
    for outcome in fio::outcomes(&words, device)? {
        for (_, track) in outcome.tape.directions() {
            for slice in &track.slices {
                let second = (slice.end.as_secs_f64() - slice.length.as_secs_f64() / 2.0) as usize;
                if let Some(second) = done.get_mut(second) {
                    *second = (second.0 + slice.ops, second.1 + slice.bytes);
                }
            }
        }
    }
    Ok(Done { seconds: done })
}
