//! Which Workers have sent no heartbeat in time.

use std::time::Duration;

use super::WorkerTable;
use crate::ids::WorkerId;
use crate::time::Timestamp;

impl WorkerTable {
    /// When to check for overdue heartbeats next.
    pub(in crate::master) fn next_look(&self) -> Option<Timestamp> {
        self.looks.first().map(|(time, _)| *time)
    }

    /// The next Worker whose heartbeat is overdue, if there is one. Everything that arrived before `heard_until` has been
    /// handled.
    pub(in crate::master) fn next_silent(
        &mut self,
        now: Timestamp,
        heard_until: Timestamp,
        timeout: Duration,
    ) -> Option<WorkerId> {
        while self.next_look()? <= now {
            let (_, id) = self.looks.pop_first()?;
            let row = self.living_mut(&id);
            let silent_at = row.last_heartbeat.silent_at(timeout);
            let is_silent = silent_at <= heard_until;
            row.look = if is_silent { silent_at } else { now + silent_at.since(heard_until) };
            let look = row.look;
            self.looks.insert((look, id.clone()));
            if is_silent {
                return Some(id);
            }
        }
        None
    }

    /// Gives every Worker that is overdue, and was not excused since its last heartbeat, its time again. Returns their
    /// number.
    pub(in crate::master) fn excuse_silent(&mut self, now: Timestamp, timeout: Duration) -> usize {
        let overdue: Vec<(Timestamp, WorkerId)> =
            self.looks.iter().take_while(|(time, _)| *time <= now).cloned().collect();
        let mut excused = 0;
        for (time, id) in overdue {
            let row = self.living_mut(&id);
            if row.last_heartbeat.silent_at(timeout) > now || !row.last_heartbeat.excuse(now) {
                continue;
            }
            row.look = row.last_heartbeat.silent_at(timeout);
            let look = row.look;
            self.looks.remove(&(time, id.clone()));
            self.looks.insert((look, id));
            excused += 1;
        }
        excused
    }
}
