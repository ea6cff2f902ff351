//! The scheduling pass, which decides which application gets which Workers.

pub(crate) mod choice;
pub(crate) mod lifetimes;
pub(crate) mod memory;
pub(crate) mod pass;
pub(crate) mod preemption;
pub(crate) mod preemption_costs;
pub(crate) mod queues;
pub(crate) mod reach;
pub(crate) mod user_rooms;
pub(crate) mod waiting_queues;
