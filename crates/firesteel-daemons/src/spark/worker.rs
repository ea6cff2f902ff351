//! Executors of Spark's at their Worker's port. Each asks once whether its Worker is there, and ends when that connection
//! does, so that it shares the Worker's fate.
//!
//! Source: Spark WorkerWatcher, 4.0.1.

use firesteel_host::net::{FIRST_MESSAGE_TIMEOUT, Guest};
use firesteel_spark::session::{self, WORKER};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::frames::{Broken, Frames};

/// Serves all connections that come, until no more can.
pub async fn serve(mut guests: mpsc::Receiver<Guest>) {
    while let Some(guest) = guests.recv().await {
        tokio::spawn(async move {
            let remote = guest.remote;
            if let Err(broken) = watch(Frames::of(guest)).await {
                tracing::debug!(%remote, "connection of Spark's: {broken}");
            }
        });
    }
}

/// Answers until the peer ends the connection, or has asked nothing in time.
async fn watch(mut frames: Frames) -> Result<(), Broken> {
    let mut mute = Box::pin(sleep(FIRST_MESSAGE_TIMEOUT));
    let mut has_asked = false;
    loop {
        tokio::select! {
            more = frames.exchange() => if !more? {
                return Ok(());
            },
            () = &mut mute, if !has_asked => return Ok(()),
        }
        while let Some(frame) = frames.take()? {
            if let Some(answer) = session::verify(&frame, WORKER) {
                has_asked = true;
                frames.push(&answer);
            }
        }
    }
}
