//! `firesteel master`.

use clap::{ArgAction, Args as ClapArgs};
use firesteel::master::{self, MasterError, Options};
use firesteel::settings::Reader;

use super::block_on;
use super::common::{self, Conf, Held};
use super::exit::{Exit, Failure};

/// The flags of Spark's Master.
#[derive(Debug, ClapArgs)]
#[command(disable_help_flag = true, after_help = common::help(HELP, Reader::Master))]
pub(super) struct Args {
    /// The name or address to listen on, which Workers and applications use to connect
    #[arg(short = 'h', long, env = "SPARK_MASTER_HOST", default_value = "127.0.0.1")]
    host: String,
    /// The port to listen on; 0 is any free one
    #[arg(short, long, env = "SPARK_MASTER_PORT", default_value = "7077")]
    port: String,
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

Exit codes: 0 ended by ctrl-c, SIGTERM or SIGHUP; 1 failed, as when the port is taken; 2 wrong usage; \
78 a file or variable with settings is wrong.";

/// Runs a Master until it is asked to end.
pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    let options = Options {
        address: common::address(&args.host, &args.port, "--port", 7077)?,
        properties: args.conf.properties()?,
        announcement: args.held.announcement(),
        life: args.held.life(),
    };
    match block_on(master::run(options))? {
        Ok(()) => Ok(Exit::Done),
        Err(MasterError::Setting(error)) => Err(Failure::setting(&error)),
        Err(error @ (MasterError::Listen(_) | MasterError::Signals(_))) => {
            Err(Failure::with(Exit::Failure, &error))
        }
    }
}
