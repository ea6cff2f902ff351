//! `firesteel worker`: starts a Worker.

use std::net::IpAddr;
use std::path::Path;

use clap::{ArgAction, Args as ClapArgs};
use firesteel_daemons::http::HttpError;
use firesteel_daemons::join;
use firesteel_daemons::worker::{self, Options, WorkerError, capacity};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::address::{Address, parse_masters};
use firesteel_protocol::byte_text;
use firesteel_protocol::master_search::connect_error;
use firesteel_protocol::messages::MOST_CORES;
use firesteel_settings::http::HttpSettings;
use firesteel_settings::properties::Property;
use firesteel_settings::size::{self, Unit};
use firesteel_settings::variables::Environment;
use firesteel_settings::{Origin, Properties, Reader, WorkerSettings, keys, resources, sources};
use nix::unistd::{AccessFlags, access, gethostname};

use crate::cli::exit::{Exit, Failure};
use crate::cli::help;
use crate::cli::options::any_bytes::any_bytes;
use crate::cli::options::common::DaemonFlags;
use crate::cli::options::conf::{self, Conf};
use crate::cli::options::flag_value::{self, FlagValue, choose};
use crate::cli::{block_on, run_daemon};

/// The options of `firesteel worker`, which include the flags of Spark's Worker.
#[derive(Debug, ClapArgs)]
#[command(
    disable_help_flag = true,
    after_help = help::short("worker", EXAMPLES),
    after_long_help = conf::help(HELP, Reader::Worker)
)]
pub(in crate::cli) struct Args {
    /// Masters to register with: spark://HOST:PORT[,HOST:PORT..] [default: spark.master, then $MASTER]
    #[arg(value_name = "MASTER", conflicts_with = "master")]
    masters: Option<String>,
    /// Same as the argument MASTER
    #[arg(long, value_name = "URL", hide_short_help = true)]
    master: Option<String>,
    /// Host name or address to listen on; the Master and Spark's executors connect to it [default: 127.0.0.1]
    /// [env: SPARK_WORKER_HOST, SPARK_LOCAL_HOSTNAME, SPARK_LOCAL_IP]
    #[arg(short = 'h', long, short_alias = 'i', alias = "ip")]
    host: Option<String>,
    /// Port to listen on; 0 takes any free port [default: 0] [env: SPARK_WORKER_PORT]
    #[arg(short, long)]
    port: Option<String>,
    /// Cores for executors [default: all of this machine] [env: SPARK_WORKER_CORES]
    #[arg(short, long)]
    cores: Option<String>,
    /// Memory for executors, with its unit, such as 4g [default: all but 1 GiB] [env: SPARK_WORKER_MEMORY]
    #[arg(short, long)]
    memory: Option<String>,
    /// Directory in which each executor gets a directory of its own [default: $SPARK_HOME/work, or work] [env:
    /// SPARK_WORKER_DIR]
    #[arg(short = 'd', long, value_name = "DIR", value_parser = any_bytes())]
    work_dir: Option<String>,
    /// Custom resource of this machine, such as gpu=2, or with addresses gpu=0,1,5; may be repeated
    ///
    /// gpu=2 has the addresses 0 and 1. A single address is written with a comma: gpu=5,
    #[arg(long = "resource", value_name = "NAME=..")]
    resources: Vec<String>,
    /// Offer the GPUs that nvidia-smi lists, as gpu with their models as kinds; parts by MIG have their UUIDs as
    /// addresses
    #[arg(long, value_name = "auto")]
    gpus: Option<String>,
    /// Port for HTTP: JSON, health, metrics; 0 takes any free port, none turns HTTP off [default: 8081, or the next
    /// free one; any free one with --port 0] [env: SPARK_WORKER_WEBUI_PORT]
    #[arg(long, value_name = "PORT")]
    webui_port: Option<String>,
    /// Ask the Master for credentials, which an administrator admits with firesteel approve, and write them into the
    /// file that firesteel.credentials.file names; if it is there, nothing is asked
    #[arg(long)]
    join: bool,
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

const EXAMPLES: &str = "  firesteel worker spark://127.0.0.1:7077
  firesteel worker --host node-2 spark://node-1:7077
  firesteel worker --host node-2 --cores 8 --memory 16g --resource gpu=0,1 spark://node-1:7077";

const HELP: &str = "\
A Worker runs any program that an application of its Master asks for, as the user that started the Worker. It listens on \
127.0.0.1 by default. For a cluster of several machines, make credentials (firesteel secret --help), and give the name or \
address by which the other machines reach this one: --host node-2. Without firesteel.credentials.file it listens \
there only with firesteel.insecure=true.

Executors and their tasks inherit the environment of the Worker, and nothing of the environment of the command that \
submitted them.

  firesteel worker spark://127.0.0.1:7077
  firesteel worker --host node-2 spark://node-1:7077
  firesteel worker --host node-2 --cores 8 --memory 16g --resource gpu=0,1 spark://node-1:7077

Exit codes: 0 ended by ctrl-c, SIGTERM or SIGHUP; 1 failed; 2 wrong usage; 69 no Master could be reached; 78 a settings \
file or variable is wrong, or other machines could connect without a secret.";

/// Runs a Worker until it is asked to end.
pub(in crate::cli) fn run(args: Args) -> Result<Exit, Failure> {
    let environment = Environment::of_this_process();
    let chosen = |name, given: &Option<String>| choose(Reader::Worker, name, given.as_deref(), &environment);
    let port = chosen("--port", &args.port);
    let address = flag_value::address(&chosen("--host", &args.host), &port)?;
    let mut properties = args.conf.properties(Reader::Worker)?;
    if let Some(port) = &args.webui_port {
        properties.set(keys::WORKER_UI_PORT, port.as_str(), Origin::Flag("--webui-port"));
    }
    if let Some(gpus) = &args.gpus {
        properties.set(keys::WORKER_GPUS, gpus.as_str(), Origin::Flag("--gpus"));
    }
    let is_any_port = port.chosen().is_some() && address.port == 0;
    let http = HttpSettings::of_worker(&properties, is_any_port).map_err(|error| Failure::setting(&error))?;
    let masters = masters(&args, &properties)?;
    warn_of_loopback(&address, &masters);
    warn_of_script(&environment);
    let cores = cores(&chosen("--cores", &args.cores))?;
    let memory = memory(&chosen("--memory", &args.memory))?;
    let resources = resources::parse(args.resources.iter().map(String::as_str));
    let resources = resources.map_err(|error| Failure::of(Exit::Usage, format!("--resource: {error}")))?;
    let settings = WorkerSettings::of(&properties).map_err(|error| Failure::setting(&error))?;
    let resources = block_on(worker::discover(settings.resources.clone().with_flags(resources)))?;
    let resources = resources.map_err(|error| Failure::of_start(&error))?;
    if args.join {
        join(&properties, &masters, &address)?;
    }
    let options = Options {
        address,
        masters,
        cores,
        memory,
        resources,
        work_directory: byte_text::path(&chosen("--work-dir", &args.work_dir).text),
        settings,
        http,
        announcement: args.daemon_flags.announcement(),
        lifetime: args.daemon_flags.lifetime(),
        keyring: args.daemon_flags.keyring(&properties)?,
    };
    run_daemon(worker::run(options))?.map(|()| Exit::Done).map_err(|error| {
        let exit = match &error {
            WorkerError::NoMaster { errors, .. } => Exit::Unanswered(connect_error::evidence(errors)),
            WorkerError::UnsoundHost { .. } => Exit::Usage,
            WorkerError::Exposed(_)
            | WorkerError::Account { .. }
            | WorkerError::Tls(_)
            | WorkerError::NotConfined { .. }
            | WorkerError::NoQuota
            | WorkerError::Http(HttpError::Tls(_)) => Exit::Configuration,
            WorkerError::WorkDirectory(_)
            | WorkerError::Listen(_)
            | WorkerError::Http(_)
            | WorkerError::OwnProgram(_)
            | WorkerError::Signals(_)
            | WorkerError::Adoption(_)
            | WorkerError::ShuffleService(_)
            | WorkerError::Refused(_) => return Failure::of_start(&error),
        };
        Failure::with(exit, &error)
    })
}

/// Gets the credentials of a Worker, unless they are there.
fn join(properties: &Properties, masters: &[Address], own: &Address) -> Result<(), Failure> {
    let Some(path) = properties.get(keys::CREDENTIALS_FILE).map(byte_text::path) else {
        let words = "--join needs a file for the credentials: set firesteel.credentials.file, or FIRESTEEL_CREDENTIALS_FILE";
        return Err(Failure::of(Exit::Configuration, words));
    };
    if path.exists() {
        return Ok(());
    }
    // It would be too late to find this out when the machine is admitted.
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    if let Err(error) = access(directory.unwrap_or(Path::new(".")), AccessFlags::W_OK) {
        let words = format!("--join: cannot write {}: {error}", path.display());
        return Err(Failure::of(Exit::Configuration, words));
    }
    let host = match is_loopback(&own.host) {
        true => gethostname().map(|name| name.to_string_lossy().into_owned()),
        false => Ok(own.host.clone()),
    };
    let show = |master: &Address, number: &str| {
        tracing::warn!(
            "{} admits this machine when an administrator runs: firesteel approve {number}",
            master.url()
        );
    };
    let joined = block_on(join::join(masters, &host.unwrap_or_default(), &path, show))?;
    joined.map_err(|error| Failure::with(Exit::Failure, &error))?;
    tracing::info!("admitted: the credentials of a Worker are in {}", path.display());
    Ok(())
}

/// The Masters from the command line, or from the properties, which include `$MASTER`.
fn masters(args: &Args, properties: &Properties) -> Result<Vec<Address>, Failure> {
    if let Some(url) = args.masters.as_deref().or(args.master.as_deref()) {
        return parse_masters(url).map_err(|error| Failure::with(Exit::Usage, &error));
    }
    let Some(Property { value, origin }) = properties.all(keys::MASTER).next() else {
        let words =
            "no Master given: write firesteel worker spark://HOST:PORT, or set spark.master or $MASTER";
        return Err(Failure::of(Exit::Usage, words));
    };
    let words = |error| format!("{} of {origin}: {error}", keys::MASTER);
    parse_masters(value).map_err(|error| Failure::of(Exit::Configuration, words(error)))
}

/// Logs a warning if a Worker listens on loopback while its Master runs on another machine.
fn warn_of_loopback(own: &Address, masters: &[Address]) {
    let elsewhere = masters.iter().find(|master| !is_loopback(&master.host));
    if let (true, Some(master)) = (is_loopback(&own.host), elsewhere) {
        tracing::warn!(
            "only this machine can connect to {}, and the Master is {}: set --host to the name or address by which \
             other machines reach this one",
            own.host,
            master.url()
        );
    }
}

/// Logs a warning if there is a spark-env.sh. Spark's start scripts read this file; Firesteel does not.
fn warn_of_script(environment: &Environment) {
    // Spark's scripts and `firesteel cluster` set this variable after they have sourced the file.
    if environment.get("SPARK_ENV_LOADED").is_some() {
        return;
    }
    let script = sources::conf_directory(environment).map(|directory| directory.join("spark-env.sh"));
    if let Some(script) = script.filter(|script| script.is_file()) {
        tracing::warn!(
            "{} is not read: source it before starting the Worker (see firesteel config check)",
            script.display()
        );
    }
}

/// Whether only this machine can connect to this host.
pub(in crate::cli) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The number of cores to offer. `config check` uses this function, too.
pub(in crate::cli) fn cores(value: &FlagValue) -> Result<Cores, Failure> {
    let Some(text) = value.chosen() else { return Ok(capacity::cores()) };
    match text.parse::<i64>().map(Cores) {
        Ok(cores) if cores > Cores::ZERO && cores <= MOST_CORES => Ok(cores),
        Ok(_) | Err(_) => {
            let words = format!("write a whole number from 1 to {MOST_CORES}");
            Err(value.error(format_args!(" cannot be {text:?}: {words}")))
        }
    }
}

/// The amount of memory to offer. `config check` uses this function, too.
pub(in crate::cli) fn memory(value: &FlagValue) -> Result<MiB, Failure> {
    let Some(text) = value.chosen() else { return Ok(capacity::memory()) };
    size::memory(text, Unit::Bytes).map_err(|error| value.error(format_args!(": {error}")))
}
