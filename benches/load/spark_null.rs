//! The null master for those who speak Spark's RPC: it reads and writes the frames of a Master, and decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use firesteel_spark::envelope::Address;
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::{ExecutorState, FromDriver, FromWorker, ToDriver, ToWorker};
use firesteel_spark::session::{Heard, PeerNumber, Session};
use firesteel_spark::{Order, OrderForms};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The longest frame that is read.
const MOST: usize = 1 << 20;

/// How much is gathered before it is written.
const ENOUGH: usize = 32 << 10;

/// What all connections share.
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
    apps: BTreeMap<String, UnboundedSender<Told>>,
}

struct Worker {
    id: String,
    address: Address,
    queue: UnboundedSender<Told>,
}

/// What one connection has another one write.
enum Told {
    Launch { app: String, executor: i32, description: Bytes },
    Driver(ToDriver),
}

impl SparkNull {
    /// Serves a connection until its end. There is one peer on it.
    pub(crate) async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let (queue, mut told) = unbounded_channel();
        let (mut received, mut queued) = (BytesMut::new(), BytesMut::new());
        let mut session = Session::default();
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
                    write_all(first, &mut told, &mut session, &mut queued, &mut forms);
                }
            }
            while let Some(frame) = Frame::decode(&mut received, MOST).expect("the mocks speak the protocol")
            {
                for heard in session.hear(frame) {
                    self.take(heard, &queue, &mut session, &mut queued);
                }
            }
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(
        &self,
        heard: Heard,
        queue: &UnboundedSender<Told>,
        session: &mut Session,
        queued: &mut BytesMut,
    ) {
        match heard {
            Heard::Reply(frame) => frame.encode(queued),
            Heard::Worker(number, FromWorker::RegisterWorker(worker)) => {
                let (id, address, queue) = (worker.worker, worker.address, queue.clone());
                self.tables().workers.push(Worker { id, address, queue });
                let master = session.master(number).clone();
                let registered = ToWorker::RegisteredWorker {
                    dialled: worker.master,
                    master,
                    web_ui_url: String::new(),
                    is_duplicate: false,
                };
                session.tell_worker(number, &registered).encode(queued);
            }
            Heard::Worker(_, FromWorker::ExecutorStateChanged { app, executor, .. }) => {
                let updated = ToDriver::ExecutorUpdated {
                    executor,
                    state: ExecutorState::Running,
                    message: None,
                    exit_status: None,
                    lost_host: None,
                };
                if let Some(driver) = self.tables().apps.get(&app) {
                    let _ = driver.send(Told::Driver(updated));
                }
            }
            Heard::Driver(number, FromDriver::RegisterApplication(registration)) => {
                let application = registration.application;
                let executors = application.max_cores.unwrap_or(0);
                let description = application.command.description;
                let mut tables = self.tables();
                let app = format!("app-20261120212235-{:04}", tables.apps.len());
                tables.apps.insert(app.clone(), queue.clone());
                let master = session.master(number).clone();
                let registered = ToDriver::RegisteredApplication { app: app.clone(), master };
                session.tell_driver(number, &registered).encode(queued);
                for executor in 0..executors {
                    let at = tables.next;
                    tables.next = (at + 1) % tables.workers.len();
                    let Worker { id, address, queue: worker } = &tables.workers[at];
                    let (app, description) = (app.clone(), description.clone());
                    let _ = worker.send(Told::Launch { app, executor, description });
                    let (worker, address) = (id.clone(), address.clone());
                    let added = ToDriver::ExecutorAdded { executor, worker, address, cores: 1, memory: 1 };
                    let _ = queue.send(Told::Driver(added));
                }
            }
            Heard::Driver(..)
            | Heard::Worker(..)
            | Heard::Client(..)
            | Heard::Readyz(_)
            | Heard::Strange(_) => {}
        }
    }
}

/// Writes what waits, up to a bound.
fn write_all(
    first: Told,
    told: &mut UnboundedReceiver<Told>,
    session: &mut Session,
    queued: &mut BytesMut,
    forms: &mut OrderForms,
) {
    let mut next = Some(first);
    while let Some(told_now) = next {
        let frame = match told_now {
            Told::Driver(message) => session.tell_driver(PeerNumber(0), &message),
            Told::Launch { app, executor, description } => {
                let order = Order {
                    app: &app,
                    executor,
                    profile: 0,
                    cores: 1,
                    memory: 1,
                    resources: BTreeMap::new(),
                    description: &description,
                };
                let launch =
                    session.launch(PeerNumber(0), &order, forms).expect("the description was read before");
                launch.expect("no executor is launched twice")
            }
        };
        frame.encode(queued);
        next = if queued.len() < ENOUGH { told.try_recv().ok() } else { None };
    }
}
