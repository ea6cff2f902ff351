//! The bounded queue of bytes for one peer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;

use super::Disconnect;

/// How much may be queued before a peer counts as too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// The maximum number of bytes for one peer. What one batch of events sends fits in any case.
    pub of_peer: usize,
    /// The maximum number of bytes for all peers together.
    pub in_all: usize,
}

impl Default for QueueLimits {
    /// 64 MiB for one peer, 128 MiB for all. One event may send a driver a message for each of 100,000 executors, before
    /// the peer can read the first of them.
    fn default() -> Self {
        Self { of_peer: 64 << 20, in_all: 128 << 20 }
    }
}

/// How an owner ends a connection.
#[derive(Debug)]
pub(super) enum CloseMode {
    /// The connection ends after all queued bytes are written.
    AfterFlush,
    /// The connection ends at once, for this reason.
    Now(Disconnect),
}

/// The number of bytes that are queued for all peers of an owner.
#[derive(Clone, Debug, Default)]
pub(super) struct Total(Arc<AtomicUsize>);

impl Total {
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The owner's end of the queue. Dropping it closes the connection after all queued bytes are written.
#[derive(Debug)]
pub struct Outbound {
    queue: Arc<Queue>,
    limit: usize,
}

/// The connection's end of the queue.
#[derive(Debug)]
pub(super) struct FrameQueue(Arc<Queue>);

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    total: Total,
}

#[derive(Debug, Default)]
struct State {
    /// Whole frames that nobody has begun to write.
    frames: BytesMut,
    /// The number of bytes that are being written.
    writing: usize,
    close: Option<CloseMode>,
    /// The connection's task, if it waits for frames or for the end.
    connection: Option<Waker>,
}

/// What a connection writes next.
#[derive(Debug)]
pub(super) enum Next {
    /// These frames.
    Frames(BytesMut),
    /// Nothing more: the owner closed the connection, and everything is written.
    End,
}

/// Makes a queue.
pub(super) fn queue(limits: QueueLimits, total: Total) -> (Outbound, FrameQueue) {
    let queue = Arc::new(Queue { state: Mutex::default(), total });
    (Outbound { queue: Arc::clone(&queue), limit: limits.of_peer }, FrameQueue(queue))
}

impl State {
    /// The number of bytes that wait or are being written.
    fn waiting(&self) -> usize {
        self.frames.len() + self.writing
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the connection's task, once it may look at the queue.
    fn wake(mut state: MutexGuard<'_, State>) {
        let connection = state.connection.take();
        drop(state);
        if let Some(connection) = connection {
            connection.wake();
        }
    }

    /// Gives up what is queued: it counts no more, although a last write may go on for a moment.
    fn abandon(&self, state: &mut State) {
        let left = state.waiting();
        state.frames = BytesMut::new();
        state.writing = 0;
        self.total.0.fetch_sub(left, Ordering::Relaxed);
    }
}

impl Outbound {
    /// Queues whole frames, and leaves the buffer empty.
    ///
    /// # Errors
    /// The queue is full: the peer is too slow.
    pub(super) fn push(&self, frames: &mut BytesMut) -> Result<(), Disconnect> {
        let length = frames.len();
        let mut state = self.queue.state();
        let waiting = state.waiting();
        if waiting > 0 && waiting + length > self.limit {
            return Err(Disconnect::Slow { bytes: waiting });
        }
        if state.frames.is_empty() {
            state.frames = std::mem::take(frames);
        } else {
            state.frames.extend_from_slice(frames);
            frames.clear();
        }
        self.queue.total.0.fetch_add(length, Ordering::Relaxed);
        Queue::wake(state);
        Ok(())
    }

    /// The number of bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.state().waiting()
    }

    /// Ends the connection. Nothing can be queued afterwards.
    pub(super) fn end(self, close: CloseMode) {
        self.close(close);
    }

    fn close(&self, close: CloseMode) {
        let mut state = self.queue.state();
        if matches!(close, CloseMode::Now(_)) {
            self.queue.abandon(&mut state);
        }
        state.close.get_or_insert(close);
        Queue::wake(state);
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        self.close(CloseMode::AfterFlush);
    }
}

impl FrameQueue {
    /// Waits for frames to write, or for the end.
    pub(super) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Next> {
        let mut state = self.0.state();
        if !state.frames.is_empty() {
            let frames = std::mem::take(&mut state.frames);
            state.writing = frames.len();
            return Poll::Ready(Next::Frames(frames));
        }
        match state.close {
            Some(CloseMode::AfterFlush) => Poll::Ready(Next::End),
            Some(CloseMode::Now(_)) | None => {
                state.connection = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Waits until the owner closes the connection.
    pub(super) fn poll_close(&self, context: &mut Context<'_>) -> Poll<CloseMode> {
        let mut state = self.0.state();
        match &state.close {
            // The writer has to see this, too.
            Some(CloseMode::AfterFlush) => Poll::Ready(CloseMode::AfterFlush),
            Some(CloseMode::Now(_)) => Poll::Ready(state.close.take().expect("it was just seen")),
            None => {
                state.connection = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Records that this number of bytes has been written.
    pub(super) fn written(&self, bytes: usize) {
        let mut state = self.0.state();
        // What was given up is not counted any more.
        let counted = bytes.min(state.writing);
        state.writing -= counted;
        self.0.total.0.fetch_sub(counted, Ordering::Relaxed);
    }

    /// The number of bytes that wait or are being written.
    pub(super) fn waiting(&self) -> usize {
        self.0.state().waiting()
    }
}

impl Drop for FrameQueue {
    fn drop(&mut self) {
        self.0.abandon(&mut self.0.state());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_slow_by_bytes_and_one_batch_always_fits() {
        let total = Total::default();
        let (outbound, queue) = queue(QueueLimits { of_peer: 100, in_all: 1000 }, total.clone());
        let push = |length| outbound.push(&mut BytesMut::zeroed(length));
        push(200).expect("one batch always fits");
        assert!(matches!(push(1), Err(Disconnect::Slow { bytes: 200 })));
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Next::Frames(frames)) = queue.poll_next(&mut context) else { panic!("frames wait") };
        assert_eq!((frames.len(), total.bytes()), (200, 200));
        assert!(matches!(push(1), Err(Disconnect::Slow { bytes: 200 })), "what is being written counts");
        queue.written(150);
        push(50).expect("there is room");
        assert_eq!((queue.waiting(), total.bytes()), (100, 100));
        assert!(matches!(push(1), Err(Disconnect::Slow { bytes: 100 })));
        drop(queue);
        assert_eq!((outbound.waiting(), total.bytes()), (0, 0));
    }

    #[test]
    fn a_queue_ends_after_its_last_frames() {
        let (outbound, queue) = queue(QueueLimits::default(), Total::default());
        let mut context = Context::from_waker(Waker::noop());
        assert!(queue.poll_next(&mut context).is_pending() && queue.poll_close(&mut context).is_pending());
        outbound.push(&mut BytesMut::from(&b"last"[..])).expect("there is room");
        drop(outbound);
        assert!(matches!(queue.poll_close(&mut context), Poll::Ready(CloseMode::AfterFlush)));
        assert!(matches!(queue.poll_next(&mut context), Poll::Ready(Next::Frames(_))));
        assert!(matches!(queue.poll_next(&mut context), Poll::Ready(Next::End)));
    }
}
