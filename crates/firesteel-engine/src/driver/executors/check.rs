//! The invariants of the table of executors: the indexes agree with the rows.

use firesteel_protocol::ids::{ExecutorId, TaskId};

use super::Executors;
use crate::driver::tasks::waiting::Needs;

impl Executors {
    /// Checks the indexes against the rows. `needs` returns the needs of a task, if the task runs on that executor.
    pub(in crate::driver) fn contradiction<'a>(
        &self,
        needs: impl Fn(TaskId, ExecutorId) -> Option<&'a Needs>,
    ) -> Option<String> {
        let mut expected = Self::default();
        for (id, row) in self.iter() {
            if self.ended.contains(id) {
                return Some(format!("executor {id} is in the table and has ended"));
            }
            if let Some(wrong) = row.contradiction(|task| needs(task, id)) {
                return Some(format!("executor {id}: {wrong}"));
            }
            if self.abandoned.contains(&id) {
                return Some(format!("executor {id} is in the table and is abandoned"));
            }
            if let Some(peer) = row.peer() {
                expected.peers.insert(peer, id);
            }
            if let Some(until) = row.until() {
                expected.awaited.insert((until, id));
            }
            if row.shortage.is_some() {
                expected.short.insert(id);
            }
            if row.is_suspected() {
                expected.suspects.insert(id);
            } else if row.held {
                return Some(format!("executor {id} is held, and not in doubt"));
            }
            let profile = expected.profiles.entry(row.profile).or_default();
            if row.is_offering() {
                profile.openings.add(id, row);
            }
            profile.count += u64::from(row.could_offer());
            if row.is_in_reach() {
                expected.reach.enter(id, row.profile, &row.sites);
            }
        }
        for &id in self.profiles.keys().chain(expected.profiles.keys()) {
            let found = (self.offering(id), self.openings(id));
            let wanted = (expected.offering(id), expected.openings(id));
            if found != wanted {
                return Some(format!("of profile {id} there are {found:?}, the rows say {wanted:?}"));
            }
        }
        let found = (&self.peers, &self.awaited, &self.short, &self.suspects);
        let wanted = (&expected.peers, &expected.awaited, &expected.short, &expected.suspects);
        let agree = found == wanted && self.reach.agrees(&expected.reach);
        (!agree).then(|| {
            format!("the indexes are {found:?}, the rows say {wanted:?}, or executors are elsewhere")
        })
    }
}
