//! Executes the orders of the administration, a bounded number of steps in each turn, so that no
//! order delays requests for long.
//!
//! ```text
//!   orders (in order) ──► obey ──┬─► done
//!                                └─► what is left of it: an order again, gone on with in the next turn
//! ```
//! Requests move between the turns. What an order reports is true at the moment at which it looks;
//! the parts of an order that takes several turns are of different moments.

use super::Owner;
use crate::link_meter::{LinkMeter, LinkSettings};
use crate::order::{Accounting, Order};
use crate::shard::Account;
use block::{Bytes, ObjectId, Time};
use map::{Owned, Steps};
use std::sync::mpsc::{Sender, TryRecvError};
use store::{MappedVolumes, VolumesSettings};

/// Steps that orders may take in one turn. A step of [`Steps`] takes up to 150 ns if it misses the
/// processor's caches, so that is 0.3 ms.
const STEPS: u32 = 2048;
/// Costs of other work in steps: of any order, of an edit to the gate, of the account of an object
/// or group.
const ORDER: u32 = 16;
const EDIT: u32 = 16;
const ACCOUNT: u32 = 16;
/// Cost of looking up a tree.
pub(super) const LOOK_UP: u32 = 2;
/// Sessions that can be visited in the time of one step.
const SESSIONS: u32 = 4;

impl Owner {
    /// Ends the measurement of a turn that included work for the administration.
    pub(super) fn end_measure(&mut self) {
        if let Some(began) = self.measured_from.take() {
            self.longest_turn = self.longest_turn.max(uring::usage::thread_cpu().saturating_sub(began));
        }
    }

    pub(super) fn take_orders(&mut self, now: Time) {
        self.measured_from = self.gate.inner().has_work().then(uring::usage::thread_cpu);
        let mut steps = Steps::new(STEPS);
        while !steps.are_spent() {
            let order = self.order.take().map_or_else(|| self.orders.try_recv(), Ok);
            match order {
                Ok(order) => {
                    self.measured_from.get_or_insert_with(uring::usage::thread_cpu);
                    steps.spend(ORDER);
                    self.order = self.obey(now, order, &mut steps);
                }
                Err(TryRecvError::Empty) => {
                    self.ordered = false;
                    return;
                }
                Err(TryRecvError::Disconnected) => {
                    self.ordered = false;
                    if self.stopping.is_none() {
                        self.stop(now);
                    }
                    return;
                }
            }
        }
        self.ordered = true;
    }

    /// Executes an order as far as the steps go; returns what is left of it.
    fn obey(&mut self, now: Time, order: Order, steps: &mut Steps) -> Option<Order> {
        match order {
            Order::Edit(edits) => return self.edit(now, edits, steps),
            Order::Owned { trees, owned, bytes, answer } => {
                return self.count_owned(trees, (owned, bytes), answer, steps);
            }
            Order::Used { objects, used, answer } => return self.tell_used(objects, used, answer, steps),
            Order::Account(accounting) => return self.account(now, accounting, steps),
            Order::Administer { .. } | Order::ChangeAll { .. } | Order::Agree { .. } => self.administer(order, steps),
            Order::LetIn => self.let_in(),
            Order::Record => self.accounts.record(),
            Order::Reach(answer) => drop(answer.send(())),
            Order::Room(room) => self.gate.inner_mut().set_room(room),
            Order::Space(answer) => drop(answer.send(self.gate.inner().usage())),
            Order::Maps(pool) => self.begin_maps(*pool),
            Order::Open(export) => {
                self.gate.inner_mut().open(export.object);
                self.exports.add(export);
            }
            Order::Volume { .. } | Order::Files { .. } | Order::ReadTree { .. } | Order::SettleFiles { .. } => {
                self.order_files(now, order);
            }
            Order::Follow { .. } | Order::Followed(_) | Order::ClientFile { .. } | Order::Length { .. } => {
                self.order_files(now, order);
            }
            Order::FilesSeen { .. } | Order::HasFiles { .. } | Order::HasFile { .. } | Order::SetTop { .. } => {
                self.order_files(now, order);
            }
            Order::Resize { object, size } => self.exports.resize(object, size),
            Order::Rename { object, svm, path } => self.exports.rename(object, svm, path),
            Order::Join(volume, junction) => self.exports.join(volume, junction),
            Order::Divide { .. } | Order::Place { .. } => self.divide(order, steps),
            Order::Limit { cache, is_short } => self.limit_memory(cache, is_short),
            Order::Cache(answer) => drop(answer.send(self.cached())),
            Order::LimitLink(settings) => self.limit_link(settings, steps),
            Order::Link(answer) => drop(answer.send(self.link.seen(now))),
            Order::SecondLevel(answer) => drop(answer.send(self.second_seen())),
            Order::Memory(answer) => drop(answer.send(self.memory())),
            Order::Close { object } => {
                steps.spend(self.sessions.len() as u32 / SESSIONS);
                self.exports.remove(object);
                self.files.remove(now, object, &mut self.gate, &self.io);
                self.gate.inner_mut().close(now, object);
                self.cut(now, |other| other == object);
            }
            Order::Connected(answer) => {
                steps.spend(self.sessions.len() as u32 / SESSIONS);
                let _ = answer.send(self.connected());
            }
            Order::Withdraw { objects, force, answer } => {
                steps.spend(self.sessions.len() as u32 / SESSIONS + LOOK_UP * objects.len() as u32);
                let _ = answer.send(self.withdraw(now, &objects, force));
            }
            Order::Offer { objects } => {
                steps.spend(LOOK_UP * objects.len() as u32);
                objects.iter().for_each(|object| self.exports.offer(*object, true));
            }
        }
        None
    }

    /// All exports are known: accepts clients from now on.
    fn let_in(&mut self) {
        self.is_open = true;
        self.accept();
    }

    /// Replaces the bandwidth limits, for existing connections too.
    fn limit_link(&mut self, settings: LinkSettings, steps: &mut Steps) {
        steps.spend(self.sessions.len() as u32 / SESSIONS);
        self.link = LinkMeter::new(settings);
        (0..self.sessions.len()).for_each(|index| self.link.begin(index as u32));
    }

    fn begin_maps(&mut self, pool: store::MappedPool) {
        let settings = VolumesSettings { cache: self.cache, ..VolumesSettings::default() };
        match MappedVolumes::new(&self.io, pool, settings) {
            Ok(volumes) => self.serve(volumes),
            // Cannot happen if the slab was sized for it. Without maps clients lose every LUN in
            // them.
            Err(_) => tracing::error!("no memory for the maps' own buffers"),
        }
    }

    fn edit(&mut self, now: Time, mut edits: std::vec::IntoIter<qos::Edit>, steps: &mut Steps) -> Option<Order> {
        while !steps.are_spent() {
            let edit = edits.next()?;
            steps.spend(EDIT);
            if let Err(error) = self.gate.edit(now, &edit) {
                // The registry checked the edit, so this is a bug: report it and keep what is in
                // force.
                tracing::error!(?edit, %error, "the gate refused an edit");
            }
        }
        Some(Order::Edit(edits))
    }

    /// Counts the bytes that deleting some trees would free, one tree after the other.
    fn count_owned(
        &mut self,
        mut trees: std::vec::IntoIter<ObjectId>,
        (mut owned, mut bytes): (Option<Owned>, u64),
        answer: Sender<u64>,
        steps: &mut Steps,
    ) -> Option<Order> {
        while !steps.are_spent() {
            steps.spend(LOOK_UP);
            let next = owned.take().or_else(|| trees.next().map(|tree| Owned::of(tree.0)));
            let Some(mut counting) = next else {
                let _ = answer.send(bytes);
                return None;
            };
            match self.gate.inner().count_owned(&mut counting, steps) {
                Some(found) => bytes += found,
                None => owned = Some(counting),
            }
        }
        Some(Order::Owned { trees, owned, bytes, answer })
    }

    fn tell_used(
        &mut self,
        mut objects: std::vec::IntoIter<ObjectId>,
        mut used: Vec<u64>,
        answer: Sender<Vec<u64>>,
        steps: &mut Steps,
    ) -> Option<Order> {
        while !steps.are_spent() {
            let Some(object) = objects.next() else {
                let _ = answer.send(used);
                return None;
            };
            steps.spend(LOOK_UP);
            used.push(self.files.used(object).or(self.gate.inner().used(object)).unwrap_or(0));
        }
        Some(Order::Used { objects, used, answer })
    }

    /// Passes changes of trees to the maps, which answer later.
    fn administer(&mut self, order: Order, steps: &mut Steps) {
        let volumes = self.gate.inner_mut();
        let (number, answer) = match order {
            Order::Administer { object, what, answer } => (volumes.administer(object, what), answer),
            Order::ChangeAll { changes, answer } => {
                // They are accepted now, and applied in steps of the maps.
                steps.spend(changes.len() as u32 / 8);
                (volumes.administer_together(changes), answer)
            }
            Order::Agree { agreed, answer } => (volumes.agree(agreed), answer),
            _ => return,
        };
        match number {
            Some(number) => drop(self.administered.insert(number, answer)),
            None => tracing::error!("a pool without maps was asked to change some"),
        }
    }

    /// Passes the results of completed changes of the maps to those who ordered them.
    pub(super) fn tell_administration(&mut self) {
        self.gate.inner_mut().take_answers(&mut self.answers);
        for ended in self.answers.drain(..) {
            if let Some(answer) = self.administered.remove(&ended.id) {
                let _ = answer.send(ended.result);
            }
        }
    }

    fn account(&mut self, now: Time, mut accounting: Box<Accounting>, steps: &mut Steps) -> Option<Order> {
        const AT_ONCE: usize = 8;
        while !steps.are_spent() && !accounting.objects_told {
            steps.spend(ACCOUNT * AT_ONCE as u32);
            accounting.objects_told = self.gate.account_some(now, AT_ONCE, &mut accounting.objects);
        }
        while !steps.are_spent()
            && let Some(from) = accounting.next_group
        {
            steps.spend(ACCOUNT * AT_ONCE as u32);
            accounting.next_group = self.gate.groups_some(now, from, AT_ONCE, &mut accounting.groups);
        }
        if !accounting.objects_told || accounting.next_group.is_some() {
            return Some(Order::Account(accounting));
        }
        let Accounting { objects, groups, answer, .. } = *accounting;
        self.tell_of_second_level();
        self.tell_of_failures(now);
        let cpu = uring::usage::thread_cpu();
        let used = cpu.saturating_sub(std::mem::replace(&mut self.cpu, cpu));
        let _ = answer.send(Account {
            objects: self.accounts.take(),
            said: objects,
            passed: groups,
            replies: self.replies.take(),
            gate: self.gate.status(),
            cpu: used,
            stalled: std::mem::take(&mut self.stalled),
            awake: self.awake.take_spent(),
            turns: std::mem::take(&mut self.turns),
            holds: self.holding.take_holds(),
            longest_turn: std::mem::take(&mut self.longest_turn),
            connections: self.connections(),
            claimed: Bytes(self.claims.claimed()),
            cache: self.cached(),
            cached: self.asked(),
            noticed: self.notices.take(),
            buffers: self.io.outstanding() - self.gate.inner().own_buffers() - self.files.own_buffers(),
            now,
        });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::front::Listeners;
    use crate::limits::ServerLimits;
    use crate::link_meter::LinkSettings;
    use crate::starting::Latency;
    use block::{Driver, Op, Request, Span, Submitted, Target};
    use map::What;
    use qos::Edit;
    use std::sync::mpsc::channel;
    use store::{MapSettings, MappedPool};
    use uring::{Io, IoSettings};

    /// Number of LUNs.
    const MANY: u32 = 10_000;
    /// Most objects whose accounts or changes fit in a turn, at 16 steps each, plus one batch.
    const A_TURN: usize = STEPS as usize / 16 + 8;

    struct Bench {
        owner: Owner,
        orders: Sender<Order>,
        now: Time,
    }

    impl Bench {
        fn new() -> Bench {
            let settings = IoSettings { slab: Bytes::mib(4), registered: Bytes(0), ..IoSettings::default() };
            let (orders, inbox) = channel();
            let (tls, access, default_export) = (None, Access::default(), None);
            let (listeners, nfs, since_1970) = (Vec::new(), Vec::new(), Span::ZERO);
            let (cache, second_level) = (None, None);
            let (latency, link) = (Latency::default(), LinkSettings::default());
            let opened = Listeners {
                listeners,
                nfs,
                tls,
                access,
                default_export,
                cache,
                second_level,
                latency,
                link,
                since_1970,
            };
            let owner = Owner::new(Io::open(&settings).unwrap(), opened, ServerLimits::default(), inbox);
            Bench { owner, orders, now: Time::ZERO }
        }

        fn order(&self, order: Order) {
            assert!(self.orders.send(order).is_ok());
        }

        /// Runs a turn of the orders alone, in virtual time.
        fn turn(&mut self) {
            self.now += Span::from_micros(100);
            self.owner.take_orders(self.now);
        }

        /// Adds as many objects as there are LUNs; returns the number of turns that it took, and
        /// the most changes in one.
        fn add_objects(&mut self) -> (u32, u64) {
            let add = |number| Edit::AddObject { object: ObjectId(number), parent: None };
            self.order(Order::Edit((1..=MANY).map(add).collect::<Vec<_>>().into_iter()));
            let (mut turns, mut most) = (0, 0);
            while self.owner.gate.status().objects < u64::from(MANY) {
                let before = self.owner.gate.status().objects;
                self.turn();
                (turns, most) = (turns + 1, most.max(self.owner.gate.status().objects - before));
            }
            (turns, most)
        }
    }

    /// 10 000 edits of the gate, as when a policy group with that many members changes: some 127 a
    /// turn, so 79 turns. Later orders are executed after them.
    #[test]
    fn many_changes_of_the_gate_are_made_over_many_turns() {
        let mut bench = Bench::new();
        let (turns, most) = bench.add_objects();
        assert!((70..=90).contains(&turns) && most <= A_TURN as u64, "{turns} turns, {most} in one");
        let limits = qos::Limits {
            ceiling: qos::Ceiling { iops: Some(block::Iops(5)), ..Default::default() },
            ..Default::default()
        };
        let limit = |number| Edit::SetLimits { object: ObjectId(number), limits };
        bench.order(Order::Edit((1..=MANY).map(limit).collect::<Vec<_>>().into_iter()));
        let (answer, after) = channel();
        bench.order(Order::Used { objects: vec![ObjectId(1)].into_iter(), used: Vec::new(), answer });
        let mut turns = 0;
        while after.try_recv().is_err() {
            bench.turn();
            turns += 1;
        }
        assert!((70..=90).contains(&turns), "{turns}");
    }

    /// All LUNs had requests. The account of the second is collected completely over 79 turns or
    /// more, and the next one is empty except for what the gate still keeps.
    #[test]
    fn the_account_of_many_luns_is_made_over_many_turns() {
        let mut bench = Bench::new();
        bench.add_objects();
        let mut ended = Vec::new();
        for number in 1..=MANY {
            let (object, op) = (ObjectId(number), Op::Flush);
            let request = Request { tag: 0, object, at: 0, len: 0, op, fua: false, due: bench.now };
            assert!(matches!(bench.owner.gate.submit(bench.now, request), Submitted::Taken(_)));
            bench.owner.gate.poll(bench.now, &mut ended);
        }
        assert_eq!(ended.len(), MANY as usize, "nothing is served, so each is told so");
        let mut account = || {
            let (answer, told) = channel();
            let (objects, groups) = (Vec::new(), Vec::new());
            let accounting = Accounting { objects, objects_told: false, groups, next_group: Some(0), answer };
            bench.order(Order::Account(Box::new(accounting)));
            let (mut turns, mut before) = (0, 0);
            loop {
                bench.turn();
                turns += 1;
                if let Ok(account) = told.try_recv() {
                    return (turns, account);
                }
                let Some(Order::Account(accounting)) = &bench.owner.order else { panic!("it is under way") };
                assert!(accounting.objects.len() - before <= A_TURN, "{} of {before}", accounting.objects.len());
                before = accounting.objects.len();
            }
        };
        let (turns, first) = account();
        assert!((70..=100).contains(&turns), "{turns}");
        let mut told: Vec<u32> = first.said.iter().map(|said| said.object.0).collect();
        told.sort_unstable();
        assert_eq!(told, (1..=MANY).collect::<Vec<_>>());
        assert!(first.said.iter().all(|said| said.completed == 1) && first.objects.is_empty(), "nobody records them");
        let (_, second) = account();
        assert!(second.said.iter().all(|said| said.completed == 0));
    }

    /// LUNs in maps. They are made by as many orders, at most 128 a turn; then their use is
    /// counted, two steps each; then a snapshot of all of them is made, whose trees are not shared
    /// any more once the LUNs are deleted.
    #[test]
    fn many_luns_are_made_measured_and_shared_over_many_turns() {
        let dir = tempfile::tempdir().unwrap();
        let settings = MapSettings { cache: store::Cache::Page, log: 1 << 20, ..MapSettings::default() };
        let mut bench = Bench::new();
        bench.order(Order::Maps(Box::new(MappedPool::create(dir.path(), 7, settings).unwrap())));
        let run = |bench: &mut Bench, done: &mut dyn FnMut() -> bool| {
            let mut turns = 0;
            while !done() {
                bench.turn();
                bench.owner.move_requests(bench.now);
                bench.owner.io.turn(Some(Time::ZERO));
                turns += 1;
            }
            turns
        };
        let (answer, made) = channel();
        for number in 1..=MANY {
            let (object, what, answer) = (ObjectId(number), What::Create { size: 1 << 20 }, answer.clone());
            bench.order(Order::Administer { object, what, answer });
        }
        let mut count = 0;
        let turns = run(&mut bench, &mut || {
            count += made.try_iter().map(Result::unwrap).count();
            count == MANY as usize
        });
        assert!(turns >= MANY as usize / A_TURN, "{turns}");
        let (answer, told) = channel();
        let objects: Vec<ObjectId> = (1..=MANY).map(ObjectId).collect();
        bench.order(Order::Used { objects: objects.clone().into_iter(), used: Vec::new(), answer });
        let mut used = Vec::new();
        let turns = run(&mut bench, &mut || told.try_recv().map(|told| used = told).is_ok());
        assert!((10..=12).contains(&turns) && used == vec![0; MANY as usize], "{turns}");
        let share = |object: &ObjectId| (ObjectId(object.0 + MANY), What::Share { from: object.0, frozen: true });
        let (answer, shared) = channel();
        bench.order(Order::ChangeAll { changes: objects.iter().map(share).collect(), answer });
        // 256 trees for each poll of the maps, which happens once or twice a turn, four times each.
        let turns = run(&mut bench, &mut || shared.try_recv().is_ok_and(|shared| shared.is_ok()));
        assert!(turns >= MANY as usize * 3 / 256 / 2, "{turns}");
        let (answer, owned) = channel();
        let trees: Vec<ObjectId> = objects.iter().map(|object| ObjectId(object.0 + MANY)).collect();
        bench.order(Order::Owned { trees: trees.into_iter(), owned: None, bytes: 0, answer });
        let turns = run(&mut bench, &mut || owned.try_recv() == Ok(0));
        assert!((10..=20).contains(&turns), "{turns}");
    }
}
