//! The rows of the table, and their contents.

use crate::column::{Column, TierFigure, TierWord};
use stats::Median;
use stats::job::Spread;

/// Storage tiers side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierTable {
    /// What is compared.
    pub title: String,
    /// The rows, in their order.
    pub rows: Vec<TierRow>,
    /// What was found for it and is not in it, with the reason, one line each.
    pub left_out: Vec<String>,
}

/// One storage tier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierRow {
    /// Its number.
    pub number: u32,
    /// Its properties, by [`TierWord`].
    pub words: [Told; 5],
    /// Its figures, by [`TierFigure`], with all repeats.
    pub samples: [Vec<Sample>; 8],
    /// What limited its transactions, as reported by each of its runs.
    pub limits: Vec<Limit>,
}

/// What limited an order-entry run, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The limit in a word or two.
    pub name: String,
    /// The evidence for it.
    pub grounds: String,
}

/// A property of a tier; what the list says takes precedence over what the host found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// As given in the list.
    pub said: Option<String>,
    /// As found by the host.
    pub seen: Option<String>,
}

/// A figure and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The value, in the column's unit.
    pub value: f64,
    /// The source: a run, a file, or `printed`.
    pub source: String,
}

impl Told {
    /// The value for the table; `None` if neither is known.
    pub fn shown(&self) -> Option<&str> {
        self.said.as_deref().or(self.seen.as_deref())
    }
}

impl TierRow {
    /// A property.
    pub fn word(&self, word: TierWord) -> &Told {
        &self.words[word as usize]
    }

    /// All repeats of a figure.
    pub fn samples(&self, figure: TierFigure) -> &[Sample] {
        &self.samples[figure as usize]
    }

    /// Adds a measured figure.
    pub fn add(&mut self, figure: TierFigure, value: f64, source: &str) {
        self.samples[figure as usize].push(Sample { value, source: source.into() });
    }

    /// The median of a figure's repeats; `None` if there are none.
    pub fn median(&self, figure: TierFigure) -> Option<f64> {
        let values: Vec<f64> = self.samples(figure).iter().map(|sample| sample.value).collect();
        Median::of(&values).map(|median| median.value)
    }

    /// The spread of a figure's repeats.
    pub fn spread(&self, figure: TierFigure) -> Spread {
        Spread::of(self.samples(figure).iter().map(|sample| sample.value))
    }

    /// A cell as it is shown; N/A if unknown.
    pub fn cell(&self, column: Column) -> String {
        match column {
            Column::Number => self.number.to_string(),
            Column::Word(word) => self.word(word).shown().unwrap_or("N/A").to_owned(),
            Column::Figure(figure) => {
                self.median(figure).map_or_else(|| "N/A".into(), |value| shown(value, figure.digits(value)))
            }
        }
    }
}

/// A figure with at most `digits` digits after the point and without trailing zeroes; one of more
/// than 15 digits before the point in scientific notation.
pub(crate) fn shown(value: f64, digits: usize) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:e}");
    }
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_shown_by_their_median_and_nothing_is_filled_in() {
        let mut row = TierRow { number: 3, ..TierRow::default() };
        row.words[TierWord::Spindle as usize].seen = Some("SSD".into());
        for value in [100.0, 900.0, 110.0] {
            row.add(TierFigure::Iops, value, "run 1");
        }
        row.add(TierFigure::Mbps, 53.9, "run 1");
        assert_eq!((row.median(TierFigure::Iops), row.median(TierFigure::Cpu)), (Some(110.0), None));
        row.add(TierFigure::Iops, 120.0, "run 2");
        assert_eq!(row.median(TierFigure::Iops), Some(115.0));
        let cells: Vec<String> = Column::all().map(|column| row.cell(column)).collect();
        assert_eq!(cells[..8], ["3", "N/A", "SSD", "N/A", "N/A", "N/A", "115", "53.9"]);
        row.words[TierWord::Spindle as usize].said = Some("FC".into());
        assert_eq!(row.cell(Column::Word(TierWord::Spindle)), "FC");
        assert_eq!(row.spread(TierFigure::Iops).most, 900.0);
        assert_eq!([shown(1e300, 0), shown(1234.50, 2)], ["1e300", "1234.5"]);
    }

    /// What is published whole stays so; what was measured below a hundred is not rounded to fewer
    /// than three digits, or a fast store would answer in no time.
    #[test]
    fn small_figures_keep_three_digits() {
        let cell = |figure, value| {
            let mut row = TierRow::default();
            row.add(figure, value, "run 1");
            row.cell(Column::Figure(figure))
        };
        let responses = [0.0, 0.2449, 1.034, 9.996, 51.0, 51.26, 149.4].map(|ms| cell(TierFigure::AvgResp, ms));
        assert_eq!(responses, ["0", "0.245", "1.03", "10", "51", "51.3", "149"]);
        assert_eq!([cell(TierFigure::AvgTps, 0.41), cell(TierFigure::AvgTps, 1450.3)], ["0.41", "1450"]);
        assert_eq!([cell(TierFigure::Mbps, 117.46), cell(TierFigure::Mbps, 0.01234)], ["117.46", "0.0123"]);
        assert_eq!([cell(TierFigure::Cpu, 71.43), cell(TierFigure::Cpu, 100.0)], ["71.4", "100"]);
    }
}
