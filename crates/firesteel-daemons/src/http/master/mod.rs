//! What a Master answers: JSON as Spark's Master has it, whether it is alive and ready, and metrics.
//!
//! - `json`: the fields of `/json/`
//! - `metrics`: the metrics of a Master, and those that Spark's Master has

mod json;
mod metrics;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use firesteel_core::address::Address;
use firesteel_core::ids::WorkerId;
use firesteel_core::master::{Event, Inbound};
use firesteel_core::messages::{
    ApplicationState, ClientToMaster, DriverState, MasterToClient, MasterView, WorkerState,
};
use firesteel_core::state_reader::{Extent, StateReader};
use firesteel_host::journal::JournalMeter;
use firesteel_host::net::{Arrival, Envoys};
use hyper::StatusCode;

use self::json::MasterPage;
pub(super) use self::json::{ResourceAmount, ResourceRows, plain_address, resource_rows};
use super::answer::Answer;
use super::inquiry::Inquiry;
use super::jackson;
use super::server::{HttpMeter, Site};
use super::snapshot::{Snapshot, Unanswered};

/// All paths.
const PATHS: [&str; 6] = [
    "/json/",
    "/livez",
    "/readyz",
    "/metrics",
    "/metrics/master/prometheus/",
    "/metrics/applications/prometheus/",
];

/// What a Master answers. It is the same while the Master leads and stands by in turn.
#[derive(Debug)]
pub(crate) struct MasterSite {
    url: String,
    started: SystemTime,
    standing: Mutex<Standing>,
}

/// What a Master does.
#[derive(Clone, Debug)]
enum Standing {
    /// It reads its state.
    Starting,
    /// It stands by, while this Master leads.
    StandsBy(Option<Address>),
    /// It leads.
    Leads(Arc<Reign>),
}

/// A Master while it leads.
#[derive(Debug)]
struct Reign {
    envoys: Envoys<Event>,
    journal: Option<Arc<JournalMeter>>,
    snapshot: Snapshot<MasterView>,
}

/// The state of a Master. Source: Spark RecoveryState, 4.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Standby,
    Alive,
    Recovering,
}

impl Status {
    const ALL: [Self; 3] = [Self::Standby, Self::Alive, Self::Recovering];

    fn name(self) -> &'static str {
        match self {
            Self::Standby => "STANDBY",
            Self::Alive => "ALIVE",
            Self::Recovering => "RECOVERING",
        }
    }

    /// The status of a Master that leads with this state: it recovers while somebody has not returned.
    fn of(view: &MasterView) -> Self {
        let is_away = view.workers.iter().any(|worker| worker.state == WorkerState::Unknown)
            || view.applications.iter().any(|application| application.state == ApplicationState::Unknown)
            || view.drivers.iter().any(|driver| driver.state == DriverState::Unknown);
        if is_away { Self::Recovering } else { Self::Alive }
    }
}

impl MasterSite {
    /// The site of a Master with this URL, which starts.
    pub(crate) fn new(url: String) -> Self {
        Self { url, started: SystemTime::now(), standing: Mutex::new(Standing::Starting) }
    }

    /// The Master stands by, and this one leads.
    pub(crate) fn stands_by(&self, leader: Option<Address>) {
        *self.standing() = Standing::StandsBy(leader);
    }

    /// The Master reads its state, and will lead.
    pub(crate) fn starts(&self) {
        *self.standing() = Standing::Starting;
    }

    /// The Master leads.
    pub(crate) fn leads(&self, envoys: Envoys<Event>, journal: Option<Arc<JournalMeter>>) {
        let reign = Reign { envoys, journal, snapshot: Snapshot::default() };
        *self.standing() = Standing::Leads(Arc::new(reign));
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// JSON of this field, or of all.
    async fn json(&self, field: Option<&str>) -> Answer {
        let standing = self.standing().clone();
        let view = match standing {
            Standing::Leads(reign) => match reign.state().await {
                Ok(view) => Some(view),
                Err(why) => return Answer::unavailable(&why.to_string()),
            },
            Standing::Starting | Standing::StandsBy(_) => None,
        };
        let page = match &view {
            Some(view) => MasterPage::of(view, Status::of(view)),
            None => MasterPage::of_standby(&self.url),
        };
        Answer::json(match field {
            None => jackson::json(&page),
            Some("clusterutilization") => jackson::json(&page.utilization()),
            Some(field) => jackson::json(&page.only(field)),
        })
    }

    async fn readyz(&self) -> Answer {
        let standing = self.standing().clone();
        match standing {
            Standing::Starting => Answer::unavailable("starting: it reads its state"),
            Standing::StandsBy(None) => Answer::unavailable("standby: no Master leads yet"),
            Standing::StandsBy(Some(leader)) => {
                Answer::unavailable(&format!("standby: {} leads", leader.url()))
            }
            Standing::Leads(reign) => match reign.state().await.map(|view| Status::of(&view)) {
                Ok(Status::Alive | Status::Standby) => Answer::line(StatusCode::OK, "ready"),
                Ok(Status::Recovering) => Answer::line(
                    StatusCode::OK,
                    "recovering: some have not returned yet; it serves all others",
                ),
                Err(why) => Answer::unavailable(&why.to_string()),
            },
        }
    }

    async fn metrics(&self, meter: &HttpMeter) -> Answer {
        let standing = self.standing().clone();
        let page = match standing {
            Standing::Starting | Standing::StandsBy(_) => metrics::of_standby(self.started, meter),
            Standing::Leads(reign) => {
                let view = reign.state().await;
                let source = metrics::Source {
                    owner: (reign.envoys.meter(), reign.envoys.traffic()),
                    journal: reign.journal.as_deref(),
                    view: view.as_deref().ok(),
                };
                metrics::of_leader(self.started, meter, &source)
            }
        };
        Answer::metrics(page)
    }

    /// The metrics that Spark's Master has.
    async fn spark_metrics(&self, page: fn(&MasterView) -> String) -> Answer {
        let standing = self.standing().clone();
        let Standing::Leads(reign) = standing else {
            return Answer::spark_metrics(page(&json::nothing(&self.url)));
        };
        match reign.state().await {
            Ok(view) => Answer::spark_metrics(page(&view)),
            Err(why) => Answer::unavailable(&why.to_string()),
        }
    }
}

impl Site for MasterSite {
    async fn answer(&self, path: &str, meter: &HttpMeter) -> Answer {
        match path.trim_end_matches('/') {
            "/livez" | "/healthz" => Answer::line(StatusCode::OK, "alive"),
            "/readyz" => self.readyz().await,
            "/metrics" => self.metrics(meter).await,
            "/metrics/master/prometheus" => self.spark_metrics(metrics::spark_master).await,
            "/metrics/applications/prometheus" => self.spark_metrics(metrics::spark_applications).await,
            "/json" => self.json(None).await,
            path => match path.strip_prefix("/json/") {
                Some(field) => self.json(Some(field)).await,
                None => Answer::not_found(&PATHS),
            },
        }
    }
}

impl Reign {
    /// The Workers and applications, without executors.
    async fn state(&self) -> Result<Arc<MasterView>, Unanswered> {
        if !self.envoys.tenure().holds() {
            return Err(Unanswered::Ended);
        }
        self.snapshot.get(|| read(self.envoys.clone())).await
    }
}

/// Reads the Master's state page by page.
async fn read(envoys: Envoys<Event>) -> Result<MasterView, Unanswered> {
    let mut inquiry = Inquiry::open(&envoys)?;
    let mut reader = StateReader::new(Extent::Executors(0));
    while let Some(question) = reader.question() {
        let message = Inbound::Client(question);
        let event = |Arrival { peer, at }| Event::Received { peer, arrived: at, message };
        let MasterToClient::MasterStateResponse(page) = inquiry.ask(event).await? else {
            return Err(Unanswered::Ended);
        };
        reader.read(page).map_err(|_| Unanswered::Ended)?;
    }
    let mut view = reader.finish().ok_or(Unanswered::Ended)?;
    let mut from = Some(WorkerId::new(""));
    while let Some(first) = from.take() {
        let message = Inbound::Client(ClientToMaster::RequestWorkerReports { from: first.clone() });
        let event = |Arrival { peer, at }| Event::Received { peer, arrived: at, message };
        let MasterToClient::WorkerReportsResponse(page) = inquiry.ask(event).await? else {
            return Err(Unanswered::Ended);
        };
        view.reports.extend(page.reports.into_iter().map(|it| (it.report.worker.clone(), it)));
        from = page.next.filter(|next| *next > first);
    }
    Ok(view)
}
