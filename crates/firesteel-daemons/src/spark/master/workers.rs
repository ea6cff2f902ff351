//! The Workers of Spark's on a connection.

use std::ops::ControlFlow;

use firesteel_core::ids::WorkerId;
use firesteel_core::master::{Event, Inbound};
use firesteel_core::messages::{
    ExecutorLaunch, ExecutorReport, ExecutorState, MasterToWorker, WorkerDescription, WorkerReport,
    WorkerToMaster, is_web_address,
};
use firesteel_core::process::{StartFailure, StartStep};
use firesteel_core::secret::Secret;
use firesteel_core::wire::Role;
use firesteel_host::inbox::OwnerGone;
use firesteel_host::net::{Disconnect, Envoy, Letter};
use firesteel_spark::envelope::Address;
use firesteel_spark::messages::{FromWorker, ToWorker, WorkerRegistration};
use firesteel_spark::session::PeerNumber;
use firesteel_spark::translate;

use super::{Addressed, Addressee, Common, Connection};
use crate::spark::frames::Frames;

/// A Worker that has registered.
///
/// It may register once more over another connection, and report over both: a Master that was restarted calls it while it
/// registers by itself. The Master then speaks to it over the later one. The earlier one stays open, as it does with Spark's
/// Master: a Worker that finds it closed keeps what it has to report for two minutes.
pub(super) struct SparkWorker {
    /// `None` if the Master knows it by another connection, or not any more.
    envoy: Option<Envoy<Event>>,
    id: WorkerId,
    /// The address that it registered with: the Master's, as it is configured at the Worker.
    dialled: Address,
    /// As the Master knows it that calls it, until it registers by itself.
    called: Option<WorkerDescription>,
    /// The URL of its page, as it says. Empty if it does not.
    page: String,
}

/// The longest URL of a page that is kept, in bytes.
const LONGEST_URL: usize = 1024;

impl SparkWorker {
    /// A Worker that is called by a Master that knows it.
    pub(super) fn called(envoy: Envoy<Event>, description: WorkerDescription, dialled: Address) -> Self {
        let id = description.id.clone();
        Self { envoy: Some(envoy), id, dialled, called: Some(description), page: String::new() }
    }

    /// Whether it is a peer of the Master's by this connection.
    pub(super) fn is_here(&self) -> bool {
        self.envoy.is_some()
    }

    /// The Master has registered it by this connection.
    fn note_registered(&self, common: &Common) {
        if let Some(envoy) = &self.envoy {
            common.workers().insert(self.id.clone(), envoy.peer());
        }
    }

    /// The Master knows it by this connection no more.
    pub(super) fn leave(&mut self, common: &Common) -> Option<Envoy<Event>> {
        let envoy = self.envoy.take()?;
        let mut workers = common.workers();
        if workers.get(&self.id) == Some(&envoy.peer()) {
            workers.remove(&self.id);
        }
        Some(envoy)
    }
}

/// What the Master is told of a Worker besides its registration: where its page is. It measures nothing.
fn report_of(worker: &WorkerId, page: &str) -> Option<WorkerToMaster> {
    if page.len() > LONGEST_URL || !is_web_address(page) {
        return None;
    }
    let report = WorkerReport {
        worker: worker.clone(),
        web_address: Some(page.to_owned()),
        master_web_address: None,
        machine: None,
        disk: None,
        executors: Vec::new(),
        drivers: Vec::new(),
    };
    Some(WorkerToMaster::WorkerReported(Box::new(report)))
}

impl Connection {
    /// What the Master is told of a Worker's message.
    pub(super) fn report(
        &mut self,
        number: PeerNumber,
        message: FromWorker,
        frames: &mut Frames,
    ) -> Result<Vec<WorkerToMaster>, OwnerGone> {
        if let FromWorker::RegisterWorker(registration) = message {
            return Ok(self.register_worker(number, &registration, frames)?.into_iter().collect());
        }
        let Some(SparkWorker { id, called, .. }) = self.workers.get(&number) else { return Ok(Vec::new()) };
        let worker = id.clone();
        Ok(match message {
            FromWorker::Heartbeat { .. } => vec![WorkerToMaster::Heartbeat { worker, last_order: None }],
            FromWorker::ExecutorStateChanged { app, executor, state, message, exit_status } => {
                let report = translate::report(&app, executor, state, message, exit_status);
                report.map(WorkerToMaster::ExecutorStateChanged).into_iter().collect()
            }
            FromWorker::WorkerLatestState { executors, drivers, .. } => {
                self.complain_of_drivers(&worker, &drivers);
                let executors = translate::latest_state(&executors);
                vec![WorkerToMaster::WorkerLatestState { worker, executors }]
            }
            FromWorker::WorkerSchedulerStateResponse { executors, drivers, .. } => {
                self.complain_of_drivers(&worker, &drivers);
                let executors = translate::latest_state(&executors);
                // As if it had registered by itself, and then had said what runs there.
                let registration =
                    called.clone().map(|description| WorkerToMaster::register(description, Vec::new()));
                let latest = WorkerToMaster::WorkerLatestState { worker, executors };
                registration.into_iter().chain([latest]).collect()
            }
            FromWorker::WorkerDecommissioning { .. } => {
                vec![WorkerToMaster::WorkerDecommissioning { worker }]
            }
            FromWorker::RegisterWorker(_) => Vec::new(),
        })
    }

    /// Says that a Worker runs drivers, if it does.
    fn complain_of_drivers(&self, worker: &WorkerId, drivers: &[String]) {
        if !drivers.is_empty() {
            let drivers = drivers.join(", ");
            self.complain(&format!("{worker} runs drivers, which go on and are not shown: {drivers}"));
        }
    }

    /// A Worker registers: with it the Worker becomes a peer of the Master's. It has no token. Who comes from the same
    /// machine may be the same Worker.
    fn register_worker(
        &mut self,
        number: PeerNumber,
        registration: &WorkerRegistration,
        frames: &mut Frames,
    ) -> Result<Option<WorkerToMaster>, OwnerGone> {
        let description = match translate::worker(registration) {
            Ok(mut description) => {
                description.token = Secret::new(self.remote.ip().to_string());
                description.callback = registration.body.clone();
                description
            }
            Err(unfit) => {
                self.complain(&format!("Worker {} is refused: {unfit}", registration.worker));
                let refusal = ToWorker::RegisterWorkerFailed { message: unfit.to_string() };
                frames.push(&self.session.tell_worker(number, &refusal));
                return Ok(None);
            }
        };
        let page = registration.web_ui_url.clone();
        if let Some(worker) = self.workers.get_mut(&number).filter(|worker| worker.is_here()) {
            worker.called = None;
            worker.page = page;
        } else {
            let (envoy, letters) =
                self.envoys.open(Role::Worker, registration.worker.clone(), self.remote)?;
            self.letters.push(Addressed { address: Addressee::Worker(number), letters });
            self.has_registered = true;
            let (id, dialled) = (description.id.clone(), registration.master.clone());
            let worker = SparkWorker { envoy: Some(envoy), id, dialled, called: None, page };
            self.workers.insert(number, worker);
        }
        // What runs there it says when it is registered.
        Ok(Some(WorkerToMaster::register(description, Vec::new())))
    }

    /// Gives the Master a Worker's message, which had this number of bytes. A Worker that it does not know is told to register.
    pub(super) async fn worker_says(
        &mut self,
        number: PeerNumber,
        bytes: usize,
        message: WorkerToMaster,
        frames: &mut Frames,
    ) -> Result<(), OwnerGone> {
        let Some(SparkWorker { envoy, id, .. }) = self.workers.get(&number) else { return Ok(()) };
        let here = envoy.as_ref().map(Envoy::peer);
        let peer = here.or_else(|| self.common.workers().get(id).copied());
        if let Some(peer) = peer {
            return self.tell(peer, bytes, Inbound::Worker(message)).await;
        }
        let master_url = self.session.master(number).url();
        frames.push(&self.session.tell_worker(number, &ToWorker::ReconnectWorker { master_url }));
        Ok(())
    }

    /// Has written what the Master sends to a Worker. `Break` if its connection has to end.
    pub(super) async fn deliver_to_worker(
        &mut self,
        number: PeerNumber,
        letter: Letter,
        frames: &mut Frames,
    ) -> ControlFlow<()> {
        let message: MasterToWorker = match letter {
            Letter::Message(parcel) => parcel.open(),
            Letter::End(why) => {
                let left = self.workers.get_mut(&number).and_then(|worker| worker.leave(&self.common));
                let stays_open = matches!(why, Disconnect::Here);
                if let Some(envoy) = left {
                    envoy.end(why);
                }
                return if stays_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            }
        };
        if let (MasterToWorker::RegisteredWorker { .. }, Some(worker)) = (&message, self.workers.get(&number))
        {
            worker.note_registered(&self.common);
            if let Some(report) = report_of(&worker.id, &worker.page)
                && self.worker_says(number, 0, report, frames).await.is_err()
            {
                return ControlFlow::Break(());
            }
        }
        let Some(SparkWorker { dialled, called, .. }) = self.workers.get(&number) else {
            return ControlFlow::Continue(());
        };
        match &message {
            // It believes so since it was called.
            MasterToWorker::RegisteredWorker { .. } if called.is_some() => return ControlFlow::Continue(()),
            MasterToWorker::LaunchExecutor(launch) => return self.launch(number, launch, frames).await,
            MasterToWorker::ApplicationFinished { app } => self.common.forms().forget(app.as_str()),
            _ => {}
        }
        let told = translate::to_worker(&message, self.session.master(number), dialled);
        told.into_iter().for_each(|told| frames.push(&self.session.tell_worker(number, &told)));
        ControlFlow::Continue(())
    }

    /// Has a Worker launch an executor. The Master hears at once if it cannot be told to.
    async fn launch(
        &mut self,
        number: PeerNumber,
        launch: &ExecutorLaunch,
        frames: &mut Frames,
    ) -> ControlFlow<()> {
        let error = match translate::order(launch) {
            Ok(order) => match self.session.launch(number, &order, &mut self.common.forms()) {
                Ok(frame) => {
                    frame.iter().for_each(|frame| frames.push(frame));
                    return ControlFlow::Continue(());
                }
                Err(error) => format!("its application is described by {error}"),
            },
            Err(unordered) => unordered.to_string(),
        };
        let state = ExecutorState::Failed(StartFailure { step: StartStep::Program, error });
        let report = ExecutorReport::new(launch.executor.clone(), state);
        match self.worker_says(number, 0, WorkerToMaster::ExecutorStateChanged(report), frames).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(OwnerGone) => ControlFlow::Break(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_of_spark_s_has_a_page_if_it_names_a_url() {
        let id = WorkerId::new("worker-1");
        let said = |page: &str| match report_of(&id, page) {
            Some(WorkerToMaster::WorkerReported(report)) => report.web_address,
            Some(other) => panic!("{other:?}"),
            None => None,
        };
        assert_eq!(said("http://node-7:8081"), Some("http://node-7:8081".to_owned()));
        for none in ["", "javascript:alert(1)", &format!("http://{}", "x".repeat(LONGEST_URL))] {
            assert_eq!(said(none), None, "{none}");
        }
    }
}
