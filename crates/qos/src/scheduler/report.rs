//! Accounts and status.

use block::Cause;

use super::Scheduler;
use super::limit::Owner;
use crate::account::{GateStatus, GroupAccount, ObjectAccount};
use crate::slab::NONE;

impl Scheduler {
    /// What each object did since the last call, for objects with requests or with something passed beneath them.
    pub fn account(&mut self, out: &mut Vec<ObjectAccount>) {
        for number in self.meters.numbers() {
            if !self.meters[number].in_use {
                continue;
            }
            let node = self.meters[number].node;
            if self.meters[number].is_idle() {
                self.meters[number].in_use = false;
                self.meters.free(number);
                self.nodes[node].meter = NONE;
                continue;
            }
            let held = if self.meters[number].queued > 0 { self.what_holds(node) } else { Cause::Nothing };
            let mut account = self.meters[number].take(self.now, held);
            account.object = self.nodes[node].id;
            let limit = self.nodes[node].limit;
            if limit != NONE && self.limits[limit].has_rate() {
                account.passed = Some(self.limits[limit].take_passed());
            }
            out.push(account);
        }
        self.account_inner(out);
    }

    /// Objects that had no requests of their own, while something beneath them passed their ceiling.
    fn account_inner(&mut self, out: &mut Vec<ObjectAccount>) {
        for number in self.limits.numbers() {
            let limit = &mut self.limits[number];
            let Owner::Node(node, object) = limit.owner else { continue };
            if limit.is_retired() || !limit.has_rate() || !limit.has_passed() || self.nodes[node].meter != NONE {
                continue;
            }
            out.push(ObjectAccount { object, passed: Some(limit.take_passed()), ..ObjectAccount::default() });
        }
    }

    /// What each shared group passed since the last call.
    pub fn account_groups(&mut self, out: &mut Vec<GroupAccount>) {
        for number in self.limits.numbers() {
            let limit = &mut self.limits[number];
            if let Owner::Group(slot, group) = limit.owner
                && !limit.is_retired()
            {
                out.push(GroupAccount { group, members: self.groups[slot].members, passed: limit.take_passed() });
            }
        }
    }

    /// The state of the whole.
    pub fn status(&self) -> GateStatus {
        GateStatus {
            queued: u64::from(self.queued),
            in_flight: u64::from(self.flying),
            objects: self.nodes.len() as u64 - 1,
            groups: self.groups.len() as u64,
            phi_per_mille: (self.floors.phi * 1000.0) as u32,
            window_milli: (self.floors.set > 0).then(|| self.floors.window.milli()),
            ..GateStatus::default()
        }
    }
}
