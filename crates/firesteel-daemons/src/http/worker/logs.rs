//! Logs of executors and cluster drivers on their Worker's own pages.

use firesteel_host::net::{Arrival, VirtualPeers};
use firesteel_protocol::messages::{LogAuthor, LogPiece, LogRange, LogStart, Stream, WorkerToClient};
use firesteel_worker::{Event, Inbound};

use crate::http::inquiry::Inquiry;
use crate::http::pages::log::LogSource;
use crate::worker_log::{behind, header_of};

/// The logs of one author, read through the Worker's own loop. The header that says how the author was started is left
/// out.
pub(super) struct OwnLog {
    author: LogAuthor,
    inquiry: Inquiry<Event>,
    /// The length of the header in bytes, once it is known.
    header: Option<u64>,
}

impl OwnLog {
    pub(super) fn open(virtual_peers: &VirtualPeers<Event>, author: LogAuthor) -> Result<Self, String> {
        let inquiry = Inquiry::open(virtual_peers).map_err(|why| why.to_string())?;
        Ok(Self { author, inquiry, header: None })
    }

    async fn ask(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, String> {
        let message = Inbound::Client(LogRange { author: self.author.clone(), stream, from }.question());
        let event = |Arrival { peer, .. }| Event::Received { peer, message };
        match self.inquiry.ask(event).await.map_err(|why| why.to_string())? {
            WorkerToClient::LogResponse(piece) => Ok(piece),
            WorkerToClient::RequestLogFailed(refusal) => {
                Err(format!("There is no such log of {}: {refusal}", self.author))
            }
            WorkerToClient::WorkerStateResponse(_) | WorkerToClient::WorkerReportResponse(_) => {
                Err("The Worker sent another answer".to_owned())
            }
        }
    }
}

impl LogSource for OwnLog {
    async fn piece(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, String> {
        if stream == Stream::Stdout {
            return self.ask(stream, from).await;
        }
        let header = match self.header {
            Some(header) => header,
            None => header_of(&self.ask(stream, LogStart::Offset(0)).await?),
        };
        self.header = Some(header);
        Ok(behind(header, self.ask(stream, from).await?))
    }
}
