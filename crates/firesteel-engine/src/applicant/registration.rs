//! How an application finds a Master and stays registered.

use std::time::Duration;

use firesteel_placement::ExecutorLimit;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId};
use firesteel_protocol::master_search::{GiveUp, MasterSearch, Order, Pace};
use firesteel_protocol::messages::{ApplicationDescription, DriverToMaster, Resumption, StateMark};
use firesteel_protocol::secret::Secret;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The pauses between attempts to register. They are short, because a user waits, and a Master that has just started
/// should be found soon. Spark's application client tries every 20 s.
const PACE: Pace = Pace {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(5),
    returning: Duration::from_secs(1),
    soon: Duration::from_millis(20),
};

#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) search: MasterSearch<(), ()>,
    description: ApplicationDescription,
    /// The application's latest id, which is kept when the connection to the Master ends.
    app: Option<AppId>,
}

/// How long to retry a Master that cannot be reached, counted from the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum ConnectTimeout {
    /// At most this long.
    #[display("retrying for {} s", _0.as_secs_f64())]
    UpTo(Duration),
    /// As long as the application lives, because a Master has registered the application before.
    #[display("retrying")]
    Endless,
}

/// The Masters to look for, and for how long.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The Masters to try, in this order.
    pub(crate) masters: Vec<Address>,
    /// How long the application looks for its first Master.
    pub(crate) timeout: Duration,
    /// The seed of the generator for jitter.
    pub(crate) seed: u64,
}

/// The meaning of a `RegisteredApplication` message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Registered {
    /// The first Master has registered the application.
    First,
    /// A Master that knew the application has registered it again. Its executors keep running.
    Resumed,
    /// A Master registered the application as a new one. The executors of the old one are lost.
    Anew,
}

/// The token by which a Master knows the application. It does not use the random numbers that the pauses use.
pub(crate) fn token(seed: u64) -> Secret {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    chance.set_stream(1);
    Secret::of_bytes::<16>(chance.random())
}

impl Registration {
    pub(crate) fn new(search: Search, mut description: ApplicationDescription) -> Self {
        let Search { masters, timeout, seed } = search;
        description.token = token(seed);
        let search = MasterSearch::new(&masters, PACE, GiveUp::After(timeout), seed);
        Self { search, description, app: None }
    }

    /// Sets the default profile's target, which the next Master receives at the registration.
    pub(crate) fn set_limit(&mut self, limit: ExecutorLimit) {
        self.description.initial_limit = limit;
    }

    pub(crate) fn has_seen(&self, executor: ExecutorId) -> bool {
        executor < self.description.first_executor
    }

    /// The application's id, once a Master has given one.
    pub(crate) fn app(&self) -> Option<&AppId> {
        self.app.as_ref()
    }

    /// Marks this executor number as taken. Numbers that are too high are ignored.
    pub(crate) fn see(&mut self, executor: ExecutorId) {
        const HIGHEST: u32 = i32::MAX as u32;
        if executor.0 > HIGHEST {
            return;
        }
        let next = ExecutorId(executor.0.saturating_add(1));
        self.description.first_executor = self.description.first_executor.max(next);
    }

    /// The application's description for the next registration.
    pub(crate) fn description(&self) -> &ApplicationDescription {
        &self.description
    }

    /// The application's description for the next registration, to be changed.
    pub(crate) fn description_mut(&mut self) -> &mut ApplicationDescription {
        &mut self.description
    }

    pub(crate) fn master(&self) -> Option<(PeerId, &Address)> {
        self.search.registered().map(|registered| (registered.peer, &registered.master))
    }

    /// Whether a Master may still register the application: either a Master was asked, or a Master has registered the
    /// application before.
    pub(crate) fn may_come(&self) -> bool {
        self.search.is_asking() || self.app.is_some()
    }

    /// How long the application keeps trying a Master that cannot be reached.
    pub(crate) fn patience(&self) -> ConnectTimeout {
        self.search.patience().map_or(ConnectTimeout::Endless, ConnectTimeout::UpTo)
    }

    /// A Master registered the application. Returns the meaning of the message, the Master, and the orders that follow.
    /// Returns `None` if this Master was not asked, or repeats its message.
    pub(crate) fn on_registered(
        &mut self,
        peer: PeerId,
        app: AppId,
        mark: Option<StateMark>,
    ) -> Option<(Registered, Address, Vec<Order<()>>)> {
        let (asked, orders) = self.search.on_registered(peer, ())?;
        StateMark::remember(mark, &mut self.description.seen);
        let meaning = match &self.app {
            None => Registered::First,
            Some(known) if *known == app => Registered::Resumed,
            Some(_) => {
                // This Master starts to number executors again.
                self.description.first_executor = ExecutorId::default();
                Registered::Anew
            }
        };
        self.app = Some(app);
        Some((meaning, asked.master, orders))
    }

    /// The message that registers the application with a Master for the first time or again. `executors`: the executors
    /// that the driver believes to be alive.
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

    /// Describes the first inconsistency in the tables, if any.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.master().is_some() && self.app.is_none() {
            return Some("registered without an id".to_owned());
        }
        self.search.contradiction()
    }
}
