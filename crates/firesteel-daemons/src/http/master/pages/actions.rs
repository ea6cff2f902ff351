//! The forms that end applications and cluster drivers, and decommission Workers. They exist only if the operator
//! allows them.
//!
//! A form has a token that only pages of this Master contain, so a page of another site cannot send a valid form. Each
//! form is sent twice: first the Master asks for confirmation, then it acts. Source: Spark MasterPage and MasterWebUI,
//! 4.0.1, for the paths and the names of fields.

use firesteel_host::net::VirtualPeers;
use firesteel_master::Event;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::{AppId, DriverId};
use firesteel_protocol::messages::{
    ClientToMaster, DecommissionAnswer, KillAnswer, KillDriverAnswer, MasterToClient, Requester, WorkerState,
    WorkerView,
};
use firesteel_protocol::secret::Secret;
use hyper::StatusCode;
use maud::{Markup, html};

use super::super::read;
use super::framed;
use crate::http::answer::Answer;
use crate::http::pages::parts::sentence;
use crate::http::query::Query;
use crate::http::question::{Origin, Question};

const TOKEN: &str = "token";

/// The name of the field that confirms the action.
const SURE: &str = "sure";

/// Whether pages have forms with side effects, and the token for these forms.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Permit<'a> {
    pub(in super::super) base: &'a str,
    pub(in super::super) token: Option<&'a Secret>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Action {
    KillApplication,
    KillDriver,
    DecommissionWorkers,
}

impl Action {
    pub(in super::super) const ALL: [Self; 3] =
        [Self::KillApplication, Self::KillDriver, Self::DecommissionWorkers];

    /// The path, without the `/` at its end.
    pub(in super::super) fn path(self) -> &'static str {
        match self {
            Self::KillApplication => "/app/kill",
            Self::KillDriver => "/driver/kill",
            Self::DecommissionWorkers => "/workers/kill",
        }
    }

    fn field(self) -> &'static str {
        match self {
            Self::KillApplication | Self::KillDriver => "id",
            Self::DecommissionWorkers => "host",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::KillApplication | Self::KillDriver => "Kill",
            Self::DecommissionWorkers => "Decommission",
        }
    }

    fn question(self, which: &str) -> String {
        match self {
            Self::KillApplication => format!("End application {which} and all of its executors?"),
            Self::KillDriver => format!("End cluster driver {which}?"),
            Self::DecommissionWorkers => {
                format!(
                    "Decommission {which}? It gets no more executors, and ends when its last one has ended."
                )
            }
        }
    }
}

impl Permit<'_> {
    /// A button that ends an application. Empty if the user may not end applications.
    pub(in super::super) fn kill_application(&self, app: &AppId) -> Markup {
        self.form(Action::KillApplication, app.as_str())
    }

    pub(in super::super) fn kill_driver(&self, driver: &DriverId) -> Markup {
        self.form(Action::KillDriver, driver.as_str())
    }

    pub(in super::super) fn decommission(&self, worker: &WorkerView) -> Markup {
        match worker.state {
            WorkerState::Alive => self.form(Action::DecommissionWorkers, worker.id.as_str()),
            WorkerState::Decommissioned | WorkerState::Dead | WorkerState::Unknown | WorkerState::Left => {
                html! {}
            }
        }
    }

    fn form(&self, action: Action, which: &str) -> Markup {
        let Some(token) = self.token else { return html! {} };
        let path = action.path().trim_start_matches('/');
        html! {
            " "
            form method="post" action={ (self.base) (path) "/" } {
                input type="hidden" name=(action.field()) value=(which);
                input type="hidden" name="terminate" value="true";
                input type="hidden" name=(TOKEN) value=(token.reveal());
                button.grave type="submit" aria-label={ (action.word()) " " (which) } { (action.word()) }
            }
        }
    }
}

/// Performs the action that a form requests, or reports why it is refused.
pub(in super::super) async fn act(
    action: Action,
    question: &Question,
    virtual_peers: &VirtualPeers<Event>,
    token: Option<&Secret>,
) -> Answer {
    let refuse = |status, words: &str| Answer::page(status, &page(action.word(), &sentence(words)));
    let Some(token) = token else {
        let words =
            "Nothing can be changed on these pages: the operator has not allowed it (spark.ui.killEnabled).";
        return refuse(StatusCode::METHOD_NOT_ALLOWED, words);
    };
    let empty = Query::default();
    let form = question.form.as_ref().unwrap_or(&empty);
    let given = form.get(TOKEN).unwrap_or_default();
    if question.origin == Origin::Elsewhere || !is_same(given, token.reveal()) {
        let words = "The form is not from a page of this Master, or the Master was restarted since: load the page again.";
        return refuse(StatusCode::FORBIDDEN, words);
    }
    let which: Vec<&str> = form.all(action.field()).filter(|which| !which.is_empty()).collect();
    if which.is_empty() {
        return refuse(StatusCode::BAD_REQUEST, &format!("The form has no field {}.", action.field()));
    }
    if !form.has(SURE) {
        return Answer::page(StatusCode::OK, &page(action.word(), &confirm(action, &which, token)));
    }
    tracing::info!(from = %question.from, "{} {}: requested on a page", action.word(), which.join(", "));
    match perform(action, &which, &question.by, virtual_peers).await {
        Ok((status, words)) => match action {
            // Spark sends the browser back to the first page.
            Action::KillApplication | Action::KillDriver if status == StatusCode::OK => {
                Answer::see("../../".to_owned())
            }
            Action::KillApplication | Action::KillDriver | Action::DecommissionWorkers => {
                refuse(status, &words.join(" "))
            }
        },
        Err(words) => refuse(StatusCode::SERVICE_UNAVAILABLE, &words),
    }
}

async fn perform(
    action: Action,
    which: &[&str],
    by: &Requester,
    virtual_peers: &VirtualPeers<Event>,
) -> Result<(StatusCode, Vec<String>), String> {
    let mut client = read::client(virtual_peers).map_err(|why| why.to_string())?;
    let (mut status, mut words) = (StatusCode::NOT_FOUND, Vec::new());
    for which in which {
        let message = match action {
            Action::KillApplication => {
                ClientToMaster::KillApplication { app: (*which).to_owned(), by: by.clone() }
            }
            Action::KillDriver => {
                ClientToMaster::RequestKillDriver { driver: DriverId::new(*which), by: by.clone() }
            }
            Action::DecommissionWorkers => ClientToMaster::DecommissionWorkers {
                which: (*which).to_owned(),
                within_millis: None,
                by: by.clone(),
            },
        };
        let answer = client.ask(message).await.map_err(|why| why.to_string())?;
        let (found, said) = told(which, &answer);
        status = if status == StatusCode::OK { status } else { found };
        words.push(said);
    }
    Ok((status, words))
}

/// The status of the result, and the result as text.
fn told(which: &str, answer: &MasterToClient) -> (StatusCode, String) {
    match answer {
        MasterToClient::KillApplicationResponse(KillAnswer::Killed { app, executors, .. }) => {
            (StatusCode::OK, format!("{app} was ended, with {}.", counted(*executors, "executor")))
        }
        MasterToClient::KillApplicationResponse(KillAnswer::Over { app, .. }) => {
            (StatusCode::OK, format!("{app} had ended before."))
        }
        MasterToClient::KillApplicationResponse(KillAnswer::Ambiguous { .. }) => {
            (StatusCode::NOT_FOUND, format!("Several applications are called {which}: use an id."))
        }
        MasterToClient::KillDriverResponse(KillDriverAnswer::Asked { driver }) => {
            (StatusCode::OK, format!("The Worker of {driver} is told to end it."))
        }
        MasterToClient::KillDriverResponse(KillDriverAnswer::Killed { driver }) => {
            (StatusCode::OK, format!("{driver} waits no longer."))
        }
        MasterToClient::KillDriverResponse(KillDriverAnswer::Over { driver, .. }) => {
            (StatusCode::OK, format!("{driver} had ended before."))
        }
        MasterToClient::DecommissionWorkersResponse(DecommissionAnswer::Leaving { workers, more }) => {
            let all = workers.len() as u64 + more;
            let executors = workers.iter().map(|worker| worker.executors).sum::<u64>();
            let (workers, executors) = (counted(all, "Worker"), counted(executors, "executor"));
            let get = if all == 1 { "gets" } else { "get" };
            (StatusCode::OK, format!("{workers} {get} no more executors. Running there now: {executors}."))
        }
        MasterToClient::RequestForbidden { why } => (StatusCode::FORBIDDEN, format!("{why}.")),
        MasterToClient::KillApplicationResponse(KillAnswer::Unknown)
        | MasterToClient::KillDriverResponse(KillDriverAnswer::Unknown)
        | MasterToClient::DecommissionWorkersResponse(DecommissionAnswer::Unknown)
        | MasterToClient::MasterStateResponse(_)
        | MasterToClient::ApplicationResponse(_)
        | MasterToClient::ReadyzResponse
        | MasterToClient::SubmitDriverResponse(_)
        | MasterToClient::DriverStatusResponse(_)
        | MasterToClient::HistoryResponse(_)
        | MasterToClient::LogResponse(_)
        | MasterToClient::RequestLogFailed { .. }
        | MasterToClient::KillAllDriversResponse { .. }
        | MasterToClient::ClearCompletedResponse => {
            (StatusCode::NOT_FOUND, format!("Nothing is called {which}."))
        }
    }
}

/// The page that asks for confirmation.
fn confirm(action: Action, which: &[&str], token: &Secret) -> Markup {
    html! {
        section #confirm {
            h1 { (action.word()) }
            div.confirm {
                p { (action.question(&which.join(", "))) }
                form method="post" action="" {
                    @for which in which { input type="hidden" name=(action.field()) value=(which); }
                    input type="hidden" name="terminate" value="true";
                    input type="hidden" name=(TOKEN) value=(token.reveal());
                    input type="hidden" name=(SURE) value="yes";
                    button.grave type="submit" { (action.word()) } " "
                    a href="../../" { "Back to the cluster" }
                }
            }
        }
    }
}

fn page(title: &str, parts: &Markup) -> String {
    framed("../../", title, "none", None, 0, parts)
}

/// Compares two texts. The time for this does not depend on where the texts differ.
fn is_same(given: &str, expected: &str) -> bool {
    let differ = given.bytes().zip(expected.bytes()).fold(0, |differ, (one, other)| differ | (one ^ other));
    given.len() == expected.len() && differ == 0
}
