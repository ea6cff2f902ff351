//! Gives the draft to a real Master and collects its decisions.

use firesteel_master::{
    ApplicationSnapshot, Config, Effect, Event, ExecutorSnapshot, Inbound, Master, Outbound, Presence,
    Snapshot, SnapshotError, WorkerCondition, WorkerSnapshot,
};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDetail, ClientToMaster, ExecutorReport, ExecutorState, MasterToClient,
    MasterToWorker, Offered, PageSize, WorkerDescription, WorkerState, WorkerToMaster, WorkerView,
};
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_protocol::{Machine, Timestamp};

use super::{Draft, DraftApplication, DraftExecutor, Outcome};

/// The connection of the client that asks the Master about applications.
const CLIENT: PeerId = PeerId(u64::MAX);

impl Draft {
    /// Decides as a Master with these settings does. The settings in the draft replace those in `config`. All
    /// applications are registered before the pass. Executors that the Master preempts end immediately.
    ///
    /// # Errors
    /// The draft contradicts itself.
    pub fn decide(&self, config: Config) -> Result<Outcome, SnapshotError> {
        let now = self.now;
        let SchedulingSettings {
            default_cores,
            ref queues,
            backfill,
            preemption,
            order,
            reservations,
            gang_preemption,
            ..
        } = self.scheduling;
        let config = Config {
            default_cores,
            queues: queues.clone(),
            backfill,
            preemption,
            order,
            reservations: usize::try_from(reservations).unwrap_or(usize::MAX),
            gang_preemption,
            page: PageSize::UNBOUNDED,
            ..config
        };
        let mut master = Master::restore(config, now, self.snapshot())?;
        let mut effects = master.apply(now, Event::Deadline { heard_until: now });
        loop {
            let ended: Vec<Event> =
                effects.into_iter().filter_map(|effect| ended_at_once(now, effect)).collect();
            if ended.is_empty() {
                break;
            }
            effects = ended.into_iter().flat_map(|event| master.apply(now, event)).collect();
        }
        let details =
            (0..self.applications.len()).map(|index| detail(&mut master, now, index.to_string())).collect();
        Ok(Outcome::of(self, &master.view(), details))
    }

    /// The Master's tables. The connections of Workers have the first numbers, and those of applications the next. An
    /// application's id is its index.
    fn snapshot(&self) -> Snapshot {
        let workers: Vec<_> =
            self.workers.iter().zip(0..).map(|(view, peer)| worker(view, PeerId(peer))).collect();
        let peers = workers.len() as u64..;
        let applications = self.applications.iter().enumerate().zip(peers);
        let applications = applications.map(|((index, app), peer)| app.snapshot(index, PeerId(peer)));
        let reserved = self.reserved.map(|index| AppId::new(index.to_string()));
        Snapshot { workers, drivers: self.drivers.clone(), applications: applications.collect(), reserved }
    }
}

fn worker(view: &WorkerView, peer: PeerId) -> WorkerSnapshot {
    let offered = Offered { cores: view.cores, memory: view.memory, resources: view.resources.clone() };
    let address = Address::new(view.host.clone(), view.port);
    let description =
        WorkerDescription::new(view.id.clone(), address, offered, "").with_label(view.label.clone());
    let condition = WorkerCondition {
        presence: match view.state {
            WorkerState::Alive => Presence::Here,
            WorkerState::Decommissioned => Presence::Leaving,
            WorkerState::Unknown | WorkerState::Dead | WorkerState::Left => Presence::Away,
        },
        excluded_until: view.excluded_until,
        impairment: view.impairment.clone(),
    };
    WorkerSnapshot { condition, ..WorkerSnapshot::serving(description, peer) }
}

impl DraftApplication {
    fn snapshot(&self, index: usize, peer: PeerId) -> ApplicationSnapshot {
        let executors: Vec<_> = self.running.iter().zip(0..).map(|(it, id)| it.snapshot(id)).collect();
        ApplicationSnapshot {
            id: AppId::new(index.to_string()),
            description: self.description.clone(),
            submitted: self.submitted,
            peer,
            profiles: self.profiles.clone(),
            next_executor: ExecutorId(executors.len() as u32),
            executors,
            preempted: self.preempted.clone(),
            condition: self.condition.clone(),
        }
    }
}

impl DraftExecutor {
    fn snapshot(&self, id: u32) -> ExecutorSnapshot {
        ExecutorSnapshot {
            id: ExecutorId(id),
            profile: self.profile,
            worker: self.worker.clone(),
            cores: self.cores,
            memory: self.memory,
            resources: self.resources.clone(),
            launched: self.launched,
        }
    }
}

/// The answer of a Worker in the draft. An executor that the Master kills ends immediately.
fn ended_at_once(now: Timestamp, effect: Effect) -> Option<Event> {
    let Effect::Send { peer, message: Outbound::Worker(MasterToWorker::KillExecutor { executor }) } = effect
    else {
        return None;
    };
    let report = ExecutorReport::new(executor, ExecutorState::Killed(None));
    let message = Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report));
    Some(Event::Received { peer, arrived: now, message })
}

/// The Master's answer about an application. `None` if the application has ended.
pub(super) fn detail(master: &mut Master, now: Timestamp, app: String) -> Option<ApplicationDetail> {
    let question = ClientToMaster::RequestApplication { app, executors_from: ExecutorId(0) };
    let asked = Event::Received { peer: CLIENT, arrived: now, message: Inbound::Client(question) };
    master.apply(now, asked).into_iter().find_map(|effect| match effect {
        Effect::Send {
            message: Outbound::Client(MasterToClient::ApplicationResponse(ApplicationAnswer::Known(detail))),
            ..
        } => Some(*detail),
        _ => None,
    })
}
