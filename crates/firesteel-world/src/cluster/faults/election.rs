//! Elections: one of several Masters leads, and leaders are deposed while they are alive.
//!
//! In some clusters with a durable Master there are two addresses (listeners) for Masters, which share the journal. One
//! Master leads, and one at the other listener stands by. As in the product:
//!
//! - Each leader has a greater epoch than all leaders before it.
//! - A leader that is cut off from the election service can no longer write (`master_disk`). Until its lease ends by
//!   its own clock, which may be fast or slow, the leader still sends messages that need no record. After that, the
//!   leader sends nothing more.
//! - The next leader begins after the session of the former one has expired. Clocks are never so slow that the lease is
//!   not over by then.
//! - A former leader still receives messages of its peers for some time, but its decisions have no effect. Its earlier
//!   messages may arrive after the next leader has begun.
//! - A standby tells peers who leads, ignores their messages, and hangs up when another leader begins.

use firesteel_master::{Effect, Event};
use firesteel_protocol::Leadership;
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{MasterToWorker, WorkerToMaster};

use super::Fault;
use crate::cluster::network::ProcessEnd;
use crate::cluster::network::links::{LinkIndex, Side};
use crate::cluster::network::message::Message;
use crate::cluster::processes::node::{Body, NodeEffects};
use crate::cluster::sabotage::Sabotage;
use crate::cluster::scenario::AppPlan;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};
use firesteel_protocol::ids::PeerId;
use firesteel_sim::dice::Dice;

/// How long an elected Master may be silent before its peers hang up, in milliseconds.
const LONGEST_SILENCE: u64 = 10_000;
/// How long a peer waits for the hello of a Master, in milliseconds.
const MOST_PATIENCE: u64 = 9_000;
/// The time between two heartbeats of an elected Master, in milliseconds.
const SIGN_OF_LIFE: u64 = 4_000;

/// The election of a cluster's Masters, and the leaders that are deposed.
#[derive(Clone, Debug)]
pub struct Election {
    /// How long the election service waits for a silent leader, in milliseconds.
    pub session: u64,
    /// The leaders that are deposed while they are alive.
    pub depositions: Vec<Deposition>,
}

/// How a leader is deposed while it is alive.
#[derive(Clone, Debug)]
pub struct Deposition {
    /// The beginning, in milliseconds after the start.
    pub from: u64,
    pub way: DepositionKind,
    /// The duration of a second of the leader's clock, in milliseconds.
    pub clock: u64,
    /// How long the former leader still receives messages after its lease, in milliseconds.
    pub lingers: u64,
    /// For how long before the deposition the leader's messages are held up, in milliseconds. They arrive after the
    /// next leader has begun, or never. `None`: messages are not held up.
    pub held_up: Option<u64>,
    /// Whether the next leader begins at the same listener.
    pub same_listener: bool,
}

/// How a leader is deposed while it is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepositionKind {
    /// The leader can reach its peers, but not the election service.
    CutOff,
    /// The leader's process is paused for this many milliseconds.
    Paused {
        /// The duration in milliseconds.
        millis: u64,
    },
}

impl Election {
    /// A random election: half of the durable Masters are elected.
    pub(crate) fn rolled(dice: &mut Dice, faults_until: u64, apps: &[AppPlan]) -> Option<Self> {
        if dice.one_in(2) {
            return None;
        }
        let session = *dice.pick(&[1_500, 3_000, 6_000, 12_000]);
        let depositions = if faults_until == 0 { 0 } else { dice.below(4) };
        // Often while an application registers.
        let starts: Vec<u64> = apps.iter().map(|app| app.starts_at).collect();
        let from = |dice: &mut Dice| match dice.one_in(2) {
            true => (*dice.pick(&starts) + dice.below(500)).saturating_sub(250).min(faults_until),
            false => dice.below(faults_until),
        };
        let deposition = |_| Deposition { from: from(dice), ..Deposition::rolled(dice, session) };
        Some(Self { session, depositions: (0..depositions).map(deposition).collect() })
    }
}

impl Deposition {
    fn rolled(dice: &mut Dice, session: u64) -> Self {
        let clock = dice.between(700, 1_450);
        let way = match dice.one_in(3) {
            true => DepositionKind::Paused { millis: dice.between(session / 2, session + 8_000) },
            false => DepositionKind::CutOff,
        };
        Self {
            from: 0,
            way,
            clock,
            lingers: if dice.one_in(3) { 0 } else { dice.below(LONGEST_SILENCE) },
            held_up: dice.one_in(2).then(|| dice.below(3_000)),
            same_listener: dice.one_in(5),
        }
    }
}

/// An address at which a Master listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerState {
    Empty,
    /// The leading Master, or a deposed one whose lease has not ended yet.
    Leader(NodeIndex),
    /// A Master after its lease, until its process ends. This Master accepts no connections.
    Former(NodeIndex),
    Standby(NodeIndex),
}

pub(crate) fn listener_address(listener: usize) -> Address {
    Address::new(["master", "other-master"][listener], 7077)
}

pub(crate) fn listener_of(address: &Address) -> usize {
    usize::from(*address != listener_address(0))
}

impl World {
    /// The addresses of Masters in the settings of Workers and applications.
    pub(crate) fn master_addresses(&self) -> Vec<Address> {
        (0..self.listeners.len()).map(listener_address).collect()
    }

    /// The Master that accepts connections at a listener, and the leadership that its hello reports.
    pub(crate) fn listening_at(&self, listener: usize) -> Option<(NodeIndex, Leadership)> {
        match self.listeners[listener] {
            ListenerState::Empty | ListenerState::Former(_) => None,
            ListenerState::Leader(node) => {
                let epoch = self.terms.epoch_of(node).unwrap_or(0);
                self.node(node).waiting.is_none().then_some((node, Leadership::Here { epoch }))
            }
            ListenerState::Standby(node) if self.is_sabotaged_by(Sabotage::StandbyAnswers) => {
                Some((node, Leadership::Here { epoch: self.terms.latest() }))
            }
            ListenerState::Standby(node) => {
                let Body::Standby { leader } = &self.node(node).body else { return None };
                Some((node, Leadership::Elsewhere { leader: leader.map(listener_address) }))
            }
        }
    }

    /// Whether the leading Master was elected among several Masters.
    pub(crate) fn is_elected(&self) -> bool {
        self.scenario.election.is_some()
    }

    /// Whether a Master no longer leads.
    pub(crate) fn is_former(&self, node: NodeIndex) -> bool {
        self.master != Some(node)
    }

    pub(crate) fn begin_term(&mut self, listener: usize, node: NodeIndex) {
        self.master = Some(node);
        self.listeners[listener] = ListenerState::Leader(node);
        if !self.is_elected() {
            return;
        }
        let is_greater = !self.is_sabotaged_by(Sabotage::EpochNotIncreased);
        let epoch = self.terms.begin(node, is_greater);
        self.remark(format!("the Master at listener {listener} leads in epoch {epoch}"));
        for other in (0..self.listeners.len()).filter(|other| *other != listener) {
            let millis = self.dice.below(1_500);
            self.after(millis, ScheduledEvent::Follow { listener: other });
        }
    }

    /// Plans the next leader. Returns when it begins, after the session of the last leader has expired, and its
    /// listener.
    pub(crate) fn succession(&mut self) -> (u64, usize) {
        let Some(session) = self.scenario.election.as_ref().map(|election| election.session) else {
            let pause = if self.dice.one_in(4) {
                self.dice.between(20, 1_000)
            } else {
                self.dice.between(1_001, 20_000)
            };
            return (pause, 0);
        };
        let pause = session + self.dice.below(3_000);
        (pause, self.dice.index(self.listeners.len()).expect("there is a listener"))
    }

    pub(crate) fn leave_listener(&mut self, node: NodeIndex) {
        let is_its = |listener: &ListenerState| matches!(listener, ListenerState::Leader(one) | ListenerState::Former(one) if *one == node);
        let Some(listener) = self.listeners.iter().position(is_its) else { return };
        self.listeners[listener] = ListenerState::Empty;
        if self.is_elected() {
            let millis = self.dice.below(5_000);
            self.after(millis, ScheduledEvent::StandBy { listener });
        }
    }

    pub(crate) fn take_listener(&mut self, listener: usize) {
        match self.listeners[listener] {
            ListenerState::Empty | ListenerState::Leader(_) => {}
            ListenerState::Former(node) => self.end_former(node),
            ListenerState::Standby(node) => self.end_standby(node),
        }
        self.listeners[listener] = ListenerState::Empty;
    }

    pub(crate) fn stand_by(&mut self, listener: usize) {
        if self.listeners[listener] != ListenerState::Empty {
            return;
        }
        let leader = self.listeners.iter().position(|listener| matches!(listener, ListenerState::Leader(_)));
        let node = self.add_node(Body::Standby { leader });
        self.listeners[listener] = ListenerState::Standby(node);
    }

    /// A standby Master learns of another leader.
    pub(crate) fn follow(&mut self, listener: usize) {
        if let ListenerState::Standby(node) = self.listeners[listener] {
            self.end_standby(node);
            self.listeners[listener] = ListenerState::Empty;
            self.stand_by(listener);
        }
    }

    /// A standby Master closes its connections and ends.
    fn end_standby(&mut self, node: NodeIndex) {
        if self.is_sabotaged_by(Sabotage::StandbyStaysOn) {
            return;
        }
        for peer in 0..self.node(node).connections.len() as u64 {
            self.close(node, PeerId(peer));
        }
    }

    /// A standby Master receives a message, and does not answer.
    pub(crate) fn tell_standby(&mut self, node: NodeIndex, peer: PeerId, message: &Message) {
        if let (true, Message::WorkerToMaster(WorkerToMaster::RegisterWorker { .. })) =
            (self.is_sabotaged_by(Sabotage::StandbyAnswers), message)
        {
            let master_url = listener_address(0).url();
            let answer = MasterToWorker::RegisteredWorker {
                master_url,
                heartbeat_millis: 15_000,
                duplicate: false,
                web_address: None,
                mark: None,
            };
            self.send(node, peer, Message::MasterToWorker(answer));
        }
    }

    /// Holds up the leader's messages from now on. Later deposes the leader.
    pub(crate) fn depose(&mut self, deposition: Deposition) {
        if let (Some(before), Some(node)) = (deposition.held_up, self.master) {
            let session = self.scenario.election.as_ref().map_or(0, |election| election.session);
            let until = self.now + before + session + self.dice.below(4_000);
            self.fault(Fault::HeldUp);
            self.held_up = Some((node, until));
            for link in self.links_of(node) {
                match self.dice.below(3) {
                    0 => self.hold_up(link),
                    // Its peer reconnects, and gets another hello.
                    1 => self.cut(link, false),
                    _ => {}
                }
            }
            return self.after(before, ScheduledEvent::Depose(Deposition { held_up: None, ..deposition }));
        }
        self.cut_off(&deposition);
    }

    /// Holds up a connection if one end is a Master whose messages are held up now. Its messages arrive when the delay
    /// is over.
    pub(crate) fn hold_up(&mut self, link: LinkIndex) {
        let Some((node, until)) = self.held_up.filter(|(_, until)| self.now < *until) else { return };
        let row = &self.links[link.0];
        let side = Side::Dialler;
        if row.end(side.other()).node == node {
            self.links[link.0].stall(side, until);
            self.hang_up_if_silent(link, side, until - self.now);
        }
    }

    /// Whether the former leader has held-up messages that arrive during this leader's term.
    pub(crate) fn follows_one_that_is_held_up(&self, node: NodeIndex) -> bool {
        self.held_up.is_some_and(|(former, until)| former != node && self.now < until)
    }

    /// By how much a Master's hello on a new connection is late, if it is late.
    pub(crate) fn lateness_of_hello(&mut self, master: NodeIndex) -> Option<u64> {
        if !self.is_elected() || !self.is_rough() {
            return None;
        }
        let held_up = self.held_up.filter(|(node, until)| *node == master && self.now < *until);
        match held_up {
            Some((_, until)) => self.dice.one_in(2).then_some(until - self.now),
            None => self.dice.one_in(6).then(|| self.dice.between(100, MOST_PATIENCE)),
        }
    }

    /// The open connections of a node.
    fn links_of(&self, node: NodeIndex) -> Vec<LinkIndex> {
        let links = self.node(node).connections.iter().copied();
        links.filter(|link| self.links[link.0].is_open()).collect()
    }

    /// Closes a connection if its owner has received no message from an elected Master for this time.
    pub(crate) fn hang_up_if_silent(&mut self, link: LinkIndex, side: Side, millis: u64) {
        if self.is_elected() && millis > LONGEST_SILENCE {
            let delay = self.dice.between(LONGEST_SILENCE - SIGN_OF_LIFE, LONGEST_SILENCE);
            self.after(delay, ScheduledEvent::Hangup { link, side });
            // The other side notices as soon as a message passes.
            let passes = self.links[link.0].latest(side.other()).max(self.now + delay);
            let arrival = passes + self.dice.between(0, 3);
            self.at(arrival, ScheduledEvent::Hangup { link, side: side.other() });
        }
    }

    /// Cuts the leader off from the election service.
    fn cut_off(&mut self, deposition: &Deposition) {
        let Some(session) = self.scenario.election.as_ref().map(|election| election.session) else { return };
        let Some(node) = self.master else { return };
        if self.master_disk.is_cut_off() || self.node(node).waiting.is_some() {
            return;
        }
        self.master_disk.cut_off();
        // The lease is two thirds of the session, by the leader's clock.
        let lease = session * 2 / 3 * deposition.clock / 1_000;
        let mut lingers = deposition.lingers;
        match deposition.way {
            DepositionKind::CutOff => self.fault(Fault::LeaderCutOff),
            DepositionKind::Paused { millis } => {
                self.fault(Fault::LeaderPaused);
                self.node_mut(node).waiting.get_or_insert_default();
                self.after(millis, ScheduledEvent::GoOn { node });
                lingers = (millis + 1).saturating_sub(lease);
                for link in self.links_of(node) {
                    let side = self.links[link.0].side_of(node).other();
                    self.hang_up_if_silent(link, side, LONGEST_SILENCE + 1);
                }
            }
        }
        self.after(lease, ScheduledEvent::EndLease { node, lingers });
        let (pause, any) = self.succession();
        let own = self
            .listeners
            .iter()
            .position(|listener| *listener == ListenerState::Leader(node))
            .unwrap_or(any);
        let heir = if deposition.same_listener { own } else { (own + 1) % self.listeners.len() };
        self.after(pause, ScheduledEvent::StartMaster { listener: heir });
    }

    /// The lease of a leader has ended. Decisions that the leader has not written have no effect.
    pub(crate) fn end_lease(&mut self, node: NodeIndex, lingers: u64) {
        if self.is_former(node) {
            return;
        }
        self.master = None;
        self.lose_held();
        for listener in &mut self.listeners {
            if *listener == ListenerState::Leader(node) {
                *listener = ListenerState::Former(node);
            }
        }
        self.after(lingers, ScheduledEvent::EndFormer { node });
    }

    pub(crate) fn end_former(&mut self, node: NodeIndex) {
        if self.is_former(node) && matches!(self.node(node).body, Body::Master(_)) {
            self.end_process(node, ProcessEnd::Abruptly);
            self.leave_listener(node);
        }
    }

    /// A former leader makes a decision, which has no effect.
    pub(crate) fn decide_in_vain(&mut self, node: NodeIndex, event: &Event, effects: Vec<Effect>) {
        if self.terms.is_succeeded(node) && !matches!(event, Event::Deadline { .. }) {
            self.fault(Fault::FormerLeaderHears);
        }
        if self.is_sabotaged_by(Sabotage::SpeakAfterLease) {
            let told = effects.into_iter().filter(|effect| !matches!(effect, Effect::Persist(_)));
            self.perform(node, NodeEffects::Master(told.collect()));
        }
    }
}
