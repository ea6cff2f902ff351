//! Connections of recorded drivers at a Master, and how connections end.

use bytes::{Bytes, BytesMut};
use firesteel_master::{Inbound, Outbound};
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::{ApplicationEnd, DriverToMaster, MasterToDriver, Resumption};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;
use firesteel_protocol::{Machine, Timestamp};
use firesteel_spark::connection::{
    Called, Channel, Closing, Connection, Effect, Event, Limits, Note, PeerEnd, REGISTRATION_TIMEOUT,
};
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Class, Field, FieldKind, Object, Part, Value};
use firesteel_spark::messages::FromDriver;

use crate::bench::{Bench, FIRST, driver_said, id_of, no, notes, registered, said, yes};
use crate::drivers::{from_driver, recording, registration};
use crate::recorded::{frames, opened};

pub(crate) fn recorded(name: &str) -> Vec<Frame> {
    frames(&recording(name))
}

fn requested(accepted: bool) -> Outbound {
    Outbound::Driver(MasterToDriver::ExecutorsRequested { accepted })
}

#[test]
fn a_driver_asks_whether_a_master_is_there_registers_and_is_answered_in_order() {
    for version in ["3.5.7", "4.0.1"] {
        let mut bench = Bench::default();
        let frames = recorded(&format!("spark-{version}/dynalloc-driver-to-fakemaster"));
        assert_eq!(bench.hear(frames[0].clone()), [yes(id_of(&frames[0]))], "{version}");
        let heard = bench.hear(frames[1].clone());
        assert!(matches!(heard[0], Effect::Open { channel: FIRST, role: Role::Driver, .. }), "{heard:?}");
        let (FIRST, DriverToMaster::RegisterApplication(description)) = driver_said(&heard) else {
            panic!("{version}: {heard:?}")
        };
        assert_eq!(description.token, Secret::default(), "the shell draws it");
        // The address of the Master in the driver's registration.
        let (envelope, object) = opened(&frames[1]).expect("it has a body");
        let called = envelope.expect("a message has one").receiver.expect("an address");
        let Ok(FromDriver::RegisterApplication(registration)) = from_driver(&object) else {
            panic!("{version}: it registers")
        };
        let app = match from_driver(&opened(&frames[2]).expect("it has a body").1) {
            Ok(FromDriver::RequestExecutors { app, .. }) => app,
            other => panic!("{version}: {other:?}"),
        };
        let told = bench.register(FIRST, &app);
        let (envelope, _) = opened(&told).expect("it has a body");
        let envelope = envelope.expect("a message has an envelope");
        assert_eq!((envelope.sender, envelope.endpoint.as_str()), (Some(called), "AppClient"));
        assert_eq!(envelope.receiver.as_ref(), Some(&registration.dialect.reference.address));
        let mut pending = Vec::new();
        for frame in &frames[2..] {
            let heard = bench.hear(frame.clone());
            assert_eq!(driver_said(&heard).0, FIRST, "{version}: {heard:?}");
            pending.extend(matches!(frame, Frame::Request { .. }).then(|| id_of(frame)));
        }
        assert!(pending.len() > 5, "{version}");
        for id in pending {
            assert_eq!(bench.tell(FIRST, requested(true)), [yes(id)], "{version}");
        }
        assert_eq!(bench.tell(FIRST, requested(true)), [], "nothing is owed");
        // It has unregistered, and is forgotten.
        let last_request =
            frames.iter().rev().find(|frame| matches!(frame, Frame::Request { .. })).expect("there are some");
        assert_eq!(bench.hear(last_request.clone()), [no(id_of(last_request))], "{version}");
    }
}

#[test]
fn a_driver_that_registers_again_has_the_same_channel() {
    let mut bench = Bench::default();
    let register = recorded("spark-4.0.1/driver-to-master").remove(1);
    let mut opened = 0;
    for _ in 0..3 {
        let heard = bench.hear(register.clone());
        assert!(matches!(driver_said(&heard), (FIRST, DriverToMaster::RegisterApplication(_))), "{heard:?}");
        opened += heard.iter().filter(|effect| matches!(effect, Effect::Open { .. })).count();
    }
    assert_eq!(opened, 1);
    // Another driver on the same connection.
    let other = recorded("spark-3.5.7/driver-to-master").remove(1);
    assert_eq!(driver_said(&bench.hear(other)).0, Channel(1));
}

/// Registers the driver of a recorded connection. Returns its application, and all of its frames: the third one asks
/// for executors.
fn registered_driver(bench: &mut Bench) -> (String, Vec<Frame>) {
    let frames = recorded("spark-4.0.1/dynalloc-driver-to-fakemaster");
    bench.hear(frames[1].clone());
    let Ok(FromDriver::RequestExecutors { app, .. }) = from_driver(&opened(&frames[2]).expect("a body").1)
    else {
        panic!("it asks for executors")
    };
    bench.register(FIRST, &app);
    (app, frames)
}

#[test]
fn a_driver_whose_application_has_ended_is_answered_and_takes_another_channel() {
    let mut bench = Bench::default();
    let (_, frames) = registered_driver(&mut bench);
    bench.hear(frames[2].clone());
    let end = ApplicationEnd::Killed { by: "ann@host".to_owned() };
    let told = bench.tell(FIRST, Outbound::Driver(MasterToDriver::ApplicationRemoved(end)));
    let [Effect::Send(Frame::OneWay { .. }), Effect::Leave { channel: FIRST }, answered] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(*answered, no(id_of(&frames[2])), "the Master answers nothing any more");
    assert_eq!(bench.tell(FIRST, requested(true)), [], "what comes late is dropped");
    assert_eq!(bench.hear(frames[2].clone()), [no(id_of(&frames[2]))]);
    let again = bench.hear(frames[1].clone());
    assert!(matches!(again[0], Effect::Open { channel: Channel(1), .. }), "{again:?}");
}

/// A driver's request for an impossible number of executors.
fn for_too_few(app: &str, like: &Frame) -> Frame {
    let (envelope, object) = opened(like).expect("it has a body");
    let (mut graph, _) = java::read(&object, Bounds::default()).expect("a recorded message");
    let text = FieldKind::Object(graph.add_object(Object::Text("Ljava/lang/String;".to_owned())));
    let field = |(name, kind): (&str, FieldKind)| Field { name: name.to_owned(), kind };
    let class = graph.add_class(Class {
        name: "org.apache.spark.deploy.DeployMessages$RequestExecutors".to_owned(),
        serial: 1,
        flags: Class::SERIALIZABLE,
        fields: [("requestedTotal", FieldKind::Int), ("appId", text)].map(field).into(),
        parent: None,
    });
    let app = Value::Object(graph.add_object(Object::Text(app.to_owned())));
    let parts = vec![Part { fields: vec![Value::Int(-1), app], contents: Vec::new() }];
    let root = Value::Object(graph.add_object(Object::Instance { class, parts }));
    let body = envelope.expect("a message has one").around(&java::write(&graph, root));
    Frame::Request { id: 77, body }
}

#[test]
fn a_request_that_is_refused_here_does_not_take_the_answer_of_an_earlier_one() {
    let mut bench = Bench::default();
    let (app, frames) = registered_driver(&mut bench);
    bench.hear(frames[2].clone());
    let refused = bench.hear(for_too_few(&app, &frames[2]));
    assert!(matches!(refused[0], Effect::Note(Note::DriverRefused { .. })), "{refused:?}");
    assert_eq!(refused[1..], [no(77)]);
    // A message without an answer is not a request.
    let Frame::OneWay { body } = frames.last().expect("it says goodbye").clone() else {
        panic!("{frames:?}")
    };
    let goodbye = bench.hear(Frame::Request { id: 78, body });
    assert!(
        matches!(goodbye[..], [Effect::Note(_), Effect::Send(Frame::Failure { id: 78, .. })]),
        "{goodbye:?}"
    );
    assert_eq!(bench.tell(FIRST, requested(true)), [yes(id_of(&frames[2]))]);
}

/// The frame, with the byte of its object changed that follows these bytes.
pub(crate) fn changed_after(frame: &Frame, bytes: &[u8]) -> Frame {
    let Frame::OneWay { body } = frame else { panic!("{frame:?}") };
    let at = body.windows(bytes.len()).position(|window| window == bytes).expect("it is there") + bytes.len();
    let mut body = BytesMut::from(&body[..]);
    body[at] ^= 1;
    Frame::OneWay { body: body.freeze() }
}

#[test]
fn a_driver_of_an_unknown_release_is_asked_before_anybody_hears_of_it() {
    for version in ["3.5.7", "4.0.1"] {
        let mut bench = Bench::default();
        let frames = recorded(&format!("spark-{version}/driver-to-master"));
        let later = changed_after(&frames[1], b"DeployMessages$RegisterApplication");
        let questions = bench.hear(later.clone());
        assert_eq!(questions.len(), 7, "{version}");
        assert_eq!(bench.hear(later), [], "it is asked once");
        let answers = recorded(&format!("spark-{version}/suidprobe-driver-to-fakemaster"));
        let answers = answers.into_iter().filter(|frame| matches!(frame, Frame::Failure { .. }));
        // The recorded Master asked for the same classes in another order.
        let mut answers: Vec<Frame> = answers.collect();
        let mut heard = Vec::new();
        for question in &questions {
            let Effect::Send(Frame::Request { id, body }) = question else { panic!("{question:?}") };
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
            heard.extend(bench.hear(Frame::Failure { id: *id, reason }));
        }
        assert!(matches!(driver_said(&heard), (FIRST, DriverToMaster::RegisterApplication(_))), "{heard:?}");
        let mut known = Bench::default();
        known.hear(frames[1].clone());
        assert_eq!(bench.register(FIRST, "app-1"), known.register(FIRST, "app-1"), "{version}");
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
fn a_connection_ends_with_its_last_peer_and_sends_nothing_after_that() {
    let driver = recorded("spark-4.0.1/driver-to-master").remove(1);
    let worker = recorded("spark-4.0.1/worker-to-master").remove(1);
    let mut bench = Bench::default();
    bench.hear(driver.clone());
    bench.hear(worker);
    let at_once = |channel| Event::Dismissed { channel, dismissal: PeerEnd::AtOnce };
    assert_eq!(bench.apply(at_once(FIRST)), [Effect::Leave { channel: FIRST }]);
    let ended = bench.apply(at_once(Channel(1)));
    let [Effect::Withdraw { .. }, Effect::Leave { channel: Channel(1) }, Effect::Close(Closing::Flushed)] =
        ended[..]
    else {
        panic!("{ended:?}")
    };
    for event in [Event::Received(driver), Event::Closed { error: None }, Event::MasterGone, Event::Deadline]
    {
        assert_eq!(bench.apply(event), []);
    }
}

#[test]
fn a_connection_outlives_a_master_that_ends_while_peers_are_told() {
    let mut bench = Bench::default();
    bench.hear(recorded("spark-4.0.1/driver-to-master").remove(1));
    assert_eq!(bench.apply(Event::MasterEnds), []);
    bench.register(FIRST, "app-1");
    let ended = bench.apply(Event::Dismissed { channel: FIRST, dismissal: PeerEnd::InOrder });
    assert_eq!(ended, [Effect::Leave { channel: FIRST }, Effect::Close(Closing::Flushed)]);
    assert_eq!(Bench::default().apply(Event::MasterEnds), [Effect::Close(Closing::Flushed)]);
}

#[test]
fn who_registers_in_time_may_stay() {
    let mut bench = Bench::default();
    let (due, _) = bench.connection.next_deadline().expect("somebody has to register");
    assert_eq!(due, bench.now + REGISTRATION_TIMEOUT);
    assert_eq!(bench.apply(Event::Deadline), [], "it is early");
    bench.now = due;
    assert_eq!(bench.apply(Event::Deadline), [Effect::Note(Note::Mute), Effect::Close(Closing::AtOnce)]);
    let mut bench = Bench::default();
    bench.hear(recorded("spark-4.0.1/driver-to-master").remove(1));
    assert_eq!(bench.connection.next_deadline(), None);
}

#[test]
fn a_driver_that_is_called_acknowledges_and_its_application_goes_on() {
    let register = recorded("spark-4.0.1/driver-to-master").remove(1);
    let (FIRST, DriverToMaster::RegisterApplication(description)) =
        driver_said(&Bench::default().hear(register))
    else {
        panic!("it registers")
    };
    let acknowledged = recorded("spark-4.0.1/driver-to-restarted-master");
    let app = acknowledged.iter().filter_map(opened).find_map(|(_, object)| match from_driver(&object) {
        Ok(FromDriver::MasterChangeAcknowledged { app }) => Some(app),
        _ => None,
    });
    let app = AppId::new(app.expect("it acknowledges"));
    let resumption = Resumption { app, executors: Vec::new(), description };
    let called = Called::Driver(resumption.clone());
    let (mut connection, address) = Connection::calling(called, None).expect("it can be called");
    let dialect = registration("spark-4.0.1/driver-to-master").dialect;
    assert_eq!(address, dialect.reference.address);
    let remote = std::net::Ipv4Addr::LOCALHOST.into();
    let begun = connection.apply(Timestamp::from_millis(1), Event::Opened { remote });
    let [Effect::Open { channel: FIRST, role: Role::Driver, .. }, Effect::Send(Frame::OneWay { .. })] =
        begun[..]
    else {
        panic!("{begun:?}")
    };
    let mut told = Vec::new();
    for frame in acknowledged {
        told.extend(said(&connection.apply(Timestamp::from_millis(1), Event::Received(frame))));
    }
    let resumes = (FIRST, Inbound::Driver(DriverToMaster::ResumeApplication(resumption)));
    assert_eq!(told.first(), Some(&resumes), "{told:?}");
    let message = Outbound::Driver(registered("app-1"));
    let confirmation =
        connection.apply(Timestamp::from_millis(1), Event::Outgoing { channel: FIRST, message });
    assert_eq!(confirmation, [], "it was told so by the Master before");
    // It gets the answer for an application that it registers itself over this connection.
    let register = recorded("spark-4.0.1/driver-to-master").remove(1);
    connection.apply(Timestamp::from_millis(1), Event::Received(register));
    let message = Outbound::Driver(registered("app-2"));
    let confirmation =
        connection.apply(Timestamp::from_millis(1), Event::Outgoing { channel: FIRST, message });
    assert!(matches!(confirmation[..], [Effect::Send(Frame::OneWay { .. })]), "{confirmation:?}");
}

#[test]
fn what_nobody_here_understands_is_refused_or_said() {
    let failed = |frame: Frame| match &Bench::default().hear(frame)[..] {
        [Effect::Note(Note::RequestRefused { .. }), Effect::Send(Frame::Failure { id: 7, reason })] => {
            reason.clone()
        }
        other => panic!("{other:?}"),
    };
    let null = [0xac, 0xed, 0, 5, 0x70];
    assert_eq!(failed(request("HeartbeatReceiver", &null)), "there is no endpoint HeartbeatReceiver");
    assert_eq!(failed(request("Master", &null)), "unknown message class null");
    assert_eq!(failed(request("Master", b"")), "the stream of Java objects ends too early, at byte 0");
    assert_eq!(failed(request("endpoint-verifier", &null)), "unknown message class null");
    let empty = Frame::Request { id: 7, body: Bytes::new() };
    assert_eq!(failed(empty), "cannot read the sender and the receiver of a message");
    let said = |frame: Frame| match &notes(&Bench::default().hear(frame))[..] {
        [note] => note.to_string(),
        other => panic!("{other:?}"),
    };
    let unasked = Frame::Response { id: 9, body: Bytes::new() };
    assert_eq!(said(unasked), "ignored an answer to request 9: no such request waits for one");
    let driver = recorded("spark-4.0.1/driver-to-master");
    let unregister = driver.last().expect("there are some").clone();
    assert_eq!(
        said(unregister),
        "ignored a message of a driver: it names an application of another connection"
    );
    let heartbeat = recorded("spark-4.0.1/worker-to-master").remove(3);
    assert_eq!(said(heartbeat), "ignored a message of a Worker that is not registered on this connection");
}

#[test]
fn a_driver_whose_answers_say_nothing_is_given_up_with_a_sentence() {
    let mut bench = Bench::default();
    let frames = recorded("spark-4.0.1/driver-to-master");
    let questions = bench.hear(changed_after(&frames[1], b"DeployMessages$RegisterApplication"));
    let Effect::Send(first) = &questions[0] else { panic!("{questions:?}") };
    let heard = bench.hear(Frame::Response { id: id_of(first), body: Bytes::new() });
    let expected = "this release of Spark does not tell the serial version id of \
                    org.apache.spark.deploy.DeployMessages$RegisteredApplication: it was accepted";
    assert_eq!(notes(&heard).iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    // The other answers are useless. When the driver registers again, it is asked again.
    let Effect::Send(second) = &questions[1] else { panic!("{questions:?}") };
    assert_eq!(bench.hear(Frame::Response { id: id_of(second), body: Bytes::new() }), []);
    let again = bench.hear(changed_after(&frames[1], b"DeployMessages$RegisterApplication"));
    assert_eq!(again.len(), 7);
    assert_ne!(again, questions, "by other numbers");
}

#[test]
fn a_stranger_makes_a_connection_hold_no_more_than_its_limits() {
    let limits = Limits { peers: 1, clients: 1, held: 1, pending: 2, executors: 0, questions: 10 };
    let later = |version: &str| {
        let register = recorded(&format!("spark-{version}/driver-to-master")).remove(1);
        changed_after(&register, b"DeployMessages$RegisterApplication")
    };
    let mut bench = Bench::within(limits);
    // A driver that answers nonsense and registers again is asked again, while the other questions stay open.
    let questions = bench.hear(later("4.0.1"));
    let Effect::Send(first) = &questions[0] else { panic!("{questions:?}") };
    bench.hear(Frame::Response { id: id_of(first), body: Bytes::new() });
    assert_eq!(bench.hear(later("4.0.1")), [Effect::Note(Note::TooManyQuestions { most: 10 })]);
    assert_eq!(bench.hear(later("3.5.7")), [Effect::Note(Note::TooManyPeers { most: 1 })]);
    // Requests that the Master need not answer, or not yet.
    let mut bench = Bench::within(limits);
    let (_, frames) = registered_driver(&mut bench);
    let sent: Vec<_> = (0..3).map(|_| bench.hear(frames[2].clone())).collect();
    assert!(matches!(sent[1][..], [Effect::Say { .. }]), "{sent:?}");
    let [Effect::Note(Note::RequestRefused { reason }), Effect::Send(Frame::Failure { .. })] = &sent[2][..]
    else {
        panic!("{sent:?}")
    };
    assert_eq!(reason, "more than 2 requests wait");
}
