//! Connections to drivers and Workers of Spark's that wait for a Master that was restarted, or takes over.
//!
//! Source: Spark Master, 4.0.1: a Master that takes over dials each of them, and the first thing that it says is
//! `MasterChanged`. From then on they use that connection in both directions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use firesteel_core::host;
use firesteel_core::master::{Event, Master};
use firesteel_core::messages::{Resumption, WorkerDescription};
use firesteel_core::wire::Role;
use firesteel_host::inbox::OwnerGone;
use firesteel_host::net::Envoys;
use firesteel_spark::envelope::Address;
use firesteel_spark::messages::{ToDriver, ToWorker};
use firesteel_spark::session::{PeerNumber, Session};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::drivers::Driver;
use super::workers::SparkWorker;
use super::{Addressed, Addressee, Common, Connection};
use crate::spark::frames::Frames;

/// The pause between two attempts to reach somebody.
const PAUSE: Duration = Duration::from_secs(1);

/// How long one who is called may take to accept a connection.
const ANSWER: Duration = Duration::from_secs(10);

/// Whom to call.
#[derive(Debug)]
pub struct Calls {
    called: Vec<Called>,
    /// The Master's address. `None`: the one by which each knows it.
    here: Option<Address>,
    /// How long each is tried.
    patience: Duration,
}

/// One who waits for the Master.
#[derive(Debug)]
enum Called {
    Driver(Resumption),
    Worker(Box<WorkerDescription>),
}

impl Called {
    /// Its application's id, or its own.
    fn id(&self) -> &str {
        match self {
            Self::Driver(resumption) => resumption.app.as_str(),
            Self::Worker(description) => description.id.as_str(),
        }
    }

    /// The name for people.
    fn name(&self) -> String {
        match self {
            Self::Driver(resumption) => format!("the driver of {}", resumption.app),
            Self::Worker(description) => description.id.to_string(),
        }
    }
}

impl Calls {
    /// Those who wait for this Master to call them. `here` is its address if it was elected: then they know it by another
    /// one, or not at all.
    #[must_use]
    pub fn of(master: &Master, here: Option<&firesteel_core::address::Address>) -> Self {
        let drivers = master.to_call().into_iter().map(Called::Driver);
        let workers = master.workers_to_call().into_iter().map(Box::new).map(Called::Worker);
        let here = here.map(|here| Address { host: host::in_url(&here.host).into_owned(), port: here.port });
        Self { called: drivers.chain(workers).collect(), here, patience: master.config().recovery_timeout }
    }

    /// Begins to call all of them.
    pub(super) fn begin(self, envoys: &Envoys<Event>, common: &Arc<Common>) {
        let until = Instant::now() + self.patience;
        for called in self.called {
            let (envoys, common) = (envoys.of_a_connection(), Arc::clone(common));
            envoys.clone().spawn(call(called, self.here.clone(), until, envoys, common));
        }
    }
}

/// Calls somebody, and serves the connection until it ends.
async fn call(
    called: Called,
    here: Option<Address>,
    until: Instant,
    envoys: Envoys<Event>,
    common: Arc<Common>,
) {
    let callback = match &called {
        Called::Driver(resumption) => resumption.description.callback.clone(),
        Called::Worker(description) => description.callback.clone(),
    };
    let (session, number, address) = match Session::calling(callback, called.id(), here) {
        Ok(calling) => calling,
        Err(why) => return tracing::warn!("cannot call {}: {why}", called.name()),
    };
    let dialled = tokio::select! {
        dialled = dial(&address, until) => dialled,
        () = envoys.ended() => return,
    };
    let (stream, remote) = match dialled {
        Ok(dialled) => dialled,
        Err(error) => {
            return tracing::warn!("cannot reach {} at {}: {error}", called.name(), address.url());
        }
    };
    let mut frames = Frames::of_stream(stream, envoys.tenure());
    let mut connection =
        Connection { session, has_registered: true, ..Connection::new(envoys, remote, common) };
    let master = connection.session.master(number).clone();
    let web_ui_url = master.url();
    let (changed, admitted) = match called {
        Called::Driver(resumption) => {
            let changed = ToDriver::MasterChanged { web_ui_url, master };
            (connection.session.tell_driver(number, &changed), connection.admit_driver(number, resumption))
        }
        Called::Worker(description) => {
            let changed = ToWorker::MasterChanged { web_ui_url, master };
            (connection.session.tell_worker(number, &changed), connection.admit_worker(number, *description))
        }
    };
    if admitted.is_err() {
        return;
    }
    frames.push(&changed);
    let end = connection.run(&mut frames).await;
    connection.finish(frames, end).await;
}

impl Connection {
    /// The driver that is called is a peer of the Master's.
    fn admit_driver(&mut self, number: PeerNumber, resumption: Resumption) -> Result<(), OwnerGone> {
        let name = resumption.description.name.clone();
        let (envoy, letters) = self.envoys.open(Role::Driver, name, self.remote)?;
        self.letters.push(Addressed { address: Addressee::Driver(number, envoy.peer()), letters });
        self.drivers.insert(number, Driver::called(envoy, resumption));
        Ok(())
    }

    /// The Worker that is called is a peer of the Master's.
    fn admit_worker(&mut self, number: PeerNumber, description: WorkerDescription) -> Result<(), OwnerGone> {
        let (envoy, letters) =
            self.envoys.open(Role::Worker, description.id.as_str().to_owned(), self.remote)?;
        self.letters.push(Addressed { address: Addressee::Worker(number), letters });
        let dialled = self.session.master(number).clone();
        self.workers.insert(number, SparkWorker::called(envoy, description, dialled));
        Ok(())
    }
}

/// Dials an address again and again until that time.
async fn dial(address: &Address, until: Instant) -> std::io::Result<(TcpStream, SocketAddr)> {
    let host = host::plain_or_as_given(&address.host);
    loop {
        let dialling = TcpStream::connect((host.as_str(), address.port));
        let dialled = match timeout(ANSWER, dialling).await {
            Ok(dialled) => dialled.and_then(|stream| {
                stream.set_nodelay(true)?;
                let remote = stream.peer_addr()?;
                Ok((stream, remote))
            }),
            Err(elapsed) => Err(elapsed.into()),
        };
        match dialled {
            Ok(dialled) => return Ok(dialled),
            Err(error) if Instant::now() + PAUSE > until => return Err(error),
            Err(_) => sleep(PAUSE).await,
        }
    }
}
