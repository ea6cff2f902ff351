use super::*;
use crate::Exit;
use firesteel_protocol::ids::FetchId;
use firesteel_protocol::messages::{ApplicationFiles, FileDescription, FileKind, Sha256};
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};

fn app() -> AppId {
    AppId::new("app-1")
}

fn files() -> ApplicationFiles {
    let file = |name: &str, kind, length| FileDescription {
        name: name.to_owned(),
        kind,
        length,
        sha256: Sha256([1; 32]),
    };
    let files = vec![file("tool", FileKind::Executable, 10), file("data.txt", FileKind::Plain, 32)];
    ApplicationFiles { source: Address::new("driver", 7100), files, secret: None }
}

fn launch(executor: u32) -> MasterToWorker {
    MasterToWorker::LaunchExecutor(launch_with_files(key(executor), Some(files())))
}

fn start(executor: u32) -> Effect {
    let Effect::StartExecutor(mut plan) = super::start(executor) else { panic!("it is a start") };
    plan.files = vec!["tool".to_owned(), "data.txt".to_owned()];
    Effect::StartExecutor(plan)
}

fn fetch(fetch: u64) -> Vec<Effect> {
    let source = Address::new("driver", 7100);
    vec![
        note(Note::FetchingFiles { app: app(), files: 2, bytes: 42, source }),
        Effect::FetchFiles { fetch: FetchId(fetch), app: app(), files: files() },
    ]
}

fn fetched(fetch: u64) -> Event {
    Event::FilesFetched { app: app(), fetch: FetchId(fetch) }
}

fn failed(fetch: u64) -> Event {
    Event::FilesFailed { app: app(), fetch: FetchId(fetch), error: "tool: no answer".to_owned() }
}

fn remove() -> Effect {
    Effect::RemoveFiles { app: app() }
}

fn stray() -> Vec<Effect> {
    vec![note(Note::StrayFetch { app: app() })]
}

fn finished() -> MasterToWorker {
    MasterToWorker::ApplicationFinished { app: app() }
}

fn exits(executor: u32) -> Event {
    Event::RunnerExited { executor: key(executor), status: ExitStatus::SUCCESS }
}

/// A registered Worker that fetches the files for executor 0.
fn fetching() -> Bench {
    let mut bench = Bench::registered();
    assert_eq!(bench.master(1, launch(0)), fetch(1));
    bench
}

/// A registered Worker that has the files and runs executor 0.
fn there() -> Bench {
    let mut bench = fetching();
    bench.apply(fetched(1));
    bench.apply(Event::RunnerStarted { executor: key(0), pid: 70 });
    bench
}

#[test]
fn executors_start_when_what_their_application_brings_is_there_and_it_is_fetched_once() {
    let mut bench = fetching();
    assert_eq!(bench.master(1, launch(1)), [], "the second executor waits for the same fetch");
    let repeated = note(Note::LaunchRepeated { executor: key(1) });
    assert_eq!(bench.master(1, launch(1)), [repeated]);
    let there = note(Note::FilesFetched { app: app() });
    assert_eq!(bench.apply(fetched(1)), [there, start(0), start(1)]);
    assert_eq!(bench.master(1, launch(2)), [start(2)]);
    assert_eq!(bench.apply(fetched(1)), stray(), "it is told once");
    assert_eq!(bench.worker.cores_used(), Cores(6));
}

#[test]
fn executors_that_wait_are_listed_as_launching_and_do_not_run() {
    let mut bench = fetching();
    let unknown = note(Note::UnknownRunner { executor: key(0) });
    for event in [
        Event::RunnerStarted { executor: key(0), pid: 70 },
        exits(0),
        Event::RunnerFailed {
            executor: key(0),
            why: StartFailure { step: StartStep::Program, error: String::new() }.into(),
        },
    ] {
        assert_eq!(bench.apply(event), std::slice::from_ref(&unknown));
    }
    bench.disconnect(1);
    bench.deadline();
    assert_eq!(bench.connect(2, "m"), [register(2, vec![report(0, ExecutorState::Launching)])]);
}

#[test]
fn without_the_files_executors_fail_with_the_reason_and_the_next_launch_tries_again() {
    let mut bench = fetching();
    bench.master(1, launch(1));
    let failure = StartFailure { step: StartStep::Files, error: "tool: no answer".to_owned() };
    assert_eq!(failure.to_string(), "cannot get the application's files: tool: no answer");
    let state = ExecutorState::Failed(failure);
    let mut expected = vec![note(Note::FilesFailed { app: app(), error: "tool: no answer".to_owned() })];
    for executor in [0, 1] {
        expected.extend([ended(executor, state.clone()), tell(executor, state.clone())]);
    }
    assert_eq!(bench.apply(failed(1)), expected);
    assert_eq!(bench.apply(failed(1)), stray());
    assert_eq!(bench.master(1, launch(2)), fetch(2));
    assert_eq!(bench.apply(fetched(1)), stray(), "only the fetch under way counts");
    let there = note(Note::FilesFetched { app: app() });
    assert_eq!(bench.apply(fetched(2)), [there, start(2)]);
}

#[test]
fn an_executor_that_is_killed_while_it_waits_never_starts_and_the_fetch_goes_on_for_the_next() {
    let mut bench = fetching();
    let asked = note(Note::KillAsked { executor: key(0) });
    let killed = ExecutorState::Killed(None);
    assert_eq!(bench.master(1, kill(0)), [asked, ended(0, killed.clone()), tell(0, killed)]);
    let there = note(Note::FilesFetched { app: app() });
    assert_eq!(bench.apply(fetched(1)), [there]);
    assert_eq!(bench.master(1, launch(1)), [start(1)]);
}

#[test]
fn files_are_removed_when_the_application_has_ended_and_its_last_executor_too() {
    let clean = Effect::CleanApplication { app: app() };
    let mut bench = there();
    assert_eq!(bench.master(1, finished()), []);
    let effects = bench.apply(exits(0));
    assert_eq!(effects[2..], [remove(), clean.clone()]);
    assert_eq!(bench.master(1, finished()), [clean], "they are removed once");
}

#[test]
fn an_application_that_ends_during_the_fetch_stops_it() {
    let mut bench = fetching();
    bench.master(1, kill(0));
    let clean = Effect::CleanApplication { app: app() };
    assert_eq!(bench.master(1, finished()), [remove(), clean]);
    assert_eq!(bench.apply(fetched(1)), stray());
    assert_eq!(bench.apply(failed(1)), stray());
}

#[test]
fn files_stay_while_an_application_has_no_executor_here() {
    let mut bench = there();
    let effects = bench.apply(exits(0));
    assert_eq!(effects.len(), 2, "its end, and the report: {effects:?}");
    assert_eq!(bench.master(1, launch(1)), [start(1)]);
}

/// While a Worker has no Master, an application may end without a message. Files without executors are then removed,
/// and fetched again if they are needed.
#[test]
fn after_a_registration_unused_files_are_removed_and_used_ones_with_their_last_executor() {
    let back = |bench: &mut Bench| {
        bench.disconnect(1);
        bench.deadline();
        bench.connect(2, "m");
        bench.master(2, registered("m"))
    };
    let mut unused = there();
    unused.apply(exits(0));
    assert_eq!(back(&mut unused).last(), Some(&remove()));
    assert_eq!(unused.master(2, launch(1)), fetch(2));

    let mut used = there();
    assert!(!back(&mut used).contains(&remove()));
    assert_eq!(used.apply(exits(0)).last(), Some(&remove()));

    let mut alive = there();
    back(&mut alive);
    assert_eq!(alive.master(2, launch(1)), [start(1)], "the application lives");
    for executor in [0, 1] {
        assert!(!alive.apply(exits(executor)).contains(&remove()));
    }
}

#[test]
fn a_shutdown_ends_waiting_executors_at_once_and_leaves_no_files() {
    let mut bench = fetching();
    let killed = ExecutorState::Killed(None);
    let down = note(Note::ShuttingDown { executors: 1 });
    let exit = Effect::Exit(Exit::Shutdown);
    let effects = bench.apply(Event::Shutdown);
    assert_eq!(
        effects,
        [down, leaving(), ended(0, killed.clone()), tell(0, killed), close(1), remove(), exit]
    );
    assert_eq!(bench.apply(fetched(1)), []);
}

#[test]
fn a_list_that_cannot_be_used_fails_the_executor_and_fetches_nothing() {
    let mut bad = files();
    bad.files[1].name = "../data".to_owned();
    let launch = launch_with_files(key(0), Some(bad));
    let error = "\"../data\" cannot be the name of a file in an executor's directory".to_owned();
    let state = ExecutorState::Failed(StartFailure { step: StartStep::Files, error });
    let effects = Bench::registered().master(1, MasterToWorker::LaunchExecutor(launch));
    assert_eq!(effects, [ended(0, state.clone()), tell(0, state)]);
}
