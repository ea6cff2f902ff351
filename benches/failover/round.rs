//! One round: a cluster is built, its leader is killed, and another one takes over.
//!
//! The names of figures begin with the moment from which a time counts: `kill`, `elected`, `read`, `recovered`,
//! `leads`, as in the log of the new leader, or `session`: one session's timeout after the kill.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use firesteel_testkit::zookeeper::Ensemble;
use serde_json::Value;
use tempfile::TempDir;

use crate::crew::MockProcess;
use crate::masters::Master;
use crate::moment::Moment;
use crate::process::Meter;
use crate::table::Sheet;

/// The size of the cluster, and its time-outs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Workers, each with this number of cores and executors of one core.
    pub(crate) workers: u64,
    pub(crate) executors_each: u64,
    /// The number of applications that use these cores.
    pub(crate) apps: u64,
    /// The number of processes that run mock Workers.
    pub(crate) processes: u64,
    /// The tick of ZooKeeper.
    pub(crate) tick: Duration,
    /// The session's timeout of the Masters.
    pub(crate) session: Duration,
}

/// Additional Workers of one core each. Their executors end while there is no Master, which makes room.
const SPARES: u64 = 20;

/// How long after the kill these executors end, and a new application registers.
const MEANWHILE: Duration = Duration::from_millis(300);

impl Size {
    fn executors(self) -> u64 {
        self.workers * self.executors_each
    }
}

struct Cluster {
    ensemble: Ensemble,
    leader: Master,
    standby: Master,
    spares: MockProcess,
    workers: Vec<MockProcess>,
    /// The drivers of the running executors.
    drivers: MockProcess,
    /// The drivers of two applications: one waits, the other registers while there is no Master.
    hungry: MockProcess,
    _directory: TempDir,
}

impl Cluster {
    /// Builds a full cluster, in which one application waits.
    fn build(size: Size, credentials: Option<&Path>) -> Self {
        let ensemble = Ensemble::start_with_tick(1, size.tick);
        let directory = TempDir::new().expect("a temporary directory");
        let started = Moment::now();
        let master = |name: &str| {
            Master::start(&ensemble.url(), size.session, &directory.path().join(name), credentials)
        };
        let leader = master("first");
        leader.line("leads in epoch 1", started);
        let standby = master("second");
        standby.line("standing by", started);
        let masters = format!("spark://{},{}", leader.address, standby.address);

        let workers = |first: u64, count: u64, cores: u64| {
            let [first, count, cores] = [first, count, cores].map(|number| number.to_string());
            MockProcess::start(&["workers", &first, &count, &cores, &masters], credentials)
        };
        let mut drivers = MockProcess::start(&["drivers", &masters], credentials);
        // Each application finds room only on the Workers that are meant for it.
        let spares = workers(size.workers, SPARES, 1);
        spares.hear("ready");
        drivers.tell(&format!("start-once short 1 {SPARES}"));
        drivers.hear("running short");
        let (each, more) = (size.workers / size.processes, size.workers % size.processes);
        let mut first = 0;
        let crews = (0..size.processes).map(|process| {
            let count = each + u64::from(process < more);
            first += count;
            workers(first - count, count, size.executors_each)
        });
        let crews: Vec<MockProcess> = crews.collect();
        for crew in &crews {
            crew.hear("ready");
        }
        drivers.tell(&format!("start main {} {}", size.apps, size.executors() / size.apps));
        drivers.hear("running main");
        // In a separate process, because returning drivers receive many messages.
        let mut hungry = MockProcess::start(&["drivers", &masters], credentials);
        hungry.tell("start waiting 1 1");
        hungry.hear("registered waiting");
        Self { ensemble, leader, standby, spares, workers: crews, drivers, hungry, _directory: directory }
    }

    fn mocks(&self) -> impl Iterator<Item = &MockProcess> {
        self.workers.iter().chain([&self.spares, &self.drivers, &self.hungry])
    }

    /// A number that ZooKeeper reports about itself.
    fn zookeeper(&self, field: &str) -> f64 {
        let said = self.ensemble.ask(0, "mntr").expect("ZooKeeper answers");
        let value = said.lines().find_map(|line| line.strip_prefix(field)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("ZooKeeper does not say {field}"))
    }
}

/// Builds a cluster, whose members use the credentials of this file, kills its leader, and records the figures.
///
/// # Panics
/// Something takes too long, or an executor is lost.
pub(crate) fn run(size: Size, credentials: Option<&Path>) -> Sheet {
    let mut sheet = Sheet::default();
    let mut cluster = Cluster::build(size, credentials);
    assert_eq!(counts(&cluster.leader.status()), (size.workers + SPARES, size.executors() + SPARES));
    sheet.put("MB in ZooKeeper before", cluster.zookeeper("zk_approximate_data_size") / 1e6);
    sheet.put("nodes in ZooKeeper before", cluster.zookeeper("zk_znode_count"));
    cluster.workers.iter_mut().for_each(|crew| crew.tell("forget"));

    // The session's last sign of life is some time before the kill.
    let now: u64 = Moment::now().to_string().parse().expect("it is a number");
    sleep(Duration::from_millis(1_000 + now % 700));
    let pids: Vec<u32> =
        [cluster.standby.pid()].into_iter().chain(cluster.mocks().map(MockProcess::pid)).collect();
    let (master_alone, mocks_alone) = (0..1, 1..pids.len());
    let meter = Meter::start(pids);
    let refused = overflows();
    let killed = cluster.leader.kill();
    sleep(MEANWHILE);
    cluster.spares.tell("end");
    cluster.hungry.tell("start new 1 1");

    let Cluster { ensemble, standby, drivers, hungry, workers, .. } = &mut cluster;
    let (leads, _) = standby.line("leads in epoch 2", killed);
    // Either line may come first.
    let first = hungry.hear("launched");
    let second = hungry.hear("launched");
    let launched = |name| {
        let (moment, _) =
            [&first, &second].into_iter().find(|(_, said)| said == name).expect("both were said");
        *moment
    };
    let (waiting, new) = (launched("waiting"), launched("new"));
    let (resumed, _) = drivers.hear("registered main");
    let (back, _) = standby.line("all Workers and applications are back", killed);
    let (elected, _) = standby.line("elected in epoch 2", killed);
    let (read, bytes) = standby.line("bytes of state", killed);
    let (recovered, _) = standby.line("recovered ", killed);
    let log = ensemble.log(0);
    let expired = log.lines().find(|line| line.contains("Expiring session"));
    let expired = Moment::of_day(expired.expect("ZooKeeper says so"), killed);
    // By now all peers have noticed, and no message is in transit.
    sleep(Duration::from_millis(500));
    let readings = meter.finish();
    let mut registrations = Vec::new();
    let (mut dials, mut failures, mut ended) = (0, 0, 0);
    for crew in workers {
        crew.tell("report");
        let (_, said) = crew.hear("report");
        let mut words = said.split(' ');
        let mut number = || words.next().expect("three numbers").parse::<u64>().expect("a number");
        dials += number();
        failures += number();
        ended += number();
        registrations.extend(words.map(Moment::read));
    }
    registrations.sort_unstable();
    assert_eq!(registrations.len() as u64, size.workers, "each Worker registered once");
    drivers.tell("report main");
    ended += drivers.hear("report").1.parse::<u64>().expect("a number");
    assert_eq!(ended, 0, "executors that were lost or killed");
    assert_eq!(counts(&standby.status()), (size.workers + SPARES, size.executors() + 2));
    sheet.warn(standby.log().lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")));
    let at = |hundredth: usize| registrations[(registrations.len() * hundredth).div_ceil(100).max(1) - 1];

    sheet.put("kill: ZooKeeper ends the session, s", expired.since(killed));
    sheet.put("kill: elected, s", elected.since(killed));
    sheet.put("kill: leads (a), s", leads.since(killed));
    sheet.put("elected: state read, ms", read.since(elected) * 1e3);
    sheet.put("read: recovered, ms", recovered.since(read) * 1e3);
    sheet.put("recovered: kept anew, and leads, ms", leads.since(recovered) * 1e3);
    sheet.put("MB of state read", megabytes(&bytes));
    sheet.put("leads: waiting application placed, ms", waiting.since(leads) * 1e3);
    sheet.put("leads: new application placed, ms", new.since(leads) * 1e3);
    sheet.put("leads: first placement (b) - (a), s", waiting.min(new).since(leads));
    sheet.put("leads: all drivers back, ms", resumed.since(leads) * 1e3);
    sheet.put("leads: first Worker back, ms", at(0).since(leads) * 1e3);
    sheet.put("leads: half of the Workers back, ms", at(50).since(leads) * 1e3);
    sheet.put("leads: 99 of 100 Workers back, ms", at(99).since(leads) * 1e3);
    sheet.put("leads: last Worker back, ms", at(100).since(leads) * 1e3);
    sheet.put("leads: all back (c) - (a), s", back.since(leads));
    let session = size.session.as_secs_f64();
    sheet.put("session: first placement, s", waiting.min(new).since(killed) - session);
    sheet.put("session: all back, s", back.since(killed) - session);
    for (from, to, [master, mocks]) in [
        (killed, elected, ["CPU of the Master, standing by, s", "CPU of the mocks meanwhile, s"]),
        (elected, leads, ["CPU of the Master, elected: leads, s", "CPU of the mocks, elected: leads, s"]),
        (leads, back, ["CPU of the Master, leads: all back, s", "CPU of the mocks, leads: all back, s"]),
    ] {
        sheet.put(master, readings.between(from, to, master_alone.clone()));
        sheet.put(mocks, readings.between(from, to, mocks_alone.clone()));
    }
    sheet.put("connections a Worker has asked for", dials as f64 / size.workers as f64);
    sheet.put("of them failed", failures as f64 / size.workers as f64);
    sheet.put("connections without room in the queue", overflows() - refused);
    sheet.put("MB in ZooKeeper after", cluster.zookeeper("zk_approximate_data_size") / 1e6);
    sheet
}

/// The numbers of live Workers and of running executors.
fn counts(status: &Value) -> (u64, u64) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let alive = list(&status["workers"]).iter().filter(|worker| worker["state"] == "ALIVE").count();
    let running = |app: &Value| {
        list(&app["executors"]).iter().filter(|executor| executor["state"] == "RUNNING").count()
    };
    let running: usize = list(&status["applications"]).iter().map(running).sum();
    (alive as u64, running as u64)
}

/// The number of connections that this machine's kernel dropped because the accept queue was full.
fn overflows() -> f64 {
    let text = std::fs::read_to_string("/proc/net/netstat").unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("TcpExt: ")).collect();
    let [names, values] = lines[..] else { return f64::NAN };
    let mut fields = names.split(' ').zip(values.split(' '));
    let value = fields.find_map(|(name, value)| (name == "ListenOverflows").then(|| value.parse().ok()));
    value.flatten().unwrap_or(f64::NAN)
}

/// The number in `read 123 bytes of state`.
fn megabytes(line: &str) -> f64 {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "bytes").expect("it says bytes");
    words[at - 1].parse::<f64>().expect("a number") / 1e6
}
