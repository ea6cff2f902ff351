//! The driver: its registration, requests and end.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::resources::kind;
use firesteel_placement::explain::shortfall::{Amounts, Missing, Reason};
use firesteel_placement::{Amount, Cores, ExecutorLimit, Shortfall};
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, DriverToMaster, ExecutorTarget, HostPreferences, MOST_PROFILES,
    MasterToDriver, Outcome, ResourceProfile,
};
use firesteel_protocol::time::Timestamp;

use super::ending::Verdict;
use super::{ApplicationMaster, Effect, Manager, Mode, Note, Outbound, PATIENCE, Phase, RECONNECT};
use crate::allocator::{self, ContainerSize, ExecutorNeeds, Target};

/// The highest executor number that a driver may claim to have seen. With a higher one, too few numbers would be left
/// for an attempt.
const HIGHEST_FIRST: ExecutorId = ExecutorId(1 << 31);

#[derive(Clone, Debug, Default)]
pub(super) struct Drivers {
    peer: Option<PeerId>,
    /// The deadline for the driver's return, if its connection has ended.
    away: Option<Timestamp>,
    description: Option<ApplicationDescription>,
    /// The profiles that the driver has named, each with its needs and the number of executors wanted.
    targets: BTreeMap<ProfileId, (ExecutorNeeds, u64)>,
    preferences: HostPreferences,
    /// Whether executors had final ends about which the allocator has no message yet.
    has_final_ends: bool,
    /// The deadline for the driver's first host preferences. Until then no executors are requested, so that the first
    /// executors can be on preferred hosts.
    listening: Option<Timestamp>,
    /// The number of the first executor of this attempt.
    first_executor: ExecutorId,
    /// The result of the application's work, if the driver reported one.
    outcome: Option<Outcome>,
}

impl Drivers {
    pub(super) fn peer(&self) -> Option<PeerId> {
        self.peer
    }

    pub(super) fn away(&self) -> Option<Timestamp> {
        self.away
    }

    /// The deadline for the driver's first host preferences.
    pub(super) fn listening(&self) -> Option<Timestamp> {
        self.listening
    }

    pub(super) fn description(&self) -> Option<&ApplicationDescription> {
        self.description.as_ref()
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }
}

impl ApplicationMaster {
    pub(super) fn on_driver_message(&mut self, now: Timestamp, peer: PeerId, message: DriverToMaster) {
        match message {
            DriverToMaster::RegisterApplication(description) => {
                self.on_register_application(now, peer, *description);
            }
            // A new attempt does not know the driver's executors. The message repeats those that YARN has kept.
            DriverToMaster::ResumeApplication(resumption) => {
                self.on_register_application(now, peer, *resumption.description);
            }
            DriverToMaster::UnregisterApplication { app, outcome } => {
                if self.is_own(peer, &app) {
                    self.on_driver_done(now, outcome);
                }
            }
            DriverToMaster::RequestExecutors { app, targets } => {
                // The answer is sent first, because the request may end the application.
                let accepted = self.is_own(peer, &app) && self.can_have(&targets);
                self.tell_peer(peer, MasterToDriver::ExecutorsRequested { accepted });
                if accepted {
                    self.on_request_executors(now, targets);
                }
            }
            DriverToMaster::KillExecutors { app, executors } => {
                let accepted = self.is_own(peer, &app);
                self.tell_peer(peer, MasterToDriver::ExecutorsKilled { accepted });
                if accepted {
                    self.allocate(now, allocator::Event::KillExecutors(executors));
                }
            }
            DriverToMaster::PreferHosts { app, preferences } => {
                if self.is_own(peer, &app) {
                    self.drivers.preferences = *preferences;
                    self.request(now);
                }
            }
            DriverToMaster::RequestShortfall { app } => {
                if self.is_own(peer, &app) {
                    let shortfalls = self.shortfalls(now);
                    self.tell_peer(peer, MasterToDriver::Shortfalls(shortfalls));
                }
            }
        }
    }

    /// Registers a driver's application, or gives it back to a driver that returns on a new connection.
    fn on_register_application(&mut self, now: Timestamp, peer: PeerId, description: ApplicationDescription) {
        if self.drivers.peer == Some(peer) {
            return self.confirm_registration();
        }
        if let Some(reason) = self.objection(&description) {
            self.effects.note(Note::Refused { reason: reason.clone() });
            let end = ApplicationEnd::Refused { reason };
            return self.tell_peer(peer, MasterToDriver::ApplicationRemoved(end));
        }
        if let Some(old) = self.drivers.peer.replace(peer) {
            self.effects.push(Effect::Close { peer: old });
        }
        self.drivers.away = None;
        match &self.phase {
            Phase::Waiting { .. } => self.on_new_driver(now, description),
            Phase::Idle | Phase::Serving | Phase::Stopping { .. } | Phase::Finishing(_) | Phase::Done => {
                self.effects.note(Note::DriverReturned);
                self.confirm_registration();
            }
        }
    }

    fn on_new_driver(&mut self, now: Timestamp, description: ApplicationDescription) {
        self.phase = Phase::Serving;
        self.effects.note(Note::DriverRegistered { name: description.name.clone() });
        let first_executor = description.first_executor;
        let needs = needs(&description.profile);
        self.drivers.first_executor = first_executor;
        let total = match description.initial_limit {
            ExecutorLimit::AtMost(total) => total,
            ExecutorLimit::Unlimited => self.config.executors,
        };
        self.drivers.targets.insert(ProfileId::DEFAULT, (needs.clone(), total));
        self.drivers.description = Some(description);
        match self.manager {
            Manager::Unregistered => self.register(),
            Manager::Registered => {
                self.confirm_registration();
                self.listen(now);
            }
            Manager::Registering | Manager::Gone => {}
        }
        self.allocate(now, allocator::Event::DriverKnown { first_executor, needs });
    }

    /// Why an application is refused: another one is already registered, or this one cannot run here. `None`: it is
    /// accepted.
    fn objection(&self, description: &ApplicationDescription) -> Option<String> {
        let known = self.drivers.description.as_ref();
        match &self.phase {
            Phase::Finishing(_) | Phase::Done => return Some("the application is over".to_owned()),
            Phase::Idle | Phase::Waiting { .. } | Phase::Serving | Phase::Stopping { .. } => {}
        }
        // A returning driver may have another address, and the address is part of the command.
        if known.is_some_and(|known| known.command != description.command) {
            return Some("this ApplicationMaster has its application already, and takes no other".to_owned());
        }
        if description.command.program().is_none() {
            return Some("on YARN executors are programs, and this one is a Java class".to_owned());
        }
        if description.files.is_some() {
            return Some("on YARN files are staged when an application is submitted".to_owned());
        }
        if description.first_executor > HIGHEST_FIRST {
            return Some(format!("no executor has a number near {}", description.first_executor));
        }
        let unsound = description.profile.check().err().map(|unsound| unsound.to_string());
        unsound.or_else(|| unknown_to_yarn(&description.profile))
    }

    /// Confirms the registration to the driver, with messages about all live and ended executors. Waits until the
    /// manager has also registered the application.
    pub(super) fn confirm_registration(&mut self) {
        if self.drivers.peer.is_none() || self.manager != Manager::Registered {
            return;
        }
        self.tell_driver(MasterToDriver::RegisteredApplication {
            app: self.config.app.clone(),
            master_url: self.config.url.clone(),
            max_cores: Cores::UNLIMITED,
            first_executor: self.drivers.first_executor,
            mark: None,
        });
        for message in self.executors.story() {
            self.tell_driver(message);
        }
        if self.executors.are_gone_told() {
            self.tell_driver(MasterToDriver::ExecutorsGone { app: self.config.app.clone() });
        }
    }

    fn can_have(&self, targets: &[ExecutorTarget]) -> bool {
        let ids = targets.iter().map(|target| &target.id).chain(self.drivers.targets.keys());
        let fits = ids.collect::<BTreeSet<_>>().len() <= MOST_PROFILES;
        let is_sound =
            |profile: &ResourceProfile| profile.check().is_ok() && unknown_to_yarn(profile).is_none();
        let sound = targets.iter().all(|target| is_sound(&target.profile));
        fits && sound && self.phase == Phase::Serving
    }

    fn on_request_executors(&mut self, now: Timestamp, targets: Vec<ExecutorTarget>) {
        for ExecutorTarget { id, profile, total } in targets {
            let row = self.drivers.targets.entry(id).or_insert_with(|| (needs(&profile), total));
            row.1 = total;
        }
        self.request(now);
    }

    /// Records that an executor's end was final: the application wants one executor less. The allocator gets the new
    /// number after its current event.
    pub(super) fn want_one_less(&mut self, profile: ProfileId) {
        if let Some((_, total)) = self.drivers.targets.get_mut(&profile) {
            *total = total.saturating_sub(1);
            self.drivers.has_final_ends = true;
        }
    }

    /// If executors ended that are not to be replaced, tells the allocator the smaller numbers of wanted executors.
    pub(super) fn count_final_ends(&mut self, now: Timestamp) {
        if std::mem::take(&mut self.drivers.has_final_ends) {
            self.request(now);
        }
    }

    /// Waits a short time for host preferences of a driver whose registration was just confirmed.
    pub(super) fn listen(&mut self, now: Timestamp) {
        if self.drivers.description.is_some() {
            self.drivers.listening = Some(now + self.config.allocator.initial_pause);
        }
    }

    /// Stops waiting for the first host preferences.
    pub(super) fn stop_listening(&mut self, now: Timestamp) {
        self.drivers.listening = None;
        self.request(now);
    }

    /// Passes all wishes of the driver to the allocator. Host preferences are not separate by profile, so each profile
    /// gets all of them.
    fn request(&mut self, now: Timestamp) {
        let is_early = self.manager != Manager::Registered || self.drivers.listening.is_some();
        if self.phase != Phase::Serving || is_early {
            return;
        }
        let HostPreferences { tasks, preferred, racks: _, avoided } = self.drivers.preferences.clone();
        let default = self.drivers.targets.get(&ProfileId::DEFAULT).and_then(|(needs, _)| needs.cores);
        let default = default.unwrap_or(self.config.allocator.sizing.cores);
        let task = self.config.task_cores.0.max(1);
        let target = |(id, (needs, total)): (&ProfileId, &(ExecutorNeeds, u64))| Target {
            profile: *id,
            needs: needs.clone(),
            total: *total,
            tasks_per_executor: u64::try_from(needs.cores.unwrap_or(default).0 / task).unwrap_or(1).max(1),
            tasks,
            on_hosts: preferred.clone(),
        };
        let targets = self.drivers.targets.iter().map(target).collect();
        self.allocate(now, allocator::Event::RequestExecutors { targets, excluded: avoided });
    }

    /// Handles the end of a driver's work: its executors end. While the driver is connected, it gets a message about
    /// each end.
    fn on_driver_done(&mut self, now: Timestamp, outcome: Option<Outcome>) {
        if self.phase != Phase::Serving {
            return;
        }
        self.drivers.outcome.clone_from(&outcome);
        let then = match self.config.mode {
            Mode::Client | Mode::Unmanaged => Some((Verdict::done(outcome), now + PATIENCE)),
            // In cluster mode, the end of the program decides how the application ended.
            Mode::Cluster => None,
        };
        self.phase = Phase::Stopping { then };
        let nothing = allocator::Event::RequestExecutors { targets: Vec::new(), excluded: BTreeSet::new() };
        self.allocate(now, allocator::Event::DriverStopping);
        self.allocate(now, nothing);
        self.allocate(now, allocator::Event::KillExecutors(self.executors.ids().collect()));
        self.stop_if_all_are_gone();
    }

    /// Informs the driver when the last executor of a finished application has ended.
    pub(super) fn stop_if_all_are_gone(&mut self) {
        let Phase::Stopping { then } = &self.phase else { return };
        if !self.executors.is_empty() {
            return;
        }
        let then = then.clone();
        if !self.executors.are_gone_told() {
            self.executors.tell_gone();
            self.tell_driver(MasterToDriver::ExecutorsGone { app: self.config.app.clone() });
        }
        if let Some((verdict, _)) = then {
            self.finish(verdict);
        }
    }

    pub(super) fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        if self.drivers.peer != Some(peer) {
            return;
        }
        self.drivers.peer = None;
        match (&self.phase, self.config.mode) {
            (Phase::Stopping { then: Some((verdict, _)) }, _) => {
                let verdict = verdict.clone();
                self.finish(verdict);
            }
            (Phase::Serving, Mode::Client) => {
                self.drivers.away = Some(now + RECONNECT);
                self.effects.note(Note::DriverLost { patience: Some(RECONNECT) });
            }
            (Phase::Serving, Mode::Unmanaged | Mode::Cluster) => {
                self.effects.note(Note::DriverLost { patience: None });
            }
            (
                Phase::Idle
                | Phase::Waiting { .. }
                | Phase::Stopping { then: None }
                | Phase::Finishing(_)
                | Phase::Done,
                _,
            ) => {}
        }
    }

    /// The number of missing executors of each profile, with the reason if it is known.
    pub(super) fn shortfalls(&self, now: Timestamp) -> Vec<(ProfileId, Shortfall)> {
        let view = self.allocator.view(now);
        let shortfall = |(id, profile): (&ProfileId, &allocator::ProfileView)| {
            let granted = profile.starting + profile.running;
            // This number includes changes about which the allocator has no message yet.
            let target = self.drivers.targets.get(id).map_or(profile.target, |(_, total)| *total);
            let missing = target.checked_sub(granted).filter(|missing| *missing > 0)?;
            let size = self.allocator.size(*id)?;
            let reason = match &self.largest {
                Some(largest) if !fits(&size, largest) => Reason::TooSmall { largest: amounts(largest) },
                Some(_) | None => Reason::NotGranted { granted },
            };
            let missing = Missing::Executors { missing, of: target };
            Some((*id, Shortfall { missing, asked: amounts(&size), reason }))
        };
        view.profiles.iter().filter_map(shortfall).collect()
    }

    fn is_own(&mut self, peer: PeerId, app: &AppId) -> bool {
        let own = self.drivers.peer == Some(peer) && *app == self.config.app;
        if !own {
            self.effects.note(Note::NotItsOwn { peer });
        }
        own
    }

    pub(super) fn tell_driver(&mut self, message: MasterToDriver) {
        if let Some(peer) = self.drivers.peer {
            self.tell_peer(peer, message);
        }
    }

    fn tell_peer(&mut self, peer: PeerId, message: MasterToDriver) {
        self.effects.push(Effect::Send { peer, message: Outbound::Driver(message) });
    }
}

/// The part of a profile that YARN cannot provide: a fraction of an address, or a kind of a resource. `None` if there
/// is none.
fn unknown_to_yarn(profile: &ResourceProfile) -> Option<String> {
    let sentence = |(name, amount): (&String, &Amount)| {
        let what = match (amount, kind(name)) {
            (Amount::Part(_), _) => format!("{amount} of {name}"),
            (Amount::Whole(_), Some(_)) => format!("a kind: {name}"),
            (Amount::Whole(_), None) => return None,
        };
        Some(format!("on YARN an executor asks for whole addresses without a kind, and not for {what}"))
    };
    profile.resources.iter().find_map(sentence)
}

/// The needs of a profile's executors. The other fields of a container come from the settings.
fn needs(profile: &ResourceProfile) -> ExecutorNeeds {
    let ResourceProfile { cores, memory, resources } = profile;
    let resources = resources.iter().map(|(name, amount)| (name.clone(), amount.addresses())).collect();
    ExecutorNeeds { cores: *cores, memory: *memory, resources, ..ExecutorNeeds::default() }
}

fn fits(size: &ContainerSize, largest: &ContainerSize) -> bool {
    size.memory <= largest.memory && size.cores <= largest.cores
}

fn amounts(size: &ContainerSize) -> Amounts {
    Amounts { cores: size.cores, memory: size.memory, resources: Default::default() }
}
