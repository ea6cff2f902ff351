//! Tests of the driver: tables of events, each with every effect that follows.

mod application;
mod bench;
mod cancel;
mod comparison;
mod exclusion;
mod heartbeats;
mod leaders;
mod locality;
mod losses;
mod moved;
mod output;
mod profiles;
mod questions;
mod resources;
mod scaling;
mod shortage;
mod targets;
mod tasks;
mod walk;
