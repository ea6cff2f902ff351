//! The row of an application: its demands, its executors and its failures.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::explain::shortfall::Amounts;
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, ResourceAmounts};
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationState, ExecutorLaunch, ExecutorState, ExecutorTarget, ExecutorWork,
    ResourceProfile, Shared, limit_after_final_end,
};
use firesteel_protocol::scheduling::ServingOrder;
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::scheduling::run_time;
use firesteel_protocol::time::Timestamp;

use crate::tables::applications::backlog::Shape;
use crate::tables::applications::exclusions::Exclusions;
use crate::tables::applications::health::ApplicationHealth;
use crate::tables::applications::host_preferences::LimitedPreferences;
use crate::tables::applications::turn::Turn;
use crate::tables::capacity::{self, Grant};
use crate::tables::executors::executor::{Executor, Probation};
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::executors::table::ExecutorTable;
use crate::tables::link::Link;
use crate::tables::long_sorted::LongSorted;
use crate::tables::workers::row::WorkerRow;
use crate::users::Room;

/// The memory of an executor if the application sets none. Source: Spark Master, 4.0.1.
pub(crate) const DEFAULT_MEMORY: MiB = MiB(1024);

/// The maximum number of ended executors that are remembered for an application.
const ENDED_LIMIT: usize = 1000;

#[derive(Debug)]
pub(crate) struct Application {
    pub(crate) id: AppId,
    pub(crate) description: ApplicationDescription,
    /// The command of the application's executors, in the form that Workers get.
    work: Shared<ExecutorWork>,
    /// The same command for Workers with a label, which also get the driver's own description.
    labelled_work: Shared<ExecutorWork>,
    /// The link to the application's driver.
    pub(crate) link: Link,
    /// The application's number in the order of registration.
    pub(crate) sequence: u64,
    pub(crate) queue: usize,
    pub(crate) submitted: Timestamp,
    /// The application's own estimate of its run time, from its start.
    pub(crate) run_time: Option<Duration>,
    /// The application's turn among the applications of its queue with the same priority.
    pub(crate) turn: Turn,
    pub(crate) state: ApplicationState,
    pub(crate) max_cores: Cores,
    pub(crate) preferences: LimitedPreferences,
    /// The application's label. A Worker with a label must have a release in common with it.
    pub(crate) label: Option<Label>,
    pub(crate) cores_granted: Cores,
    /// What the application's user may still get.
    pub(crate) room: Room,
    /// The cores of executors whose end was final. Always zero if the application has no maximum of cores.
    pub(crate) cores_spent: Cores,
    pub(crate) profiles: BTreeMap<ProfileId, Profile>,
    pub(crate) executors: ExecutorTable,
    pub(crate) next_executor: u32,
    /// The Workers that ever ran one of the application's executors.
    pub(crate) workers: LongSorted<WorkerId>,
    pub(crate) failures: Failures,
    pub(crate) exclusions: Exclusions,
    /// The recorded consequences of the application's failures, if there are any.
    pub(crate) recorded: Option<Box<ApplicationHealth>>,
    /// The application's demands in the backlog: they wait, because they fit on no Worker.
    pub(crate) filed: Vec<(ProfileId, Arc<Shape>)>,
    pub(crate) ended: VecDeque<ExecutorRecord>,
    /// The number of ended executors that are no longer remembered.
    pub(crate) forgotten: u64,
    /// The memory that the description takes, in bytes.
    described: u64,
}

/// The Master's additions to the description of a new application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) queue: usize,
    pub(crate) max_cores: Cores,
    /// The order in which the applications of a queue are served.
    pub(crate) order: ServingOrder,
    /// The memory that the description takes, in bytes.
    pub(crate) described: u64,
}

/// A resource profile with everything inherited from the default profile, and its number of executors.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) size: ExecutorSize,
    pub(crate) memory: MiB,
    pub(crate) resources: ResourceAmounts,
    pub(crate) limit: ExecutorLimit,
    /// The number of the profile's executors that have not ended.
    pub(crate) held: u64,
    /// The largest number of the profile's executors that were ever wanted at once.
    pub(crate) most_wanted: u64,
}

/// Failures of executors in a row, without a proven executor between them.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    pub(crate) in_a_row: u32,
    pub(crate) hold_until: Option<Timestamp>,
    /// The executors on probation, in the order of their starts. The list may contain ended executors.
    pub(crate) probation: VecDeque<ExecutorId>,
    /// The number of live executors that have passed probation (`Probation::Proven`): they have run long enough.
    pub(crate) proven: u64,
}

impl Profile {
    /// Fills the gaps of the profile `own` from the application's default profile.
    ///
    /// Source: Spark Master, 4.0.1: cores and memory are inherited, custom resources are not.
    pub(crate) fn new(own: &ResourceProfile, default: &ResourceProfile, limit: ExecutorLimit) -> Self {
        Self {
            size: own.cores.or(default.cores).map_or(ExecutorSize::OnePerWorker, ExecutorSize::Fixed),
            memory: own.memory.or(default.memory).unwrap_or(DEFAULT_MEMORY),
            resources: own.resources.clone(),
            limit,
            held: 0,
            most_wanted: 0,
        }
    }

    /// Whether the application wants any executors of the profile.
    pub(crate) fn is_wanted(&self) -> bool {
        self.limit != ExecutorLimit::AtMost(0)
    }
}

impl Application {
    pub(crate) fn new(
        (sequence, id): (u64, AppId),
        description: ApplicationDescription,
        link: Link,
        submitted: Timestamp,
        entry: &Entry,
    ) -> Self {
        let default = Profile::new(&description.profile, &description.profile, description.initial_limit);
        let labelled_work = ExecutorWork {
            app_name: description.name.clone(),
            command: description.command.clone(),
            directory: description.directory.clone(),
            files: description.files.clone(),
        };
        let run_time = run_time::told(description.command.environment());
        let turn = Turn::new(entry.order, submitted, &description, run_time);
        let command = description.command.without_description();
        let work = ExecutorWork { command, ..labelled_work.clone() };
        Self {
            id,
            work: Shared::new(work),
            labelled_work: Shared::new(labelled_work),
            link,
            sequence,
            queue: entry.queue,
            submitted,
            run_time,
            turn,
            state: ApplicationState::Waiting,
            max_cores: entry.max_cores,
            cores_granted: Cores::ZERO,
            room: Room::UNLIMITED,
            preferences: LimitedPreferences::default(),
            label: description.command.label(),
            cores_spent: Cores::ZERO,
            profiles: BTreeMap::from([(ProfileId::DEFAULT, default)]),
            executors: ExecutorTable::default(),
            next_executor: 0,
            workers: LongSorted::default(),
            failures: Failures::default(),
            exclusions: Exclusions::default(),
            recorded: None,
            filed: Vec::new(),
            ended: VecDeque::new(),
            forgotten: 0,
            described: entry.described,
            description,
        }
    }

    /// The memory that the description and the preferences take, in bytes.
    pub(crate) fn weight(&self) -> u64 {
        self.described + self.preferences.weight()
    }

    /// Whether the application may have to be served out of the order of registration.
    pub(super) fn is_special(&self) -> bool {
        self.description.priority != 0 || self.gang_waits()
    }

    pub(crate) fn gang_waits(&self) -> bool {
        self.description.gang > 1 && self.state == ApplicationState::Waiting
    }

    /// The number of executors that the application must get at once, if it starts with a gang. At most the number in
    /// the demand.
    pub(crate) fn gang(&self, demand: &Demand) -> Option<u64> {
        let gang = self.description.gang.min(demand.most_executors());
        (self.gang_waits() && gang > 1).then_some(gang)
    }

    /// The application's present demands by profile. Before a gang has started, only the profile with which it starts.
    pub(crate) fn asks(&self) -> impl Iterator<Item = (ProfileId, Demand)> {
        let demands = self.profiles.iter().map(|(id, profile)| (*id, self.demand(profile)));
        let most = if self.gang_waits() { 1 } else { usize::MAX };
        demands.filter(|(_, demand)| demand.allows_one_more()).take(most)
    }

    /// The amounts that the application's executors hold together.
    pub(crate) fn held(&self) -> Amounts {
        let mut held = Amounts { cores: self.cores_granted, ..Amounts::default() };
        for profile in self.profiles.values() {
            held.add(&Amounts::of_executors(&self.own_demand(profile), profile.held, Cores::ZERO));
        }
        held
    }

    /// Sets a profile's target. The needs of its executors are fixed when the profile is first named. They stay fixed
    /// until the application forgets the profile.
    pub(crate) fn set_target(&mut self, id: ProfileId, profile: &ResourceProfile, limit: ExecutorLimit) {
        let default = &self.description.profile;
        self.profiles.entry(id).or_insert_with(|| Profile::new(profile, default, limit)).limit = limit;
    }

    /// The wanted executors with custom resources, beyond the largest number that was ever wanted, by their demand.
    /// Without a limit, the number is one.
    pub(crate) fn newly_wanted(&mut self) -> Vec<(Demand, u64)> {
        let asks = |profile: &Profile| !profile.resources.is_empty();
        let asking = self.profiles.values().filter(|profile| asks(profile));
        let demands: Vec<Demand> = asking.map(|profile| self.own_demand(profile)).collect();
        let of_profile = |(demand, profile): (Demand, &mut Profile)| {
            let has_limit = self.max_cores < Cores::UNLIMITED || demand.limit != ExecutorLimit::Unlimited;
            let more = if has_limit { demand.most_executors() } else { 1 };
            let wanted = demand.held.saturating_add(more).max(profile.most_wanted);
            let before = std::mem::replace(&mut profile.most_wanted, wanted);
            (demand, wanted - before)
        };
        let asking = self.profiles.values_mut().filter(|profile| asks(profile));
        demands.into_iter().zip(asking).map(of_profile).collect()
    }

    /// The number of profiles after these targets are set. Profiles that would be forgotten do not count.
    pub(crate) fn profiles_with(&self, targets: &[ExecutorTarget]) -> usize {
        let wanted = self.profiles.iter().map(|(id, profile)| (*id, profile.is_wanted()));
        let mut wanted: BTreeMap<ProfileId, bool> = wanted.collect();
        wanted.extend(targets.iter().map(|target| (target.id, target.total > 0)));
        let holds = |id| self.profiles.get(id).is_some_and(|profile| profile.held > 0);
        wanted.iter().filter(|(id, wanted)| **wanted || **id == ProfileId::DEFAULT || holds(id)).count()
    }

    /// Forgets the profiles that are not wanted and have no executors. The default profile stays.
    ///
    /// Source: Spark Master, 4.0.1, which remembers all profiles. Spark's drivers describe a profile anew with each
    /// target, and may use any number of profiles over time.
    pub(crate) fn forget_profiles(&mut self) {
        self.profiles
            .retain(|id, profile| *id == ProfileId::DEFAULT || profile.is_wanted() || profile.held > 0);
    }

    pub(crate) fn profile(&self, id: ProfileId) -> &Profile {
        self.profiles.get(&id).expect("the profile is one of the application's")
    }

    fn profile_mut(&mut self, id: ProfileId) -> &mut Profile {
        self.profiles.get_mut(&id).expect("the profile is one of the application's")
    }

    /// Whether the application's own limits and those of its user allow another executor.
    pub(crate) fn may_have_more(&self) -> bool {
        self.profiles.values().any(|profile| self.demand(profile).allows_one_more())
    }

    /// Whether the application may get executors now. It gets none while it waits after failures, or while its driver
    /// is away.
    pub(crate) fn may_be_served(&self) -> bool {
        self.failures.hold_until.is_none() && self.link.is_here()
    }

    /// The demands that would be served if enough resources were free.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (ProfileId, Shape)> {
        let demands = self.profiles.iter().map(|(id, profile)| (*id, self.demand(profile)));
        let open = demands.filter(|(_, demand)| self.may_be_served() && demand.allows_one_more());
        open.map(|(id, demand)| (id, Shape::of(&demand)))
    }

    /// Whether none of the application's executors can be launched on a Worker now: it must not use the Worker, or the
    /// Worker is excluded for it.
    pub(crate) fn excludes(&self, slot: Slot, row: &WorkerRow) -> bool {
        self.exclusions.excludes(slot) || !self.may_use(row)
    }

    /// Whether the application's executors may run on a Worker: the labels match, and the application does not exclude
    /// the host.
    pub(crate) fn may_use(&self, row: &WorkerRow) -> bool {
        self.is_admitted_by(row) && !self.preferences.avoids(&row.description.host)
    }

    pub(crate) fn is_admitted_by(&self, row: &WorkerRow) -> bool {
        Label::admits(row.description.label.as_ref(), self.label.as_ref())
    }

    /// Whether these amounts are enough for one executor of any profile of the application.
    pub(crate) fn fits(&self, offer: &Offer<'_>) -> bool {
        self.profiles.values().any(|profile| offer.fits(&self.demand(profile)))
    }

    /// What the application may get for this profile, within its own limits and those of its user.
    pub(crate) fn demand(&self, profile: &Profile) -> Demand {
        let mut demand = self.own_demand(profile);
        self.room.limit(&mut demand);
        demand
    }

    /// The same within the application's own limits alone.
    pub(crate) fn own_demand(&self, profile: &Profile) -> Demand {
        Demand {
            size: profile.size,
            memory: profile.memory,
            resources: profile.resources.clone(),
            cores_left: self.max_cores - self.cores_spent - self.cores_granted,
            limit: profile.limit,
            held: profile.held,
        }
    }

    /// The Worker of a live executor, and whether the executor is proven.
    pub(crate) fn place_of(&self, id: ExecutorId) -> (Slot, Probation) {
        let executor = self.executors.get(id).expect("the executor is live");
        (executor.slot, executor.probation)
    }

    pub(crate) fn add_executor(
        &mut self,
        now: Timestamp,
        id: ExecutorId,
        (worker, slot): (WorkerId, Slot),
        profile: ProfileId,
        grant: Grant,
    ) {
        self.cores_granted += grant.cores();
        self.profile_mut(profile).held += 1;
        // Executors that are placed together are added one Worker after the other.
        if self.executors.last().is_none_or(|last| last.slot != slot) {
            self.workers.insert(worker);
        }
        self.next_executor = self.next_executor.max(id.0.saturating_add(1));
        self.state = ApplicationState::Running;
        let executor = Executor { slot, profile, grant, probation: Probation::Launching, launched: now };
        self.executors.insert(id, executor);
    }

    pub(crate) fn order(&self, id: ExecutorId, worker: &WorkerRow) -> ExecutorLaunch {
        let work = if worker.description.label.is_some() { &self.labelled_work } else { &self.work };
        let Executor { profile, grant, .. } = self.executors.get(id).expect("the executor is live");
        let capacity::Holding { cores, memory, .. } = grant.amounts();
        // The executor gets a resource under the name that it asked for.
        let resources = grant.resources().as_asked(&self.profile(*profile).resources);
        let executor = ExecutorKey { app: self.id.clone(), executor: id };
        let (profile, work) = (*profile, work.clone());
        ExecutorLaunch { executor, profile, cores, memory, resources, work, mark: None }
    }

    pub(crate) fn remove_executor(&mut self, id: ExecutorId) -> Executor {
        let executor = self.executors.remove(id).expect("the executor is live");
        self.cores_granted -= executor.grant.cores();
        self.profile_mut(executor.profile).held -= 1;
        if executor.probation.is_proven() {
            self.failures.proven -= 1;
        }
        executor
    }

    /// Lowers the application's wanted number of executors by one, if this executor's end is final.
    pub(crate) fn count_final_end(&mut self, executor: &Executor, end: &ExecutorState) {
        if !self.description.relaunch.is_final(end) {
            return;
        }
        let max_cores = self.max_cores;
        let profile = self.profile_mut(executor.profile);
        profile.limit = limit_after_final_end(profile.limit, max_cores, profile.held);
        if self.max_cores < Cores::UNLIMITED {
            self.cores_spent += executor.grant.cores();
        }
    }

    /// Remembers an ended executor. A full list drops its oldest entry.
    pub(crate) fn remember(&mut self, ended: ExecutorRecord) {
        if self.ended.len() >= ENDED_LIMIT {
            self.ended.pop_front();
            self.forgotten += 1;
        }
        self.ended.push_back(ended);
    }

    /// Records that an executor's process runs. Returns whether the executor is live.
    #[must_use]
    pub(crate) fn start_probation(&mut self, now: Timestamp, id: ExecutorId) -> bool {
        let Some(executor) = self.executors.get_mut(id) else { return false };
        executor.probation = Probation::Running { started: now };
        self.failures.probation.push_back(id);
        true
    }

    /// Ends the probations of executors that have run long enough. If there are any, resets the count of failures.
    /// Returns the newly proven executors, each with its Worker.
    pub(crate) fn end_probations(
        &mut self,
        now: Timestamp,
        proven_after: Duration,
    ) -> Vec<(Slot, ExecutorId)> {
        let mut proven = Vec::new();
        let Failures { probation, in_a_row, proven: count, .. } = &mut self.failures;
        while let Some(id) = probation.front().copied() {
            if let Some(executor) = self.executors.get_mut(id)
                && let Probation::Running { started } = executor.probation
            {
                if started + proven_after > now {
                    break;
                }
                executor.probation = Probation::Proven { started };
                proven.push((executor.slot, id));
                *count += 1;
                *in_a_row = 0;
            }
            probation.pop_front();
        }
        if probation.is_empty() {
            *probation = VecDeque::new();
        }
        proven
    }
}
