//! Executors whose connection ended and who may return, and the messages to them.

use std::time::Duration;

use firesteel_protocol::exchange::{Exchange, ResumeError};
use firesteel_protocol::ids::{ExecutorId, PeerId};
use firesteel_protocol::last_seen::LastSeen;
use firesteel_protocol::messages::{DriverToExecutor, ExecutorToDriver};
use firesteel_protocol::time::Timestamp;

use super::Executors;
use super::executor::{Assigned, State};
use crate::driver::{Driver, ExecutorLoss, Note};

/// An executor that was accepted before, on its new connection.
struct Return {
    /// The executor's old connection, if the driver has not noticed its end.
    replaced: Option<PeerId>,
    /// Since when the executor was away.
    since: Timestamp,
    /// The messages that the executor has not received.
    again: Vec<DriverToExecutor>,
}

impl Driver {
    /// An executor's connection ended. The driver waits for the executor to return, and for the Master to report how
    /// the executor ended. An executor that does not return is lost immediately if there is no Master.
    ///
    /// Source: Spark's driver, 4.0.1 (`spark.standalone.executorRemoveDelayOnDisconnection`), where no executor
    /// returns.
    pub(in crate::driver) fn on_executor_disconnected(&mut self, now: Timestamp, executor: ExecutorId) {
        let patience = match self.executors.live(executor).returns() {
            true => self.config.away_timeout,
            false => self.config.loss_delay,
        };
        self.executors.disconnect(executor, now, patience);
        let row = self.executors.live(executor);
        if row.returns() {
            let host = row.host.clone();
            self.effects.note(Note::ExecutorAway { executor, host, patience });
        } else if self.registration.master().is_none() {
            self.lose_executor(executor, ExecutorLoss::Disconnected);
        }
    }

    /// A known executor registers again. If it says the same of itself as before and can go on where it was, its new
    /// connection replaces the old one. Returns whether it does.
    pub(in crate::driver) fn take_back(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        executor: ExecutorId,
        assigned: &Assigned,
        received: u64,
    ) -> bool {
        if !self.executors.get(executor).is_some_and(|row| row.is(assigned)) {
            return false;
        }
        let look = now + self.config.heartbeats.timeout;
        let returned = match self.executors.come_back(executor, peer, received, now, look) {
            Some(Ok(returned)) => returned,
            Some(Err(error)) => {
                self.effects.note(Note::ExecutorEstranged { executor, error });
                self.lose_executor(executor, ExecutorLoss::Misbehaved);
                return false;
            }
            None => return false,
        };
        let Return { replaced, since, again } = returned;
        if let Some(old) = replaced {
            self.close(old);
        }
        let (host, absent) = (self.executors.live(executor).host.clone(), now.since(since));
        self.effects.note(Note::ExecutorBack { executor, host, absent });
        self.begin_heartbeats(now);
        self.confirm(peer, executor);
        for message in again {
            self.send_executor(peer, message);
        }
        true
    }

    /// Tells an executor that it is accepted, and how many of its messages have been received.
    pub(super) fn confirm(&mut self, peer: PeerId, executor: ExecutorId) {
        let (rules, received) = (self.config.rules(), self.executors.acknowledgement(executor));
        self.send_executor(peer, DriverToExecutor::RegisteredExecutor { rules, received });
    }

    /// Sends a message about a task to its executor. While the executor is away, the message waits for its return.
    pub(in crate::driver) fn tell_executor(&mut self, executor: ExecutorId, message: DriverToExecutor) {
        if let Some(peer) = self.executors.retain_for(executor, &message) {
            self.send_executor(peer, message);
        }
    }

    /// Counts a message of an executor, and acknowledges if much was received.
    pub(in crate::driver) fn count_message(
        &mut self,
        peer: PeerId,
        executor: ExecutorId,
        message: &ExecutorToDriver,
    ) {
        if let Some(bytes) = message.counted()
            && self.executors.count(executor, bytes)
        {
            self.beat(peer, executor);
        }
    }

    /// Tells an executor that the driver is alive, and how many of its messages have been received.
    pub(super) fn beat(&mut self, peer: PeerId, executor: ExecutorId) {
        let received = self.executors.acknowledgement(executor);
        self.send_executor(peer, DriverToExecutor::Heartbeat { received });
    }
}

impl Executors {
    /// The connection of an executor ended. It may return within this time, or the Master may report its end.
    fn disconnect(&mut self, id: ExecutorId, now: Timestamp, patience: Duration) {
        let row = self.live(id);
        let (peer, before) = (row.peer().expect("the executor had a connection"), row.until());
        self.peers.remove(&peer);
        self.set_state(id, State::Away { since: now, until: now + patience });
        self.await_again(id, before);
    }

    /// An executor that was accepted before registers on this connection, and has received this many messages. `None`:
    /// there is no such executor, or it does not return.
    fn come_back(
        &mut self,
        id: ExecutorId,
        peer: PeerId,
        received: u64,
        now: Timestamp,
        look: Timestamp,
    ) -> Option<Result<Return, ResumeError>> {
        let row = self.rows.get_mut(&id)?;
        let (replaced, before, is_leaving) = (row.peer(), row.until(), row.is_leaving());
        let since = match row.state {
            State::Away { since, .. } => since,
            State::Offering(_) | State::Leaving(_) => row.heard.time(),
            State::Announced | State::Expected(_) => return None,
        };
        let again = match row.exchange.as_mut()?.resume(received) {
            Ok(again) => again,
            Err(error) => return Some(Err(error)),
        };
        (row.heard, row.look) = (LastSeen::at(now), look);
        if let Some(old) = replaced {
            self.peers.remove(&old);
        }
        self.peers.insert(peer, id);
        self.set_state(id, if is_leaving { State::Leaving(peer) } else { State::Offering(peer) });
        self.start_offering(id);
        self.await_again(id, before);
        self.touched.insert(id);
        Some(Ok(Return { replaced, since, again }))
    }

    /// An executor that was just accepted returns if its connection breaks.
    pub(super) fn begin_exchange(&mut self, id: ExecutorId) {
        self.live_mut(id).exchange = Some(Exchange::default());
    }

    /// An executor said that it ends. It takes no more tasks and does not return.
    pub(in crate::driver) fn take_leave(&mut self, id: ExecutorId) {
        self.expect_end(id);
        self.live_mut(id).exchange = None;
    }

    /// Retains a message for an executor that may return. Returns the executor's connection, if it has one.
    fn retain_for(&mut self, id: ExecutorId, message: &DriverToExecutor) -> Option<PeerId> {
        let row = self.live_mut(id);
        if let Some(exchange) = &mut row.exchange {
            exchange.retain(message);
        }
        row.peer()
    }

    /// Counts a message of an executor. Returns whether an acknowledgement is due.
    fn count(&mut self, id: ExecutorId, bytes: usize) -> bool {
        self.live_mut(id).exchange.as_mut().is_some_and(|exchange| exchange.receive(bytes))
    }

    fn acknowledgement(&mut self, id: ExecutorId) -> u64 {
        self.live_mut(id).exchange.as_mut().map_or(0, Exchange::acknowledgement)
    }

    /// An executor has received this many messages.
    pub(in crate::driver) fn acknowledge(&mut self, id: ExecutorId, received: u64) {
        if let Some(exchange) = &mut self.live_mut(id).exchange {
            exchange.acknowledge(received);
        }
    }
}
