//! Tests: questions of the driver's owner.

use firesteel_placement::explain::shortfall;
use firesteel_placement::{Cores, Shortfall};
use firesteel_protocol::ids::{AppId, ProfileId};
use firesteel_protocol::messages::{DriverToMaster, MasterToDriver};

use super::bench::*;
use crate::driver::{Answer, Effect, Event, Question, QuestionId};

fn ask(bench: &mut Bench, number: u64, question: Question) -> Vec<Effect> {
    bench.apply(Event::Ask { number: QuestionId(number), question })
}

fn answer(number: u64, answer: Answer) -> Effect {
    Effect::Answer { number: QuestionId(number), answer }
}

fn request() -> Effect {
    to_master(DriverToMaster::RequestShortfall { app: AppId::new("app-1") })
}

fn one_missing() -> Vec<(ProfileId, Shortfall)> {
    let asked = shortfall::Amounts { cores: Cores(16), ..Default::default() };
    let largest = shortfall::Amounts { cores: Cores(8), ..Default::default() };
    let missing = shortfall::Missing::Executors { missing: 1, of: 2 };
    let shortfall = Shortfall { missing, asked, reason: shortfall::Reason::TooSmall { largest } };
    vec![(ProfileId::DEFAULT, shortfall)]
}

#[test]
fn a_look_at_the_tables_is_answered_at_once() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let view = bench.driver.view();
    assert_eq!(ask(&mut bench, 3, Question::Look), [answer(3, Answer::View(view))]);
}

#[test]
fn why_there_is_less_than_asked_is_the_masters_to_say() {
    let mut bench = Bench::registered();
    // The first answer belongs to the early question of every driver.
    bench.master(MasterToDriver::Shortfalls(Vec::new()));
    assert_eq!(ask(&mut bench, 1, Question::Explain), [request()]);
    assert_eq!(ask(&mut bench, 2, Question::Explain), [request()]);
    let answers = bench.master(MasterToDriver::Shortfalls(one_missing()));
    let shortfalls = || Answer::Shortfalls(one_missing());
    assert_eq!(answers, [answer(1, shortfalls()), answer(2, shortfalls())]);
    assert_eq!(bench.master(MasterToDriver::Shortfalls(one_missing())), [], "nobody asks any more");
}

#[test]
fn what_must_be_said_is_said_though_the_shell_asks_too() {
    let mut bench = Bench::registered();
    ask(&mut bench, 1, Question::Explain);
    let said = bench.master(MasterToDriver::Shortfalls(one_missing()));
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], answer(1, Answer::Shortfalls(one_missing())));
    assert!(matches!(said[1], Effect::Note(crate::driver::Note::NeverFits { .. })), "{said:?}");
}

#[test]
fn without_a_master_nobody_knows() {
    let mut bench = Bench::new(&["m1"]);
    assert_eq!(ask(&mut bench, 1, Question::Explain), [answer(1, Answer::NoMaster)]);
    let mut bench = Bench::registered();
    ask(&mut bench, 2, Question::Explain);
    let lost = bench.apply(Event::Disconnected { peer: MASTER });
    assert_eq!(lost.last(), Some(&answer(2, Answer::NoMaster)));
}

#[test]
fn a_master_that_does_not_answer_piles_up_no_questions() {
    let mut bench = Bench::registered();
    for number in 0..16 {
        assert_eq!(ask(&mut bench, number, Question::Explain), [request()]);
    }
    assert_eq!(ask(&mut bench, 16, Question::Explain), [answer(0, Answer::NoMaster), request()]);
}
