//! `latency = "auto"`: decides whether busy-polling for a client in ping-pong takes about as little
//! processor time per request as sleeping.
//!
//! That depends on the cost of a wake-up on this machine and on how soon the client sends its next
//! request, so it is measured. Most stretches of [`STRETCH`] requests use the way that was cheaper
//! so far, and now and then one uses the other way. All processor time of the thread counts,
//! including polling in vain: on busy machines one request in fifty comes late.

use block::{Span, Time};

use super::awake::{NEAR, ROUNDS};

/// Requests that are measured together: some milliseconds of processor time.
const STRETCH: u32 = 128;

/// Stretches until the other way is tried again: after a change, and at most. The interval doubles
/// each time that the other way turns out dearer, so that trials cost a few per cent.
const FIRST: u32 = 16;
const MOST: u32 = 128;

/// After a change to busy-polling, the first trial comes sooner: measurements vary, and a wrong
/// choice of polling costs most.
const FIRST_AWAKE: u32 = 4;

/// Busy-polling may take up to this many times the processor time of sleeping. A client on this
/// machine would otherwise have to wake this thread, which takes about as much more of *its*
/// processor time (decision 0409).
const ALLOWED: f64 = 1.25;

/// A stretch that differs from the usual by more than this factor belongs to a different load.
const OTHER: f64 = 1.5;

/// Which of the two ways is cheaper.
#[derive(Debug)]
pub(super) struct Cheaper {
    prefers_awake: bool,
    /// Smoothed processor time of a stretch in the preferred way.
    usual: Option<Span>,
    /// A stretch of the other way is being measured.
    is_trial: bool,
    /// Requests since the stretch began, or since the ping-pong began.
    requests: u32,
    /// When the stretch began, and the thread's processor time then.
    began: Option<(Time, Span)>,
    /// Stretches until the next trial, and from one trial to the next.
    left: u32,
    interval: u32,
}

impl Default for Cheaper {
    /// Sleeps until busy-polling is found to be as cheap; the first trial comes after one stretch.
    fn default() -> Cheaper {
        Cheaper {
            prefers_awake: false,
            usual: None,
            is_trial: false,
            requests: 0,
            began: None,
            left: 1,
            interval: FIRST,
        }
    }
}

impl Cheaper {
    /// Whether the thread busy-polls for the next request.
    pub(super) fn waits_awake(&self) -> bool {
        self.prefers_awake != self.is_trial
    }

    /// Notes a request that completed with no other in flight. `cpu` returns the thread's processor
    /// time so far by a system call; it is called once a stretch.
    pub(super) fn ended(&mut self, now: Time, cpu: impl FnOnce() -> Span) {
        self.requests += 1;
        match self.began {
            None if self.requests >= ROUNDS => (self.requests, self.began) = (0, Some((now, cpu()))),
            Some((at, before)) if self.requests >= STRETCH => {
                let cpu = cpu();
                // Requests further apart than the polling time are no ping-pong.
                match now.since(at) > NEAR * u64::from(STRETCH) {
                    true => self.too_slow(),
                    false => self.measured(cpu.saturating_sub(before)),
                }
                (self.requests, self.began) = (0, Some((now, cpu)));
            }
            _ => {}
        }
    }

    /// Notes that the ping-pong ended, because a request was not alone. The next one starts with
    /// sleeping and is measured anew; a trial that was cut short has no result.
    pub(super) fn broken(&mut self) {
        (self.requests, self.began) = (0, None);
        match (self.prefers_awake, self.is_trial) {
            (true, _) => *self = Cheaper::default(),
            (false, true) => (self.is_trial, self.left) = (false, self.interval),
            (false, false) => {}
        }
    }

    /// Ends a ping-pong whose requests are too far apart; a trial of polling has failed then.
    fn too_slow(&mut self) {
        if !self.prefers_awake && self.is_trial {
            self.keep();
        }
        self.broken();
    }

    /// Evaluates a stretch that took this much processor time.
    fn measured(&mut self, took: Span) {
        let Some(usual) = self.usual else {
            return self.note(took);
        };
        let times = took.as_secs_f64() / usual.as_secs_f64().max(1e-9);
        match (self.is_trial, self.prefers_awake) {
            (true, false) if times <= ALLOWED => self.change(took),
            (true, true) if times < 1.0 / ALLOWED => self.change(took),
            (true, _) => self.keep(),
            (false, _) if (1.0 / OTHER..=OTHER).contains(&times) => self.note((usual * 3 + took) / 4),
            (false, true) => *self = Cheaper::default(),
            (false, false) => {
                self.left = self.left.min(FIRST);
                self.note(took);
            }
        }
    }

    /// Notes a stretch of the preferred way, with the new usual time.
    fn note(&mut self, usual: Span) {
        self.usual = Some(usual);
        self.left -= 1;
        self.is_trial = self.left == 0;
    }

    /// Changes to the other way, which took this much.
    fn change(&mut self, took: Span) {
        let prefers_awake = !self.prefers_awake;
        let left = if prefers_awake { FIRST_AWAKE } else { FIRST };
        *self = Cheaper { prefers_awake, usual: Some(took), left, ..Cheaper::default() };
    }

    /// Keeps the preferred way; the next trial comes later each time.
    fn keep(&mut self) {
        self.interval = (2 * self.interval).min(MOST);
        (self.is_trial, self.left) = (false, self.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread with a client in ping-pong, in virtual time.
    #[derive(Default)]
    struct Thread {
        cheaper: Cheaper,
        now: Time,
        cpu: Span,
    }

    impl Thread {
        /// Plays `requests` requests that take this many microseconds of processor time with
        /// sleeping (and twice as long), and with polling. Returns for how many of them it polled.
        fn ping_pong(&mut self, requests: u32, asleep: u64, awake: u64) -> u32 {
            let mut waited = 0;
            for _ in 0..requests {
                let is_awake = self.cheaper.waits_awake();
                self.cpu += Span::from_micros(if is_awake { awake } else { asleep });
                self.now += Span::from_micros(if is_awake { awake } else { 2 * asleep });
                self.cheaper.ended(self.now, || self.cpu);
                waited += u32::from(is_awake);
            }
            waited
        }
    }

    #[test]
    fn it_waits_awake_where_that_takes_little_more() {
        let mut thread = Thread::default();
        assert_eq!(thread.ping_pong(ROUNDS + STRETCH, 38, 45), 0, "it sleeps at first");
        // It sleeps in two of 102 stretches, after 4 and after 32, to measure that.
        assert_eq!(thread.ping_pong(102 * STRETCH, 38, 45), 100 * STRETCH);
    }

    #[test]
    fn where_it_takes_more_that_is_tried_rarely() {
        let mut thread = Thread::default();
        let waited = thread.ping_pong(ROUNDS + 1_000 * STRETCH, 20, 26);
        assert_eq!(waited, 9 * STRETCH, "after 1, 32 and 64 stretches, and then each 128");
    }

    #[test]
    fn a_client_that_slows_down_is_not_waited_for_any_longer() {
        let mut thread = Thread::default();
        thread.ping_pong(1_000 * STRETCH, 38, 45);
        // One stretch detects it, another one is the trial.
        assert!(thread.ping_pong(100 * STRETCH, 38, 195) <= 4 * STRETCH);
        assert!(!thread.cheaper.waits_awake());
    }

    /// A disk for which sleeping is better, and then hits.
    #[test]
    fn what_was_found_of_another_load_does_not_last() {
        let mut thread = Thread::default();
        assert!(thread.ping_pong(1_000 * STRETCH, 53, 110) < 20 * STRETCH);
        assert!(thread.ping_pong(100 * STRETCH, 32, 35) >= 70 * STRETCH);
    }

    #[test]
    fn each_ping_pong_begins_asleep() {
        let mut thread = Thread::default();
        for _ in 0..3 {
            assert_eq!(thread.ping_pong(ROUNDS + 3 * STRETCH, 38, 30), 2 * STRETCH);
            thread.cheaper.broken();
            assert!(!thread.cheaper.waits_awake());
        }
        // It never polls for short ones.
        for _ in 0..100 {
            assert_eq!(thread.ping_pong(STRETCH, 38, 30), 0);
            thread.cheaper.broken();
        }
    }

    /// Ping-pongs end in the middle of a trial: it polls in one of 16, for half a stretch.
    #[test]
    fn a_trial_that_is_cut_short_is_not_repeated_at_once() {
        let mut thread = Thread::default();
        let mut waited = 0;
        for _ in 0..170 {
            waited += thread.ping_pong(ROUNDS + STRETCH + STRETCH / 2, 38, 30);
            thread.cheaper.broken();
        }
        assert_eq!(waited, 11 * STRETCH / 2, "the first, the 17th, the 33rd, to the 161st");
    }

    /// A client that pauses after every hundred requests is not in ping-pong, however cheap polling
    /// is in between.
    #[test]
    fn pauses_are_slept_for() {
        let mut thread = Thread::default();
        for _ in 0..500 {
            assert_eq!(thread.ping_pong(100, 38, 30), 0);
            thread.now += Span::from_millis(20);
        }
    }
}
