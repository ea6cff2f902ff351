//! The part of the Master's daemon around its state machine: stores records, sends messages and writes the log.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use firesteel_host::journal::{Batch, JournalError, Writer};
use firesteel_host::owner::{self, Commit, Context, Shell};
use firesteel_host::signals::EndRequest;
use firesteel_master::{Effect, Event, Master, Note, Outbound, Record};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::PeerId;

use super::audit_log;
use crate::master_journal;

/// Performs a Master's effects: it stores records, sends messages and writes the log.
pub(super) struct MasterShell {
    /// The Master's journal. `None` if the Master keeps no state. A commit in progress holds the lock.
    journal: Option<Arc<Mutex<Writer>>>,
    batch: Batch,
    /// Whether the batch has records that must be durable before anyone is informed of them.
    is_due: bool,
    /// The time of the last check that the journal is still in its place.
    looked: Instant,
}

/// The interval at which an active Master that writes nothing checks that its journal is still in its place.
const LOOK: Duration = Duration::from_secs(1);

pub(super) enum End {
    Asked(EndRequest),
    /// The Master can no longer keep its state.
    NotDurable(JournalError),
    /// The Master's lease has ended, so another Master may lead.
    Deposed,
}

impl MasterShell {
    pub(super) fn new(journal: Option<Writer>) -> Self {
        let journal = journal.map(|journal| Arc::new(Mutex::new(journal)));
        Self { journal, batch: Batch::default(), is_due: false, looked: Instant::now() }
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

    /// Writes on a thread that may wait for the disk. If nothing else waits and the disk is quick, this thread writes,
    /// because waking two threads would take longer.
    fn commit(&mut self, master: &Master, is_quiet: bool) -> Option<Commit<End>> {
        let is_due = std::mem::take(&mut self.is_due) || self.batch.is_full();
        let looks = is_due || self.looked.elapsed() >= LOOK;
        let journal = Arc::clone(self.journal.as_ref().filter(|_| looks)?);
        let (image, is_quick) = {
            let journal = locked(&journal);
            self.looked = Instant::now();
            let is_in_place = journal.is_in_place();
            if !is_in_place {
                tracing::warn!(
                    "the state in {} was removed or replaced while this Master runs: writing it there anew",
                    master.config().state_place
                );
            }
            let wants_image = !is_in_place || is_due && journal.wants_image();
            (wants_image.then(|| master_journal::image(master)), journal.is_quick())
        };
        if !is_due && image.is_none() {
            return None;
        }
        let batch = std::mem::take(&mut self.batch);
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
        // Records that may wait for a next commit go into the last one.
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
