//! The drivers on a connection.

use std::ops::ControlFlow;

use firesteel_core::ids::{AppId, PeerId};
use firesteel_core::master::{Event, Inbound};
use firesteel_core::messages::{DriverToMaster, MasterToDriver, ResourceProfile, Resumption};
use firesteel_core::wire::Role;
use firesteel_host::inbox::OwnerGone;
use firesteel_host::net::{Envoy, Letter};
use firesteel_spark::messages::{FromDriver, Registration, ToDriver};
use firesteel_spark::session::PeerNumber;
use firesteel_spark::translate::{self, Told, Unfit};

use super::{Addressed, Addressee, Connection};
use crate::secret;
use crate::spark::frames::Frames;

/// A driver that has registered.
pub(super) struct Driver {
    envoy: Envoy<Event>,
    /// The profile that its application came with.
    default: ResourceProfile,
    /// What the Master is told when the driver acknowledges it, if the driver was called.
    resumption: Option<Resumption>,
}

impl Driver {
    /// A driver that was called with its application.
    pub(super) fn called(envoy: Envoy<Event>, resumption: Resumption) -> Self {
        let default = resumption.description.profile.clone();
        Self { envoy, default, resumption: Some(resumption) }
    }
}

impl Connection {
    /// What the Master is told of a driver's message, if anything.
    pub(super) fn request(
        &mut self,
        number: PeerNumber,
        message: FromDriver,
        frames: &mut Frames,
    ) -> Result<Option<DriverToMaster>, OwnerGone> {
        let is_first = matches!(message, FromDriver::RegisterApplication(_));
        if !is_first && !self.drivers.contains_key(&number) {
            // Its application has ended.
            self.answer(number, false, frames);
            return Ok(None);
        }
        let request = match message {
            FromDriver::RegisterApplication(registration) => {
                return self.register(number, *registration, frames);
            }
            FromDriver::RequestExecutors { app, wanted } => {
                let targets = translate::targets(&wanted, &self.drivers[&number].default);
                targets.map(|targets| DriverToMaster::RequestExecutors { app: AppId::new(app), targets })
            }
            FromDriver::KillExecutors { app, executors } => {
                let executors = translate::executors(&executors);
                Ok(DriverToMaster::KillExecutors { app: AppId::new(app), executors })
            }
            FromDriver::UnregisterApplication { app: Some(app) } => {
                Ok(DriverToMaster::UnregisterApplication { app: AppId::new(app), outcome: None })
            }
            FromDriver::MasterChangeAcknowledged { .. } => {
                let driver = self.drivers.get_mut(&number);
                let resumption = driver.and_then(|driver| driver.resumption.clone());
                return Ok(resumption.map(DriverToMaster::ResumeApplication));
            }
            FromDriver::UnregisterApplication { app: None } => return Ok(None),
        };
        match request {
            Ok(request) => Ok(Some(request)),
            Err(unfit) => {
                self.complain(&format!("a driver's request is refused: {unfit}"));
                self.answer(number, false, frames);
                Ok(None)
            }
        }
    }

    /// A driver registers an application: with it the driver becomes a peer of the Master's.
    fn register(
        &mut self,
        number: PeerNumber,
        registration: Registration,
        frames: &mut Frames,
    ) -> Result<Option<DriverToMaster>, OwnerGone> {
        let name = registration.application.name.clone();
        let callback = registration.body;
        let description = match translate::application(registration.application) {
            Ok(mut description) => {
                // Nobody but the Master that calls the driver can bring its application back.
                description.token = secret::draw();
                description.callback = callback;
                description
            }
            Err(unfit) => {
                self.refuse(number, &name, &unfit, frames);
                return Ok(None);
            }
        };
        if !self.drivers.contains_key(&number) {
            let (envoy, letters) = self.envoys.open(Role::Driver, name, self.remote)?;
            let address = Addressee::Driver(number, envoy.peer());
            self.letters.push(Addressed { address, letters });
            self.has_registered = true;
            self.drivers
                .insert(number, Driver { envoy, default: description.profile.clone(), resumption: None });
        }
        Ok(Some(DriverToMaster::RegisterApplication(Box::new(description))))
    }

    /// Tells a driver why its application cannot be taken, in the only words that its protocol has for it.
    fn refuse(&mut self, number: PeerNumber, name: &str, unfit: &Unfit, frames: &mut Frames) {
        self.complain(&format!("application {name:?} is refused: {unfit}"));
        let message = ToDriver::ApplicationRemoved { message: format!("FAILED: refused: {unfit}") };
        frames.push(&self.session.tell_driver(number, &message));
    }

    /// Answers a driver's oldest request, if it waits for an answer. Whether it does.
    fn answer(&mut self, number: PeerNumber, yes: bool, frames: &mut Frames) -> bool {
        let answer = self.session.answer(number, yes);
        answer.iter().for_each(|frame| frames.push(frame));
        answer.is_some()
    }

    /// Gives the Master a driver's message, which had this number of bytes.
    pub(super) async fn driver_says(
        &self,
        number: PeerNumber,
        bytes: usize,
        message: DriverToMaster,
    ) -> Result<(), OwnerGone> {
        match self.drivers.get(&number) {
            Some(Driver { envoy, .. }) => self.tell(envoy.peer(), bytes, Inbound::Driver(message)).await,
            None => Ok(()),
        }
    }

    /// Has written what the Master sends to a driver. Of an application that has ended no more is told. `Break` if the Master
    /// ends the driver's connection.
    pub(super) fn deliver_to_driver(
        &mut self,
        (number, peer): (PeerNumber, PeerId),
        letter: Letter,
        frames: &mut Frames,
    ) -> ControlFlow<()> {
        if self.drivers.get(&number).is_none_or(|driver| driver.envoy.peer() != peer) {
            return ControlFlow::Continue(());
        }
        let message: MasterToDriver = match letter {
            Letter::Message(parcel) => parcel.open(),
            Letter::End(why) => {
                if let Some(driver) = self.drivers.remove(&number) {
                    driver.envoy.end(why);
                }
                return ControlFlow::Break(());
            }
        };
        let is_called = self.drivers.get(&number).is_some_and(|driver| driver.resumption.is_some());
        if is_called && matches!(message, MasterToDriver::RegisteredApplication { .. }) {
            // It was told so by the Master before.
            return ControlFlow::Continue(());
        }
        match translate::to_driver(&message, self.session.master(number)) {
            Told::Message(message) => {
                frames.push(&self.session.tell_driver(number, &message));
                if let ToDriver::ApplicationRemoved { .. } = message {
                    self.drivers.remove(&number);
                    // The Master answers nothing any more.
                    while self.answer(number, false, frames) {}
                }
            }
            Told::Answer(yes) => {
                self.answer(number, yes, frames);
            }
            Told::Nothing => {}
        }
        ControlFlow::Continue(())
    }
}
