//! The kinds of models that can be fitted, and the figures of each that recordings determine.
//!
//! ```text
//!   flash               channels, page*, read, program**      depth 1 says read, many outstanding say channels
//!   parallel-servers    servers, service, size_unit*          one time for all
//!   host                turn, request, size_unit*             depth 1 says their sum, many outstanding say request
//! ```
//! `*` with several sizes of requests, `**` with writes. Integers come first: they are searched,
//! and the others are fitted for each choice of them.

use super::point::CalibrationPoint;
use array::{Collection, Flash, Host, Model, ParallelServers};
use block::{Bytes, Span};

/// A kind of model that can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationShape {
    /// Parallel channels that read whole pages.
    Flash,
    /// Parallel servers with one queue.
    ParallelServers,
    /// A processor that serves requests in batches.
    Host,
}

/// A figure that is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Its key in the file of an array.
    pub key: &'static str,
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// An integer, searched.
    Count,
    /// Bytes, searched by powers of two.
    Page,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Size,
}

const COUNT_MAX: f64 = 65_536.0;

impl CalibrationShape {
    /// All kinds.
    pub const ALL: [CalibrationShape; 3] =
        [CalibrationShape::Flash, CalibrationShape::ParallelServers, CalibrationShape::Host];

    /// Its name in files of arrays.
    pub const fn name(self) -> &'static str {
        match self {
            CalibrationShape::Flash => "flash",
            CalibrationShape::ParallelServers => "parallel-servers",
            CalibrationShape::Host => "host",
        }
    }

    /// The numbers that these points determine, integers first.
    ///
    /// # Errors
    /// The points lack what the model needs: one line.
    pub(super) fn numbers(self, points: &[CalibrationPoint]) -> Result<Vec<Number>, String> {
        let sizes = one_length(points).is_none();
        let [reads, writes] = [0, 1].map(|kind| points.iter().any(|point| point.kinds()[kind]));
        let number = |key, unit| Some(Number { key, unit });
        let if_sizes = |key, unit| sizes.then_some(Number { key, unit });
        let numbers = match self {
            CalibrationShape::Flash if !reads => {
                return Err("flash needs reads, and the recordings have writes only; record reads too, or say \
                            --model parallel-servers"
                    .into());
            }
            CalibrationShape::Flash => [
                number("channels", Unit::Count),
                if_sizes("page", Unit::Page),
                number("read", Unit::Time),
                writes.then_some(Number { key: "program", unit: Unit::Time }),
            ],
            CalibrationShape::ParallelServers => {
                [number("servers", Unit::Count), number("service", Unit::Time), if_sizes("size_unit", Unit::Size), None]
            }
            CalibrationShape::Host => {
                [number("turn", Unit::Time), number("request", Unit::Time), if_sizes("size_unit", Unit::Size), None]
            }
        };
        Ok(numbers.into_iter().flatten().collect())
    }

    /// Initial values by rules of thumb: the slowest response at the least depth is the time of one
    /// request, and the highest rate is the capacity of the device.
    pub(super) fn begin(self, numbers: &[Number], points: &[CalibrationPoint]) -> Vec<f64> {
        let alone = points.iter().map(|point| f64::from(point.depth()) / point.rate).fold(f64::INFINITY, f64::min);
        let most = points.iter().map(|point| point.rate).fold(0.0, f64::max);
        let shortest = points.iter().flat_map(CalibrationPoint::lengths).min().unwrap_or(4096) as f64;
        let of = |number: &Number| match number.key {
            "channels" | "servers" => (alone * most).round().clamp(1.0, COUNT_MAX),
            "page" => shortest,
            "request" => 1e9 / most,
            "turn" => (1e9 * alone - 1e9 / most).max(1e8 * alone),
            "size_unit" => 8.0 * shortest,
            _ => 1e9 * alone,
        };
        numbers.iter().map(of).collect()
    }

    /// The model with these numbers. Figures that recordings do not determine have their defaults,
    /// but nothing is random: garbage collection and pauses are included in the fitted times.
    pub(super) fn model(self, numbers: &[Number], values: &[f64], points: &[CalibrationPoint]) -> Model {
        let value = |key: &str| numbers.iter().position(|number| number.key == key).map(|at| values[at]);
        let count = |key| value(key).map(|count| count.round().clamp(1.0, COUNT_MAX) as u32);
        let time = |key| value(key).map(|time: f64| Span::from_nanos(time.round().clamp(1.0, 1e12) as u64));
        let size = |key| value(key).map(|size: f64| Bytes(size.round().clamp(1.0, 1e15) as u64));
        match self {
            CalibrationShape::Flash => {
                let usual = Flash::default();
                let every = usual.collection.map_or(Bytes::kib(512), |collection| collection.every);
                Model::Flash(Flash {
                    channels: count("channels").unwrap_or(usual.channels),
                    page: size("page").or_else(|| one_length(points).map(Bytes)).unwrap_or(usual.page),
                    read: time("read").unwrap_or(usual.read),
                    program: time("program").unwrap_or(usual.program),
                    collection: Some(Collection { every, stall: Span::ZERO }),
                    ..usual
                })
            }
            CalibrationShape::ParallelServers => {
                let usual = ParallelServers::default();
                Model::ParallelServers(ParallelServers {
                    servers: count("servers").unwrap_or(usual.servers),
                    service: time("service").unwrap_or(usual.service),
                    size_unit: size("size_unit"),
                    ..usual
                })
            }
            CalibrationShape::Host => {
                let usual = Host::default();
                Model::Host(Host {
                    turn: time("turn").unwrap_or(usual.turn),
                    request: time("request").unwrap_or(usual.request),
                    size_unit: size("size_unit"),
                    absence: None,
                    ..usual
                })
            }
        }
    }
}

/// The size of all requests, if they have the same.
pub(super) fn one_length(points: &[CalibrationPoint]) -> Option<u64> {
    let mut lengths = points.iter().flat_map(CalibrationPoint::lengths);
    let first = lengths.next()?;
    lengths.all(|len| len == first).then_some(first)
}

impl Number {
    /// In the format of a file of an array.
    pub(super) fn in_file(self, value: f64) -> String {
        let whole = value.round().max(1.0) as u64;
        match self.unit {
            Unit::Time => format!("\"{whole}ns\""),
            Unit::Count | Unit::Page | Unit::Size => whole.to_string(),
        }
    }

    /// In a format for people.
    pub(super) fn shown(self, value: f64) -> String {
        let whole = value.round().max(1.0) as u64;
        match self.unit {
            Unit::Time => Span::from_nanos(whole).to_string(),
            Unit::Count => report::text::thousands(whole),
            Unit::Page | Unit::Size => Bytes(whole).to_string(),
        }
    }
}
