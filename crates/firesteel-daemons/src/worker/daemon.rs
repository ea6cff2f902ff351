//! The Worker's daemon: its state machine, its connections and the runners of its executors.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::byte_text;
use firesteel_protocol::host;
use firesteel_protocol::ids::{WorkerId, is_sound};
use firesteel_protocol::master_search::connect_error::{self, ConnectError};
use firesteel_protocol::messages::{Offered, RefusedRegistration, WorkerDescription};
use firesteel_protocol::wire::{self, DecodeError, Role};
use firesteel_worker::{Config, Event, Exit, Inbound, Worker};
use futures_util::future::BoxFuture;
use nix::unistd::geteuid;

use super::accounts::Accounts;
use super::cleanup::dead_workers::{self, DeadWorkers};
use super::cleanup::executor_directories;
use super::cleanup::scratch_directories::{ScratchDirectories, ScratchRoots};
use super::confinement::Confinement;
use super::directories::files::{self};
use super::directories::work_directory::{UnusableDirectory, WorkDirectory};
use super::java::spark_homes::SparkHomes;
use super::java::{Java, LogUrls};
use super::reaper::control_group::ControlGroups;
use super::reaper::handle::Reapers;
use super::reaper::restraint::{NotConfined, can_confine};
use super::runner::RunnerContext;
use super::shell::WorkerShell;
use super::shuffle_service::{ShuffleService, ShuffleServiceError};
use crate::exposure::{self, Exposed};
use crate::http::worker::WorkerSite;
use crate::http::{self, HttpError, Names, Passwords, RestAtRpcPort, RpcPortSite, Server};
use crate::secret;
use crate::spark;
use crate::spark::authentication::{Authentication, HostedSecrets, SparkTls};
use crate::tls::TlsError;
use firesteel_host::account::AccountError;
use firesteel_host::children;
use firesteel_host::clock::Clock;
use firesteel_host::daemon::{self, Announcement, Lifetime};
use firesteel_host::inbox::Inbox;
use firesteel_host::lease::Lease;
use firesteel_host::net::{
    AcceptedRole, Arrival, Introduction, Keyring, ListenError, Listener, Purpose, QueueLimits,
};
use firesteel_host::own_program::OwnProgram;
use firesteel_host::owner::{self, Context};
use firesteel_settings::http::HttpSettings;
use firesteel_settings::{WorkerSettings, keys};
use firesteel_spark::connection::WORKER;

#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on. Port 0 means any free port.
    pub address: Address,
    pub masters: Vec<Address>,
    /// The cores that the Worker offers: see [`super::capacity`].
    pub cores: Cores,
    pub memory: MiB,
    pub resources: Resources,
    /// The directory that contains the executors' directories. The Worker makes it if it does not exist.
    pub work_directory: PathBuf,
    pub settings: WorkerSettings,
    pub http: HttpSettings,
    pub announcement: Announcement,
    pub lifetime: Lifetime,
    /// The keys for the cluster. In a local cluster, the Worker serves neither Spark's RPC nor HTTP.
    /// `None`: connections are in the clear.
    pub keyring: Option<Keyring>,
}

/// Why a Worker could not start, or ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error(transparent)]
    WorkDirectory(#[from] UnusableDirectory),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Exposed(#[from] Exposed),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(
        "{}=true needs control groups with the controller cpu, which the kernel does not give this Worker (docs/OPERATIONS.md)",
        keys::CPU_QUOTA
    )]
    NoQuota,
    #[error("{}: {error}", keys::CONFINED)]
    NotConfined {
        #[from]
        error: NotConfined,
    },
    #[error("{}={name}: {error}", keys::RUN_AS)]
    Account { name: String, error: AccountError },
    /// The host name cannot be part of an id.
    #[error(
        "the host {host:?} has characters that a Worker's id cannot have: use letters, digits, '-', '_', '.' and ':'"
    )]
    UnsoundHost { host: String },
    /// The path of the Worker's own program cannot be found.
    #[error("cannot find the firesteel program: {0}")]
    OwnProgram(#[source] io::Error),
    #[error("cannot catch signals: {0}")]
    Signals(#[source] io::Error),
    /// The Worker cannot adopt processes whose parents have ended. Without that, executors are not safe to start.
    #[error("the kernel cannot give the Worker the processes that its executors leave: {0}")]
    Adoption(#[source] io::Error),
    #[error(transparent)]
    ShuffleService(#[from] ShuffleServiceError),
    #[error("no Master accepted this Worker in {}: {}", counted(*.attempts, "attempt"), connect_error::listed(.errors))]
    NoMaster { attempts: u32, errors: Vec<(Address, ConnectError)> },
    #[error("the Master rejected this Worker: {0}")]
    Refused(RefusedRegistration),
}

/// Runs a Worker until it is asked to end. Await the future within a multi-threaded runtime.
///
/// # Errors
/// The Worker could not start, or no Master accepted it.
pub fn run(options: Options) -> BoxFuture<'static, Result<(), WorkerError>> {
    // Boxed, so that this crate compiles the future, instead of each crate that awaits it.
    Box::pin(serve(options))
}

async fn serve(options: Options) -> Result<(), WorkerError> {
    let Options { address, lifetime, .. } = &options;
    daemon::raise_open_files();
    let mut requests = lifetime.end_requests().map_err(WorkerError::Signals)?;
    let spark_tls = options.settings.spark_tls.clone().map(SparkTls::of).transpose()?.map(Arc::new);
    let listener = Listener::bind(address).await?;
    let (listener, arriving) = spark::at(listener, options.keyring.as_ref(), spark_tls.is_some());
    let ports = [(exposure::Port::Worker, listener.local().ip())];
    let confinement = options.settings.confinement.as_ref();
    if confinement.is_some() {
        can_confine()?;
    }
    let accounts = Accounts::of(options.settings.run_as.as_deref()).map_err(|error| {
        WorkerError::Account { name: options.settings.run_as.clone().unwrap_or_default(), error }
    })?;
    let is_root = geteuid().is_root() && accounts == Accounts::Own;
    let exposed_until =
        exposure::check(&ports, is_root, options.keyring.as_ref(), options.settings.is_insecure)?;
    let reached = daemon::reachable(&address.host, listener.local().port());
    let clock = Clock::start();
    let id = id(&reached, clock.now())?;
    let work = WorkDirectory::open(&options.work_directory)?;
    work.let_through(&accounts)?;
    if work.is_open_to_others() {
        tracing::warn!(
            "other users can write in the work directory {0}, and can put links in the place of what executors write: \
             chmod go-w {0}",
            work.path().display()
        );
    }
    let firesteel = OwnProgram::find().map_err(WorkerError::OwnProgram)?;
    let scratch_roots = ScratchRoots::of(&options.settings.local_directories);
    children::adopt().map_err(WorkerError::Adoption)?;
    let control_groups = control_groups(&options.settings, &id)?;
    let dead_workers = DeadWorkers::start(work.path(), &id, control_groups.as_ref(), &scratch_roots).await;
    let reapers = Reapers::new(firesteel, control_groups, options.settings.may_gain_privileges);
    let homes = SparkHomes::of(&options.settings.spark_homes);
    if !homes.is_empty() && !host::is_known_to_java(&reached.host) {
        tracing::warn!(
            "executors and drivers of Spark's cannot start here: Java finds no host in spark://{reached}; set --host to a name of \
             letters, digits, - and dots, or to an IP address"
        );
    }
    let shuffle_service = tokio::select! {
        started = shuffle_service((&options.settings, options.keyring.as_ref()), &homes, &work, &id, &reapers, clock) => started.map_err(Some),
        _ = requests.next() => Err(None),
    };
    let shuffle_service = match shuffle_service {
        Ok(shuffle_service) => shuffle_service,
        Err(error) => {
            reapers.release().await;
            dead_workers.depart().await;
            return error.map_or(Ok(()), |error| Err(error.into()));
        }
    };

    let introduction = Introduction::new(Role::Worker, id.as_str()).with_keys(options.keyring.clone());
    let mut context = Context::introduced(introduction.clone(), QueueLimits::default(), clock);
    let allowed = options.settings.page_hosts.iter().map(String::as_str);
    let site = Arc::new(WorkerSite::new(
        context.peers.virtual_peers(),
        options.resources.clone(),
        options.settings.retained_executors,
        work.clone(),
        Names::of_worker(allowed.chain([reached.host.as_str()])),
        exposed_until,
    ));
    let is_local_cluster = options.keyring.as_ref().is_some_and(Keyring::is_local_cluster);
    let page_settings = if is_local_cluster { HttpSettings::OFF } else { options.http.clone() };
    let passwords = Passwords::of(options.keyring.as_ref(), Purpose::Pages, &page_settings);
    let serving = async {
        let own = Server::start(&address.host, page_settings.clone(), passwords.clone(), Arc::clone(&site));
        let server = own.await?;
        if is_local_cluster {
            return Ok((server, listener));
        }
        let url = server.as_ref().map(Server::url);
        let here = RpcPortSite::new(Arc::clone(&site), &page_settings, url, RestAtRpcPort::Never);
        let connections = Server::at_rpc_port(listener.local(), passwords, here)?;
        Ok((server, listener.also_receive(http::FIRSTS, connections)))
    };
    let (server, listener) = match serving.await {
        Ok(serving) => serving,
        Err(error) => {
            // Processes that have already started end as after a refusal.
            if let Some(shuffle_service) = shuffle_service {
                shuffle_service.stop().await;
            }
            reapers.release().await;
            dead_workers.depart().await;
            return Err(WorkerError::Http(error));
        }
    };
    let spark_secrets = HostedSecrets::default();
    let authentication =
        Authentication::of_worker(options.keyring.as_ref(), &spark_secrets, options.settings.encrypted_spark)
            .with_tls(spark_tls);
    tokio::spawn(spark::verifier::serve(arriving, WORKER, authentication, Lease::default()));
    context.peers.serve(listener, vec![AcceptedRole { role: Role::Client, decode: from_client }]);
    announce(&options, &id, &reached, (&work, &accounts), server.as_ref());
    context.raise(Event::Start);
    find_earlier(work.clone(), id.clone(), context.inbox());
    let scratch = scratch_roots.of_worker(&id);
    let web_address = server.as_ref().map(|server| server.url().to_owned());
    let logs =
        LogUrls { links: options.settings.log_links.clone(), worker: web_address.clone(), id: id.clone() };
    let passwords = options.settings.spark_passwords.clone();
    let confinement = confinement.map(|settings| Confinement::of(settings, &homes));
    let java = Java { homes, scratch: scratch.clone(), worker: reached.clone(), logs, passwords };
    let config = config(&options, &id, reached, &work, web_address);
    let runner_context = RunnerContext {
        worker: id,
        introduction,
        work,
        java,
        reapers: reapers.clone(),
        accounts,
        limits: options.settings.limits,
        confinement,
        rolling: options.settings.rolling,
        removed_bytes: Arc::default(),
        spark_secrets,
        clock,
    };
    let shell = WorkerShell::new(runner_context, dead_workers.search(), scratch.clone(), site);
    let file_tasks = shell.files.tasks();
    let exit = owner::run(Worker::new(config), shell, context, &mut requests).await;
    files::finish(file_tasks).await;
    if let Some(shuffle_service) = shuffle_service {
        shuffle_service.stop().await;
    }
    reapers.release().await;
    remove(scratch).await;
    dead_workers.depart().await;
    result(exit)
}

/// Logs the Worker's address, the resources that it offers, and the settings that have no effect.
fn announce(
    options: &Options,
    id: &WorkerId,
    reached: &Address,
    (work, accounts): (&WorkDirectory, &Accounts),
    server: Option<&Server>,
) {
    if *accounts != Accounts::Own {
        tracing::info!("executors and cluster drivers run {accounts}");
    }
    if options.settings.confinement.is_some() {
        tracing::info!("executors and cluster drivers are confined ({})", keys::CONFINED);
    }
    if let Some(warning) = &options.settings.not_rolled {
        tracing::warn!("{warning}");
    }
    let offer = format!("{} and {}", counted(options.cores.0, "core"), options.memory);
    tracing::info!(
        "{id} listens on {} and offers {offer}; work directory {}",
        reached.url(),
        work.path().display()
    );
    options.announcement.ready(reached, server.map(Server::url));
}

/// Removes all scratch directories, on a separate thread.
async fn remove(scratch: ScratchDirectories) {
    let removing = tokio::task::spawn_blocking(move || scratch.remove_all());
    removing.await.expect("removing directories does not panic");
}

fn result(exit: Exit) -> Result<(), WorkerError> {
    match exit {
        Exit::Shutdown => Ok(()),
        Exit::NoMaster { attempts, errors } => Err(WorkerError::NoMaster { attempts, errors }),
        Exit::Refused(refusal) => Err(WorkerError::Refused(refusal)),
    }
}

/// Starts the external shuffle service, if the settings ask for it.
async fn shuffle_service(
    (settings, keyring): (&WorkerSettings, Option<&Keyring>),
    homes: &SparkHomes,
    work: &WorkDirectory,
    worker: &WorkerId,
    reapers: &Reapers,
    clock: Clock,
) -> Result<Option<ShuffleService>, ShuffleServiceError> {
    let Some(wanted) = &settings.shuffle_service else { return Ok(None) };
    let secret = match keyring {
        None => None,
        Some(keyring) => {
            let granted = keyring.granted(Purpose::Spark).into_iter().next();
            Some(granted.ok_or(ShuffleServiceError::NoSecret)?.secret)
        }
    };
    let grace = settings.kill_grace;
    ShuffleService::start((wanted, secret), homes, work, worker, reapers, grace, clock).await.map(Some)
}

/// The control groups of the Worker's executors, if the settings allow them and the system has them.
///
/// # Errors
/// The kernel is to hold executors to their cores, and does not.
fn control_groups(
    settings: &WorkerSettings,
    worker: &WorkerId,
) -> Result<Option<ControlGroups>, WorkerError> {
    let groups = settings.control_groups.then(|| ControlGroups::of_worker(worker, settings.limits));
    let groups = match groups {
        None => None,
        Some(Ok(groups)) => {
            tracing::info!("each executor gets a control group in {}", groups.path().display());
            Some(groups)
        }
        Some(Err(why)) => {
            tracing::info!("executors get no control groups, and are watched by their reapers alone: {why}");
            None
        }
    };
    if settings.limits.is_held_to_cores && !groups.as_ref().is_some_and(ControlGroups::holds_processors) {
        groups.into_iter().for_each(ControlGroups::remove);
        return Err(WorkerError::NoQuota);
    }
    Ok(groups)
}

/// The id of a Worker: `worker-yyyyMMddHHmmss-host-port`. Source: Spark Worker, 4.0.1.
fn id(reached: &Address, now: Timestamp) -> Result<WorkerId, WorkerError> {
    let Address { host, port } = reached;
    let id = format!("worker-{}-{host}-{port}", now.compact());
    if is_sound(&id) { Ok(WorkerId::new(id)) } else { Err(WorkerError::UnsoundHost { host: host.clone() }) }
}

fn config(
    options: &Options,
    id: &WorkerId,
    reached: Address,
    work: &WorkDirectory,
    web_address: Option<String>,
) -> Config {
    let Address { host, port } = reached;
    Config {
        description: WorkerDescription::new(
            id.clone(),
            Address::new(host, port),
            Offered { cores: options.cores, memory: options.memory, resources: options.resources.clone() },
            byte_text::of_os(work.path()),
        )
        .with_token(secret::draw()),
        masters: options.masters.clone(),
        max_registration_retries: options.settings.max_registration_retries,
        kill_grace: options.settings.kill_grace,
        driver_kill_grace: options.settings.driver_kill_grace,
        cleanup: options.settings.cleanup,
        try_pause: Some(Duration::from_secs(5)),
        max_disk_percent: options.settings.max_disk_percent,
        usage_pause: Some(Duration::from_secs(if options.settings.limits.is_any() { 1 } else { 5 })),
        limits: options.settings.limits,
        web_address,
        retained_executors: options.settings.retained_executors,
        // The standard library's random keys make a different seed for each Worker.
        seed: RandomState::new().hash_one(id),
    }
}

/// Finds the directories of earlier Workers, on a separate thread. If another living Worker shares the work directory,
/// the directories found may belong to that Worker.
fn find_earlier(work: WorkDirectory, id: WorkerId, inbox: Inbox<Event>) {
    tokio::task::spawn_blocking(move || {
        if !dead_workers::is_shared(work.path(), &id) {
            // The owner may have ended already.
            let _ =
                inbox.send_blocking(Event::EarlierFound { directories: executor_directories::find(&work) });
        }
    });
}

fn from_client(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Client(wire::decode(body)?) })
}
