//! Connections that a Master opens after a restart or takeover, to Spark's waiting drivers and Workers.
//!
//! Source: Spark Master, 4.0.1: a Master that takes over connects to each driver and Worker, and first sends
//! `MasterChanged`. From then on, both sides use that connection.

use firesteel_protocol::messages::{Resumption, WorkerDescription};
use firesteel_protocol::wire::Role;
use thiserror::Error;

use super::drivers::Driver;
use super::workers::SparkWorker;
use super::{Connection, Limits, Occupant, PeerNumber, State};
use crate::dialect::Dialect;
use crate::envelope::{Address, Envelope};
use crate::messages::{self, FromDriver, FromWorker, Message, ToDriver, ToWorker};

/// A peer that waits for a restarted Master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// A driver, with its application.
    Driver(Resumption),
    /// A Worker, as the Master last stored it.
    Worker(Box<WorkerDescription>),
}

/// Why a waiting driver or Worker cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Uncallable {
    /// The stored registration of the peer cannot be read.
    #[error("cannot read the stored registration")]
    Unreadable,
    /// The classes of the peer's release of Spark are unknown.
    #[error("it runs an unknown release of Spark")]
    UnknownRelease,
}

impl Called {
    /// The peer's name, for log lines.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Driver(resumption) => format!("the driver of {}", resumption.app),
            Self::Worker(description) => description.id.to_string(),
        }
    }

    /// The peer's address, the address that the peer uses for the Master, and the peer's dialect.
    fn read(&self) -> Result<(Address, Option<Address>, Dialect), Uncallable> {
        let mut body = match self {
            Self::Driver(resumption) => resumption.description.callback.clone(),
            Self::Worker(description) => description.callback.clone(),
        };
        let envelope = Envelope::decode(&mut body).map_err(|_| Uncallable::Unreadable)?;
        let dialect = match (self, messages::read(&body)) {
            (Self::Driver(_), Ok(Message::Driver(FromDriver::RegisterApplication(registration)))) => {
                registration.dialect
            }
            (Self::Worker(_), Ok(Message::Worker(FromWorker::RegisterWorker(registration)))) => {
                registration.dialect
            }
            _ => return Err(Uncallable::Unreadable),
        };
        if !dialect.vocabulary.to_ask().is_empty() {
            return Err(Uncallable::UnknownRelease);
        }
        Ok((dialect.reference.address.clone(), envelope.receiver, dialect))
    }
}

impl Connection {
    /// A connection to a peer that waits for the Master, and the address to connect to. `here` is the Master's address;
    /// `None` means the Master's address in the peer's registration. The daemon opens the connection, and then reports
    /// that it is [open](super::Event::Opened).
    ///
    /// # Errors
    ///
    /// If the stored registration cannot be read. Also if the driver itself had to be asked for its classes, because
    /// the answers were not stored.
    pub fn calling(called: Called, here: Option<Address>) -> Result<(Self, Address), Uncallable> {
        let (address, there, dialect) = called.read()?;
        let master = here.or(there).ok_or(Uncallable::Unreadable)?;
        let mut connection = Self::new(Limits::default());
        connection.peers.named(&dialect, master, connection.limits.peers);
        connection.state = State::New(Some(Box::new(called)));
        Ok((connection, address))
    }

    /// Makes the called peer a peer of the Master, and reports to it that the Master has changed.
    pub(super) fn begin_call(&mut self, called: Called) {
        let peer = PeerNumber(0);
        let master = self.master(peer).clone();
        let web_ui_url = master.url();
        match called {
            Called::Driver(resumption) => {
                let name = resumption.description.name.clone();
                let channel = self.open(Occupant::Driver(peer), Role::Driver, name);
                self.peers.give(peer, resumption.app.as_str());
                self.peers[peer].driver = Some(Driver::called(channel, resumption));
                self.send_driver(peer, &ToDriver::MasterChanged { web_ui_url, master });
            }
            Called::Worker(description) => {
                let channel = self.open(Occupant::Worker(peer), Role::Worker, description.id.to_string());
                self.peers.employ(peer, SparkWorker::called(channel, *description, master.clone()));
                self.send_worker(peer, &ToWorker::MasterChanged { web_ui_url, master });
            }
        }
    }
}
