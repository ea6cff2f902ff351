//! The laws that every run must keep, and the facts that they are held against.
//!
//! - `truth`: what is really so: which executors ran, and what each driver's tasks did.
//! - `ledger`, `reigns`: second sets of books, for a Master and for Masters that lead one after the other.
//! - `headcount`, `entrance`: the requests of drivers, and who is taken in.
//! - `healing`: after the faults everything recovers by itself.
//! - `coverage`: counts of what happened, so that nothing is held that never happens.

pub(crate) mod coverage;
pub(super) mod entrance;
pub(super) mod headcount;
pub(super) mod healing;
pub(super) mod ledger;
pub(super) mod reigns;
pub(super) mod truth;
