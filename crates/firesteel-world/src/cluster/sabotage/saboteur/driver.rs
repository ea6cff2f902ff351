//! Bugs in the effects of a driver.

use firesteel_engine::driver;
use firesteel_placement::Resources;
use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::{DriverToExecutor, DriverToMaster, Outcome};

use super::{Fate, Saboteur, before};
use crate::cluster::sabotage::Sabotage;

impl Saboteur {
    pub(super) fn bend_driver(&self, effects: &mut Vec<driver::Effect>) {
        let killed = |effect: &driver::Effect| match effect {
            driver::Effect::Send {
                message: driver::Outbound::Executor(DriverToExecutor::KillTask { attempt }),
                ..
            } => Some(attempt.task),
            _ => None,
        };
        if self.sabotage == Sabotage::EarlyCancelled
            && let Some(task) = effects.iter().find_map(killed)
        {
            effects.push(driver::Effect::TaskEnded { task, outcome: driver::TaskOutcome::Cancelled });
        }
        if self.sabotage == Sabotage::IgnoreSilence {
            effects.retain(|effect| !matches!(effect, driver::Effect::HandleArrived { .. }));
        }
        if self.sabotage == Sabotage::DropResent
            && effects
                .iter()
                .any(|effect| matches!(effect, driver::Effect::Note(driver::Note::ExecutorBack { .. })))
        {
            effects.retain(|effect| {
                !matches!(effect, driver::Effect::Send {
                message: driver::Outbound::Executor(message), ..
            } if message.counted().is_some())
            });
        }
        for effect in effects {
            if let (
                Sabotage::NeverAcknowledge,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::Heartbeat { received }),
                    ..
                },
            ) = (self.sabotage, &mut *effect)
            {
                *received = 0;
            }
            if let driver::Effect::Send {
                message: driver::Outbound::Executor(DriverToExecutor::LaunchTask { resources, .. }),
                ..
            } = effect
            {
                self.bend_addresses(resources);
            }
            let driver::Effect::Send { message: driver::Outbound::Master(message), .. } = effect else {
                continue;
            };
            match (self.sabotage, message) {
                (Sabotage::ClaimSuccess, DriverToMaster::UnregisterApplication { outcome, .. }) => {
                    *outcome = Some(Outcome::Succeeded);
                }
                (Sabotage::AskForMore, DriverToMaster::RequestExecutors { targets, .. }) => {
                    targets.iter_mut().for_each(|target| target.total = target.total.saturating_add(100));
                }
                (Sabotage::AskForNone, DriverToMaster::RequestExecutors { targets, .. }) => {
                    targets.iter_mut().for_each(|target| target.total = 0);
                }
                (Sabotage::KillNeighbours, DriverToMaster::KillExecutors { executors, .. }) => {
                    let neighbours = executors.iter().flat_map(|id| [before(*id), ExecutorId(id.0 + 1)]);
                    *executors = neighbours.collect();
                }
                _ => {}
            }
        }
    }

    pub(super) fn bend_addresses(&self, resources: &mut Resources) {
        match self.sabotage {
            Sabotage::DropAddresses => *resources = Resources::default(),
            Sabotage::SameAddress if resources.count("gpu") == 1 => {
                *resources = Resources::from_iter([("gpu", ["0"])]);
            }
            _ => {}
        }
    }

    pub(super) fn of_driver(&self, effect: &driver::Effect) -> Fate {
        match (self.sabotage, effect) {
            (
                Sabotage::ForgetUnregister,
                driver::Effect::Send {
                    message: driver::Outbound::Master(DriverToMaster::UnregisterApplication { .. }),
                    ..
                },
            )
            | (
                Sabotage::DropOutputCredit,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::OutputCredit { .. }),
                    ..
                },
            )
            | (
                Sabotage::DropKillTask,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::KillTask { .. }),
                    ..
                },
            )
            | (
                Sabotage::DropKills,
                driver::Effect::Send {
                    message: driver::Outbound::Master(DriverToMaster::KillExecutors { .. }),
                    ..
                },
            )
            | (
                Sabotage::DropDriverHeartbeat,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::Heartbeat { .. }),
                    ..
                },
            )
            | (Sabotage::DropAnswer, driver::Effect::Answer { .. })
            | (Sabotage::DropOutput, driver::Effect::Output { .. })
            | (Sabotage::DropTaskEnd, driver::Effect::TaskEnded { .. }) => Fate::Dropped,
            (
                Sabotage::DoubleLaunchTask,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::LaunchTask { .. }),
                    ..
                },
            )
            | (
                Sabotage::DoubleCredit,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::OutputCredit { .. }),
                    ..
                },
            )
            | (Sabotage::DoubleAnswer, driver::Effect::Answer { .. })
            | (Sabotage::DoubleOutput, driver::Effect::Output { .. })
            | (Sabotage::DoubleTaskEnd, driver::Effect::TaskEnded { .. }) => Fate::Doubled,
            _ => Fate::Stays,
        }
    }
}
