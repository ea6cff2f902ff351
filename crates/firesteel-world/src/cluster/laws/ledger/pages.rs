//! Compares the pages of the Master's state with the books.
//!
//! At most one reading is in progress, no matter which client asks. Every row that was in the books at all pages of the
//! reading must occur in the reading exactly once.

use std::collections::BTreeSet;

use firesteel_master::{Event, Inbound};
use firesteel_protocol::ids::{AppId, ExecutorId, WorkerId};
use firesteel_protocol::messages::{ClientToMaster, MasterView, StateCursor, StatePage};
use firesteel_protocol::state_reader::{Extent, StateReader};

use super::Ledger;

/// A reading of the Master's state.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    reader: StateReader,
    pages: u64,
    /// The live applications that existed during the whole reading.
    apps: BTreeSet<AppId>,
    /// The live executors that existed during the whole reading.
    executors: BTreeSet<(AppId, ExecutorId)>,
    /// The live Workers that existed during the whole reading.
    workers: BTreeSet<WorkerId>,
}

impl Ledger {
    /// The place where the reading continues.
    pub(crate) fn next_cursor(&self) -> Option<StateCursor> {
        match self.reading.as_ref()?.reader.question()? {
            ClientToMaster::RequestMasterState { from } => Some(from),
            ClientToMaster::RequestApplication { .. }
            | ClientToMaster::KillApplication { .. }
            | ClientToMaster::DecommissionWorkers { .. }
            | ClientToMaster::RequestSubmitDriver(_)
            | ClientToMaster::RequestKillDriver { .. }
            | ClientToMaster::RequestDriverStatus { .. }
            | ClientToMaster::RequestKillAllDrivers { .. }
            | ClientToMaster::RequestClearCompletedDriversAndApps { .. }
            | ClientToMaster::RequestHistory { .. }
            | ClientToMaster::RequestLog { .. }
            | ClientToMaster::RequestReadyz => None,
        }
    }

    pub(super) fn check_page(&mut self, event: &Event, page: &StatePage) -> Result<(), String> {
        let Event::Received { message: Inbound::Client(ClientToMaster::RequestMasterState { from }), .. } =
            event
        else {
            return Err(format!("a page of the state answers {event:?}"));
        };
        let apps: BTreeSet<AppId> = self.apps.keys().cloned().collect();
        let executors = self
            .apps
            .iter()
            .flat_map(|(app, book)| book.executors.keys().map(move |executor| (app.clone(), *executor)));
        let executors: BTreeSet<_> = executors.collect();
        let workers: BTreeSet<WorkerId> = self.workers.keys().cloned().collect();
        let mut reading = if *from == StateCursor::beginning() {
            Reading { reader: StateReader::new(Extent::Whole), pages: 0, apps, executors, workers }
        } else if self.next_cursor().as_ref() == Some(from)
            && let Some(mut reading) = self.reading.take()
        {
            reading.apps.retain(|app| apps.contains(app));
            reading.executors.retain(|executor| executors.contains(executor));
            reading.workers.retain(|worker| workers.contains(worker));
            reading
        } else {
            return Ok(());
        };
        reading.pages += 1;
        let answer = format!("the answer from {from:?} on");
        reading.reader.read(page.clone()).map_err(|error| format!("{answer}: {error}: {page:?}"))?;
        if reading.reader.question().is_some() {
            self.reading = Some(reading);
            return Ok(());
        }
        let view = reading.reader.clone().finish().expect("there is no further question");
        reading.compare(&view)?;
        if reading.pages == 1 { self.compare(&view) } else { Ok(()) }
    }
}

impl Reading {
    /// Compares the reading with the rows that existed during the whole reading.
    fn compare(&self, view: &MasterView) -> Result<(), String> {
        let all = view.applications.iter().chain(&view.completed);
        let mut apps = BTreeSet::new();
        if let Some(twice) = all.map(|app| &app.id).find(|id| !apps.insert(*id)) {
            return Err(format!("{twice} is in {} pages of a state twice", self.pages));
        }
        let live = view.applications.iter();
        let executors =
            live.flat_map(|app| app.executors.iter().map(|executor| (app.id.clone(), executor.id)));
        let mut seen = BTreeSet::new();
        for executor in executors {
            if !seen.insert(executor.clone()) {
                return Err(format!("executor {executor:?} is in {} pages of a state twice", self.pages));
            }
        }
        if let Some(app) = self.apps.iter().find(|app| !apps.contains(app)) {
            return Err(format!("{app} is in none of {} pages of a state", self.pages));
        }
        let shown: BTreeSet<&WorkerId> = view.workers.iter().map(|worker| &worker.id).collect();
        if let Some(worker) = self.workers.iter().find(|worker| !shown.contains(worker)) {
            return Err(format!("{worker} is in none of {} pages of a state", self.pages));
        }
        match self.executors.iter().find(|executor| !seen.contains(executor)) {
            Some(executor) => {
                Err(format!("executor {executor:?} is in none of {} pages of a state", self.pages))
            }
            None => Ok(()),
        }
    }
}
