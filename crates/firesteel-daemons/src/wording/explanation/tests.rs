//! Tests of the sentences, with applications as a Master reports them.

use firesteel_master::{Config, Effect, Event, Inbound, Master, Outbound};
use firesteel_placement::{MiB, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::machine::Machine;
use firesteel_protocol::messages::*;
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::scheduling::run_time::RUN_TIME;

use super::*;

mod reasons;

/// A Master together with its current time.
struct Stage {
    master: Master,
    now: Timestamp,
}

impl Stage {
    fn of(workers: &[(i64, i64)]) -> Self {
        let now = Timestamp::from_millis(1_795_209_755_000);
        let mut stage = Self { master: Master::new(Config::default()), now };
        for (number, (cores, memory)) in (1..).zip(workers) {
            let worker = WorkerDescription::new(
                WorkerId::new(format!("w{number}")),
                Address::new(format!("h{number}"), 7078),
                Offered { cores: Cores(*cores), memory: MiB(*memory), resources: Resources::default() },
                "/var/spark",
            );
            let message = WorkerToMaster::register(worker, Vec::new());
            stage.tell(number, Inbound::Worker(message));
        }
        stage
    }

    fn tell(&mut self, peer: u64, message: Inbound) -> Vec<Effect> {
        self.master.apply(self.now, Event::Received { peer: PeerId(peer), arrived: self.now, message })
    }

    /// Registers an application with this name on this connection.
    fn application(
        &mut self,
        peer: u64,
        name: &str,
        most: Option<i64>,
        each: i64,
        memory: i64,
        limit: ExecutorLimit,
    ) {
        let description = ApplicationDescription::new(
            Submitter::new(name.to_owned(), "ann"),
            WantedExecutors {
                profile: ResourceProfile {
                    cores: Some(Cores(each)),
                    memory: Some(MiB(memory)),
                    ..ResourceProfile::default()
                },
                max_cores: most.map(Cores),
                limit,
                ..WantedExecutors::default()
            },
            Placing::default(),
            Work::of(Command::of("")),
        );
        self.register(peer, description);
    }

    fn register(&mut self, peer: u64, description: ApplicationDescription) {
        self.tell(peer, Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(description))));
    }

    /// The applications for which free resources are reserved.
    fn reserved(&self) -> Vec<ReservedRoom> {
        self.master.view().reserved
    }

    fn detail(&mut self, app: &str) -> ApplicationDetail {
        let question =
            ClientToMaster::RequestApplication { app: app.to_owned(), executors_from: ExecutorId(0) };
        let effects = self.tell(999, Inbound::Client(question));
        match effects.into_iter().next() {
            Some(Effect::Send {
                message:
                    Outbound::Client(MasterToClient::ApplicationResponse(ApplicationAnswer::Known(detail))),
                ..
            }) => *detail,
            other => panic!("{other:?}"),
        }
    }

    /// The sentences without the first one, which contains the id.
    fn explained(&mut self, app: &str) -> Vec<String> {
        sentences(&self.detail(app)).into_iter().skip(1).collect()
    }
}

const ANY: ExecutorLimit = ExecutorLimit::Unlimited;

#[test]
fn an_application_that_has_everything_says_so() {
    let mut stage = Stage::of(&[(8, 8192)]);
    stage.application(100, "sums", Some(8), 4, 1024, ANY);
    assert_eq!(
        stage.explained("sums"),
        [
            "It has 2 executors with 8 cores in all; its maximum is 8 cores.",
            "It wants any number of executors of 4 cores and 1 GiB of memory; it has 2.",
            "  It has all that it asked for.",
        ]
    );
}

#[test]
fn a_gang_for_which_room_is_reserved_knows_when_it_is_expected_to_start() {
    let described = |name: &str, cores, gang, runs: Option<&str>| {
        let profile = ResourceProfile { cores: Some(Cores(cores)), ..ResourceProfile::default() };
        let wanted = WantedExecutors { profile, ..WantedExecutors::default() };
        let mut command = Command::of("");
        let variable = runs.map(|seconds| (RUN_TIME.to_owned(), seconds.to_owned()));
        command.environment.extend(variable);
        let submitter = Submitter::new(name.to_owned(), "ann");
        let work = Work::of(command);
        let mut description = ApplicationDescription::new(submitter, wanted, Placing::default(), work);
        description.gang = gang;
        description
    };
    for (runs, expected) in [(None, None), (Some("600"), Some("in 10 m 0 s"))] {
        let mut stage = Stage::of(&[(4, 8192), (4, 8192)]);
        assert_eq!(stage.reserved(), []);
        stage.register(100, described("first", 3, 0, runs));
        stage.register(101, described("ring", 4, 2, None));
        let (first, ring) = (stage.detail("first"), stage.detail("ring"));
        let rooms = stage.reserved();
        let [room] = &rooms[..] else { panic!("{rooms:?}") };
        assert_eq!((&room.app, room.executors, room.workers), (&ring.application.id, 2, 2));
        let sentence = expected_start(&ring);
        let words = |when| {
            format!(
                "It is expected to start {when}: enough of what runs says that it will have ended by then."
            )
        };
        assert_eq!(sentence, expected.map(words));
        assert_eq!(expected_start(&first), None, "it is reserved for the other one");
    }
}

#[test]
fn one_that_waits_behind_others_names_them_and_what_would_help() {
    let mut stage = Stage::of(&[(8, 8192), (8, 8192)]);
    stage.application(100, "first", Some(12), 6, 1024, ANY);
    stage.application(101, "sums", None, 4, 1024, ANY);
    assert_eq!(
        stage.explained("sums"),
        [
            "It has no executor; it has no maximum of cores.",
            "It wants any number of executors of 4 cores and 1 GiB of memory; it has 0.",
            "  No executor could be placed: 2 Workers have 2 cores free, and an executor needs 4 cores.",
            "  An executor would fit on 2 of 2 Workers if nothing else ran there.",
            "  The next executor would fit with 2 more cores free on w1, or with --executor-cores 2.",
            "  With --executor-cores 2, 2 executors with 4 cores in all would be placed at once.",
            "The cluster has 2 Workers with 16 cores and 16 GiB of memory, of which 4 cores and 14 GiB are free.",
            "Other applications hold cores: app-20261120212235-0000 (first) has 12 cores in 2 executors.",
        ]
    );
}

#[test]
fn late_workers_are_named_to_those_that_run_there_or_lack_room() {
    let mut stage = Stage::of(&[(4, 8192), (2, 8192)]);
    stage.application(100, "first", Some(4), 4, 1024, ANY);
    stage.application(101, "sums", Some(4), 4, 1024, ANY);
    stage.application(102, "small", Some(1), 1, 1024, ANY);
    let late = |stage: &mut Stage, app| late_workers(&stage.detail(app));
    assert_eq!(late(&mut stage, "first"), None);
    stage.now = stage.now + Duration::from_millis(33_750);
    stage.master.apply(stage.now, Event::Deadline { heard_until: stage.now });
    let heard = WorkerToMaster::Heartbeat { worker: WorkerId::new("w2"), last_order: None };
    stage.tell(2, Inbound::Worker(heard));
    let told = |whom: &str| Some(format!("Late, and lost if silent for spark.worker.timeout: {whom}."));
    assert_eq!(late(&mut stage, "first"), told("w1 with 1 of its executors"));
    assert_eq!(late(&mut stage, "sums"), told("w1"), "it waits for room there");
    assert_eq!(late(&mut stage, "small"), None, "it has all, elsewhere");
}

#[test]
fn a_bound_of_its_own_is_named_with_what_raising_it_would_bring() {
    let mut stage = Stage::of(&[(16, 8192)]);
    stage.application(100, "limit", Some(16), 4, 1024, ExecutorLimit::AtMost(1));
    let explained = stage.explained("limit");
    assert_eq!(
        explained[2..],
        [
            "  3 of 4 executors are missing: the limit of 1 executor is reached.",
            "  The driver set this target, from the requested number of executors or by dynamic allocation.",
            "  The next executor would fit with --num-executors 2 (or spark.dynamicAllocation.maxExecutors=2, or request 2 in \
             its shell).",
            "  With --num-executors 4 (or spark.dynamicAllocation.maxExecutors=4, or request 4 in its shell), 3 more executors with 12 cores in all would be placed at once.",
        ]
    );
    let mut stage = Stage::of(&[(16, 8192)]);
    stage.application(100, "most", Some(6), 4, 1024, ANY);
    let explained = stage.explained("most");
    assert!(explained[2].contains("2 are left of the application's maximum"), "{explained:#?}");
    assert!(
        explained.contains(
            &"  With --total-executor-cores 16, 3 more executors with 12 cores in all would be placed at once."
                .to_owned()
        ),
        "{explained:#?}"
    );
}

#[test]
fn workers_that_are_too_small_are_told_with_what_fits() {
    let mut stage = Stage::of(&[(4, 2048), (4, 2048)]);
    stage.application(100, "large", Some(8), 4, 4096, ANY);
    let explained = stage.explained("large");
    assert!(explained[2].contains("no Worker has 4 GiB of memory: the largest has 2 GiB"), "{explained:#?}");
    assert_eq!(
        explained[3..6],
        [
            "  It can never fit on this cluster, not even with nothing else on it.",
            "  The next executor would fit with --executor-memory 2g.",
            "  With --executor-memory 2048m, 2 executors with 8 cores in all would be placed at once.",
        ]
    );
}

#[test]
fn workers_that_lack_different_things_are_counted_for_each() {
    let mut stage = Stage::of(&[(8, 8192), (8, 8192), (8, 8192)]);
    stage.application(100, "wide", Some(7), 7, 1024, ANY);
    stage.application(101, "heavy", Some(3), 1, 7680, ExecutorLimit::AtMost(2));
    stage.application(102, "sums", Some(8), 4, 4096, ANY);
    let explained = stage.explained("sums");
    assert_eq!(
        explained[4..6],
        [
            "  1 Worker lacks 3 cores, 2 lack 3.5 GiB of memory.",
            "  The next executor would fit with 3 more cores free on w3, with --executor-cores 1, or with --executor-memory \
             512m.",
        ]
    );
}

#[test]
fn a_wait_after_failures_is_told_with_its_end() {
    let mut stage = Stage::of(&[(4, 2048)]);
    stage.application(100, "crashes", Some(4), 4, 1024, ANY);
    let app = stage.detail("crashes").application.id;
    for number in 0..2 {
        let executor = ExecutorKey { app: app.clone(), executor: ExecutorId(number) };
        for state in [ExecutorState::Running, ExecutorState::Exited(ExitStatus::Code(3))] {
            let report = ExecutorReport::new(executor.clone(), state);
            stage.tell(1, Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)));
        }
    }
    let explained = stage.explained("crashes");
    let wait =
        "After 2 failed executors in a row it is given no new one before 2026-11-20T21:22:35.100Z, in 100 ms";
    assert!(explained[1].starts_with(wait), "{explained:#?}");
}

#[test]
fn an_excluded_worker_is_named_with_the_reason() {
    let mut stage = Stage::of(&[(4, 8192), (2, 8192)]);
    stage.application(100, "sums", Some(6), 1, 1024, ANY);
    let app = stage.detail("sums").application;
    for executor in app.executors.iter().filter(|executor| executor.worker.as_str() == "w1") {
        let executor = ExecutorKey { app: app.id.clone(), executor: executor.id };
        let report = ExecutorReport::new(executor, ExecutorState::Exited(ExitStatus::Code(3)));
        stage.tell(1, Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)));
    }
    assert_eq!(
        stage.explained("sums"),
        [
            "It has 2 executors with 2 cores in all; its maximum is 6 cores.",
            "Excluded for it: w1 for 1.0 s: executors fail there.",
            "It wants any number of executors of 1 core and 1 GiB of memory; it has 2.",
            "  4 of 6 executors are missing: 1 Worker has room, but is excluded for a while \
             because executors end too early there.",
        ]
    );
}

#[test]
fn one_that_is_over_tells_how_and_where_the_failed_wrote() {
    let mut stage = Stage::of(&[(4, 2048)]);
    stage.application(100, "sums", Some(4), 4, 1024, ANY);
    let app = stage.detail("sums").application.id;
    let executor = ExecutorKey { app: app.clone(), executor: ExecutorId(0) };
    let report = ExecutorReport::new(executor, ExecutorState::Exited(ExitStatus::Code(3)));
    stage.tell(1, Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)));
    stage.now = stage.now + std::time::Duration::from_secs(192);
    stage.master.apply(stage.now, Event::Disconnected { peer: PeerId(100) });
    assert_eq!(
        sentences(&stage.detail(app.as_str())),
        [
            format!("{app} (sums) ended 0 ms ago after 3 m 12 s, FAILED: its driver's connection ended."),
            "It had 2 executors: 1 EXITED (exit code 3) and 1 KILLED.".to_owned(),
            format!(
                "firesteel logs {app} 0 --stderr shows what the last failed one wrote, on h1 in /var/spark/{app}/0."
            ),
        ]
    );
}
