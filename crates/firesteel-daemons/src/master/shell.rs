//! The part of the Master's daemon around its state machine: stores records, sends messages and writes the log.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use firesteel_host::journal::{Batch, JournalError, Writer};
use firesteel_host::owner::{self, Commit, Committed, Context, Shell};
use firesteel_host::signals::EndRequest;
use firesteel_master::{Effect, Event, Master, Note, Outbound, Record};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::messages::{MasterToDriver, MasterToWorker};

use super::audit_log;
use super::logs::Logs;
use super::probe::{Probe, Probes};
use super::reach::Reach;
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
    reach: Arc<Reach>,
    /// The Worker whose registration the next message to it confirms.
    registering: Option<WorkerId>,
    probes: Probes,
    logs: Logs,
}

/// How long a driver is not heard after its application was refused. Honest drivers end then.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// The interval at which a Master that writes nothing checks that its journal is still in its place.
const LOOK: Duration = Duration::from_secs(1);

pub(super) enum End {
    Asked(EndRequest),
    /// The Master can no longer keep its state.
    NotDurable(JournalError),
    /// The Master's lease has ended, so another Master may lead.
    Deposed,
}

impl MasterShell {
    pub(super) fn new(journal: Option<Writer>, reach: Arc<Reach>) -> Self {
        let journal = journal.map(|journal| Arc::new(Mutex::new(journal)));
        let (batch, looked) = (Batch::default(), Instant::now());
        let (probes, logs) = (Probes::new(Arc::clone(&reach)), Logs::new(Arc::clone(&reach)));
        Self { journal, batch, is_due: false, looked, reach, registering: None, probes, logs }
    }

    /// Remembers from where Workers have connected, and asks no more after those that have returned or are lost.
    fn follow(&mut self, note: &Note) {
        if let Note::WorkerRegistered { worker, .. } | Note::WorkerReconnected { worker } = note {
            self.registering = Some(worker.clone());
        }
        if let Note::WorkerReconnected { worker } | Note::WorkerRemoved { worker, .. } = note {
            self.probes.end(worker);
        }
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
            Effect::Send { peer, message: Outbound::Worker(message) } => {
                if let MasterToWorker::RegisteredWorker { .. } = message
                    && let Some((worker, info)) = self.registering.take().zip(context.peers.info(peer))
                {
                    self.reach.worker_is_from(worker, info.remote.ip());
                }
                context.peers.send(peer, message);
            }
            Effect::Send { peer, message: Outbound::Driver(message) } => {
                if let MasterToDriver::ApplicationRemoved(end) = &message
                    && end.is_refusal()
                {
                    context.peers.pause(peer, AFTER_REFUSAL);
                }
                context.peers.send(peer, message);
            }
            Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Probe { worker, address, since, until } => {
                self.probes.begin(Probe { worker, address, since, until }, context.inbox());
            }
            Effect::ReadLog { peer, addresses, range } => {
                self.logs.read(peer, addresses, range, context.inbox());
            }
            Effect::Note(Note::Audited(audit)) => {
                audit_log::write(&audit, context.peers.info(audit.peer));
            }
            Effect::Note(note) => {
                self.follow(&note);
                owner::note(note.level(), note.mentions(), &note);
            }
        }
        ControlFlow::Continue(())
    }

    /// Writes on a thread that may wait for the disk. If nothing else waits and the disk is quick, this thread writes,
    /// because waking two threads would take longer.
    fn commit(&mut self, master: &Master, is_quiet: bool) -> Option<Commit<End>> {
        let is_due = std::mem::take(&mut self.is_due) || self.batch.is_full();
        let journal = Arc::clone(self.journal.as_ref()?);
        let (image, is_quick) = {
            let mut journal = locked(&journal);
            if is_due || self.looked.elapsed() >= LOOK {
                self.looked = Instant::now();
                // A commit looks after its sync.
                if !is_due {
                    journal.look();
                }
            }
            if journal.is_lost() {
                tracing::warn!(
                    "the state in {} was removed or replaced while this Master runs: writing it there anew",
                    master.config().state_place
                );
            }
            let wants_image = journal.is_lost() || is_due && journal.wants_image();
            (wants_image.then(|| master_journal::image(master)), journal.is_quick())
        };
        if !is_due && image.is_none() {
            return None;
        }
        let batch = std::mem::take(&mut self.batch);
        if is_quiet && is_quick && image.is_none() {
            return Some(Box::pin(std::future::ready(ended(write(&journal, batch, None)))));
        }
        let writing = tokio::task::spawn_blocking(move || write(&journal, batch, image.as_deref()));
        Some(Box::pin(async { ended(writing.await.expect("a writer does not panic")) }))
    }

    fn next_look(&self) -> Option<Instant> {
        self.journal.as_ref().map(|_| self.looked + LOOK)
    }

    fn asked_to_end(&mut self, request: EndRequest) -> ControlFlow<End, Event> {
        // Records that may wait for a next commit go into the last one.
        self.is_due |= !self.batch.is_empty();
        ControlFlow::Break(End::Asked(request))
    }
}

/// Writes a batch. If there is an image, it then replaces everything.
fn write(journal: &Mutex<Writer>, batch: Batch, image: Option<&[u8]>) -> Result<Committed, JournalError> {
    let mut journal = locked(journal);
    journal.commit(batch)?;
    if let Some(image) = image {
        journal.replace(image)?;
    }
    Ok(if journal.is_lost() { Committed::Lost } else { Committed::Durable })
}

fn ended(committed: Result<Committed, JournalError>) -> ControlFlow<End, Committed> {
    match committed {
        Ok(committed) => ControlFlow::Continue(committed),
        Err(error) => ControlFlow::Break(End::NotDurable(error)),
    }
}

fn locked(journal: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    journal.lock().expect("a writer does not panic")
}
