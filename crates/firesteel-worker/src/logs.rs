//! Requests of clients for logs of executors and cluster drivers.

use bytes::Bytes;
use firesteel_protocol::ids::{PeerId, is_sound};
use firesteel_protocol::messages::{LogAuthor, LogPiece, LogRange, RefusedLog, WorkerToClient};

use super::tables::Writer;
use super::{Effect, LogRead, Outbound, Worker};

impl Worker {
    pub(super) fn on_request_log(&mut self, peer: PeerId, range: LogRange) {
        if !is_sound(range.author.directory_id()) {
            return self.effects.push(refuse(peer, RefusedLog::UnsoundId));
        }
        if self.logs.is_asked(peer) {
            return self.effects.push(refuse(peer, RefusedLog::OneAtATime));
        }
        let lives = match &range.author {
            LogAuthor::Executor(executor) => self.executors.lives(executor),
            LogAuthor::Driver(driver) => self.drivers.lives(driver),
        };
        self.logs.ask(peer, if lives { Writer::Lives } else { Writer::Over });
        self.effects.push(Effect::ReadLog { peer, range });
    }

    pub(super) fn on_log_read(&mut self, peer: PeerId, outcome: LogRead) {
        // The client has disconnected, so there is no answer.
        let Some(writer) = self.logs.answered(peer) else { return };
        let is_over = writer == Writer::Over;
        self.effects.push(match (outcome, writer) {
            (LogRead::Piece { start, bytes, length }, _) => {
                answer(peer, LogPiece { start, bytes, length, is_over })
            }
            // The author of the log is about to be started.
            (LogRead::Missing { .. }, Writer::Lives) => {
                answer(peer, LogPiece { start: 0, bytes: Bytes::new(), length: 0, is_over })
            }
            (LogRead::Missing { directory }, Writer::Over) => refuse(peer, RefusedLog::NoLog { directory }),
            (LogRead::Failed { error }, _) => refuse(peer, RefusedLog::Unreadable { error }),
        });
    }
}

fn answer(peer: PeerId, piece: LogPiece) -> Effect {
    Effect::Send { peer, message: Outbound::Client(WorkerToClient::LogResponse(piece)) }
}

fn refuse(peer: PeerId, refusal: RefusedLog) -> Effect {
    Effect::Send { peer, message: Outbound::Client(WorkerToClient::RequestLogFailed(refusal)) }
}
