//! A write cycle as it ran, and the table of cycles.
//!
//! The columns are those that the database itself keeps of its last cycles, so that the two can be
//! laid side by side.

use block::Span;

/// One write cycle. Times are spans from the run's start on, or lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// From 1.
    pub number: u64,
    /// When it was due.
    pub due: Span,
    /// When it began; later than due if the one before was not over.
    pub start: Span,
    /// How long the writer slept before it.
    pub sleep: Span,
    /// The journal phase, made durable.
    pub wij: Span,
    /// The writes to the database, made durable.
    pub write: Span,
    /// From its start until the journal was cleared.
    pub cycle: Span,
    /// Blocks written to the database.
    pub blocks: u64,
}

impl Cycle {
    /// Whether it was not over when the next one was due.
    pub fn overran(&self, period: Span) -> bool {
        self.start + self.cycle > self.due + period
    }
}

/// The first line of the table of cycles.
pub fn cycles_header() -> &'static str {
    "Run,Cycle,Due (sec),Start (sec),Sleep (sec),WIJ Time (sec),Write Time (sec),Cycle Time (sec),Blocks,Overrun,Comparable\n"
}

/// The cycles of a run as lines of the table; `comparable` is whether they can be compared with
/// published figures.
pub fn cycles_csv(run: u64, cycles: &[Cycle], period: Span, comparable: bool) -> String {
    let mut text = String::new();
    for cycle in cycles {
        let [due, start, sleep, wij, write, whole] =
            [cycle.due, cycle.start, cycle.sleep, cycle.wij, cycle.write, cycle.cycle].map(Span::as_secs_f64);
        text.push_str(&format!(
            "{run},{},{due:.3},{start:.3},{sleep:.3},{wij:.3},{write:.3},{whole:.3},{},{},{}\n",
            cycle.number,
            cycle.blocks,
            if cycle.overran(period) { "yes" } else { "no" },
            if comparable { "yes" } else { "not comparable" },
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_a_line_and_says_when_it_overran() {
        let ms = Span::from_millis;
        let good = Cycle {
            number: 1,
            due: ms(80_000),
            start: ms(80_000),
            sleep: ms(80_000),
            wij: ms(15_250),
            write: ms(18_500),
            cycle: ms(33_760),
            blocks: 1_500_000,
        };
        let long =
            Cycle { number: 2, due: ms(160_000), start: ms(160_000), sleep: ms(46_240), cycle: ms(80_001), ..good };
        assert_eq!(
            cycles_csv(10, &[good, long], ms(80_000), true),
            "10,1,80.000,80.000,80.000,15.250,18.500,33.760,1500000,no,yes\n\
             10,2,160.000,160.000,46.240,15.250,18.500,80.001,1500000,yes,yes\n"
        );
        assert_eq!(cycles_header().matches(',').count(), 10);
    }
}
