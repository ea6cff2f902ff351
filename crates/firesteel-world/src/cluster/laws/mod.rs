//! The laws of every run, and the facts of the world with which a run is compared.
//!
//! - `truth`: the facts: which executors ran, and what each driver's tasks did.
//! - `ledger`, `terms`: second sets of books, for a Master and for Masters that lead one after the other.
//! - `headcount`, `entrance`: the requests of drivers, and which peers are accepted.
//! - `exchanges`: the messages between executors and drivers over broken connections.
//! - `healing`: after the faults everything recovers by itself.
//! - `coverage`: counts of events and faults, which show that every law was tested.

pub(crate) mod coverage;
pub(super) mod entrance;
pub(crate) mod exchanges;
pub(super) mod headcount;
pub(super) mod healing;
pub(super) mod ledger;
pub(super) mod terms;
pub(super) mod truth;
