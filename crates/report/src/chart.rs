//! A chart as data, and as a drawing: lines, areas, columns and cells on a frame, stretches with a
//! name as bands behind them, ceilings as dashes over them.
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
//! A page draws every chart at two widths, so that what is read on a telephone is neither cut nor
//! shrunk; a style sheet shows the one that suits. Elements carry classes and no colours (see
//! `palette.rs`).

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
    /// What it shows, for those who cannot see it, and as its title.
    pub title: String,
    /// The figures in words.
    pub description: String,
    /// What lies across.
    pub x: Axis,
    /// What lies up.
    pub y: Axis,
    /// A second axis, at the right; names stand below the drawing then.
    pub right: Option<Axis>,
    /// Stretches behind the marks.
    pub bands: Vec<Band>,
    /// What is drawn; what comes later lies above.
    pub marks: Vec<Mark>,
    /// Height of a wide drawing; a narrow one is lower.
    pub height: f64,
    /// Names at the right have room for so many characters at least, so that charts below each
    /// other have one frame.
    pub room: usize,
}

/// A stretch behind the marks: a phase, or a run among several.
#[derive(Clone, Debug)]
pub struct Band {
    /// Where it starts on the axis across.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it is counted by, from 1; 0 where its name says enough.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// What it shows.
    pub about: String,
}

/// A figure that held for a stretch. It is drawn flat over all of it: a line from middle to middle
/// would show a rate above its ceiling before and after every change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Where it starts on the axis across.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The figure; `None` breaks the line.
    pub figure: Option<f64>,
}

/// Something drawn.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A figure that holds for stretches.
    Steps {
        /// Its name; none if empty.
        name: String,
        /// The stretches, from left to right.
        stretches: Vec<Stretch>,
        /// How it looks.
        look: Look,
    },
    /// What lies between two figures over the same stretches, where both are.
    Area {
        /// The lower one.
        lower: Vec<Stretch>,
        /// The upper one.
        upper: Vec<Stretch>,
        /// Its name; none if empty.
        name: String,
        /// How it looks.
        look: Look,
    },
    /// Points, joined by straight lines.
    Line {
        /// Its name.
        name: String,
        /// The points, from left to right.
        points: Vec<(f64, f64)>,
        /// How it looks.
        look: Look,
        /// Whether the points are few and each is marked.
        dots: bool,
        /// Whether the axis at the right is its own.
        on_right: bool,
    },
    /// Columns, which may stand on each other.
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
    /// A number that may not be passed, or a moment.
    Level(Threshold),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Left end.
    pub from: f64,
    /// Right end.
    pub to: f64,
    /// Where it stands.
    pub base: f64,
    /// Where it ends.
    pub top: f64,
    /// What it says under the cursor; nothing if empty.
    pub title: String,
}

/// A box of a heat map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Left and right end.
    pub x: (f64, f64),
    /// Lower and upper end.
    pub y: (f64, f64),
    /// Its shade, below [`SHADES`].
    pub shade: usize,
}

/// How many shades heat maps and matrices have.
pub const SHADES: usize = palette::SHADES;

/// A straight line across.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Left end.
    pub from: f64,
    /// Right end.
    pub to: f64,
    /// Its height.
    pub figure: f64,
    /// What it says beside it where that fits, in parts of which the last is the number; below the
    /// drawing where not.
    pub says: Vec<String>,
    /// What it is.
    pub kind: LevelKind,
}

/// What a level is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// A ceiling that those under it reached.
    Ceiling,
    /// A ceiling that they did not reach.
    IdleCeiling,
    /// A floor.
    Floor,
    /// A limit that a figure is judged by.
    Limit,
}

/// How a mark looks: by its number among others of its kind, or by what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The colour of this number; of equal lines all show, since the first is the thinnest.
    Series(usize),
    /// The same colour, thin.
    Thin(usize),
    /// The same colour, as thick as one that lies alone.
    Alone(usize),
    /// Time in the QoS gate.
    Gate,
    /// Time in the disk.
    Disk,
    /// A sum of others.
    Sum,
    /// What does not matter much.
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

/// How wide a drawing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// For screens and paper.
    Wide,
    /// For telephones, and for small charts beside each other.
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

    /// The drawing as SVG; `id` is unlike any other's of the page.
    pub(crate) fn svg(&self, id: &str, width: Width) -> String {
        draw::draw(self, id, width, None)
    }

    /// The drawing as an SVG file with its own style.
    pub(crate) fn file(&self, style: &str) -> String {
        draw::draw(self, "chart", Width::Wide, Some(style))
    }
}
