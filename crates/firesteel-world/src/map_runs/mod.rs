//! A simulated world of one map run: a fake input, driver, output reader and run record.
//!
//! [`Scenario`] describes a world, and [`run()`] simulates it, with virtual time and chance from a seed. Items come
//! late, tasks fail, readers are slow and disappear, and disks fill up. Users interrupt once or twice, or a signal is
//! repeated. The application is killed, or the driver panics. After each event the run's own invariants are checked,
//! and its effects are compared with the facts. The laws: every item is counted exactly once; every item that was read
//! is either done or left for another run; the run ends.
//!
//! - `scenario`, `run`: the description of a world, and one run.
//! - `truth`: the facts, and the laws.
//! - `sabotage`: the deliberate bugs.

mod run;
mod sabotage;
mod scenario;
mod truth;

use firesteel_engine::map::{Effect, Ending, Event, Remark};

use crate::coverage::{Coverage, Kinds, kinds};

pub use run::{run, run_sabotaged};
pub use sabotage::MapSabotage;
pub use scenario::{Fault, Scenario};

/// The enums of all events, effects and faults of a map run.
fn all_kinds() -> [Kinds; 4] {
    [kinds::<Event>(), kinds::<Effect>(), kinds::<Remark>(), kinds::<Ending>()]
}

fn see_effect(coverage: &mut Coverage, effect: &Effect) {
    coverage.count(effect);
    if let Effect::Remark(remark) = effect {
        coverage.count(remark);
    }
}
