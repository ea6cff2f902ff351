//! The null master: it reads and writes the frames of a Master, and decides nothing.
//!
//! It is the lower bound of every figure: the same bytes through the same kernel, with a task per connection and joint
//! writes of queued frames. Executors go to Workers in turn, whether or not they have room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDescription, ClientToMaster, DriverToMaster, ExecutorLaunch, ExecutorWork,
    MasterToClient, MasterToDriver, MasterToWorker, Resumption, Shared, WorkerToMaster,
};
use firesteel_protocol::wire::{self, Role};
use firesteel_spark::frame::FIRST_BYTE;
use firesteel_testkit::peers::link::{Incoming, Link, Outgoing, append};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::spark_null::SparkNull;

/// The period of Workers' heartbeats.
const HEARTBEAT_MILLIS: u64 = 15_000;

/// The state that all connections share.
#[derive(Default)]
struct Null {
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    workers: Vec<(WorkerId, Queue)>,
    /// The Worker that gets the next executor.
    next: usize,
    apps: BTreeMap<AppId, App>,
    next_app: u64,
}

struct App {
    driver: Queue,
    /// Each executor's Worker.
    executors: Vec<usize>,
    ended: usize,
}

/// Bytes to write to a connection.
#[derive(Clone, Default)]
struct Queue(Arc<(Mutex<BytesMut>, Notify)>);

impl Queue {
    fn push<M: Serialize>(&self, message: &M) {
        let (frames, written) = &*self.0;
        append(&mut lock(frames), message);
        written.notify_one();
    }

    async fn take(&self) -> BytesMut {
        loop {
            let frames = std::mem::take(&mut *lock(&self.0.0));
            if !frames.is_empty() {
                return frames;
            }
            self.0.1.notified().await;
        }
    }
}

/// Announces its URL on standard output as a Master does, and serves until its process is ended.
pub(crate) async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    println!("{{\"url\":\"spark://{address}\"}}");
    let null = Arc::new(Null::default());
    let spark = Arc::new(SparkNull::default());
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (null, spark) = (Arc::clone(&null), Arc::clone(&spark));
        tokio::spawn(async move {
            let mut first = [0];
            if stream.peek(&mut first).await.is_ok_and(|count| count > 0) && first == [FIRST_BYTE] {
                return spark.serve(stream).await;
            }
            let Ok((link, role)) = Link::open(stream, Role::Master, "null").await else { return };
            let Link { incoming, outgoing } = link;
            let queue = Queue::default();
            tokio::select! {
                () = read(incoming, role, &queue, &null) => {}
                () = write(outgoing, &queue) => {}
            }
        });
    }
}

async fn write(mut outgoing: Outgoing, queue: &Queue) {
    while outgoing.write(queue.take().await).await {}
}

async fn read(mut incoming: Incoming, role: Role, queue: &Queue, null: &Null) {
    while let Some(frame) = incoming.next().await {
        let understood = match role {
            Role::Worker => wire::decode(&frame).map(|message| null.on_worker(queue, message)),
            Role::Driver => wire::decode(&frame).map(|message| null.on_driver(queue, message)),
            Role::Client => wire::decode(&frame).map(|message| on_client(queue, &message)),
            Role::Master | Role::Standby | Role::Executor | Role::Joining => return,
        };
        if understood.is_err() {
            return;
        }
    }
}

fn on_client(queue: &Queue, message: &ClientToMaster) {
    match message {
        ClientToMaster::RequestApplication { .. } => {
            queue.push(&MasterToClient::ApplicationResponse(ApplicationAnswer::Unknown));
        }
        ClientToMaster::RequestReadyz => queue.push(&MasterToClient::ReadyzResponse),
        ClientToMaster::RequestMasterState { .. }
        | ClientToMaster::KillApplication { .. }
        | ClientToMaster::DecommissionWorkers { .. }
        | ClientToMaster::RequestSubmitDriver(_)
        | ClientToMaster::RequestKillDriver { .. }
        | ClientToMaster::RequestDriverStatus { .. }
        | ClientToMaster::RequestHistory { .. }
        | ClientToMaster::RequestLog { .. }
        | ClientToMaster::RequestKillAllDrivers { .. }
        | ClientToMaster::RequestClearCompletedDriversAndApps { .. } => {}
    }
}

impl Null {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    fn on_worker(&self, queue: &Queue, message: WorkerToMaster) {
        match message {
            WorkerToMaster::RegisterWorker { worker, .. } => {
                self.tables().workers.push((worker.id, queue.clone()));
                queue.push(&MasterToWorker::RegisteredWorker {
                    master_url: "spark://null:1".to_owned(),
                    heartbeat_millis: HEARTBEAT_MILLIS,
                    duplicate: false,
                    web_address: Some("http://127.0.0.1:40000/".to_owned()),
                    mark: None,
                });
            }
            WorkerToMaster::Heartbeat { .. }
            | WorkerToMaster::WorkerDecommissioning { .. }
            | WorkerToMaster::StartsChecked { .. }
            | WorkerToMaster::WorkerReported(_)
            | WorkerToMaster::DriverRestarted { .. }
            | WorkerToMaster::WorkerLatestState { .. }
            | WorkerToMaster::DriverStateChanged(_) => {}
            WorkerToMaster::ExecutorStateChanged(report) => {
                let ExecutorKey { app, executor } = report.executor.clone();
                let is_end = report.state.is_finished();
                let update =
                    MasterToDriver::ExecutorUpdated { executor, state: report.state, lost_host: None };
                let mut tables = self.tables();
                let Some(row) = tables.apps.get_mut(&app) else { return };
                row.driver.push(&update);
                if is_end {
                    queue.push(&MasterToWorker::ExecutorEndNoted { executor: report.executor });
                    row.ended += 1;
                    if row.ended == row.executors.len() {
                        row.driver.push(&MasterToDriver::ExecutorsGone { app: app.clone() });
                        tables.apps.remove(&app);
                    }
                }
            }
        }
    }

    fn on_driver(&self, queue: &Queue, message: DriverToMaster) {
        match message {
            DriverToMaster::RegisterApplication(description)
            | DriverToMaster::ResumeApplication(Resumption { description, .. }) => {
                self.register(queue, &description)
            }
            DriverToMaster::UnregisterApplication { app, .. } => self.unregister(&app),
            DriverToMaster::RequestExecutors { .. }
            | DriverToMaster::KillExecutors { .. }
            | DriverToMaster::PreferHosts { .. }
            | DriverToMaster::RequestShortfall { .. } => {}
        }
    }

    fn register(&self, queue: &Queue, description: &ApplicationDescription) {
        let mut tables = self.tables();
        let app = AppId::new(format!("app-20261120212235-{:04}", tables.next_app));
        tables.next_app += 1;
        let cores = description.profile.cores.unwrap_or(Cores(1));
        let most = description.max_cores.unwrap_or(Cores(0));
        let count = usize::try_from(most.0 / cores.0.max(1)).unwrap_or(0);
        queue.push(&MasterToDriver::RegisteredApplication {
            app: app.clone(),
            master_url: "spark://null:1".to_owned(),
            max_cores: most,
            first_executor: ExecutorId(0),
            mark: None,
        });
        let mut executors = Vec::with_capacity(count);
        for number in (0..).take(count) {
            let index = tables.next;
            tables.next = (index + 1) % tables.workers.len();
            let (worker, worker_queue) = &tables.workers[index];
            let executor = ExecutorId(number);
            queue.push(&MasterToDriver::ExecutorAdded {
                executor,
                profile: ProfileId::DEFAULT,
                worker: worker.clone(),
                host: "127.0.0.1".to_owned(),
                cores,
                memory: MiB(1),
                port: 7078,
            });
            worker_queue.push(&MasterToWorker::LaunchExecutor(ExecutorLaunch {
                executor: ExecutorKey { app: app.clone(), executor },
                profile: ProfileId::DEFAULT,
                cores,
                memory: MiB(1),
                resources: Resources::default(),
                work: Shared::new(ExecutorWork {
                    app_name: description.name.clone(),
                    command: description.command.clone(),
                    directory: description.directory.clone(),
                    files: None,
                }),
                mark: None,
            }));
            executors.push(index);
        }
        tables.apps.insert(app, App { driver: queue.clone(), executors, ended: 0 });
    }

    fn unregister(&self, app: &AppId) {
        let tables = self.tables();
        let Some(row) = tables.apps.get(app) else { return };
        for (number, worker) in (0..).zip(&row.executors) {
            let executor = ExecutorKey { app: app.clone(), executor: ExecutorId(number) };
            tables.workers[*worker].1.push(&MasterToWorker::KillExecutor { executor });
        }
        let workers: BTreeSet<usize> = row.executors.iter().copied().collect();
        for worker in workers {
            tables.workers[worker].1.push(&MasterToWorker::ApplicationFinished { app: app.clone() });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
