//! The exclusion of executors and hosts, and its end.

mod comparison;
mod evidence;
mod failure_limits;
mod failure_rates;
pub(super) mod health_tracker;
pub(super) mod suspicion;

use std::collections::BTreeSet;

use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::time::Timestamp;

use self::health_tracker::{Affected, NewExclusion};
use super::executors::executor::{Executor, Trust};
use super::{Driver, ExclusionCause, Note, Readmission};

impl Driver {
    /// Excludes executors and hosts if other executors can do their work. Ends expired exclusions. If no other executor
    /// is left, readmits an excluded one.
    pub(super) fn update_exclusions(&mut self, now: Timestamp) {
        let over = self.health.expire(now);
        let host_of = |executor| self.executors.get(executor).map(|row| row.host.clone());
        for cause in self.health.to_exclude(host_of) {
            if cause.is_again() || self.can_do_without(&cause) {
                let there = self.executors.iter().filter(|(id, row)| is_affected(&cause, *id, row));
                let there: Vec<ExecutorId> = there.map(|(id, _)| id).collect();
                let timeout = self.health.exclude(&NewExclusion { cause: &cause, there: &there, now });
                self.effects.note(Note::Excluded { cause, timeout });
                self.apply_exclusions(Readmission::TimeIsUp);
            }
        }
        if !self.health.hosts().is_empty() && !self.executors.iter().any(|(_, row)| row.could_offer()) {
            // The Master launches no executors on excluded hosts, and other hosts may have no free resources.
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

    /// A task begins on an executor. If the task is a trial, the executor gets no other task.
    pub(super) fn begin_on(&mut self, now: Timestamp, task: TaskId, executor: ExecutorId) {
        let host = &self.executors.live(executor).host;
        self.health.launched(task, executor, host, now);
        if self.health.any_excluded() {
            self.apply_exclusions(Readmission::TimeIsUp);
        }
    }

    /// Lets each executor take tasks, except the executors that the health tracker excludes.
    fn apply_exclusions(&mut self, why: Readmission) {
        let change = |(id, row): (ExecutorId, &Executor)| {
            let excluded = self.health.is_excluded(id, &row.host);
            (excluded != (row.trust == Trust::Excluded)).then(|| (id, row.host.clone(), excluded))
        };
        let changed: Vec<_> = self.executors.iter().filter_map(change).collect();
        for (executor, host, excluded) in changed {
            self.executors.set_trust(executor, if excluded { Trust::Excluded } else { Trust::Trusted });
            if !excluded {
                let why = match why {
                    Readmission::NoOtherLeft => why,
                    _ => self.health.readmission(executor, &host),
                };
                self.effects.note(Note::Readmitted { executor, host, why });
            }
        }
    }

    /// Whether enough other executors can do the work of the executors that would be excluded. The other executors have
    /// the same profile and are large enough for every task. Spark's rule needs one such executor. Firesteel's rule
    /// needs as many as would be excluded.
    fn can_do_without(&self, cause: &ExclusionCause) -> bool {
        let large = |row: &Executor| row.could_offer() && row.cores >= self.tasks.largest(row.profile);
        let all = || self.executors.iter().filter(|(_, row)| large(row));
        let able = || all().filter(|(_, row)| row.trust == Trust::Trusted);
        let others = || able().filter(|(id, row)| !is_affected(cause, *id, row));
        let enough = |profile| {
            let left = others().filter(|(_, row)| row.profile == profile).count();
            match self.health.spares_half() {
                true => 2 * left >= all().filter(|(_, row)| row.profile == profile).count(),
                false => left > 0,
            }
        };
        let hit: BTreeSet<ProfileId> =
            able().filter(|(id, row)| is_affected(cause, *id, row)).map(|(_, row)| row.profile).collect();
        others().next().is_some() && hit.into_iter().all(enough)
    }

    /// An excluded executor that should be readmitted, because no equally good executor of its profile takes tasks.
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

/// Whether the executor would get no more tasks because of this exclusion.
fn is_affected(cause: &ExclusionCause, executor: ExecutorId, row: &Executor) -> bool {
    match cause.affected() {
        Affected::Executor(id, _) => id == executor,
        Affected::Host(host) => row.host == host,
    }
}
