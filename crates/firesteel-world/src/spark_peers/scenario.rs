//! The description of a world of Spark's peers.

use firesteel_sim::dice::Dice;
use firesteel_spark::connection::Limits;

use super::forge::RELEASES;

/// Who comes to a Master, and how badly the network, the Master and strangers behave.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that generated this scenario and that drives the run.
    pub seed: u64,
    /// The releases of the drivers, by their place among the recorded ones.
    pub drivers: Vec<usize>,
    /// The releases of the Workers, in the same way.
    pub workers: Vec<usize>,
    /// The releases of those who submit cluster drivers, in the same way.
    pub clients: Vec<usize>,
    /// The number of strangers.
    pub strangers: u64,
    /// The virtual time until which faults strike and strangers act, in milliseconds.
    pub until: u64,
    /// One chance for a fault in this many comes true; 0 means none.
    pub faults: u64,
    /// How often the Master is restarted.
    pub restarts: u64,
    /// One peer in this many comes over the connection of another one of its machine; 0 means none.
    pub sharing: u64,
    /// How much a connection may hold.
    pub limits: Limits,
}

impl Scenario {
    /// Generates a world of a few peers and up to three strangers.
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
        let limits = Limits { peers: 8, clients: 4, held: 3, owed: 6, executors: 40, questions: 20 };
        Self { seed, drivers, workers, clients, strangers, until, faults, restarts, sharing, limits }
    }
}
