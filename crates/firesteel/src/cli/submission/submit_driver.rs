//! `firesteel submit`: submits a program as a cluster driver, and shows, awaits or ends a cluster driver.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args as ClapArgs;
use firesteel_daemons::wording::application::addresses;
use firesteel_host::plain::{self, clean};
use firesteel_placement::ResourceAmounts;
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{
    DRIVER_NAME, DriverDescription, DriverRestarts, DriverState, DriverView, KillDriverAnswer,
};
use firesteel_protocol::process::Command;
use firesteel_settings::cluster_driver::DriverSettings;
use firesteel_settings::secrets::shown_text;
use firesteel_settings::{Origin, Properties, Reader, keys};

use super::misplaced;
use super::submit::set_amounts;
use crate::cli::block_on;
use crate::cli::client::ask::{self, Cluster, Masters};
use crate::cli::client::document;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::options::any_bytes::any_bytes;
use crate::cli::options::conf::Conf;

const EXAMPLES: &str = "  firesteel submit --deploy-mode cluster --supervise -- python3 /srv/app.py
  firesteel submit --deploy-mode cluster --wait -- sh -c 'firesteel map -- gzip -k < /srv/files'
  firesteel submit --deploy-mode cluster --driver-resource gpu=1 -- python3 /srv/serve.py
  firesteel submit --status driver-20261120212235-0000
  firesteel submit --status driver-20261120212235-0000 --wait
  firesteel submit --kill driver-20261120212235-0000";

const NOTES: &str = "\
The Master gives the driver to a Worker that has cores and memory free for it, before any executor; until then it waits. The \
program must be there on every Worker; {{FIRESTEEL}} stands for the Worker's own firesteel. It runs in a directory of its own, \
DIR/DRIVER in the Worker's work directory, with its output in stdout and stderr there. Its environment is the Worker's, with \
MASTER (the cluster, which firesteel map and other commands read), FIRESTEEL_DRIVER_ID, FIRESTEEL_WORKER_ID, FIRESTEEL_CORES, \
FIRESTEEL_MEMORY_MIB and, for each --driver-resource, FIRESTEEL_RESOURCE_NAME with the addresses. The variables of this command are not sent.

With --supervise, a driver that ends with another exit code than 0 is started again on its Worker, after 1 s, 2 s, 4 s and so on \
(after a run of more than 5 s again after 1 s). If its Worker is lost, another driver with another id takes its place; --status, \
--kill and --wait follow it. Without --supervise, a driver whose Worker is lost is in state ERROR.

The id is printed as soon as the Master has written the driver down.";

const CODES: &str = "\
Exit codes: 0 done; with --wait the exit code of the driver, 128 + N if signal N ended it; 1 the driver is not known, is in state \
ERROR, or was refused; 2 wrong usage; 69 no Master could be reached; 75 a Master did not answer in time or in full: it may have taken \
the driver, which firesteel status shows; 76 what listens there is no Master of this version; 78 a settings file or variable is \
wrong.";

/// The pause between two requests while the command waits for a driver.
const PAUSE: Duration = Duration::from_millis(500);

/// How long Masters may be unreachable while the command waits for a driver.
const AWAY: Duration = Duration::from_secs(120);

/// The options of `firesteel submit`: submit a cluster driver, or show or kill one.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("submit", EXAMPLES),
    after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}")
)]
pub(in crate::cli) struct Args {
    /// Where the driver runs: only cluster, on a Worker; for drivers in this terminal use firesteel map, shell or
    /// launch
    #[arg(long, value_name = "MODE")]
    deploy_mode: Option<String>,
    /// Name of the driver, which firesteel status shows; the driver has it as FIRESTEEL_DRIVER_NAME
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Start the driver again when it fails or its Worker is lost
    #[arg(long)]
    supervise: bool,
    /// Cores that the driver takes of its Worker [default: 1]
    #[arg(long, value_name = "CORES")]
    driver_cores: Option<String>,
    /// Memory that the driver takes of its Worker, such as 512m or 2g [default: 1g]
    ///
    /// It is reserved for the driver, not enforced as a limit.
    #[arg(long, value_name = "SIZE")]
    driver_memory: Option<String>,
    /// Custom resource of the driver, such as gpu=1 or gpu:A100=1; may be repeated
    #[arg(long = "driver-resource", value_name = "NAME=AMOUNT")]
    driver_resources: Vec<String>,
    /// Wait until the driver has ended, and end with its exit code; also with --status DRIVER and --kill DRIVER
    #[arg(long)]
    wait: bool,
    /// Show this driver; with --wait, wait until it has ended, and end with its exit code
    #[arg(long, value_name = "DRIVER", conflicts_with_all = ["kill", "name", "deploy_mode", "supervise", "driver_cores", "driver_memory", "driver_resources", "program"])]
    status: Option<String>,
    /// Kill this driver; with --wait, wait until it has ended
    #[arg(long, value_name = "DRIVER", conflicts_with_all = ["name", "deploy_mode", "supervise", "driver_cores", "driver_memory", "driver_resources", "program"])]
    kill: Option<String>,
    /// Print the driver as one JSON value; with --wait, when it has ended
    #[arg(long, conflicts_with = "kill")]
    json: bool,
    #[command(flatten)]
    masters: Masters,
    #[command(flatten)]
    conf: Conf,
    /// Program to run, and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, value_parser = any_bytes())]
    program: Vec<String>,
}

impl Args {
    /// Whether the answer and errors are printed as JSON.
    pub(in crate::cli) fn prints_json(&self) -> bool {
        self.json
    }
}

/// Submits, shows or ends a driver.
pub(in crate::cli) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(program) = args.program.first() {
        misplaced::first_word("submit", program)?;
    }
    let properties = args.conf.properties(Reader::Application)?;
    let cluster = args.masters.or_those_of(&properties).cluster("submit")?;
    match (&args.status, &args.kill) {
        (Some(driver), _) => show(args, &cluster, &DriverId::new(driver.as_str())),
        (None, Some(driver)) => kill(args, &cluster, &DriverId::new(driver.as_str())),
        (None, None) => submit(args, properties, &cluster),
    }
}

fn submit(args: &Args, properties: Properties, cluster: &Cluster) -> Result<ExitCode, Failure> {
    let driver = description(args, properties)?;
    let id = match ask::now(cluster.submit_driver(&driver))? {
        Ok(driver) => driver,
        Err(why) => {
            return Err(Failure::of(Exit::Failure, format!("the Master refuses the driver: {why}")));
        }
    };
    if args.json {
        return show(args, cluster, &id);
    }
    say(id.as_str());
    // A user who waits for the driver should know why it does not start.
    if let Ok(Some(DriverView { wait: Some(wait), .. })) = block_on(cluster.driver(&id))? {
        let _ = writeln!(plain::stderr(), "firesteel: {id} waits: {wait}");
    }
    if args.wait { wait_for(cluster, &id) } else { Ok(Exit::Done.into()) }
}

/// The driver's description, from options and properties.
fn description(args: &Args, mut properties: Properties) -> Result<DriverDescription, Failure> {
    write_to(args, &mut properties);
    set_amounts(&mut properties, "--driver-resource", keys::DRIVER_RESOURCE, &args.driver_resources)?;
    let settings = DriverSettings::of(&properties).map_err(|error| Failure::setting(&error))?;
    let usage = |words: &str| Err(Failure::of(Exit::Usage, words));
    if let (false, Some(driver)) = (settings.in_cluster, args.program.first().filter(|it| ask::is_driver(it)))
    {
        let (what, wait) = if args.wait { ("wait for", " --wait") } else { ("see", "") };
        let words = format!(
            "{driver} is the id of a driver: to {what} it write firesteel submit --status {driver}{wait}"
        );
        return usage(&words);
    }
    if !settings.in_cluster {
        return usage(
            "a driver is submitted to run on a Worker: add --deploy-mode cluster; to run one here, use firesteel map, shell or \
             launch",
        );
    }
    let Some((program, arguments)) = args.program.split_first() else {
        return usage(
            "no program given: write it after --, as in firesteel submit --deploy-mode cluster -- PROGRAM ARGS",
        );
    };
    let DriverSettings { cores, memory, supervise, resources, .. } = settings;
    let name = args.name.iter().map(|name| (DRIVER_NAME.to_owned(), name.clone()));
    let (program, arguments, environment) = (program.clone(), arguments.to_vec(), name.collect());
    let command = Command { program, arguments, environment };
    Ok(DriverDescription { user: ask::user_at_host(), command, cores, memory, supervise, resources })
}

fn write_to(args: &Args, properties: &mut Properties) {
    let supervise = args.supervise.then(|| "true".to_owned());
    for (flag, key, value) in [
        ("--deploy-mode", keys::DEPLOY_MODE, &args.deploy_mode),
        ("--driver-cores", keys::DRIVER_CORES, &args.driver_cores),
        ("--driver-memory", keys::DRIVER_MEMORY, &args.driver_memory),
        ("--supervise", keys::DRIVER_SUPERVISE, &supervise),
    ] {
        if let Some(value) = value {
            properties.set(key, value.as_str(), Origin::Flag(flag));
        }
    }
}

fn show(args: &Args, cluster: &Cluster, id: &DriverId) -> Result<ExitCode, Failure> {
    if args.wait && args.json {
        let view = block_on(end_of(cluster, id.clone()))??;
        exit::written(print(&view, true))?;
        return ended(&view);
    }
    if args.wait {
        return wait_for(cluster, id);
    }
    let view = ask::now(cluster.driver(id))?.ok_or_else(|| unknown(id))?;
    exit::written(print(&view, args.json)).map(ExitCode::from)
}

pub(in crate::cli) fn print(view: &DriverView, json: bool) -> io::Result<()> {
    if json {
        document::print(document::Driver::SCHEMA, document::Driver::of(view))
    } else {
        writeln!(plain::stdout(), "{}", lines(view))
    }
}

fn kill(args: &Args, cluster: &Cluster, id: &DriverId) -> Result<ExitCode, Failure> {
    let (driver, line) = ask::now(cluster.kill_driver(id))?
        .and_then(|answer| outcome(id, answer))
        .map_err(|words| Failure::of(Exit::Failure, words))?;
    say(&line);
    if args.wait { wait_for(cluster, &driver) } else { Ok(Exit::Done.into()) }
}

/// The result of a request to end a driver: its id, and a sentence.
pub(in crate::cli) fn outcome(id: &DriverId, answer: KillDriverAnswer) -> Result<(DriverId, String), String> {
    match answer {
        KillDriverAnswer::Asked { driver } => {
            let line = format!("{driver} is told to end");
            Ok((driver, line))
        }
        KillDriverAnswer::Killed { driver } => {
            let line = format!("killed {driver}, which waited for a Worker");
            Ok((driver, line))
        }
        KillDriverAnswer::Over { driver, state } => Err(format!("{driver} had already ended: {state}")),
        KillDriverAnswer::Unknown => Err(unknown_words(id)),
    }
}

/// Prints a line. If standard output is closed, this is ignored, and the request is carried out anyway.
fn say(line: &str) {
    let _ = writeln!(plain::stdout(), "{}", clean(line));
}

/// Waits for the end of a driver. If the driver is replaced, waits for the last replacement.
fn wait_for(cluster: &Cluster, id: &DriverId) -> Result<ExitCode, Failure> {
    ended(&block_on(end_of(cluster, id.clone()))??)
}

/// The exit code of a command that waited for a driver.
fn ended(view: &DriverView) -> Result<ExitCode, Failure> {
    let DriverView { id, state, .. } = view;
    match state {
        DriverState::Error(error) => {
            Err(Failure::of(Exit::Failure, format!("{id} is in state ERROR: {error}")))
        }
        DriverState::Killed(None) => Err(Failure::of(Exit::Failure, format!("{id} was killed"))),
        state => {
            let code = state.exit_status().map_or(1, |status| status.shell_code());
            Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
        }
    }
}

/// Asks repeatedly until a driver has ended. Masters may be unreachable for some time.
async fn end_of(cluster: &Cluster, mut id: DriverId) -> Result<DriverView, Failure> {
    let mut heard = tokio::time::Instant::now();
    loop {
        match cluster.driver(&id).await {
            Ok(None) => return Err(unknown(&id)),
            Ok(Some(DriverView { state: DriverState::Relaunching { successor }, .. })) => {
                id = successor;
                continue;
            }
            Ok(Some(view)) if view.state.is_finished() => return Ok(view),
            Ok(Some(_)) => heard = tokio::time::Instant::now(),
            Err(error) if heard.elapsed() > AWAY => return Err(Failure::with(error.exit(), &error)),
            Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn unknown(id: &DriverId) -> Failure {
    Failure::of(Exit::Failure, unknown_words(id))
}

fn unknown_words(id: &DriverId) -> String {
    format!(
        "no driver has the id {:?}, or the Master no longer lists it; firesteel status shows those that it lists",
        id.as_str()
    )
}

/// Amounts of custom resources: `gpu 2, nic 1`.
fn amounts(needs: &ResourceAmounts) -> String {
    needs.iter().map(|(name, amount)| format!("{name} {amount}")).collect::<Vec<_>>().join(", ")
}

fn lines(view: &DriverView) -> String {
    let DriverView {
        id,
        user,
        command,
        cores,
        memory,
        supervise,
        state,
        submitted,
        launched,
        ended,
        worker,
        ..
    } = view;
    let DriverView { name, needs, has, restarts, wait, .. } = view;
    let mut lines = vec![
        format!("driver      {id}"),
        format!("state       {state}"),
        format!("user        {user}"),
        format!("command     {}", shown_text(command)),
        format!("cores       {cores}"),
        format!("memory      {memory}"),
        format!("supervised  {}", if *supervise { "yes" } else { "no" }),
        format!("submitted   {submitted}"),
    ];
    lines.extend(name.as_ref().map(|name| format!("name        {name}")));
    lines.extend(wait.as_ref().map(|wait| format!("waits       {wait}")));
    if let Some(DriverRestarts { restarts, last, until }) = restarts {
        let next = until.map(|until| format!(", next start at {until}")).unwrap_or_default();
        lines.push(format!("restarts    {restarts}, last {last}{next}"));
    }
    match (needs.is_empty(), has.is_empty()) {
        (_, false) => lines.push(format!("resources   {}", addresses(has))),
        (false, true) => lines.push(format!("resources   {} (none yet)", amounts(needs))),
        (true, true) => {}
    }
    lines.extend(launched.map(|launched| format!("launched    {launched}")));
    lines.extend(ended.map(|ended| format!("ended       {ended}")));
    if let Some(place) = worker {
        lines.push(format!("worker      {}", place.worker));
        lines.push(format!("output      {}:{}", place.host, place.directory));
    }
    lines.iter().map(|line| clean(line).to_string()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use firesteel_placement::{Amount, Cores, MiB};

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(words: &[&str]) -> Result<DriverDescription, Failure> {
        let words = ["firesteel"].iter().chain(words);
        parsed_of(words)
    }

    fn parsed_of<'a>(words: impl IntoIterator<Item = &'a &'a str>) -> Result<DriverDescription, Failure> {
        description(&Cli::try_parse_from(words).expect("they are options").args, Properties::default())
    }

    #[test]
    fn options_describe_the_driver() {
        let all = [
            "--deploy-mode",
            "cluster",
            "--supervise",
            "--driver-cores",
            "2",
            "--driver-memory",
            "3g",
            "--",
            "a",
            "-b",
        ];
        let driver = parsed(&all).expect("they are sound");
        assert_eq!((driver.cores, driver.memory, driver.supervise), (Cores(2), MiB(3072), true));
        assert_eq!(driver.command.to_string(), "a -b");
        let with_gpus = ["firesteel", "--deploy-mode=cluster", "--driver-resource=gpu=2", "a"];
        let DriverDescription { resources, .. } = parsed_of(&with_gpus).expect("they are sound");
        assert_eq!(resources, [("gpu".to_owned(), Amount::Whole(2))].into());
        let driver = parsed(&["--deploy-mode=cluster", "a"]).expect("they are sound");
        assert_eq!((driver.cores, driver.memory, driver.supervise), (Cores(1), MiB(1024), false));
    }

    #[test]
    fn wrong_options_have_a_sentence() {
        for words in [
            &["--", "a"][..],
            &["--deploy-mode", "client", "--", "a"],
            &["--deploy-mode", "cluster"],
            &["--deploy-mode", "cluster", "--driver-cores", "0", "--", "a"],
            &["--deploy-mode", "cluster", "--driver-memory", "much", "--", "a"],
            &["--deploy-mode", "cluster", "--driver-resource", "gpu", "--", "a"],
            &["--deploy-mode", "cluster", "--driver-resource", "gpu=x", "--", "a"],
        ] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
        for words in [
            ["--status", "d", "--kill", "d"],
            ["--status", "d", "--", "a"],
            ["--kill", "d", "--driver-cores", "1"],
        ] {
            assert!(Cli::try_parse_from(["firesteel"].iter().chain(&words)).is_err(), "{words:?}");
        }
    }
}
