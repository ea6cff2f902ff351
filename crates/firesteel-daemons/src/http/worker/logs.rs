//! Logs of executors and cluster drivers on their Worker's own pages.

use firesteel_host::net::{Arrival, VirtualPeers};
use firesteel_protocol::messages::{LogPiece, LogRange, WorkerToClient};
use firesteel_worker::{Event, Inbound};

use crate::http::inquiry::Inquiry;
use crate::log_client::LogSource;

/// The logs of a Worker, read through its own loop.
pub(super) struct OwnLogs(Inquiry<Event>);

impl OwnLogs {
    pub(super) fn open(virtual_peers: &VirtualPeers<Event>) -> Result<Self, String> {
        Ok(Self(Inquiry::open(virtual_peers).map_err(|why| why.to_string())?))
    }
}

impl LogSource for OwnLogs {
    type Error = String;

    async fn ask(&mut self, range: LogRange) -> Result<LogPiece, String> {
        let author = range.author.clone();
        let message = Inbound::Client(range.question());
        let event = |Arrival { peer, .. }| Event::Received { peer, message };
        match self.0.ask(event).await.map_err(|why| why.to_string())? {
            WorkerToClient::LogResponse(piece) => Ok(piece),
            WorkerToClient::RequestLogFailed(refusal) => {
                Err(format!("There is no such log of {author}: {refusal}"))
            }
            WorkerToClient::WorkerStateResponse(_) | WorkerToClient::WorkerReportResponse(_) => {
                Err("The Worker sent another answer".to_owned())
            }
        }
    }
}
