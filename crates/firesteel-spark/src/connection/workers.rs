//! The Spark Workers on a connection.

use firesteel_master::Inbound;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{
    MasterToWorker, WorkerDescription, WorkerReport, WorkerToMaster, is_web_address,
};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;

use super::{Channel, Connection, Effect, Note, Occupant, PeerNumber};
use crate::envelope::Address;
use crate::messages::{FromWorker, ToWorker, WorkerRegistration};
use crate::translate;

/// A Worker that has registered.
///
/// A Worker may register again over another connection, and send reports over both: a restarted Master may call the
/// Worker while the Worker registers by itself. The Master then uses the later connection. The earlier connection stays
/// open, as with Spark's Master: if it were closed, the Worker would hold back its reports for two minutes.
#[derive(Debug)]
pub(super) struct SparkWorker {
    pub(super) id: WorkerId,
    /// The Worker's channel. `None` if the Worker is registered with the Master over another connection, or no longer
    /// registered.
    pub(super) channel: Option<Channel>,
    /// The secret which proves that a peer is this Worker.
    token: Secret,
    /// The Master's address in the Worker's configuration, with which the Worker registered.
    dialled: Address,
    /// The Master's description of a Worker that the Master has called, until the Worker registers by itself.
    called: Option<WorkerDescription>,
    /// The URL of the Worker's page, as the Worker reported it; empty if it has none.
    page: String,
}

/// The maximum length of a page's URL that is stored, in bytes.
const LONGEST_URL: usize = 1024;

impl SparkWorker {
    /// A Worker that a Master calls. The Master has stored this description of it.
    pub(super) fn called(channel: Channel, description: WorkerDescription, dialled: Address) -> Self {
        let (id, token) = (description.id.clone(), description.token.clone());
        Self { id, channel: Some(channel), token, dialled, called: Some(description), page: String::new() }
    }
}

/// The message to the Master with the URL of a Worker's page. It contains no usage, because Spark's Workers do not
/// measure it.
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
    /// Handles a message of a registered Worker.
    pub(super) fn on_worker(&mut self, peer: PeerNumber, message: FromWorker) {
        let Some(SparkWorker { id, called, .. }) = &self.peers[peer].worker else { return };
        let worker = id.clone();
        match message {
            FromWorker::Heartbeat { .. } => {
                self.worker_says(peer, WorkerToMaster::Heartbeat { worker, last_order: None });
            }
            FromWorker::ExecutorStateChanged { app, executor, state, message, exit_status } => {
                let report = translate::report(&app, executor, state, message, exit_status);
                if let Some(report) = report {
                    self.worker_says(peer, WorkerToMaster::ExecutorStateChanged(report));
                }
            }
            FromWorker::WorkerLatestState { executors, drivers, .. } => {
                self.see_drivers(&worker, drivers);
                let executors = translate::latest_state(&executors);
                self.worker_says(peer, WorkerToMaster::WorkerLatestState { worker, executors });
            }
            FromWorker::WorkerSchedulerStateResponse { executors, drivers, .. } => {
                // As if it had registered by itself, and then reported what runs there.
                let registration = called.clone();
                self.see_drivers(&worker, drivers);
                if let Some(description) = registration {
                    self.worker_says(peer, WorkerToMaster::register(description, Vec::new()));
                }
                let executors = translate::latest_state(&executors);
                self.worker_says(peer, WorkerToMaster::WorkerLatestState { worker, executors });
            }
            FromWorker::WorkerDecommissioning { .. } => {
                self.worker_says(peer, WorkerToMaster::WorkerDecommissioning { worker });
            }
            // A registered Worker does not send this message.
            FromWorker::RegisterWorker(_) => {}
        }
    }

    /// Logs the cluster drivers that a Worker lists, if there are any.
    fn see_drivers(&mut self, worker: &WorkerId, drivers: Vec<String>) {
        if !drivers.is_empty() {
            self.note(Note::RunsDrivers { worker: worker.clone(), drivers });
        }
    }

    /// Removes an executor from the table if the Worker reports that the executor has ended.
    pub(super) fn forget_if_ended(&mut self, peer: PeerNumber, message: &FromWorker) {
        if let FromWorker::ExecutorStateChanged { app, executor, state, .. } = message
            && state.is_finished()
        {
            self.peers.stop(&(app.clone(), *executor), peer);
        }
    }

    /// Records the executors that a Worker reports as running on it.
    pub(super) fn learn_executors(&mut self, peer: PeerNumber, message: &FromWorker) {
        let (FromWorker::WorkerLatestState { executors, .. }
        | FromWorker::WorkerSchedulerStateResponse { executors, .. }) = message
        else {
            return;
        };
        let most = self.limits.executors;
        for running in executors {
            let key = (running.app.clone(), running.executor);
            if self.peers.executors() >= most && self.peers.runs(&key).is_none() {
                return self.note(Note::TooManyExecutors { most });
            }
            self.peers.run(key, peer);
        }
    }

    /// Handles a Worker's registration. The Worker becomes a peer of the Master. Spark's Workers have no token, so any
    /// peer on the same machine can register as this Worker.
    pub(super) fn register_worker(&mut self, peer: PeerNumber, registration: &WorkerRegistration) {
        let mut description = match translate::worker(registration) {
            Ok(description) => description,
            Err(unfit) => {
                let message = unfit.to_string();
                self.note(Note::WorkerRefused { name: registration.worker.clone(), unfit });
                return self.send_worker(peer, &ToWorker::RegisterWorkerFailed { message });
            }
        };
        description.token = Secret::new(self.remote.to_string());
        description.callback = registration.body.clone();
        let page = registration.web_ui_url.clone();
        if self.is_here_as(peer, &description.id) {
            if let Some(worker) = &mut self.peers[peer].worker {
                worker.called = None;
                worker.page = page;
            }
        } else {
            let channel = self.open(Occupant::Worker(peer), Role::Worker, registration.worker.clone());
            self.see_use();
            let (id, token) = (description.id.clone(), description.token.clone());
            let dialled = registration.master.clone();
            let worker = SparkWorker { id, channel: Some(channel), token, dialled, called: None, page };
            self.peers.employ(peer, worker);
        }
        // It reports what runs there once it is registered.
        self.worker_says(peer, WorkerToMaster::register(description, Vec::new()));
    }

    /// Whether a peer is registered at the Master as this Worker. If the peer is registered as another Worker, that
    /// Worker leaves first.
    fn is_here_as(&mut self, peer: PeerNumber, id: &WorkerId) -> bool {
        let Some(SparkWorker { id: known, channel: Some(channel), .. }) = &self.peers[peer].worker else {
            return false;
        };
        let (is_same, channel) = (known == id, *channel);
        if !is_same {
            self.withdraw(peer);
            self.leave(channel);
        }
        is_same
    }

    /// Passes a Worker's message on to the Master, over this connection or the one where the Worker is registered.
    pub(super) fn worker_says(&mut self, peer: PeerNumber, message: WorkerToMaster) {
        let Some(SparkWorker { id, channel, token, .. }) = &self.peers[peer].worker else { return };
        match *channel {
            Some(channel) => self.say(channel, Inbound::Worker(message)),
            None => {
                let (worker, token, bytes) = (id.clone(), token.clone(), self.bytes);
                self.effects.push(Effect::SayElsewhere { peer, worker, token, bytes, message });
            }
        }
    }

    /// Asks a Worker to register again, because it is not registered with the Master over any connection.
    pub(super) fn reconnect(&mut self, peer: PeerNumber) {
        let master_url = self.master(peer).url();
        self.send_worker(peer, &ToWorker::ReconnectWorker { master_url });
    }

    /// Ends the Worker's registration over this connection.
    pub(super) fn withdraw(&mut self, peer: PeerNumber) {
        let Some(worker) = &mut self.peers[peer].worker else { return };
        if let Some(channel) = worker.channel.take() {
            self.effects.push(Effect::Withdraw { worker: worker.id.clone(), channel });
        }
    }

    pub(super) fn tell_worker(&mut self, peer: PeerNumber, message: MasterToWorker) {
        if let MasterToWorker::RegisteredWorker { .. } = message {
            self.see_registered(peer);
        }
        let Some(SparkWorker { called, .. }) = &self.peers[peer].worker else { return };
        match message {
            // A called Worker already considers itself registered.
            MasterToWorker::RegisteredWorker { .. } if called.is_some() => {}
            MasterToWorker::LaunchExecutor(launch) => self.launch(peer, launch),
            message => {
                if let MasterToWorker::ApplicationFinished { app } = &message {
                    let app = app.to_string();
                    self.peers.stop_all(&app, peer);
                    self.effects.push(Effect::ForgetOrders { app });
                }
                let Some(SparkWorker { dialled, .. }) = &self.peers[peer].worker else { return };
                let told = translate::to_worker(&message, self.master(peer), dialled);
                told.into_iter().for_each(|told| self.send_worker(peer, &told));
            }
        }
    }

    /// Records that the Master has registered a Worker over this connection. Then sends the Master the URL of the
    /// Worker's page.
    fn see_registered(&mut self, peer: PeerNumber) {
        let Some(SparkWorker { id, channel: Some(channel), token, page, .. }) = &self.peers[peer].worker
        else {
            return;
        };
        let report = report_of(id, page);
        self.effects.push(Effect::Enter { worker: id.clone(), token: token.clone(), channel: *channel });
        if let Some(report) = report {
            self.worker_says(peer, report);
        }
    }

    pub(super) fn send_worker(&mut self, peer: PeerNumber, message: &ToWorker) {
        let object = message.write(&self.peers[peer].dialect);
        self.send(peer, &object);
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
