//! Prints logs to standard output: one log unchanged, or several line by line.

use firesteel_host::plain;
use firesteel_host::standard;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use firesteel_daemons::log_client::Log;
use firesteel_protocol::byte_text;
use firesteel_protocol::messages::{LogAuthor, LogPiece, LogStart, Stream};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;

use super::source::{ClusterLogs, NoLog};

/// The interval between requests for new output of a followed log.
const PACE: Duration = Duration::from_millis(100);

/// The number of followed logs above which the interval is longer: the Master answers all requests.
const AT_PACE: usize = 16;

/// Maximum length of a line if several logs are printed; longer lines are split.
const LONGEST_LINE: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) stream: Stream,
    pub(super) from: LogStart,
    pub(super) until: Until,
    pub(super) is_json: bool,
}

/// The end of the printed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The end that the log has now.
    EndOfLog,
    /// The last output before the log's author ends.
    AuthorEnds,
}

/// Why a log was not printed to its end.
#[derive(Debug)]
pub(super) enum PrintError {
    Stdout(io::Error),
    Log(Box<NoLog>),
    /// Some of several logs cannot be read. An error was printed for each, unless lines are printed as JSON.
    Some {
        failed: usize,
        of: usize,
        first: Box<NoLog>,
    },
}

impl Part {
    /// Whether the part is the whole log up to now.
    pub(super) fn is_all(self) -> bool {
        self.from == LogStart::Offset(0) && self.until == Until::EndOfLog
    }
}

/// Prints one log unchanged. Returns the number of bytes.
pub(super) async fn one(
    author: &LogAuthor,
    part: Part,
    source: &mut ClusterLogs<'_>,
) -> Result<u64, PrintError> {
    let mut reading = Reading::new(author, part);
    let mut stdout = standard::stdout().lock();
    loop {
        while let Some(bytes) = reading.more(source).await.map_err(no_log)? {
            stdout.write_all(&bytes).map_err(PrintError::Stdout)?;
        }
        stdout.flush().map_err(PrintError::Stdout)?;
        if reading.is_over || stdout_is_closed() {
            return Ok(reading.printed);
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Prints the logs of several executors, each line after its executor's number. Returns the number of bytes. If a log
/// cannot be read, an error goes to standard error, and the other logs are printed.
pub(super) async fn several(
    authors: &[LogAuthor],
    part: Part,
    source: &mut ClusterLogs<'_>,
) -> Result<u64, PrintError> {
    let width = authors.iter().map(|author| tag(author).len()).max().unwrap_or(1);
    let mut stdout = standard::stdout().lock();
    let (mut printed, mut failed) = (0, Failed::default());
    let mut waiting = authors.iter();
    let mut followed: Vec<Tagged> = Vec::new();
    loop {
        // Without following, the logs are printed one after the other.
        let most = if part.until == Until::EndOfLog { 1 } else { authors.len() };
        while followed.len() < most
            && let Some(author) = waiting.next()
        {
            followed.push(Tagged::new(author, part, width));
        }
        let mut going = Vec::new();
        for mut tagged in followed {
            match tagged.print(&mut stdout, source).await {
                Ok(()) if tagged.reading.is_over => printed += tagged.reading.printed,
                Ok(()) => going.push(tagged),
                Err(PrintError::Log(error)) => failed.add(error, part),
                Err(error) => return Err(error),
            }
        }
        stdout.flush().map_err(PrintError::Stdout)?;
        followed = going;
        match (followed.is_empty() && waiting.len() == 0, followed.is_empty()) {
            (true, _) => return failed.end(authors.len()).map(|()| printed),
            (false, _) if stdout_is_closed() => return Ok(printed),
            (false, true) => {}
            (false, false) => tokio::time::sleep(pace(followed.len())).await,
        }
    }
}

/// The interval between requests for new output of each of these logs.
fn pace(logs: usize) -> Duration {
    PACE * u32::try_from(logs.div_ceil(AT_PACE)).unwrap_or(u32::MAX)
}

fn no_log(error: NoLog) -> PrintError {
    PrintError::Log(Box::new(error))
}

/// Counts the logs that could not be read.
#[derive(Default)]
struct Failed {
    count: usize,
    first: Option<Box<NoLog>>,
}

impl Failed {
    /// Counts a log that could not be read, and prints the error unless lines are printed as JSON.
    fn add(&mut self, error: Box<NoLog>, part: Part) {
        self.count += 1;
        if !part.is_json {
            // The reader may have closed standard error.
            let _ = writeln!(plain::stderr(), "firesteel: {}", plain::clean(&error.to_string()));
        }
        self.first.get_or_insert(error);
    }

    fn end(self, of: usize) -> Result<(), PrintError> {
        match self.first {
            Some(first) => Err(PrintError::Some { failed: self.count, of, first }),
            None => Ok(()),
        }
    }
}

/// A log that is read to a given end.
struct Reading {
    log: Log,
    part: Part,
    /// Whether the end of the requested part was reached.
    is_over: bool,
    printed: u64,
}

impl Reading {
    fn new(author: &LogAuthor, part: Part) -> Self {
        Self { log: Log::of(author.clone()), part, is_over: false, printed: 0 }
    }

    /// The next bytes. `None` if there are none at the moment.
    async fn more(&mut self, source: &mut ClusterLogs<'_>) -> Result<Option<bytes::Bytes>, NoLog> {
        if self.is_over {
            return Ok(None);
        }
        let LogPiece { start, bytes, length, is_over } =
            self.log.piece(source, self.part.stream, self.part.from).await?;
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

/// The tag of a log's lines if several logs are printed: the number of the executor.
fn tag(author: &LogAuthor) -> String {
    match author {
        LogAuthor::Executor(executor) => executor.executor.to_string(),
        LogAuthor::Driver(driver) => driver.to_string(),
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(in crate::cli) enum Author<'a> {
    Executor { app: &'a str, executor: u32 },
    Driver { driver: &'a str },
    Container { container: &'a str },
}

impl<'a> Author<'a> {
    pub(super) fn of(author: &'a LogAuthor) -> Self {
        match author {
            LogAuthor::Executor(key) => Self::Executor { app: key.app.as_str(), executor: key.executor.0 },
            LogAuthor::Driver(driver) => Self::Driver { driver: driver.as_str() },
        }
    }
}

#[derive(Serialize)]
struct JsonLine<'a> {
    schema: u32,
    #[serde(flatten)]
    author: Author<'a>,
    stream: &'static str,
    /// The text of the line. It can represent [any bytes](byte_text).
    line: String,
}

/// The JSON value of a line of a log, followed by a line feed.
pub(in crate::cli) fn json_line(author: Author<'_>, stream: Stream, line: Vec<u8>) -> String {
    let stream = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    let line =
        serde_json::to_string(&JsonLine { schema: super::SCHEMA, author, stream, line: byte_text::of(line) });
    plain::escaped(&line.expect("numbers and words can be written as JSON")) + "\n"
}

/// A log with a tag before each line.
struct Tagged {
    reading: Reading,
    /// The tag before each line of text.
    tag: String,
    /// The beginning of an unfinished line.
    begun: Vec<u8>,
}

impl Tagged {
    fn new(author: &LogAuthor, part: Part, width: usize) -> Self {
        let reading = Reading::new(author, part);
        Self { reading, tag: format!("{:>width$} | ", tag(author)), begun: Vec::new() }
    }

    /// Prints the complete lines. At the end of the log, also prints an unfinished line.
    async fn print(
        &mut self,
        stdout: &mut impl Write,
        source: &mut ClusterLogs<'_>,
    ) -> Result<(), PrintError> {
        while let Some(bytes) = self.reading.more(source).await.map_err(no_log)? {
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
        let Part { stream, is_json, .. } = self.reading.part;
        if is_json {
            let line = json_line(Author::of(self.reading.log.author()), stream, line.to_vec());
            return stdout.write_all(line.as_bytes()).map_err(PrintError::Stdout);
        }
        let whole = [self.tag.as_bytes(), line, b"\n"].concat();
        stdout.write_all(&whole).map_err(PrintError::Stdout)
    }
}

/// Whether the other end of standard output has been closed. This is checked without a write, because the next write
/// may come much later.
fn stdout_is_closed() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    poll(&mut fds, PollTimeout::ZERO).is_ok()
        && fds[0].revents().is_some_and(|events| events.intersects(gone))
}
