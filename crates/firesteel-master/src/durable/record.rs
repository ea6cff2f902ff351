//! What a durable Master writes down: its decisions, from which it is recovered.
//!
//! A record says what was decided, never why: replaying it decides nothing anew, so a Master with other settings or of a
//! later version recovers the same tables. Applications and Workers are named by short numbers, and the time is written
//! once for all records of an event, so that most records take some ten bytes.
//!
//! An *image* is a list of records that begins with [`Record::Founded`] and leads to the tables of a Master at one moment
//! (`image`). A journal is an image and the records since.

use bytes::BytesMut;
use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, MiB, ResourceAmounts, Resources};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, ApplicationView, DepartureCause, DriverDescription,
    DriverRestarts, DriverState, DriverView, ExecutorState, ExecutorTarget, HostWishes, PastRow, Used,
    WorkerDescription, WorkerView,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;
use firesteel_protocol::wire;
use serde::{Deserialize, Serialize};

use crate::tables::applications::standing::ApplicationStanding;
use crate::tables::workers::standing::WorkerStanding;

/// One decision of a Master, or a part of an image. `app` and `worker` are numbers in the order of registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, firesteel_protocol::Kind)]
#[kind("record")]
pub enum Record {
    /// The time of the decisions that follow, until the next such record.
    Time(Timestamp),
    /// The numbers from which a Master counts on. The first record of an image.
    Founded(Counters),
    /// A Worker registered.
    WorkerRegistered {
        /// The Worker's number.
        worker: u64,
        /// The Worker's id, address, size and token.
        description: Box<WorkerDescription>,
    },
    /// Whether a Worker is to be given executors changed.
    WorkerChanged {
        /// The Worker's number.
        worker: u64,
        /// How it stands now.
        standing: Box<WorkerStanding>,
    },
    /// A Worker is lost, or has left in order. The ends of its executors come before.
    WorkerRemoved {
        /// The Worker's number.
        worker: u64,
        /// Why it is gone.
        cause: DepartureCause,
        /// When it was last heard.
        last_heard: Timestamp,
    },
    /// An application registered.
    ApplicationRegistered {
        /// The application's number.
        app: u64,
        /// The application's id.
        id: AppId,
        /// The maximum number of its cores.
        max_cores: Cores,
        /// The application as its driver described it, with its token.
        description: Box<ApplicationDescription>,
    },
    /// A driver set the number of executors that it wants.
    TargetsSet {
        /// The application's number.
        app: u64,
        /// The new number of executors, by profile.
        targets: Vec<ExecutorTarget>,
    },
    /// A driver named the hosts that it prefers and avoids.
    HostsPreferred {
        /// The application's number.
        app: u64,
        /// The hosts.
        wishes: Box<HostWishes>,
    },
    /// What an application's failures led to changed.
    ApplicationChanged {
        /// The application's number.
        app: u64,
        /// How it stands now.
        standing: Box<ApplicationStanding>,
    },
    /// An executor was assigned to a Worker.
    ExecutorLaunched {
        /// The application's number.
        app: u64,
        /// The executor's number.
        executor: ExecutorId,
        /// The Worker's number.
        worker: u64,
        /// The number of its resource profile.
        profile: ProfileId,
        /// The number of cores.
        cores: Cores,
        /// The amount of memory.
        memory: MiB,
        /// The addresses of custom resources, if it has any.
        resources: Option<Resources>,
    },
    /// An executor's process runs.
    ExecutorStarted {
        /// The application's number.
        app: u64,
        /// The executor's number.
        executor: ExecutorId,
    },
    /// An executor ended, or was taken back.
    ExecutorEnded {
        /// The application's number.
        app: u64,
        /// The executor's number.
        executor: ExecutorId,
        /// How it ended.
        state: ExecutorState,
        /// What it used, if that was measured.
        used: Option<Used>,
    },
    /// The process of an executor that was taken back has ended.
    EndLearned {
        /// The number of the application, live or ended.
        app: u64,
        /// The executor's number.
        executor: ExecutorId,
        /// How its process ended, if that is news.
        status: Option<ExitStatus>,
        /// What it used, if that was measured.
        used: Option<Used>,
    },
    /// An application ended. The ends of its executors come before.
    ApplicationEnded {
        /// The application's number.
        app: u64,
        /// How it ended.
        end: ApplicationEnd,
    },
    /// In an image: the description of a lost Worker that records of executors name by this number.
    FormerWorker {
        /// A number that no Worker has.
        worker: u64,
        /// The Worker's id, address and size.
        description: Box<WorkerDescription>,
    },
    /// In an image: a lost Worker that is remembered.
    DeadWorker {
        /// The Worker as clients see it.
        view: Box<WorkerView>,
        /// When it is forgotten.
        forgotten_at: Timestamp,
    },
    /// In an image: what is not in the description of the application that registered last.
    ApplicationRestored(Box<ApplicationImage>),
    /// In an image: an ended application that is remembered.
    EndedRestored(Box<EndedImage>),
    /// A cluster driver was submitted. `driver` is its number in the order of submission.
    DriverSubmitted {
        /// The cluster driver's number.
        driver: u64,
        /// The cluster driver's id.
        id: DriverId,
        /// What it runs.
        description: Box<DriverDescription>,
    },
    /// A cluster driver was given to a Worker.
    DriverLaunched {
        /// The cluster driver's number.
        driver: u64,
        /// The Worker's number.
        worker: u64,
        /// The addresses of custom resources that it was given.
        resources: Resources,
    },
    /// A cluster driver that was given to a Worker waits again: it never ran there.
    DriverReturned {
        /// The cluster driver's number.
        driver: u64,
    },
    /// Somebody asked for the end of a cluster driver that runs.
    DriverKillAsked {
        /// The cluster driver's number.
        driver: u64,
    },
    /// A cluster driver ended.
    DriverEnded {
        /// The cluster driver's number.
        driver: u64,
        /// How it ended.
        end: Box<DriverEnd>,
    },
    /// In an image: an ended cluster driver that is remembered.
    EndedDriverRestored(Box<EndedDriver>),
    /// In an image, after all cluster drivers: where their numbers and their placement go on.
    DriversCounted {
        /// The number of cluster drivers that were ever submitted.
        drivers: u64,
        /// The Worker that was given one last.
        last_worker: Option<WorkerId>,
    },
    /// In an image: what has ended and is no longer among the latest.
    Archived(Box<PastRow>),
    /// The applications and cluster drivers that had ended are forgotten.
    CompletedCleared,
    /// Whether executors of applications that this state never had are left alone for a while, since it is new.
    ForeignHeld(bool),
}

/// The numbers from which a Master counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// The number in the id of its first application.
    pub first_application: u64,
    /// The number of applications that have ever registered.
    pub applications: u64,
    /// The number of Workers that have ever registered.
    pub workers: u64,
}

/// What the description of a live application does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationImage {
    /// Whether it ever had an executor.
    pub(super) begun: bool,
    pub(crate) next_executor: u32,
    pub(crate) cores_spent: Cores,
    pub(crate) profiles: Vec<(ProfileId, ProfileImage)>,
    /// The numbers of the living Workers that ever ran one of its executors.
    pub(crate) workers: Vec<u64>,
    /// The ids of the lost ones, which may register again.
    pub(super) lost_workers: Vec<WorkerId>,
    /// The ended executors that are remembered, in the order of their ends.
    pub(crate) ended: Vec<ExecutorImage>,
    /// The number of those that are not.
    pub(crate) forgotten: u64,
}

/// A resource profile of a live application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileImage {
    pub(crate) size: ExecutorSize,
    pub(crate) memory: MiB,
    pub(crate) resources: ResourceAmounts,
    pub(crate) limit: ExecutorLimit,
}

/// An ended application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedImage {
    /// Its number in the order of registration.
    pub(crate) app: u64,
    pub(crate) end: ApplicationEnd,
    /// The application without its executors.
    pub(crate) row: ApplicationView,
    pub(crate) executors: Vec<ExecutorImage>,
}

/// How a cluster driver ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverEnd {
    /// Its last state.
    pub state: DriverState,
    /// How often it was started again on its last Worker, if it was.
    pub restarts: Option<DriverRestarts>,
    /// What its last process used, if that was measured.
    pub used: Option<Used>,
}

/// An ended cluster driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedDriver {
    /// Its number in the order of submission.
    pub(crate) driver: u64,
    pub(crate) view: DriverView,
    /// What its last process used, if that was measured.
    pub(crate) used: Option<Used>,
}

/// An ended executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorImage {
    pub(crate) id: ExecutorId,
    /// The number of its Worker, which may be lost since.
    pub(crate) worker: u64,
    pub(crate) profile: ProfileId,
    pub(crate) cores: Cores,
    pub(crate) memory: MiB,
    pub(crate) resources: Resources,
    pub(crate) state: ExecutorState,
    pub(crate) launched: Timestamp,
    pub(crate) started: Option<Timestamp>,
    pub(crate) ended: Option<Timestamp>,
    /// What it used, if that was measured.
    pub(crate) used: Option<Used>,
}

impl Record {
    /// Whether others may hear of all of these before they are durable: if they are lost, those who return say it again.
    #[must_use]
    pub fn may_wait(records: &[Self]) -> bool {
        let may = |record: &Self| {
            matches!(record, Self::Time(_) | Self::ExecutorStarted { .. } | Self::HostsPreferred { .. })
        };
        records.iter().all(may)
    }

    /// Appends the bytes of records to others.
    pub fn append_all(records: &[Self], bytes: &mut BytesMut) {
        for record in records {
            wire::append(record, bytes, usize::MAX).expect("there is no limit");
        }
    }

    /// The records in these bytes.
    ///
    /// # Errors
    /// The bytes are not those of whole records: a later version wrote them.
    pub fn read_all(mut bytes: &[u8]) -> Result<Vec<Self>, UnreadableRecord> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let (record, rest) =
                wire::take(bytes).map_err(|error| UnreadableRecord { after: records.len(), error })?;
            records.push(record);
            bytes = rest;
        }
        Ok(records)
    }
}

/// Bytes that are no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {after} records come bytes that this version of Firesteel cannot read: {error}")]
pub struct UnreadableRecord {
    /// The number of records before it.
    pub after: usize,
    /// The error that postcard reports.
    pub error: postcard::Error,
}
