//! Answers whether an endpoint is there, and nothing else.
//!
//! Executors of Spark's ask once whether their Worker is there, and end when that connection does, so that they share the
//! Worker's fate. Drivers and Workers ask whether a Master is there; one that stands by is, and is silent otherwise.
//!
//! Source: Spark WorkerWatcher and RpcEndpointVerifier, 4.0.1.

use firesteel_host::net::{FIRST_MESSAGE_TIMEOUT, Guest};
use firesteel_host::tenure::Tenure;
use firesteel_spark::connection;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::frames::{Broken, Frames};

/// Serves all connections that come, until no more can. Each ends with the tenure.
pub async fn serve(mut guests: mpsc::Receiver<Guest>, endpoint: &'static str, tenure: Tenure) {
    while let Some(guest) = guests.recv().await {
        let tenure = tenure.clone();
        tokio::spawn(async move {
            let remote = guest.remote;
            let answering = answer(Frames::of(guest, tenure.clone()), endpoint);
            let answered = tokio::select! {
                answered = answering => answered,
                () = tenure.over() => return,
            };
            if let Err(broken) = answered {
                tracing::debug!(%remote, "connection of Spark's: {broken}");
            }
        });
    }
}

/// Answers until the peer ends the connection, or has asked nothing in time.
async fn answer(mut frames: Frames, endpoint: &str) -> Result<(), Broken> {
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
            if let Some(answer) = connection::verify(&frame, endpoint) {
                has_asked = true;
                frames.push(&answer);
            }
        }
    }
}
