//! Excluding executors and hosts, and readmitting them.

use super::executor::{Executor, Trust};
use super::health_tracker::ExclusionCause;
use super::{Driver, Note, Readmission};
use crate::ids::ExecutorId;
use crate::time::Timestamp;

impl Driver {
    /// Excludes executors and hosts while another executor can do their work, ends exclusions that have expired, and
    /// readmits an executor if no other is left.
    pub(super) fn update_exclusions(&mut self, now: Timestamp) {
        let over = self.health.expire(now);
        for cause in self.health.to_exclude() {
            if self.can_do_without(&cause) {
                self.health.exclude(&cause, now);
                self.effects.note(Note::Excluded { cause, timeout: self.health.timeout() });
                self.apply_exclusions(Readmission::TimeIsUp);
            }
        }
        if self.health.any_host() && !self.executors.iter().any(|(_, row)| row.could_offer()) {
            // The Master launches no executors on excluded hosts, and may have no room elsewhere.
            let hosts = self.health.readmit_hosts();
            self.apply_exclusions(Readmission::NoOtherLeft);
            self.effects.note(Note::HostsReadmitted { hosts });
        }
        if over || self.health.any_excluded() {
            self.apply_exclusions(Readmission::TimeIsUp);
            while let Some((executor, host)) = self.last_resort() {
                self.health.readmit(executor, &host);
                self.apply_exclusions(Readmission::NoOtherLeft);
            }
        }
    }

    /// Gives tasks to exactly the executors that the health tracker does not exclude.
    fn apply_exclusions(&mut self, why: Readmission) {
        let change = |(id, row): (ExecutorId, &Executor)| {
            let excluded = self.health.is_excluded(id, &row.host);
            (excluded != (row.trust == Trust::Excluded)).then(|| (id, row.host.clone(), excluded))
        };
        let changed: Vec<_> = self.executors.iter().filter_map(change).collect();
        for (executor, host, excluded) in changed {
            self.executors.set_trust(executor, if excluded { Trust::Excluded } else { Trust::Trusted });
            if !excluded {
                self.effects.note(Note::Readmitted { executor, host, why });
            }
        }
    }

    /// Whether another executor of the same profile, large enough for every task, can do the work of what would be
    /// excluded.
    fn can_do_without(&self, cause: &ExclusionCause) -> bool {
        let is_hit = |id: ExecutorId, row: &Executor| match cause {
            ExclusionCause::Executor { executor, .. } => id == *executor,
            ExclusionCause::HostOfExcluded { host, .. } | ExclusionCause::HostOfFailedStarts { host, .. } => {
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

    /// An excluded executor to readmit, since no executor of its profile that is as good gets tasks.
    pub(super) fn last_resort(&self) -> Option<(ExecutorId, String)> {
        if !self.health.any_excluded() {
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
