//! A plan for a running Master equals the Master's decision when the application registers.

use std::time::Duration;

use firesteel_master::{Config, Effect, Event, Inbound, Master, Outbound};
use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources, Strategy, WorkerOrder};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDescription, ClientToMaster, DriverDescription, DriverToMaster,
    ExecutorReport, ExecutorState, MasterToClient, MasterToWorker, Offered, Placing, ResourceProfile,
    Submitter, WantedExecutors, Work, WorkerDescription, WorkerState, WorkerToMaster,
};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::scheduling::run_time::{RUN_TIME, value};
use firesteel_protocol::scheduling::{GangPreemption, Preemption, ServingOrder};
use firesteel_protocol::{Machine, Timestamp};
use firesteel_sim::draft::{Draft, DraftApplication};

const CLIENT: PeerId = PeerId(999);

/// A Master, with its time.
struct Stage {
    master: Master,
    now: Timestamp,
    drivers: u64,
}

/// An application: its name, and the number and cores of its executors.
#[derive(Clone, Copy)]
struct App {
    name: &'static str,
    executors: u64,
    cores: i64,
    gang: bool,
    priority: i32,
    queue: Option<&'static str>,
    minutes: Option<u64>,
}

const fn app(name: &'static str, executors: u64, cores: i64) -> App {
    App { name, executors, cores, gang: false, priority: 0, queue: None, minutes: None }
}

const fn gang(name: &'static str, executors: u64, cores: i64) -> App {
    App { gang: true, ..app(name, executors, cores) }
}

/// The result for the new application.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    /// The number of executors that it got.
    given: usize,
    /// The number of other applications' executors that were ended.
    taken: usize,
}

impl App {
    const fn runs(self, minutes: u64) -> Self {
        Self { minutes: Some(minutes), ..self }
    }

    fn description(&self) -> ApplicationDescription {
        let mut command = Command::of("true");
        let told = self.minutes.map(|minutes| value(Duration::from_secs(60 * minutes)));
        command.environment.extend(told.map(|told| (RUN_TIME.to_owned(), told)));
        let cores = Some(Cores(self.cores));
        ApplicationDescription::new(
            Submitter::new(self.name, "ann"),
            WantedExecutors {
                profile: ResourceProfile { cores, memory: Some(MiB(1)), ..ResourceProfile::default() },
                limit: ExecutorLimit::AtMost(self.executors),
                ..WantedExecutors::default()
            },
            Placing {
                queue: self.queue.map(str::to_owned),
                priority: self.priority,
                gang: if self.gang { self.executors } else { 0 },
                ..Placing::default()
            },
            Work::of(command),
        )
    }
}

fn worker(number: u64, cores: i64) -> WorkerDescription {
    let offered = Offered { cores: Cores(cores), memory: MiB(1024), resources: Resources::default() };
    let (id, address) = (WorkerId::new(format!("w{number}")), Address::new(format!("h{number}"), 7078));
    WorkerDescription::new(id, address, offered, "/work")
}

impl Stage {
    /// A Master with Workers of these cores.
    fn new(config: Config, workers: &[i64]) -> Self {
        let now = Timestamp::from_millis(1_795_209_755_000);
        let config = Config { worker_timeout: Duration::from_secs(86_400), ..config };
        let mut stage = Self { master: Master::new(config), now, drivers: 100 };
        for (number, cores) in (1..).zip(workers) {
            stage.add(number, worker(number, *cores));
        }
        stage
    }

    fn add(&mut self, number: u64, worker: WorkerDescription) {
        self.tell(PeerId(number), Inbound::Worker(WorkerToMaster::register(worker, Vec::new())));
    }

    fn tell(&mut self, peer: PeerId, message: Inbound) -> Vec<Effect> {
        self.master.apply(self.now, Event::Received { peer, arrived: self.now, message })
    }

    fn register(&mut self, app: &App) -> Fate {
        self.drivers += 1;
        let register = DriverToMaster::RegisterApplication(Box::new(app.description()));
        let effects = self.tell(PeerId(self.drivers), Inbound::Driver(register));
        let id = self.named(app.name);
        let count = |is: &dyn Fn(&MasterToWorker) -> bool| {
            let orders = effects.iter().filter_map(|effect| match effect {
                Effect::Send { message: Outbound::Worker(order), .. } => Some(order),
                _ => None,
            });
            orders.filter(|order| is(order)).count()
        };
        Fate {
            given: count(
                &|order| matches!(order, MasterToWorker::LaunchExecutor(launch) if launch.executor.app == id),
            ),
            taken: count(&|order| matches!(order, MasterToWorker::KillExecutor { .. })),
        }
    }

    fn named(&self, name: &str) -> AppId {
        let view = self.master.view();
        view.applications.into_iter().find(|app| app.name == name).expect("it is live").id
    }

    /// Lets this many seconds pass, with all actions of the Master.
    fn wait(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some((at, _)) = self.master.next_deadline().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.master.apply(self.now, Event::Deadline { heard_until: self.now });
        }
        self.now = end;
    }

    fn ask(&mut self, question: ClientToMaster) -> MasterToClient {
        match self.tell(CLIENT, Inbound::Client(question)).pop() {
            Some(Effect::Send { peer: CLIENT, message: Outbound::Client(answer) }) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn detail(&mut self, app: &AppId) -> ApplicationAnswer {
        let executors_from = ExecutorId(0);
        match self.ask(ClientToMaster::RequestApplication { app: app.to_string(), executors_from }) {
            MasterToClient::ApplicationResponse(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// The result that a plan predicts for an application.
    fn plan(&mut self, new: &App) -> Fate {
        let view = self.master.view();
        let details: Vec<_> = view.applications.iter().map(|app| self.detail(&app.id)).collect();
        let mut draft = Draft::of_running(&view, &details);
        draft.applications.push(DraftApplication::new(new.description(), draft.now));
        let outcome = draft.decide(Config::default()).expect("a Master does not contradict itself");
        let last = outcome.applications.last().expect("there is one");
        let taken = outcome.applications.iter().map(|app| app.taken).sum::<u64>();
        Fate { given: last.given as usize, taken: taken as usize }
    }

    /// Checks that a plan and the Master give this result.
    fn expect(mut self, what: &str, new: App, given: usize, taken: usize) {
        let expected = Fate { given, taken };
        assert_eq!(self.plan(&new), expected, "planned: {what}");
        assert_eq!(self.register(&new), expected, "decided: {what}");
    }
}

/// A Master with these applications, which registered one minute after the other.
fn stage(config: Config, workers: &[i64], apps: &[App]) -> Stage {
    let mut stage = Stage::new(config, workers);
    for app in apps {
        stage.register(app);
        stage.wait(60);
    }
    stage
}

const NEW: App = app("new", 1, 1);

#[test]
fn a_journal_gives_the_cluster_as_it_was_although_nothing_has_returned_since() {
    let mut stage = stage(Config::default(), &[4, 4], &[app("runs", 4, 1), app("waits", 1, 4)]);
    let view = stage.master.view();
    let details: Vec<_> = view.applications.iter().map(|app| stage.detail(&app.id)).collect();
    let running = Draft::of_running(&view, &details);
    let mut recovered =
        Master::recover(Config::default(), stage.now, stage.master.image()).expect("it is sound");
    assert!(recovered.view().workers.iter().all(|worker| worker.state == WorkerState::Unknown));
    let recorded = Draft::of_recorded(&mut recovered, stage.now);
    assert_eq!(recorded.applications, running.applications);
    let states =
        recorded.workers.iter().map(|worker| (worker.id.to_string(), worker.state, worker.cores_used));
    let alive = |id: &str, used| (id.to_owned(), WorkerState::Alive, Cores(used));
    assert_eq!(states.collect::<Vec<_>>(), [alive("w1", 2), alive("w2", 2)]);
    // What runs stays, so the other application waits. Placed anew, they fit if one Worker is filled before the next.
    let consolidate = || Config {
        strategy: Strategy::Consolidate,
        worker_order: WorkerOrder::CoresFreeAsc,
        ..Config::default()
    };
    let given = |draft: &Draft| {
        let outcome = draft.decide(consolidate()).expect("a Master does not contradict itself");
        outcome.applications.iter().map(|app| app.given).collect::<Vec<_>>()
    };
    assert_eq!(given(&recorded), [0, 0]);
    assert_eq!(given(&recorded.emptied()), [4, 1]);
}

#[test]
fn by_the_order_shortest_an_application_with_less_work_goes_before_a_gang_for_which_room_is_reserved() {
    // The gang is due after 3 hours; without an estimate, the new application is due after two.
    let apps = [app("runs", 1, 2), gang("gang", 3, 1)];
    for (order, given) in [(ServingOrder::Registration, 0), (ServingOrder::Shortest, 1)] {
        let config = Config { order, ..Config::default() };
        stage(config, &[4], &apps).expect(&order.to_string(), NEW, given, 0);
    }
}

#[test]
fn by_the_order_shortest_a_plan_knows_how_long_gangs_run_and_since_when_they_wait() {
    let config = || Config { order: ServingOrder::Shortest, ..Config::default() };
    let apps = |minutes| [app("runs", 1, 2), gang("gang", 3, 1).runs(minutes)];
    // The gang is due after an hour and a half, and the new application after 61 minutes.
    stage(config(), &[4], &apps(30)).expect("a long gang", NEW.runs(1), 1, 0);
    stage(config(), &[4], &apps(20)).expect("a short gang", NEW.runs(1), 0, 0);
    let mut later = stage(config(), &[4], &apps(30));
    later.wait(3_600);
    later.expect("a long gang that waits for an hour", NEW.runs(1), 0, 0);
}

#[test]
fn an_application_that_ends_before_a_gang_is_expected_to_start_may_use_its_room() {
    // The running application was launched two minutes ago, ends after ten, and uses half of the Worker.
    let apps = |runs: App| [runs, gang("gang", 4, 1)];
    let (told, untold) = (app("runs", 1, 2).runs(10), app("runs", 1, 2));
    for (what, runs, new, given) in [
        ("it ends before", told, NEW.runs(7), 1),
        ("it ends later", told, NEW.runs(9), 0),
        ("it says nothing", told, NEW, 0),
        ("what runs says nothing", untold, NEW.runs(7), 0),
    ] {
        stage(Config::default(), &[4], &apps(runs)).expect(what, new, given, 0);
    }
}

#[test]
fn room_is_reserved_for_as_many_gangs_as_the_master_has_reservations() {
    // The first gang waits for the first Worker, and the second for the second.
    let apps = [app("runs", 2, 3).runs(60), gang("first", 2, 2), gang("second", 4, 1)];
    for (reservations, given) in [(1, 1), (2, 0)] {
        let config = Config { reservations, ..Config::default() };
        stage(config, &[4, 4], &apps).expect(&reservations.to_string(), NEW, given, 0);
    }
}

#[test]
fn a_gang_that_has_not_waited_for_long_has_nothing_ended_in_a_plan_either() {
    let preemption = Preemption::AtMost { executors: 9, every: Duration::from_secs(60) };
    let config = |patience| Config {
        preemption,
        gang_preemption: Some(GangPreemption {
            patience: Duration::from_secs(patience),
            reach: Duration::from_secs(3_600),
        }),
        order: ServingOrder::Shortest,
        ..Config::default()
    };
    // It registered a minute later than the running application, and is due earlier.
    let late = app("runs", 4, 1);
    for (patience, taken) in [(0, 3), (300, 0)] {
        let stage = stage(config(patience), &[4], &[late]);
        let given = if taken > 0 { 3 } else { 0 };
        stage.expect(&format!("patience of {patience} s"), gang("gang", 3, 1), given, taken);
    }
    let mut waiting = stage(config(300), &[4], &[late, gang("gang", 3, 1)]);
    waiting.wait(60);
    waiting.expect("the gang waits for two minutes", NEW, 0, 0);
}

#[test]
fn executors_that_were_ended_for_an_application_count_in_a_plan_until_the_interval_is_over() {
    let preemption = Preemption::AtMost { executors: 1, every: Duration::from_secs(90) };
    let config = Config { preemption, ..Config::default() };
    let urgent = App { priority: 1, ..app("urgent", 2, 1) };
    let mut stage = stage(config, &[4], &[app("runs", 4, 1), urgent]);
    let ended = |stage: &Stage| {
        let view = stage.master.view();
        let runs = view.applications.iter().find(|app| app.name == "runs").expect("it lives");
        4 - runs.executors.iter().filter(|executor| !executor.state.is_finished()).count()
    };
    assert_eq!(ended(&stage), 1);
    assert_eq!(stage.plan(&NEW), Fate { given: 0, taken: 0 }, "a minute later");
    stage.wait(31);
    assert_eq!(ended(&stage), 2, "what the plan would have had then");
}

#[test]
fn a_gang_for_which_room_is_reserved_goes_before_other_queues_in_a_plan_too() {
    let config = || Config { queues: "prod=3,dev=1".parse().expect("queues"), ..Config::default() };
    let runs = App { queue: Some("dev"), ..app("runs", 1, 2) };
    let waits = App { queue: Some("dev"), ..gang("gang", 3, 1) };
    let new = App { queue: Some("prod"), ..NEW };
    stage(config(), &[4], &[runs, waits]).expect("a gang waits", new, 0, 0);
    stage(config(), &[4], &[runs]).expect("no gang waits", new, 1, 0);
}

/// A Worker's report that this executor runs, or how it ended.
fn reports(stage: &mut Stage, worker: u64, app: &str, executor: u32, state: ExecutorState) {
    let executor = ExecutorKey { app: stage.named(app), executor: ExecutorId(executor) };
    let report = ExecutorReport::new(executor, state);
    stage.tell(PeerId(worker), Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)));
}

#[test]
fn what_cluster_drivers_hold_is_not_free_in_a_plan() {
    let mut stage = Stage::new(Config::default(), &[4]);
    let command = Command::of("server");
    let (cores, memory) = (Cores(3), MiB(1));
    let (user, resources) = ("ann".to_owned(), ResourceAmounts::new());
    let driver = DriverDescription { user, command, cores, memory, supervise: false, resources };
    let submission = ClientToMaster::RequestSubmitDriver(Box::new(driver));
    stage.tell(CLIENT, Inbound::Client(submission));
    stage.expect("a driver has three of four cores", app("new", 9, 1), 1, 0);
}

#[test]
fn a_worker_that_leaves_keeps_its_executors_in_a_plan_and_is_given_no_more() {
    let mut stage = stage(Config::default(), &[4, 4], &[app("runs", 2, 3)]);
    let worker = WorkerId::new("w2");
    stage.tell(PeerId(2), Inbound::Worker(WorkerToMaster::WorkerDecommissioning { worker }));
    stage.expect("only the first Worker has room", app("new", 9, 1), 1, 0);
}

#[test]
fn a_worker_that_cannot_start_is_given_nothing_in_a_plan_either() {
    let mut stage = stage(Config::default(), &[4, 4], &[app("runs", 2, 3)]);
    let (worker, error) = (WorkerId::new("w1"), Some("No space left on device".to_owned()));
    stage.tell(PeerId(1), Inbound::Worker(WorkerToMaster::StartsChecked { worker, error }));
    stage.expect("only the second Worker has room", app("new", 9, 1), 1, 0);
}

#[test]
fn a_worker_with_a_label_has_no_room_for_other_applications_in_a_plan_either() {
    let mut stage = Stage::new(Config::default(), &[4]);
    stage.add(2, worker(2, 8).with_label(Label::of(["4.0"])));
    stage.expect("the second Worker runs Spark 4.0 only", app("new", 9, 1), 4, 0);
}

#[test]
fn an_application_whose_executors_fail_waits_in_a_plan_too_and_others_have_the_room() {
    let mut stage = Stage::new(Config::default(), &[4]);
    stage.register(&app("fails", 3, 1));
    for executor in 0..12 {
        let failed = ExecutorState::Exited(ExitStatus::Code(1));
        reports(&mut stage, 1, "fails", executor, ExecutorState::Running);
        reports(&mut stage, 1, "fails", executor, failed);
    }
    stage.expect("it was registered first", app("new", 9, 1), 4, 0);
}

#[test]
fn those_who_are_away_after_a_restart_of_the_master_are_given_nothing_in_a_plan_either() {
    let mut before = stage(Config::default(), &[4, 4], &[app("runs", 2, 1), app("waits", 9, 1)]);
    let config = Config { worker_timeout: Duration::from_secs(86_400), ..Config::default() };
    let master = Master::recover(config, before.now, before.master.image()).expect("it is an image");
    before.master = master;
    before.add(2, worker(2, 4));
    before.expect("only the second Worker is back, and no application", app("new", 9, 1), 4, 0);
}

#[test]
fn a_plan_is_made_although_the_master_goes_on_between_its_answers() {
    let mut stage = stage(Config::default(), &[4], &[app("runs", 1, 1)]);
    let gpu: Resources = [("gpu", vec!["0"])].into_iter().collect();
    let worker = |number| {
        let mut worker = worker(number, 4);
        worker.resources = gpu.clone();
        worker
    };
    let with_gpu = |name| {
        let mut description = app(name, 1, 1).description();
        description.profile.resources = [("gpu".to_owned(), "1".parse().expect("an amount"))].into();
        Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(description)))
    };
    stage.add(2, worker(2));
    stage.tell(PeerId(102), with_gpu("first"));
    let view = stage.master.view();
    let first = stage.named("first");
    let mut details = vec![stage.detail(&first)];
    // The first application ends, the second gets its address, and the third gets that of a new Worker.
    stage.tell(
        PeerId(102),
        Inbound::Driver(DriverToMaster::UnregisterApplication { app: first, outcome: None }),
    );
    stage.tell(PeerId(103), with_gpu("second"));
    stage.add(3, worker(3));
    stage.tell(PeerId(104), with_gpu("third"));
    for name in ["second", "third"] {
        let app = stage.named(name);
        details.push(stage.detail(&app));
    }
    let draft = Draft::of_running(&view, &details);
    let outcome = draft.decide(Config::default()).expect("a plan is made");
    let kept: Vec<u64> = outcome.applications.iter().map(|app| app.kept).collect();
    assert_eq!(kept, [1, 0, 0]);
}
