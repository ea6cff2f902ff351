//! Connections that a Master opens after a restart or takeover, to Spark's waiting drivers and Workers.
//!
//! Source: Spark Master, 4.0.1: a Master that takes over connects to each driver and Worker, and first sends
//! `MasterChanged`. From then on, both sides use that connection.

use std::net::IpAddr;

use firesteel_protocol::messages::{Resumption, WorkerDescription};
use firesteel_protocol::process::executor_command::ExecutorCommand;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;
use thiserror::Error;

use super::drivers::Driver;
use super::workers::SparkWorker;
use super::{Connection, Limits, Occupant, PeerNumber, State};
use crate::authentication::SECRET_VARIABLE;
use crate::authentication::initiator::Mechanism;
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

/// The token of a driver of Spark's, which has none of its own: a secret, and the address from which it has registered.
#[must_use]
pub fn driver_token(secret: &Secret, from: IpAddr) -> Secret {
    Secret::new(format!("{}@{from}", secret.reveal()))
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

    /// The address from which the peer has registered. `None`: an earlier version did not store it.
    #[must_use]
    pub fn registered_from(&self) -> Option<IpAddr> {
        let token = match self {
            Self::Driver(resumption) => resumption.description.token.reveal().rsplit_once('@')?.1,
            Self::Worker(description) => description.token.reveal(),
        };
        token.parse().ok()
    }

    /// The secret of the peer, and how the peer wants it proven. `None`: it registered without one.
    #[must_use]
    pub fn secret(&self) -> Option<(Mechanism, Secret)> {
        let Self::Driver(resumption) = self else { return None };
        let ExecutorCommand::Java(command) = &resumption.description.command else { return None };
        let secret = command.environment.get(SECRET_VARIABLE)?;
        Some((Mechanism::of(&command.java_options), Secret::new(secret.as_str())))
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

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::AppId;
    use firesteel_protocol::messages::{ApplicationDescription, Placing, Submitter, WantedExecutors, Work};
    use firesteel_protocol::process::Command;

    use super::*;

    #[test]
    fn a_called_driver_is_known_to_have_registered_from_an_address_unless_an_earlier_version_stored_it() {
        let from = |token: Secret| {
            let (submitter, work) = (Submitter::new("a test", "a test"), Work::of(Command::of("true")));
            let (executors, placing) = (WantedExecutors::default(), Placing::default());
            let mut description = ApplicationDescription::new(submitter, executors, placing, work);
            description.token = token;
            let (app, executors) = (AppId::new("app-1"), Vec::new());
            Called::Driver(Resumption { app, executors, description: Box::new(description) })
                .registered_from()
        };
        for address in ["10.0.0.7", "fd00::7"] {
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(from(driver_token(&Secret::new("07070707"), address)), Some(address));
        }
        assert_eq!(from(Secret::new("07070707")), None);
    }
}
