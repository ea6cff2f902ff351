//! Idle executors that hold the room of another profile's are given back for the time being.
//!
//! Only with a fixed number of executors: dynamic allocation ends idle executors anyway. The target of their profile is
//! lowered, or the Master would replace them, and stands again as soon as tasks of the profile wait.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::explain::shortfall::Reason;
use firesteel_placement::{Cores, Shortfall};
use firesteel_protocol::ids::{ExecutorId, ProfileId, WorkerId};

use crate::driver::executors::executor::{Executor, Fate};
use crate::driver::{Allocation, Driver, Note};

impl Driver {
    /// Gives idle executors back for each profile whose tasks wait and that has no executor, as far as that could help. Profiles
    /// that tasks wait for give nothing. Returns whether any executor was given back.
    pub(in crate::driver) fn give_back_idle(&mut self, shortfalls: &[(ProfileId, Shortfall)]) -> bool {
        match self.config.allocation {
            Allocation::Fixed => {}
            Allocation::Dynamic(_) => return false,
        }
        let waiting: BTreeSet<ProfileId> = self.tasks.waiting().profiles().collect();
        let mut any = false;
        for (profile, shortfall) in shortfalls {
            let is_its = |row: &Executor| {
                row.profile == *profile
                    && (row.could_offer() || (row.is_to_come() && row.fate == Fate::Wanted))
            };
            if !waiting.contains(profile) || self.executors.iter().any(|(_, row)| is_its(row)) {
                continue;
            }
            let executors = self.in_the_way(&waiting, shortfall);
            if !executors.is_empty() {
                self.give_back(&waiting, &executors);
                self.effects
                    .note(Note::IdleExecutorsGivenBack { executors: executors.clone(), to: *profile });
                self.send_kills(executors);
                any = true;
            }
        }
        any
    }

    /// The idle executors whose cores are enough for one that is missing. None if that could not help.
    fn in_the_way(&self, waiting: &BTreeSet<ProfileId>, shortfall: &Shortfall) -> Vec<ExecutorId> {
        let is_idle = |row: &Executor| row.is_idle() && !waiting.contains(&row.profile);
        let mut idle: Vec<_> = self.executors.iter().filter(|(_, row)| is_idle(row)).collect();
        let elsewhere = match &shortfall.reason {
            // The application's own maximum is reached, no matter where.
            Reason::TooFewCoresLeft { left } => *left,
            Reason::NotGranted { .. } => Cores::ZERO,
            // One Worker must have room.
            Reason::Busy { workers } | Reason::Held { workers, .. } => {
                let mut at = BTreeMap::<&WorkerId, Cores>::new();
                for (_, row) in &idle {
                    *at.entry(&row.worker).or_default() += row.cores;
                }
                let Some((best, _)) = at.into_iter().max_by_key(|(_, cores)| *cores) else {
                    return Vec::new();
                };
                idle.retain(|(_, row)| row.worker == *best);
                workers.iter().map(|group| group.most.cores).max().unwrap_or(Cores::ZERO)
            }
            Reason::LimitReached { .. }
            | Reason::NoWorkers
            | Reason::TooSmall { .. }
            | Reason::GangTooLarge { .. }
            | Reason::GangWaits { .. }
            | Reason::KeptForAnother
            | Reason::Avoided { .. }
            | Reason::Paused { .. }
            | Reason::Excluded { .. }
            | Reason::Labelled { .. }
            | Reason::Impaired { .. } => return Vec::new(),
        };
        let missing = shortfall.asked.cores;
        let (mut given, mut room) = (Vec::new(), Cores::ZERO);
        for (id, row) in idle {
            if given.is_empty() || room < missing {
                given.push(id);
                room += row.cores;
            }
        }
        if room + elsewhere < missing { Vec::new() } else { given }
    }

    /// Ends executors, and lowers the targets of all profiles that no task waits for to the executors that are left: another
    /// one would take the room.
    fn give_back(&mut self, waiting: &BTreeSet<ProfileId>, executors: &[ExecutorId]) {
        let resting: Vec<ProfileId> =
            self.targets.iter().map(|(id, _)| id).filter(|id| !waiting.contains(id)).collect();
        let before: Vec<u64> = resting.iter().map(|id| self.executors.wanted(*id) as u64).collect();
        for &id in executors {
            self.executors.kill(id);
        }
        let (mut totals, mut asked) = (BTreeMap::new(), BTreeMap::new());
        for (id, before) in resting.into_iter().zip(before) {
            let left = self.executors.wanted(id) as u64;
            // No message asks for any number: the executors that there were are asked for.
            let target = self.targets.asked(id).unwrap_or(before.max(1));
            if left < target {
                totals.insert(id, left);
                asked.insert(id, target);
            }
        }
        self.set_targets(&totals);
        self.targets.remember(asked);
    }

    /// The targets that were asked for stand again for profiles that tasks wait for.
    pub(super) fn restore_targets(&mut self) {
        let mut lowered: BTreeMap<ProfileId, u64> = self.targets.lowered().collect();
        if !lowered.is_empty() {
            let waiting: BTreeSet<ProfileId> = self.tasks.waiting().profiles().collect();
            lowered.retain(|id, _| waiting.contains(id));
            self.set_targets(&lowered);
        }
    }
}
