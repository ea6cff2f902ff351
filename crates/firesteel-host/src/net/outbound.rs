//! The bounded queue of messages to one peer.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use firesteel_protocol::wire::{self, Message, TooLong};

use super::Disconnect;
use super::rope::Rope;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// The maximum number of bytes for one peer. The output of one batch of events always fits.
    pub of_peer: usize,
    /// The maximum number of bytes for all peers together.
    pub in_all: usize,
    /// The maximum number of bytes of messages from all peers that have not arrived completely, or that wait outside
    /// of the inbox. Machines share them.
    pub partial: usize,
}

impl Default for QueueLimits {
    /// 64 MiB for one peer, 128 MiB for all, and 128 MiB for what arrives. A single event may send a driver a message
    /// for each of 100,000 executors, before the driver can read the first message.
    fn default() -> Self {
        Self { of_peer: 64 << 20, in_all: 128 << 20, partial: 128 << 20 }
    }
}

#[derive(Debug)]
pub(super) enum Load {
    /// For a connection: whole frames.
    Frames(Rope),
    /// For a virtual peer: messages that are not encoded. The virtual peer's task encodes them in another protocol.
    Messages(Vec<Weighed>),
}

/// A message, and the number of bytes that it counts for. Parts that the message shares with other messages do not
/// count.
#[derive(Debug)]
pub(super) struct Weighed {
    pub(super) bytes: usize,
    pub(super) message: Box<dyn Any + Send + Sync>,
}

impl Load {
    /// An empty load of the same kind.
    pub(super) fn empty(&self) -> Self {
        match self {
            Self::Frames(_) => Self::Frames(Rope::default()),
            Self::Messages(_) => Self::Messages(Vec::new()),
        }
    }

    /// Takes the whole contents, and leaves this load empty.
    pub(super) fn take(&mut self) -> Self {
        let nothing = self.empty();
        std::mem::replace(self, nothing)
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Frames(frames) => frames.is_empty(),
            Self::Messages(messages) => messages.is_empty(),
        }
    }

    /// The number of bytes that the load counts for. Shared parts of messages do not count.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Frames(frames) => frames.weight(),
            Self::Messages(messages) => messages.iter().map(|message| message.bytes).sum(),
        }
    }

    /// Adds a message. Returns the number of its bytes in a frame.
    ///
    /// # Errors
    /// The message is too long for a frame.
    pub(super) fn push<M: Message>(&mut self, message: M) -> Result<usize, TooLong> {
        match self {
            Self::Frames(frames) => frames.push(&message),
            Self::Messages(messages) => {
                let length = wire::length(&message);
                let shared = message.shared().map_or(0, |part| part.len());
                let bytes = size_of::<M>() + length - shared;
                messages.push(Weighed { bytes, message: Box::new(message) });
                Ok(length)
            }
        }
    }

    /// Moves the contents of another load of the same kind to the end of this one.
    fn append(&mut self, other: &mut Self) {
        match (self, other) {
            (Self::Frames(frames), Self::Frames(more)) => frames.append(more),
            (Self::Messages(messages), Self::Messages(more)) => messages.append(more),
            (Self::Frames(_), Self::Messages(_)) | (Self::Messages(_), Self::Frames(_)) => {
                unreachable!("a peer has one kind")
            }
        }
    }
}

#[derive(Debug)]
pub(super) enum CloseMode {
    /// The connection ends after all queued bytes are written.
    AfterFlush,
    /// The connection ends at once, for this reason.
    Now(Disconnect),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Total(Arc<AtomicUsize>);

impl Total {
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub struct Outbound {
    queue: Arc<Queue>,
    limit: usize,
}

#[derive(Debug)]
pub(super) struct LoadQueue(Arc<Queue>);

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    total: Total,
}

#[derive(Debug)]
struct State {
    /// The messages that are not being written yet.
    load: Load,
    /// The total size of these messages in bytes.
    waiting: usize,
    /// The number of bytes that are being written.
    writing: usize,
    close: Option<CloseMode>,
    /// Whether the connection has ended, so that nobody reads an answer.
    is_over: bool,
    /// Wakes the connection's task when the task waits for messages to write, or for the end.
    connection: Option<Waker>,
}

/// The next step for the writer of a connection.
#[derive(Debug)]
pub(super) enum Next {
    Load(Load),
    /// Nothing more: the owner has closed the connection, and everything is written.
    End,
}

pub(super) fn queue(limits: QueueLimits, total: Total, load: Load) -> (Outbound, LoadQueue) {
    let state = State { load, waiting: 0, writing: 0, close: None, is_over: false, connection: None };
    let queue = Arc::new(Queue { state: Mutex::new(state), total });
    (Outbound { queue: Arc::clone(&queue), limit: limits.of_peer }, LoadQueue(queue))
}

impl State {
    /// Registers the connection's task to be woken.
    fn wait(&mut self, context: &Context<'_>) {
        match &mut self.connection {
            Some(connection) => connection.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
    }

    /// The number of bytes that are queued or being written.
    fn owed(&self) -> usize {
        self.waiting + self.writing
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the lock, and then wakes the connection's task.
    fn wake(mut state: MutexGuard<'_, State>) {
        let connection = state.connection.take();
        drop(state);
        if let Some(connection) = connection {
            connection.wake();
        }
    }

    /// Drops the queued messages. They no longer count towards the limits, although a last write may continue for a
    /// moment.
    fn abandon(&self, state: &mut State) {
        let left = state.owed();
        state.load = state.load.empty();
        (state.waiting, state.writing) = (0, 0);
        self.total.0.fetch_sub(left, Ordering::Relaxed);
    }
}

impl Outbound {
    /// Queues messages, and leaves the load empty.
    ///
    /// # Errors
    /// The queue is full: the peer is too slow.
    pub(super) fn push(&self, load: &mut Load) -> Result<(), Disconnect> {
        let bytes = load.bytes();
        let mut state = self.queue.state();
        let owed = state.owed();
        if owed > 0 && owed + bytes > self.limit {
            return Err(Disconnect::Slow { bytes: owed });
        }
        state.load.append(load);
        state.waiting += bytes;
        self.queue.total.0.fetch_add(bytes, Ordering::Relaxed);
        Queue::wake(state);
        Ok(())
    }

    /// An empty load of the kind that the queue takes.
    pub(super) fn empty(&self) -> Load {
        self.queue.state().load.empty()
    }

    pub(super) fn owed(&self) -> usize {
        self.queue.state().owed()
    }

    /// Whether the connection has ended, although the owner may not have heard of it.
    pub(super) fn is_over(&self) -> bool {
        self.queue.state().is_over
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

impl LoadQueue {
    /// Waits for something to write, or for the end.
    pub(super) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Next> {
        let mut state = self.0.state();
        if !state.load.is_empty() {
            state.writing = std::mem::take(&mut state.waiting);
            return Poll::Ready(Next::Load(state.load.take()));
        }
        match state.close {
            Some(CloseMode::AfterFlush) => Poll::Ready(Next::End),
            Some(CloseMode::Now(_)) | None => {
                state.wait(context);
                Poll::Pending
            }
        }
    }

    pub(super) fn poll_close(&self, context: &mut Context<'_>) -> Poll<CloseMode> {
        let mut state = self.0.state();
        match &state.close {
            // The writer has to see this, too.
            Some(CloseMode::AfterFlush) => Poll::Ready(CloseMode::AfterFlush),
            Some(CloseMode::Now(_)) => Poll::Ready(state.close.take().expect("it was just seen")),
            None => {
                state.wait(context);
                Poll::Pending
            }
        }
    }

    pub(super) fn written(&self, bytes: usize) {
        let mut state = self.0.state();
        // Messages that were dropped no longer count.
        let counted = bytes.min(state.writing);
        state.writing -= counted;
        self.0.total.0.fetch_sub(counted, Ordering::Relaxed);
    }

    pub(super) fn owed(&self) -> usize {
        self.0.state().owed()
    }
}

impl Drop for LoadQueue {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_over = true;
        self.0.abandon(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use firesteel_placement::{Cores, MiB, Resources};
    use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, ProfileId};
    use firesteel_protocol::messages::{ExecutorLaunch, ExecutorWork, MasterToWorker, Shared, TaskDirectory};
    use firesteel_protocol::process::Command;

    use super::*;

    fn queue_of_frames(limits: QueueLimits, total: Total) -> (Outbound, LoadQueue) {
        queue(limits, total, Load::Frames(Rope::default()))
    }

    #[test]
    fn a_peer_is_slow_by_bytes_and_one_batch_always_fits() {
        let total = Total::default();
        let (outbound, queue) = queue_of_frames(
            QueueLimits { of_peer: 100, in_all: 1000, ..QueueLimits::default() },
            total.clone(),
        );
        let push = |length| outbound.push(&mut Load::Frames(Rope::from(&vec![0; length][..])));
        push(200).expect("one batch always fits");
        assert!(matches!(push(1), Err(Disconnect::Slow { bytes: 200 })));
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Next::Load(load)) = queue.poll_next(&mut context) else { panic!("frames wait") };
        assert_eq!((load.bytes(), total.bytes()), (200, 200));
        assert!(matches!(push(1), Err(Disconnect::Slow { bytes: 200 })), "what is being written counts");
        queue.written(150);
        push(50).expect("there is room");
        assert_eq!((queue.owed(), total.bytes()), (100, 100));
        assert!(matches!(push(1), Err(Disconnect::Slow { bytes: 100 })));
        drop(queue);
        assert_eq!((outbound.owed(), total.bytes()), (0, 0));
    }

    #[test]
    fn a_queue_ends_after_its_last_frames() {
        let (outbound, queue) = queue_of_frames(QueueLimits::default(), Total::default());
        let mut context = Context::from_waker(Waker::noop());
        assert!(queue.poll_next(&mut context).is_pending() && queue.poll_close(&mut context).is_pending());
        outbound.push(&mut Load::Frames(Rope::from(&b"last"[..]))).expect("there is room");
        drop(outbound);
        assert!(matches!(queue.poll_close(&mut context), Poll::Ready(CloseMode::AfterFlush)));
        assert!(matches!(queue.poll_next(&mut context), Poll::Ready(Next::Load(_))));
        assert!(matches!(queue.poll_next(&mut context), Poll::Ready(Next::End)));
    }

    #[test]
    fn what_messages_share_does_not_count() {
        let count = |mut load: Load, program: String| {
            let work = ExecutorWork {
                app_name: "an application".to_owned(),
                command: Command::of(program).into(),
                directory: TaskDirectory::Executor,
                files: None,
            };
            let launch = ExecutorLaunch {
                executor: ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(1) },
                profile: ProfileId(0),
                cores: Cores(1),
                memory: MiB(1024),
                resources: Resources::default(),
                work: Shared::new(work),
                mark: None,
            };
            load.push(MasterToWorker::LaunchExecutor(launch)).expect("it fits");
            load.bytes()
        };
        for empty in [Load::Messages(Vec::new()), Load::Frames(Rope::default())] {
            let count = |length| count(empty.empty(), "p".repeat(length));
            assert_eq!(count(200), count(10_000), "{empty:?}");
        }
    }
}
