//! Excluding executors and hosts, and taking them back.

use super::exclusion::Culprit;
use super::executor::{Executor, Trust};
use super::{Driver, Note, Readmission};
use crate::ids::ExecutorId;
use crate::time::Timestamp;

impl Driver {
    /// Excludes what is due as long as another executor could do the work, ends what is over, and takes back the
    /// first executor of all when there is no other left.
    pub(super) fn judge(&mut self, now: Timestamp) {
        let over = self.record.expire(now);
        for culprit in self.record.due() {
            if self.can_do_without(&culprit) {
                self.record.exclude(&culprit, now);
                self.effects.note(Note::Excluded { culprit, timeout: self.record.timeout() });
                self.apply_record(Readmission::TimeIsUp);
            }
        }
        if self.record.any_host() && !self.executors.iter().any(|(_, row)| row.could_offer()) {
            // The Master launches none there, and elsewhere there may be no room.
            let hosts = self.record.pardon_hosts();
            self.apply_record(Readmission::NoOtherLeft);
            self.effects.note(Note::HostsReadmitted { hosts });
        }
        if over || self.record.any_excluded() {
            self.apply_record(Readmission::TimeIsUp);
            while let Some((executor, host)) = self.last_resort() {
                self.record.pardon(executor, &host);
                self.apply_record(Readmission::NoOtherLeft);
            }
        }
    }

    /// Makes the executors' table what the record says.
    fn apply_record(&mut self, why: Readmission) {
        let verdict = |(id, row): (ExecutorId, &Executor)| {
            let excluded = self.record.is_excluded(id, &row.host);
            (excluded != (row.trust == Trust::Excluded)).then(|| (id, row.host.clone(), excluded))
        };
        let changed: Vec<_> = self.executors.iter().filter_map(verdict).collect();
        for (executor, host, excluded) in changed {
            self.executors.set_trust(executor, if excluded { Trust::Excluded } else { Trust::Trusted });
            if !excluded {
                self.effects.note(Note::Readmitted { executor, host, why });
            }
        }
    }

    /// Whether another executor, of the same profile and large enough for every task, goes on without it.
    fn can_do_without(&self, culprit: &Culprit) -> bool {
        let is_hit = |id: ExecutorId, row: &Executor| match culprit {
            Culprit::Executor { executor, .. } => id == *executor,
            Culprit::HostOfExcluded { host, .. } | Culprit::HostOfFailedStarts { host, .. } => {
                row.host == *host
            }
        };
        let able = || {
            let rows = self.executors.iter().filter(|(_, row)| row.could_offer());
            rows.filter(|(_, row)| {
                row.trust == Trust::Trusted && row.cores >= self.tasks.largest(row.profile)
            })
        };
        let others = || able().filter(|(id, row)| !is_hit(*id, row));
        let mut hit = able().filter(|(id, row)| is_hit(*id, row));
        others().next().is_some()
            && hit.all(|(_, row)| others().any(|(_, other)| other.profile == row.profile))
    }

    /// An excluded executor that is the best there is of its profile.
    pub(super) fn last_resort(&self) -> Option<(ExecutorId, String)> {
        if !self.record.any_excluded() {
            return None;
        }
        let could = || self.executors.iter().filter(|(_, row)| row.could_offer());
        let mut excluded = could().filter(|(_, row)| row.trust == Trust::Excluded);
        let alone = excluded.find(|(_, row)| {
            let enough = row.cores.min(self.tasks.largest(row.profile));
            let mut others = could().filter(|(_, other)| other.profile == row.profile);
            !others.any(|(_, other)| other.trust == Trust::Trusted && other.cores >= enough)
        });
        alone.map(|(id, row)| (id, row.host.clone()))
    }
}
