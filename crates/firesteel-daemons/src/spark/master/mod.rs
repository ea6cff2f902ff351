//! Connections that speak Spark's RPC at a Master's port.
//!
//! A [`Connection`] decides what a connection does. This module makes its events and performs its effects.
//!
//! - `line.rs`: one connection
//! - `calls.rs`: connections to drivers and Workers that wait for a call from a restarted Master

mod calls;
mod line;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use firesteel_host::net::{OtherProtocolConnection, VirtualPeers};
use firesteel_host::rate_limiter::RateLimiter;
use firesteel_master::Event;
use firesteel_spark::OrderForms;
use firesteel_spark::connection::{Connection, Directory};
use tokio::sync::mpsc;

pub use self::calls::Calls;
use self::line::Line;
use super::authentication::Authentication;

/// Calls the drivers and Workers that wait for this Master's call. Serves all connections from the channel, until the
/// channel closes.
pub async fn serve(
    mut connections: mpsc::Receiver<OtherProtocolConnection>,
    calls: Calls,
    authentication: Authentication,
    virtual_peers: VirtualPeers<Event>,
) {
    let common = Arc::new(Common {
        authentication,
        lines: RateLimiter::per_minute(10),
        forms: Mutex::default(),
        directory: Mutex::default(),
    });
    calls.begin(&virtual_peers, &common);
    while let Some(connection) = connections.recv().await {
        let (remote, common) = (connection.remote, Arc::clone(&common));
        let virtual_peers = virtual_peers.of_a_connection();
        virtual_peers.clone().spawn(async move {
            let begun = tokio::select! {
                begun = common.authentication.begin(connection, virtual_peers.lease()) => begun,
                () = virtual_peers.ended() => return,
            };
            match begun {
                Ok((frames, proven)) => {
                    if proven.is_none()
                        && let Some(transition) = common.authentication.transition()
                    {
                        let until = transition.until();
                        common.warn(remote, &format!("it has no secret, and needs one from {until} on"));
                    }
                    let connection = Connection::default().proven(proven);
                    Line::new(connection, virtual_peers, remote, common).serve(frames).await;
                }
                Err(why) => common.warn(remote, &format!("refused: {why}")),
            }
        });
    }
}

struct Common {
    authentication: Authentication,
    /// Limits log lines that any program that can reach the port can cause.
    lines: RateLimiter,
    forms: Mutex<OrderForms>,
    directory: Mutex<Directory>,
}

impl Common {
    /// Logs what a peer has caused, unless there are too many such lines.
    fn warn(&self, remote: SocketAddr, words: &str) {
        if let Some(left_out) = self.lines.next() {
            tracing::warn!(%remote, "connection in Spark's RPC: {words}{left_out}");
        }
    }

    fn forms(&self) -> MutexGuard<'_, OrderForms> {
        self.forms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn directory(&self) -> MutexGuard<'_, Directory> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
