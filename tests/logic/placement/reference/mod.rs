//! A slow reference for placements: the rule in its plainest form, random cases, and victims of preemption.

pub(super) mod case;
pub(super) mod plain_victims;

pub(super) use firesteel_testkit::placement_rule::{Ask, ORDERS, Order, Worker, assign, place};
