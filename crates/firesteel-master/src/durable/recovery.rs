//! How a Master is recovered from its journal records, and what it does until all Workers and applications have
//! returned.
//!
//! ```text
//!   records --> tables, with everybody away
//!                 |  Workers return with what runs there, drivers with what they know: each is served at once
//!                 v
//!   all are back, or the time is over: Workers and applications that are still away are lost
//! ```

use std::cmp::Reverse;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::AppId;
use firesteel_protocol::machine::kind::Kind;
use firesteel_protocol::messages::{Resumption, WorkerDescription};
use firesteel_protocol::time::Timestamp;

use super::contradiction::Contradiction;
use super::replay::Replay;
use crate::config::UnknownExecutors;
use crate::durable::record::Record;
use crate::limits::Charges;
use crate::tables::applications::application::Application;
use crate::tables::link::{Absence, AbsenceCause};
use crate::tables::workers::row::WorkerRow;
use crate::{Config, Master, Note, OverBudget, Pass};

/// Records contradict each other: they are from different Masters, or some are missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {number} ({kind}) contradicts those before it: {contradiction}")]
pub struct RecoveryError {
    /// The number of the contradicting record, counted from 1.
    pub number: u64,
    pub kind: &'static str,
    pub contradiction: Contradiction,
}

impl Master {
    /// Recovers a Master from the records of its journal, or makes a new one if there are none. The recovered
    /// applications and Workers are away until they return. If they are still away after `recovery_timeout`, they are
    /// lost. If the state is new, unknown executors are left alone for the same time.
    ///
    /// # Errors
    /// The records contradict each other.
    pub fn recover(
        config: Config,
        now: Timestamp,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Self, RecoveryError> {
        let durability = config.durability;
        let mut replay = Replay::new(config);
        for (number, record) in (1..).zip(records) {
            if number == 1 {
                // A recovered state is not new.
                replay.holds_foreign = false;
            }
            let kind = record.kind();
            let result = replay.replay(record);
            result.map_err(|contradiction| RecoveryError { number, kind, contradiction })?;
        }
        let Replay { mut master, latest, holds_foreign, .. } = replay;
        debug_assert_eq!(master.effects.check("master"), Ok(()), "a change tells nobody");
        master.applications.forget_profiles();
        let apps: Vec<AppId> =
            master.applications.queue().map(|application| application.id.clone()).collect();
        apps.iter().for_each(|app| master.see_wanted(app));
        master.now = now.max(latest);
        master.stopped = latest;
        let (run, now, given) = (master.config.run, master.now, master.given());
        let is_unused = master.workers.registered() + master.applications.registered() == 0;
        master.lineage.begin(run, now, given, is_unused);
        if master.config.is_cut {
            // The next image has it.
            master.leave_out_unseen(now, given);
        }
        master.set_durability(durability);
        master.await_all();
        if (holds_foreign || master.config.is_cut) && master.config.foreign == UnknownExecutors::Held {
            master.hold_foreign_until(Some(master.now + master.config.recovery_timeout));
        }
        master.pass = Pass::Due;
        Ok(master)
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The memory that live applications, and live cluster drivers, take for what they describe.
    pub(crate) fn kept(&self) -> [&Charges; 2] {
        [self.applications.kept(), self.drivers.kept()]
    }

    /// Whether live applications and cluster drivers take more memory than the settings allow. A recovered Master keeps
    /// them anyway.
    #[must_use]
    pub fn over_budget(&self) -> Option<OverBudget> {
        let (kept, most) = (self.kept().iter().map(|kept| kept.in_all()).sum(), self.config.limits.kept);
        if kept <= most {
            return None;
        }
        let apps = self.applications.queue().map(|app| (app.weight(), app.id.to_string()));
        let drivers = self.drivers.iter().map(|driver| (driver.weight(), driver.id.to_string()));
        let mut all: Vec<(u64, String)> = apps.chain(drivers).collect();
        all.sort_by_key(|(weight, _)| Reverse(*weight));
        let largest = all.into_iter().take(5).map(|(_, id)| id).collect();
        Some(OverBudget { kept, most, largest })
    }

    /// The time of the latest event, or of the latest record.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.now
    }

    /// The applications whose drivers wait for a call from the Master, in the form in which their drivers would resume
    /// them.
    #[must_use]
    pub fn to_call(&self) -> Vec<Resumption> {
        let waits = |app: &&Application| !app.link.is_here() && !app.description.callback.is_empty();
        let resumption = |app: &Application| Resumption {
            app: app.id.clone(),
            executors: Vec::new(),
            description: Box::new(app.description.clone()),
        };
        self.applications.queue().filter(waits).map(resumption).collect()
    }

    /// The Workers that wait for a call from the Master.
    #[must_use]
    pub fn workers_to_call(&self) -> Vec<WorkerDescription> {
        let waits = |row: &&WorkerRow| !row.link.is_here() && !row.description.callback.is_empty();
        self.workers.iter().filter(waits).map(|row| WorkerDescription::clone(&row.description)).collect()
    }

    /// The numbers of Workers, applications and executors that are away.
    #[must_use]
    pub fn away(&self) -> Away {
        let away = |row: &&WorkerRow| !row.link.is_here();
        let executors = self.workers.iter().filter(away).map(|row| row.executors.len()).sum();
        Away { workers: self.workers.away(), applications: self.applications.away(), executors }
    }

    /// Gives everybody who has no connection the time of a recovery to return.
    fn await_all(&mut self) {
        let (since, until) = (self.now, self.now + self.config.recovery_timeout);
        let absence = Absence { since, until, cause: AbsenceCause::Restart };
        let workers: Vec<Slot> = self.workers.slots().map(|(slot, _)| slot).collect();
        workers.into_iter().for_each(|slot| self.workers.set_away(slot, absence));
        let apps: Vec<u64> = self.applications.queue().map(|app| app.sequence).collect();
        apps.into_iter().for_each(|app| self.applications.set_away(app, absence));
        self.recovering = self.is_anyone_away();
    }

    fn is_anyone_away(&self) -> bool {
        self.workers.away() > 0 || self.applications.away() > 0
    }

    /// When the next of the Workers and applications that are away is lost.
    pub(crate) fn next_loss(&self) -> Option<Timestamp> {
        let worker = self.workers.next_loss().map(|(until, _)| until);
        let app = self.applications.next_loss().map(|(until, _)| until);
        worker.into_iter().chain(app).min().filter(|until| *until < Absence::NEVER)
    }

    /// Ends the recovery if all Workers and applications have returned.
    pub(crate) fn see_returned(&mut self) {
        if self.recovering && !self.is_anyone_away() {
            self.recovering = false;
            self.effects.note(Note::Recovered);
        }
    }

    /// Removes the Workers and applications that were away for too long. All messages that arrived before `heard_until`
    /// have been handled, so no waiting message is overlooked.
    ///
    /// Source: Spark Master, 4.0.1. After a restart, Spark serves no application until this time is over or all have
    /// returned.
    pub(crate) fn lose_absent(&mut self, now: Timestamp, heard_until: Timestamp) {
        while let Some((_, slot)) = self.workers.next_loss().filter(|(until, _)| *until <= now) {
            let row = self.workers.row(slot);
            let absence = row.link.absence().expect("it is in the table of those away");
            if let Some(postponed) = absence.postponed(now, heard_until) {
                self.workers.set_away(slot, postponed);
                continue;
            }
            let worker = row.description.id.clone();
            self.recovering &= absence.cause != AbsenceCause::Restart;
            self.remove_worker(now, &worker, absence.cause.loss());
        }
        while let Some((_, number)) = self.applications.next_loss().filter(|(until, _)| *until <= now) {
            let row = self.applications.numbered(number);
            let absence = row.link.absence().expect("it is in the table of those away");
            if let Some(postponed) = absence.postponed(now, heard_until) {
                self.applications.set_away(number, postponed);
                continue;
            }
            let app = row.id.clone();
            self.recovering &= absence.cause != AbsenceCause::Restart;
            self.remove_application(now, &app, absence.cause.end());
        }
    }

    /// How long a Worker or driver may be away whose connection ends now. `None`: it is lost at once, because the
    /// settings or its callback say so. Only Spark's Workers and drivers have a callback.
    pub(crate) fn absence(&self, now: Timestamp, callback: &[u8]) -> Option<Absence> {
        let timeout = self.config.away_timeout;
        let waits = callback.is_empty() && !timeout.is_zero();
        waits.then(|| Absence { since: now, until: now + timeout, cause: AbsenceCause::Disconnected })
    }
}

/// How many Workers, applications and executors are away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Away {
    pub workers: usize,
    pub applications: usize,
    pub executors: usize,
}
