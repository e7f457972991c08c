//! Writes every form of a made-up recording into a folder, to look at: `cargo run -p record --example sample -- DIR`.

mod live_view;
mod noisy_neighbour;

use record::{Paint, Results, csv, live, page, picture, table};
use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("usage: sample DIR (an existing folder to write into)")?);
    let recording = noisy_neighbour::recording();
    let run = Results::open(&dir.join("results.sqlite"))?.save(&recording)?;
    csv::write(&recording, File::create(dir.join("seconds.csv"))?)?;
    fs::write(dir.join("table.txt"), table::render(&recording, Paint::Plain))?;
    fs::write(dir.join("page.html"), page::render(&recording))?;
    fs::write(dir.join("picture.svg"), picture::render(&recording))?;
    print!("{}", table::render(&recording, Paint::Ansi));
    for (seconds, width) in [(12, 80), (50, 110)] {
        let state = live_view::after(&recording, seconds);
        println!(
            "\n{}\n\n{}",
            live::painted_frame(width, &state, Paint::Ansi).join("\n"),
            live::lines(width, &state).join("\n")
        );
    }
    println!("\nsaved as run {run} in {}", dir.display());
    Ok(())
}
