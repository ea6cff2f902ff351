//! Limits on the amounts that Workers and applications may register with, and on the memory for what the Master keeps.

use std::collections::BTreeMap;
use std::fmt;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::messages::{
    ApplicationDescription, Bounded, DriverReport, ExecutorReport, MOST_CORES, RefusedRegistration,
    WorkerDescription,
};
use firesteel_protocol::wire;
use serde::Serialize;

use crate::users::PerUser;

/// The maximum memory of a Worker. With it, sums over a cluster cannot overflow.
pub(crate) const MOST_MEMORY: MiB = MiB(i32::MAX as i64);

/// The maximum length of an application's description in encoded form, in bytes. Linux starts no program with longer
/// arguments and variables by default.
pub(crate) const LONGEST_DESCRIPTION: u64 = 4 << 20;

/// The maximum length of an application's host preferences in encoded form, in bytes.
pub(crate) const LONGEST_PREFERENCES: u64 = 1 << 20;

/// How much memory a live application or cluster driver takes for each byte of its description: the description itself,
/// two forms for Workers as values and as bytes, and the copy that becomes durable.
const COPIES: u64 = 6;

/// A user may have this many times what stays free: three quarters, if nobody else has anything.
const OF_A_USER: u64 = 3;

/// The memory that live applications or cluster drivers take for their descriptions and preferences, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charges {
    in_all: u64,
    /// For each user with live ones.
    by_user: BTreeMap<String, u64>,
}

impl Charges {
    pub(crate) fn add(&mut self, user: &str, bytes: u64) {
        self.in_all += bytes;
        *self.by_user.entry(user.to_owned()).or_default() += bytes;
    }

    pub(crate) fn subtract(&mut self, user: &str, bytes: u64) {
        self.in_all -= bytes;
        let of_user = self.by_user.get_mut(user).expect("it was added");
        *of_user -= bytes;
        if *of_user == 0 {
            self.by_user.remove(user);
        }
    }

    pub(crate) fn in_all(&self) -> u64 {
        self.in_all
    }

    fn of_user(&self, user: &str) -> u64 {
        self.by_user.get(user).copied().unwrap_or(0)
    }
}

/// The memory that an application or a cluster driver takes for a description or for preferences of this length.
pub(crate) fn weight(length: usize) -> u64 {
    length as u64 * COPIES
}

/// The memory that an application or a cluster driver takes for this description, or for these preferences.
pub(crate) fn weight_of(what: &impl Serialize) -> u64 {
    weight(wire::length(what))
}

/// A recovered state takes more memory than the Master's settings allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// The memory that live applications and cluster drivers take, in bytes.
    pub kept: u64,
    /// The budget, in bytes.
    pub most: u64,
    /// The ids of those that take the most.
    pub largest: Vec<String>,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, most, largest } = self;
        write!(
            f,
            "live applications and drivers take {} MiB of memory for their descriptions, and this Master keeps {} MiB for them: \
             it refuses new ones until some have ended (firesteel kill). These take the most:",
            kept >> 20,
            most >> 20
        )?;
        largest.iter().try_for_each(|id| write!(f, " {id}"))?;
        f.write_str(". To allow more, raise firesteel.master.memory")
    }
}

/// Limits on the amounts that Workers and applications may register with. The Master refuses anyone who exceeds them: a
/// Worker that reports too many cores would get executors by the ten thousand. The default is the maximum that the
/// Master can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `firesteel.master.maxWorkers`: the maximum number of living Workers.
    pub workers: u64,
    /// `firesteel.master.maxApplications`: the maximum number of live applications.
    pub applications: u64,
    /// `firesteel.master.maxWorkerCores`: the maximum number of cores of one Worker.
    pub cores: Cores,
    /// `firesteel.master.maxWorkerMemory`: the maximum memory of one Worker.
    pub memory: MiB,
    /// `firesteel.master.maxWorkerAddresses`: the maximum number of addresses of custom resources of one Worker, all
    /// names together.
    pub addresses: u64,
    /// `firesteel.master.maxWorkerExecutors`: the maximum number of executors that a Worker may list when it registers.
    pub executors: u64,
    /// `firesteel.master.maxTextLength`: the maximum length of one text, in bytes: a name, a host, a directory, an
    /// address.
    pub text: u64,
    /// What each user may have at the same time.
    pub per_user: PerUser,
    /// Half of `firesteel.master.memory`: the memory for what live applications and cluster drivers make the Master
    /// keep, in bytes.
    pub kept: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            workers: u64::from(u32::MAX),
            applications: u64::MAX,
            cores: MOST_CORES,
            memory: MOST_MEMORY,
            addresses: u64::MAX,
            executors: u64::MAX,
            text: 4096,
            per_user: PerUser::default(),
            kept: u64::MAX,
        }
    }
}

impl Limits {
    pub(crate) fn check_worker(
        &self,
        worker: &WorkerDescription,
        executors: &[ExecutorReport],
    ) -> Result<(), RefusedRegistration> {
        let WorkerDescription { cores, memory, resources, .. } = worker;
        let addresses: usize = resources.iter().map(|(_, addresses)| addresses.count()).sum();
        check(Bounded::Cores, unsigned(cores.0), unsigned(self.cores.0))?;
        check(Bounded::Memory, unsigned(memory.0), unsigned(self.memory.0))?;
        check(Bounded::Addresses, addresses as u64, self.addresses)?;
        self.check_executors(executors)?;
        check(Bounded::Text, worker.longest_text() as u64, self.text)
    }

    /// Checks that an application may make the Master keep its description, and returns what it takes.
    pub(crate) fn check_kept(
        &self,
        kept: [&Charges; 2],
        description: &ApplicationDescription,
    ) -> Result<u64, String> {
        let weight = weight_of(description);
        if weight > LONGEST_DESCRIPTION * COPIES {
            return Err(format!(
                "an application's description has at most {LONGEST_DESCRIPTION} bytes, with its command and environment, \
                 not {}: put long values into files",
                weight / COPIES
            ));
        }
        self.check_more(kept, &description.user, weight)?;
        Ok(weight)
    }

    /// Checks that an application of this user may replace its host preferences by others, of these weights.
    pub(crate) fn check_preferences(
        &self,
        kept: [&Charges; 2],
        user: &str,
        (old, new): (u64, u64),
    ) -> Result<(), String> {
        if new > LONGEST_PREFERENCES * COPIES {
            let length = new / COPIES;
            return Err(format!("they have {length} bytes, and at most {LONGEST_PREFERENCES} are kept"));
        }
        match new.saturating_sub(old) {
            0 => Ok(()),
            more => self.check_more(kept, user, more),
        }
    }

    /// Checks that the applications of this user may take this much more memory.
    pub(crate) fn check_more(&self, kept: [&Charges; 2], user: &str, more: u64) -> Result<(), String> {
        let in_all: u64 = kept.iter().map(|kept| kept.in_all).sum();
        let of_user = kept.iter().map(|kept| kept.of_user(user)).sum::<u64>().saturating_add(more);
        let free = self.kept.checked_sub(in_all.saturating_add(more));
        match free {
            None => Err(format!(
                "live applications and drivers take {in_all} of the {} bytes that this Master keeps for their descriptions \
                 (firesteel.master.memory), and this one needs {more}: end some, or try again when some have ended",
                self.kept
            )),
            Some(free) if of_user > free.saturating_mul(OF_A_USER) => Err(format!(
                "live applications and drivers of user {user:?} take {} of the {} bytes that this Master keeps for descriptions \
                 (firesteel.master.memory), and some are left to other users: end some of them first",
                of_user - more,
                self.kept
            )),
            Some(_) => Ok(()),
        }
    }

    pub(crate) fn check_executors(&self, executors: &[ExecutorReport]) -> Result<(), RefusedRegistration> {
        check(Bounded::Executors, executors.len() as u64, self.executors)
    }

    /// Checks the cluster drivers that a Worker lists. A running driver takes at least one core. Some entries may be
    /// ends that are not confirmed yet.
    pub(crate) fn check_drivers(&self, drivers: &[DriverReport]) -> Result<(), RefusedRegistration> {
        check(Bounded::Executors, drivers.len() as u64, self.executors)
    }

    /// Checks that one more Worker is allowed, if there are already this many.
    pub(crate) fn check_workers(&self, workers: usize) -> Result<(), RefusedRegistration> {
        check(Bounded::Workers, workers as u64 + 1, self.workers)
    }
}

fn check(what: Bounded, found: u64, most: u64) -> Result<(), RefusedRegistration> {
    if found > most { Err(RefusedRegistration::Exceeds { what, found, most }) } else { Ok(()) }
}

fn unsigned(amount: i64) -> u64 {
    u64::try_from(amount).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights that each user gets into an empty budget, one after the other.
    fn admitted(budget: u64, asked: &[(&str, u64)]) -> Vec<bool> {
        let limits = Limits { kept: budget, ..Limits::default() };
        let mut kept = Charges::default();
        let admits = |(user, weight): &(&str, u64)| {
            let is_admitted = limits.check_more([&kept, &Charges::default()], user, *weight).is_ok();
            if is_admitted {
                kept.add(user, *weight);
            }
            assert!(kept.in_all() <= budget, "{kept:?}");
            is_admitted
        };
        asked.iter().map(admits).collect()
    }

    #[test]
    fn what_is_kept_stays_within_the_budget_and_no_user_has_all_of_it() {
        assert_eq!(admitted(100, &[("ann", 75), ("ann", 1)]), [true, false]);
        assert_eq!(admitted(100, &[("ann", 76)]), [false]);
        assert_eq!(admitted(100, &[("ann", 75), ("bob", 18), ("bob", 1)]), [true, true, false]);
        assert_eq!(admitted(100, &[("ann", 75), ("bob", 26)]), [true, false]);
        assert_eq!(
            admitted(100, &[("ann", 30), ("bob", 30), ("cyd", 30), ("dan", 11)]),
            [true, true, true, false]
        );
        assert_eq!(admitted(0, &[("ann", 1)]), [false]);
        assert_eq!(admitted(u64::MAX, &[("ann", u64::MAX / 2), ("ann", 1)]), [true, true]);
    }

    #[test]
    fn what_has_ended_is_given_back() {
        let limits = Limits { kept: 100, ..Limits::default() };
        let mut kept = Charges::default();
        kept.add("ann", 75);
        let why = limits.check_more([&kept, &Charges::default()], "ann", 20).expect_err("her part");
        assert!(why.contains("of user \"ann\" take 75 of the 100 bytes"), "{why}");
        let why =
            limits.check_more([&kept, &Charges::default()], "bob", 30).expect_err("there is not so much");
        assert!(why.contains("take 75 of the 100 bytes") && why.contains("firesteel.master.memory"), "{why}");
        kept.subtract("ann", 75);
        assert_eq!(kept, Charges::default());
        assert_eq!(limits.check_more([&kept, &Charges::default()], "bob", 30), Ok(()));
    }
}
