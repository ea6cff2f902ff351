//! Deliberate bugs: they change what is said of a Master's state.

use firesteel_master::{Effect, Outbound};
use firesteel_protocol::messages::{MasterToDriver, MasterToWorker};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateSabotage {
    /// Workers and drivers remember no marks.
    ForgetMarks,
    /// Every run of a Master has the same number.
    SameRun,
    /// Workers show only marks of the Master's own state, so none of them is of another cluster.
    HideOtherStates,
    /// Workers show no marks of the Master's own state.
    HideOwnState,
}

impl StateSabotage {
    pub const ALL: [Self; 4] = [Self::ForgetMarks, Self::SameRun, Self::HideOtherStates, Self::HideOwnState];

    pub(super) fn effect(self, effect: Effect) -> Effect {
        let mut effect = effect;
        if self != Self::ForgetMarks {
            return effect;
        }
        match &mut effect {
            Effect::Send { message: Outbound::Worker(message), .. } => match message {
                MasterToWorker::RegisteredWorker { mark, .. } => *mark = None,
                MasterToWorker::LaunchExecutor(launch) => launch.mark = None,
                _ => {}
            },
            Effect::Send {
                message: Outbound::Driver(MasterToDriver::RegisteredApplication { mark, .. }),
                ..
            } => *mark = None,
            _ => {}
        }
        effect
    }
}
