//! Asks a running cluster: each of its Masters in turn, until one answers.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use clap::Args;
use firesteel_apps::local_cluster::key;
use firesteel_apps::master_url::MasterUrl;
use firesteel_daemons::join;
use firesteel_daemons::log_client::{LogError, LogSource, MasterLogs};
use firesteel_daemons::master_client::{MasterClient, Permitted};
use firesteel_daemons::secret::file_keyring::keyring_of;
use firesteel_host::net::{CallError, Evidence, Inquiry, Introduction, Keyring};
use firesteel_host::plain::{self, clean};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::{Address, parse_masters};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDetail, DecommissionAnswer, DriverDescription, DriverView, KillAnswer,
    KillDriverAnswer, LogPiece, LogRange, MasterView, PastRow, WaitingMachine,
};
use firesteel_protocol::state_reader::Extent;
use firesteel_settings::description;
use firesteel_settings::properties::Property;
use firesteel_settings::sources::{Files, Sources};
use firesteel_settings::variables::Environment;
use firesteel_settings::{Origin, Properties, Reader, keys};
use serde::Serialize;
use serde_json::{Value, json};

use super::document;
use crate::cli::block_on;
use crate::cli::exit::{Exit, Failure};

/// The default Masters, if no option and no setting names any.
const DEFAULT: &str = "spark://127.0.0.1:7077";

/// The option that names the Masters to ask.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct Masters {
    /// Master to ask: spark://HOST:PORT[,HOST:PORT..]; of several, the first that answers
    /// [default: spark.master in spark-defaults.conf, $MASTER, or spark://127.0.0.1:7077]
    #[arg(long, value_name = "URL")]
    master: Option<String>,
}

/// The argument that names an application.
#[derive(Clone, Debug, Args)]
pub(super) struct App {
    /// Application, by id or name
    #[arg(value_name = "APP")]
    pub(super) app: String,
}

/// A running cluster, which is asked through its Masters.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Cluster {
    masters: Vec<Address>,
    keyring: Option<Keyring>,
    name: String,
}

/// The error if no Master answered. It contains the error of each Master.
#[derive(Debug, thiserror::Error)]
#[error("no Master answered{}: {}; {}", self.how(), list(.0), self.advice())]
pub(in crate::cli) struct Unanswered(Vec<CallError>);

fn list(errors: &[CallError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Unanswered {
    /// The exit code if no Master answered. If several Masters failed, a Master that may answer later decides.
    pub(in crate::cli) fn exit(&self) -> Exit {
        Exit::Unanswered(self.evidence())
    }

    fn evidence(&self) -> Evidence {
        Evidence::of_all(self.0.iter().map(CallError::evidence))
    }

    fn how(&self) -> &'static str {
        let is_part = |error: &CallError| matches!(error, CallError::Incomplete { .. });
        if self.0.iter().any(is_part) { " in full" } else { "" }
    }

    fn advice(&self) -> &'static str {
        if self.0.iter().any(CallError::is_about_secrets) {
            return "firesteel secret --help says how a cluster is used that has one";
        }
        match self.evidence() {
            Evidence::NoAnswer => "try again, and look at its log",
            Evidence::Stranger => "check that --master is the URL of a Master of this version",
            Evidence::Unreachable => "check that it runs and that --master is its URL",
        }
    }
}

impl Masters {
    /// Uses this URL. If there is none, the Masters come from the default sources.
    pub(in crate::cli) fn of(master: Option<String>) -> Self {
        Self { master }
    }

    /// Falls back to the Masters of these properties, if no option names any.
    pub(in crate::cli) fn or_those_of(&self, properties: &Properties) -> Self {
        let master = self.master.clone().or_else(|| properties.get(keys::MASTER).map(str::to_owned));
        Self { master }
    }

    /// The cluster, for the command with this name. An invalid URL on the command line is wrong
    /// usage.
    pub(in crate::cli) fn cluster(&self, command: &str) -> Result<Cluster, Failure> {
        self.cluster_with(command, Environment::of_this_process())
    }

    /// Like `cluster`, with these environment variables.
    pub(in crate::cli) fn cluster_with(
        &self,
        command: &str,
        environment: Environment,
    ) -> Result<Cluster, Failure> {
        let (masters, keyring) = self.masters(environment)?;
        Ok(Cluster::of(masters, keyring, command))
    }
}

impl Masters {
    /// The Masters that `map` would use, so that both commands ask the same cluster, and the keys for them. A value
    /// that does not name a running cluster is refused.
    fn masters(&self, environment: Environment) -> Result<(Vec<Address>, Option<Keyring>), Failure> {
        let conf = Vec::new();
        let sources = Sources { reader: Reader::Application, conf, files: Files::Defaults, environment };
        let mut properties = sources.load().map_err(|error| Failure::source(&error))?.properties;
        if let Some(master) = &self.master {
            properties.set(keys::MASTER, master.as_str(), Origin::Flag("--master"));
        }
        let Some(Property { value, origin }) = properties.all(keys::MASTER).next() else {
            let masters = parse_masters(DEFAULT).expect("the default can be used");
            let keyring = keyring(&masters, &properties)?;
            return Ok((masters, keyring));
        };
        if matches!(value.parse(), Ok(MasterUrl::Yarn)) {
            let words = "spark.master is yarn, and YARN clusters have no Master: use firesteel yarn apps, status, kill and \
                         logs, or name a Master with --master";
            return Err(Failure::of(Exit::Usage, words));
        }
        // An invalid value is an error: the default would be a different cluster from the intended one.
        let masters = parse_masters(value).map_err(|error| match origin.is_command_line() {
            true => Failure::of(Exit::Usage, format!("--master: {error}")),
            false => Failure::of(Exit::Configuration, format!("{} of {origin}: {error}", keys::MASTER)),
        })?;
        let keyring = keyring(&masters, &properties)?;
        Ok((masters, keyring))
    }
}

impl Cluster {
    /// Uses these Masters, with these keys, for the command with this name.
    pub(in crate::cli) fn of(masters: Vec<Address>, keyring: Option<Keyring>, command: &str) -> Self {
        // The Master logs this name for requests that name nobody else.
        let name = format!("{} (firesteel {command}, process {})", user_at_host(), std::process::id());
        Self { masters, keyring, name }
    }

    /// The introduction of this client to the cluster's Masters and Workers.
    pub(in crate::cli) fn client(&self, name: &str) -> Introduction {
        Introduction::from(name).with_keys(self.keyring.clone())
    }

    async fn open(&self, master: &Address) -> Result<MasterClient, CallError> {
        MasterClient::open(master, self.client(&self.name)).await
    }

    pub(super) fn names(&self) -> String {
        self.masters.iter().map(Address::url).collect::<Vec<_>>().join(", ")
    }

    /// Returns the first answer. If a Master does not answer, the next Master is asked.
    async fn first<T, A>(&self, ask: impl Fn(Address) -> A) -> Result<T, Unanswered>
    where
        A: Future<Output = Result<T, CallError>>,
    {
        let mut errors = Vec::new();
        for master in &self.masters {
            match ask(master.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => errors.push(error),
            }
        }
        Err(Unanswered(errors))
    }

    pub(in crate::cli) async fn state(&self, extent: Extent) -> Result<MasterView, Unanswered> {
        self.first(|master| async move { self.open(&master).await?.state(extent).await }).await
    }

    /// Returns one application by id or name, with all of its executors that the Master still lists.
    pub(in crate::cli) async fn application(&self, app: &str) -> Result<ApplicationAnswer, Unanswered> {
        self.first(|master| async move { self.open(&master).await?.application(app).await }).await
    }

    /// Reads a piece of a log. Returns the Master that answered, which has further pieces.
    pub(in crate::cli) async fn logs(
        &self,
        range: &LogRange,
    ) -> Result<(MasterLogs<Inquiry>, Result<LogPiece, LogError<CallError>>), Unanswered> {
        let by = &user_at_host();
        let ask = |master| async move {
            let mut logs = MasterLogs { client: self.open(&master).await?, by: by.as_str().into() };
            match logs.ask(range.clone()).await {
                Err(LogError::Call(error)) => Err(error),
                answer => Ok((logs, answer)),
            }
        };
        self.first(ask).await
    }

    pub(super) async fn kill(&self, app: &str) -> Result<Permitted<KillAnswer>, Unanswered> {
        let by = &user_at_host();
        self.first(|master| async move { self.open(&master).await?.kill(app, by).await }).await
    }

    /// Submits a cluster driver. Returns its id, or why the Master refuses it. If a Master did not answer but may have
    /// accepted the driver, no other Master is asked.
    pub(in crate::cli) async fn submit_driver(
        &self,
        driver: &DriverDescription,
    ) -> Result<Permitted<DriverId>, Unanswered> {
        let mut errors = Vec::new();
        for master in &self.masters {
            let mut client = match self.open(master).await {
                Ok(client) => client,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let answer = client.submit_driver(driver.clone()).await;
            return answer.map_err(|error| Unanswered(vec![error]));
        }
        Err(Unanswered(errors))
    }

    pub(in crate::cli) async fn kill_driver(
        &self,
        driver: &DriverId,
    ) -> Result<Permitted<KillDriverAnswer>, Unanswered> {
        let by = &user_at_host();
        self.first(|master| async move { self.open(&master).await?.kill_driver(driver, by).await }).await
    }

    /// Returns a cluster driver, or `None` if the Master has no such driver.
    pub(in crate::cli) async fn driver(&self, driver: &DriverId) -> Result<Option<DriverView>, Unanswered> {
        self.first(|master| async move { self.open(&master).await?.driver(driver).await }).await
    }

    /// Admits the machine that shows this number as a Worker.
    pub(super) async fn approve(
        &self,
        keyring: &Keyring,
        number: &str,
    ) -> Result<Permitted<WaitingMachine>, Unanswered> {
        let by = &user_at_host();
        self.first(|master| async move { join::approve(&master, (keyring, by), number).await }).await
    }

    /// Returns the machines that wait until an administrator admits them.
    pub(super) async fn waiting(
        &self,
        keyring: &Keyring,
    ) -> Result<Permitted<Vec<WaitingMachine>>, Unanswered> {
        let by = &user_at_host();
        self.first(|master| async move { join::waiting(&master, (keyring, by)).await }).await
    }

    /// The keys for the Masters. `None`: they have no secret.
    pub(super) fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    /// Returns the ended applications and cluster drivers, with the Master's current time.
    pub(super) async fn history(&self) -> Result<(Timestamp, Vec<PastRow>), Unanswered> {
        self.first(|master| async move { self.open(&master).await?.history().await }).await
    }

    /// Asks the Master to decommission Workers: the Worker with this id, or all Workers on this host.
    pub(super) async fn decommission(
        &self,
        which: &str,
        within: Option<Duration>,
    ) -> Result<Permitted<DecommissionAnswer>, Unanswered> {
        let by = &user_at_host();
        self.first(|master| async move { self.open(&master).await?.decommission(which, within, by).await })
            .await
    }
}

/// The keys for these Masters: those of the local cluster that this user started, or else those of the file that these
/// properties name.
pub(in crate::cli) fn keyring(
    masters: &[Address],
    properties: &Properties,
) -> Result<Option<Keyring>, Failure> {
    match key::of(masters) {
        Some(keyring) => Ok(Some(keyring)),
        None => keyring_of(properties, None).map_err(|error| Failure::with(Exit::Configuration, &error)),
    }
}

/// Splits a word into an application and, if the word has the form `APP/EXECUTOR`, an executor.
pub(in crate::cli) fn parts(word: &str) -> (&str, Option<ExecutorId>) {
    let both = word.rsplit_once('/').and_then(|(app, number)| Some((app, number.parse().ok()?)));
    both.map_or((word, None), |(app, number)| (app, Some(ExecutorId(number))))
}

/// Returns an application in detail. Blocks until the answer arrives. An unknown or ambiguous application is an error.
pub(in crate::cli) fn detail(cluster: &Cluster, app: &str) -> Result<ApplicationDetail, Failure> {
    match now(cluster.application(app))? {
        ApplicationAnswer::Known(detail) => Ok(*detail),
        ApplicationAnswer::Unknown => Err(Failure::of(Exit::Failure, unknown(app))),
        ApplicationAnswer::Ambiguous { apps } => Err(Failure::of(Exit::Failure, ambiguous(app, &apps))),
    }
}

/// Returns the cluster driver with this id. `None` if there is no such driver; then the word names an application.
pub(in crate::cli) fn driver_named(cluster: &Cluster, named: &str) -> Result<Option<DriverView>, Failure> {
    if !is_driver(named) {
        return Ok(None);
    }
    now(cluster.driver(&DriverId::new(named)))
}

pub(in crate::cli) fn is_driver(word: &str) -> bool {
    word.starts_with(DRIVER)
}

/// The prefix of cluster drivers' ids.
const DRIVER: &str = "driver-";

/// Waits for an answer. Blocks the calling thread.
pub(in crate::cli) fn now<T>(asked: impl Future<Output = Result<T, Unanswered>>) -> Result<T, Failure> {
    block_on(asked)?.map_err(|error| Failure::with(error.exit(), &error))
}

/// The result of a request that changes something: lines for people, and rows of the JSON value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Done {
    pub(in crate::cli) lines: Vec<String>,
    pub(in crate::cli) rows: Vec<Value>,
    /// The number of rows that the Master left out.
    pub(in crate::cli) more: u64,
}

/// A request that the Master refused, as JSON.
#[derive(Serialize)]
struct Refused<'a> {
    asked: &'a str,
    error: String,
}

/// Sends a request for each name in turn. Returns the JSON value with the results; its field `list` has their rows.
/// `None` if nothing was done. If a request is refused, a failure is returned, too.
pub(super) fn each_in_json(
    names: &[String],
    (list, undone): (&str, &str),
    order: impl Fn(&str) -> Result<Result<Done, String>, Failure>,
) -> (Option<BTreeMap<String, Value>>, Option<Failure>) {
    let (mut rows, mut more, mut refused, mut failure) = (Vec::new(), 0, Vec::new(), None);
    for (index, name) in names.iter().enumerate() {
        match order(name) {
            Ok(Ok(done)) => {
                rows.extend(done.rows);
                more += done.more;
            }
            Ok(Err(error)) => refused.push(Refused { asked: name, error }),
            Err(error) => {
                failure = Some(error.and(&format!("{undone}: {}", names[index..].join(", "))));
                break;
            }
        }
    }
    if let (None, [Refused { error, .. }, ..]) = (&failure, &refused[..]) {
        let words = format!("{undone}: {} of {}; {error}", refused.len(), names.len());
        failure = Some(Failure::of(Exit::Failure, words));
    }
    let anything = !rows.is_empty() || !refused.is_empty();
    let value = BTreeMap::from([
        (list.to_owned(), rows.into()),
        ("more".to_owned(), more.into()),
        ("refused".to_owned(), json!(refused)),
    ]);
    (anything.then_some(value), failure)
}

/// Sends a request for each name in turn, and prints each result. The request returns `Err` if it is refused. If no
/// Master answers, the remaining names are reported as `undone`. `json` asks for a JSON value: it contains the schema
/// version, and the name of the rows.
pub(in crate::cli) fn each(
    names: &[String],
    undone: &str,
    json: Option<(u32, &str)>,
    order: impl Fn(&str) -> Result<Result<Done, String>, Failure>,
) -> Result<Exit, Failure> {
    if let Some((schema, list)) = json {
        let (value, failure) = each_in_json(names, (list, undone), order);
        // The reader may have closed standard output. The orders are carried out anyway.
        if let Some(value) = value {
            let _ = document::print(schema, value);
        }
        return failure.map_or(Ok(Exit::Done), Err);
    }
    let mut exit = Exit::Done;
    for (index, name) in names.iter().enumerate() {
        let outcome = order(name)
            .map_err(|failure| failure.and(&format!("{undone}: {}", names[index..].join(", "))))?;
        match outcome {
            Ok(Done { lines, .. }) => {
                // The reader may have closed standard output. The orders are carried out anyway.
                let mut stdout = plain::stdout();
                lines.iter().for_each(|line| drop(writeln!(stdout, "{}", clean(line))));
            }
            Err(line) => {
                exit = Exit::Failure;
                let _ = writeln!(plain::stderr(), "firesteel: {}", clean(&line));
            }
        }
    }
    Ok(exit)
}

pub(super) fn unknown(app: &str) -> String {
    if let (whole, Some(executor)) = parts(app) {
        return format!(
            "{app:?} names executor {executor} of the application {whole:?}, and this command takes an application: use \
             firesteel status or firesteel logs for one executor, and kill in firesteel shell to end one"
        );
    }
    format!(
        "no application has the id or name {app:?}, or the Master no longer lists it; firesteel status shows those that \
         it lists"
    )
}

/// The error for a name that several applications have.
pub(in crate::cli) fn ambiguous(app: &str, apps: &[AppId]) -> String {
    let apps: Vec<&str> = apps.iter().map(AppId::as_str).collect();
    format!("{app:?} is the name of several applications: {}; use the id of one", apps.join(", "))
}

/// The user and host of this process: `ann@host`.
pub(in crate::cli) fn user_at_host() -> String {
    let host = nix::unistd::gethostname().map(|host| host.to_string_lossy().into_owned());
    format!("{}@{}", description::user(), host.unwrap_or_else(|_| "somewhere".to_owned()))
}
