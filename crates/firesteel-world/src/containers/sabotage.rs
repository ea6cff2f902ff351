//! Deliberate bugs: they change the events and effects of an allocator.

use firesteel_application_master::allocator::{Effect, Event, Location, Note};
use firesteel_placement::advanced::locality::Locality;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerSabotage {
    /// The allocator gives no container back.
    DropRelease,
    /// The allocator never lowers a request to zero.
    DropZero,
    /// The allocator requests one container too many.
    AskForMore,
    /// The allocator launches two executors in one container.
    DoubleLaunch,
    WrongHost,
    ForgetGranted,
    DropEnded,
    /// The allocator reports an executor's end twice.
    DoubleEnded,
    DropAnswer,
    /// The allocator does not tell the manager which hosts are no longer excluded.
    DropInclude,
    /// The allocator ignores hosts when it matches a container with a request.
    BlindToHosts,
    /// The allocator ignores racks when it matches a container with a request.
    BlindToRacks,
}

impl ContainerSabotage {
    pub const ALL: [Self; 12] = [
        Self::DropRelease,
        Self::DropZero,
        Self::AskForMore,
        Self::DoubleLaunch,
        Self::WrongHost,
        Self::ForgetGranted,
        Self::DropEnded,
        Self::DoubleEnded,
        Self::DropAnswer,
        Self::DropInclude,
        Self::BlindToHosts,
        Self::BlindToRacks,
    ];
}

/// Applies a bug to the events and effects of the allocator.
#[derive(Clone, Debug)]
pub(super) struct Saboteur {
    sabotage: ContainerSabotage,
}

impl Saboteur {
    pub(super) fn new(sabotage: ContainerSabotage) -> Self {
        Self { sabotage }
    }

    pub(super) fn event(&self, event: &mut Event) {
        let Event::Allocated(allocated) = event else { return };
        if self.sabotage == ContainerSabotage::ForgetGranted {
            allocated.granted.pop();
        }
    }

    pub(super) fn effects(&self, effects: &mut Vec<Effect>) {
        for effect in effects.iter_mut() {
            match (self.sabotage, effect) {
                (ContainerSabotage::DropRelease, Effect::Allocate(call)) => call.release.clear(),
                (ContainerSabotage::DropZero, Effect::Allocate(call)) => {
                    call.asks.retain(|ask| ask.containers > 0);
                }
                (ContainerSabotage::AskForMore, Effect::Allocate(call)) => {
                    let any = call.asks.iter_mut().filter(|ask| ask.location == Location::Any);
                    any.for_each(|ask| ask.containers += 1);
                }
                (ContainerSabotage::DropInclude, Effect::Allocate(call)) => call.include.clear(),
                (ContainerSabotage::BlindToHosts, Effect::Note(Note::Matched { level, .. })) => {
                    *level = (*level).max(Locality::Rack);
                }
                (ContainerSabotage::BlindToRacks, Effect::Note(Note::Matched { level, .. }))
                    if *level == Locality::Rack =>
                {
                    *level = Locality::Any;
                }
                (ContainerSabotage::WrongHost, Effect::Launch(launch)) => launch.host = "elsewhere".into(),
                _ => {}
            }
        }
        let is_ended = |effect: &Effect| matches!(effect, Effect::ExecutorEnded { .. });
        match self.sabotage {
            ContainerSabotage::DoubleLaunch => {
                let again = effects.iter().find(|effect| matches!(effect, Effect::Launch(_))).cloned();
                effects.extend(again);
            }
            ContainerSabotage::DropEnded => effects.retain(|effect| !is_ended(effect)),
            ContainerSabotage::DoubleEnded => {
                let again = effects.iter().find(|effect| is_ended(effect)).cloned();
                effects.extend(again);
            }
            ContainerSabotage::DropAnswer => {
                effects.retain(|effect| !matches!(effect, Effect::AnswerLoss { .. }));
            }
            _ => {}
        }
    }
}
