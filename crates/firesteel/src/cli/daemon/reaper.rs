//! `firesteel __reaper`: ends the processes that a Worker leaves behind. Only a Worker starts this command.

use clap::Args as ClapArgs;
use firesteel_daemons::worker::worker_processes;
use firesteel_protocol::ids::WorkerId;

use crate::cli::exit::{Exit, Failure};

/// The arguments that a Worker passes to its reaper.
#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct Args {
    /// The Worker's id
    worker: String,
}

pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    worker_processes::run(&WorkerId::new(args.worker.as_str()))
        .map(|()| Exit::Done)
        .map_err(|error| Failure::with(Exit::Failure, &error))
}
