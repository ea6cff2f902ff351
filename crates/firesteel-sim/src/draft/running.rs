//! The draft of a running cluster, made from the answers of the cluster's Master.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_master::{ApplicationCondition, DriverSnapshot, HeldResources, Master, ProfileSnapshot};
use firesteel_placement::{ExecutorSize, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{AppId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDescription, ApplicationDetail, ApplicationState, DriverView,
    ExecutorState, LossReason, MasterView, Placing, ProfileView, ResourceProfile, Submitter, WantedExecutors,
    Work, WorkerState, WorkerView,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::process::executor_command::{ExecutorCommand, JavaCommand};
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::scheduling::run_time::{RUN_TIME, value};

use super::decide::detail;
use super::{Draft, DraftApplication, DraftExecutor};

impl Draft {
    /// The live Workers with their cluster drivers, and the live applications with their executors. `details` are the
    /// Master's answers about each application. Ended applications are left out. Because the cluster changes between
    /// the answers, entries that contradict an earlier answer are also left out.
    #[must_use]
    pub fn of_running(view: &MasterView, details: &[ApplicationAnswer]) -> Self {
        let details: Vec<&ApplicationDetail> = details.iter().filter_map(known).collect();
        let ended = ended_for(&details);
        let live: Vec<(&AppId, DraftApplication)> = (details.iter())
            .filter_map(|detail| {
                let app = &detail.application.id;
                let preempted = ended.get(app).cloned().unwrap_or_default();
                let command = command(view, detail);
                Some((app, live(detail, command, preempted)?))
            })
            .collect();
        let reserved =
            view.reserved.first().and_then(|room| live.iter().position(|(app, _)| **app == room.app));
        let mut draft = Self {
            scheduling: view.scheduling.clone(),
            // The details may be newer than the state.
            now: details.iter().map(|detail| detail.now).fold(view.now, Timestamp::max),
            workers: view.workers.iter().filter(|it| !it.state.is_gone()).cloned().collect(),
            drivers: view.drivers.iter().filter_map(held_by).collect(),
            applications: live.into_iter().map(|(_, application)| application).collect(),
            reserved,
        };
        draft.leave_out_contradictions();
        draft
    }

    /// The cluster of a Master that was recovered from its journal. Workers and applications that have not returned yet
    /// count as present.
    #[must_use]
    pub fn of_recorded(master: &mut Master, now: Timestamp) -> Self {
        let mut view = master.view();
        for worker in view.workers.iter_mut().filter(|worker| worker.state == WorkerState::Unknown) {
            worker.state = WorkerState::Alive;
        }
        let apps = view.applications.iter().map(|application| application.id.to_string());
        let details: Vec<ApplicationAnswer> = apps
            .filter_map(|app| detail(master, now, app))
            .map(|detail| ApplicationAnswer::Known(Box::new(detail)))
            .collect();
        let mut draft = Self::of_running(&view, &details);
        draft.applications.iter_mut().for_each(|application| application.condition.is_away = false);
        draft
    }

    /// Leaves out cluster drivers and executors if their Worker is missing, or if their addresses are already used.
    fn leave_out_contradictions(&mut self) {
        let mut free: BTreeMap<&WorkerId, Resources> =
            self.workers.iter().map(|worker| (&worker.id, worker.resources.clone())).collect();
        self.drivers.retain(|driver| {
            free.get_mut(&driver.worker).is_some_and(|free| free.take_these(&driver.resources))
        });
        for application in &mut self.applications {
            application.running.retain(|executor| {
                free.get_mut(&executor.worker).and_then(|free| executor.resources.take(free)).is_some()
            });
        }
    }

    /// The same cluster without its executors.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let emptied = |app: &DraftApplication| DraftApplication {
            profiles: app.profiles.clone(),
            ..DraftApplication::new(app.description.clone(), app.submitted)
        };
        let applications = self.applications.iter().map(emptied).collect();
        Self { applications, reserved: None, ..self.clone() }
    }
}

/// A running cluster driver with its share of its Worker. `None` if the driver is not running.
fn held_by(driver: &DriverView) -> Option<DriverSnapshot> {
    if !driver.state.holds_cores() {
        return None;
    }
    let worker = driver.worker.as_ref()?.worker.clone();
    let DriverView { cores, memory, has, .. } = driver;
    Some(DriverSnapshot { worker, cores: *cores, memory: *memory, resources: has.clone() })
}

fn known(answer: &ApplicationAnswer) -> Option<&ApplicationDetail> {
    match answer {
        ApplicationAnswer::Known(detail) => Some(detail),
        ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. } => None,
    }
}

/// A placeholder for a command, which is never run. It contains the application's estimated run time and the releases
/// of Spark that the application needs. The Master's answers do not contain these releases, so they are taken from the
/// Workers of the application's executors.
fn command(view: &MasterView, detail: &ApplicationDetail) -> ExecutorCommand {
    let runs_on = |worker: &WorkerView| {
        let mut executors = detail.application.executors.iter().filter(|it| !it.state.is_finished());
        executors.any(|executor| executor.worker == worker.id)
    };
    let labelled = view.workers.iter().filter(|worker| worker.label.is_some() && runs_on(worker));
    let releases: BTreeSet<&str> =
        labelled.flat_map(|worker| &worker.label).flat_map(Label::releases).collect();
    let mut command = match releases.is_empty() {
        true => ExecutorCommand::from(Command::of("true")),
        false => {
            let releases = releases.into_iter().map(str::to_owned).collect();
            ExecutorCommand::Java(Box::new(JavaCommand { releases, ..JavaCommand::default() }))
        }
    };
    command
        .environment_mut()
        .extend(detail.application.run_time.map(|told| (RUN_TIME.to_owned(), value(told))));
    command
}

/// For each application, when other executors were ended to free resources for it, the earliest first.
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

/// An application of the running Master, with its executors and request. `None` if the application has since ended.
fn live(
    detail: &ApplicationDetail,
    command: ExecutorCommand,
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
    let condition = ApplicationCondition {
        is_away: view.state == ApplicationState::Unknown,
        cores_spent: scheduling.cores_spent,
        failures: scheduling.failures,
        relaunch_at: scheduling.relaunch_at,
        excluded: scheduling.excluded.iter().filter(|it| !it.for_all).cloned().collect(),
    };
    let (submitted, running) = (view.submitted, running.collect());
    Some(DraftApplication { description, submitted, profiles, running, preempted, condition })
}

fn profile(view: &ProfileView) -> ProfileSnapshot {
    let cores = match view.size {
        ExecutorSize::Fixed(cores) => Some(cores),
        ExecutorSize::OnePerWorker => None,
    };
    let profile = ResourceProfile { cores, memory: Some(view.memory), resources: view.resources.clone() };
    ProfileSnapshot { id: view.id, profile, limit: view.limit }
}
