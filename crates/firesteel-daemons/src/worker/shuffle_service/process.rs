//! One process of the external shuffle service: its files, its start and its last words.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firesteel_host::clock::Clock;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::Stream;
use firesteel_protocol::process::{Command, ExitStatus, NotStarted, Signal};
use firesteel_settings::rolling::{Compression, Rolling, Strategy};

use super::super::environment::WORKER_ID;
use super::super::log::segments::active_name;
use super::super::log::{Appender, Roller};
use super::super::reaper::control_group::GroupLimits;
use super::super::reaper::handle::{Ended, Program, Reaper, Reapers};
use super::super::runner::OutputTargets;
use crate::files::private::{self, OwnDirectory};

/// How much of each output is kept. It is limited, since a process may run for years.
const ROLLING: Rolling =
    Rolling { strategy: Strategy::BySize(10 << 20), retained: Some(2), compression: Compression::Off };

/// The number of bytes at the end of `stderr` in which the last lines are searched.
const END: u64 = 8192;

const LINES: usize = 5;

/// The name of the service's reaper.
const NAME: &str = "shuffle-service";

/// The directory of the service, within the work directory.
///
/// ```text
/// <work directory>/shuffle-service-<port>/stdout, stderr        of the latest process
/// stdout--.., stderr--.. what was written before, up to a limit
///                                         stdout.1, stderr.1    the last of the process before
///                                         database/             the executors that registered
/// ```
#[derive(Clone, Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    /// The directory of the service on this port. It need not exist.
    pub(super) fn new(work: &Path, port: u16) -> Self {
        Self(work.join(format!("shuffle-service-{port}")))
    }

    pub(super) fn database(&self) -> PathBuf {
        self.0.join("database")
    }

    pub(super) fn stderr(&self) -> PathBuf {
        self.0.join("stderr")
    }

    /// Makes the directory, with an empty database. An earlier Worker's database is useless, since the scratch files of
    /// its executors are gone. If the port is in use, the directory may belong to a running service, so it is not
    /// changed. Blocks the thread.
    ///
    /// # Errors
    /// The port is in use, or a directory cannot be made. The error is a text.
    pub(super) fn claim(&self, port: u16) -> Result<(), String> {
        try_port(port)?;
        self.make().map_err(|error| format!("cannot write in {}: {error}", self.0.display()))
    }

    fn make(&self) -> io::Result<()> {
        let name = self.0.file_name().and_then(OsStr::to_str).expect("the Worker has named it");
        OwnDirectory::open(self.0.parent().expect("it is in the work directory"))?.make(name)?;
        self.remove_database()?;
        private::create_directories(&self.database())
    }

    pub(super) fn remove_database(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.database()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Prepares the logs of a process that will listen on this port, which must be free. Blocks the thread.
    ///
    /// # Errors
    /// The port is in use, or a file cannot be made. The error is a text.
    pub(super) fn prepare(&self, port: u16, now: Timestamp) -> Result<[Roller; 2], String> {
        try_port(port)?;
        let log = |stream| {
            let path = self.0.join(active_name(stream));
            self.log(stream, now).map_err(|error| format!("cannot write {}: {error}", path.display()))
        };
        Ok([log(Stream::Stdout)?, log(Stream::Stderr)?])
    }

    /// A new log for an output of a process. The last file of the previous process is renamed first.
    fn log(&self, stream: Stream, now: Timestamp) -> io::Result<Roller> {
        let name = active_name(stream);
        let path = self.0.join(name);
        match fs::rename(&path, self.0.join(format!("{name}.1"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let file = private::open_log(OpenOptions::new().write(true).create_new(true), &path)?;
        Roller::open(&self.0, stream, file, ROLLING, Arc::default(), now)
    }

    /// The last lines that a process wrote to its standard error, without stack traces. Blocks the thread.
    pub(super) fn last_words(&self) -> String {
        last_words(&end_of(&self.stderr()).unwrap_or_default())
    }
}

/// A running process of the service.
#[derive(Debug)]
pub(super) struct Process {
    reaper: Reaper,
    /// The tasks that copy the process's output into its logs.
    appenders: Vec<Appender>,
}

impl Process {
    /// Starts a process of this Worker.
    ///
    /// # Errors
    /// The program cannot be started. The error is a text.
    pub(super) async fn start(
        command: &Command,
        directory: &Directory,
        logs: [Roller; 2],
        worker: &WorkerId,
        reapers: &Reapers,
        clock: Clock,
    ) -> Result<Self, String> {
        let mut appenders = Vec::new();
        let mut through_pipe = |log, stream| -> io::Result<OwnedFd> {
            let (ours, theirs) = io::pipe()?;
            let name = format!("shuffle service {}", active_name(stream));
            appenders.push(Appender::start(ours, log, clock, name)?);
            Ok(theirs.into())
        };
        let [stdout, stderr] = logs;
        let no_pipe = |error: io::Error| format!("cannot read its output: {error}");
        let stdout = through_pipe(stdout, Stream::Stdout).map_err(no_pipe)?;
        let stderr = through_pipe(stderr, Stream::Stderr).map_err(no_pipe)?;
        let mut variables = command.environment.clone();
        // By this variable, another Worker finds the process if this Worker and the reaper are killed together.
        variables.insert(WORKER_ID.to_owned(), worker.to_string());
        let program = Program {
            limits: GroupLimits::default(),
            path: command.program.clone(),
            is_own: false,
            arguments: command.arguments.clone(),
            variables,
            account: None,
            reach: None,
        };
        let started = reapers.start(NAME, program, &directory.0, &OutputTargets { stdout, stderr }).await;
        let reaper = started.map_err(|NotStarted { failure, .. }| failure.error)?;
        Ok(Self { reaper, appenders })
    }

    pub(super) fn id(&self) -> u32 {
        self.reaper.pid()
    }

    /// Signals the process group of the service.
    fn signal(&self, signal: Signal) {
        self.reaper.signal(signal);
    }

    /// Waits until the process and its descendants end, and keeps its last output. The future may be dropped before it
    /// is ready, and the method called again. Do not call it after it has returned.
    async fn wait(&mut self) -> ExitStatus {
        let Ended { status, last: _ } = self.reaper.ended().await;
        for appender in std::mem::take(&mut self.appenders) {
            appender.finish().await;
        }
        status
    }
}

#[derive(Debug)]
pub(super) enum Current {
    Runs(Process),
    Ended(ExitStatus),
    /// The process could not be started.
    Failed {
        why: String,
        /// Whether the supervision has received this failure.
        is_told: bool,
    },
}

impl Current {
    pub(super) fn failed(error: &str) -> Self {
        Self::Failed { why: format!("could not be started: {error}"), is_told: false }
    }

    /// Waits until the process has ended, or returns at once if a failed start was not reported yet. Each end is
    /// reported once; after that, this waits forever. Cancel-safe: the caller may drop the future and call again.
    pub(super) async fn ended(&mut self) {
        match self {
            Self::Runs(process) => *self = Self::Ended(process.wait().await),
            Self::Failed { is_told, .. } if !*is_told => *is_told = true,
            Self::Failed { .. } | Self::Ended(_) => std::future::pending().await,
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Self::Runs(process) = self {
            process.signal(signal);
        }
    }
}

fn try_port(port: u16) -> Result<(), String> {
    let listener = TcpListener::bind(("0.0.0.0", port));
    listener.map(drop).map_err(|error| format!("port {port} cannot be used: {error}"))
}

fn end_of(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn last_words(text: &str) -> String {
    let is_trace = |line: &&str| line.starts_with("at ") || line.starts_with("... ");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut last: Vec<&str> = lines.into_iter().rev().filter(|line| !is_trace(line)).take(LINES).collect();
    last.reverse();
    last.join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_last_lines_without_stack_traces() {
        let trace = "1\n2\n\nException in thread \"main\" java.net.BindException: in use\n\tat a.b.C(D.java:1)\n\t\
                     ... 3 more\nCaused by: x\n4\n5\n";
        let expected =
            "2 / Exception in thread \"main\" java.net.BindException: in use / Caused by: x / 4 / 5";
        assert_eq!(last_words(trace), expected);
        assert_eq!(last_words(""), "");
    }

    #[test]
    fn a_process_that_writes_for_ever_does_not_fill_the_disk() {
        let work = tempfile::tempdir().expect("there is room");
        let directory = Directory::new(work.path(), 7337);
        directory.make().expect("it is made");
        let mut log = directory.log(Stream::Stderr, Timestamp::default()).expect("it is made");
        for second in 0..100 {
            let written = log.write(Timestamp::from_millis(second * 1000), &vec![b'x'; 1 << 20]);
            assert!(written.dropped.is_none() && written.trouble.is_none(), "{written:?}");
        }
        let files = fs::read_dir(&directory.0).expect("it is there").map(|entry| entry.expect("an entry"));
        let lengths: Vec<u64> = files.map(|file| file.metadata().expect("it is there").len()).collect();
        assert!(lengths.iter().sum::<u64>() <= 31 << 20, "{lengths:?}");
    }

    #[test]
    fn the_output_of_the_process_before_is_kept_and_its_database_is_not() {
        let work = tempfile::tempdir().expect("there is room");
        let directory = Directory::new(work.path(), 7337);
        directory.make().expect("it is made");
        for number in 0..3 {
            let mut log = directory.log(Stream::Stderr, Timestamp::default()).expect("it is made");
            let written = log.write(Timestamp::default(), format!("{number}\n").as_bytes());
            assert!(written.dropped.is_none() && written.trouble.is_none(), "{written:?}");
        }
        assert_eq!(directory.last_words(), "2");
        let before = work.path().join("shuffle-service-7337/stderr.1");
        assert_eq!(fs::read_to_string(before).expect("it is there"), "1\n");
        let known = directory.database().join("executors");
        fs::write(&known, "").expect("it is written");
        directory.make().expect("it is made");
        assert!(directory.database().is_dir() && !known.exists());
        directory.remove_database().expect("it is removed");
        directory.remove_database().expect("there is none");
        assert!(!directory.database().exists());
    }
}
