//! Appends batches and begins new generations.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use super::directory::JournalError;
use super::frame::{self, END, FRAME};
use crate::meter::{Counter, Histogram};

/// A generation may have this many bytes of batches, even if its image is shorter.
const LEAST: u64 = 4 << 20;

/// A batch with this many bytes should be committed at once.
const FULL: usize = 1 << 20;

/// A disk counts as quick if it stores a batch within this time.
const QUICK: Duration = Duration::from_millis(2);

/// The length in bytes of an end mark.
pub const END_MARK: usize = END;

#[derive(Debug)]
pub struct Batch {
    /// Unused space for the head of the frame, and then the bytes.
    frame: BytesMut,
}

impl Default for Batch {
    fn default() -> Self {
        Self { frame: BytesMut::zeroed(FRAME) }
    }
}

impl Batch {
    /// The end of the batch's bytes, to append more.
    pub fn end(&mut self) -> &mut BytesMut {
        &mut self.frame
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frame.len() == FRAME
    }

    /// Whether the batch is long enough to be committed at once.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.frame.len() > FULL
    }
}

#[derive(Debug)]
pub struct Writer {
    storage: Box<dyn Storage>,
    next: u64,
    /// The checksum of the checksums of all frames.
    chain: u32,
    /// The length of the image, and of the batches after it.
    image: u64,
    batches: u64,
    has_failed: bool,
    /// Whether a process that opens the journal later will not find the committed batches.
    is_lost: bool,
    /// How long the last batch took to become durable. `None` before the first batch.
    took: Option<Duration>,
    meter: Arc<JournalMeter>,
}

#[derive(Debug, Default)]
pub struct JournalMeter {
    /// How long each batch took to become durable.
    pub commits: Histogram,
    /// The bytes of all batches and images that were written.
    pub bytes: Counter,
    /// How often a new image has replaced the files.
    pub images: Counter,
}

/// A place that stores the bytes of a journal. What it is given ends with an end mark of [`END_MARK`] bytes, which the
/// next bytes replace. A storage that cannot replace bytes leaves the end marks out.
pub trait Storage: Send + fmt::Debug {
    /// Begins a new generation with these bytes. When they are durable, removes earlier generations.
    ///
    /// # Errors
    /// The bytes are not durable. The previous generation is then still there.
    fn begin(&mut self, bytes: &[u8]) -> Result<(), JournalError>;

    /// Makes these bytes durable, after all other bytes of the generation. They may be durable where nobody finds them:
    /// see [`is_in_place`](Self::is_in_place).
    ///
    /// # Errors
    /// It is not certain that the bytes are durable.
    fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError>;

    /// Whether the storage is a disk of this machine. A local disk stores a few bytes about as fast as a thread is
    /// woken.
    fn is_local(&self) -> bool {
        false
    }

    /// Whether a process that opens the journal later will find the written data. The directory may have been removed
    /// or replaced.
    fn is_in_place(&self) -> bool {
        true
    }

    /// The number of bytes that the storage uses to append this number of bytes.
    fn cost(&self, bytes: u64) -> u64 {
        bytes
    }
}

impl Writer {
    /// Begins a new generation with this image.
    ///
    /// # Errors
    /// The image is not durable. Earlier generations are then still there.
    pub fn begin(storage: impl Storage + 'static, image: &[u8]) -> Result<Self, JournalError> {
        let storage = Box::new(storage);
        let mut writer = Self {
            storage,
            next: 1,
            chain: 0,
            image: 0,
            batches: 0,
            has_failed: false,
            is_lost: false,
            took: None,
            meter: Arc::default(),
        };
        writer.replace(image)?;
        Ok(writer)
    }

    /// Makes a batch durable, unless the journal [is lost](Self::is_lost) afterwards. An empty batch is not written.
    ///
    /// # Errors
    /// It is not certain that the batch is durable. Nothing more can be written.
    pub fn commit(&mut self, batch: Batch) -> Result<(), JournalError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut frame = batch.frame;
        frame::seal(&mut frame, self.next);
        if self.has_failed {
            return Err(JournalError::FailedBefore);
        }
        let chain = frame::chained(self.chain, &frame);
        frame.extend_from_slice(&frame::end(self.next, chain));
        let begun = Instant::now();
        self.storage.append(&frame).inspect_err(|_| self.has_failed = true)?;
        let took = begun.elapsed();
        self.took = Some(took);
        self.meter.commits.record(took);
        self.meter.bytes.add(frame.len() as u64);
        self.look();
        (self.next, self.chain) = (self.next + 1, chain);
        self.batches += self.storage.cost(frame.len() as u64);
        Ok(())
    }

    /// Whether the next batch will probably be durable before another thread could begin to write it. `true` if the
    /// last batch was quick, on a disk of this machine.
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.storage.is_local() && self.took.is_some_and(|took| took < QUICK)
    }

    #[must_use]
    pub fn meter(&self) -> Arc<JournalMeter> {
        Arc::clone(&self.meter)
    }

    /// Whether the batches have become so long that a new image takes less space.
    #[must_use]
    pub fn wants_image(&self) -> bool {
        self.batches > LEAST.max(self.image.saturating_mul(2))
    }

    /// Finds out whether the journal is still in its place. Each commit does so after its sync.
    pub fn look(&mut self) {
        self.is_lost = !self.storage.is_in_place();
    }

    /// Whether a process that opens the journal later will not find the committed batches, as of the last
    /// [look](Self::look). Only a new image helps.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Replaces everything that was committed with this image, in a new generation.
    ///
    /// # Errors
    /// The image is not durable. Nothing more can be written.
    pub fn replace(&mut self, image: &[u8]) -> Result<(), JournalError> {
        let (file, chain) = frame::file(image);
        self.storage.begin(&file).inspect_err(|_| self.has_failed = true)?;
        (self.next, self.chain, self.image) = (1, chain, image.len() as u64);
        (self.batches, self.is_lost) = (0, false);
        self.meter.images.add(1);
        self.meter.bytes.add(self.image);
        Ok(())
    }

    /// Writes to another storage from now on.
    #[cfg(test)]
    pub(super) fn write_to(&mut self, storage: impl Storage + 'static) {
        self.storage = Box::new(storage);
    }
}
