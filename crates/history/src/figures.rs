//! The counters of an object over an interval.

use block::Span;

/// Defines a struct of counters that can be added and listed by name.
macro_rules! counters {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$field_about])* pub $field: u64),+ }

        impl $name {
            /// The names, in the order of [`Self::values`].
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field)),+];

            /// The values.
            pub fn values(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$field),+]
            }

            /// A struct with values in that order.
            pub fn of([$($field),+]: [u64; Self::NAMES.len()]) -> $name {
                $name { $($field),+ }
            }

            /// Adds the counters of another, saturating.
            pub fn add(&mut self, other: &$name) {
                $(self.$field = self.$field.saturating_add(other.$field);)+
            }

            /// What was added since the counters were as in `before`, saturating.
            #[must_use]
            pub fn since(&self, before: &$name) -> $name {
                $name { $($field: self.$field.saturating_sub(before.$field)),+ }
            }
        }
    };
}

counters! {
    /// What was done for an object, and what its requests waited for.
    Figures {
        /// Reads dispatched.
        read_ops,
        /// Writes dispatched.
        write_ops,
        /// Everything else dispatched.
        other_ops,
        /// Bytes of the reads.
        read_bytes,
        /// Bytes of the writes.
        write_bytes,
        /// Requests that ended, faults included: those that the waits are of.
        completed,
        /// Requests that ended with a fault.
        faults,
        /// Their replies' way into the network, summed over requests, in microseconds.
        network_us,
        /// Held back by a ceiling, likewise.
        qos_max_us,
        /// Waiting because of others' floors, likewise.
        qos_min_us,
        /// Waiting for its turn and for the store to take more, likewise.
        store_us,
        /// In the store's blocks and on the device, likewise.
        disk_us,
        /// Time in which its floor was not met, in milliseconds.
        missed_ms,
        /// Operations that it got less than its floor.
        missed_ops,
        /// Bytes that it got less than its floor.
        missed_bytes,
    }
}

counters! {
    /// What an object's policy promised it and what it took, each times the seconds that it was so.
    Promise {
        /// Seconds that this is of.
        seconds,
        /// The floor, in operations: IOPS times seconds.
        floor_ops,
        /// The floor, in bytes: bytes per second times seconds.
        floor_bytes,
        /// The ceiling of the object itself, in operations; 0 without one and in a shared group.
        ceiling_ops,
        /// Likewise in bytes.
        ceiling_bytes,
        /// Its size, in MiB times seconds.
        allocated_mib_s,
        /// What of it was taken, in MiB times seconds.
        used_mib_s,
    }
}

/// All sums of an object that are kept by the hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What it did.
    pub figures: Figures,
    /// What it was promised.
    pub promise: Promise,
}

impl Totals {
    /// Adds the sums of another.
    pub fn add(&mut self, other: &Totals) {
        self.figures.add(&other.figures);
        self.promise.add(&other.promise);
    }

    /// The names of all sums, as columns; those of promises have the prefix `promised_`.
    pub fn names() -> impl Iterator<Item = String> {
        let promised = Promise::NAMES.iter().map(|name| format!("promised_{name}"));
        Figures::NAMES.iter().map(|name| (*name).to_owned()).chain(promised)
    }

    /// The values, in that order.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.figures.values().into_iter().chain(self.promise.values())
    }

    /// Totals whose values are returned by `value` for each index of the names.
    ///
    /// # Errors
    /// A value is not available.
    pub fn try_of<E>(mut value: impl FnMut(usize) -> Result<u64, E>) -> Result<Totals, E> {
        let (mut figures, mut promise) = (Figures::default().values(), Promise::default().values());
        for (at, place) in figures.iter_mut().chain(&mut promise).enumerate() {
            *place = value(at)?;
        }
        Ok(Totals { figures: Figures::of(figures), promise: Promise::of(promise) })
    }
}

/// Latency by place: of one request on average, or summed over requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Sending the reply to the network.
    pub network: Span,
    /// Held back by ceilings.
    pub qos_max: Span,
    /// Held back for floors of others.
    pub qos_min: Span,
    /// Waiting for its turn, and for room in the store.
    pub store: Span,
    /// In the store and on the device.
    pub disk: Span,
}

impl Latency {
    /// The sum.
    pub fn total(&self) -> Span {
        self.network + self.qos_max + self.qos_min + self.store + self.disk
    }
}

/// Divides the latency of all requests by their number.
impl std::ops::Div<u64> for Latency {
    type Output = Latency;

    fn div(self, requests: u64) -> Latency {
        let one = requests.max(1);
        Latency {
            network: self.network / one,
            qos_max: self.qos_max / one,
            qos_min: self.qos_min / one,
            store: self.store / one,
            disk: self.disk / one,
        }
    }
}

impl Figures {
    /// Operations.
    pub fn ops(&self) -> u64 {
        self.read_ops.saturating_add(self.write_ops).saturating_add(self.other_ops)
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }

    /// The latency of all requests, in microseconds.
    pub fn latency_us(&self) -> u64 {
        [self.network_us, self.qos_max_us, self.qos_min_us, self.store_us, self.disk_us]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// The mean latency of a request.
    pub fn latency(&self) -> Latency {
        let span = |us: u64| Span::from_nanos(us.saturating_mul(1000));
        let all = Latency {
            network: span(self.network_us),
            qos_max: span(self.qos_max_us),
            qos_min: span(self.qos_min_us),
            store: span(self.store_us),
            disk: span(self.disk_us),
        };
        all / self.completed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 requests with 2 ms of waiting for ceilings and 1 ms of disk: 500 and 250 µs each. Without
    /// requests all is zero.
    #[test]
    fn latency_is_the_mean_of_what_ended() {
        let figures = Figures { completed: 4, qos_max_us: 2000, disk_us: 1000, ..Figures::default() };
        let latency = figures.latency();
        assert_eq!((latency.qos_max, latency.disk), (Span::from_micros(500), Span::from_micros(250)));
        assert_eq!((latency.total(), figures.latency_us()), (Span::from_micros(750), 3000));
        assert_eq!(Figures::default().latency().total(), Span::ZERO);
    }

    #[test]
    fn values_and_names_are_of_the_same_order() {
        let figures = Figures { read_ops: 1, missed_bytes: 2, ..Figures::default() };
        assert_eq!((Figures::NAMES[0], figures.values()[0]), ("read_ops", 1));
        assert_eq!((Figures::NAMES[14], figures.values()[14]), ("missed_bytes", 2));
        assert_eq!(Figures::of(figures.values()), figures);
        let totals = Totals { figures, promise: Promise { seconds: 3, used_mib_s: 4, ..Promise::default() } };
        let values: Vec<u64> = totals.values().collect();
        assert_eq!(Totals::try_of::<()>(|at| Ok(values[at])), Ok(totals));
        let names: Vec<String> = Totals::names().collect();
        assert_eq!((names[15].as_str(), values[15], names.len()), ("promised_seconds", 3, values.len()));
        assert_eq!(Totals::try_of(|at| if at == 20 { Err(at) } else { Ok(0) }), Err(20));
    }
}
