//! `firesteel master`: starts a Master.

use clap::{ArgAction, Args as ClapArgs};
use firesteel_daemons::http::HttpError;
use firesteel_daemons::master::{self, MasterError, Options};
use firesteel_master::UnknownExecutors;
use firesteel_settings::variables::Environment;
use firesteel_settings::{Origin, Reader, keys};

use crate::cli::exit::{Exit, Failure};
use crate::cli::help;
use crate::cli::journal;
use crate::cli::options::common::DaemonFlags;
use crate::cli::options::conf::{self, Conf};
use crate::cli::options::flag_value::{self, choose};
use crate::cli::run_daemon;

/// The options of `firesteel master`, which include the flags of Spark's Master.
#[derive(Debug, ClapArgs)]
#[command(
    disable_help_flag = true,
    after_help = help::short("master", EXAMPLES),
    after_long_help = conf::help(HELP, Reader::Master)
)]
pub(in crate::cli) struct Args {
    /// Host name or address to listen on; Workers and drivers connect to it [default: 127.0.0.1]
    /// [env: SPARK_MASTER_HOST, SPARK_LOCAL_HOSTNAME, SPARK_LOCAL_IP]
    #[arg(short = 'h', long, short_alias = 'i', alias = "ip")]
    host: Option<String>,
    /// Port to listen on; 0 takes any free port [default: 7077] [env: SPARK_MASTER_PORT]
    #[arg(short, long)]
    port: Option<String>,
    /// Port for HTTP: JSON, health, metrics; 0 takes any free port, none turns HTTP off [default: 8080, or the next
    /// free one; any free one with --port 0] [env: SPARK_MASTER_WEBUI_PORT]
    #[arg(long, value_name = "PORT")]
    webui_port: Option<String>,
    /// Rule that chooses Workers for applications that name none: a policy, or expr:EXPRESSION [default: spark]
    #[arg(long, value_name = "NAME")]
    placement_policy: Option<String>,
    /// Begin with a new state and end executors of earlier Masters at once; without it they go on for
    /// spark.deploy.recoveryTimeout, in case the Master was started in the wrong directory
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    conf: Conf,
    #[command(flatten)]
    daemon_flags: DaemonFlags,
    /// Print all options and details; -h without a host prints the common options
    #[arg(long, action = ArgAction::HelpLong)]
    help: Option<bool>,
    /// Print the common options
    #[arg(long, hide = true, action = ArgAction::HelpShort)]
    short_help: Option<bool>,
}

const EXAMPLES: &str = "  firesteel master                     a cluster on this machine alone
  firesteel master --host node-1       a cluster of several machines
  firesteel master --host node-1 --conf spark.deploy.spreadOutApps=false
  firesteel master --host node-1 --new     give up what earlier Masters ran
  firesteel master --host node-1 --conf spark.deploy.recoveryMode=ZOOKEEPER \\
      --conf spark.deploy.zookeeper.url=zk-1:2181,zk-2:2181,zk-3:2181
                                       one of several Masters; the same on node-2 stands by";

const HELP: &str = "\
Without credentials, anyone who can connect to the port can run programs on the Workers. A Master therefore listens on \
127.0.0.1 by default, and elsewhere only with firesteel.credentials.file or firesteel.insecure=true. For a cluster of several machines, make credentials (firesteel secret --help), and give the \
name or address by which the other machines reach this one: --host node-1. With --host 0.0.0.0 the Master listens on all addresses and \
announces the machine's host name.

  firesteel master                     a cluster on this machine alone
  firesteel master --host node-1       a cluster of several machines
  firesteel master --host node-1 --conf spark.deploy.spreadOutApps=false
  firesteel master --host node-1 --new     give up what earlier Masters ran
  firesteel master --host node-1 --conf spark.deploy.recoveryMode=ZOOKEEPER \\
      --conf spark.deploy.zookeeper.url=zk-1:2181,zk-2:2181,zk-3:2181
                                       one of several Masters; the same on node-2 stands by

Exit codes: 0 ended by ctrl-c, SIGTERM or SIGHUP; 1 failed, for example because the port is in use; 2 wrong usage; \
78 a settings file or variable is wrong, or other machines could connect without a secret.";

/// Runs a Master until it is asked to end.
pub(in crate::cli) fn run(args: Args) -> Result<Exit, Failure> {
    let environment = Environment::of_this_process();
    let host = choose(Reader::Master, "--host", args.host.as_deref(), &environment);
    let port = choose(Reader::Master, "--port", args.port.as_deref(), &environment);
    let mut properties = args.conf.properties(Reader::Master)?;
    if let Some(port) = args.webui_port {
        properties.set(keys::MASTER_UI_PORT, port, Origin::Flag("--webui-port"));
    }
    if let Some(rule) = args.placement_policy {
        properties.set(keys::PLACEMENT_POLICY, rule, Origin::Flag("--placement-policy"));
    }
    let options = Options {
        address: flag_value::address(&host, &port)?,
        keyring: args.daemon_flags.keyring(&properties)?,
        properties,
        announcement: args.daemon_flags.announcement(),
        lifetime: args.daemon_flags.lifetime(),
        foreign: if args.new { UnknownExecutors::Ended } else { UnknownExecutors::Held },
    };
    match run_daemon(master::run(options))? {
        Ok(()) => Ok(Exit::Done),
        Err(MasterError::Setting(error)) => Err(Failure::setting(&error)),
        Err(MasterError::State(error)) => Err(journal::failure(&error)),
        Err(
            error @ (MasterError::Exposed(_) | MasterError::Tls(_) | MasterError::Http(HttpError::Tls(_))),
        ) => Err(Failure::with(Exit::Configuration, &error)),
        Err(
            error @ (MasterError::Listen(_)
            | MasterError::Http(_)
            | MasterError::NotDurable(_)
            | MasterError::Acceptor(_)
            | MasterError::Signals(_)),
        ) => Err(Failure::of_start(&error)),
    }
}
