//! Limits the network bandwidth of clients below what the network can carry. It models a cloud file
//! server, which has a limit for each connection, and one for all together with credit for bursts.
//!
//! ```text
//!   connection ─► flow limit ─┐
//!   connection ─► flow limit ─┼─► the whole: baseline, burst, credit ─► the gate
//!   connection ─► flow limit ─┘
//! ```
//! The data of reads and writes is charged when a request is admitted. A request is admitted while
//! neither limit is in debt, and is charged in full even if that leads into debt, so that requests
//! of any length pass. Later requests wait at their connections.

use admin::LinkSeen;
use block::{BytesPerSecond, Span, Time};
use qos::{CreditLimit, CreditMeter};

/// How much unused bandwidth may be used later if the thread was late: a hundredth of a second's.
const TOLERANCE: Span = Span::from_millis(10);

/// Bandwidth limits of the network; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSettings {
    /// Limit of each connection, in bytes per second.
    pub flow: Option<BytesPerSecond>,
    /// Limit of all connections together, in bytes per second, with its credit in bytes.
    pub whole: Option<CreditLimit>,
}

/// The state of the limits, on any clock.
#[derive(Debug)]
pub struct LinkMeter {
    flow: Option<CreditLimit>,
    /// The state of each connection, by its number.
    flows: Vec<Flow>,
    whole: Option<CreditMeter>,
    /// Number of waits so far.
    turns: u64,
    seen: LinkSeen,
}

/// The state of a connection.
#[derive(Clone, Debug, Default)]
struct Flow {
    meter: Option<CreditMeter>,
    /// The number of its wait, and when that began, if it waits.
    turn: Option<(u64, Time)>,
    /// How long the last admitted request waited, until it is charged.
    waited: Span,
}

impl LinkMeter {
    /// All limits start with full credit at time zero.
    pub fn new(settings: LinkSettings) -> LinkMeter {
        let flow = settings.flow.map(|BytesPerSecond(rate)| CreditLimit { base: rate, peak: rate, credit: 0 });
        let whole = settings.whole.map(|whole| CreditMeter::tolerant(whole, TOLERANCE));
        let seen = LinkSeen { flow: settings.flow, whole: settings.whole, ..LinkSeen::default() };
        LinkMeter { flow, flows: Vec::new(), whole, turns: 0, seen }
    }

    /// Adds a connection; its number may have been used before.
    pub fn begin(&mut self, connection: u32) {
        let place = connection as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, Flow::default());
        }
        let meter = self.flow.map(|flow| CreditMeter::tolerant(flow, TOLERANCE));
        self.flows[place] = Flow { meter, ..Flow::default() };
    }

    /// Removes a connection.
    pub fn end(&mut self, connection: u32) {
        if let Some(flow) = self.flows.get_mut(connection as usize) {
            flow.turn = None;
        }
    }

    /// Admits the next request of a connection and ends its wait, or returns until when it has to
    /// wait. If the limits are open but a connection that has waited longer can go first, that is
    /// now.
    pub fn let_in(&mut self, now: Time, connection: u32) -> Option<Time> {
        if self.flow.is_none() && self.whole.is_none() {
            return None;
        }
        let (flow, whole) = self.both(now, connection);
        let until = flow.max(whole);
        if until > now || !self.is_next(now, connection) {
            return Some(until);
        }
        if let Some(flow) = self.flows.get_mut(connection as usize)
            && let Some((_, since)) = flow.turn.take()
        {
            flow.waited = now.since(since);
        }
        None
    }

    /// Notes that a connection waits. Returns its turn, which it keeps until it is admitted; the
    /// lowest turn goes first.
    pub fn wait(&mut self, now: Time, connection: u32) -> u64 {
        let (flow, whole) = self.both(now, connection);
        let turns = self.turns;
        let Some(waits) = self.flows.get_mut(connection as usize) else { return turns };
        if let Some((turn, _)) = waits.turn {
            return turn;
        }
        (waits.turn, self.turns) = (Some((turns, now)), turns + 1);
        if flow >= whole {
            self.seen.flow_waits += 1;
        } else {
            self.seen.whole_waits += 1;
            self.seen.burst_waits += u64::from(self.whole.as_ref().is_some_and(|whole| whole.is_bursting(now)));
        }
        turns
    }

    /// Whether no connection that could go now has waited longer.
    fn is_next(&self, now: Time, connection: u32) -> bool {
        let turn = |flow: &Flow| flow.turn.map_or(u64::MAX, |(turn, _)| turn);
        let own = self.flows.get(connection as usize).map_or(u64::MAX, turn);
        let is_open = |flow: &Flow| flow.meter.as_ref().is_none_or(|meter| meter.opens(now) == Some(now));
        self.whole.is_none() || !self.flows.iter().any(|other| turn(other) < own && is_open(other))
    }

    /// When the connection's own limit opens, and when that of all opens.
    fn both(&self, now: Time, connection: u32) -> (Time, Time) {
        let opens = |meter: &CreditMeter| meter.opens(now).unwrap_or(Time::MAX);
        let flow = self.flows.get(connection as usize).and_then(|flow| flow.meter.as_ref());
        (flow.map_or(now, opens), self.whole.as_ref().map_or(now, opens))
    }

    /// Charges the data of a request that was admitted, in bytes. Returns how long it waited since
    /// it was the next of its connection.
    pub fn charge(&mut self, now: Time, connection: u32, bytes: u64) -> Span {
        self.seen.bytes += bytes;
        self.whole.iter_mut().for_each(|meter| meter.charge(now, bytes));
        let Some(flow) = self.flows.get_mut(connection as usize) else { return Span::ZERO };
        flow.meter.iter_mut().for_each(|meter| meter.charge(now, bytes));
        std::mem::take(&mut flow.waited)
    }

    /// Figures of the limits.
    pub fn seen(&self, now: Time) -> LinkSeen {
        LinkSeen { credit: self.whole.as_ref().map_or(0, |whole| whole.credit(now)), ..self.seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that `connections` connections transfer in each second if each always has a request of
    /// 1 MB waiting. Each transfers as much as the others, to within a request.
    fn carried(link: &mut LinkMeter, connections: u32, seconds: u64) -> Vec<u64> {
        let mut by_connection = vec![0; connections as usize];
        (0..connections).for_each(|connection| link.begin(connection));
        let (mut now, mut by_second) = (Time::ZERO, vec![0; seconds as usize]);
        while now < Time::ZERO + Span::from_secs(seconds) {
            let mut next = Time::MAX;
            for connection in 0..connections {
                match link.let_in(now, connection) {
                    Some(until) => {
                        link.wait(now, connection);
                        next = next.min(until);
                    }
                    None => {
                        by_connection[connection as usize] += 1u64;
                        link.charge(now, connection, 1_000_000);
                        by_second[now.since(Time::ZERO).as_secs_f64() as usize] += 1_000_000;
                        next = now;
                    }
                }
            }
            now = now.max(next);
        }
        let (least, most) = (by_connection.iter().min(), by_connection.iter().max());
        assert!(most.unwrap() - least.unwrap() <= 1, "{by_connection:?}");
        by_second
    }

    /// The file server of the published workshop: 5 Gb/s a connection, a burst of 1250 MB/s on
    /// credit, 150 MB/s without.
    #[test]
    fn one_connection_has_its_flow_and_many_the_burst_until_the_credit_ends() {
        let whole = CreditLimit { base: 150_000_000, peak: 1_250_000_000, credit: 5_500_000_000 };
        let settings = LinkSettings { flow: Some(BytesPerSecond(625_000_000)), whole: Some(whole) };
        let near = |seen: &[u64], rate: u64| seen.iter().all(|bytes| bytes.abs_diff(rate) <= 2_000_000 + rate / 100);
        let mut link = LinkMeter::new(settings);
        let one = carried(&mut link, 1, 4);
        assert!(near(&one, 625_000_000), "{one:?}");
        assert!(link.seen.flow_waits > 0 && link.seen.whole_waits == 0, "{:?}", link.seen);
        // 5.5 GB of credit last 5.5 / (1.25 - 0.15) = 5 s.
        let mut link = LinkMeter::new(settings);
        let many = carried(&mut link, 16, 9);
        assert!(near(&many[..5], 1_250_000_000) && near(&many[6..], 150_000_000), "{many:?}");
        let seen = link.seen(Time::ZERO + Span::from_secs(9));
        assert!(seen.whole_waits > seen.burst_waits && seen.burst_waits > 0 && seen.credit < 20_000_000, "{seen:?}");
        assert_eq!(seen.bytes, many.iter().sum::<u64>());
    }

    /// A new connection has no debt, whoever had its number before.
    #[test]
    fn a_new_connection_pays_nothing_for_the_one_before() {
        let mut link = LinkMeter::new(LinkSettings { flow: Some(BytesPerSecond(1000)), whole: None });
        link.begin(3);
        link.charge(Time::ZERO, 3, 5000);
        assert_eq!(link.let_in(Time::ZERO, 3), Some(Time::ZERO + Span::from_millis(4990)));
        link.begin(3);
        assert_eq!(link.let_in(Time::ZERO, 3), None);
    }

    /// A request waits from when it is the first that has to, until it is admitted. The next one
    /// waits from then on.
    #[test]
    fn what_a_request_waited_is_told_once() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut link = LinkMeter::new(LinkSettings { flow: Some(BytesPerSecond(1000)), whole: None });
        link.begin(0);
        // 110 bytes at 1000 a second, of which the tolerance covers 10 ms.
        assert_eq!((link.let_in(at(0), 0), link.charge(at(0), 0, 110)), (None, Span::ZERO));
        assert_eq!(link.let_in(at(20), 0), Some(at(100)));
        link.wait(at(20), 0);
        assert_eq!((link.let_in(at(100), 0), link.charge(at(100), 0, 50)), (None, Span::from_millis(80)));
        assert_eq!(link.charge(at(100), 0, 50), Span::ZERO);
    }
}
