//! The servers of ZooKeeper, a session with them, and the names of the nodes.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use firesteel_host::runtime;
use tokio::runtime::{Handle, Runtime};
use zookeeper_client::{Acls, Client, CreateMode, Error};

/// The ZooKeeper servers in which Masters keep their shared data.
#[derive(Clone, PartialEq, Eq)]
pub struct Ensemble {
    /// The addresses of the servers, and optionally the node below which all data is kept:
    /// `host:port[,host:port...][/node]`.
    pub servers: String,
    /// The node below which the Masters' data is kept.
    pub directory: String,
    /// How long a Master may be silent before another Master may lead. The servers may choose a different time within
    /// their own limits.
    pub session: Duration,
    /// How a Master authenticates, as a scheme and its data: `digest`, `user:password`. With it, nobody else can read
    /// or write the nodes.
    pub identity: Option<(String, String)>,
}

/// Hides the password.
impl fmt::Debug for Ensemble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, directory, session, identity: _ } = self;
        f.debug_struct("Ensemble")
            .field("servers", servers)
            .field("directory", directory)
            .field("session", session)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ZooKeeperError {
    #[error("ZooKeeper at {servers}: cannot {action}: {error}")]
    Failed {
        servers: String,
        /// The operation that failed.
        action: &'static str,
        error: Error,
    },
    /// The node that the setting names after the servers does not exist. ZooKeeper's clients never create it.
    #[error(
        "ZooKeeper at {servers} has no node {chroot}, with which spark.deploy.zookeeper.url ends: create it \
         (zkCli.sh -server {servers} create {chroot}), or leave it out of the URL"
    )]
    NoChroot {
        servers: String,
        /// The path of the node.
        chroot: String,
    },
}

impl Ensemble {
    /// Opens a session. Fails if none of the servers accepts it.
    pub(crate) async fn connect(&self) -> Result<Session, ZooKeeperError> {
        let mut connector = Client::connector().with_session_timeout(self.session).with_fail_eagerly();
        if let Some((scheme, data)) = &self.identity {
            connector = connector.with_auth(scheme, data.as_bytes());
        }
        let failed = |error| self.failed("connect", error);
        let thread = Thread::start().map_err(|error| failed(Error::UnexpectedError(error.to_string())))?;
        let servers = self.servers.clone();
        let connecting = thread.handle().spawn(async move { connector.connect(&servers).await });
        let client = connecting.await.expect("connecting does not panic").map_err(failed)?;
        if let Some((servers, chroot)) = self.servers.split_once('/')
            && client.check_stat("/").await.map_err(failed)?.is_none()
        {
            let (servers, chroot) = (servers.to_owned(), format!("/{chroot}"));
            return Err(ZooKeeperError::NoChroot { servers, chroot });
        }
        Ok(Session { client, ensemble: self.clone(), thread: Arc::new(thread) })
    }

    pub(crate) fn failed(&self, action: &'static str, error: Error) -> ZooKeeperError {
        ZooKeeperError::Failed { servers: self.servers.clone(), action, error }
    }
}

/// A session with the servers. The session ends when its last copy is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) ensemble: Ensemble,
    thread: Arc<Thread>,
}

/// A thread that only keeps a session alive. In a daemon with thousands of busy connections, another thread would be
/// too late for this.
#[derive(Debug)]
struct Thread(Option<Runtime>);

impl Thread {
    fn start() -> io::Result<Self> {
        runtime::start("zookeeper", 1).map(|runtime| Self(Some(runtime)))
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("it is there until the end").handle()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // Dropping a value in a task must not block.
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

impl Session {
    /// The runtime of the thread that keeps the session alive.
    pub(crate) fn runtime(&self) -> &Handle {
        self.thread.handle()
    }

    pub(crate) fn acls(&self) -> Acls<'static> {
        if self.ensemble.identity.is_some() { Acls::creator_all() } else { Acls::anyone_all() }
    }

    pub(crate) async fn prepare(&self) -> Result<(), ZooKeeperError> {
        let options = CreateMode::Persistent.with_acls(self.acls());
        for path in [self.candidates(), self.leader(), self.journal()] {
            self.client.mkdir(&path, &options).await.map_err(self.failed("make nodes"))?;
        }
        Ok(())
    }

    pub(crate) fn candidates(&self) -> String {
        self.path("candidates")
    }

    pub(crate) fn leader(&self) -> String {
        self.path("leader")
    }

    pub(crate) fn journal(&self) -> String {
        self.path("journal")
    }

    fn path(&self, name: &str) -> String {
        format!("{}/firesteel/{name}", self.ensemble.directory.trim_end_matches('/'))
    }

    pub(crate) fn failed(&self, action: &'static str) -> impl Fn(Error) -> ZooKeeperError {
        move |error| self.ensemble.failed(action, error)
    }
}
