//! Real processes on loopback: the `firesteel` binary as its users run it.
//!
//! [`cluster`] starts daemons and waits for their actions. Nothing here sleeps for a fixed time: every wait is for an
//! event, with a deadline. After it, the test fails and shows the logs.

mod cluster;
mod commands;
mod daemons;
mod executors;
mod paper;
mod peers;
mod proxy;
mod runs;
mod spark;
mod transcripts;
