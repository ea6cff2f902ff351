//! Real processes on loopback: the `firesteel` binary as its users run it, and nothing else that a machine may lack.
//!
//! `firesteel_testkit` starts daemons and waits for what they do. Nothing here sleeps for a fixed time: every wait is
//! for something that happens, with a deadline after which the test fails and shows the logs.

mod commands;
mod daemons;
mod executors;
mod havoc;
mod paper;
mod peers;
mod runs;
mod spark;
mod transcripts;
