//! The part of the daemon that performs the effects of an ApplicationMaster's state machine.

use std::ops::ControlFlow;

use firesteel_application_master::{ApplicationMaster, Effect, Event, Exit, Outbound};
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::{Mentions, Timestamp};

use super::launches::Launches;
use super::manager::{Manager, ManagerRequest};
use super::program::Programs;
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::EndRequest;

/// The part of the daemon around an ApplicationMaster's state machine.
pub(super) struct ApplicationMasterShell {
    manager: Manager,
    launches: Launches,
    programs: Programs,
}

impl ApplicationMasterShell {
    pub(super) fn new(manager: Manager, launches: Launches, programs: Programs) -> Self {
        Self { manager, launches, programs }
    }
}

impl Shell for ApplicationMasterShell {
    type Machine = ApplicationMaster;
    type End = Exit;

    fn deadline(_: Timestamp) -> Event {
        Event::Deadline
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<Exit> {
        match effect {
            Effect::Register => self.manager.send(ManagerRequest::Register),
            Effect::Allocate(call) => self.manager.send(ManagerRequest::Allocate(call)),
            Effect::Launch(launch) => self.launches.start(launch, context.inbox()),
            Effect::StartProgram => self.programs.start(context.inbox()),
            Effect::EndProgram => self.programs.stop(),
            Effect::Send { peer, message: Outbound::Driver(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Unregister { status, message } => {
                self.manager.send(ManagerRequest::Unregister { status, message });
            }
            Effect::Exit(exit) => return ControlFlow::Break(exit),
            Effect::Note(note) => owner::note(note.level(), Mentions::NONE, &note),
        }
        ControlFlow::Continue(())
    }

    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<Exit, Event> {
        ControlFlow::Continue(Event::Shutdown)
    }
}
