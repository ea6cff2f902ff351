//! `map`: a map run, whose tasks are the latest ones of the driver.

use firesteel_protocol::ids::{ProfileId, TaskId};

use crate::driver::{ExecutorView, ExecutorViewState, View};
use crate::session::wait::{Inquiry, Interrupts, Wait};
use crate::session::{Complaint, Effect, Ending, Map, MapEnd, MapStart, Message, Position, Reader, Session};

impl Session {
    pub(super) fn open_items(&mut self, map: Map) {
        if self.needs(map.profile, map.cores).is_none() {
            return self.fail(1, Complaint::NoProfile(map.profile));
        }
        self.effects.push(Effect::OpenItems(map.items.clone()));
        self.wait(Wait::Items(Box::new(map)));
    }

    /// The run hears of executors from now on, so it misses none between the driver's tables and its reports. It counts
    /// each executor once, even if it hears of it several times.
    pub(in crate::session) fn on_items_opened(&mut self) {
        match self.take_wait() {
            Some(Wait::Items(map)) => self.look(Inquiry::Map(map)),
            other => self.put_back(other),
        }
    }

    pub(in crate::session) fn on_items_failed(&mut self, error: String) {
        match self.take_wait() {
            Some(Wait::Items(_)) => self.fail(2, Complaint::ItemsFailed { error }),
            other => self.put_back(other),
        }
    }

    pub(super) fn start_map(&mut self, map: Map, view: &View) {
        let Map { profile, cores, command, items: _, order } = map;
        let Some(needs) = self.needs(profile, cores) else {
            return self.fail(1, Complaint::NoProfile(profile));
        };
        let here = view.executors.iter().filter(|executor| is_here(executor, profile));
        let executors = here.map(|executor| (executor.id, executor.host.clone(), executor.cores)).collect();
        let (command, directory) = (self.command(command), self.defaults.directory.clone());
        let first = self.next;
        let start = MapStart { first, executors, needs, command, directory, order };
        self.effects.push(Effect::StartMap(Box::new(start)));
        self.wait(Wait::Map { first, interrupts: Interrupts::None });
    }

    pub(in crate::session) fn on_map_failed(&mut self, error: String) {
        match self.take_wait() {
            Some(Wait::Map { .. }) => self.fail(1, Complaint::MapFailed { error }),
            other => self.put_back(other),
        }
    }

    pub(in crate::session) fn on_map_ended(&mut self, end: MapEnd) {
        let (first, interrupts) = match self.take_wait() {
            Some(Wait::Map { first, interrupts }) => (first, interrupts),
            other => return self.put_back(other),
        };
        let MapEnd { items, failed, code, reader } = end;
        self.next = TaskId(first.0.saturating_add(items));
        self.effects.push(Effect::Unmute);
        match interrupts {
            Interrupts::None => {}
            Interrupts::Some => self.effects.push(Effect::ShowInterrupt),
        }
        self.effects.extend([Effect::EndLine, Effect::Say(Message::MapSummary { failed })]);
        match reader {
            Reader::Gone => return self.end(Ending::ReaderGone),
            Reader::Reads => {}
        }
        if code != 0 && *self.agenda.position() != Position::Typed {
            self.complain(Complaint::MapCode(code));
        }
        self.finish_unless_interrupted(code);
    }
}

/// Whether a registered executor of this profile was not asked to end.
fn is_here(executor: &ExecutorView, profile: ProfileId) -> bool {
    let takes_tasks = match executor.state {
        ExecutorViewState::Offering | ExecutorViewState::Excluded => true,
        ExecutorViewState::Announced | ExecutorViewState::Leaving | ExecutorViewState::Disconnected => false,
    };
    takes_tasks && executor.profile == profile
}
