//! A slow reference for placements: the rule as one would say it, arbitrary cases in its words, and victims of preemption.

pub(super) mod case;
pub(super) mod plain_victims;

pub(super) use firesteel_testkit::placement_rule::{Ask, ORDERS, Order, Worker, assign, place};
