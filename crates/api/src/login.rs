//! Authenticates requests: name and password of `Authorization`, checked against the users' file.
//!
//! Verifying a password is deliberately slow, and clients send theirs with every request. So
//! verified credentials are cached for a minute, as a hash with a secret key, and the cache is
//! cleared when the file changes. After a wrong password its address has to wait before another one
//! is checked, twice as long each time.

use crate::caller::Caller;
use crate::problem::{Problem, code};
use crate::users::{PASSWORD_BYTES_MAX, Users, UsersError, is_password, random};
use admin::{EventKind, Noticed};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use block::{Span, Time};
use ring::hmac::{HMAC_SHA256, Key, sign};
use server::Events;
use std::collections::HashMap;
use std::fs::Metadata;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long verified credentials are cached.
const KNOWN_FOR: Span = Span::from_secs(60);
/// Most credentials in the cache.
const KNOWN_MAX: usize = 1024;
/// The wait after the first wrong password; each further one doubles it.
const WAIT: Span = Span::from_millis(250);
/// The longest wait.
const WAIT_MAX: Span = Span::from_secs(30);
/// Most addresses whose failures are remembered.
const ADDRESSES_MAX: usize = 4096;

/// Authenticates the requests of all connections.
pub(crate) struct Logins {
    /// The log for refusals.
    events: Arc<Events>,
    path: PathBuf,
    key: Key,
    state: Mutex<State>,
    /// Held while a password is verified.
    turn: Mutex<()>,
}

#[derive(Default)]
struct State {
    users: Users,
    /// The version of the file that was read.
    read: Option<Version>,
    known: HashMap<[u8; 32], (String, Time)>,
    failed: HashMap<IpAddr, Failures>,
}

/// Device, inode, length and modification time of a file.
type Version = (u64, u64, u64, i64, i64);

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    /// No password is checked before.
    until: Time,
}

impl Logins {
    /// Uses the users of a file, which may change at any time.
    ///
    /// # Errors
    /// The file exists but cannot be read.
    pub fn new(path: &Path, events: Arc<Events>) -> Result<Logins, UsersError> {
        let state = State { users: Users::read(path)?, read: version(path), ..State::default() };
        Ok(Logins {
            events,
            path: path.into(),
            key: Key::new(HMAC_SHA256, &random::<32>()),
            state: Mutex::new(state),
            turn: Mutex::default(),
        })
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.state().users.list().next().is_none()
    }

    /// The user of a request, by its `Authorization` header.
    ///
    /// # Errors
    /// The credentials are wrong (401), or the address has to wait (429).
    pub fn caller(&self, authorization: Option<&str>, from: IpAddr, now: Time) -> Result<Caller, Problem> {
        let header = authorization.ok_or_else(unauthorised)?;
        let mut fingerprint = [0; 32];
        fingerprint.copy_from_slice(sign(&self.key, header.as_bytes()).as_ref());
        let (name, password) = credential(header).ok_or_else(unauthorised)?;
        if let Some(caller) = self.known(&fingerprint, from, now)? {
            return Ok(caller);
        }
        // One verification at a time: of many concurrent requests of a client, all but the first
        // use its result.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(caller) = self.known(&fingerprint, from, now)? {
            return Ok(caller);
        }
        let hash = self.state().users.hash(&name);
        let is_right = is_password(&password, &hash);
        let mut state = self.state();
        // The user may have been changed during the verification.
        match state.named(&name).filter(|_| is_right && state.users.hash(&name) == hash) {
            Some(caller) => {
                state.failed.remove(&from);
                if state.known.len() < KNOWN_MAX {
                    state.known.insert(fingerprint, (name, now + KNOWN_FOR));
                }
                Ok(caller)
            }
            None => {
                state.fail(from, now);
                tracing::warn!(user = name, %from, "log-in refused");
                let text = format!("user {name:?} from {from}: no such user, or another password");
                self.events.note(Noticed::once(EventKind::LoginRefused, format!("{from} {name}"), text));
                Err(unauthorised())
            }
        }
    }

    /// The user of cached credentials; an error if the address has to wait.
    fn known(&self, fingerprint: &[u8; 32], from: IpAddr, now: Time) -> Result<Option<Caller>, Problem> {
        let mut state = self.state();
        state.renew(&self.path);
        state.known.retain(|_, (_, until)| *until > now);
        match state.known.get(fingerprint).and_then(|(name, _)| state.named(name)) {
            None => state.must_not_wait(from, now).map(|()| None),
            known => Ok(known),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reads the users again if the file has changed. If it cannot be read, nobody can log in.
    fn renew(&mut self, path: &Path) {
        let version = version(path);
        if version != self.read {
            self.read = version;
            self.known.clear();
            self.users = Users::read(path).unwrap_or_else(|error| {
                tracing::error!(%error, "nobody can log in");
                Users::default()
            });
        }
    }

    fn named(&self, name: &str) -> Option<Caller> {
        Some(Caller { name: name.into(), role: self.users.role(name)?.clone() })
    }

    fn must_not_wait(&self, from: IpAddr, now: Time) -> Result<(), Problem> {
        match self.failed.get(&from) {
            Some(failures) if failures.until > now => {
                let wait = failures.until.since(now);
                let ms = wait.as_nanos().div_ceil(1_000_000);
                let message = format!("log-ins from {from} failed {} times: try again in {ms} ms", failures.count);
                Err(Problem { wait: Some(wait), ..Problem::new(429, code::UNAUTHORISED, message) })
            }
            _ => Ok(()),
        }
    }

    fn fail(&mut self, from: IpAddr, now: Time) {
        if self.failed.len() >= ADDRESSES_MAX {
            self.failed.retain(|_, failures| failures.until > now);
        }
        let failures = self.failed.entry(from).or_insert(Failures { count: 0, until: now });
        failures.count = failures.count.saturating_add(1);
        let wait = WAIT.as_nanos().saturating_mul(1 << (failures.count - 1).min(20));
        failures.until = now + Span::from_nanos(wait.min(WAIT_MAX.as_nanos()));
    }
}

fn unauthorised() -> Problem {
    Problem::new(401, code::UNAUTHORISED, "log in with a user's name and password: User is not authorized")
}

/// Name and password of a `Basic` header.
fn credential(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") || encoded.len() > PASSWORD_BYTES_MAX * 2 {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.into(), password.into()))
}

fn version(path: &Path) -> Option<Version> {
    let of = |file: Metadata| (file.dev(), file.ino(), file.len(), file.ctime(), file.ctime_nsec());
    std::fs::metadata(path).ok().map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Role;
    use crate::users::USERS_FILE;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn basic(text: &str) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn logins(dir: &Path) -> Logins {
        let path = dir.join(USERS_FILE);
        Users::change(&path, |users| users.add("alice", Role::Admin, "correct horse")).unwrap();
        Logins::new(&path, Arc::default()).unwrap()
    }

    fn wait(result: Result<Caller, Problem>) -> Option<Span> {
        result.err().and_then(|problem| problem.wait)
    }

    fn status(result: Result<Caller, Problem>) -> u16 {
        result.map_or_else(|problem| problem.status, |_| 200)
    }

    #[test]
    fn who_gives_the_password_is_let_in_and_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let logins = logins(dir.path());
        let caller = logins.caller(Some(&basic("alice:correct horse")), HERE, at(0)).unwrap();
        assert_eq!(caller, Caller { name: "alice".into(), role: Role::Admin });
        let mut now = 0;
        for wrong in [&basic("alice:"), &basic("alice:correct house"), &basic("bob:correct horse")] {
            now += 60_000;
            assert_eq!(status(logins.caller(Some(wrong), HERE, at(now))), 401);
        }
        for wrong in [None, Some("Basic"), Some("Basic ???"), Some("Bearer x"), Some(&*basic("alice"))] {
            assert_eq!(status(logins.caller(wrong, HERE, at(now))), 401);
        }
    }

    /// 250 ms after the first failure, 500 ms after the second. Cached credentials do not wait.
    #[test]
    fn who_fails_has_to_wait() {
        let dir = tempfile::tempdir().unwrap();
        let logins = logins(dir.path());
        let (right, wrong) = (basic("alice:correct horse"), basic("alice:wrong one"));
        let ask = |header: &str, ms| status(logins.caller(Some(header), HERE, at(ms)));
        assert_eq!(ask(&wrong, 0), 401);
        assert_eq!(ask(&right, 249), 429, "not even the right one");
        assert_eq!(wait(logins.caller(Some(&right), HERE, at(100))), Some(Span::from_millis(150)), "what is left");
        assert_eq!(ask(&wrong, 250), 401);
        assert_eq!(ask(&right, 749), 429);
        assert_eq!(ask(&right, 750), 200, "and it is forgotten");
        assert_eq!(ask(&wrong, 751), 401);
        assert_eq!(ask(&right, 752), 200, "it is known");
        let elsewhere = IpAddr::from([10, 0, 0, 1]);
        assert_eq!(status(logins.caller(Some(&wrong), elsewhere, at(752))), 401);
    }

    #[test]
    fn a_user_who_is_changed_or_gone_is_known_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let logins = logins(dir.path());
        let path = dir.path().join(USERS_FILE);
        let header = basic("alice:correct horse");
        assert_eq!(status(logins.caller(Some(&header), HERE, at(0))), 200);
        Users::change(&path, |users| {
            users.delete("alice")?;
            users.add("alice", Role::ReadOnly, "another horse")
        })
        .unwrap();
        assert_eq!(status(logins.caller(Some(&header), HERE, at(1))), 401);
        let caller = logins.caller(Some(&basic("alice:another horse")), HERE, at(60_000)).unwrap();
        assert_eq!(caller.role, Role::ReadOnly);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(status(logins.caller(Some(&basic("alice:another horse")), HERE, at(60_001))), 401);
        assert!(logins.is_empty());
    }
}
