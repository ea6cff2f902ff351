//! The Workers: the living ones, and the lost ones that are remembered.

pub(crate) mod availability;
mod consistency;
mod dead;
pub(crate) mod distrust;
pub(crate) mod exclusion;
pub(crate) mod foreigners;
pub(crate) mod label_counts;
pub(crate) mod orders;
pub(crate) mod row;
pub(crate) mod silence;
pub(crate) mod standing;
pub(crate) mod table;
mod views;
mod withholding;
