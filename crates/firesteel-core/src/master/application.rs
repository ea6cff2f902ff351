//! One application, as its Master knows it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use firesteel_placement::index::Slot;
use firesteel_placement::shortfall::Amounts;
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Policy, ResourceAmounts};

use super::backlog::Shape;
use super::capacity::Grant;
use super::config::Config;
use super::wishes::Wishes;
use crate::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use crate::messages::{
    ApplicationDescription, ApplicationState, ExecutorState, ExecutorView, ResourceProfile,
    WorkerDescription, limit_after_final_end,
};
use crate::time::Timestamp;

/// Memory of an executor whose application names none. Source: Spark Master, 4.0.1.
pub(super) const DEFAULT_MEMORY: MiB = MiB(1024);

/// How many of an application's ended executors are remembered.
const ENDED_LIMIT: usize = 1000;

/// A live application.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) id: AppId,
    pub(super) description: ApplicationDescription,
    /// The connection's number.
    pub(super) peer: PeerId,
    /// Its place among all, in the order of registration.
    pub(super) sequence: u64,
    /// Its queue's number; 0 where there are none.
    pub(super) queue: usize,
    pub(super) submitted: Timestamp,
    pub(super) state: ApplicationState,
    pub(super) max_cores: Cores,
    pub(super) wishes: Wishes,
    pub(super) cores_granted: Cores,
    /// Cores of executors that have had their turn and are not replaced; none without a maximum.
    pub(super) cores_spent: Cores,
    pub(super) profiles: BTreeMap<ProfileId, Profile>,
    pub(super) executors: BTreeMap<ExecutorId, Executor>,
    pub(super) next_executor: u32,
    /// Workers that ever ran an executor of it.
    pub(super) workers: BTreeSet<WorkerId>,
    pub(super) failures: Failures,
    /// What of it is filed in the backlog: it waits, and no Worker has room.
    pub(super) filed: Vec<(ProfileId, Arc<Shape>)>,
    pub(super) ended: VecDeque<ExecutorView>,
    /// How many ended executors are remembered no longer.
    pub(super) forgotten: u64,
}

/// What a new application is given beside what it describes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The number of its queue.
    pub(super) queue: usize,
    /// Its maximum of cores if it names none.
    pub(super) default_cores: Cores,
}

/// What the executors of one profile need, all inheritance done, and how many there may be.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) size: ExecutorSize,
    pub(super) memory: MiB,
    pub(super) resources: ResourceAmounts,
    pub(super) limit: ExecutorLimit,
    /// Executors of it that have not ended.
    pub(super) held: u64,
}

/// An executor that has not ended.
#[derive(Debug)]
pub(super) struct Executor {
    pub(super) worker: WorkerId,
    /// Its Worker's number, which lives at least as long.
    pub(super) slot: Slot,
    pub(super) profile: ProfileId,
    pub(super) grant: Grant,
    pub(super) life: Life,
    pub(super) launched: Timestamp,
    pub(super) started: Option<Timestamp>,
}

/// Where a live executor stands.
///
/// ```text
///  Launching -> OnProbation -> Proven
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Launching,
    /// It runs; at that time it is proven.
    OnProbation {
        until: Timestamp,
    },
    /// It ran long enough to show that executors of this application can.
    Proven,
}

/// Executors that failed one after the other, without one that was proven in between.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) in_a_row: u32,
    /// No executor is launched before then.
    pub(super) hold_until: Option<Timestamp>,
    /// Executors on probation, by its end.
    pub(super) probation: BTreeSet<(Timestamp, ExecutorId)>,
    /// How many live executors are proven.
    pub(super) proven: u64,
}

impl Profile {
    /// A profile of its own, with what it leaves open taken from the default profile of its application.
    ///
    /// Source: Spark Master, 4.0.1: cores and memory are inherited, custom resources are not.
    pub(super) fn new(own: &ResourceProfile, default: &ResourceProfile, limit: ExecutorLimit) -> Self {
        Self {
            size: own.cores.or(default.cores).map_or(ExecutorSize::OnePerWorker, ExecutorSize::Fixed),
            memory: own.memory.or(default.memory).unwrap_or(DEFAULT_MEMORY),
            resources: own.resources.clone(),
            limit,
            held: 0,
        }
    }
}

impl Application {
    pub(super) fn new(
        id: AppId,
        description: ApplicationDescription,
        peer: PeerId,
        submitted: Timestamp,
        entry: &Entry,
    ) -> Self {
        let default = Profile::new(&description.profile, &description.profile, description.initial_limit);
        Self {
            id,
            peer,
            sequence: 0,
            queue: entry.queue,
            submitted,
            state: ApplicationState::Waiting,
            max_cores: description.max_cores.unwrap_or(entry.default_cores),
            cores_granted: Cores::ZERO,
            wishes: Wishes::default(),
            cores_spent: Cores::ZERO,
            profiles: BTreeMap::from([(ProfileId::DEFAULT, default)]),
            executors: BTreeMap::new(),
            next_executor: 0,
            workers: BTreeSet::new(),
            failures: Failures::default(),
            filed: Vec::new(),
            ended: VecDeque::new(),
            forgotten: 0,
            description,
        }
    }

    /// Whether its turn is not simply that of its registration.
    pub(super) fn is_special(&self) -> bool {
        self.description.priority != 0 || self.gang_waits()
    }

    /// Whether it wants several executors at once, and never had one.
    pub(super) fn gang_waits(&self) -> bool {
        self.description.gang > 1 && self.state == ApplicationState::Waiting
    }

    /// How many executors of that demand it must be given at once, if not one by one: no more than it asks for.
    pub(super) fn gang(&self, demand: &Demand) -> Option<u64> {
        let gang = self.description.gang.min(demand.most_executors());
        (self.gang_waits() && gang > 1).then_some(gang)
    }

    /// What it asks for by profile, if it asks for anything: before a gang has begun, the profile that it begins with.
    pub(super) fn asks(&self) -> impl Iterator<Item = (ProfileId, Demand)> {
        let demands = self.profiles.iter().map(|(id, profile)| (*id, self.demand(profile)));
        let most = if self.gang_waits() { 1 } else { usize::MAX };
        demands.filter(|(_, demand)| demand.allows_one_more()).take(most)
    }

    /// What its executors hold together.
    pub(super) fn held(&self) -> Amounts {
        let mut held = Amounts { cores: self.cores_granted, ..Amounts::default() };
        for profile in self.profiles.values() {
            held.add(&Amounts::of_executors(&self.demand(profile), profile.held, Cores::ZERO));
        }
        held
    }

    /// Sets a profile's target. What it needs is fixed when the profile is first seen.
    pub(super) fn set_target(&mut self, id: ProfileId, profile: &ResourceProfile, limit: ExecutorLimit) {
        let default = &self.description.profile;
        self.profiles.entry(id).or_insert_with(|| Profile::new(profile, default, limit)).limit = limit;
    }

    /// A resource profile that a demand or an executor of the application has. Profiles are never removed.
    pub(super) fn profile(&self, id: ProfileId) -> &Profile {
        self.profiles.get(&id).expect("the profile is one of the application's")
    }

    fn profile_mut(&mut self, id: ProfileId) -> &mut Profile {
        self.profiles.get_mut(&id).expect("the profile is one of the application's")
    }

    /// Whether its own bounds allow it more than it holds.
    pub(super) fn may_have_more(&self) -> bool {
        self.profiles.values().any(|profile| self.demand(profile).allows_one_more())
    }

    /// Whether it may be given executors: not while it waits after failures.
    pub(super) fn may_be_served(&self) -> bool {
        self.failures.hold_until.is_none()
    }

    /// What would be launched if there were room.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (ProfileId, Shape)> {
        let demands = self.profiles.iter().map(|(id, profile)| (*id, self.demand(profile)));
        let open = demands.filter(|(_, demand)| self.may_be_served() && demand.allows_one_more());
        open.map(|(id, demand)| (id, Shape::of(&demand)))
    }

    /// By which rule Workers are chosen for it.
    pub(super) fn policy(&self, config: &Config) -> Policy {
        self.description.policy.unwrap_or(config.policy)
    }

    /// What it asks for now under that profile.
    pub(super) fn demand(&self, profile: &Profile) -> Demand {
        Demand {
            size: profile.size,
            memory: profile.memory,
            resources: profile.resources.clone(),
            cores_left: self.max_cores - self.cores_spent - self.cores_granted,
            limit: profile.limit,
            held: profile.held,
        }
    }

    /// Adds an executor that was given this share of that Worker.
    pub(super) fn add_executor(
        &mut self,
        now: Timestamp,
        id: ExecutorId,
        (worker, slot): (WorkerId, Slot),
        profile: ProfileId,
        grant: Grant,
    ) {
        self.cores_granted += grant.amounts().cores;
        self.profile_mut(profile).held += 1;
        self.workers.insert(worker.clone());
        self.next_executor = self.next_executor.max(id.0.saturating_add(1));
        self.state = ApplicationState::Running;
        let (launched, started) = (now, None);
        self.executors
            .insert(id, Executor { worker, slot, profile, grant, life: Life::Launching, launched, started });
    }

    /// Takes a live executor out.
    pub(super) fn remove_executor(&mut self, id: ExecutorId) -> Executor {
        let executor = self.executors.remove(&id).expect("the executor is live");
        self.cores_granted -= executor.grant.amounts().cores;
        self.profile_mut(executor.profile).held -= 1;
        match executor.life {
            Life::Launching => {}
            Life::OnProbation { until } => {
                self.failures.probation.remove(&(until, id));
            }
            Life::Proven => self.failures.proven -= 1,
        }
        executor
    }

    /// An executor that was taken out ended so: if it has had its turn, the application wants one less.
    pub(super) fn count_final_end(&mut self, executor: &Executor, end: &ExecutorState) {
        if !self.description.relaunch.is_final(end) {
            return;
        }
        let max_cores = self.max_cores;
        let profile = self.profile_mut(executor.profile);
        profile.limit = limit_after_final_end(profile.limit, max_cores, profile.held);
        if self.max_cores < Cores::UNLIMITED {
            self.cores_spent += executor.grant.amounts().cores;
        }
    }

    /// Remembers how an executor ended. A full history loses its oldest.
    pub(super) fn remember(&mut self, ended: ExecutorView) {
        if self.ended.len() >= ENDED_LIMIT {
            self.ended.pop_front();
            self.forgotten += 1;
        }
        self.ended.push_back(ended);
    }

    /// An executor's process runs; at `until` it will be proven.
    pub(super) fn start_probation(&mut self, now: Timestamp, id: ExecutorId, until: Timestamp) {
        let executor = self.executors.get_mut(&id).expect("the executor is live");
        executor.started = Some(now);
        executor.life = Life::OnProbation { until };
        self.failures.probation.insert((until, id));
    }

    /// Ends every probation whose time has come, and tells whether there was one: it starts the count of
    /// failures anew.
    pub(super) fn end_probations(&mut self, now: Timestamp) -> bool {
        let mut ended = false;
        while let Some(&(until, id)) = self.failures.probation.first() {
            if until > now {
                break;
            }
            self.failures.probation.pop_first();
            self.failures.proven += 1;
            self.failures.in_a_row = 0;
            ended = true;
            self.executors.get_mut(&id).expect("an executor on probation is live").life = Life::Proven;
        }
        ended
    }
}

impl Executor {
    /// A copy of it, as it stands on its Worker.
    pub(super) fn view(&self, key: &ExecutorKey, worker: &WorkerDescription) -> ExecutorView {
        let share = self.grant.amounts();
        ExecutorView {
            id: key.executor,
            worker: self.worker.clone(),
            profile: self.profile,
            cores: share.cores,
            memory: share.memory,
            resources: share.resources.clone(),
            state: self.life.state(),
            host: worker.host.clone(),
            port: worker.port,
            directory: format!("{}/{}/{}", worker.work_dir, key.app, key.executor),
            launched: self.launched,
            started: self.started,
            ended: None,
        }
    }
}

impl Life {
    pub(super) fn state(self) -> ExecutorState {
        match self {
            Self::Launching => ExecutorState::Launching,
            Self::OnProbation { .. } | Self::Proven => ExecutorState::Running,
        }
    }
}
