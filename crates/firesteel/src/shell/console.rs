//! What the user sees: outputs of the task in hand as they come, tables, and remarks.
//!
//! Outputs are printed by a thread, so that a terminal that was stopped, or a slow reader, keeps the session from
//! nothing. An output that ends without a line feed does not eat the prompt: the line is ended first.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::{fmt, thread};

use bytes::Bytes;
use firesteel_core::ids::AttemptId;
use firesteel_core::messages::Stream;
use tokio::sync::oneshot;

use crate::driver_daemon::Handle;
use crate::map::printer::{Sink, Sinks};

/// One of the ways out, which knows whether a line is open and can be told to print no more.
#[derive(Clone, Debug)]
struct Way {
    to: Stream,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Something without a line feed at its end is on the terminal.
    open_line: AtomicBool,
    /// What is under way is not wanted any more.
    muted: AtomicBool,
    /// Nobody reads standard output any more.
    closed: AtomicBool,
}

impl Way {
    /// Remembers that nobody reads any more.
    fn see<T>(&self, to: Stream, written: io::Result<T>) -> io::Result<T> {
        if to == Stream::Stdout
            && written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        {
            self.state.closed.store(true, Ordering::Release);
        }
        written
    }
}

impl Write for Way {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.state.muted.load(Ordering::Acquire) {
            return Ok(bytes.len());
        }
        let written = match self.to {
            Stream::Stdout => io::stdout().write(bytes),
            Stream::Stderr => io::stderr().write(bytes),
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
            Stream::Stdout => io::stdout().flush(),
            Stream::Stderr => io::stderr().flush(),
        };
        self.see(self.to, flushed)
    }
}

/// Everything that is printed goes through here.
#[derive(Debug)]
pub struct Console {
    state: Arc<State>,
    pieces: mpsc::Sender<Piece>,
}

#[derive(Debug)]
enum Piece {
    Output { credit: Option<(Handle, AttemptId)>, stream: Stream, bytes: Bytes },
    Mark(oneshot::Sender<()>),
}

impl Console {
    /// Starts the thread that prints.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start() -> io::Result<Self> {
        let state = Arc::new(State::default());
        let (pieces, incoming) = mpsc::channel();
        let ways = [Stream::Stdout, Stream::Stderr].map(|to| Way { to, state: state.clone() });
        thread::Builder::new().name("console".into()).spawn(move || print(&incoming, ways))?;
        Ok(Self { state, pieces })
    }

    /// Prints a piece of an attempt's output. The driver is told when that is done.
    pub fn output(&self, driver: &Handle, attempt: AttemptId, stream: Stream, bytes: Bytes) {
        let credit = Some((driver.clone(), attempt));
        // The thread ends only with this.
        let _ = self.pieces.send(Piece::Output { credit, stream, bytes });
    }

    /// Prints bytes on standard output, for nobody's credit.
    pub fn replay(&self, bytes: Vec<u8>) {
        let (stream, bytes) = (Stream::Stdout, Bytes::from(bytes));
        let _ = self.pieces.send(Piece::Output { credit: None, stream, bytes });
    }

    /// Waits until everything that came before is printed.
    pub async fn settled(&self) {
        self.settled_later().await;
    }

    /// The same, without holding on to this meanwhile.
    pub fn settled_later(&self) -> impl Future<Output = ()> + use<> {
        let (sender, printed) = oneshot::channel();
        let _ = self.pieces.send(Piece::Mark(sender));
        async {
            let _ = printed.await;
        }
    }

    /// Where a map prints.
    #[must_use]
    pub fn sinks(&self) -> Sinks {
        let way = |to| Box::new(Way { to, state: self.state.clone() });
        let stdout = io::BufWriter::with_capacity(64 << 10, way(Stream::Stdout));
        Sinks {
            stdout: Sink::new("standard output", Box::new(stdout), io::stdout().is_terminal()),
            stderr: Sink::new("standard error", way(Stream::Stderr), io::stderr().is_terminal()),
        }
    }

    /// What is under way is not printed any more, until [`unmute`](Self::unmute).
    pub fn mute(&self) {
        self.state.muted.store(true, Ordering::Release);
    }

    /// What comes now is printed.
    pub fn unmute(&self) {
        self.state.muted.store(false, Ordering::Release);
    }

    /// Whether nobody reads standard output any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.closed.load(Ordering::Acquire)
    }

    /// Data for standard output.
    pub fn print(&self, text: &str) {
        self.end_line();
        let mut way = Way { to: Stream::Stdout, state: self.state.clone() };
        // A reader that has gone is seen by the session; there is nobody to tell of another error.
        let _ = way.write_all(text.as_bytes()).and_then(|()| way.flush());
    }

    /// A line for standard error.
    pub fn say(&self, line: impl fmt::Display) {
        self.end_line();
        let line = format!("{line}\n");
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// The terminal has shown a ctrl-c.
    pub fn interrupted(&self) {
        self.state.open_line.store(io::stderr().is_terminal(), Ordering::Release);
    }

    /// Ends a line that an output left open on the terminal.
    pub fn end_line(&self) {
        if self.state.open_line.swap(false, Ordering::AcqRel) {
            let _ = io::stderr().write_all(b"\n");
        }
    }
}

fn print(pieces: &mpsc::Receiver<Piece>, [mut stdout, mut stderr]: [Way; 2]) {
    for piece in pieces {
        match piece {
            Piece::Output { credit, stream, bytes } => {
                let way = match stream {
                    Stream::Stdout => &mut stdout,
                    Stream::Stderr => &mut stderr,
                };
                // A reader that has gone is seen by the session.
                let _ = way.write_all(&bytes).and_then(|()| way.flush());
                if let Some((driver, attempt)) = credit {
                    // The application may be over by now.
                    let _ = driver.consumed(attempt, bytes.len() as u64);
                }
            }
            Piece::Mark(printed) => drop(printed.send(())),
        }
    }
}
