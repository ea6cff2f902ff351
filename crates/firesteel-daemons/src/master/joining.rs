//! Machines that ask for the credentials of a Worker, and administrators who admit them.
//!
//! [`Desk`] decides. Around it is a task for each connection, which waits on behalf of its machine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use firesteel_host::clock::Clock;
use firesteel_host::net::Keyring;
use firesteel_host::net::conversation::{Conversation, ConversationError};
use firesteel_host::plain;
use firesteel_host::rate_limiter::RateLimiter;
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::{
    JoiningToMaster, LONGEST_HOST, MasterToJoining, Requester, Rights, WaitingMachine, number,
};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::audit_log;
use crate::secret::credentials::Credentials;

/// The maximum number of machines that wait, and of those with the same address.
const MOST: usize = 64;
const MOST_OF_ONE: usize = 8;

/// How long a machine waits for an administrator.
const LIFE: Duration = Duration::from_secs(30 * 60);

/// How long an answer is held back while no administrator has decided. A machine awaits an answer for 30 s.
const HOLD: Duration = Duration::from_secs(10);

/// How long a connection may say nothing.
const IDLE: Duration = Duration::from_secs(30);

/// The machines that wait, by the number of their connection.
#[derive(Debug, Default)]
struct Desk {
    waiting: BTreeMap<u64, Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    host: String,
    from: IpAddr,
    since: Timestamp,
    is_approved: bool,
}

/// What a machine is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// It waits from now on.
    Entered,
    Pending,
    Approved,
    /// Too many machines wait already.
    Full,
    /// Nobody has admitted it in time.
    Late,
}

impl Desk {
    /// A machine asks, for the first time or again.
    fn ask(&mut self, now: Timestamp, channel: u64, host: &str, from: IpAddr) -> Decision {
        if let Some(waiting) = self.waiting.get(&channel) {
            return match (waiting.is_approved, now.since(waiting.since) >= LIFE) {
                (true, _) => Decision::Approved,
                (false, true) => Decision::Late,
                (false, false) => Decision::Pending,
            };
        }
        let of_one = self.waiting.values().filter(|waiting| waiting.from == from).count();
        if self.waiting.len() >= MOST || of_one >= MOST_OF_ONE {
            return Decision::Full;
        }
        let waiting = Waiting { host: shown(host), from, since: now, is_approved: false };
        self.waiting.insert(channel, waiting);
        Decision::Entered
    }

    /// Admits the machine with this number.
    fn approve(&mut self, wanted: &str) -> Option<WaitingMachine> {
        let (_, waiting) = self.waiting.iter_mut().find(|(channel, _)| number(**channel) == wanted)?;
        waiting.is_approved = true;
        Some(waiting.shown())
    }

    /// The connection of a machine has ended.
    fn leave(&mut self, channel: u64) {
        self.waiting.remove(&channel);
    }

    /// Those who are not admitted yet, the first one at the beginning.
    fn list(&self) -> Vec<WaitingMachine> {
        let mut all: Vec<_> = self.waiting.values().filter(|waiting| !waiting.is_approved).collect();
        all.sort_by_key(|waiting| waiting.since);
        all.into_iter().map(Waiting::shown).collect()
    }
}

/// The name of a host as people see it.
fn shown(host: &str) -> String {
    plain::clean(host).chars().take(LONGEST_HOST).collect()
}

impl Waiting {
    fn shown(&self) -> WaitingMachine {
        WaitingMachine { host: self.host.clone(), from: self.from.to_string(), since: self.since }
    }
}

/// Serves machines that ask for credentials, and administrators. The same for all terms of a Master.
#[derive(Debug)]
pub(super) struct Joining {
    keyring: Keyring,
    clock: Clock,
    desk: Mutex<Desk>,
    decided: Notify,
    /// Lines about machines that ask. Everybody can cause them.
    lines: RateLimiter,
}

impl Joining {
    pub(super) fn new(keyring: Keyring, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            keyring,
            clock,
            desk: Mutex::default(),
            decided: Notify::new(),
            lines: RateLimiter::per_minute(10),
        })
    }

    /// Serves the connections from this channel, until its sender is dropped.
    pub(super) fn start(self: &Arc<Self>) -> mpsc::Sender<Conversation> {
        let (sender, mut conversations) = mpsc::channel::<Conversation>(1);
        let joining = Arc::clone(self);
        tokio::spawn(async move {
            // Each has a permit of its listener, so there are not too many.
            while let Some(conversation) = conversations.recv().await {
                let joining = Arc::clone(&joining);
                tokio::spawn(async move { joining.serve(conversation).await });
            }
        });
        sender
    }

    async fn serve(&self, mut conversation: Conversation) {
        let channel = conversation.channel();
        if let Err(error) = self.talk(&mut conversation).await {
            tracing::debug!(remote = %conversation.remote(), "a machine that asked for credentials is gone: {error}");
        }
        self.desk().leave(channel);
    }

    async fn talk(&self, conversation: &mut Conversation) -> Result<(), ConversationError> {
        while let Some(mut message) = conversation.receive::<JoiningToMaster>(IDLE).await? {
            message.prove(conversation.user(), conversation.rights());
            let (answer, is_last) = match message {
                JoiningToMaster::RequestJoin { host } => self.join(conversation, &host).await,
                JoiningToMaster::ApproveJoin { number, by } => {
                    (self.approve(conversation, &number, &by), true)
                }
                JoiningToMaster::RequestWaiting { by } => match refusal(&by) {
                    Some(why) => (MasterToJoining::ApproveRefused { why }, true),
                    None => (MasterToJoining::WaitingResponse(self.desk().list()), true),
                },
            };
            conversation.send(&answer).await?;
            if is_last {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The answer to a machine, and whether it is the last one.
    async fn join(&self, conversation: &Conversation, host: &str) -> (MasterToJoining, bool) {
        let (channel, from) = (conversation.channel(), conversation.remote().ip());
        let ask = || self.desk().ask(self.clock.now(), channel, host, from);
        let decided = self.decided.notified();
        let mut decision = ask();
        if decision == Decision::Pending {
            let _ = timeout(HOLD, decided).await;
            decision = ask();
        } else if decision == Decision::Entered
            && let Some(left_out) = self.lines.next()
        {
            let host = shown(host);
            tracing::info!(
                "{host} at {from} asks for the credentials of a Worker: firesteel approve{left_out}"
            );
        }
        let refused = |why: &str| (MasterToJoining::JoinRefused { why: why.to_owned() }, true);
        match decision {
            Decision::Entered | Decision::Pending => (MasterToJoining::JoinPending, false),
            Decision::Full => refused("too many machines wait to be admitted"),
            Decision::Late => refused("no administrator has admitted this machine in time"),
            Decision::Approved => match Credentials::of_worker(&self.keyring) {
                Some(credentials) => {
                    (MasterToJoining::JoinApproved { credentials: credentials.text() }, true)
                }
                None => refused("the Master has no credentials for Workers"),
            },
        }
    }

    fn approve(&self, conversation: &Conversation, wanted: &str, by: &Requester) -> MasterToJoining {
        let refused = refusal(by);
        // Who has proven nothing leaves no line: everybody could write them.
        if let (Some(why), Rights::None) = (&refused, by.rights()) {
            return MasterToJoining::ApproveRefused { why: why.clone() };
        }
        let admitted = match &refused {
            Some(_) => None,
            None => self.desk().approve(wanted),
        };
        let why = || refused.unwrap_or_else(|| "no machine that waits has this number".to_owned());
        let outcome = admitted.ok_or_else(why);
        audit_log::approve(by.name(), conversation, outcome.as_ref());
        match outcome {
            Ok(machine) => {
                self.decided.notify_waiters();
                MasterToJoining::ApproveResponse(machine)
            }
            Err(why) => MasterToJoining::ApproveRefused { why },
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why somebody may not admit machines. `None`: he may.
fn refusal(by: &Requester) -> Option<String> {
    (by.rights() < Rights::Admin).then(|| "only an administrator may admit machines".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn a_machine_is_admitted_by_its_own_number_only() {
        let mut desk = Desk::default();
        assert_eq!(desk.ask(at(1), 7, "one\u{1b}[2J", FROM), Decision::Entered);
        assert_eq!(desk.ask(at(2), 8, "two", FROM), Decision::Entered);
        let hosts = |desk: &Desk| desk.list().into_iter().map(|machine| machine.host).collect::<Vec<_>>();
        assert_eq!(hosts(&desk), [plain::clean("one\u{1b}[2J").to_string(), "two".to_owned()]);
        assert_eq!(desk.approve(&number(9)), None);
        assert_eq!(desk.approve(""), None);
        let admitted = desk.approve(&number(8)).expect("it waits");
        assert_eq!((admitted.host.as_str(), admitted.since), ("two", at(2)));
        assert_eq!(desk.ask(at(3), 7, "one", FROM), Decision::Pending);
        assert_eq!(desk.ask(at(3), 8, "two", FROM), Decision::Approved);
        assert_eq!(hosts(&desk).len(), 1, "who is admitted waits no longer");
        desk.leave(8);
        assert_eq!(desk.ask(at(4), 8, "two", FROM), Decision::Entered, "another connection, another number");
    }

    #[test]
    fn a_machine_waits_for_a_time_and_not_too_many_wait() {
        let mut desk = Desk::default();
        assert_eq!(desk.ask(at(0), 1, "one", FROM), Decision::Entered);
        assert_eq!(desk.ask(at(LIFE.as_secs() - 1), 1, "one", FROM), Decision::Pending);
        assert_eq!(desk.ask(at(LIFE.as_secs()), 1, "one", FROM), Decision::Late);
        for channel in 2..=MOST_OF_ONE as u64 {
            assert_eq!(desk.ask(at(0), channel, "one", FROM), Decision::Entered);
        }
        assert_eq!(desk.ask(at(0), 100, "one", FROM), Decision::Full);
        let mut other = 0;
        while desk.ask(at(0), 1000 + other, "x", IpAddr::from([10, 0, 0, other as u8])) == Decision::Entered {
            other += 1;
        }
        assert_eq!(desk.waiting.len(), MOST);
        let long = "x".repeat(10 * LONGEST_HOST);
        desk.leave(1);
        desk.ask(at(0), 1, &long, [10, 0, 1, 0].into());
        assert!(desk.list().iter().all(|machine| machine.host.len() <= LONGEST_HOST));
    }
}
