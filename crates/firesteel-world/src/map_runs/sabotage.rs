//! Deliberate bugs: they change the events and effects of a map run.

use firesteel_engine::map::{Effect, Event};
use firesteel_protocol::messages::Outcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapSabotage {
    /// The run reads another item while it waits for one.
    ReadTwice,
    DropRead,
    SubmitTwice,
    DropSubmit,
    /// The run does not end the application when all items are done.
    DropFinish,
    /// The run always reports success.
    ClaimSuccess,
    /// The run does not end the application, or its tasks.
    DropCancel,
    DropPrint,
    PrintTwice,
    /// The run does not mark items that are done.
    DropMark,
    /// The run marks items as done before they are printed.
    MarkUnprinted,
    MissTaskEnd,
    /// The run does not record the remaining items.
    DropRest,
    /// The run finishes without recording the remaining items.
    FinishEarly,
    FinishTwice,
}

impl MapSabotage {
    pub const ALL: [Self; 15] = [
        Self::ReadTwice,
        Self::DropRead,
        Self::SubmitTwice,
        Self::DropSubmit,
        Self::DropFinish,
        Self::ClaimSuccess,
        Self::DropCancel,
        Self::DropPrint,
        Self::PrintTwice,
        Self::DropMark,
        Self::MarkUnprinted,
        Self::MissTaskEnd,
        Self::DropRest,
        Self::FinishEarly,
        Self::FinishTwice,
    ];

    pub(super) fn misses(self, event: &Event) -> bool {
        self == Self::MissTaskEnd && matches!(event, Event::TaskEnded { .. })
    }

    pub(super) fn effects(self, effects: &mut Vec<Effect>) {
        let mut tampered = Vec::new();
        for effect in effects.drain(..) {
            let is_it = match (self, &effect) {
                (Self::ReadTwice | Self::DropRead, Effect::ReadItem)
                | (Self::SubmitTwice | Self::DropSubmit, Effect::Submit { .. })
                | (Self::DropFinish, Effect::FinishApplication { .. })
                | (Self::ClaimSuccess, Effect::FinishApplication { .. } | Effect::CancelApplication { .. })
                | (Self::DropCancel, Effect::CancelApplication { .. } | Effect::CancelTasks { .. })
                | (Self::DropPrint | Self::PrintTwice | Self::MarkUnprinted, Effect::Print { .. })
                | (Self::DropMark, Effect::MarkDone { .. })
                | (Self::DropRest | Self::FinishEarly, Effect::LeaveRest)
                | (Self::FinishTwice, Effect::Finish) => true,
                (_, _) => false,
            };
            match (self, is_it) {
                (_, false) => tampered.push(effect),
                (Self::ReadTwice | Self::SubmitTwice | Self::PrintTwice | Self::FinishTwice, true) => {
                    tampered.extend([effect.clone(), effect]);
                }
                (Self::MarkUnprinted, true) => {
                    let Effect::Print { task, .. } = &effect else { unreachable!("it is one") };
                    tampered.extend([Effect::MarkDone { number: task.0 }, effect]);
                }
                (Self::ClaimSuccess, true) => tampered.push(claim_success(effect)),
                (Self::FinishEarly, true) => tampered.push(Effect::Finish),
                (_, true) => {}
            }
        }
        *effects = tampered;
    }
}

/// The same effect, but with a successful outcome.
fn claim_success(effect: Effect) -> Effect {
    let outcome = Outcome::Succeeded;
    match effect {
        Effect::CancelApplication { until, .. } => Effect::CancelApplication { outcome, until },
        _ => Effect::FinishApplication { outcome },
    }
}
