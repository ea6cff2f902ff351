//! The limit of cores for each user.

use std::collections::BTreeMap;

use firesteel_placement::Cores;

use super::Ledger;
use super::queue_order::Launched;

impl Ledger {
    /// Checks that a user whose application gets an executor has no more cores than each user may have. A recovered
    /// Master may find that users have more, and then gives them nothing.
    pub(super) fn check_users(&self, launched: &[Launched], most: Option<Cores>) -> Result<(), String> {
        let Some(most) = most.filter(|_| !launched.is_empty()) else { return Ok(()) };
        let user_of = |app| self.apps.get(app).map(|book| book.user.as_str());
        let mut held: BTreeMap<&str, Cores> = BTreeMap::new();
        for (key, launch) in self.workers.values().flat_map(|book| &book.grants) {
            if let Some(user) = user_of(&key.app) {
                *held.entry(user).or_default() += launch.cores;
            }
        }
        for (_, launch) in launched {
            let user = user_of(&launch.executor.app).unwrap_or_default();
            let cores = held.get(user).copied().unwrap_or_default();
            if cores > most {
                return Err(format!(
                    "user {user:?} gets {} and has {cores} cores, of {most}",
                    launch.executor
                ));
            }
        }
        Ok(())
    }
}
