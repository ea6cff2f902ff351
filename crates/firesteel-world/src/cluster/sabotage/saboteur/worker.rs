//! Bugs in the effects of a Worker.

use firesteel_protocol::messages::{ExecutorReport, WorkerToClient, WorkerToMaster};
use firesteel_worker as worker;

use super::{Fate, Saboteur};
use crate::cluster::sabotage::Sabotage;

impl Saboteur {
    pub(super) fn bend_worker(&self, effects: &mut [worker::Effect]) {
        for effect in effects {
            match (self.sabotage, effect) {
                (Sabotage::ForgetWords, worker::Effect::StartExecutor(plan)) => {
                    let command = plan.command.program_mut().expect("executors are programs here");
                    "{{CORES}}".clone_into(&mut command.arguments[3]);
                }
                (
                    bug @ (Sabotage::LoseEnd | Sabotage::LoseRunning),
                    worker::Effect::Send {
                        message: worker::Outbound::Master(WorkerToMaster::RegisterWorker { executors, .. }),
                        ..
                    },
                ) => executors.retain(|report| report.state.is_finished() == (bug == Sabotage::LoseRunning)),
                (Sabotage::KeepNothing, worker::Effect::FindStale { keep, .. }) => keep.clear(),
                (
                    Sabotage::EndLog,
                    worker::Effect::Send {
                        message: worker::Outbound::Client(WorkerToClient::LogResponse(piece)),
                        ..
                    },
                ) => piece.is_over = true,
                _ => {}
            }
        }
    }

    pub(super) fn remove_the_living(&self, effects: &mut Vec<worker::Effect>) {
        let started = |effect: &worker::Effect| match effect {
            worker::Effect::StartExecutor(plan) => Some(plan.executor.clone()),
            _ => None,
        };
        let Some(executor) = effects.iter().find_map(started) else { return };
        match self.sabotage {
            Sabotage::RemoveTheLiving => effects.push(worker::Effect::RemoveDirectory { app: executor.app }),
            Sabotage::RemoveLivingExecutor => {
                effects.push(worker::Effect::RemoveExecutorDirectories { executors: vec![executor] });
            }
            _ => {}
        }
    }

    pub(super) fn of_worker(&self, effect: &worker::Effect) -> Fate {
        match (self.sabotage, effect) {
            (Sabotage::StartTwice, worker::Effect::StartExecutor(_))
            | (Sabotage::DoubleLaunchDriver, worker::Effect::StartDriver(_))
            | (Sabotage::FetchTwice, worker::Effect::FetchFiles { .. }) => Fate::Doubled,
            (Sabotage::DropSignal, worker::Effect::SignalExecutor { .. })
            | (Sabotage::DropDriver, worker::Effect::StartDriver(_))
            | (Sabotage::KeepFiles, worker::Effect::RemoveFiles { .. }) => Fate::Dropped,
            (_, worker::Effect::Send { message: worker::Outbound::Master(message), .. }) => {
                self.of_worker_message(message)
            }
            _ => Fate::Stays,
        }
    }

    pub(super) fn of_worker_message(&self, message: &WorkerToMaster) -> Fate {
        match (self.sabotage, message) {
            (Sabotage::RunningTwice, WorkerToMaster::ExecutorStateChanged(ExecutorReport { state, .. }))
                if !state.is_finished() =>
            {
                Fate::Doubled
            }
            (Sabotage::LoseEnd, WorkerToMaster::ExecutorStateChanged(ExecutorReport { state, .. }))
                if state.is_finished() =>
            {
                Fate::Dropped
            }
            (Sabotage::DropHeartbeat, WorkerToMaster::Heartbeat { .. }) => Fate::Dropped,
            _ => Fate::Stays,
        }
    }
}
