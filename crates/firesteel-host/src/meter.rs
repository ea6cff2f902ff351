//! Meters: numbers that a daemon counts while it works, and that other threads read at any time.
//!
//! Counting takes a few nanoseconds and never waits. A thread that reads two related numbers may see one of them
//! updated before the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use firesteel_protocol::wire::Role;

/// The upper bounds of a histogram's buckets. One more bucket counts all longer durations.
pub const BOUNDS: [Duration; 17] = {
    const MICROS: [u64; 17] = [
        10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000,
    ];
    let mut bounds = [Duration::ZERO; 17];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] = Duration::from_micros(MICROS[at]);
        at += 1;
    }
    bounds
};

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [Counter; BOUNDS.len() + 1],
    nanos: Counter,
}

/// A snapshot of a histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// The number of durations in each bucket: one bucket per bound of [`BOUNDS`], and one for longer durations.
    pub buckets: [u64; BOUNDS.len() + 1],
    pub sum: Duration,
}

impl Histogram {
    pub fn record(&self, took: Duration) {
        self.buckets[BOUNDS.partition_point(|bound| *bound < took)].add(1);
        self.nanos.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let mut buckets = [0; BOUNDS.len() + 1];
        for (copy, bucket) in buckets.iter_mut().zip(&self.buckets) {
            *copy = bucket.get();
        }
        Distribution { buckets, sum: Duration::from_nanos(self.nanos.get()) }
    }
}

/// The meters of a daemon's owner loop.
#[derive(Debug, Default)]
pub struct OwnerMeter {
    /// How long the state machine took to apply each event, including the machine's scheduling pass.
    pub applied: Histogram,
    opened: [Counter; ROLES.len()],
    closed: [Counter; ROLES.len()],
}

/// The roles that peers have, in the order in which they are counted.
pub const ROLES: [Role; 6] =
    [Role::Master, Role::Worker, Role::Driver, Role::Client, Role::Executor, Role::Standby];

fn place(role: Role) -> usize {
    match role {
        Role::Master => 0,
        Role::Worker => 1,
        Role::Driver => 2,
        // Who joins has a conversation in the place of an owner's connection.
        Role::Client | Role::Joining => 3,
        Role::Executor => 4,
        Role::Standby => 5,
    }
}

impl OwnerMeter {
    pub(crate) fn opened(&self, role: Role) {
        self.opened[place(role)].add(1);
    }

    pub(crate) fn closed(&self, role: Role) {
        self.closed[place(role)].add(1);
    }

    /// The number of connections that are open to peers of this role.
    #[must_use]
    pub fn connections(&self, role: Role) -> u64 {
        let place = place(role);
        // The end is counted after the beginning, so it is read first.
        let closed = self.closed[place].get();
        self.opened[place].get().saturating_sub(closed)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The number of messages of peers that wait in the inbox.
    pub inbox_messages: u64,
    /// The total size in bytes of these waiting messages, as the inbox's limit counts it.
    pub inbox_bytes: u64,
    /// The number of bytes that wait to be sent to peers.
    pub outbox_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::default();
        let micros = [0, 10, 11, 1_000, 2_500_000, 2_500_001];
        micros.into_iter().map(Duration::from_micros).for_each(|took| histogram.record(took));
        let Distribution { buckets, sum } = histogram.distribution();
        assert_eq!(sum, Duration::from_micros(micros.iter().sum()));
        assert_eq!((buckets[0], buckets[1], buckets[6], buckets[16], buckets[17]), (2, 1, 1, 1, 1));
        assert_eq!(buckets.iter().sum::<u64>(), 6);
        assert!(BOUNDS.is_sorted());
    }

    #[test]
    fn connections_are_counted_by_role() {
        let meter = OwnerMeter::default();
        ROLES.into_iter().for_each(|role| meter.opened(role));
        meter.opened(Role::Worker);
        meter.closed(Role::Client);
        let numbers = ROLES.map(|role| meter.connections(role));
        assert_eq!(numbers, [1, 2, 1, 0, 1, 1]);
    }
}
