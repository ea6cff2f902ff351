//! A limited amount of places or bytes, and how much of it each machine may take.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The machine at the other end of a connection. `None` is this machine.
pub type Machine = Option<IpAddr>;

/// The machine at the other end of a connection with these addresses.
#[must_use]
pub fn machine_of(local: io::Result<SocketAddr>, remote: SocketAddr) -> Machine {
    let here = local.map(|local| local.ip().to_canonical());
    let there = remote.ip().to_canonical();
    let is_here = here.is_ok_and(|here| here == there);
    (!is_here).then_some(there)
}

/// This machine may take this many times what stays free, so one eighth is always left to others.
const OF_THIS_MACHINE: usize = 7;

/// Any other machine may take as much as stays free: half, if it is the only one.
const OF_ANOTHER: usize = 1;

/// An amount that machines share. A machine gets more only while its part, with the new amount, is at most a multiple
/// of what then stays free. So one machine alone gets most of the amount, several get less each, and something always
/// stays free for a machine that has nothing yet.
#[derive(Debug)]
pub struct Shares {
    total: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    /// The part of each machine that has one.
    by_machine: HashMap<Machine, usize>,
}

/// A part of the amount. Dropping it gives the part back.
#[derive(Debug)]
pub struct Share {
    machine: Machine,
    amount: usize,
    shares: Arc<Shares>,
}

/// The part that a machine has, and would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch {
    /// What the machine has.
    pub of_machine: usize,
    /// What all machines have.
    pub in_all: usize,
}

impl Shares {
    #[must_use]
    pub fn new(total: usize) -> Arc<Self> {
        Arc::new(Self { total, taken: Mutex::default() })
    }

    /// The whole amount.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an amount for a machine.
    ///
    /// # Errors
    /// The machine would have too much.
    pub fn take(self: &Arc<Self>, machine: Machine, amount: usize) -> Result<Share, TooMuch> {
        let mut share = Share { machine, amount: 0, shares: Arc::clone(self) };
        share.grow(amount)?;
        Ok(share)
    }
}

/// Whether a machine may have this much when this much stays free.
fn is_within(machine: Machine, part: usize, free: usize) -> bool {
    let times = if machine.is_none() { OF_THIS_MACHINE } else { OF_ANOTHER };
    // A machine may always have the first of several places.
    part <= free.saturating_mul(times) || (part == 1 && free == 0)
}

impl Share {
    /// Takes more for the same machine.
    ///
    /// # Errors
    /// The machine would have too much. Then the share stays as it is.
    pub fn grow(&mut self, amount: usize) -> Result<(), TooMuch> {
        let mut taken = self.shares.taken();
        let of_machine = taken.by_machine.get(&self.machine).copied().unwrap_or(0);
        let too_much = TooMuch { of_machine, in_all: taken.in_all };
        let in_all = taken.in_all.saturating_add(amount);
        let free = self.shares.total.checked_sub(in_all).ok_or(too_much)?;
        let part = of_machine.saturating_add(amount);
        if amount > 0 && !is_within(self.machine, part, free) {
            return Err(too_much);
        }
        taken.in_all = in_all;
        taken.by_machine.insert(self.machine, part);
        drop(taken);
        self.amount += amount;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        taken.in_all -= self.amount;
        if let Some(part) = taken.by_machine.get_mut(&self.machine) {
            *part -= self.amount;
            if *part == 0 {
                taken.by_machine.remove(&self.machine);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(last: u8) -> Machine {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    /// Takes single places for a machine, as many as it gets.
    fn all_for(shares: &Arc<Shares>, machine: Machine) -> Vec<Share> {
        std::iter::from_fn(|| shares.take(machine, 1).ok()).collect()
    }

    #[test]
    fn a_machine_gets_a_part_of_what_is_free_and_leaves_something_to_others() {
        for (total, machines, expected) in [
            (1024, &[None][..], &[896][..]),
            (1024, &[other(1)], &[512]),
            (1024, &[other(1), other(2), other(3)], &[512, 256, 128]),
            (1024, &[None, other(1), other(2)], &[896, 64, 32]),
            (1024, &[other(1), None], &[512, 448]),
            (5600, &[None], &[4900]),
            (2, &[None, other(1)], &[1, 1]),
            (1, &[other(1), None], &[1, 0]),
            (0, &[None], &[0]),
        ] {
            let shares = Shares::new(total);
            let taken: Vec<_> = machines.iter().map(|machine| all_for(&shares, *machine)).collect();
            let counts: Vec<_> = taken.iter().map(Vec::len).collect();
            assert_eq!(counts, expected, "{total} for {machines:?}");
        }
    }

    #[test]
    fn what_is_given_back_is_free_again_and_a_machine_without_a_part_is_forgotten() {
        let shares = Shares::new(1000);
        let mut share = shares.take(other(1), 400).expect("it is less than what stays free");
        let too_much = TooMuch { of_machine: 400, in_all: 400 };
        assert_eq!(share.grow(101), Err(too_much));
        assert_eq!(shares.take(other(1), 101).err(), Some(too_much));
        share.grow(100).expect("half");
        drop(share);
        assert_eq!(shares.taken().in_all, 0);
        assert_eq!(shares.taken().by_machine.len(), 0);
        let _again = shares.take(other(1), 500).expect("everything is free");
    }

    #[test]
    fn several_machines_together_never_take_more_than_there_is() {
        let shares = Shares::new(100);
        let mut kept = Vec::new();
        for round in 0..400_u32 {
            let machine = other(u8::try_from(round % 7).expect("it is small")).filter(|_| round % 7 > 0);
            kept.extend(shares.take(machine, 1 + round as usize % 5));
            assert!(shares.taken().in_all <= 100, "{round}");
            if round % 3 == 0 {
                kept.remove(0);
            }
        }
    }
}
