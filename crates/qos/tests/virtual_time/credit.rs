//! A policy's burst is a credit limit: what the gate lets pass, by clocks, a [`CreditMeter`] of the
//! same base, peak and credit lets pass too, at the same nanoseconds.

use crate::bed::*;
use block::{BytesPerSecond, Iops, Span, Time};
use qos::{Burst, Ceiling, CreditLimit, CreditMeter, Limits, Settings};

/// How far an instant of the gate's may be from the meter's. The clock is early by less than a
/// nanosecond, which it charges to the next, and waits end at whole nanoseconds.
const NEAR: u64 = 2;

/// Loads with pauses in which credit comes back in part: of 1.3 s, 40 ms and 7 s.
fn clients(len: u64) -> Vec<Client> {
    let spans = [(20_000, 23_000), (24_300, 27_000), (27_040, 29_000), (36_000, 41_000)];
    spans.iter().map(|(from, until)| Client::new(1, 8).sizes(&[len]).between(from * MS, until * MS)).collect()
}

/// Runs the gate with the ceiling, and compares every dispatch with the meter; `cost` is what a
/// request uses of the limit.
fn compare(ceiling: Ceiling, limit: CreditLimit, len: u64, cost: u64) {
    // Without tolerance for late timers, which the gate has on its peak alone.
    let settings = Settings { tolerance: Span::ZERO, timer_grain: Span::from_nanos(1), ..Settings::default() };
    let mut device = Device::new(1 << 16, 1);
    device.log = Some(Vec::new());
    let mut bed = Bed::with(device, clients(len), settings);
    bed.flat(1..2).edit(super::bed::limit(1, Limits { ceiling, ..Limits::default() }));
    bed.run(60 * SECOND);
    let log = bed.gate.inner().log.as_ref().expect("it is kept");
    assert!(log.len() as u64 > 10 * limit.base / cost, "{} passed", log.len());
    let begins: Vec<u64> = clients(len).iter().map(|client| client.from).collect();
    let mut meter = CreditMeter::new(limit);
    for (number, (at, _, _)) in log.iter().enumerate() {
        let now = Time::from_nanos(*at);
        let opens = meter.opens(now).expect("a rate").as_nanos();
        assert!(opens <= at + NEAR, "{limit:?}: request {number} at {at}, the meter opens at {opens}");
        // It was open so much sooner only if nobody waited: at the first of a load.
        let long_before = Time::from_nanos(at.saturating_sub(NEAR + 1));
        let sooner = meter.opens(long_before).is_some_and(|at| at <= long_before);
        assert!(!sooner || begins.contains(at), "{limit:?}: request {number} at {at}, open before");
        meter.charge(now, cost);
    }
}

#[test]
fn a_burst_in_operations_is_a_credit_limit() {
    for (rate, percent, seconds) in [(100, 50, 2), (700, 100, 1), (900, 300, 5), (3000, 20, 5)] {
        let burst = Some(Burst::percent(percent, Span::from_secs(seconds)));
        let peak = rate + rate * u64::from(percent) / 100;
        let limit = CreditLimit { base: rate, peak, credit: (peak - rate) * seconds };
        compare(Ceiling { iops: Some(Iops(rate)), bytes: None, burst }, limit, 4096, 1);
    }
}

#[test]
fn a_burst_in_bytes_is_a_credit_limit() {
    for (rate, percent, seconds) in [(10 << 20, 50, 2), (7_000_000, 100, 3)] {
        let burst = Some(Burst::percent(percent, Span::from_secs(seconds)));
        let peak = rate + rate * u64::from(percent) / 100;
        let limit = CreditLimit { base: rate, peak, credit: (peak - rate) * seconds };
        let ceiling = Ceiling { iops: None, bytes: Some(BytesPerSecond(rate)), burst };
        compare(ceiling, limit, 65_536, 65_536);
    }
}
