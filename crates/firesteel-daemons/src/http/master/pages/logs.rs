//! Logs of executors and cluster drivers on the Master's pages. The Master reads them from the Workers, so the user's
//! browser need not reach the Workers.

use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey};
use firesteel_protocol::messages::{ApplicationDetail, LogAddress, MasterView};
use maud::{Markup, html};

use super::super::super::pages::log::{LogQuestion, name};
use super::{app_link, framed, named, worker_link};
use crate::http::pages::parts::sentence;
use crate::http::snapshot::Unanswered;
use crate::log_client::{LogError, MasterLogs};
use crate::master_client::Carrier;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Look {
    Page,
    Text,
}

pub(in super::super) struct Listed {
    address: LogAddress,
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
        Ok(Self { address: LogAddress::of_executor(&app.id, executor), under })
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
        Ok(Self { address: LogAddress::of_driver(id, place), under })
    }

    pub(in super::super) async fn read(
        &self,
        wanted: &LogQuestion,
        logs: &mut MasterLogs<impl Carrier<Error = Unanswered> + Send>,
        (look, base): (Look, &str),
    ) -> Result<String, LogError<Unanswered>> {
        let LogAddress { host, directory, .. } = &self.address;
        let shown = format!("{host}:{directory}/{}", name(wanted.stream));
        let excerpt = wanted.read(logs, shown).await?;
        Ok(match look {
            Look::Text => wanted.text(&excerpt),
            Look::Page => {
                framed(base, &wanted.title(), "", None, 0, &wanted.page(base, &self.under, &excerpt))
            }
        })
    }
}

/// The page that says why a log cannot be read.
pub(in super::super) fn failed(base: &str, app: Option<&AppId>, words: &str) -> String {
    let parts = html! {
        (sentence(words))
        @if let Some(app) = app { section #back { p { a href=(app_link(base, app)) { "Back to " (app) } } } }
    };
    framed(base, "Log", "", None, 0, &parts)
}
