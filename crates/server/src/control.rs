//! A pool, its commands and its shard joined. A change is checked by the registry, made durable in
//! the catalogue, and only then ordered of the shard, so that what was answered survives whatever
//! comes.

mod clients;
mod effects;
mod error;
mod following;
mod noticing;
mod opening;
mod together;
mod totals;
mod volumes;

pub use error::ControlError;

use crate::audit::{Actor, Audit, AuditError, Ended};
use crate::budget::MemoryBudget;
use crate::dates::Dates;
use crate::events::Events;
use crate::logins::{LoginDesk, Logins};
use crate::measuring::Measuring;
use crate::memory::Relief;
use crate::monitor::Monitor;
use crate::order::Order;
use crate::persist::{changes_of, details_of, offline_of, partitions_of, records_of, snapshots_of};
use crate::shard::{Account, Shard, ShardGone};
use admin::{AdminError, Administration, Answer, At, Effect, EventKind, Noticed, Outcome, Touched, World as _};
use block::{Bytes, ObjectId};
use map::What;
use noticing::Watch;
use ontap::Command;
use qos::{GroupId, Registry, RegistrySettings};
use stats::LimitsInForce;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use store::{Changes, Pool, Room, StoreError};
use together::{Together, touched};
use totals::Pending;
use uring::Clock;

const _: () = assert!(admin::PARTITIONS_MAX as usize == cache::PARTITIONS_MAX, "a partition's number is the cache's");
const _: () = assert!(admin::LEAF_BYTES_MAX == map::SIZE_MAX, "a LUN is as large as a tree of the maps may be");

/// A pool, what is known of it, and the shard that serves it.
pub struct Control {
    pool: Pool,
    administration: Administration,
    shard: Shard,
    monitor: Arc<Monitor>,
    events: Arc<Events>,
    watch: RefCell<Watch>,
    login_desk: Option<Box<dyn LoginDesk>>,
    clock: Clock,
    dates: Dates,
    audit: Option<Audit>,
    /// What the maps' I/O is aligned to, in bytes.
    align: u32,
    /// What changes have made or taken out of the catalogue and that may still be there: the pool
    /// knows it, and a start takes it away.
    loose: BTreeSet<u32>,
    /// The rows of the catalogue that the last command changed, as they were before it.
    replaced: Changes,
    /// Makes the cache smaller while memory is short.
    relief: Option<Relief>,
    /// What there is for data; `None` where that was given.
    room: Option<Room>,
    pending: Pending,
    /// What the shard was told of each volume.
    volumes: RefCell<BTreeMap<ObjectId, volumes::VolumeTold>>,
    /// What became of files of clients and is not kept yet: names, or nothing of what is gone.
    unfollowed: BTreeMap<ObjectId, Option<String>>,
}

impl Control {
    /// Brings the shard to what the pool's catalogue says and opens every LUN and file. What
    /// `settings` would not allow today stays as it was kept, and a warning names it.
    ///
    /// # Errors
    /// The catalogue breaks a rule, or another has taken the pool's maps.
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
        let (monitor, events, watch, login_desk) = Default::default();
        let (clock, dates) = (Clock::new(), Dates::new(|| 0));
        let (audit, loose, replaced, relief, pending, volumes, unfollowed) = Default::default();
        let mut control = Control {
            pool,
            administration,
            shard,
            monitor,
            events,
            watch,
            login_desk,
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

    /// Tells the pool, durably, that the catalogue as it is now is the one.
    fn confirm(&mut self) -> Result<(), ControlError> {
        Ok(self.pool.confirm(&self.loose, &mut |agreed| keep_in(&self.shard, agreed))?)
    }

    /// Changes a tree of the maps, durably.
    fn change(&self, lun: ObjectId, what: What) -> Result<(), ControlError> {
        Ok(self.shard.administer(lun, what)?.map_err(StoreError::from)?)
    }

    /// What each LUN and file takes now.
    fn measuring(&self) -> Measuring<'_> {
        Measuring::new(
            &self.shard,
            &self.pool,
            &self.monitor,
            &self.events,
            Logins { desk: self.login_desk.as_deref(), secret: None },
        )
    }

    /// From now on every change is written down there before it is answered.
    pub fn keep_trail(&mut self, audit: Audit) {
        self.audit = Some(audit);
    }

    /// Opens the trail's file anew, after somebody moved it away.
    ///
    /// # Errors
    /// It cannot be opened; the old one stays in use.
    pub fn reopen_trail(&mut self) -> Result<(), AuditError> {
        self.audit.as_mut().map_or(Ok(()), Audit::reopen)
    }

    /// Runs one line of nobody's in particular and returns its answer, ready to print.
    ///
    /// # Errors
    /// The line is refused, in one line. Nothing changed, except after
    /// [`ControlError::Afterwards`].
    pub fn execute(&mut self, line: &str) -> Result<String, ControlError> {
        self.execute_for(None, line).map(|answer| answer.text())
    }

    /// Runs somebody's line and returns its answer.
    ///
    /// # Errors
    /// As [`Control::execute`].
    pub fn execute_for(&mut self, who: Option<&Actor>, line: &str) -> Result<Answer, ControlError> {
        self.execute_with(who, line, None)
    }

    /// The same with the password that the line needs, which is no part of it: it is neither logged
    /// nor in the trail.
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

    /// Runs what somebody asked for in words of another interface, `asked`, as one: all of the
    /// commands, or none. Answers the last one's answer.
    ///
    /// # Errors
    /// As [`Control::execute`].
    pub fn run_for(&mut self, who: &Actor, asked: &str, commands: Vec<Command>) -> Result<Answer, ControlError> {
        self.recorded(Some(who), asked, Ok(commands), None)
    }

    /// Has somebody look at what there is. What is asked of the world is asked of the data thread
    /// and the pool then.
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

    /// Runs commands and writes them down in the log and, if they change something, in the trail.
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
        tracing::error!(error = %untold, command = line, "a command is not in the audit trail");
        self.events.note(Noticed::once(EventKind::AuditFailed, "", untold.to_string()));
        Err(match result {
            Ok(_) => ControlError::Afterwards(Box::new(untold.into())),
            Err(refusal) => ControlError::Untold { refusal: Box::new(refusal), untold },
        })
    }

    /// What tells the date from now on, in seconds since the beginning of 1970, for snapshots;
    /// without, they are of 1970.
    #[must_use]
    pub fn with_date(self, date: fn() -> u64) -> Control {
        self.events.date_by(date);
        Control { dates: Dates::new(date), ..self }
    }

    /// Who keeps the users from now on.
    #[must_use]
    pub fn with_logins(self, desk: impl LoginDesk + 'static) -> Control {
        Control { login_desk: Some(Box::new(desk)), ..self }
    }

    /// How memory is divided. Statistics begin anew: to be called first.
    #[must_use]
    pub fn with_budget(self, budget: MemoryBudget) -> Control {
        Control { monitor: Arc::new(Monitor::new(budget)), ..self }
    }

    /// What the shard did since the last call. The monitor takes it in too.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn account(&self) -> Result<Account, ShardGone> {
        let mut account = self.shard.account()?;
        self.monitor.take_in(&account, self.date(), &self.administration.registry);
        self.notice(std::mem::take(&mut account.noticed));
        Ok(account)
    }

    /// What the shard did up to now comes to the statistics that are kept, too: nothing more is
    /// asked of it.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn close_statistics(&self) -> Result<(), ShardGone> {
        self.account()?;
        self.monitor.close(self.date(), &self.administration.registry);
        Ok(())
    }

    /// From now on [`Account::objects`] has what each object saw, with histograms; before, nothing
    /// of that is counted.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn record(&self) -> Result<(), ShardGone> {
        self.shard.order(Order::Record)
    }

    /// What was noticed.
    pub fn events(&self) -> Arc<Events> {
        Arc::clone(&self.events)
    }

    /// What it knows of the last second.
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

    /// What the pool is called among pools, as long as there is it.
    pub fn pool_uuid(&self) -> String {
        admin::uuid_text(0x5ea1_a111_0000_8000 << 64 | u128::from(self.pool.number()))
    }

    /// How far the catalogue is: one more for each change that it has.
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

    /// The space that every volume uses now, by path.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn used_by_volume(&self) -> Result<Vec<(String, Bytes)>, ShardGone> {
        let measuring = self.measuring();
        let used = self.administration.used_by_volume(&|leaf| measuring.used(leaf));
        measuring.is_whole().map(|()| used)
    }

    fn done(&mut self, commands: Vec<Command>, secret: Option<&str>) -> Result<Answer, ControlError> {
        // A file that was renamed or removed meanwhile is known by its name of now.
        if let Err(error) = self.follow_files() {
            tracing::error!(%error, "what became of files that have policies");
        }
        if !commands.iter().all(Command::shows) {
            self.name_before_change();
        }
        let logins = Logins { desk: self.login_desk.as_deref(), secret };
        let measuring = Measuring::new(&self.shard, &self.pool, &self.monitor, &self.events, logins);
        let at = self.at(&measuring);
        let outcome = self.administration.run_all(commands, &at)?;
        if let Err(gone) = measuring.is_whole() {
            self.administration.take_back(outcome.undo);
            return Err(gone.into());
        }
        self.carry(outcome)
    }

    /// Has what was done hold: in the pool, on the data thread and for clients, or takes it back.
    fn carry(&mut self, outcome: Outcome) -> Result<Answer, ControlError> {
        let Outcome { answer, edits, effects, taken, forced, undo } = outcome;
        let withdrawn = self.withdraw(&taken, forced);
        let rows = undo.touched();
        let done = withdrawn.and_then(|ended| Ok((ended, self.make_durable(&effects, &rows)?)));
        let (ended, has_changed) = match done {
            Ok(done) => done,
            Err(error) => {
                self.administration.take_back(undo);
                self.offer(&effects)?;
                self.read_again(&effects)?;
                return Err(error);
            }
        };
        // From here on it is so, whatever becomes of what follows.
        let confirmed = if has_changed { self.confirm() } else { Ok(()) };
        let carried = self.carry_out(&effects, edits, &rows.objects, confirmed.is_ok());
        confirmed.and(carried).map_err(|error| ControlError::Afterwards(Box::new(error)))?;
        let settled = touched(&effects);
        self.loose.retain(|tree| !settled.contains(tree));
        Ok(answer.with(ended))
    }

    /// Has the pool hold what the administration says of `rows`, or leaves it as it was. Whether
    /// anything has changed.
    fn make_durable(&mut self, effects: &[Effect], rows: &Touched) -> Result<bool, ControlError> {
        let mut changes = changes_of(&self.administration, rows);
        changes.leave_out_what_is_so(self.pool.contents());
        if effects.is_empty() && changes.is_empty() {
            return Ok(false);
        }
        self.loose.append(&mut touched(effects));
        self.pool.announce(&self.loose, &mut |agreed| keep_in(&self.shard, agreed))?;
        for (index, effect) in effects.iter().enumerate() {
            if let Err(error) = self.prepare(effect) {
                self.undo(&effects[..index]);
                return Err(error);
            }
        }
        let together = Together::of(effects);
        if let Err(error) = self.settle_files(effects) {
            self.undo(effects);
            return Err(error);
        }
        if let Err(error) = self.share(together.changes.clone()) {
            self.undo(effects);
            return Err(error);
        }
        match self.pool.change(changes) {
            Ok(replaced) => self.replaced = replaced,
            Err(error) => {
                let _ = self.share(together.back);
                self.undo(effects);
                self.forget(&together.before);
                return Err(error.into());
            }
        }
        Ok(true)
    }
}

/// Has the maps keep what is known of the catalogue.
fn keep_in(shard: &Shard, agreed: map::Agreed) -> Result<(), StoreError> {
    let gone = |ShardGone| StoreError::Gone;
    Ok(shard.agree(agreed).map_err(gone)??)
}

#[cfg(test)]
mod tests;
