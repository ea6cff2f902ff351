//! Answers only the question whether an endpoint exists.
//!
//! Spark's executors ask once whether their Worker exists, and end when that connection ends. So the executors end with
//! the Worker. Drivers and Workers ask whether a Master exists. A standby Master answers that it exists, and sends
//! nothing else.
//!
//! Source: Spark WorkerWatcher and RpcEndpointVerifier, 4.0.1.

use firesteel_host::lease::Lease;
use firesteel_host::net::{FIRST_MESSAGE_TIMEOUT, OtherProtocolConnection};
use firesteel_spark::connection;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::authentication::{Authentication, NotProven};

/// Serves all connections from the channel, until the channel closes. Each connection ends with the lease.
pub async fn serve(
    mut connections: mpsc::Receiver<OtherProtocolConnection>,
    endpoint: &'static str,
    authentication: Authentication,
    lease: Lease,
) {
    while let Some(connection) = connections.recv().await {
        let (authentication, lease) = (authentication.clone(), lease.clone());
        tokio::spawn(async move {
            let remote = connection.remote;
            let answering = answer(connection, endpoint, &authentication, lease.clone());
            let answered = tokio::select! {
                answered = answering => answered,
                () = lease.over() => return,
            };
            if let Err(why) = answered {
                tracing::debug!(%remote, "connection in Spark's RPC: {why}");
            }
        });
    }
}

/// Answers requests until the peer closes the connection, or sends no request in time.
async fn answer(
    connection: OtherProtocolConnection,
    endpoint: &str,
    authentication: &Authentication,
    lease: Lease,
) -> Result<(), NotProven> {
    let (mut frames, _) = authentication.begin(connection, lease).await?;
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
