//! What a connection remarks for people.

use firesteel_protocol::ids::WorkerId;

use crate::dialect::UnknownSerialId;
use crate::envelope::EnvelopeError;
use crate::messages::Unreadable;
use crate::translate::clients::UnfitDriver;
use crate::translate::{Unfit, UnfitWorker};

/// A line of the log. Its words follow a name of the connection.
#[derive(Clone, Debug, PartialEq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("spark connection note")]
pub enum Note {
    /// The other side has ended the connection.
    #[note(Info, "connection of Spark's ended")]
    Ended,
    /// The connection is closed, since nobody has registered in time.
    #[note(Info, "nobody registered on a connection of Spark's")]
    Mute,
    /// The connection broke.
    #[note(Warn, "{_0}")]
    Broken(String),
    /// A request was answered with a failure.
    #[note(Warn, "a request is refused: {reason}")]
    RequestRefused {
        /// The failure's words.
        reason: String,
    },
    /// A message has no envelope that can be read.
    #[note(Warn, "{_0}")]
    NoEnvelope(EnvelopeError),
    /// A message is none that a Master understands.
    #[note(Warn, "{_0}")]
    Unreadable(Unreadable),
    /// A message is for an endpoint that a Master does not have.
    #[note(Warn, "a message to the endpoint {endpoint}, which is not here")]
    NoSuchEndpoint {
        /// The endpoint's name.
        endpoint: String,
    },
    /// A message does not say how its sender calls the Master.
    #[note(Warn, "a message to a Master without its address")]
    NoAddress,
    /// A question came as a message, which has no answer.
    #[note(Warn, "a question without a number")]
    NoNumber,
    /// There are too many peers on the connection.
    #[note(
        Warn,
        "refused a registration: {most} drivers and Workers have registered on this connection already"
    )]
    TooManyPeers {
        /// How many there may be.
        most: usize,
    },
    /// A Worker says that it runs more executors than are remembered. What is not remembered may be launched twice.
    #[note(Warn, "Workers on this connection report more than {most} executors: the others are ignored")]
    TooManyExecutors {
        /// How many are remembered.
        most: usize,
    },
    /// A registration is dropped, since peers owe too many answers already.
    #[note(Warn, "refused a registration: {most} questions on this connection wait for their answers")]
    TooManyQuestions {
        /// How many may be open.
        most: usize,
    },
    /// An answer came to a request that was never made, or that was answered before.
    #[note(Warn, "ignored an answer to request {id}: no such request waits for one")]
    Unasked {
        /// The request's number.
        id: i64,
    },
    /// A peer does not tell what has to be known of its release. Its registration is dropped.
    #[note(Warn, "{_0}")]
    UnknownSerialId(UnknownSerialId),
    /// A driver names an application that no driver on its connection has.
    #[note(Warn, "ignored a message of a driver: it names an application of another connection")]
    NotItsApplication,
    /// A Worker's id or address is not one of those that registered on its connection.
    #[note(Warn, "ignored a message of a Worker that is not registered on this connection")]
    NotItsWorker,
    /// An application cannot be taken.
    #[note(Warn, "application {name:?} is refused: {unfit}")]
    ApplicationRefused {
        /// The application's name.
        name: String,
        /// Why it cannot be taken.
        unfit: Unfit,
    },
    /// A driver asks for executors that nobody can have.
    #[note(Warn, "a driver's request is refused: {unfit}")]
    DriverRefused {
        /// Why it cannot be met.
        unfit: Unfit,
    },
    /// A Worker cannot be taken.
    #[note(Warn, "Worker {name} is refused: {unfit}")]
    WorkerRefused {
        /// The Worker's id.
        name: String,
        /// Why it cannot be taken.
        unfit: UnfitWorker,
    },
    /// A Worker runs cluster drivers of Spark's Master, which mean nothing here.
    #[note(Warn, "{worker} runs cluster drivers that this Master did not start; they keep running, and it does not show them: {}", drivers.join(", "))]
    RunsDrivers {
        /// The Worker's id.
        worker: WorkerId,
        /// The ids of its drivers.
        drivers: Vec<String>,
    },
    /// A cluster driver cannot be taken.
    #[note(Warn, "a cluster driver is refused: {unfit}")]
    ClusterDriverRefused {
        /// Why it cannot be taken.
        unfit: UnfitDriver,
    },
}
