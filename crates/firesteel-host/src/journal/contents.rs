//! The contents of a journal file.

use std::ops::Range;

use super::frame::{self, Damage, END, HEAD};

#[derive(Clone, Debug)]
pub struct Contents {
    file: Vec<u8>,
    image: Range<usize>,
    batches: Vec<Range<usize>>,
    tail: Tail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The file ends with a whole batch and an end mark. Zeros may follow, as space for further batches.
    Whole,
    /// The file ends with a whole batch, but has no end mark. Either a release that writes no end marks has written the
    /// file, or the end of the file was cut off or replaced by zeros.
    Unmarked,
    /// The file ends with an unfinished batch: the machine stopped while the batch was being written. No message about
    /// its contents was sent.
    Torn {
        /// The position of the unfinished batch.
        at: u64,
        bytes: u64,
    },
}

impl Contents {
    /// Reads a whole file.
    ///
    /// # Errors
    /// The file is damaged, or is not a journal file.
    pub fn of(file: Vec<u8>) -> Result<Self, Damage> {
        frame::check_head(&file)?;
        let image = frame::open(&file, HEAD, |number| number == 0).ok_or(Damage::Image)?;
        let mut chain = frame::chained(0, &file[HEAD..]);
        let mut batches: Vec<Range<usize>> = Vec::new();
        let mut at = image.end;
        while let Some(batch) = frame::open(&file, at, |number| number == batches.len() as u64 + 1) {
            chain = frame::chained(chain, &file[at..]);
            at = batch.end;
            batches.push(batch);
        }
        let whole = batches.len() as u64;
        let tail = match frame::end_at(&file, at, whole) {
            None => tail(&file, at, whole)?,
            Some(end) if end != chain => return Err(Damage::Chain { whole }),
            Some(_) => match tail(&file, at + END, whole)? {
                Tail::Unmarked => Tail::Whole,
                torn => torn,
            },
        };
        Ok(Self { file, image, batches, tail })
    }

    #[must_use]
    pub fn image(&self) -> &[u8] {
        &self.file[self.image.clone()]
    }

    /// The batches after the image, oldest first.
    pub fn batches(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.batches.iter().map(|range| &self.file[range.clone()])
    }

    #[must_use]
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// The valid bytes, without an end mark, an unfinished batch and the unused space.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.file[..self.end()]
    }

    fn end(&self) -> usize {
        self.batches.last().unwrap_or(&self.image).end
    }

    /// The number of valid bytes, without an unfinished batch.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end() as u64
    }
}

/// Examines the end of a file, from `at` on. `whole` whole batches come before `at`; no further one begins there.
fn tail(file: &[u8], at: usize, whole: u64) -> Result<Tail, Damage> {
    let Some(last) = file[at..].iter().rposition(|byte| *byte != 0) else { return Ok(Tail::Unmarked) };
    match frame::find(file, at, |number| number > whole) {
        None => Ok(Tail::Torn { at: at as u64, bytes: last as u64 + 1 }),
        Some(next) => Err(Damage::Batch { at: at as u64, bytes: (next - at) as u64, whole }),
    }
}
