//! The LUNs of a pool as one [`Target`], which exists before the maps are opened.

use crate::MappedVolumes;
use block::{Bytes, Completion, Fault, ObjectId, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};
use map::{Agreed, Ended, Owned, Steps, What};
use std::collections::HashMap;

/// The LUNs of a pool. Until the maps are opened, all requests fail as gone.
#[derive(Default)]
pub struct Served {
    volumes: Option<Box<MappedVolumes>>,
    /// Requests refused before there were maps.
    refused: Vec<Completion>,
    /// Objects that are accounted for separately but lie in another object's tree: that object.
    within: HashMap<ObjectId, ObjectId>,
    /// The original objects of such requests in flight, by tag.
    renamed: HashMap<u64, ObjectId>,
}

impl Served {
    /// Starts to serve the pool, now that its maps are open.
    pub fn begin(&mut self, volumes: MappedVolumes) {
        self.volumes = Some(Box::new(volumes));
    }

    /// Serves `object`.
    pub fn open(&mut self, object: ObjectId) {
        self.volumes.iter_mut().for_each(|volumes| volumes.open(object));
    }

    /// Serves requests for `object` in the tree of another object, as long as that is served.
    pub fn open_within(&mut self, object: ObjectId, tree: ObjectId) {
        self.within.insert(object, tree);
    }

    /// Serves no more requests for `object` in another tree. Those in flight end as usual.
    pub fn close_within(&mut self, object: ObjectId) {
        self.within.remove(&object);
    }

    /// Stops serving `object`: its queued requests complete as gone, those in flight as usual.
    pub fn close(&mut self, now: Time, object: ObjectId) {
        self.within.retain(|_, tree| *tree != object);
        self.volumes.iter_mut().for_each(|volumes| volumes.close(now, object));
    }

    /// Whether requests wait for memory: poll again after buffers were given back.
    pub fn lacks_memory(&self) -> bool {
        self.volumes.as_ref().is_some_and(|volumes| volumes.lacks_memory())
    }

    /// Requests that were accepted and have not started.
    pub fn backlog(&self) -> usize {
        self.volumes.as_ref().map_or(0, |volumes| volumes.backlog())
    }

    /// Buffers that this takes from the slab for as long as it lives.
    pub fn own_buffers(&self) -> usize {
        self.volumes.as_ref().map_or(0, |volumes| volumes.own_buffers())
    }

    /// Asks for a change of an object's tree and returns the number of its answer; `None` if there
    /// are no maps.
    pub fn administer(&mut self, object: ObjectId, what: What) -> Option<u64> {
        Some(self.volumes.as_mut()?.administer(object, what))
    }

    /// Asks for an atomic change of several trees; `None` if there are no maps.
    pub fn administer_together(&mut self, changes: Vec<(ObjectId, What)>) -> Option<u64> {
        Some(self.volumes.as_mut()?.administer_together(changes))
    }

    /// Makes the maps record what is known of the catalogue; `None` if there are no maps.
    pub fn agree(&mut self, agreed: Agreed) -> Option<u64> {
        Some(self.volumes.as_mut()?.agree(agreed))
    }

    /// The volumes, for changing them; `None` if there are no maps.
    pub fn volumes_mut(&mut self) -> Option<&mut MappedVolumes> {
        self.volumes.as_deref_mut()
    }

    /// The volumes; `None` if there are no maps.
    pub fn volumes(&self) -> Option<&MappedVolumes> {
        self.volumes.as_deref()
    }

    /// Whether there is work in progress that is done in steps.
    pub fn has_work(&self) -> bool {
        self.volumes.as_ref().is_some_and(|volumes| volumes.has_work())
    }

    /// Moves the answers to what was administered to the end of `out`.
    pub fn take_answers(&mut self, out: &mut Vec<Ended>) {
        self.volumes.iter_mut().for_each(|volumes| volumes.take_answers(out));
    }

    /// Bytes of blocks that an object's tree refers to; `None` if it has no tree.
    pub fn used(&self, object: ObjectId) -> Option<u64> {
        self.volumes.as_ref()?.core().tree(object.0).map(|(_, used)| used)
    }

    /// Sets the space for the pool's data.
    pub fn set_room(&mut self, room: Bytes) {
        self.volumes.iter_mut().for_each(|volumes| volumes.set_room(room));
    }

    /// How much of the pool's space is used; `None` if there are no maps.
    pub fn usage(&self) -> Option<map::Usage> {
        self.volumes.as_ref().map(|volumes| volumes.core().usage())
    }

    /// Continues to count what deleting a tree would free. Returns the bytes when the count is
    /// complete.
    pub fn count_owned(&self, owned: &mut Owned, steps: &mut Steps) -> Option<u64> {
        self.volumes.as_ref().map_or(Some(0), |volumes| owned.step(volumes.core(), steps))
    }
}

impl Target for Served {
    fn traits(&self) -> Traits {
        let nothing = Traits { size: Bytes(0), align: 1, longest: u32::MAX, carries_data: true, read_only: false };
        self.volumes.as_ref().map_or(nothing, |volumes| volumes.traits())
    }

    fn submit(&mut self, now: Time, mut request: Request) -> Submitted {
        let (tag, object) = (request.tag, request.object);
        let tree = self.within.get(&object).copied();
        match &mut self.volumes {
            Some(volumes) => {
                request.object = tree.unwrap_or(object);
                match volumes.submit(now, request) {
                    Submitted::Full(request) => Submitted::Full(Request { object, ..request }),
                    taken => {
                        if tree.is_some() {
                            self.renamed.insert(tag, object);
                        }
                        taken
                    }
                }
            }
            None => {
                self.refused.push(Completion::refuse(request, now, Fault::Gone));
                Submitted::Taken(Ticket(0))
            }
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.append(&mut self.refused);
        let first = out.len();
        self.volumes.iter_mut().for_each(|volumes| volumes.poll(now, out));
        if !self.renamed.is_empty() {
            for completion in &mut out[first..] {
                completion.object = self.renamed.remove(&completion.tag).unwrap_or(completion.object);
            }
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        match &self.volumes {
            _ if !self.refused.is_empty() => Wakeup::Now,
            Some(volumes) => volumes.next_wakeup(),
            None => Wakeup::Idle,
        }
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.volumes.iter_mut().for_each(|volumes| volumes.cancel(now, ticket));
    }
}
