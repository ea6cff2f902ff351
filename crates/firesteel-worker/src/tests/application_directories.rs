use super::*;
use crate::{Cleanup, EarlierDirectory};
use firesteel_protocol::ids::FetchId;
use firesteel_protocol::messages::{ApplicationFiles, FileDescription, FileKind, Sha256};
use firesteel_protocol::process::ExitStatus;

const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);
const WEEK: Duration = Duration::from_secs(604_800);

/// A Worker that removes old directories, and is not connected to a Master.
fn cleaning() -> Bench {
    let mut bench = Bench::new(&["m"]);
    let cleanup = Some(Cleanup { interval: HALF_AN_HOUR, keep: WEEK, max_executors: 3, max_bytes: 1_000 });
    let config = Config { cleanup, ..bench.worker.config.clone() };
    bench = Bench::of(config);
    bench.now = Timestamp::from_millis(1_795_209_755_042);
    bench.apply(Event::Start);
    bench.connect(1, "m");
    bench.master(1, registered("m"));
    bench
}

/// Advances through the deadlines to the next search. Returns its effects.
fn look(bench: &mut Bench) -> Vec<Effect> {
    for _ in 0..1_000 {
        // A heartbeat may be due at the same time.
        let (_, effects) = bench.deadline();
        let looks: Vec<Effect> =
            effects.into_iter().filter(|effect| !matches!(effect, Effect::Send { .. })).collect();
        if !looks.is_empty() {
            return looks;
        }
    }
    panic!("there is no look");
}

fn find(bench: &Bench, keep: &[&str]) -> Effect {
    let keep = keep.iter().map(|app| AppId::new(*app)).collect();
    Effect::FindStale { keep, unwritten_since: bench.now - WEEK }
}

fn found(apps: &[&str]) -> Event {
    Event::StaleFound { apps: apps.iter().map(|app| AppId::new(*app)).collect() }
}

fn removed(apps: &[&str]) -> Vec<Effect> {
    let noted = note(Note::DirectoriesRemoved { directories: apps.len(), unwritten_for: WEEK });
    let remove = apps.iter().map(|app| Effect::RemoveDirectory { app: AppId::new(*app) });
    std::iter::once(noted).chain(remove).collect()
}

#[test]
fn old_directories_are_looked_for_again_and_again_and_removed() {
    let mut bench = cleaning();
    let start = bench.now;
    for round in 1..4 {
        let looked = look(&mut bench);
        assert_eq!(looked, [find(&bench, &[])]);
        assert_eq!(bench.now.since(start), HALF_AN_HOUR * round);
        assert_eq!(bench.apply(found(&["app-7", "app-8"])), removed(&["app-7", "app-8"]));
    }
    look(&mut bench);
    assert_eq!(bench.apply(found(&[])), []);
}

#[test]
fn a_living_application_is_neither_looked_at_nor_removed() {
    let mut bench = cleaning();
    bench.master(1, launch(0));
    let looked = look(&mut bench);
    assert_eq!(looked, [find(&bench, &["app-1"])]);
    let late = ExecutorKey { app: AppId::new("app-2"), executor: ExecutorId(0) };
    bench.master(1, MasterToWorker::LaunchExecutor(launch_of(late)));
    let effects = bench.apply(found(&["app-1", "app-2", "app-3"]));
    assert_eq!(effects, removed(&["app-3"]), "app-2 was launched while the shell looked");
    bench.apply(Event::RunnerExited { executor: key(0), status: ExitStatus::SUCCESS });
    look(&mut bench);
    assert_eq!(bench.apply(found(&["app-1", "app-2"])), removed(&["app-1"]));
}

#[test]
fn an_application_of_which_files_are_kept_for_its_next_executor_is_not_removed() {
    let mut bench = cleaning();
    let file =
        FileDescription { name: "tool".into(), kind: FileKind::Plain, length: 1, sha256: Sha256([1; 32]) };
    let files =
        Some(ApplicationFiles { source: Address::new("driver", 7100), files: vec![file], secret: None });
    bench.master(1, MasterToWorker::LaunchExecutor(launch_with_files(key(0), files)));
    bench.apply(Event::FilesFetched { app: AppId::new("app-1"), fetch: FetchId(1) });
    bench.apply(Event::RunnerExited { executor: key(0), status: ExitStatus::SUCCESS });
    assert!(bench.worker.view().executors.is_empty());
    let looked = look(&mut bench);
    assert_eq!(looked, [find(&bench, &["app-1"])]);
    assert_eq!(bench.apply(found(&["app-1"])), []);
}

#[test]
fn the_oldest_directories_beyond_the_limits_are_removed_and_never_that_of_a_living_executor() {
    let mut bench = cleaning();
    let left = |executor, bytes| Event::DirectoryLeft { executor: key(executor), bytes };
    let surplus = |executors: &[u32]| {
        let executors: Vec<ExecutorKey> = executors.iter().map(|executor| key(*executor)).collect();
        [
            note(Note::SurplusRemoved { executors: executors.len() }),
            Effect::RemoveExecutorDirectories { executors },
        ]
    };
    let earlier = |executor, millis| EarlierDirectory {
        executor: key(executor),
        last_written: Timestamp::from_millis(millis),
        bytes: 1,
    };
    for executor in 0..3 {
        bench.master(1, launch(executor));
    }
    // Executor 2 is live, so its directory stays even if it is found.
    let found = Event::EarlierFound { directories: vec![earlier(8, 2), earlier(9, 1), earlier(2, 0)] };
    assert_eq!(bench.apply(found), []);
    assert_eq!(bench.apply(left(1, 5)), [], "it lives");
    for executor in 0..2 {
        bench.apply(Event::RunnerExited { executor: key(executor), status: ExitStatus::SUCCESS });
    }
    assert_eq!(bench.apply(left(1, 5)), []);
    assert_eq!(bench.apply(left(0, 5)), surplus(&[9]));
    // A directory that is in use is no longer old.
    bench.master(1, launch(8));
    bench.apply(Event::RunnerExited { executor: key(2), status: ExitStatus::SUCCESS });
    assert_eq!(bench.apply(left(2, 1_000)), surplus(&[1, 0]));
}

#[test]
fn there_is_one_look_at_a_time() {
    let mut bench = cleaning();
    look(&mut bench);
    bench.now = bench.now + HALF_AN_HOUR * 10;
    let again = bench.apply(Event::Deadline);
    assert!(!again.iter().any(|effect| matches!(effect, Effect::FindStale { .. })), "{again:?}");
    bench.apply(found(&[]));
    assert_eq!(bench.apply(found(&["app-9"])), [], "an answer without a question");
    look(&mut bench);
}

#[test]
fn a_worker_that_ends_or_is_not_to_clean_does_not() {
    let mut bench = cleaning();
    bench.master(1, launch(0));
    bench.apply(Event::RunnerStarted { executor: key(0), pid: 70 });
    bench.apply(Event::Shutdown);
    bench.now = bench.now + HALF_AN_HOUR;
    let effects = bench.apply(Event::Deadline);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::FindStale { .. })), "{effects:?}");

    let mut bench = Bench::registered();
    for _ in 0..1_000 {
        assert_eq!(bench.deadline().0, Reason::Heartbeat);
    }
    assert_eq!(bench.apply(found(&["app-9"])), []);
}
