//! An entry point for fuzzing: records and images with any contents and a correct checksum.

use crate::changes::{NewNode, SetNode};
use crate::file_tree::FileTree;
use crate::limits::{IMAGES, LOGS};
use crate::node::{NodeId, NodeKind};
use crate::record::{Head, record};
use crate::recover::TreeMedia;
use block::{Fault, Span};

/// The contents of a volume's tree: pieces at their offsets, zeroes elsewhere.
struct Pieces(Vec<(u64, Vec<u8>)>);

impl TreeMedia for Pieces {
    fn read(&mut self, at: u64, buf: &mut [u8]) -> Result<(), Fault> {
        buf.fill(0);
        for (from, piece) in &self.0 {
            let (start, end) = (at.max(*from), (at + buf.len() as u64).min(from + piece.len() as u64));
            if start < end {
                let part = &piece[(start - from) as usize..(end - from) as usize];
                buf[(start - at) as usize..(end - at) as usize].copy_from_slice(part);
            }
        }
        Ok(())
    }
}

/// Reads a tree whose first record, or whose image, has these bytes as its changes, and uses the
/// result. Returns whether it could be read.
///
/// # Panics
/// An invariant is violated.
pub fn tree_of(bytes: &[u8], in_image: bool) -> bool {
    let pieces = match in_image {
        false => vec![(LOGS[0], record(1, 0, bytes))],
        true => {
            let (image_len, image_crc) = (bytes.len() as u64, crc32c::crc32c(bytes));
            let head = Head { generation: 1, sequence: 0, image_len, image_crc, log: 0, log_at: 0 };
            vec![(crate::limits::HEADS[1], head.bytes()), (IMAGES[1], bytes.to_vec())]
        }
    };
    let Ok(mut tree) = FileTree::recover(&mut Pieces(pieces)) else { return false };
    if !tree.check().is_empty() {
        // It would not be served.
        return true;
    }
    let new = NewNode { kind: NodeKind::File, mode: 0o644, uid: 1, gid: 1, verifier: 0, target: b"" };
    let listed: Vec<(NodeId, Vec<u8>)> =
        tree.list(NodeId::ROOT, 0).expect("the top is there").map(|entry| (entry.node, entry.name.to_vec())).collect();
    for (node, name) in listed {
        let _ = tree.info(node).expect("it has an entry");
        let _ = tree.place_read(node, 0, 1 << 20);
        let _ = tree.place_write(node, 5000, 10_000);
        let _ = tree.set(Span::SECOND, node, &SetNode { size: Some(100), ..SetNode::default() });
        let _ = tree.rename(Span::SECOND, (NodeId::ROOT, &name), (NodeId::ROOT, b"moved"));
    }
    let _ = tree.make(Span::SECOND, NodeId::ROOT, b"new", &new);
    let _ = tree.make_realm(Span::SECOND, b"realm", &new);
    let _ = tree.remove(Span::SECOND, NodeId::ROOT, b"moved");
    tree.tick();
    tree.advance();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Item;
    use crate::limits::{DATA_PAGES, ROOT};
    use crate::node::NodeInfo;
    use crate::runs::Run;
    use proptest::prelude::*;

    /// Changes of few nodes, names and pages, so that they collide; some of any.
    fn item() -> impl Strategy<Value = Vec<u8>> {
        let number = prop_oneof![4 => 1u32..6, 1 => any::<u32>()];
        let page = prop_oneof![4 => 0u64..6, 1 => any::<u64>()];
        let numbers = (number.clone(), number, page, 0u64..8, 1u64..5);
        (0u8..8, numbers, any::<(u32, u64)>()).prop_map(|(kind, (number, other, page, at, pages), (word, long))| {
            let kinds = [NodeKind::File, NodeKind::Folder, NodeKind::Link];
            let kind_of_node = kinds[word as usize % 3];
            let info = NodeInfo {
                generation: u64::from(number) % 3,
                kind: kind_of_node,
                mode: word,
                uid: 0,
                gid: 0,
                links: 1 + word % 3,
                parent: if kind_of_node == NodeKind::Folder { other } else { 0 },
                size: if long % 4 == 0 { long } else { long % 30_000 },
                accessed: Span::ZERO,
                modified: Span::ZERO,
                changed: Span::ZERO,
                verifier: 0,
            };
            let name = [b'a' + (word % 4) as u8];
            let run = Run { at: DATA_PAGES.0 + at, pages };
            let item = match kind {
                0 | 1 => Item::Node { number, info, next: page, target: b"" },
                2 => Item::Gone { number },
                3 | 4 => {
                    Item::Entry { folder: if word % 2 == 0 { ROOT } else { other }, cookie: page, number, name: &name }
                }
                5 => Item::Extent { number, page, run },
                6 => Item::Cut { number, page },
                _ => Item::Reserve { end: DATA_PAGES.0 + (long % 40) },
            };
            let mut bytes = Vec::new();
            item.put(&mut bytes);
            bytes
        })
    }

    proptest! {
        /// Whatever completely written changes say, a tree is read or refused; if the check finds
        /// it correct, it can be used.
        #[test]
        fn any_record_is_survived(
            items in proptest::collection::vec(item(), 0..24),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2),
            in_image in any::<bool>(),
        ) {
            let mut bytes = items.concat();
            for (place, value) in damage.iter().filter(|_| !items.is_empty()) {
                let at = place.index(bytes.len());
                bytes[at] = *value;
            }
            tree_of(&bytes, in_image);
        }
    }
}
