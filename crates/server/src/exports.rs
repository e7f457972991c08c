//! The exports: every LUN and file is offered to NBD clients as `SVM:/vol/VOLUME/LUN`, and as
//! `/vol/VOLUME/LUN` if no other SVM has that path.

use crate::access::{Access, Caller, Grant};
use crate::folders::Folders;
use admin::Junction;
use block::{ObjectId, Span, Time};
use nbd::{BlockSizes, ExportInfo, ExportRefusal, TransmissionFlags};
use nfs::{Moment, Verifier};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use tree::NodeId;

/// A LUN or file that is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    pub object: ObjectId,
    pub svm: String,
    /// `/vol/VOLUME/LUN`, `/vol/VOLUME/QTREE/LUN`, `/vol/VOLUME/FOLDER/FILE`
    pub path: String,
    pub size: u64,
    /// Alignment of offsets and lengths, in bytes.
    pub align: u32,
    /// The longest read or write, in bytes.
    pub longest: u32,
    /// Whether new clients may use it now.
    pub online: bool,
}

/// All exports.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    by_object: BTreeMap<ObjectId, Export>,
    /// The export that an empty name stands for.
    default: Option<String>,
    /// The tree of folders for NFS clients.
    folders: Folders,
    /// The port of NFS, for port mapper calls.
    nfs_port: Option<u16>,
    /// When the ring's clock was zero, since 1970.
    began: Span,
    /// When each was last written over NFS since the server started.
    written: RefCell<HashMap<ObjectId, Time>>,
}

impl Exports {
    /// No exports yet. An empty name stands for `default`; the ring's clock was zero at `began`,
    /// since 1970.
    pub(crate) fn new(default: Option<String>, began: Span) -> Exports {
        Exports { default, began, ..Exports::default() }
    }

    /// The same with this port for NFS.
    pub(crate) fn at_port(self, nfs_port: Option<u16>) -> Exports {
        Exports { nfs_port, ..self }
    }

    /// The port of NFS.
    pub(crate) fn nfs_port(&self) -> Option<u16> {
        self.nfs_port
    }

    pub(crate) fn add(&mut self, export: Export) {
        self.folders.add(&export.svm, &export.path, export.object);
        self.by_object.insert(export.object, export);
    }

    pub(crate) fn remove(&mut self, object: ObjectId) {
        self.folders.take_volume(object);
        if let Some(export) = self.by_object.remove(&object) {
            self.folders.remove(&export.svm, &export.path);
            self.written.borrow_mut().remove(&object);
        }
    }

    pub(crate) fn get(&self, object: ObjectId) -> Option<&Export> {
        self.by_object.get(&object)
    }

    pub(crate) fn folders(&self) -> &Folders {
        &self.folders
    }

    /// A verifier of this run of the server; it differs from that of a run that began at another
    /// time.
    pub(crate) fn run_verifier(&self) -> Verifier {
        self.began.as_nanos().to_be_bytes()
    }

    /// Converts a time of the ring's clock to a date.
    fn date(&self, time: Time) -> Moment {
        const SECOND: u64 = 1_000_000_000;
        let since = self.began.as_nanos() + time.as_nanos();
        Moment { seconds: (since / SECOND) as u32, nanos: (since % SECOND) as u32 }
    }

    /// When it was last written over NFS, or when the server started.
    pub(crate) fn written(&self, object: Option<ObjectId>) -> Moment {
        let time = object.and_then(|object| self.written.borrow().get(&object).copied());
        self.date(time.unwrap_or_default())
    }

    /// Notes a write over NFS.
    pub(crate) fn touch(&self, object: ObjectId, now: Time) {
        self.written.borrow_mut().insert(object, now);
    }

    /// Sets or removes a volume's junction in the name space of NFS clients.
    pub(crate) fn join(&mut self, volume: ObjectId, junction: Option<Junction>) {
        self.folders.join(volume, junction);
    }

    pub(crate) fn resize(&mut self, object: ObjectId, size: u64) {
        if let Some(export) = self.by_object.get_mut(&object) {
            export.size = size;
        }
    }

    /// Adds or renames a volume, which has had its place since that date.
    pub(crate) fn place_volume(&mut self, svm: &str, name: &str, placed: (ObjectId, u64)) {
        self.folders.place_volume(svm, name, placed);
    }

    /// Sets a volume's qtrees: their names, and their nodes among its files.
    pub(crate) fn place_qtrees(&mut self, volume: ObjectId, qtrees: &[(String, NodeId)]) {
        self.folders.place_qtrees(volume, qtrees);
    }

    /// Converts a time of the ring's clock to time since 1970.
    pub(crate) fn since_1970(&self, time: Time) -> Span {
        self.began + time.since(Time::ZERO)
    }

    /// Sets whether new clients may use it.
    pub(crate) fn offer(&mut self, object: ObjectId, online: bool) {
        if let Some(export) = self.by_object.get_mut(&object) {
            export.online = online;
        }
    }

    /// The exports as seen by one client.
    pub(crate) fn seen_by<'a>(&'a self, caller: &'a Caller, access: &'a Access) -> Seen<'a> {
        Seen { exports: self, caller, access, refused: RefCell::default() }
    }

    pub(crate) fn rename(&mut self, object: ObjectId, svm: String, path: String) {
        if let Some(export) = self.by_object.get_mut(&object) {
            self.folders.remove(&export.svm, &export.path);
            self.folders.add(&svm, &path, object);
            (export.svm, export.path) = (svm, path);
        }
    }
}

impl Export {
    pub(crate) fn full_name(&self) -> String {
        format!("{}:{}", self.svm, self.path)
    }

    fn info(&self) -> ExportInfo {
        use TransmissionFlags as F;
        // CAN_MULTI_CONN is true: all connections of a LUN share one file, and a flush covers them
        // all.
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
            sharing: true,
        }
    }
}

/// The exports as seen by one client.
pub(crate) struct Seen<'a> {
    exports: &'a Exports,
    caller: &'a Caller,
    access: &'a Access,
    /// The name that was last asked for and refused.
    refused: RefCell<Option<String>>,
}

impl<'a> Seen<'a> {
    /// The export that was asked for and refused since the last call.
    pub(crate) fn take_refused(&self) -> Option<String> {
        self.refused.take()
    }

    fn grant(&self, export: &Export) -> Grant {
        self.access.grant(self.caller, &export.full_name())
    }

    /// Finds an export by name: always with its SVM, or without it if only one visible export has
    /// that path. Hidden exports do not count, so that nobody learns that they exist.
    fn named(&self, name: &str) -> Option<(&'a Export, Grant)> {
        let name = if name.is_empty() { self.exports.default.as_deref().unwrap_or("") } else { name };
        let is_meant = |export: &&Export| match name.split_once(':') {
            Some((svm, path)) => export.svm == svm && export.path == path,
            None => export.path == name,
        };
        let all = self.exports.by_object.values().filter(is_meant);
        let mut seen = all.map(|export| (export, self.grant(export))).filter(|(_, grant)| *grant != Grant::Nothing);
        seen.next().filter(|_| seen.next().is_none())
    }
}

impl nbd::Exports for Seen<'_> {
    fn list(&self, each: &mut dyn FnMut(&str, Option<&str>)) {
        let mut of_path = HashMap::<&str, u32>::new();
        let seen: Vec<&Export> =
            self.exports.by_object.values().filter(|export| self.grant(export) != Grant::Nothing).collect();
        seen.iter().for_each(|export| *of_path.entry(&export.path).or_default() += 1);
        for export in seen.into_iter().filter(|export| export.online) {
            match of_path.get(export.path.as_str()) {
                Some(1) => each(&export.path, None),
                _ => each(&export.full_name(), None),
            }
        }
    }

    fn find(&self, name: &str) -> Result<ExportInfo, ExportRefusal> {
        let refuse = |refusal| {
            self.refused.replace(Some(name.to_owned()));
            refusal
        };
        let (export, grant) = self.named(name).ok_or_else(|| refuse(ExportRefusal::Unknown))?;
        if !export.online {
            return Err(refuse(ExportRefusal::Offline));
        }
        let mut info = export.info();
        if grant == Grant::Read {
            info.features = info.features | TransmissionFlags::READ_ONLY;
        }
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::AccessRule;
    use nbd::Exports as _;

    fn export(object: u32, svm: &str, path: &str) -> Export {
        Export {
            object: ObjectId(object),
            svm: svm.into(),
            path: path.into(),
            size: 1 << 20,
            align: 512,
            longest: 1 << 25,
            online: true,
        }
    }

    fn seen(exports: &Exports) -> Seen<'_> {
        static ANYBODY: Caller = Caller { address: None, encrypted: false, names: Vec::new(), key: None };
        static OPEN: std::sync::LazyLock<Access> = std::sync::LazyLock::new(Access::default);
        exports.seen_by(&ANYBODY, &OPEN)
    }

    #[test]
    fn the_empty_name_is_what_it_was_said_to_be_and_nothing_else() {
        let mut exports = Exports::default();
        exports.add(export(1, "a", "/vol/v/l"));
        assert_eq!(seen(&exports).find(""), Err(ExportRefusal::Unknown));
        exports.default = Some("a:/vol/v/l".into());
        assert_eq!(seen(&exports).find("").unwrap().id, 1);
    }

    /// A hidden export changes nothing that a client sees: short names still work, and asking for
    /// it is answered as for an unknown one.
    #[test]
    fn what_is_hidden_leaves_no_trace() {
        let mut exports = Exports::default();
        exports.add(export(1, "a", "/vol/v/l"));
        exports.add(export(2, "b", "/vol/v/l"));
        let rule = AccessRule { exports: vec!["a:*".into()], read_only: true, ..AccessRule::default() };
        let (access, anybody) = (Access::by_rules(vec![rule]), Caller::default());
        let seen = exports.seen_by(&anybody, &access);
        let mut listed = Vec::new();
        seen.list(&mut |name, _| listed.push(name.to_owned()));
        assert_eq!(listed, ["/vol/v/l"]);
        assert_eq!(seen.find("b:/vol/v/l"), Err(ExportRefusal::Unknown));
        let found = seen.find("/vol/v/l").unwrap();
        assert_eq!((found.id, found.features.contains(TransmissionFlags::READ_ONLY)), (1, true));
    }

    /// An offline export keeps its name and is not listed. A client that asks for it is told why,
    /// unless it may not see it.
    #[test]
    fn what_is_offline_is_refused_by_name() {
        let mut exports = Exports::default();
        exports.add(export(1, "a", "/vol/v/l"));
        exports.offer(ObjectId(1), false);
        let mut listed = 0;
        seen(&exports).list(&mut |_, _| listed += 1);
        assert_eq!((listed, seen(&exports).find("/vol/v/l")), (0, Err(ExportRefusal::Offline)));
        let (nothing, anybody) = (Access::by_rules(Vec::new()), Caller::default());
        assert_eq!(exports.seen_by(&anybody, &nothing).find("/vol/v/l"), Err(ExportRefusal::Unknown));
        exports.offer(ObjectId(1), true);
        assert_eq!(seen(&exports).find("/vol/v/l").unwrap().id, 1);
    }

    #[test]
    fn a_path_alone_names_an_export_only_while_it_is_the_only_one() {
        let mut exports = Exports::default();
        exports.add(export(1, "a", "/vol/v/l"));
        assert_eq!(seen(&exports).find("/vol/v/l").unwrap().id, 1);
        assert_eq!(seen(&exports).find("a:/vol/v/l").unwrap().id, 1);
        exports.add(export(2, "b", "/vol/v/l"));
        assert_eq!(seen(&exports).find("/vol/v/l"), Err(ExportRefusal::Unknown), "which of the two?");
        assert_eq!(seen(&exports).find("b:/vol/v/l").unwrap().id, 2);
        exports.rename(ObjectId(2), "b".into(), "/vol/v/k".into());
        assert_eq!(seen(&exports).find("/vol/v/l").unwrap().id, 1, "the other has another name now");
        assert_eq!(seen(&exports).find("b:/vol/v/l"), Err(ExportRefusal::Unknown));
        exports.rename(ObjectId(2), "b".into(), "/vol/v/l".into());
        exports.remove(ObjectId(1));
        assert_eq!(seen(&exports).find("/vol/v/l").unwrap().id, 2);
        assert_eq!(seen(&exports).find("a:/vol/v/l"), Err(ExportRefusal::Unknown));
    }
}
