//! Logs of executors and cluster drivers on the Master's pages. The Master reads them from the Workers, so the user's
//! browser need not reach the Workers.

use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey};
use firesteel_protocol::messages::{
    ApplicationDetail, LogPiece, LogStart, MasterView, Stream, WorkerState, WorkerView,
};
use maud::{Markup, html};

use super::super::super::pages::log::{Excerpt, LogQuestion, LogSource, name};
use super::{app_link, framed, named, worker_link};
use crate::http::pages::parts::sentence;
use crate::master::reach::Reach;
use crate::worker_log::{LogAddress, WorkerLog};

/// The name under which the Master introduces itself to Workers.
const CLIENT: &str = "HTTP";

/// The maximum number of other Workers on a host that are asked for a log.
const MOST_OTHERS: usize = 4;

impl LogSource for WorkerLog<'_> {
    async fn piece(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, String> {
        WorkerLog::piece(self, stream, from).await.map_err(|error| error.to_string())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Look {
    Page,
    Text,
}

pub(in super::super) struct Listed {
    place: LogAddress,
    /// The author of the log and the author's state, for the page.
    under: Markup,
}

impl Listed {
    /// The log of an executor of this application, or the reason why there is no log.
    pub(in super::super) fn of_executor(
        key: &ExecutorKey,
        detail: &ApplicationDetail,
        base: &str,
    ) -> Result<Self, String> {
        let app = &detail.application;
        let Some(executor) = app.executors.iter().find(|executor| executor.id == key.executor) else {
            return Err(format!("{} has no executor {} that is still listed.", app.id, key.executor));
        };
        let under = html! {
            (named(base, &app.name, &app.id)) " · " (executor.state.to_string()) " · "
            a.id href=(worker_link(base, &executor.worker)) { (executor.worker) }
        };
        Ok(Self { place: LogAddress::of_executor(&app.id, executor), under })
    }

    /// The log of a cluster driver, or the reason why there is no log.
    pub(in super::super) fn of_driver(id: &DriverId, view: &MasterView, base: &str) -> Result<Self, String> {
        let Some(driver) = view.drivers.iter().find(|driver| driver.id == *id) else {
            return Err(format!("No cluster driver has the id {id}, or it is listed no longer."));
        };
        let Some(place) = &driver.worker else {
            return Err(format!("{id} is {}: it has not been on a Worker, and has no log.", driver.state));
        };
        let under = html! {
            "Cluster driver of " (driver.user) " · " (driver.state.to_string()) " · "
            a.id href=(worker_link(base, &place.worker)) { (place.worker) }
        };
        Ok(Self { place: LogAddress::of_driver(id, place), under })
    }

    pub(in super::super) async fn read(
        &self,
        question: &LogQuestion,
        (view, reach): (&MasterView, &Reach),
        (look, base): (Look, &str),
    ) -> Result<String, String> {
        let LogAddress { host, directory, .. } = &self.place;
        let shown = format!("{host}:{directory}/{}", name(question.stream));
        let mut first = None;
        for candidate in std::iter::once(self.place.clone()).chain(neighbours(view, &self.place)) {
            match excerpt(question, (&candidate, reach), &shown).await {
                Ok(excerpt) => {
                    return Ok(match look {
                        Look::Text => question.text(&excerpt),
                        Look::Page => {
                            let parts = question.page(base, &self.under, &excerpt);
                            framed(base, &question.title(), "", None, 0, &parts)
                        }
                    });
                }
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        }
        Err(format!("{}.", first.unwrap_or_default()))
    }
}

async fn excerpt(
    question: &LogQuestion,
    (place, reach): (&LogAddress, &Reach),
    shown: &str,
) -> Result<Excerpt, String> {
    // A Worker of Spark's is not asked.
    let hosts = match place.is_foreign() {
        true => vec![place.host.clone()],
        false => match reach.of_worker(&place.worker, &place.host, place.port).await {
            Ok(addresses) => addresses.iter().map(|address| address.ip().to_string()).collect(),
            Err(why) => return Err(format!("Worker {} is not asked: {why}", place.worker)),
        },
    };
    let mut last = String::new();
    for host in hosts {
        let place = LogAddress { host, ..place.clone() };
        match WorkerLog::open(&place, reach.client(CLIENT)).await {
            Ok(mut log) => return question.read(&mut log, shown.to_owned()).await,
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

/// The same log on other Workers of its host. A Worker that was restarted in the same work directory has the logs of
/// its predecessor.
fn neighbours(view: &MasterView, place: &LogAddress) -> Vec<LogAddress> {
    let is_other = |worker: &&WorkerView| {
        worker.host == place.host && worker.id != place.worker && worker.state == WorkerState::Alive
    };
    let others = view.workers.iter().filter(is_other).take(MOST_OTHERS);
    others.map(|other| LogAddress { worker: other.id.clone(), port: other.port, ..place.clone() }).collect()
}

/// The page that says why a log cannot be read.
pub(in super::super) fn failed(base: &str, app: Option<&AppId>, words: &str) -> String {
    let parts = html! {
        (sentence(words))
        @if let Some(app) = app { section #back { p { a href=(app_link(base, app)) { "Back to " (app) } } } }
    };
    framed(base, "Log", "", None, 0, &parts)
}
