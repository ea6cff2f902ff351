//! Tests: finding a Master, staying registered, and reporting why no executor comes.

use firesteel_protocol::master_search::Due;
use std::time::Duration;

use firesteel_placement::explain::shortfall;
use firesteel_placement::{Cores, MiB, Resources, Shortfall};
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId, WorkerId};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::{LeaderConflict, Leadership};
use firesteel_protocol::messages::{
    ApplicationEnd, DriverToExecutor, DriverToMaster, ExecutorState, ExecutorToDriver, MasterToDriver,
    Outcome, RefusedExecutor, TaskState,
};
use firesteel_protocol::secret::Secret;

use super::bench::*;
use crate::driver::{
    ConnectTimeout, Effect, Ending, Event, ExecutorLoss, Inbound, MasterStatus, Note, Outbound, Reason,
};

const SECOND: Duration = Duration::from_secs(1);

fn connect(host: &str) -> Effect {
    Effect::Connect { master: master(host) }
}

fn ask(peer: PeerId) -> Effect {
    let message = Outbound::Master(DriverToMaster::RegisterApplication(Box::new(with_token(description()))));
    Effect::Send { peer, message }
}

fn registered_note(app: &str, host: &str) -> Effect {
    Effect::Note(Note::Registered { app: AppId::new(app), master: master(host) })
}

fn request_shortfall(peer: PeerId, app: &str) -> Effect {
    let message = DriverToMaster::RequestShortfall { app: AppId::new(app) };
    Effect::Send { peer, message: Outbound::Master(message) }
}

fn unreachable(host: &str) -> Event {
    Event::ConnectFailed { master: master(host), error: ConnectError::unreachable("refused") }
}

fn from_master(peer: PeerId, message: MasterToDriver) -> Event {
    Event::Received { peer, message: Inbound::Master(message) }
}

fn too_small() -> Shortfall {
    let asked = shortfall::Amounts { cores: Cores(16), memory: MiB(1024), ..Default::default() };
    let largest = shortfall::Amounts { cores: Cores(8), memory: MiB(4096), ..Default::default() };
    let missing = shortfall::Missing::Executors { missing: 2, of: 2 };
    Shortfall { missing, asked, reason: shortfall::Reason::TooSmall { largest } }
}

#[test]
fn all_masters_are_asked_and_the_first_to_answer_wins() {
    let mut bench = Bench::new(&["m1", "m2", "m3", "m1"]);
    assert_eq!(bench.apply(Event::Start), [connect("m1"), connect("m2"), connect("m3")]);
    for (peer, host) in [(1, "m1"), (2, "m2")] {
        let connected = bench.apply(Event::Connected {
            peer: PeerId(peer),
            master: master(host),
            leadership: Leadership::Here { epoch: 1 },
        });
        assert_eq!(connected, [ask(PeerId(peer))]);
    }
    let answer = bench.apply(from_master(PeerId(2), registered("app-1")));
    assert_eq!(
        answer,
        [
            Effect::Close { peer: PeerId(1) },
            registered_note("app-1", "m2"),
            request_shortfall(PeerId(2), "app-1"),
        ]
    );
    assert_eq!(bench.apply(from_master(PeerId(1), registered("app-9"))), []);
    let late = bench.apply(Event::Connected {
        peer: PeerId(3),
        master: master("m3"),
        leadership: Leadership::Here { epoch: 1 },
    });
    assert_eq!(late, [Effect::Close { peer: PeerId(3) }]);
    assert_eq!(bench.apply(from_master(PeerId(2), registered("app-1"))), [], "repeated");
    assert_eq!(bench.driver.app(), Some(&AppId::new("app-1")));
}

#[test]
fn masters_are_tried_again_with_growing_pauses_until_the_time_is_up() {
    let mut bench = Bench::new(&["m1"]);
    bench.apply(Event::Start);
    let (mut rounds, mut longest, mut last) = (1, Duration::ZERO, bench.now);
    let mut last_round = bench.now;
    let outcome = loop {
        let note = Note::MasterUnreachable {
            master: master("m1"),
            error: "refused".to_owned(),
            patience: ConnectTimeout::UpTo(60 * SECOND),
        };
        assert_eq!(bench.apply(unreachable("m1")), [Effect::Note(note)]);
        let (at, reason) = bench.next_deadline().expect("a driver without a Master tries again");
        longest = longest.max(at.since(last));
        (bench.now, last) = (at, at);
        let effects = bench.apply(Event::Deadline);
        if reason == Reason::Registration(Due::Timeout) {
            break effects;
        }
        assert_eq!(effects, [connect("m1")]);
        rounds += 1;
        last_round = at;
    };
    assert_eq!(bench.now.since(last_round), SECOND, "one more at the end");
    let errors = vec![(master("m1"), ConnectError::unreachable("refused"))];
    assert_eq!(outcome, [Effect::Done(Ending::NoMaster { errors }), Effect::Exit]);
    assert!((12..30).contains(&rounds), "{rounds} rounds");
    assert!(longest > 4 * SECOND && longest < 8 * SECOND, "{longest:?}");
}

#[test]
fn a_master_that_was_asked_is_waited_for_and_another_one_dialled_again() {
    let mut bench = Bench::new(&["m1", "m2"]);
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: MASTER, master: master("m1"), leadership: Leadership::ALONE });
    bench.apply(unreachable("m2"));
    assert_eq!(bench.pass(SECOND), [connect("m2")]);
    let ended = bench.apply(Event::Disconnected { peer: MASTER });
    assert_eq!(ended, []);
    assert_eq!(bench.pass(2 * SECOND), [connect("m1")]);
}

#[test]
fn tasks_go_on_while_the_master_is_lost_and_end_the_application_without_it() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Finish { outcome: None });
    let lost = bench.apply(Event::Disconnected { peer: MASTER });
    assert_eq!(lost, [Effect::Note(Note::MasterLost { master: master("m1") })]);
    assert_eq!(bench.pass(SECOND), [connect("m1")]);
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [succeeded(attempt(0, 0), 0)]);
    let over = bench.pass(3 * SECOND);
    let stopped = to_executor(0, DriverToExecutor::StopExecutor);
    assert!(over.ends_with(&[stopped, Effect::Done(Ending::Completed), Effect::Exit]), "{over:?}");
}

#[test]
fn a_master_that_comes_back_in_time_is_told_of_the_end() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Finish { outcome: Some(Outcome::Succeeded) });
    bench.apply(Event::Disconnected { peer: MASTER });
    bench.end(0, attempt(0, 0), exit(0));
    bench.pass(2 * SECOND);
    bench.apply(Event::Connected { peer: PeerId(5), master: master("m1"), leadership: Leadership::ALONE });
    let told = bench.apply(from_master(PeerId(5), registered("app-1")));
    let (app, outcome) = (AppId::new("app-1"), Some(Outcome::Succeeded));
    let message = Outbound::Master(DriverToMaster::UnregisterApplication { app, outcome });
    let unregistered = Effect::Send { peer: PeerId(5), message };
    assert!(told.ends_with(&[unregistered, Effect::Done(Ending::Completed), Effect::Exit]), "{told:?}");
}

#[test]
fn a_driver_whose_tasks_end_before_its_master_answers_waits_for_the_answer() {
    let mut bench = Bench::new(&["m1"]);
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: MASTER, master: master("m1"), leadership: Leadership::ALONE });
    assert_eq!(bench.apply(Event::Finish { outcome: None }), []);
    let told = bench.apply(from_master(MASTER, registered("app-1")));
    let message = DriverToMaster::UnregisterApplication { app: AppId::new("app-1"), outcome: None };
    assert!(told.contains(&to_master(message)), "{told:?}");
}

#[test]
fn a_new_registration_replaces_the_executors_of_the_old_one() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: MASTER });
    bench.pass(SECOND);
    let again = PeerId(5);
    let connected =
        bench.apply(Event::Connected { peer: again, master: master("m1"), leadership: Leadership::ALONE });
    let mut seen = description();
    seen.first_executor = ExecutorId(1);
    let message = Outbound::Master(resume("app-1", vec![ExecutorId(0)], seen));
    assert_eq!(connected, [Effect::Send { peer: again, message }]);
    // The new application's executor is faster than the Master's answer, and waits for the Master to announce it.
    let early = Event::Received { peer: PeerId(20), message: Inbound::Executor(register_for("app-2", 0, 1)) };
    assert_eq!(bench.apply(early), []);
    let lost = Note::ExecutorLost {
        executor: ExecutorId(0),
        host: "h0".to_owned(),
        loss: crate::driver::ExecutorLoss::ApplicationReplaced,
        tasks: 1,
    };
    let ready = Note::ExecutorRegistered {
        executor: ExecutorId(0),
        profile: ProfileId::DEFAULT,
        host: "h0".to_owned(),
        cores: Cores(1),
    };
    let to_new = |message| Effect::Send { peer: PeerId(20), message: Outbound::Executor(message) };
    let launch = DriverToExecutor::LaunchTask {
        attempt: attempt(0, 1),
        spec: spec(1),
        resources: Resources::default(),
        credit: WINDOW,
    };
    assert_eq!(
        bench.apply(from_master(again, registered("app-2"))),
        [
            Effect::Note(Note::ApplicationReplaced { master: master("m1") }),
            registered_note("app-2", "m1"),
            Effect::Note(lost),
            to_executor(0, DriverToExecutor::StopExecutor),
            closed(0),
            discard(attempt(0, 0)),
            request_shortfall(again, "app-2"),
        ]
    );
    let added = bench.announcement(&register_for("app-2", 0, 1)).expect("it is of this application");
    assert_eq!(
        bench.apply(from_master(again, added))[1..],
        [Effect::Note(ready), to_new(confirmation()), to_new(launch)]
    );
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [], "the old executor is not listened to");
}

fn elected(peer: PeerId, host: &str, epoch: u64) -> Event {
    Event::Connected { peer, master: master(host), leadership: Leadership::Here { epoch } }
}

fn deposed(host: &str) -> Effect {
    Effect::Note(Note::LeaderConflict(LeaderConflict::Deposed { master: master(host), epoch: 1, latest: 2 }))
}

#[test]
fn a_master_that_answers_after_a_later_one_was_met_is_too_late() {
    let (former, later) = (MASTER, PeerId(5));
    let mut bench = Bench::new(&["m1", "m2"]);
    bench.apply(Event::Start);
    bench.apply(elected(former, "m1", 1));
    let effects = bench.apply(elected(later, "m2", 2));
    assert_eq!(effects[..2], [deposed("m1"), Effect::Close { peer: former }]);
    assert_eq!(effects.len(), 3, "the later one is asked");
    assert_eq!(bench.apply(from_master(former, registered("app-1"))), []);
    let effects = bench.apply(from_master(later, registered("app-2")));
    assert_eq!(effects[0], registered_note("app-2", "m2"));
}

#[test]
fn a_driver_leaves_its_master_for_a_later_one_that_it_meets() {
    let (former, later) = (MASTER, PeerId(5));
    let mut bench = Bench::new(&["m1", "m2"]);
    bench.apply(Event::Start);
    bench.apply(elected(former, "m1", 1));
    bench.apply(from_master(former, registered("app-1")));
    let effects = bench.apply(elected(later, "m2", 2));
    let lost = Effect::Note(Note::MasterLost { master: master("m1") });
    assert_eq!(effects[..3], [deposed("m1"), Effect::Close { peer: former }, lost]);
    let [Effect::Send { peer, message: Outbound::Master(DriverToMaster::ResumeApplication(_)) }] =
        &effects[3..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!(*peer, later);
    let added = MasterToDriver::ExecutorAdded {
        executor: ExecutorId(0),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new("w0"),
        host: "h0".to_owned(),
        cores: Cores(1),
        memory: MiB(1024),
        port: 7078,
    };
    assert_eq!(bench.apply(from_master(former, added)), [], "it no longer counts");
    assert_eq!(bench.apply(Event::Disconnected { peer: former }), []);
    let effects = bench.apply(from_master(later, registered("app-1")));
    assert_eq!(effects[0], registered_note("app-1", "m2"));
    let again = PeerId(6);
    assert_eq!(bench.apply(elected(again, "m1", 1)), [deposed("m1"), Effect::Close { peer: again }]);
}

#[test]
fn executors_live_on_when_a_master_takes_the_application_up_again() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: MASTER });
    bench.pass(SECOND);
    bench.apply(Event::Connected { peer: PeerId(5), master: master("m1"), leadership: Leadership::ALONE });
    let resumed = bench.apply(from_master(PeerId(5), registered("app-1")));
    assert_eq!(resumed, [registered_note("app-1", "m1"), request_shortfall(PeerId(5), "app-1")]);
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [succeeded(attempt(0, 0), 0)]);
}

#[test]
fn executors_of_an_earlier_attempt_are_lost_and_later_ones_number_on() {
    let mut bench = Bench::with_executors(&[1]);
    let added = MasterToDriver::ExecutorAdded {
        executor: ExecutorId(4),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new("w4"),
        host: "h4".to_owned(),
        cores: Cores(1),
        memory: MiB(1024),
        port: 7078,
    };
    bench.master(added);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: MASTER });
    bench.pass(SECOND);
    let asked = bench.apply(Event::Connected {
        peer: PeerId(5),
        master: master("m1"),
        leadership: Leadership::ALONE,
    });
    let [Effect::Send { message: Outbound::Master(DriverToMaster::ResumeApplication(again)), .. }] =
        &asked[..]
    else {
        panic!("{asked:?}")
    };
    assert_eq!(again.description.first_executor, ExecutorId(5));
    let MasterToDriver::RegisteredApplication { app, master_url, max_cores, .. } = registered("app-1") else {
        unreachable!("it is one")
    };
    let first_executor = ExecutorId(5);
    let later =
        MasterToDriver::RegisteredApplication { app, master_url, max_cores, first_executor, mark: None };
    let effects = bench.apply(from_master(PeerId(5), later));
    let lost = |effect: &&Effect| {
        matches!(effect, Effect::Note(Note::ExecutorLost { loss: ExecutorLoss::ApplicationReplaced, .. }))
    };
    assert_eq!(effects.iter().filter(lost).count(), 2, "{effects:?}");
    assert!(effects.contains(&discard(attempt(0, 0))), "{effects:?}");
}

#[test]
fn a_removed_application_is_over() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let end = ApplicationEnd::Refused { reason: "no".to_owned() };
    assert_eq!(
        bench.master(MasterToDriver::ApplicationRemoved(end.clone())),
        [
            cancelled(0),
            to_executor(0, DriverToExecutor::StopExecutor),
            Effect::Done(Ending::Removed(end)),
            Effect::Exit,
        ]
    );
}

#[test]
fn an_executor_without_the_secret_is_refused_whatever_it_claims() {
    let mut bench = Bench::registered();
    bench.added(0, 1);
    bench.submit(0, 1);
    // An announced executor, one that was never announced, and one of another application.
    for (id, app, number) in [(7, "app-1", 0), (8, "app-1", 99), (9, "app-2", 0)] {
        let mut message = register_for(app, number, 1);
        if let ExecutorToDriver::RegisterExecutor { secret, .. } = &mut message {
            *secret = Secret::new("hash");
        }
        let (executor, reason) = (ExecutorId(number), RefusedExecutor::WrongSecret);
        assert_eq!(
            bench.unannounced(id, message),
            [
                Effect::Note(Note::ExecutorRefused { executor, reason }),
                to_executor(id, DriverToExecutor::RegisterExecutorFailed(reason)),
                closed(id),
            ]
        );
    }
    assert!(bench.executor(0, register(0, 1)).contains(&launch(0, attempt(0, 0))), "its place is free");
}

#[test]
fn an_executor_that_the_master_has_not_told_of_waits_without_a_task() {
    let mut bench = Bench::registered();
    bench.submit(0, 1);
    assert_eq!(bench.unannounced(0, register(0, 1)), []);
    assert_eq!(bench.unannounced(99, register(99, 1)), []);
    let confirmation = to_executor(0, confirmation());
    let effects = bench.added(0, 1);
    assert!(effects.contains(&confirmation) && effects.contains(&launch(0, attempt(0, 0))), "{effects:?}");
    // An executor that ended before the Master announced it is refused.
    let reason = RefusedExecutor::NumberTaken;
    let refused = to_executor(99, DriverToExecutor::RegisterExecutorFailed(reason));
    let effects = bench.updated(99, ExecutorState::Killed(None));
    assert!(effects.contains(&refused) && effects.contains(&closed(99)), "{effects:?}");
}

#[test]
fn a_second_connection_for_an_executor_is_refused() {
    let mut bench = Bench::with_executors(&[1]);
    let reason = RefusedExecutor::NumberTaken;
    let effects = bench.unannounced(5, register(0, 1));
    assert!(
        effects.contains(&to_executor(5, DriverToExecutor::RegisterExecutorFailed(reason))),
        "{effects:?}"
    );
    bench.submit(0, 1);
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [succeeded(attempt(0, 0), 0)], "the first one stays");
}

#[test]
fn strangers_are_turned_away() {
    let mut bench = Bench::with_executors(&[1]);
    for (id, message, reason) in [
        (7, register_for("app-2", 7, 1), RefusedExecutor::OtherApplication),
        (8, register(0, 1), RefusedExecutor::NumberTaken),
    ] {
        let ExecutorToDriver::RegisterExecutor { executor, .. } = message else { continue };
        assert_eq!(
            bench.executor(id, message),
            [
                Effect::Note(Note::ExecutorRefused { executor, reason }),
                to_executor(id, DriverToExecutor::RegisterExecutorFailed(reason)),
                closed(id),
            ]
        );
    }
    let out_of_turn = ExecutorToDriver::StatusUpdate { attempt: attempt(0, 0), state: TaskState::Running };
    let note = Effect::Note(Note::UnexpectedMessage { peer: peer(9) });
    assert_eq!(bench.executor(9, out_of_turn.clone()), [note, closed(9)]);
    assert_eq!(bench.executor(9, out_of_turn), [], "it is closing");
    let note = Effect::Note(Note::UnexpectedMessage { peer: PeerId(30) });
    let foreign = bench.apply(from_master(PeerId(30), registered("app-1")));
    assert_eq!(foreign, [note, Effect::Close { peer: PeerId(30) }]);
}

#[test]
fn an_executor_that_fits_nowhere_is_said_at_once() {
    let mut bench = Bench::registered();
    let answer = bench.master(MasterToDriver::Shortfalls(vec![(ProfileId::DEFAULT, too_small())]));
    let note = Note::NeverFits { profile: ProfileId::DEFAULT, shortfall: too_small() };
    assert_eq!(answer, [Effect::Note(note)]);
}

#[test]
fn tasks_without_executors_are_explained_again_and_again() {
    let mut bench = Bench::registered();
    bench.master(MasterToDriver::Shortfalls(Vec::new()));
    assert_eq!(bench.pass(15 * SECOND), [], "there is nothing to run");
    bench.submit(0, 1);
    for round in 2..4 {
        assert_eq!(bench.next_deadline(), Some((bench.now + 15 * SECOND, Reason::Starvation)));
        assert_eq!(bench.pass(15 * SECOND), [request_shortfall(MASTER, "app-1")]);
        let shortfalls = vec![(ProfileId::DEFAULT, too_small())];
        let answer = bench.master(MasterToDriver::Shortfalls(shortfalls.clone()));
        let status = MasterStatus::Registered { master: master("m1"), shortfalls, unwanted: Vec::new() };
        let note = Note::NoExecutor { waited: round * 15 * SECOND, master: status };
        assert_eq!(answer, [Effect::Note(note)]);
    }
    bench.executor(0, register(0, 1));
    assert_eq!(bench.next_deadline(), None);
}

#[test]
fn tasks_without_executors_are_explained_soon_and_once_unless_some_are_assigned() {
    let busy = || Shortfall { reason: shortfall::Reason::NoWorkers, ..too_small() };
    for (assigned, said) in [(false, true), (true, false)] {
        let mut bench = Bench::registered();
        bench.master(MasterToDriver::Shortfalls(Vec::new()));
        bench.submit(0, 1);
        if assigned {
            bench.added(0, 1);
        }
        let soon = Duration::from_millis(1500);
        assert_eq!(bench.pass(soon), [request_shortfall(MASTER, "app-1")]);
        let answer = bench.master(MasterToDriver::Shortfalls(vec![(ProfileId::DEFAULT, busy())]));
        let note = Note::StillWaiting { shortfalls: vec![(ProfileId::DEFAULT, busy())] };
        assert_eq!(answer, if said { vec![Effect::Note(note)] } else { Vec::new() });
        let later = bench.now + (15 * SECOND - soon);
        assert_eq!(bench.next_deadline(), Some((later, Reason::Starvation)));
    }
}

#[test]
fn tasks_without_executors_and_without_a_master_are_remarked_on() {
    let mut bench = Bench::registered();
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: MASTER });
    let effects = bench.pass(15 * SECOND);
    let note = Note::NoExecutor { waited: 15 * SECOND, master: MasterStatus::Lost };
    assert_eq!(effects, [connect("m1"), Effect::Note(note)]);
}
