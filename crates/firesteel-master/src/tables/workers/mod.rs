//! The Workers: the living ones, and the lost ones that the Master remembers.

pub(crate) mod availability;
mod consistency;
mod dead;
pub(crate) mod exclusion;
pub(crate) mod global_exclusion;
pub(crate) mod health;
pub(crate) mod label_counts;
pub(crate) mod orders;
pub(crate) mod row;
pub(crate) mod silence;
pub(crate) mod table;
pub(crate) mod unknown_processes;
mod views;
mod withholding;
