//! Logs of executors on the Master's pages. The Master asks the Workers for them, so a reader need not reach the Workers.

use firesteel_core::ids::AppId;
use firesteel_core::messages::{
    ApplicationDetail, ExecutorView, LogPiece, LogStart, MasterView, Stream, WorkerState, WorkerView,
};
use maud::html;

use super::super::super::pages::log::{LogQuestion, LogSource, name};
use super::{app_link, framed, named, worker_link};
use crate::executor_log::{ExecutorLog, LogError};
use crate::http::pages::parts::sentence;

/// The name under which the Master introduces itself to Workers.
const CLIENT: &str = "HTTP";

/// The most other Workers on an executor's host that are asked for its log.
const MOST_OTHERS: usize = 4;

impl LogSource for ExecutorLog<'_> {
    async fn piece(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, String> {
        ExecutorLog::piece(self, stream, from).await.map_err(|error| error.to_string())
    }
}

/// How the log is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Look {
    Page,
    Text,
}

/// The log, or the reason why it cannot be read.
pub(in super::super) async fn read(
    question: &LogQuestion,
    detail: &ApplicationDetail,
    view: &MasterView,
    (look, base): (Look, &str),
) -> Result<String, String> {
    let app = &detail.application;
    let Some(executor) = app.executors.iter().find(|executor| executor.id == question.executor) else {
        return Err(format!("{} has no executor {} that is still listed.", app.id, question.executor));
    };
    let place = format!("{}:{}/{}", executor.host, executor.directory, name(question.stream));
    let mut first = None;
    for candidate in std::iter::once(executor.clone()).chain(neighbours(view, executor)) {
        match excerpt(question, &app.id, &candidate, &place).await {
            Ok(excerpt) => {
                let under = html! {
                    (named(base, &app.name, &app.id)) " · " (executor.state.to_string()) " · "
                    a.id href=(worker_link(base, &executor.worker)) { (executor.worker) }
                };
                let title = format!("{} of {}/{}", name(question.stream), app.id, executor.id);
                return Ok(match look {
                    Look::Text => question.text(&excerpt),
                    Look::Page => framed(base, &title, "", None, 0, &question.page(base, &under, &excerpt)),
                });
            }
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    Err(format!("{}.", first.unwrap_or_default()))
}

async fn excerpt(
    question: &LogQuestion,
    app: &AppId,
    executor: &ExecutorView,
    place: &str,
) -> Result<super::super::super::pages::log::Excerpt, String> {
    let mut log =
        ExecutorLog::open(app, executor, CLIENT).await.map_err(|error: LogError| error.to_string())?;
    question.read(&mut log, place.to_owned()).await
}

/// The executor as other Workers on its host would have it: one that was started again in the same work directory has its
/// logs.
fn neighbours(view: &MasterView, executor: &ExecutorView) -> Vec<ExecutorView> {
    let is_other = |worker: &&WorkerView| {
        worker.host == executor.host && worker.id != executor.worker && worker.state == WorkerState::Alive
    };
    let others = view.workers.iter().filter(is_other).take(MOST_OTHERS);
    others
        .map(|other| ExecutorView { worker: other.id.clone(), port: other.port, ..executor.clone() })
        .collect()
}

/// The page that says why a log cannot be read.
pub(in super::super) fn failed(base: &str, app: Option<&AppId>, words: &str) -> String {
    let parts = html! {
        (sentence(words))
        @if let Some(app) = app { section #back { p { a href=(app_link(base, app)) { "Back to " (app) } } } }
    };
    framed(base, "Log", "", None, 0, &parts)
}
