//! The ways to load a server, and what is measured.

use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use firesteel_protocol::messages::{ClientToMaster, StateCursor};
use firesteel_protocol::wire::Role;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::hostile;
use crate::mocks::{self, Driver, Mock, Seen};
use crate::probe::Probe;
use crate::server::{self, Kind, Server, Used};
use crate::spark::{self, Script};
use crate::stability;
use crate::table::Sheet;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// The number of Workers; the burst fills their 16 cores.
    pub(crate) workers: u64,
    /// The number of applications in the burst.
    pub(crate) apps: u64,
    /// The number of small applications, one after the other.
    pub(crate) small_apps: u64,
    /// The number of hostile connections.
    pub(crate) hostile: usize,
    /// The duration of scenarios that last for a time.
    pub(crate) span: Duration,
    /// The number of applications in the million, each with a thousandth of the cores.
    pub(crate) large_apps: u64,
}

impl Size {
    pub(crate) const FULL: Self = Self {
        workers: 10_000,
        apps: 100,
        small_apps: 300,
        hostile: 5_000,
        span: Duration::from_secs(30),
        large_apps: 1_000,
    };
    pub(crate) const SMALL: Self = Self {
        workers: 60,
        apps: 6,
        small_apps: 5,
        hostile: 60,
        span: Duration::from_secs(1),
        large_apps: 10,
    };

    fn executors(self) -> u64 {
        self.workers * 16
    }
}

/// One way to load a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Workers register; all applications come at once and fill the cluster; all end at once.
    Burst,
    /// The burst with a Worker timeout of 3 s.
    Impatient,
    /// 1,000 applications of 1,000 executors on 5,000 Workers of 200 cores.
    Million,
    /// The million, with peers that speak Spark's RPC.
    SparkMillion,
    /// Applications of 16 executors, one after the other.
    Small,
    /// Workers that only send heartbeats.
    Heartbeats,
    /// 50 clients that ask for the whole state, and read nothing.
    Deaf,
    /// `firesteel status --json` beside 100,000 executors.
    Status,
    /// 20 drivers that register applications of four executors without pause, on 1,000 Workers.
    Rate,
    /// 1,000 Workers that are half full, while applications, Workers and hostile peers come and go.
    Stability,
    /// Applications of 16 executors on 1,000 Workers, beside 5,000 hostile connections and without them.
    Hostile,
}

impl Scenario {
    pub(crate) const ALL: [Self; 11] = [
        Self::Burst,
        Self::Impatient,
        Self::Million,
        Self::SparkMillion,
        Self::Small,
        Self::Heartbeats,
        Self::Deaf,
        Self::Status,
        Self::Rate,
        Self::Stability,
        Self::Hostile,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::Impatient => "impatient",
            Self::Million => "million",
            Self::SparkMillion => "spark-million",
            Self::Small => "small",
            Self::Heartbeats => "heartbeats",
            Self::Deaf => "deaf",
            Self::Status => "status",
            Self::Rate => "rate",
            Self::Stability => "stability",
            Self::Hostile => "hostile",
        }
    }

    /// The servers to load in turn.
    pub(crate) fn servers(self) -> &'static [Kind] {
        match self {
            Self::Burst => &[Kind::Null, Kind::Quiet, Kind::Logging, Kind::Durable, Kind::Secured],
            Self::Small | Self::Rate => &[Kind::Null, Kind::Quiet, Kind::Durable],
            Self::SparkMillion | Self::Heartbeats => &[Kind::Null, Kind::Quiet],
            Self::Impatient | Self::Million | Self::Deaf | Self::Status | Self::Stability => &[Kind::Quiet],
            Self::Hostile => &[Kind::Secured],
        }
    }

    /// Loads a new server, and records the figures.
    pub(crate) async fn run(self, kind: Kind, size: Size, sheet: &mut Sheet) {
        let settings = match self {
            Self::Impatient => vec!["spark.worker.timeout=3".to_owned()],
            // These mocks send no heartbeats.
            Self::SparkMillion => vec!["spark.worker.timeout=1000000".to_owned()],
            Self::Hostile => hostile::LIMITS_OF_USERS.map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        let testbed = Testbed::new(kind, &settings);
        match self {
            Self::Burst | Self::Impatient => burst(&testbed, size, sheet).await,
            Self::Million => million(&testbed, size, sheet).await,
            Self::SparkMillion => spark_million(&testbed, size, sheet).await,
            Self::Small => small(&testbed, size, sheet).await,
            Self::Heartbeats => heartbeats(&testbed, size, sheet).await,
            Self::Deaf => deaf(&testbed, size, sheet).await,
            Self::Status => status(&testbed, size, sheet).await,
            Self::Rate => rate(&testbed, size, sheet).await,
            Self::Stability => stability::run(&testbed, size, sheet).await,
            Self::Hostile => hostile::run(&testbed, size, sheet).await,
        }
    }
}

/// A server, with the counts of the mocks.
pub(crate) struct Testbed {
    pub(crate) server: Server,
    pub(crate) seen: Rc<Seen>,
}

impl Testbed {
    fn new(kind: Kind, settings: &[String]) -> Self {
        Self { server: Server::start(kind, settings), seen: Rc::default() }
    }

    /// Registers Workers and waits for them.
    pub(crate) async fn workers(&self, count: u64, cores: i64) -> Vec<Mock> {
        let mut workers = Vec::new();
        // The kernel's queue of unaccepted connections is short.
        for from in (0..count).step_by(500) {
            let until = count.min(from + 500);
            workers.extend(
                (from..until).map(|number| mocks::worker(&self.server.door, number, cores, &self.seen)),
            );
            self.seen.until("all Workers are registered", |seen| seen.workers.get() >= until).await;
        }
        workers
    }

    /// Connects drivers, which register when they are notified.
    pub(crate) async fn drivers(&self, count: u64, executors: i64) -> (Vec<Driver>, Rc<Notify>) {
        let start = Rc::new(Notify::new());
        let connect = |_| Driver::connect(&self.server.door, executors, Rc::clone(&start), &self.seen);
        let all = self.seen.drivers.get() + count;
        let drivers = (0..count).map(connect).collect();
        self.seen.until("all drivers are connected", |seen| seen.drivers.get() >= all).await;
        (drivers, start)
    }

    pub(crate) async fn running(&self, executors: u64) {
        self.seen.until("all executors run", |seen| seen.running.get() >= executors).await;
    }

    pub(crate) async fn gone(&self, apps: u64) {
        self.seen.until("all executors are gone", |seen| seen.gone.get() >= apps).await;
    }
}

fn micros(before: Used, after: Used, count: u64) -> f64 {
    (after.cpu - before.cpu).as_secs_f64() * 1e6 / count as f64
}

async fn burst(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let Testbed { server, seen } = testbed;
    let (empty, start) = (server.memory(), server.used());
    let _workers = testbed.workers(size.workers, 16).await;
    sleep(Duration::from_millis(500)).await;
    let connected = server.memory();
    sheet.put("registration: CPU a Worker, us", micros(start, server.used(), size.workers));
    sheet.put("memory a connected Worker, B", (connected - empty) as f64 / size.workers as f64);

    let executors = size.executors();
    let (drivers, begin) =
        testbed.drivers(size.apps, i64::try_from(executors / size.apps).expect("it is small")).await;
    let probe = Probe::start(&server.door);
    let calls = sheet.count_system_calls(server);
    let (before, begun) = (server.used(), Instant::now());
    begin.notify_waiters();
    testbed.running(executors).await;
    let (took, after) = (begun.elapsed(), server.used());
    let delays = probe.finish();
    sheet.put("burst: CPU an executor, us", micros(before, after, executors));
    sheet.put("burst: executors a second", executors as f64 / took.as_secs_f64());
    sheet.put(
        "burst: context switches an executor",
        (after.switches - before.switches) as f64 / executors as f64,
    );
    sheet.put_system_calls("burst: system calls an executor", calls, executors);
    sheet.put("burst: probe, 99 of 100 within, ms", delays.most.as_secs_f64() * 1e3);
    sheet.put("burst: probe, longest, ms", delays.longest.as_secs_f64() * 1e3);
    sheet.put("burst: Workers lost", seen.lost.get() as f64);
    sheet.put("burst: latest heartbeat written, ms", seen.late.get().as_secs_f64() * 1e3);
    sheet.put("memory an executor, B", server.memory().saturating_sub(connected) as f64 / executors as f64);

    let calls = sheet.count_system_calls(server);
    let before = server.used();
    drivers.iter().for_each(Driver::end);
    testbed.gone(size.apps).await;
    sheet.put("ends: CPU an executor, us", micros(before, server.used(), executors));
    sheet.put_system_calls("ends: system calls an executor", calls, executors);
    // The last confirmations to Workers are in transit.
    sleep(Duration::from_millis(500)).await;
    sheet.frames(&seen.frames.borrow());
}

async fn million(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let apps = size.large_apps;
    let _workers = testbed.workers(apps * 5, 200).await;
    let (_drivers, begin) = testbed.drivers(apps, i64::try_from(apps).expect("it is small")).await;
    let begun = Instant::now();
    begin.notify_waiters();
    testbed.running(apps * apps).await;
    sheet.put("million: until all run, s", begun.elapsed().as_secs_f64());
}

async fn spark_million(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let Testbed { server, seen } = testbed;
    let apps = size.large_apps;
    let script = Rc::new(Script::read());
    let mut workers = Vec::new();
    for from in (0..apps * 5).step_by(500) {
        let until = (from + 500).min(apps * 5);
        workers.extend(
            (from..until).map(|number| spark::worker(&script, &server.door.address, number, 200, seen)),
        );
        seen.until("all Workers are registered", |seen| seen.workers.get() >= until).await;
    }
    let start = Rc::new(Notify::new());
    let executors = i32::try_from(apps).expect("it is small");
    let connect = |_| spark::driver(&script, &server.door.address, executors, Rc::clone(&start), seen);
    let _drivers: Vec<Mock> = (0..apps).map(connect).collect();
    seen.until("all drivers are connected", |seen| seen.drivers.get() >= apps).await;
    let (before, own, begun) = (server.used(), server::own(), Instant::now());
    start.notify_waiters();
    testbed.running(apps * apps).await;
    sheet.put("spark-million: until all run, s", begun.elapsed().as_secs_f64());
    sheet.put("spark-million: CPU an executor, us", micros(before, server.used(), apps * apps));
    let own = server::own().saturating_sub(own);
    sheet
        .put("spark-million: the mocks' CPU an executor, us", own.as_secs_f64() * 1e6 / (apps * apps) as f64);
}

async fn small(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let _workers = testbed.workers(size.workers, 16).await;
    let mut cpu = 0.0;
    for number in 1..=size.small_apps {
        let (drivers, begin) = testbed.drivers(1, 16).await;
        let before = testbed.server.used();
        begin.notify_waiters();
        testbed.running(number * 16).await;
        cpu += micros(before, testbed.server.used(), 1);
        drivers.iter().for_each(Driver::end);
        testbed.gone(number).await;
    }
    sheet.put("small: CPU an application of 16, us", cpu / size.small_apps as f64);
}

async fn heartbeats(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let _workers = testbed.workers(size.workers, 16).await;
    let before = testbed.server.used();
    sleep(size.span).await;
    let spent = micros(before, testbed.server.used(), 1) / size.span.as_secs_f64();
    sheet.put("heartbeats: CPU a second, us", spent);
}

async fn deaf(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let Testbed { server, .. } = testbed;
    let _workers = testbed.workers(size.workers, 16).await;
    let executors = size.executors();
    let (_drivers, begin) =
        testbed.drivers(size.apps, i64::try_from(executors / size.apps).expect("it is small")).await;
    begin.notify_waiters();
    testbed.running(executors).await;
    let before = server.memory();
    let mut deaf = Vec::new();
    for _ in 0..50 {
        let mut link = server.door.dial(Role::Client, "deaf").await;
        for _ in 0..200 {
            link.outgoing.push(&ClientToMaster::RequestMasterState { from: StateCursor::beginning() });
        }
        // A server need not read all questions.
        let _ = timeout(Duration::from_millis(100), link.outgoing.flush()).await;
        deaf.push(link);
    }
    let mut most = 0;
    let until = Instant::now() + size.span;
    while Instant::now() < until {
        most = most.max(server.memory());
        sleep(Duration::from_millis(50)).await;
    }
    sheet.put("deaf: memory for 50 peers that do not read, MB", most.saturating_sub(before) as f64 / 1e6);
}

async fn status(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let Testbed { server, .. } = testbed;
    let _workers = testbed.workers(size.workers, 16).await;
    let executors = size.executors() * 10 / 16;
    let (_drivers, begin) =
        testbed.drivers(size.apps, i64::try_from(executors / size.apps).expect("it is small")).await;
    begin.notify_waiters();
    testbed.running(executors / size.apps * size.apps).await;
    let probe = Probe::start(&server.door);
    let url = format!("spark://{}", server.door.address);
    let mut command = Command::new(env!("CARGO_BIN_EXE_firesteel"));
    command.args(["status", "--json", "--master", &url]).stdin(Stdio::null()).stderr(Stdio::null());
    // Meanwhile the mocks continue.
    let begun = Instant::now();
    let asked = tokio::task::spawn_blocking(move || command.output());
    let output = asked.await.expect("it does not panic").expect("firesteel runs");
    let took = begun.elapsed();
    let delays = probe.finish();
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("status prints JSON");
    let told = |app: &serde_json::Value| app["executors"].as_array().map_or(0, Vec::len);
    let told: usize = value["applications"].as_array().map_or(0, |apps| apps.iter().map(told).sum());
    let all = usize::try_from(executors / size.apps * size.apps).expect("it is small");
    assert!(output.status.success(), "status ended with {}", output.status);
    assert_eq!(told, all, "status --json lists every executor");
    sheet.put("status: until it is printed, ms", took.as_secs_f64() * 1e3);
    sheet.put("status: the longest that the probe waited, ms", delays.longest.as_secs_f64() * 1e3);
}

async fn rate(testbed: &Testbed, size: Size, sheet: &mut Sheet) {
    let _workers = testbed.workers(size.workers.min(1_000), 16).await;
    let begun = Instant::now();
    let mut done = 0;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (door, span) = (testbed.server.door.clone(), size.span / 3);
        clients.spawn_local(async move {
            let mut apps = 0_u64;
            while begun.elapsed() < span {
                let one = timeout(mocks::PATIENCE, mocks::one_application(&door, 4)).await;
                assert!(one.is_ok(), "waited for {:?} until an application was done", mocks::PATIENCE);
                apps += 1;
            }
            apps
        });
    }
    while let Some(apps) = clients.join_next().await {
        done += apps.expect("a client does not panic");
    }
    sheet.put("rate: applications a second", done as f64 / begun.elapsed().as_secs_f64());
}
