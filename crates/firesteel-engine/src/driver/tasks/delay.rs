//! Delay scheduling: free cores are kept free for some time for tasks that prefer to run nearby.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::advanced::locality::Locality;
use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::time::Timestamp;

use crate::driver::LocalityWait;

/// The farthest locality level at which tasks with preferred hosts may run now.
///
/// ```text
///  HOST --cores kept free for wait.node--> RACK --for wait.rack--> ANY
///    ^                                      |                       |
///    `------- a nearer task was launched, and nothing is kept free -'
/// ```
/// A level that no waiting task can reach is skipped without a wait. When no task with a preference waits, the delay
/// starts again.
///
/// Source: Spark's driver, 4.0.1 (`TaskSetManager`). In Spark, the time counts from the last launch at a level. Here,
/// the time counts only while cores are kept free. So a core is kept free even after it was busy for a long time.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Delay {
    waits: LocalityWait,
    level: Locality,
    /// Since when cores are kept free.
    since: Option<Timestamp>,
    /// The end of the period in which cores are kept free.
    until: Option<Timestamp>,
}

/// The delays of all profiles. Tasks of different profiles never wait for each other.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Delays {
    waits: LocalityWait,
    profiles: BTreeMap<ProfileId, Delay>,
}

impl Delays {
    pub(in crate::driver) fn new(waits: LocalityWait) -> Self {
        Self { waits, profiles: BTreeMap::new() }
    }

    pub(in crate::driver) fn of(&mut self, profile: ProfileId) -> &mut Delay {
        self.profiles.entry(profile).or_insert_with(|| Delay::new(self.waits))
    }

    /// The profiles with a delay entry.
    pub(in crate::driver) fn profiles(&self) -> impl Iterator<Item = ProfileId> {
        self.profiles.keys().copied()
    }

    /// When tasks that prefer other hosts may use the cores that are kept free.
    pub(in crate::driver) fn deadline(&self) -> Option<Timestamp> {
        self.profiles.values().filter_map(|delay| delay.until).min()
    }
}

/// The result of a pass over the free cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Pass {
    /// No task with preferred hosts waits.
    NoneWaits,
    /// Tasks with preferred hosts wait, but no cores are kept free for them. Contains the nearest level at which a task
    /// was launched.
    NothingKept(Option<Locality>),
    /// Cores are kept free, although a waiting task could use them at a farther level.
    Kept,
}

impl Delay {
    fn new(waits: LocalityWait) -> Self {
        Self { waits, level: Locality::Host, since: None, until: None }
    }

    /// The farthest level allowed now. `wanted` returns whether a waiting task could run at a level, but at no nearer
    /// one.
    pub(in crate::driver) fn level(&mut self, now: Timestamp, wanted: impl Fn(Locality) -> bool) -> Locality {
        loop {
            let level = self.next_wanted(&wanted);
            self.until = self.since.filter(|_| level < Locality::Any).map(|since| since + self.wait(level));
            match self.until {
                Some(until) if until <= now => {
                    self.level = level.farther();
                    self.since = Some(until);
                }
                Some(_) | None => return level,
            }
        }
    }

    /// Records the result of a pass. Returns whether the wait is over, and another pass must follow.
    pub(in crate::driver) fn after(
        &mut self,
        now: Timestamp,
        pass: Pass,
        wanted: impl Fn(Locality) -> bool,
    ) -> bool {
        match pass {
            Pass::NoneWaits => (self.level, self.since) = (Locality::Host, None),
            Pass::NothingKept(nearest) => {
                self.level = nearest.map_or(self.level, |nearest| nearest.min(self.level));
                self.since = None;
            }
            Pass::Kept => {
                self.since.get_or_insert(now);
            }
        }
        let level = self.next_wanted(wanted);
        self.until = self.since.filter(|_| level < Locality::Any).map(|since| since + self.wait(level));
        self.until.is_some_and(|until| until <= now)
    }

    fn next_wanted(&self, wanted: impl Fn(Locality) -> bool) -> Locality {
        let from = Locality::ALL.into_iter().filter(|level| *level >= self.level);
        from.into_iter().find(|level| *level == Locality::Any || wanted(*level)).unwrap_or(Locality::Any)
    }

    fn wait(&self, level: Locality) -> Duration {
        match level {
            Locality::Host => self.waits.node,
            Locality::Rack => self.waits.rack,
            Locality::Any => Duration::ZERO,
        }
    }
}
