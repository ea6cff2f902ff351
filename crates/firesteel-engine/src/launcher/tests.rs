//! Tests of the launcher: tables of events, each with every effect that follows.

use std::time::Duration;

use firesteel_placement::explain::shortfall;
use firesteel_placement::explain::shortfall::{Amounts, Missing};
use firesteel_placement::{Cores, ExecutorLimit, MiB, Shortfall};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, PeerId, WorkerId};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, LossReason, MasterToDriver, Outcome, Placing, Relaunch,
    ResourceProfile, Submitter, WantedExecutors, Work,
};
use firesteel_protocol::process::{Command, ExitStatus, StartFailure, StartStep};

use super::*;

const MASTER: PeerId = PeerId(1);

/// A launcher whose Master is simulated by the test.
struct Bench {
    launcher: Launcher,
    now: Timestamp,
}

impl Bench {
    /// A launcher registered as `app-1`, with executors of two cores.
    fn registered(until: Until, limit: ExecutorLimit, max_cores: Cores) -> Self {
        let launcher = Launcher::new(config(until, limit));
        let mut bench = Self { launcher, now: Timestamp::from_millis(1_000_000) };
        assert_eq!(bench.apply(Event::Start), [Effect::Connect { master: master() }]);
        bench.apply(Event::Connected { peer: MASTER, master: master(), leadership: Leadership::ALONE });
        bench.says(registered("app-1", max_cores));
        bench
    }

    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.launcher.apply(self.now, event);
        self.launcher.check().expect("the invariants hold");
        effects
    }

    fn says(&mut self, message: MasterToDriver) -> Vec<Effect> {
        self.apply(Event::Received { peer: MASTER, message })
    }

    fn run(&mut self, executors: u32) {
        for number in 0..executors {
            self.says(added(number));
            self.says(updated(number, ExecutorState::Running));
        }
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
    }

    fn exits(&mut self, number: u32, code: i32) -> Vec<Effect> {
        self.says(updated(number, exited(code)))
    }
}

fn master() -> Address {
    Address::new("m1", 7077)
}

fn config(until: Until, limit: ExecutorLimit) -> Config {
    let command = Command::of("server");
    let profile = ResourceProfile { cores: Some(Cores(2)), ..ResourceProfile::default() };
    Config {
        masters: vec![master()],
        description: ApplicationDescription::new(
            Submitter::new("servers", "ann"),
            WantedExecutors { profile, limit, ..WantedExecutors::default() },
            Placing::default(),
            Work::of(command),
        ),
        until,
        registration_timeout: Duration::from_secs(60),
        starvation_timeout: Duration::from_secs(15),
        seed: 1,
    }
}

fn registered(app: &str, max_cores: Cores) -> MasterToDriver {
    let (app, first_executor) = (AppId::new(app), ExecutorId(0));
    MasterToDriver::RegisteredApplication {
        app,
        master_url: master().url(),
        max_cores,
        first_executor,
        mark: None,
    }
}

fn added(number: u32) -> MasterToDriver {
    MasterToDriver::ExecutorAdded {
        executor: ExecutorId(number),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new("w1"),
        host: "h1".into(),
        cores: Cores(2),
        memory: MiB(1024),
        port: 7078,
    }
}

fn updated(number: u32, state: ExecutorState) -> MasterToDriver {
    MasterToDriver::ExecutorUpdated { executor: ExecutorId(number), state, lost_host: None }
}

fn exited(code: i32) -> ExecutorState {
    ExecutorState::Exited(ExitStatus::Code(code))
}

fn killed() -> ExecutorState {
    ExecutorState::Killed(Some(ExitStatus::Signal(15)))
}

fn gone(app: &str) -> MasterToDriver {
    MasterToDriver::ExecutorsGone { app: AppId::new(app) }
}

fn ended(number: u32, state: ExecutorState) -> Effect {
    ended_so(number, ExecutorEnd::Reported(state))
}

fn ended_so(number: u32, end: ExecutorEnd) -> Effect {
    let ran = Some(Duration::ZERO);
    Effect::Note(Note::ExecutorEnded { executor: ExecutorId(number), host: "h1".into(), end, ran })
}

fn unregister(app: &str, outcome: Option<Outcome>) -> Effect {
    let message = DriverToMaster::UnregisterApplication { app: AppId::new(app), outcome };
    Effect::Send { peer: MASTER, message }
}

fn succeeded() -> Option<Outcome> {
    Some(Outcome::Succeeded)
}

fn failed(words: &str) -> Option<Outcome> {
    Some(Outcome::failed(words))
}

fn ask(app: &str) -> Effect {
    Effect::Send { peer: MASTER, message: DriverToMaster::RequestShortfall { app: AppId::new(app) } }
}

fn ending(executors: usize) -> Effect {
    Effect::Note(Note::Ending { executors })
}

#[test]
fn an_executor_is_followed_from_its_launch_to_its_end() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(1), Cores::UNLIMITED);
    let (executor, host) = (ExecutorId(0), "h1".to_owned());
    let launched = Note::ExecutorLaunched {
        executor,
        worker: WorkerId::new("w1"),
        host: host.clone(),
        cores: Cores(2),
        memory: MiB(1024),
    };
    assert_eq!(bench.says(added(0)), [Effect::Note(launched)]);
    assert_eq!(bench.says(added(0)), [], "once is enough");
    bench.pass(2);
    let running = Note::ExecutorRunning { executor, host: host.clone(), after: Duration::from_secs(2) };
    assert_eq!(bench.says(updated(0, ExecutorState::Running)), [Effect::Note(running)]);
    assert_eq!(bench.says(updated(0, ExecutorState::Running)), []);
    bench.pass(12);
    let (end, ran) = (ExecutorEnd::Reported(exited(0)), Some(Duration::from_secs(12)));
    let note = Note::ExecutorEnded { executor, host, end, ran };
    assert_eq!(bench.exits(0, 0), [Effect::Note(note), unregister("app-1", succeeded())]);
    assert_eq!(bench.says(gone("app-1")), [Effect::Done(Ending::Met { code: 0 })]);
    assert_eq!(bench.says(added(1)), [], "nothing counts any more");
}

#[test]
fn all_end_when_as_many_as_were_asked_for_have_ended_and_the_greatest_code_counts() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(3), Cores::UNLIMITED);
    bench.run(2);
    assert_eq!(bench.exits(0, 4), [ended(0, exited(4))]);
    assert_eq!(bench.exits(1, 0), [ended(1, exited(0))], "one had no turn yet");
    bench.says(added(2));
    let failure = StartFailure { step: StartStep::Program, error: "server: not found".into() };
    let state = ExecutorState::Failed(failure);
    let note = Note::ExecutorEnded {
        executor: ExecutorId(2),
        host: "h1".into(),
        end: ExecutorEnd::Reported(state.clone()),
        ran: None,
    };
    let unregister = unregister("app-1", failed("exit code 127"));
    assert_eq!(bench.says(updated(2, state)), [Effect::Note(note), unregister]);
    assert_eq!(bench.says(gone("app-1")), [Effect::Done(Ending::Met { code: 127 })]);
}

#[test]
fn a_maximum_of_cores_says_how_many_are_asked_for() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::Unlimited, Cores(5));
    bench.run(2);
    assert_eq!(bench.exits(1, 0), [ended(1, exited(0))]);
    assert_eq!(
        bench.exits(0, 0),
        [ended(0, exited(0)), unregister("app-1", succeeded())],
        "one core is too few"
    );
}

#[test]
fn without_a_number_those_that_there_are_at_the_first_end_are_all() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::Unlimited, Cores::UNLIMITED);
    bench.run(3);
    assert_eq!(bench.exits(1, 0), [ended(1, exited(0))]);
    assert_eq!(bench.exits(0, 0), [ended(0, exited(0))]);
    assert_eq!(bench.exits(2, 1), [ended(2, exited(1)), unregister("app-1", failed("exit code 1"))]);
}

#[test]
fn what_did_not_end_by_itself_had_no_turn() {
    let mut bench = Bench::registered(Until::Any, ExecutorLimit::AtMost(2), Cores::UNLIMITED);
    bench.run(2);
    let lost = ExecutorState::Lost(LossReason::Disconnected);
    assert_eq!(bench.says(updated(0, lost.clone())), [ended(0, lost)]);
    assert_eq!(bench.says(updated(1, killed())), [ended(1, killed())]);
    assert_eq!(bench.says(updated(1, killed())), [], "it is known");
}

#[test]
fn the_first_decides_and_the_others_are_waited_for() {
    let mut bench = Bench::registered(Until::Any, ExecutorLimit::AtMost(3), Cores::UNLIMITED);
    bench.run(3);
    let signal = ExecutorState::Exited(ExitStatus::Signal(9));
    let unregister = unregister("app-1", failed("exit code 137"));
    assert_eq!(bench.says(updated(1, signal.clone())), [ended(1, signal), ending(2), unregister]);
    assert_eq!(bench.apply(Event::End), [], "it ends already");
    assert_eq!(bench.says(updated(0, killed())), [ended(0, killed())]);
    assert_eq!(bench.exits(2, 1), [ended(2, exited(1))], "too late to count");
    assert_eq!(bench.says(gone("app-2")), [], "that is another one");
    assert_eq!(bench.says(gone("app-1")), [Effect::Done(Ending::Met { code: 137 })]);
}

#[test]
fn where_all_are_replaced_only_the_master_or_the_user_ends_it() {
    let mut bench = Bench::registered(Until::Never, ExecutorLimit::AtMost(1), Cores::UNLIMITED);
    bench.run(1);
    assert_eq!(bench.exits(0, 1), [ended(0, exited(1))]);
    bench.says(added(1));
    let end = ApplicationEnd::ExecutorsFailed { failures: 10, last: exited(1) };
    assert_eq!(bench.says(MasterToDriver::ApplicationRemoved(end.clone())), []);
    assert_eq!(bench.says(gone("app-1")), [Effect::Done(Ending::Removed(end))]);

    let mut bench = Bench::registered(Until::Never, ExecutorLimit::AtMost(1), Cores::UNLIMITED);
    bench.run(1);
    assert_eq!(bench.apply(Event::End), [ending(1), unregister("app-1", None)]);
    assert_eq!(bench.says(gone("app-1")), [Effect::Done(Ending::Asked)]);
}

#[test]
fn a_user_who_ends_it_before_its_executors_have_ended_cancels_it() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(2), Cores::UNLIMITED);
    bench.run(2);
    let cancelled = Some(Outcome::cancelled("2 executors had not ended"));
    assert_eq!(bench.apply(Event::End), [ending(2), unregister("app-1", cancelled)]);

    let mut bench = Bench::registered(Until::Any, ExecutorLimit::AtMost(2), Cores::UNLIMITED);
    let cancelled = Some(Outcome::cancelled("no executor was running"));
    assert_eq!(bench.apply(Event::End), [unregister("app-1", cancelled)]);
}

#[test]
fn an_application_that_is_refused_is_over_at_once() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(1), Cores::UNLIMITED);
    let end = ApplicationEnd::Refused { reason: "no".into() };
    let over = [Effect::Done(Ending::Removed(end.clone()))];
    assert_eq!(bench.says(MasterToDriver::ApplicationRemoved(end)), over);
}

#[test]
fn nobody_is_waited_for_who_cannot_speak() {
    let ends: [fn(&mut Bench) -> Vec<Effect>; 2] = [
        |bench| bench.apply(Event::Disconnected { peer: MASTER }),
        |bench| {
            let (at, reason) = bench.launcher.next_deadline().expect("its patience ends");
            assert_eq!((at, reason), (bench.now + PATIENCE, Reason::ConnectTimeout));
            bench.now = at;
            bench.apply(Event::Deadline)
        },
    ];
    for end in ends {
        let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(2), Cores::UNLIMITED);
        bench.run(2);
        bench.apply(Event::End);
        let mut effects = end(&mut bench);
        effects.retain(|effect| !matches!(effect, Effect::Note(Note::MasterLost { .. })));
        let left = Effect::Note(Note::LeftBehind { executors: 2 });
        assert_eq!(effects, [left, Effect::Done(Ending::Asked)]);
    }
}

#[test]
fn without_a_master_the_end_is_at_once() {
    let mut launcher = Launcher::new(config(Until::All, ExecutorLimit::AtMost(1)));
    let now = Timestamp::from_millis(1_000_000);
    launcher.apply(now, Event::Start);
    assert_eq!(launcher.apply(now, Event::End), [Effect::Done(Ending::Asked)]);
    assert!(launcher.is_done());

    let mut launcher = Launcher::new(config(Until::All, ExecutorLimit::AtMost(1)));
    launcher.apply(now, Event::Start);
    launcher
        .apply(now, Event::ConnectFailed { master: master(), error: ConnectError::unreachable("refused") });
    let errors = vec![(master(), ConnectError::unreachable("refused"))];
    let late = now + Duration::from_secs(60);
    assert_eq!(launcher.apply(late, Event::Deadline), [Effect::Done(Ending::NoMaster { errors })]);
}

#[test]
fn a_launcher_that_ends_hears_the_end_from_the_master_that_has_its_application() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(1), Cores(8));
    bench.run(1);
    bench.exits(0, 0);
    let (peer, leadership) = (PeerId(9), Leadership::Here { epoch: 2 });
    let effects = bench.apply(Event::Connected { peer, master: master(), leadership });
    assert_eq!(effects, [Effect::Close { peer }]);
    assert_eq!(bench.says(gone("app-1")), [Effect::Done(Ending::Met { code: 0 })]);
}

#[test]
fn a_master_that_does_not_know_the_application_is_asked_for_the_rest() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(3), Cores(8));
    bench.run(3);
    bench.exits(1, 5);
    let peer = MASTER;
    assert_eq!(
        bench.apply(Event::Disconnected { peer }),
        [Effect::Note(Note::MasterLost { master: master() })]
    );
    bench.pass(1);
    bench.apply(Event::Deadline);
    let effects = bench.apply(Event::Connected { peer, master: master(), leadership: Leadership::ALONE });
    let [Effect::Send { message: DriverToMaster::ResumeApplication(resumption), .. }] = effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    let firesteel_protocol::messages::Resumption { app, executors, description } = resumption;
    assert_eq!((app.as_str(), &executors[..]), ("app-1", &[ExecutorId(0), ExecutorId(2)][..]));
    assert_eq!(
        (description.initial_limit, description.max_cores, description.relaunch),
        (ExecutorLimit::AtMost(2), Some(Cores(6)), Relaunch::WhenLost)
    );
    let effects = bench.says(registered("app-2", Cores(6)));
    let note = Note::Registered { app: AppId::new("app-2"), master: master() };
    let lost = |number| {
        let (end, ran) = (ExecutorEnd::ApplicationReplaced, Some(Duration::from_secs(1)));
        Effect::Note(Note::ExecutorEnded { executor: ExecutorId(number), host: "h1".into(), end, ran })
    };
    assert_eq!(effects, [Effect::Note(note), lost(0), lost(2), ask("app-2")]);
    bench.run(2);
    assert_eq!(bench.exits(0, 0), [ended(0, exited(0))]);
    assert_eq!(bench.exits(1, 0), [ended(1, exited(0)), unregister("app-2", failed("exit code 5"))]);
    assert_eq!(bench.says(gone("app-2")), [Effect::Done(Ending::Met { code: 5 })]);
}

#[test]
fn fewer_than_asked_is_said_once_for_each_reason() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(2), Cores::UNLIMITED);
    bench.run(1);
    let shortfalls = |reason| {
        let missing = Missing::Executors { missing: 1, of: 2 };
        vec![(ProfileId::DEFAULT, Shortfall { missing, asked: Amounts::default(), reason })]
    };
    let (none, large) = (shortfall::Reason::NoWorkers, Amounts { cores: Cores(1), ..Amounts::default() });
    let said = |shortfalls| Effect::Note(Note::FewerThanAsked { held: 1, shortfalls });
    // A shortfall that may end is not reported at once.
    assert_eq!(bench.says(MasterToDriver::Shortfalls(shortfalls(none.clone()))), []);
    let wait = |bench: &mut Bench| {
        bench.pass(15);
        assert_eq!(bench.apply(Event::Deadline), [ask("app-1")]);
    };
    wait(&mut bench);
    let answer = shortfalls(none);
    assert_eq!(bench.says(MasterToDriver::Shortfalls(answer.clone())), [said(answer.clone())]);
    wait(&mut bench);
    assert_eq!(bench.says(MasterToDriver::Shortfalls(answer)), []);
    wait(&mut bench);
    let answer = shortfalls(shortfall::Reason::TooSmall { largest: large });
    assert_eq!(bench.says(MasterToDriver::Shortfalls(answer.clone())), [said(answer)]);
    bench.says(added(1));
    assert_eq!(bench.launcher.next_deadline(), None);
}

#[test]
fn only_a_master_is_listened_to() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(1), Cores::UNLIMITED);
    let stranger = PeerId(9);
    let effects = bench.apply(Event::Received { peer: stranger, message: added(0) });
    let note = Effect::Note(Note::UnexpectedMessage { peer: stranger });
    assert_eq!(effects, [note, Effect::Close { peer: stranger }]);
    assert_eq!(bench.says(gone("app-1")), [], "nobody asked it to end them");
}

#[test]
fn a_launcher_goes_to_where_its_master_is_now() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(1), Cores::UNLIMITED);
    let elsewhere = Address::new("m2", 7077);
    let effects = bench.apply(Event::MastersMoved { masters: vec![elsewhere.clone()] });
    let lost = Effect::Note(Note::MasterLost { master: master() });
    assert_eq!(effects, [Effect::Close { peer: MASTER }, lost, Effect::Connect { master: elsewhere }]);
}

#[test]
fn a_launch_that_was_ended_without_a_master_is_over() {
    let mut bench = Bench::registered(Until::All, ExecutorLimit::AtMost(1), Cores::UNLIMITED);
    bench.run(1);
    bench.apply(Event::Disconnected { peer: MASTER });
    let end = ApplicationEnd::Killed { by: "ann".to_owned() };
    let effects = bench.apply(Event::Removed { end: end.clone() });
    assert_eq!(effects, [Effect::Done(Ending::Removed(end))]);
}
