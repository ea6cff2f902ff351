//! The shell of a Master: it keeps records, sends messages and writes the log.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};

use firesteel_core::Timestamp;
use firesteel_core::ids::PeerId;
use firesteel_core::master::{Effect, Event, Master, Note, Outbound, Record};
use firesteel_host::journal::{Batch, JournalError, Writer};
use firesteel_host::owner::{self, Commit, Context, Shell};
use firesteel_host::signals::EndRequest;

use super::audit_log;
use crate::master_journal;

/// Performs a Master's effects: it keeps records, sends messages and writes the log.
pub(super) struct MasterShell {
    /// `None` if the Master is to forget. A commit under way has it locked.
    journal: Option<Arc<Mutex<Writer>>>,
    /// What the next commit makes durable.
    batch: Batch,
    /// Whether that has something that must be durable before anybody hears of it.
    is_due: bool,
}

/// How a Master ends.
pub(super) enum End {
    Asked(EndRequest),
    /// It can no longer keep its state.
    NotDurable(JournalError),
    /// Its tenure is over: another Master may lead.
    Deposed,
}

impl MasterShell {
    pub(super) fn new(journal: Option<Writer>) -> Self {
        let journal = journal.map(|journal| Arc::new(Mutex::new(journal)));
        Self { journal, batch: Batch::default(), is_due: false }
    }
}

impl Shell for MasterShell {
    type Machine = Master;
    type End = End;

    fn deadline(heard_until: Timestamp) -> Event {
        Event::Deadline { heard_until }
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<End> {
        match effect {
            Effect::Persist(records) => {
                if self.journal.is_some() {
                    Record::append_all(&records, self.batch.end());
                    self.is_due |= !Record::may_wait(&records);
                }
            }
            Effect::Send { peer, message: Outbound::Worker(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Driver(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Note(Note::Audited(audit)) => {
                audit_log::write(&audit, context.peers.info(audit.peer));
            }
            Effect::Note(note) => owner::note(note.level(), note.mentions(), &note),
        }
        ControlFlow::Continue(())
    }

    /// Writes on a thread that may wait for the disk. If nothing else is to be done and the disk is quick, writes here: to wake
    /// that thread, and then this one, would take longer.
    fn commit(&mut self, master: &Master, is_quiet: bool) -> Option<Commit<End>> {
        let is_due = std::mem::take(&mut self.is_due) || self.batch.is_full();
        let journal = Arc::clone(self.journal.as_ref().filter(|_| is_due)?);
        let batch = std::mem::take(&mut self.batch);
        let (image, is_quick) = {
            let journal = locked(&journal);
            (journal.wants_image().then(|| master_journal::image(master)), journal.is_quick())
        };
        if is_quiet && is_quick && image.is_none() {
            return Some(Box::pin(std::future::ready(ended(locked(&journal).commit(batch)))));
        }
        let writing = tokio::task::spawn_blocking(move || {
            let mut journal = locked(&journal);
            journal.commit(batch)?;
            image.map_or(Ok(()), |image| journal.replace(&image))
        });
        Some(Box::pin(async { ended(writing.await.expect("a writer does not panic")) }))
    }

    fn asked_to_end(&mut self, request: EndRequest) -> ControlFlow<End, Event> {
        // What may wait for a next commit is in the last one.
        self.is_due |= !self.batch.is_empty();
        ControlFlow::Break(End::Asked(request))
    }
}

fn ended(committed: Result<(), JournalError>) -> ControlFlow<End> {
    match committed {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(End::NotDurable(error)),
    }
}

fn locked(journal: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    journal.lock().expect("a writer does not panic")
}
