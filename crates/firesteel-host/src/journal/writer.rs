//! Appends batches and begins new generations.

use std::fs::{self, File};
use std::io::{self, Write};

use bytes::BytesMut;

use super::directory::{Directory, JournalError, options};
use super::frame::{self, FRAME};

/// A file may have this many bytes of batches, however short its image is.
const LEAST: u64 = 4 << 20;

/// A batch that has that many bytes should be committed, whatever they are.
const FULL: usize = 1 << 20;

/// The bytes of one batch: they become durable together.
#[derive(Debug)]
pub struct Batch {
    /// The room for the beginning of the frame, and the bytes.
    frame: BytesMut,
}

impl Default for Batch {
    fn default() -> Self {
        Self { frame: BytesMut::zeroed(FRAME) }
    }
}

impl Batch {
    /// The end of its bytes, to append more.
    pub fn end(&mut self) -> &mut BytesMut {
        &mut self.frame
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frame.len() == FRAME
    }

    /// Whether it is long enough to be committed, whatever is in it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.frame.len() > FULL
    }
}

/// Appends batches to a journal.
#[derive(Debug)]
pub struct Writer {
    directory: Directory,
    file: Box<dyn Storage>,
    generation: u64,
    /// The number of the next frame.
    next: u64,
    /// The length of the image, and of the batches since.
    image: u64,
    batches: u64,
    has_failed: bool,
}

/// Where a journal's bytes go: a file, or what fails as a disk does.
pub(super) trait Storage: Write + Send + std::fmt::Debug {
    /// Waits until everything that was written is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Writer {
    /// Begins a new generation with this image. Earlier generations are removed when it is durable.
    ///
    /// # Errors
    /// A file cannot be written. Earlier generations are then still there.
    ///
    /// # Panics
    /// The directory is not locked.
    pub fn begin(directory: Directory, image: &[u8]) -> Result<Self, JournalError> {
        assert!(directory.is_locked(), "only who has the lock writes a journal");
        let generation = directory.generations()?.last().map_or(1, |latest| latest + 1);
        let file = write_image(&directory, generation, image)?;
        let image = image.len() as u64;
        let file: Box<dyn Storage> = Box::new(file);
        Ok(Self { directory, file, generation, next: 1, image, batches: 0, has_failed: false })
    }

    /// Makes a batch durable. One without bytes is not written.
    ///
    /// # Errors
    /// The batch is not durable, as far as anybody knows. Nothing more can be written.
    pub fn commit(&mut self, batch: Batch) -> Result<(), JournalError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut frame = batch.frame;
        frame::seal(&mut frame, self.next);
        let result = match self.has_failed {
            false => self.file.write_all(&frame).and_then(|()| self.file.sync()),
            true => Err(io::Error::other("an earlier write has failed")),
        };
        if let Err(error) = result {
            self.has_failed = true;
            let path = self.directory.file(self.generation);
            return Err(JournalError::Io { action: "write", path, error });
        }
        self.next += 1;
        self.batches += frame.len() as u64;
        Ok(())
    }

    /// Whether the batches have outgrown the image: a new one takes less room than they do.
    #[must_use]
    pub fn wants_image(&self) -> bool {
        self.batches > LEAST.max(self.image.saturating_mul(2))
    }

    /// Replaces everything that was committed with this image of it, in a new generation.
    ///
    /// # Errors
    /// The image is not durable. Nothing more can be written.
    pub fn replace(&mut self, image: &[u8]) -> Result<(), JournalError> {
        let file = write_image(&self.directory, self.generation + 1, image);
        self.has_failed |= file.is_err();
        self.file = Box::new(file?);
        self.generation += 1;
        self.next = 1;
        self.image = image.len() as u64;
        self.batches = 0;
        Ok(())
    }

    /// Writes to something else from now on.
    #[cfg(test)]
    pub(super) fn write_to(&mut self, storage: impl Storage + 'static) {
        self.file = Box::new(storage);
    }
}

/// Writes a file with an image and no batches. It gets its name when it is durable; then earlier ones are removed.
fn write_image(directory: &Directory, generation: u64, image: &[u8]) -> Result<File, JournalError> {
    let path = directory.file(generation);
    let new = path.with_extension("new");
    let write = || -> io::Result<File> {
        let mut frame = vec![0; FRAME + image.len()];
        frame[FRAME..].copy_from_slice(image);
        frame::seal(&mut frame, 0);
        let mut file = options().truncate(true).open(&new)?;
        file.write_all(&frame::head())?;
        file.write_all(&frame)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        directory.sync()?;
        Ok(file)
    };
    let file = write().map_err(|error| JournalError::Io { action: "write", path: path.clone(), error })?;
    for old in directory.generations()?.into_iter().filter(|old| *old < generation) {
        let path = directory.file(old);
        fs::remove_file(&path).map_err(|error| JournalError::Io { action: "remove", path, error })?;
    }
    Ok(file)
}
