//! The outputs of background tasks. A thread keeps each output in a file until its task is
//! forgotten. If the files together exceed their limit, the outputs of the tasks that ended first
//! are removed.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak, mpsc};
use std::{fs, thread};

use crate::scratch::{self, Scratch};
use bytes::Bytes;
use firesteel_protocol::ids::{AttemptId, TaskId};

use firesteel_daemons::driver_daemon::Handle;
use firesteel_settings::keys;

/// The output of one task on both streams, in order of arrival.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    length: AtomicU64,
    /// How often the output was discarded because the task ran again.
    rounds: AtomicU64,
    loss: Mutex<Option<Arc<Loss>>>,
    room: Arc<Room>,
}

/// Why a record is incomplete, as a clause about the output.
#[derive(Debug, thiserror::Error)]
pub enum Loss {
    /// The output could not be written to disk.
    #[error("cannot be kept in {}: {error}", path.display())]
    Write {
        /// Path of the record's file.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The limit was reached while the output was written.
    #[error("is kept up to its first {kept} bytes: {} has no more room ({most} bytes)", keys::KEPT_OUTPUT)]
    Cut {
        /// Number of bytes that were kept.
        kept: u64,
        /// Maximum number of bytes of all records together.
        most: u64,
    },
    /// The record was removed to make room for others.
    #[error("is forgotten: {} has room for {most} bytes of all tasks together", keys::KEPT_OUTPUT)]
    Forgotten {
        /// Maximum number of bytes of all records together.
        most: u64,
    },
}

/// The space that all records share.
#[derive(Debug)]
struct Room {
    most: u64,
    used: AtomicU64,
    /// The temporary directory, removed with its last file.
    directory: Scratch,
}

impl Record {
    /// Number of bytes in the record.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Acquire)
    }

    /// How often the output was discarded because the task ran again.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }

    /// Why the record is incomplete, if it is.
    #[must_use]
    pub fn loss(&self) -> Option<Arc<Loss>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Loss>>> {
        self.loss.lock().expect("nobody panics with it in hand")
    }

    /// Some bytes from this position on; none at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, at: u64) -> io::Result<Vec<u8>> {
        let most = self.length().saturating_sub(at).min(64 << 10);
        let mut bytes = vec![0; usize::try_from(most).expect("it is small")];
        if !bytes.is_empty() {
            let read = File::open(&self.path)?.read_at(&mut bytes, at)?;
            bytes.truncate(read);
        }
        Ok(bytes)
    }

    fn append(&self, bytes: &[u8]) {
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(bytes));
        match written {
            Ok(()) => {
                self.room.used.fetch_add(bytes.len() as u64, Ordering::AcqRel);
                self.length.fetch_add(bytes.len() as u64, Ordering::AcqRel);
            }
            Err(error) => self.lose(Loss::Write { path: self.path.clone(), error }),
        }
    }

    /// Sets the reason for a loss. The first reason is kept.
    fn lose(&self, loss: Loss) {
        self.lock().get_or_insert_with(|| Arc::new(loss));
    }

    fn begin_anew(&self) {
        self.clear();
        *self.lock() = None;
        self.rounds.fetch_add(1, Ordering::AcqRel);
    }

    fn forget(&self) {
        // Set the reason first, so that a reader knows it.
        self.lose(Loss::Forgotten { most: self.room.most });
        self.clear();
    }

    fn clear(&self) {
        // A record without output has no file.
        let _ = fs::remove_file(&self.path);
        let length = self.length.swap(0, Ordering::AcqRel);
        self.room.used.fetch_sub(length, Ordering::AcqRel);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Keeps the outputs of background tasks. The credit of the tasks bounds its queue.
#[derive(Debug)]
pub struct Keeper {
    pieces: mpsc::Sender<Piece>,
    room: Arc<Room>,
}

#[derive(Debug)]
enum Piece {
    Output(Arc<Record>, AttemptId, Bytes),
    Anew(Arc<Record>),
    /// The record's task has ended.
    Ended(Arc<Record>),
    /// A caller waits until everything before is written.
    Mark(tokio::sync::oneshot::Sender<()>),
}

impl Keeper {
    /// Starts the thread. `most` is the maximum number of bytes of all records together. `driver`
    /// is told which bytes were kept.
    ///
    /// # Errors
    /// The temporary directory cannot be created, or the thread cannot be started.
    pub fn start(driver: Handle, most: u64) -> io::Result<Self> {
        let directory = Scratch::new(scratch::SHELL, &std::env::temp_dir())?;
        let (pieces, incoming) = mpsc::channel();
        thread::Builder::new().name("keeper".into()).spawn(move || {
            let mut shelf = Shelf::default();
            for piece in incoming {
                match piece {
                    Piece::Output(record, attempt, bytes) => {
                        shelf.append(&record, &bytes);
                        // The application may be over already.
                        let _ = driver.consumed(attempt, bytes.len() as u64);
                    }
                    Piece::Anew(record) => record.begin_anew(),
                    Piece::Ended(record) => shelf.put(&record),
                    Piece::Mark(written) => drop(written.send(())),
                }
            }
        })?;
        Ok(Self { pieces, room: Arc::new(Room { most, used: AtomicU64::new(0), directory }) })
    }

    /// Creates an empty record for a task.
    #[must_use]
    pub fn record(&self, task: TaskId) -> Arc<Record> {
        record(&self.room, task)
    }

    /// Keeps a piece of output.
    pub fn keep(&self, record: &Arc<Record>, attempt: AttemptId, bytes: Bytes) {
        // The thread lives as long as this value.
        let _ = self.pieces.send(Piece::Output(record.clone(), attempt, bytes));
    }

    /// Discards the output of a record, because its task runs again.
    pub fn begin_anew(&self, record: &Arc<Record>) {
        let _ = self.pieces.send(Piece::Anew(record.clone()));
    }

    /// Notes that the task has ended. Its record may now be removed to make room.
    pub fn end(&self, record: &Arc<Record>) {
        let _ = self.pieces.send(Piece::Ended(record.clone()));
    }

    /// Waits until everything queued before is written.
    pub async fn settled(&self) {
        let (sender, written) = tokio::sync::oneshot::channel();
        let _ = self.pieces.send(Piece::Mark(sender));
        let _ = written.await;
    }
}

fn record(room: &Arc<Room>, task: TaskId) -> Arc<Record> {
    Arc::new(Record {
        path: room.directory.path().join(task.to_string()),
        length: AtomicU64::new(0),
        rounds: AtomicU64::new(0),
        loss: Mutex::new(None),
        room: Arc::clone(room),
    })
}

/// The records of ended tasks, in the order in which the tasks ended.
#[derive(Debug, Default)]
struct Shelf {
    ended: VecDeque<Weak<Record>>,
}

impl Shelf {
    fn put(&mut self, record: &Arc<Record>) {
        // Drop the records of forgotten tasks.
        self.ended.retain(|record| record.strong_count() > 0);
        self.ended.push_back(Arc::downgrade(record));
    }

    /// Appends as many bytes as there is room for. Nothing is appended to a record that was cut.
    fn append(&mut self, record: &Record, bytes: &[u8]) {
        if record.loss().is_some() {
            return;
        }
        let Room { most, used, .. } = &*record.room;
        let free = || most.saturating_sub(used.load(Ordering::Acquire));
        while free() < bytes.len() as u64
            && let Some(first) = self.ended.pop_front()
        {
            if let Some(first) = first.upgrade() {
                first.forget();
            }
        }
        let fits = usize::try_from(free()).unwrap_or(usize::MAX).min(bytes.len());
        if fits > 0 {
            record.append(&bytes[..fits]);
        }
        if fits < bytes.len() {
            record.lose(Loss::Cut { kept: record.length(), most: *most });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(most: u64) -> Arc<Room> {
        let directory = Scratch::new(scratch::SHELL, &std::env::temp_dir()).expect("a temporary directory");
        Arc::new(Room { most, used: AtomicU64::new(0), directory })
    }

    fn state(record: &Record) -> (Vec<u8>, Option<String>) {
        (record.read(0).expect("it can be read"), record.loss().map(|loss| loss.to_string()))
    }

    #[test]
    fn the_records_of_tasks_that_ended_first_make_room_for_others() {
        let (room, mut shelf) = (room(10), Shelf::default());
        let records: Vec<_> = (0..4).map(|task| record(&room, TaskId(task))).collect();
        for number in [0, 1] {
            shelf.append(&records[number], b"1234");
            shelf.put(&records[number]);
        }
        shelf.append(&records[2], b"56");
        shelf.append(&records[2], b"7");
        let words = "is forgotten: firesteel.shell.keptOutput has room for 10 bytes of all tasks together";
        assert_eq!(state(&records[0]), (Vec::new(), Some(words.to_owned())));
        assert_eq!(state(&records[1]), (b"1234".to_vec(), None));
        assert_eq!(state(&records[2]), (b"567".to_vec(), None));
        // The records of running tasks are never removed.
        shelf.append(&records[3], b"abcdefgh");
        let words = "is kept up to its first 7 bytes: firesteel.shell.keptOutput has no more room (10 bytes)";
        assert_eq!(state(&records[3]), (b"abcdefg".to_vec(), Some(words.to_owned())));
        assert!(records[1].loss().is_some() && records[2].loss().is_none());
        drop(records);
        assert_eq!(room.used.load(Ordering::Acquire), 0);
        assert_eq!(fs::read_dir(room.directory.path()).expect("it is there").count(), 1, "the lock");
    }

    #[test]
    fn a_record_that_was_cut_begins_anew_with_its_task() {
        let (room, mut shelf) = (room(4), Shelf::default());
        let record = record(&room, TaskId(0));
        shelf.append(&record, b"12345");
        shelf.append(&record, b"6");
        assert_eq!((record.length(), record.loss().is_some()), (4, true));
        record.begin_anew();
        shelf.append(&record, b"abc");
        assert_eq!((state(&record), record.rounds()), ((b"abc".to_vec(), None), 1));
    }
}
