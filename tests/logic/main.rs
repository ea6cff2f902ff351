//! The fast tests: everything that needs no process and no socket.

#![allow(unreachable_pub, reason = "nothing outside can reach into a test binary")]

mod attempts;
mod containers;
mod exclusion;
mod fair_queue;
mod fixtures;
mod garbage;
mod house;
mod map_runs;
mod on_yarn;
mod placement;
mod scripts;
mod sessions;
mod simulation;
mod spark_peers;
mod state_pages;
mod suites;
mod targets;
mod traces;
mod wire;
