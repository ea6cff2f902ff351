//! Messages between the driver and its peers.

use firesteel_placement::Resources;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId};
use firesteel_protocol::master_search::Order;
use firesteel_protocol::messages::{
    DriverToExecutor, DriverToMaster, ExecutorState, ExecutorToDriver, MasterToDriver, StateMark,
};
use firesteel_protocol::time::Timestamp;

use super::executors::executor::Assigned;
use super::executors::membership::NewExecutor;
use super::{Driver, Effect, Ending, Event, ExecutorLoss, Inbound, Note, Outbound, Phase, Request, Until};
use crate::applicant::peers::Step;
use crate::applicant::registration::Registered;
use crate::applicant::starvation::Asked;

impl Driver {
    pub(super) fn on_master_message(&mut self, now: Timestamp, peer: PeerId, message: MasterToDriver) {
        if !self.registration.may_say(peer, &message) {
            return self.unexpected(peer);
        }
        match message {
            MasterToDriver::RegisteredApplication {
                app,
                master_url: _,
                max_cores: _,
                first_executor,
                mark,
            } => {
                self.on_registered(now, peer, (app, mark), first_executor);
            }
            MasterToDriver::ApplicationRemoved(end) => {
                self.finish(Ending::Removed(end), None, Until::Notified)
            }
            MasterToDriver::ExecutorAdded { executor, profile, worker, host, cores, memory, port: _ } => {
                let resources = Resources::default();
                let (worker_id, at) = (worker.clone(), host.clone());
                let assigned = Assigned { profile, worker: worker_id, host: at, cores, resources };
                self.registration.see(executor);
                self.executors.announce(executor, assigned, &self.config.topology);
                self.effects.note(Note::ExecutorAdded { executor, worker, host, cores, memory });
                self.receive_announced(now, executor);
            }
            MasterToDriver::ExecutorUpdated { executor, state, lost_host: _ } => {
                if state.is_finished() {
                    self.lose_executor(executor, ExecutorLoss::Ended(state));
                    self.receive_announced(now, executor);
                } else if state == ExecutorState::Running {
                    self.executors.expect(executor, now + self.config.executor_timeout);
                }
            }
            MasterToDriver::ExecutorLeaving { executor, host: _ } => self.executors.drain(executor),
            MasterToDriver::WorkerRemoved { worker, host, reason } => {
                self.effects.note(Note::WorkerRemoved { worker, host, reason });
            }
            MasterToDriver::Shortfalls(shortfalls) => self.on_shortfalls(now, shortfalls),
            MasterToDriver::ExecutorsRequested { accepted } => self.on_answer(Request::Targets, accepted),
            MasterToDriver::ExecutorsKilled { accepted } => self.on_answer(Request::Kill, accepted),
            // This message comes after the end of the application: see `hear_of_the_end`.
            MasterToDriver::ExecutorsGone { .. } => {}
        }
    }

    /// Handles an event after the end of the application. Only two events matter: the last executor has ended, or no
    /// Master is left to report the ends of executors.
    pub(super) fn hear_of_the_end(&mut self, event: &Event) -> Vec<Effect> {
        let (Some((master, _)), Some(app)) = (self.registration.master(), self.registration.app()) else {
            return Vec::new();
        };
        let is_said = match event {
            Event::Received {
                peer,
                message: Inbound::Master(MasterToDriver::ExecutorsGone { app: gone }),
            } => *peer == master && gone == app,
            Event::Disconnected { peer } => *peer == master,
            Event::Start
            | Event::Connected { .. }
            | Event::ConnectFailed { .. }
            | Event::Received { .. }
            | Event::ArrivedHandled { .. }
            | Event::Submit { .. }
            | Event::Finish { .. }
            | Event::AddProfile { .. }
            | Event::RequestExecutors { .. }
            | Event::KillExecutors { .. }
            | Event::OutputConsumed { .. }
            | Event::CancelTask { .. }
            | Event::Ask { .. }
            | Event::MastersMoved { .. }
            | Event::Removed { .. }
            | Event::Cancel { .. }
            | Event::Deadline => false,
        };
        if !is_said {
            return Vec::new();
        }
        self.phase = Phase::Done;
        vec![Effect::Exit]
    }

    pub(super) fn on_registered(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        (app, mark): (AppId, Option<StateMark>),
        first_executor: ExecutorId,
    ) {
        // The Master that has the application may answer twice.
        let Some((meaning, master, orders)) = self.registration.on_registered(peer, app.clone(), mark) else {
            return;
        };
        self.follow(orders);
        if meaning == Registered::Anew {
            self.effects.note(Note::ApplicationReplaced { master: master.clone() });
        }
        self.effects.note(Note::Registered { app, master });
        match meaning {
            Registered::First | Registered::Resumed => self.lose_executors_before(first_executor),
            Registered::Anew => self.lose_all_executors(),
        }
        match meaning {
            Registered::Resumed => self.hints.resend(),
            Registered::First | Registered::Anew => self.hints.forget(),
        }
        // Tasks may have ended together with executors: ask for no more executors than the other tasks need.
        self.scale(now);
        self.repeat_requests();
        self.request_shortfall(Asked::AtOnce);
        self.receive_early(now, first_executor);
    }

    pub(super) fn on_executor_message(&mut self, now: Timestamp, peer: PeerId, message: ExecutorToDriver) {
        let known = self.executors.of_peer(peer);
        if let Some(executor) = known {
            self.executors.hear(executor, now);
            self.count_message(peer, executor, &message);
        }
        match (message, known) {
            (
                ExecutorToDriver::RegisterExecutor {
                    app,
                    executor,
                    profile,
                    worker,
                    host,
                    cores,
                    resources,
                    secret,
                    received,
                },
                None,
            ) if !self.early.contains_key(&peer) && !self.closing.contains(peer) => {
                let assigned = Assigned { profile, worker, host, cores, resources };
                self.on_register_executor(
                    now,
                    peer,
                    NewExecutor { app, executor, assigned, received },
                    &secret,
                );
            }
            (ExecutorToDriver::StatusUpdate { attempt, state }, Some(executor)) => {
                self.on_status_update(now, executor, attempt, state);
            }
            (ExecutorToDriver::TaskOutput { attempt, stream, bytes }, Some(executor)) => {
                self.on_task_output(executor, attempt, stream, bytes);
            }
            (ExecutorToDriver::TaskGivenBack { attempt, failure }, Some(executor)) => {
                self.on_task_given_back(now, executor, attempt, failure);
            }
            (ExecutorToDriver::Heartbeat { received, ends }, Some(executor)) => {
                self.executors.acknowledge(executor, received);
                if ends {
                    self.executors.take_leave(executor);
                }
            }
            (ExecutorToDriver::RegisterExecutor { .. }, Some(executor)) => {
                self.effects.note(Note::UnexpectedMessage { peer });
                self.lose_executor(executor, ExecutorLoss::Misbehaved);
            }
            (
                ExecutorToDriver::RegisterExecutor { .. }
                | ExecutorToDriver::StatusUpdate { .. }
                | ExecutorToDriver::TaskOutput { .. }
                | ExecutorToDriver::TaskGivenBack { .. }
                | ExecutorToDriver::Heartbeat { .. },
                None,
            ) => self.unexpected(peer),
        }
    }

    pub(super) fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        self.closing.forget(peer);
        self.early.remove(&peer);
        if let Some(orders) = self.registration.search.on_disconnected(now, peer) {
            self.follow(orders);
        } else if let Some(executor) = self.executors.of_peer(peer) {
            self.on_executor_disconnected(now, executor);
        }
    }

    /// Performs the orders of the registration.
    pub(super) fn follow(&mut self, orders: Vec<Order<()>>) {
        for order in &orders {
            if let Order::Close(peer) = order {
                self.early.remove(peer);
            }
        }
        let Self { registration, executors, closing, effects, .. } = self;
        let living = || executors.iter().map(|(executor, _)| executor);
        if let Some(errors) = registration.follow(orders, living, closing, effects) {
            self.finish(Ending::NoMaster { errors }, None, Until::Notified);
        }
    }

    /// Closes a connection after a message that is not valid now. Messages of connections that are already closing are
    /// ignored.
    pub(super) fn unexpected(&mut self, peer: PeerId) {
        self.early.remove(&peer);
        self.closing.unexpected(peer, &mut self.effects);
    }

    pub(super) fn close(&mut self, peer: PeerId) {
        self.early.remove(&peer);
        self.closing.close(peer, &mut self.effects);
    }

    pub(super) fn send_executor(&mut self, peer: PeerId, message: DriverToExecutor) {
        self.effects.push(Effect::Send { peer, message: Outbound::Executor(message) });
    }

    /// Sends a message to the Master, if a Master has the application.
    pub(super) fn send_master(&mut self, message: DriverToMaster) {
        if let Some((peer, _)) = self.registration.master() {
            self.effects.push(Effect::Send { peer, message: Outbound::Master(message) });
        }
    }
}

impl From<Step> for Effect {
    fn from(step: Step) -> Self {
        let note = match step {
            Step::Connect { master } => return Self::Connect { master },
            Step::Ask { peer, message } => return Self::Send { peer, message: Outbound::Master(message) },
            Step::Close { peer } => return Self::Close { peer },
            Step::MasterLost { master } => Note::MasterLost { master },
            Step::MasterUnreachable { master, error, patience } => {
                Note::MasterUnreachable { master, error, patience }
            }
            Step::LeaderConflict(dispute) => Note::LeaderConflict(dispute),
            Step::UnexpectedMessage { peer } => Note::UnexpectedMessage { peer },
        };
        Self::Note(note)
    }
}
