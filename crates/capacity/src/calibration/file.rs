//! Writes a calibrated model as a file like those of the catalogue, with a source for each figure.

use super::Calibrated;
use super::shape::{CalibrationShape, one_length};

impl Calibrated {
    /// The content of the file. `about` describes the storage in a line; `runs` says where the
    /// figures come from, such as `run 17`.
    pub fn file(&self, about: &str, runs: &str) -> String {
        let found = &self.found;
        let (error, held_out, numbers) = (100.0 * self.held_out_error(), self.held_out(), found.numbers.len());
        let mut out = format!(
            "# Calibrated by `seawall calibrate` from {runs}. Mean error of IOPS on {} held out: {error:.1} %,\n\
             # with {}.\n\n[device]\nkind = \"{}\"\nabout = {}\n",
            report::text::count(held_out, "point", "points"),
            report::text::count(numbers, "fitted number", "fitted numbers"),
            found.shape.name(),
            quoted(about)
        );
        let mut sources = Vec::new();
        for (number, value) in found.numbers.iter().zip(&found.values) {
            out += &format!("{} = {}\n", number.key, number.in_file(*value));
            sources.push((number.key, format!("fitted: calibrated from {runs}")));
        }
        for (key, value, source) in self.not_fitted(runs) {
            out += &format!("{key} = {value}\n");
            sources.push((key, source));
        }
        let sources: Vec<String> = sources.iter().map(|(key, source)| format!("{key} = {}", quoted(source))).collect();
        out + &format!("source = {{ {} }}\n", sources.join(", "))
    }

    /// Figures in the file that were not fitted.
    fn not_fitted(&self, runs: &str) -> Vec<(&'static str, String, String)> {
        let points: Vec<_> = self.points.iter().map(|one| one.point.clone()).collect();
        let none = |key| (key, "\"0s\"".into(), "assumed: none; what there is of it is in the fitted times".to_owned());
        match self.found.shape {
            CalibrationShape::Flash => {
                let page = one_length(&points)
                    .map(|len| ("page", len.to_string(), format!("derived: the one size of requests of {runs}")));
                page.into_iter().chain([none("collect_stall")]).collect()
            }
            CalibrationShape::ParallelServers => Vec::new(),
            CalibrationShape::Host => vec![none("absent_length")],
        }
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}
