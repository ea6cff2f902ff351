//! The times at which executors were ended to free resources for applications.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::{ExecutorState, LossReason};
use firesteel_protocol::time::Timestamp;

/// For each application: when executors of others were ended for it, within the interval.
#[derive(Debug, Default)]
pub(crate) struct Preempted {
    by: BTreeMap<AppId, VecDeque<Timestamp>>,
}

impl Preempted {
    /// The number of executors that were ended for an application within the interval.
    pub(crate) fn count(&self, app: &AppId) -> usize {
        self.by.get(app).map_or(0, VecDeque::len)
    }

    /// Records an executor that ended at this time, if it was preempted.
    pub(crate) fn see(&mut self, at: Timestamp, end: &ExecutorState) {
        if let ExecutorState::Lost(LossReason::Preempted { by }) = end {
            self.add(by, at);
        }
    }

    pub(crate) fn add(&mut self, app: &AppId, now: Timestamp) {
        let times = self.by.entry(app.clone()).or_default();
        times.insert(times.partition_point(|time| *time <= now), now);
    }

    /// When the oldest entry becomes older than the interval.
    pub(crate) fn next(&self, every: Duration) -> Option<Timestamp> {
        self.by.values().filter_map(|times| Some(*times.front()? + every)).min()
    }

    /// Drops entries that are older than the interval, and applications that are no longer live. Returns whether
    /// anything was dropped.
    pub(crate) fn forget(
        &mut self,
        now: Timestamp,
        every: Duration,
        is_live: impl Fn(&AppId) -> bool,
    ) -> bool {
        let before = self.total();
        self.by.retain(|app, times| {
            times.retain(|time| *time + every > now);
            !times.is_empty() && is_live(app)
        });
        before != self.total()
    }

    fn total(&self) -> usize {
        self.by.values().map(VecDeque::len).sum()
    }
}
