//! How an application finds a Master and stays registered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use firesteel_placement::ExecutorLimit;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::address::Address;
use crate::connect_error::ConnectError;
use crate::ids::{AppId, ExecutorId, PeerId};
use crate::leadership::{Dispute, Leaders, Leadership};
use crate::messages::{ApplicationDescription, DriverToMaster, Resumption};
use crate::secret::Secret;
use crate::time::{Timestamp, doubled};

/// The first pause between two rounds. It doubles with each round, up to [`LAST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two rounds. It is short, since a user waits and a Master that has just started
/// should be found soon. Spark's application client tries every 20 s.
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause of an application that was registered: a Master that returns should have it within two seconds.
const RETURN_PAUSE: Duration = Duration::from_secs(1);
/// The pause after a Master that stood by has hung up: it leads now, or another one does.
const SHORT_PAUSE: Duration = Duration::from_millis(20);
/// How long before giving up the last round begins, so that a Master can still answer.
const LAST_CHANCE: Duration = Duration::from_secs(1);

/// The registration of an application with its Masters. Each round connects to every Master that is not connected,
/// and asks connected ones again, since one of them may have become the leader.
///
/// ```text
///  IDLE --start--> SEEKING --first RegisteredApplication--> REGISTERED
///                     ^                                         |
///                     `--- connection ended, or a later leader -'
///                                     was met
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    masters: Vec<Address>,
    description: ApplicationDescription,
    state: State,
    /// The application's latest id. It is kept when the connection to the Master ends.
    app: Option<AppId>,
    /// The Masters that are being connected to.
    dialling: BTreeSet<Address>,
    /// The connected Masters that have not answered.
    candidates: BTreeMap<PeerId, Candidate>,
    /// Connected Masters that stand by. They are not asked: each hangs up when it begins to lead, or another one does.
    standbys: BTreeMap<PeerId, Address>,
    leaders: Leaders,
    /// The last error of each Master.
    errors: BTreeMap<Address, ConnectError>,
    /// How long a first Master is looked for.
    timeout: Duration,
    give_up: Option<Timestamp>,
    rng: ChaCha8Rng,
}

/// A Master that was asked.
#[derive(Clone, Debug)]
struct Candidate {
    address: Address,
    epoch: u64,
}

#[derive(Clone, Debug)]
enum State {
    Idle,
    Seeking {
        /// When all Masters are tried again.
        next_round: Timestamp,
        /// The number of rounds so far.
        rounds: u32,
    },
    Registered {
        peer: PeerId,
        master: Address,
        epoch: u64,
    },
}

/// What the machine has to do for its registration, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Connect to this Master.
    Connect(Address),
    /// Send a Master the [request](Registration::request) for the application.
    Register(PeerId),
    /// Close this connection.
    Close(PeerId),
    /// Write a note about this.
    Remark(Remark),
}

/// An event of the registration that is worth a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// A Master could not be reached, and will be tried again.
    Unreachable { master: Address, error: String, patience: Patience },
    /// A Master registered the application under this id.
    Registered { app: AppId, master: Address },
    /// The Master's connection ended.
    Lost { master: Address },
    /// Two Masters say that they lead.
    Dispute(Dispute),
}

/// How long a Master that cannot be reached is tried, from the first attempt on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// For this time at most.
    UpTo(Duration),
    /// While the application lives, since a Master has registered it.
    Endless,
}

/// Written as `is tried for 60 s` or `is tried again`.
impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpTo(time) => write!(f, "retrying for {} s", time.as_secs_f64()),
            Self::Endless => f.write_str("retrying"),
        }
    }
}

/// Where and how long to look for a Master.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The Masters to try, in this order.
    pub(crate) masters: Vec<Address>,
    /// How long a first Master is looked for.
    pub(crate) timeout: Duration,
    /// The seed of the generator for jitter.
    pub(crate) seed: u64,
}

/// What a `RegisteredApplication` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Registered {
    /// Nothing: it is a repetition, or from a Master that was not asked.
    Ignored,
    /// The first Master has registered the application.
    First,
    /// A Master that knows the application has it again: its executors keep running.
    Resumed,
    /// A Master registered it as a new application: the executors of the old one are lost.
    Anew,
}

/// The token by which the application is known, drawn apart from what the pauses draw.
pub(crate) fn token(mut rng: ChaCha8Rng) -> Secret {
    rng.set_stream(1);
    Secret::of_bytes(rng.random())
}

impl Registration {
    pub(crate) fn new(search: Search, mut description: ApplicationDescription) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(search.seed);
        description.token = token(rng.clone());
        let mut seen = BTreeSet::new();
        let masters = search.masters.iter().filter(|master| seen.insert(*master)).cloned().collect();
        Self {
            masters,
            description,
            state: State::Idle,
            app: None,
            dialling: BTreeSet::new(),
            candidates: BTreeMap::new(),
            standbys: BTreeMap::new(),
            leaders: Leaders::default(),
            errors: BTreeMap::new(),
            timeout: search.timeout,
            give_up: None,
            rng,
        }
    }

    /// Sets the default profile's target, for Masters that will be told of the application.
    pub(crate) fn set_limit(&mut self, limit: ExecutorLimit) {
        self.description.initial_limit = limit;
    }

    /// Whether an executor with that number exists or existed.
    pub(crate) fn has_seen(&self, executor: ExecutorId) -> bool {
        executor < self.description.first_executor
    }

    /// The application's id, once a Master has given one.
    pub(crate) fn app(&self) -> Option<&AppId> {
        self.app.as_ref()
    }

    /// Notes that an executor has this number, so that no other gets it. Numbers that are too high are
    /// ignored.
    pub(crate) fn see(&mut self, executor: ExecutorId) {
        const HIGHEST: u32 = i32::MAX as u32;
        if executor.0 > HIGHEST {
            return;
        }
        let next = ExecutorId(executor.0.saturating_add(1));
        self.description.first_executor = self.description.first_executor.max(next);
    }

    /// The description that the next Master will get.
    pub(crate) fn description(&self) -> &ApplicationDescription {
        &self.description
    }

    /// The same description, to be changed.
    pub(crate) fn description_mut(&mut self) -> &mut ApplicationDescription {
        &mut self.description
    }

    /// The Master that has the application.
    pub(crate) fn master(&self) -> Option<(PeerId, &Address)> {
        match &self.state {
            State::Registered { peer, master, .. } => Some((*peer, master)),
            State::Idle | State::Seeking { .. } => None,
        }
    }

    /// Whether a Master may still register the application: one was asked, or one has done so before.
    pub(crate) fn may_come(&self) -> bool {
        !self.candidates.is_empty() || self.app.is_some()
    }

    /// Whether the connection is one to a Master, registered with or only asked.
    pub(crate) fn is_master(&self, peer: PeerId) -> bool {
        self.candidates.contains_key(&peer)
            || self.standbys.contains_key(&peer)
            || self.master().is_some_and(|(master, _)| master == peer)
    }

    /// The last error of each Master, in the order of the settings.
    pub(crate) fn errors(&self) -> Vec<(Address, ConnectError)> {
        let silent = || ConnectError::no_answer("no answer");
        let error = |master: &Address| self.errors.get(master).cloned().unwrap_or_else(silent);
        self.masters.iter().map(|master| (master.clone(), error(master))).collect()
    }

    pub(crate) fn next_round(&self) -> Option<Timestamp> {
        match &self.state {
            State::Seeking { next_round, .. } => Some(*next_round),
            State::Idle | State::Registered { .. } => None,
        }
    }

    /// When the search for a first Master is given up.
    pub(crate) fn give_up(&self) -> Option<Timestamp> {
        self.give_up
    }

    pub(crate) fn start(&mut self, now: Timestamp) -> Vec<Order> {
        self.give_up = Some(now + self.timeout);
        self.state = State::Seeking { next_round: now, rounds: 0 };
        self.run_rounds(now)
    }

    /// Begins a round if one is due.
    pub(crate) fn run_rounds(&mut self, now: Timestamp) -> Vec<Order> {
        let State::Seeking { next_round, rounds } = self.state else { return Vec::new() };
        if now < next_round {
            return Vec::new();
        }
        let pause = self.pause(rounds);
        let next_round = self.in_time(now, now + pause);
        self.state = State::Seeking { next_round, rounds: rounds.saturating_add(1) };
        let mut orders: Vec<_> = self.candidates.keys().map(|&peer| Order::Register(peer)).collect();
        orders.extend(self.dial());
        orders
    }

    /// Connects to all Masters that are not connected nor being connected to.
    fn dial(&mut self) -> Vec<Order> {
        let Self { masters, leaders, candidates, standbys, dialling, .. } = self;
        let asked = candidates.values().map(|candidate| &candidate.address);
        let connected: BTreeSet<_> = asked.chain(standbys.values()).collect();
        let others = leaders.with_named(masters).filter(|master| !connected.contains(master));
        others.filter(|master| dialling.insert((*master).clone())).cloned().map(Order::Connect).collect()
    }

    /// Whether this Master is one of those that may have the application.
    fn is_sought(&self, master: &Address) -> bool {
        self.leaders.with_named(&self.masters).any(|sought| sought == master)
    }

    /// Replaces the list of Masters. Those that are not in the new list are gone for good.
    pub(crate) fn move_to(&mut self, now: Timestamp, masters: Vec<Address>) -> Vec<Order> {
        let mut seen = BTreeSet::new();
        self.masters = masters.into_iter().filter(|master| seen.insert(master.clone())).collect();
        // What was heard of the old ones no longer counts.
        self.leaders = Leaders::default();
        let stay = &self.masters;
        let mut gone: Vec<_> = std::mem::take(&mut self.standbys).into_keys().collect();
        self.candidates.retain(|peer, candidate| {
            let stays = stay.contains(&candidate.address);
            if !stays {
                gone.push(*peer);
            }
            stays
        });
        self.errors.retain(|master, _| stay.contains(master));
        let mut orders: Vec<_> = gone.into_iter().map(Order::Close).collect();
        match &self.state {
            State::Registered { peer, master, .. } if !stay.contains(master) => {
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

    pub(crate) fn on_connected(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        master: Address,
        leadership: Leadership,
    ) -> Vec<Order> {
        self.dialling.remove(&master);
        if !self.is_sought(&master) {
            return vec![Order::Close(peer)];
        }
        match leadership {
            Leadership::Here { epoch } => self.on_leader(now, peer, Candidate { address: master, epoch }),
            Leadership::Elsewhere { leader } => self.on_standby(now, peer, master, leader),
        }
    }

    fn on_leader(&mut self, now: Timestamp, peer: PeerId, candidate: Candidate) -> Vec<Order> {
        let Candidate { address, epoch } = &candidate;
        if let Err(dispute) = self.leaders.meet(address, *epoch) {
            self.errors.insert(address.clone(), ConnectError::no_answer(dispute.to_string()));
            return vec![Order::Remark(Remark::Dispute(dispute)), Order::Close(peer)];
        }
        let mut orders = self.leave_outdated(now);
        let registered = match &self.state {
            State::Registered { master, epoch, .. } => Some((master, *epoch)),
            State::Idle | State::Seeking { .. } => None,
        };
        let asked = self.candidates.values().map(|candidate| (&candidate.address, candidate.epoch));
        let dispute = Dispute::among(asked.chain(registered), (address, *epoch));
        orders.extend(dispute.into_iter().map(Remark::Dispute).map(Order::Remark));
        if self.master().is_some() {
            orders.push(Order::Close(peer));
        } else {
            self.candidates.insert(peer, candidate);
            orders.push(Order::Register(peer));
        }
        orders
    }

    /// Leaves the Masters that led before one that was met now. What they have said may still be on its way, and the later one
    /// may have decided otherwise since.
    fn leave_outdated(&mut self, now: Timestamp) -> Vec<Order> {
        let Self { leaders, candidates, errors, .. } = self;
        let mut orders = Vec::new();
        candidates.retain(|peer, Candidate { address, epoch }| {
            let Some(dispute) = leaders.outdated(address, *epoch) else { return true };
            errors.insert(address.clone(), ConnectError::no_answer(dispute.to_string()));
            orders.extend([Order::Remark(Remark::Dispute(dispute)), Order::Close(*peer)]);
            false
        });
        if let State::Registered { peer, master, epoch } = &self.state
            && let Some(dispute) = leaders.outdated(master, *epoch)
        {
            let lost = Remark::Lost { master: master.clone() };
            orders.extend([
                Order::Remark(Remark::Dispute(dispute)),
                Order::Close(*peer),
                Order::Remark(lost),
            ]);
            self.state = State::Seeking { next_round: now + self.pause(0), rounds: 1 };
        }
        orders
    }

    /// A Master stands by, and may say which one leads.
    fn on_standby(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        master: Address,
        leader: Option<Address>,
    ) -> Vec<Order> {
        if self.master().is_some() {
            return vec![Order::Close(peer)];
        }
        let error = match &leader {
            Some(leader) => format!("it stands by: {} leads", leader.url()),
            None => "it stands by, and no Master leads yet".to_owned(),
        };
        self.errors.insert(master.clone(), ConnectError::no_answer(error));
        self.standbys.insert(peer, master);
        if self.leaders.hear(leader, &self.masters) { self.hurry(now, Duration::ZERO) } else { Vec::new() }
    }

    /// Has the next round begin within this time.
    fn hurry(&mut self, now: Timestamp, pause: Duration) -> Vec<Order> {
        if let State::Seeking { next_round, .. } = &mut self.state {
            *next_round = (now + pause).min(*next_round);
        }
        self.run_rounds(now)
    }

    pub(crate) fn on_connect_failed(&mut self, master: Address, error: ConnectError) -> Vec<Order> {
        self.dialling.remove(&master);
        if !self.is_sought(&master) {
            return Vec::new();
        }
        self.errors.insert(master.clone(), error.clone());
        match self.state {
            State::Seeking { rounds, .. } if self.remarks_on(rounds) => {
                let (error, patience) = (error.words, self.patience());
                vec![Order::Remark(Remark::Unreachable { master, error, patience })]
            }
            State::Seeking { .. } | State::Idle | State::Registered { .. } => Vec::new(),
        }
    }

    /// Whether it is said how the round with this number failed. An application that was registered tries every second, maybe
    /// for days: it says so the first time, the second, the fourth, the eighth and so on.
    fn remarks_on(&self, round: u32) -> bool {
        match self.patience() {
            Patience::UpTo(_) => true,
            Patience::Endless => round.is_power_of_two(),
        }
    }

    /// A Master registered the application. The first one that answers is kept; other connections are closed.
    pub(crate) fn on_registered(&mut self, peer: PeerId, app: AppId) -> (Registered, Vec<Order>) {
        // The Master that has the application may answer twice.
        let Some(Candidate { address: master, epoch }) = self.candidates.remove(&peer) else {
            return (Registered::Ignored, Vec::new());
        };
        let others = std::mem::take(&mut self.candidates).into_keys();
        let others = others.chain(std::mem::take(&mut self.standbys).into_keys());
        let mut orders: Vec<_> = others.map(Order::Close).collect();
        orders.push(Order::Remark(Remark::Registered { app: app.clone(), master: master.clone() }));
        self.state = State::Registered { peer, master, epoch };
        self.errors.clear();
        self.give_up = None;
        let meaning = match &self.app {
            None => Registered::First,
            Some(known) if *known == app => Registered::Resumed,
            Some(_) => {
                // This Master starts the numbers of executors again.
                self.description.first_executor = ExecutorId::default();
                Registered::Anew
            }
        };
        self.app = Some(app);
        (meaning, orders)
    }

    /// A connection ended. Returns the orders that follow, if it was one to a Master.
    pub(crate) fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) -> Option<Vec<Order>> {
        if self.standbys.remove(&peer).is_some() {
            return Some(self.hurry(now, SHORT_PAUSE));
        }
        if let Some(Candidate { address, .. }) = self.candidates.remove(&peer) {
            self.errors.insert(address, ConnectError::no_answer("the connection ended without an answer"));
            return Some(Vec::new());
        }
        match &self.state {
            State::Registered { peer: mine, master, .. } if *mine == peer => {
                let lost = Order::Remark(Remark::Lost { master: master.clone() });
                self.state = State::Seeking { next_round: now + self.pause(0), rounds: 1 };
                Some(vec![lost])
            }
            State::Registered { .. } | State::Idle | State::Seeking { .. } => None,
        }
    }

    /// The message that registers the application with a Master, which brings it back if it was registered before.
    /// `executors` are those that its driver takes for living.
    pub(crate) fn request(&self, executors: impl IntoIterator<Item = ExecutorId>) -> DriverToMaster {
        let description = Box::new(self.description.clone());
        match self.app.clone() {
            None => DriverToMaster::RegisterApplication(description),
            Some(app) => {
                let executors = executors.into_iter().collect();
                DriverToMaster::ResumeApplication(Resumption { app, executors, description })
            }
        }
    }

    /// The pause after that many rounds, with a jitter of half its length in either direction. So many
    /// drivers do not return to a restarted Master at once.
    fn pause(&mut self, rounds: u32) -> Duration {
        let longest = match self.patience() {
            Patience::UpTo(_) => LAST_PAUSE,
            Patience::Endless => RETURN_PAUSE,
        };
        doubled(FIRST_PAUSE, rounds, longest).mul_f64(self.rng.random_range(0.5..1.5))
    }

    /// Moves a round that would come too late to a moment before the search is given up.
    fn in_time(&self, now: Timestamp, next_round: Timestamp) -> Timestamp {
        let last = self.give_up.map(|give_up| give_up - LAST_CHANCE);
        last.filter(|last| now < *last).map_or(next_round, |last| next_round.min(last))
    }

    /// How long a Master is tried: without end once a Master has registered the application.
    fn patience(&self) -> Patience {
        self.give_up.map_or(Patience::Endless, |_| Patience::UpTo(self.timeout))
    }

    /// Checks that no Master is both connected and being connected to, and that a registered driver asks no
    /// other Master.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let asked = self.candidates.values().map(|candidate| &candidate.address);
        if let Some(both) = asked.chain(self.standbys.values()).find(|master| self.dialling.contains(*master))
        {
            return Some(format!("{both} is connected and dialled"));
        }
        if self.master().is_some() && !self.candidates.is_empty() {
            return Some(format!("registered, and {} Masters are still asked", self.candidates.len()));
        }
        if self.master().is_some() && !self.standbys.is_empty() {
            return Some(format!(
                "registered, and {} standby Masters are still connected",
                self.standbys.len()
            ));
        }
        if self.master().is_some() && self.app.is_none() {
            return Some("registered without an id".to_owned());
        }
        None
    }
}
