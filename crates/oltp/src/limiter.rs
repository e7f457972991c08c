//! What limited a load, with the evidence for it.

use crate::evidence::{ConnectionState, Evidence, ServerCounts};
use crate::figures::Figures;
use block::Bytes;

/// What limited a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limiter {
    /// In a word or two.
    pub name: &'static str,
    /// The evidence.
    pub grounds: String,
}

/// A wait that takes at least this fraction of response times is the limiter.
const WAITING: f64 = 0.4;
/// At this utilisation processors and devices count as full.
const FULL: f64 = 0.9;
/// A full device limits only if work waits for it in this fraction of the time: many devices serve
/// several requests at once.
const STALLED: f64 = 0.25;
/// If processors are full and this program and its database used less than this fraction of them,
/// other programs used the rest.
const FOREIGN: f64 = 0.5;
/// If devices read less than this fraction of what the database read, the rest came from the page
/// cache.
const CACHED: f64 = 0.5;

/// What limited this load.
pub fn limiter(figures: &Figures, seen: &Evidence) -> Limiter {
    let case = Case::of(figures, seen);
    let first = case.users().or_else(|| case.foreign()).or_else(|| case.disk()).or_else(|| case.locks());
    let then = first.or_else(|| case.commits()).or_else(|| case.reads()).or_else(|| case.processor());
    then.or_else(|| case.driver()).unwrap_or_else(|| case.unknown())
}

/// What is known of a load, as fractions.
struct Case<'a> {
    figures: &'a Figures,
    seen: &'a Evidence,
    /// Of users' time: in transactions.
    busy: f64,
    /// Of response times: waiting for SQLite's single writer.
    locked: f64,
    /// Of response times: in commits.
    committing: f64,
}

impl<'a> Case<'a> {
    fn of(figures: &'a Figures, seen: &'a Evidence) -> Case<'a> {
        let worked = figures.worked.as_secs_f64();
        let of_work = |span: block::Span| if worked > 0.0 { span.as_secs_f64() / worked } else { 0.0 };
        let all = (figures.window.as_secs_f64() * f64::from(figures.users)).max(f64::MIN_POSITIVE);
        let (locked, committing) = (of_work(figures.waits.locked), of_work(figures.waits.committing));
        Case { figures, seen, busy: worked / all, locked, committing }
    }

    fn server(&self) -> Option<&ServerCounts> {
        self.seen.server.as_ref()
    }

    /// The fraction of all samples in which users' connections were in that state.
    fn found(&self, at: ConnectionState) -> f64 {
        self.server().and_then(|server| server.part(at)).unwrap_or(0.0)
    }

    fn cpu(&self) -> String {
        format!("processors {}", known(self.seen.cpu))
    }

    fn cpu_is_full(&self) -> bool {
        self.seen.cpu.is_some_and(|part| part >= FULL)
    }

    /// Processors that this load used, driver and database.
    fn ours(&self) -> Option<f64> {
        Some(self.seen.own_cores? + self.seen.database_cores.unwrap_or(0.0))
    }

    fn users(&self) -> Option<Limiter> {
        let grounds = format!(
            "they were thinking or waiting for their turn; transactions took {} of their time",
            percent(self.busy)
        );
        (self.seen.paced && self.busy < 0.5).then_some(Limiter { name: "the users", grounds })
    }

    fn foreign(&self) -> Option<Limiter> {
        let (ours, cores) = (self.ours()?, self.seen.cores);
        // The share of a server whose processes are not visible is unknown.
        let is_known = self.server().is_none() || self.seen.database_cores.is_some();
        let foreign = is_known && self.cpu_is_full() && ours < FOREIGN * f64::from(cores);
        let grounds = format!("{} used, by other programs: this load had {ours:.1} of {cores}", self.cpu());
        foreign.then_some(Limiter { name: "cannot say", grounds })
    }

    fn disk(&self) -> Option<Limiter> {
        let (name, busy) = self.seen.device.as_ref()?;
        let stalled = self.seen.io_pressure.filter(|part| *part >= STALLED && *busy >= FULL)?;
        let grounds =
            format!("{name} was busy {} of the time, and work waited for I/O {}", percent(*busy), percent(stalled));
        Some(Limiter { name: "disk", grounds })
    }

    fn locks(&self) -> Option<Limiter> {
        // One writer at a time: the fraction of the time in which it made changes durable.
        let window = self.figures.window.as_secs_f64().max(f64::MIN_POSITIVE);
        let writer = self.figures.waits.committing.as_secs_f64() / window;
        let grounds = if self.found(ConnectionState::Locked) >= WAITING {
            format!(
                "connections were found waiting for other transactions in {} of looks",
                percent(self.found(ConnectionState::Locked))
            )
        } else if self.locked >= WAITING && writer < 0.6 {
            format!("{} of response times were waits for the one writer", percent(self.locked))
        } else {
            return None;
        };
        Some(Limiter { name: "locks", grounds: format!("{grounds}; {}", self.cpu()) })
    }

    fn commits(&self) -> Option<Limiter> {
        let found = self.found(ConnectionState::Committing);
        let grounds = if found >= WAITING {
            format!("connections were found waiting for the log in {} of looks", percent(found))
        } else if self.committing >= WAITING || self.locked >= WAITING {
            let queue = if self.locked > 0.0 {
                format!(", waits for the writer {}", percent(self.locked))
            } else {
                String::new()
            };
            format!("commits were {} of response times{queue}", percent(self.committing))
        } else {
            return None;
        };
        Some(Limiter { name: "commit latency", grounds: format!("{grounds}; {}", self.cpu()) })
    }

    fn reads(&self) -> Option<Limiter> {
        let found = self.found(ConnectionState::Reading);
        let server = self.server().filter(|_| found >= WAITING)?;
        let grounds = format!("connections were found waiting for blocks in {} of looks", percent(found));
        let (name, behind) = match self.seen.device_read {
            Some(device) if (device as f64) < CACHED * server.read as f64 => (
                "page cache",
                format!(
                    "the database read {}, devices {}: the page cache had the rest",
                    Bytes(server.read),
                    Bytes(device)
                ),
            ),
            Some(device) => ("disk", format!("the database read {}, devices {}", Bytes(server.read), Bytes(device))),
            None => ("disk or page cache", "what devices read is not known".to_owned()),
        };
        Some(Limiter { name, grounds: format!("{grounds}; {behind}") })
    }

    fn processor(&self) -> Option<Limiter> {
        let ours = match (self.seen.own_cores, self.seen.database_cores) {
            (Some(own), Some(database)) => format!("the database had {database:.1} of them, the driver {own:.1}"),
            (own, _) => format!("this program had {:.1} of them", own.unwrap_or(0.0)),
        };
        let grounds = format!("{} used; {ours}", self.cpu());
        self.cpu_is_full().then_some(Limiter { name: "processor", grounds })
    }

    fn driver(&self) -> Option<Limiter> {
        let found = self.found(ConnectionState::Client);
        let grounds = format!(
            "connections were found waiting for the next statement in {} of looks; this program used {:.1} processors",
            percent(found),
            self.seen.own_cores.unwrap_or(0.0)
        );
        (found >= WAITING).then_some(Limiter { name: "driver", grounds })
    }

    fn unknown(&self) -> Limiter {
        let device = known(self.seen.device.as_ref().map(|(_, busy)| *busy));
        let waits = match self.server() {
            None => {
                let (locked, committing) = (percent(self.locked), percent(self.committing));
                format!("waits for locks {locked} and for commits {committing} of response times")
            }
            Some(_) => {
                let found = ConnectionState::ALL.map(|at| format!("{} {}", at.name(), percent(self.found(at))));
                format!("connections were found at {}", found.join(", "))
            }
        };
        Limiter { name: "cannot say", grounds: format!("{}, busiest device {device}, {waits}", self.cpu()) }
    }
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn known(part: Option<f64>) -> String {
    part.map_or("unknown".to_owned(), percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;
    use block::Span;

    fn name(figures: &Figures, seen: &Evidence) -> &'static str {
        limiter(figures, seen).name
    }

    /// One user with 8 transactions per second of 100 ms each: it worked 24 of 30 s.
    #[test]
    fn each_limit_has_its_grounds() {
        let figures = Figures::of(&played(|_| 8, 100), 1);
        assert_eq!(name(&figures, &Evidence::default()), "cannot say");
        let (idle, paced) = (Figures { users: 2, ..figures.clone() }, Evidence { paced: true, ..Evidence::default() });
        assert_eq!(name(&idle, &paced), "the users");
        assert_eq!(name(&idle, &Evidence::default()), "cannot say", "what had not ended is not thinking");
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

    /// Six of ten samples found connections in one state.
    #[test]
    fn a_servers_looks_say_where_connections_waited() {
        let figures = Figures::of(&played(|_| 8, 100), 1);
        let at = |at: ConnectionState, device_read| {
            let mut server = ServerCounts { read: 1000, ..ServerCounts::default() };
            server.found = [1, 1, 1, 1, 0, 0];
            server.found[at as usize] += 6;
            name(&figures, &Evidence { server: Some(server), device_read, ..Evidence::default() })
        };
        assert_eq!(
            [ConnectionState::Locked, ConnectionState::Committing, ConnectionState::Client]
                .map(|place| at(place, None)),
            ["locks", "commit latency", "driver"]
        );
        assert_eq!(
            [Some(900), Some(100), None].map(|device| at(ConnectionState::Reading, device)),
            ["disk", "page cache", "disk or page cache"]
        );
        assert_eq!(at(ConnectionState::Processor, None), "cannot say", "without the host's processors");
        let full = Evidence { cpu: Some(0.97), cores: 2, own_cores: Some(0.5), ..Evidence::default() };
        let of = |database_cores| Evidence { server: Some(ServerCounts::default()), database_cores, ..full.clone() };
        assert_eq!(name(&figures, &of(Some(0.1))), "cannot say", "others had them");
        assert_eq!(name(&figures, &of(Some(1.3))), "processor");
        assert_eq!(name(&figures, &of(None)), "processor", "whose they were is not known");
    }
}
