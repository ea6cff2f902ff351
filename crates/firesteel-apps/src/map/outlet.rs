//! How outputs get from the driver to the user: one thread stores them, another thread prints them.

use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use firesteel_protocol::ids::{AttemptId, TaskId};
use firesteel_protocol::messages::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::printer::{self, PrintError, Sinks};
use super::spool::{OutputOrder, Printable, Spool, SpoolError, SpoolLimits};
use firesteel_daemons::driver_daemon::Handle;
use firesteel_host::progress::Progress;

/// A message to the thread that stores outputs. Its queue is limited by the credit of running attempts, and by the
/// number of items that have started and are not printed yet.
#[derive(Debug)]
pub enum OutletMessage {
    Output {
        attempt: AttemptId,
        stream: Stream,
        bytes: Bytes,
    },
    Discarded {
        attempt: AttemptId,
    },
    Ended {
        task: TaskId,
        /// The attempt whose output counts, if any.
        last: Option<AttemptId>,
    },
}

/// A message from the threads.
#[derive(Debug)]
pub enum OutletEvent {
    Printed(Vec<TaskId>),
    /// All outputs are printed, or printing failed. This is the last message.
    Ended(Result<(), OutletError>),
}

/// Why outputs are lost.
#[derive(Debug, thiserror::Error)]
pub enum OutletError {
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// A thread panicked, which the log shows.
    #[error("cannot print output any more")]
    Gone,
}

/// The two threads. When this value is dropped, the threads process their queues and end.
#[derive(Debug)]
pub struct Outlet {
    messages: Option<mpsc::Sender<OutletMessage>>,
    kept: oneshot::Receiver<Result<(), SpoolError>>,
    all_kept: bool,
    printed: oneshot::Receiver<Result<(), PrintError>>,
    tasks: UnboundedReceiver<Vec<TaskId>>,
    /// The final result of the threads, until it was returned to the caller.
    ended: Option<Result<(), OutletError>>,
}

impl Outlet {
    /// Starts both threads, for tasks from `first` on. `driver` is informed which outputs were consumed.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        first: TaskId,
        order: OutputOrder,
        limits: SpoolLimits,
        sinks: Sinks,
        progress: Progress,
        driver: Handle,
    ) -> Result<Self, OutletError> {
        let (messages, incoming) = mpsc::channel();
        let (sender, printables) = mpsc::channel();
        let (done, tasks) = unbounded_channel();
        let done = move |tasks| {
            // The receiver is dropped if the run ended without waiting.
            let _ = done.send(tasks);
        };
        let printed = printer::start(printables, sinks, progress, done).map_err(OutletError::Thread)?;
        let (ended, kept) = oneshot::channel();
        let run_spool = move || {
            // The receiver is dropped if the run ended without waiting.
            let _ = ended.send(run_spool(&incoming, Spool::new(order, limits).from(first), &sender, &driver));
        };
        thread::Builder::new().name("spool".into()).spawn(run_spool).map_err(OutletError::Thread)?;
        Ok(Self { messages: Some(messages), kept, all_kept: false, printed, tasks, ended: None })
    }

    /// Sends a message to the thread. Does nothing after an error and after [`close`](Self::close).
    pub fn send(&self, message: OutletMessage) {
        if let Some(messages) = &self.messages {
            let _ = messages.send(message);
        }
    }

    /// Sends the end of the outputs.
    pub fn close(&mut self) {
        self.messages = None;
    }

    /// Returns the next message from the threads. Printed tasks are reported before the end. If this future is dropped,
    /// the next call returns the same message, except for the end.
    pub async fn next(&mut self) -> OutletEvent {
        loop {
            if let Ok(tasks) = self.tasks.try_recv() {
                return OutletEvent::Printed(tasks);
            }
            if let Some(ended) = self.ended.take() {
                return OutletEvent::Ended(ended);
            }
            // Neither thread ends without an error while this value can still send messages. If the spool fails, the
            // printer also ends, but without an error. So the spool's result is checked first.
            tokio::select! {
                biased;
                Some(tasks) = self.tasks.recv() => return OutletEvent::Printed(tasks),
                kept = &mut self.kept, if !self.all_kept => match kept {
                    Ok(Ok(())) => self.all_kept = true,
                    Ok(Err(error)) => self.ended = Some(Err(error.into())),
                    Err(_) => self.ended = Some(Err(OutletError::Gone)),
                },
                printed = &mut self.printed => {
                    self.ended = Some(printed.map_or(Err(OutletError::Gone), |printed| Ok(printed?)));
                }
            }
        }
    }
}

fn run_spool(
    messages: &mpsc::Receiver<OutletMessage>,
    mut spool: Spool<TaskId>,
    printer: &mpsc::Sender<Printable<TaskId>>,
    driver: &Handle,
) -> Result<(), SpoolError> {
    for message in messages {
        match message {
            OutletMessage::Output { attempt, stream, bytes } => {
                spool.store(attempt, stream, &bytes)?;
                // The application may already be over.
                let _ = driver.consumed(attempt, bytes.len() as u64);
            }
            OutletMessage::Discarded { attempt } => spool.discard(attempt),
            OutletMessage::Ended { task, last } => spool.finish(task, last, task),
        }
        while let Some(printable) = spool.pop_ready() {
            // A printer that ended has already reported its error.
            let _ = printer.send(printable);
        }
    }
    Ok(())
}
