//! The standard streams of this process, as they were at its start.
//!
//! A caller may close a stream (`>&-`), as some schedulers do. Before `main`, Rust's library then opens `/dev/null` in
//! its place, so that no other file gets its number. Output would vanish there without an error. So a function that
//! runs when the program is loaded, before `main`, checks whether a stream was closed. A `/dev/null` that the caller
//! opened is valid, although it looks the same after `main` has begun.
//!
//! All writing to standard output and standard error begins here. Writing to or reading from a closed stream gives the
//! system's error for a bad file descriptor.

use std::fmt;
use std::io::{self, Stderr, StderrLock, Stdin, Stdout, StdoutLock, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static ERRORS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Checks the streams before Rust's library opens `/dev/null` in place of closed ones.
#[ctor::ctor]
fn look() {
    let is_closed = |stream: &dyn AsFd| fcntl(stream.as_fd(), FcntlArg::F_GETFD) == Err(Errno::EBADF);
    INPUT_CLOSED.store(is_closed(&io::stdin()), Ordering::Relaxed);
    OUTPUT_CLOSED.store(is_closed(&io::stdout()), Ordering::Relaxed);
    ERRORS_CLOSED.store(is_closed(&io::stderr()), Ordering::Relaxed);
}

/// An output stream that may have been closed at the start.
pub struct Standard<W> {
    out: W,
    is_closed: bool,
}

impl<W> fmt::Debug for Standard<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standard").field("is_closed", &self.is_closed).finish_non_exhaustive()
    }
}

#[must_use]
pub fn stdout() -> Standard<Stdout> {
    Standard { out: io::stdout(), is_closed: OUTPUT_CLOSED.load(Ordering::Relaxed) }
}

#[must_use]
pub fn stderr() -> Standard<Stderr> {
    Standard { out: io::stderr(), is_closed: ERRORS_CLOSED.load(Ordering::Relaxed) }
}

/// Standard input.
///
/// # Errors
/// Standard input was closed at the start.
pub fn stdin() -> io::Result<Stdin> {
    open(INPUT_CLOSED.load(Ordering::Relaxed)).map(|()| io::stdin())
}

fn open(is_closed: bool) -> io::Result<()> {
    if is_closed { Err(Errno::EBADF.into()) } else { Ok(()) }
}

impl<W> Standard<W> {
    /// Checks that the stream is open, for code that writes to it in other ways.
    ///
    /// # Errors
    /// The stream was closed at the start.
    pub fn check(&self) -> io::Result<()> {
        open(self.is_closed)
    }
}

impl Standard<Stdout> {
    /// The same stream, locked for this thread.
    #[must_use]
    pub fn lock(self) -> Standard<StdoutLock<'static>> {
        Standard { out: self.out.lock(), is_closed: self.is_closed }
    }
}

impl Standard<Stderr> {
    #[must_use]
    pub fn lock(self) -> Standard<StderrLock<'static>> {
        Standard { out: self.out.lock(), is_closed: self.is_closed }
    }
}

impl<W: Write> Write for Standard<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        open(self.is_closed)?;
        self.out.write(bytes)
    }

    /// Succeeds even if the stream was closed, since a command that writes nothing does not need the stream.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_stream_takes_no_byte() {
        let mut closed = Standard { out: Vec::new(), is_closed: true };
        let error = closed.write_all(b"lost").expect_err("it is closed");
        assert_eq!(error.raw_os_error(), Some(Errno::EBADF as i32));
        let mut open = Standard { out: Vec::new(), is_closed: false };
        open.write_all(b"kept").expect("memory takes it");
        assert_eq!(open.out, b"kept");
    }
}
