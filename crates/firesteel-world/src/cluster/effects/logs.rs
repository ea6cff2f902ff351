//! Logs. In this world they have no content. The world only checks whether they have ended.

use bytes::Bytes;
use firesteel_master as master;
use firesteel_protocol::ids::{PeerId, is_sound};
use firesteel_protocol::messages::{LogAddress, LogAuthor, LogPiece, LogRange, WorkerToClient};
use firesteel_worker::{Event, LogRead};

use crate::cluster::processes::node::{Body, NodeEvent, WorkerBody};
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};

impl World {
    /// A Worker reads a log for a client.
    pub(crate) fn read_log(&mut self, node: NodeIndex, peer: PeerId, range: &LogRange) {
        let author = &range.author;
        if !is_sound(author.directory_id()) {
            return self.violate(format!("a log is read in the directory {:?}", author.directory_id()));
        }
        let (lives, was_here) = match author {
            LogAuthor::Executor(executor) => {
                let process = self.processes.get(executor).and_then(|process| self.process(*process));
                let lives = process.is_some_and(|process| process.worker == node);
                (lives, self.executors.started_by(executor) == Some(node))
            }
            LogAuthor::Driver(driver) => {
                let drivers = &self.cluster_drivers;
                (drivers.runs_on(driver, node), drivers.started_by(driver) == Some(node))
            }
        };
        let Some(body) = self.worker_mut(node) else { return };
        if body.readings.insert(peer, lives.then(|| author.clone())).is_some() {
            return self.violate("a Worker reads two logs for one client at the same time");
        }
        let outcome = match self.dice.below(10) {
            0 => LogRead::Failed { error: "input/output error".to_owned() },
            _ if was_here => LogRead::Piece { start: 0, bytes: Bytes::from_static(b"up\n"), length: 3 },
            _ => LogRead::Missing { directory: "nowhere".to_owned() },
        };
        let millis = self.dice.between(1, 200);
        self.tell_worker(millis, node, Event::LogRead { peer, outcome });
    }

    /// A Master has a log read for a client. It may be that the Worker cannot be asked.
    pub(crate) fn read_worker_log(
        &mut self,
        master: NodeIndex,
        peer: PeerId,
        addresses: &[LogAddress],
        range: &LogRange,
    ) {
        let LogAuthor::Executor(key) = &range.author else {
            return self.violate("no cluster driver's log is asked for at a Master of this world");
        };
        let started_by = self.executors.started_by(key).map(|node| &self.node(node).body);
        if let Some(Body::Worker(body)) = started_by
            && addresses.first().is_none_or(|first| first.worker != body.id)
        {
            return self.violate(format!("the log of {key} is looked for at {addresses:?}"));
        }
        // No random number is drawn, so that existing seeds keep their meaning.
        let outcome = match self.now % 3 {
            0 => Err("the Worker does not answer".to_owned()),
            _ => Ok(LogPiece { start: 0, bytes: Bytes::from_static(b"up\n"), length: 3, is_over: false }),
        };
        let event = NodeEvent::Master(master::Event::LogRead { peer, outcome });
        self.after(1 + self.now % 200, ScheduledEvent::Tell { node: master, event });
    }

    pub(crate) fn answer_client(&mut self, node: NodeIndex, peer: PeerId, message: &WorkerToClient) {
        match message {
            WorkerToClient::LogResponse(piece) => {
                let Some(body) = self.worker_mut(node) else { return };
                match body.readings.get(&peer) {
                    Some(Some(author)) if piece.is_over => {
                        let author = author.clone();
                        self.violate(format!("a log is said to be over while {author} lives"));
                    }
                    Some(_) => {}
                    None => self.violate("a client is answered with a log that was not read for it"),
                }
            }
            WorkerToClient::WorkerStateResponse(_)
            | WorkerToClient::WorkerReportResponse(_)
            | WorkerToClient::RequestLogFailed(_) => {}
        }
    }

    /// A Worker has read a log. The Worker's answer was already sent before this call.
    pub(crate) fn log_was_read(&mut self, node: NodeIndex, peer: PeerId) {
        if let Some(body) = self.worker_mut(node) {
            body.readings.remove(&peer);
        }
    }

    fn worker_mut(&mut self, node: NodeIndex) -> Option<&mut WorkerBody> {
        match &mut self.node_mut(node).body {
            Body::Worker(body) => Some(body),
            Body::Master(_)
            | Body::Driver(_)
            | Body::Launcher(_)
            | Body::Command(_)
            | Body::Executor(_)
            | Body::Stranger
            | Body::Standby { .. }
            | Body::Gone => None,
        }
    }
}
