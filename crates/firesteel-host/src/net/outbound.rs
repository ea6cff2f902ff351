//! The bounded queue of frames for one peer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::Disconnect;

/// How much may be queued for a peer before it counts as too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// The maximum number of frames.
    pub frames: usize,
    /// The maximum number of bytes in their bodies.
    pub bytes: usize,
}

impl Default for QueueLimits {
    /// 64 MiB in up to a million frames. One event may send a driver a message for each of 100,000
    /// executors, before the peer can read the first of them.
    fn default() -> Self {
        Self { frames: 1 << 20, bytes: 64 << 20 }
    }
}

/// How an owner ends a connection.
#[derive(Debug)]
pub(super) enum CloseMode {
    /// The connection ends after all queued frames are written.
    AfterFlush,
    /// The connection ends at once, for this reason.
    Now(Disconnect),
}

/// The owner's end of the queue.
#[derive(Debug)]
pub struct Outbound {
    frames: mpsc::Sender<Bytes>,
    bytes: Arc<AtomicUsize>,
    close: oneshot::Sender<CloseMode>,
    limits: QueueLimits,
}

/// The connection's end of the queue.
#[derive(Debug)]
pub(super) struct FrameQueue {
    pub(super) frames: mpsc::Receiver<Bytes>,
    bytes: Arc<AtomicUsize>,
}

/// Makes a queue, and the channel on which the owner closes the connection.
pub(super) fn queue(limits: QueueLimits) -> (Outbound, FrameQueue, oneshot::Receiver<CloseMode>) {
    let (sender, frames) = mpsc::channel(limits.frames);
    let (close, ended) = oneshot::channel();
    let bytes = Arc::new(AtomicUsize::new(0));
    (
        Outbound { frames: sender, bytes: Arc::clone(&bytes), close, limits },
        FrameQueue { frames, bytes },
        ended,
    )
}

impl Outbound {
    /// Queues a frame's body.
    ///
    /// # Errors
    /// The queue is full: the peer is too slow.
    pub(super) fn push(&self, body: Bytes) -> Result<(), Disconnect> {
        let slow = |frames, bytes| Disconnect::Slow { frames, bytes };
        let length = body.len();
        let waiting = self.bytes.fetch_add(length, Ordering::Relaxed);
        // One frame always fits, however long it is.
        if waiting > 0 && waiting.saturating_add(length) > self.limits.bytes {
            return Err(slow(self.frames.max_capacity() - self.frames.capacity(), waiting));
        }
        match self.frames.try_send(body) {
            // A connection that has ended reports this itself.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => Err(slow(self.limits.frames, waiting)),
        }
    }

    /// Ends the connection. Nothing can be queued afterwards.
    pub(super) fn end(self, close: CloseMode) {
        // The connection may have ended already.
        let _ = self.close.send(close);
    }
}

impl FrameQueue {
    /// Records that this number of body bytes has been written.
    pub(super) fn written(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_slow_by_frames_or_by_bytes() {
        let (outbound, mut queue, _ended) = queue(QueueLimits { frames: 3, bytes: 100 });
        let push = |length| outbound.push(Bytes::from(vec![0; length]));
        push(200).expect("one frame always fits");
        assert!(matches!(push(1), Err(Disconnect::Slow { frames: 1, bytes: 200 })));
        assert_eq!(queue.frames.try_recv().expect("it was queued").len(), 200);
        queue.written(201);
        for _ in 0..3 {
            push(10).expect("there is room");
        }
        assert!(matches!(push(10), Err(Disconnect::Slow { frames: 3, bytes: 30 })));
    }
}
