//! Logs of executors on their Worker's own pages.

use firesteel_core::ids::ExecutorKey;
use firesteel_core::messages::{ClientToWorker, LogPiece, LogRequest, LogStart, Stream, WorkerToClient};
use firesteel_core::worker::{Event, Inbound};
use firesteel_host::net::{Arrival, Envoys};

use crate::executor_log::{behind, header_of};
use crate::http::inquiry::Inquiry;
use crate::http::pages::log::LogSource;

/// The logs of one executor, asked from the Worker's own loop. The header that says how the executor was started is left
/// out.
pub(super) struct OwnLog {
    executor: ExecutorKey,
    inquiry: Inquiry<Event>,
    /// The length of that header in bytes, once it is known.
    header: Option<u64>,
}

impl OwnLog {
    /// The logs of this executor.
    pub(super) fn open(envoys: &Envoys<Event>, executor: ExecutorKey) -> Result<Self, String> {
        let inquiry = Inquiry::open(envoys).map_err(|why| why.to_string())?;
        Ok(Self { executor, inquiry, header: None })
    }

    async fn ask(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, String> {
        let request = LogRequest { executor: self.executor.clone(), stream, from };
        let message = Inbound::Client(ClientToWorker::RequestLog(request));
        let event = |Arrival { peer, at: _ }| Event::Received { peer, message };
        match self.inquiry.ask(event).await.map_err(|why| why.to_string())? {
            WorkerToClient::LogResponse(piece) => Ok(piece),
            WorkerToClient::RequestLogFailed(refusal) => {
                let key = &self.executor;
                Err(format!("There is no such log of executor {} of {}: {refusal}", key.executor, key.app))
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
