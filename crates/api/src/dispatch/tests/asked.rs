//! The world of a bare administration, which counts the questions to it.

use super::*;

/// Counts the questions that would go to the data thread.
pub(super) struct Counted<'a>(pub &'a Cell<u32>);

impl World for Counted<'_> {
    fn used(&self, _: ObjectId) -> u64 {
        self.0.set(self.0.get() + 1);
        4096
    }

    fn owned(&self, trees: &mut dyn Iterator<Item = ObjectId>) -> u64 {
        self.0.set(self.0.get() + 1);
        trees.count() as u64
    }

    fn connections(&self, _: ObjectId) -> u64 {
        self.0.set(self.0.get() + 1);
        0
    }

    fn client_file(&self, _: ObjectId, path: &str) -> Option<admin::ClientFile> {
        let node = admin::FileNode { number: 7, generation: 70 };
        (path == "/made/by client").then_some(admin::ClientFile { node, used: 4096 })
    }

    fn length(&self, _: ObjectId) -> u64 {
        5000
    }

    fn files(&self, _: ObjectId) -> admin::FilesSeen {
        let top = Some(admin::Top { user: 1000, group: 100, mode: 0o1750 });
        admin::FilesSeen { top, ..admin::FilesSeen::default() }
    }

    fn sample(&self) -> Arc<admin::Sample> {
        Arc::default()
    }

    fn uuid(&self) -> u128 {
        7
    }

    fn aggregate(&self) -> Option<admin::Aggregate> {
        Some(admin::Aggregate { name: "pool".into(), size: 1000, available: 400 })
    }

    fn certificates(&self) -> Vec<admin::CertificateSeen> {
        certificates::used()
    }

    fn events(&self) -> Vec<Arc<admin::Event>> {
        events::noticed()
    }

    fn server(&self) -> Option<admin::ServerSeen> {
        Some(admin::ServerSeen::default())
    }

    fn hours(&self, _: &admin::Named, _: std::ops::Range<u64>) -> Result<Vec<admin::HourDone>, String> {
        metrics::hours()
    }
}
