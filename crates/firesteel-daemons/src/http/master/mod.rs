//! The HTTP responses of a Master: pages, JSON in the format of Spark's Master, health and metrics.
//!
//! - `pages`: the pages
//! - `read`: how the Master's state is read
//! - `json`: the fields of `/json/`
//! - `metrics`: the metrics of a Master, and the metrics of Spark's Master

mod json;
mod metrics;
mod pages;
mod read;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use firesteel_host::journal::JournalMeter;
use firesteel_host::net::VirtualPeers;
use firesteel_master::Event;
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{ApplicationAnswer, ApplicationState, LogAuthor, MasterView, WorkerState};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::state_reader::Extent;
use firesteel_settings::pages::PageSettings;
use hyper::StatusCode;

use self::json::MasterPage;
pub(super) use self::json::{ResourceAmount, ResourceRows, plain_address, resource_rows};
use self::pages::actions::{Action, Permit, act};
use self::pages::application::ApplicationPage;
use self::pages::cluster::ClusterPage;
use self::pages::logs::{Listed, Look};
use self::pages::picture::Picture;
use self::pages::policies::Comparison;
use self::pages::reasons::Reasons;
use self::read::Applications;
use super::answer::Answer;
use super::jackson;
use super::names::Names;
use super::pages::assets;
use super::pages::log::LogQuestion;
use super::question::Question;
use super::server::HttpMeter;
use super::site::Site;
use super::snapshot::{Snapshot, Unanswered};
use super::vitals::{GaugeForm, SparkGauges};
use crate::log_client::{LogError, MasterLogs};
use crate::master::reach::Reach;
use crate::secret;

const PATHS: [&str; 11] = [
    "/",
    "/picture/",
    "/policies/",
    "/json/",
    "/livez",
    "/readyz",
    "/metrics",
    "/metrics/master/json/",
    "/metrics/master/prometheus/",
    "/metrics/applications/json/",
    "/metrics/applications/prometheus/",
];

/// The HTTP site of a Master. The same site serves while the Master is the leader and while it is a standby.
#[derive(Debug)]
pub(crate) struct MasterSite {
    url: String,
    settings: PageSettings,
    /// The token that forms with side effects must contain.
    token: Secret,
    /// The host names that requests may use for this Master.
    names: Names,
    reach: Arc<Reach>,
    started: SystemTime,
    master_state: Mutex<MasterState>,
}

/// The state of the Master that the site serves.
#[derive(Clone, Debug)]
enum MasterState {
    /// The Master is reading its state.
    Starting,
    /// The Master is a standby, and the Master at this address is the leader.
    StandsBy(Option<Address>),
    Leads(Arc<Term>),
}

/// The data of a Master that exists only while it leads.
#[derive(Debug)]
struct Term {
    virtual_peers: VirtualPeers<Event>,
    journal: Option<Arc<JournalMeter>>,
    snapshot: Snapshot<MasterView>,
    whole: Snapshot<MasterView>,
    applications: Applications,
    reasons: Arc<Reasons>,
    picture: Snapshot<Picture>,
    comparison: Snapshot<Comparison>,
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

    /// The status of a leading Master with this state. The Master counts as recovering until all Workers and
    /// applications have returned since its restart.
    fn of(view: &MasterView) -> Self {
        let workers = view.workers.iter().filter(|worker| worker.state == WorkerState::Unknown);
        let applications = view.applications.iter().filter(|app| app.state == ApplicationState::Unknown);
        let absences = workers.map(|it| it.away_since).chain(applications.map(|it| it.away_since));
        if absences.into_iter().any(|since| since.is_none()) { Self::Recovering } else { Self::Alive }
    }
}

impl MasterSite {
    /// The site of a starting Master that has this public address. It reads logs of Workers within `reach`.
    pub(crate) fn new(reached: &Address, settings: PageSettings, reach: Arc<Reach>) -> Self {
        let master_state = Mutex::new(MasterState::Starting);
        let allowed = settings.hosts.iter().map(String::as_str);
        let names = Names::of_master(allowed.chain([reached.host.as_str()]));
        let (url, token, started) = (reached.url(), secret::draw(), SystemTime::now());
        Self { url, settings, token, names, reach, started, master_state }
    }

    pub(crate) fn stands_by(&self, leader: Option<Address>) {
        *self.master_state() = MasterState::StandsBy(leader);
    }

    pub(crate) fn starts(&self) {
        *self.master_state() = MasterState::Starting;
    }

    pub(crate) fn leads(&self, virtual_peers: VirtualPeers<Event>, journal: Option<Arc<JournalMeter>>) {
        let term = Term {
            virtual_peers,
            journal,
            snapshot: Snapshot::default(),
            whole: Snapshot::default(),
            applications: Applications::default(),
            reasons: Arc::default(),
            picture: Snapshot::lasting(pages::picture::FRESH),
            comparison: Snapshot::lasting(pages::policies::FRESH),
        };
        *self.master_state() = MasterState::Leads(Arc::new(term));
    }

    fn master_state(&self) -> MutexGuard<'_, MasterState> {
        self.master_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn json(&self, field: Option<&str>) -> Answer {
        let master_state = self.master_state().clone();
        let view = match master_state {
            MasterState::Leads(term) => match term.state().await {
                Ok(view) => Some(view),
                Err(why) => return Answer::unavailable(&why.to_string()),
            },
            MasterState::Starting | MasterState::StandsBy(_) => None,
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
        let master_state = self.master_state().clone();
        match master_state {
            MasterState::Starting => Answer::unavailable("starting: it reads its state"),
            MasterState::StandsBy(None) => Answer::unavailable("standby: no Master leads yet"),
            MasterState::StandsBy(Some(leader)) => {
                Answer::unavailable(&format!("standby: {} leads", leader.url()))
            }
            MasterState::Leads(term) => match term.state().await.map(|view| Status::of(&view)) {
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
        let master_state = self.master_state().clone();
        let page = match master_state {
            MasterState::Starting | MasterState::StandsBy(_) => metrics::of_standby(self.started, meter),
            MasterState::Leads(term) => {
                let view = term.state().await;
                let source = metrics::Source {
                    owner: (term.virtual_peers.meter(), term.virtual_peers.traffic()),
                    journal: term.journal.as_deref(),
                    view: view.as_deref().ok(),
                };
                metrics::of_leader(self.started, meter, &source)
            }
        };
        Answer::metrics(page)
    }

    async fn spark_metrics(&self, gauges: fn(&MasterView) -> SparkGauges, form: GaugeForm) -> Answer {
        let master_state = self.master_state().clone();
        let MasterState::Leads(term) = master_state else {
            return gauges(&MasterView::empty(&self.url)).answer(form);
        };
        match term.state().await {
            Ok(view) => gauges(&view).answer(form),
            Err(why) => Answer::unavailable(&why.to_string()),
        }
    }
}

impl Site for MasterSite {
    async fn answer(&self, question: &Question, meter: &HttpMeter) -> Answer {
        let path = question.path.trim_end_matches('/');
        if let Some(action) = Action::ALL.into_iter().find(|action| action.path() == path) {
            return self.act(action, question).await;
        }
        match path {
            "/livez" | "/healthz" => Answer::line(StatusCode::OK, "alive"),
            "/readyz" => self.readyz().await,
            "/metrics" => self.metrics(meter).await,
            "/metrics/master/prometheus" => {
                self.spark_metrics(metrics::spark_master, GaugeForm::Prometheus).await
            }
            "/metrics/master/json" => self.spark_metrics(metrics::spark_master, GaugeForm::Json).await,
            "/metrics/applications/prometheus" => {
                self.spark_metrics(metrics::spark_applications, GaugeForm::Prometheus).await
            }
            "/metrics/applications/json" => {
                self.spark_metrics(metrics::spark_applications, GaugeForm::Json).await
            }
            "/json" => self.json(None).await,
            path => match (path.strip_prefix("/json/"), path.strip_prefix("/static/")) {
                (Some(field), _) => self.json(Some(field)).await,
                (None, Some(file)) => assets::answer(file, question),
                (None, None) => self.page(path, question).await,
            },
        }
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn takes_forms(&self, path: &str) -> bool {
        Action::ALL.iter().any(|action| action.path() == path.trim_end_matches('/'))
    }
}

/// The responses for each page. Paths have no `/` at the end.
impl MasterSite {
    async fn page(&self, path: &str, question: &Question) -> Answer {
        // Spark's Master serves the pages of its Workers below this path (spark.ui.reverseProxy).
        let proxied = path.strip_prefix("/proxy/").and_then(|path| path.split_once('/'));
        let (path, base) = match proxied {
            Some((_, path @ ("logPage" | "log"))) => (path, "../../../"),
            Some(_) => return Answer::not_found(&PATHS),
            None => (path.trim_start_matches('/'), if path.is_empty() { "./" } else { "../" }),
        };
        let is_page = ["", "app", "worker", "logPage", "log", "picture", "policies"].contains(&path);
        if !is_page {
            return Answer::not_found(&PATHS);
        }
        let master_state = self.master_state().clone();
        let term = match master_state {
            MasterState::Leads(term) => term,
            MasterState::Starting => return pages::apart(base, "The Master reads its state."),
            MasterState::StandsBy(None) => {
                return pages::apart(base, "This Master stands by. No Master leads yet.");
            }
            MasterState::StandsBy(Some(leader)) => {
                let web_address = read::pages_of(&leader, self.reach.client(&self.url)).await;
                return pages::standby(base, &leader, web_address.as_deref());
            }
        };
        let permit = Permit { base, token: self.settings.may_kill.then_some(&self.token) };
        let shown = match path {
            "" => self.cluster(&term, question, permit).await,
            "app" => self.application(&term, question, permit).await,
            "worker" => {
                let view = term.whole().await;
                view.map(|view| pages::worker::document(&view, &question.query, permit))
            }
            "logPage" => return self.log(&term, question, (Look::Page, base)).await,
            "log" => return self.log(&term, question, (Look::Text, base)).await,
            "picture" => term.picture().await.map(|picture| picture.document(&question.query)),
            _ => term.comparison().await.map(|comparison| comparison.document()),
        };
        match shown {
            Ok(document) => Answer::page(StatusCode::OK, &document),
            Err(why) => pages::apart(base, format!("The Master cannot answer: {why}.")),
        }
    }

    async fn cluster(
        &self,
        term: &Term,
        question: &Question,
        permit: Permit<'_>,
    ) -> Result<String, Unanswered> {
        let view = term.state().await?;
        let PageSettings { title, history, .. } = &self.settings;
        let page = ClusterPage {
            view: &view,
            query: &question.query,
            reasons: &term.reasons,
            title: title.as_deref(),
            history: history.as_deref(),
            permit,
        };
        let wanted = page.wanted();
        term.reasons.ready(&term.virtual_peers, wanted).await;
        Ok(page.document())
    }

    async fn application(
        &self,
        term: &Term,
        question: &Question,
        permit: Permit<'_>,
    ) -> Result<String, Unanswered> {
        let asked = question.query.get("appId").unwrap_or_default();
        let answer = term.applications.get(&term.virtual_peers, asked).await?;
        let (query, history) = (&question.query, self.settings.history.as_deref());
        Ok(ApplicationPage { answer: &answer, query, history, permit }.document())
    }

    async fn log(&self, term: &Term, question: &Question, (look, base): (Look, &str)) -> Answer {
        let failed = |app: Option<&_>, words: &str| match look {
            Look::Page => Answer::page(StatusCode::OK, &pages::logs::failed(base, app, words)),
            Look::Text => Answer::text(&format!("{words}\n")),
        };
        let wanted = match LogQuestion::of(&question.query) {
            Ok(wanted) => wanted,
            Err(words) => return failed(None, &words),
        };
        let unanswered = |why: Unanswered| failed(None, &format!("The Master cannot answer: {why}."));
        let view = match term.state().await {
            Ok(view) => view,
            Err(why) => return unanswered(why),
        };
        let (app, listed) = match &wanted.author {
            LogAuthor::Driver(driver) => (None, Listed::of_driver(driver, &view, base)),
            LogAuthor::Executor(key) => {
                match term.applications.get(&term.virtual_peers, key.app.as_str()).await.as_deref() {
                    Ok(ApplicationAnswer::Known(detail)) => {
                        (Some(&key.app), Listed::of_executor(key, detail, base))
                    }
                    Ok(ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. }) => {
                        (None, Err(format!("No application has the id {}.", key.app)))
                    }
                    Err(why) => return unanswered(*why),
                }
            }
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(words) => return failed(app, &words),
        };
        let mut logs = match read::client(&term.virtual_peers) {
            Ok(client) => MasterLogs { client, by: question.by.clone() },
            Err(why) => return unanswered(why),
        };
        match listed.read(&wanted, &mut logs, (look, base)).await {
            Ok(text) if look == Look::Text => Answer::text(&text),
            Ok(document) => Answer::page(StatusCode::OK, &document),
            Err(LogError::Call(why)) => unanswered(why),
            Err(LogError::Forbidden(why)) => {
                Answer { status: StatusCode::FORBIDDEN, ..failed(app, &format!("{why}.")) }
            }
            Err(LogError::None(why)) => failed(app, &format!("{why}.")),
        }
    }

    async fn act(&self, action: Action, question: &Question) -> Answer {
        if question.form.is_none() {
            return Answer::line(StatusCode::METHOD_NOT_ALLOWED, "Only forms are taken here (POST).");
        }
        let master_state = self.master_state().clone();
        let MasterState::Leads(term) = master_state else {
            return pages::apart("../../", "This Master does not lead: nothing can be changed here.");
        };
        act(action, question, &term.virtual_peers, self.settings.may_kill.then_some(&self.token)).await
    }
}

impl Term {
    async fn state(&self) -> Result<Arc<MasterView>, Unanswered> {
        self.terms()?;
        self.snapshot.get(|| self.read(Extent::Executors(0))).await
    }

    /// The state of the Master, with all executors.
    async fn whole(&self) -> Result<Arc<MasterView>, Unanswered> {
        self.terms()?;
        self.whole.get(|| self.read(Extent::Whole)).await
    }

    fn read(&self, extent: Extent) -> impl Future<Output = Result<MasterView, Unanswered>> + Send + use<> {
        let virtual_peers = self.virtual_peers.clone();
        async move { read::client(&virtual_peers)?.state(extent).await }
    }

    async fn picture(&self) -> Result<Arc<Picture>, Unanswered> {
        self.terms()?;
        self.picture.get(|| Picture::read(self.virtual_peers.clone())).await
    }

    async fn comparison(&self) -> Result<Arc<Comparison>, Unanswered> {
        self.terms()?;
        self.comparison.get(|| Comparison::read(self.virtual_peers.clone())).await
    }

    fn terms(&self) -> Result<(), Unanswered> {
        if self.virtual_peers.lease().holds() { Ok(()) } else { Err(Unanswered::Ended) }
    }
}
