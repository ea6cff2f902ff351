//! Prints the outputs from the spool. The printer runs on its own thread, so a slow reader of the output delays nothing
//! else.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::spool::{CopyError, Printable, SpoolError, StreamOutput};
use firesteel_host::progress::Progress;
use firesteel_host::standard;

/// How long the printer collects outputs while a progress bar is shown. The bar is removed and drawn again for each
/// batch.
const GATHER: Duration = Duration::from_millis(50);

/// The maximum number of items that are printed before the bar is drawn again.
const BATCH: usize = 1000;

/// Why printing stopped early.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// The stream was closed at the other end. This is not an error, but printing stops.
    #[error("the reader of {0} is gone")]
    Closed(&'static str),
    #[error("cannot write to {name}: {error}")]
    Write {
        /// Standard output or standard error.
        name: &'static str,
        error: io::Error,
    },
    /// The output cannot be read back from the spool.
    #[error(transparent)]
    Spool(SpoolError),
}

/// The streams to which the outputs of items are printed.
pub struct Sinks {
    /// Destination of the items' standard output.
    pub stdout: Sink,
    /// Destination of the items' standard error.
    pub stderr: Sink,
}

pub struct Sink {
    name: &'static str,
    out: Box<dyn Write + Send>,
    /// Whether this stream is a terminal, where drawing the bar again would erase an unfinished line.
    terminal: bool,
    open_line: bool,
}

impl Sinks {
    /// This process's own standard output and standard error.
    #[must_use]
    pub fn standard() -> Self {
        let (stdout, stderr) = (standard::stdout(), standard::stderr());
        let (tty_out, tty_err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        // Rust's standard output is line-buffered, which costs a system call per line.
        let stdout = io::BufWriter::with_capacity(64 << 10, stdout);
        Self {
            stdout: Sink::new("standard output", Box::new(stdout), tty_out),
            stderr: Sink::new("standard error", Box::new(stderr), tty_err),
        }
    }
}

impl Sinks {
    /// Like `standard`, with a file in place of standard output.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn into_file(path: &Path) -> io::Result<Self> {
        let file = io::BufWriter::with_capacity(64 << 10, File::create(path)?);
        Ok(Self { stdout: Sink::new("the file of --output", Box::new(file), false), ..Self::standard() })
    }
}

impl Sinks {
    /// Ends an unfinished line on the terminal, before the bar is drawn again.
    fn end_lines(&mut self) -> Result<(), PrintError> {
        let sinks = [&mut self.stdout, &mut self.stderr];
        let open = sinks.into_iter().any(|sink| sink.terminal && std::mem::take(&mut sink.open_line));
        match open {
            true => self.stderr.out.write_all(b"\n").map_err(|error| failed(self.stderr.name, error)),
            false => Ok(()),
        }
    }
}

impl Sink {
    #[must_use]
    pub fn new(name: &'static str, out: Box<dyn Write + Send>, terminal: bool) -> Self {
        Self { name, out, terminal, open_line: false }
    }

    fn print(&mut self, kept: &StreamOutput) -> Result<(), PrintError> {
        kept.copy_to(self).map_err(|error| match error {
            CopyError::Read(error) => PrintError::Spool(error),
            CopyError::Write(error) => failed(self.name, error),
        })
    }

    fn flush(&mut self) -> Result<(), PrintError> {
        self.out.flush().map_err(|error| failed(self.name, error))
    }
}

fn failed(name: &'static str, error: io::Error) -> PrintError {
    match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::Closed(name),
        _ => PrintError::Write { name, error },
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(last) = bytes[..written].last() {
            self.open_line = *last != b'\n';
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints until the sender of items is dropped. Then returns the result. `done` receives the tickets of the printed
/// items.
pub fn start<T: Send + 'static>(
    items: mpsc::Receiver<Printable<T>>,
    sinks: Sinks,
    progress: Progress,
    done: impl Fn(Vec<T>) + Send + 'static,
) -> io::Result<oneshot::Receiver<Result<(), PrintError>>> {
    let (sender, ended) = oneshot::channel();
    thread::Builder::new().name("printer".into()).spawn(move || {
        // The receiver is dropped if the run ended without waiting.
        let _ = sender.send(print_all(&items, sinks, &progress, &done));
    })?;
    Ok(ended)
}

fn print_all<T>(
    items: &mpsc::Receiver<Printable<T>>,
    mut sinks: Sinks,
    progress: &Progress,
    done: &dyn Fn(Vec<T>),
) -> Result<(), PrintError> {
    while let Ok(first) = items.recv() {
        let bar = progress.is_visible();
        if bar {
            thread::sleep(GATHER);
        }
        let batch = std::iter::once(first).chain(items.try_iter()).take(BATCH);
        done(match bar {
            false => print_batch(batch, &mut sinks, Bar::Hidden)?,
            // Only output to the terminal interferes with the bar.
            true if !sinks.stdout.terminal => print_batch(batch, &mut sinks, Bar::Shown(progress))?,
            true => progress.suspend(|| {
                let printed = print_batch(batch, &mut sinks, Bar::Hidden)?;
                sinks.end_lines().map(|()| printed)
            })?,
        });
    }
    Ok(())
}

/// Whether a progress bar is shown during printing.
#[derive(Clone, Copy)]
enum Bar<'a> {
    Hidden,
    Shown(&'a Progress),
}

/// Prints a batch and returns the tickets of the printed items.
fn print_batch<T>(
    batch: impl Iterator<Item = Printable<T>>,
    sinks: &mut Sinks,
    bar: Bar,
) -> Result<Vec<T>, PrintError> {
    let mut printed = Vec::new();
    for item in batch {
        sinks.stdout.print(&item.outputs.stdout)?;
        let stderr = &item.outputs.stderr;
        printed.push(item.ticket);
        if stderr.is_empty() {
            continue;
        }
        // If both streams go to one terminal, the lines of an item stay together.
        sinks.stdout.flush()?;
        match bar {
            Bar::Hidden => sinks.stderr.print(stderr)?,
            Bar::Shown(progress) => progress.suspend(|| {
                sinks.stderr.print(stderr)?;
                sinks.end_lines()
            })?,
        }
    }
    sinks.stdout.flush().map(|()| printed)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use firesteel_protocol::ids::{AttemptId, TaskId};
    use firesteel_protocol::messages::Stream;

    use super::*;
    use crate::map::spool::{OutputOrder, Spool, SpoolLimits};
    use firesteel_host::progress::Show;

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct FailingWriter(io::ErrorKind);

    impl Write for FailingWriter {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printables(texts: &[(&str, &str)]) -> Vec<Printable<()>> {
        let mut spool = Spool::new(OutputOrder::Input, SpoolLimits::default());
        for (task, (stdout, stderr)) in (0..).map(TaskId).zip(texts) {
            let attempt = AttemptId { task, attempt: 0 };
            spool.store(attempt, Stream::Stdout, stdout.as_bytes()).expect("room");
            spool.store(attempt, Stream::Stderr, stderr.as_bytes()).expect("room");
            spool.finish(task, Some(attempt), ());
        }
        std::iter::from_fn(|| spool.pop_ready()).collect()
    }

    fn print(
        texts: &[(&str, &str)],
        stdout: Box<dyn Write + Send>,
        stderr: SharedBuffer,
    ) -> Result<(), PrintError> {
        let sinks = Sinks {
            stdout: Sink::new("standard output", stdout, true),
            stderr: Sink::new("standard error", Box::new(stderr), true),
        };
        let (sender, items) = mpsc::channel();
        printables(texts).into_iter().for_each(|item| sender.send(item).expect("it is open"));
        drop(sender);
        let ended = start(items, sinks, Progress::new(Show::Quiet), drop).expect("a thread");
        ended.blocking_recv().expect("the printer tells how it went")
    }

    #[test]
    fn each_stream_goes_its_own_way_byte_for_byte() {
        let (stdout, stderr) = (SharedBuffer::default(), SharedBuffer::default());
        let texts = [("a", "x\n"), ("", ""), ("b\n", ""), ("c", "y")];
        print(&texts, Box::new(stdout.clone()), stderr.clone()).expect("paper takes all");
        assert_eq!(stdout.0.lock().expect("no panic").as_slice(), b"ab\nc");
        assert_eq!(stderr.0.lock().expect("no panic").as_slice(), b"x\ny");
    }

    #[test]
    fn a_closed_reader_is_told_from_a_full_disk() {
        let closed =
            print(&[("a", "")], Box::new(FailingWriter(io::ErrorKind::BrokenPipe)), SharedBuffer::default());
        assert!(matches!(closed, Err(PrintError::Closed("standard output"))), "{closed:?}");
        let full =
            print(&[("a", "")], Box::new(FailingWriter(io::ErrorKind::StorageFull)), SharedBuffer::default());
        let full = full.expect_err("nothing can be written").to_string();
        assert!(full.starts_with("cannot write to standard output: "), "{full}");
    }

    #[test]
    fn an_open_line_is_ended_before_the_bar_comes_back() {
        let buffer = SharedBuffer::default();
        for (texts, expected) in
            [(("a", ""), "a\n"), (("a\n", ""), "a\n"), (("", "e"), "e\n"), (("a\n", "e\n"), "a\ne\n")]
        {
            let mut sinks = Sinks {
                stdout: Sink::new("standard output", Box::new(buffer.clone()), true),
                stderr: Sink::new("standard error", Box::new(buffer.clone()), true),
            };
            print_batch(printables(&[texts]).into_iter(), &mut sinks, Bar::Hidden).expect("room");
            sinks.end_lines().expect("room");
            let printed = std::mem::take(&mut *buffer.0.lock().expect("no panic"));
            assert_eq!(String::from_utf8(printed).expect("text"), expected);
        }
    }
}
