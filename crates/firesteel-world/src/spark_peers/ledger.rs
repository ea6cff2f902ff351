//! The ledger: an independent record of the peers on each connection, and the effects that each event must have.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use firesteel_master::{Inbound, Outbound};
use firesteel_protocol::ids::{ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ClientToMaster, DriverToMaster, ExecutorReport, MasterToDriver, MasterToWorker, WorkerToMaster,
};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;
use firesteel_spark::connection::{Called, Channel, Directory, Effect, Event, Limits, Note};
use firesteel_spark::envelope::Address;
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::{self, FromDriver, FromWorker, Message};

use super::forge::{self, Read};

type Verdict = Result<(), String>;

/// The books of all connections of one Master.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<u64, Account>,
    /// The peers of the Master that have not left. Each has its connection, its channel and its name.
    peers: BTreeMap<PeerId, (u64, Channel, String)>,
}

#[derive(Debug)]
struct Account {
    host: String,
    limits: Limits,
    /// The id of the called peer, if the Master opened the connection.
    called: Option<String>,
    is_closed: bool,
    /// For each request number, how many requests wait for an answer.
    requests: BTreeMap<i64, u32>,
    /// The numbers of the Master's questions: all numbers, and those of the open questions.
    numbers: BTreeSet<i64>,
    questions: BTreeSet<i64>,
    channels: BTreeMap<Channel, ChannelBooks>,
    left: BTreeSet<Channel>,
    /// The executors that the Master told Workers on this connection to run, or that these Workers report as running.
    running: BTreeSet<(String, u32)>,
}

#[derive(Debug)]
struct ChannelBooks {
    role: Role,
    name: String,
    /// The address and endpoint of the peer on the channel, once it has registered.
    address: Option<(Address, String)>,
    /// The applications that the Master gave to the peer.
    apps: BTreeSet<String>,
    /// The peer's requests that the Master must still answer, oldest first.
    pending: VecDeque<i64>,
    /// The key of the channel's entry in the directory of Workers: the Worker's id and its token. `None`: no entry.
    entered: Option<(WorkerId, Secret)>,
}

fn law(holds: bool, sentence: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(sentence()) }
}

/// The address and the endpoint of a peer that registered with this frame.
fn listens(callback: &Bytes) -> Option<(Address, String)> {
    let (_, object) = forge::opened(&Frame::OneWay { body: callback.clone() })?;
    let dialect = match messages::read(&object).ok()? {
        Message::Driver(FromDriver::RegisterApplication(registration)) => registration.dialect,
        Message::Worker(FromWorker::RegisterWorker(registration)) => registration.dialect,
        Message::Driver(_) | Message::Worker(_) | Message::Client(_) | Message::Readyz => return None,
    };
    Some((dialect.reference.address, dialect.reference.name))
}

impl Ledger {
    pub(super) fn open(&mut self, line: u64, host: &str, limits: Limits, called: Option<&Called>) {
        let id = |called: &Called| match called {
            Called::Driver(resumption) => resumption.app.to_string(),
            Called::Worker(description) => description.id.to_string(),
        };
        let account = Account {
            host: host.to_owned(),
            limits,
            called: called.map(id),
            is_closed: false,
            requests: BTreeMap::new(),
            numbers: BTreeSet::new(),
            questions: BTreeSet::new(),
            channels: BTreeMap::new(),
            left: BTreeSet::new(),
            running: BTreeSet::new(),
        };
        self.accounts.insert(line, account);
    }

    /// Records the Master's peer to which a channel belongs.
    pub(super) fn name(&mut self, peer: PeerId, line: u64, channel: Channel, name: &str) {
        self.peers.insert(peer, (line, channel, name.to_owned()));
    }

    /// Checks that a peer that has left is no longer in the directory of Workers.
    pub(super) fn gone(&mut self, peer: PeerId, directory: &Directory) -> Verdict {
        let Some((line, channel, name)) = self.peers.remove(&peer) else {
            return Err(format!("{peer} leaves the Master twice"));
        };
        let entered =
            self.accounts.get(&line).and_then(|account| account.channels.get(&channel)?.entered.clone());
        let found = entered.and_then(|(worker, token)| directory.find(&worker, &token));
        law(found != Some(peer), || format!("{name} has left, and is still in the directory"))
    }

    /// Checks that a message for a Worker goes to the Worker's peer on another connection.
    pub(super) fn elsewhere(&self, line: u64, worker: &WorkerId, peer: PeerId) -> Verdict {
        let Some((there, _, name)) = self.peers.get(&peer) else {
            return Err(format!("{worker} is found at {peer}, which is gone"));
        };
        let host = |line: &u64| self.accounts.get(line).map(|account| account.host.clone());
        law(name == worker.as_str() && host(&line) == host(there), || {
            format!("from {:?} somebody speaks for {name} on {:?}", host(&line), host(there))
        })
    }

    /// Empties the books: the Master has crashed, and all connections have ended.
    pub(super) fn crash(&mut self) {
        *self = Self::default();
    }

    /// Checks all effects of an event.
    pub(super) fn judge(&mut self, line: u64, event: &Event, effects: &[Effect]) -> Verdict {
        let Some(account) = self.accounts.get_mut(&line) else { return Ok(()) };
        account.judge(event, effects).map_err(|sentence| format!("connection {line}: {sentence}"))
    }
}

impl Account {
    fn judge(&mut self, event: &Event, effects: &[Effect]) -> Verdict {
        law(!self.is_closed || effects.is_empty(), || format!("after its end it wants {effects:?}"))?;
        let bytes = self.see_frame(event);
        let told = self.before_told(event);
        for effect in effects {
            law(!self.is_closed, || format!("after its close it wants {effect:?}"))?;
            self.judge_effect(event, effect, bytes)?;
        }
        self.judge_failures(effects)?;
        self.judge_registrations(effects)?;
        if let Event::Outgoing { channel, message } = event {
            self.judge_told(*channel, message, effects, told)?;
        }
        self.judge_ends(event, effects)?;
        self.judge_orders(event, effects)
    }

    /// Counts an arriving frame. Returns the number of its bytes.
    fn see_frame(&mut self, event: &Event) -> usize {
        let Event::Received(frame) = event else { return 0 };
        match frame {
            Frame::Request { id, .. } => *self.requests.entry(*id).or_default() += 1,
            Frame::Response { id, .. } | Frame::Failure { id, .. } => drop(self.questions.remove(id)),
            Frame::OneWay { .. } => {}
        }
        frame.body_length()
    }

    /// The request that a message to this channel answers: the oldest request, if its driver waits for an answer.
    fn before_told(&mut self, event: &Event) -> Option<i64> {
        let Event::Outgoing { channel, message: Outbound::Driver(message) } = event else { return None };
        let channel_books = self.channels.get_mut(channel)?;
        match message {
            MasterToDriver::ExecutorsRequested { .. } | MasterToDriver::ExecutorsKilled { .. } => {
                channel_books.pending.pop_front()
            }
            MasterToDriver::RegisteredApplication { app, .. } => {
                channel_books.apps.insert(app.to_string());
                None
            }
            _ => None,
        }
    }

    fn judge_effect(&mut self, event: &Event, effect: &Effect, bytes: usize) -> Verdict {
        match effect {
            Effect::Send(frame) => self.judge_frame(frame),
            Effect::Open { channel, role, name } => {
                let is_new = !self.channels.contains_key(channel) && !self.left.contains(channel);
                let (role, name) = (*role, name.clone());
                let (address, apps, pending, entered) = (None, BTreeSet::new(), VecDeque::new(), None);
                self.channels.insert(*channel, ChannelBooks { role, name, address, apps, pending, entered });
                law(is_new, || format!("{channel:?} is opened twice"))
            }
            Effect::Say { channel, bytes: said, message } => {
                law(*said == bytes, || format!("{said} bytes are said to have come, and {bytes} have"))?;
                self.judge_said(event, *channel, message)
            }
            Effect::Register { channel, bytes: said, description } => {
                law(*said == bytes, || format!("{said} bytes are said to have come, and {bytes} have"))?;
                self.judge_registered(*channel, Role::Driver, &description.callback)
            }
            Effect::SayElsewhere { worker, token, message, .. } => {
                law(token.reveal() == self.host || self.called.is_some(), || {
                    format!("{worker} has another token than its host")
                })?;
                let named = names(message).unwrap_or(worker);
                law(named == worker, || format!("{worker} speaks for {named}"))
            }
            Effect::Enter { worker, token, channel } => {
                let Some(channel_books) = self.channels.get_mut(channel) else {
                    return Err(format!("{worker} is entered with a channel that nobody has"));
                };
                channel_books.entered = Some((worker.clone(), token.clone()));
                law(channel_books.name == worker.as_str(), || {
                    format!("{worker} is entered as {}", channel_books.name)
                })
            }
            Effect::Withdraw { worker, channel } => {
                let name = self.channels.get(channel).map(|channel_books| channel_books.name.as_str());
                law(name == Some(worker.as_str()), || {
                    format!("{worker} withdraws on the channel of {name:?}")
                })
            }
            Effect::Leave { channel } => {
                let was_there = self.channels.contains_key(channel);
                let is_first = self.left.insert(*channel);
                law(was_there && is_first, || format!("{channel:?} is left twice, or was never open"))
            }
            Effect::Close(_) => {
                self.is_closed = true;
                Ok(())
            }
            Effect::WriteOrder(_) | Effect::ForgetOrders { .. } | Effect::Note(_) => Ok(()),
        }
    }

    /// Checks a frame. An answer belongs to a waiting request. A question has a new number, and not too many questions
    /// are open.
    fn judge_frame(&mut self, frame: &Frame) -> Verdict {
        match frame {
            Frame::Response { id, .. } | Frame::Failure { id, .. } => {
                let waiting = self.requests.get_mut(id).filter(|count| **count > 0);
                law(waiting.is_some(), || format!("the request {id} is answered twice, or was never made"))?;
                waiting.into_iter().for_each(|count| *count -= 1);
                Ok(())
            }
            Frame::Request { id, .. } => {
                law(self.numbers.insert(*id), || format!("two questions have the number {id}"))?;
                self.questions.insert(*id);
                let (open, most) = (self.questions.len(), self.limits.questions + self.limits.clients);
                law(open <= most, || format!("{open} questions are open, and there may be {most}"))
            }
            Frame::OneWay { .. } => Ok(()),
        }
    }

    /// The channel, if it exists and has this role.
    fn channel_books(&mut self, channel: Channel, role: Role) -> Result<&mut ChannelBooks, String> {
        if self.left.contains(&channel) {
            return Err(format!("something is said at {channel:?}, which was left"));
        }
        let channel_books =
            self.channels.get_mut(&channel).ok_or_else(|| format!("{channel:?} was never opened"))?;
        if channel_books.role != role {
            return Err(format!(
                "{} speaks as {role:?}, and is {:?}",
                channel_books.name, channel_books.role
            ));
        }
        Ok(channel_books)
    }

    /// Checks that a peer registers on its own channel.
    fn judge_registered(&mut self, channel: Channel, role: Role, callback: &Bytes) -> Verdict {
        let channel_books = self.channel_books(channel, role)?;
        let address = listens(callback);
        let known = channel_books.address.get_or_insert_with(|| address.clone().expect("it was read before"));
        law(address.as_ref() == Some(known), || format!("{address:?} registers on the channel of {known:?}"))
    }

    /// Checks that no peer sends a message to the Master under another peer's name.
    fn judge_said(&mut self, event: &Event, channel: Channel, message: &Inbound) -> Verdict {
        match message {
            Inbound::Driver(message) => self.judge_driver(event, channel, message),
            Inbound::Worker(message) => self.judge_worker(event, channel, message),
            Inbound::Client(question) => {
                self.channel_books(channel, Role::Client)?;
                let is_spark_s = matches!(
                    question,
                    ClientToMaster::RequestReadyz
                        | ClientToMaster::RequestSubmitDriver(_)
                        | ClientToMaster::RequestKillDriver { .. }
                        | ClientToMaster::RequestDriverStatus { .. }
                );
                law(is_spark_s, || format!("no client of Spark's asks {question:?}"))
            }
        }
    }

    fn judge_driver(&mut self, event: &Event, channel: Channel, message: &DriverToMaster) -> Verdict {
        let called = self.called.clone();
        let channel_books = self.channel_books(channel, Role::Driver)?;
        let app = match message {
            DriverToMaster::RequestExecutors { app, .. } | DriverToMaster::KillExecutors { app, .. } => {
                if let Event::Received(Frame::Request { id, .. }) = event {
                    channel_books.pending.push_back(*id);
                }
                app.to_string()
            }
            DriverToMaster::UnregisterApplication { app, .. } => app.to_string(),
            DriverToMaster::ResumeApplication(resumption) => {
                channel_books.apps.insert(resumption.app.to_string());
                law(called.as_deref() == Some(resumption.app.as_str()), || {
                    format!("{} resumes, and {called:?} was called", resumption.app)
                })?;
                return self.judge_registered(channel, Role::Driver, &resumption.description.callback);
            }
            other => return Err(format!("no driver of Spark's says {other:?}")),
        };
        let is_own = channel_books.apps.contains(&app) || called.as_ref() == Some(&app);
        law(is_own, || format!("{} speaks for {app}, which is another one's", channel_books.name))
    }

    fn judge_worker(&mut self, event: &Event, channel: Channel, message: &WorkerToMaster) -> Verdict {
        let (host, called) = (self.host.clone(), self.called.is_some());
        let channel_books = self.channel_books(channel, Role::Worker)?;
        if let WorkerToMaster::RegisterWorker { worker, .. } = message {
            law(worker.token.reveal() == host || called, || format!("{} has a false token", worker.id))?;
            let name = channel_books.name.clone();
            law(worker.id.as_str() == name, || format!("{} registers on the channel of {name}", worker.id))?;
            return self.judge_registered(channel, Role::Worker, &worker.callback.clone());
        }
        if let Some(worker) = names(message) {
            law(channel_books.name == worker.as_str(), || {
                format!("{} speaks for {worker}", channel_books.name)
            })?;
        }
        match (message, event) {
            (WorkerToMaster::ExecutorStateChanged(report), Event::Received(frame)) => {
                let sender = forge::opened(frame).and_then(|(envelope, _)| envelope.sender);
                let own = channel_books.address.as_ref().map(|(address, _)| address.clone());
                law(own.is_none() || sender == own, || {
                    format!("{sender:?} reports on the channel of {own:?}")
                })?;
                if report.state.is_finished() {
                    self.running.remove(&key(&report.executor));
                }
            }
            (WorkerToMaster::WorkerLatestState { executors, .. }, _) => {
                let keys = executors.iter().map(|report: &ExecutorReport| key(&report.executor));
                self.running.extend(keys);
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that each failure that is sent is logged.
    fn judge_failures(&self, effects: &[Effect]) -> Verdict {
        let sent = effects.iter().filter(|effect| matches!(effect, Effect::Send(Frame::Failure { .. })));
        let noted =
            effects.iter().filter(|effect| matches!(effect, Effect::Note(Note::RequestRefused { .. })));
        let (sent, noted) = (sent.count(), noted.count());
        law(sent == noted, || format!("{sent} failures are sent, and {noted} are in the log"))
    }

    /// Checks that a frame registers at most one peer, so that the Master answers once.
    fn judge_registrations(&self, effects: &[Effect]) -> Verdict {
        let registers = |effect: &&Effect| {
            let message = match effect {
                Effect::Register { .. } => return true,
                Effect::Say { message: Inbound::Worker(message), .. }
                | Effect::SayElsewhere { message, .. } => message,
                _ => return false,
            };
            matches!(message, WorkerToMaster::RegisterWorker { .. })
        };
        let count = effects.iter().filter(registers).count();
        law(count <= 1, || format!("one frame registers {count} times"))
    }

    /// Checks that a message of the Master goes to its recipient only.
    fn judge_told(
        &self,
        channel: Channel,
        message: &Outbound,
        effects: &[Effect],
        pending: Option<i64>,
    ) -> Verdict {
        let Some(channel_books) = self.channels.get(&channel) else {
            return law(effects.is_empty(), || format!("{channel:?} is told something, and was never open"));
        };
        let frames: Vec<&Frame> = effects
            .iter()
            .filter_map(|effect| if let Effect::Send(frame) = effect { Some(frame) } else { None })
            .collect();
        for frame in frames.iter().filter(|frame| matches!(frame, Frame::OneWay { .. })) {
            let Read { to, endpoint, .. } = forge::read(frame);
            let to = to.map(|to| (to, endpoint));
            law(channel_books.address.is_none() || to == channel_books.address, || {
                format!("what {:?} is told goes to {to:?}", channel_books.address)
            })?;
        }
        let was_left = self.left.contains(&channel)
            && !effects
                .iter()
                .any(|effect| matches!(effect, Effect::Leave { channel: left } if *left == channel));
        law(!was_left || effects.is_empty(), || format!("{channel:?} was left, and is told {effects:?}"))?;
        match message {
            Outbound::Driver(
                MasterToDriver::ExecutorsRequested { accepted }
                | MasterToDriver::ExecutorsKilled { accepted },
            ) if !was_left => {
                let answer = frames.first().map(|frame| (id_of(frame), forge::read(frame).is_yes));
                let right = pending.map(|id| (Some(id), Some(*accepted)));
                law(answer == right, || format!("{right:?} is the Master's answer, and {answer:?} is sent"))
            }
            Outbound::Driver(MasterToDriver::RegisteredApplication { app, .. }) if !was_left => {
                let told: Vec<_> = frames.iter().filter_map(|frame| forge::read(frame).app).collect();
                let is_told = told == [app.to_string()] || (told.is_empty() && self.called.is_some());
                law(is_told, || format!("{} is told of {told:?}, and has {app}", channel_books.name))
            }
            Outbound::Worker(MasterToWorker::RegisteredWorker { .. }) if !was_left => {
                let enters = effects.iter().any(|effect| matches!(effect, Effect::Enter { .. }));
                law(enters, || format!("{} is registered, and not entered", channel_books.name))
            }
            Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) if !was_left => {
                let is_ordered = effects.iter().any(|effect| matches!(effect, Effect::WriteOrder(_)));
                let runs = self.running.contains(&key(&launch.executor));
                law(is_ordered || runs, || format!("no order is written for {}", launch.executor))
            }
            Outbound::Client(_) if !was_left => {
                let answered = matches!(frames[..], [Frame::Response { .. }]);
                law(answered, || format!("the Master answers a client, and {frames:?} are sent"))
            }
            Outbound::Driver(_) | Outbound::Worker(_) | Outbound::Client(_) => Ok(()),
        }
    }

    /// Checks ends. A dismissed peer leaves. A connection that ends has no peers left, and is closed.
    fn judge_ends(&mut self, event: &Event, effects: &[Effect]) -> Verdict {
        match event {
            Event::Dismissed { channel, .. } => {
                let is_gone = self.left.contains(channel) || !self.channels.contains_key(channel);
                law(is_gone, || format!("{channel:?} is dismissed, and does not leave"))?;
            }
            Event::Closed { .. } => self.is_closed = true,
            Event::Deadline | Event::MasterGone => {
                law(self.is_closed, || format!("{event:?} does not close the connection: {effects:?}"))?;
            }
            _ => {}
        }
        let here = self.channels.keys().filter(|channel| !self.left.contains(channel)).count();
        law(!self.is_closed || here == 0, || format!("the connection has ended, and {here} have not left"))
    }

    /// Checks that each written order is sent once.
    fn judge_orders(&mut self, event: &Event, effects: &[Effect]) -> Verdict {
        match event {
            Event::OrderWritten { executor, object: Ok(_), .. } => {
                let is_new = self.running.insert(key(executor));
                law(is_new, || format!("{executor} is ordered, and runs already"))?;
                let [Effect::Send(frame)] = effects else {
                    return Err(format!("the order for {executor} becomes {effects:?}"));
                };
                let Read { app, executor: number, .. } = forge::read(frame);
                let ordered = app.zip(number.and_then(|number| u32::try_from(number).ok()));
                law(ordered == Some(key(executor)), || format!("the order for {executor} is for {ordered:?}"))
            }
            Event::Outgoing {
                message: Outbound::Worker(MasterToWorker::ApplicationFinished { app }),
                ..
            } => {
                self.running.retain(|(of, _)| of != app.as_str());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn names(message: &WorkerToMaster) -> Option<&WorkerId> {
    match message {
        WorkerToMaster::Heartbeat { worker, .. }
        | WorkerToMaster::WorkerLatestState { worker, .. }
        | WorkerToMaster::WorkerDecommissioning { worker } => Some(worker),
        WorkerToMaster::WorkerReported(report) => Some(&report.worker),
        _ => None,
    }
}

fn key(executor: &ExecutorKey) -> (String, u32) {
    (executor.app.to_string(), executor.executor.0)
}

/// The request number that an answer repeats.
fn id_of(frame: &Frame) -> Option<i64> {
    match frame {
        Frame::Response { id, .. } | Frame::Failure { id, .. } => Some(*id),
        Frame::Request { .. } | Frame::OneWay { .. } => None,
    }
}
