//! A chart as data, and its drawing: lines, areas, columns and cells in a frame, named bands behind
//! them, and dashed ceilings in front.
//!
//! ```text
//!   wide    1 even      2 bully   │ 3 ceiling                narrow   1       2    │ 3
//!      ├───────────────┬──────────┼───────────┐                 ├───────┬────┼────┐
//!      │               │  ╭────── │  vol1 ≤ … │                 │       │ ╭──│    │
//!      │               │ ╭╯       │ ─ ─ ─ ─ ─ │ server1         │ ──────│─╯  │ ── │
//!      │ ──────────────│─╯        │ ───────── │ server2         └───────┴────┴────┘
//!      └───────────────┴──────────┴───────────┘                   0 s     10 s
//!        0 s              10 s        20 s                       1 even  2 bully  3 ceiling
//!                                                                ─ server1  ─ server2
//! ```
//! A page has every chart at two widths, so that it is neither cut nor scaled down on a phone; a
//! style sheet shows the one that fits. Elements have classes and no colours (see `palette.rs`).

mod axis;
mod draw;
mod names;
mod strips;
mod thin;

pub use axis::Axis;
pub use strips::{Strip, StripCell, Strips};
pub use thin::{Merge, thinned};

use crate::palette;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its title, also used as its accessible name.
    pub title: String,
    /// A description of the figures for readers who cannot see the chart.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// A second vertical axis at the right; names are below the drawing then.
    pub right: Option<Axis>,
    /// Bands behind the marks.
    pub bands: Vec<Band>,
    /// What is drawn; later marks are in front.
    pub marks: Vec<Mark>,
    /// Height of the wide drawing; the narrow one is lower.
    pub height: f64,
    /// Minimum number of characters for names at the right, so that the frames of charts above each
    /// other align.
    pub room: usize,
}

/// A band behind the marks: a phase, or one run of several.
#[derive(Clone, Debug)]
pub struct Band {
    /// Its start on the horizontal axis.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its number, from 1; 0 if the name suffices.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// What it shows.
    pub about: String,
}

/// A figure over an interval. It is drawn as a horizontal line over all of it, because a line from
/// middle to middle would show a rate above its ceiling before and after every change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Its start on the horizontal axis.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The figure; `None` interrupts the line.
    pub figure: Option<f64>,
}

/// An element of the drawing.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A figure over consecutive intervals.
    Steps {
        /// Its name; empty for none.
        name: String,
        /// The intervals, from left to right.
        stretches: Vec<Stretch>,
        /// How it looks.
        look: Look,
    },
    /// The area between two figures over the same intervals, where both are known.
    Area {
        /// The lower figure.
        lower: Vec<Stretch>,
        /// The upper figure.
        upper: Vec<Stretch>,
        /// Its name; empty for none.
        name: String,
        /// How it looks.
        look: Look,
    },
    /// Points joined by straight lines.
    Line {
        /// Its name.
        name: String,
        /// The points, from left to right.
        points: Vec<(f64, f64)>,
        /// How it looks.
        look: Look,
        /// Whether each point is marked, because there are few.
        dots: bool,
        /// Whether it uses the axis at the right.
        on_right: bool,
    },
    /// Columns, which may be stacked.
    Columns {
        /// Their name.
        name: String,
        /// The columns.
        columns: Vec<Column>,
        /// How they look.
        look: Look,
    },
    /// Boxes in shades: a heat map.
    Cells(Vec<Cell>),
    /// A limit or an instant.
    Level(Threshold),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Left end.
    pub from: f64,
    /// Right end.
    pub to: f64,
    /// Its lower end.
    pub base: f64,
    /// Its upper end.
    pub top: f64,
    /// Its tooltip; empty for none.
    pub title: String,
}

/// A box of a heat map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Left and right end.
    pub x: (f64, f64),
    /// Lower and upper end.
    pub y: (f64, f64),
    /// Its shade, less than [`SHADES`].
    pub shade: usize,
}

/// Number of shades in heat maps and matrices.
pub const SHADES: usize = palette::SHADES;

/// A horizontal line.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Left end.
    pub from: f64,
    /// Right end.
    pub to: f64,
    /// Its height.
    pub figure: f64,
    /// Its label, in parts of which the last is the number; shown beside the line if there is room,
    /// otherwise below the drawing.
    pub says: Vec<String>,
    /// What it stands for.
    pub kind: LevelKind,
}

/// What a level stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// A ceiling that was reached.
    Ceiling,
    /// A ceiling that was not reached.
    IdleCeiling,
    /// A floor.
    Floor,
    /// A limit of a criterion.
    Limit,
}

/// The style of a mark: by its number among others of its kind, or by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The colour of this number. Of equal lines all are visible, since the first is the thinnest.
    Series(usize),
    /// The same colour, thin.
    Thin(usize),
    /// The same colour, as thick as a single line.
    Alone(usize),
    /// Time in the QoS gate.
    Gate,
    /// Time in the disk.
    Disk,
    /// A sum of others.
    Sum,
    /// Something of minor importance.
    Muted,
}

impl Look {
    pub(crate) fn class(self) -> String {
        match self {
            Look::Series(index) => palette::class(index),
            Look::Thin(index) => format!("{} thin", palette::class(index)),
            Look::Alone(index) => format!("{} alone", palette::class(index)),
            Look::Gate => "gate".into(),
            Look::Disk => "disk".into(),
            Look::Sum => "sum".into(),
            Look::Muted => "muted".into(),
        }
    }
}

/// The width of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// For screens and paper.
    Wide,
    /// For phones, and for small charts side by side.
    Narrow,
}

impl Chart {
    /// An empty chart.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Chart {
        Chart {
            title: title.into(),
            description: String::new(),
            x,
            y,
            right: None,
            bands: Vec::new(),
            marks: Vec::new(),
            height: 300.0,
            room: 0,
        }
    }

    /// The drawing as SVG; `id` must be unique on the page.
    pub(crate) fn svg(&self, id: &str, width: Width) -> String {
        draw::draw(self, id, width, None)
    }

    /// The drawing as an SVG file that contains its style.
    pub(crate) fn file(&self, style: &str) -> String {
        draw::draw(self, "chart", Width::Wide, Some(style))
    }
}
