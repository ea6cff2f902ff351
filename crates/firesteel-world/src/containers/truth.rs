//! The facts of a world, and the allocator's permitted reactions to them.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_application_master::allocator::{
    Allocated, AllocatorView, Call, Effect, Launch, Location, Note,
};
use firesteel_placement::advanced::locality::{Locality, Topology};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};

/// The state of a container that was granted to the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The container was granted, and the allocator has not reacted yet.
    Granted,
    /// An executor was launched in the container.
    Used(ExecutorId),
    /// The container was given back in a call, or ended before that.
    Released,
}

/// An independent record, derived from the allocator's events and effects. The record shares no code with the
/// allocator.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    fates: BTreeMap<ContainerId, Fate>,
    /// The host of each container, and the profile for which the container was granted.
    hosts: BTreeMap<ContainerId, (String, ProfileId)>,
    /// The executors that were launched, each with its container and whether its end was reported.
    executors: BTreeMap<ExecutorId, (ContainerId, bool)>,
    /// The last request of the allocator for each place.
    told: BTreeMap<(ProfileId, Location), u64>,
    /// The executors that the driver asked to end.
    killed: BTreeSet<ExecutorId>,
    /// The open questions, each with its executor.
    questions: BTreeMap<u64, ExecutorId>,
    called: Option<Timestamp>,
    call_is_open: bool,
    /// Whether the allocator has just registered, so that its first call may come immediately.
    fresh: bool,
    /// The containers that the current response granted.
    arrived: BTreeSet<ContainerId>,
    /// The containers that the current response reported as ended.
    gone: BTreeSet<ContainerId>,
}

type Verdict = Result<(), String>;

impl Truth {
    /// The application has registered (again). From now on, the manager knows only what it receives after this.
    pub(super) fn registered(&mut self) {
        self.told.clear();
        self.fresh = true;
        self.call_is_open = false;
    }

    /// A response arrives, or the call fails.
    pub(super) fn answered(&mut self, answer: Option<&Allocated>) {
        self.call_is_open = false;
        self.arrived.clear();
        for granted in answer.into_iter().flat_map(|answer| &answer.granted) {
            let id = &granted.container;
            if !self.fates.contains_key(id) {
                self.fates.insert(id.clone(), Fate::Granted);
                self.hosts.insert(id.clone(), (granted.host.clone(), granted.profile));
                self.arrived.insert(id.clone());
            }
        }
        self.gone = answer
            .into_iter()
            .flat_map(|answer| &answer.completed)
            .map(|end| end.container.clone())
            .collect();
    }

    pub(super) fn asked(&mut self, question: u64, executor: ExecutorId) {
        self.questions.insert(question, executor);
    }

    pub(super) fn killed(&mut self, executors: &[ExecutorId]) {
        self.killed.extend(executors);
    }

    /// The executors whose end was not reported.
    pub(super) fn living(&self) -> impl Iterator<Item = ExecutorId> {
        self.executors.iter().filter(|(_, (_, ended))| !ended).map(|(executor, _)| *executor)
    }

    /// Compares the allocator's effects with the books.
    pub(super) fn judge(
        &mut self,
        now: Timestamp,
        effects: &[Effect],
        view: &AllocatorView,
        topology: &Topology,
    ) -> Verdict {
        for effect in effects {
            match effect {
                Effect::Allocate(call) => self.judge_call(now, call, view)?,
                Effect::Launch(launch) => self.judge_launch(launch)?,
                Effect::ExecutorEnded { executor, .. } => {
                    let Some((_, ended)) = self.executors.get_mut(executor) else {
                        return Err(format!("executor {executor} ended, and was never launched"));
                    };
                    if std::mem::replace(ended, true) {
                        return Err(format!("the end of executor {executor} is told twice"));
                    }
                }
                Effect::AnswerLoss { question, .. } => {
                    if self.questions.remove(question).is_none() {
                        return Err(format!("question {question} is answered, and was not open"));
                    }
                }
                Effect::Note(Note::Matched { container, level, .. }) => {
                    self.judge_match(container, *level, topology)?;
                }
                // An end in this response opened this request after the containers were matched.
                Effect::Note(Note::Excess { .. }) if effects.iter().any(is_ended) => {}
                Effect::Note(Note::Excess { container, .. }) => self.judge_excess(container, view)?,
                Effect::Register | Effect::Decommission { .. } | Effect::Fail(_) | Effect::Note(_) => {}
            }
        }
        Ok(())
    }

    fn judge_call(&mut self, now: Timestamp, call: &Call, view: &AllocatorView) -> Verdict {
        if self.call_is_open {
            return Err("the manager is called while a call is open".to_owned());
        }
        let early = |called: &Timestamp| now.since(*called).as_millis() < 200;
        if let Some(called) = self.called.filter(early).filter(|_| !self.fresh) {
            return Err(format!("the manager is called again after {:?}", now.since(called)));
        }
        (self.call_is_open, self.called, self.fresh) = (true, Some(now), false);
        for ask in &call.asks {
            self.told.insert((ask.profile, ask.location.clone()), ask.containers);
        }
        for (id, profile) in &view.profiles {
            let told = |place| self.told.get(&(*id, place)).copied().unwrap_or(0);
            let (any, pending) = (told(Location::Any), profile.pending);
            if any != pending {
                return Err(format!(
                    "the manager is told to want {any} of profile {id}, {pending} are pending"
                ));
            }
            let has = profile.running + profile.starting;
            if pending + has != profile.target.max(has) {
                let target = profile.target;
                return Err(format!("profile {id} has {has} and wants {pending}, its target is {target}"));
            }
        }
        if let Some(((profile, place), count)) =
            self.told.iter().find(|((profile, _), count)| **count > self.any(*profile))
        {
            return Err(format!("{count} of profile {profile} are wanted at {place}, fewer in all"));
        }
        for container in &call.release {
            match self.fates.get_mut(container) {
                None => return Err(format!("{container} is given back, and was never granted")),
                Some(Fate::Used(executor)) => {
                    let ended = self.executors.get(executor).is_some_and(|(_, ended)| *ended);
                    if !ended && !self.killed.contains(executor) {
                        return Err(format!("{container} is given back under executor {executor}"));
                    }
                }
                Some(fate @ (Fate::Granted | Fate::Released)) => *fate = Fate::Released,
            }
        }
        for gone in std::mem::take(&mut self.gone) {
            if let Some(fate @ Fate::Granted) = self.fates.get_mut(&gone) {
                *fate = Fate::Released;
            }
        }
        if let Some((container, _)) = self.fates.iter().find(|(_, fate)| **fate == Fate::Granted) {
            return Err(format!("{container} was granted, and is neither used nor given back"));
        }
        Ok(())
    }

    fn any(&self, profile: ProfileId) -> u64 {
        self.told.get(&(profile, Location::Any)).copied().unwrap_or(0)
    }

    fn judge_launch(&mut self, launch: &Launch) -> Verdict {
        let Launch { container, executor, host, .. } = launch;
        match self.fates.insert(container.clone(), Fate::Used(*executor)) {
            Some(Fate::Granted) => {}
            Some(Fate::Used(other)) => {
                return Err(format!("executors {other} and {executor} are launched in {container}"));
            }
            Some(Fate::Released) => return Err(format!("{container} is used after it was given back")),
            None => return Err(format!("{container} is used, and was never granted")),
        }
        if self.hosts.get(container).is_none_or(|(real, _)| **real != **host) {
            return Err(format!("executor {executor} is said to be on {host}, where {container} is not"));
        }
        match self.executors.insert(*executor, (container.clone(), false)) {
            Some(_) => Err(format!("executor {executor} is launched twice")),
            None => Ok(()),
        }
    }

    /// Checks that a container serves the nearest matching request.
    fn judge_match(&mut self, container: &ContainerId, level: Locality, topology: &Topology) -> Verdict {
        let Some((host, profile)) = self.hosts.get(container) else { return Ok(()) };
        let places = [
            (Locality::Host, Some(Location::Host(host.as_str().into()))),
            (Locality::Rack, topology.rack(host).map(|rack| Location::Rack(rack.into()))),
            (Locality::Any, Some(Location::Any)),
        ];
        // If several containers arrive together, some serve requests that others could have served.
        if self.arrived.len() > 1 {
            return Ok(());
        }
        let told = |place| self.told.get(&(*profile, place)).copied().unwrap_or(0);
        for (near, place) in places {
            let Some(place) = place else { continue };
            if told(place) > 0 {
                return match near == level {
                    true => Ok(()),
                    false => {
                        Err(format!("{container} serves a request at level {level} though {near} is wanted"))
                    }
                };
            }
        }
        Err(format!("{container} serves a request though none is wanted"))
    }

    /// Checks that no wanted container is given back.
    fn judge_excess(&mut self, container: &ContainerId, view: &AllocatorView) -> Verdict {
        let Some((_, profile)) = self.hosts.get(container) else { return Ok(()) };
        let wanted = self.any(*profile);
        let missing = view
            .profiles
            .get(profile)
            .is_some_and(|profile| profile.running + profile.starting < profile.target);
        match self.arrived.len() == 1 && wanted > 0 && missing {
            true => Err(format!("{container} is given back though {wanted} are wanted")),
            false => Ok(()),
        }
    }

    /// Checks the end: the executors whose end was not reported are exactly the running ones.
    pub(super) fn judge_end(&self, live: &BTreeSet<ContainerId>) -> Verdict {
        for (executor, (container, ended)) in &self.executors {
            if *ended == live.contains(container) {
                let state = if *ended { "ended" } else { "not ended" };
                return Err(format!(
                    "executor {executor} is {state}, and its container {container} is otherwise"
                ));
            }
        }
        let open = self.questions.iter().find(|(_, executor)| {
            self.executors.get(executor).is_none_or(|(container, _)| !live.contains(container))
        });
        match open {
            Some((question, executor)) => {
                Err(format!("question {question} about executor {executor}, which is gone, is not answered"))
            }
            None => Ok(()),
        }
    }
}

fn is_ended(effect: &Effect) -> bool {
    matches!(effect, Effect::ExecutorEnded { .. })
}
