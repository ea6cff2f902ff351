//! How a Master is recovered from its journal records, and what it does until all Workers and applications have
//! returned.
//!
//! ```text
//!   records --> tables, with everybody away
//!                 |  Workers return with what runs there, drivers with what they know: each is served at once
//!                 v
//!   all are back, or the time is over: Workers and applications that are still away are lost
//! ```

use firesteel_protocol::ids::{AppId, WorkerId};
use firesteel_protocol::machine::kind::Kind;
use firesteel_protocol::messages::{ApplicationEnd, LossReason, Resumption, WorkerDescription};
use firesteel_protocol::time::Timestamp;

use super::contradiction::Contradiction;
use super::replay::Replay;
use crate::config::UnknownExecutors;
use crate::durable::record::Record;
use crate::tables::applications::application::Application;
use crate::tables::workers::row::WorkerRow;
use crate::{Config, Master, Note, Pass};

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
        master.set_durability(durability);
        master.applications.forget_profiles();
        let apps: Vec<AppId> =
            master.applications.queue().map(|application| application.id.clone()).collect();
        apps.iter().for_each(|app| master.see_wanted(app));
        master.now = now.max(latest);
        master.stopped = latest;
        if master.is_anyone_away() {
            master.away_until = Some(master.now + master.config.recovery_timeout);
        }
        if holds_foreign && master.config.foreign == UnknownExecutors::Held {
            master.hold_foreign_until(Some(master.now + master.config.recovery_timeout));
        }
        master.pass = Pass::Due;
        Ok(master)
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
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

    fn is_anyone_away(&self) -> bool {
        self.workers.away() > 0 || self.applications.away() > 0
    }

    /// When the Workers and applications that are away are lost.
    pub(crate) fn next_loss(&self) -> Option<Timestamp> {
        self.away_until
    }

    /// Ends the recovery if all Workers and applications have returned.
    pub(crate) fn see_returned(&mut self) {
        if self.away_until.is_some() && !self.is_anyone_away() {
            self.away_until = None;
            self.effects.note(Note::Recovered);
        }
    }

    /// Ends the recovery if its time is over: Workers and applications that are still away are lost. All messages that
    /// arrived before `heard_until` have been handled, so no waiting message is overlooked.
    ///
    /// Source: Spark Master, 4.0.1. Spark serves no application until this time is over or all have returned.
    pub(crate) fn lose_absent(&mut self, now: Timestamp, heard_until: Timestamp) {
        let Some(until) = self.away_until.filter(|until| *until <= now) else { return };
        if until > heard_until {
            self.away_until = Some(now + until.since(heard_until));
            return;
        }
        self.away_until = None;
        let absent = |row: &&WorkerRow| !row.link.is_here();
        let workers: Vec<WorkerId> =
            self.workers.iter().filter(absent).map(|row| row.description.id.clone()).collect();
        for worker in workers {
            self.remove_worker(now, &worker, LossReason::NotBack);
        }
        let absent = |app: &&Application| !app.link.is_here();
        let apps: Vec<AppId> = self.applications.queue().filter(absent).map(|app| app.id.clone()).collect();
        for app in apps {
            self.remove_application(now, &app, ApplicationEnd::NotBack);
        }
    }
}

/// How many Workers, applications and executors are away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Away {
    pub workers: usize,
    pub applications: usize,
    pub executors: usize,
}
