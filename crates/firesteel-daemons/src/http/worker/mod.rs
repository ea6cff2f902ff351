//! The HTTP responses of a Worker: pages, JSON in the format of Spark's Worker, health and metrics.
//!
//! - `page`: the page of the Worker; `logs`: the logs of its executors and cluster drivers
//! - `json`: the fields of `/json/`
//! - `metrics`: the metrics of a Worker, and the metrics of Spark's Worker
//! - `plans`: the orders that the Worker got for its executors

mod json;
mod logs;
mod metrics;
mod page;
mod plans;
#[cfg(test)]
pub(super) mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use firesteel_host::net::{Arrival, VirtualPeers};
use firesteel_placement::Resources;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{
    ClientToWorker, LogAuthor, Rights, WorkerReport, WorkerToClient, WorkerViewOfItself,
};
use firesteel_worker::{Event, ExecutorPlan, Inbound};
use hyper::StatusCode;

use self::json::WorkerPage;
use self::logs::OwnLogs;
use self::plans::Plans;
use super::answer::Answer;
use super::inquiry::Inquiry;
use super::jackson;
use super::names::Names;
use super::pages::assets;
use super::pages::log::{LogQuestion, name};
use super::pages::parts::sentence;
use super::question::Question;
use super::server::HttpMeter;
use super::site::Site;
use super::snapshot::{Snapshot, Unanswered};
use super::vitals::GaugeForm;
use crate::worker::directories::work_directory::WorkDirectory;

const PATHS: [&str; 7] =
    ["/", "/json/", "/livez", "/readyz", "/metrics", "/metrics/json/", "/metrics/prometheus/"];

#[derive(Debug)]
pub(crate) struct WorkerSite {
    names: Names,
    /// Until when other machines can connect without a secret.
    exposed_until: Timestamp,
    started: SystemTime,
    resources: Resources,
    virtual_peers: VirtualPeers<Event>,
    snapshot: Snapshot<(WorkerViewOfItself, WorkerReport)>,
    plans: Mutex<Plans>,
    work: WorkDirectory,
}

impl WorkerSite {
    /// The site of a Worker with these custom resources. The site lists at most this number of ended executors. The
    /// executors' directories are in this directory. Requests may use these names for the Worker.
    /// Until `exposed_until` other machines can connect without a secret.
    pub(crate) fn new(
        virtual_peers: VirtualPeers<Event>,
        resources: Resources,
        retained: usize,
        work: WorkDirectory,
        names: Names,
        exposed_until: Timestamp,
    ) -> Self {
        Self {
            names,
            exposed_until,
            work,
            started: SystemTime::now(),
            resources,
            virtual_peers,
            snapshot: Snapshot::default(),
            plans: Mutex::new(Plans::of(retained)),
        }
    }

    /// Records that the Worker starts a cluster driver, or starts it again.
    pub(crate) fn starts_driver(&self, driver: &DriverId) {
        self.plans().add_driver(driver);
    }

    /// Records that the Worker starts an executor, while `live` executors run already.
    pub(crate) fn starts(&self, plan: &ExecutorPlan, live: usize) {
        self.plans().add(plan, live);
    }

    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn state(&self) -> Result<Arc<(WorkerViewOfItself, WorkerReport)>, Unanswered> {
        self.snapshot.get(|| read(self.virtual_peers.clone())).await
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
        let owner = (self.virtual_peers.meter(), self.virtual_peers.traffic());
        Answer::metrics(metrics::of(self.started, meter, owner, state.as_deref().ok()))
    }

    async fn spark_metrics(&self, form: GaugeForm) -> Answer {
        match self.state().await {
            Ok(state) => metrics::spark(&state.0).answer(form),
            Err(why) => Answer::unavailable(&why.to_string()),
        }
    }
}

impl WorkerSite {
    async fn page(&self, question: &Question) -> Answer {
        match self.state().await {
            Ok(state) => {
                let (query, resources) = (&question.query, &self.resources);
                let page = page::WorkerPage {
                    view: &state.0,
                    report: &state.1,
                    plans: &self.plans(),
                    resources,
                    query,
                    is_exposed: self.virtual_peers.now() < self.exposed_until,
                };
                Answer::page(StatusCode::OK, &page.document())
            }
            Err(why) => {
                let parts = sentence(format!("The Worker cannot answer: {why}."));
                let document = page::framed("./", "Worker", None, 3000, &parts);
                Answer::page(StatusCode::SERVICE_UNAVAILABLE, &document)
            }
        }
    }

    async fn log(&self, question: &Question, is_page: bool) -> Answer {
        let shown = match LogQuestion::of(&question.query) {
            // A Worker does not know whose its logs are.
            Ok(_) if question.by.rights() < Rights::View => {
                return Answer::line(StatusCode::FORBIDDEN, "Read your logs on the pages of the Master.");
            }
            Ok(wanted) => self.excerpt(&wanted, is_page).await,
            Err(words) => Err(words),
        };
        match (shown, is_page) {
            (Ok(document), true) => Answer::page(StatusCode::OK, &document),
            (Err(words), true) => {
                Answer::page(StatusCode::OK, &page::framed("../", "Log", None, 0, &sentence(&words)))
            }
            (Ok(text), false) => Answer::text(&text),
            (Err(words), false) => Answer::text(&format!("{words}\n")),
        }
    }

    async fn excerpt(&self, wanted: &LogQuestion, is_page: bool) -> Result<String, String> {
        let directory = match &wanted.author {
            LogAuthor::Executor(executor) => self.work.of_executor(executor),
            LogAuthor::Driver(driver) => self.work.of_driver(driver),
        };
        let place = directory.join(name(wanted.stream)).display().to_string();
        let mut logs = OwnLogs::open(&self.virtual_peers)?;
        let excerpt = wanted.read(&mut logs, place).await?;
        if !is_page {
            return Ok(wanted.text(&excerpt));
        }
        let under = maud::html! { span.id { (wanted.author.directory_id()) } };
        Ok(page::framed("../", &wanted.title(), None, 0, &wanted.page("../", &under, &excerpt)))
    }
}

impl Site for WorkerSite {
    async fn answer(&self, question: &Question, meter: &HttpMeter) -> Answer {
        match question.path.trim_end_matches('/') {
            "" => self.page(question).await,
            "/logPage" => self.log(question, true).await,
            "/log" => self.log(question, false).await,
            "/livez" | "/healthz" => Answer::line(StatusCode::OK, "alive"),
            "/readyz" => self.readyz().await,
            "/metrics" => self.metrics(meter).await,
            "/metrics/prometheus" => self.spark_metrics(GaugeForm::Prometheus).await,
            "/metrics/json" => self.spark_metrics(GaugeForm::Json).await,
            "/json" => self.json().await,
            path => match path.strip_prefix("/static/") {
                Some(file) => assets::answer(file, question),
                None => Answer::not_found(&PATHS),
            },
        }
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn takes_forms(&self, _: &str) -> bool {
        false
    }
}

async fn read(virtual_peers: VirtualPeers<Event>) -> Result<(WorkerViewOfItself, WorkerReport), Unanswered> {
    let mut inquiry = Inquiry::open(&virtual_peers)?;
    let mut ask = async |question| {
        let message = Inbound::Client(question);
        inquiry.ask(|Arrival { peer, .. }| Event::Received { peer, message }).await
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
