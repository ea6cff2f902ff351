//! Mock Workers and drivers that speak Spark's RPC, made from recorded messages of Spark 4.0.1.
//!
//! Java objects are read and written once. Then their bytes are copied, and the differing parts are filled in.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use bytes::{Buf, Bytes, BytesMut};
use firesteel_spark::envelope::Envelope;
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Graph, Node, Object, ObjectId, Value};
use firesteel_spark::scala;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::spawn_local;

use crate::mocks::{Mock, Seen};

/// The longest accepted frame.
const MOST: usize = 1 << 20;

/// The recorded messages of the mocks.
pub(crate) struct Script {
    worker: Words,
    report: Words,
    driver: Words,
}

struct Words {
    envelope: Envelope,
    graph: Graph,
    root: Value,
}

/// A report that an executor runs, without its application and number.
struct Report {
    /// The bytes up to the executor's number, from there to the application's id, and the rest.
    parts: [Bytes; 3],
}

impl Script {
    pub(crate) fn read() -> Self {
        let report = Words::of("worker-to-master", "ExecutorStateChanged");
        Self {
            worker: Words::of("worker-to-master", "DeployMessages$RegisterWorker"),
            report,
            driver: Words::of("driver-to-master", "DeployMessages$RegisterApplication"),
        }
    }

    fn worker(&self, number: u64, cores: i32) -> Frame {
        let Words { envelope, mut graph, root } = self.worker.clone();
        let host = format!("10.0.{}.{}", number / 250, number % 250);
        let root_id = id(root);
        for (field, text) in [("id", format!("worker-20261120212235-{host}-7078")), ("host", host)] {
            let text = Value::Object(graph.add_object(Object::Text(text)));
            assert!(graph.set_field(root_id, field, text));
        }
        for (field, amount) in [("cores", cores), ("memory", 1 << 20)] {
            assert!(graph.set_field(root_id, field, Value::Int(amount)));
        }
        Frame::OneWay { body: body(&envelope, &java::write(&graph, root)) }
    }

    /// The registration of an application with this number of executors of one core.
    fn driver(&self, executors: i32) -> Frame {
        let Words { envelope, mut graph, root } = self.driver.clone();
        let at = |graph: &Graph, path: &[&str]| {
            let root = Node { graph, value: root };
            let found = path.iter().try_fold(root, |node, field| node.field(field));
            found.expect("an application has this field").value
        };
        // The only option with a number is in this field; the maximum of cores becomes the same option.
        let option = at(&graph, &["appDescription", "defaultProfile", "_maxTasksPerExecutor"]);
        let number = Node { graph: &graph, value: option }.field("value").expect("it holds a number").value;
        assert!(graph.set_field(id(number), "value", Value::Int(executors)));
        assert!(graph.set_field(id(at(&graph, &["appDescription"])), "maxCores", option));
        let amounts = at(&graph, &["appDescription", "defaultProfile", "executorResources"]);
        let entries = scala::entries(Node { graph: &graph, value: amounts }).expect("a map");
        let entries: Vec<_> = entries.iter().map(|(name, request)| (name.value, request.value)).collect();
        for (name, request) in entries {
            if (Node { graph: &graph, value: name }).text() != Some("memory") {
                graph.set_object(id(name), Object::Text("cores".to_owned()));
            }
            assert!(graph.set_field(id(request), "amount", Value::Long(1)));
        }
        Frame::OneWay { body: body(&envelope, &java::write(&graph, root)) }
    }

    fn report(&self) -> Report {
        let Words { envelope, mut graph, root } = self.report.clone();
        const APP: &str = "the application";
        const EXECUTOR: i32 = 0x5ad3_11c7;
        let app = Value::Object(graph.add_object(Object::Text(APP.to_owned())));
        assert!(
            graph.set_field(id(root), "appId", app)
                && graph.set_field(id(root), "execId", Value::Int(EXECUTOR))
        );
        let whole = body(&envelope, &java::write(&graph, root));
        let place = |what: &[u8]| {
            let at = whole.windows(what.len()).position(|window| window == what).expect("it was set");
            (at, at + what.len())
        };
        let (number, after_number) = place(&EXECUTOR.to_be_bytes());
        // A text's length precedes it.
        let (app, after_app) = place(APP.as_bytes());
        let parts = [0..number, after_number..app - 2, after_app..whole.len()];
        Report { parts: parts.map(|part| whole.slice(part)) }
    }
}

impl Report {
    fn frame(&self, request: i64, order: &Order<'_>) -> Frame {
        let [start, middle, end] = &self.parts;
        let length = u16::try_from(order.app.len()).expect("an id is short").to_be_bytes();
        let pieces: [&[u8]; 6] = [start, order.executor, middle, &length, order.app, end];
        Frame::Request { id: request, body: pieces.concat().into() }
    }
}

/// The contents of an order to launch an executor.
struct Order<'a> {
    executor: &'a [u8],
    app: &'a [u8],
}

impl<'a> Order<'a> {
    /// Reads an order. Its four numbers follow its class, at offset `numbers`.
    fn read(object: &'a [u8], numbers: usize) -> Self {
        let name =
            object.windows(6).rposition(|window| window == b"app-20").expect("it names an application");
        let length = usize::from(u16::from_be_bytes([object[name - 2], object[name - 1]]));
        Self { executor: &object[numbers + 4..numbers + 8], app: &object[name..name + length] }
    }

    /// The offset of the four numbers in orders.
    fn numbers(object: &[u8]) -> usize {
        let (graph, value) = java::read(object, Bounds::default()).expect("an object");
        let order = Node { graph: &graph, value };
        let number = |field| order.field(field).and_then(Node::int).expect("a number").to_be_bytes();
        let numbers = ["cores", "execId", "memory", "rpId"].map(number).concat();
        object.windows(16).position(|window| window == numbers).expect("they are in a row")
    }
}

impl Words {
    /// The first recorded message of this class.
    fn of(recording: &str, class: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/spark/spark-4.0.1");
        let mut bytes =
            BytesMut::from(&fs::read(root.join(format!("{recording}.bin"))).expect("it was recorded")[..]);
        while let Some(frame) = Frame::decode(&mut bytes, MOST).expect("it is a frame") {
            let (Frame::OneWay { mut body } | Frame::Request { mut body, .. }) = frame else { continue };
            let envelope = Envelope::decode(&mut body).expect("it has an envelope");
            let (graph, root) = java::read(&body, Bounds::default()).expect("it is an object");
            if (Node { graph: &graph, value: root }).class_name().is_some_and(|name| name.ends_with(class)) {
                return Self { envelope, graph, root };
            }
        }
        panic!("{recording} has no {class}")
    }

    fn clone(&self) -> Self {
        Self { envelope: self.envelope.clone(), graph: self.graph.clone(), root: self.root }
    }
}

fn id(value: Value) -> ObjectId {
    match value {
        Value::Object(id) => id,
        other => panic!("{other:?} is no object"),
    }
}

fn body(envelope: &Envelope, object: &[u8]) -> Bytes {
    let mut body = BytesMut::new();
    envelope.encode(&mut body);
    body.extend_from_slice(object);
    body.freeze()
}

/// A connection, with bytes to write.
struct Line {
    stream: TcpStream,
    received: BytesMut,
    queued: BytesMut,
}

impl Line {
    async fn dial(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server accepts connections");
        stream.set_nodelay(true).expect("it is a socket");
        Self { stream, received: BytesMut::new(), queued: BytesMut::new() }
    }

    async fn flush(&mut self) -> bool {
        while self.queued.has_remaining() {
            if self.stream.write_buf(&mut self.queued).await.is_err() {
                return false;
            }
        }
        self.queued = BytesMut::new();
        true
    }

    /// Waits until something has arrived. Returns `false` if the connection has ended.
    async fn read(&mut self) -> bool {
        self.received.reserve(16 << 10);
        self.stream.read_buf(&mut self.received).await.is_ok_and(|count| count > 0)
    }

    /// The next message that has arrived, without its envelope.
    fn next(&mut self) -> Option<Bytes> {
        loop {
            let frame = Frame::decode(&mut self.received, MOST).expect("it is a frame")?;
            if let Frame::OneWay { mut body } = frame {
                Envelope::decode(&mut body).expect("it has an envelope");
                return Some(body);
            }
        }
    }
}

/// Whether an object's class has this name, which is near its beginning.
fn is(object: &[u8], class: &str) -> bool {
    let name = &object[..object.len().min(8 + 80)];
    name.windows(class.len()).any(|window| window == class.as_bytes())
}

/// Connects a Worker with this number of cores. It reports each executor as running as soon as it gets the order to
/// launch it.
pub(crate) fn worker(script: &Rc<Script>, address: &str, number: u64, cores: i32, seen: &Rc<Seen>) -> Mock {
    let (script, address, seen) = (Rc::clone(script), address.to_owned(), Rc::clone(seen));
    Mock::of(spawn_local(async move {
        let mut line = Line::dial(&address).await;
        script.worker(number, cores).encode(&mut line.queued);
        let report = script.report();
        let (mut numbers, mut requests) = (None, 0);
        while line.flush().await && line.read().await {
            while let Some(object) = line.next() {
                if is(&object, "$LaunchExecutor") {
                    let numbers = *numbers.get_or_insert_with(|| Order::numbers(&object));
                    requests += 1;
                    report.frame(requests, &Order::read(&object, numbers)).encode(&mut line.queued);
                } else if is(&object, "$RegisteredWorker") {
                    seen.add(&seen.workers);
                }
            }
        }
        seen.add(&seen.lost);
    }))
}

/// Connects a driver. When `start` is notified, it registers an application with this number of executors of one core.
pub(crate) fn driver(
    script: &Rc<Script>,
    address: &str,
    executors: i32,
    start: Rc<Notify>,
    seen: &Rc<Seen>,
) -> Mock {
    let (script, address, seen) = (Rc::clone(script), address.to_owned(), Rc::clone(seen));
    Mock::of(spawn_local(async move {
        let mut line = Line::dial(&address).await;
        let registration = script.driver(executors);
        let started = start.notified();
        seen.add(&seen.drivers);
        started.await;
        registration.encode(&mut line.queued);
        while line.flush().await && line.read().await {
            while let Some(object) = line.next() {
                if is(&object, "$ExecutorUpdated") {
                    seen.add(&seen.running);
                }
            }
        }
    }))
}
