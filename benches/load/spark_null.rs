//! The null master for Spark's RPC: it reads and writes the frames of a Master, and decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use firesteel_spark::connection::verify;
use firesteel_spark::dialect::Dialect;
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::{
    self, ExecutorState, FromDriver, FromWorker, MASTER, Message, ToDriver, ToWorker, WorkerRegistration,
};
use firesteel_spark::{Order, OrderForms};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The longest accepted frame.
const MOST: usize = 1 << 20;

/// How many bytes to gather before writing.
const ENOUGH: usize = 32 << 10;

/// The state that all connections share.
#[derive(Default)]
pub(crate) struct SparkNull {
    tables: Mutex<Tables>,
    forms: Mutex<OrderForms>,
}

#[derive(Default)]
struct Tables {
    workers: Vec<Worker>,
    /// The Worker that gets the next executor.
    next: usize,
    apps: BTreeMap<String, UnboundedSender<Relayed>>,
}

struct Worker {
    id: String,
    address: Address,
    queue: UnboundedSender<Relayed>,
}

struct Peer {
    dialect: Dialect,
    /// The address by which it knows the Master.
    master: Address,
}

impl Peer {
    fn message(&self, object: &[u8]) -> Frame {
        let reference = &self.dialect.reference;
        let envelope = Envelope {
            sender: Some(self.master.clone()),
            receiver: Some(reference.address.clone()),
            endpoint: reference.name.clone(),
        };
        Frame::OneWay { body: envelope.around(object) }
    }
}

/// A request of one connection to another, to write something.
enum Relayed {
    Launch { app: String, executor: i32, description: Bytes },
    Driver(ToDriver),
}

impl SparkNull {
    /// Serves a connection, which has one peer, until its end.
    pub(crate) async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let (queue, mut told) = unbounded_channel();
        let (mut received, mut queued) = (BytesMut::new(), BytesMut::new());
        let mut peer = None;
        loop {
            received.reserve(16 << 10);
            let (mut reader, mut writer) = stream.split();
            let is_full = queued.len() >= ENOUGH;
            tokio::select! {
                written = writer.write_buf(&mut queued), if queued.has_remaining() => if written.is_err() {
                    return;
                },
                read = reader.read_buf(&mut received), if !is_full => if !read.is_ok_and(|count| count > 0) {
                    return;
                },
                Some(first) = told.recv(), if !is_full => {
                    let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
                    let peer = peer.as_ref().expect("only those are told something who have registered");
                    write_all(first, &mut told, peer, &mut queued, &mut forms);
                }
            }
            while let Some(frame) = Frame::decode(&mut received, MOST).expect("the mocks speak the protocol")
            {
                if let Some(registered) = self.take(frame, &queue, &mut queued) {
                    peer = Some(registered);
                }
            }
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a frame. Returns the peer, if the frame is a registration.
    fn take(&self, frame: Frame, queue: &UnboundedSender<Relayed>, queued: &mut BytesMut) -> Option<Peer> {
        let (Frame::Request { body, .. } | Frame::OneWay { body }) = &frame else { return None };
        let mut object = body.clone();
        let envelope = Envelope::decode(&mut object).expect("the mocks speak the protocol");
        if envelope.endpoint != MASTER {
            verify(&frame, MASTER)?.encode(queued);
            return None;
        }
        let message = messages::read(&object).expect("the mocks speak the protocol");
        if let Frame::Request { id, .. } = frame {
            Frame::Response { id, body: messages::answer(true).into() }.encode(queued);
        }
        let master = envelope.receiver?;
        match message {
            Message::Worker(FromWorker::RegisterWorker(worker)) => {
                Some(self.register_worker(*worker, master, queue, queued))
            }
            Message::Worker(FromWorker::ExecutorStateChanged { app, executor, .. }) => {
                let updated = ToDriver::ExecutorUpdated {
                    executor,
                    state: ExecutorState::Running,
                    message: None,
                    exit_status: None,
                    lost_host: None,
                };
                if let Some(driver) = self.tables().apps.get(&app) {
                    let _ = driver.send(Relayed::Driver(updated));
                }
                None
            }
            Message::Driver(FromDriver::RegisterApplication(registration)) => {
                let peer = Peer { dialect: registration.dialect, master };
                let application = registration.application;
                let executors = application.max_cores.unwrap_or(0);
                self.register(&peer, executors, &application.command.description, queue, queued);
                Some(peer)
            }
            Message::Driver(_) | Message::Worker(_) | Message::Client(_) | Message::Readyz => None,
        }
    }

    fn register_worker(
        &self,
        worker: WorkerRegistration,
        master: Address,
        queue: &UnboundedSender<Relayed>,
        queued: &mut BytesMut,
    ) -> Peer {
        let peer = Peer { dialect: worker.dialect, master };
        let registered = ToWorker::RegisteredWorker {
            dialled: worker.master,
            master: peer.master.clone(),
            web_ui_url: String::new(),
            is_duplicate: false,
        };
        let (id, address, queue) = (worker.worker, worker.address, queue.clone());
        self.tables().workers.push(Worker { id, address, queue });
        peer.message(&registered.write(&peer.dialect)).encode(queued);
        peer
    }

    /// Registers a driver's application, which gets this number of executors at once.
    fn register(
        &self,
        peer: &Peer,
        executors: i32,
        description: &Bytes,
        queue: &UnboundedSender<Relayed>,
        queued: &mut BytesMut,
    ) {
        let mut tables = self.tables();
        let app = format!("app-20261120212235-{:04}", tables.apps.len());
        tables.apps.insert(app.clone(), queue.clone());
        let registered = ToDriver::RegisteredApplication { app: app.clone(), master: peer.master.clone() };
        peer.message(&registered.write(&peer.dialect)).encode(queued);
        for executor in 0..executors {
            let at = tables.next;
            tables.next = (at + 1) % tables.workers.len();
            let Worker { id, address, queue: worker } = &tables.workers[at];
            let (app, description) = (app.clone(), description.clone());
            let _ = worker.send(Relayed::Launch { app, executor, description });
            let (worker, address) = (id.clone(), address.clone());
            let added = ToDriver::ExecutorAdded { executor, worker, address, cores: 1, memory: 1 };
            let _ = queue.send(Relayed::Driver(added));
        }
    }
}

/// Writes the queued messages, up to a bound.
fn write_all(
    first: Relayed,
    told: &mut UnboundedReceiver<Relayed>,
    peer: &Peer,
    queued: &mut BytesMut,
    forms: &mut OrderForms,
) {
    let mut next = Some(first);
    while let Some(told_now) = next {
        let object = match told_now {
            Relayed::Driver(message) => message.write(&peer.dialect),
            Relayed::Launch { app, executor, description } => {
                let order = Order {
                    app: &app,
                    executor,
                    profile: 0,
                    cores: 1,
                    memory: 1,
                    resources: BTreeMap::new(),
                    description: &description,
                };
                let written = forms.write(&order, &peer.dialect, &peer.master.url());
                written.expect("the description was read before")
            }
        };
        peer.message(&object).encode(queued);
        next = if queued.len() < ENOUGH { told.try_recv().ok() } else { None };
    }
}
