//! `latency = "auto"`: whether waiting awake for a client in ping-pong takes no more processor time
//! a request than sleeping does.
//!
//! That depends on what waking up costs on this machine and on how soon the client asks again, so
//! it is measured: stretches of [`STRETCH`] requests in the way that took less so far, and now and
//! then one in the other way. What was waited in vain counts, as hiccups of the machine make it
//! every few milliseconds; longer pauses end the measurement.

use block::{Span, Time};

use super::awake::NEAR;

/// Requests that are measured together: some milliseconds of processor time.
const STRETCH: u32 = 128;

/// Stretches after which the other way is measured: at first, and at most. They are doubled each
/// time that it takes more, so that measuring costs less than a hundredth.
const FIRST: u32 = 16;
const MOST: u32 = 512;

/// Waiting awake may take so many times what sleeping does: to wake this thread takes about as much
/// more of the client's processor time, which is not in ours (decision 0409).
const MORE: f64 = 1.25;

/// Which of the two ways takes less.
#[derive(Debug)]
pub(super) struct Cheaper {
    is_awake: bool,
    /// What a stretch in that way takes, of late.
    usual: Option<Span>,
    /// The other way is being measured.
    looks: bool,
    /// Requests of this stretch, when it began, and the thread's processor time then.
    requests: u32,
    began: Option<(Time, Span)>,
    /// Stretches until the other way is measured, this time and from one time to the next.
    left: u32,
    distance: u32,
}

impl Default for Cheaper {
    /// It sleeps, until waiting awake is found to take no more.
    fn default() -> Cheaper {
        Cheaper { is_awake: false, usual: None, looks: false, requests: 0, began: None, left: 1, distance: FIRST }
    }
}

impl Cheaper {
    /// Whether the thread waits awake for the next request.
    pub(super) fn is_awake(&self) -> bool {
        self.is_awake != self.looks
    }

    /// One more request has ended with none beside it. `cpu` tells the thread's processor time so
    /// far; it is asked once a stretch.
    pub(super) fn ended(&mut self, now: Time, cpu: impl FnOnce() -> Span) {
        let Some((at, began)) = self.began else {
            self.began = Some((now, cpu()));
            return;
        };
        self.requests += 1;
        if self.requests == STRETCH {
            let cpu = cpu();
            // A stretch in which requests took longer than one is waited for was no ping-pong.
            match now.since(at) > NEAR * u64::from(STRETCH) {
                true => self.broken(),
                false => self.measured(cpu.saturating_sub(began)),
            }
            (self.requests, self.began) = (0, Some((now, cpu)));
        }
    }

    /// The ping-pong is over. Waiting awake is found anew to be worth it in the next one; measuring
    /// it comes to nothing.
    pub(super) fn broken(&mut self) {
        (self.requests, self.began) = (0, None);
        match self.is_awake {
            true => *self = Cheaper::default(),
            false if self.looks => self.keep(),
            false => {}
        }
    }

    /// A stretch took so much processor time.
    fn measured(&mut self, took: Span) {
        match self.usual {
            Some(usual) if self.looks => {
                let (awake, asleep) = if self.is_awake { (usual, took) } else { (took, usual) };
                let is_awake = awake.as_secs_f64() <= MORE * asleep.as_secs_f64();
                match is_awake == self.is_awake {
                    true => self.keep(),
                    false => *self = Cheaper { is_awake, usual: Some(took), left: FIRST, ..Cheaper::default() },
                }
            }
            usual => {
                self.usual = Some(usual.map_or(took, |usual| (usual * 3 + took) / 4));
                self.left -= 1;
                self.looks = self.left == 0;
            }
        }
    }

    /// The way stays; the other one is measured again later each time.
    fn keep(&mut self) {
        self.distance = (2 * self.distance).min(MOST);
        (self.looks, self.left) = (false, self.distance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many requests of a ping-pong, each of which takes so many microseconds asleep and awake.
    /// How many of them were waited for awake.
    fn ping_pong(cheaper: &mut Cheaper, requests: u32, asleep: u64, awake: u64) -> u32 {
        let (mut now, mut cpu, mut waited) = (Time::ZERO, Span::ZERO, 0);
        for _ in 0..requests {
            let is_awake = cheaper.is_awake();
            cpu += Span::from_micros(if is_awake { awake } else { asleep });
            now += Span::from_micros(if is_awake { awake } else { 2 * asleep });
            cheaper.ended(now, || cpu);
            waited += u32::from(is_awake);
        }
        waited
    }

    #[test]
    fn it_waits_awake_where_that_takes_little_more() {
        // The first request begins the first stretch.
        let mut cheaper = Cheaper::default();
        assert_eq!(ping_pong(&mut cheaper, STRETCH + 1, 38, 45), 0, "it sleeps at first");
        // Of 100 stretches it sleeps in two, after 16 and after 32, to see what that takes.
        assert_eq!(ping_pong(&mut cheaper, 100 * STRETCH, 38, 45), 98 * STRETCH);
        // The client thinks for longer now: found within 64 stretches.
        assert!(ping_pong(&mut cheaper, 1000 * STRETCH, 38, 150) < 70 * STRETCH);
        assert!(!cheaper.is_awake());
    }

    #[test]
    fn where_it_takes_more_that_is_measured_rarely() {
        let mut cheaper = Cheaper::default();
        let waited = ping_pong(&mut cheaper, 10_000 * STRETCH, 20, 26);
        assert_eq!(waited, 23 * STRETCH, "after 1, 32, 64, 128 and 256 stretches, and then each 512");
    }

    #[test]
    fn each_ping_pong_is_measured_and_pauses_are_no_part_of_it() {
        let mut cheaper = Cheaper::default();
        for _ in 0..3 {
            assert_eq!(ping_pong(&mut cheaper, 3 * STRETCH + 1, 38, 30), 2 * STRETCH);
            cheaper.broken();
            assert!(!cheaper.is_awake());
        }
        // Short ones are never waited for awake.
        for _ in 0..100 {
            assert_eq!(ping_pong(&mut cheaper, STRETCH, 38, 30), 0);
            cheaper.broken();
        }
    }

    #[test]
    fn measuring_that_comes_to_nothing_is_not_repeated_at_once() {
        let mut cheaper = Cheaper::default();
        let mut waited = 0;
        for _ in 0..1000 {
            waited += ping_pong(&mut cheaper, STRETCH + 1 + STRETCH / 2, 38, 30);
            cheaper.broken();
        }
        assert!(waited <= 6 * STRETCH, "{waited}");
    }
}
