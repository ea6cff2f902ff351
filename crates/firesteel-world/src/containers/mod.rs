//! A simulated world of one YARN allocator.
//!
//! A fake manager grants containers late, in the wrong place, too many, or twice, and loses containers. Executors fail.
//! A driver changes its targets. Calls or their responses are lost, and the manager may lose its whole state.
//!
//! [`Scenario`] describes a world, and [`run()`] simulates it, with virtual time and chance from a seed. While faults
//! strike, the allocator's own invariants are checked after each event, and its effects are compared with the facts
//! (`truth`). Then all faults stop. From then on, there must be exactly as many executors as wanted.
//!
//! - `scenario`, `run`: the description of a world, and one run.
//! - `manager`: the fake manager and its machines.
//! - `truth`: the independent record, and the laws.
//! - `sabotage`: the deliberate bugs.

mod manager;
mod run;
mod sabotage;
mod scenario;
mod truth;

use firesteel_application_master::allocator::{AllocateFailure, Cause, Effect, Event, Failure, Loss, Note};

use crate::coverage::{Coverage, Kinds, kinds};

pub use manager::{GrantChoice, Held, Manager};
pub use run::{run, run_sabotaged};
pub use sabotage::ContainerSabotage;
pub use scenario::Scenario;

/// The enums of all events, effects and faults of an allocator.
fn all_kinds() -> [Kinds; 7] {
    [
        kinds::<Event>(),
        kinds::<Effect>(),
        kinds::<Note>(),
        kinds::<AllocateFailure>(),
        kinds::<Loss>(),
        kinds::<Cause>(),
        kinds::<Failure>(),
    ]
}

fn see_event(coverage: &mut Coverage, event: &Event) {
    coverage.count(event);
    if let Event::AllocateFailed(failure) = event {
        coverage.count(failure);
    }
}

fn see_effect(coverage: &mut Coverage, effect: &Effect) {
    coverage.count(effect);
    match effect {
        Effect::Note(note) => coverage.count(note),
        Effect::Fail(failure) => coverage.count(failure),
        Effect::ExecutorEnded { loss, .. } => {
            coverage.count(loss);
            if let Loss::Ended { cause, .. } = loss {
                coverage.count(cause);
            }
        }
        Effect::Allocate(_)
        | Effect::Register
        | Effect::Launch(_)
        | Effect::Decommission { .. }
        | Effect::AnswerLoss { .. } => {}
    }
}
