//! The states that keep an application from getting more executors. Whenever two of these states hold at once, the
//! driver, `explain` and the pages report the same state.

use std::collections::BTreeSet;
use std::mem::discriminant;

use firesteel_placement::Amount;
use firesteel_placement::explain::shortfall::{Amounts, CoreHolder};
use firesteel_protocol::scheduling::label::Label;

use super::*;

/// A state that keeps an application with executors of 4 cores from getting more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// The application's maximum of cores is too low for another executor.
    AtMaximum,
    /// No Worker has registered, or all have left.
    NoWorkers,
    /// The application asks for a resource that no Worker has.
    NoResource,
    /// The application's executors need more cores than any Worker has.
    TooManyCores,
    /// The application's executors need more memory than any Worker has.
    TooMuchMemory,
    /// The application starts with more executors at once than fit even on empty Workers.
    GangNever,
    /// The application's executors failed one after the other.
    Paused,
    /// A Worker with enough free resources has a full disk.
    Impaired,
    /// A Worker with enough free resources runs executors of another Master.
    Foreign,
    /// A Worker with enough free resources is excluded, because an executor of the application ended too early on it.
    Excluded,
    /// A Worker with enough free resources is on a host that the driver excludes.
    Avoided,
    /// A Worker with enough free resources runs only Spark's executors.
    Labelled,
    /// The free resources of a Worker are reserved for a gang that is served first.
    Reserved,
    /// The application starts with more executors at once than fit now.
    Gang,
    /// Another application holds all cores of a Worker.
    Held,
    /// Another application holds all cores of a Worker that is late.
    LateAndHeld,
    /// Another application holds all memory of a Worker that has cores free.
    NoMemory,
    /// A Worker leaves.
    Leaving,
    /// A Worker with a full disk is too small anyway.
    SmallAndImpaired,
}

use State::{
    AtMaximum, Avoided, Excluded, Foreign, Gang, GangNever, Held, Impaired, Labelled, LateAndHeld, Leaving,
    NoMemory, NoResource, NoWorkers, Paused, Reserved, SmallAndImpaired, TooManyCores, TooMuchMemory,
};

const ALL: [State; 19] = [
    AtMaximum,
    NoWorkers,
    NoResource,
    TooManyCores,
    TooMuchMemory,
    GangNever,
    Paused,
    Impaired,
    Foreign,
    Excluded,
    Avoided,
    Labelled,
    Reserved,
    Gang,
    Held,
    LateAndHeld,
    NoMemory,
    Leaving,
    SmallAndImpaired,
];

impl State {
    /// The reason that belongs to the state; only its kind matters. `None` if the state changes nothing while another
    /// state holds.
    fn reason(self) -> Option<Reason> {
        let workers = 1;
        Some(match self {
            AtMaximum => Reason::TooFewCoresLeft { left: Cores(2) },
            NoWorkers => Reason::NoWorkers,
            NoResource | TooManyCores | TooMuchMemory => Reason::TooSmall { largest: Amounts::default() },
            GangNever => Reason::GangTooLarge { executors: 9, room: 1 },
            Paused => Reason::Paused { failures: 2, millis: 100 },
            Impaired | Foreign => Reason::Impaired { workers, why: String::new() },
            Excluded => Reason::Excluded { workers },
            Avoided => Reason::Avoided { workers },
            Labelled => Reason::Labelled { workers, label: String::new() },
            Reserved => Reason::KeptForAnother,
            Gang => Reason::GangWaits { executors: 2, room: 1 },
            Held | LateAndHeld => {
                Reason::Held { workers: Vec::new(), holder: CoreHolder::default(), others: 0 }
            }
            NoMemory => Reason::Busy { workers: Vec::new() },
            Leaving | SmallAndImpaired => return None,
        })
    }

    /// Whether the two states cannot hold at once, or together make up a third state of the list.
    fn contradicts(self, other: Self) -> bool {
        let either = |one: &[Self], others: &[Self]| {
            one.contains(&self) && others.contains(&other) || one.contains(&other) && others.contains(&self)
        };
        // An application that has or had an executor is not a waiting gang, and there was a Worker that is large
        // enough.
        let begun = [AtMaximum, Paused, Excluded];
        let not_begun = [NoResource, TooManyCores, TooMuchMemory, GangNever, Gang];
        let on_workers = [
            AtMaximum,
            Impaired,
            Foreign,
            Excluded,
            Avoided,
            Labelled,
            Reserved,
            Gang,
            Held,
            LateAndHeld,
            NoMemory,
            SmallAndImpaired,
        ];
        either(&begun, &not_begun)
            // A gang behind a reservation is told how many of its executors fit beside it.
            || either(&[Reserved], &[Gang])
            // There can be room for this gang at some time.
            || either(&[GangNever], &[Gang, Reserved])
            || either(&[NoWorkers], &on_workers)
            // An executor that fits nowhere does not fit reserved room.
            || either(&[Reserved], &[NoResource, TooManyCores, TooMuchMemory])
            || either(&[Gang], &[NoResource, TooManyCores, TooMuchMemory])
            // Both states come from the failed executors.
            || either(&[AtMaximum], &[Paused])
            || either(&[Excluded], &[Paused])
    }
}

const APP: u64 = 100;

/// A Master with Workers and applications, in which several states hold.
struct Scene {
    stage: Stage,
    states: BTreeSet<State>,
}

impl Scene {
    fn of(states: BTreeSet<State>) -> Self {
        let mut scene = Self { stage: Stage::of(&[]), states };
        if scene.has(Foreign) {
            // A Master without records leaves unknown executors alone.
            let new = Master::recover(Config::default(), scene.stage.now, Vec::new());
            scene.stage.master = new.expect("no records fit each other");
        }
        scene.build();
        scene
    }

    fn has(&self, state: State) -> bool {
        self.states.contains(&state)
    }

    fn description(n: u64, cores: i64) -> WorkerDescription {
        WorkerDescription::new(
            WorkerId::new(format!("w{n}")),
            Address::new(format!("h{n}"), 7078),
            Offered { cores: Cores(cores), memory: MiB(8192), resources: Resources::default() },
            "/var/spark",
        )
    }

    fn worker(&mut self, n: u64, cores: i64) {
        self.says(n, WorkerToMaster::register(Self::description(n, cores), Vec::new()));
    }

    fn says(&mut self, n: u64, message: WorkerToMaster) {
        self.stage.tell(n, Inbound::Worker(message));
    }

    /// A Worker whose cores another application holds.
    fn held(&mut self, n: u64, cores: i64) {
        self.worker(n, cores);
        self.stage.application(1000 + n, "other", Some(cores), cores, 1024, ANY);
        let view = self.stage.master.view();
        let holder = view.applications.last().expect("it registered");
        assert!(holder.executors.iter().all(|executor| executor.worker == WorkerId::new(format!("w{n}"))));
        assert_eq!(holder.cores_granted, Cores(cores));
    }

    fn full(&mut self, n: u64, cores: i64) {
        self.worker(n, cores);
        let error = Some("No space left on device".to_owned());
        self.says(n, WorkerToMaster::StartsChecked { worker: WorkerId::new(format!("w{n}")), error });
    }

    fn deadline(&mut self) {
        let (time, _) = self.stage.master.next_deadline().expect("something is to come");
        self.stage.now = self.stage.now.max(time);
        let now = self.stage.now;
        self.stage.master.apply(now, Event::Deadline { heard_until: now });
    }

    /// Builds the cluster before the application registers.
    fn build(&mut self) {
        if self.has(LateAndHeld) {
            self.held(1, 4);
            while self.stage.master.view().workers.iter().all(|worker| worker.remark.is_none()) {
                self.deadline();
            }
        }
        if self.has(Held) {
            self.held(2, 4);
        }
        if self.has(NoMemory) {
            self.worker(3, 5);
            self.stage.application(1003, "other", Some(1), 1, 8192, ANY);
        }
        if self.has(Gang) {
            self.held(4, 4);
        }
        if self.has(Reserved) {
            self.held(5, 6);
        }
        if self.has(Impaired) {
            self.full(6, 4);
        }
        if self.has(Labelled) {
            let worker = Self::description(7, 4).with_label(Label::of(["4.0"]));
            self.says(7, WorkerToMaster::register(worker, Vec::new()));
        }
        if self.has(Leaving) {
            self.worker(8, 4);
            self.says(8, WorkerToMaster::WorkerDecommissioning { worker: WorkerId::new("w8") });
        }
        if [NoResource, TooManyCores, TooMuchMemory, GangNever].iter().any(|state| self.has(*state))
            && !self.has(NoWorkers)
        {
            self.worker(9, 4);
        }
        if self.has(Foreign) {
            let app = firesteel_protocol::ids::AppId::new("app-20251120212235-0000");
            let executor = ExecutorKey { app, executor: ExecutorId(0) };
            let report = ExecutorReport::new(executor, ExecutorState::Running);
            self.says(16, WorkerToMaster::register(Self::description(16, 4), vec![report]));
        }
        if self.has(SmallAndImpaired) {
            self.full(17, 2);
        }
        if self.has(Excluded) || self.has(Paused) {
            self.worker(10, 4);
        }
        if self.has(Excluded) || self.has(Paused) {
            // Another Worker, because the last remaining one is never excluded.
            self.worker(15, 4);
        }
        self.application();
    }

    /// Registers the application, and then brings about the states that come after the registration.
    fn application(&mut self) {
        let profile = ResourceProfile {
            cores: Some(Cores(if self.has(TooManyCores) { 64 } else { 4 })),
            memory: Some(MiB(if self.has(TooMuchMemory) { 1 << 20 } else { 1024 })),
            resources: if self.has(NoResource) {
                [("gpu".to_owned(), Amount::Whole(1))].into()
            } else {
                Default::default()
            },
        };
        let max_cores = Some(Cores(if self.has(AtMaximum) { 6 } else { 1000 }));
        let wanted = WantedExecutors { profile, max_cores, ..WantedExecutors::default() };
        let submitter = Submitter::new("sums".to_owned(), "ann");
        let mut sums =
            ApplicationDescription::new(submitter, wanted, Placing::default(), Work::of(Command::of("")));
        sums.gang = match (self.has(Gang), self.has(GangNever)) {
            (true, _) => 2,
            (_, true) => 9,
            _ => 0,
        };
        self.stage.register(APP, sums);
        if self.has(Excluded) {
            let first = self.stage.detail("sums").application.executors.remove(0).worker;
            self.fail_on(first.as_str()[1..].parse().expect("its number"));
            let excluded = self.stage.detail("sums").scheduling.expect("it is live").excluded;
            assert!(excluded.iter().any(|excluded| excluded.worker == first), "{excluded:?}");
        }
        if self.has(Paused) {
            self.fail_on(10);
            self.fail_on(15);
            // A Worker where it could run.
            self.worker(18, 4);
        }
        if self.has(Reserved) {
            let profile = ResourceProfile { cores: Some(Cores(6)), ..ResourceProfile::default() };
            let wanted =
                WantedExecutors { profile, max_cores: Some(Cores(12)), ..WantedExecutors::default() };
            let submitter = Submitter::new("ring".to_owned(), "ann");
            let placing = Placing { priority: 1, ..Placing::default() };
            let work = Work::of(Command::of(""));
            let mut ring = ApplicationDescription::new(submitter, wanted, placing, work);
            ring.gang = 2;
            self.stage.register(101, ring);
            self.worker(11, 6);
        }
        if self.has(Gang) {
            self.worker(12, 4);
        }
        if self.has(AtMaximum) {
            self.worker(13, 4);
        }
        if self.has(Avoided) {
            let app = self.stage.detail("sums").application.id;
            let preferences =
                HostPreferences { avoided: ["h14".to_owned()].into(), ..HostPreferences::default() };
            self.stage.tell(
                APP,
                Inbound::Driver(DriverToMaster::PreferHosts { app, preferences: Box::new(preferences) }),
            );
            self.worker(14, 4);
        }
        if self.has(NoWorkers) {
            for worker in self.stage.master.view().workers {
                self.stage.tell(
                    worker.id.as_str()[1..].parse().expect("its number"),
                    Inbound::Worker(WorkerToMaster::WorkerDecommissioning { worker: worker.id.clone() }),
                );
            }
        }
    }

    /// Ends the executors of the application that run on this Worker.
    fn fail_on(&mut self, n: u64) {
        let app = self.stage.detail("sums").application;
        let worker = WorkerId::new(format!("w{n}"));
        let there = app.executors.iter().filter(|it| it.worker == worker && !it.state.is_finished());
        for executor in there {
            let key = ExecutorKey { app: app.id.clone(), executor: executor.id };
            let state = ExecutorState::Exited(ExitStatus::Code(1));
            self.says(n, WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(key, state)));
        }
    }

    /// The reason that the driver gets.
    fn told(&mut self) -> Option<Shortfall> {
        let app = self.stage.detail("sums").application.id;
        let answer = self.stage.tell(APP, Inbound::Driver(DriverToMaster::RequestShortfall { app })).pop();
        match answer {
            Some(Effect::Send {
                message: Outbound::Driver(MasterToDriver::Shortfalls(mut shortfalls)),
                ..
            }) => shortfalls.pop().map(|(_, shortfall)| shortfall),
            other => panic!("{other:?}"),
        }
    }
}

/// Words that occur only in the sentence of this reason.
fn words(reason: &Reason) -> &'static [&'static str] {
    match reason {
        Reason::LimitReached { .. } => &["the limit of"],
        Reason::TooFewCoresLeft { .. } => &["left of the application's maximum"],
        Reason::UserLimit { .. } => &["each user may have"],
        Reason::NoWorkers => &["no Worker is alive"],
        Reason::NotGranted { .. } => &["has granted"],
        Reason::TooSmall { .. } => &["no Worker has"],
        Reason::GangTooLarge { .. } => &["it can never begin on this cluster"],
        Reason::Paused { .. } => &["failed executors in a row"],
        Reason::Impaired { .. } => {
            &["has room, but cannot", "has room, but runs executors", "get nothing new for now"]
        }
        Reason::Excluded { .. } => &["excluded for a while because executors end too early there"],
        Reason::Avoided { .. } => &["is on a host that the application avoids"],
        Reason::Labelled { .. } => &["runs only executors of"],
        Reason::KeptForAnother => &["free capacity is reserved for the gang of"],
        Reason::GangWaits { .. } => &["executors together, but there is room for 1"],
        Reason::Held { .. } => &["(other) holds 4 of the", "other applications hold cores: "],
        Reason::Busy { .. } => &["and an executor needs"],
    }
}

fn tells(text: &str, reason: &Reason) -> bool {
    let text = text.to_lowercase();
    words(reason).iter().any(|words| text.contains(&words.to_lowercase()))
}

#[test]
fn of_each_two_states_that_hold_at_once_everybody_tells_the_reason_of_the_higher_rank() {
    for (number, one) in ALL.into_iter().enumerate() {
        for other in ALL.into_iter().skip(number).filter(|other| !one.contradicts(*other)) {
            let mut scene = Scene::of([one, other].into());
            let alone = [Leaving, Labelled, SmallAndImpaired];
            let expected = match (one, other) {
                // Another Worker has room, so it waits for time.
                (Paused, Impaired | Foreign | Avoided | Labelled) => {
                    Reason::Paused { failures: 2, millis: 100 }
                }
                // A Worker that leaves does not count.
                (Leaving, Leaving) => Reason::NoWorkers,
                // Without another Worker for the application, a small Worker is too small.
                (it, SmallAndImpaired) if alone.contains(&it) => {
                    Reason::TooSmall { largest: Amounts::default() }
                }
                _ => Reason::told([one.reason(), other.reason()].into_iter().flatten())
                    .expect("one of them is a reason"),
            };
            let told = scene.told().map(|shortfall| shortfall.reason);
            let kind = told.as_ref().map(discriminant);
            assert_eq!(kind, Some(discriminant(&expected)), "{one:?} and {other:?}: {told:?}");
            let detail = scene.stage.detail("sums");
            let scheduling = detail.scheduling.as_ref().expect("it is live");
            let shown = scheduling.profiles[0].shortfall.as_ref().map(|shortfall| &shortfall.reason);
            assert_eq!(shown, told.as_ref(), "{one:?} and {other:?}");
            match brief(&detail) {
                None => assert!(matches!(expected, Reason::TooFewCoresLeft { .. }), "{one:?} and {other:?}"),
                Some(brief) => assert!(tells(&brief, &expected), "{one:?} and {other:?}: {brief}"),
            }
            let explained = sentences(&detail).join("\n");
            assert!(tells(&explained, &expected), "{one:?} and {other:?}, told as {expected:?}: {explained}");
        }
    }
}
