//! What a Worker answers: JSON as Spark's Worker has it, whether it is alive and ready, and metrics.
//!
//! - `json`: the fields of `/json/`
//! - `metrics`: the metrics of a Worker, and those that Spark's Worker has
//! - `plans`: what the Worker was told about its executors

mod json;
mod metrics;
mod plans;
#[cfg(test)]
pub(super) mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use firesteel_core::messages::{ClientToWorker, WorkerReport, WorkerToClient, WorkerViewOfItself};
use firesteel_core::worker::{Event, ExecutorPlan, Inbound};
use firesteel_host::net::{Arrival, Envoys};
use firesteel_placement::Resources;
use hyper::StatusCode;

use self::json::WorkerPage;
use self::plans::Plans;
use super::answer::Answer;
use super::inquiry::Inquiry;
use super::jackson;
use super::server::{HttpMeter, Site};
use super::snapshot::{Snapshot, Unanswered};

/// All paths.
const PATHS: [&str; 5] = ["/json/", "/livez", "/readyz", "/metrics", "/metrics/prometheus/"];

/// What a Worker answers.
#[derive(Debug)]
pub(crate) struct WorkerSite {
    started: SystemTime,
    resources: Resources,
    envoys: Envoys<Event>,
    snapshot: Snapshot<(WorkerViewOfItself, WorkerReport)>,
    plans: Mutex<Plans>,
}

impl WorkerSite {
    /// The site of a Worker with these custom resources, which lists this number of ended executors.
    pub(crate) fn new(envoys: Envoys<Event>, resources: Resources, retained: usize) -> Self {
        Self {
            started: SystemTime::now(),
            resources,
            envoys,
            snapshot: Snapshot::default(),
            plans: Mutex::new(Plans::of(retained)),
        }
    }

    /// The Worker starts an executor. `live` executors run already.
    pub(crate) fn starts(&self, plan: &ExecutorPlan, live: usize) {
        self.plans().add(plan, live);
    }

    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn state(&self) -> Result<Arc<(WorkerViewOfItself, WorkerReport)>, Unanswered> {
        self.snapshot.get(|| read(self.envoys.clone())).await
    }

    async fn json(&self) -> Answer {
        match self.state().await {
            Ok(state) => {
                let (view, report) = &*state;
                let master = report.master_web_address.as_deref();
                let page = WorkerPage::of((view, master), &self.plans(), &self.resources);
                Answer::json(jackson::json(&page))
            }
            Err(why) => Answer::unavailable(&why.to_string()),
        }
    }

    async fn readyz(&self) -> Answer {
        match self.state().await {
            Ok(state) if state.0.master_url.is_some() => Answer::line(StatusCode::OK, "ready"),
            Ok(_) => Answer::unavailable("unregistered: no Master has accepted this Worker"),
            Err(why) => Answer::unavailable(&why.to_string()),
        }
    }

    async fn metrics(&self, meter: &HttpMeter) -> Answer {
        let state = self.state().await;
        let owner = (self.envoys.meter(), self.envoys.traffic());
        Answer::metrics(metrics::of(self.started, meter, owner, state.as_deref().ok()))
    }

    async fn spark_metrics(&self) -> Answer {
        match self.state().await {
            Ok(state) => Answer::spark_metrics(metrics::spark(&state.0)),
            Err(why) => Answer::unavailable(&why.to_string()),
        }
    }
}

impl Site for WorkerSite {
    async fn answer(&self, path: &str, meter: &HttpMeter) -> Answer {
        match path.trim_end_matches('/') {
            "/livez" | "/healthz" => Answer::line(StatusCode::OK, "alive"),
            "/readyz" => self.readyz().await,
            "/metrics" => self.metrics(meter).await,
            "/metrics/prometheus" => self.spark_metrics().await,
            "/json" => self.json().await,
            _ => Answer::not_found(&PATHS),
        }
    }
}

/// Asks the Worker for its state, and for what it reports of itself.
async fn read(envoys: Envoys<Event>) -> Result<(WorkerViewOfItself, WorkerReport), Unanswered> {
    let mut inquiry = Inquiry::open(&envoys)?;
    let mut ask = async |question| {
        let message = Inbound::Client(question);
        inquiry.ask(|Arrival { peer, at: _ }| Event::Received { peer, message }).await
    };
    let WorkerToClient::WorkerStateResponse(view) = ask(ClientToWorker::RequestWorkerState).await? else {
        return Err(Unanswered::Ended);
    };
    match ask(ClientToWorker::RequestWorkerReport).await? {
        WorkerToClient::WorkerReportResponse(report) => Ok((view, *report)),
        WorkerToClient::WorkerStateResponse(_)
        | WorkerToClient::LogResponse(_)
        | WorkerToClient::RequestLogFailed(_) => Err(Unanswered::Ended),
    }
}
