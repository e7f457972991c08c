//! `seawall arrays`: the arrays that come with the program.

use crate::catalogue;
use crate::outputs::{Kind, Output};
use crate::watch::REPORT_COLUMNS;
use crate::{Answer, terminal};
use anyhow::{Context as _, Result};
use report::diagram::{self, Part};
use report::text;
use std::path::PathBuf;
use workload::plan::{Device, DeviceFigure};

/// List, show and draw the arrays that can be simulated
///
/// seawall simulate takes each by its name: --array NAME for a plan, --device NAME for a classic
/// tool. Your own array is a file like those that show prints.
#[derive(clap::Args)]
pub struct Arrays {
    #[command(subcommand)]
    act: Act,
}

#[derive(clap::Subcommand)]
enum Act {
    /// List the arrays, one on each line
    List,
    /// Show the parts of an array, each figure with its source
    Show {
        /// An array of the list, or a file with a table `device`
        #[arg(value_name = "NAME|FILE")]
        array: String,
        /// Print the file instead, as a template for your own array
        #[arg(long)]
        toml: bool,
    },
    /// Draw an array as SVG
    Diagram {
        /// An array of the list, or a file with a table `device`
        #[arg(value_name = "NAME|FILE")]
        array: String,
        /// The file for the drawing; - is standard output
        #[arg(short, long, value_name = "FILE", default_value = "array.svg")]
        output: PathBuf,
    },
}

impl Arrays {
    pub fn run(self) -> Result<Answer> {
        match self.act {
            Act::List => list()?,
            Act::Show { array, toml: true } => {
                let about = || format!("{array}: no array of seawall arrays list, and no file");
                let text = catalogue::text(&array).map_or_else(|| std::fs::read_to_string(&array), Ok);
                terminal::print(&text.with_context(about)?);
            }
            Act::Show { array, toml: false } => terminal::print(&shown(&catalogue::device("NAME", &array)?)),
            Act::Diagram { array, output } => {
                let device = catalogue::device("NAME", &array)?;
                let title = device.about.clone().unwrap_or(array);
                let drawing = diagram::render(&title, &parts(&device));
                if output.as_os_str() == "-" {
                    terminal::print(&drawing);
                    return Ok(Answer::Yes);
                }
                Output { option: "--output", path: &output, kind: Kind::Drawing }.write(drawing)?;
                terminal::line(&format!("diagram   {}", output.display()));
            }
        }
        Ok(Answer::Yes)
    }
}

fn list() -> Result<()> {
    let names = catalogue::names();
    let longest = names.iter().map(String::len).max().unwrap_or(0);
    for name in &names {
        let about = catalogue::device("NAME", name)?.about.unwrap_or_default();
        terminal::line(&format!("{name:longest$}  {}", text::fit(&about, REPORT_COLUMNS - longest - 2)));
    }
    Ok(())
}

/// The stages of a device, or the device itself if it has none.
fn stages(device: &Device) -> &[Device] {
    match device.stages.as_slice() {
        [] => std::slice::from_ref(device),
        stages => stages,
    }
}

fn shown(device: &Device) -> String {
    let about = text::wrap(device.about.as_deref().unwrap_or(device.kind), REPORT_COLUMNS);
    let mut out = format!("{}\n", about.join("\n"));
    for stage in stages(device) {
        out += &format!("\n{}", stage.kind);
        out += &stage.about.as_ref().map(|about| format!(": {about}")).unwrap_or_default();
        out += "\n";
        if stage.said.is_empty() {
            out += "  as usual for its kind\n";
        }
        for (key, figure) in &stage.said {
            let source = stage.sources.iter().find(|(of, _)| of == key).map_or("no source", |(_, source)| source);
            let head = format!("  {:<14} {:>16}  ", key.replace('_', " "), figure_text(*figure));
            let columns = text::width(&head);
            for (index, line) in text::wrap(source, REPORT_COLUMNS - columns).iter().enumerate() {
                let blank = " ".repeat(columns);
                out += &format!("{}{line}\n", if index == 0 { &head } else { &blank });
            }
        }
    }
    out
}

/// A figure as text, with the digits of large counts in groups.
fn figure_text(figure: DeviceFigure) -> String {
    match figure {
        DeviceFigure::Count(count) => text::thousands(count),
        figure => figure.to_string(),
    }
}

/// The boxes of the drawing. The members of a RAID are stacked in the box after it.
fn parts(device: &Device) -> Vec<Part> {
    let mut copies = 1;
    let mut parts = Vec::new();
    for stage in stages(device) {
        let figures =
            stage.said.iter().map(|(key, figure)| format!("{} {}", key.replace('_', " "), figure_text(*figure)));
        let title = stage.about.as_ref().map_or(stage.kind.into(), |about| format!("{}: {about}", stage.kind));
        parts.push(Part { title, lines: figures.collect(), copies });
        if let Some(DeviceFigure::Count(members)) = stage.figure("members") {
            copies *= members;
        }
    }
    parts
}
