//! Clients that submit cluster drivers by the classic gateway: recorded requests, and the answers of a recorded Master.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_master::Outbound;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{
    ClientToMaster, DriverDescription, DriverState, KillDriverAnswer, MasterToClient, RefusedDriver,
    SubmitDriverAnswer,
};
use firesteel_spark::cluster_driver::SparkDriver;
use firesteel_spark::connection::{Effect, Note};
use firesteel_spark::envelope::Address;
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Graph, Node, Object};
use firesteel_spark::messages::{self, ClientRequest, DriverSubmission, FromClient, Message, ToClient};
use firesteel_spark::translate::clients;

use crate::bench::{Bench, FIRST, asked, notes, only_frame};
use crate::drivers::recording;
use crate::recorded::{frames, opened, read};

/// A release with a recorded submission, one with a recorded failure, and the releases that both show.
const RELEASES: [(&str, &str, &[&str]); 2] = [("3.5.7", "3.5.9", &["3.5"]), ("4.0.1", "4.0.1", &["4.0"])];

fn said(version: &str, to: &str) -> Vec<Frame> {
    frames(&recording(&format!("spark-{version}/cluster-rpc-RequestSubmitDriver.{to}-master")))
}

fn told(question: &Frame) -> Frame {
    let Frame::Request { id, .. } = question else { panic!("{question:?}") };
    let (_, object) = opened(question).expect("it has a body");
    let (graph, value) = java::read(&object, Bounds::default()).expect("a stream");
    let class = Node { graph: &graph, value }.class_name().expect("a class").to_owned();
    let reason = format!(
        "java.io.InvalidClassException: {class}; local class incompatible: stream classdesc \
         serialVersionUID = 0, local class serialVersionUID = 7\n\tat java.base"
    );
    Frame::Failure { id: *id, reason }
}

/// The failure of a client of this release, for a message that its endpoint does not accept.
fn failed(question: &Frame, release: &str) -> Frame {
    let Frame::Request { id, .. } = question else { panic!("{question:?}") };
    let (envelope, object) = opened(question).expect("it has a body");
    assert_eq!(envelope.expect("it has one").endpoint, "client");
    assert_eq!(object, messages::answer(true), "an object of Java's own");
    Frame::Response { id: *id, body: read(&recording(&format!("failures/{release}"))).into() }
}

/// A connection that has received a recorded submission and knows the client's release, with the effects.
fn heard(version: &str, release: &str) -> (Bench, Vec<Effect>) {
    let mut bench = Bench::default();
    let frames = said(version, "to");
    bench.hear(frames[0].clone());
    let heard = bench.hear(frames[1].clone());
    let [Effect::Send(question)] = &heard[..] else { panic!("{heard:?}") };
    let heard = bench.hear(failed(question, release));
    (bench, heard)
}

fn request(version: &str, number: usize) -> FromClient {
    let (_, object) = opened(&said(version, "to")[number]).expect("it has a body");
    match messages::read(&object) {
        Ok(Message::Client(message)) => *message,
        other => panic!("{version}: {other:?}"),
    }
}

fn submission(version: &str) -> DriverSubmission {
    match request(version, 1).request {
        ClientRequest::SubmitDriver(submission) => *submission,
        other => panic!("{version}: {other:?}"),
    }
}

/// The possible releases of a submitted cluster driver, as the Master is told.
fn releases_of(effects: &[Effect]) -> Vec<String> {
    let [ClientToMaster::RequestSubmitDriver(description)] = &asked(effects)[..] else {
        panic!("{effects:?}")
    };
    SparkDriver::of(&description.command).expect("it is one").expect("it is sound").command.releases
}

/// The Master's answer to a submission, as the client receives it.
fn answered(bench: &mut Bench, answer: SubmitDriverAnswer) -> Bytes {
    let answer = Outbound::Client(MasterToClient::SubmitDriverResponse(answer));
    body(&only_frame(bench.tell(FIRST, answer)))
}

#[test]
fn a_submission_becomes_a_cluster_driver_with_spark_s_variables_alone() {
    for (version, release, numbers) in RELEASES {
        let (_, heard) = heard(version, release);
        let submission = submission(version);
        assert!(submission.command.environment.contains_key("HOME"), "the client sends all that it has");
        let [ClientToMaster::RequestSubmitDriver(description)] = &asked(&heard)[..] else {
            panic!("{heard:?}")
        };
        let DriverDescription { user, command, cores, memory, supervise, resources } =
            (**description).clone();
        assert!(resources.is_empty(), "{resources:?}");
        assert_eq!((user.as_str(), cores, memory, supervise), ("spark-submit", Cores(1), MiB(512), false));
        assert_eq!(command.to_string(), "{{SPARK}} Pi hello");
        let SparkDriver { jar, command } =
            SparkDriver::of(&command).expect("it is one").expect("it is sound");
        assert!(jar.starts_with("file:/") && jar.ends_with("pi.jar"), "{jar}");
        assert_eq!(command.main_class, "Pi");
        let variables: Vec<&String> = command.environment.keys().collect();
        assert!(variables.iter().all(|name| name.starts_with("SPARK_")), "{variables:?}");
        assert!(!command.environment.contains_key("SPARK_HOME"), "{variables:?}");
        assert!(command.java_options.iter().any(|option| option == "-Dspark.driver.memory=512m"));
        assert_eq!(command.releases, numbers);
    }
}

#[test]
fn a_submission_that_no_worker_can_start_is_refused() {
    let submission = submission("4.0.1");
    let refused = |change: &dyn Fn(&mut DriverSubmission)| {
        let mut changed = submission.clone();
        change(&mut changed);
        clients::submission(changed, &[], None).expect_err("it does not fit").to_string()
    };
    let hdfs = refused(&|submission| submission.jar = "hdfs://n/x.jar".to_owned());
    assert!(hdfs.starts_with("the driver's jar cannot be fetched from hdfs:: Workers copy it"), "{hdfs}");
    let gpu = refused(&|submission| submission.resources = [("gpu".to_owned(), -1)].into());
    assert!(gpu.contains("cannot have -1 addresses of gpu"), "{gpu}");
    for odd in [
        refused(&|submission| submission.command.main_class = "java.lang.Runtime".to_owned()),
        refused(&|submission| submission.command.arguments.truncate(2)),
        refused(&|submission| submission.command.arguments.rotate_left(1)),
    ] {
        assert!(odd.contains("submit it with spark-submit"), "{odd}");
    }
}

/// The classes in an object's graph, with their serial version ids.
fn classes(object: &Bytes) -> BTreeMap<String, i64> {
    let (graph, root) = java::read(object, Bounds::default()).expect("a stream");
    let mut found = BTreeMap::new();
    for name in NAMES {
        if let Some(class) = graph.find_class(name) {
            found.insert(name.to_owned(), class.serial);
        }
    }
    assert!(!found.is_empty(), "{root:?}");
    found
}

/// The classes of answers.
const NAMES: [&str; 7] = [
    "org.apache.spark.deploy.DeployMessages$SubmitDriverResponse",
    "org.apache.spark.deploy.DeployMessages$DriverStatusResponse",
    "org.apache.spark.deploy.master.DriverState$",
    "scala.Enumeration$Val",
    "scala.Some",
    "scala.None$",
    "scala.runtime.ModuleSerializationProxy",
];

/// A value as text, with everything that it refers to, except the insides of enumerations.
fn shown(node: Node<'_>) -> String {
    let Graph { .. } = node.graph;
    match node.object() {
        None => format!("{:?}", node.value),
        Some(Object::Text(text)) => format!("{text:?}"),
        Some(Object::Constant { name, .. }) => format!("constant {:?}", node.graph.object(*name)),
        Some(Object::Class(class)) => format!("class {}", node.graph.class(*class).name),
        Some(Object::Array { .. }) => "array".to_owned(),
        Some(Object::Instance { class, parts }) => {
            let line = node.graph.line(*class);
            let name = &node.graph.class(*class).name;
            if name.ends_with("DriverState$") || name.ends_with("None$") {
                return name.clone();
            }
            let fields = line.iter().zip(parts).flat_map(|(class, part)| {
                node.graph
                    .class(*class)
                    .fields
                    .iter()
                    .zip(&part.fields)
                    .map(|(field, value)| format!("{}: {}", field.name, shown(node.at(*value))))
            });
            format!("{name} {{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn body(frame: &Frame) -> Bytes {
    match frame {
        Frame::Response { body, .. } => body.clone(),
        other => panic!("{other:?}"),
    }
}

fn same(ours: &Bytes, theirs: &Bytes, version: &str) {
    let read = |object: &Bytes| {
        let (graph, value) = java::read(object, Bounds::default()).expect("a stream");
        shown(Node { graph: &graph, value })
    };
    assert_eq!(read(ours), read(theirs), "{version}");
    assert_eq!(classes(ours), classes(theirs), "{version}");
}

#[test]
fn answers_are_those_of_a_recorded_master_without_a_reference_to_it() {
    for (version, release, _) in RELEASES {
        let (mut bench, _) = heard(version, release);
        let recorded = said(version, "from");
        let id = {
            let (graph, value) = java::read(&body(&recorded[1]), Bounds::default()).expect("a stream");
            let node = Node { graph: &graph, value };
            let id = node.field("driverId").and_then(|option| option.field("value")).expect("it is given");
            id.text().expect("a text").to_owned()
        };
        let submitted = SubmitDriverAnswer::Submitted { driver: DriverId::new(id.as_str()) };
        let ours = answered(&mut bench, submitted);
        let fields = |object: &Bytes| {
            let (graph, value) = java::read(object, Bounds::default()).expect("a stream");
            let node = Node { graph: &graph, value };
            let field = |name: &str| shown(node.field(name).expect("a field"));
            ["success", "driverId", "message", "master"].map(field)
        };
        let ([ours_said @ .., master], [theirs @ .., _]) = (fields(&ours), fields(&body(&recorded[1])));
        assert_eq!(ours_said, theirs, "{version}");
        assert_eq!(master, "Null", "{version}: no client uses it");
        assert_eq!(classes(&ours), classes(&body(&recorded[1])), "{version}");

        let (graph, value) = java::read(&body(&recorded[2]), Bounds::default()).expect("a stream");
        let node = Node { graph: &graph, value };
        let option = |name: &str| {
            node.field(name)
                .and_then(|option| option.field("value"))
                .and_then(Node::text)
                .expect("a text")
                .to_owned()
        };
        let (host, port) = option("workerHostPort")
            .split_once(':')
            .map(|(host, port)| (host.to_owned(), port.to_owned()))
            .expect("both");
        let status = messages::DriverStatus {
            state: messages::DriverState::Running,
            worker: Some(option("workerId")),
            address: Some(Address { host, port: port.parse().expect("a port") }),
            exception: None,
        };
        let ours = ToClient::DriverStatusResponse(Some(status)).write(&request(version, 2).vocabulary);
        same(&ours.into(), &body(&recorded[2]), version);
    }
}

#[test]
fn the_master_s_words_are_spark_s() {
    let driver = || DriverId::new("driver-1");
    let submitted = clients::to_submitter(&SubmitDriverAnswer::Submitted { driver: driver() });
    let message = "Driver successfully submitted as driver-1".to_owned();
    assert_eq!(submitted, ToClient::SubmitDriverResponse { driver: Some("driver-1".to_owned()), message });
    let refused = clients::to_submitter(&SubmitDriverAnswer::Refused(RefusedDriver::NoProgram));
    let message = "the Master refuses the driver: a driver needs a program".to_owned();
    assert_eq!(refused, ToClient::SubmitDriverResponse { driver: None, message });
    let words = |answer| match clients::to_killer("driver-1", &answer) {
        ToClient::KillDriverResponse { success, message, .. } => (success, message),
        other => panic!("{other:?}"),
    };
    let asked = (true, "Kill request for driver-1 submitted".to_owned());
    assert_eq!(words(KillDriverAnswer::Asked { driver: driver() }), asked);
    assert_eq!(words(KillDriverAnswer::Killed { driver: driver() }), asked);
    let over = (false, "Driver driver-1 has already finished or does not exist".to_owned());
    let state = DriverState::Finished;
    assert_eq!(words(KillDriverAnswer::Over { driver: driver(), state }), over);
    assert_eq!(words(KillDriverAnswer::Unknown), over);
    assert_eq!(clients::to_watcher(None), ToClient::DriverStatusResponse(None));
}

/// A recorded submission whose class has another serial version id.
fn of_later_release() -> Frame {
    let mut request = said("4.0.1", "to").remove(1);
    let Frame::Request { body, .. } = &mut request else { panic!("a request") };
    let name = b"DeployMessages$RequestSubmitDriver";
    let at = body.windows(name.len()).position(|window| window == name).expect("it is there") + name.len();
    let mut later = body.to_vec();
    later[at] ^= 1;
    *body = later.into();
    request
}

#[test]
fn a_client_of_a_release_that_is_not_known_is_asked_for_all_classes_of_answers() {
    let mut bench = Bench::default();
    let (mut heard, mut questions) = (bench.hear(of_later_release()), 0);
    while let [Effect::Send(question @ Frame::Request { .. })] = &heard[..] {
        heard = bench.hear(told(question));
        questions += 1;
    }
    assert_eq!(questions, 4, "all classes of answers");
    assert!(releases_of(&heard).is_empty(), "it is not known here");
    let ours = answered(&mut bench, SubmitDriverAnswer::Refused(RefusedDriver::NoProgram));
    let classes = classes(&ours);
    assert_eq!(classes["org.apache.spark.deploy.DeployMessages$SubmitDriverResponse"], 7);
}

#[test]
fn a_client_tells_its_release_by_a_failure_of_which_it_logs_nothing() {
    for (version, release, numbers) in [
        ("3.5.7", "3.3.4", &["3.3"][..]),
        ("3.5.7", "3.4.4", &["3.4"]),
        ("3.5.7", "3.5.9", &["3.5"]),
        ("4.0.1", "4.0.1", &["4.0"]),
        ("4.0.1", "4.1.4", &["4.1"]),
        // It sends all variables, unlike 4.3.
        ("4.0.1", "4.2.1", &["4.2"]),
        ("4.0.1", "4.3.0", &["4.2"]),
    ] {
        let mut bench = Bench::default();
        let request = said(version, "to").remove(1);
        let questions = bench.hear(request.clone());
        assert_eq!(bench.hear(request.clone()), [], "it is asked already");
        let [Effect::Send(question)] = &questions[..] else { panic!("{questions:?}") };
        let heard = bench.hear(failed(question, release));
        assert_eq!(asked(&heard).len(), 2, "{release}: both requests are heard");
        let again = bench.hear(request);
        assert_eq!(releases_of(&again), numbers, "{release}: it is asked once");
    }
}

#[test]
fn a_client_that_tells_nothing_is_of_any_release_of_its_generation() {
    for (version, numbers) in [("3.5.7", &["3.3", "3.4", "3.5"][..]), ("4.0.1", &["4.0", "4.1", "4.2"])] {
        let accepted = |id| Frame::Response { id, body: Bytes::new() };
        let refused = |id| Frame::Failure { id, reason: "Could not find client.".to_owned() };
        for answer in [&accepted as &dyn Fn(i64) -> Frame, &refused] {
            let mut bench = Bench::default();
            let questions = bench.hear(said(version, "to").remove(1));
            let [Effect::Send(Frame::Request { id, .. })] = questions[..] else { panic!("{questions:?}") };
            assert_eq!(releases_of(&bench.hear(answer(id))), numbers);
        }
    }
}

/// 4.2 and 4.3 have the same failures, but only 4.2 sends all variables.
#[test]
fn a_client_that_sends_spark_s_variables_alone_is_of_4_3() {
    let whole = submission("4.0.1");
    let releases = |submission: &DriverSubmission, of: &[&str]| {
        let question = clients::submission(submission.clone(), of, None).expect("it fits");
        let ClientToMaster::RequestSubmitDriver(description) = question else { panic!("{question:?}") };
        SparkDriver::of(&description.command).expect("it is one").expect("it is sound").command.releases
    };
    let mut filtered = whole.clone();
    filtered.command.environment.retain(|name, _| name.starts_with("SPARK_"));
    let mut told = whole.clone();
    let setting = "-Dspark.standalone.submit.filterEnvironment=false";
    told.command.java_options.push(setting.to_owned());
    let both = ["4.2", "4.3"];
    assert_eq!(releases(&whole, &both), ["4.2"]);
    assert_eq!(releases(&filtered, &both), ["4.3"]);
    assert_eq!(releases(&told, &both), ["4.3"]);
    assert_eq!(releases(&filtered, &["4.1"]), ["4.1"]);
    let all = ["4.0", "4.1", "4.2", "4.3"];
    assert_eq!(releases(&whole, &all), ["4.0", "4.1", "4.2"]);
    assert_eq!(releases(&filtered, &all), ["4.3"]);
}

#[test]
fn requests_that_need_no_release_are_heard_at_once() {
    let heard = Bench::default().hear(said("4.0.1", "to").remove(2));
    assert!(matches!(asked(&heard)[..], [ClientToMaster::RequestDriverStatus { .. }]), "{heard:?}");
}

#[test]
fn a_client_of_a_release_that_is_not_known_and_tells_no_class_is_refused_with_a_sentence() {
    let mut bench = Bench::default();
    let questions = bench.hear(of_later_release());
    let [Effect::Send(Frame::Request { id, .. })] = questions[..] else { panic!("{questions:?}") };
    let heard = bench.hear(Frame::Response { id, body: Bytes::new() });
    let [Note::RequestRefused { reason }] = &notes(&heard)[..] else { panic!("{heard:?}") };
    assert!(reason.starts_with("this release of Spark does not tell"), "{reason}");
    assert!(matches!(heard[1..], [Effect::Send(Frame::Failure { .. })]), "{heard:?}");
}
