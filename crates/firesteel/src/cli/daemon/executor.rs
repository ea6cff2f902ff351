//! `firesteel executor`: runs an executor. Only a Worker starts it, for an application such as `firesteel map`.

use clap::Args as ClapArgs;
use firesteel_daemons::executor::daemon::{self, ExecutorError, Options};
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::secret::{EXECUTOR_SECRET, Secret};
use firesteel_settings::resources;

use crate::cli::exit::{Exit, Failure};
use crate::cli::run_daemon;

/// The flags of Spark's executor that have a meaning for Firesteel.
#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct Args {
    /// Where the driver listens
    #[arg(long, value_name = "HOST:PORT")]
    driver_url: Address,
    /// The application's id
    #[arg(long)]
    app_id: String,
    /// The executor's number
    #[arg(long)]
    executor_id: u32,
    /// The number of its resource profile
    #[arg(long, default_value_t = 0)]
    resource_profile_id: u32,
    /// The Worker's id
    #[arg(long)]
    worker_id: String,
    /// The Worker's host
    #[arg(long)]
    hostname: String,
    /// The executor's cores
    #[arg(long, value_parser = clap::value_parser!(i64).range(1..=2_147_483_647))]
    cores: i64,
    /// The addresses of its custom resources: gpu=0,1;nic=a
    #[arg(long, value_name = "NAME=ADDRESS,..;..", default_value = "", value_parser = resources::parse_exact)]
    resources: Resources,
    /// Encrypt the connection to the driver, with the application's secret
    #[arg(long, hide = true)]
    encrypted: bool,
}

/// Runs tasks until the driver ends or its connection is lost.
pub(in crate::cli) fn run(args: Args) -> Result<Exit, Failure> {
    daemon::die_with_parent().map_err(failed)?;
    let options = Options {
        driver: args.driver_url,
        app: AppId::new(args.app_id),
        executor: ExecutorId(args.executor_id),
        profile: ProfileId(args.resource_profile_id),
        worker: WorkerId::new(args.worker_id),
        host: args.hostname,
        cores: Cores(args.cores),
        resources: args.resources,
        // Without the secret, the driver refuses the executor.
        secret: Secret::new(std::env::var(EXECUTOR_SECRET).unwrap_or_default()),
        is_encrypted: args.encrypted,
    };
    // The exit code tells the Worker that the application is not at fault.
    run_daemon(daemon::run(options))?.map(|()| Exit::Done).map_err(failed)
}

/// The failure of an executor. From the exit code, the Master learns why the executor ended.
fn failed(error: ExecutorError) -> Failure {
    Failure::with(Exit::Executor(error.trouble()), &error)
}
