//! A Master's state, read page by page while the Master changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_master::{Config, Effect, Event, Inbound, Master, Outbound, Retries};
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::*;
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::state_reader::{Extent, StateReader};
use firesteel_protocol::{Machine, Timestamp};
use firesteel_sim::dice::Dice;
use quickcheck::{Arbitrary, Gen};

use super::suites::laws::{Verdict, ensure, hold};

/// The number of Workers that register and are lost.
const WORKERS: u64 = 12;
const CLIENT: PeerId = PeerId(0);

/// A reading of a Master's state, with the changes before each page.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    /// The maximum number of rows of a page.
    rows: usize,
    /// The number of changes before the reading.
    before: u64,
    /// The maximum number of changes before each page.
    changes: u64,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let small = |g: &mut Gen, most: u64| u64::arbitrary(g) % (most + 1);
        let rows = 1 + usize::try_from(small(g, 6)).expect("it is small");
        Self { seed: u64::arbitrary(g), rows, before: small(g, 80), changes: small(g, 6) }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let fewer = self.before.shrink().map(|before| Self { before, ..self.clone() });
        let calmer = self.changes.shrink().map(|changes| Self { changes, ..self.clone() });
        Box::new(fewer.chain(calmer).collect::<Vec<_>>().into_iter())
    }
}

/// The error of a deliberately wrong Master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// A page lacks a row in its middle.
    Lost,
    /// A page begins with the last row of the previous page.
    Repeated,
    /// A page ends early, and claims to be the last.
    CutShort,
    /// A row never had this content.
    False,
    /// The totals do not match the state.
    Miscounted,
}

/// A Master with peers that change its state.
struct World {
    master: Master,
    dice: Dice,
    now: Timestamp,
    /// The connections of live Workers.
    workers: BTreeMap<PeerId, u64>,
    drivers: BTreeSet<PeerId>,
    last_peer: u64,
}

/// The rows of a state, by the thing that they describe.
type Rows = BTreeMap<String, StateRow>;

impl World {
    fn new(case: &Case) -> Self {
        let page = PageSize { rows: case.rows, ..PageSize::default() };
        let retries = Retries::Unlimited;
        let config = Config { page, retries, retained_applications: 4, ..Config::default() };
        Self {
            master: Master::new(config),
            dice: Dice::new(case.seed),
            now: Timestamp::from_millis(1_795_209_755_000),
            workers: BTreeMap::new(),
            drivers: BTreeSet::new(),
            last_peer: 0,
        }
    }

    fn apply(&mut self, event: Event) -> Vec<Effect> {
        self.now = self.now + Duration::from_millis(self.dice.below(5));
        let effects = self.master.apply(self.now, event);
        if let Err(violation) = self.master.check() {
            panic!("{violation:?}");
        }
        effects
    }

    fn new_peer(&mut self) -> PeerId {
        self.last_peer += 1;
        PeerId(self.last_peer)
    }

    fn change(&mut self) {
        match self.dice.below(10) {
            0..=1 => self.come(),
            2 => self.go(),
            3..=4 => self.submit(),
            5 => self.finish(),
            _ => self.report(),
        }
    }

    /// A Worker registers, perhaps a lost one.
    fn come(&mut self) {
        let number = self.dice.below(WORKERS);
        if self.workers.values().any(|other| *other == number) {
            return;
        }
        let peer = self.new_peer();
        self.workers.insert(peer, number);
        let worker = WorkerDescription::new(
            WorkerId::new(format!("worker-{number}")),
            Address::new(format!("host{number}"), 7078),
            Offered { cores: Cores(8), memory: MiB(1 << 20), resources: Resources::default() },
            "/work",
        );
        let message = Inbound::Worker(WorkerToMaster::register(worker, Vec::new()));
        self.apply(Event::Received { peer, arrived: self.now, message });
    }

    fn go(&mut self) {
        let peers: Vec<PeerId> = self.workers.keys().copied().collect();
        let Some(index) = self.dice.index(peers.len()) else { return };
        self.workers.remove(&peers[index]);
        self.apply(Event::Disconnected { peer: peers[index] });
    }

    fn submit(&mut self) {
        let peer = self.new_peer();
        self.drivers.insert(peer);
        let cores = 1 + i64::try_from(self.dice.below(12)).expect("it is small");
        let profile = ResourceProfile { cores: Some(Cores(1)), ..ResourceProfile::default() };
        let description = ApplicationDescription::new(
            Submitter::new("sums", "ann"),
            WantedExecutors { max_cores: Some(Cores(cores)), profile, ..WantedExecutors::default() },
            Placing::default(),
            Work::of(Command::of("work")),
        );
        let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(description)));
        self.apply(Event::Received { peer, arrived: self.now, message });
    }

    fn finish(&mut self) {
        let peers: Vec<PeerId> = self.drivers.iter().copied().collect();
        let Some(index) = self.dice.index(peers.len()) else { return };
        self.drivers.remove(&peers[index]);
        self.apply(Event::Disconnected { peer: peers[index] });
    }

    /// A Worker reports that an executor runs or has ended.
    fn report(&mut self) {
        let view = self.master.view();
        let live = view.applications.iter().flat_map(|app| {
            let live = app.executors.iter().filter(|executor| executor.ended.is_none());
            live.map(|executor| (app.id.clone(), executor.id, executor.worker.clone()))
        });
        let live: Vec<_> = live.collect();
        let Some(index) = self.dice.index(live.len()) else { return };
        let (app, executor, worker) = live[index].clone();
        let is_its = |number: &u64| WorkerId::new(format!("worker-{number}")) == worker;
        let peer = self.workers.iter().find(|(_, number)| is_its(number)).map(|(peer, _)| *peer);
        let state = match self.dice.one_in(2) {
            true => ExecutorState::Running,
            false => ExecutorState::Exited(ExitStatus::SUCCESS),
        };
        let report = ExecutorReport::new(ExecutorKey { app, executor }, state);
        let message = Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report));
        self.apply(Event::Received { peer: peer.expect("its Worker lives"), arrived: self.now, message });
    }

    fn page(&mut self, question: ClientToMaster) -> StatePage {
        let message = Inbound::Client(question);
        match self.apply(Event::Received { peer: CLIENT, arrived: self.now, message }).pop() {
            Some(Effect::Send {
                message: Outbound::Client(MasterToClient::MasterStateResponse(page)),
                ..
            }) => page,
            other => panic!("a question is answered with {other:?}"),
        }
    }

    /// Every row that the Master has now.
    fn rows(&self) -> Rows {
        rows_of(&self.master.view())
    }
}

/// The rows of a state, without ended executors: they belong to no state.
fn rows_of(view: &MasterView) -> Rows {
    let workers =
        view.workers.iter().map(|view| (format!("{}", view.id), StateRow::Worker(Box::new(view.clone()))));
    let app = |view: &ApplicationView| {
        let row = Box::new(ApplicationView { executors: Vec::new(), ..view.clone() });
        (format!("{}", view.id), StateRow::Application { number: 0, view: row })
    };
    let all = view.applications.iter().chain(&view.completed);
    let executors = view.applications.iter().flat_map(|app| {
        let live = app.executors.iter().filter(|executor| executor.ended.is_none());
        live.map(move |executor| {
            let row = StateRow::Executor { application: 0, view: executor.clone() };
            (format!("{}/{}", app.id, executor.id), row)
        })
    });
    let driver = |view: &DriverView| {
        (format!("{}", view.id), StateRow::Driver { number: 0, view: Box::new(view.clone()) })
    };
    workers.chain(all.map(app)).chain(view.drivers.iter().map(driver)).chain(executors).collect()
}

fn totals(view: &MasterView, rows: &Rows) -> StateTotals {
    let executors = rows.values().filter(|row| matches!(row, StateRow::Executor { .. })).count();
    let [workers, applications, completed, executors] =
        [view.workers.len(), view.applications.len(), view.completed.len(), executors].map(|it| it as u64);
    StateTotals { workers, applications, completed, drivers: view.drivers.len() as u64, executors }
}

/// Reads a state according to the case. Returns the error.
fn read(case: &Case, wrong: Wrong) -> Verdict {
    let mut world = World::new(case);
    for _ in 0..case.before {
        world.change();
    }
    let mut reader = StateReader::new(Extent::Whole);
    let (mut throughout, mut seen): (Option<BTreeSet<String>>, Vec<Rows>) = (None, Vec::new());
    while let Some(question) = reader.question() {
        for _ in 0..world.dice.below(case.changes + 1) {
            world.change();
        }
        let mut page = world.page(question);
        let (view, rows) = (world.master.view(), world.rows());
        bend(&mut page, wrong);
        ensure!(page.rows.len() <= case.rows, "a page has {} rows", page.rows.len());
        if let Some(head) = &page.head {
            let (told, true_ones) = (head.totals, totals(&view, &rows));
            ensure!(told == true_ones, "the totals are {true_ones:?}, and the page says {told:?}");
        }
        throughout = Some(match throughout {
            None => rows.keys().cloned().collect(),
            Some(keys) => keys.into_iter().filter(|key| rows.contains_key(key)).collect(),
        });
        seen.push(rows);
        reader.read(page).map_err(|error| error.to_string())?;
    }
    let state = reader.finish().expect("there is no further question");
    let read = rows_of(&state);
    let executors: usize = state.applications.iter().map(|app| app.executors.len()).sum();
    let count = state.workers.len() + state.applications.len() + state.completed.len() + executors;
    ensure!(read.len() == count, "{count} rows are read, of which {} differ", read.len());
    judge(&throughout.unwrap_or_default(), &seen, &read)
}

/// Compares the reading with the state at each page.
fn judge(throughout: &BTreeSet<String>, seen: &[Rows], read: &Rows) -> Verdict {
    for key in throughout {
        ensure!(read.contains_key(key), "{key} was there all the time, and was not read");
    }
    for (key, row) in read {
        let was_so = |rows: &Rows| rows.get(key) == Some(row);
        ensure!(seen.iter().any(was_so), "{key} was never as it was read: {row:?}");
    }
    Ok(())
}

/// Changes a page as a wrong Master would.
fn bend(page: &mut StatePage, wrong: Wrong) {
    match wrong {
        Wrong::Lost if page.rows.len() > 2 => {
            page.rows.remove(1);
        }
        Wrong::Repeated => {
            if page.next.is_some() {
                page.next = page.rows.last().map(StateRow::cursor);
            }
        }
        Wrong::CutShort => page.next = None,
        Wrong::False => {
            if let Some(StateRow::Worker(worker)) = page.rows.first_mut() {
                worker.cores_used = Cores(worker.cores_used.0 + 1);
            }
        }
        Wrong::Miscounted => {
            if let Some(head) = &mut page.head {
                head.totals.executors += 1;
            }
        }
        Wrong::Lost | Wrong::Nothing => {}
    }
}

#[test]
fn each_row_that_is_there_all_the_time_is_read_exactly_once() {
    let law = |case: &Case| read(case, Wrong::Nothing);
    hold("state_pages::each_row_that_is_there_all_the_time_is_read_exactly_once", 300, law);
}

#[test]
fn a_state_that_does_not_change_is_read_as_it_is() {
    let law = |case: &Case| {
        let mut world = World::new(case);
        (0..case.before).for_each(|_| world.change());
        let mut reader = StateReader::new(Extent::Whole);
        while let Some(question) = reader.question() {
            let page = world.page(question);
            reader.read(page).map_err(|error| error.to_string())?;
        }
        let (count, whole) = (reader.rows(), world.rows());
        let read = rows_of(&reader.finish().expect("there is no further question"));
        ensure!(read == whole, "{read:#?}\nis read, and there is\n{whole:#?}");
        ensure!(count == whole.len() as u64, "{count} rows are sent for {}", whole.len());
        Ok(())
    };
    hold("state_pages::a_state_that_does_not_change_is_read_as_it_is", 100, law);
}

#[test]
fn a_wrong_page_breaks_the_law() {
    for wrong in [Wrong::Lost, Wrong::Repeated, Wrong::CutShort, Wrong::False, Wrong::Miscounted] {
        let case = |seed| Case { seed, rows: 4, before: 60, changes: 2 };
        assert!((0..20).any(|seed| read(&case(seed), wrong).is_err()), "{wrong:?} is not noticed");
    }
}
