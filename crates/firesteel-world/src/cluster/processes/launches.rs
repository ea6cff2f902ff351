//! Launchers whose executors are commands, and the required result of each launch.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_engine::launcher::{self, Ending, Launcher, Until};
use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::ids::{AppId, ExecutorId};
use firesteel_protocol::messages::{DriverToMaster, ExecutorState, LossReason, MasterToDriver, Outcome};
use firesteel_protocol::process::ExitStatus;

use super::node::{Body, NodeEvent};
use super::programs::ExecutorFate;
use crate::cluster::faults::Fault;
use crate::cluster::faults::election::listener_of;
use crate::cluster::network::ProcessEnd;
use crate::cluster::network::message::Message;
use crate::cluster::scenario::{AppKind, AppPlan};
use crate::cluster::scheduled_event::Target;
use crate::cluster::world::{DriverPhase, NodeIndex, World};
use firesteel_sim::dice::Dice;

/// A launcher, with the books about the launch.
#[derive(Debug)]
pub(crate) struct LauncherBody {
    pub(crate) machine: Launcher,
    /// The application, as an index into the scenario's applications.
    pub(crate) app: usize,
    books: Books,
    /// Whether the launcher has announced the end of its application.
    waits_for_the_end: bool,
}

/// An independent record, computed from a launcher's events.
#[derive(Debug, Default)]
struct Books {
    id: Option<AppId>,
    /// The launcher's executors that have not ended.
    live: BTreeMap<ExecutorId, Cores>,
    /// The launcher's executors that were lost. Their processes may still run.
    lost: BTreeSet<ExecutorId>,
    /// The exit codes of executors that ended by themselves before the application was to end.
    codes: Vec<i32>,
    /// How many executors the application still wants, if it has neither a fixed number of executors nor a maximum of
    /// cores. `None` until an executor ends by itself. Then the number of executors still alive; each later end of this
    /// kind subtracts one.
    wanted: Option<usize>,
    /// The cores that the application may still hold. `None` if there is no maximum.
    cores_left: Option<Cores>,
    is_ending: bool,
    /// Whether the launcher has reported that executors may be left.
    leaves_some: bool,
}

impl LauncherBody {
    /// Whether the launcher's application is ending.
    pub(crate) fn is_over(&self) -> bool {
        self.waits_for_the_end || self.books.is_ending
    }

    fn hear(&mut self, event: &launcher::Event) {
        let launcher::Event::Received { message, .. } = event else { return };
        let books = &mut self.books;
        match message {
            MasterToDriver::RegisteredApplication { app, max_cores, .. } => {
                if books.id.as_ref() != Some(app) {
                    books.id = Some(app.clone());
                    books.live.clear();
                    books.lost.clear();
                    books.cores_left = (*max_cores < Cores::UNLIMITED).then_some(*max_cores);
                }
            }
            MasterToDriver::ExecutorAdded { executor, cores, .. } => {
                books.live.insert(*executor, *cores);
            }
            MasterToDriver::ExecutorUpdated { executor, state, .. } => books.update(*executor, state),
            MasterToDriver::ApplicationRemoved(_) => books.is_ending = true,
            MasterToDriver::WorkerRemoved { .. }
            | MasterToDriver::ExecutorsGone { .. }
            | MasterToDriver::ExecutorLeaving { .. }
            | MasterToDriver::ExecutorsRequested { .. }
            | MasterToDriver::ExecutorsKilled { .. }
            | MasterToDriver::Shortfalls(_) => {}
        }
    }
}

impl Books {
    fn update(&mut self, executor: ExecutorId, state: &ExecutorState) {
        let code = match state {
            ExecutorState::Launching | ExecutorState::Running => return,
            ExecutorState::Exited(ExitStatus::Code(code)) => Some(*code),
            ExecutorState::Exited(ExitStatus::Signal(signal)) => Some(128 + signal),
            ExecutorState::Failed(_) => Some(127),
            ExecutorState::Lost(LossReason::OverLimit { .. }) => Some(137),
            ExecutorState::Killed(_) => None,
            ExecutorState::Lost(_) => {
                self.lost.insert(executor);
                None
            }
        };
        if let (Some(cores), Some(code), false) = (self.live.remove(&executor), code, self.is_ending) {
            self.codes.push(code);
            self.wanted = Some(self.wanted.map_or(self.live.len(), |wanted| wanted.saturating_sub(1)));
            self.cores_left = self.cores_left.map(|left| left - cores);
        }
    }

    /// The exit code of the launch, if the executors have ended as the launch requires.
    fn met(&self, plan: &AppPlan, until: Until) -> Option<i32> {
        match until {
            Until::Never => None,
            Until::Any => self.codes.first().copied(),
            Until::All => {
                let step = plan.description.profile.cores.unwrap_or(Cores(1));
                let turns = self.codes.len() as u64;
                let had_all = match (plan.description.initial_limit, self.cores_left) {
                    (ExecutorLimit::AtMost(most), _) if turns == most => true,
                    (_, Some(left)) => left < step,
                    (ExecutorLimit::Unlimited, None) => self.wanted == Some(0),
                    (ExecutorLimit::AtMost(_), None) => false,
                };
                (had_all && self.live.is_empty()).then(|| self.codes.iter().copied().max()).flatten()
            }
        }
    }
}

/// The random fate of a command's process.
fn rolled_fate(dice: &mut Dice, until: Until) -> ExecutorFate {
    // A server that succeeds at once would be replaced without a pause.
    let least = if until == Until::Never { 1_000 } else { 1 };
    let good = [ExitStatus::SUCCESS, ExitStatus::SUCCESS, ExitStatus::SUCCESS];
    let bad = [ExitStatus::Code(1), ExitStatus::Code(3), ExitStatus::Signal(9)];
    let status = if dice.one_in(4) { *dice.pick(&bad) } else { *dice.pick(&good) };
    ExecutorFate::Works { millis: dice.between(least, 20_000), status }
}

impl World {
    pub(crate) fn start_launcher(&mut self, app: usize, until: Until) {
        let config = launcher::Config {
            masters: self.master_addresses(),
            description: self.scenario.apps[app].description.clone(),
            until,
            registration_timeout: Duration::from_secs(60),
            starvation_timeout: Duration::from_secs(15),
            seed: self.dice.number(),
        };
        let body = LauncherBody {
            machine: Launcher::new(config),
            app,
            books: Books::default(),
            waits_for_the_end: false,
        };
        let node = self.add_node(Body::Launcher(Box::new(body)));
        self.drivers[app] = DriverPhase::Lives(node);
        self.tell(node, NodeEvent::Launcher(launcher::Event::Start));
    }

    pub(crate) fn end_launcher(&mut self, node: NodeIndex, end: ProcessEnd) {
        let Some(app) = self.launcher_mut(node).map(|body| body.app) else { return };
        self.drivers[app] = DriverPhase::Over { at: self.now };
        self.end_process(node, end);
    }

    pub(crate) fn launcher_mut(&mut self, node: NodeIndex) -> Option<&mut LauncherBody> {
        match &mut self.node_mut(node).body {
            Body::Launcher(body) => Some(body),
            Body::Master(_)
            | Body::Worker(_)
            | Body::Driver(_)
            | Body::Executor(_)
            | Body::Command(_)
            | Body::Stranger
            | Body::Standby { .. }
            | Body::Gone => None,
        }
    }

    pub(crate) fn launcher_hears(&mut self, node: NodeIndex, event: &launcher::Event) {
        if let Some(body) = self.launcher_mut(node) {
            body.hear(event);
        }
    }

    /// The behaviour of a launched command's process, which may be faulty.
    pub(crate) fn command_fate(&mut self, until: Until) -> ExecutorFate {
        if !self.is_rough() || !self.dice.one_in(self.scenario.faults.executor) {
            return rolled_fate(&mut self.dice, until);
        }
        match ExecutorFate::faulty(&mut self.dice) {
            (fate @ (ExecutorFate::CannotStart | ExecutorFate::Hangs), fault) => {
                self.fault(fault);
                fate
            }
            (fate @ ExecutorFate::EndsAtOnce { .. }, fault) if until != Until::Never => {
                self.fault(fault);
                fate
            }
            _ => rolled_fate(&mut self.dice, until),
        }
    }

    pub(crate) fn perform_launcher(&mut self, node: NodeIndex, effect: launcher::Effect) {
        self.trace_effect(node, &effect);
        self.coverage.launcher_effect.count(&effect);
        match effect {
            launcher::Effect::Connect { master } => self.dial(node, Target::Master(listener_of(&master))),
            launcher::Effect::Send { peer, message } => {
                if let DriverToMaster::UnregisterApplication { outcome, .. } = &message {
                    self.hold_launch_outcome(node, outcome.as_ref());
                    if let Some(body) = self.launcher_mut(node) {
                        body.waits_for_the_end = true;
                    }
                }
                self.send(node, peer, Message::DriverToMaster(message));
            }
            launcher::Effect::Close { peer } => self.close(node, peer),
            launcher::Effect::Note(note) => {
                self.coverage.launcher_note.count(&note);
                if let (launcher::Note::LeftBehind { .. }, Some(body)) = (&note, self.launcher_mut(node)) {
                    body.books.leaves_some = true;
                }
            }
            launcher::Effect::Done(ending) => {
                self.coverage.launch_ending.count(&ending);
                self.hold_ending(node, &ending);
                self.end_launcher(node, ProcessEnd::Orderly);
            }
        }
    }

    /// Checks the outcome that a launch reports to its Master: the result of its executors, or that the launch was
    /// ended before.
    fn hold_launch_outcome(&mut self, node: NodeIndex, outcome: Option<&Outcome>) {
        let Some(body) = self.launcher_mut(node) else { return };
        body.books.is_ending = true;
        let Body::Launcher(body) = &self.node(node).body else { return };
        let plan = &self.scenario.apps[body.app];
        let AppKind::Launcher(until) = plan.kind else { return };
        let expected = match (body.books.met(plan, until), until) {
            (Some(0), _) => Some("succeeded"),
            (Some(_), _) => Some("failed"),
            (None, Until::Any | Until::All) => Some("cancelled"),
            (None, Until::Never) => None,
        };
        if outcome.map(Outcome::word) != expected {
            let name = self.node(node).body.name();
            self.violate(format!("{name} tells its Master {outcome:?}, its work has {expected:?}"));
        }
    }

    /// Checks the end of a launch. A launch ends exactly when its executors have ended as it requires, with their exit
    /// code. None of its processes is left, unless hostile peers misled the Master.
    fn hold_ending(&mut self, node: NodeIndex, ending: &Ending) {
        let Body::Launcher(body) = &self.node(node).body else { return };
        let (plan, books) = (&self.scenario.apps[body.app], &body.books);
        let AppKind::Launcher(until) = plan.kind else { return };
        let name = self.node(node).body.name();
        let met = books.met(plan, until);
        match ending {
            Ending::Met { code } if met != Some(*code) => {
                let told = &books.codes;
                return self
                    .violate(format!("{name} ends with code {code}, and its executors with {told:?}"));
            }
            Ending::Met { .. } | Ending::Asked | Ending::Removed(_) | Ending::NoMaster { .. } => {}
        }
        // Without its Master it may not know of executors.
        let is_told = body.is_over() && !books.leaves_some && !self.was_lied_to;
        let Some(app) = books.id.clone().filter(|_| is_told) else { return };
        let mut of_app = self.processes.keys().filter(|key| key.app == app);
        let left = of_app.find(|key| !books.lost.contains(&key.executor)).cloned();
        if let Some(key) = left {
            self.violate(format!("{name} ends, and its executor {key} still runs"));
        }
    }

    /// Checks that a launch ends as soon as its condition holds.
    pub(crate) fn hold_launcher(&mut self, node: NodeIndex) {
        let Body::Launcher(body) = &self.node(node).body else { return };
        let plan = &self.scenario.apps[body.app];
        let AppKind::Launcher(until) = plan.kind else { return };
        if !body.books.is_ending
            && let Some(code) = body.books.met(plan, until)
        {
            let name = self.node(node).body.name();
            self.violate(format!("{name} goes on, and its executors have ended with {code}"));
        }
    }

    /// Users end the launches that never end by themselves.
    pub(crate) fn mend_launchers(&mut self) {
        for node in self.living_launchers() {
            let Some(app) = self.launcher_mut(node).map(|body| body.app) else { continue };
            let plan = &self.scenario.apps[app];
            let for_ever = matches!(plan.kind, AppKind::Launcher(Until::Never));
            let for_nothing = plan.description.initial_limit == ExecutorLimit::AtMost(0);
            if for_ever || for_nothing || !self.fits_somewhere(plan) {
                self.tell(node, NodeEvent::Launcher(launcher::Event::End));
            }
        }
    }

    pub(crate) fn living_launchers(&self) -> Vec<NodeIndex> {
        let lives = |phase: &DriverPhase| match phase {
            DriverPhase::Lives(node) => matches!(self.node(*node).body, Body::Launcher(_)).then_some(*node),
            DriverPhase::Awaited | DriverPhase::Over { .. } => None,
        };
        self.drivers.iter().filter_map(lives).collect()
    }

    /// The user of a driver or launcher cancels the application.
    pub(crate) fn cancel(&mut self, fault: Fault, node: NodeIndex) {
        self.fault(fault);
        match self.node(node).body {
            Body::Launcher(_) => self.tell(node, NodeEvent::Launcher(launcher::Event::End)),
            _ => self.cancel_driver(node),
        }
    }
}
