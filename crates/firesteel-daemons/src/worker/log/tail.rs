//! The search for the beginning of a log's last lines.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use flate2::read::MultiGzDecoder;

use super::segments::{Segment, SegmentFormat, with_path};

/// The number of bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// The offset of the last `lines` lines, counted over all `segments` together. `None` if a file was renamed or removed
/// meanwhile.
pub(super) fn start_of_last(segments: &[Segment], lines: u64) -> io::Result<Option<u64>> {
    let mut end: u64 = segments.iter().map(|segment| segment.length).sum();
    if lines == 0 {
        return Ok(Some(end));
    }
    // The newline at the very end separates no two lines.
    let last = end.saturating_sub(1);
    let mut wanted = lines;
    for segment in segments.iter().rev() {
        let begin = end - segment.length;
        let within = segment.length.min(last.saturating_sub(begin));
        let Some(file) = segment.open()? else { return Ok(None) };
        let found = match segment.format {
            SegmentFormat::Plain => nth_end_backward(&file, within, wanted),
            SegmentFormat::Gzip => nth_end_inflated(segment, file, within, wanted)?,
        };
        match found.map_err(|error| with_path(&segment.path, &error))? {
            Found::At(offset) => return Ok(Some(begin + offset + 1)),
            Found::Fewer(count) => wanted -= count,
        }
        end = begin;
    }
    Ok(Some(0))
}

enum Found {
    At(u64),
    /// The file has only this number of line ends, fewer than wanted.
    Fewer(u64),
}

/// Finds the `wanted`-th line end before `within`, counted backward.
fn nth_end_backward(file: &File, within: u64, wanted: u64) -> io::Result<Found> {
    let mut block = vec![0; BLOCK];
    let (mut end, mut count) = (within, 0);
    while end > 0 {
        let begin = end.saturating_sub(BLOCK as u64);
        let length = usize::try_from(end - begin).expect("a block is small");
        file.read_exact_at(&mut block[..length], begin)?;
        for (at, _) in block[..length].iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
            count += 1;
            if count == wanted {
                return Ok(Found::At(begin + at as u64));
            }
        }
        end = begin;
    }
    Ok(Found::Fewer(count))
}

/// Finds the line's end in a file that can only be read forward. Reads the file twice: first to count the lines, then
/// to find the position.
fn nth_end_inflated(
    segment: &Segment,
    file: File,
    within: u64,
    wanted: u64,
) -> io::Result<io::Result<Found>> {
    let count = match nth_end_forward(file, within, u64::MAX) {
        Ok(Found::Fewer(count)) => count,
        other => return Ok(other),
    };
    if count < wanted {
        return Ok(Ok(Found::Fewer(count)));
    }
    match segment.open()? {
        Some(file) => Ok(nth_end_forward(file, within, count - wanted + 1)),
        None => Ok(Err(io::Error::other("it was removed during reading"))),
    }
}

fn nth_end_forward(file: File, within: u64, wanted: u64) -> io::Result<Found> {
    let mut inflated = MultiGzDecoder::new(file).take(within);
    let mut block = vec![0; BLOCK];
    let (mut offset, mut count) = (0, 0);
    loop {
        let length = inflated.read(&mut block)?;
        if length == 0 {
            return Ok(Found::Fewer(count));
        }
        for (at, _) in block[..length].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            count += 1;
            if count == wanted {
                return Ok(Found::At(offset + at as u64));
            }
        }
        offset += length as u64;
    }
}
