//! Encoded frames, one after the other, which share equal parts.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};
use firesteel_protocol::wire::{self, Message, TooLong};

use super::frame;

/// The minimum length of a shared part, in bytes. Shorter parts are copied.
const WORTH_SHARING: usize = 128;

/// The maximum number of bytes that may follow the shared part of a frame.
const MOST_AFTER: usize = 256;

/// The longest buffer that is kept for the next frame, in bytes.
const KEPT: usize = 16 << 10;

thread_local! {
    /// A buffer to encode a frame before its shared part is known. Empty between two frames.
    static SCRATCH: RefCell<BytesMut> = RefCell::default();
}

/// Encoded frames, one after the other. Bytes that several frames have in common ([shared](Message::shared)) are stored
/// once and referenced by all of them, also from other ropes.
#[derive(Debug, Default)]
pub(super) struct Rope {
    /// The bytes that belong to this rope alone.
    own: BytesMut,
    /// The shared parts, in the order in which they come between the own bytes.
    shared: VecDeque<SharedPart>,
    shared_bytes: usize,
    /// The number of own bytes after the last shared part.
    own_at_end: usize,
}

/// A part that other ropes reference, too. A shared part is not empty.
#[derive(Debug)]
struct SharedPart {
    /// The number of own bytes between the previous shared part and this one.
    own_before: usize,
    bytes: Bytes,
}

impl Rope {
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.shared.is_empty()
    }

    /// The number of bytes of memory that the rope uses, without shared parts.
    pub(super) fn weight(&self) -> usize {
        self.own.len() + self.shared.len() * size_of::<SharedPart>()
    }

    /// Adds a message as a frame. Returns the length of the frame.
    ///
    /// # Errors
    /// The message is too long for a frame.
    pub(super) fn push<M: Message>(&mut self, message: &M) -> Result<usize, TooLong> {
        let mut frame = SCRATCH.take();
        frame::append(message, &mut frame, wire::MAX_FRAME)?;
        let length = frame.len();
        let shared = message.shared().filter(|part| part.len() >= WORTH_SHARING);
        let mut rest = &frame[..];
        if let Some(bytes) = shared
            && let Some(end) = end_of(&frame, &bytes)
        {
            self.add(&frame[..end - bytes.len()]);
            rest = &frame[end..];
            self.shared_bytes += bytes.len();
            self.shared.push_back(SharedPart { own_before: std::mem::take(&mut self.own_at_end), bytes });
        }
        self.add(rest);
        frame.clear();
        SCRATCH.set(if frame.capacity() <= KEPT { frame } else { BytesMut::new() });
        Ok(length)
    }

    fn add(&mut self, own: &[u8]) {
        self.own.extend_from_slice(own);
        self.own_at_end += own.len();
    }

    /// The rope's pieces, in order. No piece is empty.
    fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let (mut own, at_end) = self.own.split_at(self.own.len() - self.own_at_end);
        let between = self.shared.iter().flat_map(move |SharedPart { own_before, bytes }| {
            let (before, rest) = own.split_at(*own_before);
            own = rest;
            [before, bytes]
        });
        between.chain([at_end]).filter(|chunk| !chunk.is_empty())
    }

    /// Moves the contents of another rope to the end of this one.
    pub(super) fn append(&mut self, other: &mut Self) {
        let mut other = std::mem::take(other);
        if self.is_empty() {
            *self = other;
            return;
        }
        self.own.extend_from_slice(&other.own);
        match other.shared.front_mut() {
            Some(first) => {
                first.own_before += self.own_at_end;
                self.own_at_end = other.own_at_end;
            }
            None => self.own_at_end += other.own_at_end,
        }
        self.shared.append(&mut other.shared);
        self.shared_bytes += other.shared_bytes;
    }
}

/// The position at which this part of a frame ends. `None` if the frame does not contain the part, or if more than
/// [`MOST_AFTER`] bytes follow.
fn end_of(frame: &[u8], part: &[u8]) -> Option<usize> {
    let first = frame.len().saturating_sub(MOST_AFTER);
    (first..=frame.len()).rev().find(|end| frame[..*end].ends_with(part))
}

impl Buf for Rope {
    fn remaining(&self) -> usize {
        self.own.len() + self.shared_bytes
    }

    fn chunk(&self) -> &[u8] {
        self.chunks().next().unwrap_or_default()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let step = count.min(self.chunk().len());
            assert!(step > 0, "a rope is not advanced beyond its end");
            count -= step;
            match self.shared.front_mut() {
                Some(SharedPart { own_before: 0, bytes }) => {
                    bytes.advance(step);
                    self.shared_bytes -= step;
                    if bytes.is_empty() {
                        self.shared.pop_front();
                    }
                    continue;
                }
                Some(SharedPart { own_before, .. }) => *own_before -= step,
                None => self.own_at_end -= step,
            }
            self.own.advance(step);
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let filled = slices.iter_mut().zip(self.chunks()).map(|(slice, chunk)| *slice = IoSlice::new(chunk));
        filled.count()
    }
}

#[cfg(test)]
impl From<&[u8]> for Rope {
    fn from(own: &[u8]) -> Self {
        Self { own: BytesMut::from(own), own_at_end: own.len(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::messages::Shared;
    use quickcheck::{Arbitrary, Gen, TestResult, quickcheck};
    use serde::Serialize;

    use super::*;

    /// A message with a part that other messages have in common.
    #[derive(Clone, Debug, Serialize)]
    struct Order {
        number: u32,
        work: Shared<String>,
        later: Vec<u8>,
    }

    impl Message for Order {
        fn shared(&self) -> Option<Bytes> {
            Some(self.work.encoded())
        }
    }

    impl Arbitrary for Order {
        fn arbitrary(g: &mut Gen) -> Self {
            let length = *g.choose(&[0, 1, WORTH_SHARING - 2, WORTH_SHARING, 1000]).expect("there are some");
            let later = *g.choose(&[0, 1, 100, 1000]).expect("there are some");
            Self { number: u32::arbitrary(g), work: Shared::new("w".repeat(length)), later: vec![9; later] }
        }
    }

    /// Puts messages into two ropes and appends one rope to the other. Also returns the frames of all messages, one
    /// after the other.
    fn spun(first: &[Order], second: &[Order]) -> (Rope, BytesMut) {
        let (mut ropes, mut frames) = ([Rope::default(), Rope::default()], BytesMut::new());
        for (rope, orders) in ropes.iter_mut().zip([first, second]) {
            for order in orders {
                let before = frames.len();
                frame::append(order, &mut frames, wire::MAX_FRAME).expect("it is short");
                assert_eq!(rope.push(order), Ok(frames.len() - before));
            }
        }
        let [mut rope, mut more] = ropes;
        rope.append(&mut more);
        assert!(more.is_empty() && more.weight() == 0);
        (rope, frames)
    }

    quickcheck! {
        fn a_rope_is_its_frames(first: Vec<Order>, second: Vec<Order>, steps: Vec<usize>) -> TestResult {
            let (mut rope, mut frames) = spun(&first, &second);
            for step in steps {
                let mut slices = [IoSlice::new(&[]); 3];
                let filled = rope.chunks_vectored(&mut slices);
                let start: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect();
                assert!(frames.starts_with(&start) && (filled == 3 || start.len() == frames.len()));
                assert!(start.starts_with(rope.chunk()) && rope.remaining() == frames.len());
                assert_eq!((rope.is_empty(), rope.chunk().is_empty()), (frames.is_empty(), frames.is_empty()));
                let step = step % (frames.len() + 1);
                let weight = rope.weight();
                rope.advance(step);
                frames.advance(step);
                assert!(rope.weight() <= weight);
            }
            assert_eq!(rope.copy_to_bytes(rope.remaining()), frames);
            assert_eq!((rope.weight(), rope.is_empty()), (0, true));
            TestResult::passed()
        }
    }

    #[test]
    fn orders_that_share_their_work_weigh_little() {
        let work = Shared::new("w".repeat(100_000));
        let orders: Vec<_> =
            (0..16).map(|number| Order { number, work: work.clone(), later: Vec::new() }).collect();
        let (rope, frames) = spun(&orders, &orders);
        assert_eq!(rope.remaining(), frames.len());
        assert!(rope.weight() < 32 * 100, "{} bytes", rope.weight());
    }

    #[test]
    fn a_message_that_is_too_long_adds_nothing() {
        let order = |length| Order { number: 1, work: Shared::new("w".repeat(length)), later: Vec::new() };
        let mut rope = Rope::default();
        rope.push(&order(1)).expect("it is short");
        let before = rope.remaining();
        assert!(rope.push(&order(wire::MAX_FRAME)).is_err());
        assert_eq!(rope.remaining(), before);
    }
}
