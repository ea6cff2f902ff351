//! Connections of recorded Workers of Spark at a Master.

use bytes::Bytes;
use firesteel_master::Outbound;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ExecutorLaunch, ExecutorReport, ExecutorState, ExecutorWork, MasterToWorker, Shared, WorkerDescription,
    WorkerToMaster,
};
use firesteel_protocol::process::executor_command::ExecutorCommand;
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;
use firesteel_protocol::{Machine, Timestamp};
use firesteel_spark::connection::{Called, Channel, Connection, Directory, Effect, Event, Note, PeerEnd};
use firesteel_spark::dialect::{Fragment, Release};
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::{FromWorker, Launch, ToWorker};
use firesteel_spark::translate;

use crate::bench::{Bench, FIRST, id_of, only_frame, worker_said, yes};
use crate::connections::{changed_after, recorded};
use crate::drivers::{description, registration};
use crate::recorded::opened;
use crate::workers::{from_worker, worker};

/// The Master's order to launch this executor of 1 core and 1 MiB.
fn launch(app: &str, executor: i32, version: &str) -> ExecutorLaunch {
    let name = format!("spark-{version}/driver-to-master");
    let application = translate::application(registration(&name).application).expect("it fits");
    let executor = ExecutorId(u32::try_from(executor).expect("it is small"));
    ExecutorLaunch {
        executor: ExecutorKey { app: AppId::new(app), executor },
        profile: ProfileId::DEFAULT,
        cores: Cores(1),
        memory: MiB(1),
        resources: Default::default(),
        work: Shared::new(ExecutorWork {
            app_name: application.name,
            command: application.command,
            directory: application.directory,
            files: None,
        }),
        mark: None,
    }
}

fn order(launch: ExecutorLaunch) -> Outbound {
    Outbound::Worker(MasterToWorker::LaunchExecutor(launch))
}

#[test]
fn a_worker_is_known_by_its_id_and_by_its_address() {
    for (version, release) in [("3.5.7", Release::V3_4To3_5), ("4.3.0", Release::V4_3)] {
        let mut bench = Bench::default();
        let frames = recorded(&format!("spark-{version}/worker-to-master"));
        assert_eq!(bench.hear(frames[0].clone()), [yes(id_of(&frames[0]))]);
        let heard = bench.hear(frames[1].clone());
        let heard = answer_about_profiles(&mut bench, heard, "-1872747411836192885");
        assert!(matches!(heard[0], Effect::Open { channel: FIRST, role: Role::Worker, .. }), "{heard:?}");
        let (FIRST, WorkerToMaster::RegisterWorker { worker, .. }) = worker_said(&heard) else {
            panic!("{version}: {heard:?}")
        };
        assert_eq!(worker.label, Label::of(release.numbers().iter().copied()), "{version}");
        assert_eq!(worker.token, Secret::new("127.0.0.1"), "{version}");
        let reports: Vec<&Frame> =
            frames[2..].iter().filter(|frame| matches!(frame, Frame::Request { .. })).collect();
        // The executor may have been launched over an earlier connection.
        let heard = bench.hear(reports[0].clone());
        let (FIRST, WorkerToMaster::ExecutorStateChanged(_)) = worker_said(&heard) else {
            panic!("{version}: {heard:?}")
        };
        assert_eq!(heard[1..], [yes(id_of(reports[0]))], "{version}");
        // A report of a Worker that has not registered here is answered, but not passed on.
        assert_eq!(Bench::default().hear(reports[0].clone()), [yes(id_of(reports[0]))], "{version}");
        let object = &opened(reports[0]).expect("it has a body").1;
        let Ok(FromWorker::ExecutorStateChanged { app, executor, .. }) = from_worker(object) else {
            panic!("{version}: it reports an executor")
        };
        let order = || order(launch(&app, executor, version));
        assert_eq!(bench.tell(FIRST, order()).len(), 1, "{version}");
        assert_eq!(bench.tell(FIRST, order()), [], "{version}: it is not told twice");
        for frame in &frames[2..] {
            let heard = bench.hear(frame.clone());
            assert_eq!(worker_said(&heard).0, FIRST, "{version}: {heard:?}");
            let answers = matches!(frame, Frame::Request { .. }).then(|| yes(id_of(frame)));
            assert_eq!(heard[1..], answers.into_iter().collect::<Vec<_>>(), "{version}");
        }
        // The executor has ended, so its number may be launched again.
        assert_eq!(bench.tell(FIRST, order()).len(), 1, "{version}");
    }
}

/// The effects after a Worker has answered the question for the serial version id of its resource profiles; the earlier
/// effects if it was not asked.
fn answer_about_profiles(bench: &mut Bench, heard: Vec<Effect>, id: &str) -> Vec<Effect> {
    let [Effect::Send(question)] = &heard[..] else { return heard };
    let reason = format!(
        "java.io.InvalidClassException: org.apache.spark.resource.ResourceProfile; local class incompatible: \
         stream classdesc serialVersionUID = 0, local class serialVersionUID = {id}\n\tat java.base"
    );
    bench.hear(Frame::Failure { id: id_of(question), reason })
}

#[test]
fn a_worker_that_may_be_of_several_releases_is_asked_once() {
    let frames = recorded("spark-4.1.4/worker-to-master");
    for (id, release) in [
        ("-2517983430696660228", Some(Release::V4_1To4_2)),
        ("-1872747411836192885", Some(Release::V4_3)),
        ("5", None),
    ] {
        let mut bench = Bench::default();
        let question = bench.hear(frames[1].clone());
        assert!(matches!(question[..], [Effect::Send(Frame::Request { .. })]), "{question:?}");
        assert_eq!(bench.hear(frames[1].clone()), [], "it is asked already");
        let heard = answer_about_profiles(&mut bench, question, id);
        let Some(release) = release else {
            assert!(
                matches!(heard[..], [Effect::Note(Note::WorkerRefused { .. }), Effect::Send(_)]),
                "{heard:?}"
            );
            continue;
        };
        let (FIRST, WorkerToMaster::RegisterWorker { worker, .. }) = worker_said(&heard) else {
            panic!("{heard:?}")
        };
        assert_eq!(worker.label, Label::of(release.numbers().iter().copied()));
    }
}

#[test]
fn orders_of_an_application_differ_in_their_numbers_only() {
    for version in ["3.5.7", "4.0.1", "3.5.7"] {
        let mut bench = Bench::default();
        bench.hear(recorded(&format!("spark-{version}/worker-to-master"))[1].clone());
        let registration = worker(version);
        let description = description(version);
        for executor in 0..3 {
            let memory = 512 + executor;
            let sized = ExecutorLaunch {
                cores: Cores(4),
                memory: MiB(memory.into()),
                ..launch("app-1", executor, version)
            };
            let frame = only_frame(bench.tell(FIRST, order(sized)));
            let launch = Launch {
                master_url: format!("spark://127.0.0.1:{}", registration.master.port),
                app: "app-1".to_owned(),
                executor,
                profile: 0,
                description: Fragment::read(&description).expect("a stream"),
                cores: 4,
                memory,
                resources: Default::default(),
            };
            let alone = ToWorker::LaunchExecutor(Box::new(launch)).write(&registration.dialect);
            assert_eq!(opened(&frame).expect("it has a body").1, alone, "{version}");
        }
    }
}

#[test]
fn an_order_that_cannot_be_written_fails_at_once() {
    let mut bench = Bench::default();
    bench.hear(recorded("spark-4.0.1/worker-to-master")[1].clone());
    let mut garbled = launch("app-2", 0, "4.0.1");
    let mut work = (*garbled.work).clone();
    let ExecutorCommand::Java(command) = &mut work.command else { panic!("it is a class") };
    command.description = Bytes::from_static(b"no stream");
    garbled.work = Shared::new(work);
    let told = bench.tell(FIRST, order(garbled));
    let (FIRST, WorkerToMaster::ExecutorStateChanged(ExecutorReport { state, .. })) = worker_said(&told)
    else {
        panic!("{told:?}")
    };
    let ExecutorState::Failed(failure) = state else { panic!("{state:?}") };
    assert!(failure.error.starts_with("its application is described by"), "{}", failure.error);
}

#[test]
fn a_worker_that_registers_under_another_id_is_not_known_by_the_first() {
    let mut bench = Bench::default();
    let frames = recorded("spark-4.0.1/worker-to-master");
    let (register, heartbeat) = (&frames[1], &frames[3]);
    bench.hear(register.clone());
    assert!(matches!(worker_said(&bench.hear(heartbeat.clone())), (FIRST, WorkerToMaster::Heartbeat { .. })));
    let heard = bench.hear(changed_after(register, b"worker-202611"));
    let [
        Effect::Withdraw { channel: FIRST, .. },
        Effect::Leave { channel: FIRST },
        Effect::Open { channel: Channel(1), .. },
        Effect::Say { channel: Channel(1), .. },
    ] = heard[..]
    else {
        panic!("{heard:?}")
    };
    assert_eq!(bench.hear(heartbeat.clone()), [Effect::Note(Note::NotItsWorker)]);
}

/// The Master's message that registers the Worker.
fn employed() -> Outbound {
    let (master_url, heartbeat_millis, duplicate) = (String::new(), 15_000, false);
    Outbound::Worker(MasterToWorker::RegisteredWorker {
        master_url,
        heartbeat_millis,
        duplicate,
        web_address: None,
        mark: None,
    })
}

#[test]
fn a_worker_is_heard_by_its_earlier_connection_too() {
    let mut bench = Bench::default();
    let frames = recorded("spark-4.0.1/worker-to-master");
    bench.hear(frames[1].clone());
    let told = bench.tell(FIRST, employed());
    let [Effect::Enter { worker, token, channel: FIRST }, Effect::Say { .. }, Effect::Send(_)] = &told[..]
    else {
        panic!("{told:?}")
    };
    let (mut directory, worker) = (Directory::default(), worker.clone());
    directory.enter(worker.clone(), token.clone(), PeerId(9));
    // The Worker has registered over another connection.
    let left = bench.apply(Event::Dismissed { channel: FIRST, dismissal: PeerEnd::InOrder });
    assert_eq!(
        left,
        [Effect::Withdraw { worker: worker.clone(), channel: FIRST }, Effect::Leave { channel: FIRST }]
    );
    let heard = bench.hear(frames[3].clone());
    let [Effect::SayElsewhere { peer, worker: named, token, message, .. }] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!(directory.find(named, token), Some(PeerId(9)));
    assert_eq!(*message, WorkerToMaster::Heartbeat { worker, last_order: None });
    // No connection has the Worker any more: it has to register.
    let told = only_frame(bench.apply(Event::FoundNobody { peer: *peer }));
    let object = opened(&told).expect("it has a body").1;
    let name = b"DeployMessages$ReconnectWorker";
    assert!(object.windows(name.len()).any(|window| window == name));
}

#[test]
fn a_worker_that_is_called_registers_as_the_master_knows_it() {
    let register = recorded("spark-4.0.1/worker-to-master").remove(1);
    let (FIRST, WorkerToMaster::RegisterWorker { worker, .. }) =
        worker_said(&Bench::default().hear(register))
    else {
        panic!("it registers")
    };
    let token = Secret::new("10.0.0.1");
    let mut known = WorkerDescription::clone(&worker);
    known.token = token.clone();
    let called = Called::Worker(Box::new(known));
    let (connection, _) = Connection::calling(called, None).expect("it can be called");
    let mut connection = connection;
    let remote = std::net::Ipv4Addr::LOCALHOST.into();
    let begun = connection.apply(Timestamp::from_millis(1), Event::Opened { remote });
    assert!(matches!(begun[..], [Effect::Open { role: Role::Worker, .. }, Effect::Send(_)]), "{begun:?}");
    let mut broken = WorkerDescription::clone(&worker);
    broken.callback = Bytes::from_static(b"nothing");
    let uncallable = Connection::calling(Called::Worker(Box::new(broken)), None).expect_err("it is garbage");
    assert_eq!(uncallable.to_string(), "cannot read the stored registration");
    let told =
        connection.apply(Timestamp::from_millis(1), Event::Outgoing { channel: FIRST, message: employed() });
    let id = WorkerId::new(worker.id.as_str());
    assert_eq!(
        told,
        [Effect::Enter { worker: id, token, channel: FIRST }],
        "it believes so since it was called"
    );
}
