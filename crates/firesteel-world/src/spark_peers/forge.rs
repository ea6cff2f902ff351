//! Frames of Spark's peers, made from recorded frames with other names and numbers.

use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{
    self, Bounds, Class, ClassId, Field, FieldKind, Graph, Node, Object, Part, Value,
};
use firesteel_spark::messages::{self, FromDriver, FromWorker, MASTER, Message};

/// The frames of one release's peers, in the order of the recording.
#[derive(Debug)]
struct Recorded {
    driver: Vec<Frame>,
    acknowledgement: Vec<Frame>,
    worker: Vec<Frame>,
    client: Vec<Frame>,
    /// A client's answer to a message that its endpoint does not accept.
    failure: &'static [u8],
}

macro_rules! recording {
    ($version:literal, $name:literal) => {
        frames(include_bytes!(concat!("../../../../fixtures/spark/spark-", $version, "/", $name, ".bin")))
    };
}

macro_rules! recorded {
    ($version:literal, $failure:literal) => {
        Recorded {
            driver: recording!($version, "dynalloc-driver-to-fakemaster"),
            acknowledgement: recording!($version, "driver-to-restarted-master"),
            worker: recording!($version, "worker-to-master"),
            client: recording!($version, "cluster-rpc-RequestSubmitDriver.to-master"),
            failure: include_bytes!(concat!("../../../../fixtures/spark/failures/", $failure, ".bin")),
        }
    };
}

static RECORDED: LazyLock<[Recorded; RELEASES]> =
    LazyLock::new(|| [recorded!("3.5.7", "3.5.9"), recorded!("4.0.1", "4.0.1")]);

/// The recorded frames of a Worker whose release uses serial version ids that the Master must ask for.
static WORKER_4_1: LazyLock<Vec<Frame>> = LazyLock::new(|| recording!("4.1.4", "worker-to-master"));

/// The number of releases of drivers and clients. Workers have one more.
pub(super) const RELEASES: usize = 2;

/// The host of all recorded peers.
const HOST: &str = "127.0.0.1";

/// The prefix of most class names.
const DEPLOY: &str = "org.apache.spark.deploy.DeployMessages$";

/// How a peer presents itself: its release, and the host in its address.
#[derive(Clone, Debug)]
pub(super) struct PeerIdentity {
    pub(super) release: usize,
    pub(super) host: String,
}

/// The new value of a message's field.
#[derive(Clone, Debug)]
pub(super) enum New<'a> {
    Text(&'a str),
    Int(i32),
}

fn frames(recorded: &'static [u8]) -> Vec<Frame> {
    let mut bytes = BytesMut::from(recorded);
    let decoded = std::iter::from_fn(|| Frame::decode(&mut bytes, 1 << 20).expect("a recording"));
    decoded.collect()
}

/// The body of a frame. Empty for a failed answer.
pub(super) fn body(frame: &Frame) -> Bytes {
    match frame {
        Frame::Request { body, .. } | Frame::OneWay { body } | Frame::Response { body, .. } => body.clone(),
        Frame::Failure { .. } => Bytes::new(),
    }
}

/// The envelope of a message, and its object.
pub(super) fn opened(frame: &Frame) -> Option<(Envelope, Bytes)> {
    let mut object = body(frame);
    Some((Envelope::decode(&mut object).ok()?, object))
}

fn with_body(frame: &Frame, body: Bytes) -> Frame {
    match frame {
        Frame::Request { id, .. } => Frame::Request { id: *id, body },
        Frame::Response { id, .. } => Frame::Response { id: *id, body },
        Frame::OneWay { .. } | Frame::Failure { .. } => Frame::OneWay { body },
    }
}

/// The text as Java and the envelope encode it: its length, then its bytes.
fn written(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).expect("it is short");
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}

/// The frame with these texts replaced.
pub(super) fn renamed(frame: &Frame, edits: &[(&str, &str)]) -> Frame {
    let mut bytes = body(frame).to_vec();
    for (old, new) in edits {
        let (old, new) = (written(old), written(new));
        let mut edited = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at..].starts_with(&old) {
                edited.extend_from_slice(&new);
                at += old.len();
            } else {
                edited.push(bytes[at]);
                at += 1;
            }
        }
        bytes = edited;
    }
    with_body(frame, bytes.into())
}

/// The frame with these fields of its message replaced.
pub(super) fn with_fields(frame: &Frame, fields: &[(&str, New<'_>)]) -> Frame {
    let (envelope, object) = opened(frame).expect("it has a message");
    let (mut graph, root) = java::read(&object, Bounds::default()).expect("a recorded message");
    let Value::Object(id) = root else { panic!("a message is an object") };
    for (name, new) in fields {
        let value = match new {
            New::Text(new) => text(&mut graph, new),
            New::Int(number) => Value::Int(*number),
        };
        assert!(graph.set_field(id, name, value), "there is no {name}");
    }
    with_body(frame, envelope.around(&java::write(&graph, root)))
}

/// The same request with this number, or the same message turned into a request.
pub(super) fn request(frame: &Frame, id: i64) -> Frame {
    Frame::Request { id, body: body(frame) }
}

/// The same frame turned into a message without an answer.
pub(super) fn one_way(frame: &Frame) -> Frame {
    Frame::OneWay { body: body(frame) }
}

/// The frame as a later release sends it, with another serial version id of its class.
pub(super) fn of_later_release(frame: &Frame) -> Frame {
    let (_, object) = opened(frame).expect("it has a message");
    let (graph, value) = java::read(&object, Bounds::default()).expect("a recorded message");
    let name = Node { graph: &graph, value }.class_name().expect("a message has a class").to_owned();
    let mut bytes = body(frame).to_vec();
    let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).expect("it is there");
    bytes[at + name.len()] ^= 1;
    with_body(frame, bytes.into())
}

pub(super) fn of_unknown_class(frame: &Frame, class: &str) -> Frame {
    renamed(frame, &[(&format!("{DEPLOY}{class}"), &format!("{DEPLOY}Nonsense"))])
}

/// The frame without the address under which its sender knows the Master.
pub(super) fn without_address(frame: &Frame) -> Frame {
    let (envelope, object) = opened(frame).expect("it has a message");
    with_body(frame, Envelope { receiver: None, ..envelope }.around(&object))
}

pub(super) fn to_endpoint(frame: &Frame, endpoint: &str) -> Frame {
    let (envelope, object) = opened(frame).expect("it has a message");
    with_body(frame, Envelope { endpoint: endpoint.to_owned(), ..envelope }.around(&object))
}

impl PeerIdentity {
    fn recorded(&self) -> &'static Recorded {
        &RECORDED[self.release % RELEASES]
    }

    fn driver(&self, number: usize) -> Frame {
        renamed(&self.recorded().driver[number], &[(HOST, &self.host)])
    }

    fn client(&self, number: usize) -> Frame {
        renamed(&self.recorded().client[number], &[(HOST, &self.host)])
    }

    fn worker(&self, number: usize) -> Frame {
        let recorded = if self.release == RELEASES { &*WORKER_4_1 } else { &self.recorded().worker };
        renamed(&recorded[number], &[(HOST, &self.host)])
    }

    /// A request that asks whether the endpoint is a Master.
    pub(super) fn asks_for_master(&self, id: i64) -> Frame {
        request(&self.driver(0), id)
    }

    pub(super) fn registers(&self, name: &str) -> Frame {
        let frame = self.driver(1);
        let (_, object) = opened(&frame).expect("it has a message");
        let Ok(Message::Driver(FromDriver::RegisterApplication(registration))) = messages::read(&object)
        else {
            panic!("a driver registers")
        };
        renamed(&frame, &[(&registration.application.name, name)])
    }

    /// A registration of an application with amounts that no Master accepts.
    pub(super) fn registers_nonsense(&self) -> Frame {
        let frame = self.driver(1);
        let (envelope, object) = opened(&frame).expect("it has a message");
        let (mut graph, root) = java::read(&object, Bounds::default()).expect("a recorded message");
        let amounts = Node { graph: &graph, value: root }
            .field("appDescription")
            .and_then(|application| application.field("initialExecutorLimit"))
            .and_then(|limit| limit.field("value"));
        let Some(Value::Object(number)) = amounts.map(|node| node.value) else {
            panic!("dynamic allocation begins with a limit")
        };
        assert!(graph.set_field(number, "value", Value::Int(-1)));
        with_body(&frame, envelope.around(&java::write(&graph, root)))
    }

    /// A request for executors. `which` selects one of the recorded requests, which differ in their numbers.
    pub(super) fn asks_for_executors(&self, app: &str, which: usize, id: i64) -> Frame {
        request(&with_fields(&self.driver(2 + which % 6), &[("appId", New::Text(app))]), id)
    }

    /// A request for an impossible number of executors.
    pub(super) fn asks_for_nonsense(&self, app: &str, id: i64) -> Frame {
        let frame = self.driver(2);
        let (envelope, object) = opened(&frame).expect("it has a message");
        let (mut graph, _) = java::read(&object, Bounds::default()).expect("a recorded message");
        let any = FieldKind::Object(graph.add_object(Object::Text("Ljava/lang/String;".to_owned())));
        let fields = [("requestedTotal", FieldKind::Int), ("appId", any)];
        let message = class(&mut graph, &format!("{DEPLOY}RequestExecutors"), &fields);
        let app = text(&mut graph, app);
        let root = self::object(&mut graph, message, &[Value::Int(-7), app]);
        request(&with_body(&frame, envelope.around(&java::write(&graph, root))), id)
    }

    pub(super) fn ends_executors(&self, app: &str, id: i64) -> Frame {
        request(&with_fields(&self.driver(8), &[("appId", New::Text(app))]), id)
    }

    pub(super) fn says_goodbye(&self, app: &str) -> Frame {
        let last = self.recorded().driver.len() - 1;
        let application = self.driver(last);
        renamed(&application, &[(&recorded_app(&application), app)])
    }

    /// The driver's acknowledgement of a Master that was restarted.
    pub(super) fn acknowledges(&self, app: &str) -> Frame {
        let frame = renamed(&self.recorded().acknowledgement[0], &[(HOST, &self.host)]);
        with_fields(&frame, &[("appId", New::Text(app))])
    }

    pub(super) fn submits(&self, id: i64) -> Frame {
        request(&self.client(1), id)
    }

    /// A submission of a cluster driver that no Worker can start.
    pub(super) fn submits_nonsense(&self, id: i64) -> Frame {
        let frame = self.client(1);
        let (envelope, object) = opened(&frame).expect("it has a message");
        let (mut graph, root) = java::read(&object, Bounds::default()).expect("a recorded message");
        let described = Node { graph: &graph, value: root }.field("driverDescription").map(|node| node.value);
        let Some(Value::Object(described)) = described else { panic!("a driver is described") };
        let url = text(&mut graph, "hdfs://nobody/x.jar");
        assert!(graph.set_field(described, "jarUrl", url));
        request(&with_body(&frame, envelope.around(&java::write(&graph, root))), id)
    }

    pub(super) fn asks_for_state(&self, driver: &str, id: i64) -> Frame {
        request(&with_fields(&self.client(2), &[("driverId", New::Text(driver))]), id)
    }

    pub(super) fn asks_for_end(&self, driver: &str, id: i64) -> Frame {
        let (old, new) = (format!("{DEPLOY}RequestDriverStatus"), format!("{DEPLOY}RequestKillDriver"));
        let frame = renamed(&self.asks_for_state(driver, id), &[(&old, &new)]);
        let serial: i64 =
            if self.release == 0 { 7_763_132_472_584_695_338 } else { -6_009_959_939_375_207_245 };
        let mut bytes = body(&frame).to_vec();
        let at = bytes.windows(new.len()).position(|window| window == new.as_bytes()).expect("it is there");
        bytes[at + new.len()..][..8].copy_from_slice(&serial.to_be_bytes());
        with_body(&frame, bytes.into())
    }

    /// The error with which a client's endpoint answers a message that it does not accept.
    pub(super) fn fails(&self, id: i64) -> Frame {
        Frame::Response { id, body: Bytes::from_static(self.recorded().failure) }
    }

    pub(super) fn registers_worker(&self, worker: &str) -> Frame {
        let frame = self.worker(1);
        let (_, object) = opened(&frame).expect("it has a message");
        let Ok(Message::Worker(FromWorker::RegisterWorker(registration))) = messages::read(&object) else {
            panic!("a Worker registers")
        };
        renamed(&frame, &[(&registration.worker, worker)])
    }

    /// A Worker's heartbeat.
    pub(super) fn beats(&self, worker: &str) -> Frame {
        with_fields(&self.worker(3), &[("workerId", New::Text(worker))])
    }

    /// A Worker's report that an executor runs.
    pub(super) fn reports_running(&self, app: &str, executor: i32, id: i64) -> Frame {
        let fields = [("appId", New::Text(app)), ("execId", New::Int(executor))];
        request(&with_fields(&self.worker(4), &fields), id)
    }

    pub(super) fn reports_ended(&self, app: &str, executor: i32, id: i64) -> Frame {
        let fields = [("appId", New::Text(app)), ("execId", New::Int(executor))];
        request(&with_fields(&self.worker(5), &fields), id)
    }

    /// A Worker's list of its executors and cluster drivers, sent after its registration or after a call of a restarted
    /// Master.
    pub(super) fn lists(
        &self,
        occasion: ReportTime,
        worker: &str,
        executors: &[(String, i32)],
        drivers: &[&str],
    ) -> Frame {
        let report = self.worker(4);
        let (envelope, object) = opened(&report).expect("it has a message");
        let (mut graph, root) = java::read(&object, Bounds::default()).expect("a recorded message");
        let state = Node { graph: &graph, value: root }.field("state").expect("there is one").value;
        let root = listed(&mut graph, occasion, state, worker, executors, drivers);
        Frame::OneWay { body: envelope.around(&java::write(&graph, root)) }
    }
}

/// The occasion on which a Worker lists its executors and drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportTime {
    Registered,
    Called,
}

/// The application that a recorded message names.
fn recorded_app(frame: &Frame) -> String {
    let (_, object) = opened(frame).expect("it has a message");
    let Ok(Message::Driver(FromDriver::UnregisterApplication { app: Some(app) })) = messages::read(&object)
    else {
        panic!("a driver says goodbye")
    };
    app
}

fn text(graph: &mut Graph, text: &str) -> Value {
    Value::Object(graph.add_object(Object::Text(text.to_owned())))
}

fn class(graph: &mut Graph, name: &str, fields: &[(&str, FieldKind)]) -> ClassId {
    let fields = fields.iter().map(|(name, kind)| Field { name: (*name).to_owned(), kind: *kind }).collect();
    let (name, flags) = (name.to_owned(), Class::SERIALIZABLE);
    graph.add_class(Class { name, serial: 1, flags, fields, parent: None })
}

fn object(graph: &mut Graph, class: ClassId, fields: &[Value]) -> Value {
    let part = Part { fields: fields.to_vec(), contents: Vec::new() };
    Value::Object(graph.add_object(Object::Instance { class, parts: vec![part] }))
}

/// The object of the message in which a Worker lists these executors and drivers.
fn listed(
    graph: &mut Graph,
    occasion: ReportTime,
    state: Value,
    worker: &str,
    executors: &[(String, i32)],
    drivers: &[&str],
) -> Value {
    let any = FieldKind::Object(graph.add_object(Object::Text("Ljava/lang/Object;".to_owned())));
    let numbers = ["cores", "execId", "memoryMb", "rpId"].map(|name| (name, FieldKind::Int));
    let fields = [&numbers[..], &[("appId", any), ("state", any)]].concat();
    let described = class(graph, "org.apache.spark.deploy.ExecutorDescription", &fields);
    let answers = class(graph, &format!("{DEPLOY}WorkerExecutorStateResponse"), &[("desc", any)]);
    let of_driver = class(graph, &format!("{DEPLOY}WorkerDriverStateResponse"), &[("driverId", any)]);
    let mut rows = Vec::new();
    for (app, number) in executors {
        let app = text(graph, app);
        let numbers = [1, *number, 512, 0].map(Value::Int);
        let row = object(graph, described, &[&numbers[..], &[app, state]].concat());
        rows.push(if occasion == ReportTime::Called { object(graph, answers, &[row]) } else { row });
    }
    let mut names = Vec::new();
    for driver in drivers {
        let name = text(graph, driver);
        names.push(if occasion == ReportTime::Called { object(graph, of_driver, &[name]) } else { name });
    }
    let array = class(graph, "[Ljava.lang.Object;", &[]);
    let sequence = class(graph, "scala.collection.immutable.ArraySeq$ofRef", &[("unsafeArray", any)]);
    let seq = |graph: &mut Graph, elements| {
        let elements = Value::Object(graph.add_object(Object::Array { class: array, elements }));
        object(graph, sequence, &[elements])
    };
    let (rows, names) = (seq(graph, rows), seq(graph, names));
    let (name, fields) = match occasion {
        ReportTime::Registered => ("WorkerLatestState", ["driverIds", "executors", "id"]),
        ReportTime::Called => ("WorkerSchedulerStateResponse", ["driverResponses", "execResponses", "id"]),
    };
    let message = class(graph, &format!("{DEPLOY}{name}"), &fields.map(|name| (name, any)));
    let id = text(graph, worker);
    object(graph, message, &[names, rows, id])
}

/// A request that asks whether the Master works.
pub(super) fn readyz(id: i64) -> Frame {
    let serial = |number: i64| number.to_be_bytes().to_vec();
    let object = [
        vec![0xac, 0xed, 0, 5, 0x73, 0x72],
        written("scala.runtime.ModuleSerializationProxy"),
        serial(1),
        vec![2, 0, 1, b'L'],
        written("moduleClass"),
        vec![0x74],
        written("Ljava/lang/Class;"),
        vec![0x78, 0x70, 0x76, 0x72],
        written(&format!("{DEPLOY}RequestReadyz$")),
        serial(7_372_794_124_295_618_119),
        vec![2, 0, 0, 0x78, 0x70],
    ];
    let receiver = Some(Address { host: HOST.to_owned(), port: 7077 });
    let envelope = Envelope { sender: None, receiver, endpoint: MASTER.to_owned() };
    Frame::Request { id, body: envelope.around(&object.concat()) }
}

/// A JVM's error that contains the serial version id of the class in question.
pub(super) fn tells(id: i64, question: &Bytes, serial: i64) -> Frame {
    let (graph, value) = java::read(question, Bounds::default()).expect("a question is an object");
    let class = Node { graph: &graph, value }.class_name().expect("it has a class").to_owned();
    let reason = format!(
        "java.io.InvalidClassException: {class}; local class incompatible: stream classdesc \
         serialVersionUID = 0, local class serialVersionUID = {serial}\n\tat java.base"
    );
    Frame::Failure { id, reason }
}

/// The contents of a frame, as its receiver reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// The address to which the frame is sent.
    pub(super) to: Option<Address>,
    /// The endpoint to which the frame is sent.
    pub(super) endpoint: String,
    /// The class of the message without its package.
    pub(super) class: String,
    pub(super) app: Option<String>,
    pub(super) executor: Option<i32>,
    pub(super) driver: Option<String>,
    /// Whether the object is `true`. `None` if it is no boolean.
    pub(super) is_yes: Option<bool>,
}

/// Reads a frame as a peer would.
pub(super) fn read(frame: &Frame) -> Read {
    let (envelope, object) = match frame {
        Frame::Request { .. } | Frame::OneWay { .. } => match opened(frame) {
            Some((envelope, object)) => (Some(envelope), object),
            None => return Read::default(),
        },
        Frame::Response { body, .. } => (None, body.clone()),
        Frame::Failure { .. } => return Read::default(),
    };
    let Ok((graph, value)) = java::read(&object, Bounds::default()) else { return Read::default() };
    let node = Node { graph: &graph, value };
    let field = |name: &str| node.field(name);
    let (to, endpoint) = envelope.map(|envelope| (envelope.receiver, envelope.endpoint)).unwrap_or_default();
    let class = node.class_name().unwrap_or_default();
    let driver = field("driverId").and_then(|option| option.field("value")).and_then(Node::text);
    Read {
        to,
        endpoint,
        class: class.strip_prefix(DEPLOY).unwrap_or(class).to_owned(),
        app: field("appId").and_then(Node::text).map(str::to_owned),
        executor: field("execId").and_then(Node::int),
        driver: driver.map(str::to_owned),
        is_yes: (class == "java.lang.Boolean").then(|| field("value").and_then(Node::boolean)).flatten(),
    }
}
