//! Whole clusters in one thread: the real state machines in virtual time. A seed determines all random choices.
//! Connections break, and processes misbehave.
//!
//! [`Scenario`] describes a cluster, and [`run()`] simulates it. While faults strike, nothing unsafe may happen. After
//! each event the machine's own invariants are checked. The machine's effects are compared with the facts of the world
//! (`laws::truth`), and the Master with an independent record (`laws::ledger`). Then all faults stop and the cluster
//! must recover by itself (`laws::healing`).
//!
//! - `scenario`: the description of a cluster and of its applications.
//! - `world`, `run`, `scheduled_event`, `events`: virtual time, the queue of planned events, one run, and how machines
//!   receive events.
//! - `processes`: processes, with or without a state machine, and the actions of their users.
//! - `network`: connections and messages.
//! - `effects`: the effects of machines on files, logs and disks.
//! - `faults`: faults, each with its plan, and hostile peers.
//! - `laws`: the laws, and the facts and second sets of books with which runs are compared.
//! - `sabotage`: deliberate bugs, and how they change a machine.

mod effects;
mod events;
mod faults;
pub(super) mod laws;
mod network;
mod processes;
mod run;
mod sabotage;
mod scenario;
mod scheduled_event;
mod world;

pub use faults::busy_master::BusyPeriod;
pub use faults::disks::FullDisk;
pub use faults::election::{Deposition, DepositionKind, Election};
pub use faults::leaving::Departure;
pub use faults::partitions::{Partition, Party};
pub use faults::stalls::Stall;
pub use faults::{Fault, FaultPlan};
pub use laws::coverage::{Coverage, Row, Tally};
pub use run::{Failure, Outcome, TraceMode, run, run_sabotaged};
pub use sabotage::Sabotage;
pub use scenario::host_preferences::LocalityPlan;
pub use scenario::{AppKind, AppPlan, Scenario, TaskFate, TaskPlan, WorkerPlan};
