//! Objects' queues: lists linked through the requests, so that a queue costs its object twelve
//! bytes. First come, first served within an object, so a flush never overtakes the writes it
//! covers.

use super::Scheduler;
use super::job::Stage;
use super::node::Entity;
use crate::slab::NONE;

impl Scheduler {
    /// Puts a request at the end of its object's queue.
    pub(super) fn link(&mut self, job: u32) {
        let leaf = self.jobs[job].node;
        let tail = std::mem::replace(&mut self.nodes[leaf].tail, job);
        let record = &mut self.jobs[job];
        (record.stage, record.prev, record.next) = (Stage::Queued, tail, NONE);
        if tail == NONE {
            self.nodes[leaf].head = job;
        } else {
            self.jobs[tail].next = job;
        }
        self.nodes[leaf].queued += 1;
        self.queued += 1;
        if tail == NONE {
            self.queue_filled(leaf);
        }
    }

    /// Takes a request out of its object's queue, from any position.
    pub(super) fn unlink(&mut self, job: u32) {
        let record = &self.jobs[job];
        let (leaf, prev, next) = (record.node, record.prev, record.next);
        let node = &mut self.nodes[leaf];
        node.queued -= 1;
        self.queued -= 1;
        if node.head == job {
            // The usual case touches no other request.
            node.head = next;
            if next == NONE {
                node.tail = NONE;
                self.queue_emptied(leaf);
            }
        } else {
            self.jobs[prev].next = next;
            if next == NONE {
                self.nodes[leaf].tail = prev;
            } else {
                self.jobs[next].prev = prev;
            }
        }
    }

    /// Lists an object whose queue has work that no turn queue has yet.
    pub(super) fn queue_filled(&mut self, leaf: u32) {
        if self.nodes[leaf].turn_queue != NONE {
            self.join_own(leaf);
        }
        self.settle(Entity::Node(leaf));
    }

    fn queue_emptied(&mut self, leaf: u32) {
        self.nodes[leaf].appointed = false;
        if self.nodes[leaf].turn_queue != NONE {
            self.leave_own(leaf);
        }
        if !self.has_work(Entity::Node(leaf)) {
            self.leave(Entity::Node(leaf));
        }
    }

    /// A request without a policy begins to wait for the backend.
    pub(super) fn spill(&mut self, job: u32) {
        self.jobs[job].stage = Stage::Spilled;
        self.spilled.push_back(job);
        self.queued += 1;
    }

    /// It no longer waits. Usually it is the oldest, so the search is short.
    pub(super) fn unspill(&mut self, job: u32) {
        if let Some(place) = self.spilled.iter().position(|&j| j == job) {
            self.spilled.remove(place);
            self.queued -= 1;
        }
    }

    /// After a change of policy: spilled requests wait in their objects' queues instead, in the
    /// same order.
    pub(super) fn recall_spilled(&mut self) {
        while let Some(job) = self.spilled.pop_front() {
            self.queued -= 1;
            self.link(job);
        }
    }
}
