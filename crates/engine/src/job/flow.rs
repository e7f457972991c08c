//! Shares between jobs: each job of a flow makes requests in proportion to its weight, whatever the
//! storage would let it do.
//!
//! ```text
//!   weights 8 and 1, requests made 16 and 2:   16 / 19 ≤ 8 / 9, so the first may go;   2 / 19 ≤ 1 / 9, the second too
//!                                  17 and 2:   17 / 20 ≤ 8 / 9                         2 / 20 ≤ 1 / 9
//!                                  17 and 3:   17 / 21 ≤ 8 / 9                         3 / 21 > 1 / 9: it waits
//! ```
//! The sum counts one request more than was made, so that at least one member may always go: the
//! members' parts add up to less than one, their shares to one. The state is small and used once a
//! request, so a lock protects it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use workload::job::JobSpec;

/// All flows of a run.
#[derive(Debug)]
pub(crate) struct Flows {
    flows: Vec<Mutex<Flow>>,
    /// The flow of each job, if it has one.
    of_jobs: Vec<Option<usize>>,
}

#[derive(Debug, Default)]
struct Flow {
    id: u32,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    job: usize,
    weight: u32,
    /// Whether it takes part: its stage has begun and it has not ended.
    is_in: bool,
    made: u64,
    /// The thread of its worker, while the job waits for the others.
    waits: Option<ThreadId>,
}

impl Flows {
    /// The flows of these jobs; no job takes part yet.
    pub(crate) fn new(specs: &[JobSpec]) -> Flows {
        let mut flows = Vec::<Flow>::new();
        let mut of_jobs = vec![None; specs.len()];
        for (job, spec) in specs.iter().enumerate() {
            let Some(share) = spec.pacing.flow else { continue };
            let index = flows.iter().position(|flow| flow.id == share.id).unwrap_or_else(|| {
                flows.push(Flow { id: share.id, members: Vec::new() });
                flows.len() - 1
            });
            let weight = share.weight.max(1);
            flows[index].members.push(Member { job, weight, is_in: false, made: 0, waits: None });
            of_jobs[job] = Some(index);
        }
        Flows { flows: flows.into_iter().map(Mutex::new).collect(), of_jobs }
    }

    /// Lets a job take part. All members' counts restart at zero, so that the newcomer has nothing
    /// to catch up with.
    pub(crate) fn join(&self, job: usize) {
        let Some(mut flow) = self.of(job) else { return };
        if flow.members.iter().any(|member| member.job == job && member.is_in) {
            return;
        }
        for member in &mut flow.members {
            member.is_in |= member.job == job;
            member.made = 0;
        }
    }

    /// Removes a job; returns whether another must be woken.
    pub(crate) fn leave(&self, job: usize) -> bool {
        let Some(mut flow) = self.of(job) else { return false };
        for member in flow.members.iter_mut().filter(|member| member.job == job) {
            (member.is_in, member.made, member.waits) = (false, 0, None);
        }
        flow.lets_others_go(None)
    }

    /// Whether a job may make a request; if not, it is recorded as waiting.
    pub(crate) fn ask(&self, job: usize) -> bool {
        let Some(mut flow) = self.of(job) else { return true };
        let may_go = flow.may_go(job);
        for member in flow.members.iter_mut().filter(|member| member.job == job) {
            member.waits = (!may_go).then(|| std::thread::current().id());
        }
        may_go
    }

    /// Whether a job may make a request.
    pub(crate) fn may_go(&self, job: usize) -> bool {
        self.of(job).is_none_or(|flow| flow.may_go(job))
    }

    /// Counts a request of a job; returns whether another must be woken.
    pub(crate) fn made(&self, job: usize) -> bool {
        let Some(mut flow) = self.of(job) else { return false };
        flow.members.iter_mut().filter(|member| member.job == job).for_each(|member| member.made += 1);
        // Jobs on this thread need no wake-up: the worker polls them before it waits.
        flow.lets_others_go(Some(std::thread::current().id()))
    }

    fn of(&self, job: usize) -> Option<MutexGuard<'_, Flow>> {
        let flow = &self.flows[self.of_jobs[job]?];
        Some(flow.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Flow {
    fn may_go(&self, job: usize) -> bool {
        let (whole, weights) = self.whole();
        let own = self.members.iter().find(|member| member.job == job && member.is_in);
        own.is_none_or(|own| own.is_within(whole, weights))
    }

    /// The number of requests made plus one, and the sum of the weights.
    fn whole(&self) -> (u64, u64) {
        let is_in = self.members.iter().filter(|member| member.is_in);
        is_in.fold((1, 0), |(made, weights), member| (made + member.made, weights + u64::from(member.weight)))
    }

    /// Whether a job that waits on another thread than `own` may go now. Reports each only once.
    fn lets_others_go(&mut self, own: Option<ThreadId>) -> bool {
        let (whole, weights) = self.whole();
        let mut any = false;
        for member in &mut self.members {
            if member.waits.is_some() && member.is_within(whole, weights) {
                any |= member.waits != own;
                member.waits = None;
            }
        }
        any
    }
}

impl Member {
    /// Whether its part of the requests made is at most its share. Products of two 64-bit numbers
    /// fit into 128 bits.
    fn is_within(&self, whole: u64, weights: u64) -> bool {
        u128::from(self.made) * u128::from(weights) <= u128::from(self.weight) * u128::from(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;
    use workload::job::{FlowShare, Pacing};

    fn flows(weights: &[u32]) -> Flows {
        let spec = |&weight: &u32| JobSpec {
            pacing: Pacing { flow: Some(FlowShare { id: 7, weight, sleep: Span::ZERO }), ..Pacing::default() },
            ..JobSpec::default()
        };
        let flows = Flows::new(&weights.iter().map(spec).collect::<Vec<_>>());
        (0..weights.len()).for_each(|job| flows.join(job));
        flows
    }

    /// The example in the file's head.
    #[test]
    fn who_is_ahead_waits() {
        let flows = flows(&[8, 1]);
        (0..17).for_each(|_| _ = flows.made(0));
        (0..3).for_each(|_| _ = flows.made(1));
        assert_eq!([flows.ask(0), flows.ask(1)], [true, false]);
        // 3 / 27 = 1 / 9 after six more.
        (0..6).for_each(|_| _ = flows.made(0));
        assert!(flows.may_go(1));
    }

    /// A member that ended holds nobody up, and one that begins late has nothing to catch up with.
    #[test]
    fn members_come_and_go() {
        let flows = flows(&[1, 1]);
        (0..2).for_each(|_| _ = flows.made(0));
        // 2 / 3 > 1 / 2.
        assert!(!flows.ask(0));
        assert!(flows.leave(1), "who waits is told");
        assert!((0..100).all(|_| flows.ask(0) && !flows.made(0)));
        flows.join(1);
        assert!(flows.ask(0) && flows.ask(1));
        (0..2).for_each(|_| _ = flows.made(0));
        assert!(!flows.ask(0) && flows.ask(1));
    }

    /// A job that waits on another thread is woken, and only once.
    #[test]
    fn who_waits_elsewhere_is_woken() {
        let flows = flows(&[1, 1]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..2).for_each(|_| _ = flows.made(0));
                assert!(!flows.ask(0));
            });
        });
        assert!(flows.made(1));
        assert!(!flows.made(1));
    }

    /// In whatever order jobs ask, at least one may go, and after n requests none has more than one
    /// request beyond its share.
    #[test]
    fn shares_are_kept() {
        for weights in [&[1, 1][..], &[8, 1], &[3, 2, 1], &[1000, 1, 7, 500], &[5]] {
            let flows = flows(weights);
            let mut made = vec![0u64; weights.len()];
            let all: u32 = weights.iter().sum();
            for n in 0..3000u64 {
                // Any order will do.
                let turn = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
                let mut order = (0..weights.len()).map(|job| (job + turn) % weights.len());
                let next = order.find(|job| flows.ask(*job)).expect("somebody may go");
                made[next] += 1;
                flows.made(next);
                for (weight, made) in weights.iter().zip(&made) {
                    // It went while it had at most its share of n + 1.
                    let share = f64::from(*weight) / f64::from(all) * (n + 1) as f64;
                    assert!(*made as f64 <= share + 1.0, "{weights:?}: {made} of {n}, share {share}");
                }
            }
        }
    }
}
