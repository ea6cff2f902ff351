//! Firesteel's own rule: excludes executors and hosts that are worse than the application's other executors and hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::time::{Timestamp, doubled};

use super::failure_rates::{FailureRates, Subject};
use super::health_tracker::{Affected, NewExclusion, Success};
use crate::driver::ExclusionCause;

/// How long the first exclusion lasts. This time doubles after each failed trial.
const FIRST: Duration = Duration::from_secs(60);
/// The longest time that an exclusion lasts.
const LONGEST: Duration = Duration::from_secs(900);
/// After this many executors in a row have failed to start on a host, the driver avoids the host.
const FAILED_STARTS: u32 = 2;

/// Compares executors of the same profile with each other, and the hosts of these executors.
///
/// As in Spark, a failed task counts against an executor once it has succeeded on another one; a task that fails
/// everywhere counts against no executor. [`Evidence`](super::evidence::Evidence) decides what such failures prove. An
/// executor or host that is proven worse than the others is excluded for a minute. Then one task is tried there. If it
/// succeeds, the executor or host is trusted again; if it fails and succeeds elsewhere, it is excluded for twice as
/// long.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Comparison {
    executors: BTreeMap<ProfileId, FailureRates>,
    hosts: BTreeMap<ProfileId, FailureRates>,
    /// Executors and hosts that are proven worse than the others, and have not been excluded since this was proven.
    suspects: BTreeSet<Subject>,
    /// Executors and hosts that were excluded and are not trusted again yet.
    records: BTreeMap<Subject, Record>,
    /// The hosts where executors failed to start.
    starts: BTreeMap<String, FailedStarts>,
    /// How many times a host was excluded or readmitted.
    changes: u64,
    /// Whether an executor or a host was trusted again, or became due for a trial, since the last call.
    readmitted: bool,
    /// Whether a trial began since the last call.
    trial_began: bool,
}

/// The history of an executor or a host that was excluded.
#[derive(Clone, Debug)]
struct Record {
    host: String,
    /// How many times the executor or host was excluded.
    times: u32,
    trust: TrustState,
}

/// The state of trust in an executor or a host.
///
/// ```text
///  TRUSTED --worse than the others--> EXCLUDED --time--> DUE --a task is launched--> TRIED --failed--> FAILED
///     ^  ^                               ^                ^                           | |                | |
///     |  `- succeeded, or runs for long -|----------------|---------------------------' |                | |
///     |                                  |                `--- ended in another way ----'                | |
///     |                                  |                ^---------------- failed everywhere -----------' |
///     |                                  `--- CONVICTED <-------------------- succeeded elsewhere ---------'
///     `--- no other is left, from each state
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrustState {
    /// The executor or host gets tasks.
    Trusted,
    /// The executor or host gets no tasks until this time.
    Excluded(Timestamp),
    /// The next task of the executor or host is a trial.
    Due,
    /// This task is the trial. If it is still running at this time, the executor or host is trusted again.
    Tried(TaskId, Timestamp),
    /// The trial's task failed here and has not ended elsewhere yet.
    Failed(TaskId),
    /// The trial's task failed here and succeeded elsewhere.
    Convicted,
}

impl TrustState {
    fn takes_tasks(self) -> bool {
        match self {
            Self::Trusted | Self::Due => true,
            Self::Excluded(_) | Self::Tried(..) | Self::Failed(_) | Self::Convicted => false,
        }
    }

    /// The task of the trial, whose result decides about trust.
    fn trial(self) -> Option<TaskId> {
        match self {
            Self::Tried(task, _) | Self::Failed(task) => Some(task),
            Self::Trusted | Self::Due | Self::Excluded(_) | Self::Convicted => None,
        }
    }

    /// The time at which the state changes without an event.
    fn until(self) -> Option<Timestamp> {
        match self {
            Self::Excluded(until) | Self::Tried(_, until) => Some(until),
            Self::Trusted | Self::Due | Self::Failed(_) | Self::Convicted => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct FailedStarts {
    /// The number of failed starts in a row, since the host was last avoided.
    in_a_row: u32,
    /// How many times in a row the host was avoided.
    times: u32,
    /// Until when the host is avoided.
    until: Option<Timestamp>,
}

impl Comparison {
    pub(in crate::driver) fn is_excluded(&self, executor: ExecutorId, host: &str) -> bool {
        !self.records.is_empty()
            && self.records.iter().any(|(subject, record)| {
                !record.trust.takes_tasks()
                    && match subject {
                        Subject::Executor(id) => *id == executor,
                        Subject::Host(name) => name == host,
                    }
            })
    }

    pub(in crate::driver) fn any_excluded(&self) -> bool {
        self.records.values().any(|record| !record.trust.takes_tasks())
    }

    /// Whether the next task on this executor is a trial.
    pub(in crate::driver) fn is_due(&self, executor: ExecutorId, host: &str) -> bool {
        let due = |subject| self.records.get(&subject).is_some_and(|record| record.trust == TrustState::Due);
        due(Subject::Executor(executor)) || due(Subject::Host(host.to_owned()))
    }

    pub(in crate::driver) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether an executor or a host was trusted again, or became due for a trial, since the last call.
    pub(super) fn take_readmitted(&mut self) -> bool {
        std::mem::take(&mut self.readmitted)
    }

    /// Whether a trial began since the last call.
    pub(in crate::driver) fn take_trial_began(&mut self) -> bool {
        std::mem::take(&mut self.trial_began)
    }

    /// The hosts where the driver wants no executors, in order.
    pub(in crate::driver) fn hosts(&self) -> BTreeSet<&str> {
        let excluded = self.records.iter().filter_map(|(subject, record)| match subject {
            Subject::Host(host) if !record.trust.takes_tasks() => Some(host.as_str()),
            Subject::Host(_) | Subject::Executor(_) => None,
        });
        let avoided = self.starts.iter().filter(|(_, starts)| starts.until.is_some());
        excluded.chain(avoided.map(|(host, _)| host.as_str())).collect()
    }

    pub(super) fn readmit_hosts(&mut self) -> Vec<String> {
        let hosts: Vec<String> = self.hosts().into_iter().map(str::to_owned).collect();
        for host in &hosts {
            self.starts.remove(host);
            self.trust_host(host);
        }
        self.changes += 1;
        hosts
    }

    /// A task begins on an executor. The task is a trial if the executor is due for one.
    pub(in crate::driver) fn launched(
        &mut self,
        task: TaskId,
        executor: ExecutorId,
        host: &str,
        now: Timestamp,
    ) {
        if self.records.is_empty() {
            return;
        }
        for subject in [Subject::Executor(executor), Subject::Host(host.to_owned())] {
            let Some(record) = self.records.get_mut(&subject) else { continue };
            if record.trust == TrustState::Due {
                record.trust = TrustState::Tried(task, now + delay(record.times));
                self.trial_began = true;
            }
        }
    }

    /// A task failed on an executor, and will be retried.
    pub(in crate::driver) fn failed(&mut self, task: TaskId) {
        for record in self.records.values_mut() {
            if matches!(record.trust, TrustState::Tried(tried, _) if tried == task) {
                record.trust = TrustState::Failed(task);
            }
        }
    }

    /// A task ended without success on any executor. If the task was a trial, the next task is the trial.
    pub(in crate::driver) fn over(&mut self, task: TaskId) {
        for record in self.records.values_mut() {
            if record.trust.trial() == Some(task) {
                record.trust = TrustState::Due;
                self.readmitted = true;
            }
        }
    }

    /// A task succeeded. The success counts in favour of its executor, and against the executors where the task failed
    /// before.
    pub(in crate::driver) fn succeeded(&mut self, success: &Success) {
        let Success { task, profile, on, host, .. } = success;
        let (here, at) = (Subject::Executor(*on), Subject::Host(host.clone()));
        let executors = self.executors.entry(*profile).or_default();
        executors.succeeded(&here);
        for (executor, _) in success.failed_on.iter().filter(|(executor, _)| executor != on) {
            // An executor that has ended need not be excluded, but its host may be.
            if success.live.contains(executor) {
                let subject = Subject::Executor(*executor);
                executors.failed(&subject, *executor);
                if executors.convinced(&subject).is_some() {
                    self.suspects.insert(subject);
                }
            }
        }
        let hosts = self.hosts.entry(*profile).or_default();
        hosts.succeeded(&at);
        let elsewhere = success.failed_on.iter().filter(|(_, failed_at)| failed_at != host);
        let failed_at: BTreeMap<&String, ExecutorId> = elsewhere.map(|(id, host)| (host, *id)).collect();
        for (host, executor) in failed_at {
            let subject = Subject::Host(host.clone());
            hosts.failed(&subject, executor);
            if hosts.convinced(&subject).is_some() {
                self.suspects.insert(subject);
            }
        }
        self.judge(*task, success);
        self.clear(&here);
        self.clear(&at);
    }

    /// Handles the success of a task that may have been a trial.
    fn judge(&mut self, task: TaskId, success: &Success) {
        let tried = self.records.iter().filter(|(_, record)| record.trust.trial() == Some(task));
        let tried: Vec<Subject> = tried.map(|(subject, _)| subject.clone()).collect();
        for subject in tried {
            let (passed, failed) = match &subject {
                Subject::Executor(id) => {
                    (*id == success.on, success.failed_on.iter().any(|(executor, _)| executor == id))
                }
                Subject::Host(name) => {
                    (*name == success.host, success.failed_on.iter().any(|(_, host)| host == name))
                }
            };
            if passed {
                self.trust(&subject);
            } else if let Some(record) = self.records.get_mut(&subject) {
                record.trust = if failed { TrustState::Convicted } else { TrustState::Due };
                self.readmitted |= !failed;
            }
        }
    }

    /// A task succeeded on this executor or host. This may end the suspicion against the executor or host.
    fn clear(&mut self, subject: &Subject) {
        if self.suspects.contains(subject)
            && !self.rates_of(subject).any(|rates| rates.convinced(subject).is_some())
        {
            self.suspects.remove(subject);
        }
        let trusted = self.records.contains_key(subject) && self.is_trusted(subject);
        if trusted && self.rates_of(subject).all(|rates| rates.is_cleared(subject)) {
            self.records.remove(subject);
        }
    }

    /// Trusts an executor or a host again. A few failures are enough to end this trust.
    fn trust(&mut self, subject: &Subject) {
        if let Some(record) = self.records.get_mut(subject) {
            record.trust = TrustState::Trusted;
            self.readmitted = true;
            self.changes += u64::from(matches!(subject, Subject::Host(_)));
            self.rates_of_mut(subject).for_each(|rates| rates.put_on_probation(subject));
        }
    }

    fn trust_host(&mut self, host: &str) {
        let there = self.records.iter().filter(|(_, record)| record.host == host);
        let there: Vec<Subject> = there.map(|(subject, _)| subject.clone()).collect();
        there.iter().for_each(|subject| self.trust(subject));
    }

    fn rates_of(&self, subject: &Subject) -> impl Iterator<Item = &FailureRates> {
        match subject {
            Subject::Executor(_) => self.executors.values(),
            Subject::Host(_) => self.hosts.values(),
        }
    }

    fn rates_of_mut(&mut self, subject: &Subject) -> impl Iterator<Item = &mut FailureRates> {
        match subject {
            Subject::Executor(_) => self.executors.values_mut(),
            Subject::Host(_) => self.hosts.values_mut(),
        }
    }

    pub(in crate::driver) fn start_failed(&mut self, host: &str) {
        let starts = self.starts.entry(host.to_owned()).or_default();
        starts.in_a_row = starts.in_a_row.saturating_add(1);
    }

    pub(in crate::driver) fn started(&mut self, host: &str) {
        if self.starts.remove(host).is_some_and(|starts| starts.until.is_some()) {
            self.changes += 1;
        }
    }

    /// Forgets an executor that has ended. The executor's number is not used again.
    pub(in crate::driver) fn executor_ended(&mut self, executor: ExecutorId) {
        let subject = Subject::Executor(executor);
        self.rates_of_mut(&subject).for_each(|rates| rates.remove(&subject));
        self.records.remove(&subject);
        self.suspects.remove(&subject);
    }

    /// Forgets all executors, because the Master starts to number executors again.
    pub(in crate::driver) fn forget_executors(&mut self) {
        self.executors.clear();
        self.records.retain(|subject, _| matches!(subject, Subject::Host(_)));
        self.suspects.retain(|subject| matches!(subject, Subject::Host(_)));
    }

    /// The executors and hosts to exclude. `host_of` names the host of a live executor.
    pub(super) fn to_exclude(&self, host_of: impl Fn(ExecutorId) -> Option<String>) -> Vec<ExclusionCause> {
        let convicted = self.records.iter().filter(|(_, record)| record.trust == TrustState::Convicted);
        let again = convicted.map(|(subject, record)| match subject {
            Subject::Executor(executor) => {
                ExclusionCause::ExecutorAgain { executor: *executor, host: record.host.clone() }
            }
            Subject::Host(host) => ExclusionCause::HostAgain { host: host.clone() },
        });
        let worse = self.suspects.iter().filter_map(|subject| self.verdict(subject, &host_of));
        let failing = self.starts.iter().filter(|(_, starts)| {
            let enough = if starts.times == 0 { FAILED_STARTS } else { 1 };
            starts.until.is_none() && starts.in_a_row >= enough
        });
        let avoided = failing.map(|(host, starts)| ExclusionCause::HostAvoided {
            host: host.clone(),
            starts: starts.in_a_row,
        });
        again.chain(worse).chain(avoided).collect()
    }

    /// Whether and how to exclude a suspect.
    fn verdict(
        &self,
        suspect: &Subject,
        host_of: &impl Fn(ExecutorId) -> Option<String>,
    ) -> Option<ExclusionCause> {
        let spell = self.rates_of(suspect).find_map(|rates| rates.convinced(suspect))?;
        let (failed, ended) = (spell.failed, spell.ended);
        if !self.is_trusted(suspect) {
            return None;
        }
        match suspect {
            Subject::Executor(executor) => {
                let (executor, host) = (*executor, host_of(*executor)?);
                let at_trusted = self.is_trusted(&Subject::Host(host.clone()));
                at_trusted.then_some(ExclusionCause::WorseExecutor { executor, host, failed, ended })
            }
            // One bad executor does not make a bad host.
            Subject::Host(host) => spell.on_several.then(|| {
                let host = host.clone();
                ExclusionCause::WorseHost { host, failed, ended }
            }),
        }
    }

    fn is_trusted(&self, subject: &Subject) -> bool {
        self.records.get(subject).is_none_or(|record| record.trust == TrustState::Trusted)
    }

    /// Excludes an executor or a host. Each exclusion lasts twice as long as the one before. Returns its duration.
    pub(super) fn exclude(&mut self, &NewExclusion { cause, there, now }: &NewExclusion<'_>) -> Duration {
        if let ExclusionCause::HostAvoided { host, .. } = cause {
            self.changes += 1;
            return self.avoid(host, now);
        }
        match cause.affected() {
            Affected::Executor(executor, host) => {
                self.exclude_subject(&Subject::Executor(executor), host, now)
            }
            Affected::Host(host) => {
                // The failures of its executors were those of the host.
                for executor in there.iter().copied().map(Subject::Executor) {
                    self.records.remove(&executor);
                    self.suspects.remove(&executor);
                    self.rates_of_mut(&executor).for_each(|rates| rates.settle(&executor));
                }
                self.changes += 1;
                self.exclude_subject(&Subject::Host(host.to_owned()), host, now)
            }
        }
    }

    /// Avoids a host for some time. Returns for how long.
    fn avoid(&mut self, host: &str, now: Timestamp) -> Duration {
        let starts = self.starts.entry(host.to_owned()).or_default();
        starts.times = starts.times.saturating_add(1);
        starts.in_a_row = 0;
        let delay = delay(starts.times);
        starts.until = Some(now + delay);
        delay
    }

    fn exclude_subject(&mut self, subject: &Subject, host: &str, now: Timestamp) -> Duration {
        self.suspects.remove(subject);
        self.rates_of_mut(subject).for_each(|rates| rates.settle(subject));
        let fresh = || Record { host: host.to_owned(), times: 0, trust: TrustState::Trusted };
        let record = self.records.entry(subject.clone()).or_insert_with(fresh);
        record.times = record.times.saturating_add(1);
        let delay = delay(record.times);
        record.trust = TrustState::Excluded(now + delay);
        delay
    }

    /// Ends the exclusion of an executor and of its host, with all executors on that host.
    pub(super) fn readmit(&mut self, executor: ExecutorId, host: &str) {
        self.trust(&Subject::Executor(executor));
        let at = Subject::Host(host.to_owned());
        if self.records.get(&at).is_some_and(|record| !record.trust.takes_tasks()) {
            self.trust_host(host);
        }
    }

    /// The next time at which a state changes without an event.
    pub(in crate::driver) fn deadline(&self) -> Option<Timestamp> {
        let records = self.records.values().filter_map(|record| record.trust.until());
        records.chain(self.starts.values().filter_map(|starts| starts.until)).min()
    }

    /// Ends exclusions and trials whose time is over.
    pub(super) fn expire(&mut self, now: Timestamp) {
        let over = |record: &Record| record.trust.until().is_some_and(|until| until <= now);
        let over: Vec<Subject> = self
            .records
            .iter()
            .filter(|(_, record)| over(record))
            .map(|(subject, _)| subject.clone())
            .collect();
        for subject in over {
            let Some(record) = self.records.get_mut(&subject) else { continue };
            if matches!(record.trust, TrustState::Tried(..)) {
                self.trust(&subject);
            } else {
                record.trust = TrustState::Due;
                self.readmitted = true;
                self.changes += u64::from(matches!(subject, Subject::Host(_)));
            }
        }
        for starts in self.starts.values_mut() {
            if starts.until.is_some_and(|until| until <= now) {
                starts.until = None;
                self.changes += 1;
            }
        }
    }
}

/// The duration of exclusion number `times`.
fn delay(times: u32) -> Duration {
    doubled(FIRST, times.saturating_sub(1), LONGEST)
}
