//! What is offered to NBD clients: every LUN and file under `SVM:/vol/VOLUME/LUN`, and under `/vol/VOLUME/LUN` as long
//! as no other SVM has that path.

use block::ObjectId;
use nbd::{BlockSizes, ExportInfo, Refusal, TransmissionFlags};
use std::collections::BTreeMap;

/// A LUN or file that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    pub object: ObjectId,
    pub svm: String,
    /// `/vol/VOLUME/LUN`, `/vol/VOLUME/QTREE/LUN`, `/vol/VOLUME/FOLDER/FILE`
    pub path: String,
    pub size: u64,
    /// Offsets and lengths in multiples of this, in bytes.
    pub align: u32,
    /// The longest read or write, in bytes.
    pub longest: u32,
}

/// All that is offered.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    by_object: BTreeMap<ObjectId, Export>,
}

impl Exports {
    pub(crate) fn add(&mut self, export: Export) {
        self.by_object.insert(export.object, export);
    }

    pub(crate) fn remove(&mut self, object: ObjectId) {
        self.by_object.remove(&object);
    }

    pub(crate) fn resize(&mut self, object: ObjectId, size: u64) {
        if let Some(export) = self.by_object.get_mut(&object) {
            export.size = size;
        }
    }

    pub(crate) fn rename(&mut self, object: ObjectId, svm: String, path: String) {
        if let Some(export) = self.by_object.get_mut(&object) {
            (export.svm, export.path) = (svm, path);
        }
    }

    /// The export of that name: with the SVM always, without it when it is the only one.
    fn named(&self, name: &str) -> Option<&Export> {
        if let Some((svm, path)) = name.split_once(':') {
            return self.by_object.values().find(|export| export.svm == svm && export.path == path);
        }
        let mut same = self.by_object.values().filter(|export| export.path == name);
        same.next().filter(|_| same.next().is_none())
    }
}

impl Export {
    fn full_name(&self) -> String {
        format!("{}:{}", self.svm, self.path)
    }

    fn info(&self) -> ExportInfo {
        use TransmissionFlags as F;
        // CAN_MULTI_CONN is true: all connections of a LUN share one file, and a flush there covers them all.
        let features = F::SEND_FLUSH
            | F::SEND_FUA
            | F::SEND_TRIM
            | F::SEND_WRITE_ZEROES
            | F::SEND_FAST_ZERO
            | F::SEND_CACHE
            | F::CAN_MULTI_CONN;
        ExportInfo {
            id: u64::from(self.object.0),
            name: Some(self.full_name()),
            description: Some(format!("{} of SVM {}", self.path, self.svm)),
            size: self.size,
            features,
            block: BlockSizes { minimum: self.align, preferred: self.align.max(4096), maximum: self.longest },
        }
    }
}

impl nbd::Exports for Exports {
    fn list(&self, each: &mut dyn FnMut(&str, Option<&str>)) {
        for export in self.by_object.values() {
            let alone = self.named(&export.path).is_some();
            let full = export.full_name();
            each(if alone { &export.path } else { &full }, None);
        }
    }

    fn find(&self, name: &str) -> Result<ExportInfo, Refusal> {
        self.named(name).map(Export::info).ok_or(Refusal::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nbd::Exports as _;

    fn export(object: u32, svm: &str, path: &str) -> Export {
        Export {
            object: ObjectId(object),
            svm: svm.into(),
            path: path.into(),
            size: 1 << 20,
            align: 512,
            longest: 1 << 25,
        }
    }

    #[test]
    fn a_path_alone_names_an_export_only_while_it_is_the_only_one() {
        let mut exports = Exports::default();
        exports.add(export(1, "a", "/vol/v/l"));
        assert_eq!(exports.find("/vol/v/l").unwrap().id, 1);
        assert_eq!(exports.find("a:/vol/v/l").unwrap().id, 1);
        exports.add(export(2, "b", "/vol/v/l"));
        assert_eq!(exports.find("/vol/v/l"), Err(Refusal::Unknown), "which of the two?");
        assert_eq!(exports.find("b:/vol/v/l").unwrap().id, 2);
        exports.rename(ObjectId(2), "b".into(), "/vol/v/k".into());
        assert_eq!(exports.find("/vol/v/l").unwrap().id, 1, "the other has another name now");
        assert_eq!(exports.find("b:/vol/v/l"), Err(Refusal::Unknown));
        exports.rename(ObjectId(2), "b".into(), "/vol/v/l".into());
        exports.remove(ObjectId(1));
        assert_eq!(exports.find("/vol/v/l").unwrap().id, 2);
        assert_eq!(exports.find("a:/vol/v/l"), Err(Refusal::Unknown));
    }
}
