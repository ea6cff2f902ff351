//! `firesteel application-master`. Only a NodeManager runs this command, in a container of an application on YARN.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use firesteel_yarn_mode::application_master;

use crate::cli::exit::{Exit, Failure};
use crate::cli::run_daemon;

/// The arguments of an ApplicationMaster.
#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct Args {
    /// The file that says what to do
    #[arg(long, value_name = "FILE")]
    blueprint: PathBuf,
}

/// Runs the containers of an application until the application is over.
pub(in crate::cli) fn run(args: Args) -> Result<ExitCode, Failure> {
    let ended = run_daemon(async move { application_master::run_in_container(&args.blueprint).await })?;
    let ended = ended.map_err(|error| Failure::with(Exit::Failure, &error))?;
    tracing::info!("{}: {}", ended.status, ended.message);
    Ok(ExitCode::from(u8::try_from(ended.code).unwrap_or(u8::MAX)))
}
