//! The drivers on a connection.

use firesteel_master::Inbound;
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::{DriverToMaster, MasterToDriver, ResourceProfile, Resumption};
use firesteel_protocol::process::name_proven_user;
use firesteel_protocol::wire::Role;

use super::{Channel, Connection, Effect, Note, Occupant, PeerNumber};
use crate::messages::{FromDriver, Registration, ToDriver};
use crate::translate::{self, OutgoingMessage, Unfit};

/// A driver that has registered.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) channel: Channel,
    /// The default profile of the driver's application.
    default: ResourceProfile,
    /// The message to the Master after the driver has acknowledged the call. `None` if the Master did not call the
    /// driver.
    resumption: Option<Resumption>,
}

/// Whether a driver's message was passed on to the Master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The message was passed on, and the Master will answer a request.
    Said,
    /// The message was not passed on.
    Unsaid,
}

impl Driver {
    /// A driver that the Master has called, with its application.
    pub(super) fn called(channel: Channel, resumption: Resumption) -> Self {
        let default = resumption.description.profile.clone();
        Self { channel, default, resumption: Some(resumption) }
    }
}

impl Connection {
    /// Handles a request that a driver sends.
    pub(super) fn on_driver_request(&mut self, peer: PeerNumber, id: i64, message: FromDriver) {
        if !matches!(message, FromDriver::RequestExecutors { .. } | FromDriver::KillExecutors { .. }) {
            // Spark's Master does not answer it either: its answer could be taken for that of another request.
            return self.fail(id, "a message that has no answer".to_owned());
        }
        if self.peers[peer].pending.len() >= self.limits.pending {
            return self.fail(id, format!("more than {} requests wait", self.limits.pending));
        }
        match self.driver_says(peer, message) {
            Admission::Said => self.peers[peer].pending.push_back(id),
            Admission::Unsaid => self.answer(id, false),
        }
    }

    /// Handles a message of a driver that has an application. The message is passed on if it is valid and the driver is
    /// still a peer of the Master.
    pub(super) fn driver_says(&mut self, peer: PeerNumber, message: FromDriver) -> Admission {
        // Its application has ended.
        let Some(driver) = &self.peers[peer].driver else { return Admission::Unsaid };
        let channel = driver.channel;
        let request = match message {
            FromDriver::RequestExecutors { app, wanted } => {
                let targets = translate::targets(&wanted, &driver.default);
                targets.map(|targets| DriverToMaster::RequestExecutors { app: AppId::new(app), targets })
            }
            FromDriver::KillExecutors { app, executors } => {
                let executors = translate::executors(&executors);
                Ok(DriverToMaster::KillExecutors { app: AppId::new(app), executors })
            }
            FromDriver::UnregisterApplication { app: Some(app) } => {
                Ok(DriverToMaster::UnregisterApplication { app: AppId::new(app), outcome: None })
            }
            FromDriver::MasterChangeAcknowledged { .. } => match driver.resumption.clone() {
                Some(resumption) => Ok(DriverToMaster::ResumeApplication(resumption)),
                None => return Admission::Unsaid,
            },
            // Neither message comes from a driver with an application.
            FromDriver::UnregisterApplication { app: None } | FromDriver::RegisterApplication(_) => {
                return Admission::Unsaid;
            }
        };
        match request {
            Ok(request) => {
                self.say(channel, Inbound::Driver(request));
                Admission::Said
            }
            Err(unfit) => {
                self.note(Note::DriverRefused { unfit });
                Admission::Unsaid
            }
        }
    }

    /// Handles the registration of an application. The driver becomes a peer of the Master.
    pub(super) fn register_application(&mut self, peer: PeerNumber, registration: Registration) {
        let Registration { mut application, body: callback, .. } = registration;
        let name = application.name.clone();
        let user = self.proven.as_ref().and_then(|proven| proven.user.as_deref());
        name_proven_user(&mut application.command.environment, user);
        if let Some(proven) = &self.proven {
            proven.hand_over(&mut application.command.environment);
            if let Some(user) = &proven.user {
                application.user.clone_from(user);
            }
        }
        let description = match translate::application(application) {
            Ok(mut description) => {
                description.callback = callback;
                description
            }
            Err(unfit) => return self.refuse(peer, name, unfit),
        };
        let channel = match &mut self.peers[peer].driver {
            Some(driver) => {
                // A driver that registers by itself gets the answer to that, even over a connection by which it was
                // called.
                driver.resumption = None;
                driver.channel
            }
            None => {
                let channel = self.open(Occupant::Driver(peer), Role::Driver, name);
                self.see_use();
                let default = description.profile.clone();
                self.peers[peer].driver = Some(Driver { channel, default, resumption: None });
                channel
            }
        };
        let description = Box::new(description);
        self.effects.push(Effect::Register { channel, bytes: self.bytes, description });
    }

    /// Sends a driver the reason why its application is refused. The protocol has only one message for this.
    fn refuse(&mut self, peer: PeerNumber, name: String, unfit: Unfit) {
        let message = ToDriver::ApplicationRemoved { message: format!("FAILED: refused: {unfit}") };
        self.note(Note::ApplicationRefused { name, unfit });
        self.send_driver(peer, &message);
    }

    /// Answers a driver's oldest request. Does nothing if no request waits for an answer.
    fn answer_driver(&mut self, peer: PeerNumber, yes: bool) {
        if let Some(id) = self.peers[peer].pending.pop_front() {
            self.answer(id, yes);
        }
    }

    /// Answers a driver's open requests, because the Master will not answer them.
    pub(super) fn answer_pending(&mut self, peer: PeerNumber) {
        while !self.peers[peer].pending.is_empty() {
            self.answer_driver(peer, false);
        }
    }

    /// Passes a message from the Master on to a driver.
    pub(super) fn tell_driver(&mut self, peer: PeerNumber, message: &MasterToDriver) {
        let Some(driver) = &self.peers[peer].driver else { return };
        let channel = driver.channel;
        if driver.resumption.is_some() && matches!(message, MasterToDriver::RegisteredApplication { .. }) {
            // The Master has told it before.
            return;
        }
        match translate::to_driver(message, self.master(peer)) {
            OutgoingMessage::Message(message) => {
                if let ToDriver::RegisteredApplication { app, .. } = &message {
                    self.peers.give(peer, app);
                }
                self.send_driver(peer, &message);
                if let ToDriver::ApplicationRemoved { .. } = message {
                    self.peers[peer].driver = None;
                    self.leave(channel);
                    self.answer_pending(peer);
                }
            }
            OutgoingMessage::Answer(yes) => self.answer_driver(peer, yes),
            OutgoingMessage::Nothing => {}
        }
    }

    pub(super) fn send_driver(&mut self, peer: PeerNumber, message: &ToDriver) {
        let object = message.write(&self.peers[peer].dialect);
        self.send(peer, &object);
    }
}
