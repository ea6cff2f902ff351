//! The Master's daemon: its options and its errors.
//!
//! - `leader`: a Master while it leads, until it is asked to end or its lease ends
//! - `standby`: a Master while it is a standby, and refuses all peers
//! - `election`: one of several Masters, which alternates between standby and leader
//! - `shell`: performs a Master's effects
//! - `audit_log`: the log lines about people's requests

pub mod audit_log;
mod election;
mod leader;
mod shell;
mod standby;

use std::io;
use std::path::{self, PathBuf};
use std::sync::Arc;

use firesteel_host::clock::Clock;
use firesteel_host::daemon::{self, Announcement, Lifetime};
use firesteel_host::journal::{JournalError, Writer};
use firesteel_host::lease::Lease;
use firesteel_host::net::{Introduction, ListenError, Listener, OtherProtocolConnection};
use firesteel_host::signals::EndRequests;
use firesteel_master::{Config, Durability, Master, UnknownExecutors};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Hello;
use firesteel_settings::http::HttpSettings;
use firesteel_settings::master::Recovery;
use firesteel_settings::pages::PageSettings;
use firesteel_settings::{Properties, SettingError};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use self::leader::Leader;
use self::shell::End;
use crate::exposure;
use crate::http::master::MasterSite;
use crate::http::rest::RestSite;
use crate::http::{HttpError, Server};
use crate::master_journal::{self, StateError};
use crate::spark;

#[derive(Clone, Debug)]
pub struct Options {
    pub address: Address,
    pub properties: Properties,
    pub announcement: Announcement,
    pub lifetime: Lifetime,
    /// The secret of the Master's local cluster. If it is set, the Master serves only peers of that cluster, and only
    /// at its main port.
    pub local_cluster: Option<Secret>,
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
    Http(#[from] HttpError),
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
    let Options { address, properties, announcement, lifetime, local_cluster, foreign } = options;
    // Settings are checked before anything else happens.
    firesteel_settings::master::config(&properties, String::new())?;
    let recovery = match local_cluster {
        None => firesteel_settings::master::recovery(&properties)?,
        // It ends with the command that runs the local cluster, so it keeps no state.
        Some(_) => Recovery::Nowhere,
    };
    let (http, rest_settings) = match local_cluster {
        None => {
            (HttpSettings::of_master(&properties, address.port == 0)?, HttpSettings::of_rest(&properties)?)
        }
        Some(_) => (HttpSettings::OFF, HttpSettings::OFF),
    };
    let rest_host = firesteel_settings::http::rest_host(&properties).unwrap_or(&address.host).to_owned();
    let pages = PageSettings::of_master(&properties)?;
    daemon::raise_open_files();
    let mut requests = lifetime.end_requests().map_err(MasterError::Signals)?;
    let listener = Listener::bind(&address).await?;
    let reached = daemon::reachable(&address.host, listener.local().port());
    let site = Arc::new(MasterSite::new(&reached, pages));
    let server = Server::start(&address.host, http, Arc::clone(&site)).await?;
    let rest = Arc::new(RestSite::new());
    let rest_server = Server::start(&rest_host, rest_settings, Arc::clone(&rest)).await?;
    let rest_port = rest_server.as_ref().map(|server| (exposure::Port::Rest, server.local().ip()));
    let ports = std::iter::once((exposure::Port::Master, listener.local().ip())).chain(rest_port);
    exposure::warn(&ports.collect::<Vec<_>>());
    let server_context = ServerContext {
        listener,
        reached,
        properties,
        clock: Clock::start(),
        local_cluster,
        site,
        server,
        rest,
        _rest: rest_server,
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
    properties: Properties,
    clock: Clock,
    local_cluster: Option<Secret>,
    site: Arc<MasterSite>,
    server: Option<Server>,
    rest: Arc<RestSite>,
    _rest: Option<Server>,
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
        Ok(Config { first_application, web_address, foreign: self.foreign, ..config })
    }

    /// Another listener on the same socket, and a channel that receives the connections that speak Spark's RPC. In a
    /// local cluster, the channel receives none.
    fn listener(&self) -> Result<(Listener, mpsc::Receiver<OtherProtocolConnection>), MasterError> {
        let listener = self.listener.another().map_err(MasterError::Acceptor)?;
        Ok(spark::at(listener, self.local_cluster.is_some()))
    }

    fn introduction(&self, hello: Hello) -> Introduction {
        Introduction::from(hello).in_local_cluster(self.local_cluster.clone())
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
