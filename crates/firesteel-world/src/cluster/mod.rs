//! Whole clusters in one thread: the real state machines in a world of virtual time, with chance from a
//! seed, connections that break and processes that misbehave.
//!
//! [`Scenario`] describes a cluster, and [`run()`] simulates it. While faults strike, nothing unsafe may
//! happen. After each event the machine's own invariants are checked, its effects are compared with what is
//! really so (`truth`), and the Master is compared with a second set of books (`ledger`). Then all faults
//! stop and the cluster must recover by itself (`healing`).
//!
//! - `scenario`, `needs`, `wishes`, `faults`: the description of a cluster, its applications and its
//!   faults.
//! - `world`, `run`, `happening`: virtual time, the queue of happenings, and one run.
//! - `node`, `lives`, `processes`, `task_lives`: processes, with or without a state machine.
//! - `launches`: launchers, whose executors are commands; `cluster_drivers`: drivers that run on Workers.
//! - `master_disk`: what a Master has written down, and restarts from it.
//! - `election`: several Masters, of which one leads.
//! - `network`, `links`, `message`, `busy_master`, `stalls`, `partitions`: connections, messages, and
//!   what delays them.
//! - `perform`, `fetches`, `cleaning`, `disks`, `logs`: the effects of machines.
//! - `strikes`, `strangers`, `users`: faults, hostile peers, and what users do.
//! - `truth`, `ledger`, `reigns`, `headcount`, `entrance`, `healing`: the laws.
//! - `sabotage`, `saboteur`, `coverage`: deliberate bugs, how they change a machine, and counts of what happened.

mod busy_master;
mod cleaning;
mod cluster_drivers;
pub(crate) mod coverage;
mod disks;
mod election;
mod entrance;
mod faults;
mod fetches;
mod happening;
mod headcount;
mod healing;
mod launches;
mod leaving;
mod ledger;
mod links;
mod lives;
mod logs;
mod master_disk;
mod message;
mod needs;
mod network;
mod node;
mod partitions;
mod perform;
mod processes;
mod reigns;
mod run;
mod sabotage;
mod saboteur;
mod scenario;
mod shortages;
mod stalls;
mod strangers;
mod strikes;
mod task_lives;
mod truth;
mod users;
mod wishes;
mod world;

pub use busy_master::BusySpell;
pub use coverage::{Coverage, Row, Tally};

pub use disks::FullDisk;
pub use election::{Deposition, Election, Way};
pub use faults::{Fault, FaultPlan};
pub use leaving::Departure;
pub use partitions::{Partition, Party};
pub use run::{Failure, Outcome, Telling, run, run_sabotaged};
pub use sabotage::Sabotage;
pub use scenario::{AppKind, AppPlan, Scenario, TaskFate, TaskPlan, WorkerPlan};
pub use stalls::Stall;
pub use wishes::LocalityPlan;
