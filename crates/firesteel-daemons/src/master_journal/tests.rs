//! A journal with records of all kinds. However its bytes are damaged, either a Master is recovered, or the journal is
//! refused.

use std::collections::BTreeSet;
use std::fs;

use firesteel_host::journal::{Batch, Contents};
use firesteel_master::{Durability, Effect, Event, Inbound, Outbound};
use firesteel_placement::{Amount, Cores, MiB, ResourceAmounts, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ClientToMaster, DriverDescription, DriverReport, DriverState, DriverToMaster,
    ExecutorReport, ExecutorState, ExecutorTarget, GivenNumbers, HostPreferences, MasterToDriver,
    MasterToWorker, Offered, Placing, Requester, ResourceProfile, Rights, RunId, Submitter, Usage, Used,
    WantedExecutors, Work, WorkerDescription, WorkerReport, WorkerToMaster, WorkerView,
};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::wire;
use firesteel_protocol::{Kind, Machine};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_795_209_755_000);

fn config() -> Config {
    Config { durability: Durability::Durable, retained_applications: 1, ..Config::default() }
}

/// A Master, and the records that each event of it has produced.
struct Story {
    master: Master,
    batches: Vec<Vec<Record>>,
}

impl Story {
    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.master.apply(NOW, event);
        effects.retain_mut(|effect| match effect {
            Effect::Persist(records) => {
                self.batches.push(std::mem::take(records));
                false
            }
            _ => true,
        });
        effects
    }

    fn worker(&mut self, peer: PeerId, message: WorkerToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer, arrived: NOW, message: Inbound::Worker(message) })
    }

    fn driver(&mut self, peer: PeerId, message: DriverToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer, arrived: NOW, message: Inbound::Driver(message) })
    }

    fn report(&mut self, (peer, executor): &(PeerId, ExecutorKey), state: ExecutorState) {
        let executor = executor.clone();
        self.worker(*peer, WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state)));
    }

    /// Reports the usage of an executor from its Worker.
    fn measure(&mut self, (peer, executor): &(PeerId, ExecutorKey)) {
        let id = |worker: &&WorkerView| {
            self.master.view().applications.iter().any(|app| {
                app.executors.iter().any(|it| it.id == executor.executor && it.worker == worker.id)
            })
        };
        let worker = self.master.view().workers.iter().find(id).expect("it is on a Worker").id.clone();
        let usage = Usage { cpu_millis: 5, millicores: 1, memory: 1 << 20, peak_memory: 2 << 20 };
        let (web_address, master_web_address, machine, disk) = Default::default();
        let (executors, drivers) = (vec![(executor.clone(), usage)], Vec::new());
        let report =
            WorkerReport { worker, web_address, master_web_address, machine, disk, executors, drivers };
        self.worker(*peer, WorkerToMaster::WorkerReported(Box::new(report)));
    }

    fn client(&mut self, peer: PeerId, message: ClientToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer, arrived: NOW, message: Inbound::Client(message) })
    }

    /// Submits a cluster driver. Returns the connection of the driver's Worker, and the driver.
    fn submit(&mut self, client: PeerId) -> (PeerId, DriverId) {
        self.submit_with(client, ResourceAmounts::new())
    }

    /// Submits a cluster driver that needs custom resources.
    fn submit_with(&mut self, client: PeerId, needs: ResourceAmounts) -> (PeerId, DriverId) {
        let user = "a test".to_owned();
        let (cores, memory, supervise, resources) = (Cores(1), MiB(512), false, needs);
        let command = Command::of("true");
        let description = DriverDescription { user, command, cores, memory, supervise, resources };
        let effects = self.client(client, ClientToMaster::RequestSubmitDriver(Box::new(description)));
        launched(&effects)
    }

    fn report_driver(&mut self, (worker, driver): &(PeerId, DriverId), state: DriverState) -> Vec<Effect> {
        let report = DriverReport::new(driver.clone(), state);
        self.worker(*worker, WorkerToMaster::DriverStateChanged(report))
    }

    /// Runs two cluster drivers. The first one could not run on the Worker where it was placed first; it runs on
    /// another Worker and ends. The second one is asked to end.
    fn run_cluster_drivers(&mut self, client: PeerId) {
        let first = self.submit(client);
        let again = launched(&self.report_driver(&first, DriverState::Submitted));
        let (worker, driver) = again;
        let used = Some(Used { cpu_millis: 5, peak_memory: 2 << 20, exceeded: None });
        let report = DriverReport { driver, state: DriverState::Finished, used };
        self.worker(worker, WorkerToMaster::DriverStateChanged(report));
        let by = Requester::new("a test", Rights::Admin);
        self.client(client, ClientToMaster::RequestClearCompletedDriversAndApps { by: by.clone() });
        let third = self.submit_with(client, [("gpu".to_owned(), Amount::Whole(1))].into());
        let (last, pause_millis) = (ExitStatus::Code(1), None);
        let driver = third.1.clone();
        self.worker(third.0, WorkerToMaster::DriverRestarted { driver, restarts: 1, last, pause_millis });
        self.report_driver(&third, DriverState::Finished);
        let (_, driver) = self.submit(client);
        self.client(client, ClientToMaster::RequestKillDriver { driver, by });
    }

    /// Adds two Workers, of which one is decommissioned and ends, and two applications. One application stays, with
    /// executors that failed and executors that were taken back.
    fn tell(&mut self, chapter: u64) {
        let [one, other, driver, occupant] = [0, 1, 2, 3].map(|peer| PeerId(chapter * 10 + peer));
        let host = |peer: PeerId| format!("10.0.{chapter}.{}", peer.0);
        for peer in [one, other] {
            let resources = Resources::from_iter([("gpu", ["0"])]);
            let offered = Offered { cores: Cores(4), memory: MiB(8192), resources };
            let id = WorkerId::new(format!("worker-20261120212235-{}-7078", host(peer)));
            let description = WorkerDescription::new(id, Address::new(host(peer), 7078), offered, "/work");
            self.worker(peer, WorkerToMaster::register(description, Vec::new()));
        }
        let (app, executors) = registered(&self.driver(driver, application(8)));
        assert!(executors.len() >= 2, "there is room on both Workers");
        executors.iter().for_each(|executor| self.report(executor, ExecutorState::Running));
        self.measure(&executors[0]);
        self.report(&executors[0], ExecutorState::Exited(ExitStatus::Code(1)));
        let target = ExecutorTarget { id: ProfileId(0), profile: profile(), total: 3 };
        self.driver(driver, DriverToMaster::RequestExecutors { app: app.clone(), targets: vec![target] });
        let avoided = [host(one)].into();
        let preferences = Box::new(HostPreferences { avoided, ..HostPreferences::default() });
        self.driver(driver, DriverToMaster::PreferHosts { app: app.clone(), preferences });
        let taken = vec![executors[1].1.executor];
        self.driver(driver, DriverToMaster::KillExecutors { app, executors: taken });
        self.report(&executors[1], ExecutorState::Killed(Some(ExitStatus::Signal(15))));

        self.run_cluster_drivers(PeerId(chapter * 10 + 4));
        // The second one replaces the first one in the list of latest ones.
        for _ in 0..2 {
            let (app, _) = registered(&self.driver(occupant, application(2)));
            self.driver(occupant, DriverToMaster::UnregisterApplication { app, outcome: None });
        }
        let worker = WorkerId::new(format!("worker-20261120212235-{}-7078", host(other)));
        self.worker(other, WorkerToMaster::WorkerDecommissioning { worker });
        // One leaves with executors, and one without.
        self.apply(Event::Disconnected { peer: other });
        let left = PeerId(chapter * 10 + 9);
        let offered = Offered { cores: Cores(1), memory: MiB(1), resources: Resources::default() };
        let id = WorkerId::new(format!("worker-20261120212235-{}-7078", host(left)));
        let description =
            WorkerDescription::new(id.clone(), Address::new(host(left), 7078), offered, "/work");
        self.worker(left, WorkerToMaster::register(description, Vec::new()));
        self.worker(left, WorkerToMaster::WorkerDecommissioning { worker: id });
        self.apply(Event::Disconnected { peer: left });
    }
}

fn profile() -> ResourceProfile {
    ResourceProfile { cores: Some(Cores(2)), memory: Some(MiB(1024)), resources: ResourceAmounts::new() }
}

fn application(max_cores: i64) -> DriverToMaster {
    let wanted = WantedExecutors {
        profile: profile(),
        max_cores: Some(Cores(max_cores)),
        ..WantedExecutors::default()
    };
    let work = Work::of(Command::of("true"));
    let submitter = Submitter::new("a test", "a test");
    let description = ApplicationDescription::new(submitter, wanted, Placing::default(), work);
    DriverToMaster::RegisterApplication(Box::new(description))
}

/// The cluster driver that was launched, with its Worker's connection.
fn launched(effects: &[Effect]) -> (PeerId, DriverId) {
    let launched = effects.iter().find_map(|effect| match effect {
        Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchDriver(launch)) } => {
            Some((*peer, launch.driver.clone()))
        }
        _ => None,
    });
    launched.expect("there is room")
}

/// The application that was registered, and its executors, each with the connection of its Worker.
fn registered(effects: &[Effect]) -> (AppId, Vec<(PeerId, ExecutorKey)>) {
    let mut app = None;
    let mut executors = Vec::new();
    for effect in effects {
        match effect {
            Effect::Send {
                message: Outbound::Driver(MasterToDriver::RegisteredApplication { app: id, .. }),
                ..
            } => app = Some(id.clone()),
            Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) } => {
                executors.push((*peer, launch.executor.clone()));
            }
            _ => {}
        }
    }
    (app.expect("it is registered"), executors)
}

#[test]
fn every_truncation_and_every_flipped_bit_is_recovered_or_refused_and_never_wrong() {
    let master = Master::recover(config(), NOW, []).expect("no record contradicts another one");
    let mut story = Story { master, batches: Vec::new() };
    story.tell(1);
    story.batches.clear();
    let first = story.master.image();
    story.tell(2);
    let Story { mut batches, .. } = story;
    // A Master without an identity leaves no numbers out.
    let given = GivenNumbers { executors: 900, ..GivenNumbers::default() };
    batches.push(vec![Record::Time(NOW), Record::NumbersLeftOut { given, recovered: 0 }]);
    let told: BTreeSet<&str> = first.iter().chain(batches.iter().flatten()).map(Record::kind).collect();
    assert_eq!(told, Record::NAMES.iter().copied().collect(), "records of all kinds");

    let scratch = tempfile::tempdir().expect("there is room");
    let mut writer = Writer::begin(Directory::lock(scratch.path()).expect("it is new"), &encoded(&first))
        .expect("there is room");
    let path = scratch.path().join("journal-0000000001");
    // Without the room after the last batch.
    let written = || {
        let file = fs::read(&path).expect("it is there");
        Contents::of(file).expect("it is whole").written().to_vec()
    };
    // The length of the file after each batch, and the image of the Master recovered from it.
    let mut recovered = Vec::new();
    let mut replayed = first.clone();
    let mut note = |replayed: &[Record]| {
        let master = Master::recover(config(), NOW, replayed.to_vec()).expect("they agree with each other");
        recovered.push((written().len(), image(&master)));
    };
    note(&replayed);
    for records in &batches {
        let mut batch = Batch::default();
        Record::append_all(records, batch.end());
        writer.commit(batch).expect("there is room");
        replayed.extend(records.iter().cloned());
        note(&replayed);
    }
    drop(writer);

    let whole = written();
    let read = |file: &[u8]| {
        fs::write(&path, file).expect("there is room");
        let recorded = Recorded::read(&Directory::read_only(scratch.path()))?.expect("it is there");
        recorded.recover(config(), NOW).map(|master| image(&master))
    };
    for length in 0..=whole.len() {
        let expected = recovered.iter().rfind(|(end, _)| *end <= length).map(|(_, image)| image);
        assert_eq!(
            read(&whole[..length]).ok().as_ref(),
            expected,
            "of {} bytes, {length} are there",
            whole.len()
        );
    }
    let (last, before_last) = (&recovered[recovered.len() - 1], &recovered[recovered.len() - 2]);
    assert_eq!(last.0, whole.len());
    // One bit of the room is flipped, and no other.
    for bit in 0..8 * 40 {
        let mut roomy = [&whole[..], &[0; 40]].concat();
        roomy[whole.len() + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(read(&roomy).ok().as_ref(), Some(&last.1), "bit {bit} of the room");
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // The last batch may be one that was being written.
        let expected = (bit / 8 >= before_last.0).then_some(&before_last.1);
        assert_eq!(read(&flipped).ok().as_ref(), expected, "bit {} of byte {}", bit % 8, bit / 8);
    }
}

/// Tests that this version reads the journal of a later version, after a downgrade. Its records have more fields.
#[test]
fn records_with_fields_of_a_later_version_are_read() {
    let master = Master::recover(config(), NOW, []).expect("no record contradicts another one");
    let mut story = Story { master, batches: Vec::new() };
    story.tell(1);
    let records = [story.master.image(), story.batches.concat()].concat();
    let later = |record: &Record| wire::encode_with_later_fields(record, b"\x05later").to_vec();
    let bytes: Vec<u8> = records.iter().flat_map(later).collect();
    assert_eq!(Record::read_all(&bytes), Ok(records));
}

/// Tests that a Master reads the journals of earlier releases, after an upgrade: see `fixtures/journal/README.md`.
#[test]
fn journals_of_earlier_releases_are_read() {
    for (name, file) in [
        ("batches", &include_bytes!("../../../../fixtures/journal/0.1.0-batches")[..]),
        ("image", &include_bytes!("../../../../fixtures/journal/0.1.0-image")[..]),
    ] {
        let scratch = tempfile::tempdir().expect("there is room");
        fs::write(scratch.path().join("journal-0000000001"), file).expect("there is room");
        let config = Config { run: RunId(7), ..config() };
        let (master, _) = open(scratch.path(), config, NOW).expect("it is read");
        let has_identity = |record: &Record| matches!(record, Record::Founded(it) if it.state.is_some());
        assert!(master.image().iter().any(has_identity), "{name} gets an identity");
        let view = master.view();
        let (app, ended) = (&view.applications[0], &view.completed[0]);
        assert_eq!((view.workers.len(), view.applications.len(), view.completed.len()), (1, 1, 1), "{name}");
        assert_eq!((app.name.as_str(), app.executors.len()), ("sleep", 1), "{name}");
        assert_eq!((ended.name.as_str(), ended.executors.len()), ("sums", 1), "{name}");
        assert_eq!(ended.outcome.as_ref().map(|outcome| outcome.word()), Some("failed"), "{name}");
        let drivers: Vec<&str> = view.drivers.iter().map(|driver| driver.command.as_str()).collect();
        assert_eq!(drivers, ["true", "sleep 1000"], "{name}");
    }
}
