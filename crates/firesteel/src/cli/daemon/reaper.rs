//! `firesteel __reaper`: starts an executor, and ends all of its processes. Only a Worker starts this command, once for
//! each executor. So it begins before the command line is parsed, which would take longer than all that it does.

use std::process::ExitCode;

use firesteel_daemons::worker::reaper::{COMMAND, process};

use crate::cli::exit::{ErrorFormat, Exit, Failure};

/// Whether this process was started as a reaper.
pub(in crate::cli) fn is_asked() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == COMMAND)
}

pub(in crate::cli) fn run() -> ExitCode {
    match process::run() {
        Ok(()) => Exit::Done.into(),
        Err(error) => Failure::of_start(&error).report(ErrorFormat::Text),
    }
}
