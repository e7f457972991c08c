//! A page with every kind of section that is not on a plan's page, with figures that are the same
//! on every machine.

use block::Span;
use report::Page;
use report::chart::Stretch;
use report::section::*;
use stats::{Histogram, Outcome};

/// The page.
pub fn page() -> Page {
    let mut page = Page::new("Every kind of section", "0.1.0");
    page.facts = "made-up figures".into();
    page.about = "What a page can be built of, beside the sections of a run.".into();
    page.banners = vec!["Not measured".into()];
    page.add(verdict());
    page.add(heat());
    page.add(matrix());
    page.add(knee());
    page.add(cycles());
    page.add(host());
    page
}

fn verdict() -> RunVerdict {
    let answer = |outcome, question: &str| Answer {
        outcome,
        question: question.into(),
        because: "an answer that is long enough to need a second line where the page is narrow".into(),
    };
    RunVerdict {
        outcome: Some(Outcome::Fail),
        sentence: "1 of 3 did not hold".into(),
        answers: vec![
            answer(Outcome::Pass, "the first"),
            answer(Outcome::CannotSay, "the second"),
            answer(Outcome::Fail, "the third"),
        ],
        targets: false,
    }
}

/// Two minutes of a disk whose cache fills every 40 seconds, without and with a limit.
fn heat() -> HeatMap {
    let slices = |limited: bool| {
        let slice = |second: u64| {
            let mut histogram = Histogram::new();
            let full = !limited && second % 40 > 28;
            for n in 0..500u64 {
                // Values vary by a factor of about three, with a tail at every 50th.
                let spread = 1000 + (n * n * 7919 + second * 104_729) % 2000;
                let slow = if full { 30 } else { 1 } * if n % 50 == 0 { 9 } else { 1 };
                histogram.record(Span::from_micros(spread / 4 * slow));
            }
            HeatSlice::of(Span::from_secs(second), Span::SECOND, &histogram)
        };
        (0..120).map(slice).collect()
    };
    HeatMap {
        heading: "Response times over time".into(),
        lead: "Each column is a second, each row a range of response times.".into(),
        maps: vec![
            Heat { name: "without a limit".into(), slices: slices(false) },
            Heat { name: "with a limit".into(), slices: slices(true) },
        ],
    }
}

fn matrix() -> Matrix {
    let depths = [1u32, 2, 4, 8, 16, 32, 64];
    let sizes = [4u32, 8, 16, 64, 256, 1024];
    let grid = |caption: &str, factor: f64| Grid {
        caption: caption.into(),
        across: "outstanding".into(),
        columns: depths.map(|depth| depth.to_string()).to_vec(),
        down: "size".into(),
        rows: sizes.map(|size| format!("{size} KiB")).to_vec(),
        figures: sizes
            .map(|size| {
                let rate = |depth: u32| factor * f64::from(depth * size) / f64::from(8 + depth * size / 90 + size / 8);
                depths.map(|depth| (depth * size < 60_000).then(|| rate(depth))).to_vec()
            })
            .to_vec(),
    };
    Matrix {
        heading: "Throughput over size and depth".into(),
        lead: "MB/s, the darker the more.".into(),
        grids: vec![grid("reads, MB/s", 3.0), grid("writes, MB/s", 1.7)],
    }
}

fn knee() -> Knee {
    let loads = [1u32, 2, 4, 8, 16, 32, 64, 128];
    let rate = |most: f64| move |load: u32| most * f64::from(load) / (f64::from(load) + 12.0);
    let run = |name: &str, most: f64| KneeRun {
        name: name.into(),
        columns: loads.map(|load| Some(rate(most)(load))).to_vec(),
        line: loads.map(|load| Some(f64::from(load) / rate(most)(load) * 1000.0)).to_vec(),
    };
    Knee {
        heading: "Throughput and latency as the load grows".into(),
        lead: "Beyond the knee more load makes requests wait and no more of them end.".into(),
        across: "requests outstanding".into(),
        loads: loads.map(|load| load.to_string()).to_vec(),
        columns: "IOPS".into(),
        line: "ms".into(),
        runs: vec![run("disk", 9000.0), run("flash", 14_000.0)],
        knee: Some(4),
    }
}

fn cycles() -> Cycles {
    let run = |number: u64, name: &str| CycleRun {
        name: name.into(),
        number: 0,
        cycles: (0..9)
            .map(|cycle| {
                let journal = 8.0 + (cycle * number % 5) as f64;
                CycleParts { journal, whole: journal + 14.0 + 4.5 * number as f64 + (cycle * 7 % 4) as f64 }
            })
            .collect(),
    };
    let chart = |name: &str, more: u64| CycleChart {
        name: name.into(),
        runs: (0..4).map(|number| run(number + more, &format!("{},000 IOPS", 75 + 25 * number))).collect(),
    };
    Cycles {
        heading: "Write cycles".into(),
        lead: "How long each took, from its start until its journal was cleared.".into(),
        limit: Some(45.0),
        charts: vec![chart("with floors", 0), chart("without floors", 2)],
    }
}

fn host() -> Host {
    let series = |name: &str, of: fn(u64) -> f64| Series {
        name: name.into(),
        stretches: (0..120)
            .map(|second| Stretch { from: second as f64, to: second as f64 + 1.0, figure: Some(of(second)) })
            .collect(),
    };
    Host {
        heading: "What the host did meanwhile".into(),
        lead: "In percent of the time; the kinds of work of the processors stand on each other.".into(),
        hosts: vec![HostFigures {
            name: "vm".into(),
            processor: vec![
                series("user", |second| 20.0 + (second % 7) as f64),
                series("system", |second| 25.0 + (second % 11) as f64),
                series("waiting for I/O", |second| if second % 40 > 28 { 30.0 } else { 8.0 }),
            ],
            devices: vec![
                series("vda", |second| if second % 40 > 28 { 100.0 } else { 60.0 + (second % 5) as f64 }),
                series("vdb", |second| 4.0 + (second % 3) as f64),
            ],
            pressure: vec![
                series("I/O", |second| if second % 40 > 28 { 70.0 } else { 5.0 }),
                series("processor", |_| 2.0),
            ],
        }],
    }
}
