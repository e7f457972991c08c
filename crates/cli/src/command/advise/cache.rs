//! `seawall advise cache`: the cache size that is worth its memory, from the requests of clients.

mod replayed;

use crate::outputs::{Kind, Output, check_all};
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use block::Bytes;
use cache::{Cache, Curve, Eviction, Key, PartitionId, Shards, Worth, advise};
use fio::trace::{Action, Trace};
use report::chart::{Axis, Chart, Look, Mark};
use report::section::{Charts, Figure, Group, Notes, Preformatted, Table, TableCell, TableRow, Tables};
use report::text::{count, percent, thousands, wrap};
use report::{Page, picture};
use std::path::{Path, PathBuf};

/// Number of sampled pages: 8192 have a mean error below a hundredth (Waldspurger and others, FAST
/// 2015, figure 8).
const SAMPLES: usize = 8192;
/// The smallest size considered, in bytes: the smallest that a server accepts.
const FROM: u64 = 1 << 20;
/// Columns of the bar for 100 % hits.
const BAR: f64 = 40.0;
/// Maximum number of slots of the cache simulated with the trace: 64 GiB in pages of 4 KiB.
const PLAYED_MAX: u64 = 1 << 24;

/// Find the cache size that is worth its memory
///
/// From a trace of the requests of clients, or from a kept run of a plan, whose requests are
/// generated again from its seed, as many in each second as the run had: the share of page reads
/// that a cache of each size would have hit (a miss-ratio curve by sampling, SHARDS), and the
/// largest size that still saves 5 % of all reads against half of it. Traces are fio's iologs
/// (--write_iolog, versions 2 and 3), tables (time_us,file,action,offset,length) and dumps of
/// blktrace. Exit code 0: a size is worth its memory; 1: none is.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("asked").args(["trace", "recording"]).required(true)))]
pub struct AdviseCache {
    /// The trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// A results database instead of a trace
    #[arg(long, value_name = "PATH")]
    recording: Option<PathBuf>,
    /// The run in it, named as for results [default: the last]
    #[arg(long, value_name = "RUN", requires = "recording", conflicts_with = "trace")]
    run: Option<String>,
    /// Only this file or device, by name; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    file: Vec<String>,
    /// Only this volume, by name; like --file
    #[arg(long, value_name = "NAME")]
    volume: Vec<String>,
    /// Size of a page of the cache, in KiB
    #[arg(long, value_name = "KIB", default_value = "4", value_parser = ["4", "8", "16", "32", "64"])]
    page_kib: String,
    /// Write the advice with its curve as an HTML page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write the curve as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl AdviseCache {
    pub fn run(self) -> Result<Answer> {
        let picture_file = Output::of("--svg", self.svg.as_ref(), Kind::Drawing);
        let page_file = Output::of("--page", self.page.as_ref(), Kind::Page);
        check_all(&[picture_file, page_file])?;
        let Asked { named, about, trace } = self.asked()?;
        for (option, names) in [("--file", &self.file), ("--volume", &self.volume)] {
            if let Some(odd) = names.iter().find(|name| !trace.files.contains(name)) {
                bail!("{option} {odd}: is not in it; it has {}", trace.files.join(", "));
            }
        }
        let files = [&self.file[..], &self.volume].concat();
        let page: u64 = self.page_kib.parse::<u64>().unwrap_or(4) << 10;
        let Some(found) = Found::of(&trace, &files, page) else {
            bail!("{named}: reads nothing{}", if files.is_empty() { "" } else { " of these" });
        };
        let about = found.about(&about, &trace, &files);
        wrap(&about, 80).iter().for_each(|line| terminal::line(line));
        terminal::print(&found.table());
        wrap(&found.verdict(), 80).iter().for_each(|line| terminal::line(line));
        if let Some(command) = found.command() {
            terminal::line(&format!("\n{command}"));
        }
        if let Some(output) = picture_file {
            output.write(picture::of(&found.chart()))?;
            terminal::line(&format!("\npicture {}", output.path.display()));
        }
        if let Some(output) = page_file {
            output.write(found.page(&about).render())?;
            terminal::line(&format!("\npage {}", output.path.display()));
        }
        Ok(if found.best.is_some() { Answer::Yes } else { Answer::No })
    }

    /// The requests of clients.
    fn asked(&self) -> Result<Asked> {
        match (&self.trace, &self.recording) {
            (_, Some(path)) => replayed::asked(path, self.run.as_deref()),
            (Some(path), None) => traced(path),
            (None, None) => bail!("--trace or --recording: missing; say where what clients asked for stands"),
        }
    }
}

/// The requests in a trace.
fn traced(path: &Path) -> Result<Asked> {
    let named = format!("--trace {}", path.display());
    let bytes = std::fs::read(path).with_context(|| named.clone())?;
    let trace = Trace::read(&bytes).with_context(|| named.clone())?;
    Ok(Asked { named, about: path.display().to_string(), trace })
}

/// The requests of clients and their source.
struct Asked {
    /// The option that named the source, for messages.
    named: String,
    /// A short description of the source.
    about: String,
    trace: Trace,
}

/// The result for a trace.
struct Found {
    /// Size of a page in bytes.
    page: u64,
    reads: u64,
    curve: Curve,
    sizes: Vec<Worth>,
    best: Option<Worth>,
    /// Share of hits at the best size, simulated with the server's own policy.
    played: Option<f64>,
}

impl Found {
    /// The result for the reads of these files, or of all files; `None` if there are none.
    fn of(trace: &Trace, files: &[String], page: u64) -> Option<Found> {
        let is_meant = |file: u32| files.is_empty() || files.contains(&trace.files[file as usize]);
        let reads = || trace.events.iter().filter(|e| e.action == Action::Read && is_meant(e.file));
        let keys = || {
            reads().flat_map(|e| {
                let pages = e.at / page..(e.at + u64::from(e.len)).div_ceil(page);
                pages.map(move |page| Key { object: e.file.into(), page })
            })
        };
        let mut shards = Shards::new(SAMPLES);
        keys().for_each(|key| shards.ask(key));
        let curve = shards.curve();
        if curve.asked == 0 {
            return None;
        }
        let advice = advise(&curve, FROM / page);
        let played = advice.best.filter(|best| best.pages <= PLAYED_MAX).map(|best| {
            let mut cache = Cache::new(best.pages as u32, Eviction::default());
            let part = PartitionId::default();
            let hits = keys().filter(|key| {
                let hit = cache.get(part, *key).is_some();
                if !hit {
                    cache.insert(part, *key);
                }
                hit
            });
            hits.count() as f64 / curve.asked as f64
        });
        Some(Found { page, reads: reads().count() as u64, curve, sizes: advice.sizes, best: advice.best, played })
    }

    /// A size in binary units, as in the command and on the axis.
    fn bytes(&self, pages: u64) -> String {
        Bytes(pages.saturating_mul(self.page)).to_string()
    }

    fn about(&self, path: &str, trace: &Trace, files: &[String]) -> String {
        let of = if files.is_empty() { count(trace.files.len(), "file", "files") } else { files.join(", ") };
        format!(
            "{path}: {} of {of} in {:.0} s; {} of {} KiB asked for, {} distinct by estimate ({}).",
            count(self.reads as usize, "read", "reads"),
            trace.length().as_secs_f64(),
            count(self.curve.asked as usize, "page", "pages"),
            self.page >> 10,
            thousands(self.curve.pages),
            self.bytes(self.curve.pages),
        )
    }

    fn table(&self) -> String {
        let mut text = format!("\n{:>10}{:>8}{:>10}\n", "Cache", "Hits", "Doubling");
        for worth in &self.sizes {
            let bar = "#".repeat((worth.hits * BAR).round() as usize);
            let (hits, gained) = (percent(worth.hits), worth.gained * 100.0);
            let line = format!("{:>10}{hits:>6} %{gained:>+8.1} %  {bar}", self.bytes(worth.pages));
            text += line.trim_end();
            text += "\n";
        }
        text + "\n"
    }

    fn verdict(&self) -> String {
        let Some(best) = self.best else {
            return "No size is worth its memory: none saves 5 % of the pages asked for against half of it.".into();
        };
        let size = self.bytes(best.pages);
        let played = self.played.map_or(String::new(), |hits| {
            format!(" Played through a cache of the server (S3-FIFO) of that size: {} %.", percent(hits))
        });
        format!(
            "{size} is worth its memory: the largest size that still saved 5 % of the pages asked for against half of it, by \
             itself or on average over the doublings since the last that did. It has {} % of them.{played} The first time that a page is asked for is a miss at any size.",
            percent(best.hits)
        )
    }

    fn command(&self) -> Option<String> {
        let bytes = self.best?.pages.saturating_mul(self.page);
        Some(format!("cache partition create -partition NAME -size {}MiB -volumes VOLUME", bytes >> 20))
    }

    /// The curve. Each size is twice the one before, so that they have equal places.
    fn chart(&self) -> Chart {
        let names = self.sizes.iter().map(|worth| self.bytes(worth.pages)).collect();
        let across = Axis::places(names).unit("cache");
        let mut chart = Chart::new("Pages found in a cache, by its size", across, Axis::from_zero(100.0).unit("%"));
        let said = |worth: &Worth| format!("{}: {} %.", self.bytes(worth.pages), percent(worth.hits));
        chart.description = self.sizes.iter().map(said).collect::<Vec<_>>().join(" ");
        let place = |at: usize| at as f64 + 0.5;
        let points = self.sizes.iter().enumerate().map(|(at, worth)| (place(at), worth.hits * 100.0)).collect();
        chart.marks.push(Mark::Line { name: "hits".into(), points, look: Look::Alone(0), dots: true, on_right: false });
        let best = |best: Worth| self.sizes.iter().position(|worth| worth.pages == best.pages);
        if let Some((best, at)) = self.best.and_then(|worth| Some((worth, best(worth)?))) {
            let name = format!("{} is worth its memory", self.bytes(best.pages));
            let points = vec![(place(at), 0.0), (place(at), best.hits * 100.0)];
            chart.marks.push(Mark::Line { name, points, look: Look::Alone(1), dots: false, on_right: false });
        }
        chart
    }

    fn page(&self, about: &str) -> Page {
        let mut page = Page::new("Which size of a cache is worth its memory", env!("CARGO_PKG_VERSION"));
        page.about = about.into();
        page.add(Notes { lines: vec![self.verdict()] });
        page.add(Charts {
            heading: "Pages found in a cache, by its size".into(),
            lead: "Of an LRU cache, by sampling (SHARDS): the share of the pages read that it would have had.".into(),
            figures: vec![Figure::of(self.chart())],
            small: false,
        });
        let row = |worth: &Worth| TableRow {
            name: self.bytes(worth.pages),
            remarks: Vec::new(),
            cells: [worth.hits, worth.gained].map(|share| TableCell::from(percent(share))).to_vec(),
        };
        page.add(Tables {
            heading: "The sizes".into(),
            tables: vec![Table {
                columns: ["Cache", "Hits, %", "Saved by the doubling, %"].map(String::from).to_vec(),
                groups: vec![Group { rows: self.sizes.iter().map(row).collect(), ..Group::default() }],
                ..Table::default()
            }],
            ..Tables::default()
        });
        if let Some(text) = self.command() {
            let (heading, lead) = ("The command".into(), "It makes a partition of that size.".into());
            page.add(Preformatted { heading, lead, text, wraps: true });
        }
        page
    }
}
