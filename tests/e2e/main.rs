//! Real processes on loopback: the `firesteel` binary as its users run it.
//!
//! [`cluster`] starts daemons and waits for what they do. Nothing here sleeps for a fixed time: every wait is
//! for something that happens, with a deadline after which the test fails and shows the logs.

mod answers;
mod bad_worker;
mod classic;
mod cleaning;
mod cli;
mod client;
mod cluster;
mod config;
mod crowd;
mod dead_workers;
mod deaf;
mod decommission;
mod driver;
mod dynamic_allocation;
mod environment;
mod exclusion;
mod executor;
mod files;
mod flips;
mod hosts;
mod http;
mod launch;
mod local_cluster;
mod locality;
mod logs;
mod lying;
mod man;
mod map;
mod map_left;
mod mixed_versions;
mod outcomes;
mod pictures;
mod plan;
mod plan_cluster;
mod proxy;
mod recovery;
mod resources;
mod retries;
mod service_manager;
mod settings;
mod shell;
mod shuffle_service;
mod silent;
mod simulate;
mod spark;
mod stuck;
mod submit;
mod terminal;
mod top;
mod transcripts;
mod two_masters;
mod wire;
mod worker;
