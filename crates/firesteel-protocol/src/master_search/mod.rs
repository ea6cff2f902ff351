//! How a Worker, a driver or a launcher (the *seeker*) finds a Master to register with.
//!
//! Each round connects to every Master that is neither connected nor being connected to. A new round begins after a
//! pause until a Master registers the seeker. It begins even if connection attempts of earlier rounds are still open,
//! because an attempt to reach a dead machine takes long to fail. Meanwhile another Master may have come back. The
//! pauses between rounds double up to a limit.

pub mod connect_error;
pub mod leadership;
mod order;
mod pace;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use order::Due;
pub use order::{Order, Remark};
use pace::jittered;
pub use pace::{GiveUp, Pace};

use crate::address::Address;
use crate::ids::PeerId;
use crate::master_search::connect_error::ConnectError;
use crate::master_search::leadership::{LeaderConflict, Leaders, Leadership};
use crate::time::Timestamp;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The search of one seeker. The search stores a `SentReport` for each asked Master, and the `Terms` of the Master that
/// registered the seeker.
///
/// ```text
///           start              a Master registers the seeker
///  IDLE ------------> SEEKING -------------------------------> REGISTERED
///                     ^     ^                                    |    |
///                     |     +-- connection ended, or a later ----+    |
///                     |         leader was met                        |
///                     +-------- the Master wants to be asked again ---+
/// ```
#[derive(Clone, Debug)]
pub struct MasterSearch<SentReport, Terms> {
    /// The Masters to try, in this order.
    masters: Vec<Address>,
    pace: Pace,
    give_up: GiveUp,
    state: State<Terms>,
    /// Masters that are being connected to. If an attempt takes longer than a round, later rounds do not start a second
    /// one.
    dialling: BTreeSet<Address>,
    /// Connected Masters that lead and have not answered.
    asked: BTreeMap<PeerId, Asked<SentReport>>,
    /// Connected Masters that stand by. The seeker does not ask them. A standby Master closes the connection when it
    /// begins to lead, or when another Master does.
    standbys: BTreeMap<PeerId, Address>,
    leaders: Leaders,
    errors: BTreeMap<Address, ConnectError>,
    was_registered: bool,
    /// Whether the seeker searches again if it loses the present Master.
    goes_on: bool,
    chance: ChaCha8Rng,
}

#[derive(Clone, Debug)]
pub struct Asked<SentReport> {
    pub master: Address,
    epoch: u64,
    until: Timestamp,
    /// What the seeker has reported to this Master.
    pub told: SentReport,
}

impl<SentReport: Default> Asked<SentReport> {
    fn new(now: Timestamp, master: Address, epoch: u64) -> Self {
        Self { master, epoch, until: now + ANSWER_TIMEOUT, told: SentReport::default() }
    }
}

#[derive(Clone, Debug)]
enum State<Terms> {
    Idle,
    Seeking {
        next_round: Timestamp,
        /// The number of rounds that have begun.
        rounds: u32,
        /// The time of [`GiveUp::After`].
        give_up: Option<Timestamp>,
    },
    Registered(Registered<Terms>),
}

/// The Master that has registered the seeker.
#[derive(Clone, Debug)]
pub struct Registered<Terms> {
    pub peer: PeerId,
    pub master: Address,
    epoch: u64,
    pub terms: Terms,
}

impl<SentReport: Default, Terms: Clone> MasterSearch<SentReport, Terms> {
    /// A search that has not begun. It will look for one of these Masters.
    pub fn new(masters: &[Address], pace: Pace, give_up: GiveUp, seed: u64) -> Self {
        Self {
            masters: distinct(masters),
            pace,
            give_up,
            state: State::Idle,
            dialling: BTreeSet::new(),
            asked: BTreeMap::new(),
            standbys: BTreeMap::new(),
            leaders: Leaders::default(),
            errors: BTreeMap::new(),
            was_registered: false,
            goes_on: true,
            chance: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    pub fn registered(&self) -> Option<&Registered<Terms>> {
        match &self.state {
            State::Registered(registered) => Some(registered),
            State::Idle | State::Seeking { .. } => None,
        }
    }

    pub fn registered_mut(&mut self) -> Option<&mut Registered<Terms>> {
        match &mut self.state {
            State::Registered(registered) => Some(registered),
            State::Idle | State::Seeking { .. } => None,
        }
    }

    /// A Master that was asked and has not answered.
    pub fn asked(&self, peer: PeerId) -> Option<&Asked<SentReport>> {
        self.asked.get(&peer)
    }

    /// Stores what the seeker reported to a Master that it is asking.
    pub fn tell(&mut self, peer: PeerId, told: SentReport) {
        if let Some(asked) = self.asked.get_mut(&peer) {
            asked.told = told;
        }
    }

    /// Whether a Master was asked and may still answer.
    pub fn is_asking(&self) -> bool {
        !self.asked.is_empty()
    }

    pub fn was_registered(&self) -> bool {
        self.was_registered
    }

    pub fn is_seeking(&self) -> bool {
        matches!(self.state, State::Seeking { .. })
    }

    /// Whether the connection goes to a Master, whether or not that Master has registered the seeker.
    pub fn is_master(&self, peer: PeerId) -> bool {
        self.asked.contains_key(&peer)
            || self.standbys.contains_key(&peer)
            || self.registered().is_some_and(|registered| registered.peer == peer)
    }

    pub fn errors(&self) -> Vec<(Address, ConnectError)> {
        let silent = || ConnectError::no_answer("no answer");
        let error = |master: &Address| self.errors.get(master).cloned().unwrap_or_else(silent);
        self.masters.iter().map(|master| (master.clone(), error(master))).collect()
    }

    /// The number of rounds since the last registration.
    pub fn rounds(&self) -> u32 {
        match self.state {
            State::Seeking { rounds, .. } => rounds,
            State::Idle | State::Registered(_) => 0,
        }
    }

    /// How long the seeker searches for its first Master. `None`: without a limit.
    pub fn patience(&self) -> Option<Duration> {
        match self.give_up {
            GiveUp::After(time) if !self.was_registered => Some(time),
            GiveUp::After(_) | GiveUp::Rounds(_) => None,
        }
    }

    /// Whether this Master is in the list of Masters to try, or is the leader that a standby Master named.
    fn is_sought(&self, master: &Address) -> bool {
        self.leaders.with_named(&self.masters).any(|sought| sought == master)
    }

    pub fn on_connected(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        master: Address,
        leadership: Leadership,
    ) -> Vec<Order<Terms>> {
        self.dialling.remove(&master);
        if !self.is_sought(&master) {
            return vec![Order::Close(peer)];
        }
        match leadership {
            Leadership::Here { epoch } => self.on_leader(now, peer, master, epoch),
            Leadership::Elsewhere { leader } => self.on_standby(now, peer, master, leader),
        }
    }

    fn on_leader(&mut self, now: Timestamp, peer: PeerId, master: Address, epoch: u64) -> Vec<Order<Terms>> {
        if let Err(dispute) = self.leaders.check_epoch(&master, epoch) {
            self.errors.insert(master, ConnectError::no_answer(dispute.to_string()));
            let mut orders = vec![Order::Remark(Remark::LeaderConflict(dispute)), Order::Close(peer)];
            orders.extend(self.end_round(now));
            return orders;
        }
        let mut orders = self.leave_outdated(now);
        let asked = self.asked.values().map(|asked| (&asked.master, asked.epoch));
        let registered = self.registered().map(|registered| (&registered.master, registered.epoch));
        let dispute = LeaderConflict::among(asked.chain(registered), (&master, epoch));
        orders.extend(dispute.map(Remark::LeaderConflict).map(Order::Remark));
        if self.is_seeking() {
            self.asked.insert(peer, Asked::new(now, master, epoch));
            orders.push(Order::Ask(peer));
        } else {
            orders.push(Order::Close(peer));
        }
        orders
    }

    /// Closes the connections to Masters that led before the one just found. Messages of an earlier leader may still
    /// arrive, and the new leader may have decided otherwise.
    fn leave_outdated(&mut self, now: Timestamp) -> Vec<Order<Terms>> {
        let Self { leaders, asked, errors, .. } = self;
        let mut orders = Vec::new();
        asked.retain(|peer, asked| {
            let Some(dispute) = leaders.outdated(&asked.master, asked.epoch) else { return true };
            errors.insert(asked.master.clone(), ConnectError::no_answer(dispute.to_string()));
            orders.extend([Order::Remark(Remark::LeaderConflict(dispute)), Order::Close(*peer)]);
            false
        });
        if let Some(Registered { peer, master, epoch, .. }) = self.registered()
            && let Some(dispute) = self.leaders.outdated(master, *epoch)
        {
            orders.extend([Order::Remark(Remark::LeaderConflict(dispute)), Order::Close(*peer)]);
            orders.extend(self.lose(now));
        }
        orders
    }

    /// Handles a Master that stands by, and the leader that it may name.
    fn on_standby(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        master: Address,
        leader: Option<Address>,
    ) -> Vec<Order<Terms>> {
        if !self.is_seeking() {
            return vec![Order::Close(peer)];
        }
        let error = match &leader {
            Some(leader) => format!("it stands by: {} leads", leader.url()),
            None => "it stands by, and no Master leads yet".to_owned(),
        };
        self.errors.insert(master.clone(), ConnectError::no_answer(error));
        let remark = Remark::StandsBy { master: master.clone(), leader: leader.clone() };
        let mut orders: Vec<_> = self.remarks().then_some(Order::Remark(remark)).into_iter().collect();
        self.standbys.insert(peer, master);
        if self.leaders.hear(leader, &self.masters) {
            orders.extend(self.hurry(now, Duration::ZERO));
        } else {
            orders.extend(self.end_round(now));
        }
        orders
    }

    pub fn on_connect_failed(
        &mut self,
        now: Timestamp,
        master: Address,
        error: ConnectError,
    ) -> Vec<Order<Terms>> {
        self.dialling.remove(&master);
        if !self.is_sought(&master) {
            return Vec::new();
        }
        self.errors.insert(master.clone(), error.clone());
        let mut orders = Vec::new();
        if self.is_seeking() && self.remarks() {
            orders.push(Order::Remark(Remark::Unreachable { master, error: error.words }));
        }
        orders.extend(self.end_round(now));
        orders
    }

    /// Keeps the Master that registers the seeker, and closes the connections to all others. `None`: the seeker did not
    /// ask this Master, or the Master had already answered.
    pub fn on_registered(
        &mut self,
        peer: PeerId,
        terms: Terms,
    ) -> Option<(Asked<SentReport>, Vec<Order<Terms>>)> {
        let asked = self.asked.remove(&peer)?;
        let orders = self.leave_others();
        let (master, epoch) = (asked.master.clone(), asked.epoch);
        self.state = State::Registered(Registered { peer, master, epoch, terms });
        self.errors.clear();
        self.was_registered = true;
        Some((asked, orders))
    }

    /// Handles a Master's refusal. `None`: the seeker did not ask this Master, or the Master had already answered.
    pub fn on_refused(&mut self, now: Timestamp, peer: PeerId) -> Option<(Address, Vec<Order<Terms>>)> {
        let Asked { master, .. } = self.asked.remove(&peer)?;
        let mut orders = vec![Order::Close(peer)];
        if self.was_registered {
            orders.extend(self.end_round(now));
        }
        Some((master, orders))
    }

    /// Repeats the registration at the seeker's Master, on the same connection, because the Master asked for a
    /// repetition. `None`: the peer is not that Master.
    pub fn on_asked_again(&mut self, now: Timestamp, peer: PeerId) -> Option<Registered<Terms>> {
        let registered = self.registered().filter(|registered| registered.peer == peer)?.clone();
        let (master, epoch) = (registered.master.clone(), registered.epoch);
        self.asked.insert(peer, Asked::new(now, master, epoch));
        self.state = self.seeking_again(now);
        Some(registered)
    }

    /// Handles the end of a connection. If it was a connection to a Master, returns the orders that follow.
    pub fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) -> Option<Vec<Order<Terms>>> {
        if self.standbys.remove(&peer).is_some() {
            let soon = jittered(self.pace.soon, &mut self.chance);
            return Some(self.hurry(now, soon));
        }
        if let Some(Asked { master, .. }) = self.asked.remove(&peer) {
            self.errors
                .insert(master.clone(), ConnectError::no_answer("the connection ended without an answer"));
            let mut orders = vec![Order::Remark(Remark::HungUp { master })];
            orders.extend(self.end_round(now));
            return Some(orders);
        }
        self.registered().filter(|registered| registered.peer == peer)?;
        let mut orders: Vec<_> = self.lose(now).into_iter().collect();
        orders.extend(self.end_round(now));
        Some(orders)
    }

    /// Handles the loss of the Master that had registered the seeker. Searches for another one, if the search goes on.
    fn lose(&mut self, now: Timestamp) -> Option<Order<Terms>> {
        let next = match self.goes_on {
            true => self.seeking_again(now),
            false => State::Idle,
        };
        match std::mem::replace(&mut self.state, next) {
            State::Registered(Registered { master, terms, .. }) => Some(Order::Lost { master, terms }),
            State::Idle | State::Seeking { .. } => None,
        }
    }

    /// Replaces the list of Masters. Drops the Masters that are not in the new list.
    pub fn move_to(&mut self, now: Timestamp, masters: &[Address]) -> Vec<Order<Terms>> {
        self.masters = distinct(masters);
        // Claims to lead by the old Masters no longer count.
        self.leaders = Leaders::default();
        let stay = &self.masters;
        let standbys = std::mem::take(&mut self.standbys).into_keys();
        let asked = self.asked.extract_if(.., |_, asked| !stay.contains(&asked.master));
        let mut orders: Vec<_> = standbys.chain(asked.map(|(peer, _)| peer)).map(Order::Close).collect();
        self.errors.retain(|master, _| stay.contains(master));
        if let Some(Registered { peer, master, .. }) = self.registered()
            && !self.masters.contains(master)
        {
            orders.push(Order::Close(*peer));
            orders.extend(self.lose(now));
        }
        if let State::Seeking { next_round, rounds, .. } = &mut self.state {
            (*next_round, *rounds) = (now, 0);
        }
        orders.extend(self.on_deadline(now));
        orders
    }

    /// Ends the search for good. A Master that has registered the seeker stays connected.
    pub fn stop_looking(&mut self) -> Vec<Order<Terms>> {
        self.goes_on = false;
        match self.state {
            State::Idle | State::Registered(_) => Vec::new(),
            State::Seeking { .. } => self.leave(),
        }
    }

    /// Leaves and forgets all Masters.
    pub fn leave(&mut self) -> Vec<Order<Terms>> {
        let mut orders = self.leave_others();
        if let State::Registered(Registered { peer, .. }) = std::mem::replace(&mut self.state, State::Idle) {
            orders.push(Order::Close(peer));
        }
        orders
    }

    fn leave_others(&mut self) -> Vec<Order<Terms>> {
        let asked = std::mem::take(&mut self.asked).into_keys();
        let standbys = std::mem::take(&mut self.standbys).into_keys();
        asked.chain(standbys).map(Order::Close).collect()
    }

    /// A broken invariant in words, if there is one: a Master is both connected and being connected to, or a connected
    /// Master is not in the list.
    pub fn contradiction(&self) -> Option<String> {
        let connected = self.asked.values().map(|asked| &asked.master).chain(self.standbys.values());
        if let Some(both) = connected.clone().find(|master| self.dialling.contains(*master)) {
            return Some(format!("{both} is connected and dialled"));
        }
        let others = connected.count();
        (!self.is_seeking() && others > 0)
            .then(|| format!("no Master is being searched for, but {others} Masters are connected"))
    }
}

/// The Masters, without duplicates.
fn distinct(masters: &[Address]) -> Vec<Address> {
    let mut seen = BTreeSet::new();
    masters.iter().filter(|master| seen.insert(*master)).cloned().collect()
}
