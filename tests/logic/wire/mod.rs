//! The bytes of every message, compared with a record, so that accidental changes are noticed.

mod clients;
mod drivers;
mod executors;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use firesteel_placement::advanced::resources::ResourceQuantities;
use firesteel_placement::explain::advice::{Advice, Change};
use firesteel_placement::explain::outlook::{Bound, Fit, Lack, Outlook, Remedy, TurnedDown};
use firesteel_placement::explain::shortfall;
use firesteel_placement::explain::shortfall::Amounts;
use firesteel_placement::explain::shortfall::shortfall;
use firesteel_placement::{
    Amount, Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Policy, Quantity, ResourceAmounts,
    Resources, Strategy, WorkerOrder,
};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{
    AppId, AttemptId, DriverId, ExecutorId, ExecutorKey, ProfileId, TaskId, WorkerId,
};
use firesteel_protocol::messages::*;
use firesteel_protocol::process::executor_command::{ExecutorCommand, JavaCommand};
use firesteel_protocol::process::{Command, ExitStatus, StartFailure, StartStep};
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::scheduling::{
    Backfill, GangPreemption, Preemption, SchedulingSettings, ServingOrder,
};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, Hello, Message, Role};
use firesteel_protocol::{Kind, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::suites::golden;
use super::suites::laws;

/// Collects messages with their names and bytes. Each must survive encoding and decoding.
struct Record {
    lines: Vec<(Version, String)>,
    bodies: Vec<Vec<u8>>,
    /// By name, whether a later version's bytes of a message are read as the same message.
    later: Vec<(String, Result<(), String>)>,
}

impl Record {
    fn add<M: Kind + Message + DeserializeOwned + PartialEq + std::fmt::Debug>(
        &mut self,
        pair: &str,
        message: &M,
    ) {
        self.add_called(message.since(), message.kind(), pair, message);
    }

    fn add_called<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
        &mut self,
        since: Version,
        name: &str,
        pair: &str,
        message: &M,
    ) {
        let body = wire::encode(message, wire::MAX_FRAME).expect("it is short");
        assert_eq!(wire::decode::<M>(&body).as_ref(), Ok(message));
        let hex: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
        self.lines.push((since, format!("{pair} {name} {hex}")));
        self.bodies.push(body.to_vec());
        let read = wire::decode::<M>(&wire::encode_with_later_fields(message, b"\x05later"));
        let same = if read.as_ref() == Ok(message) { Ok(()) } else { Err(format!("{read:?}")) };
        self.later.push((format!("{pair} {name}"), same));
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
    ApplicationFiles { source: Address::new("me", 7100), files: kinds.map(file).to_vec(), secret: None }
}

fn profile() -> ResourceProfile {
    let resources = ResourceAmounts::from([("gpu".to_owned(), Amount::Whole(1))]);
    ResourceProfile { cores: Some(Cores(2)), memory: None, resources }
}

fn failure() -> StartFailure {
    StartFailure { step: StartStep::Program, error: "no such file".to_owned() }
}

fn failed() -> Outcome {
    Outcome::failed("3 of 10 items failed")
}

fn executor_states() -> [ExecutorState; 13] {
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
        ExecutorState::Lost(LossReason::OverLimit { why: "2.1 GB of 2 GB".to_owned() }),
        ExecutorState::Lost(LossReason::Unanswered),
        ExecutorState::Lost(LossReason::CannotStart { why: "no space".to_owned() }),
        ExecutorState::Exited(ExitStatus::Signal(9)),
    ]
}

fn record() -> Record {
    let mut record = Record { lines: Vec::new(), bodies: Vec::new(), later: Vec::new() };
    for role in [Role::Master, Role::Worker, Role::Driver, Role::Client, Role::Executor] {
        record.add_called(Version::OLDEST, "Hello", "hello", &Hello::new(role, "me"));
    }
    workers(&mut record);
    drivers::drivers(&mut record);
    executors::executors(&mut record);
    executors::fetches(&mut record);
    clients::clients(&mut record);
    record
}

/// A Worker's report about itself.
fn report() -> WorkerReport {
    let usage = Usage { cpu_millis: 300, millicores: 1500, memory: 1 << 20, peak_memory: 2 << 20 };
    WorkerReport {
        worker: WorkerId::new("worker-1"),
        web_address: Some("http://host:8081/".to_owned()),
        master_web_address: None,
        machine: Some(MachineUsage { cores: 4, millicores: 2500, memory: 300, memory_available: 200 }),
        disk: Some(DiskSpace { total: 300, available: 200 }),
        executors: vec![(key(), usage)],
        drivers: vec![(DriverId::new("driver-1"), usage)],
    }
}

fn workers(record: &mut Record) {
    let worker = WorkerDescription::new(
        WorkerId::new("worker-1"),
        Address::new("host", 7078),
        Offered { cores: Cores(8), memory: MiB(1024), resources: gpus() },
        "/work",
    )
    .with_token(Secret::new("token"));
    let executors = executor_states().map(|state| ExecutorReport::new(key(), state)).to_vec();
    record.add("worker-to-master", &WorkerToMaster::register(worker.clone(), executors.clone()));
    let labelled = worker.clone().with_label(Label::of(["4.0"]));
    record.add("worker-to-master", &WorkerToMaster::register(labelled, Vec::new()));
    record
        .add("worker-to-master", &WorkerToMaster::WorkerLatestState { worker: worker.id.clone(), executors });
    for last_order in [None, Some(key())] {
        let heartbeat = WorkerToMaster::Heartbeat { worker: worker.id.clone(), last_order };
        record.add("worker-to-master", &heartbeat);
    }
    record.add("worker-to-master", &WorkerToMaster::WorkerDecommissioning { worker: worker.id.clone() });
    let checked = WorkerToMaster::StartsChecked { worker: worker.id, error: Some("no space".to_owned()) };
    record.add("worker-to-master", &checked);
    for state in executor_states() {
        let report = ExecutorReport::new(key(), state);
        record.add("worker-to-master", &WorkerToMaster::ExecutorStateChanged(report));
    }
    record.add("worker-to-master", &WorkerToMaster::WorkerReported(Box::new(report())));
    let used = Some(Used { cpu_millis: 700, peak_memory: 1 << 20, exceeded: None });
    for (status, exceeded) in [
        (ExitStatus::SUCCESS, None),
        (ExitStatus::Signal(9), Some(ExceededLimit::Memory { mib: 448 })),
        (ExitStatus::Signal(9), Some(ExceededLimit::MemoryOfGroup { mib: 448 })),
        (ExitStatus::Signal(9), Some(ExceededLimit::Threads { count: 40 })),
        (ExitStatus::Signal(9), Some(ExceededLimit::Disk { mib: 10 })),
    ] {
        let used = used.map(|used| Used { exceeded, ..used });
        let ended = ExecutorReport { executor: key(), state: ExecutorState::Exited(status), used };
        record.add("worker-to-master", &WorkerToMaster::ExecutorStateChanged(ended));
    }
    let driver = DriverId::new("driver-1");
    let ended = DriverReport { driver: driver.clone(), state: DriverState::Finished, used };
    record.add("worker-to-master", &WorkerToMaster::DriverStateChanged(ended));
    for pause_millis in [None, Some(2_000)] {
        let (driver, last) = (driver.clone(), ExitStatus::Code(3));
        let message = WorkerToMaster::DriverRestarted { driver, restarts: 2, last, pause_millis };
        record.add("worker-to-master", &message);
    }
    let (cores, memory) = (Cores(2), MiB(512));
    let launch = ExecutorLaunch {
        executor: key(),
        profile: ProfileId(1),
        cores,
        memory,
        resources: gpus(),
        work: Shared::new(ExecutorWork {
            app_name: "name".to_owned(),
            command: command().into(),
            directory: TaskDirectory::Path("/data".to_owned()),
            files: Some(files()),
        }),
        mark: None,
    };
    let same =
        RefusedRegistration::SameAddress { address: "host:1".to_owned(), other: WorkerId::new("worker-2") };
    for message in [
        MasterToWorker::RegisteredWorker {
            master_url: "spark://m:7077".to_owned(),
            heartbeat_millis: 15_000,
            duplicate: true,
            web_address: Some("http://m:8080/".to_owned()),
            mark: None,
        },
        MasterToWorker::RegisterWorkerFailed(RefusedRegistration::UnsoundId),
        MasterToWorker::RegisterWorkerFailed(RefusedRegistration::IdTaken),
        MasterToWorker::RegisterWorkerFailed(RefusedRegistration::Exceeds {
            what: Bounded::Cores,
            found: 65_536,
            most: 4096,
        }),
        MasterToWorker::RegisterWorkerFailed(same),
        MasterToWorker::RegisterWorkerFailed(RefusedRegistration::UnsoundSize { cores: Cores(-1), memory }),
        MasterToWorker::ReconnectWorker,
        MasterToWorker::LaunchExecutor(launch.clone()),
        MasterToWorker::LaunchExecutor(of_java(launch)),
        MasterToWorker::KillExecutor { executor: key() },
        MasterToWorker::ApplicationFinished { app: key().app },
        MasterToWorker::ExecutorEndNoted { executor: key() },
        MasterToWorker::DecommissionWorker { within_millis: None },
        MasterToWorker::DecommissionWorker { within_millis: Some(600_000) },
    ] {
        record.add("master-to-worker", &message);
    }
}

/// The same order for an executor that is a Java class.
fn of_java(launch: ExecutorLaunch) -> ExecutorLaunch {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let command = JavaCommand {
        main_class: "Backend".to_owned(),
        arguments: words("--cores {{CORES}}"),
        environment: [("SPARK_USER".to_owned(), "ann".to_owned())].into(),
        class_path: words("/a.jar"),
        library_path: words("/lib/a"),
        java_options: words("-Da=b"),
        releases: words("3.4 3.5"),
        description: Bytes::from_static(b"object"),
    };
    let command = ExecutorCommand::Java(Box::new(command));
    ExecutorLaunch {
        work: Shared::new(ExecutorWork { command, ..ExecutorWork::clone(&launch.work) }),
        ..launch
    }
}

#[test]
fn the_bytes_of_every_message_are_as_recorded() {
    let lines = record().lines;
    assert!(lines.len() >= 50, "only {} messages are recorded", lines.len());
    let all = lines.iter().map(|(since, line)| format!("{since} {line}\n"));
    golden::check("wire/messages.txt", &all.collect::<String>());
}

/// What a release has sent is read as the same kind of message by all later ones.
#[test]
fn messages_of_an_earlier_release_are_read() {
    let recorded = include_str!("../../../fixtures/wire/release-0.1.0.txt");
    for line in recorded.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [pair, name, hex] = words[..] else { panic!("{line:?} is no message") };
        let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("it is hexadecimal");
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(digits).collect();
        let read = match pair {
            "hello" => wire::decode::<Hello>(&bytes).map(|_| "Hello"),
            "worker-to-master" => kind::<WorkerToMaster>(&bytes),
            "master-to-worker" => kind::<MasterToWorker>(&bytes),
            "driver-to-master" => kind::<DriverToMaster>(&bytes),
            "master-to-driver" => kind::<MasterToDriver>(&bytes),
            "client-to-master" => kind::<ClientToMaster>(&bytes),
            "master-to-client" => kind::<MasterToClient>(&bytes),
            "client-to-worker" => kind::<ClientToWorker>(&bytes),
            "worker-to-client" => kind::<WorkerToClient>(&bytes),
            "executor-to-driver" => kind::<ExecutorToDriver>(&bytes),
            "driver-to-executor" => kind::<DriverToExecutor>(&bytes),
            "worker-to-driver" => kind::<WorkerToDriver>(&bytes),
            "driver-to-worker" => kind::<DriverToWorker>(&bytes),
            other => panic!("nobody sends {other}"),
        };
        assert_eq!(read, Ok(name), "{line}");
    }
}

fn kind<M: DeserializeOwned + Kind>(bytes: &[u8]) -> Result<&'static str, wire::DecodeError> {
    wire::decode::<M>(bytes).map(|message| message.kind())
}

/// A later version adds fields to each struct, and reads this version's messages like this one.
#[test]
fn fields_that_a_later_version_added_are_skipped() {
    for (name, later) in record().later {
        assert_eq!(later, Ok(()), "{name}");
    }
}

/// Damage of a frame: overwritten, cut or lengthened, and where.
type Damage = (u8, usize, u8);

/// Damaged or invented frames are refused or read as some message; nothing panics.
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
