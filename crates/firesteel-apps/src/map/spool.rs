//! Stores outputs until they can be printed.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::scratch::{self, Scratch};
use firesteel_protocol::ids::{AttemptId, TaskId};
use firesteel_protocol::messages::Stream;

pub use firesteel_engine::map::OutputOrder;

/// How much memory outputs may use, and where the other outputs are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolLimits {
    /// The maximum number of bytes of all outputs in memory.
    pub memory: u64,
    /// The maximum number of bytes in memory for one stream of one attempt.
    pub piece: u64,
    /// The parent of the temporary directory for outputs that exceed a limit.
    pub directory: PathBuf,
}

impl Default for SpoolLimits {
    /// The limits are 64 MiB in total and 256 KiB per stream. Other outputs are stored in `TMPDIR`.
    fn default() -> Self {
        Self { memory: 64 << 20, piece: 256 << 10, directory: std::env::temp_dir() }
    }
}

/// A file of the spool cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep output in {}: {error}", path.display())]
pub struct SpoolError {
    pub path: PathBuf,
    pub error: io::Error,
}

/// The outputs by attempt, and the ended items that wait for earlier items.
///
/// `T` is a ticket that accompanies an ended item. The ticket is dropped once the item is printed.
#[derive(Debug)]
pub struct Spool<T> {
    order: OutputOrder,
    limits: SpoolLimits,
    used: Arc<AtomicU64>,
    directory: Option<Arc<Scratch>>,
    running: BTreeMap<AttemptId, Outputs>,
    ended: BTreeMap<TaskId, Printable<T>>,
    ready: VecDeque<Printable<T>>,
    next: TaskId,
}

/// The outputs of one item that is ready to be printed.
#[derive(Debug)]
pub struct Printable<T> {
    /// Both streams of the item.
    pub outputs: Outputs,
    /// The item's ticket, which is dropped after printing.
    pub ticket: T,
}

#[derive(Debug, Default)]
pub struct Outputs {
    pub stdout: StreamOutput,
    pub stderr: StreamOutput,
}

#[derive(Debug)]
pub enum StreamOutput {
    /// A small output, in memory.
    Memory(Buffer),
    /// A large output, or an output for which the memory limit leaves no space.
    File(SpillFile),
}

impl<T> Spool<T> {
    /// Creates an empty spool. Files are created only when they are needed.
    #[must_use]
    pub fn new(order: OutputOrder, limits: SpoolLimits) -> Self {
        Self {
            order,
            limits,
            used: Arc::default(),
            directory: None,
            running: BTreeMap::new(),
            ended: BTreeMap::new(),
            ready: VecDeque::new(),
            next: TaskId(0),
        }
    }

    /// Sets the task of the first item. The default is task 0.
    #[must_use]
    pub fn from(self, first: TaskId) -> Self {
        Self { next: first, ..self }
    }

    /// Stores a piece of an attempt's output.
    ///
    /// # Errors
    /// The piece does not fit in memory and cannot be written to disk.
    pub fn store(&mut self, attempt: AttemptId, stream: Stream, bytes: &[u8]) -> Result<(), SpoolError> {
        let outputs = self.running.entry(attempt).or_default();
        let (output, name) = match stream {
            Stream::Stdout => (&mut outputs.stdout, "stdout"),
            Stream::Stderr => (&mut outputs.stderr, "stderr"),
        };
        if let StreamOutput::Memory(buffer) = output {
            let length = bytes.len() as u64;
            let fits = buffer.bytes.len() as u64 + length <= self.limits.piece;
            if fits && self.used.load(Ordering::Relaxed) + length <= self.limits.memory {
                buffer.extend(bytes, &self.used);
                return Ok(());
            }
            let directory = match &self.directory {
                Some(directory) => directory.clone(),
                None => self.directory.insert(make_directory(&self.limits.directory)?).clone(),
            };
            let path = directory.path().join(format!("{attempt}.{name}"));
            let mut file = SpillFile::create(path, directory)?;
            file.append(&buffer.bytes)?;
            *output = StreamOutput::File(file);
        }
        match output {
            StreamOutput::File(file) => file.append(bytes),
            StreamOutput::Memory(_) => Ok(()),
        }
    }

    pub fn discard(&mut self, attempt: AttemptId) {
        self.running.remove(&attempt);
    }

    /// Marks a task as ended. The output of attempt `last` counts, if it is present.
    pub fn finish(&mut self, task: TaskId, last: Option<AttemptId>, ticket: T) {
        let outputs = last.and_then(|attempt| self.running.remove(&attempt)).unwrap_or_default();
        let printable = Printable { outputs, ticket };
        match self.order {
            OutputOrder::Completion => self.ready.push_back(printable),
            OutputOrder::Input => {
                self.ended.insert(task, printable);
                while let Some(printable) = self.ended.remove(&self.next) {
                    self.ready.push_back(printable);
                    self.next.0 += 1;
                }
            }
        }
    }

    /// Returns the item that is printed next, if it has ended.
    pub fn pop_ready(&mut self) -> Option<Printable<T>> {
        self.ready.pop_front()
    }
}

fn make_directory(parent: &Path) -> Result<Arc<Scratch>, SpoolError> {
    Scratch::new(scratch::MAP, parent)
        .map(Arc::new)
        .map_err(|error| SpoolError { path: parent.to_owned(), error })
}

impl Outputs {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }
}

impl Default for StreamOutput {
    fn default() -> Self {
        Self::Memory(Buffer::default())
    }
}

impl StreamOutput {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Memory(buffer) => buffer.bytes.is_empty(),
            Self::File(_) => false,
        }
    }

    /// Copies the whole output.
    ///
    /// # Errors
    /// The file cannot be read, or the copy cannot be written; the error's variant distinguishes these cases.
    pub fn copy_to(&self, out: &mut dyn Write) -> Result<(), CopyError> {
        match self {
            Self::Memory(buffer) => out.write_all(&buffer.bytes).map_err(CopyError::Write),
            Self::File(file) => file.copy_to(out),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Read(SpoolError),
    #[error(transparent)]
    Write(io::Error),
}

/// Bytes in memory. Until they are dropped, they count towards the spool's limit.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    used: Arc<AtomicU64>,
}

impl Buffer {
    fn extend(&mut self, bytes: &[u8], used: &Arc<AtomicU64>) {
        if self.bytes.is_empty() {
            self.used = used.clone();
        }
        self.bytes.extend_from_slice(bytes);
        self.used.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// A file of the spool. It is open only while it is written or read, so it may be removed in between: then it is an
/// error, and never a shorter output. The file is removed when this value is dropped.
#[derive(Debug)]
pub struct SpillFile {
    path: PathBuf,
    /// The inode of the file, and the number of bytes written to it.
    inode: u64,
    length: u64,
    /// The temporary directory, removed with its last file.
    _directory: Arc<Scratch>,
}

impl SpillFile {
    fn create(path: PathBuf, directory: Arc<Scratch>) -> Result<Self, SpoolError> {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made.and_then(|file| file.metadata()) {
            Ok(made) => Ok(Self { path, inode: made.ino(), length: 0, _directory: directory }),
            Err(error) => Err(SpoolError { path, error }),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let mut options = OpenOptions::new();
        self.open(options.append(true))
            .and_then(|mut file| file.write_all(bytes))
            .map_err(|error| SpoolError { path: self.path.clone(), error })?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Opens the file, if it still has everything that was written to it.
    fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        let file = options.open(&self.path)?;
        let found = file.metadata()?;
        match (found.ino(), found.len()) == (self.inode, self.length) {
            true => Ok(file),
            false => Err(io::Error::other("it was replaced or changed while the output was kept there")),
        }
    }

    fn copy_to(&self, out: &mut dyn Write) -> Result<(), CopyError> {
        let unread = |error| CopyError::Read(SpoolError { path: self.path.clone(), error });
        let mut file = self.open(OpenOptions::new().read(true)).map_err(unread)?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            match io::Read::read(&mut file, &mut buffer).map_err(unread)? {
                0 => return Ok(()),
                read => out.write_all(&buffer[..read]).map_err(CopyError::Write)?,
            }
        }
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // The whole directory is removed at the end; this only frees the space earlier.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn spool(order: OutputOrder, memory: u64, piece: u64) -> (Spool<u64>, TempDir) {
        let parent = tempfile::tempdir().expect("a directory");
        let limits = SpoolLimits { memory, piece, directory: parent.path().to_owned() };
        (Spool::new(order, limits), parent)
    }

    fn attempt(task: u64, attempt: u32) -> AttemptId {
        AttemptId { task: TaskId(task), attempt }
    }

    fn text(output: &StreamOutput) -> String {
        let mut bytes = Vec::new();
        output.copy_to(&mut bytes).expect("it can be read");
        String::from_utf8(bytes).expect("the tests write text")
    }

    fn printed(spool: &mut Spool<u64>) -> Vec<(u64, String, String)> {
        std::iter::from_fn(|| spool.pop_ready())
            .map(|item| (item.ticket, text(&item.outputs.stdout), text(&item.outputs.stderr)))
            .collect()
    }

    fn files(parent: &TempDir) -> usize {
        let inside = |entry: io::Result<fs::DirEntry>| fs::read_dir(entry.expect("an entry").path());
        // One of the entries is the lock.
        let count = |entry| inside(entry).expect("a directory").count() - 1;
        fs::read_dir(parent.path()).expect("a directory").map(count).sum()
    }

    #[test]
    fn outputs_come_in_the_order_of_the_input() {
        let (mut spool, _parent) = spool(OutputOrder::Input, 1000, 1000);
        for task in [2, 0, 1] {
            let bytes = format!("item {task}");
            spool.store(attempt(task, 0), Stream::Stdout, bytes.as_bytes()).expect("room");
        }
        spool.store(attempt(1, 0), Stream::Stderr, b"oh").expect("room");
        spool.finish(TaskId(2), Some(attempt(2, 0)), 2);
        assert_eq!(printed(&mut spool), []);
        spool.finish(TaskId(0), Some(attempt(0, 0)), 0);
        assert_eq!(printed(&mut spool), [(0, "item 0".into(), String::new())]);
        spool.finish(TaskId(1), Some(attempt(1, 0)), 1);
        assert_eq!(
            printed(&mut spool),
            [(1, "item 1".into(), "oh".into()), (2, "item 2".into(), String::new())]
        );
    }

    #[test]
    fn unordered_outputs_come_as_they_end() {
        let (mut spool, _parent) = spool(OutputOrder::Completion, 1000, 1000);
        for task in [2, 0, 1] {
            spool.store(attempt(task, 0), Stream::Stdout, b"x").expect("room");
            spool.finish(TaskId(task), Some(attempt(task, 0)), task);
        }
        assert_eq!(printed(&mut spool).iter().map(|item| item.0).collect::<Vec<_>>(), [2, 0, 1]);
    }

    #[test]
    fn only_the_last_attempt_is_printed_and_a_cancelled_task_prints_nothing() {
        let (mut spool, _parent) = spool(OutputOrder::Input, 1000, 1000);
        spool.store(attempt(0, 0), Stream::Stdout, b"half").expect("room");
        spool.discard(attempt(0, 0));
        spool.store(attempt(0, 1), Stream::Stdout, b"whole").expect("room");
        spool.finish(TaskId(0), Some(attempt(0, 1)), 0);
        spool.finish(TaskId(1), None, 1);
        assert_eq!(
            printed(&mut spool),
            [(0, "whole".into(), String::new()), (1, String::new(), String::new())]
        );
        assert_eq!(spool.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_long_output_moves_to_a_file_that_goes_once_it_is_printed() {
        let (mut spool, parent) = spool(OutputOrder::Input, 1000, 8);
        for piece in ["12345", "678", "9", "0"] {
            spool.store(attempt(0, 0), Stream::Stdout, piece.as_bytes()).expect("room");
        }
        assert_eq!((files(&parent), spool.used.load(Ordering::Relaxed)), (1, 0));
        spool.finish(TaskId(0), Some(attempt(0, 0)), 0);
        assert_eq!(printed(&mut spool), [(0, "1234567890".into(), String::new())]);
        assert_eq!(files(&parent), 0);
    }

    #[test]
    fn what_is_over_the_budget_goes_to_files_and_room_comes_back() {
        let (mut spool, parent) = spool(OutputOrder::Input, 10, 8);
        spool.store(attempt(0, 0), Stream::Stdout, b"1234567").expect("room");
        spool.store(attempt(1, 0), Stream::Stdout, b"abcd").expect("room on disk");
        spool.store(attempt(2, 0), Stream::Stderr, b"xyz").expect("room");
        assert_eq!((files(&parent), spool.used.load(Ordering::Relaxed)), (1, 10));
        spool.discard(attempt(0, 0));
        spool.discard(attempt(1, 0));
        assert_eq!((files(&parent), spool.used.load(Ordering::Relaxed)), (0, 3));
        spool.store(attempt(3, 0), Stream::Stdout, b"7 bytes").expect("room");
        assert_eq!((files(&parent), spool.used.load(Ordering::Relaxed)), (0, 10));
    }

    #[test]
    fn the_directory_goes_with_the_spool_and_its_last_output() {
        let (mut spool, parent) = spool(OutputOrder::Input, 0, 0);
        let entries = || fs::read_dir(parent.path()).expect("a directory").count();
        spool.store(attempt(0, 0), Stream::Stdout, b"a").expect("room on disk");
        spool.store(attempt(1, 0), Stream::Stdout, b"b").expect("room on disk");
        spool.finish(TaskId(0), Some(attempt(0, 0)), 0);
        let last = spool.pop_ready().expect("it has ended");
        drop(spool);
        assert_eq!((text(&last.outputs.stdout), entries()), ("a".into(), 1));
        drop(last);
        assert_eq!(entries(), 0);
    }

    #[test]
    fn an_output_whose_file_was_removed_or_changed_is_an_error_and_never_shorter() {
        type Tamper = fn(&Path);
        let tamperings: [(&str, Tamper); 4] = [
            ("removed", |file| fs::remove_file(file).expect("it is there")),
            ("removed with its directory", |file| {
                fs::remove_dir_all(file.parent().expect("it has one")).expect("it is there");
            }),
            ("made anew", |file| {
                fs::rename(file, file.with_extension("old")).expect("it is there");
                fs::write(file, "1234567890").expect("there is room");
            }),
            ("cut", |file| fs::write(file, "12").expect("there is room")),
        ];
        for (name, tamper) in tamperings {
            let (mut spool, parent) = spool(OutputOrder::Input, 1000, 8);
            let piece = |spool: &mut Spool<u64>| spool.store(attempt(0, 0), Stream::Stdout, b"1234567890");
            piece(&mut spool).expect("room on disk");
            let directory = fs::read_dir(parent.path()).expect("a directory").next().expect("one");
            tamper(&directory.expect("it is listed").path().join("0.0.stdout"));
            let error = piece(&mut spool).expect_err(name).to_string();
            assert!(error.starts_with("cannot keep output in "), "{name}: {error}");
            spool.finish(TaskId(0), Some(attempt(0, 0)), 0);
            let printed = spool.pop_ready().expect("it has ended");
            let copied = printed.outputs.stdout.copy_to(&mut Vec::new());
            assert!(matches!(copied, Err(CopyError::Read(_))), "{name}");
        }
    }

    #[test]
    fn a_disk_that_takes_nothing_is_named() {
        let mut spool = Spool::<u64>::new(
            OutputOrder::Input,
            SpoolLimits { memory: 0, piece: 0, directory: "/nowhere".into() },
        );
        let error = spool.store(attempt(0, 0), Stream::Stdout, b"a").expect_err("no such directory");
        assert!(error.to_string().starts_with("cannot keep output in /nowhere"), "{error}");
    }
}
