//! The messages that two peers exchange, over one connection after the other.
//!
//! Each side numbers the messages that it sends, and retains them until the other side acknowledges them. When a
//! connection breaks, the last messages in each direction may be lost. On the next connection, each side says how many
//! messages it has received, and the other side sends the rest again. So each message is handled once, and in order.

use std::collections::VecDeque;

/// A side acknowledges after at most this many messages. Together with [`ACKNOWLEDGED_BYTES`], this bounds what the
/// other side retains.
pub const ACKNOWLEDGED_MESSAGES: u64 = 64;

/// A side acknowledges after at most this many bytes.
pub const ACKNOWLEDGED_BYTES: usize = 256 << 10;

/// The number of connections in a row on which no retained message arrived. After that, a message is taken for the
/// cause, because a message that the other side cannot read breaks every connection.
const MOST_FRUITLESS: u32 = 32;

/// One side of an exchange. `M` is the type of the messages that this side sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange<M> {
    /// The sent messages that the other side has not acknowledged, oldest first.
    retained: VecDeque<M>,
    /// How many messages the other side has acknowledged.
    acknowledged: u64,
    /// How many messages of the other side have been received.
    received: u64,
    /// The messages received since the last acknowledgement, and their bytes.
    owed: (u64, usize),
    /// How many connections in a row have begun without progress.
    fruitless: u32,
}

/// Why an exchange cannot go on over another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The other side is not the one that this exchange began with.
    #[error("it has received {received} messages, and {acknowledged} to {sent} are possible")]
    Contradiction { received: u64, acknowledged: u64, sent: u64 },
    #[error("a message did not arrive on {MOST_FRUITLESS} connections in a row")]
    Fruitless,
}

impl<M> Default for Exchange<M> {
    fn default() -> Self {
        Self { retained: VecDeque::new(), acknowledged: 0, received: 0, owed: (0, 0), fruitless: 0 }
    }
}

impl<M: Clone> Exchange<M> {
    /// Numbers a message, and retains it until it is acknowledged.
    pub fn retain(&mut self, message: &M) {
        self.retained.push_back(message.clone());
    }

    /// Counts a message of the other side, with the size of its bulk. Returns whether an acknowledgement is due.
    pub fn receive(&mut self, bytes: usize) -> bool {
        self.received += 1;
        let (messages, bulk) = self.owed;
        self.owed = (messages + 1, bulk.saturating_add(bytes));
        self.owed.0 >= ACKNOWLEDGED_MESSAGES || self.owed.1 >= ACKNOWLEDGED_BYTES
    }

    /// How many messages have been received, to tell the other side now.
    pub fn acknowledgement(&mut self) -> u64 {
        self.owed = (0, 0);
        self.received
    }

    /// The other side has received this many messages. A number that is not possible changes nothing.
    pub fn acknowledge(&mut self, received: u64) {
        if let Some(new) = self.progress(received) {
            self.retained.drain(..new);
            self.acknowledged = received;
        }
    }

    /// Goes on over another connection. The other side has received this many messages. Returns the messages to send
    /// again, in order.
    ///
    /// # Errors
    /// The number is not possible, or nothing arrived on too many connections in a row.
    pub fn resume(&mut self, received: u64) -> Result<Vec<M>, ResumeError> {
        let sent = self.acknowledged + self.retained.len() as u64;
        let acknowledged = self.acknowledged;
        let Some(new) = self.progress(received) else {
            return Err(ResumeError::Contradiction { received, acknowledged, sent });
        };
        self.fruitless = if new > 0 || self.retained.is_empty() { 0 } else { self.fruitless + 1 };
        if self.fruitless > MOST_FRUITLESS {
            return Err(ResumeError::Fruitless);
        }
        self.acknowledge(received);
        Ok(self.retained.iter().cloned().collect())
    }

    /// How many retained messages this number acknowledges, if it is possible.
    fn progress(&self, received: u64) -> Option<usize> {
        let new = usize::try_from(received.checked_sub(self.acknowledged)?).ok()?;
        (new <= self.retained.len()).then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retaining(messages: &[&'static str]) -> Exchange<&'static str> {
        let mut exchange = Exchange::default();
        messages.iter().for_each(|message| exchange.retain(message));
        exchange
    }

    #[test]
    fn only_messages_that_did_not_arrive_are_sent_again_in_order() {
        let mut exchange = retaining(&["a", "b", "c"]);
        exchange.acknowledge(1);
        assert_eq!(exchange.resume(2), Ok(vec!["c"]));
        exchange.retain(&"d");
        assert_eq!(exchange.resume(2), Ok(vec!["c", "d"]));
        assert_eq!(exchange.resume(4), Ok(vec![]));
    }

    #[test]
    fn a_number_that_is_not_possible_changes_nothing() {
        let mut exchange = retaining(&["a", "b"]);
        exchange.acknowledge(3);
        exchange.acknowledge(1);
        exchange.acknowledge(0);
        assert_eq!(exchange.retained, ["b"]);
        for received in [0, 3, u64::MAX] {
            let error = ResumeError::Contradiction { received, acknowledged: 1, sent: 2 };
            assert_eq!(exchange.resume(received), Err(error));
        }
        assert_eq!(exchange.retained, ["b"]);
    }

    #[test]
    fn an_acknowledgement_is_due_after_many_messages_or_many_bytes() {
        let mut exchange = retaining(&[]);
        let due = (1..=ACKNOWLEDGED_MESSAGES).position(|_| exchange.receive(0));
        assert_eq!(due, Some(63));
        assert_eq!(exchange.acknowledgement(), 64);
        assert!(!exchange.receive(ACKNOWLEDGED_BYTES - 1));
        assert!(exchange.receive(1));
        assert_eq!(exchange.acknowledgement(), 66);
        assert!(!exchange.receive(0), "it was told");
    }

    #[test]
    fn a_message_that_breaks_every_connection_is_given_up() {
        let mut exchange = retaining(&["poison"]);
        for _ in 0..MOST_FRUITLESS {
            assert_eq!(exchange.resume(0), Ok(vec!["poison"]));
        }
        assert_eq!(exchange.resume(0), Err(ResumeError::Fruitless));
        let mut idle = retaining(&[]);
        assert!((0..100).all(|_| idle.resume(0) == Ok(vec![])), "nothing has to arrive");
    }
}
