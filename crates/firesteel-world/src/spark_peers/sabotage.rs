//! Deliberate bugs: they change the events and effects of a connection.

use bytes::Bytes;
use firesteel_master::Inbound;
use firesteel_protocol::messages::WorkerToMaster;
use firesteel_spark::connection::{Channel, Effect, Event, Note};
use firesteel_spark::frame::Frame;
use firesteel_spark::messages;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparkSabotage {
    /// The connection passes a peer's message on for another channel.
    WrongChannel,
    /// The connection sends the Master's message to another peer.
    WrongPeer,
    /// The connection leaves a channel open after the channel's end.
    DropLeave,
    DoubleLeave,
    DoubleAnswer,
    DropAnswer,
    /// The connection answers `false` instead of `true`.
    FalseAnswer,
    /// The connection sends a frame after its end.
    SpeakOn,
    /// The connection sends messages for a Worker without the Worker's token.
    IgnoreToken,
    DoubleOrder,
    DropOrder,
    /// A Worker's connection is not removed from the directory of Workers when the Worker leaves.
    DropWithdraw,
    /// A Worker's connection is not entered in the directory of Workers.
    DropEnter,
    /// The connection keeps peers that never register.
    NeverMute,
    /// The connection does not log the messages that it refuses.
    DropNote,
    /// The connection reports that messages have no bytes.
    DropBytes,
    /// The connection gives all questions the same number.
    SameNumber,
    DoubleRegister,
    /// The connection lets a Worker report under another Worker's id.
    OtherWorker,
}

impl SparkSabotage {
    pub const ALL: [Self; 19] = [
        Self::WrongChannel,
        Self::WrongPeer,
        Self::DropLeave,
        Self::DoubleLeave,
        Self::DoubleAnswer,
        Self::DropAnswer,
        Self::FalseAnswer,
        Self::SpeakOn,
        Self::IgnoreToken,
        Self::DoubleOrder,
        Self::DropOrder,
        Self::DropWithdraw,
        Self::DropEnter,
        Self::NeverMute,
        Self::DropNote,
        Self::DropBytes,
        Self::SameNumber,
        Self::DoubleRegister,
        Self::OtherWorker,
    ];

    /// Changes an event for the connection, whose channels are `channels`.
    pub(super) fn event(self, event: &mut Event, channels: &[Channel]) {
        if let (Self::WrongPeer, Event::Outgoing { channel, .. }) = (self, event)
            && let Some(other) = channels.iter().find(|other| *other != channel)
        {
            *channel = *other;
        }
    }

    /// Changes the effects of an event on the connection, whose channels are `channels`.
    pub(super) fn effects(self, event: &Event, effects: &mut Vec<Effect>, channels: &[Channel]) {
        effects.iter_mut().for_each(|effect| self.effect(event, effect, channels));
        let is_answer = |effect: &Effect| matches!(effect, Effect::Send(Frame::Response { .. }));
        match self {
            Self::DropLeave if matches!(event, Event::Closed { .. }) => {
                drop_first(effects, |effect| matches!(effect, Effect::Leave { .. }))
            }
            Self::DoubleLeave => repeat(effects, |effect| matches!(effect, Effect::Leave { .. })),
            Self::DoubleAnswer => repeat(effects, is_answer),
            Self::DropAnswer => effects.retain(|effect| !is_answer(effect)),
            Self::SpeakOn if matches!(effects.last(), Some(Effect::Close(_))) => {
                effects.push(Effect::Send(Frame::OneWay { body: Bytes::new() }));
            }
            Self::DoubleOrder => repeat(effects, |effect| matches!(effect, Effect::WriteOrder(_))),
            Self::DropOrder => effects.retain(|effect| !matches!(effect, Effect::WriteOrder(_))),
            Self::DropWithdraw => effects.retain(|effect| !matches!(effect, Effect::Withdraw { .. })),
            Self::DropEnter => effects.retain(|effect| !matches!(effect, Effect::Enter { .. })),
            Self::NeverMute if *event == Event::Deadline => effects.clear(),
            Self::DropNote => {
                effects.retain(|effect| !matches!(effect, Effect::Note(Note::RequestRefused { .. })));
            }
            Self::DoubleRegister => repeat(effects, |effect| matches!(effect, Effect::Register { .. })),
            _ => {}
        }
    }

    fn effect(self, event: &Event, effect: &mut Effect, channels: &[Channel]) {
        match (self, effect) {
            (Self::WrongChannel, Effect::Say { channel, .. }) => {
                if let Some(other) = channels.iter().find(|other| *other != channel) {
                    *channel = *other;
                }
            }
            (Self::FalseAnswer, Effect::Send(Frame::Response { body, .. }))
                if matches!(event, Event::Outgoing { .. }) && *body == messages::answer(true) =>
            {
                *body = messages::answer(false).into();
            }
            (Self::DropBytes, Effect::Say { bytes, .. }) => *bytes = 0,
            (Self::SameNumber, Effect::Send(Frame::Request { id, .. })) => *id = 1,
            (
                Self::OtherWorker,
                Effect::Say { message: Inbound::Worker(WorkerToMaster::Heartbeat { worker, .. }), .. },
            ) => *worker = firesteel_protocol::ids::WorkerId::new("worker-0"),
            _ => {}
        }
    }
}

fn drop_first(effects: &mut Vec<Effect>, is_it: impl Fn(&Effect) -> bool) {
    if let Some(at) = effects.iter().position(is_it) {
        effects.remove(at);
    }
}

/// Repeats the effects for which `is_it` holds.
fn repeat(effects: &mut Vec<Effect>, is_it: impl Fn(&Effect) -> bool) {
    if let Some(at) = effects.iter().position(is_it) {
        let again = effects[at].clone();
        effects.insert(at, again);
    }
}
