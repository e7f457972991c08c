//! Policies on things that change by themselves: adaptive policies follow sizes, and policies of
//! clients' files follow those files.

use super::{Control, ControlError};
use crate::logins::Logins;
use crate::measuring::Measuring;
use crate::order::Order;
use crate::shard::ShardGone;
use admin::World as _;
use block::ObjectId;
use std::collections::BTreeSet;

impl Control {
    /// Measures the space of all objects and updates the adaptive policies that are due.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn follow_sizes(&mut self) -> Result<(), ShardGone> {
        let logins = Logins::default();
        let measuring = Measuring::new(&self.shard, &self.pool, &self.monitor, &self.events, logins, &[]);
        let edits = self.administration.follow_sizes(self.clock.now(), &|leaf| measuring.used(leaf));
        measuring.is_whole()?;
        match edits {
            edits if edits.is_empty() => Ok(()),
            edits => self.shard.order(Order::Edit(edits.into_iter())),
        }
    }

    /// Ends the accounting of files that are no longer objects of their own, before the scheduler
    /// forgets them.
    pub(super) fn stop_following(&self, touched: &BTreeSet<ObjectId>) -> Result<(), ShardGone> {
        let registry = &self.administration.registry;
        let mut told = self.volumes.borrow_mut();
        for (volume, told) in told.iter_mut() {
            let before = told.files.len();
            told.files.retain(|file| !touched.contains(&file.object) || registry.object(file.object).is_some());
            if told.files.len() < before {
                self.shard.order(Order::Follow { volume: *volume, files: told.files.clone() })?;
            }
        }
        Ok(())
    }

    /// Records renamed and deleted files of clients that have policies: names follow the files, and
    /// policies are deleted with them.
    ///
    /// # Errors
    /// The shard is gone, or the catalogue cannot be written; then the next call tries again.
    pub(crate) fn follow_files(&mut self) -> Result<(), ControlError> {
        if self.volumes.borrow().values().all(|told| told.files.is_empty()) && self.unfollowed.is_empty() {
            return Ok(());
        }
        let news = self.shard.followed()?;
        self.unfollowed.extend(news);
        if self.unfollowed.is_empty() {
            return Ok(());
        }
        self.name_before_change();
        let logins = Logins::default();
        let measuring = Measuring::new(&self.shard, &self.pool, &self.monitor, &self.events, logins, &[]);
        let at = self.at(&measuring);
        let news: Vec<(ObjectId, Option<String>)> =
            self.unfollowed.iter().map(|(file, name)| (*file, name.clone())).collect();
        let outcome = self.administration.follow_files(&news, &at)?;
        for (file, name) in &news {
            tracing::info!(object = file.0, name, "a client renamed or removed a file that has a policy");
        }
        self.carry(outcome)?;
        self.unfollowed.clear();
        Ok(())
    }
}
