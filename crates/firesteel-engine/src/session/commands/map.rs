//! `map`: a map run, whose tasks have the latest numbers of the driver.

use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::TaskId;

use crate::driver::ExecutorViewState;
use crate::session::course::{Course, Failure, Outcome, fail, fail_with};
use crate::session::state::Wait;
use crate::session::{Complaint, Effect, Ending, Event, Map, MapEnd, MapStart, Message, Position, Reader};

impl Course {
    pub(super) async fn map(&self, map: Map) -> Outcome {
        let Map { profile, cores, command, items, order } = map;
        let needs = self.needs(profile, cores)?;
        self.push(Effect::OpenItems(items));
        let opened = self.unless_interrupted(Wait::Items, None, |event| match event {
            Event::ItemsOpened => Some(Ok(())),
            Event::ItemsFailed(error) => Some(fail_with(2, Complaint::ItemsFailed(error))),
            _ => None,
        });
        opened.await.inspect_err(|_| self.push(Effect::Forget))??;
        // The run receives reports on executors from now on, so it misses none between the driver's tables and its
        // reports. It counts each executor once, even if several reports name it.
        self.state().is_mapping = true;
        let view = self.look().await;
        let takes_tasks = |state| matches!(state, ExecutorViewState::Offering | ExecutorViewState::Excluded);
        let here = view.executors.into_iter().filter(|it| it.profile == profile && takes_tasks(it.state));
        let executors = here.map(|executor| (executor.id, executor.host, executor.cores)).collect();
        let first = self.state().next;
        let directory = self.state().defaults.directory.clone();
        let start = MapStart { first, executors, needs, command: self.command(command), directory, order };
        self.push(Effect::StartMap(Box::new(start)));
        let end = self.wait_for_map(first).await;
        self.state().is_mapping = false;
        let MapEnd { code, reader, .. } = end?;
        if reader == Reader::Gone {
            return self.end(Ending::ReaderGone).await;
        }
        match code != 0 && self.state().position != Position::Typed {
            true => fail_with(code, Complaint::MapCode(code)),
            false => Ok(code),
        }
    }

    /// Waits for the end of the map run. The first ctrl-c goes to the map run. After a second one, the outputs of ended
    /// items are not printed.
    async fn wait_for_map(&self, first: TaskId) -> Result<MapEnd, Failure> {
        let mut is_interrupted = false;
        let ended = self.until(Wait::Map(first), None, |state, event| match event {
            Event::MapEnded(end) => Some(Ok(end)),
            Event::MapFailed(error) => Some(fail(Complaint::MapFailed(error))),
            Event::EndRequested(EndRequest::Interrupt) => {
                match std::mem::replace(&mut is_interrupted, true) {
                    true => state.drop_outputs(),
                    false => state.effects.push(Effect::InterruptMap),
                }
                None
            }
            _ => None,
        });
        let end = ended.await?;
        let state = &mut *self.state();
        state.next = TaskId(first.0.saturating_add(end.items));
        state.effects.push(Effect::Unmute);
        state.effects.extend(is_interrupted.then_some(Effect::ShowInterrupt));
        state.effects.extend([Effect::EndLine, Effect::Say(Message::MapSummary(end.failed))]);
        Ok(end)
    }
}
