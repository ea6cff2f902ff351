//! How long free cores are kept for tasks that would like to be near.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::locality::Locality;

use super::LocalityWait;
use crate::ids::ProfileId;
use crate::time::Timestamp;

/// The farthest level at which tasks with preferred hosts may run now, beyond the nearest that they can have.
///
/// ```text
///  HOST --cores kept free for wait.node--> RACK --for wait.rack--> ANY
///    ^                                      |                       |
///    `------- a nearer task was launched, and nothing is kept free -'
/// ```
/// A level that no waiting task could have is passed over without a wait. Once no task with a preference waits,
/// it begins anew.
///
/// Source: Spark's driver, 4.0.1 (`TaskSetManager`), where the time counts from the last such launch; here only
/// while cores are kept free, so that a slot that was busy for long is kept too.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    waits: LocalityWait,
    level: Locality,
    /// Since when cores are kept free.
    since: Option<Timestamp>,
    /// When they no longer are.
    until: Option<Timestamp>,
}

/// The delays of all profiles: tasks of one wait for nothing that those of another do.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    waits: LocalityWait,
    profiles: BTreeMap<ProfileId, Delay>,
}

impl Delays {
    pub(super) fn new(waits: LocalityWait) -> Self {
        Self { waits, profiles: BTreeMap::new() }
    }

    /// A profile's.
    pub(super) fn of(&mut self, profile: ProfileId) -> &mut Delay {
        self.profiles.entry(profile).or_insert_with(|| Delay::new(self.waits))
    }

    /// The profiles that have one.
    pub(super) fn profiles(&self) -> impl Iterator<Item = ProfileId> {
        self.profiles.keys().copied()
    }

    /// When cores that are kept free may be taken from farther away.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.profiles.values().filter_map(|delay| delay.until).min()
    }
}

/// What a pass over the free cores came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// No task with a preference waits.
    NoneWaits,
    /// Some wait, and no cores are kept free for their sake. The nearest level at which one was launched.
    NothingKept(Option<Locality>),
    /// Cores are kept free that one of them could take if it may go farther.
    Kept,
}

impl Delay {
    fn new(waits: LocalityWait) -> Self {
        Self { waits, level: Locality::Host, since: None, until: None }
    }

    /// The farthest level now. `wanted`: whether a waiting task could be nearer at that level than beyond it.
    pub(super) fn level(&mut self, now: Timestamp, wanted: impl Fn(Locality) -> bool) -> Locality {
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

    /// A pass is over. Whether the wait is over already, so that another pass is due.
    pub(super) fn after(&mut self, now: Timestamp, pass: Pass, wanted: impl Fn(Locality) -> bool) -> bool {
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
