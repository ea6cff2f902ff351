//! The description of a world of Spark's peers.

use firesteel_sim::dice::Dice;
use firesteel_spark::connection::Limits;

use super::forge::RELEASES;

/// The peers of a Master, and the probability of faults of the network, the Master and hostile peers.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that generated this scenario and that drives the run.
    pub seed: u64,
    /// The release of each driver, as an index into the recorded releases.
    pub drivers: Vec<usize>,
    /// The release of each Worker, as an index into the recorded releases.
    pub workers: Vec<usize>,
    /// The release of each client that submits cluster drivers, as an index into the recorded releases.
    pub clients: Vec<usize>,
    pub strangers: u64,
    /// The virtual time until which faults occur and hostile peers act, in milliseconds.
    pub until: u64,
    /// One in this many chances for a fault is taken. 0 means none.
    pub faults: u64,
    pub restarts: u64,
    /// One in this many peers shares the connection of another peer of its machine. 0 means none.
    pub sharing: u64,
    pub limits: Limits,
}

impl Scenario {
    /// Generates a world of a few honest peers and up to three hostile peers.
    #[must_use]
    pub fn rolled(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut releases = |count: u64, of: usize| {
            (0..count).map(|_| dice.index(of).expect("there are some")).collect::<Vec<_>>()
        };
        let drivers = releases(1 + seed % 3, RELEASES);
        let workers = releases(1 + seed / 3 % 3, RELEASES + 1);
        let clients = releases(seed / 9 % 2, RELEASES);
        let strangers = *dice.pick(&[0, 1, 2, 3]);
        let until = dice.between(20_000, 120_000);
        let faults = *dice.pick(&[0, 6, 12, 30]);
        let restarts = *dice.pick(&[0, 0, 1, 2]);
        let sharing = *dice.pick(&[0, 2, 3]);
        let limits = Limits { peers: 8, clients: 4, held: 3, pending: 6, executors: 40, questions: 20 };
        Self { seed, drivers, workers, clients, strangers, until, faults, restarts, sharing, limits }
    }
}
