//! The draft of a cluster that runs: what its Master has now.

use firesteel_core::address::Address;
use firesteel_core::ids::ProfileId;
use firesteel_core::master::{HeldResources, ProfileSnapshot};
use firesteel_core::messages::{
    ApplicationAnswer, ApplicationDescription, ApplicationDetail, Deciding, Offered, Placing, ProfileView,
    ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription, WorkerState, WorkerView,
};
use firesteel_core::process::Command;
use firesteel_placement::ExecutorSize;

use super::{Draft, DraftApplication, DraftExecutor};

impl Draft {
    /// The Workers that are alive, and the live applications with the executors that they hold. `details` are the Master's
    /// answers about each application; those that have ended are left out.
    #[must_use]
    pub fn of_running(deciding: &Deciding, workers: &[WorkerView], details: &[ApplicationAnswer]) -> Self {
        Self {
            default_cores: deciding.default_cores,
            queues: deciding.queues.clone(),
            backfill: deciding.backfill,
            preemption: deciding.preemption,
            workers: workers.iter().filter(|it| it.state == WorkerState::Alive).map(worker).collect(),
            applications: details.iter().filter_map(live).collect(),
        }
    }

    /// The same cluster before anything was placed on it.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let emptied = |app: &DraftApplication| DraftApplication { running: Vec::new(), ..app.clone() };
        Self { applications: self.applications.iter().map(emptied).collect(), ..self.clone() }
    }
}

fn worker(view: &WorkerView) -> WorkerDescription {
    WorkerDescription::new(
        view.id.clone(),
        Address::new(view.host.clone(), view.port),
        Offered { cores: view.cores, memory: view.memory, resources: view.resources.clone() },
        "",
    )
}

/// An application of the running Master: what it holds and what it asks for. `None`: it has ended meanwhile.
fn live(answer: &ApplicationAnswer) -> Option<DraftApplication> {
    let ApplicationAnswer::Known(detail) = answer else { return None };
    let ApplicationDetail { application: view, scheduling, .. } = &**detail;
    let scheduling = scheduling.as_ref()?;
    let mut profiles: Vec<ProfileSnapshot> = scheduling.profiles.iter().map(profile).collect();
    let default = profiles.iter().position(|profile| profile.id == ProfileId::DEFAULT)?;
    let ProfileSnapshot { profile, limit, .. } = profiles.remove(default);
    let live = view.executors.iter().filter(|executor| !executor.state.is_finished());
    let running = live.map(|executor| DraftExecutor {
        profile: executor.profile,
        worker: executor.worker.clone(),
        cores: executor.cores,
        memory: executor.memory,
        resources: HeldResources::These(executor.resources.clone()),
    });
    let description = ApplicationDescription::new(
        Submitter::new(view.name.clone(), view.user.clone()),
        WantedExecutors { profile, max_cores: view.max_cores, limit, ..WantedExecutors::default() },
        Placing {
            policy: scheduling.policy,
            queue: view.queue.clone(),
            priority: view.priority,
            gang: view.gang,
        },
        Work::of(Command::of("true")),
    );
    Some(DraftApplication { description, profiles, running: running.collect() })
}

fn profile(view: &ProfileView) -> ProfileSnapshot {
    let cores = match view.size {
        ExecutorSize::Fixed(cores) => Some(cores),
        ExecutorSize::OnePerWorker => None,
    };
    let profile = ResourceProfile { cores, memory: Some(view.memory), resources: view.resources.clone() };
    ProfileSnapshot { id: view.id, profile, limit: view.limit }
}
