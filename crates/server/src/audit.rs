//! The audit trail: who changed what and when, with the state before and after, as lines of JSON in
//! an append-only file.
//!
//! ```json
//! {"at":"2026-11-22T02:59:26.123Z","who":{"uid":0,"user":"root","pid":4711},"command":"lun create …","result":"done",
//!  "changes":[{"kind":"lun","name":"svm01:/vol/vol1/lun1","before":null,"after":{"size":1073741824,"policy":"gold"}}]}
//! ```
//!
//! A line is on disk before its command is answered. A refused command is recorded with its reason;
//! one that only shows something is not. If a power loss or a full disk left a line incomplete, the
//! next line starts with a line break, so that every other line can be parsed on its own.

use block::date;
use serde::Serialize;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Changes, Contents, Kind, ObjectRow, PartitionRow, PolicyRow, SnapshotRow};
use uring::socket::Peer;

/// Who gave a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Actor {
    /// A process of this machine.
    Peer {
        /// Its user's number.
        uid: u32,
        /// Its user's name, if the system knows it.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Its process number.
        pid: i32,
    },
    /// Somebody who logged in.
    User {
        /// The name that they logged in with.
        user: String,
        /// The address that they connected from.
        address: IpAddr,
    },
}

impl Actor {
    /// The process at the other end of a Unix socket, as the kernel knows it.
    pub fn peer(peer: Peer) -> Actor {
        Actor::Peer { uid: peer.uid, user: user_name(peer.uid), pid: peer.pid }
    }
}

/// The name of a user, if `/etc/passwd` has it.
fn user_name(uid: u32) -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let uid = uid.to_string();
    let named = users.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    named.split(':').next().map(str::to_owned)
}

/// The trail cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: audit trail: {reason}", .path.display())]
pub struct AuditError {
    path: PathBuf,
    reason: std::io::Error,
}

/// An open trail.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    file: File,
}

/// One line of the trail.
#[derive(Serialize)]
struct Line<'a> {
    at: String,
    who: Option<&'a Actor>,
    command: &'a str,
    result: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    changes: Vec<Change>,
}

/// The change of one object or policy group.
#[derive(Debug, PartialEq, Serialize)]
struct Change {
    kind: &'static str,
    name: String,
    before: Value,
    after: Value,
}

/// The end of a command.
pub(crate) struct Ended<'a> {
    pub who: Option<&'a Actor>,
    pub command: &'a str,
    /// Why it failed, or was done only in part.
    pub reason: Option<String>,
    /// The rows that it changed, as they were before.
    pub replaced: &'a Changes,
    /// The catalogue after the command.
    pub now: &'a Contents,
}

impl Audit {
    /// Opens the trail, readable by its owner only; existing lines stay.
    ///
    /// # Errors
    /// It cannot be opened for writing.
    pub fn open(path: &Path) -> Result<Audit, AuditError> {
        let error = |reason| AuditError { path: path.into(), reason };
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path).map_err(error)?;
        Ok(Audit { path: path.into(), file })
    }

    /// Opens the file again, after it was moved away (log rotation).
    ///
    /// # Errors
    /// It cannot be opened; the old file stays in use.
    pub fn reopen(&mut self) -> Result<(), AuditError> {
        *self = Audit::open(&self.path)?;
        Ok(())
    }

    /// Adds a command that changed something, or should have; returns when the line is on disk.
    pub(crate) fn add(&mut self, ended: &Ended<'_>) -> Result<(), AuditError> {
        let changes = changes(ended.replaced, ended.now);
        let result = match (&ended.reason, changes.is_empty()) {
            (None, _) => "done",
            (Some(_), true) => "refused",
            (Some(_), false) => "done in part",
        };
        let (at, reason) = (now(), ended.reason.clone());
        let line = Line { at, who: ended.who, command: ended.command, result, reason, changes };
        let mut text = serde_json::to_string(&line).expect("plain numbers and words");
        text.push('\n');
        self.write(text).map_err(|reason| AuditError { path: self.path.clone(), reason })
    }

    /// Writes a line, after a line break if the previous one is incomplete.
    fn write(&mut self, mut line: String) -> std::io::Result<()> {
        if is_torn(&mut self.file)? {
            line.insert(0, '\n');
        }
        // In one call, so that a concurrent reader sees whole lines.
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()
    }
}

/// Whether the file ends in an incomplete line.
fn is_torn(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The changes of all objects, policy groups, snapshots and partitions whose rows were replaced,
/// with their state before and after. The contents of a renamed object change their paths too;
/// these are not listed.
fn changes(replaced: &Changes, now: &Contents) -> Vec<Change> {
    let (before, after) = (View { replaced: Some(replaced), now }, View { replaced: None, now });
    let mut found = Vec::new();
    let mut tell = |kind: &'static str, was: Option<(String, Value)>, is: Option<(String, Value)>| {
        // A renamed object is listed by its new name; its state tells both.
        let name = is.as_ref().or(was.as_ref()).map(|(name, _)| name.clone()).unwrap_or_default();
        let value = |side: Option<(String, Value)>| side.map_or(Value::Null, |(_, value)| value);
        found.push(Change { kind, name, before: value(was), after: value(is) });
    };
    for id in replaced.objects.keys() {
        let rows = [before.object(*id), after.object(*id)];
        let kind = rows.iter().flatten().next().map_or("", |row| word_of(row.kind));
        let [was, is] = [rows[0].map(|row| before.of_object(row)), rows[1].map(|row| after.of_object(row))];
        tell(kind, was, is);
    }
    for id in replaced.policies.keys() {
        let policy = |view: &View<'_>| view.policy(*id).map(|row| view.of_policy(row));
        tell("policy group", policy(&before), policy(&after));
    }
    for id in replaced.snapshots.keys() {
        let snapshot = |view: &View<'_>| view.snapshot(*id).map(|row| view.of_snapshot(row));
        tell("snapshot", snapshot(&before), snapshot(&after));
    }
    for id in replaced.partitions.keys() {
        let partition = |view: &View<'_>| view.partition(*id).map(|row| view.of_partition(row));
        tell("cache partition", partition(&before), partition(&after));
    }
    if let Some(was) = replaced.fair {
        let (before, after) = (json!({ "fair": was }), json!({ "fair": now.fair }));
        found.push(Change { kind: "pool", name: String::new(), before, after });
    }
    found
}

/// A catalogue as it is, or as it was, by the rows that were replaced. Gives the full name and the
/// state of a row.
struct View<'a> {
    replaced: Option<&'a Changes>,
    now: &'a Contents,
}

impl<'a> View<'a> {
    fn object(&self, id: u32) -> Option<&'a ObjectRow> {
        let was = self.replaced.and_then(|replaced| replaced.objects.get(&id));
        was.map_or_else(|| self.now.objects.get(&id), Option::as_ref)
    }

    fn policy(&self, id: u32) -> Option<&'a PolicyRow> {
        let was = self.replaced.and_then(|replaced| replaced.policies.get(&id));
        was.map_or_else(|| self.now.policies.get(&id), Option::as_ref)
    }

    fn snapshot(&self, id: u32) -> Option<&'a SnapshotRow> {
        let was = self.replaced.and_then(|replaced| replaced.snapshots.get(&id));
        was.map_or_else(|| self.now.snapshots.get(&id), Option::as_ref)
    }

    fn partition(&self, id: u32) -> Option<&'a PartitionRow> {
        let was = self.replaced.and_then(|replaced| replaced.partitions.get(&id));
        was.map_or_else(|| self.now.partitions.get(&id), Option::as_ref)
    }

    fn of_object(&self, row: &ObjectRow) -> (String, Value) {
        let policy = |id: Option<u32>| id.and_then(|id| self.policy(id)).map(|row| row.name.as_str());
        let name = self.path(row);
        let mut value = json!({ "name": name, "size": row.size, "policy": policy(row.policy) });
        if let Some(template) = policy(row.template) {
            value["policy_for_new"] = template.into();
        }
        if row.offline {
            value["state"] = "offline".into();
        }
        if row.kind == Kind::Svm {
            value = json!({ "name": name, "policy": policy(row.policy), "policy_for_new": policy(row.template), "fair": row.fair });
        }
        (name, value)
    }

    fn of_policy(&self, row: &PolicyRow) -> (String, Value) {
        let settings: Value = serde_json::from_str(&row.settings).unwrap_or_else(|_| row.settings.clone().into());
        let svm = self.object(row.svm).map(|svm| svm.name.as_str());
        (row.name.clone(), json!({ "name": row.name, "vserver": svm, "settings": settings }))
    }

    fn of_snapshot(&self, row: &SnapshotRow) -> (String, Value) {
        let volume = self.object(row.volume).map(|volume| self.path(volume)).unwrap_or_default();
        let files = row.leaves.iter().filter(|leaf| leaf.kind != Kind::Volume).count();
        let mut value = json!({ "name": row.name, "volume": volume, "created": row.created, "files": files });
        if !row.comment.is_empty() {
            value["comment"] = row.comment.as_str().into();
        }
        (format!("{volume}@{}", row.name), value)
    }

    fn of_partition(&self, row: &PartitionRow) -> (String, Value) {
        let volumes = row.volumes.iter().filter_map(|id| self.object(*id)).map(|volume| self.path(volume));
        let volumes = volumes.collect::<Vec<_>>();
        (
            row.name.clone(),
            json!({ "name": row.name, "size": row.size, "volumes": volumes, "second_level": !row.memory_only }),
        )
    }

    fn path(&self, row: &ObjectRow) -> String {
        let mut names = vec![row.name.as_str()];
        let mut above = row.parent;
        while let Some(parent) = above.and_then(|id| self.object(id)) {
            names.push(&parent.name);
            above = parent.parent;
        }
        let svm = names.pop().unwrap_or_default();
        names.reverse();
        if names.is_empty() { svm.into() } else { format!("{svm}:/vol/{}", names.join("/")) }
    }
}

fn word_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Svm => "vserver",
        Kind::Volume => "volume",
        Kind::Qtree => "qtree",
        Kind::Lun => "lun",
        Kind::File | Kind::ClientFile => "file",
    }
}

#[allow(clippy::disallowed_methods, reason = "a trail tells when; nothing is decided by it")]
fn now() -> String {
    stamp(SystemTime::now())
}

/// `2026-11-22T02:59:26.123Z`
fn stamp(time: SystemTime) -> String {
    // A clock before 1970 was never set.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:03}Z", date(since.as_secs(), "%Y-%m-%dT%H:%M:%S"), since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn row(id: u32, kind: Kind, parent: Option<u32>, name: &str, size: u64) -> ObjectRow {
        ObjectRow { size, ..ObjectRow::new(id, kind, parent, name) }
    }

    #[test]
    fn moments_are_told_as_on_a_calendar() {
        let at = |seconds, ms| stamp(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(ms));
        // As `date -u -d @N` has them.
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(4_107_542_400, 5), "2100-03-01T00:00:00.005Z");
        assert_eq!(at(1_795_316_366, 0), "2026-11-22T02:59:26.000Z");
    }

    #[test]
    fn a_change_is_told_with_what_was_and_what_is() {
        let mut before = Contents::default();
        before.objects.insert(1, row(1, Kind::Svm, None, "svm01", 0));
        before.objects.insert(2, row(2, Kind::Volume, Some(1), "vol1", 100));
        let mut after = before.clone();
        after.objects.get_mut(&2).unwrap().size = 200;
        after.objects.insert(3, row(3, Kind::Lun, Some(2), "lun1", 50));
        assert_eq!(changes(&Changes::default(), &before), []);
        let between = |from: &Contents, to: &Contents| {
            let mut now = from.clone();
            let replaced = now.apply(Changes::between(from, to.clone()));
            changes(&replaced, &now)
        };
        let found = between(&before, &after);
        let told: Vec<_> = found.iter().map(|change| (change.kind, change.name.as_str())).collect();
        assert_eq!(told, [("volume", "svm01:/vol/vol1"), ("lun", "svm01:/vol/vol1/lun1")]);
        assert_eq!((&found[0].before["size"], &found[0].after["size"]), (&json!(100), &json!(200)));
        assert_eq!((&found[1].before, &found[1].after["size"]), (&Value::Null, &json!(50)));
        let gone = between(&after, &before);
        assert_eq!((&gone[1].after, gone[1].name.as_str()), (&Value::Null, "svm01:/vol/vol1/lun1"));
    }

    /// Power went in the middle of a line, or the disk was full: the next one is whole.
    #[test]
    fn a_torn_line_spoils_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::fs::write(&path, "{\"at\":\"20").unwrap();
        let (replaced, now) = (&Changes::default(), &Contents::default());
        let who = Actor::Peer { uid: 7, user: None, pid: 1 };
        let ended = Ended { who: Some(&who), command: "x", reason: Some("no".into()), replaced, now };
        Audit::open(&path).unwrap().add(&ended).unwrap();
        let mut audit = Audit::open(&path).unwrap();
        audit.add(&ended).unwrap();
        // A disk that got full takes a part of a line.
        audit.file.write_all(b"{\"at\":\"20").unwrap();
        audit.add(&ended).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let whole: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!((text.lines().count(), whole.len()), (5, 3), "{text}");
        assert_eq!((&whole[0]["who"]["uid"], &whole[0]["result"]), (&json!(7), &json!("refused")));
    }
}
