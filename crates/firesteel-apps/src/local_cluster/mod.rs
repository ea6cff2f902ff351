//! A cluster for one command: a Master and Workers as child processes on loopback. The cluster ends with the command.
//!
//! [`LocalCluster`] starts the processes, waits until the Workers are registered, and ends them. A local cluster
//! accepts only connections with its secret. `LocalCluster` generates the secret and passes it to the processes and to
//! their owner. [`key`] is the file in which other commands of the same user find the secret. `spec` parses the size of
//! the cluster, `child` controls each process, and `environment` selects the variables that the processes inherit.

mod child;
mod environment;
pub mod key;
mod spec;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use firesteel_daemons::master_client::MasterClient;
use firesteel_daemons::secret;
use firesteel_protocol::address::{Address, AddressError, parse_masters};
use firesteel_protocol::byte_text;
use firesteel_protocol::messages::{MasterView, WorkerState};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::state_reader::Extent;
use tokio::time::{Instant, sleep, timeout_at};

pub use child::{DaemonName, Tail};
pub use spec::{LocalClusterSpec, SpecError};

use crate::scratch::{self, Scratch};
use child::Daemon;
use firesteel_host::net::{CallError, Introduction, Keyring};

/// Timeout for the start of the whole cluster.
const READY: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Options {
    pub spec: LocalClusterSpec,
    /// The path of the `firesteel` program, usually `std::env::current_exe()`.
    pub program: PathBuf,
    pub directory: Directory,
    /// Properties of the Master and the Workers, each `key=value`.
    pub properties: Vec<String>,
}

/// Where a local cluster keeps its files. These are `master.log`, and for the first Worker
/// `worker-0.log` and the work directory `worker-0`, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directory {
    /// A new temporary directory, which is removed at the end. If this command is killed, a later command removes the
    /// directory.
    Temporary,
    /// This directory. It is created if it does not exist, and is not removed.
    Kept(PathBuf),
}

/// A running cluster. It ends when this value is dropped, because this closes the standard input of its processes.
/// [`end`](Self::end) also waits for the processes.
#[derive(Debug)]
pub struct LocalCluster {
    // Fields are dropped in this order: Workers first, files last.
    workers: Vec<Daemon>,
    master: Daemon,
    address: Address,
    secret: Secret,
    directory: Files,
}

/// Why a local cluster did not start.
#[derive(Debug, thiserror::Error)]
pub enum LocalClusterError {
    /// The cluster's directory cannot be used.
    #[error("cannot use the work directory {}: {error}", path.display())]
    Directory {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The file with the secret cannot be written.
    #[error("cannot write {} in {}: {error}", key::FILE, directory.display())]
    Key {
        directory: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("cannot write the log {}: {error}", path.display())]
    Log {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("cannot start the {name} of the local cluster, {}: {error}", program.display())]
    NotStarted {
        name: DaemonName,
        program: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("the {name} of the local cluster ended ({status}); the end of its log: {tail}")]
    Ended {
        name: DaemonName,
        status: String,
        /// The resource that the machine lacked, if the daemon's exit code reports this.
        #[source]
        shortage: Option<io::Error>,
        /// The last lines of the daemon's log.
        tail: Tail,
    },
    #[error("the {name} of the local cluster was not ready after {limit:?}; the end of its log: {tail}")]
    NotReady {
        name: DaemonName,
        /// The timeout that passed.
        limit: Duration,
        /// The last lines of the daemon's log.
        tail: Tail,
    },
    /// The Master's URL cannot be used.
    #[error("cannot use the URL of the Master of the local cluster: {0}")]
    Url(#[from] AddressError),
    #[error("the Master of the local cluster does not answer: {0}")]
    Call(#[from] CallError),
    /// Some Workers did not register in time.
    #[error("only {alive} of {wanted} Workers of the local cluster registered within {} s", READY.as_secs())]
    Unregistered {
        /// Number of Workers that registered.
        alive: usize,
        /// Number of Workers that were started.
        wanted: u32,
    },
}

#[derive(Debug)]
enum Files {
    Temporary(Scratch),
    Kept(PathBuf),
}

impl LocalCluster {
    /// Starts the cluster and waits until every Worker is registered.
    ///
    /// # Errors
    /// A daemon did not start, ended, or was not ready in time. In this case all started processes are ended.
    pub async fn start(options: Options) -> Result<Self, LocalClusterError> {
        let deadline = Instant::now() + READY;
        let directory = Files::open(options.directory.clone())?;
        let secret = secret::draw();
        let mut master = start_master(&options, &secret, directory.path()).await?;
        let address = match wait_until_ready(&mut master).await {
            Ok(address) => address,
            Err(error) => {
                master.end().await;
                return Err(error);
            }
        };
        let mut cluster = Self { workers: Vec::new(), master, address, secret, directory };
        let kept = key::keep(cluster.directory.path(), &cluster.address, &cluster.secret)
            .map_err(|error| LocalClusterError::Key { directory: cluster.directory().to_owned(), error });
        let started = match kept {
            Ok(()) => cluster.start_workers(&options, deadline).await,
            Err(error) => Err(error),
        };
        match started {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.end().await;
                Err(error)
            }
        }
    }

    #[must_use]
    pub fn master(&self) -> &Address {
        &self.address
    }

    /// The secret that the members of this cluster share.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Directory of the logs and work directories.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Process ids of the running daemons, the Master's first.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        std::iter::once(&self.master).chain(&self.workers).filter_map(Daemon::pid).collect()
    }

    /// Ends every process and removes the temporary directory. Workers and their executors end first.
    pub async fn end(self) {
        let Self { workers, master, directory, .. } = self;
        futures_util::future::join_all(workers.into_iter().map(Daemon::end)).await;
        master.end().await;
        drop(directory);
    }

    async fn start_workers(&mut self, options: &Options, deadline: Instant) -> Result<(), LocalClusterError> {
        for number in 0..options.spec.workers {
            let worker =
                start_worker(options, &self.secret, self.directory.path(), number, &self.address).await?;
            self.workers.push(worker);
        }
        let mut alive = 0;
        while alive < options.spec.workers as usize {
            for worker in &mut self.workers {
                worker.check()?;
            }
            self.master.check()?;
            let asked = read_workers(&self.address, &self.secret);
            let unregistered = LocalClusterError::Unregistered { alive, wanted: options.spec.workers };
            let Ok(view) = timeout_at(deadline, asked).await else { return Err(unregistered) };
            alive = view?.workers.iter().filter(|worker| worker.state == WorkerState::Alive).count();
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

async fn read_workers(master: &Address, secret: &Secret) -> Result<MasterView, CallError> {
    let client = Introduction::from("local cluster").with_keys(Some(Keyring::of_local_cluster(secret)));
    MasterClient::open(master, client).await?.state(Extent::Workers).await
}

async fn wait_until_ready(master: &mut Daemon) -> Result<Address, LocalClusterError> {
    let ready = master.ready(READY).await?;
    Ok(parse_masters(&ready.url)?.remove(0))
}

async fn start_master(
    options: &Options,
    secret: &Secret,
    directory: &Path,
) -> Result<Daemon, LocalClusterError> {
    let mut arguments =
        words(&["master", "--only-conf", "--host", "127.0.0.1", "--port", "0", "--webui-port", "none"]);
    arguments.extend(conf(&options.properties));
    Daemon::start(DaemonName::Master, &options.program, &arguments, secret, directory.join("master.log"))
        .await
}

async fn start_worker(
    options: &Options,
    secret: &Secret,
    directory: &Path,
    number: u32,
    master: &Address,
) -> Result<Daemon, LocalClusterError> {
    let LocalClusterSpec { cores, memory, .. } = options.spec;
    let mut arguments =
        words(&["worker", "--only-conf", "--host", "127.0.0.1", "--port", "0", "--webui-port", "none"]);
    arguments.extend([format!("--cores={}", cores.0), format!("--memory={}m", memory.0)]);
    let work = directory.join(format!("worker-{number}"));
    arguments.extend(["--work-dir".to_owned(), byte_text::of_os(work)]);
    arguments.extend(conf(&options.properties));
    arguments.push(master.url());
    let log = directory.join(format!("worker-{number}.log"));
    Daemon::start(DaemonName::Worker(number), &options.program, &arguments, secret, log).await
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn conf(properties: &[String]) -> impl Iterator<Item = String> {
    properties.iter().map(|property| format!("--conf={property}"))
}

impl Files {
    /// Creates the directory and tests that it is writable. On a full disk, the daemons could not even log the error.
    fn open(directory: Directory) -> Result<Self, LocalClusterError> {
        let failed = |path: &Path, error| LocalClusterError::Directory { path: path.to_owned(), error };
        let files = match directory {
            Directory::Temporary => Scratch::new(scratch::CLUSTER, &std::env::temp_dir())
                .map(Self::Temporary)
                .map_err(|error| failed(&std::env::temp_dir(), error))?,
            Directory::Kept(path) => {
                let path = std::path::absolute(&path).map_err(|error| failed(&path, error))?;
                std::fs::create_dir_all(&path).map_err(|error| failed(&path, error))?;
                Self::Kept(path)
            }
        };
        tempfile::NamedTempFile::new_in(files.path())
            .and_then(|mut probe| probe.write_all(&[0; 4096]))
            .map_err(|error| failed(files.path(), error))?;
        Ok(files)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Temporary(directory) => directory.path(),
            Self::Kept(path) => path,
        }
    }
}
