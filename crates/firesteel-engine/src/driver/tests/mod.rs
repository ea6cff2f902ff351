//! Tests of the driver: tables of events, each with every effect that follows.

mod application;
mod away;
mod bench;
mod cancel;
mod comparison;
mod exclusion;
mod heartbeats;
mod leaders;
mod locality;
mod losses;
mod output;
mod profiles;
mod questions;
mod resources;
mod scaling;
mod shortage;
mod targets;
mod tasks;
mod walk;
