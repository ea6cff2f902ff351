//! What is known of logs that are rolled, besides their files: how much of each is no more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use firesteel_core::ids::ExecutorKey;
use firesteel_core::messages::Stream;

/// Logs that are remembered at least. Past it the oldest that is no longer written is forgotten; what is left of
/// it then counts as the whole.
const REMEMBERED: usize = 4096;

/// One log's book. Whoever holds it locked finds the files and the number in accord.
#[derive(Debug, Default)]
pub struct Book(Mutex<u64>);

impl Book {
    /// Bytes of the log that were removed, for as long as it is held.
    pub(super) fn gone(&self) -> MutexGuard<'_, u64> {
        self.0.lock().expect("nobody panics with it")
    }
}

/// The books of a Worker's logs.
#[derive(Debug, Default)]
pub struct Books(Mutex<Shelf>);

type Key = (ExecutorKey, Stream);

#[derive(Debug, Default)]
struct Shelf {
    books: BTreeMap<Key, Arc<Book>>,
    oldest_first: VecDeque<Key>,
}

impl Books {
    /// A new book for a log that begins.
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

    /// A log's book, if it is or was rolled.
    pub(super) fn find(&self, executor: &ExecutorKey, stream: Stream) -> Option<Arc<Book>> {
        let shelf = self.0.lock().expect("nobody panics with it");
        shelf.books.get(&(executor.clone(), stream)).cloned()
    }
}
