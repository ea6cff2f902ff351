//! The way of outputs from the driver to the user: a thread that keeps them, and one that prints them.

use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use firesteel_core::ids::{AttemptId, TaskId};
use firesteel_core::messages::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::printer::{self, PrintError, Sinks};
use super::spool::{Limits, Order, Printable, Spool, SpoolError};
use firesteel_daemons::driver_daemon::Handle;
use firesteel_host::progress::Progress;

/// What happens to outputs. The queue of these is bounded by the credit of running attempts and by the number of items
/// that may be begun and not printed.
#[derive(Debug)]
pub enum Piece {
    /// An attempt wrote something.
    Output {
        /// Which attempt.
        attempt: AttemptId,
        /// Where.
        stream: Stream,
        /// What.
        bytes: Bytes,
    },
    /// An attempt's output is worth nothing.
    Discarded {
        /// Which attempt's.
        attempt: AttemptId,
    },
    /// A task is over.
    Ended {
        /// Which.
        task: TaskId,
        /// The attempt whose output counts, if one does.
        last: Option<AttemptId>,
    },
}

/// What the threads say.
#[derive(Debug)]
pub enum News {
    /// These tasks are printed.
    Printed(Vec<TaskId>),
    /// Everything is printed, or nothing is any more. The last news.
    Ended(Result<(), OutletError>),
}

/// Why outputs go nowhere.
#[derive(Debug, thiserror::Error)]
pub enum OutletError {
    /// They cannot be kept.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// They cannot be printed.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// A thread is gone; it has panicked, and has said why.
    #[error("cannot print output any more")]
    Gone,
}

/// Both threads. When this is dropped they end once they are done with what they have.
#[derive(Debug)]
pub struct Outlet {
    pieces: Option<mpsc::Sender<Piece>>,
    kept: oneshot::Receiver<Result<(), SpoolError>>,
    /// Whether everything is kept that there is.
    all_kept: bool,
    printed: oneshot::Receiver<Result<(), PrintError>>,
    tasks: UnboundedReceiver<Vec<TaskId>>,
    /// How it ended, until that is told.
    ended: Option<Result<(), OutletError>>,
}

impl Outlet {
    /// Starts both threads, for tasks from `first` on. `driver` is told what has been put away.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        first: TaskId,
        order: Order,
        limits: Limits,
        sinks: Sinks,
        progress: Progress,
        driver: Handle,
    ) -> Result<Self, OutletError> {
        let (pieces, incoming) = mpsc::channel();
        let (sender, printables) = mpsc::channel();
        let (done, tasks) = unbounded_channel();
        let done = move |tasks| {
            // If the run is over without waiting, nobody asks.
            let _ = done.send(tasks);
        };
        let printed = printer::start(printables, sinks, progress, done).map_err(OutletError::Thread)?;
        let (ended, kept) = oneshot::channel();
        let keep = move || {
            // If the run is over without waiting, nobody asks.
            let _ = ended.send(keep(&incoming, Spool::new(order, limits).from(first), &sender, &driver));
        };
        thread::Builder::new().name("spool".into()).spawn(keep).map_err(OutletError::Thread)?;
        Ok(Self { pieces: Some(pieces), kept, all_kept: false, printed, tasks, ended: None })
    }

    /// Takes a piece. Nothing comes of it once there was an error, or this was closed.
    pub fn put(&self, piece: Piece) {
        if let Some(pieces) = &self.pieces {
            let _ = pieces.send(piece);
        }
    }

    /// No more pieces come.
    pub fn close(&mut self) {
        self.pieces = None;
    }

    /// What the threads say next. What was printed before the end is told before it. May be dropped and called again,
    /// until the end is told.
    pub async fn next(&mut self) -> News {
        loop {
            if let Ok(tasks) = self.tasks.try_recv() {
                return News::Printed(tasks);
            }
            if let Some(ended) = self.ended.take() {
                return News::Ended(ended);
            }
            // Neither thread ends well by itself while this can still send pieces. When outputs cannot be kept, the
            // printer ends too, and well: the reason is looked at first.
            tokio::select! {
                biased;
                Some(tasks) = self.tasks.recv() => return News::Printed(tasks),
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

fn keep(
    pieces: &mpsc::Receiver<Piece>,
    mut spool: Spool<TaskId>,
    printer: &mpsc::Sender<Printable<TaskId>>,
    driver: &Handle,
) -> Result<(), SpoolError> {
    for piece in pieces {
        match piece {
            Piece::Output { attempt, stream, bytes } => {
                spool.store(attempt, stream, &bytes)?;
                // The application may be over by now.
                let _ = driver.consumed(attempt, bytes.len() as u64);
            }
            Piece::Discarded { attempt } => spool.discard(attempt),
            Piece::Ended { task, last } => spool.finish(task, last, task),
        }
        while let Some(printable) = spool.pop_ready() {
            // A printer that has ended has said why.
            let _ = printer.send(printable);
        }
    }
    Ok(())
}
