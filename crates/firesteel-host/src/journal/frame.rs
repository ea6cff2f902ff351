//! The format of images and batches, and how damage is distinguished from an unfinished write.
//!
//! ```text
//!  file  = head frame* 0*         the first frame is the image, the others are batches; zeros are room for more
//!  head  = "FSTLJRNL" format:u32 checksum:u32             checksum of the 12 bytes before it
//!  frame = marker:u32 checksum:u32 number:u64 length:u32 bytes     checksum of all that follows it
//! ```
//!
//! Numbers are little-endian. Frames are numbered from 0. Each frame is durable before the next one is written. So an
//! incomplete frame was being written when the machine stopped. But if a later frame is whole, the file is damaged.

use std::ops::Range;

/// The version of the file format. The version is incremented with every change of the format.
const FORMAT: u32 = 2;

const MAGIC: [u8; 8] = *b"FSTLJRNL";
const MARKER: [u8; 4] = [0xF5, b'J', b'N', b'L'];

pub(super) const HEAD: usize = 16;
/// The length in bytes of a frame's fields before its contents.
pub(super) const FRAME: usize = 20;
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

pub(super) fn file(image: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; FRAME + image.len()];
    frame[FRAME..].copy_from_slice(image);
    seal(&mut frame, 0);
    [&head()[..], &frame].concat()
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
