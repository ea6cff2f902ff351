//! What one user may have at the same time, and what he may still get.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::advanced::words::{counted, none_or};
use firesteel_placement::{Cores, Demand, ExecutorLimit, MiB};
use firesteel_protocol::messages::DriverDescription;
use firesteel_protocol::time::Timestamp;

/// What each user may have at the same time. By default there is no limit, as in Spark. Where cores, memory or
/// executors are limited there are no gangs and no preemption: nothing is reserved for, or taken back from, who may
/// have no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerUser {
    /// `firesteel.user.maxApplications`: live applications and cluster drivers together. The Master refuses further
    /// ones.
    pub applications: u64,
    /// `firesteel.user.maxSubmissions`: applications and cluster drivers that the Master accepts within a second. It
    /// refuses further ones.
    pub submissions: u64,
    /// `firesteel.user.maxCores`: the cores of all executors and cluster drivers. Further ones wait.
    pub cores: Cores,
    /// `firesteel.user.maxMemory`: their memory.
    pub memory: MiB,
    /// `firesteel.user.maxExecutors`: the number of executors and running cluster drivers.
    pub executors: u64,
}

impl Default for PerUser {
    fn default() -> Self {
        Self {
            applications: u64::MAX,
            submissions: u64::MAX,
            cores: Cores::UNLIMITED,
            memory: MiB(i64::MAX),
            executors: u64::MAX,
        }
    }
}

impl PerUser {
    /// Whether what executors and cluster drivers hold is limited.
    #[must_use]
    pub fn limits_what_is_held(&self) -> bool {
        let Self { cores, memory, executors, .. } = Self::default();
        (self.cores, self.memory, self.executors) != (cores, memory, executors)
    }

    /// The limit, in words, that keeps this demand from being met in this room.
    pub(crate) fn in_the_way(&self, demand: &Demand, room: Room) -> String {
        if room.cores < demand.size.step() {
            format!("{} (firesteel.user.maxCores)", none_or(self.cores.0, "core"))
        } else if room.memory < demand.memory {
            format!("{} of memory (firesteel.user.maxMemory)", self.memory)
        } else {
            format!("{} (firesteel.user.maxExecutors)", none_or(self.executors, "executor"))
        }
    }

    /// Checks that a user with this many live applications and cluster drivers may have one more.
    pub(crate) fn check_one_more(&self, user: &str, live: u64) -> Result<(), String> {
        if live < self.applications {
            return Ok(());
        }
        Err(format!(
            "user {user:?} has {} or drivers, the most that each user may have (firesteel.user.maxApplications): end some \
             of them first",
            counted(live, "live application")
        ))
    }
}

/// What a user may still get, or what he has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) cores: Cores,
    pub(crate) memory: MiB,
    pub(crate) executors: u64,
}

impl Room {
    pub(crate) const UNLIMITED: Self =
        Self { cores: Cores::UNLIMITED, memory: MiB(i64::MAX), executors: u64::MAX };

    const NONE: Self = Self { cores: Cores::ZERO, memory: MiB::ZERO, executors: 0 };

    /// Lowers a demand to what this room allows.
    pub(crate) fn limit(self, demand: &mut Demand) {
        let by_memory = match demand.memory {
            MiB(each) if each > 0 && self.memory < Self::UNLIMITED.memory => {
                u64::try_from(self.memory.0 / each).unwrap_or(0)
            }
            _ => u64::MAX,
        };
        let most = demand.held.saturating_add(self.executors.min(by_memory));
        demand.cores_left = demand.cores_left.min(self.cores);
        demand.limit = match demand.limit {
            ExecutorLimit::AtMost(limit) => ExecutorLimit::AtMost(limit.min(most)),
            ExecutorLimit::Unlimited if most < u64::MAX => ExecutorLimit::AtMost(most),
            ExecutorLimit::Unlimited => ExecutorLimit::Unlimited,
        };
    }

    /// Whether a cluster driver is within this room.
    pub(crate) fn admits(self, driver: &DriverDescription) -> bool {
        driver.cores <= self.cores && driver.memory <= self.memory && self.executors > 0
    }
}

/// What the users have, and what they may still get.
#[derive(Debug)]
pub(crate) struct Rooms {
    most: PerUser,
    had: BTreeMap<String, Room>,
}

impl Rooms {
    pub(crate) fn new(most: PerUser) -> Self {
        Self { most, had: BTreeMap::new() }
    }

    /// Counts what a user has.
    pub(crate) fn count(&mut self, user: &str, executors: u64, cores: Cores, memory: MiB) {
        let had = match self.had.get_mut(user) {
            Some(had) => had,
            None => self.had.entry(user.to_owned()).or_insert(Room::NONE),
        };
        had.executors = had.executors.saturating_add(executors);
        had.cores += cores;
        had.memory += memory;
    }

    /// Counts a cluster driver that runs.
    pub(crate) fn count_driver(&mut self, driver: &DriverDescription) {
        self.count(&driver.user, 1, driver.cores, driver.memory);
    }

    /// What a user may still get.
    pub(crate) fn of(&self, user: &str) -> Room {
        let PerUser { cores, memory, executors, .. } = self.most;
        let had = self.had.get(user).copied().unwrap_or(Room::NONE);
        let left =
            |most: i64, had: i64| if most == i64::MAX { most } else { most.saturating_sub(had).max(0) };
        Room {
            cores: if cores >= Cores::UNLIMITED { cores } else { Cores(left(cores.0, had.cores.0)) },
            memory: MiB(left(memory.0, had.memory.0)),
            executors: if executors == u64::MAX {
                executors
            } else {
                executors.saturating_sub(had.executors)
            },
        }
    }
}

/// The latest submissions of each user, to limit those within a second.
#[derive(Debug, Default)]
pub(crate) struct Submissions(BTreeMap<String, Latest>);

#[derive(Debug)]
struct Latest {
    /// The beginning of the second.
    since: Timestamp,
    count: u64,
}

/// The time for which submissions are counted.
const SECOND: Duration = Duration::from_secs(1);

impl Submissions {
    /// Counts a submission, unless the user has made too many within a second.
    pub(crate) fn count(&mut self, now: Timestamp, user: &str, most: u64) -> Result<(), String> {
        if most == u64::MAX {
            return Ok(());
        }
        self.0.retain(|_, latest| now.since(latest.since) < SECOND);
        let latest = self.0.entry(user.to_owned()).or_insert(Latest { since: now, count: 0 });
        if latest.count >= most {
            return Err(format!(
                "user {user:?} has submitted {} within a second, the most that each user may \
                 (firesteel.user.maxSubmissions): try again",
                counted(most, "application or driver")
            ));
        }
        latest.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use firesteel_placement::{ExecutorSize, ResourceAmounts};
    use firesteel_protocol::process::Command;

    use super::*;

    fn demand(held: u64) -> Demand {
        Demand {
            size: ExecutorSize::Fixed(Cores(2)),
            memory: MiB(1024),
            cores_left: Cores(100),
            held,
            ..Demand::default()
        }
    }

    fn driver() -> DriverDescription {
        DriverDescription {
            user: "ann".to_owned(),
            command: Command::of("true"),
            cores: Cores(2),
            memory: MiB(1024),
            supervise: false,
            resources: ResourceAmounts::new(),
        }
    }

    #[test]
    fn a_room_is_what_the_limits_leave_and_lowers_a_demand_to_it() {
        let none = PerUser::default();
        for (most, executors, in_the_way) in [
            (none, 50, None),
            (PerUser { cores: Cores(11), ..none }, 3, None),
            (PerUser { cores: Cores(5), ..none }, 0, Some("5 cores (firesteel.user.maxCores)")),
            (PerUser { memory: MiB(6 << 10), ..none }, 4, None),
            (PerUser { memory: MiB(2500), ..none }, 0, Some("2500 MiB of memory (firesteel.user.maxMemory)")),
            (PerUser { executors: 7, ..none }, 5, None),
            (PerUser { executors: 2, ..none }, 0, Some("2 executors (firesteel.user.maxExecutors)")),
        ] {
            let mut rooms = Rooms::new(most);
            rooms.count("ann", 2, Cores(4), MiB(2048));
            let (room, mut limited) = (rooms.of("ann"), demand(2));
            room.limit(&mut limited);
            assert_eq!(limited.most_executors(), executors, "{most:?}");
            assert_eq!(room.admits(&driver()), executors > 0, "{most:?}");
            if let Some(words) = in_the_way {
                assert_eq!(most.in_the_way(&demand(2), room), words);
            }
            let mut of_another = demand(0);
            rooms.of("bob").limit(&mut of_another);
            assert!(of_another.allows_one_more(), "{most:?}");
        }
        assert!(!none.limits_what_is_held() && PerUser { executors: 1, ..none }.limits_what_is_held());
        assert_eq!(Rooms::new(none).of("ann"), Room::UNLIMITED);
    }

    #[test]
    fn submissions_are_counted_for_each_user_and_second() {
        let mut submissions = Submissions::default();
        let mut accepts = |millis, user| submissions.count(Timestamp::from_millis(millis), user, 2).is_ok();
        let asked =
            [(0, "ann"), (1, "ann"), (2, "ann"), (2, "bob"), (999, "ann"), (1_000, "ann"), (1_500, "ann")];
        assert_eq!(
            asked.map(|(millis, user)| accepts(millis, user)),
            [true, true, false, true, false, true, true]
        );
        assert!(!accepts(1_999, "ann") && accepts(2_000, "ann"));
        assert_eq!(submissions.0.len(), 1, "what is over is forgotten");
    }
}
