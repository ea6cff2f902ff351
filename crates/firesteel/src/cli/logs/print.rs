//! Logs on standard output: one as it is, or several line by line.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use firesteel_core::ids::{AppId, ExecutorId};
use firesteel_core::messages::{ExecutorView, LogPiece, LogStart, Stream};
use firesteel_daemons::executor_log::{ExecutorLog, LogError};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::client_name;

/// How often a log that is followed is asked for more.
const PACE: Duration = Duration::from_millis(100);

/// A line of several logs that has no end by then is cut there.
const LONGEST_LINE: usize = 1 << 16;

/// Which part of a log is printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Which log of an executor.
    pub(super) stream: Stream,
    /// Where it begins.
    pub(super) from: LogStart,
    /// Where it ends.
    pub(super) until: Until,
}

/// How far a log is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// To where it ends now.
    EndOfLog,
    /// To the last that its executor wrote.
    ExecutorEnds,
}

/// Why a log is not printed to its end.
#[derive(Debug)]
pub(super) enum PrintError {
    /// Standard output takes nothing.
    Stdout(io::Error),
    /// It cannot be had.
    Log(Box<LogError>),
    /// Some of several could not be had, which was said of each.
    Some {
        /// How many.
        failed: usize,
        /// Of how many.
        of: usize,
    },
}

impl Part {
    /// Whether it is the whole log, as far as there is one.
    pub(super) fn is_all(self) -> bool {
        self.from == LogStart::Offset(0) && self.until == Until::EndOfLog
    }
}

/// Prints the log of one executor as it is. Returns how many bytes that were.
pub(super) async fn one(app: &AppId, executor: &ExecutorView, part: Part) -> Result<u64, PrintError> {
    let log = ExecutorLog::open(app, executor, &client_name()).await.map_err(no_log)?;
    let mut reading = Reading::new(log, part);
    let mut stdout = io::stdout().lock();
    loop {
        while let Some(bytes) = reading.more().await.map_err(no_log)? {
            stdout.write_all(&bytes).map_err(PrintError::Stdout)?;
        }
        stdout.flush().map_err(PrintError::Stdout)?;
        if reading.is_over || stdout_is_closed() {
            return Ok(reading.printed);
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Prints the logs of several executors, each line after its executor's number. Returns how many bytes the logs were.
/// One that cannot be had is told on standard error, and the others are printed.
pub(super) async fn several(app: &AppId, executors: &[ExecutorView], part: Part) -> Result<u64, PrintError> {
    let width = executors.last().map_or(1, |last| last.id.to_string().len());
    let mut stdout = io::stdout().lock();
    let (mut printed, mut failed) = (0, 0);
    let mut waiting = executors.iter();
    let mut followed: Vec<Tagged<'_>> = Vec::new();
    loop {
        // To where they end now, one after the other is enough.
        let most = if part.until == Until::EndOfLog { 1 } else { executors.len() };
        while followed.len() < most
            && let Some(executor) = waiting.next()
        {
            match ExecutorLog::open(app, executor, &client_name()).await {
                Ok(log) => followed.push(Tagged::new(Reading::new(log, part), executor.id, width)),
                Err(error) => {
                    failed += 1;
                    say(&error);
                }
            }
        }
        let mut going = Vec::new();
        for mut tagged in followed {
            match tagged.print(&mut stdout).await {
                Ok(()) if tagged.reading.is_over => printed += tagged.reading.printed,
                Ok(()) => going.push(tagged),
                Err(PrintError::Log(error)) => {
                    failed += 1;
                    say(&error);
                }
                Err(error) => return Err(error),
            }
        }
        stdout.flush().map_err(PrintError::Stdout)?;
        followed = going;
        match (followed.is_empty() && waiting.len() == 0, failed) {
            (true, 0) => return Ok(printed),
            (true, failed) => return Err(PrintError::Some { failed, of: executors.len() }),
            (false, _) if stdout_is_closed() => return Ok(printed),
            (false, _) if followed.is_empty() => {}
            (false, _) => tokio::time::sleep(PACE).await,
        }
    }
}

fn no_log(error: LogError) -> PrintError {
    PrintError::Log(Box::new(error))
}

fn say(error: &LogError) {
    // Nobody may be left to read it.
    let _ = writeln!(io::stderr(), "firesteel: {error}");
}

/// A log, read up to a place.
struct Reading<'a> {
    log: ExecutorLog<'a>,
    part: Part,
    /// No more is to be printed.
    is_over: bool,
    printed: u64,
}

impl<'a> Reading<'a> {
    fn new(log: ExecutorLog<'a>, part: Part) -> Self {
        Self { log, part, is_over: false, printed: 0 }
    }

    /// What comes next, if there is something by now.
    async fn more(&mut self) -> Result<Option<bytes::Bytes>, LogError> {
        if self.is_over {
            return Ok(None);
        }
        let LogPiece { start, bytes, length, is_over } =
            self.log.piece(self.part.stream, self.part.from).await?;
        let position = start.saturating_add(bytes.len() as u64);
        self.part.from = LogStart::Offset(position);
        self.printed += bytes.len() as u64;
        if position >= length || bytes.is_empty() {
            self.is_over = is_over || self.part.until == Until::EndOfLog;
            return Ok(Some(bytes).filter(|bytes| !bytes.is_empty()));
        }
        Ok(Some(bytes))
    }
}

/// A log whose lines are told from those of others.
struct Tagged<'a> {
    reading: Reading<'a>,
    tag: String,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

impl<'a> Tagged<'a> {
    fn new(reading: Reading<'a>, executor: ExecutorId, width: usize) -> Self {
        Self { reading, tag: format!("{:>width$} | ", executor.0), begun: Vec::new() }
    }

    /// Prints the whole lines that there are by now, and at the log's end what is left.
    async fn print(&mut self, stdout: &mut impl Write) -> Result<(), PrintError> {
        while let Some(bytes) = self.reading.more().await.map_err(no_log)? {
            self.begun.extend_from_slice(&bytes);
            let lines = std::mem::take(&mut self.begun);
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                match line.strip_suffix(b"\n") {
                    Some(line) => self.line(stdout, line)?,
                    None if line.len() > LONGEST_LINE => self.line(stdout, line)?,
                    None => self.begun = line.to_vec(),
                }
            }
        }
        if self.reading.is_over && !self.begun.is_empty() {
            let rest = std::mem::take(&mut self.begun);
            self.line(stdout, &rest)?;
        }
        Ok(())
    }

    fn line(&self, stdout: &mut impl Write, line: &[u8]) -> Result<(), PrintError> {
        let whole = [self.tag.as_bytes(), line, b"\n"].concat();
        stdout.write_all(&whole).map_err(PrintError::Stdout)
    }
}

/// Whether whoever read our standard output has gone. It shows without a write, which may be far off.
fn stdout_is_closed() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    poll(&mut fds, PollTimeout::ZERO).is_ok()
        && fds[0].revents().is_some_and(|events| events.intersects(gone))
}
