//! The queue of a daemon's log lines for standard error.
//!
//! A separate thread writes the lines, many per system call. So a daemon does not wait while nobody reads its standard
//! error (a stopped pager, for example). The daemon's heartbeats continue.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// The maximum number of bytes in the queue. Further lines are dropped, and the log reports how many.
const BYTES: usize = 16 << 20;

/// The pause after each write, so that a busy daemon does not wake the thread for each line.
const PAUSE: Duration = Duration::from_millis(5);

/// How long a daemon waits at its end until its last lines are written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The sender's end of the queue. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct LogQueue(Arc<Queue>);

/// Waits, when this value is dropped, until the queued lines are written, but at most [`LAST_LINES`].
#[derive(Debug)]
pub(in crate::cli) struct LastLines(LogQueue);

#[derive(Debug)]
struct Queue {
    /// The maximum number of bytes in the queue.
    limit: usize,
    /// Makes the line that reports dropped lines.
    dropped: fn(u64) -> String,
    state: Mutex<State>,
    /// Notified when the queue is no longer empty, or when the daemon ends.
    came: Condvar,
    /// Notified when lines were written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The queued lines, one after the other.
    lines: Vec<u8>,
    /// The number of lines that were dropped since the last write.
    dropped: u64,
    /// Whether the thread has taken lines that it has not written yet.
    writes: bool,
    /// Whether the daemon is ending and waits for its last lines.
    ends: bool,
}

impl LogQueue {
    /// Starts the thread that writes. `dropped` makes the line that reports dropped lines.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(
        dropped: fn(u64) -> String,
        to: impl Write + Send + 'static,
    ) -> io::Result<(Self, LastLines)> {
        Self::with_room(BYTES, dropped, to)
    }

    fn with_room(
        limit: usize,
        dropped: fn(u64) -> String,
        to: impl Write + Send + 'static,
    ) -> io::Result<(Self, LastLines)> {
        let state = Mutex::default();
        let queue =
            Self(Arc::new(Queue { limit, dropped, state, came: Condvar::new(), written: Condvar::new() }));
        let writer = queue.clone();
        thread::Builder::new().name("log".to_owned()).spawn(move || writer.0.write_all(to))?;
        Ok((queue.clone(), LastLines(queue)))
    }
}

impl Write for LogQueue {
    /// Queues a whole line. Never waits until standard error is read, and never fails.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.0.state();
        if state.lines.len() + line.len() > self.0.limit {
            state.dropped += 1;
        } else {
            if state.lines.is_empty() {
                self.0.came.notify_one();
            }
            state.lines.extend_from_slice(line);
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
        let queue = &self.0.0;
        let mut state = queue.state();
        state.ends = true;
        queue.came.notify_one();
        let waits = |state: &mut State| state.writes || !state.lines.is_empty();
        drop(queue.written.wait_timeout_while(state, LAST_LINES, waits));
    }
}

impl Queue {
    /// The state of the queue. It is valid even if a thread has panicked, because the queue only ever contains whole
    /// lines.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the queued lines, as long as the process lives.
    fn write_all(&self, mut to: impl Write) {
        let mut batch = Vec::new();
        loop {
            let is_idle = |state: &mut State| state.lines.is_empty();
            let mut state =
                self.came.wait_while(self.state(), is_idle).unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut state.lines, &mut batch);
            let dropped = mem::take(&mut state.dropped);
            state.writes = true;
            drop(state);

            if dropped > 0 {
                batch.extend_from_slice((self.dropped)(dropped).as_bytes());
            }
            // A failed write to the log, for example on a full disk, must not end the daemon.
            let _ = to.write_all(&batch);
            batch.clear();

            let mut state = self.state();
            state.writes = false;
            self.written.notify_all();
            let pauses = |state: &mut State| !state.ends;
            drop(self.came.wait_timeout_while(state, PAUSE, pauses));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A reader that accepts written bytes only when the test allows it.
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
        let (mut queue, last_lines) =
            LogQueue::with_room("second\nthird\n".len(), |lines| format!("({lines} dropped)\n"), slow)
                .expect("there are threads");
        let mut log = |line: &str| queue.write_all(line.as_bytes()).expect("it never fails");
        log("first\n");
        assert_eq!(seen.recv().as_deref(), Ok("first\n"));
        for line in ["second\n", "third\n", "lost\n", "lost\n", "lost\n"] {
            log(line);
        }
        go.send(()).expect("the writer waits");
        assert_eq!(seen.recv().as_deref(), Ok("second\nthird\n(3 dropped)\n"));
        log("last\n");
        go.send(()).expect("the writer waits");
        go.send(()).expect("the writer will wait");
        drop(last_lines);
        assert_eq!(seen.try_recv().as_deref(), Ok("last\n"), "the end waits for the last lines");
    }
}
