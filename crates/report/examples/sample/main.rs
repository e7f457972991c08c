//! Writes every form of a sample recording to a folder: `cargo run -p report --example sample --
//! DIR`.

mod gallery;
mod live_view;
mod noisy_neighbour;

use report::{Paint, csv, live, picture, run_page, table};
use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("usage: sample DIR (an existing folder to write into)")?);
    let recording = noisy_neighbour::recording();
    csv::write(&recording, File::create(dir.join("seconds.csv"))?)?;
    fs::write(dir.join("table.txt"), table::render(&recording, Paint::Plain))?;
    fs::write(dir.join("page.html"), run_page(&[&recording]).render())?;
    let mut other = recording.clone();
    other.origin.title = "The same, without its last phases".into();
    other.phases.truncate(4);
    let end = other.phases.last().map(|phase| phase.end).unwrap_or_default();
    for workload in &mut other.workloads {
        workload.tallies.truncate(4);
        workload.intervals.retain(|interval| interval.start < end);
    }
    fs::write(dir.join("beside.html"), run_page(&[&recording, &other]).render())?;
    fs::write(dir.join("gallery.html"), gallery::page().render())?;
    fs::write(dir.join("picture.svg"), picture::render(&recording))?;
    print!("{}", table::render(&recording, Paint::Ansi));
    for (seconds, width) in [(12, 80), (50, 110)] {
        let state = live_view::after(&recording, seconds);
        println!(
            "\n{}\n\n{}",
            live::painted_frame(width, &state, Paint::Ansi).join("\n"),
            live::lines(&state).join("\n")
        );
    }
    println!("\nwritten to {}", dir.display());
    Ok(())
}
