//! The records of rolled logs: how many bytes of each log were removed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use firesteel_core::ids::ExecutorKey;
use firesteel_core::messages::Stream;

/// The number of logs whose records are kept at least. Beyond it, the oldest record of a log that is no
/// longer written is dropped. The rest of that log then counts as the whole log.
const REMEMBERED: usize = 4096;

/// The record of one log. While its lock is held, the files and the number agree.
#[derive(Debug, Default)]
pub struct Book(Mutex<u64>);

impl Book {
    /// The number of bytes of the log that were removed. The number cannot change while the guard is held.
    pub(super) fn gone(&self) -> MutexGuard<'_, u64> {
        self.0.lock().expect("nobody panics with it")
    }
}

/// The records of all logs of a Worker.
#[derive(Debug, Default)]
pub struct Books(Mutex<Shelf>);

type Key = (ExecutorKey, Stream);

#[derive(Debug, Default)]
struct Shelf {
    books: BTreeMap<Key, Arc<Book>>,
    oldest_first: VecDeque<Key>,
}

impl Books {
    /// Makes a record for a new log.
    #[must_use]
    pub fn open(&self, executor: ExecutorKey, stream: Stream) -> Arc<Book> {
        let mut shelf = self.0.lock().expect("nobody panics with it");
        let book = Arc::new(Book::default());
        let key = (executor, stream);
        if shelf.books.insert(key.clone(), Arc::clone(&book)).is_none() {
            shelf.oldest_first.push_back(key);
        }
        while shelf.oldest_first.len() > REMEMBERED {
            let closed = |key: &Key| shelf.books.get(key).is_none_or(|book| Arc::strong_count(book) == 1);
            let Some(index) = shelf.oldest_first.iter().position(closed) else { break };
            if let Some(key) = shelf.oldest_first.remove(index) {
                shelf.books.remove(&key);
            }
        }
        book
    }

    /// Finds a log's record, if the log is or was rolled.
    pub(super) fn find(&self, executor: &ExecutorKey, stream: Stream) -> Option<Arc<Book>> {
        let shelf = self.0.lock().expect("nobody panics with it");
        shelf.books.get(&(executor.clone(), stream)).cloned()
    }
}
