//! `firesteel worker`.

use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs};
use firesteel::settings::size::{self, Unit};
use firesteel::settings::{Reader, WorkerSettings, resources};
use firesteel::worker::{self, Options, WorkerError, capacity};
use firesteel_core::address::parse_masters;
use firesteel_core::messages::MOST_CORES;
use firesteel_placement::Cores;

use super::block_on;
use super::common::{self, Conf, Held};
use super::exit::{Exit, Failure};

/// The flags of Spark's Worker.
#[derive(Debug, ClapArgs)]
#[command(disable_help_flag = true, after_help = common::help(HELP, Reader::Worker))]
pub(super) struct Args {
    /// The Masters to register with: spark://HOST:PORT[,HOST:PORT..]
    #[arg(value_name = "MASTER")]
    masters: String,
    /// The name or address to listen on
    #[arg(short = 'h', long, env = "SPARK_WORKER_HOST", default_value = "127.0.0.1")]
    host: String,
    /// The port to listen on; 0 is any free one
    #[arg(short, long, env = "SPARK_WORKER_PORT", default_value = "0")]
    port: String,
    /// Cores to give to executors [default: all]
    #[arg(short, long, env = "SPARK_WORKER_CORES")]
    cores: Option<String>,
    /// Memory to give to executors, with its unit: 4g [default: all but 1 GiB]
    #[arg(short, long, env = "SPARK_WORKER_MEMORY")]
    memory: Option<String>,
    /// Where executors run, each in its own directory
    #[arg(short = 'd', long, env = "SPARK_WORKER_DIR", default_value = "work", value_name = "DIR")]
    work_dir: PathBuf,
    /// A custom resource: an amount (gpu=2) or addresses (gpu=0,1,5); may be given several times
    #[arg(long = "resource", value_name = "NAME=..")]
    resources: Vec<String>,
    #[command(flatten)]
    conf: Conf,
    #[command(flatten)]
    held: Held,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

const HELP: &str = "\
There is no authentication yet: a Worker runs what its Master's applications ask for, as the user that it runs as.

Exit codes: 0 ended by ctrl-c, SIGTERM or SIGHUP; 1 failed; 2 wrong usage; 69 no Master could be reached; 78 a file or \
variable with settings is wrong.";

/// Runs a Worker until it is asked to end.
pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    fn usage(error: impl std::error::Error) -> Failure {
        Failure::with(Exit::Usage, &error)
    }
    let address = common::address(&args.host, &args.port, "--port", 0)?;
    let masters = parse_masters(&args.masters).map_err(usage)?;
    let cores = args.cores.as_deref().map(cores).transpose()?;
    let memory = args.memory.as_deref().map(|text| size::memory(text, Unit::Bytes)).transpose();
    let memory = memory.map_err(|error| Failure::of(Exit::Usage, format!("--memory: {error}")))?;
    let resources = resources::parse(args.resources.iter().map(String::as_str));
    let resources = resources.map_err(|error| Failure::of(Exit::Usage, format!("--resource: {error}")))?;
    let properties = args.conf.properties()?;
    let settings = WorkerSettings::of(&properties).map_err(|error| Failure::setting(&error))?;
    properties.warn_of_unknown();
    let options = Options {
        address,
        masters,
        cores: cores.unwrap_or_else(capacity::cores),
        memory: memory.unwrap_or_else(capacity::memory),
        resources,
        work_directory: args.work_dir,
        settings,
        announcement: args.held.announcement(),
        life: args.held.life(),
    };
    block_on(worker::run(options))?.map(|()| Exit::Done).map_err(|error| {
        let exit = match error {
            WorkerError::NoMaster { .. } => Exit::Unreachable,
            WorkerError::UnsoundHost { .. } => Exit::Usage,
            WorkerError::WorkDirectory(_)
            | WorkerError::Listen(_)
            | WorkerError::OwnProgram(_)
            | WorkerError::Signals(_)
            | WorkerError::Reaper(_)
            | WorkerError::Refused(_) => Exit::Failure,
        };
        Failure::with(exit, &error)
    })
}

fn cores(text: &str) -> Result<Cores, Failure> {
    match text.parse::<i64>().map(Cores) {
        Ok(cores) if cores > Cores::ZERO && cores <= MOST_CORES => Ok(cores),
        Ok(_) | Err(_) => {
            let words = format!("--cores cannot be {text:?}: write a whole number from 1 to {MOST_CORES}");
            Err(Failure::of(Exit::Usage, words))
        }
    }
}
