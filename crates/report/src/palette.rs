//! The colours of charts and pages: light, dark and printed.
//!
//! The hues of lines are those of Okabe and Ito ("Color Universal Design", 2008), which can be
//! distinguished with any common colour blindness. They are darker on white and lighter on black,
//! so that names in these colours have a contrast of at least 4.5 to 1. Lines also have their names
//! at their ends.

use std::fmt::Write;

/// Number of different colours for lines, which are then repeated.
pub(crate) const SERIES: usize = 6;
/// Number of shades in heat maps.
pub(crate) const SHADES: usize = 9;

/// One set of colours.
pub(crate) struct Palette {
    /// Background.
    pub paper: &'static str,
    /// Background of cards, code and every second band.
    pub shade: &'static str,
    /// Text.
    pub ink: &'static str,
    /// Less important text, and axes.
    pub muted: &'static str,
    /// Rules and grid lines.
    pub rule: &'static str,
    /// The lines: vermilion, blue, bluish green, reddish purple, orange, sky blue.
    pub series: [&'static str; SERIES],
    /// Shades of heat maps in ascending order; of a single hue, so that they can be distinguished
    /// without colour vision.
    pub shades: [&'static str; SHADES],
    /// From this shade on, figures are written in `paper` instead of `ink`.
    pub turn: usize,
    /// Passed.
    pub good: &'static str,
    /// Cannot say.
    pub doubtful: &'static str,
    /// Failed.
    pub bad: &'static str,
}

/// On white.
pub(crate) const LIGHT: Palette = Palette {
    paper: "#ffffff",
    shade: "#f3f5f8",
    ink: "#1a212b",
    muted: "#596575",
    rule: "#dce1e8",
    series: ["#bf4800", "#0068ad", "#007a58", "#a3478a", "#946200", "#1a719f"],
    shades: ["#eef4fb", "#d9e7f5", "#bfd6ee", "#9dc2e3", "#7fb0da", "#639fd1", "#2c6aa8", "#1a5291", "#0b3768"],
    turn: 6,
    good: "#00714f",
    doubtful: "#7f5600",
    bad: "#b3261e",
};

/// On black.
pub(crate) const DARK: Palette = Palette {
    paper: "#11161d",
    shade: "#1a212b",
    ink: "#e8ecf1",
    muted: "#9dabbb",
    rule: "#2e3946",
    series: ["#ff8b52", "#5cb3f5", "#3ccb9b", "#e39ccb", "#f0b440", "#8ed6f7"],
    shades: ["#182433", "#1d3147", "#23405f", "#2b5078", "#35628f", "#6ea3d3", "#8fbbe2", "#b1d2ee", "#d5e9fa"],
    turn: 5,
    good: "#3ccb9b",
    doubtful: "#f0b440",
    bad: "#ff8478",
};

/// Style rules for a chart's elements in these colours.
pub(crate) fn chart_style(palette: &Palette) -> String {
    let Palette { paper, shade, ink, muted, rule, series, shades, bad, .. } = palette;
    let mut css = format!(
        ".chart text{{font:12px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:{ink}}}\
         .chart .paper{{fill:{paper}}}.chart .band.odd{{fill:{shade}}}.chart .band.even{{fill:{paper}}}\
         .chart .grid{{stroke:{rule}}}.chart .tick,.chart .unit{{fill:{muted}}}\
         .chart .x,.chart .phase,.chart .says{{text-anchor:middle}}.chart .y,.chart .unit{{text-anchor:end}}\
         .chart .unit.x{{text-anchor:middle}}.chart .unit.long{{text-anchor:start}}\
         .chart .phase,.chart .name{{font-weight:600}}.chart .phase-key{{fill:{muted}}}\
         .chart .says{{font-size:11.5px;stroke:{paper};stroke-width:3px;stroke-linejoin:round;paint-order:stroke}}\
         .chart .line{{fill:none;stroke-linejoin:round;stroke-linecap:round}}\
         .chart .line.gate{{stroke:{ink};stroke-width:1.5;stroke-dasharray:1 4}}\
         .chart .line.disk,.chart .line.muted{{stroke:{muted};stroke-width:1.5}}\
         .chart .line.sum{{stroke:{ink};stroke-width:1}}.chart .column.muted{{fill:{rule}}}\
         .chart .column.disk{{fill:{muted}}}.chart .dot.muted{{fill:{muted}}}\
         .chart .area{{opacity:.2}}.chart .area.full{{opacity:.6}}.chart .ceiling{{stroke:{ink};stroke-width:1.5;stroke-dasharray:7 4}}\
         .chart .ceiling.idle{{opacity:.4}}.chart .floor{{stroke:{ink};stroke-width:4;stroke-linecap:round;stroke-dasharray:0 14}}\
         .chart .floor.ring{{stroke:{paper};stroke-width:7}}.chart .limit{{stroke:{bad};stroke-width:1.5;stroke-dasharray:7 4}}\
         .chart .cross{{stroke:{muted}}}"
    );
    for (i, colour) in shades.iter().enumerate() {
        write!(css, ".chart .h{i}{{fill:{colour}}}").expect("writing to a string");
    }
    for (i, colour) in series.iter().enumerate() {
        // The second and third line are wider and behind the first, so that equal lines are all
        // visible.
        let width = 2.0 + 0.8 * i.min(2) as f64;
        write!(css, ".chart .line.s{i}{{stroke:{colour};stroke-width:{width}}}.chart :is(.area,.name,.column,.dot).s{i}{{fill:{colour}}}")
            .expect("writing to a string");
    }
    css.push_str(".chart .line.thin{stroke-width:1}.chart .line.alone{stroke-width:2}");
    css
}

/// Style rules for cells of a matrix, and for swatches in a heat map's legend.
pub(crate) fn shade_style(palette: &Palette) -> String {
    let Palette { paper, ink, shades, turn, .. } = palette;
    let mut css = String::new();
    for (i, colour) in shades.iter().enumerate() {
        let text = if i < *turn { ink } else { paper };
        write!(css, ".matrix .h{i},.key .h{i}{{background:{colour};color:{text}}}").expect("writing to a string");
    }
    css
}

/// Style rules for strips of causes, and for swatches in their legend.
pub(crate) fn strip_style(palette: &Palette) -> String {
    let Palette { shade, ink, muted, rule, series, good, doubtful, bad, .. } = palette;
    let mut css = format!(".missed{{fill:{bad};background:{bad}}}");
    for (class, colour, opacity) in [
        ("ceiling", doubtful, 0.9),
        ("shared", doubtful, 0.5),
        ("floors", &series[3], 0.8),
        ("flow", &series[1], 0.3),
        ("burst", &series[1], 0.6),
        ("link", &series[1], 0.95),
        ("disk", muted, 0.5),
        ("cpu", ink, 0.8),
        ("stalled", bad, 0.6),
        ("depth", rule, 1.0),
        ("pace", good, 0.35),
        ("nothing", shade, 1.0),
    ] {
        write!(css, ".cause.by-{class}{{fill:{colour};background:{colour};opacity:{opacity}}}")
            .expect("writing to a string");
    }
    css
}

/// The colours as CSS variables for the page around the charts.
pub(crate) fn variables(palette: &Palette) -> String {
    let Palette { paper, shade, ink, muted, rule, series, good, doubtful, bad, .. } = palette;
    let mut css = format!(
        "--paper:{paper};--shade:{shade};--ink:{ink};--muted:{muted};--rule:{rule};--good:{good};\
         --doubtful:{doubtful};--bad:{bad}"
    );
    for (i, colour) in series.iter().enumerate() {
        write!(css, ";--s{i}:{colour}").expect("writing to a string");
    }
    css
}

/// The class of a line.
pub(crate) fn class(index: usize) -> String {
    format!("s{}", index % SERIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance according to WCAG 2.1.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn every_text_has_enough_contrast() {
        for palette in [LIGHT, DARK] {
            for (i, shade) in palette.shades.iter().enumerate() {
                let text = if i < palette.turn { palette.ink } else { palette.paper };
                let (a, b) = (luminance(text) + 0.05, luminance(shade) + 0.05);
                assert!(a.max(b) / a.min(b) >= 4.5, "{text} on {shade}: {:.2}", a.max(b) / a.min(b));
            }
            let texts = [palette.ink, palette.muted, palette.good, palette.doubtful, palette.bad];
            for colour in texts.into_iter().chain(palette.series) {
                for behind in [palette.paper, palette.shade] {
                    let (a, b) = (luminance(colour) + 0.05, luminance(behind) + 0.05);
                    let contrast = a.max(b) / a.min(b);
                    // WCAG's minimum contrast for small text, such as names of lines.
                    assert!(contrast >= 4.5, "{colour} on {behind}: {contrast:.2}");
                }
            }
        }
    }
}
