//! The expected state: names and nodes after each record, and the possible contents of each sector
//! of a file.

use std::collections::BTreeMap;
use tree::{NodeId, NodeKind};

/// Possible stamps of a sector, the latest last; 0 means zeroes.
pub type Stamps = Vec<u64>;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    pub kind: NodeKind,
    pub links: u32,
    pub mode: u32,
    /// The size in its last record.
    pub size: u64,
}

/// Names and nodes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// By folder and name.
    pub entries: BTreeMap<(NodeId, Vec<u8>), NodeId>,
    pub things: BTreeMap<NodeId, Thing>,
}

impl Names {
    pub fn new() -> Names {
        let top = Thing { kind: NodeKind::Folder, links: 2, mode: 0o777, size: 0 };
        Names { entries: BTreeMap::new(), things: BTreeMap::from([(NodeId::ROOT, top)]) }
    }

    pub fn children(&self, folder: NodeId) -> usize {
        self.entries.range((folder, Vec::new())..).take_while(|((of, _), _)| *of == folder).count()
    }

    pub fn folders(&self) -> Vec<NodeId> {
        self.of_kind(NodeKind::Folder)
    }

    pub fn files(&self) -> Vec<NodeId> {
        self.of_kind(NodeKind::File)
    }

    fn of_kind(&self, kind: NodeKind) -> Vec<NodeId> {
        self.things.iter().filter(|(_, thing)| thing.kind == kind).map(|(id, _)| *id).collect()
    }

    pub fn thing(&mut self, id: NodeId) -> &mut Thing {
        self.things.get_mut(&id).expect("the model knows it")
    }

    /// Removes a name; returns whether the node is gone.
    pub fn drop_name(&mut self, id: NodeId) {
        match self.thing(id).links {
            1 => drop(self.things.remove(&id)),
            _ => self.thing(id).links -= 1,
        }
    }
}

/// The data of a file.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// The size that clients see.
    pub size: u64,
    /// All sizes that it had since the last power failure.
    pub sizes: Vec<u64>,
    /// By sector; a missing one is zeroes.
    pub sectors: BTreeMap<u64, Stamps>,
    /// What a power failure may have left beyond the end within the last page.
    pub stale: BTreeMap<u64, Stamps>,
}

impl Content {
    pub fn resize(&mut self, size: u64) {
        self.size = size;
        self.sizes.push(size);
    }

    /// All possible stamps of a sector.
    pub fn may(&self, sector: u64) -> Stamps {
        let of = |stamps: &BTreeMap<u64, Stamps>| stamps.get(&sector).cloned();
        let (stale, known) = (of(&self.stale).unwrap_or_default(), of(&self.sectors));
        stale.into_iter().chain(known.unwrap_or_else(|| vec![0])).collect()
    }

    /// Adds a possible stamp of a sector.
    pub fn may_be(&mut self, sector: u64, stamp: u64) {
        self.sectors.entry(sector).or_insert_with(|| vec![0]).push(stamp);
    }
}
