//! Coverage of runs: how often each event, effect and fault occurred.

use firesteel_application_master::{Effect, Event, FinalStatus, Inbound, Mode, Note, Outbound, Staging};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationEnd, ClientToMaster, DriverToMaster, ExecutorState, KillAnswer, LossReason,
    MasterToClient, MasterToDriver,
};

use super::plan::Ending;
use crate::cluster::laws::coverage::tallies;
use crate::cluster::{Row, Tally};

tallies! {
    /// How often each event, effect and fault of ApplicationMasters occurred.
    AttemptCoverage
    "world" mode: Mode,
    "world" ending: Ending,
    "event" event: Event,
    "effect" effect: Effect,
    "note" note: Note,
    "received" from_driver: DriverToMaster,
    "received" from_client: ClientToMaster,
    "sent" to_driver: MasterToDriver,
    "sent" to_client: MasterToClient,
    "to driver" state: ExecutorState,
    "to driver" lost: LossReason,
    "to driver" end: ApplicationEnd,
    "to client" answer: ApplicationAnswer,
    "to client" kill: KillAnswer,
    "to manager" told: FinalStatus,
    "exit" exit: FinalStatus,
    "exit" staging: Staging,
}

impl AttemptCoverage {
    pub(super) fn see_event(&mut self, event: &Event) {
        self.events += 1;
        self.event.count(event);
        match event {
            Event::Received { message: Inbound::Driver(message), .. } => self.from_driver.count(message),
            Event::Received { message: Inbound::Client(message), .. } => self.from_client.count(message),
            _ => {}
        }
    }

    pub(super) fn see_effect(&mut self, effect: &Effect) {
        self.effect.count(effect);
        match effect {
            Effect::Note(note) => self.note.count(note),
            Effect::Unregister { status, .. } => self.told.count(status),
            Effect::Exit(exit) => {
                self.exit.count(&exit.status);
                self.staging.count(&exit.staging);
            }
            Effect::Send { message: Outbound::Driver(message), .. } => {
                self.to_driver.count(message);
                match message {
                    MasterToDriver::ExecutorUpdated { state, .. } => {
                        self.state.count(state);
                        if let ExecutorState::Lost(reason) = state {
                            self.lost.count(reason);
                        }
                    }
                    MasterToDriver::ApplicationRemoved(end) => self.end.count(end),
                    _ => {}
                }
            }
            Effect::Send { message: Outbound::Client(message), .. } => {
                self.to_client.count(message);
                match message {
                    MasterToClient::ApplicationResponse(answer) => self.answer.count(answer),
                    MasterToClient::KillApplicationResponse(answer) => self.kill.count(answer),
                    MasterToClient::MasterStateResponse(_)
                    | MasterToClient::DecommissionWorkersResponse(_)
                    | MasterToClient::SubmitDriverResponse(_)
                    | MasterToClient::KillDriverResponse(_)
                    | MasterToClient::DriverStatusResponse(_)
                    | MasterToClient::KillAllDriversResponse { .. }
                    | MasterToClient::ClearCompletedResponse
                    | MasterToClient::RequestForbidden { .. }
                    | MasterToClient::HistoryResponse(_)
                    | MasterToClient::LogResponse(_)
                    | MasterToClient::RequestLogFailed { .. }
                    | MasterToClient::ReadyzResponse => {}
                }
            }
            Effect::Register
            | Effect::Allocate(_)
            | Effect::Launch(_)
            | Effect::StartProgram
            | Effect::EndProgram
            | Effect::Close { .. } => {}
        }
    }
}
