//! The fast loop: everything that can be tested without a process or a socket.

#![allow(unreachable_pub, reason = "nothing outside can reach into a test binary")]

mod attempts;
mod containers;
mod exclusion;
mod fair_queue;
mod fixtures;
mod garbage;
mod golden;
mod house;
mod laws;
mod map_runs;
mod on_yarn;
mod placement;
mod published;
mod replay;
mod runbook;
mod scripts;
mod sessions;
mod simulation;
mod spark_peers;
mod state_pages;
mod targets;
mod trace;
mod wire;
mod worlds;
