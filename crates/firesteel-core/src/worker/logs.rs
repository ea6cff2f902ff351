//! Requests of clients for logs of executors and cluster drivers.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::event::LogRead;
use super::machine::Worker;
use super::{Effect, Outbound};
use crate::ids::{PeerId, is_sound};
use crate::messages::{LogAuthor, LogPiece, LogWish, RefusedLog, WorkerToClient};

/// The requests that are being answered, at most one for each connection. So clients cannot make the shell
/// read and keep any amount.
#[derive(Debug, Default)]
pub(super) struct Logs {
    asked: BTreeMap<PeerId, Writer>,
}

/// Whether the log may grow. Determined before the log is read, so that its author's last output is not
/// missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// Its author is live.
    Lives,
    /// Its author has ended, or an earlier Worker ran it.
    Over,
}

impl Logs {
    /// A client's connection has ended.
    pub(super) fn forget(&mut self, peer: PeerId) {
        self.asked.remove(&peer);
    }
}

impl Worker {
    pub(super) fn on_request_log(&mut self, peer: PeerId, wish: LogWish) {
        if !is_sound(wish.author.directory_id()) {
            return self.effects.push(refuse(peer, RefusedLog::UnsoundId));
        }
        if self.logs.asked.contains_key(&peer) {
            return self.effects.push(refuse(peer, RefusedLog::OneAtATime));
        }
        let lives = match &wish.author {
            LogAuthor::Executor(executor) => self.executors.lives(executor),
            LogAuthor::Driver(driver) => self.drivers.lives(driver),
        };
        self.logs.asked.insert(peer, if lives { Writer::Lives } else { Writer::Over });
        self.effects.push(Effect::ReadLog { peer, wish });
    }

    pub(super) fn on_log_read(&mut self, peer: PeerId, outcome: LogRead) {
        // The client is gone, and needs no answer.
        let Some(writer) = self.logs.asked.remove(&peer) else { return };
        let is_over = writer == Writer::Over;
        self.effects.push(match (outcome, writer) {
            (LogRead::Piece { start, bytes, length }, _) => {
                answer(peer, LogPiece { start, bytes, length, is_over })
            }
            // Its author is about to be started.
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
