//! The logs of a cluster, from whichever of its Masters leads.

use std::time::{Duration, Instant};

use firesteel_daemons::log_client::{LogError, LogSource, MasterLogs};
use firesteel_host::net::Inquiry;
use firesteel_protocol::messages::{LogPiece, LogRange};

use super::super::client::ask::{Cluster, Unanswered};
use super::super::exit::Exit;
use super::print::Until;

/// How long a followed log waits for a Master.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two attempts to find a Master.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct ClusterLogs<'a> {
    cluster: &'a Cluster,
    master: Option<MasterLogs<Inquiry>>,
    patience: Duration,
}

/// Why there is no piece of a log.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoLog {
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    /// The Master refuses it, for this reason.
    #[error("{0}")]
    Refused(String),
}

impl NoLog {
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Unanswered(unanswered) => unanswered.exit(),
            Self::Refused(_) => Exit::Failure,
        }
    }
}

impl<'a> ClusterLogs<'a> {
    /// The logs, for somebody who reads them to this end.
    pub(super) fn of(cluster: &'a Cluster, until: Until) -> Self {
        let patience = match until {
            Until::EndOfLog => Duration::ZERO,
            Until::AuthorEnds => PATIENCE,
        };
        Self { cluster, master: None, patience }
    }

    async fn once(&mut self, range: LogRange) -> Result<LogPiece, NoLog> {
        if let Some(mut master) = self.master.take() {
            match master.ask(range.clone()).await {
                // Another Master may lead now.
                Err(LogError::Call(_)) => {}
                answer => {
                    self.master = Some(master);
                    return answered(answer);
                }
            }
        }
        let (master, answer) = self.cluster.logs(&range).await?;
        self.master = Some(master);
        answered(answer)
    }
}

fn answered<E>(answer: Result<LogPiece, LogError<E>>) -> Result<LogPiece, NoLog> {
    answer.map_err(|error| match error {
        LogError::Forbidden(why) | LogError::None(why) => NoLog::Refused(why),
        LogError::Call(_) => unreachable!("another Master is asked then"),
    })
}

impl LogSource for ClusterLogs<'_> {
    type Error = NoLog;

    async fn ask(&mut self, range: LogRange) -> Result<LogPiece, NoLog> {
        let until = Instant::now() + self.patience;
        loop {
            match self.once(range.clone()).await {
                Err(NoLog::Unanswered(_)) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
                answer => return answer,
            }
        }
    }
}
