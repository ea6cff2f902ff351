//! A cluster for one command: a Master and Workers as child processes on loopback, gone when the command is.

mod child;
mod environment;
mod spec;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use firesteel_core::address::{Address, AddressError, parse_masters};
use firesteel_core::messages::{ClientToMaster, MasterToClient, WorkerState};
use firesteel_core::wire::Role;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout_at};

pub use child::{DaemonName, Tail};
pub use spec::{LocalClusterSpec, SpecError};

use child::Daemon;
use firesteel_host::net::{self, CallError};

/// How long the whole cluster may take to be ready.
const READY: Duration = Duration::from_secs(30);

/// How a local cluster is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// How large it is.
    pub spec: LocalClusterSpec,
    /// The `firesteel` program: usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// Where logs and work directories are.
    pub directory: Directory,
    /// Properties of the Master and the Workers, each `key=value`.
    pub properties: Vec<String>,
}

/// Where a local cluster has its files: `master.log`, `worker-0.log` and the work directory `worker-0` for the
/// first Worker, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directory {
    /// A new one among the system's temporary files. It is removed at the end.
    Temporary,
    /// This one. It is made if need be, and stays.
    Kept(PathBuf),
}

/// A running cluster. [`end`](Self::end) ends it in order; a cluster that is merely dropped ends by itself, since
/// its processes' standard input ends.
#[derive(Debug)]
pub struct LocalCluster {
    // Fields are dropped in this order: the Workers first, the files last.
    workers: Vec<Daemon>,
    master: Daemon,
    address: Address,
    directory: Files,
}

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
pub enum LocalClusterError {
    /// Its directory cannot be used.
    #[error("cannot use the work directory {}: {error}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A log cannot be written.
    #[error("cannot write the log {}: {error}", path.display())]
    Log {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A process could not be started.
    #[error("cannot start the {name} of the local cluster, {}: {error}", program.display())]
    NotStarted {
        /// Which.
        name: DaemonName,
        /// The program.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A process ended.
    #[error("the {name} of the local cluster ended ({status}); the end of its log: {tail}")]
    Ended {
        /// Which.
        name: DaemonName,
        /// How.
        status: String,
        /// The end of its log.
        tail: Tail,
    },
    /// A process took too long.
    #[error("the {name} of the local cluster was not ready after {limit:?}; the end of its log: {tail}")]
    NotReady {
        /// Which.
        name: DaemonName,
        /// How long was waited.
        limit: Duration,
        /// The end of its log.
        tail: Tail,
    },
    /// The Master's URL cannot be used.
    #[error("cannot use the URL of the Master of the local cluster: {0}")]
    Url(#[from] AddressError),
    /// The Master cannot be asked.
    #[error("the Master of the local cluster does not answer: {0}")]
    Call(#[from] CallError),
    /// The Workers took too long.
    #[error("only {alive} of {wanted} Workers of the local cluster registered within {} s", READY.as_secs())]
    Unregistered {
        /// Workers that were there.
        alive: usize,
        /// Workers that should be.
        wanted: u32,
    },
}

#[derive(Debug)]
enum Files {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl LocalCluster {
    /// Starts it, and waits until every Worker is registered.
    ///
    /// # Errors
    /// Something did not start, ended, or took too long. Nothing is left over then.
    pub async fn start(options: Options) -> Result<Self, LocalClusterError> {
        let deadline = Instant::now() + READY;
        let directory = Files::open(options.directory.clone())?;
        let mut master = start_master(&options, directory.path())?;
        let address = match reach(&mut master).await {
            Ok(address) => address,
            Err(error) => {
                master.end().await;
                return Err(error);
            }
        };
        let mut cluster = Self { workers: Vec::new(), master, address, directory };
        match cluster.start_workers(&options, deadline).await {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.end().await;
                Err(error)
            }
        }
    }

    /// The Master.
    #[must_use]
    pub fn master(&self) -> &Address {
        &self.address
    }

    /// Where its logs and work directories are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The processes: the Master's first. Those that have ended are left out.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        std::iter::once(&self.master).chain(&self.workers).filter_map(Daemon::pid).collect()
    }

    /// Ends every process, Workers with their executors first, and removes what was temporary.
    pub async fn end(self) {
        let Self { workers, master, directory, .. } = self;
        futures_util::future::join_all(workers.into_iter().map(Daemon::end)).await;
        master.end().await;
        drop(directory);
    }

    async fn start_workers(&mut self, options: &Options, deadline: Instant) -> Result<(), LocalClusterError> {
        for number in 0..options.spec.workers {
            let worker = start_worker(options, self.directory.path(), number, &self.address)?;
            self.workers.push(worker);
        }
        let mut alive = 0;
        while alive < options.spec.workers as usize {
            for worker in &mut self.workers {
                worker.check()?;
            }
            self.master.check()?;
            let question = ClientToMaster::RequestMasterState;
            let asked = net::call(&self.address, Role::Master, "local cluster", &question);
            let unregistered = LocalClusterError::Unregistered { alive, wanted: options.spec.workers };
            let Ok(answer) = timeout_at(deadline, asked).await else { return Err(unregistered) };
            let MasterToClient::MasterStateResponse(view) = answer? else {
                return Err(CallError::OtherAnswer { address: self.address.clone() }.into());
            };
            alive = view.workers.iter().filter(|worker| worker.state == WorkerState::Alive).count();
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

async fn reach(master: &mut Daemon) -> Result<Address, LocalClusterError> {
    let ready = master.ready(READY).await?;
    Ok(parse_masters(&ready.url)?.remove(0))
}

fn start_master(options: &Options, directory: &Path) -> Result<Daemon, LocalClusterError> {
    let mut arguments = words(&["master", "--only-conf", "--host", "127.0.0.1", "--port", "0"]);
    arguments.extend(conf(&options.properties));
    Daemon::start(DaemonName::Master, &options.program, &arguments, directory.join("master.log"))
}

fn start_worker(
    options: &Options,
    directory: &Path,
    number: u32,
    master: &Address,
) -> Result<Daemon, LocalClusterError> {
    let LocalClusterSpec { cores, memory, .. } = options.spec;
    let mut arguments = words(&["worker", "--only-conf", "--host", "127.0.0.1", "--port", "0"]);
    arguments.extend([format!("--cores={}", cores.0), format!("--memory={}m", memory.0)]);
    let work = directory.join(format!("worker-{number}"));
    arguments.extend(["--work-dir".to_owned(), work.display().to_string()]);
    arguments.extend(conf(&options.properties));
    arguments.push(master.url());
    let log = directory.join(format!("worker-{number}.log"));
    Daemon::start(DaemonName::Worker(number), &options.program, &arguments, log)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn conf(properties: &[String]) -> impl Iterator<Item = String> {
    properties.iter().map(|property| format!("--conf={property}"))
}

impl Files {
    /// Makes the directory and makes sure that it can be written: on a full disk the daemons could not even log
    /// what is wrong.
    fn open(directory: Directory) -> Result<Self, LocalClusterError> {
        let failed = |path: &Path, error| LocalClusterError::Directory { path: path.to_owned(), error };
        let files = match directory {
            Directory::Temporary => tempfile::Builder::new()
                .prefix("firesteel-")
                .tempdir()
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
