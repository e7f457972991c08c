//! Clients' files on volumes: progress of their requests, and answers to the calls that wait.

use super::Owner;
use crate::order::Order;
use crate::volume_files::{FILES, Woken};
use block::{Driver as _, Target as _, Time, Wakeup};

impl Owner {
    /// Advances the files of all volumes, and answers calls whose wait has ended.
    pub(super) fn advance_files(&mut self, now: Time) {
        loop {
            let woken = self.files.advance(now, &mut self.gate, &self.io);
            if woken.is_empty() {
                return;
            }
            for Woken { session, slot, result } in woken {
                self.with_session(now, session, |session, shard| {
                    session.woken(slot, result, shard);
                    session.go_on(shard);
                });
            }
        }
    }

    /// Writes clients' uncommitted changes to disk, and the marks of the logs' ends behind them.
    pub(super) fn settle_files(&mut self, mut now: Time, until: Time) -> Time {
        self.files.tick();
        let (mut completions, mut is_marking) = (Vec::new(), false);
        while now < until {
            self.files.advance(now, &mut self.gate, &self.io);
            self.gate.poll(now, &mut completions);
            let has_ended = !completions.is_empty();
            for completion in completions.drain(..) {
                if (completion.tag >> 32) as u32 == FILES {
                    self.files.completed(completion, &self.io);
                }
            }
            if !self.files.is_busy() {
                if is_marking || !self.files.mark_ends() {
                    break;
                }
                is_marking = true;
                continue;
            }
            let at_once = has_ended || self.gate.next_wakeup() == Wakeup::Now;
            now = self.io.turn(Some(if at_once { now } else { until }));
            self.port.reap(&mut self.done);
            self.done.clear();
        }
        now
    }

    /// Executes orders that concern files.
    pub(super) fn order_files(&mut self, now: Time, order: Order) {
        match order {
            Order::Volume { object, svm, volume, since, limit, qtrees, files } => {
                let date = self.exports.since_1970(now);
                self.gate.inner_mut().open(object);
                qtrees.iter().for_each(|(qtree, _)| self.gate.inner_mut().open_within(*qtree, object));
                files.iter().for_each(|file| self.gate.inner_mut().open_within(file.object, object));
                self.exports.place_volume(&svm, &volume, (object, since));
                self.files.place(date, object, (format!("{svm}:/vol/{volume}/."), limit), qtrees);
                self.files.follow(object, files);
                self.exports.place_qtrees(object, &self.files.qtrees(object));
            }
            Order::Follow { volume, files } => {
                for object in self.files.follow(volume, files) {
                    self.gate.inner_mut().close_within(object);
                }
            }
            Order::Followed(answer) => drop(answer.send(self.files.take_followed())),
            Order::ClientFile { volume, path, answer } => {
                let tree = self.files.tree(volume).ok();
                let found = tree.and_then(|tree| tree.file_at(&path).ok().map(|node| (node, tree.used(node))));
                let _ = answer.send(found);
            }
            Order::Length { file, answer } => drop(answer.send(self.files.length(file))),
            Order::Files { object, tree } => {
                self.files.begin(self.exports.since_1970(now), object, tree);
                self.exports.place_qtrees(object, &self.files.qtrees(object));
            }
            Order::SetTop { volume, set } => self.files.set_top(self.exports.since_1970(now), volume, &set),
            Order::ReadTree { volume, at, len, answer } => {
                self.files.read(now, (volume, at, len), answer, &mut self.gate);
            }
            Order::SettleFiles { volume, answer } => self.files.settle(now, volume, answer, &mut self.gate),
            Order::FilesSeen { volume, answer } => drop(answer.send(self.files.seen(volume))),
            Order::HasFiles { volume, answer } => {
                let _ = answer.send(self.files.get(volume).is_some_and(|found| found.tree.is_some()));
            }
            Order::HasFile { volume, name, answer } => {
                let _ = answer.send(self.files.has(volume, &name));
            }
            _ => unreachable!("all others are obeyed elsewhere"),
        }
    }
}
