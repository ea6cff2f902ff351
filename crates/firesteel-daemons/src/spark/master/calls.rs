//! Connections to drivers of Spark's that wait for a Master that was restarted.
//!
//! Source: Spark Master, 4.0.1: a Master that takes over dials each driver, and the first thing that it says is
//! `MasterChanged`. From then on the driver uses that connection in both directions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use firesteel_core::master::Event;
use firesteel_core::messages::Resumption;
use firesteel_core::wire::Role;
use firesteel_host::net::Envoys;
use firesteel_spark::envelope::Address;
use firesteel_spark::messages::ToDriver;
use firesteel_spark::session::Session;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::drivers::Driver;
use super::{Addressed, Addressee, Common, Connection};
use crate::spark::frames::Frames;

/// The pause between two attempts to reach a driver.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a driver may take to accept a connection.
const ANSWER: Duration = Duration::from_secs(10);

/// The drivers to call.
#[derive(Debug)]
pub struct Calls {
    drivers: Vec<Resumption>,
    /// How long each is tried.
    patience: Duration,
}

impl Calls {
    /// Drivers with their applications, each to be tried for this time.
    #[must_use]
    pub fn new(drivers: Vec<Resumption>, patience: Duration) -> Self {
        Self { drivers, patience }
    }

    /// Begins to call all of them.
    pub(super) fn begin(self, envoys: &Envoys<Event>, common: &Arc<Common>) {
        let until = Instant::now() + self.patience;
        for resumption in self.drivers {
            let (envoys, common) = (envoys.of_a_connection(), Arc::clone(common));
            envoys.clone().spawn(call(resumption, until, envoys, common));
        }
    }
}

/// Calls a driver, and serves it until the connection ends.
async fn call(resumption: Resumption, until: Instant, envoys: Envoys<Event>, common: Arc<Common>) {
    let app = resumption.app.clone();
    let (session, number, address) =
        match Session::calling(resumption.description.callback.clone(), app.as_str()) {
            Ok(calling) => calling,
            Err(why) => return tracing::warn!("cannot call the driver of {app}: {why}"),
        };
    let dialled = tokio::select! {
        dialled = dial(&address, until) => dialled,
        () = envoys.ended() => return,
    };
    let (stream, remote) = match dialled {
        Ok(dialled) => dialled,
        Err(error) => {
            return tracing::warn!("cannot reach the driver of {app} at {}: {error}", address.url());
        }
    };
    let Ok((envoy, letters)) = envoys.open(Role::Driver, resumption.description.name.clone(), remote) else {
        return;
    };
    let tenure = envoys.tenure();
    let mut connection =
        Connection { session, has_registered: true, ..Connection::new(envoys, remote, common) };
    connection.letters.push(Addressed { address: Addressee::Driver(number, envoy.peer()), letters });
    connection.drivers.insert(number, Driver::called(envoy, resumption));
    let mut frames = Frames::of_stream(stream, tenure);
    let master = connection.session.master(number).clone();
    let changed = ToDriver::MasterChanged { web_ui_url: master.url(), master };
    frames.push(&connection.session.tell_driver(number, &changed));
    let end = connection.run(&mut frames).await;
    connection.finish(frames, end).await;
}

/// Dials a driver again and again until that time.
async fn dial(address: &Address, until: Instant) -> std::io::Result<(TcpStream, SocketAddr)> {
    loop {
        let dialling = TcpStream::connect((address.host.as_str(), address.port));
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
