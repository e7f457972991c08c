//! The end of a run whose requests nobody answers.
//!
//! ```text
//!   runtime over, or Ctrl-C ──► requests in flight complete ──► report
//!                                   │ not within GRACE
//!                                   └──► it is said ──► Ctrl-C: they count as unanswered ──► report
//! ```
//! A run waits for its last requests as long as they take, because a server's slowest answers are
//! what it is to measure. Only the user can end that.

use super::board::{Board, Outstanding};
use super::stage::Watch;
use block::{Span, Time, count};

/// How long the last requests of a job may take before it is said.
pub(crate) const GRACE: Span = Span::from_secs(2);

/// How long workers may take to end once their requests are given up. One that the kernel does not
/// let go is left behind.
const LAST: Span = Span::SECOND;

/// What became of the wait so far.
#[derive(Default)]
pub(crate) struct Patience {
    /// It was said, and with this advice.
    said: Option<&'static str>,
    /// Whether a stop had been requested before it was said.
    was_stopped: bool,
    given_up: Option<Time>,
}

impl Patience {
    /// Looks at a run; returns whether its workers are to be left behind.
    pub(crate) fn look(&mut self, board: &Board, watch: &mut dyn Watch, now: Time) -> bool {
        if let Some(since) = self.given_up {
            return now >= since + LAST;
        }
        let stopped = board.is_stopped();
        if watch.wants_end() || (stopped && self.said.is_some() && !self.was_stopped) {
            board.give_up();
            self.given_up = Some(now);
            return false;
        }
        let Some(outstanding) = board.outstanding(now) else { return false };
        let advice = if stopped { "Ctrl-C again ends now" } else { "Ctrl-C ends now" };
        if self.said != Some(advice) {
            (self.said, self.was_stopped) = (Some(advice), stopped);
            watch.waiting(&words(outstanding, now, advice));
        }
        false
    }
}

fn words(Outstanding { requests, since }: Outstanding, now: Time, advice: &str) -> String {
    let (requests, seconds) = (count(requests as usize, "request", "requests"), now.since(since).as_secs_f64());
    format!("{requests} outstanding for {seconds:.0} s; waiting for the storage ({advice})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::board::JobProgress;
    use std::path::Path;
    use workload::job::JobSpec;

    /// What a user was told, and what he asked for.
    #[derive(Default)]
    struct User {
        told: Vec<String>,
        insists: bool,
    }

    impl Watch for User {
        fn laying_out(&mut self, _: &Path, _: u64) {}
        fn progress(&mut self, _: Span, _: &[JobProgress]) {}
        fn waiting(&mut self, line: &str) {
            self.told.push(line.into());
        }
        fn wants_end(&mut self) -> bool {
            self.insists
        }
        fn wants_stop(&mut self) -> bool {
            false
        }
    }

    const fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    /// A job whose runtime ends after 10 s, and one whose worker waits for a request made at 4 s.
    fn waiting() -> Board {
        let board = Board::new(&[JobSpec::default(), JobSpec::default()], at(1));
        (0..2).for_each(|job| board.begin(job, at(1), Some(at(10))));
        board.tell(0, at(9), Default::default(), 0);
        board.tell(1, at(12), Default::default(), 3);
        board.await_since(1, Some(at(4)));
        board
    }

    #[test]
    fn it_is_said_once_and_a_stop_after_that_ends_the_wait() {
        let (board, mut user, mut patience) = (waiting(), User::default(), Patience::default());
        // The worker of the first job has said nothing for 3 s: it is in a system call.
        assert!((0..3).all(|_| !patience.look(&board, &mut user, at(12))));
        assert_eq!(user.told, ["4 requests outstanding for 8 s; waiting for the storage (Ctrl-C ends now)"]);
        board.stop();
        assert!(!patience.look(&board, &mut user, at(13)) && board.is_given_up());
        assert!(!patience.look(&board, &mut user, at(13)));
        assert!(patience.look(&board, &mut user, at(14)), "a worker that hangs is left behind");
    }

    #[test]
    fn after_a_stop_only_another_one_ends_the_wait() {
        let (board, mut user, mut patience) = (waiting(), User::default(), Patience::default());
        board.stop();
        assert!(!patience.look(&board, &mut user, at(12)) && !board.is_given_up());
        assert_eq!(user.told, ["4 requests outstanding for 8 s; waiting for the storage (Ctrl-C again ends now)"]);
        user.insists = true;
        assert!(!patience.look(&board, &mut user, at(13)) && board.is_given_up());
    }

    #[test]
    fn jobs_that_end_in_time_are_not_mentioned() {
        let (board, mut user, mut patience) = (waiting(), User::default(), Patience::default());
        board.await_since(1, None);
        // A flush at the end of the first job may take long.
        board.loaded(0);
        board.tell(1, at(11), Default::default(), 1);
        assert!(!patience.look(&board, &mut user, at(12)));
        (0..2).for_each(|job| board.end(job, workload::job::Ends::None));
        assert!(!patience.look(&board, &mut user, at(99)) && user.told.is_empty(), "{:?}", user.told);
    }
}
