//! How long one request keeps a server or a processor busy, where that depends on its kind and size
//! alone.

use block::{Bytes, OpKind, Span};

use crate::simulated::Job;

/// What requests cost by kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// A read of no size.
    pub read: Span,
    /// A write of no size.
    pub write: Span,
    /// A read or write of S bytes costs its time `× (1 + S / size_unit)`, rounded up to the
    /// nanosecond. `None`: size costs nothing.
    pub size_unit: Option<Bytes>,
    /// A flush; a write with forced unit access costs this and its own.
    pub flush: Span,
    /// A trim, zeroing or status request, whatever its length.
    pub trim: Span,
}

impl Work {
    /// What a job costs.
    pub fn of(&self, job: &Job) -> Span {
        match job.kind {
            OpKind::Flush => self.flush,
            OpKind::Trim | OpKind::Zero | OpKind::Status => self.trim,
            OpKind::Read | OpKind::Cache => self.sized(self.read, job.len),
            OpKind::Write if job.fua => self.sized(self.write, job.len) + self.flush,
            OpKind::Write => self.sized(self.write, job.len),
        }
    }

    fn sized(&self, base: Span, len: u64) -> Span {
        let Some(unit) = self.size_unit else { return base };
        base + share(base, len, unit)
    }
}

/// `base × len / unit`, rounded up to the nanosecond. Where the product fits in 64 bits, the
/// division is an instruction and not a call.
pub(crate) fn share(base: Span, len: u64, unit: Bytes) -> Span {
    let ns = match base.as_nanos().checked_mul(len) {
        Some(whole) => whole.div_ceil(unit.0),
        None => {
            let ns = (u128::from(base.as_nanos()) * u128::from(len)).div_ceil(u128::from(unit.0));
            u64::try_from(ns).unwrap_or(u64::MAX)
        }
    };
    Span::from_nanos(ns)
}

/// How many whole units lie before `at`, and the bytes beyond them. Units are nearly always powers
/// of two, and a shift costs a tenth of a division; a request needs a dozen of these.
#[inline]
pub(crate) fn split(at: u64, unit: u64) -> (u64, u64) {
    match unit.is_power_of_two() {
        true => (at >> unit.trailing_zeros(), at & (unit - 1)),
        false => (at / unit, at % unit),
    }
}
