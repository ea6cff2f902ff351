//! Connections that have not identified themselves yet, and who of them makes room for others.
//!
//! Anybody who can reach a port can open connections and say little or nothing. So the number of these connections is
//! limited, and if none is free, the machine with the most of them has to give some up: first the connections that have
//! sent nothing for a moment, and then those that have begun and not come to an end. An honest peer says who it is at
//! once, and one that had to leave comes again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Machine;

/// How long a newcomer waits before others have to leave for it.
const PATIENCE: Duration = Duration::from_millis(60);

/// How long a peer may say nothing while others wait.
const SILENT: Duration = Duration::from_millis(250);

/// How long a peer that has begun to speak may take while others wait.
const SPEAKING: Duration = Duration::from_secs(1);

/// The part of a machine's connections that leave together. A crowd goes within a few steps, and a machine that is only
/// slow keeps most of its connections.
const LEAVE_AT_ONCE: usize = 4;

/// The places for connections that have not identified themselves.
#[derive(Debug)]
pub struct Entrance {
    free: Arc<Semaphore>,
    occupants: Mutex<Occupants>,
}

#[derive(Debug, Default)]
struct Occupants {
    last: u64,
    /// In the order in which they came.
    inside: BTreeMap<u64, Inside>,
}

#[derive(Clone, Debug)]
struct Inside {
    machine: Machine,
    since: Instant,
    has_spoken: bool,
    leave: CancellationToken,
}

/// A place at the entrance. Dropping it frees the place.
#[derive(Debug)]
pub struct Occupant {
    number: u64,
    leave: CancellationToken,
    entrance: Arc<Entrance>,
    _permit: OwnedSemaphorePermit,
}

impl Entrance {
    /// An entrance with this number of places.
    #[must_use]
    pub fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(places)), occupants: Mutex::default() })
    }

    fn occupants(&self) -> MutexGuard<'_, Occupants> {
        self.occupants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a free place, for a connection that will be accepted. While none is free, occupants have to leave.
    ///
    /// # Panics
    /// Never: the semaphore is never closed.
    pub async fn place(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(permit) = timeout(PATIENCE, Arc::clone(&self.free).acquire_owned()).await {
                return permit.expect("it is never closed");
            }
            let occupants = self.occupants();
            for number in who_leaves(&occupants.inside, Instant::now()) {
                occupants.inside[&number].leave.cancel();
            }
        }
    }

    /// Gives the place to a connection from this machine.
    #[must_use]
    pub fn enter(self: &Arc<Self>, permit: OwnedSemaphorePermit, machine: Machine) -> Occupant {
        let leave = CancellationToken::new();
        let mut occupants = self.occupants();
        occupants.last += 1;
        let number = occupants.last;
        let inside = Inside { machine, since: Instant::now(), has_spoken: false, leave: leave.clone() };
        occupants.inside.insert(number, inside);
        drop(occupants);
        Occupant { number, leave, entrance: Arc::clone(self), _permit: permit }
    }
}

/// Who has to leave so that others can enter: of the machine with the most connections, a part of those that have been
/// here too long. The silent ones go first, then the oldest.
fn who_leaves(inside: &BTreeMap<u64, Inside>, now: Instant) -> Vec<u64> {
    let here = || inside.iter().filter(|(_, occupant)| !occupant.leave.is_cancelled());
    let mut by_machine: BTreeMap<Machine, usize> = BTreeMap::new();
    here().for_each(|(_, occupant)| *by_machine.entry(occupant.machine).or_default() += 1);
    let too_long = |occupant: &Inside| {
        let patience = if occupant.has_spoken { SPEAKING } else { SILENT };
        now.saturating_duration_since(occupant.since) >= patience
    };
    let mut candidates: Vec<_> = here()
        .filter(|(_, occupant)| too_long(occupant))
        .map(|(number, occupant)| (std::cmp::Reverse(by_machine[&occupant.machine]), occupant, *number))
        .collect();
    candidates
        .sort_by_key(|(most, occupant, number)| (*most, occupant.machine, occupant.has_spoken, *number));
    let Some((most, first, _)) = candidates.first().cloned() else { return Vec::new() };
    let leave = most.0.div_ceil(LEAVE_AT_ONCE);
    let of_first = candidates.into_iter().filter(|(_, occupant, _)| occupant.machine == first.machine);
    of_first.map(|(.., number)| number).take(leave).collect()
}

impl Occupant {
    /// Notes that the peer has begun to speak.
    pub fn has_spoken(&self) {
        if let Some(occupant) = self.entrance.occupants().inside.get_mut(&self.number) {
            occupant.has_spoken = true;
        }
    }

    /// Waits until this connection has to make room for another one. The future owns what it needs.
    pub fn has_to_leave(&self) -> impl Future<Output = ()> + Send + use<> {
        self.leave.clone().cancelled_owned()
    }
}

impl Drop for Occupant {
    fn drop(&mut self) {
        self.entrance.occupants().inside.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// Occupants: the machine (0 is this one), the age in milliseconds, whether it has spoken.
    fn leaving(occupants: &[(u8, u64, bool)]) -> Vec<u64> {
        let now = Instant::now() + Duration::from_secs(60);
        let inside = occupants.iter().zip(0..).map(|((machine, age, has_spoken), number)| {
            let machine = Some(IpAddr::from([192, 0, 2, *machine])).filter(|_| *machine > 0);
            let since = now - Duration::from_millis(*age);
            let leave = CancellationToken::new();
            (number, Inside { machine, since, has_spoken: *has_spoken, leave })
        });
        who_leaves(&inside.collect(), now)
    }

    #[test]
    fn a_part_of_the_largest_crowd_leaves_the_silent_ones_first() {
        for (occupants, expected) in [
            (&[][..], &[][..]),
            // Nobody has been here too long.
            (&[(0, 249, false), (0, 999, true)], &[]),
            (&[(0, 250, false), (0, 999, true)], &[0]),
            // One that began and does not go on leaves, too.
            (&[(0, 1000, true), (0, 100, false)], &[0]),
            // Silence goes first, although another one came earlier.
            (&[(0, 5000, true), (0, 300, false), (0, 10, false)], &[1]),
            // The machine with the most loses one in four, whatever the others do.
            (&[(1, 900, false), (2, 800, false), (2, 700, false), (2, 600, false), (2, 500, false)], &[1]),
            (&[(3, 300, false), (3, 300, false), (3, 300, false), (3, 300, false), (3, 300, false)], &[0, 1]),
            // The largest crowd is new, so the next one has to make room.
            (&[(1, 5000, true), (2, 10, false), (2, 10, false)], &[0]),
        ] {
            assert_eq!(leaving(occupants), expected, "{occupants:?}");
        }
    }

    #[tokio::test]
    async fn a_newcomer_gets_in_although_all_places_are_held_by_those_that_began_to_speak() {
        let entrance = Entrance::new(8);
        let mut crowd = Vec::new();
        for _ in 0..8 {
            let occupant = entrance.enter(entrance.place().await, None);
            occupant.has_spoken();
            crowd.push(tokio::spawn(async move { occupant.has_to_leave().await }));
        }
        let begun = Instant::now();
        let _newcomer = entrance.enter(entrance.place().await, None);
        assert!(begun.elapsed() < SPEAKING * 8, "{:?}", begun.elapsed());
        assert!(crowd.iter().filter(|occupant| occupant.is_finished()).count() <= 4, "most of them stay");
    }
}
