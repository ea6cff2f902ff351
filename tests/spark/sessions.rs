//! Connections of recorded drivers and Workers, as a Master takes part in them.

use bytes::{Bytes, BytesMut};
use firesteel_spark::dialect::{Fragment, Release};
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::{FromDriver, FromWorker, Launch, ToDriver, ToWorker, answer};
use firesteel_spark::session::{Heard, PeerNumber, Session};
use firesteel_spark::{Order, OrderForms};

use crate::drivers::{description, from_driver, recording};
use crate::recorded::{frames, opened};
use crate::workers::{from_worker, worker};

const FIRST: PeerNumber = PeerNumber(0);

fn recorded(name: &str) -> Vec<Frame> {
    frames(&recording(name))
}

fn yes(id: i64) -> Heard {
    Heard::Reply(Frame::Response { id, body: answer(true).into() })
}

fn id_of(frame: &Frame) -> i64 {
    match frame {
        Frame::Request { id, .. } | Frame::Response { id, .. } | Frame::Failure { id, .. } => *id,
        Frame::OneWay { .. } => panic!("a message has no number"),
    }
}

/// The message to a driver that its application is registered.
fn registered(app: &str, session: &Session, peer: PeerNumber) -> ToDriver {
    ToDriver::RegisteredApplication { app: app.to_owned(), master: session.master(peer).clone() }
}

#[test]
fn a_driver_asks_whether_a_master_is_there_registers_and_is_answered_in_order() {
    for version in ["3.5.7", "4.0.1"] {
        let mut session = Session::default();
        let said = recorded(&format!("spark-{version}/dynalloc-driver-to-fakemaster"));
        assert_eq!(session.hear(said[0].clone()), [yes(id_of(&said[0]))], "{version}");
        let heard = session.hear(said[1].clone());
        let [Heard::Driver(FIRST, FromDriver::RegisterApplication(registration))] = &heard[..] else {
            panic!("{version}: {heard:?}")
        };
        // The driver called the Master so when it registered.
        let (envelope, _) = opened(&said[1]).expect("it has an envelope");
        let called = envelope.expect("a message has one").receiver.expect("an address");
        assert_eq!(*session.master(FIRST), called);
        let app = match from_driver(&opened(&said[2]).expect("it has a body").1) {
            Ok(FromDriver::RequestExecutors { app, .. }) => app,
            other => panic!("{version}: {other:?}"),
        };
        let told = session.tell_driver(FIRST, &registered(&app, &session, FIRST));
        let (envelope, _) = opened(&told).expect("it has a body");
        let envelope = envelope.expect("a message has an envelope");
        assert_eq!((envelope.sender, envelope.endpoint.as_str()), (Some(called), "AppClient"));
        assert_eq!(envelope.receiver.as_ref(), Some(&registration.dialect.reference.address));
        let mut owed = Vec::new();
        for frame in &said[2..] {
            let heard = session.hear(frame.clone());
            assert!(matches!(heard[..], [Heard::Driver(FIRST, _)]), "{version}: {heard:?}");
            owed.extend(matches!(frame, Frame::Request { .. }).then(|| id_of(frame)));
        }
        assert!(owed.len() > 5, "{version}");
        for id in owed {
            assert_eq!(session.answer(FIRST, true).map(Heard::Reply), Some(yes(id)), "{version}");
        }
        assert_eq!(session.answer(FIRST, true), None);
        // It has unregistered: nothing more is known of it.
        let last_request =
            said.iter().rev().find(|frame| matches!(frame, Frame::Request { .. })).expect("there are some");
        let refused = Frame::Response { id: id_of(last_request), body: answer(false).into() };
        assert_eq!(session.hear(last_request.clone()), [Heard::Reply(refused)], "{version}");
    }
}

#[test]
fn a_driver_that_registers_again_is_the_same_peer() {
    let mut session = Session::default();
    let said = recorded("spark-4.0.1/driver-to-master");
    for _ in 0..3 {
        let heard = session.hear(said[1].clone());
        assert!(matches!(heard[..], [Heard::Driver(FIRST, FromDriver::RegisterApplication(_))]), "{heard:?}");
    }
    // Another driver on the same connection.
    let other = recorded("spark-3.5.7/driver-to-master");
    let heard = session.hear(other[1].clone());
    assert!(matches!(heard[..], [Heard::Driver(PeerNumber(1), _)]), "{heard:?}");
}

/// The frame with a byte of its object changed, the one after these bytes.
fn changed_after(frame: &Frame, bytes: &[u8]) -> Frame {
    let Frame::OneWay { body } = frame else { panic!("{frame:?}") };
    let at = body.windows(bytes.len()).position(|window| window == bytes).expect("it is there") + bytes.len();
    let mut body = BytesMut::from(&body[..]);
    body[at] ^= 1;
    Frame::OneWay { body: body.freeze() }
}

#[test]
fn a_driver_of_an_unknown_release_is_asked_before_anybody_hears_of_it() {
    for version in ["3.5.7", "4.0.1"] {
        let mut session = Session::default();
        let said = recorded(&format!("spark-{version}/driver-to-master"));
        let later = changed_after(&said[1], b"DeployMessages$RegisterApplication");
        let questions = session.hear(later.clone());
        assert_eq!(questions.len(), 7, "{version}");
        assert_eq!(session.hear(later), [], "it is asked once");
        let answers = recorded(&format!("spark-{version}/suidprobe-driver-to-fakemaster"));
        let answers = answers.into_iter().filter(|frame| matches!(frame, Frame::Failure { .. }));
        // The recorded Master asked for the same classes in another order.
        let mut answers: Vec<Frame> = answers.collect();
        let mut heard = Vec::new();
        for question in &questions {
            let Heard::Reply(Frame::Request { id, body }) = question else { panic!("{question:?}") };
            let about = |frame: &Frame| match frame {
                Frame::Failure { reason, .. } => {
                    let line = reason.lines().next().unwrap_or_default();
                    let class =
                        line.split([' ', ';']).find(|word| word.starts_with("org.apache.spark.deploy"));
                    class.is_some_and(|class| {
                        let exactly =
                            [&u16::try_from(class.len()).expect("short").to_be_bytes()[..], class.as_bytes()]
                                .concat();
                        body.windows(exactly.len()).any(|window| window == exactly)
                    })
                }
                _ => false,
            };
            let at = answers.iter().position(about).expect("the driver was asked for it");
            let Frame::Failure { reason, .. } = answers.remove(at) else { unreachable!("it was chosen") };
            heard.extend(session.hear(Frame::Failure { id: *id, reason }));
        }
        assert!(matches!(heard[..], [Heard::Driver(FIRST, FromDriver::RegisterApplication(_))]), "{heard:?}");
        let told = session.tell_driver(FIRST, &registered("app-1", &session, FIRST));
        let mut known = Session::default();
        known.hear(said[1].clone());
        assert_eq!(told, known.tell_driver(FIRST, &registered("app-1", &known, FIRST)), "{version}");
    }
}

#[test]
fn a_worker_is_known_by_its_id_and_by_its_address() {
    for version in ["3.5.7", "4.3.0"] {
        let mut session = Session::default();
        let said = recorded(&format!("spark-{version}/worker-to-master"));
        assert_eq!(session.hear(said[0].clone()), [yes(id_of(&said[0]))]);
        let heard = session.hear(said[1].clone());
        let heard = answer_about_profiles(&mut session, heard, "-1872747411836192885");
        let [Heard::Worker(FIRST, FromWorker::RegisterWorker(registration))] = &heard[..] else {
            panic!("{version}: {heard:?}")
        };
        assert_eq!(*session.master(FIRST), registration.master, "{version}");
        let release = if version == "3.5.7" { Release::V3_4To3_5 } else { Release::V4_3 };
        assert_eq!(registration.releases, [release]);
        let reports: Vec<&Frame> =
            said[2..].iter().filter(|frame| matches!(frame, Frame::Request { .. })).collect();
        // The executor may have been launched over a connection before this one.
        let heard = session.hear(reports[0].clone());
        let [Heard::Worker(FIRST, FromWorker::ExecutorStateChanged { .. }), answer] = &heard[..] else {
            panic!("{version}: {heard:?}")
        };
        assert_eq!(*answer, yes(id_of(reports[0])), "{version}");
        // A report of one who has not registered here is answered, and not passed on.
        assert_eq!(Session::default().hear(reports[0].clone()), [yes(id_of(reports[0]))], "{version}");
        let object = &opened(reports[0]).expect("it has a body").1;
        let Ok(FromWorker::ExecutorStateChanged { app, executor, .. }) = from_worker(object) else {
            panic!("{version}: it reports an executor")
        };
        let description = description(version);
        let order = order(&app, executor, &description);
        let mut forms = OrderForms::default();
        let launched = session.launch(FIRST, &order, &mut forms).expect("it is described");
        assert!(launched.is_some(), "{version}");
        let again = session.launch(FIRST, &order, &mut forms);
        assert_eq!(again, Ok(None), "{version}: it is not told twice");
        for frame in &said[2..] {
            let heard = session.hear(frame.clone());
            assert!(matches!(heard[0], Heard::Worker(FIRST, _)), "{version}: {heard:?}");
            let answers = matches!(frame, Frame::Request { .. }).then(|| yes(id_of(frame)));
            assert_eq!(heard[1..], answers.into_iter().collect::<Vec<_>>(), "{version}");
        }
        // The executor has ended: its number may be launched again.
        let launched = session.launch(FIRST, &order, &mut forms).expect("it is described");
        assert!(launched.is_some(), "{version}");
    }
}

/// An order to launch an executor of 1 core and 1 MiB.
fn order<'a>(app: &'a str, executor: i32, description: &'a [u8]) -> Order<'a> {
    let resources = Default::default();
    Order { app, executor, profile: 0, cores: 1, memory: 1, resources, description }
}

/// What comes of the answer of a Worker that is asked for the serial version id of its resource profiles; what came before
/// if it is not asked.
fn answer_about_profiles(session: &mut Session, heard: Vec<Heard>, id: &str) -> Vec<Heard> {
    let [Heard::Reply(question)] = &heard[..] else { return heard };
    let reason = format!(
        "java.io.InvalidClassException: org.apache.spark.resource.ResourceProfile; local class incompatible: \
         stream classdesc serialVersionUID = 0, local class serialVersionUID = {id}\n\tat java.base"
    );
    session.hear(Frame::Failure { id: id_of(question), reason })
}

#[test]
fn a_worker_that_may_be_of_several_releases_is_asked_once() {
    let said = recorded("spark-4.1.4/worker-to-master");
    for (id, releases) in [
        ("-2517983430696660228", vec![Release::V4_1To4_2]),
        ("-1872747411836192885", vec![Release::V4_3]),
        ("5", vec![]),
    ] {
        let mut session = Session::default();
        let question = session.hear(said[1].clone());
        assert!(matches!(question[..], [Heard::Reply(Frame::Request { .. })]), "{question:?}");
        assert_eq!(session.hear(said[1].clone()), [], "it is asked already");
        let heard = answer_about_profiles(&mut session, question, id);
        let [Heard::Worker(FIRST, FromWorker::RegisterWorker(registration))] = &heard[..] else {
            panic!("{heard:?}")
        };
        assert_eq!(registration.releases, releases);
    }
}

#[test]
fn orders_of_an_application_differ_in_their_numbers_only() {
    // Workers of both releases on connections of their own.
    let mut forms = OrderForms::default();
    for version in ["3.5.7", "4.0.1", "3.5.7"] {
        let mut session = Session::default();
        session.hear(recorded(&format!("spark-{version}/worker-to-master"))[1].clone());
        let registration = worker(version);
        let description = description(version);
        for executor in 0..3 {
            let order = Order { cores: 4, memory: 512 + executor, ..order("app-1", executor, &description) };
            let frame = session.launch(FIRST, &order, &mut forms).expect("it is described");
            let frame = frame.expect("it is new");
            let launch = Launch {
                master_url: format!("spark://127.0.0.1:{}", registration.master.port),
                app: "app-1".to_owned(),
                executor,
                profile: 0,
                description: Fragment::read(&description).expect("a stream"),
                cores: 4,
                memory: 512 + executor,
                resources: Default::default(),
            };
            let alone = session.tell_worker(FIRST, &ToWorker::LaunchExecutor(Box::new(launch)));
            assert_eq!(frame, alone, "{version}");
        }
        let garbage = session.launch(FIRST, &order("app-2", 0, b"no stream"), &mut forms);
        assert!(garbage.is_err(), "{version}: {garbage:?}");
    }
}

fn request(endpoint: &str, object: &[u8]) -> Frame {
    let address = Some(Address { host: "h".to_owned(), port: 1 });
    let envelope = Envelope { sender: address.clone(), receiver: address, endpoint: endpoint.to_owned() };
    let mut body = BytesMut::new();
    envelope.encode(&mut body);
    body.extend_from_slice(object);
    Frame::Request { id: 7, body: body.freeze() }
}

#[test]
fn a_worker_that_registers_under_another_id_is_not_known_by_the_first() {
    let mut session = Session::default();
    let said = recorded("spark-4.0.1/worker-to-master");
    let (register, heartbeat) = (&said[1], &said[3]);
    session.hear(register.clone());
    assert!(matches!(
        session.hear(heartbeat.clone())[..],
        [Heard::Worker(FIRST, FromWorker::Heartbeat { .. })]
    ));
    let Heard::Worker(..) = &session.hear(changed_after(register, b"worker-202611"))[0] else {
        panic!("it registers")
    };
    assert!(matches!(session.hear(heartbeat.clone())[..], [Heard::Strange(_)]));
}

#[test]
fn what_nobody_here_understands_is_refused_or_said() {
    let failed = |frame: Frame| match &Session::default().hear(frame)[..] {
        [Heard::Reply(Frame::Failure { id: 7, reason })] => reason.clone(),
        other => panic!("{other:?}"),
    };
    let null = [0xac, 0xed, 0, 5, 0x70];
    assert_eq!(failed(request("HeartbeatReceiver", &null)), "there is no endpoint HeartbeatReceiver");
    assert_eq!(failed(request("Master", &null)), "a message of the class null, which is not known here");
    assert_eq!(failed(request("Master", b"")), "the stream of Java objects ends too early, at byte 0");
    assert_eq!(
        failed(request("endpoint-verifier", &null)),
        "a message of the class null, which is not known here"
    );
    let empty = Frame::Request { id: 7, body: Bytes::new() };
    assert_eq!(failed(empty), "a message without a readable sender and receiver");
    let said = |frame: Frame| match &Session::default().hear(frame)[..] {
        [Heard::Strange(said)] => said.clone(),
        other => panic!("{other:?}"),
    };
    let unasked = Frame::Response { id: 9, body: Bytes::new() };
    assert_eq!(said(unasked), "an answer to the request 9, which nobody made");
    let recorded = recorded("spark-4.0.1/driver-to-master");
    let unregister = recorded.last().expect("there are some").clone();
    assert_eq!(said(unregister), "a driver speaks of an application that is not on its connection");
    let heartbeat = self::recorded("spark-4.0.1/worker-to-master").remove(3);
    assert_eq!(said(heartbeat), "a Worker speaks that is not registered on its connection");
}

#[test]
fn a_driver_whose_answers_say_nothing_is_given_up_with_a_sentence() {
    let mut session = Session::default();
    let said = recorded("spark-4.0.1/driver-to-master");
    let questions = session.hear(changed_after(&said[1], b"DeployMessages$RegisterApplication"));
    let Heard::Reply(first) = &questions[0] else { panic!("{questions:?}") };
    let heard = session.hear(Frame::Response { id: id_of(first), body: Bytes::new() });
    let expected = "this release of Spark does not tell the serial version id of \
                    org.apache.spark.deploy.DeployMessages$RegisteredApplication: it was accepted";
    assert_eq!(heard, [Heard::Strange(expected.to_owned())]);
    // The other answers are of no use. When the driver registers again, it is asked again.
    let Heard::Reply(second) = &questions[1] else { panic!("{questions:?}") };
    assert_eq!(session.hear(Frame::Response { id: id_of(second), body: Bytes::new() }), []);
    let again = session.hear(changed_after(&said[1], b"DeployMessages$RegisterApplication"));
    assert_eq!(again.len(), 7);
    assert_ne!(again, questions, "by other numbers");
}
