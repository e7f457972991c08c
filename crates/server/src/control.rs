//! A pool, its administration and its shard, joined. A change is checked by the administration,
//! made durable in the catalogue, and only then sent to the shard, so that an answered command
//! survives a crash.

mod atomic;
mod clients;
mod effects;
mod error;
mod following;
mod noticing;
mod opening;
mod totals;
mod volumes;

pub use error::ControlError;

use crate::audit::{Actor, Audit, AuditError, Ended};
use crate::budget::MemoryBudget;
use crate::dates::Dates;
use crate::events::Events;
use crate::logins::{LoginStore, Logins};
use crate::measuring::Measuring;
use crate::memory::Relief;
use crate::monitor::Monitor;
use crate::order::Order;
use crate::persist::{changes_of, details_of, offline_of, partitions_of, records_of, snapshots_of};
use crate::shard::{Account, Shard, ShardGone};
use crate::tls::Tls;
use admin::{AdminError, Administration, Answer, At, Effect, EventKind, Noticed, Outcome, World as _};
use atomic::{AtomicChanges, touched};
use block::{Bytes, ObjectId};
use map::{MapRefusal, What};
use noticing::Watch;
use ontap::Command;
use qos::{GroupId, Registry, RegistrySettings};
use stats::LimitsInForce;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use store::{Changes, Pool, Room, StoreError};
use totals::Pending;
use uring::Clock;

const _: () = assert!(admin::PARTITIONS_MAX as usize == cache::PARTITIONS_MAX, "a partition's number is the cache's");
const _: () = assert!(admin::LEAF_BYTES_MAX == map::SIZE_MAX, "a LUN is as large as a tree of the maps may be");

/// A pool, its administration, and the shard that serves it.
pub struct Control {
    pool: Pool,
    administration: Administration,
    shard: Shard,
    monitor: Arc<Monitor>,
    events: Arc<Events>,
    watch: RefCell<Watch>,
    login_store: Option<Box<dyn LoginStore>>,
    certificates: Vec<Tls>,
    clock: Clock,
    dates: Dates,
    audit: Option<Audit>,
    /// Alignment of the maps' I/O, in bytes.
    align: u32,
    /// Trees that changes have made, or removed from the catalogue, and that may still exist. The
    /// pool records them, and the next start deletes what the catalogue does not name.
    loose: BTreeSet<u32>,
    /// The rows of the catalogue that the last command changed, as they were before it.
    replaced: Changes,
    /// Shrinks the cache while memory is short.
    relief: Option<Relief>,
    /// Measures the space for data; `None` if the size was configured.
    room: Option<Room>,
    pending: Pending,
    /// The state of each volume that the shard was last told.
    volumes: RefCell<BTreeMap<ObjectId, volumes::VolumeTold>>,
    /// Renamed and deleted files of clients that are not in the catalogue yet; `None` stands for a
    /// deleted file.
    unfollowed: BTreeMap<ObjectId, Option<String>>,
}

impl Control {
    /// Brings the shard to the state of the catalogue and opens every LUN and file. Policies that
    /// the current `settings` would not allow stay as they are, and a warning names them.
    ///
    /// # Errors
    /// The catalogue breaks a rule, or the pool's maps have been taken already.
    pub fn open(mut pool: Pool, shard: Shard, settings: RegistrySettings) -> Result<Control, ControlError> {
        let files = pool.load_files()?.ok_or(StoreError::Gone)?;
        let mut maps = pool.take_maps().ok_or(StoreError::Gone)?;
        let room = maps.take_room();
        let contents = pool.contents();
        let used = totals::used_by(contents, &|leaf| maps.core().tree(leaf).map_or(0, |(_, used)| used));
        let records = records_of(contents, |row| used.get(&row.id).copied().unwrap_or(0))?;
        let (registry, change) = Registry::restore(settings.clone(), &records)?;
        for note in &change.notes {
            tracing::warn!("catalogue: {note}");
        }
        let mut administration = Administration::new(settings);
        administration.registry = registry;
        administration.snapshots = snapshots_of(contents);
        administration.offline = offline_of(contents);
        administration.partitions = partitions_of(contents);
        administration.partitions.memory = shard.cache();
        administration.details = details_of(contents);
        let align = maps.align();
        let (monitor, events, watch, login_store, certificates) = Default::default();
        let (clock, dates) = (Clock::new(), Dates::new(|| 0));
        let (audit, loose, replaced, relief, pending, volumes, unfollowed) = Default::default();
        let mut control = Control {
            pool,
            administration,
            shard,
            monitor,
            events,
            watch,
            login_store,
            certificates,
            clock,
            dates,
            audit,
            align,
            loose,
            replaced,
            relief,
            room,
            pending,
            volumes,
            unfollowed,
        };
        control.serve_maps(maps)?;
        control.divide_cache()?;
        control.shard.order(Order::Edit(change.edits.into_iter()))?;
        control.tell_volumes(None)?;
        for (volume, found) in files {
            control.serve_files(ObjectId(volume), found)?;
        }
        for object in control.administration.registry.objects().filter(|object| object.kind().has_tree()) {
            control.serve(object.id(), object.size().allocated.0)?;
        }
        for volume in control.administration.details.keys() {
            control.join(*volume)?;
        }
        control.follow_files()?;
        control.shard.order(Order::LetIn)?;
        Ok(control)
    }

    /// Records in the pool, durably, that the catalogue as it is now is the valid one.
    fn confirm(&mut self) -> Result<(), ControlError> {
        Ok(self.pool.confirm(&self.loose, &mut |agreed| keep_in(&self.shard, agreed))?)
    }

    /// Changes a tree of the maps, durably.
    fn change(&self, lun: ObjectId, what: What) -> Result<(), ControlError> {
        Ok(self.shard.administer(lun, what)?.map_err(StoreError::from)?)
    }

    /// The sizes of all LUNs and files, measured when first needed.
    fn measuring(&self) -> Measuring<'_> {
        Measuring::new(
            &self.shard,
            &self.pool,
            &self.monitor,
            &self.events,
            Logins { store: self.login_store.as_deref(), secret: None },
            &self.certificates,
        )
    }

    /// Writes every later change to the audit trail before it is answered.
    pub fn keep_trail(&mut self, audit: Audit) {
        self.audit = Some(audit);
    }

    /// Opens the trail's file again, after it was moved away (log rotation).
    ///
    /// # Errors
    /// It cannot be opened; the old file stays in use.
    pub fn reopen_trail(&mut self) -> Result<(), AuditError> {
        self.audit.as_mut().map_or(Ok(()), Audit::reopen)
    }

    /// Runs one line without a named actor and returns its answer, ready to print.
    ///
    /// # Errors
    /// The line is refused, in one line. Nothing changed, except after
    /// [`ControlError::Afterwards`].
    pub fn execute(&mut self, line: &str) -> Result<String, ControlError> {
        self.execute_for(None, line).map(|answer| answer.text())
    }

    /// Runs one line of an actor and returns its answer.
    ///
    /// # Errors
    /// As [`Control::execute`].
    pub fn execute_for(&mut self, who: Option<&Actor>, line: &str) -> Result<Answer, ControlError> {
        self.execute_with(who, line, None)
    }

    /// The same with the password that the line needs. The password is not part of the line, so it
    /// is neither logged nor in the trail.
    ///
    /// # Errors
    /// As [`Control::execute`].
    pub fn execute_with(
        &mut self,
        who: Option<&Actor>,
        line: &str,
        secret: Option<&str>,
    ) -> Result<Answer, ControlError> {
        let commands = ontap::parse(line).map(|command| vec![command]).map_err(AdminError::from);
        self.recorded(who, line, commands, secret)
    }

    /// Runs the commands of one request of another interface, described by `asked`, as a unit: all
    /// of them, or none. Returns the answer of the last one.
    ///
    /// # Errors
    /// As [`Control::execute`].
    pub fn run_for(&mut self, who: &Actor, asked: &str, commands: Vec<Command>) -> Result<Answer, ControlError> {
        self.recorded(Some(who), asked, Ok(commands), None)
    }

    /// Lets the caller inspect the administration. Figures of the world are fetched from the data
    /// thread and the pool when they are first needed.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn look<T>(&self, look: impl FnOnce(&Administration, &At<'_>) -> T) -> Result<T, ShardGone> {
        let measuring = self.measuring();
        let at = self.at(&measuring);
        let seen = look(&self.administration, &at);
        measuring.is_whole().map(|()| seen)
    }

    fn at<'w>(&self, world: &'w Measuring<'_>) -> At<'w> {
        let now = self.clock.now();
        At { now, began: self.dates.began(now), world }
    }

    /// Runs commands, and writes them to the log and, if they change something, to the trail.
    fn recorded(
        &mut self,
        who: Option<&Actor>,
        line: &str,
        commands: Result<Vec<Command>, AdminError>,
        secret: Option<&str>,
    ) -> Result<Answer, ControlError> {
        let changes = commands.as_ref().is_ok_and(|commands| !commands.iter().all(Command::shows));
        self.replaced = Changes::default();
        let result = commands.map_err(ControlError::from).and_then(|commands| self.done(commands, secret));
        match &result {
            Ok(_) => tracing::info!(command = line, "done"),
            Err(error) => tracing::info!(command = line, %error, "refused"),
        }
        let Some(audit) = self.audit.as_mut().filter(|_| changes) else { return result };
        let reason = result.as_ref().err().map(ToString::to_string);
        let (replaced, now) = (&self.replaced, self.pool.contents());
        let added = audit.add(&Ended { who, command: line, reason, replaced, now });
        let Err(untold) = added else { return result };
        self.note_untold(line, &untold);
        Err(match result {
            Ok(_) => ControlError::Afterwards(Box::new(untold.into())),
            Err(refusal) => ControlError::RefusalNotAudited { refusal: Box::new(refusal), untold },
        })
    }

    /// Writes to the log and the trail that somebody was denied a change, before it was a command.
    pub fn denied(&mut self, who: &Actor, asked: &str, reason: &str) {
        tracing::info!(command = asked, error = reason, "refused");
        let Some(audit) = &mut self.audit else { return };
        let (replaced, reason) = (&Changes::default(), Some(reason.into()));
        let added = audit.add(&Ended { who: Some(who), command: asked, reason, replaced, now: self.pool.contents() });
        if let Err(untold) = added {
            self.note_untold(asked, &untold);
        }
    }

    /// Logs that a command is not in the trail, and notes it as an event.
    fn note_untold(&mut self, line: &str, untold: &AuditError) {
        tracing::error!(error = %untold, command = line, "a command is not in the audit trail");
        self.events.note(Noticed::once(EventKind::AuditFailed, "", untold.to_string()));
    }

    /// Sets the source of dates (seconds since 1970) for snapshots and events. Without it they are
    /// dated 1970.
    #[must_use]
    pub fn with_date(self, date: fn() -> u64) -> Control {
        self.events.date_by(date);
        Control { dates: Dates::new(date), ..self }
    }

    /// Sets the keeper of the users.
    #[must_use]
    pub fn with_logins(self, store: impl LoginStore + 'static) -> Control {
        Control { login_store: Some(Box::new(store)), ..self }
    }

    /// Sets whose certificates `security certificate show` displays.
    pub fn show_certificates(&mut self, of: Vec<Tls>) {
        self.certificates = of;
    }

    /// Sets how memory is divided. Statistics start anew, so this is to be called first.
    #[must_use]
    pub fn with_budget(self, budget: MemoryBudget) -> Control {
        Control { monitor: Arc::new(Monitor::new(budget)), ..self }
    }

    /// What the shard did since the previous call. The monitor receives it too.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn account(&self) -> Result<Account, ShardGone> {
        let mut account = self.shard.account()?;
        self.monitor.take_in(&account, self.date(), &self.administration.registry);
        self.notice(std::mem::take(&mut account.noticed));
        Ok(account)
    }

    /// Adds what the shard did up to now to the statistics that are kept; the last call before the
    /// server stops.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn close_statistics(&self) -> Result<(), ShardGone> {
        self.account()?;
        self.monitor.close(self.date(), &self.administration.registry);
        Ok(())
    }

    /// Starts to count what each object experiences, with histograms, for [`Account::objects`].
    ///
    /// # Errors
    /// The shard is gone.
    pub fn record(&self) -> Result<(), ShardGone> {
        self.shard.order(Order::Record)
    }

    /// The log of events.
    pub fn events(&self) -> Arc<Events> {
        Arc::clone(&self.events)
    }

    /// The statistics, second by second.
    pub fn monitor(&self) -> Arc<Monitor> {
        Arc::clone(&self.monitor)
    }

    /// The shard.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Seconds since the beginning of 1970.
    pub fn date(&self) -> u64 {
        (self.dates.today)()
    }

    /// The pool's folder.
    pub fn folder(&self) -> &Path {
        self.pool.dir()
    }

    /// The pool's name, which is the cluster's.
    pub fn pool_name(&self) -> String {
        self.pool.name()
    }

    /// The pool's UUID, which stays the same for the pool's life.
    pub fn pool_uuid(&self) -> String {
        admin::uuid_text(0x5ea1_a111_0000_8000 << 64 | u128::from(self.pool.number()))
    }

    /// The generation of the catalogue: it grows by one with each change.
    pub fn generation(&self) -> u64 {
        self.pool.edition().generation
    }

    /// See [`Administration::path_of`].
    pub fn path_of(&self, object: ObjectId) -> Option<String> {
        self.administration.path_of(object)
    }

    /// See [`Administration::group_name`].
    pub fn group_name(&self, group: GroupId) -> Option<&str> {
        self.administration.group_name(group)
    }

    /// See [`Administration::limits`].
    pub fn limits(&self) -> Vec<(String, LimitsInForce)> {
        self.administration.limits()
    }

    /// The space that each volume uses now, by its path.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn used_by_volume(&self) -> Result<Vec<(String, Bytes)>, ShardGone> {
        let measuring = self.measuring();
        let used = self.administration.used_by_volume(&|leaf| measuring.used(leaf));
        measuring.is_whole().map(|()| used)
    }

    fn done(&mut self, commands: Vec<Command>, secret: Option<&str>) -> Result<Answer, ControlError> {
        // Files that were renamed or deleted since the last look are updated first.
        if let Err(error) = self.follow_files() {
            tracing::error!(%error, "what became of files that have policies");
        }
        if !commands.iter().all(Command::shows) {
            self.name_before_change();
        }
        let logins = Logins { store: self.login_store.as_deref(), secret };
        let measuring =
            Measuring::new(&self.shard, &self.pool, &self.monitor, &self.events, logins, &self.certificates);
        let at = self.at(&measuring);
        let outcome = self.administration.run_all(commands, &at)?;
        if let Err(gone) = measuring.is_whole() {
            self.administration.take_back(outcome.undo);
            return Err(gone.into());
        }
        self.carry(outcome)
    }

    /// Makes the outcome of a command durable, applies it to the data thread and to clients, or
    /// undoes it.
    fn carry(&mut self, outcome: Outcome) -> Result<Answer, ControlError> {
        let Outcome { answer, edits, effects, taken, forced, undo } = outcome;
        let rows = undo.touched();
        let mut changes = changes_of(&self.administration, &rows);
        changes.leave_out_what_is_so(self.pool.contents());
        let changes = Some(changes).filter(|changes| !effects.is_empty() || !changes.is_empty());
        let withdrawn = match changes {
            // What the disk has is unknown. A deletion could not be made durable, either.
            Some(_) if self.pool.has_doubt() => Err(StoreError::from(MapRefusal::Failed).into()),
            _ => self.withdraw(&taken, forced),
        };
        let has_changed = changes.is_some();
        let done = withdrawn.and_then(|ended| {
            changes.map_or(Ok(()), |changes| self.make_durable(&effects, changes))?;
            Ok(ended)
        });
        let ended = match done {
            Ok(ended) => ended,
            Err(error) => {
                self.administration.take_back(undo);
                self.offer(&effects)?;
                self.read_again(&effects)?;
                return Err(error);
            }
        };
        // From here on the change is in force, whatever fails later.
        let confirmed = if has_changed { self.confirm() } else { Ok(()) };
        let carried = self.carry_out(&effects, edits, &rows.objects, confirmed.is_ok());
        confirmed.and(carried).map_err(|error| ControlError::Afterwards(Box::new(error)))?;
        let settled = touched(&effects);
        self.loose.retain(|tree| !settled.contains(tree));
        Ok(answer.with(ended))
    }

    /// Writes changes of rows to the catalogue, with what they do to the data, or leaves everything
    /// as it was.
    fn make_durable(&mut self, effects: &[Effect], changes: Changes) -> Result<(), ControlError> {
        self.loose.append(&mut touched(effects));
        self.pool.announce(&self.loose, &mut |agreed| keep_in(&self.shard, agreed))?;
        for (index, effect) in effects.iter().enumerate() {
            if let Err(error) = self.prepare(effect) {
                self.undo(&effects[..index]);
                return Err(error);
            }
        }
        let atomic = AtomicChanges::of(effects);
        if let Err(error) = self.settle_files(effects) {
            self.undo(effects);
            return Err(error);
        }
        if let Err(error) = self.share(atomic.changes.clone()) {
            self.undo(effects);
            return Err(error);
        }
        match self.pool.change(changes) {
            Ok(replaced) => self.replaced = replaced,
            Err(error) => {
                let _ = self.share(atomic.back);
                self.undo(effects);
                self.forget(&atomic.before);
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// Has the maps store the state of the catalogue that they agree with.
fn keep_in(shard: &Shard, agreed: map::Agreed) -> Result<(), StoreError> {
    let gone = |ShardGone| StoreError::Gone;
    Ok(shard.agree(agreed).map_err(gone)??)
}

#[cfg(test)]
mod tests;
