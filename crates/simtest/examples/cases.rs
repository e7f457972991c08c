//! Draws the traces of two published cases of floors on a device of unknown capacity, as the
//! simulator plays them: `cargo run --release -p simtest --example cases -- docs/qos` writes
//! `case-a.svg` and `case-c.svg` there.
//!
//! For two seconds nobody has a floor; then floors are set. Every point is what ended in 50 ms.

use std::fmt::Write as _;
use std::path::Path;

use array::{DeviceSpec, Model, ParallelServers};
use block::{ObjectId, Span, Time};
use qos::Edit;
use simtest::{Client, Recording, Scene, Tree, floor};

/// A case: the device, the depths and floors of those who ask, and how far the axis goes.
struct Case {
    file: &'static str,
    title: &'static str,
    about: &'static str,
    servers: u32,
    clients: &'static [Asker],
    seconds: u64,
    most: f64,
}

struct Asker {
    name: &'static str,
    depth: u32,
    floor: Option<u64>,
    colour: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        file: "case-a.svg",
        title: "Case A: a floor of 20 000 IOPS at depth 4 beside depth 512",
        about: "8 servers of 100 µs do 80 000 IOPS. Without the floor the shallow client gets its part of the queue.",
        servers: 8,
        clients: &[
            Asker { name: "depth 4", depth: 4, floor: Some(20_000), colour: "#1f6fb2" },
            Asker { name: "depth 512", depth: 512, floor: None, colour: "#c2571a" },
        ],
        seconds: 10,
        most: 100_000.0,
    },
    Case {
        file: "case-c.svg",
        title: "Case C: floors of 30 000 and 15 000 IOPS on a device of 30 000",
        about: "3 servers of 100 µs. The floors cannot all be met: each is scaled by the same factor.",
        servers: 3,
        clients: &[
            Asker { name: "depth 32", depth: 32, floor: Some(30_000), colour: "#1f6fb2" },
            Asker { name: "depth 8", depth: 8, floor: Some(15_000), colour: "#2e8540" },
            Asker { name: "depth 512", depth: 512, floor: None, colour: "#c2571a" },
        ],
        seconds: 20,
        most: 40_000.0,
    },
];

/// When the floors are set.
const SET_AT: u64 = 2;
const BIN: Span = Span::from_millis(50);
/// The picture and the plot in it.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 720.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 350.0;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    for case in &CASES {
        let path = Path::new(&folder).join(case.file);
        std::fs::write(&path, draw(case, &play(case)))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

fn play(case: &Case) -> Recording {
    let model = ParallelServers { servers: case.servers, ..ParallelServers::default() };
    let numbered = || case.clients.iter().zip(0..);
    let flat = Tree::flat(case.clients.len() as u32);
    let tree = numbered().fold(flat, |tree, (client, n)| match client.floor {
        Some(iops) => tree.at(seconds(SET_AT), Edit::SetLimits { object: ObjectId(n), limits: floor(iops) }),
        None => tree,
    });
    let clients = numbered().map(|(client, n)| Client::closed(ObjectId(n), client.depth)).collect();
    let device = DeviceSpec::of(Model::ParallelServers(model));
    Scene { device, clients, edits: tree.edits(), until: seconds(case.seconds), seed: 1 }.run()
}

fn draw(case: &Case, recording: &Recording) -> String {
    let mut svg = String::new();
    let font = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\"";
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" {font} font-size=\"13\" \
         fill=\"#222\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"20\" y=\"28\" font-size=\"17\" font-weight=\"600\">{}</text>\n\
         <text x=\"20\" y=\"50\" fill=\"#555\">{}</text>",
        case.title, case.about
    );
    axes(case, &mut svg);
    let mut labels = Vec::new();
    for (client, track) in case.clients.iter().zip(&recording.tracks) {
        let rates: Vec<f64> = (0..case.seconds * 20)
            .map(|bin| Time::ZERO + Span::from_nanos(BIN.as_nanos() * bin))
            .map(|from| track.rate(from, from + BIN))
            .collect();
        let points: Vec<String> = rates
            .iter()
            .zip(0..)
            .map(|(rate, bin)| format!("{:.1},{:.1}", x(case, (f64::from(bin) + 0.5) * 0.05), y(case, *rate)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" points=\"{}\"/>",
            client.colour,
            points.join(" ")
        );
        if let Some(floor) = client.floor {
            let at = y(case, floor as f64);
            let _ = writeln!(
                svg,
                "<line x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\" stroke=\"{}\" stroke-width=\"1.2\" \
                 stroke-dasharray=\"6 4\"/>",
                x(case, SET_AT as f64),
                client.colour
            );
            labels.push((at, client.colour, format!("floor {}", thousands(floor))));
        }
        // The last second says where the line ends.
        let last = track.rate(seconds(case.seconds - 1), seconds(case.seconds));
        labels.push((y(case, last), client.colour, format!("{}: {}", client.name, thousands(last as u64))));
    }
    write_labels(labels, &mut svg);
    svg + "</svg>\n"
}

fn axes(case: &Case, svg: &mut String) {
    for part in 0..=4 {
        let value = case.most * f64::from(part) / 4.0;
        let at = y(case, value);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
            LEFT - 8.0,
            at + 4.5,
            thousands(value as u64)
        );
    }
    for second in (0..=case.seconds).step_by(if case.seconds > 10 { 5 } else { 2 }) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{second} s</text>",
            x(case, second as f64),
            BOTTOM + 20.0
        );
    }
    let at = x(case, SET_AT as f64);
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#555\">IOPS</text>\n\
         <line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{BOTTOM}\" stroke=\"#888\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\">floors set</text>",
        TOP - 8.0,
        at + 5.0,
        TOP + 12.0
    );
}

/// Beside the plot, each as near to its line as those above it leave room.
fn write_labels(mut labels: Vec<(f64, &str, String)>, svg: &mut String) {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = TOP;
    for (at, colour, text) in labels {
        let at = (at + 4.5).max(least);
        least = at + 17.0;
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{at:.1}\" fill=\"{colour}\">{text}</text>", RIGHT + 8.0);
    }
}

fn x(case: &Case, seconds: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * seconds / case.seconds as f64
}

fn y(case: &Case, rate: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * (rate / case.most).min(1.0)
}

/// 20 000
fn thousands(number: u64) -> String {
    if number < 1000 { number.to_string() } else { format!("{} {:03}", number / 1000, number % 1000) }
}
