//! Random events in random order: the invariants hold, and each task ends once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use firesteel_protocol::ids::{AttemptId, ExecutorId, PeerId, TaskId};
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    ApplicationEnd, DriverToExecutor, ExecutorState, ExecutorToDriver, LossReason, MasterToDriver, Stream,
    TaskEnd, TaskState,
};
use firesteel_protocol::process::ExitStatus;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::bench::*;
use crate::driver::{
    Config, Effect, Event, ExecutorLoss, Heartbeats, Inbound, Note, Outbound, Phase, Question, QuestionId,
    TaskOutcome, Until,
};

/// Draws random events, of which only some are valid.
struct Dice {
    rng: ChaCha8Rng,
    next_task: u64,
    next_question: u64,
    /// Attempts that were launched, each with its connection.
    launched: Vec<(PeerId, AttemptId)>,
}

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.rng.random_range(0..sides)
    }

    fn launched(&mut self) -> (PeerId, AttemptId) {
        if self.launched.is_empty() {
            return (peer(0), attempt(0, 0));
        }
        // Mostly one of the latest attempts.
        let back = self.roll(8) as usize + 1;
        self.launched[self.launched.len().saturating_sub(back)]
    }

    fn event(&mut self) -> Event {
        let id = self.roll(12);
        match self.roll(100) {
            0..25 => {
                self.next_task += 1;
                Event::Submit { task: TaskId(self.next_task), request: spec(i64::from(self.roll(3))).into() }
            }
            25..55 => {
                let (peer, attempt) = self.launched();
                let end = match self.roll(10) {
                    0..7 => exit(0),
                    7..9 => exit(1),
                    _ => TaskEnd::Killed,
                };
                let state = TaskState::Ended(end);
                executor(peer, ExecutorToDriver::StatusUpdate { attempt, state })
            }
            55..70 => {
                let (peer, attempt) = self.launched();
                let (stream, bytes) = (Stream::Stdout, Bytes::from(vec![0; self.roll(400) as usize]));
                executor(peer, ExecutorToDriver::TaskOutput { attempt, stream, bytes })
            }
            70..80 => {
                let (_, attempt) = self.launched();
                Event::OutputConsumed { attempt, bytes: u64::from(self.roll(500)) }
            }
            80..88 => {
                let app = if self.roll(20) == 0 { "app-2" } else { "app-1" };
                let cores = i64::from(self.roll(4));
                executor(peer(self.roll(60)), register_for(app, id + self.next_task as u32 / 20, cores))
            }
            88..90 => Event::Disconnected { peer: self.launched().0 },
            90..94 => {
                let state = match self.roll(4) {
                    0 => ExecutorState::Exited(ExitStatus::Signal(9)),
                    1 => ExecutorState::Lost(LossReason::Disconnected),
                    2 => ExecutorState::Running,
                    _ => ExecutorState::Killed(None),
                };
                let executor = ExecutorId(id + self.next_task as u32 / 20);
                master_says(MasterToDriver::ExecutorUpdated { executor, state, lost_host: None })
            }
            94 => Event::Deadline,
            95 => Event::ArrivedHandled { peer: peer(self.roll(60)) },
            96 if self.roll(3) == 0 => {
                self.next_question += 1;
                let question = [Question::Look, Question::Explain][self.roll(2) as usize];
                Event::Ask { number: QuestionId(self.next_question), question }
            }
            96 => {
                let waiting = TaskId(self.next_task.saturating_sub(u64::from(self.roll(4))));
                let task = if self.roll(2) == 0 { waiting } else { self.launched().1.task };
                Event::CancelTask { task }
            }
            97 => Event::Disconnected { peer: MASTER },
            98 => Event::Connected { peer: MASTER, master: master("m1"), leadership: Leadership::ALONE },
            _ if self.roll(40) == 0 => match self.roll(3) {
                0 => Event::Cancel { outcome: None, until: Until::NothingLeft },
                1 => Event::Finish { outcome: None },
                _ => master_says(MasterToDriver::ApplicationRemoved(ApplicationEnd::Finished {
                    outcome: None,
                })),
            },
            _ => master_says(registered(["app-1", "app-2"][self.roll(2) as usize])),
        }
    }
}

fn executor(peer: PeerId, message: ExecutorToDriver) -> Event {
    Event::Received { peer, message: Inbound::Executor(message) }
}

fn master_says(message: MasterToDriver) -> Event {
    Event::Received { peer: MASTER, message: Inbound::Master(message) }
}

#[derive(Default)]
struct Ledger {
    /// Tasks that were submitted and have not ended, each with its live attempt.
    open: BTreeMap<TaskId, Option<AttemptId>>,
    cancelled: BTreeSet<TaskId>,
    answers: BTreeSet<QuestionId>,
    ended: usize,
    retried: usize,
    done: usize,
    silent: usize,
    has_exited: bool,
}

impl Ledger {
    fn submitted(&mut self, task: TaskId) {
        self.open.insert(task, None);
    }

    fn record(&mut self, effect: &Effect) {
        assert!(!self.has_exited, "the last effect was Exit: {effect:?}");
        assert_eq!(
            self.done,
            usize::from(*effect == Effect::Exit),
            "what comes after Done, and nothing else does: {effect:?}"
        );
        match effect {
            Effect::Send {
                message: Outbound::Executor(DriverToExecutor::LaunchTask { attempt, .. }),
                ..
            } => {
                let live = self.open.get_mut(&attempt.task).expect("only open tasks are launched");
                assert!(!self.cancelled.contains(&attempt.task), "{attempt} was given up and is launched");
                assert_eq!(live.replace(*attempt), None, "two live attempts of one task");
            }
            Effect::DiscardOutput { attempt } => {
                let live = self.open.get_mut(&attempt.task).expect("only open tasks are repeated");
                assert_eq!(live.take(), Some(*attempt));
                self.retried += 1;
            }
            Effect::Output { attempt, .. } => assert_eq!(self.open[&attempt.task], Some(*attempt)),
            Effect::Answer { number, .. } => {
                assert!(self.answers.insert(*number), "question {number} is answered twice");
            }
            Effect::TaskEnded { task, outcome } => {
                let given_up = self.cancelled.contains(task);
                assert!(!given_up || *outcome == TaskOutcome::Cancelled, "task {task}: {outcome:?}");
                assert!(self.open.remove(task).is_some(), "task {task} ends twice");
                self.ended += 1;
            }
            Effect::Done(_) => {
                assert!(self.open.is_empty(), "Done, and open: {:?}", self.open);
                self.done += 1;
            }
            Effect::Note(Note::ExecutorLost { loss: ExecutorLoss::HeartbeatTimeout { .. }, .. }) => {
                self.silent += 1;
            }
            Effect::Connect { .. }
            | Effect::Send { .. }
            | Effect::HandleArrived { .. }
            | Effect::Close { .. }
            | Effect::Note(_) => {}
            Effect::Exit => self.has_exited = true,
        }
    }
}

#[test]
fn whatever_comes_the_invariants_hold_and_each_task_ends_once() {
    let (mut ended, mut retried, mut done, mut silent) = (0, 0, 0, 0);
    for seed in 0..200 {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let mut dice = Dice { rng, next_task: 0, next_question: 0, launched: Vec::new() };
        let (interval, timeout) = (Duration::from_secs(5), Duration::from_secs(20));
        let heartbeats = Heartbeats { interval, timeout, max_failures: 4 };
        let mut bench = Bench::of(Config { heartbeats, ..config(&["m1"]) });
        bench.register();
        let mut ledger = Ledger::default();
        for _ in 0..1500 {
            let event = dice.event();
            if let Event::Submit { task, .. } = &event
                && bench.driver.phase == Phase::Open
                && bench.driver.tasks.tally().waiting < 64
            {
                ledger.submitted(*task);
            } else if matches!(event, Event::Submit { .. }) {
                continue;
            }
            if let Event::CancelTask { task } = &event
                && ledger.open.contains_key(task)
            {
                ledger.cancelled.insert(*task);
            }
            bench.now = bench.now + Duration::from_millis(u64::from(dice.roll(400)));
            // Mostly the Master announces an executor before it registers.
            let announced = match &event {
                Event::Received { message: Inbound::Executor(message), .. }
                    if dice.roll(8) > 0 && bench.driver.view().master.is_some() =>
                {
                    bench.announcement(message).map(master_says)
                }
                _ => None,
            };
            let effects: Vec<Effect> =
                announced.into_iter().chain([event]).flat_map(|event| bench.apply(event)).collect();
            for effect in effects {
                ledger.record(&effect);
                if let Effect::Send { peer, message: Outbound::Executor(message) } = effect
                    && let DriverToExecutor::LaunchTask { attempt, .. } = message
                {
                    dice.launched.push((peer, attempt));
                }
            }
        }
        ended += ledger.ended;
        retried += ledger.retried;
        done += ledger.done;
        silent += ledger.silent;
    }
    assert!(
        ended > 1000 && retried > 1000 && done > 5 && silent > 5,
        "{ended} ended, {retried} retried, {done} done, {silent} silent"
    );
}
