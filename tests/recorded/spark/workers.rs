//! What recorded Workers of Spark's say to a Master, and what a recorded Master says to them.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_spark::dialect::{Dialect, Fragment};
use firesteel_spark::envelope::Address;
use firesteel_spark::java::{
    self, Bounds, Class, ClassId, Field, FieldKind, Graph, Node, Object, Part, Value,
};
use firesteel_spark::messages::{
    self, ExecutorState, FromWorker, Launch, Message, RunningExecutor, ToWorker, Unreadable,
    WorkerRegistration,
};
use firesteel_spark::scala;

use crate::drivers::{description, sent_to};

const VERSIONS: [&str; 4] = ["3.5.7", "4.0.1", "4.1.4", "4.3.0"];

/// Reads a message of a Worker's.
pub(crate) fn from_worker(object: &[u8]) -> Result<FromWorker, Unreadable> {
    match messages::read(object)? {
        Message::Worker(message) => Ok(message),
        message @ (Message::Driver(_) | Message::Client(_) | Message::Readyz) => {
            panic!("{message:?} is no Worker's")
        }
    }
}

fn said(version: &str) -> Vec<FromWorker> {
    let read = |object: Bytes| from_worker(&object).unwrap_or_else(|error| panic!("{version}: {error}"));
    sent_to(&format!("spark-{version}/worker-to-master"), "Master").into_iter().map(read).collect()
}

pub(crate) fn worker(version: &str) -> WorkerRegistration {
    match said(version).into_iter().next() {
        Some(FromWorker::RegisterWorker(registration)) => *registration,
        other => panic!("a Worker of {version} begins with {other:?}"),
    }
}

fn address(port: u16) -> Address {
    Address { host: "127.0.0.1".to_owned(), port }
}

#[test]
fn a_worker_is_read_as_it_described_itself() {
    for version in VERSIONS {
        let worker = worker(version);
        assert!(worker.worker.starts_with("worker-20261120") && worker.worker.ends_with("-127.0.0.1-17079"));
        assert_eq!((worker.cores, worker.memory, worker.address), (2, 2048, address(17079)), "{version}");
        assert_eq!((worker.web_ui_url.as_str(), worker.master), ("http://127.0.0.1:18081", address(7078)));
        assert!(worker.resources.is_empty() && worker.dialect.vocabulary.is_known, "{version}");
    }
}

#[test]
fn a_worker_s_messages_are_read_in_order() {
    for version in VERSIONS {
        let said = said(version);
        let id = worker(version).worker;
        let [_, latest, heartbeats @ .., runs, ends] = &said[..] else { panic!("{version}: {said:?}") };
        let nothing =
            FromWorker::WorkerLatestState { worker: id.clone(), executors: Vec::new(), drivers: Vec::new() };
        assert_eq!(*latest, nothing, "{version}");
        for heartbeat in heartbeats {
            assert_eq!(*heartbeat, FromWorker::Heartbeat { worker: id.clone() }, "{version}");
        }
        let FromWorker::ExecutorStateChanged { app, executor: 0, state, message: None, exit_status: None } =
            runs
        else {
            panic!("{version}: {runs:?}")
        };
        assert_eq!(*state, ExecutorState::Running, "{version}");
        let FromWorker::ExecutorStateChanged { state, message, exit_status: Some(_), .. } = ends else {
            panic!("{version}: {ends:?}")
        };
        let why = format!("Runner thread for executor {app}/0 interrupted");
        assert_eq!(*state, ExecutorState::Killed, "{version}");
        // Spark 3.5 gives no reason.
        assert_eq!(message.as_ref(), (version != "3.5.7").then_some(&why), "{version}");
    }
}

/// A class of Java's with these fields.
fn class(graph: &mut Graph, name: &str, fields: &[(&str, FieldKind)]) -> ClassId {
    let fields = fields.iter().map(|(name, kind)| Field { name: (*name).to_owned(), kind: *kind }).collect();
    graph.add_class(Class {
        name: name.to_owned(),
        serial: 1,
        flags: Class::SERIALIZABLE,
        fields,
        parent: None,
    })
}

fn object(graph: &mut Graph, class: ClassId, fields: &[Value]) -> Value {
    let part = Part { fields: fields.to_vec(), contents: Vec::new() };
    Value::Object(graph.add_object(Object::Instance { class, parts: vec![part] }))
}

/// What a Worker says that runs this number of executors, in the state that a recorded Worker reported.
fn latest_state(version: &str, count: i32) -> Vec<u8> {
    let report = sent_to(&format!("spark-{version}/worker-to-master"), "Master").pop().expect("it reports");
    let (mut graph, root) = java::read(&report, Bounds::default()).expect("a recorded object can be read");
    let state = Node { graph: &graph, value: root }.field("state").expect("there is one").value;
    let any = FieldKind::Object(graph.add_object(Object::Text("Ljava/lang/Object;".to_owned())));
    let numbers = ["cores", "execId", "memoryMb", "rpId"].map(|name| (name, FieldKind::Int));
    let fields = [&numbers[..], &[("appId", any), ("state", any)]].concat();
    let described = class(&mut graph, "org.apache.spark.deploy.ExecutorDescription", &fields);
    let text = |graph: &mut Graph, text: &str| Value::Object(graph.add_object(Object::Text(text.to_owned())));
    let app = text(&mut graph, "app-1");
    let executor = |graph: &mut Graph, number| {
        let numbers = [2, number, 512, 1].map(Value::Int);
        object(graph, described, &[&numbers[..], &[app, state]].concat())
    };
    let executors: Vec<Value> = (0..count).map(|number| executor(&mut graph, number)).collect();
    let array = class(&mut graph, "[Ljava.lang.Object;", &[]);
    let sequence = class(&mut graph, "scala.collection.immutable.ArraySeq$ofRef", &[("unsafeArray", any)]);
    let seq = |graph: &mut Graph, elements| {
        let elements = Value::Object(graph.add_object(Object::Array { class: array, elements }));
        object(graph, sequence, &[elements])
    };
    let driver = text(&mut graph, "driver-1");
    let (executors, drivers) = (seq(&mut graph, executors), seq(&mut graph, vec![driver]));
    let fields = [("driverIds", any), ("executors", any), ("id", any)];
    let message = class(&mut graph, "org.apache.spark.deploy.DeployMessages$WorkerLatestState", &fields);
    let id = text(&mut graph, "worker-1");
    let root = object(&mut graph, message, &[drivers, executors, id]);
    java::write(&graph, root)
}

#[test]
fn a_worker_that_comes_back_tells_what_runs_on_it() {
    for version in ["3.5.7", "4.0.1"] {
        let executor = |number| RunningExecutor {
            app: "app-1".to_owned(),
            executor: number,
            profile: 1,
            cores: 2,
            memory: 512,
            state: ExecutorState::Killed,
        };
        let expected = FromWorker::WorkerLatestState {
            worker: "worker-1".to_owned(),
            executors: (0..3).map(executor).collect(),
            drivers: vec!["driver-1".to_owned()],
        };
        assert_eq!(from_worker(&latest_state(version, 3)), Ok(expected), "{version}");
    }
    // More executors than a Worker has cores, and still within the bounds of a message.
    let Ok(FromWorker::WorkerLatestState { executors, .. }) = from_worker(&latest_state("4.0.1", 10_000))
    else {
        panic!("it can be read")
    };
    assert_eq!(executors.len(), 10_000);
}

/// The message that a recorded Master sent, read back.
fn read_back(version: &str, object: &Bytes) -> ToWorker {
    let (graph, value) = java::read(object, Bounds::default()).expect("a recorded object can be read");
    let node = Node { graph: &graph, value };
    let field = |name: &str| node.field(name).unwrap_or_else(|| panic!("{name} is a field"));
    let int = |name| field(name).int().expect("an int");
    let text = |name| field(name).text().expect("a text").to_owned();
    let rpc = |node: Node<'_>| Address {
        host: node.field("host").and_then(Node::text).expect("a host").to_owned(),
        port: node
            .field("port")
            .and_then(Node::int)
            .and_then(|port| u16::try_from(port).ok())
            .expect("a port"),
    };
    match node.class_name().expect("an object").rsplit('$').next() {
        Some("RegisteredWorker") => {
            let endpoint = field("master").field("endpointAddress").expect("an address");
            ToWorker::RegisteredWorker {
                master: rpc(endpoint.field("rpcAddress").expect("an address")),
                dialled: rpc(field("masterAddress")),
                web_ui_url: text("masterWebUiUrl"),
                is_duplicate: false,
            }
        }
        Some("LaunchExecutor") => {
            let resources = scala::entries(field("resources")).expect("a map");
            assert!(resources.is_empty());
            ToWorker::LaunchExecutor(Box::new(Launch {
                master_url: text("masterUrl"),
                app: text("appId"),
                executor: int("execId"),
                profile: int("rpId"),
                description: Fragment::read(&description(version)).expect("a stream"),
                cores: int("cores"),
                memory: int("memory"),
                resources: BTreeMap::new(),
            }))
        }
        Some("KillExecutor") => ToWorker::KillExecutor {
            master_url: text("masterUrl"),
            app: text("appId"),
            executor: int("execId"),
        },
        Some("ApplicationFinished") => ToWorker::ApplicationFinished { app: text("id") },
        other => panic!("a Master does not send {other:?}"),
    }
}

#[test]
fn a_master_s_messages_to_workers_are_written_as_spark_s_master_wrote_them() {
    for version in VERSIONS {
        let dialect = worker(version).dialect;
        let sent = sent_to(&format!("spark-{version}/master-to-worker"), "Worker");
        assert_eq!(sent.len(), 4, "{version}");
        for object in sent {
            let message = read_back(version, &object);
            assert!(message.write(&dialect) == object, "{version}: {message:?} is written otherwise");
        }
    }
}

/// The resources that a message to launch an executor has.
fn resources(launch: &ToWorker, dialect: &Dialect) -> BTreeMap<String, Vec<String>> {
    let written = launch.write(dialect);
    let (graph, value) = java::read(&written, Bounds::default()).expect("a stream");
    let map = Node { graph: &graph, value }.field("resources").expect("a field");
    let entries = scala::entries(map).expect("a map").into_iter();
    entries
        .map(|(key, value)| {
            let addresses = value.field("addresses").and_then(Node::elements).expect("an array");
            let addresses = addresses.map(|address| address.text().expect("a text").to_owned()).collect();
            assert_eq!(value.field("name").and_then(Node::text), key.text());
            (key.text().expect("a text").to_owned(), addresses)
        })
        .collect()
}

#[test]
fn an_executor_is_told_the_addresses_of_its_resources() {
    for version in ["3.5.7", "4.0.1"] {
        let dialect = worker(version).dialect;
        let names = ["fpga", "gpu", "npu"];
        for count in 0..=names.len() {
            let addresses = |name: &&str| ((*name).to_owned(), vec![format!("{name}-0"), "1".to_owned()]);
            let given: BTreeMap<_, _> = names[..count].iter().map(addresses).collect();
            let launch = ToWorker::LaunchExecutor(Box::new(Launch {
                master_url: "spark://master:7077".to_owned(),
                app: "app-1".to_owned(),
                executor: 3,
                profile: 0,
                description: Fragment::read(&description(version)).expect("a stream"),
                cores: 1,
                memory: 512,
                resources: given.clone(),
            }));
            assert_eq!(resources(&launch, &dialect), given, "{version}");
        }
    }
}
