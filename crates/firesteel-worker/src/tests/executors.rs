use super::*;
use firesteel_protocol::process::{ExitStatus, Fault, NotStarted, StartFailure, StartStep};

fn exits(executor: u32, status: ExitStatus) -> Event {
    Event::RunnerExited { executor: key(executor), status }
}

fn started(executor: u32, pid: u32) -> Event {
    Event::RunnerStarted { executor: key(executor), pid }
}

fn no_program() -> StartFailure {
    StartFailure { step: StartStep::Program, error: "/bin/nope: not found".into() }
}

#[test]
fn an_executor_is_started_and_each_change_told_to_the_master() {
    let mut bench = Bench::registered();
    assert_eq!(bench.master(1, launch(0)), [start(0)]);
    let runs = note(Note::ExecutorStarted { executor: key(0), pid: 70 });
    assert_eq!(bench.apply(started(0, 70)), [runs, tell(0, ExecutorState::Running)]);
    let exited = ExecutorState::Exited(ExitStatus::Code(3));
    assert_eq!(bench.apply(exits(0, ExitStatus::Code(3))), [ended(0, exited.clone()), tell(0, exited)]);
    assert_eq!(bench.worker.cores_used(), Cores::ZERO);
}

#[test]
fn every_placeholder_that_is_a_whole_argument_is_filled_in() {
    let arguments = [
        "{{EXECUTOR_ID}}",
        "{{CORES}}",
        "{{MEMORY}}",
        "{{HOSTNAME}}",
        "{{APP_ID}}",
        "{{WORKER_URL}}",
        "{{WORKER_ID}}",
        "{{RESOURCE_PROFILE_ID}}",
        "{{RESOURCES}}",
        "{{FIRESTEEL}}",
        "--cores={{CORES}}",
        "{{UNKNOWN}}",
    ];
    let filled = [
        "4",
        "2",
        "512",
        "node-7",
        "app-1",
        "spark://node-7:7078",
        "worker-1",
        "3",
        "gpu=0,1",
        "{{FIRESTEEL}}",
        "--cores={{CORES}}",
        "{{UNKNOWN}}",
    ];
    let resources = Resources::from_iter([("gpu", ["1", "0"])]);
    let launch = ExecutorLaunch {
        resources,
        work: Shared::new(ExecutorWork { command: command(&arguments).into(), ..work() }),
        ..launch_of(key(4))
    };
    let effects = Bench::registered().master(1, MasterToWorker::LaunchExecutor(launch));
    let [Effect::StartExecutor(plan)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(plan.command, command(&filled).into());
}

#[test]
fn an_executor_that_cannot_be_started_is_told_as_failed() {
    let mut bench = Bench::registered();
    bench.master(1, launch(0));
    let effects = bench.apply(Event::RunnerFailed { executor: key(0), why: no_program().into() });
    let failed = ExecutorState::Failed(no_program());
    assert_eq!(effects, [ended(0, failed.clone()), tell(0, failed)]);
}

#[test]
fn an_executor_may_end_before_its_start_was_heard_of() {
    let mut bench = Bench::registered();
    bench.master(1, launch(0));
    let exited = ExecutorState::Exited(ExitStatus::SUCCESS);
    assert_eq!(bench.apply(exits(0, ExitStatus::SUCCESS)), [ended(0, exited.clone()), tell(0, exited)]);
}

#[test]
fn a_repeated_order_to_launch_does_nothing_while_the_executor_lives_and_after_it() {
    let mut bench = Bench::running();
    let repeated = note(Note::LaunchRepeated { executor: key(0) });
    assert_eq!(bench.master(1, launch(0)), std::slice::from_ref(&repeated));
    bench.apply(exits(0, ExitStatus::SUCCESS));
    assert_eq!(bench.master(1, launch(0)), std::slice::from_ref(&repeated));
    bench.master(1, MasterToWorker::ExecutorEndNoted { executor: key(0) });
    assert_eq!(bench.master(1, launch(0)), [repeated]);
}

#[test]
fn an_application_whose_id_could_leave_the_work_directory_is_refused() {
    for bad in ["..", "a/b", ""] {
        let executor = ExecutorKey { app: AppId::new(bad), executor: ExecutorId(0) };
        let mut bench = Bench::registered();
        let effects = bench.master(1, MasterToWorker::LaunchExecutor(launch_of(executor.clone())));
        let error = format!("{bad:?} cannot be the name of a directory");
        let state = ExecutorState::Failed(StartFailure { step: StartStep::Directory, error });
        let report = ExecutorReport::new(executor.clone(), state.clone());
        let told = send(1, WorkerToMaster::ExecutorStateChanged(report));
        assert_eq!(effects, [note(Note::ExecutorEnded { executor, state }), told]);
        let finished = MasterToWorker::ApplicationFinished { app: AppId::new(bad) };
        assert_eq!(bench.master(1, finished), [], "nothing is cleaned under such a name");
    }
}

#[test]
fn more_may_be_launched_than_the_worker_has() {
    let mut bench = Bench::registered();
    for executor in 0..10 {
        assert_eq!(bench.master(1, launch(executor)), [start(executor)]);
    }
    assert_eq!((bench.worker.cores_used(), bench.worker.memory_used()), (Cores(20), MiB(5120)));
}

#[test]
fn an_executor_is_asked_to_end_and_killed_after_the_grace() {
    let mut bench = Bench::running();
    let asked = note(Note::KillAsked { executor: key(0) });
    assert_eq!(bench.master(1, kill(0)), [asked.clone(), signal(0, Signal::Terminate)]);
    assert_eq!(bench.left(), GRACE);
    bench.now = bench.now + Duration::from_secs(5);
    assert_eq!(bench.master(1, kill(0)), [asked], "asked again, it has no more time than before");
    let over = note(Note::GraceOver { executor: key(0) });
    let (reason, effects) = bench.deadline();
    assert_eq!((reason, effects), (Reason::KillGrace(key(0)), vec![over, signal(0, Signal::Kill)]));
    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(9)));
    assert_eq!(bench.apply(exits(0, ExitStatus::Signal(9))), [ended(0, killed.clone()), tell(0, killed)]);
}

#[test]
fn an_executor_that_ends_within_the_grace_is_not_killed() {
    let mut bench = Bench::running();
    bench.master(1, kill(0));
    bench.now = bench.now + Duration::from_secs(9);
    let killed = ExecutorState::Killed(Some(ExitStatus::SUCCESS));
    assert_eq!(bench.apply(exits(0, ExitStatus::SUCCESS)), [ended(0, killed.clone()), tell(0, killed)]);
    assert_eq!(bench.deadline(), (Reason::Heartbeat, vec![answer(1, 0)]));
}

#[test]
fn a_kill_that_comes_before_the_start_is_carried_out_at_the_start() {
    let mut bench = Bench::registered();
    bench.master(1, launch(0));
    assert_eq!(bench.master(1, kill(0)), [note(Note::KillAsked { executor: key(0) })]);
    let runs = note(Note::ExecutorStarted { executor: key(0), pid: 70 });
    let effects = bench.apply(started(0, 70));
    assert_eq!(effects, [runs, tell(0, ExecutorState::Running), signal(0, Signal::Terminate)]);
    assert_eq!(bench.left(), GRACE);
}

#[test]
fn a_killed_executor_that_could_not_be_started_counts_as_killed() {
    let mut bench = Bench::registered();
    bench.master(1, launch(0));
    bench.master(1, kill(0));
    let effects = bench.apply(Event::RunnerFailed { executor: key(0), why: no_program().into() });
    let killed = ExecutorState::Killed(None);
    assert_eq!(effects, [ended(0, killed.clone()), tell(0, killed)]);
}

#[test]
fn an_order_to_end_an_unknown_executor_is_noted() {
    let unknown = note(Note::KillUnknown { executor: key(5) });
    assert_eq!(Bench::running().master(1, kill(5)), [unknown]);
}

#[test]
fn a_runner_without_a_row_is_noted() {
    let unknown = note(Note::UnknownRunner { executor: key(5) });
    for event in [
        started(5, 75),
        exits(5, ExitStatus::SUCCESS),
        Event::RunnerFailed { executor: key(5), why: no_program().into() },
    ] {
        assert_eq!(Bench::running().apply(event), std::slice::from_ref(&unknown));
    }
    let twice = note(Note::UnknownRunner { executor: key(0) });
    assert_eq!(Bench::running().apply(started(0, 99)), [twice]);
}

#[test]
fn a_noted_end_is_not_listed_again() {
    let mut bench = Bench::running();
    bench.apply(exits(0, ExitStatus::SUCCESS));
    bench.master(1, MasterToWorker::ExecutorEndNoted { executor: key(0) });
    bench.disconnect(1);
    bench.deadline();
    assert_eq!(bench.connect(2, "m"), [register(2, vec![])]);
}

#[test]
fn ends_that_nobody_confirms_are_kept_up_to_a_bound() {
    let mut bench = Bench::registered();
    for executor in 0..10_003 {
        bench.master(1, launch(executor));
        let effects = bench.apply(exits(executor, ExitStatus::Code(1)));
        let forgotten = executor.checked_sub(10_000).map(key);
        let expected = forgotten.map(|executor| note(Note::EndForgotten { executor }));
        assert_eq!(effects.get(2), expected.as_ref());
    }
}

#[test]
fn the_latest_that_ended_are_remembered_up_to_the_setting() {
    let config = Config { retained_executors: 2, ..Bench::new(&["m"]).worker.config };
    let mut bench = Bench::of(config);
    bench.apply(Event::Start);
    bench.connect(1, "m");
    bench.master(1, registered("m"));
    for executor in 0..4 {
        bench.master(1, launch(executor));
        bench.apply(exits(executor, ExitStatus::SUCCESS));
    }
    let exited = ExecutorState::Exited(ExitStatus::SUCCESS);
    assert_eq!(bench.worker.view().ended, [report(2, exited.clone()), report(3, exited)]);
}

#[test]
fn a_finished_application_is_cleaned_once_none_of_its_executors_is_left() {
    let app = AppId::new("app-1");
    let clean = Effect::CleanApplication { app: app.clone() };
    let finished = MasterToWorker::ApplicationFinished { app };
    let mut bench = Bench::running();
    bench.master(1, launch(1));
    let other = ExecutorKey { app: AppId::new("app-10"), executor: ExecutorId(0) };
    bench.master(1, MasterToWorker::LaunchExecutor(launch_of(other)));

    assert_eq!(bench.master(1, finished.clone()), []);
    assert_eq!(bench.master(1, finished.clone()), []);
    let exited = ExecutorState::Exited(ExitStatus::SUCCESS);
    let end = |executor| vec![ended(executor, exited.clone()), tell(executor, exited.clone())];
    assert_eq!(bench.apply(exits(0, ExitStatus::SUCCESS)), end(0));
    let mut last = end(1);
    last.push(clean.clone());
    assert_eq!(bench.apply(exits(1, ExitStatus::SUCCESS)), last);
    assert_eq!(bench.master(1, finished), [clean], "with nothing left it is cleaned at once");
}

#[test]
fn a_heartbeat_names_the_last_order_that_came_since_the_one_before() {
    let mut bench = Bench::registered();
    bench.master(1, launch(0));
    bench.master(1, launch(1));
    assert_eq!(bench.deadline(), (Reason::Heartbeat, vec![answer(1, 1)]));
    assert_eq!(bench.deadline(), (Reason::Heartbeat, vec![heartbeat(1)]));
    // A repeated order is answered, but starts nothing.
    assert_eq!(bench.master(1, launch(0)), [note(Note::LaunchRepeated { executor: key(0) })]);
    assert_eq!(bench.deadline(), (Reason::Heartbeat, vec![answer(1, 0)]));
}

#[test]
fn a_worker_whose_disk_is_full_says_so_before_it_reports_what_failed_and_again_when_it_can_write() {
    let mut bench = Bench::with_disk();
    bench.master(1, launch(0));
    let full = StartFailure { step: StartStep::Directory, error: "no space".to_owned() };
    let failed = |number| Event::RunnerFailed { executor: key(number), why: full.clone().into() };
    assert_eq!(bench.apply(failed(0)), [Effect::TryToStart { process: false }]);
    let checked = |peer, error: Option<&str>| {
        let (worker, error) = (WorkerId::new("worker-1"), error.map(str::to_owned));
        send(peer, WorkerToMaster::StartsChecked { worker, error })
    };
    let end = ExecutorState::Failed(full.clone());
    let tried = |error: Option<&str>| {
        Event::StartTried(StartTried { directory: error.map(str::to_owned), ..Default::default() })
    };
    let cannot = note(Note::CannotStart { error: "no space".to_owned() });
    let expected = [cannot, checked(1, Some("no space")), ended(0, end.clone()), tell(0, end.clone())];
    assert_eq!(bench.apply(tried(Some("no space"))), expected);
    // Now the cause is known, and a failure is reported at once.
    bench.master(1, launch(1));
    assert_eq!(bench.apply(failed(1)), [ended(1, end.clone()), tell(1, end)]);
    // A Master that did not know of the obstacle gets a message about it.
    bench.disconnect(1);
    while bench.deadline().0 != Reason::Registration(Due::Round) {}
    bench.connect(2, "m");
    let registered = bench.master(2, registered("m"));
    assert!(registered.contains(&checked(2, Some("no space"))), "{registered:?}");
    // While the checks keep failing in the same way, nothing is reported.
    bench.apply(tried(Some("no space")));
    assert_eq!(bench.deadline(), (Reason::StartTry, vec![Effect::TryToStart { process: false }]));
    let effects = bench.apply(tried(None));
    assert_eq!(effects[0], note(Note::CanStartAgain));
    assert_eq!(effects.len(), 2, "{effects:?}");
}

#[test]
fn a_worker_whose_disk_is_free_again_while_it_is_away_says_so_when_it_returns() {
    let mut bench = Bench::with_disk();
    let tried = |error: Option<&str>| {
        Event::StartTried(StartTried { directory: error.map(str::to_owned), ..Default::default() })
    };
    try_due(&mut bench);
    bench.apply(tried(Some("no space")));
    bench.disconnect(1);
    try_due(&mut bench);
    assert_eq!(bench.apply(tried(None)), [note(Note::CanStartAgain)]);
    while bench.deadline().0 != Reason::Registration(Due::Round) {}
    bench.connect(2, "m");
    let over = send(2, WorkerToMaster::StartsChecked { worker: WorkerId::new("worker-1"), error: None });
    let registered = bench.master(2, registered("m"));
    assert!(registered.contains(&over), "{registered:?}");
}

#[test]
fn a_failure_that_is_not_the_disks_is_reported_after_the_try() {
    let mut bench = Bench::with_disk();
    bench.master(1, launch(0));
    bench.master(1, launch(1));
    let failure = StartFailure { step: StartStep::Output, error: "it is a directory".to_owned() };
    let failed = |number| Event::RunnerFailed { executor: key(number), why: failure.clone().into() };
    assert_eq!(bench.apply(failed(0)), [Effect::TryToStart { process: false }]);
    assert_eq!(bench.apply(failed(1)), [], "it is being tried");
    bench.master(1, kill(1));
    let end = ExecutorState::Failed(failure.clone());
    let killed = ExecutorState::Killed(None);
    let expected = [ended(0, end.clone()), tell(0, end), ended(1, killed.clone()), tell(1, killed)];
    assert_eq!(bench.apply(Event::StartTried(StartTried::default())), expected);
}

/// A failure to start for which the machine is certainly at fault.
fn machine_s(fault: Fault) -> NotStarted {
    let error = "firesteel: Resource temporarily unavailable".to_owned();
    NotStarted { failure: StartFailure { step: StartStep::Program, error }, fault }
}

/// Lets time pass until the Worker checks whether it can start anything. Returns whether it tries to start a process.
fn try_due(bench: &mut Bench) -> bool {
    loop {
        let (_, effects) = bench.deadline();
        let tried = |effect: &Effect| match effect {
            Effect::TryToStart { process } => Some(*process),
            _ => None,
        };
        if let Some(process) = effects.iter().find_map(tried) {
            return process;
        }
    }
}

#[test]
fn a_worker_that_can_start_no_process_says_so_before_it_reports_what_failed_and_tries_until_it_can() {
    for fault in [Fault::Shortage, Fault::OwnProgram] {
        let mut bench = Bench::with_disk();
        bench.master(1, launch(0));
        bench.master(1, launch(1));
        let why = machine_s(fault);
        let reason = why.failure.to_string();
        let checked = |error: Option<&String>| {
            let (worker, error) = (WorkerId::new("worker-1"), error.cloned());
            send(1, WorkerToMaster::StartsChecked { worker, error })
        };
        let failed = |number| Event::RunnerFailed { executor: key(number), why: machine_s(fault) };
        let end = ExecutorState::Failed(why.failure.clone());
        let said = [note(Note::CannotStart { error: reason.clone() }), checked(Some(&reason))];
        let ends = |number| [ended(number, end.clone()), tell(number, end.clone())];
        assert_eq!(bench.apply(failed(0)), [said, ends(0)].concat());
        assert_eq!(bench.apply(failed(1)), ends(1), "it is known");
        assert!(try_due(&mut bench), "a process is tried, too");
        let still = StartTried { process: Some(reason.clone()), ..StartTried::default() };
        assert_eq!(bench.apply(Event::StartTried(still)), []);
        assert!(try_due(&mut bench));
        let can = [note(Note::CanStartAgain), checked(None)];
        assert_eq!(bench.apply(Event::StartTried(StartTried::default())), can);
        assert!(!try_due(&mut bench), "that works");
    }
}

#[test]
fn a_shortage_that_comes_again_with_each_start_is_tried_less_and_less_often() {
    let mut bench = Bench::with_disk();
    let mut pauses = Vec::new();
    for number in 0..7 {
        bench.master(1, launch(number));
        bench.apply(Event::RunnerFailed { executor: key(number), why: machine_s(Fault::Shortage) });
        let failed = bench.now;
        assert!(try_due(&mut bench));
        pauses.push(bench.now.since(failed).as_secs());
        bench.apply(Event::StartTried(StartTried::default()));
    }
    assert_eq!(pauses, [5, 10, 20, 40, 80, 80, 80]);
    bench.master(1, launch(7));
    bench.apply(Event::RunnerStarted { executor: key(7), pid: 70 });
    bench.master(1, launch(8));
    bench.apply(Event::RunnerFailed { executor: key(8), why: machine_s(Fault::Shortage) });
    let failed = bench.now;
    assert!(try_due(&mut bench));
    assert_eq!(bench.now.since(failed).as_secs(), 5);
}

#[test]
fn a_worker_that_never_tries_reports_a_shortage_as_any_failure() {
    let mut bench = Bench::registered();
    bench.master(1, launch(0));
    let why = machine_s(Fault::Shortage);
    let end = ExecutorState::Failed(why.failure.clone());
    let effects = bench.apply(Event::RunnerFailed { executor: key(0), why });
    assert_eq!(effects, [ended(0, end.clone()), tell(0, end)]);
}
