//! The description of a world with one map run.

use firesteel_engine::map::{Config, Scope};
use firesteel_placement::Cores;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};

use firesteel_sim::dice::Dice;

/// An input, a driver and an output reader, with the probability of their faults.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that generated this scenario and that drives the run.
    pub seed: u64,
    pub items: u64,
    pub config: Config,
    pub executors: Vec<Cores>,
    /// One in this many tasks fails for good. 0 means none.
    pub failing: u64,
    /// The longest time that an item takes to be printed, in milliseconds.
    pub slowness: u64,
    /// The faults, each with its time in milliseconds from the start.
    pub faults: Vec<(u64, Fault)>,
}

/// A fault, or an action of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The input cannot be read any further.
    InputUnreadable,
    /// The next item cannot become a task.
    ItemUnusable,
    /// A user presses ctrl-c.
    Interrupt,
    /// The same signal arrives twice within a moment.
    InterruptTwice,
    /// The program that reads the output closes it.
    ReaderLeaves,
    /// The disk with the outputs is full.
    OutputLost,
    /// The disk with the run record is full.
    RecordLost,
    Killed,
    /// The driver's task panics.
    DriverPanics,
    ExecutorLost,
}

impl Fault {
    const ALL: [Self; 10] = [
        Self::InputUnreadable,
        Self::ItemUnusable,
        Self::Interrupt,
        Self::InterruptTwice,
        Self::ReaderLeaves,
        Self::OutputLost,
        Self::RecordLost,
        Self::Killed,
        Self::DriverPanics,
        Self::ExecutorLost,
    ];
}

impl Scenario {
    /// A random run of up to 300 items, usually of a few.
    #[must_use]
    pub fn rolled(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let most = *dice.pick(&[0, 3, 20, 20, 300]);
        let items = dice.between(0, most);
        let executors: Vec<Cores> = (0..dice.between(1, 3)).map(|_| Cores(*dice.pick(&[1, 2, 8]))).collect();
        let scope = match dice.one_in(4) {
            true => Scope::Tasks {
                first: TaskId(dice.between(1, 50)),
                executors: (0..)
                    .map(ExecutorId)
                    .zip(&executors)
                    .map(|(id, cores)| (id, "h".into(), *cores))
                    .collect(),
            },
            false => Scope::Application,
        };
        let known = dice.one_in(2).then_some(items);
        let faults = match dice.one_in(3) {
            true => Vec::new(),
            false => {
                let until = 50 + 20 * items;
                (0..dice.between(1, 3)).map(|_| (dice.below(until), *dice.pick(&Fault::ALL))).collect()
            }
        };
        Self {
            seed,
            items,
            config: Config { scope, profile: ProfileId::DEFAULT, items: known },
            executors,
            failing: *dice.pick(&[0, 3, 10]),
            slowness: *dice.pick(&[1, 50, 1000]),
            faults,
        }
    }
}
