//! The journal records of a durable Master: its decisions, from which it is recovered.
//!
//! A record contains a decision, but not the reasons for it. Replaying a record makes no decisions, so a Master with
//! other settings or of a later version recovers the same tables. Records refer to applications and Workers by short
//! numbers. The time is written once for all records of an event. So most records take about ten bytes.
//!
//! An *image* is a list of records that produces the tables of a Master at one moment (`image`). It begins with
//! [`Record::Founded`]. A journal is an image, followed by all later records.

use bytes::BytesMut;
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, MiB, ResourceAmounts, Resources};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, ApplicationView, DepartureCause, DriverDescription,
    DriverRestarts, DriverState, DriverView, ExecutorState, ExecutorTarget, GivenNumbers, HostPreferences,
    PastRow, StateId, Used, WorkerDescription, WorkerView,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;
use firesteel_protocol::{Display, Kind, wire};
use serde::{Deserialize, Serialize};

use crate::durable::record_line::{
    SizedWorker, again, and_used, archived, at_most, departure, described, gone_since, health_of_application,
    health_of_worker, identity, wanted,
};
use crate::tables::applications::health::ApplicationHealth;
use crate::tables::workers::health::WorkerHealth;

/// One decision of a Master, or a part of an image. `app`, `worker` and `driver` are numbers in the order of
/// registration or submission. The text of a record shows no secrets: it contains neither tokens nor commands'
/// arguments and variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Display, Kind)]
#[kind("record")]
pub enum Record {
    /// The time of the following decisions, until the next record of this kind.
    #[display("at {_0}")]
    Time(Timestamp),
    /// The first record of an image.
    #[display(
        "next numbers: application {}, Worker {}; ids of applications count from {}{}",
        _0.applications,
        _0.workers,
        _0.first_application,
        identity(_0.state)
    )]
    Founded(Counters),
    /// A Worker has registered. The description contains the Worker's token.
    #[display("Worker {worker} registered: {}", SizedWorker(description))]
    WorkerRegistered { worker: u64, description: Box<WorkerDescription> },
    /// A Worker may get executors again, or may no longer get any.
    #[display("Worker {worker}: {}", health_of_worker(health))]
    WorkerChanged { worker: u64, health: Box<WorkerHealth> },
    /// A Worker is lost, or has left in order. Records about the ends of its executors come before this record.
    #[display("Worker {worker} {}", departure(cause, *last_seen))]
    WorkerRemoved { worker: u64, cause: DepartureCause, last_seen: Timestamp },
    /// An application has registered. The description contains the application's token.
    #[display(
        "application {app} registered: {id} ({:?} of {:?}){}",
        description.name,
        description.user,
        at_most(*max_cores)
    )]
    ApplicationRegistered { app: u64, id: AppId, max_cores: Cores, description: Box<ApplicationDescription> },
    /// A driver has set the number of executors that it wants, by profile.
    #[display("application {app}: wants{}", wanted(targets))]
    TargetsSet { app: u64, targets: Vec<ExecutorTarget> },
    #[display(
        "application {app}: prefers {} and avoids {}",
        counted(preferences.preferred.len(), "host"),
        preferences.avoided.len()
    )]
    HostsPreferred { app: u64, preferences: Box<HostPreferences> },
    /// The consequences of an application's failures have changed.
    #[display("application {app}: {}", health_of_application(health))]
    ApplicationChanged { app: u64, health: Box<ApplicationHealth> },
    #[display(
        "application {app}: executor {executor} launched on Worker {worker} with {} and {memory}{}",
        counted(cores.0, "core"),
        resources.as_ref().map(|it| format!(" and {it}")).unwrap_or_default()
    )]
    ExecutorLaunched {
        app: u64,
        executor: ExecutorId,
        worker: u64,
        profile: ProfileId,
        cores: Cores,
        memory: MiB,
        resources: Option<Resources>,
    },
    #[display("application {app}: executor {executor} runs")]
    ExecutorStarted { app: u64, executor: ExecutorId },
    /// An executor has ended, or the Master took it back. `used` is what the executor used, if it was measured.
    #[display("application {app}: executor {executor} ended: {state}{}", and_used(*used))]
    ExecutorEnded { app: u64, executor: ExecutorId, state: ExecutorState, used: Option<Used> },
    /// The process of an executor has ended that the Master had taken back. `status` is set if it was not known before.
    /// The application may have ended.
    #[display(
        "application {app}: the process of executor {executor} ended{}{}",
        status.map(|status| format!(": {status}")).unwrap_or_default(),
        and_used(*used)
    )]
    EndLearned { app: u64, executor: ExecutorId, status: Option<ExitStatus>, used: Option<Used> },
    /// An application has ended. Records about the ends of its executors come before this record.
    #[display("application {app} ended: {end}")]
    ApplicationEnded { app: u64, end: ApplicationEnd },
    /// In an image: the description of a lost Worker, for records of executors that ran on it. No living Worker has
    /// this number.
    #[display("Worker {worker}, now lost: {}", SizedWorker(description))]
    FormerWorker { worker: u64, description: Box<WorkerDescription> },
    /// In an image: a lost Worker in the form that clients see, and the time when the Master forgets it.
    #[display("lost Worker {} listed until {forgotten_at}{}", view.id, gone_since(view))]
    DeadWorker { view: Box<WorkerView>, forgotten_at: Timestamp },
    /// In an image: the rest of the state of the application in the previous registration record, beyond its
    /// description.
    #[display(
        "  of which {} ended before; the next is executor {}",
        counted(_0.ended.len() as u64 + _0.forgotten, "executor"),
        _0.next_executor
    )]
    ApplicationRestored(Box<ApplicationImage>),
    /// In an image: an ended application that the Master remembers.
    #[display("application {} had ended: {} ({})", _0.app, _0.row.id, _0.end)]
    EndedRestored(Box<EndedImage>),
    #[display("cluster driver {driver} submitted: {id} of {}", described(description))]
    DriverSubmitted { driver: u64, id: DriverId, description: Box<DriverDescription> },
    /// A cluster driver was given to a Worker. `resources` are the addresses that it got.
    #[display(
        "cluster driver {driver}: launched on Worker {worker}{}",
        if resources.is_empty() { String::new() } else { format!(" with {resources}") }
    )]
    DriverLaunched { driver: u64, worker: u64, resources: Resources },
    /// A cluster driver that was given to a Worker never ran there, and waits again.
    #[display("cluster driver {driver}: waits again")]
    DriverReturned { driver: u64 },
    #[display("cluster driver {driver}: asked to end")]
    DriverKillAsked { driver: u64 },
    #[display("cluster driver {driver} ended: {}{}{}", end.state, again(end.restarts.as_ref()), and_used(end.used))]
    DriverEnded { driver: u64, end: Box<DriverEnd> },
    /// In an image: an ended cluster driver that the Master remembers.
    #[display("cluster driver {} had ended: {} ({})", _0.driver, _0.view.id, _0.view.state)]
    EndedDriverRestored(Box<EndedDriver>),
    /// In an image, after all cluster drivers: the number of cluster drivers that were ever submitted, and the Worker
    /// that got the last one.
    #[display(
        "next number of a cluster driver: {drivers}{}",
        last_worker.as_ref().map(|it| format!("; the last one was given to {it}")).unwrap_or_default()
    )]
    DriversCounted { drivers: u64, last_worker: Option<WorkerId> },
    /// In an image: a row of the history.
    #[display("{}", archived(_0))]
    Archived(Box<PastRow>),
    #[display("ended applications and cluster drivers forgotten")]
    CompletedCleared,
    /// Whether executors of unknown applications are left alone, because this state is new.
    #[display(
        "executors of another state are {}",
        if *_0 { "left alone for a while" } else { "no longer left alone" }
    )]
    ForeignHeld(bool),
    /// A peer has seen a later copy of this state, and the numbers that it may have given are left out. The executors
    /// of applications with numbers below `recovered` number on from `given`.
    #[display(
        "numbers left out that a later copy of this state has given: the next are application {} and cluster driver {}, \
         and executor {} of each application below {recovered}",
        given.applications,
        given.drivers,
        given.executors
    )]
    NumbersLeftOut { given: GivenNumbers, recovered: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub first_application: u64,
    /// The number of applications that have ever registered.
    pub applications: u64,
    pub workers: u64,
    /// The lowest number that is above those of all executors of any application.
    #[serde(default)]
    pub executors: u32,
    /// `None`: the state was written by a release that gave no identities, or its Master has none.
    #[serde(default)]
    pub state: Option<StateId>,
}

/// The state of a live application beyond its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationImage {
    /// Whether the application ever had an executor.
    pub(super) begun: bool,
    pub(crate) next_executor: u32,
    pub(crate) cores_spent: Cores,
    pub(crate) profiles: Vec<(ProfileId, ProfileImage)>,
    /// The numbers of the living Workers that ever ran one of the application's executors.
    pub(crate) workers: Vec<u64>,
    /// The ids of lost Workers that ever ran one of the application's executors. These Workers may register again.
    pub(super) lost_workers: Vec<WorkerId>,
    /// The ended executors that the Master remembers, in the order in which they ended.
    pub(crate) ended: Vec<ExecutorImage>,
    /// The number of ended executors that the Master no longer remembers.
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
    /// How often the driver was started again on its last Worker, if it was.
    pub restarts: Option<DriverRestarts>,
    /// What the driver's last process used, if it was measured.
    pub used: Option<Used>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedDriver {
    pub(crate) driver: u64,
    pub(crate) view: DriverView,
    pub(crate) used: Option<Used>,
}

/// An ended executor that the Master remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorImage {
    pub(crate) id: ExecutorId,
    /// The number of the executor's Worker, which may be lost by now.
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

impl Record {
    /// Whether messages about all these records may be sent before the records are durable. If such records are lost,
    /// Workers and drivers report the same facts again when they return.
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
    /// The bytes do not contain whole records, possibly because a later version wrote them.
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
    /// The number of valid records before the unreadable bytes.
    pub after: usize,
    pub error: postcard::Error,
}
