//! What a Master does whose state is older than what its peers have seen: its state is a copy, was restored from a
//! backup, or has lost its end.
//!
//! Workers and drivers remember the latest [`StateMark`] that a Master has told them, and show it when they register
//! again. There is evidence that the state is older if it does not contain this moment, or if a peer names an executor
//! with a higher number than the next one. Then each application that was recovered leaves out numbers: those that the
//! peer has shown to be given, and a margin for those that others know of. Applications and cluster drivers number on
//! as well. Executors of applications that the state has lost are left alone for a while, as with a new state: somebody
//! may still start the Master with the right one.
//!
//! Each run of a Master draws the margin, since two Masters that begin with one copy may learn different things of it.
//!
//! A mark of another state means that this Master was started with the state of another cluster. Then its peers are
//! refused, and their executors are left alone.

use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};
use firesteel_protocol::messages::{GivenNumbers, StateId, StateMark};
use firesteel_protocol::time::Timestamp;

use crate::config::UnknownExecutors;
use crate::note::Evidence;
use crate::{Master, Note, Record};

/// The least margin. Workers that are yet to come may know of this number of executors that nobody else knows of.
const LEAST_MARGIN: u32 = 1000;

/// A run draws a margin that is less than this number above [`LEAST_MARGIN`].
const DRAWN: u64 = 1 << 20;

/// A peer may show numbers that are this much higher than the Master expects. More is not believed.
const MOST_AHEAD: u32 = 1 << 24;

/// Numbers of executors are not left out above this one, however often a state is older. Those of Spark are below 2^31.
const MOST_LEFT_OUT: u32 = 1 << 30;

impl Master {
    /// How far this Master's state goes, to be told to peers. `None`: it keeps no state.
    pub(crate) fn mark(&self) -> Option<StateMark> {
        let (state, run) = (self.lineage.state?, self.lineage.run);
        let at = if self.records.must_precede() { self.now } else { self.lineage.marked };
        Some(StateMark { state, run, at, given: self.given() })
    }

    /// The numbers that this state has given.
    pub(crate) fn given(&self) -> GivenNumbers {
        let (applications, drivers) = (self.applications.registered(), self.drivers.submitted());
        GivenNumbers { executors: self.lineage.executors, applications, drivers }
    }

    /// Compares what a peer has seen with this Master's state. If the state is older, leaves out numbers and says so.
    ///
    /// # Errors
    /// The peer has served another state, and this state is not new. Returns their state, and this Master's.
    pub(super) fn compare_state(
        &mut self,
        now: Timestamp,
        who: &str,
        seen: &[StateMark],
    ) -> Result<(), (StateId, StateId)> {
        let (Some(ours), Some(latest)) = (self.lineage.state, seen.last()) else { return Ok(()) };
        match seen.iter().find(|mark| mark.state == ours) {
            Some(mark) if self.lineage.contains(mark, self.stopped) => {}
            Some(mark) => {
                let evidence = Evidence::Mark { who: who.to_owned(), seen: mark.at };
                self.count_as_older(now, mark.given, evidence);
            }
            // Nobody is registered with a new state yet. How it treats their executors: see `foreign`.
            None if self.lineage.is_new => {}
            None => return Err((latest.state, ours)),
        }
        Ok(())
    }

    /// Handles the number of an executor that a peer names.
    pub(super) fn see_executor(
        &mut self,
        now: Timestamp,
        who: &str,
        ExecutorKey { app, executor }: &ExecutorKey,
    ) {
        self.see_next_executor(now, who, app, ExecutorId(executor.0.saturating_add(1)));
    }

    /// Handles the first number of an executor that a peer has not seen. If it is higher than the next one, this state
    /// has lost launches.
    pub(super) fn see_next_executor(&mut self, now: Timestamp, who: &str, app: &AppId, next: ExecutorId) {
        let Some(application) = self.applications.get(app).filter(|_| self.lineage.state.is_some()) else {
            return;
        };
        let is_recovered = application.sequence < self.lineage.before.applications;
        if is_recovered && next.0 > application.next_executor {
            let seen = GivenNumbers { executors: next.0, ..GivenNumbers::default() };
            let (who, app) = (who.to_owned(), app.clone());
            self.count_as_older(now, seen, Evidence::Executor { who, app });
        }
    }

    /// Leaves out the numbers that a later copy of this state has given, and the margin. Says so if this is the first
    /// mark of one, or if it shows more than the evidence before.
    fn count_as_older(&mut self, now: Timestamp, seen: GivenNumbers, evidence: Evidence) {
        let shows_more = self.leave_out_unseen(now, seen);
        if self.lineage.is_older && !shows_more {
            return;
        }
        self.lineage.is_older |= matches!(evidence, Evidence::Mark { .. });
        if !self.holds_foreign() && self.config.foreign == UnknownExecutors::Held {
            self.records.add(now, Record::ForeignHeld(true));
            self.hold_foreign_until(Some(now + self.config.recovery_timeout));
        }
        let (place, ended) = (self.config.state_place.clone(), self.stopped);
        let next = ExecutorId(self.lineage.executors);
        self.effects.note(Note::StateIsOlder { place, ended, evidence: Box::new(evidence), next });
    }

    /// Leaves out these numbers and the margin, in each application that was recovered. Returns whether they were not
    /// left out before.
    pub(crate) fn leave_out_unseen(&mut self, now: Timestamp, seen: GivenNumbers) -> bool {
        let before = self.lineage.before;
        let margin = LEAST_MARGIN + u32::try_from(self.lineage.run.0 % DRAWN).expect("it is small");
        let shown = seen.executors.min(before.executors.saturating_add(MOST_AHEAD)).max(before.executors);
        let next = shown.saturating_add(margin).min(MOST_LEFT_OUT);
        let believed = |shown: u64, before: u64| shown.min(before.saturating_add(MOST_AHEAD.into()));
        let applications = believed(seen.applications, before.applications);
        let drivers = believed(seen.drivers, before.drivers);
        let is_ahead = applications > self.applications.registered()
            || drivers > self.drivers.submitted()
            || self.applications.registered_before(before.applications).any(|app| app.next_executor < next);
        if is_ahead {
            let given = GivenNumbers { executors: next, applications, drivers };
            self.leave_out_numbers(now, given, before.applications);
        }
        is_ahead
    }
}
