//! Gives back idle executors if another profile needs their resources.
//!
//! This happens only with a fixed number of executors, because dynamic allocation ends idle executors anyway. The
//! target of their profile is lowered, since the Master would otherwise replace them. The target is restored as soon as
//! tasks of the profile wait.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::explain::shortfall::Reason;
use firesteel_placement::{Cores, Shortfall};
use firesteel_protocol::ids::{ExecutorId, ProfileId, WorkerId};

use crate::driver::executors::executor::{Executor, Fate};
use crate::driver::{Allocation, Driver, Note};

impl Driver {
    /// For each profile with waiting tasks and no executor, gives idle executors of other profiles back, if this can
    /// help. Profiles with waiting tasks give nothing back. Returns whether an executor was given back.
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

    /// Idle executors that together have enough cores for one missing executor. Empty if ending idle executors cannot
    /// help.
    fn in_the_way(&self, waiting: &BTreeSet<ProfileId>, shortfall: &Shortfall) -> Vec<ExecutorId> {
        let is_idle = |row: &Executor| row.is_idle() && !waiting.contains(&row.profile);
        let mut idle: Vec<_> = self.executors.iter().filter(|(_, row)| is_idle(row)).collect();
        let elsewhere = match &shortfall.reason {
            // The application has reached its own maximum of cores, which is the same on every Worker.
            Reason::TooFewCoresLeft { left } => *left,
            Reason::NotGranted { .. } => Cores::ZERO,
            // The whole executor must fit on one Worker.
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
            | Reason::UserLimit { .. }
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

    /// Ends these executors. Lowers the target of every profile without waiting tasks to its remaining executors.
    /// Otherwise the Master would use the freed resources for a replacement.
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
            // No message can ask for an unlimited number: the target becomes the number of executors that there were.
            let target = self.targets.asked(id).unwrap_or(before.max(1));
            if left < target {
                totals.insert(id, left);
                asked.insert(id, target);
            }
        }
        self.set_targets(&totals);
        self.targets.remember(asked);
    }

    /// Restores the requested targets of profiles with waiting tasks.
    pub(super) fn restore_targets(&mut self) {
        let mut lowered: BTreeMap<ProfileId, u64> = self.targets.lowered().collect();
        if !lowered.is_empty() {
            let waiting: BTreeSet<ProfileId> = self.tasks.waiting().profiles().collect();
            lowered.retain(|id, _| waiting.contains(id));
            self.set_targets(&lowered);
        }
    }
}
