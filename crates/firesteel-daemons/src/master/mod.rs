//! The Master's daemon: its options and its errors.
//!
//! - `leader`: a Master while it leads, until it is asked to end or its lease ends
//! - `standby`: a Master while it is a standby, and refuses all peers
//! - `election`: one of several Masters, which alternates between standby and leader
//! - `shell`: performs a Master's effects
//! - `probe`: finds out whether the process of a Worker that is away has ended
//! - `joining`: machines that ask for the credentials of a Worker
//! - `logs`: reads logs from Workers for clients
//! - `reach`: the addresses that a Master connects to
//! - `audit_log`: the log lines about people's requests

pub mod audit_log;
mod election;
mod joining;
mod leader;
mod logs;
mod probe;
pub(crate) mod reach;
mod shell;
mod standby;

use std::io;
use std::path::{self, PathBuf};
use std::sync::Arc;

use firesteel_host::clock::Clock;
use firesteel_host::daemon::{self, Announcement, Lifetime};
use firesteel_host::journal::{JournalError, Writer};
use firesteel_host::lease::Lease;
use firesteel_host::net::{
    Introduction, Keyring, ListenError, Listener, OtherProtocolConnection, Purpose, QueueLimits,
};
use firesteel_host::signals::EndRequests;
use firesteel_master::{Config, Durability, Limits, Master, UnknownExecutors};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::wire::{Hello, Role};
use firesteel_settings::allowed_peers::AllowedPeers;
use firesteel_settings::app_resources::AppResources;
use firesteel_settings::http::HttpSettings;
use firesteel_settings::master::Recovery;
use firesteel_settings::pages::PageSettings;
use firesteel_settings::tls::RpcTlsSettings;
use firesteel_settings::{Properties, Reader, SettingError};
use futures_util::future::BoxFuture;
use nix::unistd::geteuid;
use tokio::sync::mpsc;

use self::joining::Joining;
use self::leader::Leader;
use self::reach::Reach;
use self::shell::End;
use crate::exposure::{self, Exposed};
use crate::http::master::MasterSite;
use crate::http::rest::RestSite;
use crate::http::{self, HttpError, Names, Passwords, RestAtRpcPort, RpcPortSite, Server};
use crate::master_journal::{self, StateError};
use crate::secret;
use crate::spark;
use crate::spark::authentication::{Authentication, SparkTls};
use crate::tls::TlsError;
use crate::worker::capacity;

#[derive(Clone, Debug)]
pub struct Options {
    pub address: Address,
    pub properties: Properties,
    pub announcement: Announcement,
    pub lifetime: Lifetime,
    /// The keys for the cluster. In a local cluster, the Master serves neither Spark's RPC nor HTTP.
    /// `None`: connections are in the clear.
    pub keyring: Option<Keyring>,
    /// What to do with executors whose applications are unknown to a new state. `Ended` requires a new state.
    pub foreign: UnknownExecutors,
}

#[derive(Debug, thiserror::Error)]
pub enum MasterError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Exposed(#[from] Exposed),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    State(#[from] StateError),
    /// The Master can no longer keep its state. No decision was sent to anyone after the failed write.
    #[error(
        "{0}. Executors keep running. Decisions that could not be written were sent to nobody: remove the cause, then start the \
         Master again"
    )]
    NotDurable(JournalError),
    /// The Master cannot start the thread that accepts connections.
    #[error("cannot start the thread that accepts connections: {0}")]
    Acceptor(#[source] io::Error),
    #[error("cannot catch signals: {0}")]
    Signals(#[source] io::Error),
}

/// Runs a Master until it is asked to end.
///
/// # Errors
/// The Master could not start.
pub fn run(options: Options) -> BoxFuture<'static, Result<(), MasterError>> {
    // Boxed, so that this crate compiles the future, instead of each crate that awaits it.
    Box::pin(serve(options))
}

async fn serve(options: Options) -> Result<(), MasterError> {
    let Options { address, properties, announcement, lifetime, keyring, foreign } = options;
    let is_local_cluster = keyring.as_ref().is_some_and(Keyring::is_local_cluster);
    // Settings are checked before anything else happens.
    firesteel_settings::master::config(&properties, String::new())?;
    let recovery = match is_local_cluster {
        false => firesteel_settings::master::recovery(&properties)?,
        // It ends with the command that runs the local cluster, so it keeps no state.
        true => Recovery::Nowhere,
    };
    let (page_settings, rest_settings) = match is_local_cluster {
        false => {
            (HttpSettings::of_master(&properties, address.port == 0)?, HttpSettings::of_rest(&properties)?)
        }
        true => (HttpSettings::OFF, HttpSettings::OFF),
    };
    let own_rest_host = firesteel_settings::http::rest_host(&properties);
    let rest_host = own_rest_host.unwrap_or(&address.host).to_owned();
    let resources = AppResources::of(&properties)?;
    let pages = PageSettings::of_master(&properties)?;
    let spark_tls = RpcTlsSettings::of(&properties, Reader::Master)?;
    let spark_tls = spark_tls.map(SparkTls::of).transpose()?.map(Arc::new);
    let reach = Arc::new(Reach::new(AllowedPeers::of(&properties)?, keyring.clone()));
    daemon::raise_open_files();
    let mut requests = lifetime.end_requests().map_err(MasterError::Signals)?;
    let listener = Listener::bind(&address).await?;
    let reached = daemon::reachable(&address.host, listener.local().port());
    let rest_names =
        pages.hosts.iter().map(String::as_str).chain([reached.host.as_str(), rest_host.as_str()]);
    let rest = Arc::new(RestSite::new(Names::of_master(rest_names), keyring.clone(), resources));
    let site = Arc::new(MasterSite::new(&reached, pages, Arc::clone(&reach)));
    let passwords = |purpose, settings| Passwords::of(keyring.as_ref(), purpose, settings);
    let page_passwords = passwords(Purpose::Pages, &page_settings);
    let server =
        Server::start(&address.host, page_settings.clone(), page_passwords.clone(), Arc::clone(&site))
            .await?;
    let rest_passwords = passwords(Purpose::Rest, &rest_settings);
    let rest_server =
        Server::start(&rest_host, rest_settings.clone(), rest_passwords.clone(), Arc::clone(&rest)).await?;
    let rest_here = RestAtRpcPort::of_master(
        &rest_settings,
        own_rest_host.is_some(),
        (Arc::clone(&rest), rest_passwords),
    );
    let here =
        RpcPortSite::new(Arc::clone(&site), &page_settings, server.as_ref().map(Server::url), rest_here);
    let http_here = match is_local_cluster {
        false => Some(Server::at_rpc_port(listener.local(), page_passwords, here)?),
        true => None,
    };
    let rest_port = rest_server.as_ref().map(|server| (exposure::Port::Rest, server.local().ip()));
    let ports = std::iter::once((exposure::Port::Master, listener.local().ip())).chain(rest_port);
    let is_insecure = firesteel_settings::master::is_insecure(&properties)?;
    let exposed_until =
        exposure::check(&ports.collect::<Vec<_>>(), geteuid().is_root(), keyring.as_ref(), is_insecure)?;
    let clock = Clock::start();
    let joining = keyring.clone().filter(|keyring| !keyring.is_local_cluster());
    let joining = joining.map(|keyring| Joining::new(keyring, clock));
    let server_context = ServerContext {
        listener,
        reached,
        exposed_until,
        properties,
        clock,
        keyring,
        spark_tls,
        site,
        server,
        rest,
        reach,
        joining,
        _rest: rest_server,
        http_here,
        foreign,
    };
    match recovery {
        Recovery::ZooKeeper(zookeeper) => {
            election::serve(&server_context, &zookeeper, announcement, &mut requests).await
        }
        Recovery::Nowhere => serve_alone(&server_context, None, announcement, &mut requests).await,
        Recovery::Directory(directory) => {
            // No Worker or driver could return to a Master on a random port.
            let default = || (address.port != 0).then(|| PathBuf::from(format!("recovery-{}", address.port)));
            let directory = directory.or_else(default).map(|path| path::absolute(&path).unwrap_or(path));
            serve_alone(&server_context, directory, announcement, &mut requests).await
        }
    }
}

/// The parts of a Master's daemon that stay the same when it becomes the leader or a standby.
struct ServerContext {
    listener: Listener,
    reached: Address,
    /// Until when other machines can connect without a secret.
    exposed_until: Timestamp,
    properties: Properties,
    clock: Clock,
    keyring: Option<Keyring>,
    spark_tls: Option<Arc<SparkTls>>,
    site: Arc<MasterSite>,
    server: Option<Server>,
    rest: Arc<RestSite>,
    reach: Arc<Reach>,
    /// `None` without credentials, and in a local cluster.
    joining: Option<Arc<Joining>>,
    _rest: Option<Server>,
    /// Where connections go that speak HTTP at the Master's port. `None` in a local cluster.
    http_here: Option<mpsc::Sender<OtherProtocolConnection>>,
    foreign: UnknownExecutors,
}

impl ServerContext {
    fn announce(&self, announcement: Announcement) {
        tracing::info!("listening on {}", self.reached.url());
        announcement.ready(&self.reached, self.server.as_ref().map(Server::url));
    }

    fn config(&self) -> Result<Config, SettingError> {
        let first_application = first_application(self.clock.now());
        let config = firesteel_settings::master::config(&self.properties, self.reached.url())?;
        let web_address = self.server.as_ref().map(|server| server.url().to_owned());
        let limits = Limits { kept: self.memory()? / 2, ..config.limits };
        Ok(Config {
            first_application,
            web_address,
            exposed_until: self.exposed_until,
            run: secret::draw_run(),
            foreign: self.foreign,
            limits,
            ..config
        })
    }

    /// The memory for what others send, in bytes.
    fn memory(&self) -> Result<u64, SettingError> {
        let set = firesteel_settings::master::memory(&self.properties)?;
        Ok(set.unwrap_or_else(|| capacity::of_this_process().unwrap_or(u64::MAX) / 2))
    }

    /// The limits on the queues of connections, with an eighth of the memory for messages that arrive, but enough for
    /// one longest message from each of two machines.
    fn queue_limits(&self) -> Result<QueueLimits, SettingError> {
        let limits = QueueLimits::default();
        let partial = usize::try_from(self.memory()? / 8).unwrap_or(usize::MAX);
        let partial = partial.clamp(limits.partial / 2, limits.partial);
        Ok(QueueLimits { partial, ..limits })
    }

    /// What peers have to prove that speak Spark's RPC.
    fn spark_authentication(&self) -> Result<Authentication, SettingError> {
        let is_encrypted = firesteel_settings::master::encrypted_spark(&self.properties)?;
        let authentication = Authentication::of_cluster(self.keyring.as_ref(), is_encrypted);
        Ok(authentication.with_tls(self.spark_tls.clone()))
    }

    /// Another listener on the same socket, and a channel that receives the connections that speak Spark's RPC. In a
    /// local cluster, the channel receives none. Connections that speak HTTP are served beside it.
    fn listener(&self) -> Result<(Listener, mpsc::Receiver<OtherProtocolConnection>), MasterError> {
        let listener = self.listener.another().map_err(MasterError::Acceptor)?;
        let listener = match &self.joining {
            Some(joining) => listener.also_serve(Role::Joining, joining.start()),
            None => listener,
        };
        let listener = match &self.http_here {
            Some(connections) => listener.also_receive(http::FIRSTS, connections.clone()),
            None => listener,
        };
        Ok(spark::at(listener, self.keyring.as_ref(), self.spark_tls.is_some()))
    }

    fn introduction(&self, hello: Hello) -> Introduction {
        Introduction::from(hello).with_keys(self.keyring.clone())
    }
}

async fn serve_alone(
    server_context: &ServerContext,
    directory: Option<PathBuf>,
    announcement: Announcement,
    requests: &mut EndRequests,
) -> Result<(), MasterError> {
    let (master, journal) = recovered(server_context.config()?, directory, server_context.clock.now())?;
    let leader = Leader { master, journal, epoch: 0, lease: Lease::default() };
    match leader.serve(server_context, || server_context.announce(announcement), requests).await? {
        End::Asked(request) => {
            tracing::info!("ended: {request}");
            Ok(())
        }
        End::NotDurable(error) => Err(MasterError::NotDurable(error)),
        End::Deposed => unreachable!("the lease of a Master without others has no end"),
    }
}

/// The Master recovered from its journal, and the journal. If the Master keeps no journal: a new Master.
fn recovered(
    config: Config,
    directory: Option<PathBuf>,
    now: Timestamp,
) -> Result<(Master, Option<Writer>), MasterError> {
    match directory {
        None => Ok((Master::new(Config { durability: Durability::Volatile, ..config }), None)),
        Some(directory) => {
            let (master, journal) = master_journal::open(&directory, config, now)?;
            Ok((master, Some(journal)))
        }
    }
}

/// The number of the first application: ten times the milliseconds within the second in which the Master started. So
/// ids stay unique if another Master takes over within the same second.
fn first_application(started: Timestamp) -> u64 {
    started.millis() % 1000 * 10
}
