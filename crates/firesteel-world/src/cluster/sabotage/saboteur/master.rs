//! Bugs in the effects of the Master.

use firesteel_master as master;
use firesteel_placement::advanced::resources::without_kind;
use firesteel_placement::{Part, Resources};
use firesteel_protocol::Kind;
use firesteel_protocol::messages::{
    ApplicationEnd, ExecutorState, KillAnswer, MasterToClient, MasterToDriver, MasterToWorker,
};
use firesteel_protocol::process::ExitStatus;

use super::{Fate, Saboteur, before};
use crate::cluster::laws::ledger::Ledger;
use crate::cluster::sabotage::Sabotage;

impl Saboteur {
    /// Changes effects of the Master without dropping them.
    pub(super) fn bend_master(&self, effects: &mut [master::Effect], ledger: &Ledger) {
        let stranger =
            |peer| ledger.apps().filter_map(|app| ledger.peer_of_app(app)).find(|other| *other != peer);
        for effect in effects {
            let master::Effect::Send { peer, message } = effect else { continue };
            match (self.sabotage, message) {
                (
                    Sabotage::ReuseExecutorId,
                    master::Outbound::Worker(MasterToWorker::LaunchExecutor(launch)),
                ) => launch.executor.executor = before(launch.executor.executor),
                (
                    Sabotage::OneCoreTooMany,
                    master::Outbound::Worker(MasterToWorker::LaunchExecutor(launch)),
                ) => launch.cores.0 += 1,
                (
                    Sabotage::WholeForPart
                    | Sabotage::GrowPart
                    | Sabotage::FirstAddress
                    | Sabotage::ForgetKind,
                    master::Outbound::Worker(MasterToWorker::LaunchExecutor(launch)),
                ) => self.bend_share(&mut launch.resources),
                (
                    Sabotage::ForgetDriverAddresses,
                    master::Outbound::Worker(MasterToWorker::LaunchDriver(launch)),
                ) => launch.resources = Resources::default(),
                (Sabotage::WrongDriver, master::Outbound::Driver(MasterToDriver::ExecutorUpdated { .. }))
                | (Sabotage::LaunchOnTheDead, master::Outbound::Worker(MasterToWorker::LaunchExecutor(_))) => {
                    if let Some(other) = stranger(*peer) {
                        *peer = other;
                    }
                }
                (
                    Sabotage::LateKillForgetsOutcome,
                    master::Outbound::Client(MasterToClient::KillApplicationResponse(KillAnswer::Over {
                        outcome,
                        ..
                    })),
                ) => *outcome = None,
                (Sabotage::SkipRow, master::Outbound::Client(MasterToClient::MasterStateResponse(page))) => {
                    drop(page.rows.pop())
                }
                _ => {}
            }
        }
    }

    /// Changes the addresses of an executor.
    fn bend_share(&self, resources: &mut Resources) {
        let bent = resources.parts().map(|(name, address, part)| {
            let (mut name, mut address, mut part) = (name.to_owned(), address.to_owned(), part.thousandths());
            match self.sabotage {
                Sabotage::WholeForPart => part = 1000,
                Sabotage::GrowPart if part < 1000 => part = (part * 2).min(999),
                Sabotage::FirstAddress if part < 1000 => address = "0".to_owned(),
                Sabotage::ForgetKind => name = without_kind(&name).to_owned(),
                _ => {}
            }
            let word = Part::of(part).map_or(address.clone(), |part| format!("{address}@{part}"));
            (name, [word])
        });
        let bent: Vec<_> = bent.collect();
        *resources = Resources::of_words(bent).unwrap_or_default();
    }

    /// Drops the request to leave to a Worker that registers.
    pub(super) fn ask_once(&self, effects: &mut Vec<master::Effect>) {
        let told = |effect: &master::Effect| match effect {
            master::Effect::Send { message: master::Outbound::Worker(message), .. } => Some(message.kind()),
            _ => None,
        };
        if self.sabotage == Sabotage::AskOnce
            && effects.iter().any(|effect| told(effect) == Some("RegisteredWorker"))
        {
            effects.retain(|effect| told(effect) != Some("DecommissionWorker"));
        }
    }

    /// Drops orders to launch executors that are in the books already.
    pub(super) fn forget_order(&self, effects: &mut Vec<master::Effect>, ledger: &Ledger) {
        let is_repeated = |effect: &master::Effect| {
            matches!(effect, master::Effect::Send {
                message: master::Outbound::Worker(MasterToWorker::LaunchExecutor(launch)), ..
            } if ledger.holds(&launch.executor))
        };
        if self.is(Sabotage::DropLostOrder) {
            effects.retain(|effect| !is_repeated(effect));
        }
    }

    pub(super) fn hurry_master(&self, effects: &mut Vec<master::Effect>, ledger: &Ledger) {
        let failing = effects.iter().find_map(|effect| match effect {
            master::Effect::Note(master::Note::RelaunchDelayed { app, failures, .. }) => {
                Some((ledger.peer_of_app(app)?, *failures))
            }
            _ => None,
        });
        if let (Sabotage::HastyEnd, Some((peer, failures))) = (self.sabotage, failing) {
            let last = ExecutorState::Exited(ExitStatus::Code(1));
            let end = ApplicationEnd::ExecutorsFailed { failures, last };
            let message = master::Outbound::Driver(MasterToDriver::ApplicationRemoved(end));
            effects.push(master::Effect::Send { peer, message });
        }
        let ended = effects.iter().find_map(|effect| match effect {
            master::Effect::Note(master::Note::ApplicationRemoved { app, .. }) => Some(app.clone()),
            _ => None,
        });
        if let (Sabotage::EarlyExecutorsGone, Some(app)) = (self.sabotage, ended)
            && let Some(peer) = ledger.peer_of_app(&app)
        {
            let message = master::Outbound::Driver(MasterToDriver::ExecutorsGone { app });
            effects.push(master::Effect::Send { peer, message });
        }
    }

    pub(super) fn of_master(&self, effect: &master::Effect) -> Fate {
        if self.is(Sabotage::SkipPersist) && matches!(effect, master::Effect::Persist(_)) {
            return Fate::Dropped;
        }
        let master::Effect::Send { message, .. } = effect else { return Fate::Stays };
        match (self.sabotage, message) {
            (Sabotage::DoubleLaunch, master::Outbound::Worker(MasterToWorker::LaunchExecutor(_))) => {
                Fate::Doubled
            }
            (Sabotage::DropKillExecutor, master::Outbound::Worker(MasterToWorker::KillExecutor { .. }))
            | (Sabotage::DropKillDriver, master::Outbound::Worker(MasterToWorker::KillDriver { .. }))
            | (
                Sabotage::DropKilled,
                master::Outbound::Driver(MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed {
                    ..
                })),
            )
            | (Sabotage::DropExecutorsGone, master::Outbound::Driver(MasterToDriver::ExecutorsGone { .. }))
            | (Sabotage::DropExecutorAdded, master::Outbound::Driver(MasterToDriver::ExecutorAdded { .. }))
            | (
                Sabotage::DropRegisteredWorker,
                master::Outbound::Worker(MasterToWorker::RegisteredWorker { .. }),
            ) => Fate::Dropped,
            _ => Fate::Stays,
        }
    }
}
