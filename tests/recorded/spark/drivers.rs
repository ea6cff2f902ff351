//! Recorded messages of drivers to a Master, and of a Master to them.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use firesteel_spark::dialect::{ClassNames, Dialect, Generation, Release};
use firesteel_spark::envelope::Address;
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Class, Field, FieldKind, Graph, Node, Object, Part, Value};
use firesteel_spark::messages::{
    self, ExecutorState, FromDriver, Message, Registration, ToDriver, Unreadable, WantedExecutors,
};
use firesteel_spark::scala;

use crate::recorded::{connections, frames, opened};

pub(crate) fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/spark").join(format!("{name}.bin"))
}

/// The objects of messages to an endpoint.
pub(crate) fn sent_to(name: &str, endpoint: &str) -> Vec<Bytes> {
    let frames = frames(&recording(name));
    let opened = frames.iter().filter_map(opened);
    opened
        .filter(|(envelope, _)| envelope.as_ref().is_some_and(|it| it.endpoint == endpoint))
        .map(|(_, object)| object)
        .collect()
}

/// Reads a driver's message.
pub(crate) fn from_driver(object: &[u8]) -> Result<FromDriver, Unreadable> {
    match messages::read(object)? {
        Message::Driver(message) => Ok(message),
        message @ (Message::Worker(_) | Message::Client(_) | Message::Readyz) => {
            panic!("{message:?} is no driver's")
        }
    }
}

fn said(name: &str) -> Vec<FromDriver> {
    let read = |object: Bytes| from_driver(&object).unwrap_or_else(|error| panic!("{name}: {error}"));
    sent_to(name, "Master").into_iter().map(read).collect()
}

/// The description of a recorded driver's application.
pub(crate) fn description(version: &str) -> Bytes {
    registration(&format!("spark-{version}/driver-to-master")).application.command.description
}

pub(crate) fn registration(name: &str) -> Registration {
    match said(name).into_iter().next() {
        Some(FromDriver::RegisterApplication(registration)) => *registration,
        other => panic!("{name} begins with {other:?}"),
    }
}

/// A driver of that release.
fn dialect(version: &str) -> Dialect {
    registration(&format!("spark-{version}/driver-to-master")).dialect
}

#[test]
fn an_application_is_read_as_its_driver_described_it() {
    let rows = [
        ("3.5.7", Generation::Scala2_12, Release::V3_4To3_5),
        ("4.0.1", Generation::Scala2_13, Release::V4_0),
        ("4.1.4", Generation::Scala2_13, Release::V4_1To4_2),
        ("4.3.0", Generation::Scala2_13, Release::V4_3),
    ];
    for (version, generation, release) in rows {
        let Registration { application, dialect, .. } =
            registration(&format!("spark-{version}/driver-to-master"));
        assert_eq!(
            (dialect.vocabulary.generation, dialect.release),
            (generation, Some(release)),
            "{version}"
        );
        assert_eq!(dialect.reference.address.host, "127.0.0.1");
        assert_eq!((application.name.as_str(), application.user.as_str()), ("wire-demo", "root"));
        assert_eq!((application.max_cores, application.initial_limit), (None, None));
        assert_eq!((application.profile.id, application.profile.amounts["memory"]), (0, 512));
        let command = application.command;
        assert_eq!(command.main_class, "org.apache.spark.executor.CoarseGrainedExecutorBackend");
        let url = format!("spark://CoarseGrainedScheduler@127.0.0.1:{}", dialect.reference.address.port);
        let arguments = [
            "--driver-url",
            &url,
            "--executor-id",
            "{{EXECUTOR_ID}}",
            "--hostname",
            "{{HOSTNAME}}",
            "--cores",
            "{{CORES}}",
            "--app-id",
            "{{APP_ID}}",
            "--worker-url",
            "{{WORKER_URL}}",
            "--resourceProfileId",
            "{{RESOURCE_PROFILE_ID}}",
        ];
        assert_eq!(command.arguments, arguments, "{version}");
        assert_eq!(command.environment["SPARK_USER"], "root");
        assert_eq!(
            command.java_options[0],
            format!("-Dspark.driver.port={}", dialect.reference.address.port)
        );
        assert!(command.class_path.is_empty() && command.library_path.is_empty());
    }
}

#[test]
fn what_is_shown_of_a_registration_has_neither_values_of_variables_nor_options() {
    let shown = format!("{:?}", registration("spark-4.0.1/driver-to-master"));
    assert!(shown.contains("SPARK_USER") && shown.contains("{{EXECUTOR_ID}}"), "{shown}");
    assert!(
        !shown.contains("-Dspark.driver.port") && !shown.contains("IgnoreUnrecognizedVMOptions"),
        "{shown}"
    );
}

#[test]
fn every_message_to_a_recorded_master_can_be_read() {
    let mut read = 0;
    for path in connections() {
        for (envelope, object) in frames(&path).iter().filter_map(opened) {
            let Some(envelope) = envelope else { continue };
            match envelope.endpoint.as_str() {
                "endpoint-verifier" => {
                    let asked =
                        messages::asked_endpoint(&object).unwrap_or_else(|error| panic!("{path:?}: {error}"));
                    assert!(["Master", "Worker"].contains(&asked.as_str()), "{path:?}: {asked}");
                }
                "Master" => match messages::read(&object) {
                    Ok(_) => read += 1,
                    // Messages of clients that submit drivers.
                    Err(Unreadable::Unknown(class)) => {
                        assert!(class.starts_with("org.apache.spark."), "{class}")
                    }
                    Err(error) => panic!("{path:?}: {error}"),
                },
                _ => {}
            }
        }
    }
    assert!(read > 70, "only {read} messages");
}

#[test]
fn a_driver_asks_for_executors_of_each_profile_and_ends_some() {
    for version in ["3.5.7", "4.0.1"] {
        let said = said(&format!("spark-{version}/dynalloc-driver-to-fakemaster"));
        let FromDriver::RequestExecutors { app, wanted: WantedExecutors::ByProfile(totals) } = &said[1]
        else {
            panic!("{version}: {:?}", said[1])
        };
        let (profile, total) = &totals[0];
        assert!(app.starts_with("app-2026") && totals.len() == 1, "{version}: {totals:?}");
        assert_eq!((profile.id, *total, profile.amounts["cores"], profile.amounts["memory"]), (0, 0, 1, 512));
        let ends = said.iter().filter_map(|message| match message {
            FromDriver::KillExecutors { executors, .. } => Some(executors.concat()),
            _ => None,
        });
        assert!(ends.count() > 2, "{version}");
        let Some(FromDriver::UnregisterApplication { app: Some(last) }) = said.last() else {
            panic!("{version}: {:?}", said.last())
        };
        assert_eq!(last, app);
    }
}

#[test]
fn a_driver_takes_note_of_another_master() {
    for version in ["3.5.7", "4.0.1"] {
        let said = said(&format!("spark-{version}/driver-to-restarted-master"));
        assert!(
            matches!(&said[..], [FromDriver::MasterChangeAcknowledged { app }] if app.starts_with("app-2026"))
        );
    }
}

/// A registration of Spark 3.5 in the form of 3.3, with the executors' needs in the application's own fields.
fn registration_of_spark_3_3() -> Vec<u8> {
    let recorded = &sent_to("spark-3.5.7/driver-to-master", "Master")[0];
    let (mut graph, root) = java::read(recorded, Bounds::default()).expect("a recorded object can be read");
    let Value::Object(message) = root else { panic!("a message is an object") };
    let value = |graph: &Graph, name: &str| {
        let application = Node { graph, value: root }.field("appDescription").expect("there is one");
        application.field(name).map(|field| field.value)
    };
    let names = ["appUiUrl", "command", "coresPerExecutor", "initialExecutorLimit", "maxCores", "name"];
    let names = [&names[..], &["resourceReqsPerExecutor", "user"]].concat();
    let kind = graph.add_object(Object::Text("Ljava/lang/Object;".to_owned()));
    let mut fields = vec![Field { name: "memoryPerExecutorMB".to_owned(), kind: FieldKind::Int }];
    fields.extend(names.iter().map(|name| Field { name: (*name).to_owned(), kind: FieldKind::Object(kind) }));
    let of = |name: &&str| match *name {
        "coresPerExecutor" => value(&graph, "maxCores"),
        "resourceReqsPerExecutor" => {
            let command = value(&graph, "command").expect("there is one");
            Node { graph: &graph, value: command }.field("classPathEntries").map(|empty| empty.value)
        }
        name => value(&graph, name),
    };
    let mut values = vec![Value::Int(512)];
    values.extend(names.iter().map(|name| of(name).expect("3.5 has it too")));
    let class = graph.add_class(Class {
        name: "org.apache.spark.deploy.ApplicationDescription".to_owned(),
        serial: 1_574_364_215_946_805_297,
        flags: Class::SERIALIZABLE,
        fields,
        parent: None,
    });
    let part = Part { fields: values, contents: Vec::new() };
    let application = graph.add_object(Object::Instance { class, parts: vec![part] });
    assert!(graph.set_field(message, "appDescription", Value::Object(application)));
    java::write(&graph, root)
}

#[test]
fn an_application_of_spark_3_3_says_in_fields_of_its_own_what_executors_need() {
    let written = registration_of_spark_3_3();
    let Ok(FromDriver::RegisterApplication(registration)) = from_driver(&written) else {
        panic!("{:?}", from_driver(&written))
    };
    let Registration { application, dialect, .. } = *registration;
    assert_eq!((application.name.as_str(), application.profile.id), ("wire-demo", 0));
    assert_eq!(application.profile.amounts.into_iter().collect::<Vec<_>>(), [("memory".to_owned(), 512)]);
    // No release combines this class with a reference of 3.5.
    assert_eq!((dialect.vocabulary.generation, dialect.release), (Generation::Scala2_12, None));
}

#[test]
fn a_profile_that_is_something_else_is_named() {
    let recorded = &sent_to("spark-4.0.1/driver-to-master", "Master")[0];
    let (mut graph, root) = java::read(recorded, Bounds::default()).expect("a recorded object can be read");
    let application =
        Node { graph: &graph, value: root }.field("appDescription").expect("there is one").value;
    let Value::Object(id) = application else { panic!("an application is an object") };
    let text = Value::Object(graph.add_object(Object::Text("small".to_owned())));
    assert!(graph.set_field(id, "defaultProfile", text));
    let refused = from_driver(&java::write(&graph, root)).expect_err("it is refused").to_string();
    assert_eq!(
        refused,
        "the field defaultProfile of ApplicationDescription: found java.lang.String instead of ResourceProfile"
    );
}

#[test]
fn a_reference_that_refers_to_itself_is_sent_back_as_such() {
    let recorded = &sent_to("spark-4.0.1/driver-to-master", "Master")[0];
    let (mut graph, root) = java::read(recorded, Bounds::default()).expect("a recorded object can be read");
    let driver = Node { graph: &graph, value: root }.field("driver").expect("there is one").value;
    let Value::Object(id) = driver else { panic!("a reference is an object") };
    assert!(graph.set_field(id, "defaultAskTimeout", driver));
    let Ok(FromDriver::RegisterApplication(registration)) = from_driver(&java::write(&graph, root)) else {
        panic!("it is a registration")
    };
    let master = Address { host: "master".to_owned(), port: 7077 };
    let answer = ToDriver::RegisteredApplication { app: "app-1".to_owned(), master };
    let written = Bytes::from(answer.write(&registration.dialect));
    assert_eq!(read_back(&written), answer);
}

#[test]
fn a_reference_that_is_too_large_or_too_deep_is_refused() {
    // Elements of an array that each refer to the previous one, which a stream does not nest.
    let chain = |count: usize| {
        let recorded = &sent_to("spark-4.0.1/driver-to-master", "Master")[0];
        let (mut graph, root) =
            java::read(recorded, Bounds::default()).expect("a recorded object can be read");
        let driver = Node { graph: &graph, value: root }.field("driver").expect("there is one").value;
        let Value::Object(id) = driver else { panic!("a reference is an object") };
        let name = "[Ljava.lang.Object;".to_owned();
        let class = Class { name, serial: 1, flags: Class::SERIALIZABLE, fields: Vec::new(), parent: None };
        let class = graph.add_class(class);
        let mut elements = vec![Value::Null];
        for _ in 0..count {
            let last = *elements.last().expect("there is one");
            elements.push(Value::Object(graph.add_object(Object::Array { class, elements: vec![last] })));
        }
        let last = *elements.last().expect("there is one");
        let holder = graph.add_object(Object::Array { class, elements: elements.clone() });
        assert!(graph.set_field(id, "defaultAskTimeout", last));
        // The array comes first in the stream, so that nothing in it is nested.
        let application =
            Node { graph: &graph, value: root }.field("appDescription").expect("there is one").value;
        let Value::Object(application) = application else { panic!("an application is an object") };
        assert!(graph.set_field(application, "appUiUrl", Value::Object(holder)));
        from_driver(&java::write(&graph, root)).expect_err("it is refused").to_string()
    };
    let too_large = "the field driver of RegisterApplication: found org.apache.spark.rpc.netty.NettyRpcEndpointRef \
                     instead of a reference of at most 256 values";
    for count in [100, 2_000] {
        assert_eq!(chain(count), too_large, "{count}");
    }
}

#[test]
fn a_reference_with_a_class_of_ours_changes_no_class_of_ours() {
    let recorded = &sent_to("spark-4.0.1/driver-to-master", "Master")[0];
    let (mut graph, root) = java::read(recorded, Bounds::default()).expect("a recorded object can be read");
    let driver = Node { graph: &graph, value: root }.field("driver").expect("there is one").value;
    let Value::Object(id) = driver else { panic!("a reference is an object") };
    let name = "org.apache.spark.deploy.DeployMessages$RegisteredApplication".to_owned();
    let fields = Vec::new();
    let class = graph.add_class(Class { name, serial: 1, flags: Class::SERIALIZABLE, fields, parent: None });
    let parts = vec![Part::default()];
    let empty = graph.add_object(Object::Instance { class, parts });
    assert!(graph.set_field(id, "defaultAskTimeout", Value::Object(empty)));
    let Ok(FromDriver::RegisterApplication(registration)) = from_driver(&java::write(&graph, root)) else {
        panic!("it is a registration")
    };
    let master = Address { host: "master".to_owned(), port: 7077 };
    let answer = ToDriver::RegisteredApplication { app: "app-1".to_owned(), master };
    let written = Bytes::from(answer.write(&registration.dialect));
    assert_eq!(read_back(&written), answer);
}

#[test]
fn the_serial_version_ids_of_a_release_that_is_not_known_are_asked_of_its_driver() {
    for (version, generation) in [("3.5.7", Generation::Scala2_12), ("4.0.1", Generation::Scala2_13)] {
        let known = dialect(version);
        assert_eq!((known.vocabulary.is_known, known.vocabulary.to_ask()), (true, Vec::new()));
        // The registration of a later release, whose class has an unknown id.
        let recorded = &sent_to(&format!("spark-{version}/driver-to-master"), "Master")[0];
        let serial = b"DeployMessages$RegisterApplication";
        let at = recorded.windows(serial.len()).position(|window| window == serial).expect("it is there")
            + serial.len();
        let mut later = recorded.to_vec();
        later[at] ^= 1;
        let Ok(FromDriver::RegisterApplication(registration)) = from_driver(&later) else {
            panic!("it is a registration")
        };
        let mut dialect = registration.dialect;
        assert_eq!((dialect.vocabulary.is_known, dialect.vocabulary.generation), (false, generation));
        // The answers of a real driver of this release.
        let answers = frames(&recording(&format!("spark-{version}/suidprobe-driver-to-fakemaster")));
        let answers: Vec<&String> = answers
            .iter()
            .filter_map(|frame| match frame {
                Frame::Failure { reason, .. } => Some(reason),
                _ => None,
            })
            .collect();
        assert_eq!(dialect.vocabulary.to_ask().len(), 7);
        for class in dialect.vocabulary.to_ask() {
            let (graph, value) =
                java::read(&ClassNames::question(class), Bounds::default()).expect("a stream");
            assert_eq!(Node { graph: &graph, value }.class_name(), Some(class));
            let about = |answer: &&&String| {
                answer.lines().next().is_some_and(|line| line.contains(&format!("{class};")))
            };
            let answer =
                answers.iter().find(about).unwrap_or_else(|| panic!("{version} was asked for {class}"));
            dialect.vocabulary.learn(class, answer).expect("it says which");
        }
        assert!(dialect.vocabulary.to_ask().is_empty());
        let added = read_back(&sent_to(&format!("spark-{version}/master-to-driver"), "AppClient")[1]);
        assert_eq!(added.write(&dialect), added.write(&known));
    }
}

#[test]
fn an_answer_that_tells_no_serial_version_id_is_named() {
    let mut vocabulary = dialect("4.0.1").vocabulary;
    let class = "org.apache.spark.deploy.ExecutorState$";
    let failure =
        format!("java.lang.ClassNotFoundException: {class}\n\tat java.base/java.net.URLClassLoader");
    let refused = vocabulary.learn(class, &failure).expect_err("the class is not there").to_string();
    assert_eq!(
        refused,
        "this release of Spark does not tell the serial version id of org.apache.spark.deploy.ExecutorState$: \
         java.lang.ClassNotFoundException: org.apache.spark.deploy.ExecutorState$"
    );
    for failure in
        ["", "local class serialVersionUID = 1", &format!("{class}; local class serialVersionUID = x")]
    {
        assert!(vocabulary.learn(class, failure).is_err(), "{failure}");
    }
}

/// The text in a field of a recorded message.
fn text(object: &Bytes, field: &str) -> String {
    let (graph, value) = java::read(object, Bounds::default()).expect("a recorded object can be read");
    let node = Node { graph: &graph, value };
    node.field(field).and_then(Node::text).unwrap_or_else(|| panic!("{field} is a text")).to_owned()
}

/// Reads a recorded Master's message back.
fn read_back(object: &Bytes) -> ToDriver {
    let (graph, value) = java::read(object, Bounds::default()).expect("a recorded object can be read");
    let node = Node { graph: &graph, value };
    let field = |name: &str| node.field(name).unwrap_or_else(|| panic!("{name} is a field"));
    let int = |name| field(name).int().expect("an int");
    let text = |name| text(object, name);
    let option = |name| scala::option(field(name)).expect("an option");
    let optional_text = |name| option(name).map(|value| value.text().expect("a text").to_owned());
    let master = || {
        let rpc = field("master")
            .field("endpointAddress")
            .and_then(|it| it.field("rpcAddress"))
            .expect("an address");
        let port = rpc.field("port").and_then(Node::int).expect("a port");
        let host = rpc.field("host").and_then(Node::text).expect("a host").to_owned();
        Address { host, port: u16::try_from(port).expect("a port") }
    };
    let class = node.class_name().expect("an object").rsplit('$').next().expect("a name").to_owned();
    match class.as_str() {
        "RegisteredApplication" => ToDriver::RegisteredApplication { app: text("appId"), master: master() },
        "ExecutorAdded" => {
            let address = text("hostPort");
            let (host, port) = address.split_once(':').expect("host and port");
            let address = Address { host: host.to_owned(), port: port.parse().expect("a port") };
            let (executor, cores, memory) = (int("id"), int("cores"), int("memory"));
            ToDriver::ExecutorAdded { executor, worker: text("workerId"), address, cores, memory }
        }
        "ExecutorUpdated" => {
            let (_, number) = scala::enumeration_id(field("state")).expect("a state");
            let states =
                [ExecutorState::Running, ExecutorState::Killed, ExecutorState::Lost, ExecutorState::Exited];
            ToDriver::ExecutorUpdated {
                executor: int("id"),
                state: states.into_iter().find(|state| *state as i32 == number).expect("a state"),
                message: optional_text("message"),
                exit_status: option("exitStatus").map(|status| scala::integer(status).expect("an integer")),
                lost_host: optional_text("workerHost"),
            }
        }
        "WorkerRemoved" => {
            ToDriver::WorkerRemoved { worker: text("id"), host: text("host"), message: text("message") }
        }
        "ApplicationRemoved" => ToDriver::ApplicationRemoved { message: text("message") },
        "MasterChanged" => ToDriver::MasterChanged { master: master(), web_ui_url: text("masterWebUiUrl") },
        other => panic!("a Master does not send {other}"),
    }
}

#[test]
fn a_master_s_messages_are_written_as_spark_s_master_wrote_them() {
    let rows = [
        ("3.5.7", &["master-to-driver", "failures-master-to-driver", "restarted-master-to-driver"][..]),
        ("4.0.1", &["master-to-driver", "failures-master-to-driver", "restarted-master-to-driver"]),
        ("4.1.4", &["master-to-driver"]),
        ("4.3.0", &["master-to-driver"]),
    ];
    let mut kinds = std::collections::BTreeSet::new();
    for (version, names) in rows {
        let dialect = dialect(version);
        for name in names {
            for object in sent_to(&format!("spark-{version}/{name}"), "AppClient") {
                let message = read_back(&object);
                kinds.insert(format!("{message:?}").split(' ').next().map(str::to_owned));
                let written = message.write(&dialect);
                // With Scala 2.12 a state also contains the JVM's knowledge of all states.
                if matches!(
                    (&message, dialect.vocabulary.generation),
                    (ToDriver::ExecutorUpdated { .. }, Generation::Scala2_12)
                ) {
                    assert_eq!(read_back(&Bytes::from(written)), message, "{version} {name}");
                } else {
                    assert!(written == object, "{version} {name}: {message:?} is written otherwise");
                }
            }
        }
    }
    assert_eq!(kinds.len(), 6, "{kinds:?}");
}

#[test]
fn yes_is_written_as_spark_s_master_wrote_it() {
    for version in ["3.5.7", "4.0.1", "4.1.4", "4.3.0"] {
        let frames = frames(&recording(&format!("spark-{version}/master-to-driver")));
        let Frame::Response { body, .. } = &frames[0] else { panic!("{version}: {:?}", frames[0]) };
        assert_eq!(&messages::answer(true)[..], body, "{version}");
        assert_ne!(&messages::answer(false)[..], body, "{version}");
    }
}

#[test]
fn what_is_no_message_of_a_driver_s_is_named() {
    let answer = &sent_to("spark-4.0.1/master-to-driver", "AppClient")[0];
    assert_eq!(
        from_driver(answer).expect_err("a Master says it").to_string(),
        "unknown message class org.apache.spark.deploy.DeployMessages$RegisteredApplication"
    );
    let null = [0xac, 0xed, 0, 5, 0x70];
    assert_eq!(from_driver(&null), Err(Unreadable::Unknown("null".to_owned())));
    assert_eq!(
        from_driver(b"GET /").expect_err("it is HTTP").to_string(),
        "not a stream of Java objects, at byte 4"
    );
}
