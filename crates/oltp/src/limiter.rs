//! What limited a load, with the grounds that say so.

use crate::figures::Figures;

/// What the host and the program did in the window; a part is of one.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// All processors' time that was used.
    pub cpu: Option<f64>,
    /// The busiest device and the part of the time in which it had requests.
    pub device: Option<(String, f64)>,
    /// The part of the time in which something waited for I/O.
    pub io_pressure: Option<f64>,
    /// Processors that this program used, the database too where that is inside of it.
    pub own_cores: Option<f64>,
    /// Processors of the host; 0 where unknown.
    pub cores: u32,
    /// Bytes that came from below the page cache.
    pub fetched: Option<u64>,
}

/// What limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limiter {
    /// In a word or two.
    pub name: &'static str,
    /// Why one should believe it.
    pub grounds: String,
}

/// From this part of response times on, a wait is what limits.
const WAITING: f64 = 0.4;
/// From this part on, processors and devices are full.
const FULL: f64 = 0.9;
/// A full device limits only if work waits for it in this part of the time: many devices take more than one request at once.
const STALLED: f64 = 0.25;
/// Where processors are full and this program had less than this part of them, others kept it from them.
const FOREIGN: f64 = 0.5;

/// What limited that load.
pub fn limiter(figures: &Figures, seen: &Evidence) -> Limiter {
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    let known = |part: Option<f64>| part.map_or("unknown".to_owned(), percent);
    let worked = figures.worked.as_secs_f64();
    let window = figures.window.as_secs_f64();
    let of_work = |span: block::Span| if worked > 0.0 { span.as_secs_f64() / worked } else { 0.0 };
    let busy = worked / (window * f64::from(figures.users)).max(f64::MIN_POSITIVE);
    let (locked, committing) = (of_work(figures.waits.locked), of_work(figures.waits.committing));
    // One writer at a time: how much of the time it made changes durable.
    let writer = figures.waits.committing.as_secs_f64() / window.max(f64::MIN_POSITIVE);
    let cpu = known(seen.cpu);
    let full = |part: Option<f64>| part.is_some_and(|part| part >= FULL);
    let device = seen.device.as_ref().map(|(_, busy)| *busy);
    let name = seen.device.as_ref().map_or("", |(name, _)| name);
    let (name, grounds) = if busy < 0.5 {
        (
            "the users",
            format!("they were thinking or waiting for their turn; transactions took {} of their time", percent(busy)),
        )
    } else if full(seen.cpu) && seen.own_cores.is_some_and(|own| own < FOREIGN * f64::from(seen.cores)) {
        let own = seen.own_cores.unwrap_or(0.0);
        (
            "cannot say",
            format!("processors were used {cpu}, by other programs: this one had {own:.1} of {}", seen.cores),
        )
    } else if full(device) && seen.io_pressure.is_some_and(|part| part >= STALLED) {
        (
            "disk",
            format!(
                "{name} was busy {} of the time, and work waited for I/O {}",
                known(device),
                known(seen.io_pressure)
            ),
        )
    } else if locked >= WAITING && writer < 0.6 {
        ("locks", format!("{} of response times were waits for the one writer; processors {cpu}", percent(locked)))
    } else if committing >= WAITING || locked >= WAITING {
        let queue = if locked > 0.0 { format!(", waits for that writer {}", percent(locked)) } else { String::new() };
        ("commit latency", format!("commits were {} of response times{queue}; processors {cpu}", percent(committing)))
    } else if full(seen.cpu) {
        (
            "processor",
            format!("processors were used {cpu}; this program had {:.1} of them", seen.own_cores.unwrap_or(0.0)),
        )
    } else {
        let waits = format!("waits for locks {} and for commits {}", percent(locked), percent(committing));
        ("cannot say", format!("processors {cpu}, busiest device {}, {waits} of response times", known(device)))
    };
    Limiter { name, grounds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;
    use block::Span;

    /// One user, of 8 transactions a second of 100 ms each: it worked 24 of 30 s.
    #[test]
    fn each_limit_has_its_grounds() {
        let figures = Figures::of(&played(|_| 8, 100), 1);
        let name = |figures: &Figures, seen: &Evidence| limiter(figures, seen).name;
        assert_eq!(name(&figures, &Evidence::default()), "cannot say");
        assert_eq!(name(&Figures { users: 2, ..figures.clone() }, &Evidence::default()), "the users");
        assert_eq!(name(&figures, &Evidence { cpu: Some(0.95), ..Evidence::default() }), "processor");
        let foreign = Evidence { cpu: Some(0.95), own_cores: Some(0.4), cores: 2, ..Evidence::default() };
        assert_eq!(name(&figures, &foreign), "cannot say");
        assert_eq!(name(&figures, &Evidence { own_cores: Some(1.8), ..foreign }), "processor");
        let disk = Evidence { device: Some(("sda".into(), 0.97)), io_pressure: Some(0.5), ..Evidence::default() };
        assert_eq!(name(&figures, &disk), "disk");
        assert_eq!(name(&figures, &Evidence { io_pressure: Some(0.1), ..disk }), "cannot say");
        let waits = |locked, committing| {
            let waits = crate::Waits { locked: Span::from_secs(locked), committing: Span::from_secs(committing) };
            name(&Figures { waits, ..figures.clone() }, &Evidence::default())
        };
        assert_eq!((waits(12, 2), waits(12, 20), waits(0, 12)), ("locks", "commit latency", "commit latency"));
    }
}
