//! What each user may have at the same time, and whose logs he may read.

use super::audit::submission;
use super::*;
use crate::PerUser;

fn limited(per_user: PerUser) -> Bench {
    let limits = Limits { per_user, ..Limits::default() };
    Bench::new(Config { limits, ..Config::default() })
}

/// An application of this user with executors of one core and 1 GiB, which registers on a connection of its own.
fn register_of(bench: &mut Bench, peer: u64, user: &str, gang: u64) -> Option<ApplicationEnd> {
    let mut application = description(None, Some(1));
    user.clone_into(&mut application.user);
    application.gang = gang;
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(application)));
    let effects = bench.apply(Event::Received { peer: PeerId(peer), arrived: bench.now, message });
    effects.into_iter().find_map(|effect| match effect {
        Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. } => Some(end),
        _ => None,
    })
}

/// The cores of each live application, in the order of registration.
fn cores(bench: &Bench) -> Vec<i64> {
    let of = |application: &ApplicationView| {
        let live = application.executors.iter().filter(|executor| !executor.state.is_finished());
        live.map(|executor| executor.cores.0).sum::<i64>()
    };
    bench.master.view().applications.iter().filter(|app| app.ended.is_none()).map(of).collect()
}

fn refused(end: Option<ApplicationEnd>) -> Option<String> {
    end.map(|end| match end {
        ApplicationEnd::Refused { reason } => reason,
        other => panic!("{other:?}"),
    })
}

fn submit(bench: &mut Bench, user: &str, cores: i64) -> SubmitDriverAnswer {
    match bench.client(submission(user, cores)).1 {
        MasterToClient::SubmitDriverResponse(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_applications_of_a_user_share_what_each_user_may_have() {
    let none = PerUser::default();
    for per_user in [
        PerUser { cores: Cores(6), ..none },
        PerUser { memory: MiB(6 << 10), ..none },
        PerUser { executors: 6, ..none },
    ] {
        let mut bench = limited(per_user);
        bench.worker(1, 8);
        bench.worker(2, 8);
        for (peer, user) in [(100, "ann"), (101, "ann"), (102, "bob")] {
            assert_eq!(register_of(&mut bench, peer, user, 0), None);
        }
        assert_eq!(cores(&bench), [6, 0, 6], "{per_user:?}");
        // What an application gives back is for the next one of its user.
        let end = DriverToMaster::UnregisterApplication { app: app(), outcome: None };
        bench.apply(Event::Received { peer: PeerId(100), arrived: bench.now, message: Inbound::Driver(end) });
        assert_eq!(cores(&bench), [6, 6], "{per_user:?}");
    }
}

#[test]
fn who_waits_for_his_own_limit_is_told_which() {
    let mut bench = limited(PerUser { cores: Cores(2), ..PerUser::default() });
    bench.worker(1, 8);
    register_of(&mut bench, 100, "ann", 0);
    register_of(&mut bench, 101, "ann", 0);
    let waiting = bench.master.view().applications[1].id.clone();
    let asked = DriverToMaster::RequestShortfall { app: waiting };
    let effects = bench.apply(Event::Received {
        peer: PeerId(101),
        arrived: bench.now,
        message: Inbound::Driver(asked),
    });
    let [Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(all)), .. }] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    let words = all[0].1.to_string();
    assert!(words.ends_with("each user may have 2 cores (firesteel.user.maxCores) at most"), "{words}");
}

#[test]
fn a_gang_is_refused_where_users_are_limited() {
    let mut bench = limited(PerUser { cores: Cores(4), ..PerUser::default() });
    bench.worker(1, 8);
    let why = refused(register_of(&mut bench, 100, "ann", 2)).expect("it is a gang");
    assert!(why.contains("firesteel.user.maxCores"), "{why}");
    let mut bench = limited(PerUser { applications: 4, ..PerUser::default() });
    let mut gang = description(Some(4), Some(1));
    gang.gang = 2;
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(gang)));
    let effects = bench.apply(Event::Received { peer: DRIVER, arrived: bench.now, message });
    assert_eq!(effects[0], confirmation(Cores(4)));
}

#[test]
fn cluster_drivers_count_and_wait_for_the_limit() {
    let mut bench = limited(PerUser { cores: Cores(3), ..PerUser::default() });
    bench.worker(1, 8);
    for _ in 0..2 {
        assert!(matches!(submit(&mut bench, "ann", 2), SubmitDriverAnswer::Submitted { .. }));
    }
    assert!(matches!(submit(&mut bench, "bob", 2), SubmitDriverAnswer::Submitted { .. }));
    let waits: Vec<_> = bench.master.view().drivers.into_iter().map(|driver| driver.wait).collect();
    let limit = "3 cores (firesteel.user.maxCores)".to_owned();
    assert_eq!(waits, [None, Some(DriverWait::UserLimit { limit }), None]);
    register_of(&mut bench, 100, "ann", 0);
    assert_eq!(cores(&bench), [1], "one core is left to her application");
    // The driver that ends makes room for the one that waits.
    let first = bench.master.view().drivers[0].id.clone();
    let report = DriverReport::new(first, DriverState::Finished);
    bench.worker_says(1, WorkerToMaster::DriverStateChanged(report));
    let states: Vec<_> = bench.master.view().drivers.into_iter().map(|driver| driver.state).collect();
    assert_eq!(states.iter().filter(|state| **state == DriverState::Running).count(), 2, "{states:?}");
}

#[test]
fn who_has_or_submits_too_much_is_refused_with_the_setting() {
    let mut bench = limited(PerUser { applications: 2, ..PerUser::default() });
    bench.worker(1, 8);
    assert_eq!(register_of(&mut bench, 100, "ann", 0), None);
    assert!(matches!(submit(&mut bench, "ann", 1), SubmitDriverAnswer::Submitted { .. }));
    let why = refused(register_of(&mut bench, 101, "ann", 0)).expect("it is the third");
    assert!(why.contains("firesteel.user.maxApplications"), "{why}");
    assert!(matches!(submit(&mut bench, "ann", 1), SubmitDriverAnswer::Refused(_)));
    assert_eq!(register_of(&mut bench, 102, "bob", 0), None);

    let mut bench = limited(PerUser { submissions: 1, ..PerUser::default() });
    assert_eq!(register_of(&mut bench, 100, "ann", 0), None);
    let why = refused(register_of(&mut bench, 101, "ann", 0)).expect("it is the second");
    assert!(why.contains("firesteel.user.maxSubmissions"), "{why}");
    assert_eq!(register_of(&mut bench, 102, "bob", 0), None);
    bench.now = bench.now + Duration::from_secs(1);
    assert_eq!(register_of(&mut bench, 103, "ann", 0), None);
}

/// The answer to a client who asks for a log. `None`: it is read first.
fn log(bench: &mut Bench, peer: u64, author: LogAuthor, by: &Requester) -> Option<MasterToClient> {
    let range = LogRange { author, stream: Stream::Stderr, from: LogStart::Offset(7) };
    let message = Inbound::Client(ClientToMaster::RequestLog { range, by: by.clone() });
    let effects = bench.apply(Event::Received { peer: PeerId(peer), arrived: bench.now, message });
    answer_to(peer, effects)
}

fn answer_to(peer: u64, effects: Vec<Effect>) -> Option<MasterToClient> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Send { peer: to, message: Outbound::Client(answer) } if to == PeerId(peer) => Some(answer),
        _ => None,
    })
}

#[test]
fn a_log_is_read_for_its_owner_and_for_those_who_may_read_all() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(4), 4);
    bench.client_says(submission("me", 1));
    let driver = LogAuthor::Driver(DriverId::new("driver-20261120212235-0000"));
    let mut peer = 300;
    for author in [LogAuthor::Executor(key(0)), driver] {
        let hidden = format!("{author} belongs to me, and bob may not read its logs");
        for (name, rights, may) in [
            ("me@host", Rights::None, false),
            ("me@host", Rights::Own, true),
            ("bob@host", Rights::Own, false),
            ("bob@host", Rights::View, true),
            ("bob@host", Rights::Modify, true),
            ("bob@host", Rights::Admin, true),
        ] {
            peer += 1;
            let by = Requester::new(name, rights);
            match log(&mut bench, peer, author.clone(), &by) {
                None => assert!(may, "{by} with {rights} read {author}"),
                Some(MasterToClient::RequestForbidden { why }) => {
                    assert!(!may && (why == hidden || name == "me@host"), "{by} with {rights}: {why}");
                }
                Some(other) => panic!("{other:?}"),
            }
        }
    }
    bench.apply(Event::Disconnected { peer: DRIVER });
    let ended = log(&mut bench, 400, LogAuthor::Executor(key(0)), &Requester::new("bob", Rights::Own));
    assert!(matches!(ended, Some(MasterToClient::RequestForbidden { .. })), "it stays hidden: {ended:?}");
}

#[test]
fn a_log_is_looked_for_where_it_was_written_and_each_client_waits_for_one() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 4);
    bench.application(Some(4), 4);
    let (by, author) = (admin("ann"), LogAuthor::Executor(key(0)));
    let range = LogRange { author: author.clone(), stream: Stream::Stdout, from: LogStart::LastLines(3) };
    let question = ClientToMaster::RequestLog { range: range.clone(), by: by.clone() };
    let effects = bench.client_says(question.clone());
    let [Effect::ReadLog { peer, addresses, range: asked }] = &effects[..] else { panic!("{effects:?}") };
    let [address] = &addresses[..] else { panic!("{addresses:?}") };
    let (worker, author_there) = (WorkerId::new("w1"), author.clone());
    assert_eq!(
        (&address.author, &address.worker, &address.host, address.port),
        (&author_there, &worker, &"host1".to_owned(), PORT)
    );
    assert_eq!(*asked, range);
    let peer = *peer;
    let failed = |effects: Vec<Effect>| match answer_to(peer.0, effects) {
        Some(MasterToClient::RequestLogFailed { why }) => why,
        other => panic!("{other:?}"),
    };
    assert!(failed(bench.client_says(question.clone())).contains("not answered yet"));
    let piece = LogPiece { start: 0, bytes: "up\n".into(), length: 3, is_over: false };
    let read = Event::LogRead { peer, outcome: Ok(piece.clone()) };
    assert_eq!(answer_to(peer.0, bench.apply(read.clone())), Some(MasterToClient::LogResponse(piece)));
    assert_eq!(bench.apply(read), [], "it was answered");
    bench.client_says(question.clone());
    assert_eq!(failed(bench.apply(Event::LogRead { peer, outcome: Err("no".to_owned()) })), "no");
    bench.client_says(question.clone());
    bench.apply(Event::Disconnected { peer });
    let late = Event::LogRead { peer, outcome: Err("late".to_owned()) };
    assert_eq!(bench.apply(late), [], "nobody waits any more");
    for (wrong, part) in [
        (LogAuthor::Executor(key(9)), "has no executor 9"),
        (
            LogAuthor::Executor(ExecutorKey { app: AppId::new("app-9"), executor: ExecutorId(0) }),
            "no application has the id app-9",
        ),
        (LogAuthor::Driver(DriverId::new("driver-9")), "no cluster driver has the id driver-9"),
    ] {
        match log(&mut bench, 500, wrong, &by) {
            Some(MasterToClient::RequestLogFailed { why }) => assert!(why.contains(part), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    // The Worker is gone, and another one was started on its host.
    bench.worker_says(1, WorkerToMaster::WorkerDecommissioning { worker: worker.clone() });
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    let mut successor = register(1, 4, Vec::new());
    if let WorkerToMaster::RegisterWorker { worker, .. } = &mut successor {
        worker.id = WorkerId::new("w2");
    }
    bench.worker_says(2, successor);
    let effects = bench.client_says(question);
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::ReadLog { addresses, .. } => Some(addresses),
        _ => None,
    });
    let asked: Vec<&str> = asked.into_iter().flatten().map(|address| address.worker.as_str()).collect();
    assert_eq!(asked, ["w1", "w2"]);
}
