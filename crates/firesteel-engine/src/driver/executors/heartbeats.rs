//! Heartbeats: the driver shows its executors that it is alive, and replaces silent executors.

use std::time::Duration;

use firesteel_protocol::ids::{ExecutorId, PeerId};
use firesteel_protocol::last_seen::LATE;
use firesteel_protocol::time::Timestamp;

use crate::driver::{Driver, Effect, ExecutorLoss, Note};

impl Driver {
    /// An executor has connected. Starts the heartbeats if this is the first executor.
    pub(super) fn begin_heartbeats(&mut self, now: Timestamp) {
        let interval = self.config.heartbeats.interval;
        self.next_heartbeat.get_or_insert(now + interval);
    }

    /// Sends a heartbeat to every connected executor, if one is due. These heartbeats do not depend on the executors'
    /// heartbeats. While the driver's owner takes no reports, the driver reads no messages, but must still show that it
    /// is alive.
    pub(in crate::driver) fn send_heartbeats(&mut self, now: Timestamp) {
        if self.next_heartbeat.is_none_or(|due| due > now) {
            return;
        }
        let connected: Vec<_> = self.executors.connected().collect();
        let interval = self.config.heartbeats.interval;
        self.next_heartbeat = (!connected.is_empty()).then(|| now + interval);
        for (peer, executor) in connected {
            self.beat(peer, executor);
        }
    }

    /// If the driver itself was late, messages of executors may wait unread. Then silent executors get the full timeout
    /// again.
    pub(in crate::driver) fn excuse_executors(&mut self, now: Timestamp) {
        let late = self.executors.next_due().map_or(Duration::ZERO, |(due, _)| now.since(due));
        if late > LATE {
            let executors = self.executors.excuse(now, self.config.heartbeats.timeout);
            if executors > 0 {
                self.effects.note(Note::ExecutorsExcused { executors, late });
            }
        }
    }

    /// Checks whether a connected executor is silent. Its unread messages are handled before it counts as lost, because
    /// a driver stops reading while its owner takes no reports.
    pub(in crate::driver) fn look_for_life(&mut self, now: Timestamp, executor: ExecutorId) {
        let timeout = self.config.heartbeats.timeout;
        let row = self.executors.live(executor);
        let silent_at = row.heard.silent_at(timeout);
        if silent_at > now {
            return self.executors.look_at(executor, silent_at);
        }
        if let Some(peer) = row.peer() {
            self.effects.push(Effect::HandleArrived { peer });
        }
        self.executors.look_at(executor, now + timeout);
    }

    /// All messages that had arrived from an executor are handled. If the executor is still silent, it is lost.
    ///
    /// Source: Spark's driver, 4.0.1 (`HeartbeatReceiver`, `killAndReplaceExecutor`). In Spark, the tasks count as
    /// failed.
    pub(in crate::driver) fn on_arrived_handled(&mut self, now: Timestamp, peer: PeerId) {
        let timeout = self.config.heartbeats.timeout;
        let Some(executor) = self.executors.of_peer(peer) else { return };
        if self.executors.live(executor).heard.silent_at(timeout) > now {
            return;
        }
        self.lose_executor(executor, ExecutorLoss::HeartbeatTimeout { timeout });
    }
}
