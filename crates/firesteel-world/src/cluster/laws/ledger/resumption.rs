//! Restarts of the Master, and the peers that return to it.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_master::Record;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{ApplicationDescription, Resumption};

use super::{EventOutcome, Ledger};

/// A driver that asked to register, until the Master answers.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) description: ApplicationDescription,
    /// The application that the driver had, and the executors that it believes to be alive.
    returning: Option<(AppId, Vec<ExecutorId>)>,
}

impl Candidate {
    pub(super) fn new(description: &ApplicationDescription) -> Self {
        Self { description: description.clone(), returning: None }
    }

    pub(super) fn returning(resumption: &Resumption) -> Self {
        let Resumption { app, executors, description } = resumption;
        Self { returning: Some((app.clone(), executors.clone())), ..Self::new(description) }
    }
}

/// A driver that returned, and the reports that it received in the same event.
#[derive(Debug)]
pub(super) struct Resumed {
    peer: PeerId,
    app: AppId,
    /// The executors that the driver believes to be alive.
    known: Vec<ExecutorId>,
    told: BTreeSet<ExecutorId>,
    told_ended: BTreeSet<ExecutorId>,
}

impl Resumed {
    /// The Master reports an executor to a driver. Returns whether this is new to a driver that returned.
    pub(super) fn hear_of(&mut self, peer: PeerId, executor: ExecutorId) -> bool {
        self.peer == peer && self.told.insert(executor)
    }

    /// Records that the Master reports the end of an executor. Returns true if this is the first such report to the
    /// returned driver, and the driver had believed that the executor was alive.
    pub(super) fn hear_of_end(&mut self, peer: PeerId, executor: ExecutorId) -> bool {
        let is_taken_for_living = self.known.contains(&executor) || self.told.contains(&executor);
        self.peer == peer && is_taken_for_living && self.told_ended.insert(executor)
    }
}

/// Maps the numbers in records to Workers and applications.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    workers: BTreeMap<u64, WorkerId>,
    apps: BTreeMap<u64, AppId>,
}

impl Ledger {
    /// Restarts the books for a new Master, which begins with the old records except for `lost`. There are no
    /// connections. Executors without a record of their start count as starting until their Workers return.
    pub(crate) fn restart(&mut self, lost: &[Record]) {
        for record in lost {
            if let Record::ExecutorStarted { app, executor } = record
                && let Some(app) = self.numbers.apps.get(app)
            {
                self.started.remove(&ExecutorKey { app: app.clone(), executor: *executor });
            }
        }
        self.worker_of.clear();
        self.app_of.clear();
        self.candidates.clear();
        self.leaving.clear();
        self.reading = None;
        for book in self.workers.values_mut() {
            (book.peer, book.away_until) = (None, None);
            book.cannot_start = false;
        }
        self.apps.values_mut().for_each(|book| (book.peer, book.away_until) = (None, None));
    }

    /// Enters records about absent peers, to which no message can be sent.
    pub(super) fn on_records(
        &mut self,
        records: &[Record],
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) {
        for record in records {
            match record {
                Record::WorkerRegistered { worker, description } => {
                    self.numbers.workers.insert(*worker, description.id.clone());
                }
                Record::ApplicationRegistered { app, id, .. } => {
                    self.numbers.apps.insert(*app, id.clone());
                }
                Record::ExecutorEnded { app, executor, state, used: _ } => {
                    if let Some(id) = self.away_app(*app) {
                        let key = ExecutorKey { app: id, executor: *executor };
                        outcome.see_preempted(&key, state);
                        self.release(&key, released);
                    }
                }
                Record::ApplicationEnded { app, end } => {
                    if let Some(id) = self.away_app(*app) {
                        self.apps.remove(&id);
                        outcome.ended.push(end.clone());
                    }
                }
                Record::WorkerRemoved { worker, .. } => {
                    let id = self.numbers.workers.get(worker).cloned();
                    if let Some(id) =
                        id.filter(|id| self.workers.get(id).is_some_and(|book| book.peer.is_none()))
                    {
                        self.remove_worker(&id, released);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether an executor is on a connected Worker, which can be told to end the executor. An absent Worker is told
    /// when it returns.
    pub(super) fn is_on_a_worker_that_is_here(&self, key: &ExecutorKey) -> bool {
        let worker = self.apps.get(&key.app).and_then(|book| book.executors.get(&key.executor));
        worker.and_then(|worker| self.workers.get(worker)).is_some_and(|book| book.peer.is_some())
    }

    /// The application with this number, if its driver is absent.
    fn away_app(&self, number: u64) -> Option<AppId> {
        let id = self.numbers.apps.get(&number)?;
        self.apps.get(id).filter(|book| book.peer.is_none()).map(|_| id.clone())
    }

    /// A returning driver gets back its live application.
    pub(super) fn on_resumed(
        &mut self,
        peer: PeerId,
        app: &AppId,
        outcome: &mut EventOutcome,
    ) -> Result<(), String> {
        let candidate = self.candidates.get(&peer).ok_or("it was found")?;
        let Some((_, known)) = candidate.returning.as_ref().filter(|(named, _)| named == app) else {
            return Err(format!("application id {app} is used again"));
        };
        let book = self.apps.get_mut(app).ok_or("it was found")?;
        if book.token != candidate.description.token {
            return Err(format!("application {app} is given to a driver without its token"));
        }
        let known = known.clone();
        book.away_until = None;
        if let Some(old) = book.peer.replace(peer) {
            self.app_of.remove(&old);
        }
        self.leaving.remove(&peer);
        self.app_of.insert(peer, app.clone());
        outcome.registered.push((app.clone(), peer));
        let (told, told_ended) = (BTreeSet::new(), BTreeSet::new());
        outcome.resumed = Some(Resumed { peer, app: app.clone(), known, told, told_ended });
        Ok(())
    }

    /// Checks that a returning driver received each of its executors, and the end of each executor that it wrongly
    /// believed to be alive.
    pub(super) fn check_news(&self, resumed: &Resumed) -> Result<(), String> {
        let Resumed { app, known, told, told_ended, .. } = resumed;
        // The application may have ended in the same event.
        let Some(book) = self.apps.get(app) else { return Ok(()) };
        if let Some(executor) = book.executors.keys().find(|executor| !told.contains(executor)) {
            return Err(format!("the driver of {app} returned and is not told of executor {executor}"));
        }
        let is_told =
            |executor: &&ExecutorId| book.executors.contains_key(executor) || told_ended.contains(executor);
        match known.iter().find(|executor| !is_told(executor)) {
            Some(executor) => Err(format!(
                "the driver of {app} returned and is not told that executor {executor} has ended"
            )),
            None => Ok(()),
        }
    }
}
