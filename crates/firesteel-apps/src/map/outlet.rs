//! The way of outputs from the driver to the user: a thread that keeps them, and one that prints them.

use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use firesteel_core::ids::{AttemptId, TaskId};
use firesteel_core::messages::Stream;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::printer::{self, PrintError, Sinks};
use super::spool::{Limits, Order, Printable, Spool, SpoolError};
use firesteel_daemons::driver_daemon::Handle;
use firesteel_host::progress::Progress;

/// An item's place in the window of items that were begun and are not printed.
pub type Place = OwnedSemaphorePermit;

/// What happens to outputs. The queue of these is bounded by the credit of running attempts and the window.
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
        /// Given up once it is printed.
        place: Place,
    },
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
    printed: oneshot::Receiver<Result<(), PrintError>>,
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
        let printed = printer::start(printables, sinks, progress).map_err(OutletError::Thread)?;
        let (ended, kept) = oneshot::channel();
        let keep = move || {
            // If the run is over without waiting, nobody asks.
            let _ = ended.send(keep(&incoming, Spool::new(order, limits).from(first), &sender, &driver));
        };
        thread::Builder::new().name("spool".into()).spawn(keep).map_err(OutletError::Thread)?;
        Ok(Self { pieces: Some(pieces), kept, printed })
    }

    /// Takes a piece. Nothing comes of it once there was an error, or this was closed.
    pub fn put(&self, piece: Piece) {
        if let Some(pieces) = &self.pieces {
            let _ = pieces.send(piece);
        }
    }

    /// Waits until outputs go nowhere any more. Not to be called again after that.
    pub async fn broken(&mut self) -> OutletError {
        // Neither ends well by itself while this can still send pieces. When outputs cannot be kept, the printer
        // ends too, and well: the reason is looked at first.
        tokio::select! {
            biased;
            kept = &mut self.kept => kept.ok().and_then(Result::err).map_or(OutletError::Gone, Into::into),
            printed = &mut self.printed => {
                printed.ok().and_then(Result::err).map_or(OutletError::Gone, Into::into)
            }
        }
    }

    /// Waits until everything is printed.
    ///
    /// # Errors
    /// Something could not be kept or printed.
    pub async fn close(&mut self) -> Result<(), OutletError> {
        self.pieces = None;
        (&mut self.kept).await.map_err(|_| OutletError::Gone)??;
        (&mut self.printed).await.map_err(|_| OutletError::Gone)??;
        Ok(())
    }
}

fn keep(
    pieces: &mpsc::Receiver<Piece>,
    mut spool: Spool<Place>,
    printer: &mpsc::Sender<Printable<Place>>,
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
            Piece::Ended { task, last, place } => spool.finish(task, last, place),
        }
        while let Some(printable) = spool.pop_ready() {
            // A printer that has ended has said why.
            let _ = printer.send(printable);
        }
    }
    Ok(())
}
