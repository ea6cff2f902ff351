//! Simulated worlds of peers of Spark's at one Master.
//!
//! Drivers, Workers and clients come over connections, each with a real
//! [`Connection`](firesteel_spark::connection::Connection) at a real Master, and speak with recorded frames. Connections
//! break, what comes over one overtakes what comes over another one, peers share a connection, and the Master ends or crashes
//! and is recovered. Strangers send garbage, register by halves, and speak for others.
//!
//! [`Scenario`] describes a world, and [`run()`] simulates it, with virtual time and chance from a seed. Each event of a
//! connection and what comes of it is compared with a second set of books (`ledger`). Then faults stop and strangers go. All
//! who are honest must then be registered, and all their requests be answered.
//!
//! - `scenario`, `run`, `perform`: the description of a world, one run, and what comes of effects.
//! - `line`: one connection with both its ends.
//! - `masters`: how Masters begin, end and crash.
//! - `forge`: recorded frames with other names in them.
//! - `people`, `strangers`: those who come.
//! - `ledger`: the second set of books, and the laws.
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

use firesteel_spark::connection::{Closing, Dismissal, Effect, Event, Note};

use crate::coverage::{Coverage, Kinds, kinds};

pub use run::{run, run_sabotaged};
pub use sabotage::SparkSabotage;
pub use scenario::Scenario;

/// All that can happen to a connection.
fn all_kinds() -> [Kinds; 5] {
    [kinds::<Event>(), kinds::<Effect>(), kinds::<Note>(), kinds::<Closing>(), kinds::<Dismissal>()]
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
