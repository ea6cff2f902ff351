//! Answers to status clients, compared with the books.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_master::{Effect, Event, Inbound, Outbound};
use firesteel_placement::Cores;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDetail, ClientToMaster, DecommissionAnswer, KillAnswer, LeavingWorker,
    LogAuthor, MasterToClient, MasterToWorker, Requester, Rights,
};

use super::Ledger;
use super::books::{Availability, WorkerBook};

/// The number of executors of each live application, and their cores; and whose application it is.
pub(super) type Holdings = BTreeMap<AppId, (u64, Cores, String)>;

fn requester(event: &Event) -> Option<&Requester> {
    match event {
        Event::Received { message: Inbound::Client(message), .. } => message.requester(),
        _ => None,
    }
}

fn asks_for_log(event: &Event) -> bool {
    let Event::Received { message: Inbound::Client(message), .. } = event else { return false };
    matches!(message, ClientToMaster::RequestLog { .. })
}

impl Ledger {
    /// A log is read for somebody who asked for it, and whose it is, or who may read those of others.
    pub(super) fn check_log(&self, event: &Event, effect: &Effect) -> Result<(), String> {
        let Effect::ReadLog { peer, range, .. } = effect else { return Ok(()) };
        let Event::Received { peer: asker, message: Inbound::Client(message), .. } = event else {
            return Err(format!("a log is read that nobody asked for: {event:?}"));
        };
        let ClientToMaster::RequestLog { range: wanted, by } = message else {
            return Err(format!("a log is read after {message:?}"));
        };
        if (asker, wanted) != (peer, range) {
            return Err(format!("{range:?} is read for {peer}, and {asker} asked for {wanted:?}"));
        }
        let LogAuthor::Executor(key) = &range.author else { return Ok(()) };
        let owner = self.apps.get(&key.app).map(|book| book.user.split('@').next().unwrap_or_default());
        match by.rights() {
            Rights::None => Err(format!("{by} has no rights, and a log of {key} is read for him")),
            Rights::Own if owner.is_some_and(|owner| owner != by.user()) => {
                Err(format!("a log of {key}, which is {owner:?}'s, is read for {by}"))
            }
            Rights::Own | Rights::View | Rights::Modify | Rights::Admin => Ok(()),
        }
    }

    /// The holdings of each application before an event in which a client may kill one. Empty before any other event.
    pub(super) fn holdings(&self, event: &Event) -> Holdings {
        match event {
            Event::Received { message: Inbound::Client(ClientToMaster::KillApplication { .. }), .. } => {
                self.apps.keys().map(|app| (app.clone(), self.holding(app))).collect()
            }
            _ => Holdings::new(),
        }
    }

    fn holding(&self, app: &AppId) -> (u64, Cores, String) {
        let Some(book) = self.apps.get(app) else { return (0, Cores::ZERO, String::new()) };
        let cores = book.executors.iter().filter_map(|(number, worker)| {
            let key = ExecutorKey { app: app.clone(), executor: *number };
            Some(self.workers.get(worker)?.grants.get(&key)?.cores)
        });
        (book.executors.len() as u64, cores.sum(), book.user.clone())
    }

    /// Compares the Master's answer to a client with the ledger's own record of the cluster after the event.
    pub(super) fn check_answer(
        &mut self,
        event: &Event,
        answer: &MasterToClient,
        before: &Holdings,
    ) -> Result<(), String> {
        match answer {
            MasterToClient::MasterStateResponse(page) => self.check_page(event, page),
            MasterToClient::ApplicationResponse(ApplicationAnswer::Known(detail)) => {
                self.check_detail(event, detail)
            }
            MasterToClient::ApplicationResponse(
                ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. },
            )
            | MasterToClient::ReadyzResponse
            | MasterToClient::ClearCompletedResponse
            | MasterToClient::DriverStatusResponse(_)
            | MasterToClient::HistoryResponse(_)
            | MasterToClient::DecommissionWorkersResponse(DecommissionAnswer::Unknown)
            | MasterToClient::KillApplicationResponse(KillAnswer::Unknown | KillAnswer::Ambiguous { .. }) => {
                Ok(())
            }
            MasterToClient::SubmitDriverResponse(answer) => self.check_submission(event, answer),
            MasterToClient::KillDriverResponse(answer) => {
                self.check_driver_kill(answer);
                Ok(())
            }
            MasterToClient::KillAllDriversResponse { .. } => {
                self.note_kill_of_all();
                Ok(())
            }
            MasterToClient::DecommissionWorkersResponse(DecommissionAnswer::Leaving { workers, more }) => {
                self.check_leaving(event, workers, *more)
            }
            MasterToClient::LogResponse(_) if !matches!(event, Event::LogRead { .. }) => {
                Err(format!("a log is sent that was not read: {event:?}"))
            }
            MasterToClient::LogResponse(_) | MasterToClient::RequestLogFailed { .. } => Ok(()),
            MasterToClient::RequestForbidden { .. } => match requester(event) {
                Some(by) if by.rights() >= Rights::View && asks_for_log(event) => {
                    Err(format!("somebody may not read what he may: {event:?}"))
                }
                Some(by) if by.rights() < Rights::Admin => Ok(()),
                _ => Err(format!("somebody may not do what he may: {event:?}")),
            },
            MasterToClient::KillApplicationResponse(KillAnswer::Over { app, outcome, .. }) => {
                if self.apps.contains_key(app) {
                    return Err(format!("a client is told that {app} was over, which is live"));
                }
                self.compare_outcome(app, outcome.as_ref())
            }
            MasterToClient::KillApplicationResponse(KillAnswer::Killed { app, executors, cores }) => {
                if self.apps.contains_key(app) {
                    return Err(format!("a client is told that {app} was killed, and its driver is not"));
                }
                match before.get(app) {
                    Some((_, _, user)) if !requester(event).is_some_and(|by| by.may_end(user)) => {
                        Err(format!("{app} of {user} was killed by somebody who may not: {event:?}"))
                    }
                    Some((had, with, _)) if (had, with) == (executors, cores) => Ok(()),
                    held => Err(format!(
                        "a client is told that {app} was killed with {executors} executors and {cores} cores; \
                         it had {held:?}"
                    )),
                }
            }
        }
    }

    /// The living Workers with this id or on this host.
    pub(super) fn named(&self, which: &str) -> BTreeSet<WorkerId> {
        let is_named =
            |(id, book): &(&WorkerId, &WorkerBook)| id.as_str() == which || book.total.host == which;
        self.workers.iter().filter(is_named).map(|(id, _)| id.clone()).collect()
    }

    /// Checks that a decommissioned Worker that registers is told again to leave, because the first request may have
    /// been lost.
    pub(super) fn check_asked(&self, effects: &[Effect]) -> Result<(), String> {
        for effect in effects {
            if let Effect::Send { peer, message: Outbound::Worker(MasterToWorker::RegisteredWorker { .. }) } =
                effect
                && let Some(worker) = self.worker_of.get(peer)
                && self.workers.get(worker).is_some_and(|book| book.is_asked)
            {
                let asks = |effect: &Effect| {
                    matches!(effect, Effect::Send { peer: told, message: Outbound::Worker(
                        MasterToWorker::DecommissionWorker { .. }) } if told == peer)
                };
                if !effects.iter().any(asks) {
                    return Err(format!("{worker} was asked to leave, has returned, and is not asked again"));
                }
            }
        }
        Ok(())
    }

    /// Checks the answer to a client about the Workers that it decommissions.
    fn check_leaving(&self, event: &Event, workers: &[LeavingWorker], more: u64) -> Result<(), String> {
        let Event::Received {
            message: Inbound::Client(ClientToMaster::DecommissionWorkers { which, .. }),
            ..
        } = event
        else {
            return Err(format!("Workers leave after {event:?}"));
        };
        let told: BTreeSet<WorkerId> = workers.iter().map(|worker| worker.id.clone()).collect();
        let named = self.named(which);
        if told != named || more != 0 {
            return Err(format!(
                "a client asked {which:?} to leave, and is told that {told:?} do, not {named:?}"
            ));
        }
        let wrong = workers.iter().find(|worker| {
            let book = &self.workers[&worker.id];
            book.grants.len() as u64 != worker.executors || book.availability != Availability::Decommissioning
        });
        wrong.map_or(Ok(()), |worker| Err(format!("a client is told {worker:?} against the books")))
    }

    fn check_detail(&self, event: &Event, detail: &ApplicationDetail) -> Result<(), String> {
        let app = &detail.application;
        let is_first = matches!(
            event,
            Event::Received {
                message: Inbound::Client(ClientToMaster::RequestApplication {
                    executors_from: ExecutorId(0),
                    ..
                }),
                ..
            }
        );
        let is_live = self.apps.contains_key(&app.id);
        if app.ended.is_none() != is_live || detail.scheduling.is_some() != (is_live && is_first) {
            return Err(format!(
                "a client is told that {} is live, or that it is not, against the books",
                app.id
            ));
        }
        self.compare_outcome(&app.id, app.outcome.as_ref())?;
        let Some(scheduling) = &detail.scheduling else { return Ok(()) };
        let held: u64 = scheduling.profiles.iter().map(|profile| profile.held).sum();
        let (executors, cores, _) = self.holding(&app.id);
        if (held, app.executors_live, app.cores_granted) != (executors, executors, cores) {
            return Err(format!(
                "a client is told that {} holds {} executors and {} cores; it holds {executors} and {cores}",
                app.id, app.executors_live, app.cores_granted
            ));
        }
        Ok(())
    }
}
