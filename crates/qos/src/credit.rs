//! A limit with credit, as of cloud volumes and networks: a bucket that fills at the base rate and
//! is emptied by what passes, with a peak rate on top.
//!
//! Exact in integers. A bucket counts in billionths: it gains `rate` of them each nanosecond and
//! one operation (or byte) costs 10^9, so no instant is rounded twice. Something may pass while the
//! bucket is not in debt, and takes what it costs even into debt: so one request larger than the
//! whole credit passes too, and pays by the wait of the next.
//!
//! Worked example: base 100/s, peak 300/s, credit 20. The first request passes at 0; then the peak
//! bucket, which saves nothing, lets one pass every 3.33 ms. The base bucket loses 200 a second
//! net, so its 20 last 20/(300-100) = 0.1 s; from then on one passes every 10 ms.

use block::{Span, Time};

/// A base rate, and what may pass above it on credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditLimit {
    /// What passes for ever, per second: operations or bytes.
    pub base: u64,
    /// What passes at most while credit lasts, per second; equal to `base` for no bursts.
    pub peak: u64,
    /// How much credit can be saved, in operations or bytes; full at the start. A full credit lasts
    /// `credit / (peak - base)` seconds at the peak.
    pub credit: u64,
}

const WHOLE: i128 = 1_000_000_000;

/// A [`CreditLimit`] at work: the base bucket and the peak bucket, both of which must be out of
/// debt.
#[derive(Clone, Debug)]
pub struct CreditMeter {
    base: Bucket,
    peak: Bucket,
    spec: CreditLimit,
}

#[derive(Clone, Debug)]
struct Bucket {
    rate: u64,
    capacity: i128,
    level: i128,
    at: Time,
}

impl CreditMeter {
    /// With full credit at time zero.
    pub fn new(spec: CreditLimit) -> CreditMeter {
        CreditMeter::tolerant(spec, Span::ZERO)
    }

    /// The same with a tolerance for late polls: what could have passed within it may pass later,
    /// at any speed.
    pub fn tolerant(spec: CreditLimit, tolerance: Span) -> CreditMeter {
        let late = |rate: u64| i128::from(rate) * i128::from(tolerance.as_nanos());
        let base = Bucket::new(spec.base, i128::from(spec.credit) * WHOLE + late(spec.base));
        CreditMeter { base, peak: Bucket::new(spec.peak, late(spec.peak)), spec }
    }

    /// The first instant, not before `now`, at which something may pass; `None` if that never comes
    /// because a rate is zero.
    pub fn opens(&self, now: Time) -> Option<Time> {
        Some(self.base.opens(now)?.max(self.peak.opens(now)?))
    }

    /// Whether the peak rate alone holds back what waits at `now`, since there is credit.
    pub fn is_bursting(&self, now: Time) -> bool {
        self.spec.peak > self.spec.base && self.base.opens(now) == Some(now) && self.peak.opens(now) != Some(now)
    }

    /// Charges this many operations or bytes, which pass at `now`.
    pub fn charge(&mut self, now: Time, amount: u64) {
        self.base.charge(now, amount);
        self.peak.charge(now, amount);
    }

    /// The credit that is saved at `now`, in operations or bytes.
    pub fn credit(&self, now: Time) -> u64 {
        let saved = self.base.level(now).max(0) / WHOLE;
        u64::try_from(saved).unwrap_or(u64::MAX).min(self.spec.credit)
    }

    /// Sets both rates to `percent` of the specification from now on; saved credit stays.
    pub fn scale(&mut self, now: Time, percent: u32) {
        self.base.set_rate(now, self.spec.base, percent);
        self.peak.set_rate(now, self.spec.peak, percent);
    }
}

impl Bucket {
    fn new(rate: u64, level: i128) -> Bucket {
        Bucket { rate, capacity: level, level, at: Time::ZERO }
    }

    fn level(&self, now: Time) -> i128 {
        let gained = i128::from(now.since(self.at).as_nanos()) * i128::from(self.rate);
        // One nanosecond's gain above the capacity is kept: the bucket is looked at in whole
        // nanoseconds, and cutting what came between the debt's end and the next look would make
        // the rate too low.
        (self.level + gained).min(self.capacity + i128::from(self.rate.max(1)) - 1)
    }

    fn opens(&self, now: Time) -> Option<Time> {
        let debt = -self.level(now);
        if debt <= 0 {
            return Some(now);
        }
        if self.rate == 0 {
            return None;
        }
        let ns = (debt as u128).div_ceil(u128::from(self.rate));
        Some(now.max(self.at) + Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    fn charge(&mut self, now: Time, amount: u64) {
        self.level = self.level(now) - i128::from(amount) * WHOLE;
        self.at = now;
    }

    fn set_rate(&mut self, now: Time, full: u64, percent: u32) {
        self.level = self.level(now);
        self.at = now;
        self.rate = u64::try_from(u128::from(full) * u128::from(percent) / 100).unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instants at which `count` operations pass when there always is one waiting.
    fn passes(spec: CreditLimit, count: usize) -> Vec<Time> {
        let mut meter = CreditMeter::new(spec);
        let mut now = Time::ZERO;
        let mut next = || {
            now = meter.opens(now).expect("the rate is not zero");
            meter.charge(now, 1);
            now
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_rate_that_does_not_divide_the_nanosecond_is_exact_for_ever() {
        // The k-th operation passes at k/3 s, rounded up; the sum of a million roundings must not
        // show.
        let times = passes(CreditLimit { base: 3_000_000, peak: 3_000_000, credit: 0 }, 3_000_001);
        for k in [1u64, 2, 1_000_000, 2_999_999, 3_000_000] {
            assert_eq!(times[k as usize].as_nanos(), (k * 1_000).div_ceil(3), "operation {k}");
        }
    }

    #[test]
    fn a_full_credit_lasts_credit_over_peak_minus_base() {
        // 20 / (300 - 100) = 0.1 s at 300/s: 30 operations and the one that needs no credit; then
        // one every 10 ms.
        let times = passes(CreditLimit { base: 100, peak: 300, credit: 20 }, 100);
        let gap = |k: usize| times[k].since(times[k - 1]).as_nanos();
        assert!((1..=30).all(|k| gap(k).abs_diff(3_333_333) <= 1), "{:?}", &times[..32]);
        assert!((33..100).all(|k| gap(k) == 10_000_000), "{:?}", &times[30..]);
        assert!((100_000_000..=110_000_000).contains(&times[31].as_nanos()), "{:?}", times[31]);
    }

    #[test]
    fn the_credit_that_is_left_is_told() {
        let mut meter = CreditMeter::new(CreditLimit { base: 100, peak: 300, credit: 20 });
        assert_eq!(meter.credit(Time::ZERO), 20);
        meter.charge(Time::ZERO, 15);
        assert_eq!((meter.credit(Time::ZERO), meter.credit(Time::ZERO + Span::from_millis(100))), (5, 15));
        meter.charge(Time::ZERO, 30);
        assert_eq!((meter.credit(Time::ZERO), meter.credit(Time::ZERO + Span::SECOND)), (0, 20));
    }

    /// Looked at every 7 ms, a limit of 1000 a second with a tolerance of 10 ms passes 1000 a
    /// second; without tolerance each look is too late for what would have passed meanwhile.
    #[test]
    fn what_is_late_passes_within_the_tolerance() {
        let spec = CreditLimit { base: 1000, peak: 1000, credit: 0 };
        let passed = |mut meter: CreditMeter| {
            let mut passed = 0;
            for look in 0..1000 {
                let now = Time::ZERO + Span::from_millis(7 * look);
                while meter.opens(now) == Some(now) {
                    meter.charge(now, 1);
                    passed += 1;
                }
            }
            passed
        };
        assert_eq!(passed(CreditMeter::new(spec)), 1000);
        let tolerant = passed(CreditMeter::tolerant(spec, Span::from_millis(10)));
        assert!((6993..=7011).contains(&tolerant), "{tolerant}");
    }

    #[test]
    fn credit_comes_back_at_the_base_rate_and_no_further_than_its_capacity() {
        let mut meter = CreditMeter::new(CreditLimit { base: 100, peak: 1_000_000, credit: 20 });
        meter.charge(Time::ZERO, 120);
        // 100 in debt: out of it after a second, and full 0.2 s later.
        assert_eq!(meter.opens(Time::ZERO), Some(Time::ZERO + Span::SECOND));
        let later = Time::ZERO + Span::from_secs(100);
        let free = (0..100).take_while(|&k| {
            let at = later + Span::from_micros(k);
            let open = meter.opens(at) == Some(at);
            meter.charge(at, u64::from(open));
            open
        });
        // 20 saved and the one that may go into debt.
        assert_eq!(free.count(), 21);
    }

    #[test]
    fn a_request_larger_than_the_credit_passes_and_the_next_one_pays() {
        let mut meter = CreditMeter::new(CreditLimit { base: 1_000, peak: 1_000, credit: 0 });
        meter.charge(Time::ZERO, 5_000);
        assert_eq!(meter.opens(Time::ZERO), Some(Time::ZERO + Span::from_secs(5)));
    }

    #[test]
    fn a_halved_rate_doubles_the_wait_and_no_rate_never_opens() {
        let mut meter = CreditMeter::new(CreditLimit { base: 1_000, peak: 1_000, credit: 0 });
        meter.charge(Time::ZERO, 2);
        meter.scale(Time::ZERO + Span::from_millis(1), 50);
        let at = Time::ZERO + Span::from_millis(1);
        assert_eq!(meter.opens(at), Some(Time::ZERO + Span::from_millis(3)));
        meter.scale(Time::ZERO + Span::from_millis(1), 0);
        assert_eq!(meter.opens(Time::ZERO + Span::from_millis(1)), None);
    }
}
