//! The cluster after a Master has decided about a draft.

use std::collections::BTreeMap;

use firesteel_master::HeldResources;
use firesteel_placement::advanced::resources::ResourceQuantities;
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::ids::{ExecutorId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDetail, ExecutorView, MasterView, ProfileView, ShareState, WorkerShare,
};

use super::{Cells, Draft, User};

/// The cluster and its applications after the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The Workers, in the order of their ids.
    pub workers: Vec<WorkerOutcome>,
    /// The applications, in the order of the draft.
    pub applications: Vec<ApplicationOutcome>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOutcome {
    pub id: WorkerId,
    pub host: String,
    pub cores: Cores,
    pub cores_free: Cores,
    pub memory: MiB,
    pub memory_free: MiB,
    pub resources: ResourceQuantities,
    /// The number of free addresses, by resource. A free part of an address counts as that part.
    pub resources_free: ResourceQuantities,
    pub free: Resources,
    /// The users that share the Worker's addresses.
    pub cells: Cells,
    /// The executors on the Worker, by application and number.
    pub executors: Vec<WorkerExecutor>,
    /// Whether the Worker counts in sums, and whether its free capacity is offered.
    pub state: ShareState,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkerExecutor {
    pub app: usize,
    /// Whether the executor ran before the decision.
    pub since: Since,
    pub cores: Cores,
    pub memory: MiB,
    /// The number of the executor's addresses, by resource. A part of an address counts as that part.
    pub resources: ResourceQuantities,
}

/// Whether an executor ran before the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Since {
    Before,
    /// The Master launched the executor in this decision.
    Now,
}

/// The executors of an application after the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationOutcome {
    /// The number of executors that were already running and that the application keeps.
    pub kept: u64,
    pub given: u64,
    /// The number of executors that were preempted.
    pub taken: u64,
    pub cores: Cores,
    /// The Master's answer about the application, with the reasons why it has no more executors. `None` if the
    /// application has ended.
    pub detail: Option<ApplicationDetail>,
}

impl Outcome {
    /// The outcome, computed from the Master's tables and its answers about each application.
    pub(super) fn of(draft: &Draft, view: &MasterView, details: Vec<Option<ApplicationDetail>>) -> Self {
        let mut on: BTreeMap<WorkerId, Vec<WorkerExecutor>> = BTreeMap::new();
        let mut held = held_by_drivers(draft);
        let mut applications = Vec::new();
        for (index, (app, detail)) in draft.applications.iter().zip(details).enumerate() {
            let id = index.to_string();
            let shown = view.applications.iter().find(|it| it.id.as_str() == id);
            let live = shown.into_iter().flat_map(|it| &it.executors).filter(|it| !it.state.is_finished());
            let had = app.running.len() as u64;
            let mut now = ApplicationOutcome { kept: 0, given: 0, taken: 0, cores: Cores::ZERO, detail };
            for executor in live {
                let executor_now = WorkerExecutor::of(index, had, executor);
                match executor_now.since {
                    Since::Before => now.kept += 1,
                    Since::Now => now.given += 1,
                }
                now.cores += executor.cores;
                held.entry(&executor.worker)
                    .or_default()
                    .push((User::Application(index), &executor.resources));
                on.entry(executor.worker.clone()).or_default().push(executor_now);
            }
            now.taken = had.saturating_sub(now.kept);
            applications.push(now);
        }
        let workers = view.workers.iter().map(|worker| {
            let free = worker.resources.without(&worker.resources_used);
            WorkerOutcome {
                id: worker.id.clone(),
                host: worker.host.clone(),
                cores: worker.cores,
                cores_free: worker.cores - worker.cores_used,
                memory: worker.memory,
                memory_free: worker.memory - worker.memory_used,
                resources: worker.resources.quantities(),
                resources_free: with_all_names(&worker.resources, &free),
                free,
                cells: Cells::of(&worker.resources, held.remove(&worker.id).into_iter().flatten()),
                executors: on.remove(&worker.id).unwrap_or_default(),
                state: worker.share().state,
            }
        });
        Self { workers: workers.collect(), applications }
    }

    /// The Workers before the decision, with all executors that were running then, including preempted ones.
    #[must_use]
    pub fn before(&self, draft: &Draft) -> Vec<WorkerOutcome> {
        let mut workers: BTreeMap<WorkerId, WorkerOutcome> = BTreeMap::new();
        let mut held: BTreeMap<&WorkerId, Vec<(User, Resources)>> = BTreeMap::new();
        for worker in &self.workers {
            let own = draft.workers.iter().find(|it| it.id == worker.id);
            let free = own.map(|it| it.resources.clone()).unwrap_or_default();
            let empty = WorkerOutcome {
                cores_free: worker.cores,
                memory_free: worker.memory,
                resources_free: worker.resources.clone(),
                free,
                executors: Vec::new(),
                ..worker.clone()
            };
            workers.insert(worker.id.clone(), empty);
        }
        for driver in &draft.drivers {
            if let Some(worker) = workers.get_mut(&driver.worker) {
                worker.cores_free -= driver.cores;
                worker.memory_free -= driver.memory;
                worker.take(&HeldResources::These(driver.resources.clone()));
                held.entry(&driver.worker).or_default().push((User::Driver, driver.resources.clone()));
            }
        }
        for (app, executor) in draft
            .applications
            .iter()
            .enumerate()
            .flat_map(|(index, app)| app.running.iter().map(move |executor| (index, executor)))
        {
            if let Some(worker) = workers.get_mut(&executor.worker) {
                worker.cores_free -= executor.cores;
                worker.memory_free -= executor.memory;
                let taken = worker.take(&executor.resources);
                worker.executors.push(WorkerExecutor {
                    app,
                    since: Since::Before,
                    cores: executor.cores,
                    memory: executor.memory,
                    resources: taken.quantities(),
                });
                held.entry(&executor.worker).or_default().push((User::Application(app), taken));
            }
        }
        for own in &draft.workers {
            if let Some(worker) = workers.get_mut(&own.id) {
                let held = held.get(&own.id).into_iter().flatten();
                worker.cells = Cells::of(&own.resources, held.map(|(user, held)| (*user, held)));
            }
        }
        workers.into_values().collect()
    }
}

/// The resources that the cluster drivers of each Worker use.
fn held_by_drivers(draft: &Draft) -> BTreeMap<&WorkerId, Vec<(User, &Resources)>> {
    let mut held: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for driver in &draft.drivers {
        held.entry(&driver.worker).or_default().push((User::Driver, &driver.resources));
    }
    held
}

/// The common properties of equal Workers, without their names. Each pair is the whole amount and the free amount.
pub type GroupKey<'a> = ([Cores; 2], [MiB; 2], [&'a ResourceQuantities; 2], &'a [WorkerExecutor]);

impl WorkerOutcome {
    /// The Worker's capacity, free amounts and executors. Workers with equal keys share a row in tables and pictures.
    #[must_use]
    pub fn group_key(&self) -> GroupKey<'_> {
        let cores = [self.cores, self.cores_free];
        let memory = [self.memory, self.memory_free];
        (cores, memory, [&self.resources, &self.resources_free], &self.executors)
    }

    /// The Worker's contribution to the sums over the cluster.
    #[must_use]
    pub fn share(&self) -> WorkerShare {
        WorkerShare {
            state: self.state,
            cores: self.cores,
            cores_used: self.cores - self.cores_free,
            memory: self.memory,
            memory_used: self.memory - self.memory_free,
        }
    }

    #[must_use]
    pub fn cores_of_drivers(&self) -> Cores {
        self.cores - self.cores_free - self.executors.iter().map(|executor| executor.cores).sum()
    }

    #[must_use]
    pub fn memory_of_drivers(&self) -> MiB {
        self.executors.iter().fold(self.memory - self.memory_free, |rest, executor| rest - executor.memory)
    }

    /// Takes resources from the Worker's free resources. Returns the addresses that were taken.
    fn take(&mut self, resources: &HeldResources) -> Resources {
        let taken = resources.take(&mut self.free).unwrap_or_default();
        for (name, left) in &mut self.resources_free {
            *left = self.free.quantity_of(name);
        }
        taken
    }
}

impl ApplicationOutcome {
    #[must_use]
    pub fn executors(&self) -> u64 {
        self.kept + self.given
    }

    /// Whether the application has less than it requests, or waits for its turn.
    ///
    /// A request is limited by the application's maximum of cores and its number of executors. With at most 200 cores
    /// in executors of 7, an application requests 28 executors, which have 196 cores.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let scheduling = self.detail.as_ref().and_then(|detail| detail.scheduling.as_ref());
        scheduling.is_some_and(|scheduling| scheduling.blocker.is_some())
            || self.profiles().any(|profile| self.lacks(profile))
    }

    /// The state of each of the application's profiles. Empty if the application has ended.
    pub(super) fn profiles(&self) -> impl Iterator<Item = &ProfileView> {
        let scheduling = self.detail.as_ref().and_then(|detail| detail.scheduling.as_ref());
        scheduling.into_iter().flat_map(|scheduling| &scheduling.profiles)
    }

    fn lacks(&self, profile: &ProfileView) -> bool {
        profile.shortfall.as_ref().is_some_and(|shortfall| shortfall.is_lack(self.executors()))
    }
}

impl WorkerExecutor {
    /// An executor from the Master's view. Executors with numbers from `had` on are new. The `had` executors before
    /// them were already running.
    fn of(app: usize, had: u64, view: &ExecutorView) -> Self {
        let ExecutorId(number) = view.id;
        Self {
            app,
            since: if u64::from(number) < had { Since::Before } else { Since::Now },
            cores: view.cores,
            memory: view.memory,
            resources: view.resources.quantities(),
        }
    }
}

/// The free quantity of each resource in `all`, including resources with nothing free.
fn with_all_names(all: &Resources, free: &Resources) -> ResourceQuantities {
    all.iter().map(|(name, _)| (name.to_owned(), free.quantity_of(name))).collect()
}
