//! The bytes of every message, held to a record: whatever changes them by accident shows here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use firesteel_core::address::Address;
use firesteel_core::ids::{AppId, AttemptId, ExecutorId, ExecutorKey, ProfileId, TaskId, WorkerId};
use firesteel_core::messages::*;
use firesteel_core::process::{Command, ExitStatus, StartFailure, StartStep};
use firesteel_core::scheduling::{Backfill, Preemption};
use firesteel_core::wire::{self, Hello, Role};
use firesteel_core::{Kind, Timestamp};
use firesteel_placement::advice::{Advice, Change};
use firesteel_placement::outlook::{Bound, Fit, Lack, Outlook, Remedy, TurnedDown};
use firesteel_placement::shortfall::Amounts;
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Policy, ResourceAmounts, Resources, Strategy,
    WorkerOrder, shortfall,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::golden;
use crate::laws;

/// A message, written out as its name and bytes, and held to survive the way there and back.
struct Record {
    lines: Vec<String>,
    bodies: Vec<Vec<u8>>,
}

impl Record {
    fn add<M: Kind + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
        &mut self,
        pair: &str,
        message: &M,
    ) {
        self.add_called(message.kind(), pair, message);
    }

    fn add_called<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
        &mut self,
        name: &str,
        pair: &str,
        message: &M,
    ) {
        let body = wire::encode(message, wire::MAX_FRAME).expect("it is short");
        assert_eq!(wire::decode::<M>(&body).as_ref(), Ok(message));
        let hex: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
        self.lines.push(format!("{pair} {name} {hex}"));
        self.bodies.push(body.to_vec());
    }
}

fn key() -> ExecutorKey {
    ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) }
}

fn gpus() -> Resources {
    [("gpu", vec!["0", "1"])].into_iter().collect()
}

fn command() -> Command {
    let environment = BTreeMap::from([("NAME".to_owned(), "value".to_owned())]);
    Command { program: "echo".to_owned(), arguments: vec!["{{CORES}}".to_owned()], environment }
}

fn files() -> ApplicationFiles {
    let kinds = [
        FileKind::Plain,
        FileKind::Executable,
        FileKind::Archive(ArchiveFormat::Tar),
        FileKind::Archive(ArchiveFormat::TarGz),
        FileKind::Archive(ArchiveFormat::Zip),
    ];
    let file =
        |kind| FileDescription { name: "data".to_owned(), kind, length: 300, sha256: Sha256([0xab; 32]) };
    ApplicationFiles { source: Address::new("me", 7100), files: kinds.map(file).to_vec() }
}

fn profile() -> ResourceProfile {
    let resources = ResourceAmounts::from([("gpu".to_owned(), 1)]);
    ResourceProfile { cores: Some(Cores(2)), memory: None, resources }
}

fn failure() -> StartFailure {
    StartFailure { step: StartStep::Program, error: "no such file".to_owned() }
}

fn failed() -> Outcome {
    Outcome::failed("3 of 10 items failed")
}

fn executor_states() -> [ExecutorState; 11] {
    [
        ExecutorState::Launching,
        ExecutorState::Running,
        ExecutorState::Killed(None),
        ExecutorState::Failed(failure()),
        ExecutorState::Lost(LossReason::Disconnected),
        ExecutorState::Lost(LossReason::HeartbeatTimeout { seconds: 60 }),
        ExecutorState::Lost(LossReason::LaunchLost),
        ExecutorState::Lost(LossReason::Preempted { by: AppId::new("app-2") }),
        ExecutorState::Lost(LossReason::Container { why: "preempted".to_owned() }),
        ExecutorState::Lost(LossReason::OverMemory { why: "2.1 GB of 2 GB".to_owned() }),
        ExecutorState::Exited(ExitStatus::Signal(9)),
    ]
}

fn record() -> Record {
    let mut record = Record { lines: Vec::new(), bodies: Vec::new() };
    for role in [Role::Master, Role::Worker, Role::Driver, Role::Client, Role::Executor] {
        record.add_called(
            "Hello",
            "hello",
            &Hello { role, name: "me".to_owned(), challenge: Bytes::new(), epoch: 0 },
        );
    }
    workers(&mut record);
    drivers(&mut record);
    executors(&mut record);
    fetches(&mut record);
    clients(&mut record);
    record
}

fn workers(record: &mut Record) {
    let worker = WorkerDescription::new(
        WorkerId::new("worker-1"),
        Address::new("host", 7078),
        Offered { cores: Cores(8), memory: MiB(1024), resources: gpus() },
        "/work",
    );
    let executors = executor_states().map(|state| ExecutorReport { executor: key(), state }).to_vec();
    record.add("worker-to-master", &WorkerToMaster::RegisterWorker { worker: worker.clone(), executors });
    record.add("worker-to-master", &WorkerToMaster::Heartbeat { worker: worker.id.clone() });
    record.add("worker-to-master", &WorkerToMaster::WorkerDecommissioning { worker: worker.id });
    for state in executor_states() {
        let report = ExecutorReport { executor: key(), state };
        record.add("worker-to-master", &WorkerToMaster::ExecutorStateChanged(report));
    }
    let (cores, memory) = (Cores(2), MiB(512));
    let launch = ExecutorLaunch {
        executor: key(),
        profile: ProfileId(1),
        app_name: "name".to_owned(),
        command: command(),
        directory: TaskDirectory::Path("/data".to_owned()),
        cores,
        memory,
        resources: gpus(),
        files: Some(files()),
    };
    let same =
        RefusedRegistration::SameAddress { address: "host:1".to_owned(), other: WorkerId::new("worker-2") };
    for message in [
        MasterToWorker::RegisteredWorker {
            master_url: "spark://m:7077".to_owned(),
            heartbeat_millis: 15_000,
            duplicate: true,
        },
        MasterToWorker::RegisterWorkerFailed(RefusedRegistration::UnsoundId),
        MasterToWorker::RegisterWorkerFailed(same),
        MasterToWorker::RegisterWorkerFailed(RefusedRegistration::UnsoundSize { cores: Cores(-1), memory }),
        MasterToWorker::ReconnectWorker,
        MasterToWorker::LaunchExecutor(launch),
        MasterToWorker::KillExecutor { executor: key() },
        MasterToWorker::ApplicationFinished { app: key().app },
        MasterToWorker::ExecutorEndNoted { executor: key() },
    ] {
        record.add("master-to-worker", &message);
    }
}

fn drivers(record: &mut Record) {
    let app = key().app;
    let description = ApplicationDescription::new(
        Submitter::new("name", "user"),
        WantedExecutors {
            profile: profile(),
            max_cores: Some(Cores(300)),
            limit: ExecutorLimit::AtMost(2),
            relaunch: Relaunch::WhenLost,
            first: ExecutorId(17),
        },
        Placing { policy: Some(Policy::BestFit), queue: Some("prod".to_owned()), priority: -1, gang: 3 },
        Work::of(command()),
    );
    let target = ExecutorTarget { id: ProfileId(1), profile: profile(), total: 4 };
    for message in [
        DriverToMaster::RegisterApplication(description),
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: None },
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: Some(Outcome::Succeeded) },
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: Some(failed()) },
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: Some(Outcome::cancelled("why")) },
        DriverToMaster::RequestExecutors { app: app.clone(), targets: vec![target] },
        DriverToMaster::KillExecutors { app: app.clone(), executors: vec![ExecutorId(1), ExecutorId(2)] },
        DriverToMaster::PreferHosts {
            app: app.clone(),
            wishes: HostWishes {
                tasks: 5,
                preferred: BTreeMap::from([("node-1".to_owned(), 7)]),
                racks: BTreeMap::from([("node-1".to_owned(), "/r1".to_owned())]),
                avoided: BTreeSet::from(["node-9".to_owned()]),
            },
        },
        DriverToMaster::RequestShortfall { app: app.clone() },
    ] {
        record.add("driver-to-master", &message);
    }
    for message in [
        MasterToDriver::RegisteredApplication {
            app,
            master_url: "spark://m:7077".to_owned(),
            max_cores: Cores(24),
            first_executor: ExecutorId(17),
        },
        MasterToDriver::ExecutorAdded {
            executor: ExecutorId(3),
            profile: ProfileId(1),
            worker: WorkerId::new("worker-1"),
            host: "host".to_owned(),
            cores: Cores(2),
            memory: MiB(512),
        },
        MasterToDriver::ExecutorUpdated {
            executor: ExecutorId(3),
            state: ExecutorState::Running,
            lost_host: Some("host".to_owned()),
        },
        MasterToDriver::WorkerRemoved {
            worker: WorkerId::new("worker-1"),
            host: "host".to_owned(),
            reason: LossReason::Disconnected,
        },
        MasterToDriver::ExecutorsGone { app: AppId::new("app-1") },
        MasterToDriver::ApplicationRemoved(ApplicationEnd::Finished { outcome: Some(failed()) }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::DriverLost),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::ExecutorsFailed {
            failures: 10,
            last: ExecutorState::Running,
        }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed { by: "ann@host".to_owned() }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::GivenUp { reason: "why".to_owned() }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::Refused { reason: "why".to_owned() }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::GangRefused(UnsoundGang::NoCores {
            executors: 3,
        })),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::GangRefused(UnsoundGang::TooManyCores {
            executors: 3,
            cores: Cores(2),
            needed: Cores(6),
            max: Cores(5),
        })),
        MasterToDriver::ExecutorsRequested { accepted: true },
        MasterToDriver::ExecutorsKilled { accepted: false },
        MasterToDriver::Shortfalls(shortfalls()),
    ] {
        record.add("master-to-driver", &message);
    }
}

/// One of each kind of reason, by asking for it.
fn shortfalls() -> Vec<(ProfileId, firesteel_placement::Shortfall)> {
    let demand = |each: i64, left: i64, limit| Demand {
        size: ExecutorSize::Fixed(Cores(each)),
        memory: MiB(1024),
        cores_left: Cores(left),
        limit,
        ..Demand::default()
    };
    let offer =
        |cores| Offer { worker: "w", cores: Cores(cores), memory: MiB(512), resources: Resources::NONE };
    let large = Offer { memory: MiB(4096), ..offer(8) };
    let rows = [
        shortfall(&demand(4, 8, ExecutorLimit::AtMost(0)), &[], &[]),
        shortfall(&demand(4, 2, ExecutorLimit::Unlimited), &[], &[]),
        shortfall(&demand(4, 8, ExecutorLimit::Unlimited), &[], &[]),
        shortfall(&demand(4, 8, ExecutorLimit::Unlimited), &[offer(2)], &[offer(8)]),
        shortfall(&demand(4, 8, ExecutorLimit::Unlimited), &[offer(2)], &[large]),
    ];
    rows.into_iter().flatten().map(|row| (ProfileId::DEFAULT, row)).collect()
}

fn executors(record: &mut Record) {
    let attempt = AttemptId { task: TaskId(300), attempt: 1 };
    let resources = Resources::from_iter([("gpu", ["0", "1"]), ("nic", ["a", "b"])]);
    for message in [
        ExecutorToDriver::RegisterExecutor {
            app: key().app,
            executor: ExecutorId(3),
            profile: ProfileId(1),
            worker: WorkerId::new("worker-1"),
            host: "host".to_owned(),
            cores: Cores(2),
            resources: resources.clone(),
        },
        ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Running },
        ExecutorToDriver::StatusUpdate {
            attempt,
            state: TaskState::Ended(TaskEnd::Exited(ExitStatus::Code(3))),
        },
        ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Ended(TaskEnd::Killed) },
        ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Ended(TaskEnd::NotStarted(failure())) },
        ExecutorToDriver::TaskOutput { attempt, stream: Stream::Stdout, bytes: Bytes::from_static(b"out") },
        ExecutorToDriver::TaskOutput { attempt, stream: Stream::Stderr, bytes: Bytes::from_static(b"err") },
    ] {
        record.add("executor-to-driver", &message);
    }
    let spec = |directory| TaskSpec {
        command: command(),
        directory,
        stdin: Bytes::from_static(b"in"),
        cores: Cores(1),
    };
    for message in [
        DriverToExecutor::RegisteredExecutor,
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::OtherApplication),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::NumberTaken),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::TooManyAddresses),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::Stopping),
        DriverToExecutor::LaunchTask {
            attempt,
            spec: spec(TaskDirectory::Executor),
            resources: Resources::default(),
            credit: 1 << 20,
        },
        DriverToExecutor::LaunchTask {
            attempt,
            spec: spec(TaskDirectory::Path("/data".to_owned())),
            resources,
            credit: 1,
        },
        DriverToExecutor::KillTask { attempt },
        DriverToExecutor::OutputCredit { attempt, bytes: 65_536 },
        DriverToExecutor::StopExecutor,
    ] {
        record.add("driver-to-executor", &message);
    }
}

fn fetches(record: &mut Record) {
    let request = WorkerToDriver::RequestFile { sha256: Sha256([0xab; 32]), offset: 300 };
    record.add("worker-to-driver", &request);
    record.add("driver-to-worker", &DriverToWorker::FileChunk(Bytes::from_static(b"data")));
    record.add("driver-to-worker", &DriverToWorker::FileDelayed);
    let failed = DriverToWorker::RequestFileFailed { reason: "why".to_owned() };
    record.add("driver-to-worker", &failed);
}

fn clients(record: &mut Record) {
    record.add("client-to-master", &ClientToMaster::RequestMasterState);
    let question =
        ClientToMaster::RequestApplication { app: "app-1".to_owned(), executors_from: ExecutorId(300) };
    record.add("client-to-master", &question);
    let order = ClientToMaster::KillApplication { app: "app-1".to_owned(), by: "ann@host".to_owned() };
    record.add("client-to-master", &order);
    record.add("client-to-worker", &ClientToWorker::RequestWorkerState);
    logs(record);
    let executor = ExecutorView {
        id: ExecutorId(3),
        worker: WorkerId::new("worker-1"),
        profile: ProfileId::DEFAULT,
        cores: Cores(2),
        memory: MiB(512),
        resources: gpus(),
        state: ExecutorState::Running,
        host: "host".to_owned(),
        port: 7078,
        directory: "/work/app-1/3".to_owned(),
        launched: Timestamp::from_millis(1_795_209_755_043),
        started: Some(Timestamp::from_millis(1_795_209_755_044)),
        ended: None,
    };
    let application = ApplicationView {
        id: key().app,
        name: "name".to_owned(),
        user: "user".to_owned(),
        state: ApplicationState::Failed,
        end: Some("why".to_owned()),
        outcome: Some(failed()),
        submitted: Timestamp::from_millis(1_795_209_755_042),
        ended: Some(Timestamp::from_millis(1_795_209_755_043)),
        queue: Some("prod".to_owned()),
        priority: -1,
        gang: 3,
        max_cores: Some(Cores(4)),
        cores_granted: Cores(2),
        memory_per_executor: MiB(512),
        executors_live: 1,
        executors_ended: 3,
        executors_forgotten: 2,
        executors: vec![executor],
    };
    answers(record, &application);
    let worker = WorkerView {
        id: WorkerId::new("worker-1"),
        host: "host".to_owned(),
        port: 7078,
        state: WorkerState::Alive,
        cores: Cores(8),
        cores_used: Cores(2),
        memory: MiB(1024),
        memory_used: MiB(512),
        resources: gpus(),
        resources_used: Resources::default(),
        last_heartbeat: Timestamp::from_millis(1_795_209_755_042),
    };
    let view = MasterView {
        url: "spark://m:7077".to_owned(),
        now: Timestamp::from_millis(1_795_209_755_045),
        deciding: Deciding {
            policy: Policy::BestFit,
            strategy: Strategy::Consolidate,
            worker_order: WorkerOrder::MemoryFreeAsc,
            default_cores: Cores(8),
            queues: "prod=3,dev=1".parse().expect("they are queues"),
            backfill: Backfill::Off,
            preemption: Preemption::AtMost { executors: 2, every: Duration::from_secs(60) },
        },
        workers: vec![worker],
        applications: Vec::new(),
        completed: vec![application],
        left_out: LeftOut { workers: 1, applications: 2, executors: 300, completed: 4 },
    };
    record.add("master-to-client", &MasterToClient::MasterStateResponse(view));
    let running = RunningExecutor {
        executor: key(),
        cores: Cores(2),
        memory: MiB(512),
        state: ExecutorState::Running,
        pid: Some(4711),
    };
    let view = WorkerViewOfItself {
        id: WorkerId::new("worker-1"),
        master_url: None,
        cores: Cores(8),
        memory: MiB(1024),
        executors: vec![running],
        ended: vec![ExecutorReport { executor: key(), state: ExecutorState::Killed(None) }],
    };
    record.add("worker-to-client", &WorkerToClient::WorkerStateResponse(view));
}

/// One of each kind of change.
fn outlook() -> Outlook {
    let lacking = |lack| TurnedDown { lack, workers: 3, nearest: 1, farthest: 300 };
    let more = Amounts { cores: Cores(1), memory: MiB(512), resources: ResourceAmounts::new() };
    Outlook {
        bounds: vec![Bound::MoreCores(Cores(4)), Bound::Limit(3)],
        fit: Fit::Later(vec![
            Remedy::Freed { worker: "w".to_owned(), more },
            Remedy::ExecutorCores(Cores(2)),
            Remedy::ExecutorMemory(MiB(512)),
            Remedy::ExecutorResource { name: "gpu".to_owned(), amount: 1 },
            Remedy::ExecutorCoresAndMemory(Cores(2), MiB(512)),
        ]),
        turned_down: vec![
            lacking(Lack::Cores),
            lacking(Lack::Memory),
            lacking(Lack::Resource("gpu".to_owned())),
        ],
    }
}

fn answers(record: &mut Record, application: &ApplicationView) {
    let apps = vec![key().app];
    let (profile, shortfall) = shortfalls().remove(0);
    let advice = [
        Change::ExecutorCores(Cores(2)),
        Change::ExecutorMemory(MiB(512)),
        Change::ExecutorCoresAndMemory(Cores(2), MiB(512)),
        Change::MoreCores(Cores(8)),
        Change::ExecutorLimit(3),
    ];
    let profile = ProfileView {
        id: profile,
        size: ExecutorSize::Fixed(Cores(4)),
        memory: MiB(1024),
        resources: ResourceAmounts::from([("gpu".to_owned(), 1)]),
        limit: ExecutorLimit::AtMost(2),
        held: 1,
        may_have_more: true,
        large_enough: 3,
        with_room: 0,
        shortfall: Some(shortfall),
        outlook: Some(outlook()),
        advice: advice.map(|change| Advice { change, executors: 1, cores: Cores(2) }).to_vec(),
    };
    let holder = Holder { app: AppId::new("app-2"), name: "other".to_owned(), cores: Cores(6), executors: 2 };
    let cluster = ClusterView {
        workers: 3,
        cores: Cores(24),
        cores_free: Cores(1),
        memory: MiB(4096),
        memory_free: MiB(512),
    };
    let scheduling = SchedulingStatus {
        policy: Some(Policy::SpreadHeld),
        profiles: vec![profile],
        cores_spent: Cores(4),
        failures: 2,
        relaunch_at: Some(Timestamp::from_millis(1_795_209_755_046)),
        ahead: 1,
        hindrance: Some(Hindrance::Gang { executors: 3, room: 1, kept: vec![(WorkerId::new("w1"), 3)] }),
        cluster,
        holders: vec![holder],
        more_holders: 0,
    };
    let detail = ApplicationDetail {
        now: Timestamp::from_millis(1_795_209_755_045),
        master: "spark://m:7077".to_owned(),
        application: application.clone(),
        next_executor: Some(ExecutorId(4)),
        scheduling: Some(scheduling),
    };
    for answer in [
        ApplicationAnswer::Known(Box::new(detail)),
        ApplicationAnswer::Unknown,
        ApplicationAnswer::Ambiguous { apps: apps.clone() },
    ] {
        record.add("master-to-client", &MasterToClient::ApplicationResponse(answer));
    }
    let ended = Timestamp::from_millis(1_795_209_755_043);
    for answer in [
        KillAnswer::Killed { app: key().app, executors: 2, cores: Cores(8) },
        KillAnswer::Over { app: key().app, state: ApplicationState::Killed, ended },
        KillAnswer::Unknown,
        KillAnswer::Ambiguous { apps },
    ] {
        record.add("master-to-client", &MasterToClient::KillApplicationResponse(answer));
    }
}

fn logs(record: &mut Record) {
    let (executor, start) = (key(), 1_048_576);
    for (stream, from) in [
        (Stream::Stdout, LogStart::Offset(start)),
        (Stream::Stderr, LogStart::LastBytes(4096)),
        (Stream::Stderr, LogStart::LastLines(10)),
    ] {
        let request = LogRequest { executor: executor.clone(), stream, from };
        record.add("client-to-worker", &ClientToWorker::RequestLog(request));
    }
    let piece = LogPiece { start, bytes: Bytes::from_static(b"a line\n"), length: start + 7, is_over: true };
    record.add("worker-to-client", &WorkerToClient::LogResponse(piece));
    for refusal in [
        RefusedLog::UnsoundId,
        RefusedLog::OneAtATime,
        RefusedLog::NoLog { directory: "/srv/app-1/3".to_owned() },
        RefusedLog::Unreadable { error: "stdout: permission denied".to_owned() },
    ] {
        record.add("worker-to-client", &WorkerToClient::RequestLogFailed(refusal));
    }
}

#[test]
fn the_bytes_of_every_message_are_as_recorded() {
    let lines = record().lines;
    assert!(lines.len() >= 50, "only {} messages are recorded", lines.len());
    golden::check("wire/version-3.txt", &(lines.join("\n") + "\n"));
}

/// What happens to a frame on its way: overwritten, cut or lengthened, and where.
type Damage = (u8, usize, u8);

/// Frames that were damaged on the way, or made up, are refused or read as some message; nothing panics.
#[test]
fn damaged_frames_never_panic() {
    let bodies = record().bodies;
    laws::hold("wire::damaged_frames_never_panic", 20_000, |(which, damages): &(usize, Vec<Damage>)| {
        let mut body = bodies[which % bodies.len()].clone();
        for (kind, place, byte) in damages {
            match (kind % 3, body.len()) {
                (0, length) if length > 0 => body[place % length] = *byte,
                (1, length) if length > 0 => body.truncate(place % length),
                _ => body.push(*byte),
            }
        }
        let _ = wire::decode::<Hello>(&body);
        let _ = wire::decode::<WorkerToMaster>(&body);
        let _ = wire::decode::<MasterToWorker>(&body);
        let _ = wire::decode::<DriverToMaster>(&body);
        let _ = wire::decode::<MasterToDriver>(&body);
        let _ = wire::decode::<ExecutorToDriver>(&body);
        let _ = wire::decode::<DriverToExecutor>(&body);
        let _ = wire::decode::<WorkerToDriver>(&body);
        let _ = wire::decode::<DriverToWorker>(&body);
        let _ = wire::decode::<MasterToClient>(&body);
        let _ = wire::decode::<ClientToWorker>(&body);
        let _ = wire::decode::<WorkerToClient>(&body);
        Ok(())
    });
}
