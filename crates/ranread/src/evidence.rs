//! What limited a load, as far as there is evidence for it.

use std::fmt;

/// What was observed of the machine during a batch; `None` if it is not visible from here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchEvidence {
    /// Fraction of the time in which the busiest device had requests in flight.
    pub device_busy: Option<f64>,
    /// The busiest device's name.
    pub device: String,
    /// Fraction of all processors' time that was used.
    pub cpu_busy: Option<f64>,
    /// Bytes requested by reads, past the page cache or through it.
    pub bytes_asked: u64,
    /// Bytes read from storage, as counted by the kernel.
    pub bytes_fetched: Option<u64>,
    /// Fraction of the blocks that a database server had in its own cache, if one was read through.
    pub server_cached: Option<f64>,
    /// Variation of IOPS between half seconds: standard deviation divided by mean.
    pub iops_variation: Option<f64>,
}

/// What limited a load.
#[derive(Clone, Debug, PartialEq)]
pub enum Limiter {
    /// This fraction of reads came from the host's page cache.
    HostCache(f64),
    /// The first fraction of reads came from caches, the second from that of the server.
    ServerCaches(f64, f64),
    /// The processors were this busy.
    Cpu(f64),
    /// The device was busy for this fraction of the time.
    Device(String, f64),
    /// IOPS were constant to this fraction of their mean while neither was busy, as under a
    /// ceiling.
    Ceiling(f64),
    /// IOPS no longer grew while neither was busy: a queue below this host.
    Queue,
    /// IOPS still grew.
    NothingYet,
    /// Nothing of the machine was visible.
    Unseen,
}

/// If less than this fraction was read from storage, the rest came from a cache.
const FETCHED_LEAST: f64 = 0.9;
/// Utilisation at which a device or a processor counts as busy.
const BUSY: f64 = 0.95;
const CPU_BUSY: f64 = 0.9;
/// A ceiling keeps IOPS within this fraction of their mean.
const STILL: f64 = 0.01;

impl BatchEvidence {
    /// The fraction of reads that did not come from storage; `None` if the kernel does not report
    /// it.
    pub fn cached(&self) -> Option<f64> {
        let fetched = self.bytes_fetched.filter(|_| self.bytes_asked > 0)?;
        Some((1.0 - fetched as f64 / self.bytes_asked as f64).clamp(0.0, 1.0))
    }

    /// What limited the load, depending on whether IOPS had stopped growing.
    pub fn limiter(&self, still_grew: bool) -> Limiter {
        if let Some(cached) = self.cached().filter(|cached| *cached > 1.0 - FETCHED_LEAST) {
            return match self.server_cached {
                Some(server) => Limiter::ServerCaches(cached, server),
                None => Limiter::HostCache(cached),
            };
        }
        if let Some(busy) = self.cpu_busy.filter(|busy| *busy >= CPU_BUSY) {
            return Limiter::Cpu(busy);
        }
        if still_grew {
            return Limiter::NothingYet;
        }
        if let Some(busy) = self.device_busy.filter(|busy| *busy >= BUSY) {
            return Limiter::Device(self.device.clone(), busy);
        }
        if let Some(variation) = self.iops_variation.filter(|variation| *variation <= STILL) {
            return Limiter::Ceiling(variation);
        }
        if self.device_busy.is_none() && self.cpu_busy.is_none() { Limiter::Unseen } else { Limiter::Queue }
    }
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: &f64| format!("{:.0} %", part * 100.0);
        match self {
            Limiter::HostCache(part) => {
                write!(f, "the host's page cache: {} of what was read did not come from storage", percent(part))
            }
            Limiter::ServerCaches(part, server) => write!(
                f,
                "caches: {} of what was read did not come from storage, {} of it in the server's own cache and the rest \
                 in the page cache below it",
                percent(part),
                percent(&(server / part.max(f64::MIN_POSITIVE)).min(1.0))
            ),
            Limiter::Cpu(busy) => write!(f, "this host's processors: {} busy", percent(busy)),
            Limiter::Device(name, busy) => {
                write!(f, "the device: {name} had requests in flight {} of the time", percent(busy))
            }
            Limiter::Ceiling(variation) => write!(
                f,
                "a ceiling, as of QoS: IOPS stood still within {:.1} % while this host was not busy",
                variation * 100.0
            ),
            Limiter::Queue => f.write_str("a queue below this host: neither its processors nor its device were busy"),
            Limiter::NothingYet => f.write_str("nothing yet: IOPS still grew at the highest load"),
            Limiter::Unseen => f.write_str("cannot say: nothing of the storage can be seen from here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limiter_has_its_sign() {
        let seen = BatchEvidence {
            device_busy: Some(0.5),
            device: "vda".into(),
            cpu_busy: Some(0.3),
            bytes_asked: 1000,
            bytes_fetched: Some(1000),
            server_cached: None,
            iops_variation: Some(0.05),
        };
        assert_eq!(seen.limiter(true), Limiter::NothingYet);
        assert_eq!(seen.limiter(false), Limiter::Queue);
        let of = |evidence: BatchEvidence| evidence.limiter(false);
        assert_eq!(of(BatchEvidence { device_busy: Some(0.97), ..seen.clone() }), Limiter::Device("vda".into(), 0.97));
        assert_eq!(of(BatchEvidence { cpu_busy: Some(0.92), ..seen.clone() }), Limiter::Cpu(0.92));
        assert_eq!(of(BatchEvidence { iops_variation: Some(0.004), ..seen.clone() }), Limiter::Ceiling(0.004));
        assert_eq!(of(BatchEvidence { bytes_fetched: Some(400), ..seen.clone() }), Limiter::HostCache(0.6));
        // Through a server 45 % came from caches, of all reads 9 % from the server's own.
        let server = of(BatchEvidence { bytes_fetched: Some(550), server_cached: Some(0.09), ..seen });
        let wanted = "caches: 45 % of what was read did not come from storage, 20 % of it in the server's own cache and the \
                      rest in the page cache below it";
        assert_eq!(server.to_string(), wanted);
        assert_eq!(of(BatchEvidence::default()), Limiter::Unseen);
    }
}
