//! What a durable Master writes down: its decisions, from which it is recovered.
//!
//! A record says what was decided, never why. Replaying it decides nothing, so a Master with other settings or of a
//! later version recovers the same tables. Applications and Workers are named by short numbers, and the time is written
//! once for all records of an event. So most records take some ten bytes.
//!
//! An *image* is a list of records that begins with [`Record::Founded`] and produces the tables of a Master at one
//! moment (`image`). A journal is an image and the records since.

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The time of the following decisions, until the next such record.
    Time(Timestamp),
    /// The counters of a Master. The first record of an image.
    Founded(Counters),
    WorkerRegistered {
        worker: u64,
        /// The Worker's id, address, size and token.
        description: Box<WorkerDescription>,
    },
    /// A Worker may get executors again, or no longer.
    WorkerChanged {
        worker: u64,
        standing: Box<WorkerStanding>,
    },
    /// A Worker is lost, or has left in order. The ends of its executors are recorded before.
    WorkerRemoved {
        worker: u64,
        cause: DepartureCause,
        last_heard: Timestamp,
    },
    ApplicationRegistered {
        app: u64,
        id: AppId,
        max_cores: Cores,
        /// The application as its driver described it, with its token.
        description: Box<ApplicationDescription>,
    },
    /// A driver set the number of executors that it wants.
    TargetsSet {
        app: u64,
        targets: Vec<ExecutorTarget>,
    },
    /// A driver named the hosts that it prefers and excludes.
    HostsPreferred {
        app: u64,
        wishes: Box<HostWishes>,
    },
    /// The consequences of an application's failures changed.
    ApplicationChanged {
        app: u64,
        standing: Box<ApplicationStanding>,
    },
    /// An executor was assigned to a Worker.
    ExecutorLaunched {
        app: u64,
        executor: ExecutorId,
        worker: u64,
        profile: ProfileId,
        cores: Cores,
        memory: MiB,
        /// The addresses of custom resources, if it has any.
        resources: Option<Resources>,
    },
    ExecutorStarted {
        app: u64,
        executor: ExecutorId,
    },
    /// An executor ended, or was taken back.
    ExecutorEnded {
        app: u64,
        executor: ExecutorId,
        state: ExecutorState,
        used: Option<Used>,
    },
    /// The process of an executor that was taken back has ended.
    EndLearned {
        /// The number of the application, live or ended.
        app: u64,
        executor: ExecutorId,
        /// How its process ended, if that was not known.
        status: Option<ExitStatus>,
        used: Option<Used>,
    },
    /// An application ended. The ends of its executors are recorded before.
    ApplicationEnded {
        app: u64,
        end: ApplicationEnd,
    },
    /// In an image: the description of a lost Worker. Records of executors refer to it by this number.
    FormerWorker {
        /// A number that no Worker has.
        worker: u64,
        description: Box<WorkerDescription>,
    },
    /// In an image: a lost Worker that is remembered.
    DeadWorker {
        view: Box<WorkerView>,
        forgotten_at: Timestamp,
    },
    /// In an image: the rest of the application registered last, beyond its description.
    ApplicationRestored(Box<ApplicationImage>),
    /// In an image: an ended application that is remembered.
    EndedRestored(Box<EndedImage>),
    /// A cluster driver was submitted. `driver` is its number in the order of submission.
    DriverSubmitted {
        driver: u64,
        id: DriverId,
        description: Box<DriverDescription>,
    },
    /// A cluster driver was given to a Worker.
    DriverLaunched {
        driver: u64,
        worker: u64,
        /// The addresses of custom resources that it was given.
        resources: Resources,
    },
    /// A cluster driver that was given to a Worker never ran there, and waits again.
    DriverReturned {
        driver: u64,
    },
    DriverKillAsked {
        driver: u64,
    },
    DriverEnded {
        driver: u64,
        end: Box<DriverEnd>,
    },
    /// In an image: an ended cluster driver that is remembered.
    EndedDriverRestored(Box<EndedDriver>),
    /// In an image, after all cluster drivers: the counters of cluster drivers.
    DriversCounted {
        /// The number of cluster drivers that were ever submitted.
        drivers: u64,
        /// The Worker that got a cluster driver last.
        last_worker: Option<WorkerId>,
    },
    /// In an image: a row of the history.
    Archived(Box<PastRow>),
    /// The ended applications and cluster drivers were dropped from the lists.
    CompletedCleared,
    /// Whether foreign executors are left alone for a while, because the state is new. Their applications were never
    /// part of this state.
    ForeignHeld(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub first_application: u64,
    /// The number of applications that have ever registered.
    pub applications: u64,
    pub workers: u64,
}

/// The state of a live application beyond its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationImage {
    /// Whether it ever had an executor.
    pub(super) begun: bool,
    pub(crate) next_executor: u32,
    pub(crate) cores_spent: Cores,
    pub(crate) profiles: Vec<(ProfileId, ProfileImage)>,
    /// The numbers of the living Workers that ever ran one of its executors.
    pub(crate) workers: Vec<u64>,
    /// The ids of lost Workers that ever ran one of its executors. These may register again.
    pub(super) lost_workers: Vec<WorkerId>,
    /// The ended executors that are remembered, in the order of their ends.
    pub(crate) ended: Vec<ExecutorImage>,
    /// The number of ended executors that are no longer remembered.
    pub(crate) forgotten: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileImage {
    pub(crate) size: ExecutorSize,
    pub(crate) memory: MiB,
    pub(crate) resources: ResourceAmounts,
    pub(crate) limit: ExecutorLimit,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedImage {
    pub(crate) app: u64,
    pub(crate) end: ApplicationEnd,
    /// The application without its executors.
    pub(crate) row: ApplicationView,
    pub(crate) executors: Vec<ExecutorImage>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverEnd {
    pub state: DriverState,
    /// How often it was started again on its last Worker, if it was.
    pub restarts: Option<DriverRestarts>,
    /// The usage of its last process, if that was measured.
    pub used: Option<Used>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedDriver {
    pub(crate) driver: u64,
    pub(crate) view: DriverView,
    pub(crate) used: Option<Used>,
}

/// An ended executor that is remembered.
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
    pub(crate) used: Option<Used>,
}

firesteel_protocol::kinds!("record", Record: Time Founded WorkerRegistered WorkerChanged WorkerRemoved ApplicationRegistered
    TargetsSet HostsPreferred ApplicationChanged ExecutorLaunched ExecutorStarted ExecutorEnded EndLearned
    ApplicationEnded FormerWorker DeadWorker ApplicationRestored EndedRestored DriverSubmitted DriverLaunched
    DriverReturned DriverKillAsked DriverEnded EndedDriverRestored DriversCounted
    Archived CompletedCleared ForeignHeld);

impl Record {
    /// Whether others may learn of all these records before they are durable. If such records are lost, Workers and
    /// drivers report the same again when they return.
    #[must_use]
    pub fn may_wait(records: &[Self]) -> bool {
        let may = |record: &Self| {
            matches!(record, Self::Time(_) | Self::ExecutorStarted { .. } | Self::HostsPreferred { .. })
        };
        records.iter().all(may)
    }

    pub fn append_all(records: &[Self], bytes: &mut BytesMut) {
        for record in records {
            wire::append(record, bytes, usize::MAX).expect("there is no limit");
        }
    }

    /// Decodes records.
    ///
    /// # Errors
    /// The bytes are not whole records. A later version may have written them.
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

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {after} records come bytes that this version of Firesteel cannot read: {error}")]
pub struct UnreadableRecord {
    /// The number of records before these bytes.
    pub after: usize,
    pub error: postcard::Error,
}
