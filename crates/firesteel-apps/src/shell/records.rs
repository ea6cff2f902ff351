//! The outputs of background tasks. Each output is stored in a file until its task is forgotten. If the files together
//! exceed their limit, the outputs of the tasks that ended first are removed.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use firesteel_protocol::ids::TaskId;
use firesteel_settings::keys::KEPT_OUTPUT;

use crate::scratch::{self, Scratch};

/// Maximum number of bytes that are read at once.
const PIECE: u64 = 64 << 10;

/// The outputs of background tasks.
#[derive(Debug)]
pub(super) struct Records {
    rows: BTreeMap<TaskId, Record>,
    /// The tasks that have ended, in the order of their ends.
    ended: VecDeque<TaskId>,
    /// The output that is being printed, and the position of its next byte.
    bookmark: (TaskId, u64),
    /// The maximum number of bytes of all outputs together.
    most: u64,
    used: u64,
    /// The temporary directory, removed with its last file.
    directory: Scratch,
}

/// The output of one task on standard output and standard error, in order of arrival.
#[derive(Debug, Default)]
struct Record {
    length: u64,
    /// Why the output is incomplete, as a clause about the output.
    loss: Option<String>,
}

impl Records {
    pub(super) fn new(most: u64) -> io::Result<Self> {
        let directory = Scratch::new(scratch::SHELL, &std::env::temp_dir())?;
        let (rows, ended, bookmark) = (BTreeMap::new(), VecDeque::new(), (TaskId::FIRST, 0));
        Ok(Self { rows, ended, bookmark, most, used: 0, directory })
    }

    /// Begins the file for a task's output.
    pub(super) fn begin(&mut self, task: TaskId) {
        self.rows.insert(task, Record::default());
    }

    /// Discards the output so far, because the task runs again.
    pub(super) fn restart(&mut self, task: TaskId) {
        self.clear(task);
        self.begin(task);
        if self.bookmark.0 == task {
            self.rewind(task);
        }
    }

    /// Handles the end of a task. From now on, its output may be removed if the limit is exceeded.
    pub(super) fn close(&mut self, task: TaskId) {
        self.ended.push_back(task);
    }

    /// Removes the output of a task.
    pub(super) fn remove(&mut self, task: TaskId) {
        self.clear(task);
        self.rows.remove(&task);
        self.ended.retain(|ended| *ended != task);
    }

    /// Appends as many bytes as the limit allows. Appends nothing to an output that was cut.
    pub(super) fn append(&mut self, task: TaskId, bytes: &[u8]) {
        if self.rows.get(&task).is_none_or(|record| record.loss.is_some()) {
            return;
        }
        while self.room() < bytes.len() as u64
            && let Some(first) = self.ended.pop_front()
        {
            self.clear(first);
            let most = self.most;
            self.lose(
                first,
                format!("is forgotten: {KEPT_OUTPUT} has room for {most} bytes of all tasks together"),
            );
        }
        let fits = usize::try_from(self.room()).unwrap_or(usize::MAX).min(bytes.len());
        let path = self.path(task);
        let written = match fits {
            0 => Ok(()),
            _ => OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)
                .and_then(|mut file| file.write_all(&bytes[..fits])),
        };
        if let Err(error) = written {
            return self.lose(task, format!("cannot be kept in {}: {error}", path.display()));
        }
        self.used += fits as u64;
        let Some(record) = self.rows.get_mut(&task) else { return };
        record.length += fits as u64;
        if fits < bytes.len() {
            let (kept, most) = (record.length, self.most);
            let words = format!(
                "is kept up to its first {kept} bytes: {KEPT_OUTPUT} has no more room ({most} bytes)"
            );
            self.lose(task, words);
        }
    }

    /// Moves the print position to the first byte of this task's output.
    pub(super) fn rewind(&mut self, task: TaskId) {
        self.bookmark = (task, 0);
    }

    /// The next bytes to print. Empty at the end.
    pub(super) fn next(&mut self) -> io::Result<Vec<u8>> {
        let (task, at) = self.bookmark;
        let length = self.rows.get(&task).map_or(0, |record| record.length);
        let most = length.saturating_sub(at).min(PIECE);
        let mut bytes = vec![0; usize::try_from(most).expect("it is small")];
        if !bytes.is_empty() {
            let read = File::open(self.path(task))?.read_at(&mut bytes, at)?;
            bytes.truncate(read);
            self.bookmark.1 += read as u64;
        }
        Ok(bytes)
    }

    /// Why the output of a task is incomplete. `None` if it is complete.
    pub(super) fn loss(&self, task: TaskId) -> Option<String> {
        self.rows.get(&task)?.loss.clone()
    }

    fn room(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }

    fn path(&self, task: TaskId) -> PathBuf {
        self.directory.path().join(task.to_string())
    }

    fn lose(&mut self, task: TaskId, loss: String) {
        if let Some(record) = self.rows.get_mut(&task) {
            record.loss.get_or_insert(loss);
        }
    }

    fn clear(&mut self, task: TaskId) {
        // A record without output has no file.
        let _ = fs::remove_file(self.path(task));
        if let Some(record) = self.rows.get_mut(&task) {
            self.used -= std::mem::take(&mut record.length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: [TaskId; 4] = [TaskId(0), TaskId(1), TaskId(2), TaskId(3)];

    fn records(most: u64) -> Records {
        let mut records = Records::new(most).expect("a temporary directory");
        TASKS.into_iter().for_each(|task| records.begin(task));
        records
    }

    fn state(records: &mut Records, task: TaskId) -> (Vec<u8>, Option<String>) {
        records.rewind(task);
        (records.next().expect("it can be read"), records.loss(task))
    }

    #[test]
    fn the_records_of_tasks_that_ended_first_make_room_for_others() {
        let mut records = records(10);
        for task in [TASKS[0], TASKS[1]] {
            records.append(task, b"1234");
            records.close(task);
        }
        records.append(TASKS[2], b"56");
        records.append(TASKS[2], b"7");
        let words = "is forgotten: firesteel.shell.keptOutput has room for 10 bytes of all tasks together";
        assert_eq!(state(&mut records, TASKS[0]), (Vec::new(), Some(words.to_owned())));
        assert_eq!(state(&mut records, TASKS[1]), (b"1234".to_vec(), None));
        assert_eq!(state(&mut records, TASKS[2]), (b"567".to_vec(), None));
        // The records of running tasks are never removed.
        records.append(TASKS[3], b"abcdefgh");
        let words = "is kept up to its first 7 bytes: firesteel.shell.keptOutput has no more room (10 bytes)";
        assert_eq!(state(&mut records, TASKS[3]), (b"abcdefg".to_vec(), Some(words.to_owned())));
        assert!(records.loss(TASKS[1]).is_some() && records.loss(TASKS[2]).is_none());
        TASKS.into_iter().for_each(|task| records.remove(task));
        assert_eq!(records.used, 0);
        assert_eq!(fs::read_dir(records.directory.path()).expect("it is there").count(), 1, "the lock");
    }

    #[test]
    fn a_record_that_was_cut_begins_anew_with_its_task() {
        let (mut records, task) = (records(4), TASKS[0]);
        records.append(task, b"12345");
        records.append(task, b"6");
        let (bytes, loss) = state(&mut records, task);
        assert_eq!((bytes.len(), loss.is_some()), (4, true));
        records.restart(task);
        records.append(task, b"abc");
        assert_eq!((records.next().expect("it can be read"), records.loss(task)), (b"abc".to_vec(), None));
    }
}
