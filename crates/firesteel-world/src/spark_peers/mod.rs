//! Simulated worlds of Spark's peers at one Master.
//!
//! Drivers, Workers and clients connect, each through a real [`Connection`](firesteel_spark::connection::Connection) to
//! a real Master, and send recorded frames. Connections break, and messages on one connection overtake messages on
//! another. Peers share a connection. The Master ends or crashes and is recovered. Hostile peers send garbage, register
//! incompletely, and use others' names.
//!
//! [`Scenario`] describes a world, and [`run()`] simulates it, with virtual time and chance from a seed. Each event of
//! a connection and its effects are compared with an independent record (`ledger`). Then faults stop and hostile peers
//! leave. All honest peers must then be registered, and all their requests answered.
//!
//! - `scenario`, `run`, `perform`: the description of a world, one run, and how effects are performed.
//! - `line`: one connection with both its ends.
//! - `masters`: the starts, ends and crashes of Masters.
//! - `forge`: frames made from recorded frames, with other names.
//! - `people`, `strangers`: honest and hostile peers.
//! - `ledger`: the independent record, and the laws.
//! - `sabotage`: the deliberate bugs.

mod forge;
mod ledger;
mod line;
mod masters;
mod people;
mod perform;
mod run;
mod sabotage;
mod scenario;
mod strangers;

use firesteel_spark::connection::{Closing, Effect, Event, Note, PeerEnd};

use crate::coverage::{Coverage, Kinds, kinds};

pub use run::{run, run_sabotaged};
pub use sabotage::SparkSabotage;
pub use scenario::Scenario;

/// The enums of all events, effects and faults of a connection.
fn all_kinds() -> [Kinds; 5] {
    [kinds::<Event>(), kinds::<Effect>(), kinds::<Note>(), kinds::<Closing>(), kinds::<PeerEnd>()]
}

fn see_event(coverage: &mut Coverage, event: &Event) {
    coverage.count(event);
    if let Event::Dismissed { dismissal, .. } = event {
        coverage.count(dismissal);
    }
}

fn see_effect(coverage: &mut Coverage, effect: &Effect) {
    coverage.count(effect);
    match effect {
        Effect::Note(note) => coverage.count(note),
        Effect::Close(closing) => coverage.count(closing),
        _ => {}
    }
}
