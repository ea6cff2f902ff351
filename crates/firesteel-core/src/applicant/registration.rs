//! Finding a Master and staying with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use firesteel_placement::ExecutorLimit;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::address::Address;
use crate::ids::{AppId, ExecutorId, PeerId};
use crate::messages::{ApplicationDescription, DriverToMaster};
use crate::time::Timestamp;

/// The first pause between two rounds; it doubles with each round, up to [`LAST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause. Somebody waits for it, and a Master that has just come up is to be found soon: Spark's
/// application client tries every 20 s.
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// A last round is this long before a first Master is no longer sought, so that it can still answer.
const LAST_CHANCE: Duration = Duration::from_secs(1);

/// Where an application stands with its Masters. A round dials every Master that is not connected, and asks those
/// that are again: a Master may have begun to lead since.
///
/// ```text
///  IDLE --start--> SEEKING --first RegisteredApplication--> REGISTERED
///                     ^                                         |
///                     `------------- connection ended ----------'
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    masters: Vec<Address>,
    description: ApplicationDescription,
    state: State,
    /// The application's latest id. It outlives the connection to the Master that gave it.
    app: Option<AppId>,
    /// Masters that are being dialled.
    dialling: BTreeSet<Address>,
    /// Connected Masters that have not answered.
    candidates: BTreeMap<PeerId, Address>,
    /// The last error of each Master.
    errors: BTreeMap<Address, String>,
    /// How long a first Master is sought, and until when.
    timeout: Duration,
    give_up: Option<Timestamp>,
    rng: ChaCha8Rng,
}

#[derive(Clone, Debug)]
enum State {
    Idle,
    Seeking {
        /// When all Masters are tried again.
        next_round: Timestamp,
        /// How many rounds there were.
        rounds: u32,
    },
    Registered {
        peer: PeerId,
        master: Address,
    },
}

/// What a registration has its machine do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Dial this Master.
    Connect(Address),
    /// Send a Master the message that registers the application.
    Register(PeerId, DriverToMaster),
    /// End a connection.
    Close(PeerId),
    /// Remark it.
    Remark(Remark),
}

/// What a registration has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// A Master could not be reached; it will be tried again.
    Unreachable { master: Address, error: String, patience: Patience },
    /// A Master took the application under this id.
    Registered { app: AppId, master: Address },
    /// The Master's connection ended.
    Lost { master: Address },
}

/// How long a Master that cannot be reached is tried, from the first time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// So long.
    UpTo(Duration),
    /// For as long as the application lives: a Master has taken it.
    Endless,
}

/// `tried for 60 s`, `tried again`.
impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpTo(time) => write!(f, "is tried for {} s", time.as_secs_f64()),
            Self::Endless => f.write_str("is tried again"),
        }
    }
}

/// How a Master is found.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The Masters to try, in this order.
    pub(crate) masters: Vec<Address>,
    /// How long a first one is sought.
    pub(crate) timeout: Duration,
    /// Seeds the generator of the jitter.
    pub(crate) seed: u64,
}

/// What a `RegisteredApplication` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Registered {
    /// Nothing new, or nobody that was asked.
    Ignored,
    /// The first Master took the application.
    First,
    /// A Master took up the application that it knew: its executors go on.
    Resumed,
    /// A Master took it as a new application: the executors of the old one are lost.
    Anew,
}

impl Registration {
    pub(crate) fn new(search: Search, description: ApplicationDescription) -> Self {
        let mut seen = BTreeSet::new();
        let masters = search.masters.iter().filter(|master| seen.insert(*master)).cloned().collect();
        Self {
            masters,
            description,
            state: State::Idle,
            app: None,
            dialling: BTreeSet::new(),
            candidates: BTreeMap::new(),
            errors: BTreeMap::new(),
            timeout: search.timeout,
            give_up: None,
            rng: ChaCha8Rng::seed_from_u64(search.seed),
        }
    }

    /// The default profile's target, for a Master that will hear of the application.
    pub(crate) fn set_limit(&mut self, limit: ExecutorLimit) {
        self.description.initial_limit = limit;
    }

    /// Whether an executor with that number was there, or is.
    pub(crate) fn has_seen(&self, executor: ExecutorId) -> bool {
        executor < self.description.first_executor
    }

    /// The application's id, once a Master gave one.
    pub(crate) fn app(&self) -> Option<&AppId> {
        self.app.as_ref()
    }

    /// An executor has this number, and none is to have it again. One that nobody gives is not believed.
    pub(crate) fn see(&mut self, executor: ExecutorId) {
        const HIGHEST: u32 = i32::MAX as u32;
        if executor.0 > HIGHEST {
            return;
        }
        let next = ExecutorId(executor.0.saturating_add(1));
        self.description.first_executor = self.description.first_executor.max(next);
    }

    /// The application as the next Master will be told of it.
    pub(crate) fn description(&self) -> &ApplicationDescription {
        &self.description
    }

    /// The same, to change it.
    pub(crate) fn description_mut(&mut self) -> &mut ApplicationDescription {
        &mut self.description
    }

    /// The Master that has the application.
    pub(crate) fn master(&self) -> Option<(PeerId, &Address)> {
        match &self.state {
            State::Registered { peer, master } => Some((*peer, master)),
            State::Idle | State::Seeking { .. } => None,
        }
    }

    /// Whether the connection is one to a Master, asked or registered with.
    pub(crate) fn is_master(&self, peer: PeerId) -> bool {
        self.candidates.contains_key(&peer) || self.master().is_some_and(|(master, _)| master == peer)
    }

    /// The last error of each Master, in the order of the settings.
    pub(crate) fn errors(&self) -> Vec<(Address, String)> {
        let silent = || "no answer".to_owned();
        let error = |master: &Address| self.errors.get(master).cloned().unwrap_or_else(silent);
        self.masters.iter().map(|master| (master.clone(), error(master))).collect()
    }

    pub(crate) fn next_round(&self) -> Option<Timestamp> {
        match &self.state {
            State::Seeking { next_round, .. } => Some(*next_round),
            State::Idle | State::Registered { .. } => None,
        }
    }

    /// When a first Master is no longer sought.
    pub(crate) fn give_up(&self) -> Option<Timestamp> {
        self.give_up
    }

    pub(crate) fn start(&mut self, now: Timestamp) -> Vec<Order> {
        self.give_up = Some(now + self.timeout);
        self.state = State::Seeking { next_round: now, rounds: 0 };
        self.run_rounds(now)
    }

    /// Begins a round if it is time for one.
    pub(crate) fn run_rounds(&mut self, now: Timestamp) -> Vec<Order> {
        let State::Seeking { next_round, rounds } = self.state else { return Vec::new() };
        if now < next_round {
            return Vec::new();
        }
        let pause = self.pause(rounds);
        let next_round = self.in_time(now, now + pause);
        self.state = State::Seeking { next_round, rounds: rounds.saturating_add(1) };
        let mut orders: Vec<_> = self.candidates.keys().map(|&peer| self.application(peer)).collect();
        let connected: BTreeSet<_> = self.candidates.values().collect();
        for master in &self.masters {
            if !connected.contains(master) && self.dialling.insert(master.clone()) {
                orders.push(Order::Connect(master.clone()));
            }
        }
        orders
    }

    /// The Masters are others from now on: those that were known are gone for good.
    pub(crate) fn move_to(&mut self, now: Timestamp, masters: Vec<Address>) -> Vec<Order> {
        let mut seen = BTreeSet::new();
        self.masters = masters.into_iter().filter(|master| seen.insert(master.clone())).collect();
        let stay = &self.masters;
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.candidates).into_iter().partition(|(_, master)| stay.contains(master));
        self.candidates = kept;
        self.errors.retain(|master, _| stay.contains(master));
        let mut orders: Vec<_> = gone.into_keys().map(Order::Close).collect();
        match &self.state {
            State::Registered { peer, master } if !stay.contains(master) => {
                orders.push(Order::Close(*peer));
                orders.push(Order::Remark(Remark::Lost { master: master.clone() }));
                self.state = State::Seeking { next_round: now, rounds: 0 };
            }
            State::Seeking { .. } => self.state = State::Seeking { next_round: now, rounds: 0 },
            State::Registered { .. } | State::Idle => {}
        }
        orders.extend(self.run_rounds(now));
        orders
    }

    pub(crate) fn on_connected(&mut self, peer: PeerId, master: Address) -> Vec<Order> {
        self.dialling.remove(&master);
        if self.master().is_some() || !self.masters.contains(&master) {
            return vec![Order::Close(peer)];
        }
        self.candidates.insert(peer, master);
        vec![self.application(peer)]
    }

    pub(crate) fn on_connect_failed(&mut self, master: Address, error: String) -> Vec<Order> {
        self.dialling.remove(&master);
        if !self.masters.contains(&master) {
            return Vec::new();
        }
        self.errors.insert(master.clone(), error.clone());
        match self.master() {
            Some(_) => Vec::new(),
            None => vec![Order::Remark(Remark::Unreachable { master, error, patience: self.patience() })],
        }
    }

    /// The first Master to answer wins; the other connections end.
    pub(crate) fn on_registered(&mut self, peer: PeerId, app: AppId) -> (Registered, Vec<Order>) {
        // The Master that has the application may say so twice.
        let Some(master) = self.candidates.remove(&peer) else { return (Registered::Ignored, Vec::new()) };
        let others = std::mem::take(&mut self.candidates).into_keys();
        let mut orders: Vec<_> = others.map(Order::Close).collect();
        orders.push(Order::Remark(Remark::Registered { app: app.clone(), master: master.clone() }));
        self.state = State::Registered { peer, master };
        self.errors.clear();
        self.give_up = None;
        let meaning = match &self.app {
            None => Registered::First,
            Some(known) if *known == app => Registered::Resumed,
            Some(_) => {
                // It counts its executors anew.
                self.description.first_executor = ExecutorId::default();
                Registered::Anew
            }
        };
        self.app = Some(app);
        (meaning, orders)
    }

    /// A connection ended: what follows if it was one to a Master.
    pub(crate) fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) -> Option<Vec<Order>> {
        if let Some(master) = self.candidates.remove(&peer) {
            self.errors.insert(master, "the connection ended without an answer".to_owned());
            return Some(Vec::new());
        }
        match &self.state {
            State::Registered { peer: mine, master } if *mine == peer => {
                let lost = Order::Remark(Remark::Lost { master: master.clone() });
                self.state = State::Seeking { next_round: now + self.pause(0), rounds: 1 };
                Some(vec![lost])
            }
            State::Registered { .. } | State::Idle | State::Seeking { .. } => None,
        }
    }

    /// Asks that Master to take the application.
    fn application(&self, peer: PeerId) -> Order {
        Order::Register(peer, DriverToMaster::RegisterApplication(self.description.clone()))
    }

    /// The pause after that many rounds, between half and one and a half of its nominal length, so that many
    /// drivers do not come back to a restarted Master at once.
    fn pause(&mut self, rounds: u32) -> Duration {
        let nominal = FIRST_PAUSE.saturating_mul(1 << rounds.min(10)).min(LAST_PAUSE);
        nominal.mul_f64(self.rng.random_range(0.5..1.5))
    }

    /// A round that would come when it is too late, or nearly so, comes a little before that.
    fn in_time(&self, now: Timestamp, next_round: Timestamp) -> Timestamp {
        let last = self.give_up.map(|give_up| give_up - LAST_CHANCE);
        last.filter(|last| now < *last).map_or(next_round, |last| next_round.min(last))
    }

    /// How long a first Master is sought; without an end once one has taken the application.
    fn patience(&self) -> Patience {
        self.give_up.map_or(Patience::Endless, |_| Patience::UpTo(self.timeout))
    }

    /// For the invariants: no Master is both dialled and connected, and a registered driver asks nobody.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if let Some(both) = self.candidates.values().find(|master| self.dialling.contains(*master)) {
            return Some(format!("{both} is connected and dialled"));
        }
        if self.master().is_some() && !self.candidates.is_empty() {
            return Some(format!("registered, and {} Masters are still asked", self.candidates.len()));
        }
        if self.master().is_some() && self.app.is_none() {
            return Some("registered without an id".to_owned());
        }
        None
    }
}
