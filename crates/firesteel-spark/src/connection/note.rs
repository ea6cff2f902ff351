//! The log messages of a connection.

use firesteel_protocol::ids::WorkerId;

use crate::dialect::UnknownSerialId;
use crate::envelope::EnvelopeError;
use crate::messages::Unreadable;
use crate::translate::clients::UnfitDriver;
use crate::translate::{Unfit, UnfitWorker};

/// A line of the log. The daemon writes a name of the connection in front.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("spark connection note")]
pub enum Note {
    /// The other side has ended the connection.
    #[note(Info, "it ended")]
    Ended,
    /// The connection is closed, because no peer has registered in time.
    #[note(Info, "closed: no peer registered in time")]
    Mute,
    /// The connection broke.
    #[note(Warn, "{_0}")]
    Broken(String),
    /// A request was answered with a failure.
    #[note(Warn, "refused a request: {reason}")]
    RequestRefused {
        /// The text of the failure.
        reason: String,
    },
    /// A message has no envelope that can be read.
    #[note(Warn, "{_0}")]
    NoEnvelope(EnvelopeError),
    /// A message is not one of the messages that a Master understands.
    #[note(Warn, "{_0}")]
    Unreadable(Unreadable),
    /// A message is for an endpoint that a Master does not have.
    #[note(Warn, "ignored a message to the unknown endpoint {endpoint}")]
    NoSuchEndpoint {
        /// The endpoint's name.
        endpoint: String,
    },
    /// A message does not contain the address that its sender uses for the Master.
    #[note(Warn, "ignored a message that does not contain the Master's address")]
    NoAddress,
    /// A request that needs an answer came as a message without an answer.
    #[note(
        Warn,
        "ignored a request that was sent as a message without a request id, so it cannot be answered"
    )]
    NoNumber,
    /// Too many peers have registered on the connection.
    #[note(
        Warn,
        "refused a registration: {most} drivers and Workers have registered on this connection already"
    )]
    TooManyPeers {
        /// The maximum number of peers.
        most: usize,
    },
    /// A Worker lists more executors than this connection keeps track of. The rest is ignored, so the Master may launch
    /// those executors a second time.
    #[note(Warn, "Workers on this connection report more than {most} executors: the others are ignored")]
    TooManyExecutors {
        /// The maximum number of executors that the connection keeps track of.
        most: usize,
    },
    /// A registration is dropped, because too many questions to peers are already open.
    #[note(Warn, "refused a registration: {most} questions on this connection wait for their answers")]
    TooManyQuestions {
        /// The maximum number of open questions.
        most: usize,
    },
    /// An answer came to a request that was never sent, or that was answered before.
    #[note(Warn, "ignored an answer to request {id}: no such request waits for one")]
    Unasked {
        /// The id of the request.
        id: i64,
    },
    /// A peer does not reveal the serial version ids of its release. Its registration is dropped.
    #[note(Warn, "{_0}")]
    UnknownSerialId(UnknownSerialId),
    /// A driver names an application that belongs to no driver on this connection.
    #[note(Warn, "ignored a message of a driver: it names an application of another connection")]
    NotItsApplication,
    /// The Worker's id or address in a message does not belong to a Worker that registered on this connection.
    #[note(Warn, "ignored a message of a Worker that is not registered on this connection")]
    NotItsWorker,
    /// An application is refused.
    #[note(Warn, "refused application {name:?}: {unfit}")]
    ApplicationRefused {
        /// The application's name.
        name: String,
        /// Why the application is refused.
        unfit: Unfit,
    },
    /// A driver asks for executors that cannot be provided.
    #[note(Warn, "refused a driver's request: {unfit}")]
    DriverRefused {
        /// Why the request is refused.
        unfit: Unfit,
    },
    /// A Worker of Spark's is refused, because a secret of Spark's does not tell Workers from applications.
    #[note(Warn, "refused a Worker of Spark's: in a cluster with credentials, all Workers are Firesteel's")]
    NoWorkers,
    /// A Worker is refused.
    #[note(Warn, "refused Worker {name}: {unfit}")]
    WorkerRefused {
        /// The Worker's id.
        name: String,
        /// Why the Worker is refused.
        unfit: UnfitWorker,
    },
    /// A Worker runs cluster drivers of Spark's Master, which Firesteel does not manage.
    #[note(Warn, "{worker} runs cluster drivers that this Master did not start; they keep running, and it does not show them: {}", drivers.join(", "))]
    RunsDrivers {
        /// The Worker's id.
        worker: WorkerId,
        /// The ids of these cluster drivers.
        drivers: Vec<String>,
    },
    /// A cluster driver is refused.
    #[note(Warn, "refused a cluster driver: {unfit}")]
    ClusterDriverRefused {
        /// Why the cluster driver is refused.
        unfit: UnfitDriver,
    },
}
