//! The console: prints the output of the foreground task, answers, and remarks.
//!
//! One thread writes everything, in order of arrival. A stopped terminal or a slow reader therefore
//! does not block the session, which still handles signals and its application. If an output ends
//! without a line feed, the console ends the line before the prompt.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::{fmt, thread};

use bytes::Bytes;
use firesteel_host::plain::{clean, clean_lines};
use firesteel_host::standard;
use firesteel_protocol::ids::AttemptId;
use firesteel_protocol::messages::Stream;
use rustyline::ExternalPrinter;
use tokio::sync::oneshot;

use crate::map::printer::{Sink, Sinks};
use firesteel_daemons::driver_daemon::Handle;

/// Maximum number of remarks that wait to be printed. More are dropped, and their number is
/// printed.
const REMARKS: usize = 256;

/// The printer that writes above the line that is being typed.
pub type Above = Box<dyn ExternalPrinter + Send>;

/// An output stream that tracks an unfinished line and can be muted.
#[derive(Clone, Debug)]
struct Way {
    to: Stream,
    what: What,
    state: Arc<State>,
}

/// The kind of text that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Output of tasks, which is dropped while the console is muted.
    Output,
    /// Text of the session itself.
    Words,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the terminal's last line is unfinished.
    open_line: AtomicBool,
    /// Whether outputs that are still queued are dropped.
    muted: AtomicBool,
    /// Whether standard output takes nothing more.
    closed: AtomicBool,
    /// Why it takes nothing more, unless its reader is gone.
    failure: Arc<OnceLock<String>>,
    /// Number of remarks that wait.
    remarks: AtomicUsize,
    /// Number of remarks that were dropped.
    lost: AtomicUsize,
}

impl Way {
    /// Remembers whether standard output takes nothing more, and why.
    fn see<T>(&self, to: Stream, written: io::Result<T>) -> io::Result<T> {
        match &written {
            Err(error) if to == Stream::Stdout && !is_passing(error) => {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    // Its first reason counts.
                    let _ = self.state.failure.set(error.to_string());
                }
                self.state.closed.store(true, Ordering::Release);
            }
            Ok(_) | Err(_) => {}
        }
        written
    }

    /// Writes all bytes at once. The session looks for errors of standard output.
    fn put(&mut self, bytes: &[u8]) {
        let _ = self.write_all(bytes).and_then(|()| self.flush());
    }
}

/// Whether the same write may succeed if it is tried again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

impl Write for Way {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.what == What::Output && self.state.muted.load(Ordering::Acquire) {
            return Ok(bytes.len());
        }
        let written = match self.to {
            Stream::Stdout => standard::stdout().write(bytes),
            Stream::Stderr => standard::stderr().write(bytes),
        };
        if let Ok(written @ 1..) = written {
            let is_terminal = match self.to {
                Stream::Stdout => io::stdout().is_terminal(),
                Stream::Stderr => io::stderr().is_terminal(),
            };
            let open = bytes[written - 1] != b'\n';
            self.state.open_line.store(open && is_terminal, Ordering::Release);
        }
        self.see(self.to, written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match self.to {
            Stream::Stdout => standard::stdout().flush(),
            Stream::Stderr => standard::stderr().flush(),
        };
        self.see(self.to, flushed)
    }
}

/// Prints everything in a session. Its queue is bounded in three ways: by the credit of tasks for
/// outputs, by the session, which waits for one answer before the next, and by a maximum number of
/// remarks.
#[derive(Debug)]
pub struct Console {
    state: Arc<State>,
    pieces: mpsc::Sender<Piece>,
}

#[derive(Debug)]
enum Piece {
    Output { credit: Option<(Handle, AttemptId)>, stream: Stream, bytes: Bytes },
    Words { to: Stream, text: String },
    Remark(String),
    RemarkAbove(String),
    EndLine,
    Mark(oneshot::Sender<()>),
}

impl Console {
    /// Starts the thread that prints. At a prompt, `above` writes above the line that is being
    /// typed.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(above: Option<Above>) -> io::Result<Self> {
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

    /// Prints a piece of an attempt's output, then tells the driver.
    pub fn output(&self, driver: &Handle, attempt: AttemptId, stream: Stream, bytes: Bytes) {
        let credit = Some((driver.clone(), attempt));
        self.put(Piece::Output { credit, stream, bytes });
    }

    /// Prints bytes on standard output, without any task's credit.
    pub fn replay(&self, bytes: Vec<u8>) {
        self.put(Piece::Output { credit: None, stream: Stream::Stdout, bytes: Bytes::from(bytes) });
    }

    /// Waits until everything queued before is printed. The future does not borrow this value.
    pub fn settled(&self) -> impl Future<Output = ()> + use<> {
        let (sender, printed) = oneshot::channel();
        self.put(Piece::Mark(sender));
        async {
            let _ = printed.await;
        }
    }

    /// The destinations of a map's outputs.
    #[must_use]
    pub fn sinks(&self) -> Sinks {
        let way = |to| Box::new(Way { to, what: What::Output, state: self.state.clone() });
        let stdout = io::BufWriter::with_capacity(64 << 10, way(Stream::Stdout));
        Sinks {
            stdout: Sink::new("standard output", Box::new(stdout), io::stdout().is_terminal()),
            stderr: Sink::new("standard error", way(Stream::Stderr), io::stderr().is_terminal()),
        }
    }

    /// Drops queued and new outputs until [`unmute`](Self::unmute).
    pub fn mute(&self) {
        self.state.muted.store(true, Ordering::Release);
    }

    /// Prints outputs again.
    pub fn unmute(&self) {
        self.state.muted.store(false, Ordering::Release);
    }

    /// Why standard output could not be written, once it could not, unless its reader is gone.
    #[must_use]
    pub fn failure(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.state.failure)
    }

    /// Whether standard output takes nothing more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.closed.load(Ordering::Acquire)
    }

    /// Prints text on standard output.
    pub fn print(&self, text: impl Into<String>) {
        self.put(Piece::Words { to: Stream::Stdout, text: text.into() });
    }

    /// Prints a line on standard error.
    pub fn say(&self, line: impl fmt::Display) {
        self.say_lines(clean(&line.to_string()));
    }

    /// Prints several lines on standard error.
    pub fn say_lines(&self, lines: impl fmt::Display) {
        self.put(Piece::Words { to: Stream::Stderr, text: format!("{lines}\n") });
    }

    /// Prints a line on standard error without waiting. The line is dropped if too many wait
    /// already.
    pub fn remark(&self, line: impl fmt::Display) {
        self.put_remark(|| Piece::Remark(clean(&line.to_string()) + "\n"));
    }

    /// The same as `remark`, above the line that is being typed.
    pub fn remark_above(&self, line: impl fmt::Display) {
        self.put_remark(|| Piece::RemarkAbove(clean(&line.to_string()) + "\n"));
    }

    fn put_remark(&self, piece: impl FnOnce() -> Piece) {
        if self.state.remarks.fetch_add(1, Ordering::AcqRel) < REMARKS {
            self.put(piece());
        } else {
            self.state.remarks.fetch_sub(1, Ordering::AcqRel);
            self.state.lost.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Notes that the terminal has shown a ctrl-c.
    pub fn interrupted(&self) {
        self.state.open_line.store(io::stderr().is_terminal(), Ordering::Release);
    }

    /// Ends an unfinished line of output on the terminal.
    pub fn end_line(&self) {
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
                Piece::Output { credit, stream, bytes } => {
                    self.way(stream, What::Output).put(&bytes);
                    if let Some((driver, attempt)) = credit {
                        // The application may be over already.
                        let _ = driver.consumed(attempt, bytes.len() as u64);
                    }
                }
                Piece::Words { to, text } => self.say(to, &text),
                Piece::Remark(text) => self.remark(&text),
                Piece::RemarkAbove(text) => {
                    let is_above = match &mut self.above {
                        Some(above) => above.print(text.clone()).is_ok(),
                        None => false,
                    };
                    match is_above {
                        true => drop(self.state.remarks.fetch_sub(1, Ordering::AcqRel)),
                        false => self.remark(&text),
                    }
                }
                Piece::EndLine => self.end_line(),
                Piece::Mark(printed) => drop(printed.send(())),
            }
        }
    }

    fn way(&self, to: Stream, what: What) -> Way {
        Way { to, what, state: Arc::clone(&self.state) }
    }

    fn say(&self, to: Stream, text: &str) {
        self.end_line();
        self.way(to, What::Words).put(clean_lines(text).as_bytes());
    }

    fn remark(&self, text: &str) {
        self.say(Stream::Stderr, text);
        self.state.remarks.fetch_sub(1, Ordering::AcqRel);
        match self.state.lost.swap(0, Ordering::AcqRel) {
            0 => {}
            lost => self.say(
                Stream::Stderr,
                &format!("firesteel: {lost} more remarks were lost: nobody read them\n"),
            ),
        }
    }

    fn end_line(&self) {
        if self.state.open_line.swap(false, Ordering::AcqRel) {
            self.way(Stream::Stderr, What::Words).put(b"\n");
        }
    }
}
