//! Reading a volume's files from its tree in the maps: the newest image, and the records after it.

use crate::file_tree::FileTree;
use crate::item::{Item, ItemError};
use crate::journal::Journal;
use crate::later::latest_proof;
use crate::limits::{DATA_PAGES, HEADS, IMAGE_BYTES_MAX, IMAGES, LOG_BYTES, LOGS, PAGE_BYTES, RECORD_BYTES_MAX};
use crate::record::{self, HEAD_BYTES, Head, Record, record_len};
use crate::state::State;
use block::Fault;

/// Reads a volume's tree while nobody changes it.
pub trait TreeMedia {
    /// Fills `buf` from byte `at` on. What was never written reads as zeroes.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&mut self, at: u64, buf: &mut [u8]) -> Result<(), Fault>;
}

/// Why a volume's files cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The storage failed.
    #[error("the storage failed ({fault:?}) at byte {at}")]
    Read {
        /// The offset.
        at: u64,
        /// The fault.
        fault: Fault,
    },
    /// They were written by another version of this program.
    #[error("are of version {0}, and this program knows version {known}", known = record::VERSION)]
    Version(u32),
    /// The image does not match its checksum.
    #[error("the image of {0} bytes is damaged")]
    Image(u64),
    /// The heads are damaged.
    #[error("both heads are damaged")]
    Heads,
    /// A head is damaged that was in force when a later record was written.
    #[error("head {0} is damaged")]
    Head(u64),
    /// A record is damaged or missing that had become durable.
    #[error("record {record} of the log is damaged or missing, and the log went on to record {latest}")]
    Lost {
        /// The record.
        record: u64,
        /// The latest one that is known to have been durable, or to have followed one that was.
        latest: u64,
    },
    /// A record that was written completely is invalid.
    #[error("record {0} is damaged")]
    Record(u64),
}

/// Bytes of an image that are read at a time.
const CHUNK: usize = 1 << 20;

impl FileTree {
    /// Reads a volume's files. A tree that was never written has only the root folder.
    ///
    /// # Errors
    /// They are damaged, or cannot be read.
    pub fn recover(media: &mut dyn TreeMedia) -> Result<FileTree, TreeError> {
        let head = newest_head(media)?;
        let mut state = State::new();
        play_image(media, &head, &mut state)?;
        let mut played = Played { log: head.log as usize, at: head.log_at, used: 0, sequence: head.sequence };
        let mut is_marked = true;
        while let Some(Record { items, generation, .. }) = next_record(media, &head, &mut played)? {
            if generation > head.generation {
                return Err(TreeError::Head(generation));
            }
            is_marked = false;
            let mut rest = &items[..];
            while !rest.is_empty() {
                let item = Item::take(&mut rest).map_err(|_| TreeError::Record(played.sequence))?;
                state.apply(&item);
            }
        }
        if let Some(latest) = latest_proof(media, played.sequence + 1)? {
            return Err(TreeError::Lost { record: played.sequence + 1, latest });
        }
        // They are included in the unused pages.
        state.freed.clear();
        let Played { log, at, used, sequence } = played;
        let mut tree = FileTree::new(state, Journal::behind(head, sequence, (log, at), used));
        tree.journal.is_marked = is_marked;
        tree.cut_beyond_ends();
        if tree.state.reserved > DATA_PAGES.0 {
            tree.reserve();
        }
        Ok(tree)
    }

    /// Pages beyond the end of a file belong to writes that were never reported as durable.
    fn cut_beyond_ends(&mut self) {
        let beyond = |(number, node): (&u32, &crate::node::Node)| {
            let page = node.info.size.div_ceil(PAGE_BYTES);
            node.extents()?.from(page).next().or_else(|| {
                let (first, run) = node.extents()?.before(page)?;
                (first + run.pages > page).then_some((first, run))
            })?;
            Some((*number, page))
        };
        let found: Vec<(u32, u64)> = self.state.nodes.iter().filter_map(beyond).collect();
        for (number, page) in found {
            self.change(&Item::Cut { number, page });
        }
    }
}

pub(crate) fn read(media: &mut dyn TreeMedia, at: u64, len: usize) -> Result<Vec<u8>, TreeError> {
    let mut bytes = vec![0; len];
    media.read(at, &mut bytes).map_err(|fault| TreeError::Read { at, fault })?;
    Ok(bytes)
}

/// The newest of the two heads. A head that was being written when the server died is invalid. If
/// that was the first one, there is no other, and the log begins with the first record.
fn newest_head(media: &mut dyn TreeMedia) -> Result<Head, TreeError> {
    let (mut newest, mut is_blank) = (None::<Head>, true);
    for at in HEADS {
        let bytes = read(media, at, HEAD_BYTES)?;
        let head = Head::read(&bytes).map_err(TreeError::Version)?;
        is_blank &= bytes.iter().all(|byte| *byte == 0);
        newest = newest.into_iter().chain(head).max_by_key(|head| head.generation);
    }
    if let Some(head) = newest {
        return Ok(head);
    }
    let first = read(media, LOGS[0], RECORD_BYTES_MAX)?;
    if record::is_of_version_1(&first) {
        return Err(TreeError::Version(1));
    }
    let len = record_len(&first).filter(|len| *len <= first.len());
    let is_first = len.and_then(|len| Record::read(&first[..len])).is_some_and(|record| record.sequence == 1);
    if is_blank || is_first { Ok(Head::default()) } else { Err(TreeError::Heads) }
}

fn play_image(media: &mut dyn TreeMedia, head: &Head, state: &mut State) -> Result<(), TreeError> {
    let damaged = TreeError::Image(head.image_len);
    if head.image_len >= IMAGE_BYTES_MAX {
        return Err(damaged);
    }
    let base = IMAGES[(head.generation % 2) as usize];
    let (mut done, mut crc, mut bytes) = (0, 0, Vec::new());
    while done < head.image_len {
        let len = (head.image_len - done).min(CHUNK as u64) as usize;
        let chunk = read(media, base + done, len)?;
        crc = crc32c::crc32c_append(crc, &chunk);
        bytes.extend_from_slice(&chunk);
        done += len as u64;
        let mut rest = &bytes[..];
        loop {
            match Item::take(&mut rest) {
                Ok(item) => state.apply(&item),
                // It continues in the next chunk.
                Err(ItemError::Short) => break,
                Err(ItemError::Wrong) => return Err(damaged),
            }
        }
        bytes = rest.to_vec();
    }
    if bytes.is_empty() && crc == head.image_crc { Ok(()) } else { Err(damaged) }
}

struct Played {
    log: usize,
    at: u64,
    used: u64,
    sequence: u64,
}

/// The next record, if there is one: after the last one, or at the beginning of the other log.
fn next_record(media: &mut dyn TreeMedia, head: &Head, played: &mut Played) -> Result<Option<Record>, TreeError> {
    let other = (1 - head.log as usize, 0);
    let places = [Some((played.log, played.at)), (played.log == head.log as usize).then_some(other)];
    for (log, at) in places.into_iter().flatten() {
        if let Some((record, len)) = record_at(media, log, at)?
            && record.sequence == played.sequence + 1
        {
            *played = Played { log, at: at + len, used: played.used + len, sequence: record.sequence };
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// The record at a place of a log, and its length there, if a complete one is there.
pub(crate) fn record_at(media: &mut dyn TreeMedia, log: usize, at: u64) -> Result<Option<(Record, u64)>, TreeError> {
    if at + PAGE_BYTES > LOG_BYTES {
        return Ok(None);
    }
    let mut bytes = read(media, LOGS[log] + at, PAGE_BYTES as usize)?;
    let fits = |len: &usize| *len <= RECORD_BYTES_MAX && at + *len as u64 <= LOG_BYTES;
    let Some(len) = record_len(&bytes).filter(fits) else { return Ok(None) };
    if len > bytes.len() {
        bytes = read(media, LOGS[log] + at, len)?;
    }
    Ok(Record::read(&bytes).map(|record| (record, len as u64)))
}
