//! The preferred hosts of tasks, and the law for the time that tasks wait for these hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_engine::driver::{Driver, Exclusion, ExclusionPolicy, ExecutorViewState, LocalityWait};
use firesteel_placement::advanced::locality::{Locality, Topology, nearness};
use firesteel_protocol::ids::{AttemptId, ProfileId};

use firesteel_sim::dice::Dice;

/// The preferred hosts of an application's tasks.
#[derive(Clone, Debug, Default)]
pub struct LocalityPlan {
    /// The rack of each host.
    pub topology: Topology,
    /// The preferred hosts by task. Tasks without preferred hosts have no entry.
    pub hosts: BTreeMap<u64, Vec<String>>,
    pub exclusion: ExclusionPolicy,
    /// How long tasks wait for their preferred hosts, and then for the racks of these hosts.
    pub waits: [Duration; 2],
}

impl LocalityPlan {
    /// A random plan for this number of tasks and machines. Half of all applications have no preferred hosts.
    pub(crate) fn rolled(dice: &mut Dice, workers: usize, tasks: usize) -> Self {
        let waits = [(); 2].map(|()| Duration::from_millis(*dice.pick(&[0, 500, 3_000, 3_000, 20_000])));
        // Only a part of the time in which an application must end, because all but one executor may be excluded; less
        // for an application with hundreds of tasks.
        let longest = if tasks > 40 { 90_000 } else { 900_000 };
        let exclusion = ExclusionPolicy {
            exclusion: match dice.below(5) {
                0 => Exclusion::Off,
                1 | 2 => Exclusion::ByComparison,
                _ => Exclusion::ByLimits,
            },
            timeout: Duration::from_millis(*dice.pick(&[1_000, 30_000, longest])),
            max_failed_tasks_per_executor: u32::try_from(dice.between(1, 2)).expect("it is small"),
            max_failed_executors_per_host: u32::try_from(dice.between(1, 2)).expect("it is small"),
            ..ExclusionPolicy::default()
        };
        if dice.one_in(2) {
            return Self { exclusion, waits, ..Self::default() };
        }
        let mut rows = Vec::new();
        let racks = dice.between(1, 3);
        for number in 0..workers {
            if !dice.one_in(4) {
                rows.push((format!("host{number}"), format!("/rack{}", dice.below(racks))));
            }
        }
        let mut hosts = BTreeMap::new();
        for task in 0..tasks as u64 {
            if !dice.one_in(3) {
                // One host more than there are machines, so that no executor is on the last one.
                let host = |dice: &mut Dice| format!("host{}", dice.below(workers as u64 + 1));
                hosts.insert(task, (0..dice.between(1, 3)).map(|_| host(dice)).collect());
            }
        }
        Self { topology: rows.into_iter().collect(), hosts, exclusion, waits }
    }

    /// The waiting times for locality in the driver's settings.
    pub(crate) fn wait(&self) -> LocalityWait {
        LocalityWait { node: self.waits[0], rack: self.waits[1] }
    }

    pub(crate) fn hosts_of(&self, task: u64) -> Vec<String> {
        self.hosts.get(&task).cloned().unwrap_or_default()
    }
}

/// The waiting tasks with preferred hosts at a driver, by profile, as the driver's owner and its executors see them.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    profiles: BTreeMap<ProfileId, WaitingOfOne>,
}

#[derive(Debug, Default)]
struct WaitingOfOne {
    tasks: BTreeSet<u64>,
    /// Since when at least one task has been waiting, in milliseconds of virtual time.
    since: Option<u64>,
}

impl Waiting {
    /// Adds a waiting task, which was submitted or whose attempt has failed.
    pub(crate) fn add(&mut self, plan: &LocalityPlan, profile: ProfileId, task: u64, now: u64) {
        if plan.hosts.contains_key(&task) {
            let waiting = self.profiles.entry(profile).or_default();
            waiting.tasks.insert(task);
            waiting.since.get_or_insert(now);
        }
    }

    /// Removes a task that no longer waits.
    pub(crate) fn take(&mut self, task: u64) {
        for waiting in self.profiles.values_mut() {
            waiting.tasks.remove(&task);
            if waiting.tasks.is_empty() {
                waiting.since = None;
            }
        }
    }

    /// Checks that the first attempt at a task is launched near a preferred host, or after the waiting time.
    pub(crate) fn launch(
        &mut self,
        plan: &LocalityPlan,
        driver: &Driver,
        profile: ProfileId,
        attempt: AttemptId,
        now: u64,
    ) -> Result<(), String> {
        let task = attempt.task.0;
        let since = self.profiles.get(&profile).and_then(|waiting| waiting.since);
        let waited = Duration::from_millis(now - since.unwrap_or(now));
        self.take(task);
        let Some(hosts) = plan.hosts.get(&task).filter(|_| attempt.attempt == 0) else { return Ok(()) };
        let wanted = plan.topology.sites(hosts.iter().map(String::as_str));
        let level = |host: &str| nearness(&wanted, &plan.topology.sites([host]));
        let view = driver.view();
        let Some(place) = view.executors.iter().find(|executor| executor.running.contains(&attempt.task))
        else {
            return Err(format!("attempt {attempt} is launched, and the driver shows it on no executor"));
        };
        let same = view.executors.iter().filter(|executor| executor.profile == place.profile);
        let in_reach = same.filter(|executor| match executor.state {
            ExecutorViewState::Announced | ExecutorViewState::Offering => true,
            ExecutorViewState::Excluded | ExecutorViewState::Leaving | ExecutorViewState::Away => false,
        });
        let best = in_reach.map(|executor| level(&executor.host)).min().unwrap_or(Locality::Any);
        let (taken, [node, rack]) = (level(&place.host), plan.waits);
        if taken > best && waited < node.min(rack) {
            return Err(format!(
                "attempt {attempt} is launched at level {taken} though {best} can be had, after a wait of \
                 {waited:?} only"
            ));
        }
        Ok(())
    }
}
