//! The description of a world with one session.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_engine::driver::{Allocation, DynamicAllocation, Ratio, TaskNeeds};
use firesteel_engine::session::{Commands, Config, Defaults, OnFailure};
use firesteel_protocol::messages::TaskDirectory;

use firesteel_sim::dice::Dice;

/// A user or a script, and the probability of faults around the session.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that generated this scenario and that drives the run.
    pub seed: u64,
    pub config: Config,
    /// The number of lines that the user types, or that the script has.
    pub lines: u64,
    /// The number of commands in the first line that run a task in the background.
    pub crowd: u64,
    /// One in this many tasks fails. 0 means none.
    pub failing: u64,
    /// One in this many files reads itself. 0 means none.
    pub recursive: u64,
    /// The longest time that printing takes, in milliseconds.
    pub slowness: u64,
    /// The longest time that the Master and executors take to answer, in milliseconds.
    pub delay: u64,
    /// The faults, each with its time in milliseconds from the start.
    pub faults: Vec<(u64, Fault)>,
}

/// A fault, or an action of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Interrupt,
    Terminate,
    ReaderLeaves,
    LinesFail,
    /// A user kills the application.
    Killed,
    DriverPanics,
    /// The driver does not end when it is told to.
    DriverHangs,
    /// No Master has the application for some time.
    MasterLost,
    /// The Master returns, and does not know the application.
    MasterRestarted,
    /// An attempt fails, and its task runs again.
    AttemptFails,
    ExecutorLost,
}

#[rustfmt::skip]
const FAULTS: [Fault; 11] = [
    Fault::Interrupt, Fault::Terminate, Fault::ReaderLeaves, Fault::LinesFail, Fault::Killed, Fault::DriverPanics,
    Fault::DriverHangs, Fault::MasterLost, Fault::MasterRestarted, Fault::AttemptFails, Fault::ExecutorLost,
];

impl Scenario {
    /// A random session of up to 20 lines.
    #[must_use]
    pub fn rolled(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let commands = *dice.pick(&[Commands::Typed, Commands::Script]);
        let lines = *dice.pick(&[0, 3, 10, 20]);
        let faults = match dice.one_in(3) {
            true => Vec::new(),
            false => (0..dice.between(1, 8)).map(|_| fault(&mut dice, lines)).collect(),
        };
        let crowd = if dice.one_in(400) { 1_010 } else { 0 };
        let (directory, environment) = (TaskDirectory::Executor, BTreeMap::new());
        let config = Config {
            commands,
            on_failure: *dice.pick(&[OnFailure::Stops, OnFailure::GoesOn, OnFailure::GoesOn]),
            defaults: Defaults { needs: TaskNeeds::default(), directory, environment },
            allocation: if dice.one_in(5) { dynamic() } else { Allocation::Fixed },
        };
        Self {
            seed,
            config,
            lines,
            crowd,
            // Tasks of a crowd are forgotten, and with them how they ended.
            failing: if crowd == 0 { *dice.pick(&[0, 3, 10]) } else { 0 },
            recursive: *dice.pick(&[0, 2, 10]),
            slowness: *dice.pick(&[0, 20, 20, 2_000]),
            delay: *dice.pick(&[10, 1_000, 20_000]),
            faults,
        }
    }
}

fn dynamic() -> Allocation {
    let second = Duration::from_secs(1);
    Allocation::Dynamic(DynamicAllocation {
        min: 0,
        max: 4,
        initial: 1,
        backlog_timeout: second,
        sustained_timeout: second,
        idle_timeout: second,
        ratio: Ratio::ONE,
    })
}

/// A random fault. Half of the faults are interrupts, whose effect depends on the current command.
fn fault(dice: &mut Dice, lines: u64) -> (u64, Fault) {
    let at = dice.below(200 + 1_000 * lines);
    match dice.one_in(2) {
        true => (at, Fault::Interrupt),
        false => (at, *dice.pick(&FAULTS)),
    }
}
