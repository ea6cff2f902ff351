//! Deliberate bugs: they change the events and effects of an attempt.

use firesteel_application_master::{Config, Effect, Event, FinalStatus, Inbound, Outbound, Silence, Staging};
use firesteel_protocol::ids::{ExecutorId, PeerId};
use firesteel_protocol::messages::{ApplicationDescription, DriverToMaster, MasterToDriver, Relaunch};
use firesteel_protocol::process::Placeholder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptSabotage {
    /// The ApplicationMaster does not report new executors to its driver.
    DropAdded,
    /// The ApplicationMaster does not report ended executors to its driver.
    DropEnded,
    /// The ApplicationMaster reports an executor's end twice.
    DoubleEnded,
    /// A driver that reconnects is only told that it is registered, and nothing about its executors.
    DropStory,
    /// A later attempt starts numbering executors again.
    ReuseNumbers,
    WrongHost,
    /// The ApplicationMaster does not fill in an executor's command.
    ForgetWords,
    /// The ApplicationMaster does not check a requester's identity.
    TrustStrangers,
    ForgetTargets,
    ForgetKills,
    /// The ApplicationMaster replaces executors that ended for good.
    MissTurn,
    /// The ApplicationMaster never reports that no executor is left.
    DropGone,
    /// The ApplicationMaster reports immediately, and wrongly, that no executor is left.
    EarlyGone,
    /// The ApplicationMaster does not report the end of the application to its driver.
    DropRemoved,
    /// The ApplicationMaster calls the manager twice.
    DoubleCall,
    /// The ApplicationMaster does not report its end to the manager.
    DropUnregister,
    /// The ApplicationMaster reports its end to the manager twice.
    DoubleUnregister,
    /// The ApplicationMaster always reports success.
    WrongStatus,
    /// The ApplicationMaster treats the first attempt as the last.
    EarlyLast,
    WrongCode,
    /// The ApplicationMaster misinterprets the silence of the manager.
    WrongSilence,
    /// The ApplicationMaster removes files that a later attempt needs.
    EarlyCleaning,
    /// The ApplicationMaster never removes the staged files.
    DropCleaning,
    /// The ApplicationMaster does not end its program.
    DropEndProgram,
}

impl AttemptSabotage {
    pub const ALL: [Self; 24] = [
        Self::DropAdded,
        Self::DropEnded,
        Self::DoubleEnded,
        Self::DropStory,
        Self::ReuseNumbers,
        Self::WrongHost,
        Self::ForgetWords,
        Self::TrustStrangers,
        Self::ForgetTargets,
        Self::ForgetKills,
        Self::MissTurn,
        Self::DropGone,
        Self::EarlyGone,
        Self::DropRemoved,
        Self::DoubleCall,
        Self::DropUnregister,
        Self::DoubleUnregister,
        Self::WrongStatus,
        Self::EarlyLast,
        Self::WrongCode,
        Self::WrongSilence,
        Self::EarlyCleaning,
        Self::DropCleaning,
        Self::DropEndProgram,
    ];

    /// Changes the configuration of an attempt.
    pub(super) fn config(self, config: &mut Config) {
        match self {
            Self::EarlyLast => config.most_attempts = 1,
            Self::WrongSilence => {
                config.silence = match config.silence {
                    Silence::Success => Silence::Failure,
                    Silence::Failure => Silence::Success,
                }
            }
            _ => {}
        }
    }

    /// Changes an event for an attempt whose driver is on this connection.
    pub(super) fn event(self, driver: Option<PeerId>, event: &mut Event) {
        let Event::Received { peer, message: Inbound::Driver(message) } = event else { return };
        if let Some(description) = message.application_mut() {
            self.bend_application(description);
        }
        match (self, message) {
            (Self::TrustStrangers, DriverToMaster::KillExecutors { .. }) => *peer = driver.unwrap_or(*peer),
            (Self::ForgetTargets, DriverToMaster::RequestExecutors { targets, .. }) => targets.clear(),
            (Self::ForgetKills, DriverToMaster::KillExecutors { executors, .. }) => executors.clear(),
            _ => {}
        }
    }

    fn bend_application(self, description: &mut ApplicationDescription) {
        match self {
            Self::ReuseNumbers => description.first_executor = ExecutorId(0),
            Self::MissTurn => description.relaunch = Relaunch::WhenEnded,
            Self::ForgetWords => {
                let word = Placeholder::ExecutorId.word();
                let command = description.command.program_mut().expect("executors are programs here");
                command.arguments.push(format!("--id={word}"));
            }
            _ => {}
        }
    }

    pub(super) fn effects(self, event: &Event, effects: &mut Vec<Effect>) {
        for effect in effects.iter_mut() {
            match (self, effect) {
                (
                    Self::WrongHost,
                    Effect::Send {
                        message: Outbound::Driver(MasterToDriver::ExecutorAdded { host, .. }),
                        ..
                    },
                ) => *host = "elsewhere".to_owned(),
                (Self::WrongStatus, Effect::Unregister { status, .. }) => *status = FinalStatus::Succeeded,
                (Self::WrongCode, Effect::Exit(exit)) => exit.code += 1,
                (Self::EarlyCleaning, Effect::Exit(exit)) => exit.staging = Staging::Unneeded,
                (Self::DropCleaning, Effect::Exit(exit)) => exit.staging = Staging::Needed,
                _ => {}
            }
        }
        let returned = match event {
            Event::Received { message: Inbound::Driver(message), .. } => message.application().is_some(),
            _ => false,
        };
        match self {
            Self::DropAdded => effects.retain(|effect| told(effect) != Some(Notice::Added)),
            Self::DropEnded => effects.retain(|effect| told(effect) != Some(Notice::Ended)),
            Self::DropStory if returned => {
                effects.retain(|effect| !matches!(told(effect), Some(Notice::Added | Notice::Ended)))
            }
            Self::DropGone => effects.retain(|effect| told(effect) != Some(Notice::Gone)),
            Self::DropRemoved => effects.retain(|effect| told(effect) != Some(Notice::Removed)),
            Self::DoubleEnded => repeat(effects, |effect| told(effect) == Some(Notice::Ended)),
            Self::DoubleCall => repeat(effects, |effect| matches!(effect, Effect::Allocate(_))),
            Self::DoubleUnregister => repeat(effects, |effect| matches!(effect, Effect::Unregister { .. })),
            Self::DropUnregister => {
                effects.retain(|effect| !matches!(effect, Effect::Unregister { .. }));
            }
            Self::DropEndProgram => effects.retain(|effect| !matches!(effect, Effect::EndProgram)),
            Self::EarlyGone => {
                if let Event::Received { peer, message: Inbound::Driver(message) } = event
                    && let DriverToMaster::UnregisterApplication { app, .. } = message
                {
                    let gone = MasterToDriver::ExecutorsGone { app: app.clone() };
                    effects.insert(0, Effect::Send { peer: *peer, message: Outbound::Driver(gone) });
                }
            }
            _ => {}
        }
    }
}

fn repeat(effects: &mut Vec<Effect>, which: impl Fn(&Effect) -> bool) {
    let again = effects.iter().position(which);
    if let Some(index) = again {
        effects.insert(index, effects[index].clone());
    }
}

/// A notice to a driver, in the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notice {
    Added,
    Ended,
    Gone,
    Removed,
}

fn told(effect: &Effect) -> Option<Notice> {
    let Effect::Send { message: Outbound::Driver(message), .. } = effect else { return None };
    match message {
        MasterToDriver::ExecutorAdded { .. } => Some(Notice::Added),
        MasterToDriver::ExecutorUpdated { state, .. } if state.is_finished() => Some(Notice::Ended),
        MasterToDriver::ExecutorsGone { .. } => Some(Notice::Gone),
        MasterToDriver::ApplicationRemoved(_) => Some(Notice::Removed),
        _ => None,
    }
}
