//! Messages between drivers and executors, and between drivers and Workers.

use super::*;

pub(super) fn executors(record: &mut Record) {
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
            secret: Secret::new("secret"),
            received: Some(300),
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
        ExecutorToDriver::Heartbeat { received: 300, ends: true },
        ExecutorToDriver::TaskGivenBack { attempt, failure: failure() },
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
        DriverToExecutor::RegisteredExecutor {
            rules: HeartbeatRules { interval_millis: 10_000, patience_millis: 600_000, away_millis: 30_000 },
            received: 300,
        },
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::OtherApplication),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::NumberTaken),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::TooManyAddresses),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::Stopping),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::WrongSecret),
        DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::Unannounced),
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
        DriverToExecutor::Heartbeat { received: 300 },
    ] {
        record.add("driver-to-executor", &message);
    }
}

pub(super) fn fetches(record: &mut Record) {
    let request = WorkerToDriver::RequestFile { sha256: Sha256([0xab; 32]), offset: 300 };
    record.add("worker-to-driver", &request);
    record.add("driver-to-worker", &DriverToWorker::FileChunk(Bytes::from_static(b"data")));
    record.add("driver-to-worker", &DriverToWorker::FileDelayed);
    let failed = DriverToWorker::RequestFileFailed { reason: "why".to_owned() };
    record.add("driver-to-worker", &failed);
}
