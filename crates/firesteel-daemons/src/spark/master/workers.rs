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
use firesteel_host::net::{Envoy, Letter};
use firesteel_spark::envelope::Address;
use firesteel_spark::messages::{FromWorker, ToWorker, WorkerRegistration};
use firesteel_spark::session::PeerNumber;
use firesteel_spark::translate;

use super::{Addressed, Addressee, Connection, tell};
use crate::spark::frames::Frames;

/// A Worker that has registered.
pub(super) struct SparkWorker {
    envoy: Envoy<Event>,
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
        Self { envoy, id: description.id.clone(), dialled, called: Some(description), page: String::new() }
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
    /// What the Master is told of a Worker's message, if anything.
    pub(super) fn report(
        &mut self,
        number: PeerNumber,
        message: FromWorker,
        frames: &mut Frames,
    ) -> Result<Option<WorkerToMaster>, OwnerGone> {
        if let FromWorker::RegisterWorker(registration) = message {
            return self.register_worker(number, &registration, frames);
        }
        let Some(SparkWorker { id, called, .. }) = self.workers.get(&number) else { return Ok(None) };
        let worker = id.clone();
        Ok(match message {
            FromWorker::Heartbeat { .. } => Some(WorkerToMaster::Heartbeat { worker, last_order: None }),
            FromWorker::ExecutorStateChanged { app, executor, state, message, exit_status } => {
                let report = translate::report(&app, executor, state, message, exit_status);
                report.map(WorkerToMaster::ExecutorStateChanged)
            }
            FromWorker::WorkerLatestState { executors, drivers, .. } => {
                self.complain_of_drivers(&worker, &drivers);
                let executors = translate::latest_state(&executors);
                Some(WorkerToMaster::WorkerLatestState { worker, executors })
            }
            FromWorker::WorkerSchedulerStateResponse { executors, drivers, .. } => {
                self.complain_of_drivers(&worker, &drivers);
                let executors = translate::latest_state(&executors);
                called.clone().map(|description| WorkerToMaster::register(description, executors))
            }
            FromWorker::WorkerDecommissioning { .. } => {
                Some(WorkerToMaster::WorkerDecommissioning { worker })
            }
            FromWorker::RegisterWorker(_) => None,
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
        if let Some(worker) = self.workers.get_mut(&number) {
            worker.called = None;
            worker.page = page;
        } else {
            let (envoy, letters) =
                self.envoys.open(Role::Worker, registration.worker.clone(), self.remote)?;
            self.letters.push(Addressed { address: Addressee::Worker(number), letters });
            self.has_registered = true;
            let (id, dialled) = (description.id.clone(), registration.master.clone());
            let worker = SparkWorker { envoy, id, dialled, called: None, page };
            self.workers.insert(number, worker);
        }
        // What runs there it says when it is registered.
        Ok(Some(WorkerToMaster::register(description, Vec::new())))
    }

    /// Gives the Master a Worker's message, which had this number of bytes.
    pub(super) async fn worker_says(
        &self,
        number: PeerNumber,
        bytes: usize,
        message: WorkerToMaster,
    ) -> Result<(), OwnerGone> {
        match self.workers.get(&number) {
            Some(SparkWorker { envoy, .. }) => tell(envoy, bytes, Inbound::Worker(message)).await,
            None => Ok(()),
        }
    }

    /// Has written what the Master sends to a Worker. `Break` if the Master ends the Worker's connection.
    pub(super) async fn deliver_to_worker(
        &mut self,
        number: PeerNumber,
        letter: Letter,
        frames: &mut Frames,
    ) -> ControlFlow<()> {
        let message: MasterToWorker = match letter {
            Letter::Message(parcel) => parcel.open(),
            Letter::End(why) => {
                if let Some(worker) = self.workers.remove(&number) {
                    worker.envoy.end(why);
                }
                return ControlFlow::Break(());
            }
        };
        let Some(worker) = self.workers.get(&number) else { return ControlFlow::Continue(()) };
        let SparkWorker { id, dialled, called, page, .. } = worker;
        if let MasterToWorker::RegisteredWorker { .. } = &message
            && let Some(report) = report_of(id, page)
            && self.worker_says(number, 0, report).await.is_err()
        {
            return ControlFlow::Break(());
        }
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
        let report = ExecutorReport { executor: launch.executor.clone(), state };
        match self.worker_says(number, 0, WorkerToMaster::ExecutorStateChanged(report)).await {
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
