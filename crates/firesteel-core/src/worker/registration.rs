//! How the Worker finds a Master and stays registered.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::RngExt;

use super::machine::{Reason, Worker, send};
use super::shutdown::ShutdownPhase;
use super::{Effect, Exit, Note};
use crate::address::Address;
use crate::ids::{ExecutorKey, PeerId};
use crate::leadership::{Dispute, Leaders, Leadership};
use crate::machine::{Violation, ensure};
use crate::messages::{
    DriverReport, DriverState, ExecutorReport, ExecutorState, RefusedRegistration, WorkerToMaster,
    is_web_address,
};
use crate::time::{Timestamp, doubled};

/// How long the Masters of a round have to accept the connection and answer.
const ROUND_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after the first failed round, or after the loss of a Master. It doubles with every failed round.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between rounds of a Worker that no Master has registered yet. One that was registered keeps to
/// [`FIRST_PAUSE`]: executors may live here, and a Master that returns should have it within two seconds.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The pause after a Master that stood by has hung up: it leads now, or another one does.
const SHORT_PAUSE: Duration = Duration::from_millis(100);
/// The range of the factor, in thousandths, that each pause is multiplied with. Source: Spark Worker, 4.0.1,
/// which draws it once only.
const JITTER: std::ops::Range<u32> = 500..1500;
/// The shortest interval between heartbeats, whatever a Master asks for.
const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(10);

/// The state of the Worker's registration.
#[derive(Debug, Default)]
pub(super) struct Registration {
    phase: Phase,
    /// Masters that are being connected to. Connecting may outlast its round; until then no second attempt is
    /// made.
    dials: BTreeSet<Address>,
    /// Connected Masters that stand by. They are not asked: each hangs up when it begins to lead, or another one does.
    standbys: BTreeMap<PeerId, Address>,
    leaders: Leaders,
    /// The number of failed rounds since the last registration.
    failed_rounds: u32,
    history: History,
    /// The last order to launch an executor that no heartbeat has answered, and the Master that sent it. A Worker that
    /// registers again on the same connection answers it afterwards.
    last_order: Option<(PeerId, ExecutorKey)>,
}

/// The phases of the registration.
///
/// ```text
///           Start               first RegisteredWorker
///  IDLE ------------> ROUND ----------------------------> REGISTERED
///                     |   ^ ^   ReconnectWorker, or         |     |
///     time-out, or    |   | |   a later leader was met      |     |
///     no Master left  v   | +-------------------------------+     |
///                    PAUSE <--------------------------------------+
///                                    connection lost
/// ```
#[derive(Debug, Default)]
enum Phase {
    /// Not started, or shutting down without a Master.
    #[default]
    Idle,
    /// The Worker connects to all Masters and registers.
    Round {
        /// The connected Masters that were sent a registration.
        asked: BTreeMap<PeerId, Asked>,
        /// The time at which the round has failed.
        until: Timestamp,
    },
    /// The next round begins at this time.
    Pause { until: Timestamp },
    /// A Master has registered the Worker.
    Registered(Master),
}

/// A Master that was sent `RegisterWorker`.
#[derive(Debug)]
struct Asked {
    address: Address,
    epoch: u64,
    previous_role: PreviousRole,
    /// The executors that it was told of.
    listed: BTreeMap<ExecutorKey, ExecutorState>,
    /// The cluster drivers that it was told of.
    listed_drivers: Vec<DriverReport>,
}

/// What this Master was to the Worker before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreviousRole {
    None,
    /// The Worker was registered with it on this connection, and orders may still be on their way.
    Master,
}

impl Asked {
    fn new(
        (address, epoch): (Address, u64),
        previous_role: PreviousRole,
        listed: &[ExecutorReport],
        listed_drivers: Vec<DriverReport>,
    ) -> Self {
        let listed = listed.iter().map(|report| (report.executor.clone(), report.state.clone())).collect();
        Self { address, epoch, previous_role, listed, listed_drivers }
    }
}

/// The Master that the Worker is registered with.
#[derive(Debug)]
pub(super) struct Master {
    pub(super) peer: PeerId,
    pub(super) url: String,
    /// The URL at which it serves HTTP, if it says so.
    web_address: Option<String>,
    address: Address,
    epoch: u64,
    heartbeat: Duration,
    next_heartbeat: Timestamp,
}

/// Whether any Master has ever registered the Worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum History {
    #[default]
    NeverRegistered,
    WasRegistered,
}

impl Registration {
    /// The Master that the Worker is registered with.
    pub(super) fn master(&self) -> Option<&Master> {
        match &self.phase {
            Phase::Registered(master) => Some(master),
            Phase::Idle | Phase::Round { .. } | Phase::Pause { .. } => None,
        }
    }

    /// The Master that the Worker is registered with says where it serves HTTP.
    pub(super) fn set_web_address(&mut self, address: String) {
        if let Phase::Registered(master) = &mut self.phase {
            master.web_address = is_web_address(&address).then_some(address);
        }
    }

    /// The URL at which that Master serves HTTP, if it has said so.
    pub(super) fn web_address(&self) -> Option<&str> {
        self.master()?.web_address.as_deref()
    }

    /// Whether orders from that connection count: those of the Master, and of a Master that asked the Worker
    /// to register again. An order on its way at that moment is not sent twice.
    pub(super) fn takes_orders_of(&self, peer: PeerId) -> bool {
        match &self.phase {
            Phase::Registered(master) => master.peer == peer,
            Phase::Round { asked, .. } => {
                asked.get(&peer).is_some_and(|asked| asked.previous_role == PreviousRole::Master)
            }
            Phase::Idle | Phase::Pause { .. } => false,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Round { until, .. } => Some((*until, Reason::RegistrationTimeout)),
            Phase::Pause { until } => Some((*until, Reason::RegistrationRound)),
            Phase::Registered(master) => Some((master.next_heartbeat, Reason::Heartbeat)),
        }
    }

    pub(super) fn check(&self, shutdown: &ShutdownPhase) -> Result<(), Violation> {
        match &self.phase {
            Phase::Idle => {}
            Phase::Round { asked, .. } => {
                ensure!("worker", shutdown.wants_master(), "a round of registration goes on in {shutdown:?}");
                ensure!(
                    "worker",
                    !asked.is_empty() || !self.dials.is_empty(),
                    "a round of registration waits for no Master"
                );
            }
            Phase::Pause { .. } => {
                ensure!(
                    "worker",
                    shutdown.wants_master(),
                    "a round of registration is planned in {shutdown:?}"
                );
            }
            Phase::Registered(master) => {
                ensure!(
                    "worker",
                    self.failed_rounds == 0,
                    "registered with {} failed rounds",
                    self.failed_rounds
                );
                ensure!(
                    "worker",
                    self.history == History::WasRegistered,
                    "registered with {} and never registered",
                    master.url
                );
            }
        }
        Ok(())
    }

    /// Whether the log says how the round with this number failed. A Worker that was registered tries every second, maybe for
    /// days: it says so the first time, the second, the fourth, the eighth and so on.
    fn notes_round(&self, round: u32) -> bool {
        match self.history {
            History::NeverRegistered => true,
            History::WasRegistered => round == 0 || round.is_power_of_two(),
        }
    }

    /// The last order of this Master that no heartbeat has answered.
    fn answer_to(&mut self, peer: PeerId) -> Option<ExecutorKey> {
        self.last_order.take_if(|(from, _)| *from == peer).map(|(_, executor)| executor)
    }

    /// The Masters that lead, or may: the one that the Worker is registered with, and those that were asked.
    fn leading(&self) -> Vec<(&Address, u64)> {
        match &self.phase {
            Phase::Idle | Phase::Pause { .. } => Vec::new(),
            Phase::Round { asked, .. } => asked.values().map(|asked| (&asked.address, asked.epoch)).collect(),
            Phase::Registered(master) => vec![(&master.address, master.epoch)],
        }
    }

    /// Forgets all Masters. Returns their connections.
    pub(super) fn leave(&mut self) -> Vec<PeerId> {
        let mut connections: Vec<_> = match std::mem::take(&mut self.phase) {
            Phase::Idle | Phase::Pause { .. } => Vec::new(),
            Phase::Round { asked, .. } => asked.into_keys().collect(),
            Phase::Registered(master) => vec![master.peer],
        };
        connections.extend(std::mem::take(&mut self.standbys).into_keys());
        connections
    }

    /// Stops looking for a Master, but keeps the one it has. Returns the connections to close.
    pub(super) fn stop_looking(&mut self) -> Vec<PeerId> {
        match self.phase {
            Phase::Idle | Phase::Registered(_) => Vec::new(),
            Phase::Round { .. } | Phase::Pause { .. } => self.leave(),
        }
    }
}

impl Worker {
    /// Connects to every Master that is not being connected to.
    pub(super) fn start_round(&mut self, now: Timestamp) {
        self.registration.phase = Phase::Round { asked: BTreeMap::new(), until: now + ROUND_TIMEOUT };
        self.dial_masters();
        self.end_round_without_masters(now);
    }

    /// Connects to all Masters that are not connected nor being connected to.
    fn dial_masters(&mut self) {
        let Registration { dials, standbys, leaders, .. } = &mut self.registration;
        let standing_by: BTreeSet<_> = standbys.values().collect();
        for master in leaders.with_named(&self.config.masters) {
            if !standing_by.contains(master) && dials.insert(master.clone()) {
                self.effects.push(Effect::Connect { master: master.clone() });
            }
        }
    }

    pub(super) fn on_connected(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        master: Address,
        leadership: Leadership,
    ) {
        self.registration.dials.remove(&master);
        match leadership {
            Leadership::Here { epoch } => self.on_leader(now, peer, master, epoch),
            Leadership::Elsewhere { leader } => self.on_standby(now, peer, master, leader),
        }
    }

    fn on_leader(&mut self, now: Timestamp, peer: PeerId, master: Address, epoch: u64) {
        if let Err(dispute) = self.registration.leaders.meet(&master, epoch) {
            self.effects.note(Note::Dispute(dispute));
            self.effects.push(Effect::Close { peer });
            return self.end_round_without_masters(now);
        }
        self.leave_outdated(now);
        let dispute = Dispute::among(self.registration.leading(), (&master, epoch));
        dispute.into_iter().for_each(|dispute| self.effects.note(Note::Dispute(dispute)));
        let listed = self.executors.reports();
        match &mut self.registration.phase {
            Phase::Round { asked, .. } => {
                let drivers = self.drivers.reports();
                asked.insert(peer, Asked::new((master, epoch), PreviousRole::None, &listed, drivers));
                self.effects.push(self.register_worker(peer, listed));
            }
            Phase::Idle | Phase::Pause { .. } | Phase::Registered(_) => {
                self.effects.push(Effect::Close { peer })
            }
        }
    }

    /// Leaves the Masters that led before one that was met now. What they have said may still be on its way, and the later one
    /// may have decided otherwise since.
    fn leave_outdated(&mut self, now: Timestamp) {
        let Registration { phase, leaders, .. } = &mut self.registration;
        let outdated: Vec<(PeerId, Dispute)> = match phase {
            Phase::Idle | Phase::Pause { .. } => Vec::new(),
            Phase::Round { asked, .. } => {
                let dispute = |asked: &Asked| leaders.outdated(&asked.address, asked.epoch);
                asked.iter().filter_map(|(peer, asked)| Some((*peer, dispute(asked)?))).collect()
            }
            Phase::Registered(master) => {
                let dispute = leaders.outdated(&master.address, master.epoch);
                dispute.map(|dispute| (master.peer, dispute)).into_iter().collect()
            }
        };
        for (peer, dispute) in outdated {
            self.effects.note(Note::Dispute(dispute));
            self.effects.push(Effect::Close { peer });
            match &mut self.registration.phase {
                Phase::Round { asked, .. } => drop(asked.remove(&peer)),
                phase if self.shutdown.wants_master() => {
                    *phase = Phase::Round { asked: BTreeMap::new(), until: now + ROUND_TIMEOUT };
                }
                phase => *phase = Phase::Idle,
            }
        }
    }

    /// A Master stands by, and may say which one leads.
    fn on_standby(&mut self, now: Timestamp, peer: PeerId, master: Address, leader: Option<Address>) {
        match &self.registration.phase {
            Phase::Idle | Phase::Registered(_) => return self.effects.push(Effect::Close { peer }),
            Phase::Round { .. } | Phase::Pause { .. } => {
                if self.registration.notes_round(self.registration.failed_rounds.saturating_add(1)) {
                    self.effects
                        .note(Note::MasterStandsBy { master: master.clone(), leader: leader.clone() });
                }
                self.registration.standbys.insert(peer, master);
            }
        }
        let is_news = self.registration.leaders.hear(leader, &self.config.masters);
        if is_news && matches!(self.registration.phase, Phase::Round { .. }) {
            self.dial_masters();
        }
        self.end_round_without_masters(now);
    }

    pub(super) fn on_connect_failed(&mut self, now: Timestamp, master: Address, error: String) {
        self.registration.dials.remove(&master);
        if self.registration.notes_round(self.registration.failed_rounds.saturating_add(1)) {
            self.effects.note(Note::MasterUnreachable { master, error });
        }
        self.end_round_without_masters(now);
    }

    pub(super) fn on_registered_worker(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        url: String,
        heartbeat_millis: u64,
        duplicate: bool,
    ) {
        let heartbeat = Duration::from_millis(heartbeat_millis).max(SHORTEST_HEARTBEAT);
        let chosen = match &mut self.registration.phase {
            Phase::Round { asked, .. } => asked.remove(&peer),
            Phase::Registered(master) if master.peer == peer => {
                // A repetition: heartbeats go on, at the new interval.
                master.url = url;
                master.heartbeat = heartbeat;
                return;
            }
            Phase::Idle | Phase::Pause { .. } | Phase::Registered(_) => None,
        };
        let Some(Asked { address, epoch, listed, listed_drivers, .. }) = chosen else {
            self.effects.note(Note::NotMyMaster { peer, message: "RegisteredWorker" });
            return;
        };
        self.effects.note(Note::Registered { master_url: url.clone(), duplicate });
        let losers = self.registration.leave();
        self.effects.extend(losers.into_iter().map(|peer| Effect::Close { peer }));

        let worker = self.config.description.id.clone();
        let last_order = self.registration.answer_to(peer);
        self.effects.push(send(peer, WorkerToMaster::Heartbeat { worker, last_order }));
        let next_heartbeat = now + heartbeat;
        self.registration.phase = Phase::Registered(Master {
            peer,
            url,
            web_address: None,
            address,
            epoch,
            heartbeat,
            next_heartbeat,
        });
        self.registration.failed_rounds = 0;
        self.registration.history = History::WasRegistered;
        self.doubt_files();
        self.tell_of_obstacle_if_new(peer, duplicate);
        self.report_if_any(peer);
        if matches!(self.shutdown, ShutdownPhase::Draining { .. }) {
            self.tell_of_leaving();
        }

        // Changes since the Master was told of the executors.
        for report in self.executors.reports() {
            if listed.get(&report.executor) != Some(&report.state) {
                self.effects.push(send(peer, WorkerToMaster::ExecutorStateChanged(report)));
            }
        }
        for (executor, state) in listed {
            if state.is_finished() {
                self.executors.confirm_end(&executor);
            }
        }
        for report in self.drivers.reports() {
            if !listed_drivers.contains(&report) {
                self.effects.push(send(peer, WorkerToMaster::DriverStateChanged(report)));
            }
        }
        self.tell_of_all_restarts(now);
        for DriverReport { driver, state } in listed_drivers {
            if state != DriverState::Running {
                self.drivers.confirm_end(&driver);
            }
        }
    }

    pub(super) fn on_register_worker_failed(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        refusal: RefusedRegistration,
    ) {
        let refused = match &mut self.registration.phase {
            Phase::Round { asked, .. } => asked.remove(&peer),
            Phase::Idle | Phase::Pause { .. } | Phase::Registered(_) => None,
        };
        let Some(Asked { address, .. }) = refused else {
            self.effects.note(Note::NotMyMaster { peer, message: "RegisterWorkerFailed" });
            return;
        };
        self.effects.note(Note::Refused { master: address, refusal: refusal.clone() });
        self.effects.push(Effect::Close { peer });
        match self.registration.history {
            History::NeverRegistered => self.exit(Exit::Refused(refusal)),
            // Executors may live here, so the Worker stays and asks again later.
            History::WasRegistered => self.end_round_without_masters(now),
        }
    }

    /// The Master does not know the Worker, which registers again on the same connection.
    pub(super) fn on_reconnect_worker(&mut self, now: Timestamp, peer: PeerId) {
        if !self.shutdown.wants_master() {
            return;
        }
        let listed = self.executors.reports();
        match &mut self.registration.phase {
            Phase::Registered(master) if master.peer == peer => {
                self.effects.note(Note::AskedToReconnect { master_url: master.url.clone() });
                let address = (master.address.clone(), master.epoch);
                let drivers = self.drivers.reports();
                let asked = Asked::new(address, PreviousRole::Master, &listed, drivers);
                self.registration.phase =
                    Phase::Round { asked: BTreeMap::from([(peer, asked)]), until: now + ROUND_TIMEOUT };
                self.effects.push(self.register_worker(peer, listed));
            }
            // The registration is already on its way.
            Phase::Round { asked, .. } if asked.contains_key(&peer) => {}
            Phase::Idle | Phase::Round { .. } | Phase::Pause { .. } | Phase::Registered(_) => {
                self.effects.note(Note::NotMyMaster { peer, message: "ReconnectWorker" });
            }
        }
    }

    pub(super) fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        if self.registration.standbys.remove(&peer).is_some() {
            return self.on_standby_gone(now);
        }
        match &mut self.registration.phase {
            Phase::Registered(master) if master.peer == peer => {
                let master_url = std::mem::take(&mut master.url);
                self.effects.note(Note::MasterLost { master_url, executors: self.executors.live() });
                self.pause(now);
            }
            Phase::Round { asked, .. } => {
                if let Some(Asked { address, .. }) = asked.remove(&peer) {
                    self.effects.note(Note::MasterHungUp { master: address });
                    self.end_round_without_masters(now);
                }
            }
            // The connection of a status client, or one that was closed from here.
            Phase::Idle | Phase::Pause { .. } | Phase::Registered(_) => {}
        }
    }

    /// A Master that stood by has hung up: another round begins soon, unless a Master was asked that may still answer.
    fn on_standby_gone(&mut self, now: Timestamp) {
        let soon = now + SHORT_PAUSE * self.chance.random_range(JITTER) / 1000;
        match &mut self.registration.phase {
            Phase::Pause { until } => *until = soon.min(*until),
            Phase::Round { asked, .. } if asked.is_empty() => {
                self.registration.phase = Phase::Pause { until: soon };
            }
            Phase::Idle | Phase::Round { .. } | Phase::Registered(_) => {}
        }
    }

    /// An order to launch an executor has come: the next heartbeat answers it.
    pub(super) fn answer_order(&mut self, peer: PeerId, executor: ExecutorKey) {
        self.registration.last_order = Some((peer, executor));
    }

    pub(super) fn send_due_heartbeat(&mut self, now: Timestamp) {
        if let Phase::Registered(master) = &mut self.registration.phase
            && master.next_heartbeat <= now
        {
            master.next_heartbeat = now + master.heartbeat;
            let worker = self.config.description.id.clone();
            let peer = master.peer;
            let last_order = self.registration.answer_to(peer);
            self.effects.push(send(peer, WorkerToMaster::Heartbeat { worker, last_order }));
        }
    }

    pub(super) fn on_round_due(&mut self, now: Timestamp) {
        match &mut self.registration.phase {
            Phase::Pause { until } if *until <= now => self.start_round(now),
            Phase::Round { asked, until } if *until <= now => {
                for (peer, Asked { address, .. }) in std::mem::take(asked) {
                    self.effects.note(Note::MasterSilent { master: address });
                    self.effects.push(Effect::Close { peer });
                }
                self.fail_round(now);
            }
            Phase::Idle | Phase::Round { .. } | Phase::Pause { .. } | Phase::Registered(_) => {}
        }
    }

    /// Fails the round if no Master is left that could answer.
    fn end_round_without_masters(&mut self, now: Timestamp) {
        if let Phase::Round { asked, .. } = &self.registration.phase
            && asked.is_empty()
            && self.registration.dials.is_empty()
        {
            self.fail_round(now);
        }
    }

    fn fail_round(&mut self, now: Timestamp) {
        self.registration.failed_rounds = self.registration.failed_rounds.saturating_add(1);
        let attempts = self.registration.failed_rounds;
        let gives_up = self.registration.history == History::NeverRegistered
            && attempts >= self.config.max_registration_retries;
        if gives_up {
            self.exit(Exit::NoMaster { attempts });
        } else {
            self.pause(now);
        }
    }

    fn pause(&mut self, now: Timestamp) {
        if !self.shutdown.wants_master() {
            self.registration.phase = Phase::Idle;
            return;
        }
        let failed = self.registration.failed_rounds;
        let pause = match self.registration.history {
            History::NeverRegistered => doubled(FIRST_PAUSE, failed.saturating_sub(1), LONGEST_PAUSE),
            History::WasRegistered => FIRST_PAUSE,
        };
        let pause = pause * self.chance.random_range(JITTER) / 1000;
        if self.registration.notes_round(failed) {
            self.effects.note(Note::NextRound { failed, pause });
        }
        self.registration.phase = Phase::Pause { until: now + pause };
    }

    fn register_worker(&self, peer: PeerId, executors: Vec<ExecutorReport>) -> Effect {
        let worker = Box::new(self.config.description.clone());
        send(peer, WorkerToMaster::RegisterWorker { worker, executors, drivers: self.drivers.reports() })
    }
}
