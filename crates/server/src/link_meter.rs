//! What the network between clients and the server may carry, where it is to carry less than it
//! can: as a cloud gives a file server so much a connection, and so much in all with credit for
//! bursts.
//!
//! ```text
//!   connection ─► flow limit ─┐
//!   connection ─► flow limit ─┼─► the whole: baseline, burst, credit ─► the gate
//!   connection ─► flow limit ─┘
//! ```
//! Data of reads and writes counts when the request comes in. A request comes in as long as neither
//! limit is in debt, and takes what it costs even into debt, so that a request of any length
//! passes; the next ones wait at the connection.

use admin::LinkSeen;
use block::{BytesPerSecond, Span, Time};
use qos::{CreditLimit, CreditMeter};

/// For so long a link that nobody used because the thread was late may be used later: a hundredth
/// of what passes in a second.
const TOLERANCE: Span = Span::from_millis(10);

/// Limits of the network; the default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSettings {
    /// Bytes a second of one connection.
    pub flow: Option<BytesPerSecond>,
    /// Bytes a second of all connections, and their credit in bytes.
    pub whole: Option<CreditLimit>,
}

/// The limits at work, on whatever clock.
#[derive(Debug)]
pub struct LinkMeter {
    flow: Option<CreditLimit>,
    /// By the number of the connection.
    flows: Vec<Flow>,
    whole: Option<CreditMeter>,
    /// Waits so far.
    turns: u64,
    seen: LinkSeen,
}

/// A connection.
#[derive(Clone, Debug, Default)]
struct Flow {
    meter: Option<CreditMeter>,
    /// Since which wait it has waited, and when that was, if it waits.
    turn: Option<(u64, Time)>,
    /// How long the request waited that was let in last and is not charged yet.
    waited: Span,
}

impl LinkMeter {
    /// With full credit at time zero.
    pub fn new(settings: LinkSettings) -> LinkMeter {
        let flow = settings.flow.map(|BytesPerSecond(rate)| CreditLimit { base: rate, peak: rate, credit: 0 });
        let whole = settings.whole.map(|whole| CreditMeter::tolerant(whole, TOLERANCE));
        let seen = LinkSeen { flow: settings.flow, whole: settings.whole, ..LinkSeen::default() };
        LinkMeter { flow, flows: Vec::new(), whole, turns: 0, seen }
    }

    /// A connection begins, by a number that another may have had.
    pub fn begin(&mut self, connection: u32) {
        let place = connection as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, Flow::default());
        }
        let meter = self.flow.map(|flow| CreditMeter::tolerant(flow, TOLERANCE));
        self.flows[place] = Flow { meter, ..Flow::default() };
    }

    /// A connection has ended.
    pub fn end(&mut self, connection: u32) {
        if let Some(flow) = self.flows.get_mut(connection as usize) {
            flow.turn = None;
        }
    }

    /// Lets a connection's next request in, whose wait is over then; else tells until when it has
    /// to wait. While the limits are open for somebody who has waited longer, that is now: it goes
    /// behind them.
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

    /// A connection waits: its turn among those that do, which it keeps until it is let in. The
    /// whole goes to the lowest.
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

    /// Whether nobody who could go on now has waited longer.
    fn is_next(&self, now: Time, connection: u32) -> bool {
        let turn = |flow: &Flow| flow.turn.map_or(u64::MAX, |(turn, _)| turn);
        let own = self.flows.get(connection as usize).map_or(u64::MAX, turn);
        let is_open = |flow: &Flow| flow.meter.as_ref().is_none_or(|meter| meter.opens(now) == Some(now));
        self.whole.is_none() || !self.flows.iter().any(|other| turn(other) < own && is_open(other))
    }

    /// When a connection's own limit opens, and when that of all does.
    fn both(&self, now: Time, connection: u32) -> (Time, Time) {
        let opens = |meter: &CreditMeter| meter.opens(now).unwrap_or(Time::MAX);
        let flow = self.flows.get(connection as usize).and_then(|flow| flow.meter.as_ref());
        (flow.map_or(now, opens), self.whole.as_ref().map_or(now, opens))
    }

    /// A connection's request with so many bytes of data has come in; how long it waited for that,
    /// since those before it had.
    pub fn charge(&mut self, now: Time, connection: u32, bytes: u64) -> Span {
        self.seen.bytes += bytes;
        self.whole.iter_mut().for_each(|meter| meter.charge(now, bytes));
        let Some(flow) = self.flows.get_mut(connection as usize) else { return Span::ZERO };
        flow.meter.iter_mut().for_each(|meter| meter.charge(now, bytes));
        std::mem::take(&mut flow.waited)
    }

    /// What there was of it.
    pub fn seen(&self, now: Time) -> LinkSeen {
        LinkSeen { credit: self.whole.as_ref().map_or(0, |whole| whole.credit(now)), ..self.seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that so many connections, which always have a request of 1 MB waiting, bring through
    /// in each second; each of them brings as much as the others, but for a request.
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

    /// A connection begins with a limit that owes nothing, whoever had its number before.
    #[test]
    fn a_new_connection_pays_nothing_for_the_one_before() {
        let mut link = LinkMeter::new(LinkSettings { flow: Some(BytesPerSecond(1000)), whole: None });
        link.begin(3);
        link.charge(Time::ZERO, 3, 5000);
        assert_eq!(link.let_in(Time::ZERO, 3), Some(Time::ZERO + Span::from_millis(4990)));
        link.begin(3);
        assert_eq!(link.let_in(Time::ZERO, 3), None);
    }

    /// A request waits from when it is the first that does not pass until it does; the next one
    /// from then on.
    #[test]
    fn what_a_request_waited_is_told_once() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut link = LinkMeter::new(LinkSettings { flow: Some(BytesPerSecond(1000)), whole: None });
        link.begin(0);
        // 110 bytes at 1000 a second, 10 ms of which the tolerance gives.
        assert_eq!((link.let_in(at(0), 0), link.charge(at(0), 0, 110)), (None, Span::ZERO));
        assert_eq!(link.let_in(at(20), 0), Some(at(100)));
        link.wait(at(20), 0);
        assert_eq!((link.let_in(at(100), 0), link.charge(at(100), 0, 50)), (None, Span::from_millis(80)));
        assert_eq!(link.charge(at(100), 0, 50), Span::ZERO);
    }
}
