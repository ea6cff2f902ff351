//! How many bytes of each rolled log were removed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use firesteel_protocol::messages::{LogAuthor, Stream};

/// The minimum number of logs whose removed bytes are remembered. Beyond this number, the oldest finished log is
/// forgotten. Then the remaining files of that log count as the whole log.
const REMEMBERED: usize = 4096;

/// The number of removed bytes of one log. While the lock is held, the number matches the files.
#[derive(Debug, Default)]
pub struct RemovedBytes(Mutex<u64>);

impl RemovedBytes {
    /// The number of bytes of the log that were removed. The number cannot change while the guard is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, u64> {
        self.0.lock().expect("no thread panics with the lock")
    }
}

/// The numbers of removed bytes of all logs of a Worker.
#[derive(Debug, Default)]
pub struct RemovedBytesTable(Mutex<Table>);

type Key = (LogAuthor, Stream);

#[derive(Debug, Default)]
struct Table {
    logs: BTreeMap<Key, Arc<RemovedBytes>>,
    oldest_first: VecDeque<Key>,
}

impl RemovedBytesTable {
    #[must_use]
    pub fn open(&self, author: LogAuthor, stream: Stream) -> Arc<RemovedBytes> {
        let mut table = self.0.lock().expect("no thread panics with the lock");
        let removed = Arc::new(RemovedBytes::default());
        let key = (author, stream);
        if table.logs.insert(key.clone(), Arc::clone(&removed)).is_none() {
            table.oldest_first.push_back(key);
        }
        while table.oldest_first.len() > REMEMBERED {
            let closed =
                |key: &Key| table.logs.get(key).is_none_or(|removed| Arc::strong_count(removed) == 1);
            let Some(index) = table.oldest_first.iter().position(closed) else { break };
            if let Some(key) = table.oldest_first.remove(index) {
                table.logs.remove(&key);
            }
        }
        removed
    }

    /// Finds the entry of a log, if the log is or was rolled.
    pub(super) fn find(&self, author: &LogAuthor, stream: Stream) -> Option<Arc<RemovedBytes>> {
        let table = self.0.lock().expect("no thread panics with the lock");
        table.logs.get(&(author.clone(), stream)).cloned()
    }
}
