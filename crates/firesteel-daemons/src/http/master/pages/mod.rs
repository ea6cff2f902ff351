//! The pages of a Master.
//!
//! - `cluster`: the Workers, waiting applications with the reasons, running applications, cluster drivers, and ended
//!   ones
//! - `application`: one application with its executors, and why it has no more
//! - `worker`: one Worker as the Master sees it, with the executors on it
//! - `logs`: logs of executors, which the Master reads from their Workers
//! - `picture`: all Workers in one picture
//! - `policies`: what other policies would decide for the present applications
//! - `actions`: the forms that end applications and cluster drivers, and decommission Workers
//! - `reasons`: why applications wait, computed in the background

pub(super) mod actions;
pub(super) mod application;
pub(super) mod cluster;
pub(super) mod logs;
pub(super) mod picture;
pub(super) mod policies;
pub(super) mod reasons;
pub(super) mod worker;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationState, ApplicationView, ExecutorState, WorkerState, WorkerView,
};
use hyper::StatusCode;
use maud::{Markup, Render, html};

use crate::http::answer::Answer;
use crate::http::pages::frame::{Frame, document};
use crate::http::pages::parts::{Severity, sentence};
use crate::http::query::{Query, link};

const LINKS: [(&str, &str); 3] = [("", "Cluster"), ("picture/", "Picture"), ("policies/", "Policies")];

fn framed(base: &str, title: &str, here: &str, filter: Option<&Query>, pace: u64, parts: &Markup) -> String {
    document(&Frame { base, title, daemon: "Firesteel Master", links: &LINKS, here, filter, pace }, parts)
}

pub(super) fn apart(base: &str, words: impl Render) -> Answer {
    let parts = sentence(words);
    Answer::page(StatusCode::SERVICE_UNAVAILABLE, &framed(base, "Master", "none", None, 3000, &parts))
}

/// The page of a standby Master. It names the leader. `web_address` is the URL of the leader's pages.
pub(super) fn standby(base: &str, leader: &Address, web_address: Option<&str>) -> Answer {
    let words = html! {
        "This Master stands by. " (leader.url()) " leads: "
        @match web_address {
            Some(address) => { a href=(address) { "its pages" } },
            None => "its pages",
        }
        " show the cluster."
    };
    apart(base, words)
}

fn app_link(base: &str, app: &AppId) -> String {
    format!("{base}app/{}", link([("appId", app.as_str())]))
}

fn worker_link(base: &str, worker: &WorkerId) -> String {
    format!("{base}worker/{}", link([("workerId", worker.as_str())]))
}

fn named(base: &str, name: &str, app: &AppId) -> Markup {
    html! { a href=(app_link(base, app)) { @if name.trim().is_empty() { (app) } @else { (name) } } " " span.also { (app) } }
}

fn mood_of_worker(worker: &WorkerView) -> Severity {
    match worker.state {
        WorkerState::Alive if worker.remark.is_some() => Severity::Waits,
        WorkerState::Alive if worker.impairment.is_some() || worker.excluded_until.is_some() => {
            Severity::Waits
        }
        WorkerState::Alive => Severity::Good,
        WorkerState::Decommissioned | WorkerState::Unknown | WorkerState::Left => Severity::Waits,
        WorkerState::Dead => Severity::Bad,
    }
}

fn mood_of_application(app: &ApplicationView) -> Severity {
    match app.result() {
        ApplicationState::Running if app.executors_live > 0 => Severity::Good,
        ApplicationState::Waiting | ApplicationState::Running | ApplicationState::Unknown => Severity::Waits,
        ApplicationState::Failed => Severity::Bad,
        ApplicationState::Finished | ApplicationState::Killed => Severity::Over,
    }
}

fn mood_of_executor(state: &ExecutorState) -> Severity {
    match state {
        ExecutorState::Running => Severity::Good,
        ExecutorState::Launching => Severity::Waits,
        ExecutorState::Failed(_) | ExecutorState::Lost(_) => Severity::Bad,
        ExecutorState::Exited(status) if status.shell_code() != 0 => Severity::Bad,
        ExecutorState::Exited(_) | ExecutorState::Killed(_) => Severity::Over,
    }
}
