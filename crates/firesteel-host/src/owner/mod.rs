//! The owner loop: the one task that owns a state machine and feeds it events.
//!
//! # How a daemon is written
//!
//! 1. Make a [`Context`]: the daemon's connections, its clock, its inbox.
//! 2. Implement [`Shell`]: how each effect of the machine is performed. `perform` does not wait. Work that takes time
//!    runs in a task: give it [`Context::inbox`], and let it send an event when it is done.
//! 3. Accept peers with [`Peers::serve`], and pass everything to [`run`].
//!
//! ```text
//! struct WorkerShell { runners: Runners }
//!
//! impl Shell for WorkerShell {
//!     type Machine = Worker;
//!     type End = Exit;
//!
//!     fn deadline(_heard_until: Timestamp) -> Event { Event::Deadline }
//!     fn disconnected(peer: PeerId) -> Event { Event::Disconnected { peer } }
//!
//!     fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<Exit> {
//!         match effect {
//!             Effect::Connect { master } => {
//!                 let outcome = |result| match result {
//!                     Ok((peer, leadership)) => Event::Connected { peer, master, leadership },
//!                     Err(error) => Event::ConnectFailed { master, error: error.to_string() },
//!                 };
//!                 context.peers.dial(&master.clone(), Role::Master, from_master, outcome);
//!             }
//!             Effect::Send { peer, message: Outbound::Master(message) } => context.peers.send(peer, message),
//!             Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, message),
//!             Effect::Close { peer } => context.peers.close(peer),
//!             Effect::StartExecutor(plan) => self.runners.start(plan, context.inbox()),
//!             Effect::Note(note) => owner::note(note.level(), note.mentions(), &note),
//!             Effect::Exit(exit) => return ControlFlow::Break(exit),
//!         }
//!         ControlFlow::Continue(())
//!     }
//!
//!     fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<Exit, Event> {
//!         ControlFlow::Continue(Event::Shutdown)
//!     }
//! }
//!
//! fn from_master(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
//!     Ok(Event::Received { peer, message: Inbound::Master(wire::decode(body)?) })
//! }
//!
//! let mut context = Context::new(Role::Worker, id.as_str(), QueueLimits::default(), Clock::start());
//! context.peers.serve(listener, vec![AcceptedRole { role: Role::Client, decode: from_client }]);
//! context.raise(Event::Start);
//! let mut requests = EndRequests::install()?;
//! let exit = owner::run(Worker::new(config), WorkerShell { .. }, context, &mut requests).await;
//! ```
//!
//! The loop promises:
//!
//! - Events come one at a time.
//! - A question is not handled if the connection of its peer has ended meanwhile.
//! - Deadlines are kept while the inbox is full.
//! - Effects are performed one by one, in order. Their messages are handed over to the connections after each batch of
//!   waiting events, once for each connection.
//! - No message leaves the daemon before [`Shell::commit`] has made the durable changes before it durable. Events are
//!   handled meanwhile; their messages wait for the next commit.
//! - `Disconnected` comes exactly once for each connection that was reported to the machine, after all messages of the
//!   peer. After the machine closed a connection, only `Disconnected` still comes from it.
//! - A service manager that watches the daemon gets reports as long as the loop runs.
//! - When the machine is done, queued messages are sent within a bounded time.

mod invariants;

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use firesteel_protocol::fair_queue::Urgency;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::wire::Role;
use firesteel_protocol::{Kind, Machine, Mentions, NoteLevel, Timestamp};
use futures_util::future::BoxFuture;
use tokio::time::{sleep, sleep_until};
use tracing::field::display;

use crate::clock::Clock;
use crate::inbox::{Inbox, InboxReceiver, inbox};
use crate::lease::Lease;
use crate::net::{Introduction, Peers, QueueLimits};
use crate::service_manager::Watchdog;
use crate::signals::{EndRequest, EndRequests};
use invariants::Invariants;

/// The maximum number of events in one batch. The messages of a batch are handed over to the connections together.
const EVENTS: usize = 1024;

/// A batch of events ends when the events have sent this number of bytes, so that the gathered messages stay small. If
/// these messages wait for a commit, further events wait, too.
const BYTES: usize = 16 << 20;

/// [`Context::hear_nobody`] closes at most this number of connections at once, and then pauses. So it disconnects
/// 20,000 peers per second, which is about the rate at which a Master can register peers again.
const PARTING_AT_ONCE: usize = 100;
const PARTING_PAUSE: Duration = Duration::from_millis(5);

/// The part of a daemon around its machine: it performs the machine's effects.
pub trait Shell {
    type Machine: Machine;
    type End;

    /// The machine's event for a deadline that has come. Everything that arrived before `heard_until` has already been
    /// handled.
    fn deadline(heard_until: Timestamp) -> <Self::Machine as Machine>::Event;

    /// The machine's event for a connection that has ended.
    fn disconnected(peer: PeerId) -> <Self::Machine as Machine>::Event;

    /// Performs one effect, without waiting. `Break` ends the daemon at once and discards the remaining
    /// effects.
    fn perform(
        &mut self,
        effect: <Self::Machine as Machine>::Effect,
        context: &mut Context<<Self::Machine as Machine>::Event>,
    ) -> ControlFlow<Self::End>;

    /// Begins to make the changes since the last commit durable. The messages of these events leave the daemon when the
    /// commit is done. Returns `None` if nothing changed. No other commit begins before this one is done. If
    /// `is_quiet`, no event waits, so the commit may block the loop.
    fn commit(&mut self, _machine: &Self::Machine, _is_quiet: bool) -> Option<Commit<Self::End>> {
        None
    }

    /// The time at which [`commit`](Self::commit) wants to be called even if no event comes. `None`: after events only.
    fn next_look(&self) -> Option<Instant> {
        None
    }

    /// Whether this shell's own queue is full. Until [`drain`](Self::drain) has emptied part of it, the owner still
    /// handles events of the daemon's own tasks, deadlines and requests to end, but not the messages of peers.
    fn is_full(&self) -> bool {
        false
    }

    /// Waits until the queue is no longer full. The future may be dropped and called again.
    fn drain(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Handles a request to end. `Break` ends the daemon at once; `Continue` passes an event to the machine.
    fn asked_to_end(
        &mut self,
        request: EndRequest,
    ) -> ControlFlow<Self::End, <Self::Machine as Machine>::Event>;
}

/// A commit in progress. `Break` ends the daemon, and messages that wait for the commit are never sent.
pub type Commit<End> = BoxFuture<'static, ControlFlow<End, Committed>>;

/// What a commit has achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The changes are durable, and their messages leave the daemon.
    Durable,
    /// Somebody has removed the place where the changes were written. Their messages wait for another commit, which
    /// begins at once.
    Lost,
}

#[derive(Debug)]
pub struct Context<E> {
    pub peers: Peers<E>,
    clock: Clock,
    inbox: Inbox<E>,
    receiver: InboxReceiver<E>,
    raised: VecDeque<E>,
    invariants: Invariants,
}

impl<E: Send + 'static> Context<E> {
    /// Makes the context of a daemon. Peers receive `role` and `name`. `limits` apply to the queue of each peer.
    #[must_use]
    pub fn new(role: Role, name: &str, limits: QueueLimits, clock: Clock) -> Self {
        Self::introduced(Introduction::new(role, name), limits, clock)
    }

    /// Makes the context of a daemon with this introduction for its peers.
    #[must_use]
    pub fn introduced(ours: Introduction, limits: QueueLimits, clock: Clock) -> Self {
        Self::with_lease(ours, limits, clock, Lease::default())
    }

    /// Makes the context of a daemon with this introduction and this lease. The daemon may send only during the lease.
    /// When the lease ends, connections are closed at once, and the caller that runs the daemon drops it.
    #[must_use]
    pub fn with_lease(
        ours: impl Into<Introduction>,
        limits: QueueLimits,
        clock: Clock,
        lease: Lease,
    ) -> Self {
        let (inbox, receiver) = inbox(clock);
        let peers = Peers::new(ours, limits, inbox.clone(), lease);
        Self { peers, clock, inbox, receiver, raised: VecDeque::new(), invariants: Invariants::default() }
    }

    /// Serves peers without a machine: their messages are dropped, and the daemon sends none. When `over` returns, this
    /// stops accepting and disconnects the peers, drivers first, a few at a time. All peers then reconnect. Because
    /// they come a few at a time, the first ones need not wait for thousands of others.
    pub async fn hear_nobody(mut self, disconnected: fn(PeerId) -> E, over: impl Future<Output = ()>) {
        let mut over = std::pin::pin!(over);
        loop {
            tokio::select! {
                () = &mut over => break,
                entry = self.receiver.recv() => {
                    self.peers.admit(entry.expect("the context holds a sender"), disconnected);
                    self.peers.hand_over();
                }
            }
        }
        self.peers.accept_no_more();
        loop {
            while let Some(entry) = self.receiver.recv_now() {
                self.peers.admit(entry, disconnected);
            }
            let open = self.peers.open_ones();
            if open.is_empty() {
                return;
            }
            for some in open.chunks(PARTING_AT_ONCE) {
                some.iter().for_each(|peer| self.peers.hang_up(*peer));
                sleep(PARTING_PAUSE).await;
            }
        }
    }

    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    #[must_use]
    pub fn inbox(&self) -> Inbox<E> {
        self.inbox.clone()
    }

    /// Passes an event to the machine after the current effects and before the entries of the inbox. Used for results
    /// that are known at once. The caller must limit the number of these events.
    pub fn raise(&mut self, event: E) {
        self.raised.push_back(event);
    }
}

type EventOf<S> = <<S as Shell>::Machine as Machine>::Event;

/// Runs a machine until its shell ends the daemon.
///
/// # Panics
/// Panics in debug builds if an invariant of the machine does not hold.
pub async fn run<S: Shell>(
    mut machine: S::Machine,
    mut shell: S,
    mut context: Context<EventOf<S>>,
    requests: &mut EndRequests,
) -> S::End {
    let mut commit = None;
    let mut watchdog = Watchdog::start();
    loop {
        watchdog.turn();
        let happening = next(&machine, &mut shell, &mut context, requests, (&mut commit, &watchdog)).await;
        let ended = match happening {
            Next::Event(peer, event) => batch::<S>(&mut machine, &mut shell, &mut context, peer, event),
            Next::Committed(ControlFlow::Continue(committed)) => {
                commit = None;
                if committed == Committed::Durable {
                    context.peers.hand_over_sealed();
                }
                ControlFlow::Continue(())
            }
            Next::Look => ControlFlow::Continue(()),
            Next::Nothing => continue,
            Next::Committed(ControlFlow::Break(end)) => {
                context.peers.discard();
                return finish(context, end).await;
            }
            Next::Asked(end) => {
                let end = last_commits(&machine, &mut shell, &mut context, commit, end).await;
                return finish(context, end).await;
            }
        };
        if let ControlFlow::Break(end) = ended {
            let end = last_commits(&machine, &mut shell, &mut context, commit, end).await;
            while shell.is_full() {
                shell.drain().await;
            }
            return finish(context, end).await;
        }
        if commit.is_none() {
            context.peers.seal();
            commit = shell.commit(&machine, context.receiver.is_quiet());
            if commit.is_none() {
                context.peers.hand_over_sealed();
            }
        }
        context.peers.settle().await;
    }
}

/// Waits for the commit in progress, then makes all remaining changes durable and hands over their messages. If that
/// succeeds, the daemon ends with the given result.
async fn last_commits<S: Shell>(
    machine: &S::Machine,
    shell: &mut S,
    context: &mut Context<EventOf<S>>,
    commit: Option<Commit<S::End>>,
    end: S::End,
) -> S::End {
    let peers = &mut context.peers;
    let committed = async {
        if let Some(commit) = commit
            && commit.await? == Committed::Durable
        {
            peers.hand_over_sealed();
        }
        peers.seal();
        while let Some(commit) = shell.commit(machine, true) {
            if commit.await? == Committed::Durable {
                break;
            }
        }
        peers.hand_over_sealed();
        ControlFlow::Continue(())
    };
    match committed.await {
        ControlFlow::Continue(()) => end,
        ControlFlow::Break(not_durable) => {
            context.peers.discard();
            not_durable
        }
    }
}

/// Applies this event, and waiting events up to [`EVENTS`] or [`BYTES`]. An urgent event ends the batch, so that its
/// answer does not wait for further events.
fn batch<S: Shell>(
    machine: &mut S::Machine,
    shell: &mut S,
    context: &mut Context<EventOf<S>>,
    mut peer: Option<PeerId>,
    mut event: EventOf<S>,
) -> ControlFlow<S::End> {
    let mut events = 0;
    loop {
        events += 1;
        step(machine, shell, context, peer, event)?;
        let is_urgent = peer.is_some_and(|peer| context.peers.urgency(peer) == Urgency::Urgent);
        if is_urgent || events >= EVENTS || context.peers.gathered() >= BYTES {
            return ControlFlow::Continue(());
        }
        let Some(waiting) = next_now(shell, context) else { return ControlFlow::Continue(()) };
        (peer, event) = waiting;
    }
}

/// The next event that is already waiting.
fn next_now<S: Shell>(shell: &S, context: &mut Context<EventOf<S>>) -> Option<(Option<PeerId>, EventOf<S>)> {
    loop {
        if let Some(event) = context.raised.pop_front() {
            return Some((None, event));
        }
        if shell.is_full() {
            return None;
        }
        let entry = context.receiver.recv_now()?;
        if let Some(admitted) = context.peers.admit(entry, S::disconnected) {
            return Some(admitted);
        }
    }
}

enum Next<E, End> {
    /// The loop applies an event. The peer is the event's origin.
    Event(Option<PeerId>, E),
    /// Nothing: the event does not concern the machine.
    Nothing,
    /// Nothing but a look of the shell at what it has committed.
    Look,
    /// The loop hands over the messages that waited for the commit, or ends.
    Committed(ControlFlow<End, Committed>),
    Asked(End),
}

async fn next<S: Shell>(
    machine: &S::Machine,
    shell: &mut S,
    context: &mut Context<EventOf<S>>,
    requests: &mut EndRequests,
    (commit, watchdog): (&mut Option<Commit<S::End>>, &Watchdog),
) -> Next<EventOf<S>, S::End> {
    if let Some(event) = context.raised.pop_front() {
        return Next::Event(None, event);
    }
    let is_ahead = commit.is_some() && context.peers.gathered() >= BYTES;
    let deadline = machine.next_deadline().map(|(time, _)| context.clock.instant(time));
    let until_deadline = async {
        match deadline {
            Some(instant) => sleep_until(instant).await,
            None => std::future::pending().await,
        }
    };
    let look_at = shell.next_look().filter(|_| commit.is_none());
    let committed = async {
        match commit {
            Some(commit) => commit.await,
            None => std::future::pending().await,
        }
    };
    let is_full = shell.is_full();
    let receiver = &mut context.receiver;
    let entry = async {
        match is_full {
            true => receiver.recv_own().await,
            false => receiver.recv().await,
        }
    };
    // The branches are polled in random order, so none of them starves another.
    tokio::select! {
        result = committed => Next::Committed(result),
        () = shell.drain(), if is_full => Next::Nothing,
        () = watchdog.due() => Next::Nothing,
        () = sleep_until(look_at.unwrap_or_else(Instant::now).into()), if look_at.is_some() => Next::Look,
        request = requests.next() => match shell.asked_to_end(request) {
            ControlFlow::Continue(event) => Next::Event(None, event),
            ControlFlow::Break(end) => Next::Asked(end),
        },
        () = until_deadline, if !is_ahead => {
            Next::Event(None, S::deadline(context.receiver.heard_until(context.clock.now())))
        }
        entry = entry, if !is_ahead => {
            let entry = entry.expect("the context holds a sender");
            match context.peers.admit(entry, S::disconnected) {
                Some((peer, event)) => Next::Event(peer, event),
                None => Next::Nothing,
            }
        }
    }
}

fn step<S: Shell>(
    machine: &mut S::Machine,
    shell: &mut S,
    context: &mut Context<EventOf<S>>,
    peer: Option<PeerId>,
    event: EventOf<S>,
) -> ControlFlow<S::End> {
    let only_asks = S::Machine::only_asks(&event);
    if only_asks && peer.is_some_and(|peer| context.peers.is_gone(peer)) {
        return ControlFlow::Continue(());
    }
    let span = tracing::info_span!("event", kind = %event.label(), peer = peer.map(display));
    let _entered = span.enter();
    let (now, begun) = (context.now(), Instant::now());
    let effects = machine.apply(now, event);
    context.peers.meter().applied.record(begun.elapsed());
    if !only_asks {
        context.invariants.check(machine);
    }
    effects.into_iter().try_for_each(|effect| shell.perform(effect, context))
}

async fn finish<E: Send + 'static, End>(context: Context<E>, end: End) -> End {
    let Context { peers, receiver, .. } = context;
    // Senders that wait for room in the inbox are released first.
    drop(receiver);
    peers.end().await;
    end
}

/// Writes a note of the machine into the log, within the event's span. The text also contains the ids. So fields that
/// hold ids have names that begin with `id.`.
pub fn note(level: NoteLevel, mentions: Mentions<'_>, note: &dyn fmt::Display) {
    let Mentions { app, executor, worker, driver, peer } = mentions;
    let (app, worker, driver) = (app.map(display), worker.map(display), driver.map(display));
    let (executor, peer) = (executor.map(display), peer.map(display));
    match level {
        NoteLevel::Info => tracing::info!(
            id.app = app,
            id.executor = executor,
            id.worker = worker,
            id.driver = driver,
            id.peer = peer,
            "{note}"
        ),
        NoteLevel::Warn => tracing::warn!(
            id.app = app,
            id.executor = executor,
            id.worker = worker,
            id.driver = driver,
            id.peer = peer,
            "{note}"
        ),
    }
}
