//! Performs the effects of connections and of the Master.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};

use firesteel_master::{Effect as MasterEffect, Event as MasterEvent, Inbound};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::DriverToMaster;
use firesteel_protocol::secret::Secret;
use firesteel_spark::connection::{Channel, Closing, Effect, Event, PeerEnd};

use super::line::{Arrival, ChannelQueue, InFlight, OutgoingItem};
use super::run::{ScheduledEvent, World};
use super::sabotage::SparkSabotage;
use super::{see_effect, see_event};

impl World {
    /// Gives a connection an event, and performs its effects in order. Events that follow from an effect are applied
    /// before the next effect.
    pub(super) fn tell(&mut self, number: u64, event: Event) {
        let mut effects = VecDeque::from(self.effects_of(number, event));
        while let Some(effect) = effects.pop_front()
            && self.outcome.violation.is_none()
        {
            if let Effect::Close(closing) = effect {
                self.close(number, closing);
                break;
            }
            let event = self.perform(number, effect);
            let then = event.map(|event| self.effects_of(number, event)).unwrap_or_default();
            for effect in then.into_iter().rev() {
                effects.push_front(effect);
            }
        }
    }

    /// The effects of an event on a connection, which a deliberate bug may change. Compares the effects with the books.
    fn effects_of(&mut self, number: u64, mut event: Event) -> Vec<Effect> {
        let now = self.now();
        let Some(line) = self.lines.get_mut(&number) else { return Vec::new() };
        let channels: Vec<Channel> = line.channels.keys().copied().collect();
        let told = event.clone();
        if let Some(sabotage) = self.sabotage {
            sabotage.event(&mut event, &channels);
        }
        let ends = matches!(event, Event::Closed { .. });
        let mut effects = line.connection.apply(now, event);
        if let Some(sabotage) = self.sabotage {
            sabotage.effects(&told, &mut effects, &channels);
        }
        let checked = line.connection.check().map_err(|violation| violation.to_string());
        line.is_closed |= ends;
        self.outcome.events += 1;
        see_event(&mut self.outcome.coverage, &told);
        self.trace(|| format!("connection {number}: {}", short(&told)));
        for effect in &effects {
            see_effect(&mut self.outcome.coverage, effect);
            self.trace(|| format!("    {}", short(effect)));
        }
        let verdict = checked.and_then(|()| self.ledger.judge(number, &told, &effects));
        self.verdict(verdict);
        effects
    }

    /// The Master's side closes the connection.
    fn close(&mut self, number: u64, closing: Closing) {
        let Some(line) = self.lines.get_mut(&number) else { return };
        line.is_closed = true;
        if closing == Closing::AtOnce {
            line.there.lose();
        }
        self.end_there(number);
    }

    /// Performs an effect. Returns the event that follows immediately, if any.
    fn perform(&mut self, number: u64, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Send(frame) => {
                let at = self.delayed();
                let at = self.lines.get_mut(&number)?.there.send(Arrival::Frame(frame), at);
                self.queue.put(at, ScheduledEvent::ArriveThere(number));
            }
            Effect::Open { channel, name, .. } => {
                if self.master.is_none() {
                    return Some(Event::MasterGone);
                }
                self.next_peer += 1;
                let peer = PeerId(self.next_peer);
                self.peers.insert(peer, (number, channel));
                self.ledger.name(peer, number, channel, &name);
                let queue = ChannelQueue { peer, outgoing: InFlight::default() };
                self.lines.get_mut(&number)?.channels.insert(channel, queue);
            }
            Effect::Say { channel, message, .. } => return self.say_at(number, channel, message),
            Effect::Register { channel, mut description, .. } => {
                description.token = Secret::new(self.dice.number().to_string());
                let message = DriverToMaster::RegisterApplication(description);
                return self.say_at(number, channel, Inbound::Driver(message));
            }
            Effect::SayElsewhere { peer, worker, token, message, .. } => {
                let known = match self.sabotage {
                    Some(SparkSabotage::IgnoreToken) => self.tokens.get(&worker).map(|(_, peer)| *peer),
                    _ => self.directory.find(&worker, &token),
                };
                let Some(known) = known else { return Some(Event::FoundNobody { peer }) };
                let verdict = self.ledger.elsewhere(number, &worker, known);
                self.verdict(verdict);
                return self.say(number, known, Inbound::Worker(message));
            }
            Effect::Enter { worker, token, channel } => {
                let peer = self.lines.get(&number)?.channels.get(&channel)?.peer;
                self.tokens.insert(worker.clone(), (token.clone(), peer));
                self.directory.enter(worker, token, peer);
            }
            Effect::Withdraw { worker, channel } => {
                let peer = self.lines.get(&number)?.channels.get(&channel)?.peer;
                self.tokens.retain(|_, (_, known)| *known != peer);
                self.directory.withdraw(&worker, peer);
            }
            Effect::Leave { channel } => self.leave(number, channel),
            Effect::WriteOrder(request) => return Some(request.write(&mut self.forms)),
            Effect::ForgetOrders { app } => self.forms.forget(&app),
            Effect::Note(_) | Effect::Close(_) => {}
        }
        None
    }

    /// Sends a message to the Master for the peer on a channel.
    fn say_at(&mut self, number: u64, channel: Channel, message: Inbound) -> Option<Event> {
        let peer = self.lines.get(&number)?.channels.get(&channel).map(|queue| queue.peer)?;
        self.say(number, peer, message)
    }

    fn say(&mut self, number: u64, peer: PeerId, message: Inbound) -> Option<Event> {
        if self.master.is_none() {
            return Some(Event::MasterGone);
        }
        let arrived = self.now();
        self.send_master(number, MasterEvent::Received { peer, arrived, message });
        None
    }

    fn send_master(&mut self, number: u64, event: MasterEvent) {
        let at = self.delayed();
        let Some(line) = self.lines.get_mut(&number) else { return };
        let at = line.to_master.send(event, at);
        self.queue.put(at, ScheduledEvent::ArriveMaster(number));
    }

    fn leave(&mut self, number: u64, channel: Channel) {
        let queue = self.lines.get_mut(&number).and_then(|line| line.channels.remove(&channel));
        let Some(ChannelQueue { peer, .. }) = queue else { return };
        self.peers.remove(&peer);
        let verdict = self.ledger.gone(peer, &self.directory);
        self.verdict(verdict);
        self.send_master(number, MasterEvent::Disconnected { peer });
    }

    /// Puts a message to a channel in transit.
    pub(super) fn post(&mut self, number: u64, channel: Channel, item: OutgoingItem) {
        let at = self.delayed();
        let queue = self.lines.get_mut(&number).and_then(|line| line.channels.get_mut(&channel));
        let Some(queue) = queue else { return };
        let at = queue.outgoing.send(item, at);
        self.queue.put(at, ScheduledEvent::ArriveChannel(number, channel));
    }

    /// Gives the Master an event, and performs the Master's effects.
    pub(super) fn tell_master(&mut self, event: MasterEvent) {
        let now = self.now();
        let Some(master) = &mut self.master else { return };
        let effects = master.apply(now, event);
        let checked = master.check().map_err(|violation| violation.to_string());
        self.verdict(checked);
        for effect in effects {
            match effect {
                MasterEffect::Persist(records) => self.records.extend(records),
                MasterEffect::Send { peer, message } => {
                    if let Some((line, channel)) = self.peers.get(&peer).copied() {
                        self.post(line, channel, OutgoingItem::Message(Box::new(message)));
                    }
                }
                MasterEffect::Close { peer } => {
                    if let Some((line, channel)) = self.peers.get(&peer).copied() {
                        self.post(line, channel, OutgoingItem::End(PeerEnd::InOrder));
                    }
                }
                // Spark's Workers are never away, and nobody reads logs here.
                MasterEffect::Probe { .. } | MasterEffect::ReadLog { .. } => {}
                MasterEffect::Note(note) => self.trace(|| format!("Master: {note}")),
            }
        }
    }
}

/// The beginning of the text of an event or effect. Frames are long.
fn short(shown: &impl fmt::Debug) -> String {
    let mut line = Beginning(String::new());
    // Writing fails at the limit, which cuts the text off.
    let _ = write!(line, "{shown:?}");
    line.0
}

/// A text of which only the beginning is kept.
struct Beginning(String);

impl fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() < 160 { Ok(()) } else { Err(fmt::Error) }
    }
}
