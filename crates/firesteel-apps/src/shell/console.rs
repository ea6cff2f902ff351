//! The console: prints the output of the foreground task, answers, and remarks.
//!
//! One thread writes everything, in order of arrival. Therefore a stopped terminal or a slow reader of the output does
//! not block the session. The session still handles signals and its application. If an output ends without a line feed,
//! the console ends the line before the prompt.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use bytes::Bytes;
use firesteel_host::plain::{clean, clean_lines};
use firesteel_host::standard;
use firesteel_protocol::ids::AttemptId;
use firesteel_protocol::messages::Stream;
use rustyline::ExternalPrinter;
use tokio::sync::oneshot;

use crate::map::printer::{Sink, Sinks};
use firesteel_daemons::driver_daemon::Handle;

/// The maximum number of remarks that wait to be printed. Further remarks are dropped, and their number is printed.
const REMARKS: usize = 256;

/// The printer that writes above the line that is being typed.
pub(super) type Above = Box<dyn ExternalPrinter + Send>;

/// An output stream that tracks an unfinished line and can be muted.
struct Way {
    to: Stream,
    /// Whether this stream carries output of tasks, which is dropped while the console is muted.
    is_output: bool,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the terminal's last line is unfinished.
    open_line: AtomicBool,
    /// Whether outputs that are still queued are dropped.
    muted: AtomicBool,
    /// Whether standard output accepts no more bytes.
    closed: AtomicBool,
    /// Why standard output accepts no more bytes. Empty if it was closed at the other end.
    failure: Arc<OnceLock<String>>,
    /// The number of remarks that wait to be printed.
    remarks: AtomicUsize,
    /// Number of remarks that were dropped.
    lost: AtomicUsize,
}

impl Way {
    /// Performs `write` on the stream. Remembers whether standard output accepts no more bytes, and why.
    fn on_stream<T>(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        let done = match self.to {
            Stream::Stdout => write(&mut standard::stdout()),
            Stream::Stderr => write(&mut standard::stderr()),
        };
        let may_pass = [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock];
        if let Err(error) = &done
            && self.to == Stream::Stdout
            && !may_pass.contains(&error.kind())
        {
            if error.kind() != io::ErrorKind::BrokenPipe {
                // Its first reason counts.
                let _ = self.state.failure.set(error.to_string());
            }
            self.state.closed.store(true, Ordering::Release);
        }
        done
    }
}

impl Write for Way {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_output && self.state.muted.load(Ordering::Acquire) {
            return Ok(bytes.len());
        }
        let written = self.on_stream(|stream| stream.write(bytes))?;
        if written > 0 {
            let open = bytes[written - 1] != b'\n' && is_terminal(self.to);
            self.state.open_line.store(open, Ordering::Release);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.on_stream(|stream| stream.flush())
    }
}

fn is_terminal(stream: Stream) -> bool {
    match stream {
        Stream::Stdout => io::stdout().is_terminal(),
        Stream::Stderr => io::stderr().is_terminal(),
    }
}

/// Prints everything in a session. Its queue is limited in three ways: by the credit of tasks for outputs, by the
/// session, which waits for one answer at a time, and by a maximum number of remarks.
#[derive(Debug)]
pub(super) struct Console {
    state: Arc<State>,
    pieces: mpsc::Sender<Piece>,
}

#[derive(Debug)]
enum Piece {
    Output(Option<(Handle, AttemptId)>, Stream, Bytes),
    Words(Stream, String),
    Remark { is_above: bool, text: String },
    EndLine,
    Mark(oneshot::Sender<()>),
}

impl Console {
    /// Starts the thread that prints. At a prompt, `above` writes above the line that is being
    /// typed.
    pub(super) fn start(above: Option<Above>) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let (pieces, incoming) = mpsc::channel();
        let printer = Printer { above, state: Arc::clone(&state) };
        thread::Builder::new().name("console".into()).spawn(move || printer.print(&incoming))?;
        Ok(Self { state, pieces })
    }

    fn put(&self, piece: Piece) {
        // The thread lives as long as this value.
        let _ = self.pieces.send(piece);
    }

    /// Prints a piece of an attempt's output, then reports this to the driver.
    pub(super) fn output(&self, driver: &Handle, attempt: AttemptId, stream: Stream, bytes: Bytes) {
        self.put(Piece::Output(Some((driver.clone(), attempt)), stream, bytes));
    }

    /// Prints bytes on standard output. They need no credit of a task.
    pub(super) fn replay(&self, bytes: Vec<u8>) {
        self.put(Piece::Output(None, Stream::Stdout, Bytes::from(bytes)));
    }

    /// Waits until everything queued before is printed. The future does not borrow this value.
    pub(super) fn settled(&self) -> impl Future<Output = ()> + use<> {
        let (sender, printed) = oneshot::channel();
        self.put(Piece::Mark(sender));
        async {
            let _ = printed.await;
        }
    }

    /// The destinations of a map's outputs.
    pub(super) fn sinks(&self) -> Sinks {
        let way = |to| Box::new(Way { to, is_output: true, state: self.state.clone() });
        let stdout = io::BufWriter::with_capacity(64 << 10, way(Stream::Stdout));
        Sinks {
            stdout: Sink::new("standard output", Box::new(stdout), is_terminal(Stream::Stdout)),
            stderr: Sink::new("standard error", way(Stream::Stderr), is_terminal(Stream::Stderr)),
        }
    }

    /// Sets whether queued and new outputs are dropped from now on.
    pub(super) fn mute(&self, mute: bool) {
        self.state.muted.store(mute, Ordering::Release);
    }

    /// Why standard output could not be written. Empty while there is no error, and if it was closed at the other end.
    pub(super) fn failure(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.state.failure)
    }

    /// Whether standard output accepts no more bytes.
    pub(super) fn is_closed(&self) -> bool {
        self.state.closed.load(Ordering::Acquire)
    }

    /// Prints text on standard output.
    pub(super) fn print(&self, text: String) {
        self.put(Piece::Words(Stream::Stdout, text));
    }

    /// Prints a line on standard error.
    pub(super) fn say(&self, line: impl Display) {
        self.say_lines(clean(&line.to_string()));
    }

    /// Prints several lines on standard error.
    pub(super) fn say_lines(&self, lines: impl Display) {
        self.put(Piece::Words(Stream::Stderr, format!("{lines}\n")));
    }

    /// Prints a line on standard error without waiting. `is_above`: above the line that is being typed. The line is
    /// dropped if too many lines already wait.
    pub(super) fn remark(&self, line: impl Display, is_above: bool) {
        if self.state.remarks.fetch_add(1, Ordering::AcqRel) < REMARKS {
            self.put(Piece::Remark { is_above, text: clean(&line.to_string()) + "\n" });
        } else {
            self.state.remarks.fetch_sub(1, Ordering::AcqRel);
            self.state.lost.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Records that the terminal has shown a ctrl-c.
    pub(super) fn interrupted(&self) {
        self.state.open_line.store(is_terminal(Stream::Stderr), Ordering::Release);
    }

    /// Ends an unfinished line of output on the terminal.
    pub(super) fn end_line(&self) {
        self.put(Piece::EndLine);
    }
}

/// The thread that writes.
struct Printer {
    above: Option<Above>,
    state: Arc<State>,
}

impl Printer {
    fn print(mut self, pieces: &mpsc::Receiver<Piece>) {
        for piece in pieces {
            match piece {
                Piece::Output(credit, stream, bytes) => {
                    self.put(stream, true, &bytes);
                    if let Some((driver, attempt)) = credit {
                        // The application may already have ended.
                        let _ = driver.consumed(attempt, bytes.len() as u64);
                    }
                }
                Piece::Words(to, text) => self.say(to, &text),
                Piece::Remark { is_above, text } => self.remark(is_above, &text),
                Piece::EndLine => self.end_line(),
                Piece::Mark(printed) => drop(printed.send(())),
            }
        }
    }

    /// Writes all bytes immediately. The session checks for errors of standard output.
    fn put(&self, to: Stream, is_output: bool, bytes: &[u8]) {
        let mut way = Way { to, is_output, state: Arc::clone(&self.state) };
        let _ = way.write_all(bytes).and_then(|()| way.flush());
    }

    fn say(&self, to: Stream, text: &str) {
        self.end_line();
        self.put(to, false, clean_lines(text).as_bytes());
    }

    fn remark(&mut self, is_above: bool, text: &str) {
        let above = self.above.as_mut().filter(|_| is_above);
        if above.is_some_and(|above| above.print(text.to_owned()).is_ok()) {
            self.state.remarks.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        self.say(Stream::Stderr, text);
        self.state.remarks.fetch_sub(1, Ordering::AcqRel);
        match self.state.lost.swap(0, Ordering::AcqRel) {
            0 => {}
            lost => {
                let words = format!("firesteel: {lost} more remarks were lost: nobody read them\n");
                self.say(Stream::Stderr, &words);
            }
        }
    }

    fn end_line(&self) {
        if self.state.open_line.swap(false, Ordering::AcqRel) {
            self.put(Stream::Stderr, false, b"\n");
        }
    }
}
