//! The books about cluster drivers.

use std::collections::BTreeMap;

use firesteel_master::{Effect, Event, Inbound, Note, Outbound};
use firesteel_placement::advanced::resources::ResourceQuantities;
use firesteel_protocol::ids::{DriverId, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ClientToMaster, DriverDescription, DriverError, DriverLaunch, DriverReport, DriverState,
    KillDriverAnswer, MasterToClient, MasterToWorker, MasterView, RefusedDriver, ResourceProfile,
    SubmitDriverAnswer, WorkerToMaster,
};
use firesteel_protocol::wire;

use super::books::{Availability, DriverHold};
use super::{Ledger, budget};

/// All cluster drivers, as the Master's messages describe them.
#[derive(Debug, Default)]
pub(super) struct DriverBooks {
    /// The cluster drivers that the Master has named to operators or Workers, with their descriptions at the
    /// submission.
    known: BTreeMap<DriverId, DriverDescription>,
    placed: BTreeMap<DriverId, WorkerId>,
    /// When the Master told an operator that a cluster driver will end, in milliseconds.
    asked: BTreeMap<DriverId, u64>,
}

impl Ledger {
    /// The ids of the cluster drivers that the Master has named to operators and Workers.
    pub(crate) fn submitted(&self) -> impl Iterator<Item = &DriverId> {
        self.drivers.known.keys()
    }

    /// The cluster drivers that the Master counts as placed. Each has its Worker, and the time when its end was
    /// requested.
    pub(crate) fn placed_drivers(&self) -> impl Iterator<Item = (&DriverId, &WorkerId, Option<u64>)> {
        self.drivers.placed.iter().map(|(id, worker)| (id, worker, self.drivers.asked.get(id).copied()))
    }

    /// The descriptions of all cluster drivers that were ever submitted.
    pub(super) fn described_drivers(&self) -> impl Iterator<Item = &DriverDescription> {
        self.drivers.known.values()
    }

    pub(super) fn check_submission(
        &mut self,
        event: &Event,
        answer: &SubmitDriverAnswer,
    ) -> Result<(), String> {
        let description = submitted(event)?;
        let too_many = description.resources.len() > ResourceProfile::MOST_RESOURCES;
        let is_sound = description.cores.0 > 0 && !too_many;
        match answer {
            SubmitDriverAnswer::Refused(RefusedDriver::Unsound { why })
                if too_many || budget::is_refusal(why) =>
            {
                Ok(())
            }
            SubmitDriverAnswer::Refused(RefusedDriver::UnsoundSize { .. }) if description.cores.0 <= 0 => {
                Ok(())
            }
            SubmitDriverAnswer::Submitted { driver } if is_sound => {
                match self.drivers.known.insert(driver.clone(), description.clone()) {
                    None => Ok(()),
                    Some(_) => Err(format!("the id {driver} is used again")),
                }
            }
            other => Err(format!("{description:?} is answered with {other:?}")),
        }
    }

    /// Checks the answer to a request to end a cluster driver.
    pub(super) fn check_driver_kill(&mut self, answer: &KillDriverAnswer) {
        if let KillDriverAnswer::Asked { driver } = answer {
            let now = self.now;
            self.drivers.asked.entry(driver.clone()).or_insert(now);
        }
    }

    /// Notes that an operator was told that all cluster drivers will end.
    pub(super) fn note_kill_of_all(&mut self) {
        let (now, DriverBooks { placed, asked, .. }) = (self.now, &mut self.drivers);
        for driver in placed.keys() {
            asked.entry(driver.clone()).or_insert(now);
        }
    }

    /// Checks a cluster driver whose end an operator was promised. Its Worker is told to end it, and told again when
    /// the Worker returns with the driver.
    pub(super) fn check_driver_kills(&self, event: &Event, effects: &[Effect]) -> Result<(), String> {
        let is_told = |peer: PeerId, id: &DriverId| {
            effects.iter().any(|effect| {
                matches!(effect, Effect::Send { peer: to, message: Outbound::Worker(MasterToWorker::KillDriver { driver }) }
                    if *to == peer && driver == id)
            })
        };
        let answers = effects.iter().filter_map(|effect| match effect {
            Effect::Send { message: Outbound::Client(answer), .. } => Some(answer),
            _ => None,
        });
        let asked = answers.flat_map(|answer| match answer {
            MasterToClient::KillDriverResponse(KillDriverAnswer::Asked { driver }) => vec![driver],
            MasterToClient::KillAllDriversResponse { .. } => self.drivers.placed.keys().collect(),
            _ => Vec::new(),
        });
        let on = |driver| self.workers.get(self.drivers.placed.get(driver)?)?.peer.zip(Some(driver));
        let untold = asked.filter_map(on).find(|(peer, driver)| !is_told(*peer, driver));
        let untold = untold.map(|(_, driver)| driver);
        let returned = match event {
            Event::Received {
                peer,
                message: Inbound::Worker(WorkerToMaster::RegisterWorker { worker, drivers, .. }),
                ..
            } if self.worker_of.get(peer) == Some(&worker.id) => {
                let running = drivers.iter().filter(|report| report.state == DriverState::Running);
                let asked = |id: &&DriverId| {
                    self.drivers.asked.contains_key(*id) && self.drivers.placed.get(*id) == Some(&worker.id)
                };
                running.map(|report| &report.driver).filter(asked).find(|id| !is_told(*peer, id))
            }
            _ => None,
        };
        match untold.or(returned) {
            Some(driver) => Err(format!("{driver} is to end, and its Worker is not told")),
            None => Ok(()),
        }
    }

    pub(super) fn launch_driver(
        &mut self,
        peer: PeerId,
        launch: &DriverLaunch,
        event: &Event,
    ) -> Result<(), String> {
        let DriverLaunch { driver, description, resources: given } = launch;
        let Some(worker) = self.worker_of.get(&peer).cloned() else {
            return Err(format!("{driver} is given to peer {peer}, which is no Worker"));
        };
        match self.drivers.placed.get(driver) {
            Some(on) if *on == worker => {
                let is_heartbeat = matches!(event, Event::Received { peer: from,
                    message: Inbound::Worker(WorkerToMaster::Heartbeat { .. }), .. } if *from == peer);
                return match is_heartbeat {
                    true => Ok(()),
                    false => Err(format!("{driver} is given to {worker} twice")),
                };
            }
            Some(on) => return Err(format!("{driver} is given to {worker}, and runs on {on}")),
            None => {}
        }
        // A replacement of another driver first appears here.
        let known = self.drivers.known.entry(driver.clone()).or_insert_with(|| description.clone());
        if known != description {
            return Err(format!("{driver} is given to {worker} as {description:?}, it is {known:?}"));
        }
        let needs = &description.resources;
        let quantities = needs.iter().map(|(name, amount)| (name.clone(), amount.quantity()));
        if quantities.collect::<ResourceQuantities>() != given.quantities() {
            return Err(format!("{driver} needs {needs:?}, and is given {given}"));
        }
        let book = self.workers.get_mut(&worker).ok_or("a Worker's connection outlives it")?;
        if book.availability == Availability::Decommissioning || book.cannot_start {
            return Err(format!("{driver} is given to {worker}, which takes nothing"));
        }
        let (cores, memory, resources) = (description.cores, description.memory, given.clone());
        let described = budget::weight(wire::length(description));
        book.drivers.insert(driver.clone(), DriverHold { cores, memory, resources, described });
        self.drivers.placed.insert(driver.clone(), worker.clone());
        self.workers[&worker].check(&worker)
    }

    /// Removes cluster drivers from their Workers if an event or its effects remove them.
    pub(super) fn release_drivers(&mut self, event: &Event, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Note(Note::WorkerRemoved { worker, .. }) = effect {
                self.lose_drivers(worker);
            }
        }
        let Event::Received { peer, message: Inbound::Worker(message), .. } = event else { return };
        match message {
            WorkerToMaster::DriverStateChanged(report) => self.driver_reported(*peer, report),
            WorkerToMaster::RegisterWorker { drivers, .. } => {
                let is_registered = effects.iter().any(|effect| {
                    matches!(effect, Effect::Send { peer: to,
                    message: Outbound::Worker(MasterToWorker::RegisteredWorker { .. }) } if to == peer)
                });
                if is_registered {
                    drivers.iter().for_each(|report| self.driver_reported(*peer, report));
                }
            }
            _ => {}
        }
    }

    /// A known Worker registers on another connection. Removes the drivers that the Worker does not list, because they
    /// never reached it.
    pub(super) fn forget_unlisted_drivers(&mut self, worker: &WorkerId, listed: &[DriverReport]) {
        let Some(book) = self.workers.get_mut(worker) else { return };
        let is_listed = |id: &DriverId| listed.iter().any(|report| report.driver == *id);
        book.drivers.retain(|id, _| is_listed(id));
        self.drivers.placed.retain(|id, on| on != worker || is_listed(id));
    }

    fn driver_reported(&mut self, peer: PeerId, DriverReport { driver, state, .. }: &DriverReport) {
        let Some(worker) = self.worker_of.get(&peer) else { return };
        let is_over = match state {
            // Only a Master may report this state.
            DriverState::Running | DriverState::Unknown | DriverState::Relaunching { .. } => false,
            DriverState::Submitted
            | DriverState::Finished
            | DriverState::Killed(_)
            | DriverState::Failed(_)
            | DriverState::Error(_) => true,
        };
        if is_over && self.drivers.placed.get(driver) == Some(worker) {
            self.drivers.placed.remove(driver);
            self.drivers.asked.remove(driver);
            if let Some(book) = self.workers.get_mut(worker) {
                book.drivers.remove(driver);
            }
        }
    }

    pub(super) fn lose_drivers(&mut self, worker: &WorkerId) {
        if let Some(book) = self.workers.get_mut(worker) {
            book.drivers.clear();
        }
        self.drivers.placed.retain(|_, on| on != worker);
    }

    /// Compares the Master's cluster drivers with the books.
    pub(super) fn compare_drivers(&self, view: &MasterView) -> Result<(), String> {
        let listed: BTreeMap<&DriverId, _> = view.drivers.iter().map(|driver| (&driver.id, driver)).collect();
        if listed.len() != view.drivers.len() {
            return Err("the Master lists a driver twice".to_owned());
        }
        for (id, description) in &self.drivers.known {
            let Some(driver) = listed.get(id) else { return Err(format!("the Master forgot {id}")) };
            if driver.supervise != description.supervise {
                return Err(format!("the Master confuses whether {id} is supervised"));
            }
            if driver.needs != description.resources {
                return Err(format!("the Master confuses what {id} needs"));
            }
            let placed = self.drivers.placed.get(id);
            let wrong = match &driver.state {
                DriverState::Submitted => placed.is_some(),
                DriverState::Running | DriverState::Unknown => {
                    placed != driver.worker.as_ref().map(|place| &place.worker)
                }
                DriverState::Relaunching { successor } => {
                    placed.is_some() || !driver.supervise || !listed.contains_key(successor)
                }
                DriverState::Error(DriverError::Lost(_) | DriverError::WorkerStopped) => {
                    placed.is_some() || driver.supervise
                }
                DriverState::Error(DriverError::NotStarted(_))
                | DriverState::Finished
                | DriverState::Killed(_)
                | DriverState::Failed(_) => placed.is_some(),
            };
            if wrong {
                return Err(format!("{id} is {} at the Master, and is on {placed:?}", driver.state));
            }
        }
        Ok(())
    }
}

pub(super) fn submitted(event: &Event) -> Result<&DriverDescription, String> {
    match event {
        Event::Received {
            message: Inbound::Client(ClientToMaster::RequestSubmitDriver(description)),
            ..
        } => Ok(description),
        other => Err(format!("a submission is answered, and the event is {other:?}")),
    }
}
