//! Random changes of names and attributes, in the tree and in the model.

use super::*;

impl History {
    pub(super) fn change(&mut self) {
        let many = self.names.things.len() > MANY;
        let done = match self.pick(12) {
            0..=3 if !many => self.make(),
            0..=4 => self.remove(),
            5 => self.remove_folder(),
            6 | 7 => self.rename(),
            8 => self.link(),
            9 | 10 => self.resize(),
            _ => self.set_mode(),
        };
        match done {
            Ok(()) => {
                self.totals.changes += 1;
                self.note();
            }
            Err(_) => self.totals.refused += 1,
        }
    }

    fn a_folder(&mut self) -> NodeId {
        let folders = self.names.folders();
        self.one_of(&folders).unwrap_or(NodeId::ROOT)
    }

    fn an_entry(&mut self) -> Option<((NodeId, Vec<u8>), NodeId)> {
        let all: Vec<_> = self.names.entries.iter().map(|(key, node)| (key.clone(), *node)).collect();
        self.one_of(&all)
    }

    fn a_name(&mut self) -> Vec<u8> {
        self.names_made += 1;
        // Sometimes an existing one.
        if self.pick(4) == 0 {
            format!("n{}", self.pick(20)).into_bytes()
        } else {
            format!("x{}\u{ff}", self.names_made).into_bytes()
        }
    }

    fn make(&mut self) -> Result<(), TreeRefusal> {
        let (folder, name) = (self.a_folder(), self.a_name());
        let kind =
            [NodeKind::File, NodeKind::File, NodeKind::File, NodeKind::Folder, NodeKind::Link][self.pick(5) as usize];
        let target: &[u8] = if kind == NodeKind::Link { b"somewhere" } else { b"" };
        let new = NewNode { kind, mode: 0o640, uid: 1, gid: 2, verifier: 0, target };
        let made = self.tree.make(self.now, folder, &name, &new);
        let taken = self.names.entries.contains_key(&(folder, name.clone()));
        assert!(!taken || made == Err(TreeRefusal::Exists) || is_put_off(made.err()), "{made:?}");
        let node = made?;
        let is_folder = kind == NodeKind::Folder;
        let thing = Thing { kind, links: if is_folder { 2 } else { 1 }, mode: 0o640, size: target.len() as u64 };
        self.names.things.insert(node, thing);
        self.names.entries.insert((folder, name), node);
        self.names.thing(folder).links += u32::from(is_folder);
        if kind == NodeKind::File {
            self.content.insert(node, Content { sizes: vec![0], ..Content::default() });
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<(), TreeRefusal> {
        let Some(((folder, name), node)) = self.an_entry() else { return Err(TreeRefusal::NoEntry) };
        let done = self.tree.remove(self.now, folder, &name);
        if self.names.things[&node].kind == NodeKind::Folder {
            assert!(done == Err(TreeRefusal::IsFolder) || is_put_off(done.err()));
        }
        done?;
        self.names.entries.remove(&(folder, name));
        self.lose_name(node);
        Ok(())
    }

    /// The remaining node has its size in the record.
    fn lose_name(&mut self, node: NodeId) {
        self.put_size(node);
        self.names.drop_name(node);
    }

    fn remove_folder(&mut self) -> Result<(), TreeRefusal> {
        let Some(((folder, name), node)) = self.an_entry() else { return Err(TreeRefusal::NoEntry) };
        let done = self.tree.remove_folder(self.now, folder, &name);
        let expected = match self.names.things[&node].kind {
            NodeKind::Folder if self.names.children(node) == 0 => Ok(()),
            NodeKind::Folder => Err(TreeRefusal::NotEmpty),
            _ => Err(TreeRefusal::NotFolder),
        };
        assert!(done == expected || is_put_off(done.err()), "{done:?} and {expected:?}");
        done?;
        self.names.entries.remove(&(folder, name));
        self.names.things.remove(&node);
        self.names.thing(folder).links -= 1;
        Ok(())
    }

    fn is_below(&self, folder: NodeId, above: NodeId) -> bool {
        let mut at = folder;
        while at != NodeId::ROOT {
            if at == above {
                return true;
            }
            at = self.names.entries.iter().find(|(_, node)| **node == at).map(|((of, _), _)| *of).unwrap();
        }
        false
    }

    fn rename(&mut self) -> Result<(), TreeRefusal> {
        let Some(((from, old), node)) = self.an_entry() else { return Err(TreeRefusal::NoEntry) };
        let (to, new) = match self.an_entry() {
            Some((key, _)) if self.pick(3) == 0 => key,
            _ => (self.a_folder(), self.a_name()),
        };
        let done = self.tree.rename(self.now, (from, &old), (to, &new));
        let kind = |node: &NodeId| self.names.things[node].kind == NodeKind::Folder;
        let replaced = self.names.entries.get(&(to, new.clone())).copied();
        let (is_folder, goes) = (kind(&node), replaced.filter(|other| *other != node));
        let expected = match goes {
            _ if replaced == Some(node) => Ok(()),
            Some(other) if is_folder && !kind(&other) => Err(TreeRefusal::NotFolder),
            Some(other) if !is_folder && kind(&other) => Err(TreeRefusal::IsFolder),
            Some(other) if is_folder && self.names.children(other) > 0 => Err(TreeRefusal::NotEmpty),
            _ if is_folder && self.is_below(to, node) => Err(TreeRefusal::Invalid),
            _ => Ok(()),
        };
        assert!(done == expected || is_put_off(done.err()), "{done:?} and {expected:?}");
        done?;
        if replaced == Some(node) {
            return Ok(());
        }
        if let Some(other) = goes {
            match is_folder {
                true => {
                    self.names.things.remove(&other);
                    self.names.thing(to).links -= 1;
                }
                false => self.lose_name(other),
            }
        }
        self.names.entries.remove(&(from, old));
        self.names.entries.insert((to, new), node);
        self.put_size(node);
        if is_folder {
            self.names.thing(from).links -= 1;
            self.names.thing(to).links += 1;
        }
        Ok(())
    }

    fn link(&mut self) -> Result<(), TreeRefusal> {
        let files = self.names.files();
        let Some(node) = self.one_of(&files) else { return Err(TreeRefusal::NoEntry) };
        let (folder, name) = (self.a_folder(), self.a_name());
        self.tree.link(self.now, node, folder, &name)?;
        self.names.entries.insert((folder, name), node);
        self.names.thing(node).links += 1;
        self.put_size(node);
        Ok(())
    }

    fn set_mode(&mut self) -> Result<(), TreeRefusal> {
        let Some((_, node)) = self.an_entry() else { return Err(TreeRefusal::NoEntry) };
        let mode = self.pick(0o10000) as u32;
        self.tree.set(self.now, node, &SetNode { mode: Some(mode), ..SetNode::default() })?;
        self.names.thing(node).mode = mode;
        self.put_size(node);
        Ok(())
    }

    fn resize(&mut self) -> Result<(), TreeRefusal> {
        let files = self.names.files();
        let Some(node) = self.one_of(&files) else { return Err(TreeRefusal::NoEntry) };
        let size = self.pick(160) * SECTOR;
        match self.tree.set(self.now, node, &SetNode { size: Some(size), ..SetNode::default() })? {
            SetDone::Now => self.shortened(node, size),
            SetDone::Later(number) => {
                self.totals.later += 1;
                self.waits.push(Waits { number, node, size });
                // From now on the rest of the page may be zeroes, whether or not the file becomes
                // shorter.
                let content = self.content.get_mut(&node).unwrap();
                for sector in size / SECTOR..size.next_multiple_of(PAGE_BYTES) / SECTOR {
                    match content.sectors.get_mut(&sector) {
                        Some(stamps) => stamps.insert(0, 0),
                        None => content.stale.entry(sector).or_default().push(0),
                    }
                }
                self.syncs.retain(|sync| sync.node != node);
            }
        }
        Ok(())
    }

    /// A file has another size, and what is beyond a smaller one is gone.
    pub(super) fn shortened(&mut self, node: NodeId, size: u64) {
        let Some(content) = self.content.get_mut(&node) else { return };
        if size < content.size {
            let all = content.sectors.range(size / SECTOR..).chain(content.stale.range(size / SECTOR..));
            let behind: Vec<u64> = all.map(|(sector, _)| *sector).collect();
            for sector in behind {
                content.may_be(sector, 0);
            }
        }
        content.resize(size);
        self.put_size(node);
    }
}

/// Too much is in progress, or there was no space for a record.
fn is_put_off(refusal: Option<TreeRefusal>) -> bool {
    matches!(refusal, Some(TreeRefusal::Busy | TreeRefusal::NoSpace))
}
