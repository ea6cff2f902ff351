//! The draft of a cluster that runs: what its Master has now.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_core::Timestamp;
use firesteel_core::address::Address;
use firesteel_core::ids::{AppId, ProfileId};
use firesteel_core::master::{HeldResources, ProfileSnapshot};
use firesteel_core::messages::{
    ApplicationAnswer, ApplicationDescription, ApplicationDetail, Deciding, ExecutorState, LossReason,
    MasterView, Offered, Placing, ProfileView, ReservedRoom, ResourceProfile, Submitter, WantedExecutors,
    Work, WorkerDescription, WorkerState, WorkerView,
};
use firesteel_core::process::Command;
use firesteel_core::run_time::{RUN_TIME, value};
use firesteel_placement::ExecutorSize;

use super::{Draft, DraftApplication, DraftExecutor};

impl Draft {
    /// The Workers that are alive, and the live applications with the executors that they hold. `details` are the Master's
    /// answers about each application; those that have ended are left out. `run_times` are what applications say about how long
    /// they run, and `rooms` are those for which room is reserved.
    #[must_use]
    pub fn of_running(
        view: &MasterView,
        details: &[ApplicationAnswer],
        run_times: &BTreeMap<AppId, Duration>,
        rooms: &[ReservedRoom],
    ) -> Self {
        let Deciding { default_cores, ref queues, backfill, preemption, .. } = view.deciding;
        let details: Vec<&ApplicationDetail> = details.iter().filter_map(known).collect();
        let ended = ended_for(&details);
        let live: Vec<(&AppId, DraftApplication)> = (details.iter())
            .filter_map(|detail| {
                let app = &detail.application.id;
                let preempted = ended.get(app).cloned().unwrap_or_default();
                Some((app, live(detail, run_times.get(app).copied(), preempted)?))
            })
            .collect();
        let reserved = rooms.first().and_then(|room| live.iter().position(|(app, _)| **app == room.app));
        Self {
            default_cores,
            queues: queues.clone(),
            backfill,
            preemption,
            scheduling: view.scheduling,
            // What the details have may be later than the state.
            now: details.iter().map(|detail| detail.now).fold(view.now, Timestamp::max),
            workers: view.workers.iter().filter(|it| it.state == WorkerState::Alive).map(worker).collect(),
            applications: live.into_iter().map(|(_, application)| application).collect(),
            reserved,
        }
    }

    /// The same cluster before anything was placed on it.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let emptied = |app: &DraftApplication| {
            let (running, preempted) = (Vec::new(), Vec::new());
            DraftApplication { running, preempted, ..app.clone() }
        };
        let applications = self.applications.iter().map(emptied).collect();
        Self { applications, reserved: None, ..self.clone() }
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

fn known(answer: &ApplicationAnswer) -> Option<&ApplicationDetail> {
    match answer {
        ApplicationAnswer::Known(detail) => Some(detail),
        ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. } => None,
    }
}

/// When executors were ended for each application, the earliest first.
fn ended_for(details: &[&ApplicationDetail]) -> BTreeMap<AppId, Vec<Timestamp>> {
    let mut ended: BTreeMap<AppId, Vec<Timestamp>> = BTreeMap::new();
    for executor in details.iter().flat_map(|detail| &detail.application.executors) {
        if let (ExecutorState::Lost(LossReason::Preempted { by }), Some(at)) =
            (&executor.state, executor.ended)
        {
            ended.entry(by.clone()).or_default().push(at);
        }
    }
    ended.values_mut().for_each(|times| times.sort_unstable());
    ended
}

/// An application of the running Master: what it holds and what it asks for. `None`: it has ended meanwhile.
fn live(
    detail: &ApplicationDetail,
    run_time: Option<Duration>,
    preempted: Vec<Timestamp>,
) -> Option<DraftApplication> {
    let ApplicationDetail { application: view, scheduling, .. } = detail;
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
        launched: executor.launched,
    });
    let mut command = Command::of("true");
    command.environment.extend(run_time.map(|told| (RUN_TIME.to_owned(), value(told))));
    let description = ApplicationDescription::new(
        Submitter::new(view.name.clone(), view.user.clone()),
        WantedExecutors { profile, max_cores: view.max_cores, limit, ..WantedExecutors::default() },
        Placing {
            policy: scheduling.policy,
            queue: view.queue.clone(),
            priority: view.priority,
            gang: view.gang,
        },
        Work::of(command),
    );
    let (submitted, running) = (view.submitted, running.collect());
    Some(DraftApplication { description, submitted, profiles, running, preempted })
}

fn profile(view: &ProfileView) -> ProfileSnapshot {
    let cores = match view.size {
        ExecutorSize::Fixed(cores) => Some(cores),
        ExecutorSize::OnePerWorker => None,
    };
    let profile = ResourceProfile { cores, memory: Some(view.memory), resources: view.resources.clone() };
    ProfileSnapshot { id: view.id, profile, limit: view.limit }
}
