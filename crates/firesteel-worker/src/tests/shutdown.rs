use super::*;
use crate::Exit;
use firesteel_protocol::process::ExitStatus;

fn over() -> [Effect; 2] {
    [close(1), Effect::Exit(Exit::Shutdown)]
}

fn down(executors: usize) -> Effect {
    note(Note::ShuttingDown { executors })
}

fn exits(executor: u32, status: ExitStatus) -> Event {
    Event::RunnerExited { executor: key(executor), status }
}

#[test]
fn without_executors_a_shutdown_is_over_at_once() {
    let [close, exit] = over();
    assert_eq!(Bench::registered().apply(Event::Shutdown), [down(0), leaving(), close, exit]);
}

#[test]
fn a_shutdown_in_a_round_closes_whom_it_asked() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    bench.connect(1, "a");
    let [close, exit] = over();
    assert_eq!(bench.apply(Event::Shutdown), [down(0), close, exit]);
    assert_eq!(bench.connect(2, "b"), [], "the shell ends with all its connections");
}

#[test]
fn a_shutdown_in_a_pause_is_over_at_once() {
    let mut bench = Bench::new(&["m"]);
    bench.apply(Event::Start);
    bench.connect_failed("m");
    assert_eq!(bench.apply(Event::Shutdown), [down(0), Effect::Exit(Exit::Shutdown)]);
}

#[test]
fn executors_are_ended_before_the_daemon_and_their_ends_told() {
    let mut bench = Bench::running();
    bench.master(1, launch(1));
    assert_eq!(bench.apply(Event::Shutdown), [down(2), leaving(), signal(0, Signal::Terminate)]);
    let runs = note(Note::ExecutorStarted { executor: key(1), pid: 71 });
    let effects = bench.apply(Event::RunnerStarted { executor: key(1), pid: 71 });
    assert_eq!(effects, [runs, tell(1, ExecutorState::Running), signal(1, Signal::Terminate)]);

    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(15)));
    let effects = bench.apply(exits(0, ExitStatus::Signal(15)));
    assert_eq!(effects, [ended(0, killed.clone()), tell(0, killed)]);
    // The other executor ignores SIGTERM.
    let over_note = note(Note::GraceOver { executor: key(1) });
    let (reason, effects) = bench.deadline();
    assert_eq!((reason, effects), (Reason::KillGrace(key(1)), vec![over_note, signal(1, Signal::Kill)]));
    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(9)));
    let [close, exit] = over();
    let effects = bench.apply(exits(1, ExitStatus::Signal(9)));
    assert_eq!(effects, [ended(1, killed.clone()), tell(1, killed), close, exit]);
    assert_eq!(bench.worker.next_deadline(), None);
}

#[test]
fn asked_twice_it_kills_and_asked_three_times_it_does_not_wait() {
    let mut bench = Bench::running();
    bench.master(1, launch(1));
    bench.apply(Event::Shutdown);
    let forced = note(Note::ShutdownForced { executors: 2 });
    assert_eq!(bench.apply(Event::Shutdown), [forced.clone(), signal(0, Signal::Kill)]);
    let runs = note(Note::ExecutorStarted { executor: key(1), pid: 71 });
    let effects = bench.apply(Event::RunnerStarted { executor: key(1), pid: 71 });
    assert_eq!(effects, [runs, tell(1, ExecutorState::Running), signal(1, Signal::Kill)]);
    let [close, exit] = over();
    assert_eq!(bench.apply(Event::Shutdown), [forced, close, exit]);
}

#[test]
fn a_process_that_even_sigkill_does_not_end_does_not_hold_the_daemon() {
    let mut bench = Bench::running();
    bench.apply(Event::Shutdown);
    assert_eq!(bench.deadline().0, Reason::KillGrace(key(0)));
    assert_eq!(bench.deadline(), (Reason::Heartbeat, vec![answer(1, 0)]));
    let [close, exit] = over();
    let left = note(Note::LeftBehind { executors: 1 });
    assert_eq!(bench.deadline(), (Reason::ShutdownTimeout, vec![left, close, exit]));
}

#[test]
fn without_a_grace_the_ends_of_killed_executors_are_still_waited_for() {
    let mut bench = Bench::running();
    bench.worker.config.kill_grace = std::time::Duration::ZERO;
    bench.apply(Event::Shutdown);
    let over_note = note(Note::GraceOver { executor: key(0) });
    assert_eq!(bench.deadline(), (Reason::KillGrace(key(0)), vec![over_note, signal(0, Signal::Kill)]));
    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(9)));
    let [close, exit] = over();
    let effects = bench.apply(exits(0, ExitStatus::Signal(9)));
    assert_eq!(effects, [ended(0, killed.clone()), tell(0, killed), close, exit]);
}

#[test]
fn while_shutting_down_no_executor_is_taken() {
    let mut bench = Bench::running();
    bench.apply(Event::Shutdown);
    let killed = ExecutorState::Killed(None);
    assert_eq!(bench.master(1, launch(1)), [ended(1, killed.clone()), tell(1, killed)]);
    assert_eq!(bench.master(1, MasterToWorker::ReconnectWorker), []);
}

#[test]
fn a_master_lost_while_shutting_down_is_not_looked_for() {
    let mut bench = Bench::running();
    bench.apply(Event::Shutdown);
    let lost = note(Note::MasterLost { master_url: "spark://m:7077".into(), executors: 1 });
    assert_eq!(bench.disconnect(1), [lost]);
    let effects = bench.apply(exits(0, ExitStatus::SUCCESS));
    let killed = ExecutorState::Killed(Some(ExitStatus::SUCCESS));
    assert_eq!(effects, [ended(0, killed), Effect::Exit(Exit::Shutdown)]);
}

fn asked(executors: usize, within: Option<u64>) -> Effect {
    note(Note::AskedToLeave { executors, within: within.map(Duration::from_millis) })
}

fn leave(within_millis: Option<u64>) -> MasterToWorker {
    MasterToWorker::DecommissionWorker { within_millis }
}

#[test]
fn a_worker_that_is_asked_to_leave_ends_with_its_last_executor_and_takes_no_other() {
    let [close, exit] = over();
    let mut idle = Bench::registered();
    assert_eq!(idle.master(1, leave(None)), [asked(0, None), leaving(), close.clone(), exit.clone()]);

    let mut bench = Bench::running();
    assert_eq!(bench.master(1, leave(None)), [asked(1, None), leaving()]);
    let refused = ExecutorState::Killed(None);
    assert_eq!(bench.master(1, launch(1)), [ended(1, refused.clone()), tell(1, refused)]);
    // The Worker's heartbeats continue.
    assert_eq!(bench.deadline().0, Reason::Heartbeat);
    let exited = ExecutorState::Exited(ExitStatus::SUCCESS);
    let effects = bench.apply(exits(0, ExitStatus::SUCCESS));
    assert_eq!(effects, [ended(0, exited.clone()), tell(0, exited), close, exit]);
}

#[test]
fn a_worker_that_leaves_stays_registered_and_says_so_to_every_master() {
    let mut bench = Bench::running();
    bench.master(1, leave(None));
    bench.disconnect(1);
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("m")]));
    bench.connect(2, "m");
    let effects = bench.master(2, registered("m"));
    let says_so = Effect::Send {
        peer: PeerId(2),
        message: Outbound::Master(WorkerToMaster::WorkerDecommissioning { worker: description().id }),
    };
    assert!(effects.contains(&says_so), "{effects:?}");
}

#[test]
fn what_still_runs_when_the_time_to_leave_is_over_is_ended() {
    let mut bench = Bench::running();
    assert_eq!(bench.master(1, leave(Some(60_000))), [asked(1, Some(60_000)), leaving()]);
    // If the Master asks again with another time, the new time counts.
    bench.master(1, leave(Some(5_000)));
    assert_eq!(bench.left(), Duration::from_secs(5));
    let (reason, effects) = bench.deadline();
    assert_eq!(reason, Reason::LeaveTimeout);
    assert_eq!(effects, [down(1), leaving(), signal(0, Signal::Terminate)]);
    assert_eq!(bench.master(1, leave(None)), [], "it ends already");
}

#[test]
fn a_worker_that_leaves_is_shut_down_like_any_other() {
    let mut bench = Bench::running();
    bench.master(1, leave(None));
    assert_eq!(bench.apply(Event::Shutdown), [down(1), leaving(), signal(0, Signal::Terminate)]);
}
