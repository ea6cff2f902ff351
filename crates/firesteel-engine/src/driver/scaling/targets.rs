//! The number of executors wanted for each profile, and requests of the owner to end executors.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, ExecutorLimit, ResourceAmounts};
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorTarget, MOST_PROFILES, ResourceProfile,
};

use crate::driver::{Allocation, Driver, Note, RefusedProfile, Replacement, Request};

/// The resource profiles of the application, with their targets.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Targets {
    profiles: BTreeMap<ProfileId, Profile>,
}

#[derive(Clone, Debug)]
struct Profile {
    needs: ResourceProfile,
    target: ExecutorLimit,
    /// The target that the owner requested, while a lower target is in force to leave resources to another profile.
    asked: Option<u64>,
}

impl Targets {
    /// The targets of an application that has only the default profile. Its target is the initial one.
    pub(in crate::driver) fn new(description: &ApplicationDescription) -> Self {
        let default =
            Profile { needs: description.profile.clone(), target: description.initial_limit, asked: None };
        Self { profiles: BTreeMap::from([(ProfileId::DEFAULT, default)]) }
    }

    pub(in crate::driver) fn iter(&self) -> impl Iterator<Item = (ProfileId, ExecutorLimit)> {
        self.profiles.iter().map(|(&id, profile)| (id, profile.target))
    }

    /// The custom resources of an executor of this profile.
    pub(in crate::driver) fn resources(&self, id: ProfileId) -> Option<&ResourceAmounts> {
        self.profiles.get(&id).map(|profile| &profile.needs.resources)
    }

    /// The cores of an executor of this profile, if they are fixed.
    pub(in crate::driver) fn cores(&self, id: ProfileId) -> Option<Cores> {
        let default = self.profiles.get(&ProfileId::DEFAULT)?.needs.cores;
        self.profiles.get(&id)?.needs.cores.or(default)
    }

    pub(in crate::driver) fn wants_none(&self, id: ProfileId) -> bool {
        self.profiles.get(&id).is_some_and(|profile| profile.target == ExecutorLimit::AtMost(0))
    }

    /// The requested target of a profile. `None` if the profile does not exist.
    pub(in crate::driver) fn asked(&self, id: ProfileId) -> Option<u64> {
        let profile = self.profiles.get(&id)?;
        profile.asked.or(match profile.target {
            ExecutorLimit::AtMost(total) => Some(total),
            ExecutorLimit::Unlimited => None,
        })
    }

    /// The profiles whose target is lower than requested. Each has its requested target.
    pub(in crate::driver) fn lowered(&self) -> impl Iterator<Item = (ProfileId, u64)> {
        self.profiles.iter().filter_map(|(&id, profile)| Some((id, profile.asked?)))
    }

    /// Records the requested targets of profiles whose targets were lowered.
    pub(super) fn remember(&mut self, asked: BTreeMap<ProfileId, u64>) {
        for (id, total) in asked {
            if let Some(profile) = self.profiles.get_mut(&id) {
                profile.asked = Some(total);
            }
        }
    }

    fn wanted(&self, id: ProfileId) -> Option<ExecutorTarget> {
        let Profile { needs, target, asked: _ } = self.profiles.get(&id)?;
        match *target {
            ExecutorLimit::Unlimited => None,
            ExecutorLimit::AtMost(total) => Some(ExecutorTarget { id, profile: needs.clone(), total }),
        }
    }
}

impl Driver {
    pub(in crate::driver) fn on_add_profile(
        &mut self,
        profile: ProfileId,
        needs: ResourceProfile,
        total: u64,
    ) {
        let reason = match (needs.check(), self.targets.profiles.get(&profile)) {
            (Err(error), _) => RefusedProfile::Unsound(error),
            (Ok(()), Some(known)) if known.needs != needs => RefusedProfile::Taken,
            (Ok(()), Some(_)) => return self.on_request_executors(profile, total),
            (Ok(()), None) if self.targets.profiles.len() >= MOST_PROFILES => RefusedProfile::TooMany,
            (Ok(()), None) => {
                let row = Profile { needs, target: ExecutorLimit::AtMost(0), asked: None };
                self.targets.profiles.insert(profile, row);
                let total = match self.config.allocation {
                    Allocation::Fixed => total,
                    Allocation::Dynamic(bounds) => bounds.clamp(total),
                };
                return self.set_targets(&BTreeMap::from([(profile, total)]));
            }
        };
        self.effects.note(Note::ProfileRefused { profile, reason });
    }

    pub(in crate::driver) fn on_request_executors(&mut self, profile: ProfileId, total: u64) {
        match (self.config.allocation, self.targets.profiles.contains_key(&profile)) {
            (Allocation::Fixed, true) => self.set_targets(&BTreeMap::from([(profile, total)])),
            (Allocation::Dynamic(_), true) => self.effects.note(Note::TargetIsDynamic { total }),
            (Allocation::Fixed | Allocation::Dynamic(_), false) => {
                self.effects.note(Note::ProfileUnknown { profile });
            }
        }
    }

    /// Ends executors on request. The targets are lowered first, because the Master would otherwise replace the
    /// executors.
    ///
    /// Source: Spark's driver, 4.0.1 (`killExecutors`, `killAndReplaceExecutor`). In Spark, ending the first executor
    /// of an application without a target sets the target to 0. Here, the target becomes the number of executors minus
    /// one.
    pub(in crate::driver) fn on_kill_executors(
        &mut self,
        executors: Vec<ExecutorId>,
        replacement: Replacement,
    ) {
        let (mut killed, mut unknown) = (Vec::new(), Vec::new());
        let mut lowered: BTreeMap<ProfileId, u64> = BTreeMap::new();
        for executor in executors {
            match self.executors.kill(executor) {
                Some(profile) => {
                    killed.push(executor);
                    *lowered.entry(profile).or_default() += 1;
                }
                None => unknown.push(executor),
            }
        }
        if !unknown.is_empty() {
            self.effects.note(Note::KillUnknown { executors: unknown });
        }
        if killed.is_empty() {
            return;
        }
        match replacement {
            Replacement::Wanted => {}
            Replacement::Unwanted => {
                let totals = lowered.into_iter().map(|(profile, by)| (profile, self.total_less(profile, by)));
                self.set_targets(&totals.collect());
            }
        }
        self.effects.note(Note::ExecutorsKilled { executors: killed.clone(), replacement });
        self.send_kills(killed);
    }

    pub(in crate::driver) fn on_answer(&mut self, request: Request, accepted: bool) {
        if !accepted {
            self.effects.note(Note::RequestRefused { request });
        }
    }

    /// Sends all requests again, to a Master that has not received them.
    pub(in crate::driver) fn repeat_requests(&mut self) {
        let targets = self.targets.profiles.keys().filter_map(|&id| self.targets.wanted(id)).collect();
        self.send_targets(targets);
        self.send_kills(self.executors.killed());
    }

    /// The target of a profile after the owner ended `by` of its executors.
    fn total_less(&self, profile: ProfileId, by: u64) -> u64 {
        let less = match self.targets.asked(profile) {
            Some(total) => total.saturating_sub(by),
            None => self.executors.wanted(profile) as u64,
        };
        match self.config.allocation {
            Allocation::Fixed => less,
            Allocation::Dynamic(bounds) => bounds.clamp(less),
        }
    }

    pub(super) fn set_targets(&mut self, totals: &BTreeMap<ProfileId, u64>) {
        let mut preferences = Vec::new();
        for (&id, &total) in totals {
            let target = ExecutorLimit::AtMost(total);
            // The Master may have launched an executor of a profile that was never added.
            let Some(profile) = self.targets.profiles.get_mut(&id) else { continue };
            (profile.target, profile.asked) = (target, None);
            if id == ProfileId::DEFAULT {
                self.registration.set_limit(target);
            }
            preferences.extend(self.targets.wanted(id));
            self.effects.note(Note::TargetSet { profile: id, total });
        }
        self.send_targets(preferences);
    }

    fn send_targets(&mut self, targets: Vec<ExecutorTarget>) {
        if let (Some(app), false) = (self.registration.app().cloned(), targets.is_empty()) {
            self.send_master(DriverToMaster::RequestExecutors { app, targets });
        }
    }

    pub(in crate::driver) fn send_kills(&mut self, executors: Vec<ExecutorId>) {
        if let (Some(app), false) = (self.registration.app().cloned(), executors.is_empty()) {
            self.send_master(DriverToMaster::KillExecutors { app, executors });
        }
    }
}
