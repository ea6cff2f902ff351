//! The format of images and batches, and how damage is distinguished from an unfinished write.
//!
//! ```text
//!  file  = head frame* end 0*     the first frame is the image, the others are batches; zeros are room for more
//!  head  = "FSTLJRNL" format:u32 checksum:u32             checksum of the 12 bytes before it
//!  frame = marker:u32 checksum:u32 number:u64 length:u32 bytes     checksum of all that follows it
//!  end   = marker:u32 checksum:u32 number:u64 chain:u32            checksum of all that follows it
//! ```
//!
//! Numbers are little-endian. Frames are numbered from 0. Each frame is durable before the next one is written. So an
//! incomplete frame was being written when the machine stopped. But if a later frame is whole, the file is damaged.
//!
//! A frame is written together with an end mark, over the end mark of the frame before it. So a file that was cut
//! between two frames, or filled with zeros from there on, has no end mark. The end mark names the last frame, and has
//! the checksum of the checksums of all frames (the chain), so a frame of another file is found. A release that knows
//! no end marks takes one for an unfinished frame, and files of that release have none.

use std::ops::Range;

/// The version of the file format. The version is incremented with every change of the format.
const FORMAT: u32 = 2;

const MAGIC: [u8; 8] = *b"FSTLJRNL";
const MARKER: [u8; 4] = [0xF5, b'J', b'N', b'L'];
const END_MARKER: [u8; 4] = [0xF5, b'J', b'E', b'N'];

pub(super) const HEAD: usize = 16;
/// The length in bytes of a frame's fields before its contents.
pub(super) const FRAME: usize = 20;
/// The length in bytes of an end mark.
pub(super) const END: usize = 20;
/// The position in a frame at which the part that the checksum covers begins.
const COVERED: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file is not a journal file, or its head is damaged.
    #[error("it does not begin as a journal does")]
    Head,
    #[error("it has format {0}, and this version of Firesteel reads format {FORMAT}")]
    Format(u32),
    /// The image (the state at the beginning of the file) is damaged or incomplete.
    #[error("the saved state at its beginning is damaged")]
    Image,
    /// The end mark is whole, but does not belong to these batches.
    #[error("its end mark does not belong to its {whole} batches: some are of another file")]
    Chain {
        /// The number of batches, each of which is whole.
        whole: u64,
    },
    /// A batch is damaged, and later batches are whole.
    #[error("the {bytes} bytes from offset {at} are damaged; {whole} batches before them are whole")]
    Batch {
        /// The position of the damage.
        at: u64,
        /// The length of the damage in bytes.
        bytes: u64,
        /// The number of whole batches before the damage.
        whole: u64,
    },
}

pub(super) fn head() -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    let checksum = crc32fast::hash(&head[..12]);
    head[12..].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// A new file with this image and an end mark. Also returns the chain.
pub(super) fn file(image: &[u8]) -> (Vec<u8>, u32) {
    let mut frame = vec![0; FRAME + image.len()];
    frame[FRAME..].copy_from_slice(image);
    seal(&mut frame, 0);
    let chain = chained(0, &frame);
    ([&head()[..], &frame, &end(0, chain)].concat(), chain)
}

/// The chain with this sealed frame, after the chain without it.
pub(super) fn chained(before: u32, frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&before.to_le_bytes());
    hasher.update(&frame[4..8]);
    hasher.finalize()
}

/// The end mark after the frame with this number.
pub(super) fn end(number: u64, chain: u32) -> [u8; END] {
    let mut end = [0; END];
    end[..4].copy_from_slice(&END_MARKER);
    end[8..16].copy_from_slice(&number.to_le_bytes());
    end[16..].copy_from_slice(&chain.to_le_bytes());
    let checksum = crc32fast::hash(&end[COVERED..]);
    end[4..8].copy_from_slice(&checksum.to_le_bytes());
    end
}

/// The chain of the end mark at `at` after the frame with this number. `None` if there is no such end mark.
pub(super) fn end_at(file: &[u8], at: usize, last: u64) -> Option<u32> {
    let found = file.get(at..)?.get(..END)?;
    let chain = u32::try_from(number(&found[16..])).ok()?;
    (*found == end(last, chain)).then_some(chain)
}

pub(super) fn check_head(file: &[u8]) -> Result<(), Damage> {
    let head = file.get(..HEAD).ok_or(Damage::Head)?;
    if head[..8] != MAGIC || number(&head[12..]) != u64::from(crc32fast::hash(&head[..12])) {
        return Err(Damage::Head);
    }
    match u32::try_from(number(&head[8..12])) {
        Ok(FORMAT) => Ok(()),
        Ok(other) => Err(Damage::Format(other)),
        Err(_) => Err(Damage::Head),
    }
}

/// Writes the head of a frame with this number in front of its bytes: `frame` begins with [`FRAME`] unused bytes, and
/// the bytes follow.
///
/// # Panics
/// The bytes are 4 GiB or more.
pub(super) fn seal(frame: &mut [u8], number: u64) {
    let length = u32::try_from(frame.len() - FRAME).expect("a frame has less than 4 GiB");
    frame[..4].copy_from_slice(&MARKER);
    frame[8..16].copy_from_slice(&number.to_le_bytes());
    frame[16..20].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&frame[COVERED..]);
    frame[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// The range of the bytes in the whole frame that begins at `at`. `None` if no whole frame with an expected number
/// begins there.
pub(super) fn open(file: &[u8], at: usize, expected: impl Fn(u64) -> bool) -> Option<Range<usize>> {
    let frame = file.get(at..)?;
    if frame.len() < FRAME || frame[..4] != MARKER || !expected(number(&frame[8..16])) {
        return None;
    }
    let length = usize::try_from(number(&frame[16..20])).ok()?;
    let covered = frame.get(COVERED..FRAME.checked_add(length)?)?;
    let is_whole = u64::from(crc32fast::hash(covered)) == number(&frame[4..8]);
    is_whole.then(|| at + FRAME..at + FRAME + length)
}

/// The position of the first whole frame after `at` with an expected number.
pub(super) fn find(file: &[u8], at: usize, expected: impl Fn(u64) -> bool) -> Option<usize> {
    let mut from = at + 1;
    loop {
        let next = file.get(from..)?.windows(MARKER.len()).position(|bytes| bytes == MARKER)? + from;
        if open(file, next, &expected).is_some() {
            return Some(next);
        }
        from = next + 1;
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
