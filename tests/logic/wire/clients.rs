//! Messages for status clients.

use super::drivers::shortfalls;
use super::*;

pub(super) fn clients(record: &mut Record) {
    record.add("client-to-master", &ClientToMaster::RequestMasterState { from: StateCursor::beginning() });
    for from in [
        StateCursor::Worker(WorkerId::new("worker-1")),
        StateCursor::Application(300),
        StateCursor::Driver(300),
        StateCursor::Executor { application: 2, executor: ExecutorId(300) },
    ] {
        record.add("client-to-master", &ClientToMaster::RequestMasterState { from });
    }
    let question =
        ClientToMaster::RequestApplication { app: "app-1".to_owned(), executors_from: ExecutorId(300) };
    record.add("client-to-master", &question);
    let order = ClientToMaster::KillApplication { app: "app-1".to_owned(), by: "ann@host".into() };
    record.add("client-to-master", &order);
    record.add("client-to-master", &ClientToMaster::RequestReadyz);
    for within_millis in [None, Some(600_000)] {
        let (which, by) = ("worker-1".to_owned(), "ann@host".into());
        let order = ClientToMaster::DecommissionWorkers { which, within_millis, by };
        record.add("client-to-master", &order);
    }
    let leaving =
        LeavingWorker { id: WorkerId::new("worker-1"), executors: 3, drivers: 1, ends_itself: true };
    for answer in
        [DecommissionAnswer::Leaving { workers: vec![leaving], more: 1 }, DecommissionAnswer::Unknown]
    {
        record.add("master-to-client", &MasterToClient::DecommissionWorkersResponse(answer));
    }
    record.add("master-to-client", &MasterToClient::ReadyzResponse);
    cluster_drivers(record);
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
        resources_per_executor: gpu(),
        run_time: Some(Duration::from_secs(600)),
        executors_live: 1,
        executors_ended: 3,
        executors_forgotten: 2,
        executors: vec![executor],
        away_since: Some(Timestamp::from_millis(1_795_209_755_043)),
        web_address: Some("http://driver:4040".to_owned()),
    };
    answers(record, &application);
    history(record, &application);
    logs_of_a_master(record);
    joining(record);
    let timed = TimedReport { received: Timestamp::from_millis(1_795_209_755_042), report: report() };
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
        excluded_for: 2,
        excluded_until: Some(Timestamp::from_millis(1_795_209_755_048)),
        impairment: Some(Impairment::Deaf),
        label: Label::of(["4.0"]),
        remark: Some(WorkerRemark::Late),
        report: Some(Box::new(timed)),
        away_since: Some(Timestamp::from_millis(1_795_209_755_043)),
    };
    reports(record, &worker);
    let executor = application.executors[0].clone();
    let gang = GangPreemption { patience: Duration::from_secs(20), reach: Duration::from_millis(1_500) };
    let at = Some(Timestamp::from_millis(1_795_209_755_042));
    let head = StateHead {
        url: "spark://m:7077".to_owned(),
        web_address: Some("http://m:8080/".to_owned()),
        scheduling: SchedulingSettings {
            rule: "expr:left.cores".to_owned(),
            strategy: Strategy::Consolidate,
            worker_order: WorkerOrder::MemoryFreeAsc,
            default_cores: Cores(8),
            queues: "prod=3,dev=1".parse().expect("they are queues"),
            backfill: Backfill::Off,
            preemption: Preemption::AtMost { executors: 2, every: Duration::from_secs(60) },
            order: ServingOrder::Shortest,
            reservations: 4,
            gang_preemption: Some(gang),
        },
        reserved: vec![ReservedRoom { app: key().app, at, executors: 8, workers: 3 }],
        lag_millis: 250,
        totals: StateTotals { workers: 1, applications: 2, completed: 4, drivers: 5, executors: 300 },
        is_exposed: true,
    };
    let page = StatePage {
        now: Timestamp::from_millis(1_795_209_755_045),
        head: Some(head),
        rows: vec![
            StateRow::Worker(Box::new(worker)),
            StateRow::Application { number: 2, view: Box::new(application) },
            StateRow::Executor { application: 2, view: executor },
        ],
        next: Some(StateCursor::Executor { application: 2, executor: ExecutorId(300) }),
    };
    record.add("master-to-client", &MasterToClient::MasterStateResponse(page));
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
        ended: vec![ExecutorReport::new(key(), ExecutorState::Killed(None))],
        drivers: vec![RunningDriver {
            driver: driver(),
            cores: Cores(1),
            memory: MiB(1024),
            starts: 3,
            pid: Some(4712),
        }],
    };
    record.add("worker-to-client", &WorkerToClient::WorkerStateResponse(view));
}

/// The messages about cluster drivers.
fn cluster_drivers(record: &mut Record) {
    let (driver, successor) = (driver(), DriverId::new("driver-2"));
    let description = DriverDescription {
        user: "ann@host".to_owned(),
        command: Command {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned()],
            environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
        },
        cores: Cores(1),
        memory: MiB(1024),
        supervise: true,
        resources: gpu(),
    };
    record.add("client-to-master", &ClientToMaster::RequestSubmitDriver(Box::new(description.clone())));
    record.add(
        "client-to-master",
        &ClientToMaster::RequestKillDriver { driver: driver.clone(), by: "ann@host".into() },
    );
    record.add("client-to-master", &ClientToMaster::RequestDriverStatus { driver: driver.clone() });
    let by = Requester::from("ann@host");
    record.add("client-to-master", &ClientToMaster::RequestKillAllDrivers { by: by.clone() });
    record.add("client-to-master", &ClientToMaster::RequestClearCompletedDriversAndApps { by });
    record.add("master-to-client", &MasterToClient::KillAllDriversResponse { drivers: 2 });
    record.add("master-to-client", &MasterToClient::ClearCompletedResponse);
    record.add("master-to-client", &MasterToClient::RequestForbidden { why: "why".to_owned() });
    for answer in [
        SubmitDriverAnswer::Submitted { driver: driver.clone() },
        SubmitDriverAnswer::Refused(RefusedDriver::NoProgram),
        SubmitDriverAnswer::Refused(RefusedDriver::UnsoundSize { cores: Cores(0), memory: MiB(1) }),
        SubmitDriverAnswer::Refused(RefusedDriver::TooLong { length: 200_000, most: 131_072 }),
        SubmitDriverAnswer::Refused(RefusedDriver::TooManyWait { most: 10_000 }),
        SubmitDriverAnswer::Refused(RefusedDriver::NoWorkers),
        SubmitDriverAnswer::Refused(RefusedDriver::Unsound { why: "why".to_owned() }),
    ] {
        record.add("master-to-client", &MasterToClient::SubmitDriverResponse(answer));
    }
    for answer in [
        KillDriverAnswer::Asked { driver: driver.clone() },
        KillDriverAnswer::Killed { driver: driver.clone() },
        KillDriverAnswer::Over { driver: driver.clone(), state: DriverState::Finished },
        KillDriverAnswer::Unknown,
    ] {
        record.add("master-to-client", &MasterToClient::KillDriverResponse(answer));
    }
    let failure = StartFailure { step: StartStep::Lookup, error: "why".to_owned() };
    for state in [
        DriverState::Submitted,
        DriverState::Running,
        DriverState::Finished,
        DriverState::Relaunching { successor },
        DriverState::Unknown,
        DriverState::Killed(Some(ExitStatus::Signal(15))),
        DriverState::Failed(ExitStatus::Code(3)),
        DriverState::Error(DriverError::NotStarted(failure)),
        DriverState::Error(DriverError::Lost(LossReason::Disconnected)),
        DriverState::Error(DriverError::WorkerStopped),
    ] {
        let report = DriverReport::new(driver.clone(), state);
        record.add("worker-to-master", &WorkerToMaster::DriverStateChanged(report));
    }
    record.add("master-to-client", &MasterToClient::DriverStatusResponse(None));
    for wait in [
        None,
        Some(DriverWait::NoWorker),
        Some(DriverWait::TooLarge { cores: Cores(4), memory: MiB(8192) }),
        Some(DriverWait::NoRoom { workers: 3 }),
        Some(DriverWait::Limit { most: 2 }),
        Some(DriverWait::UserLimit { limit: "2 cores".to_owned() }),
    ] {
        let view = Some(Box::new(DriverView { wait, ..driver_view() }));
        record.add("master-to-client", &MasterToClient::DriverStatusResponse(view));
    }
    let launch = DriverLaunch { driver: driver.clone(), description, resources: gpus() };
    record.add("master-to-worker", &MasterToWorker::LaunchDriver(Box::new(launch)));
    record.add("master-to-worker", &MasterToWorker::KillDriver { driver: driver.clone() });
    record.add("master-to-worker", &MasterToWorker::DriverEndNoted { driver });
}

/// The messages with reports of Workers, one page each.
fn reports(record: &mut Record, worker: &WorkerView) {
    let until = Timestamp::from_millis(1_795_209_755_042);
    let gone = |cause| WorkerRemark::Gone(Departure { at: until, cause });
    for remark in [
        WorkerRemark::Foreign { executors: 3, drivers: 1, until },
        gone(DepartureCause::Asked),
        gone(DepartureCause::Stopped),
        gone(DepartureCause::Lost(LossReason::HeartbeatTimeout { seconds: 60 })),
    ] {
        let view = WorkerView { remark: Some(remark), report: None, ..worker.clone() };
        let rows = vec![StateRow::Worker(Box::new(view))];
        let page = StatePage { now: until, head: None, rows, next: None };
        record.add("master-to-client", &MasterToClient::MasterStateResponse(page));
    }
    record.add("client-to-worker", &ClientToWorker::RequestWorkerReport);
    record.add("worker-to-client", &WorkerToClient::WorkerReportResponse(Box::new(report())));
}

/// The amount of custom resources that something needs.
fn gpu() -> ResourceAmounts {
    [("gpu".to_owned(), Amount::Whole(2))].into()
}

/// Logs that a Master has read.
fn logs_of_a_master(record: &mut Record) {
    let executor = ExecutorKey { app: AppId::new("app-20261121003159-0000"), executor: ExecutorId(3) };
    for author in [LogAuthor::Executor(executor), LogAuthor::Driver(driver())] {
        let range = LogRange { author, stream: Stream::Stderr, from: LogStart::LastLines(20) };
        record.add("client-to-master", &ClientToMaster::RequestLog { range, by: "ann@host".into() });
    }
    let piece = LogPiece { start: 7, bytes: "a line\n".into(), length: 300, is_over: true };
    record.add("master-to-client", &MasterToClient::LogResponse(piece));
    let why = "Worker worker-1 does not answer".to_owned();
    record.add("master-to-client", &MasterToClient::RequestLogFailed { why });
}

/// Machines that ask for credentials.
fn joining(record: &mut Record) {
    let (number, by) = ("0123-4567-8901-2345".to_owned(), || "ann@host".into());
    record.add("joining-to-master", &JoiningToMaster::RequestJoin { host: "node-2".to_owned() });
    record.add("joining-to-master", &JoiningToMaster::ApproveJoin { number, by: by() });
    record.add("joining-to-master", &JoiningToMaster::RequestWaiting { by: by() });
    let since = Timestamp::from_millis(1_795_209_755_042);
    let machine = WaitingMachine { host: "node-2".to_owned(), from: "10.0.0.2".to_owned(), since };
    let why = || "no machine that waits has this number".to_owned();
    record.add("master-to-joining", &MasterToJoining::JoinPending);
    let credentials = Secret::new("work 0123");
    record.add("master-to-joining", &MasterToJoining::JoinApproved { credentials });
    record.add("master-to-joining", &MasterToJoining::JoinRefused { why: why() });
    record.add("master-to-joining", &MasterToJoining::ApproveResponse(machine.clone()));
    record.add("master-to-joining", &MasterToJoining::ApproveRefused { why: why() });
    record.add("master-to-joining", &MasterToJoining::WaitingResponse(vec![machine]));
}

/// Ended applications and drivers.
fn history(record: &mut Record, application: &ApplicationView) {
    let now = Timestamp::from_millis(1_795_209_755_045);
    let from = HistoryCursor { ended: now, what: PastNumber::Application(300) };
    record.add("client-to-master", &ClientToMaster::RequestHistory { from });
    let used = vec![(ExecutorId(3), Used { cpu_millis: 300, peak_memory: 1 << 20, exceeded: None })];
    let past = PastApplication { number: 2, view: application.clone(), used };
    let rows = vec![
        PastRow::Application(Box::new(past)),
        PastRow::Driver {
            number: 300,
            view: Box::new(driver_view()),
            used: Some(Used { cpu_millis: 700, peak_memory: 1 << 20, exceeded: None }),
        },
    ];
    let next = Some(HistoryCursor { ended: now, what: PastNumber::Driver(301) });
    record.add("master-to-client", &MasterToClient::HistoryResponse(HistoryPage { now, rows, next }));
}

fn driver_view() -> DriverView {
    DriverView {
        id: driver(),
        user: "ann@host".to_owned(),
        command: "sh -c".to_owned(),
        cores: Cores(1),
        memory: MiB(1024),
        supervise: true,
        state: DriverState::Running,
        submitted: Timestamp::from_millis(1_795_209_755_042),
        launched: Some(Timestamp::from_millis(1_795_209_755_043)),
        ended: None,
        worker: Some(DriverLocation {
            worker: WorkerId::new("worker-1"),
            host: "host".to_owned(),
            port: 7078,
            directory: "/work/driver-1".to_owned(),
        }),
        name: Some("nightly".to_owned()),
        needs: gpu(),
        has: gpus(),
        restarts: Some(DriverRestarts { restarts: 2, last: ExitStatus::Code(3), until: None }),
        wait: None,
    }
}

fn driver() -> DriverId {
    DriverId::new("driver-1")
}

/// One of each kind of change.
fn outlook() -> Outlook {
    let lacking =
        |lack| TurnedDown { lack, workers: 3, nearest: Quantity::whole(1), farthest: Quantity::whole(300) };
    let more = Amounts { cores: Cores(1), memory: MiB(512), resources: ResourceQuantities::new() };
    Outlook {
        bounds: vec![Bound::MoreCores(Cores(4)), Bound::Limit(3)],
        fit: Fit::Later(vec![
            Remedy::Freed { worker: "w".to_owned(), more },
            Remedy::ExecutorCores(Cores(2)),
            Remedy::ExecutorMemory(MiB(512)),
            Remedy::ExecutorResource { name: "gpu".to_owned(), amount: Amount::Whole(1) },
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
        resources: ResourceAmounts::from([("gpu".to_owned(), Amount::Whole(1))]),
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
    let excluded = |end| ExcludedWorker {
        worker: WorkerId::new("w2"),
        end,
        times: 2,
        until: Timestamp::from_millis(1_795_209_755_047),
        for_all: end == EarlyEnd::Finished,
    };
    let scheduling = SchedulingStatus {
        policy: Some(Policy::SpreadHeld),
        profiles: vec![profile],
        cores_spent: Cores(4),
        failures: 2,
        relaunch_at: Some(Timestamp::from_millis(1_795_209_755_046)),
        excluded: [EarlyEnd::Failed, EarlyEnd::Finished].map(excluded).to_vec(),
        more_excluded: 1,
        impaired: vec![ImpairedWorker { worker: WorkerId::new("worker-3"), impairment: Impairment::Deaf }],
        ahead: 1,
        blocker: Some(Blocker::Gang { executors: 3, room: 1, kept: vec![(WorkerId::new("w1"), 3)] }),
        cluster,
        holders: vec![holder],
        more_holders: 0,
        late: vec![LateWorker { worker: WorkerId::new("worker-4"), executors: 2 }],
        expected_start: Some(Timestamp::from_millis(1_795_209_755_049)),
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
        KillAnswer::Over { app: key().app, state: ApplicationState::Killed, outcome: None, ended },
        KillAnswer::Over {
            app: key().app,
            state: ApplicationState::Finished,
            outcome: Some(Outcome::failed("3 of 10 items failed")),
            ended,
        },
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
    let (driver, stream, from) = (driver(), Stream::Stderr, LogStart::Offset(start));
    let request = DriverLogRequest { driver, stream, from };
    record.add("client-to-worker", &ClientToWorker::RequestDriverLog(request));
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
