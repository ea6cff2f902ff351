//! Tests of the ApplicationMaster: an event, and all its effects.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::advanced::locality::{Naming, Topology};
use firesteel_placement::explain::shortfall::Reason;
use firesteel_placement::{Cores, ExecutorLimit, MiB};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ContainerId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDescription, ApplicationDetail, ApplicationEnd, ClientToMaster,
    DriverToMaster, ExecutorState, ExecutorTarget, HostPreferences, KillAnswer, LossReason, MasterToClient,
    MasterToDriver, Outcome, Placing, Relaunch, ResourceProfile, Submitter, TaskDirectory, WantedExecutors,
    Work,
};
use firesteel_protocol::process::{Command, Placeholder, StartFailure, StartStep};
use firesteel_protocol::state_reader::{Extent, StateReader};

use super::*;
use crate::allocator::{
    AllocateFailure, Allocated, Call, Completed, Decommissioning, Granted, HostExclusion, Location, Sizing,
};

mod endings;
mod executors;

const DRIVER: PeerId = PeerId(1);
const APP: &str = "application_1700000000123_0007";

/// An ApplicationMaster under test, and the present time.
struct Bench {
    master: ApplicationMaster,
    now: Timestamp,
}

fn config(mode: Mode) -> Config {
    Config {
        app: AppId::new(APP),
        url: "spark://127.0.0.2:4711".to_owned(),
        mode,
        attempt: 1,
        most_attempts: 2,
        wait_time: Duration::from_secs(100),
        silence: Silence::Success,
        longest_message: 1 << 20,
        executors: 2,
        task_cores: Cores(1),
        allocator: allocator::Config {
            topology: Topology::default(),
            sizing: Sizing::default(),
            initial_target: 7,
            naming: Naming::default(),
            first_executor: ExecutorId(0),
            heartbeat: Duration::from_secs(3),
            initial_pause: Duration::from_millis(200),
            most_errors: 5,
            most_failures: 3,
            failure_window: None,
            exclusion: HostExclusion::Off,
            never: Default::default(),
            decommissioning: Decommissioning::Ignored,
        },
    }
}

fn description(limit: ExecutorLimit) -> ApplicationDescription {
    let words = ["executor", "--driver-url", "me:1", "--executor-id"].map(str::to_owned);
    let filled = [Placeholder::ExecutorId, Placeholder::WorkerId].map(|word| word.word().to_owned());
    let command = Command {
        program: Placeholder::Firesteel.word().to_owned(),
        arguments: words.into_iter().chain(filled).collect(),
        environment: BTreeMap::new(),
    };
    let profile = ResourceProfile { cores: Some(Cores(2)), memory: Some(MiB(2048)), ..Default::default() };
    ApplicationDescription::new(
        Submitter::new("sums", "ann"),
        WantedExecutors { profile, limit, ..WantedExecutors::default() },
        Placing::default(),
        Work::of(command),
    )
}

fn largest() -> ContainerSize {
    ContainerSize { cores: Cores(4), memory: MiB(8192), ..ContainerSize::default() }
}

fn container(number: u32) -> ContainerId {
    ContainerId::new(format!("container_{number}"))
}

fn node() -> Node {
    let handle = ContainerHandle::new(*b"its token");
    Node { address: Address::new("host1", 45454), logs: "http://host1:8042/logs".to_owned(), handle }
}

impl Bench {
    /// The answer to a status client that asks about the application.
    fn detail(&mut self) -> ApplicationDetail {
        let question =
            ClientToMaster::RequestApplication { app: APP.to_owned(), executors_from: ExecutorId(0) };
        let message = Inbound::Client(question);
        let mut effects = self.apply(Event::Received { peer: PeerId(7), message });
        match (effects.pop(), &effects[..]) {
            (Some(Effect::Send { message: Outbound::Client(answer), .. }), []) => match answer {
                MasterToClient::ApplicationResponse(ApplicationAnswer::Known(detail)) => *detail,
                other => panic!("{other:?}"),
            },
            (last, others) => panic!("{others:?}, {last:?}"),
        }
    }

    fn of(config: Config) -> Self {
        let mut bench =
            Self { master: ApplicationMaster::new(config), now: Timestamp::from_millis(1_000_000) };
        let started = match bench.master.config.mode {
            Mode::Client | Mode::Unmanaged => Effect::Register,
            Mode::Cluster => Effect::StartProgram,
        };
        assert_eq!(bench.apply(Event::Start), [started]);
        bench
    }

    fn new(mode: Mode) -> Self {
        Self::of(config(mode))
    }

    /// A bench whose driver wants this number of executors.
    fn serving(limit: ExecutorLimit) -> Self {
        Self::with(config(Mode::Client), description(limit))
    }

    fn with(config: Config, description: ApplicationDescription) -> Self {
        let mut bench = Self::of(config);
        bench.apply(Event::Registered { largest: largest() });
        bench.answer(Allocated::default());
        bench.driver(DriverToMaster::RegisterApplication(Box::new(description)));
        bench
    }

    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.master.apply(self.now, event);
        self.master.check().expect("it holds");
        // Notes are left out, because they are only for people.
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Note(_))).collect()
    }

    fn driver(&mut self, message: DriverToMaster) -> Vec<Effect> {
        self.apply(Event::Received { peer: DRIVER, message: Inbound::Driver(message) })
    }

    fn answer(&mut self, allocated: Allocated) -> Vec<Effect> {
        let nodes = allocated.granted.iter().map(|granted| (granted.container.clone(), node())).collect();
        self.apply(Event::Allocated { allocated, nodes })
    }

    /// Lets time pass until the next call to the manager. Returns the call.
    fn call(&mut self) -> Call {
        self.pass(Duration::from_secs(3))
            .into_iter()
            .find_map(|effect| match effect {
                Effect::Allocate(call) => Some(call),
                _ => None,
            })
            .expect("a call is due")
    }

    fn pass(&mut self, time: Duration) -> Vec<Effect> {
        self.now = self.now + time;
        self.apply(Event::Deadline)
    }

    /// Answers a call with a container of the default profile.
    fn grant(&mut self, number: u32) -> Vec<Effect> {
        self.call();
        let (host, profile) = ("host1".to_owned(), ProfileId::DEFAULT);
        let granted = Granted { container: container(number), host, profile, memory: MiB(4096) };
        self.answer(Allocated { machines: 3, granted: vec![granted], ..Allocated::default() })
    }

    /// Answers a call with the end of a container.
    fn end(&mut self, number: u32, status: i32, diagnostics: &str) -> Vec<Effect> {
        self.call();
        let completed =
            Completed { container: container(number), status, diagnostics: diagnostics.to_owned() };
        self.answer(Allocated { machines: 3, completed: vec![completed], ..Allocated::default() })
    }
}

fn tell(message: MasterToDriver) -> Effect {
    Effect::Send { peer: DRIVER, message: Outbound::Driver(message) }
}

fn confirmation(first_executor: u32) -> Effect {
    tell(MasterToDriver::RegisteredApplication {
        app: AppId::new(APP),
        master_url: "spark://127.0.0.2:4711".to_owned(),
        max_cores: Cores::UNLIMITED,
        first_executor: ExecutorId(first_executor),
        mark: None,
    })
}

fn added(executor: u32) -> Effect {
    tell(MasterToDriver::ExecutorAdded {
        executor: ExecutorId(executor),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new("host1:45454"),
        host: "host1".to_owned(),
        cores: Cores(2),
        memory: MiB(2048),
        port: 45454,
    })
}

fn launch(executor: u32, number: u32) -> Effect {
    let mut command = description(ExecutorLimit::Unlimited).command.program().expect("a program").clone();
    command.arguments[4] = executor.to_string();
    command.arguments[5] = "host1:45454".to_owned();
    Effect::Launch(Launch {
        container: container(number),
        node: Some(node()),
        executor: ExecutorKey { app: AppId::new(APP), executor: ExecutorId(executor) },
        command,
        directory: TaskDirectory::Executor,
        cores: Cores(2),
        memory: MiB(2048),
    })
}

fn updated(executor: u32, state: ExecutorState) -> Effect {
    tell(MasterToDriver::ExecutorUpdated { executor: ExecutorId(executor), state, lost_host: None })
}

fn asked(call: &Call) -> Vec<(u32, String, u64, MiB)> {
    let row =
        |ask: &allocator::Ask| (ask.profile.0, ask.location.to_string(), ask.containers, ask.size.memory);
    call.asks.iter().map(row).collect()
}

fn app() -> AppId {
    AppId::new(APP)
}

#[test]
fn in_client_mode_it_registers_first_and_calls_the_manager_while_it_waits_for_the_driver() {
    let mut bench = Bench::new(Mode::Client);
    let effects = bench.apply(Event::Registered { largest: largest() });
    assert_eq!(effects, [Effect::Allocate(Call::default())], "nothing is wanted yet");
    assert_eq!(bench.answer(Allocated::default()), []);
    let effects =
        bench.driver(DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(3)))));
    assert_eq!(effects, [confirmation(0)]);
    // 2048 MiB and 384 MiB overhead, from the driver's description of its executors.
    assert_eq!(asked(&bench.call()), [(0, "*".to_owned(), 3, MiB(2432))]);
}

#[test]
fn in_cluster_mode_the_program_comes_first_and_the_manager_after_its_driver() {
    let mut bench = Bench::new(Mode::Cluster);
    let effects =
        bench.driver(DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(1)))));
    assert_eq!(effects, [Effect::Register], "its driver waits for the manager");
    let effects = bench.apply(Event::Registered { largest: largest() });
    assert_eq!(effects, [confirmation(0), Effect::Allocate(Call::default())]);
    bench.answer(Allocated::default());
    assert_eq!(asked(&bench.call()), [(0, "*".to_owned(), 1, MiB(2432))]);
}

#[test]
fn executors_are_first_asked_for_where_the_driver_wants_them() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    let preferred = [("host1".to_owned(), 1)].into();
    let preferences = HostPreferences { tasks: 1, preferred, ..HostPreferences::default() };
    bench.driver(DriverToMaster::PreferHosts { app: app(), preferences: Box::new(preferences) });
    let places: Vec<String> = asked(&bench.call()).into_iter().map(|(_, place, ..)| place).collect();
    assert!(places.contains(&"host1".to_owned()), "{places:?}");
}

#[test]
fn an_application_that_does_not_say_how_many_executors_has_the_default() {
    let mut bench = Bench::serving(ExecutorLimit::Unlimited);
    assert_eq!(asked(&bench.call()), [(0, "*".to_owned(), 2, MiB(2432))]);
}

#[test]
fn a_driver_that_comes_back_hears_of_its_executors_and_of_those_that_ended_meanwhile() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(2));
    bench.grant(1);
    bench.grant(2);
    bench.apply(Event::ContainerStarted { container: container(1) });
    assert_eq!(bench.apply(Event::Disconnected { peer: DRIVER }), []);
    assert_eq!(bench.end(2, 1, ""), []);
    let again = DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(2))));
    let ended = ExecutorState::Exited(ExitStatus::Code(1));
    assert_eq!(
        bench.driver(again.clone()),
        [confirmation(0), added(0), updated(0, ExecutorState::Running), added(1), updated(1, ended)]
    );
    // The new connection may open before the ApplicationMaster notices the end of the old one.
    let effects = bench.apply(Event::Received { peer: PeerId(9), message: Inbound::Driver(again) });
    assert_eq!(effects[0], Effect::Close { peer: DRIVER });
}

#[test]
fn a_driver_that_comes_back_hears_again_what_was_told_on_a_connection_that_had_broken() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    let ended = updated(0, ExecutorState::Exited(ExitStatus::Code(1)));
    assert_eq!(bench.end(1, 1, ""), [ended], "nobody knows yet that it is not heard");
    let again = DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(1))));
    let effects = bench.apply(Event::Received { peer: PeerId(9), message: Inbound::Driver(again) });
    let told = |effect: &Effect| matches!(effect, Effect::Send { peer: PeerId(9), .. });
    assert_eq!(effects.iter().filter(|effect| told(effect)).count(), 3, "{effects:?}");
}

#[test]
fn a_driver_that_is_there_first_has_it_begin() {
    let mut bench =
        Bench { master: ApplicationMaster::new(config(Mode::Unmanaged)), now: Timestamp::default() };
    let message = DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(1))));
    assert_eq!(bench.driver(message), [Effect::Register]);
    assert_eq!(bench.apply(Event::Start), []);
    let effects = bench.apply(Event::Registered { largest: largest() });
    assert_eq!(effects, [confirmation(0), Effect::Allocate(Call::default())]);
}

#[test]
fn another_application_and_one_that_brings_files_are_refused() {
    let refused = |effects: &[Effect]| match effects {
        [Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. }] => {
            end.to_string()
        }
        effects => panic!("{effects:?}"),
    };
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    let mut other = description(ExecutorLimit::AtMost(1));
    other.command.program_mut().expect("a program").arguments[2] = "you:2".to_owned();
    let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(other)));
    let effects = bench.apply(Event::Received { peer: PeerId(2), message });
    assert_eq!(
        refused(&effects),
        "refused: this ApplicationMaster has its application already, and takes no other"
    );
    let strange = DriverToMaster::RequestExecutors { app: app(), targets: Vec::new() };
    let effects = bench.apply(Event::Received { peer: PeerId(2), message: Inbound::Driver(strange) });
    let no = MasterToDriver::ExecutorsRequested { accepted: false };
    assert_eq!(effects, [Effect::Send { peer: PeerId(2), message: Outbound::Driver(no) }]);
}

#[test]
fn a_later_attempt_numbers_on_and_says_which_executors_are_gone() {
    let mut later = description(ExecutorLimit::AtMost(1));
    later.first_executor = ExecutorId(5);
    let mut bench = Bench::of(Config { attempt: 2, ..config(Mode::Client) });
    bench.apply(Event::Registered { largest: largest() });
    bench.answer(Allocated::default());
    assert_eq!(bench.driver(DriverToMaster::RegisterApplication(Box::new(later))), [confirmation(5)]);
    assert_eq!(bench.grant(1), [added(5), launch(5, 1)]);
}

#[test]
fn status_clients_see_one_application() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(2));
    bench.grant(1);
    let mut reader = StateReader::new(Extent::Whole);
    let question = reader.question().expect("nothing is read");
    let effects = bench.apply(Event::Received { peer: PeerId(7), message: Inbound::Client(question) });
    let [Effect::Send { message: Outbound::Client(MasterToClient::MasterStateResponse(page)), .. }] =
        &effects[..]
    else {
        panic!("{effects:?}")
    };
    let detail = bench.detail();
    let scheduling = detail.scheduling.as_ref().expect("it lives");
    assert_eq!((scheduling.cluster.workers, scheduling.profiles[0].held), (3, 1));
    assert_eq!(
        scheduling.profiles[0].shortfall.as_ref().expect("one is missing").to_string(),
        "1 of 2 executors is missing: the cluster has granted 1 container so far"
    );
    reader.read(page.clone()).expect("it is the first page");
    let view = reader.finish().expect("it is the last page");
    let application = &view.applications[0];
    assert_eq!((application.name.as_str(), application.executors_live), ("sums", 1));
    assert_eq!(application.executors[0].host, "host1");
    assert_eq!(application.cores_granted, Cores(2));
}

#[test]
fn status_clients_read_all_executors_page_by_page() {
    const ALL: u32 = 600;
    let mut bench = Bench::serving(ExecutorLimit::AtMost(u64::from(ALL)));
    for number in 1..=ALL {
        bench.grant(number);
    }
    let mut reader = StateReader::new(Extent::Whole);
    let mut pages = 0;
    while let Some(question) = reader.question() {
        let effects = bench.apply(Event::Received { peer: PeerId(7), message: Inbound::Client(question) });
        let [Effect::Send { message: Outbound::Client(MasterToClient::MasterStateResponse(page)), .. }] =
            &effects[..]
        else {
            panic!("{effects:?}")
        };
        reader.read(page.clone()).expect("it continues the pages before");
        pages += 1;
    }
    let view = reader.finish().expect("there is no further question");
    let numbers = view.applications[0].executors.iter().map(|executor| executor.id.0);
    assert!(numbers.eq(0..ALL) && pages == 2, "{pages} pages");

    let detail = bench.detail();
    assert_eq!((detail.application.executors.len(), detail.next_executor), (512, Some(ExecutorId(512))));
}

#[test]
fn status_clients_see_where_executors_that_have_ended_wrote() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    bench.end(1, 3, "");
    let detail = bench.detail();
    let [executor] = &detail.application.executors[..] else { panic!("{detail:?}") };
    assert_eq!(executor.state, ExecutorState::Exited(ExitStatus::Code(3)));
    assert_eq!((executor.directory.as_str(), executor.ended), ("http://host1:8042/logs", Some(bench.now)));
    assert_eq!((detail.application.executors_live, detail.application.executors_forgotten), (0, 0));
}
