//! The state machine: changes come in, commands go to the volume's tree in the maps, their results
//! come back.
//!
//! ```text
//!   change ──► state (seen at once) ──► pending ──► record ──► durable(): whoever waits for it is answered
//!                  │                                   └─ enough of them: image, then head, beside later records
//!                  └─ pages that came free ──► cleared, once that is durable and no request is under way to them
//!                                              └─► the record of it is durable ──► given out again
//! ```

use crate::clearing::Clearing;
use crate::followed::Following;
use crate::image::ImageWriter;
use crate::item::Item;
use crate::journal::Journal;
use crate::limits::{CALL_BYTES_MAX, PENDING_BYTES_MAX, RECORD_BYTES_MAX};
use crate::refusal::TreeRefusal;
use crate::space::Space;
use crate::state::State;
use crate::tails::Tails;
use crate::tickets::Tickets;
use block::Fault;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// A command for a volume's tree in the maps. Commands run concurrently; each ends by
/// [`FileTree::done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeCommand {
    /// Write bytes of the file tree.
    Write {
        /// Identifies the command.
        token: u32,
        /// First byte.
        at: u64,
        /// The bytes: a multiple of 4 KiB, at most [`RECORD_BYTES_MAX`].
        bytes: Vec<u8>,
        /// Whether it is durable before it is done.
        durable: bool,
    },
    /// Make bytes read as zeroes.
    Zero {
        /// Identifies the command.
        token: u32,
        /// First byte.
        at: u64,
        /// Bytes.
        len: u64,
        /// Whether it is durable before it is done.
        durable: bool,
    },
    /// Make everything that ended before durable.
    Flush {
        /// Identifies the command.
        token: u32,
    },
}

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Record,
    /// A record that is followed by a flush.
    RecordAlone,
    /// The mark of the log's end.
    End,
    Image,
    Clear,
    Tail,
}

/// All files of a volume; see the crate's documentation.
#[derive(Debug)]
pub struct FileTree {
    pub(crate) state: State,
    pub(crate) space: Space,
    /// Changes that are not in a record yet.
    pub(crate) pending: Vec<u8>,
    /// Nodes whose attributes changed and are not in a record yet.
    pub(crate) dirty: BTreeSet<u32>,
    pub(crate) journal: Journal,
    pub(crate) image: Option<ImageWriter>,
    pub(crate) clearing: Clearing,
    pub(crate) tails: Tails,
    pub(crate) tickets: Tickets,
    pub(crate) following: Following,
    /// Limit on the pages of all files.
    pub(crate) limit: u64,
    pub(crate) next_number: u32,
    pub(crate) last_generation: u64,
    /// A change could not be made durable.
    pub(crate) failed: bool,
    /// There was no space for a record or an image: nothing is tried until [`FileTree::tick`].
    pub(crate) starved: bool,
    commands: VecDeque<TreeCommand>,
    jobs: HashMap<u32, Job>,
    next_token: u32,
}

impl FileTree {
    pub(crate) fn new(state: State, journal: Journal) -> FileTree {
        let (space, clearing) = (Space::behind(state.reserved), Clearing::after(state.unowned().iter()));
        let next_number = state.nodes.keys().next_back().map_or(2, |last| last.saturating_add(1).max(2));
        let last_generation = state.nodes.values().map(|node| node.info.generation).max().unwrap_or(0);
        FileTree {
            state,
            space,
            pending: Vec::new(),
            dirty: BTreeSet::new(),
            journal,
            image: None,
            clearing,
            tails: Tails::default(),
            tickets: Tickets::default(),
            following: Following::default(),
            limit: u64::MAX,
            next_number,
            last_generation,
            failed: false,
            starved: false,
            commands: VecDeque::new(),
            jobs: HashMap::new(),
            next_token: 0,
        }
    }

    /// The files of a new volume.
    pub fn empty() -> FileTree {
        FileTree::new(State::new(), Journal::default())
    }

    /// Whether anything is not durable yet, or waits for [`FileTree::tick`].
    pub fn is_loose(&self) -> bool {
        self.starved || !self.pending.is_empty() || !self.dirty.is_empty() || !self.failed && self.journal.lacks_mark()
    }

    /// The number of the last record that is durable.
    pub fn durable(&self) -> u64 {
        self.journal.durable
    }

    /// Makes all changes so far durable. They are when [`FileTree::durable`] has reached the number
    /// that this returns.
    pub fn want(&mut self) -> u64 {
        self.journal.wanted = true;
        self.mark()
    }

    /// The record that includes all changes so far.
    pub(crate) fn mark(&self) -> u64 {
        self.journal.sequence + u64::from(!self.pending.is_empty())
    }

    /// Makes everything durable that is not, and retries what found no space. Call it regularly: it
    /// bounds what a client loses that never asks for durability.
    pub fn tick(&mut self) -> u64 {
        self.starved = false;
        while self.pending.len() < PENDING_BYTES_MAX
            && let Some(number) = self.dirty.pop_first()
        {
            self.put_node(number);
        }
        self.journal.tick();
        self.want()
    }

    /// Starts what is due. Call it after a round of changes and results, so that they share one
    /// record.
    pub fn advance(&mut self) {
        self.queue_freed();
        self.step_tails();
        self.step_clearing();
        self.start_record();
        self.step_image();
    }

    /// The next command.
    pub fn next_command(&mut self) -> Option<TreeCommand> {
        self.commands.pop_front()
    }

    /// A command has ended.
    ///
    /// # Panics
    /// There is no such command in progress.
    pub fn done(&mut self, token: u32, result: Result<(), Fault>) {
        match self.jobs.remove(&token).expect("a command ends once") {
            Job::Record => self.record_done(result),
            Job::RecordAlone => self.record_written(result),
            Job::End => self.mark_done(result),
            Job::Image => self.image_done(result),
            Job::Clear => self.clear_done(result),
            Job::Tail => self.tail_done(result),
        }
    }

    /// The purpose of a command.
    pub(crate) fn job(&self, token: u32) -> Option<Job> {
        self.jobs.get(&token).copied()
    }

    /// Whether commands are in progress, or would be started by [`FileTree::advance`].
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty() || !self.commands.is_empty() || self.journal.wanted && !self.pending.is_empty()
    }

    /// Whether something could not be made durable. Then the changes since the last durable record
    /// are lost, and no more changes are accepted.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether the storage has no space for the record of what changed, so that nobody should wait
    /// for it. The changes are kept, and become durable if there is space later.
    pub fn lacks_space(&self) -> bool {
        self.journal.lacks_space()
    }

    /// Sets the limit on the data of all files. Files beyond it keep what they have.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes / crate::limits::PAGE_BYTES;
    }

    /// The limit on the data of all files and its present size, in bytes.
    pub fn space(&self) -> (u64, u64) {
        let pages = |pages: u64| pages.saturating_mul(crate::limits::PAGE_BYTES);
        (pages(self.limit), pages(self.state.owned))
    }

    /// Number of files, folders and symbolic links, including the root folder.
    pub fn nodes(&self) -> u64 {
        self.state.nodes.len() as u64
    }

    /// Whether changes are accepted at present.
    pub(crate) fn admit(&self) -> Result<(), TreeRefusal> {
        match () {
            () if self.failed => Err(TreeRefusal::Failed),
            () if self.starved && self.journal.faults > 0 => Err(TreeRefusal::Busy),
            () if self.starved => Err(TreeRefusal::NoSpace),
            () if self.lacks_room(0) => Err(TreeRefusal::Busy),
            () => Ok(()),
        }
    }

    /// Whether changes have to wait until a record or an image under way is durable. If not, there
    /// is room for all changes of one call.
    pub fn is_crowded(&self) -> bool {
        !self.failed && !self.starved && self.lacks_room(CALL_BYTES_MAX)
    }

    /// Whether there is no room for what is pending, for `more` beside it, and for what ends
    /// meanwhile.
    fn lacks_room(&self, more: usize) -> bool {
        self.pending.len() + more > PENDING_BYTES_MAX || self.journal.room() < 3 * RECORD_BYTES_MAX as u64
    }

    /// Reserves pages if there may soon be too few. If the volume had some before, a start does so,
    /// and otherwise the first file.
    pub(crate) fn reserve(&mut self) {
        if let Some(run) = self.space.lacks() {
            self.change(&Item::Reserve { end: run.end() });
            self.space.reserve(self.mark(), run);
            self.journal.wanted = true;
        }
    }

    /// Makes a change, which the next record will include.
    pub(crate) fn change(&mut self, item: &Item<'_>) {
        self.stir(item);
        self.state.apply(item);
        item.put(&mut self.pending);
    }

    /// Adds the present attributes of a node to the next record.
    pub(crate) fn put_node(&mut self, number: u32) {
        self.dirty.remove(&number);
        if let Some(item) = self.state.node_item(number) {
            item.put(&mut self.pending);
        }
    }

    pub(crate) fn command(&mut self, job: Job, command: impl FnOnce(u32) -> TreeCommand) {
        let token = self.next_token;
        self.next_token = self.next_token.wrapping_add(1);
        self.jobs.insert(token, job);
        self.commands.push_back(command(token));
    }
}
