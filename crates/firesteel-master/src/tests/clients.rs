//! The answers to status clients.

use firesteel_placement::explain::advice::{Advice, Change};
use firesteel_placement::explain::shortfall::{MAX_GROUPS, Missing, Reason};
use firesteel_protocol::messages::{ClusterTotals, ClusterView, PageSize};
use firesteel_protocol::state_reader::{Extent, StateReader};

use super::*;

const CLIENT: PeerId = PeerId(200);

impl Bench {
    pub(super) fn client_says(&mut self, message: ClientToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer: CLIENT, arrived: self.now, message: Inbound::Client(message) })
    }

    fn kill_application(&mut self, which: &str) -> Vec<Effect> {
        self.client_says(ClientToMaster::KillApplication { app: which.to_owned(), by: admin("ann") })
    }

    fn answer(&mut self, which: &str, from: u32) -> ApplicationAnswer {
        let executors_from = ExecutorId(from);
        let question = ClientToMaster::RequestApplication { app: which.to_owned(), executors_from };
        match self.client_says(question).pop() {
            Some(Effect::Send {
                peer: CLIENT,
                message: Outbound::Client(MasterToClient::ApplicationResponse(answer)),
            }) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn detail(&mut self, which: &str) -> ApplicationDetail {
        match self.answer(which, 0) {
            ApplicationAnswer::Known(detail) => *detail,
            other => panic!("{which}: {other:?}"),
        }
    }

    /// Registers another application, with another driver.
    pub(super) fn other_application(&mut self, peer: u64, max_cores: i64, cores: i64) {
        let message =
            DriverToMaster::RegisterApplication(Box::new(description(Some(max_cores), Some(cores))));
        self.apply(Event::Received {
            peer: PeerId(peer),
            arrived: self.now,
            message: Inbound::Driver(message),
        });
    }
}

fn to_client(answer: KillAnswer) -> Effect {
    let message = Outbound::Client(MasterToClient::KillApplicationResponse(answer));
    Effect::Send { peer: CLIENT, message }
}

#[test]
fn workers_that_are_asked_to_leave_get_no_more_executors_and_are_told_each_time() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.application(Some(4), 4);
    let ask = |bench: &mut Bench, which: &str, within_millis| {
        let (which, by) = (which.to_owned(), admin("ann"));
        bench.client_says(ClientToMaster::DecommissionWorkers { which, within_millis, by })
    };
    let answer = |answer| Effect::Send {
        peer: CLIENT,
        message: Outbound::Client(MasterToClient::DecommissionWorkersResponse(answer)),
    };
    let order = |within_millis| to_worker(2, MasterToWorker::DecommissionWorker { within_millis });
    let told = answer(DecommissionAnswer::Leaving {
        workers: vec![LeavingWorker { id: WorkerId::new("w2"), executors: 1, drivers: 0, ends_itself: true }],
        more: 0,
    });
    let host = Some("host2".to_owned());
    let leaving = to_driver(MasterToDriver::ExecutorLeaving { executor: ExecutorId(0), host });
    assert_eq!(ask(&mut bench, "w2", None), [leaving, order(None), told.clone()]);
    assert_eq!(ask(&mut bench, "host2", Some(9)), [order(Some(9)), told], "by its host, and with a time");
    assert_eq!(ask(&mut bench, "nobody", None), [answer(DecommissionAnswer::Unknown)]);
    let states: Vec<_> = bench.master.view().workers.iter().map(|worker| worker.state).collect();
    assert_eq!(states, [WorkerState::Alive, WorkerState::Decommissioned]);
}

#[test]
fn what_became_of_an_applications_work_is_listed_once_its_driver_says_so() {
    let failed = Some(Outcome::failed("3 of 10 items failed"));
    for (outcome, words) in [(failed, "finished; failed: 3 of 10 items failed"), (None, "finished")] {
        let mut bench = Bench::new(Config::default());
        bench.application(Some(8), 8);
        assert_eq!(bench.master.view().applications[0].outcome, None);
        bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: outcome.clone() });
        let view = bench.master.view();
        let row = &view.completed[0];
        assert_eq!((row.state, &row.end, &row.outcome), (ApplicationState::Finished, &None, &outcome));
        assert_eq!(ApplicationEnd::Finished { outcome }.to_string(), words);
    }
}

#[test]
fn a_killed_applications_executors_are_ended_and_its_driver_is_told_by_whom() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 4);
    let expected = [
        kill(1, 0),
        kill(1, 1),
        to_worker(1, MasterToWorker::ApplicationFinished { app: app() }),
        to_driver(MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed { by: "ann".to_owned() })),
        to_client(KillAnswer::Killed { app: app(), executors: 2, cores: Cores(8) }),
    ];
    assert_eq!(bench.kill_application(app().as_str()), expected);
    let view = bench.master.view();
    assert_eq!(view.completed[0].state, ApplicationState::Killed);
    assert_eq!(view.completed[0].end.as_deref(), Some("it was killed by ann"));
    assert_eq!(view.workers[0].cores_used, Cores(0));
}

#[test]
fn an_application_cannot_be_killed_twice_nor_one_that_is_not_known() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    assert_eq!(bench.kill_application("nobody"), [to_client(KillAnswer::Unknown)]);
    bench.kill_application(app().as_str());
    let over = KillAnswer::Over { app: app(), state: ApplicationState::Killed, outcome: None, ended: T0 };
    assert_eq!(bench.kill_application(app().as_str()), [to_client(over)]);
    // Later messages of the application's driver change nothing.
    assert_eq!(bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None }), []);
    assert_eq!(bench.master.view().completed.len(), 1);
}

#[test]
fn whoever_killed_an_application_has_a_short_plain_name() {
    let mut bench = Bench::new(Config::default());
    bench.application(None, 1);
    let by = format!("\u{1b}[2J{}", "x".repeat(10_000));
    bench.client_says(ClientToMaster::KillApplication { app: app().to_string(), by: admin(&by) });
    let end = bench.master.view().completed[0].end.clone().expect("it says why");
    assert!(end.len() < 300 && !end.contains('\u{1b}'), "{end:?}");
}

#[test]
fn a_name_means_the_one_live_application_that_has_it_or_the_latest_that_ended() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.answer("test", 0), ApplicationAnswer::Unknown);
    bench.application(None, 1);
    assert_eq!(bench.detail("test").application.id, app());
    bench.other_application(101, 4, 1);
    let both = vec![app(), AppId::new("app-20261120212235-0001")];
    assert_eq!(bench.answer("test", 0), ApplicationAnswer::Ambiguous { apps: both.clone() });
    assert_eq!(bench.kill_application("test"), [to_client(KillAnswer::Ambiguous { apps: both })]);
    bench.kill_application(app().as_str());
    let other = AppId::new("app-20261120212235-0001");
    assert_eq!(bench.detail("test").application.id, other);
    assert_eq!(bench.detail(app().as_str()).scheduling, None);
    // If no application with this name is live any more, the name means the latest ended one.
    bench.kill_application("test");
    assert_eq!(bench.detail("test").application.id, other);
    let over = KillAnswer::Over { app: other, state: ApplicationState::Killed, outcome: None, ended: T0 };
    assert_eq!(bench.kill_application("test"), [to_client(over)]);
}

#[test]
fn a_live_application_is_told_with_what_it_lacks_and_who_holds_it() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.other_application(101, 10, 5);
    bench.application(Some(16), 6);
    let id = "app-20261120212235-0001";
    let SchedulingStatus { profiles, ahead, cluster, holders, more_holders, .. } =
        bench.detail(id).scheduling.expect("it is live");
    let [profile] = &profiles[..] else { panic!("{profiles:?}") };
    assert_eq!((profile.held, profile.large_enough, profile.with_room), (0, 2, 0));
    let shortfall = profile.shortfall.as_ref().expect("it has nothing");
    assert_eq!(shortfall.missing, Missing::Executors { missing: 2, of: 2 });
    assert!(matches!(shortfall.reason, Reason::Held { .. }), "{shortfall:?}");
    let three = Advice { change: Change::ExecutorCores(Cores(3)), executors: 2, cores: Cores(6) };
    assert_eq!(profile.advice, [three]);
    assert_eq!((ahead, more_holders), (0, 0), "the other has all that it may");
    assert_eq!((cluster.workers, cluster.cores, cluster.cores_free), (2, Cores(16), Cores(6)));
    let other = Holder { app: app(), name: "test".to_owned(), cores: Cores(10), executors: 2 };
    assert_eq!(holders, [other]);
}

#[test]
fn an_application_that_waits_after_failures_says_until_when() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for executor in 0..2 {
        bench.report(1, executor, ExecutorState::Running);
        bench.report(1, executor, CRASH);
    }
    let scheduling = bench.detail("test").scheduling.expect("it is live");
    assert_eq!(scheduling.failures, 2);
    assert_eq!(scheduling.relaunch_at, Some(T0 + Duration::from_millis(100)));
}

#[test]
fn executors_are_told_with_their_times_and_places() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    bench.now = T0 + Duration::from_secs(1);
    bench.report(1, 0, ExecutorState::Running);
    bench.now = T0 + Duration::from_secs(5);
    bench.report(1, 0, CRASH);
    let executors = bench.detail("test").application.executors;
    let [ended, next] = &executors[..] else { panic!("{executors:?}") };
    assert_eq!((ended.launched, ended.started), (T0, Some(T0 + Duration::from_secs(1))));
    assert_eq!((ended.ended, &ended.state), (Some(bench.now), &CRASH));
    let directory = format!("/var/spark/{}/0", app());
    assert_eq!((ended.host.as_str(), ended.port, &ended.directory), ("host1", 7078, &directory));
    assert_eq!((next.launched, next.started, next.ended), (bench.now, None, None));
}

#[test]
fn how_a_killed_executor_really_ended_is_learned_afterwards() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    let state = |bench: &mut Bench| bench.detail(app().as_str()).application.executors[0].state.clone();
    assert_eq!(state(&mut bench), ExecutorState::Killed(None));
    let done = ExecutorState::Killed(Some(ExitStatus::SUCCESS));
    assert!(bench.report(1, 0, ExecutorState::Exited(ExitStatus::SUCCESS)).contains(&noted(1, 0)));
    assert_eq!(state(&mut bench), done);
    bench.report(1, 0, CRASH);
    assert_eq!(state(&mut bench), done, "once it is known it stays");
}

#[test]
fn executors_that_are_remembered_no_longer_are_counted() {
    let config = Config { retries: Retries::Unlimited, exclusion: Exclusion::Off, ..Config::default() };
    let mut bench = Bench::new(config);
    bench.worker(1, 8);
    bench.application(Some(8), 8);
    for executor in 0..1_010 {
        bench.report(1, executor, ExecutorState::Exited(ExitStatus::SUCCESS));
    }
    let app = bench.detail("test").application;
    assert_eq!((app.executors_live, app.executors_ended, app.executors_forgotten), (1, 1_010, 10));
    let executors = &bench.master.view().applications[0].executors;
    assert_eq!((executors.len(), executors[0].id), (1_001, ExecutorId(10)));
}

/// The application has more executors than fit in one frame.
#[test]
fn answers_come_in_short_pages_and_are_whole_however_large_the_cluster() {
    let mut bench = Bench::new(Config::default());
    for n in 0..4 {
        let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } =
            register(n, 30_000, Vec::new())
        else {
            unreachable!("it is a registration");
        };
        worker.memory = MiB(1 << 30);
        worker.work_dir = format!("/{}", "long/".repeat(40));
        bench.worker_says(n, WorkerToMaster::RegisterWorker { worker, executors, drivers });
    }
    bench.application(Some(60_000), 1);
    let PageSize { rows, bytes } = PageSize::default();
    let mut reader = StateReader::new(Extent::Whole);
    while let Some(question) = reader.question() {
        let effects = bench.client_says(question);
        let [Effect::Send { message: Outbound::Client(MasterToClient::MasterStateResponse(page)), .. }] =
            &effects[..]
        else {
            panic!("{} effects", effects.len());
        };
        assert!(page.rows.len() <= rows && firesteel_protocol::wire::length(&page.rows) <= bytes + 2);
        reader.read(page.clone()).expect("it continues the pages before");
    }
    assert_eq!(reader.rows(), 4 + 1 + 60_000);
    let view = reader.finish().expect("there is no further question");
    let numbers = view.applications[0].executors.iter().map(|executor| executor.id.0);
    assert!(numbers.eq(0..60_000) && view.workers.len() == 4 && view.unread_executors == 0);

    let (mut from, mut seen) = (0, Vec::new());
    loop {
        let answer = bench.answer("test", from);
        let ApplicationAnswer::Known(detail) = answer else { panic!("it is known") };
        let executors = &detail.application.executors;
        assert!(executors.len() <= rows && firesteel_protocol::wire::length(executors) <= bytes + 2);
        assert_eq!(detail.scheduling.is_some(), from == 0, "only the first page says how it stands");
        seen.extend(detail.application.executors.iter().map(|executor| executor.id.0));
        match detail.next_executor {
            Some(next) => from = next.0,
            None => break,
        }
    }
    assert!(seen.into_iter().eq(0..60_000));
}

/// The application has the maximum number of profiles and resources, the cluster the maximum number of kinds of
/// Workers, and all names are the longest.
#[test]
fn an_explanation_fits_a_frame_and_gives_advice_for_the_first_profiles_only() {
    let mut bench = Bench::new(Config::default());
    let name = |number: usize| format!("{number:0>width$}", width = ResourceProfile::LONGEST_NAME);
    let names = || (0..ResourceProfile::MOST_RESOURCES).map(name);
    for n in 0..300 {
        let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(n, 8, Vec::new())
        else {
            unreachable!("it is a registration");
        };
        // The first Worker has all resources, the others lack one or several.
        let has = |(bit, _): &(usize, String)| n == 0 || n >> bit & 1 == 1;
        worker.resources = names().enumerate().filter(has).map(|(_, name)| (name, ["0"])).collect();
        bench.worker_says(n, WorkerToMaster::RegisterWorker { worker, executors, drivers });
    }
    bench.application(None, 8);
    let target = |id| {
        let resources = names().map(|name| (name, firesteel_placement::Amount::Whole(1))).collect();
        let profile = ResourceProfile { cores: Some(Cores(1)), resources, ..ResourceProfile::default() };
        ExecutorTarget { id: ProfileId(id), profile, total: 2 }
    };
    let none = ExecutorTarget { id: ProfileId::DEFAULT, profile: ResourceProfile::default(), total: 0 };
    let executors = (0..300).map(ExecutorId).collect();
    let targets = [none].into_iter().chain((1..64).map(target)).collect();
    bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets });
    bench.driver_says(DriverToMaster::KillExecutors { app: app(), executors });

    let answer = bench.answer("test", 0);
    firesteel_protocol::wire::encode(&answer, firesteel_protocol::wire::MAX_FRAME).expect("it fits a frame");
    let ApplicationAnswer::Known(detail) = answer else { panic!("it is known") };
    let profiles = detail.scheduling.expect("it is live").profiles;
    assert_eq!(profiles.len(), MOST_PROFILES);
    for profile in &profiles[1..] {
        let shortfall = profile.shortfall.as_ref().expect("there is one worker for all of them");
        let Reason::Busy { workers } = &shortfall.reason else { panic!("{shortfall:?}") };
        assert_eq!(workers.len(), MAX_GROUPS);
    }
    assert!(profiles[8..].iter().all(|profile| profile.advice.is_empty()));
    let effects = bench.driver_says(DriverToMaster::RequestShortfall { app: app() });
    let [Effect::Send { message: Outbound::Driver(answer), .. }] = &effects[..] else {
        panic!("{} effects", effects.len());
    };
    firesteel_protocol::wire::encode(answer, firesteel_protocol::wire::MAX_FRAME).expect("it fits a frame");
}

/// The reason for the shortfall that the driver receives.
pub(super) fn told_reason(bench: &mut Bench) -> Option<Reason> {
    let app = bench.master.applications.of_peer(DRIVER).expect("it registered").clone();
    match bench.driver_says(DriverToMaster::RequestShortfall { app }).pop() {
        Some(Effect::Send {
            message: Outbound::Driver(MasterToDriver::Shortfalls(mut shortfalls)), ..
        }) => shortfalls.pop().map(|(_, shortfall)| shortfall.reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_worker_whose_disk_is_full_is_told_as_that_and_not_as_excluded() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let full = |error: Option<&str>| WorkerToMaster::StartsChecked {
        worker: WorkerId::new("w1"),
        error: error.map(str::to_owned),
    };
    bench.worker_says(1, full(Some("No space left on device")));
    bench.application(Some(8), 8);
    let why = "cannot start executors: No space left on device".to_owned();
    assert_eq!(told_reason(&mut bench), Some(Reason::Impaired { workers: 1, why: why.clone() }));
    // A Worker that is too small, or has no free resources, changes nothing.
    bench.worker(2, 1);
    assert_eq!(told_reason(&mut bench), Some(Reason::Impaired { workers: 1, why }));
    bench.worker_says(1, full(None));
    assert_eq!(told_reason(&mut bench), None);
}

#[test]
fn who_waits_for_cores_is_told_who_holds_the_most_of_them() {
    let holder = |bench: &mut Bench| match told_reason(bench) {
        Some(Reason::Held { holder, others, .. }) => Some((holder.to_string(), others)),
        Some(Reason::Busy { .. }) => None,
        other => panic!("{other:?}"),
    };
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.application(Some(16), 16);
    assert!(matches!(told_reason(&mut bench), Some(Reason::TooSmall { .. })), "no holder stands in the way");

    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(16), 8);
    assert_eq!(holder(&mut bench), None, "it holds all itself");

    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    bench.other_application(101, 4, 4);
    bench.other_application(102, 8, 4);
    bench.application(Some(8), 8);
    let (second, told) = (bench.master.view().applications[1].id.clone(), "(test) holds 8 of the 16 cores");
    assert_eq!(holder(&mut bench), Some((format!("{second} {told}"), 1)));
    // The application's cores on Workers that leave do not count in the total.
    bench.worker_says(2, WorkerToMaster::WorkerDecommissioning { worker: WorkerId::new("w2") });
    let left =
        bench.master.view().applications[1].executors.iter().filter(|it| it.worker.as_str() == "w1").count();
    let told = format!("{second} (test) holds {} of the 8 cores", left * 4);
    assert_eq!(holder(&mut bench), Some((told, 1)));

    // Workers lack memory, not cores.
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 16);
    bench.other_application(101, 8, 1);
    bench.application(Some(1), 1);
    assert_eq!(holder(&mut bench), None);
}

#[test]
fn a_gang_does_not_hear_that_it_never_begins_while_a_worker_only_gets_nothing_for_now() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.worker(2, 8);
    let error = Some("No space left on device".to_owned());
    bench.worker_says(2, WorkerToMaster::StartsChecked { worker: WorkerId::new("w2"), error });
    let mut gang = description(None, Some(4));
    gang.gang = 3;
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(gang)));
    let told = told_reason(&mut bench);
    assert!(matches!(told, Some(Reason::Impaired { .. } | Reason::GangWaits { .. })), "{told:?}");
}

#[test]
fn the_advice_for_a_gang_that_can_never_begin_starts_it() {
    let gang = |cores| {
        let mut description = description(None, Some(cores));
        description.gang = 3;
        description
    };
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(gang(4))));
    let ApplicationAnswer::Known(detail) = bench.answer("test", 0) else { panic!("it is known") };
    let profile = detail.scheduling.expect("it is live").profiles.remove(0);
    assert_eq!(profile.outlook, None, "what helps one executor does not start three");
    let [Advice { change: Change::ExecutorCores(cores), executors, .. }] = profile.advice[..] else {
        panic!("{:?}", profile.advice)
    };
    assert!(executors >= 3);
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(gang(cores.0))));
    assert_eq!(bench.master.view().applications[0].executors_live, executors);
}

#[test]
fn the_driver_of_a_gang_hears_that_it_never_fits_or_for_how_many_there_is_room() {
    let reason = |bench: &mut Bench| {
        let question = DriverToMaster::RequestShortfall { app: app() };
        let answer = bench
            .apply(Event::Received { peer: DRIVER, arrived: bench.now, message: Inbound::Driver(question) })
            .pop();
        match answer {
            Some(Effect::Send {
                message: Outbound::Driver(MasterToDriver::Shortfalls(mut shortfalls)),
                ..
            }) => shortfalls.pop().map(|(_, shortfall)| shortfall.reason),
            other => panic!("{other:?}"),
        }
    };
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let mut gang = description(None, Some(4));
    gang.gang = 3;
    let message = DriverToMaster::RegisterApplication(Box::new(gang));
    bench.apply(Event::Received { peer: DRIVER, arrived: bench.now, message: Inbound::Driver(message) });
    assert_eq!(reason(&mut bench), Some(Reason::GangTooLarge { executors: 3, room: 2 }));
    // Another application holds half of the cluster.
    bench.other_application(101, 4, 4);
    bench.worker(2, 4);
    assert_eq!(reason(&mut bench), Some(Reason::GangWaits { executors: 3, room: 2 }));
}

#[test]
fn the_sums_in_an_explanation_are_those_of_the_state_that_every_view_shows() {
    let mut bench = Bench::new(Config::default());
    for (worker, cores) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        bench.worker(worker, cores);
    }
    bench.application(Some(1), 1);
    let full = Some("No space left on device".to_owned());
    bench.worker_says(2, WorkerToMaster::StartsChecked { worker: WorkerId::new("w2"), error: full });
    bench.worker_says(3, WorkerToMaster::WorkerDecommissioning { worker: WorkerId::new("w3") });
    let view = bench.master.view();
    let totals = ClusterTotals::of(&view);
    let ApplicationAnswer::Known(detail) = bench.answer("test", 0) else { panic!("it is known") };
    let cluster = detail.scheduling.expect("it is live").cluster;
    let ClusterView { workers, cores, cores_free, memory, memory_free } = cluster;
    let sums = (totals.workers, totals.cores, totals.cores_free, totals.memory, totals.memory_free);
    assert_eq!((workers, cores, cores_free, memory, memory_free), sums);
    assert_eq!((workers, cores, totals.cores_used, cores_free), (3, Cores(11), Cores(1), Cores(8)));
}
