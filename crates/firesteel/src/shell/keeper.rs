//! Outputs of tasks in the background: each is kept in a file, by a thread, until its task is forgotten.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::{fs, thread};

use bytes::Bytes;
use firesteel_core::ids::{AttemptId, TaskId};
use tempfile::TempDir;

use crate::driver_daemon::Handle;

/// What a task wrote to both of its outputs, in the order in which it came.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    length: AtomicU64,
    /// How often it began anew, because the task did.
    rounds: AtomicU64,
    /// Why it is not complete.
    error: Mutex<Option<String>>,
    /// Goes with its last file.
    _directory: Arc<TempDir>,
}

impl Record {
    /// How many bytes there are.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Acquire)
    }

    /// How often it began anew.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }

    /// Why it is not complete, if it is not.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        self.error.lock().expect("nobody panics with it in hand").clone()
    }

    /// Some bytes from there on; none at the end.
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
            Ok(()) => drop(self.length.fetch_add(bytes.len() as u64, Ordering::AcqRel)),
            Err(error) => {
                let words = format!("its output cannot be kept in {}: {error}", self.path.display());
                self.error.lock().expect("nobody panics with it in hand").get_or_insert(words);
            }
        }
    }

    fn begin_anew(&self) {
        // One that was never written is not there.
        let _ = fs::remove_file(&self.path);
        self.length.store(0, Ordering::Release);
        self.rounds.fetch_add(1, Ordering::AcqRel);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The thread that writes. Its queue is bounded by the credit of the tasks.
#[derive(Debug)]
pub struct Keeper {
    pieces: mpsc::Sender<Piece>,
    directory: Arc<TempDir>,
}

#[derive(Debug)]
enum Piece {
    Output(Arc<Record>, AttemptId, Bytes),
    Anew(Arc<Record>),
    /// Somebody waits until everything before is written.
    Mark(tokio::sync::oneshot::Sender<()>),
}

impl Keeper {
    /// Starts the thread. `driver` is told what was put away.
    ///
    /// # Errors
    /// There is no place for files, or no thread.
    pub fn start(driver: Handle) -> io::Result<Self> {
        let directory = Arc::new(tempfile::Builder::new().prefix("firesteel-shell-").tempdir()?);
        let (pieces, incoming) = mpsc::channel();
        thread::Builder::new().name("keeper".into()).spawn(move || {
            for piece in incoming {
                match piece {
                    Piece::Output(record, attempt, bytes) => {
                        record.append(&bytes);
                        // The application may be over by now.
                        let _ = driver.consumed(attempt, bytes.len() as u64);
                    }
                    Piece::Anew(record) => record.begin_anew(),
                    Piece::Mark(written) => drop(written.send(())),
                }
            }
        })?;
        Ok(Self { pieces, directory })
    }

    /// An empty record for a task.
    #[must_use]
    pub fn record(&self, task: TaskId) -> Arc<Record> {
        Arc::new(Record {
            path: self.directory.path().join(task.to_string()),
            length: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            error: Mutex::new(None),
            _directory: self.directory.clone(),
        })
    }

    /// Keeps a piece of output.
    pub fn keep(&self, record: &Arc<Record>, attempt: AttemptId, bytes: Bytes) {
        // The thread ends only with this.
        let _ = self.pieces.send(Piece::Output(record.clone(), attempt, bytes));
    }

    /// What was kept is worth nothing: the task runs again.
    pub fn begin_anew(&self, record: &Arc<Record>) {
        let _ = self.pieces.send(Piece::Anew(record.clone()));
    }

    /// Waits until everything that came before is written.
    pub async fn settled(&self) {
        let (sender, written) = tokio::sync::oneshot::channel();
        let _ = self.pieces.send(Piece::Mark(sender));
        let _ = written.await;
    }
}
