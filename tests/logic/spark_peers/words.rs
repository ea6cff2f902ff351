//! The text forms of a connection's effects on a page.

use bytes::Bytes;
use firesteel_master::Inbound;
use firesteel_protocol::messages::WorkerToMaster;
use firesteel_spark::connection::Effect;
use firesteel_spark::envelope::Envelope;
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Node, Object};
use firesteel_spark::scala;

/// An effect, on one line.
pub fn words(effect: &Effect) -> String {
    match effect {
        Effect::Send(frame) => format!("peer <- {}", sent(frame)),
        Effect::Open { channel, role, name } => {
            format!("Master <- channel {} is open: {role:?} {name:?}", channel.0)
        }
        Effect::Say { channel, bytes, message } => {
            format!("Master <- channel {} says {} ({bytes} bytes)", channel.0, said(message))
        }
        Effect::Register { channel, bytes, description } => {
            let (name, user) = (&description.name, &description.user);
            let callback = description.callback.len();
            format!(
                "Master <- channel {} registers {name:?} of {user}, to be called by {callback} bytes ({bytes} bytes)",
                channel.0
            )
        }
        Effect::SayElsewhere { worker, bytes, message, .. } => {
            format!("Master <- {worker} says by its other connection {message:?} ({bytes} bytes)")
        }
        Effect::Enter { worker, channel, .. } => format!("directory <- {worker} is channel {}", channel.0),
        Effect::Withdraw { worker, channel } => {
            format!("directory <- {worker} is not channel {} any more", channel.0)
        }
        Effect::Leave { channel } => format!("Master <- channel {} is left", channel.0),
        Effect::WriteOrder(_) => "forms <- write an order".to_owned(),
        Effect::ForgetOrders { app } => format!("forms <- forget {app}"),
        Effect::Note(note) => format!("({:?}: {note})", note.level()),
        Effect::Close(closing) => format!("peer <- the connection is closed, {closing:?}"),
    }
}

/// A message to the Master, without its long description.
fn said(message: &Inbound) -> String {
    match message {
        Inbound::Worker(WorkerToMaster::RegisterWorker { worker, .. }) => format!(
            "RegisterWorker {} at {} with {} cores and {} MiB, {:?}, to be called by {} bytes",
            worker.id,
            worker.address(),
            worker.cores.0,
            worker.memory.0,
            worker.label,
            worker.callback.len()
        ),
        Inbound::Worker(message) => format!("{message:?}"),
        Inbound::Driver(message) => {
            let shown = format!("{message:?}");
            shown.chars().take(240).collect()
        }
        Inbound::Client(message) => {
            let shown = format!("{message:?}");
            shown.chars().take(240).collect()
        }
    }
}

/// A frame: its kind, its receiver, its message and its length.
fn sent(frame: &Frame) -> String {
    match frame {
        Frame::Request { id, body } => format!("request {id} {}", addressed(body)),
        Frame::OneWay { body } => format!("message {}", addressed(body)),
        Frame::Response { id, body } => format!("answer to {id}: {}", object(body)),
        Frame::Failure { id, reason } => format!("failure of {id}: {reason}"),
    }
}

fn addressed(body: &Bytes) -> String {
    let mut rest = body.clone();
    let envelope = Envelope::decode(&mut rest).expect("what is sent has an envelope");
    let to = envelope.receiver.map_or_else(|| "nobody".to_owned(), |to| to.to_string());
    format!("to {} at {to}: {}", envelope.endpoint, object(&rest))
}

/// An object: its class, its short fields, and its length.
fn object(bytes: &[u8]) -> String {
    let (graph, value) = java::read(bytes, Bounds::default()).expect("what is sent is an object");
    let node = Node { graph: &graph, value };
    format!("{} ({} bytes)", shown(node), bytes.len())
}

fn shown(node: Node<'_>) -> String {
    if let Some(text) = node.text() {
        return format!("{text:?}");
    }
    if let Some(number) = node.int() {
        return number.to_string();
    }
    if let Some(truth) = node.boolean() {
        return truth.to_string();
    }
    if node.is_null() {
        return "null".to_owned();
    }
    let class = node.class_name().unwrap_or("?");
    let short = class.rsplit(['.', '$']).find(|part| !part.is_empty()).unwrap_or(class);
    match node.object() {
        Some(Object::Instance { class, .. }) if node.graph.class(*class).name.contains("DeployMessages") => {
            let fields = &node.graph.class(*class).fields;
            let field = |name: &str| {
                let value = node.field(name)?;
                Some(format!("{name}={}", inner(value)))
            };
            let fields: Vec<String> = fields.iter().filter_map(|row| field(&row.name)).collect();
            format!("{short} {}", fields.join(" "))
        }
        _ => match node.field("value") {
            Some(value) => shown(value),
            None => short.to_owned(),
        },
    }
}

/// A field's value if it is short, otherwise only its class.
fn inner(node: Node<'_>) -> String {
    match scala::option(node) {
        Ok(Some(held)) => format!("Some({})", shown(held)),
        Ok(None) => "None".to_owned(),
        Err(_) => shown(node),
    }
}
