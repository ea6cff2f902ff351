//! `firesteel master`: starts a Master.

use clap::{ArgAction, Args as ClapArgs};
use firesteel_daemons::master::{self, MasterError, Options};
use firesteel_settings::Reader;
use firesteel_settings::variables::Environment;

use super::choice::{self, choose};
use super::common::Held;
use super::conf::{self, Conf};
use super::exit::{Exit, Failure};
use super::run_daemon;

/// The flags of Spark's Master.
#[derive(Debug, ClapArgs)]
#[command(disable_help_flag = true, after_help = conf::help(HELP, Reader::Master))]
pub(super) struct Args {
    /// The name or address to listen on, by which others connect [default: 127.0.0.1]
    /// [env: SPARK_MASTER_HOST, SPARK_LOCAL_HOSTNAME, SPARK_LOCAL_IP]
    #[arg(short = 'h', long)]
    host: Option<String>,
    /// The port to listen on; 0 is any free one [default: 7077] [env: SPARK_MASTER_PORT]
    #[arg(short, long)]
    port: Option<String>,
    #[command(flatten)]
    conf: Conf,
    #[command(flatten)]
    held: Held,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

const HELP: &str = "\
There is no authentication yet: whoever reaches the port can run programs on the Workers. Therefore a Master listens \
on 127.0.0.1 unless it is told otherwise. For a cluster of several machines, in a network that you trust, give the \
name or address by which the others reach this machine: --host node-1. With --host 0.0.0.0 it listens on all \
addresses and calls itself by the machine's name.

  firesteel master                     for this machine alone
  firesteel master --host node-1 --conf spark.deploy.spreadOutApps=false

Exit codes: 0 ended by ctrl-c, SIGTERM or SIGHUP; 1 failed, as when the port is taken; 2 wrong usage; \
78 a file or variable with settings is wrong.";

/// Runs a Master until it is asked to end.
pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    let environment = Environment::of_this_process();
    let host = choose(Reader::Master, "--host", args.host.as_deref(), &environment);
    let port = choose(Reader::Master, "--port", args.port.as_deref(), &environment);
    let options = Options {
        address: choice::address(&host, &port)?,
        properties: args.conf.properties(Reader::Master)?,
        announcement: args.held.announcement(),
        life: args.held.life(),
    };
    match run_daemon(master::run(options))? {
        Ok(()) => Ok(Exit::Done),
        Err(MasterError::Setting(error)) => Err(Failure::setting(&error)),
        Err(error @ (MasterError::Listen(_) | MasterError::Signals(_))) => {
            Err(Failure::with(Exit::Failure, &error))
        }
    }
}
