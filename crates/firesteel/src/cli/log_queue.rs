//! A daemon's log on its way to standard error.
//!
//! A thread of its own writes the lines, many with each call of the system. So a daemon does not wait while nobody reads
//! its standard error (a pipe to a stopped pager, a full terminal), and its heart beats on.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use firesteel_placement::words::counted;
use tracing_subscriber::fmt::MakeWriter;

/// The most lines that wait. What does not fit is dropped, and the log says how many lines that were.
const LINES: usize = 100_000;

/// About how many bytes are written with one call.
const BATCH: usize = 64 << 10;

/// The pause after a batch, so that a busy daemon does not wake the thread for each line.
const PAUSE: Duration = Duration::from_millis(5);

/// How long the end of a daemon waits for its last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The end of the queue that takes lines. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct LogQueue {
    entries: SyncSender<Entry>,
    dropped: Arc<AtomicU64>,
}

/// Waits, when it is dropped, until the lines that wait are written, but not for long.
#[derive(Debug)]
pub(super) struct LastLines(LogQueue);

#[derive(Debug)]
enum Entry {
    Line(Vec<u8>),
    /// Everything before this is to be written now. The sender is dropped when it is.
    Flush(SyncSender<()>),
}

impl LogQueue {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(to: impl Write + Send + 'static) -> io::Result<(Self, LastLines)> {
        Self::with_room(LINES, to)
    }

    fn with_room(lines: usize, to: impl Write + Send + 'static) -> io::Result<(Self, LastLines)> {
        let (entries, waiting) = sync_channel(lines);
        let queue = Self { entries, dropped: Arc::default() };
        let dropped = Arc::clone(&queue.dropped);
        thread::Builder::new().name("log".to_owned()).spawn(move || write_all(&waiting, &dropped, to))?;
        Ok((queue.clone(), LastLines(queue)))
    }
}

impl Write for LogQueue {
    /// Takes a whole line. Never waits, and never fails.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.entries.try_send(Entry::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LogQueue {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Drop for LastLines {
    fn drop(&mut self) {
        let (flushed, end) = sync_channel(0);
        if self.0.entries.try_send(Entry::Flush(flushed)).is_ok() {
            let _ = end.recv_timeout(LAST_LINES);
        }
    }
}

/// Writes lines until nobody can send any.
fn write_all(entries: &Receiver<Entry>, dropped: &AtomicU64, mut to: impl Write) {
    let mut batch = Vec::new();
    while let Ok(first) = entries.recv() {
        let mut next = Ok(first);
        let mut flush = None;
        while let Ok(entry) = next {
            match entry {
                Entry::Line(line) => batch.extend_from_slice(&line),
                Entry::Flush(flushed) => flush = Some(flushed),
            }
            let is_over = batch.len() >= BATCH || flush.is_some();
            next = if is_over { Err(TryRecvError::Empty) } else { entries.try_recv() };
        }
        let lines = dropped.swap(0, Ordering::Relaxed);
        if lines > 0 {
            let lines = counted(lines, "line");
            batch.extend_from_slice(
                format!("({lines} of the log dropped: they came faster than they were written)\n").as_bytes(),
            );
        }
        // A failed write to the log, for example on a full disk, must not end the daemon.
        let _ = to.write_all(&batch);
        batch.clear();
        if flush.is_none() {
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// A reader that takes what is written only when it is told to.
    struct Slow {
        go_on: Receiver<()>,
        written: Sender<String>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
            self.go_on.recv().map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Slow, Sender<()>, Receiver<String>) {
        let ((go, go_on), (written, seen)) = (channel(), channel());
        (Slow { go_on, written }, go, seen)
    }

    #[test]
    fn a_log_that_nobody_reads_keeps_nobody_waiting_and_tells_what_it_dropped() {
        let (slow, go, seen) = slow();
        let (mut queue, last_lines) = LogQueue::with_room(2, slow).expect("there are threads");
        let mut log = |line: &str| queue.write_all(line.as_bytes()).expect("it never fails");
        log("first\n");
        assert_eq!(seen.recv().as_deref(), Ok("first\n"));
        for line in ["second\n", "third\n", "lost\n", "lost\n", "lost\n"] {
            log(line);
        }
        go.send(()).expect("the writer waits");
        assert_eq!(
            seen.recv().as_deref(),
            Ok("second\nthird\n(3 lines of the log dropped: they came faster than they were written)\n")
        );
        log("last\n");
        go.send(()).expect("the writer waits");
        go.send(()).expect("the writer will wait");
        drop(last_lines);
        assert_eq!(seen.try_recv().as_deref(), Ok("last\n"), "the end waits for the last lines");
    }
}
