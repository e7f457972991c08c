//! The progress of filling a plan's volumes.

use super::{Options, say};
use crate::live::{Live, Progress, Stream, Unit};
use crate::{dataset, interrupt, terminal};
use block::Bytes;
use report::text;
use std::path::Path;

/// The progress of filling the volumes.
pub(crate) struct Filling {
    /// Whether its rate is printed at the end, because no bar showed it.
    shown: bool,
    bar: Progress,
    stop: interrupt::Stop,
}

impl Filling {
    /// Begins to fill `all` bytes in `folder`.
    pub(crate) fn new(options: &Options, folder: &Path, all: u64, stop: interrupt::Stop) -> Filling {
        say(options, &format!("filling {} in {}", Bytes(all), folder.display()));
        let live = Live::on(Stream::Out, options.quiet, format!("filling {}", folder.display()));
        Filling { shown: !options.quiet && !live.is_shown(), bar: Progress::new(live, all, Unit::Bytes), stop }
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        let rate = self.bar.done() as f64 / self.bar.elapsed().as_secs_f64().max(1e-3);
        self.bar.clear();
        if self.shown {
            terminal::line(&format!("filled at {} MB/s", text::megabytes(rate)));
        }
    }
}

impl dataset::Filling for Filling {
    fn written(&self, bytes: u64) {
        self.bar.set(bytes);
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_asked()
    }
}
