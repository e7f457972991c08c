//! Requests with an appointment, and edits after it was made (found by `cargo xtask soak qos`); and
//! requests that pass the gate.

use block::{
    Bytes, BytesPerSecond, Completion, ObjectId, Op, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup,
};
use qos::{Ceiling, Edit, Gate, GroupId, Limits, OWN, Settings};

/// Completes everything at the next poll.
#[derive(Default)]
struct Null(Vec<Request>);

impl Target for Null {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 512, longest: 1 << 20, carries_data: false, read_only: false }
    }
    fn submit(&mut self, _now: Time, request: Request) -> Submitted {
        self.0.push(request);
        Submitted::Taken(Ticket(0))
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.extend(self.0.drain(..).map(|request| Completion::of(&request, now, Ok(()))));
    }
    fn next_wakeup(&self) -> Wakeup {
        if self.0.is_empty() { Wakeup::Idle } else { Wakeup::Now }
    }
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

/// A volume's requests wait for its ceiling. One of the owner's own goes at once, comes back under
/// its own tag, and is in no account.
#[test]
fn what_passes_waits_for_no_ceiling_and_is_not_counted() {
    let (mut gate, mut out, mut said) = (gate(), Vec::new(), Vec::new());
    let mib = |tag| Request { tag, object: VOLUME, at: 0, len: 1 << 20, op: Op::Read, fua: false, due: Time::ZERO };
    for tag in 0..3 {
        assert!(matches!(gate.submit(Time::ZERO, mib(tag)), Submitted::Taken(_)));
    }
    gate.poll(Time::ZERO, &mut out);
    gate.account(Time::ZERO, &mut said);
    let held = gate.status().queued;
    assert!(held > 0, "the ceiling holds");
    out.clear();
    assert!(matches!(gate.pass(Time::ZERO, mib(OWN | 7)), Submitted::Taken(_)));
    gate.poll(Time::ZERO, &mut out);
    assert_eq!(out.iter().map(|ended| ended.tag).collect::<Vec<_>>(), [OWN | 7]);
    said.clear();
    gate.account(Time::ZERO, &mut said);
    assert_eq!(said.iter().map(|said| said.completed).sum::<u64>(), 0);
    assert_eq!(gate.status().queued, held);
}

/// One of the owner's own that goes through the gate waits for the volume's ceiling as a client's
/// does, and is charged to it: some 16 of 1 000 bytes in 16 s, half of them its. The account has
/// the clients' alone.
#[test]
fn what_is_the_owners_own_is_held_and_not_counted() {
    let (mut gate, mut out, mut said) = (gate(), Vec::new(), Vec::new());
    for number in 0..32 {
        let tag = if number % 2 == 0 { OWN | number } else { number };
        let request = Request { tag, object: VOLUME, at: 0, len: 1000, op: Op::Read, fua: false, due: Time::ZERO };
        assert!(matches!(gate.submit(Time::ZERO, request), Submitted::Taken(_)));
    }
    let moment = |ms| Time::ZERO + Span::from_millis(ms);
    for ms in (0..16_000).step_by(50) {
        gate.poll(moment(ms), &mut out);
    }
    gate.account(moment(16_000), &mut said);
    let own = out.iter().filter(|ended| ended.tag & OWN != 0).count() as u64;
    let clients = out.len() as u64 - own;
    assert!((15..=17).contains(&out.len()) && own.abs_diff(clients) <= 1, "{own} beside {clients}");
    let account = said.iter().find(|said| said.object == VOLUME).unwrap();
    assert_eq!((account.completed, account.reads.ops), (clients, clients));
    assert_eq!(u64::from(account.queued_now), 16 - clients);
    assert_eq!(gate.status().queued, 32 - own - clients);
}

fn bytes(rate: u64) -> Limits {
    Limits { ceiling: Ceiling { bytes: Some(BytesPerSecond(rate)), ..Ceiling::default() }, ..Limits::default() }
}

const VOLUME: ObjectId = ObjectId(1);
const BESIDE: ObjectId = ObjectId(2);
const MEMBER: ObjectId = ObjectId(3);
const ELSEWHERE: ObjectId = ObjectId(4);

fn gate() -> Gate<Null> {
    let mut gate = Gate::new(Null::default(), Settings::default());
    let group = GroupId(1);
    for edit in [
        Edit::AddObject { object: VOLUME, parent: None },
        Edit::AddObject { object: BESIDE, parent: Some(VOLUME) },
        Edit::AddObject { object: MEMBER, parent: Some(VOLUME) },
        Edit::AddObject { object: ELSEWHERE, parent: None },
        Edit::SetLimits { object: VOLUME, limits: bytes(1_000) },
        Edit::AddGroup { group, limits: bytes(1_000) },
        Edit::Join { object: MEMBER, group: Some(group) },
        Edit::Join { object: ELSEWHERE, group: Some(group) },
    ] {
        gate.edit(Time::ZERO, &edit).unwrap();
    }
    gate
}

/// A volume and a group of 1 000 bytes a second each, used up by others, are never open together. A
/// member of both asks for 1 MiB, which takes 1 049 s, and gets an appointment that far ahead.
/// Whenever all limits are removed, it goes within a second.
#[test]
fn a_moment_promised_under_limits_that_are_gone_does_not_hold() {
    let step = Span::from_secs(37);
    for steps in (20..600).step_by(5) {
        let (mut gate, mut now, mut made, mut out) = (gate(), Time::ZERO, 0, Vec::new());
        for at in 0..steps {
            for (object, from) in [(BESIDE, 0), (ELSEWHERE, 14), (MEMBER, 16)] {
                // Two outstanding each, from its step on: the group's clock runs half a request
                // behind the volume's.
                if at == from || at == from + 1 || at > from && at % 14 == 0 {
                    let request =
                        Request { tag: made, object, at: 0, len: 1 << 20, op: Op::Read, fua: false, due: now };
                    assert!(matches!(gate.submit(now, request), Submitted::Taken(_)));
                    made += 1;
                }
            }
            gate.poll(now, &mut out);
            now += step;
        }
        for object in [VOLUME, BESIDE, MEMBER, ELSEWHERE] {
            gate.edit(now, &Edit::Join { object, group: None }).unwrap();
            gate.edit(now, &Edit::SetLimits { object, limits: Limits::default() }).unwrap();
        }
        for _ in 0..100 {
            now += Span::from_millis(10);
            gate.poll(now, &mut out);
        }
        assert_eq!((gate.status().queued, out.len() as u64), (0, made), "limits gone after {steps} steps");
    }
}
