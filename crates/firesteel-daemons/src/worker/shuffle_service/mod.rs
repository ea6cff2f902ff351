//! Spark's external shuffle service, which a Worker runs beside its executors.
//!
//! The service serves shuffle files of executors that have ended, from scratch directories that outlive these
//! executors. It is a Java class in an installation of Spark, and runs as a child of the Worker:
//!
//! - It starts before the Worker registers. If it cannot start, the Worker does not start either, as in Spark.
//! - If it ends later, it is started again after a growing pause ([`phase`]). The new process reads the registered
//!   executors from its database.
//! - It ends after the Worker's executors. Its [reaper](super::reaper) ends it when the Worker is killed.
//!
//! The service does not learn when executors and applications end. Only Spark's own Worker can inform it, because that
//! Worker runs the service in its own JVM.
//!
//! Source: Spark Worker, 4.0.1.

use std::time::Duration;

use firesteel_host::clock::Clock;
use firesteel_host::net::dial::connect;
use firesteel_protocol::Timestamp;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::process::{Command, Signal};
use firesteel_protocol::secret::Secret;
use firesteel_settings::java_options::{self, Unfinished};
use firesteel_settings::secrets::shown_text;
use firesteel_settings::shuffle_service::ShuffleServiceSettings;
use firesteel_spark::launch::shuffle_service;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, sleep_until, timeout};

use self::phase::{Effect, Event, Phase, Supervision};
use self::process::{Current, Directory, Process};
use super::directories::work_directory::WorkDirectory;
use super::environment::inherited;
use super::java::spark_homes::{NoSpark, SparkHomes};
use super::reaper::handle::Reapers;

pub mod phase;
mod process;

/// The pause between two attempts to connect to a service that is starting.
const PROBE_PAUSE: Duration = Duration::from_millis(50);

/// The maximum duration of one attempt to connect.
const PROBE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum ShuffleServiceError {
    #[error(
        "cannot run the external shuffle service: {0}; name a directory of Spark with SPARK_HOME or \
         firesteel.worker.sparkHomes, or set spark.shuffle.service.enabled to false"
    )]
    NoSpark(#[from] NoSpark),
    /// A variable with Java options cannot be parsed. Its value is left out of the message, because it may contain a
    /// secret.
    #[error("cannot read ${name}: {error}")]
    Options { name: &'static str, error: Unfinished },
    /// The service did not become ready.
    #[error(
        "cannot run the external shuffle service on port {port}: {why}; mend that, choose another port with \
         spark.shuffle.service.port, or set spark.shuffle.service.enabled to false"
    )]
    NotStarted { port: u16, why: String },
    /// The Worker's credentials do not have the secret that executors would have to prove.
    #[error(
        "cannot run the external shuffle service: with credentials executors have to prove the secret of Spark's applications \
         to it, which the Worker's file does not have: add the line that begins with spark from a user's file, or set \
         spark.shuffle.service.enabled to false"
    )]
    NoSecret,
}

/// The handle of a running service. Dropping it ends the service.
#[derive(Debug)]
pub struct ShuffleService {
    stop: oneshot::Sender<()>,
    supervisor: JoinHandle<()>,
}

impl ShuffleService {
    /// Starts the service, to which executors prove the secret if there is one, and waits until it listens. `grace` is
    /// the time between SIGTERM and SIGKILL when the service is stopped.
    ///
    /// # Errors
    /// No installation of Spark was found, or the service does not listen within a minute.
    pub async fn start(
        (settings, secret): (&ShuffleServiceSettings, Option<Secret>),
        homes: &SparkHomes,
        work: &WorkDirectory,
        worker: &WorkerId,
        reapers: &Reapers,
        grace: Duration,
        clock: Clock,
    ) -> Result<Self, ShuffleServiceError> {
        let service = Service::of((settings, secret), homes, work, worker.clone(), reapers.clone())?;
        let port = service.port;
        let (stop, stopped) = oneshot::channel();
        let (ready, outcome) = oneshot::channel();
        let supervision = Supervision::new(clock.now(), grace);
        let supervisor = tokio::spawn(service.supervise(supervision, clock, ready, stopped));
        match outcome.await.expect("the supervisor says how the start went") {
            Ok(()) => Ok(Self { stop, supervisor }),
            Err(why) => Err(ShuffleServiceError::NotStarted { port, why }),
        }
    }

    /// Ends the service, and waits until it has ended.
    pub async fn stop(self) {
        drop(self.stop);
        self.supervisor.await.expect("supervising a service does not panic");
    }
}

/// The state of the supervisor.
struct Service {
    command: Command,
    port: u16,
    directory: Directory,
    worker: WorkerId,
    reapers: Reapers,
    /// A text that names the installation of Spark.
    spark: String,
}

impl Service {
    fn of(
        (settings, secret): (&ShuffleServiceSettings, Option<Secret>),
        homes: &SparkHomes,
        work: &WorkDirectory,
        worker: WorkerId,
        reapers: Reapers,
    ) -> Result<Self, ShuffleServiceError> {
        let (installation, version) = homes.first()?;
        let inherited = inherited();
        let words = |name: &'static str| {
            let text = inherited.get(name).map(String::as_str).unwrap_or_default();
            java_options::words(text).map_err(|error| ShuffleServiceError::Options { name, error })
        };
        let directory = Directory::new(work.path(), settings.port);
        let service = shuffle_service::ShuffleService {
            port: settings.port,
            database: byte_text::of_os(directory.database()),
            properties: settings.properties.clone(),
            daemon_options: words("SPARK_DAEMON_JAVA_OPTS")?,
            options: words("SPARK_SHUFFLE_OPTS")?,
            secret,
        };
        Ok(Self {
            command: shuffle_service::program(&service, &installation, &inherited),
            port: settings.port,
            directory,
            worker,
            reapers,
            spark: format!("Spark {version} in {}", installation.home),
        })
    }

    /// Keeps the service running until it is stopped. `ready` receives the outcome of the first start.
    async fn supervise(
        self,
        mut supervision: Supervision,
        clock: Clock,
        ready: oneshot::Sender<Result<(), String>>,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let mut ready = Some(ready);
        let mut tell = move |outcome| {
            if let Some(ready) = ready.take() {
                // The Worker may have given up meanwhile.
                let _ = ready.send(outcome);
            }
        };
        let (directory, port) = (self.directory.clone(), self.port);
        if let Err(error) = blocking(move || directory.claim(port)).await {
            return tell(Err(format!("it could not be started: {error}")));
        }
        let mut current = self.start(clock).await;
        while supervision.phase() != Phase::Over {
            let event = self.next(&supervision, &mut current, clock, &mut stopped).await;
            match supervision.apply(clock.now(), event) {
                Some(Effect::Start) => current = self.start(clock).await,
                Some(Effect::Terminate) => current.signal(Signal::Terminate),
                Some(Effect::Kill) => current.signal(Signal::Kill),
                Some(Effect::SayListening) => {
                    self.say_that_it_listens(&current);
                    tell(Ok(()));
                }
                Some(Effect::SayPause(pause)) => {
                    let why = self.why(&current).await;
                    tracing::error!("the external shuffle service {why}; starting it again in {pause:?}");
                }
                Some(Effect::Refuse) => tell(Err(format!("it {}", self.why(&current).await))),
                None => {}
            }
        }
        let directory = self.directory;
        if let Err(error) = blocking(move || directory.remove_database()).await {
            tracing::warn!("cannot remove the database of the external shuffle service: {error}");
        }
    }

    async fn start(&self, clock: Clock) -> Current {
        let (directory, port) = (self.directory.clone(), self.port);
        let logs = blocking(move || directory.prepare(port, clock.now())).await;
        let Self { command, directory, worker, reapers, .. } = self;
        let started = match logs {
            Ok(logs) => Process::start(command, directory, logs, worker, reapers, clock).await,
            Err(error) => Err(error),
        };
        match started {
            Ok(process) => Current::Runs(process),
            Err(error) => Current::failed(&error),
        }
    }

    /// The reason why no process runs, with the last lines that the ended process wrote.
    async fn why(&self, current: &Current) -> String {
        match current {
            Current::Runs(_) => "runs".to_owned(),
            Current::Failed { why, .. } => why.clone(),
            Current::Ended(status) => {
                let directory = self.directory.clone();
                let words = blocking(move || directory.last_words()).await;
                let log = self.directory.stderr();
                match words.as_str() {
                    "" => format!("ended with {status}; {} is empty", log.display()),
                    words => {
                        format!("ended with {status}; {} ends with: {}", log.display(), shown_text(words))
                    }
                }
            }
        }
    }

    async fn next(
        &self,
        supervision: &Supervision,
        current: &mut Current,
        clock: Clock,
        stopped: &mut oneshot::Receiver<()>,
    ) -> Event {
        let phase = supervision.phase();
        let is_stopping = matches!(phase, Phase::Ending { .. } | Phase::Killed);
        tokio::select! {
            biased;
            () = current.ended() => Event::Ended,
            _ = stopped, if !is_stopping => Event::Stop,
            () = at(supervision.deadline(), clock) => Event::Deadline,
            () = listening(self.port), if matches!(phase, Phase::Starting { .. }) => Event::Listening,
        }
    }

    fn say_that_it_listens(&self, current: &Current) {
        let Current::Runs(process) = current else { return };
        tracing::info!(
            "the external shuffle service of {} listens on port {}; process {}, log {}",
            self.spark,
            self.port,
            process.id(),
            self.directory.stderr().display()
        );
    }
}

/// Runs work on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("what blocks does not panic")
}

/// Waits until this time. Waits forever if `time` is `None`.
async fn at(time: Option<Timestamp>, clock: Clock) {
    match time {
        Some(time) => sleep_until(clock.instant(time)).await,
        None => std::future::pending().await,
    }
}

/// Waits until something on this machine accepts connections at this port.
async fn listening(port: u16) {
    loop {
        if let Ok(Ok(_)) = timeout(PROBE, connect(("127.0.0.1", port))).await {
            return;
        }
        sleep(PROBE_PAUSE).await;
    }
}
