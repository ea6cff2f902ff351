//! The record of an executor, live or ended: its Worker, share, state and times.

use std::sync::Arc;

use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId};
use firesteel_protocol::messages::{ExecutorState, ExecutorView, Used, WorkerDescription};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;

use crate::tables::capacity::Holding;

/// The record of one executor, live or ended. It is short, because the Master remembers many ended executors. The view
/// for clients is built on request.
#[derive(Debug)]
pub(crate) struct ExecutorRecord {
    pub(crate) id: ExecutorId,
    /// The executor's Worker, which may be lost by now.
    pub(crate) worker: Arc<WorkerDescription>,
    pub(crate) profile: ProfileId,
    pub(crate) share: Holding,
    pub(crate) state: ExecutorState,
    pub(crate) launched: Timestamp,
    pub(crate) started: Option<Timestamp>,
    pub(crate) ended: Option<Timestamp>,
    pub(crate) used: Option<Used>,
}

impl ExecutorRecord {
    /// Records how the executor's process ended, after the Master had taken the executor back.
    pub(crate) fn learn(&mut self, now: Timestamp, status: Option<ExitStatus>, used: Option<Used>) {
        if status.is_some() {
            self.state = ExecutorState::Killed(status);
            self.ended = Some(now);
        }
        self.used = used.or(self.used);
    }

    /// A copy of the record for clients.
    pub(crate) fn view(&self, app: &AppId) -> ExecutorView {
        let WorkerDescription { id: worker, host, port, work_dir, .. } = &*self.worker;
        let Holding { cores, memory, resources } = &self.share;
        ExecutorView {
            id: self.id,
            worker: worker.clone(),
            profile: self.profile,
            cores: *cores,
            memory: *memory,
            resources: resources.clone(),
            state: self.state.clone(),
            host: host.clone(),
            port: *port,
            directory: directory(work_dir, app, self.id),
            launched: self.launched,
            started: self.started,
            ended: self.ended,
        }
    }
}

/// The path of an executor's directory. Empty if its Worker does not report its work directory.
fn directory(work_dir: &str, app: &AppId, executor: ExecutorId) -> String {
    match work_dir {
        "" => String::new(),
        work_dir => [work_dir, app.as_str(), &executor.to_string()].join("/"),
    }
}
