//! What a connection remarks for people.

use firesteel_protocol::NoteLevel;
use firesteel_protocol::ids::WorkerId;
use thiserror::Error;

use crate::dialect::NotTold;
use crate::envelope::EnvelopeError;
use crate::messages::Unreadable;
use crate::translate::clients::UnfitDriver;
use crate::translate::{Unfit, UnfitWorker};

/// A line of the log. Its words follow a name of the connection.
#[derive(Clone, Debug, PartialEq, Error, firesteel_protocol::Kind)]
#[kind("spark connection note")]
pub enum Note {
    /// The other side has ended the connection.
    #[error("connection of Spark's ended")]
    Ended,
    /// The connection is closed, since nobody has registered in time.
    #[error("nobody registered on a connection of Spark's")]
    Mute,
    /// The connection broke.
    #[error("{0}")]
    Broken(String),
    /// A request was answered with a failure.
    #[error("a request is refused: {reason}")]
    RequestRefused {
        /// The failure's words.
        reason: String,
    },
    /// A message has no envelope that can be read.
    #[error(transparent)]
    NoEnvelope(#[from] EnvelopeError),
    /// A message is none that a Master understands.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A message is for an endpoint that a Master does not have.
    #[error("a message to the endpoint {endpoint}, which is not here")]
    NoSuchEndpoint {
        /// The endpoint's name.
        endpoint: String,
    },
    /// A message does not say how its sender calls the Master.
    #[error("a message to a Master without its address")]
    NoAddress,
    /// A question came as a message, which has no answer.
    #[error("a question without a number")]
    NoNumber,
    /// There are too many peers on the connection.
    #[error("more than {most} drivers and Workers register on one connection")]
    TooManyPeers {
        /// How many there may be.
        most: usize,
    },
    /// A Worker says that it runs more executors than are remembered. What is not remembered may be launched twice.
    #[error("more than {most} executors are said to run on one connection")]
    TooManyExecutors {
        /// How many are remembered.
        most: usize,
    },
    /// A registration is dropped, since peers owe too many answers already.
    #[error("more than {most} questions to drivers and Workers wait on one connection")]
    TooManyQuestions {
        /// How many may be open.
        most: usize,
    },
    /// An answer came to a request that was never made, or that was answered before.
    #[error("an answer to the request {id}, which nobody made")]
    Unasked {
        /// The request's number.
        id: i64,
    },
    /// A peer does not tell what has to be known of its release. Its registration is dropped.
    #[error(transparent)]
    NotTold(#[from] NotTold),
    /// A driver names an application that no driver on its connection has.
    #[error("a driver speaks of an application that is not on its connection")]
    NotItsApplication,
    /// A Worker's id or address is not one of those that registered on its connection.
    #[error("a Worker speaks that is not registered on its connection")]
    NotItsWorker,
    /// An application cannot be taken.
    #[error("application {name:?} is refused: {unfit}")]
    ApplicationRefused {
        /// The application's name.
        name: String,
        /// Why it cannot be taken.
        unfit: Unfit,
    },
    /// A driver asks for executors that nobody can have.
    #[error("a driver's request is refused: {unfit}")]
    DriverRefused {
        /// Why it cannot be met.
        unfit: Unfit,
    },
    /// A Worker cannot be taken.
    #[error("Worker {worker} is refused: {unfit}")]
    WorkerRefused {
        /// The Worker's id.
        worker: String,
        /// Why it cannot be taken.
        unfit: UnfitWorker,
    },
    /// A Worker runs cluster drivers of Spark's Master, which mean nothing here.
    #[error("{worker} runs drivers, which go on and are not shown: {}", drivers.join(", "))]
    RunsDrivers {
        /// The Worker's id.
        worker: WorkerId,
        /// The ids of its drivers.
        drivers: Vec<String>,
    },
    /// A cluster driver cannot be taken.
    #[error("a cluster driver is refused: {unfit}")]
    ClusterDriverRefused {
        /// Why it cannot be taken.
        unfit: UnfitDriver,
    },
}

impl Note {
    /// Whether an operator should look at it.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::Ended | Self::Mute => NoteLevel::Info,
            Self::Broken(_)
            | Self::RequestRefused { .. }
            | Self::NoEnvelope(_)
            | Self::Unreadable(_)
            | Self::NoSuchEndpoint { .. }
            | Self::NoAddress
            | Self::NoNumber
            | Self::TooManyPeers { .. }
            | Self::TooManyExecutors { .. }
            | Self::TooManyQuestions { .. }
            | Self::Unasked { .. }
            | Self::NotTold(_)
            | Self::NotItsApplication
            | Self::NotItsWorker
            | Self::ApplicationRefused { .. }
            | Self::DriverRefused { .. }
            | Self::WorkerRefused { .. }
            | Self::RunsDrivers { .. }
            | Self::ClusterDriverRefused { .. } => NoteLevel::Warn,
        }
    }
}
