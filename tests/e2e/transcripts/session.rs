//! One bash, which runs the commands of a page in turn.

use std::io::{PipeReader, Read, Write, pipe};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use firesteel_testkit::{Guarded, is_ours};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;

/// The time limit of one command.
const LONGEST: Duration = Duration::from_secs(60);

/// The mark after a command's output; the exit code follows it.
const END: &str = "=-=-= the command has ended:";

/// A running bash. Its processes end with it.
pub(super) struct Session {
    bash: Guarded,
    stdin: ChildStdin,
    pieces: Receiver<Vec<u8>>,
    directory: TempDir,
}

impl Session {
    /// Starts a bash in an empty directory, with these variables.
    pub(super) fn start(variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (reader, writer) = pipe().expect("a pipe");
        let binary = Path::new(env!("CARGO_BIN_EXE_firesteel"));
        let path = format!(
            "{}:{}",
            binary.parent().expect("a file is in a directory").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc"]).current_dir(directory.path());
        // Variables of the tests' own environment must not count.
        for (name, _) in std::env::vars() {
            if is_ours(&name) {
                bash.env_remove(name);
            }
        }
        bash.envs([("PATH", path.as_str()), ("SPARK_USER", "me"), ("COLUMNS", "100"), ("LC_ALL", "C.UTF-8")]);
        bash.envs(variables.iter().copied()).process_group(0);
        bash.stdin(Stdio::piped()).stdout(writer.try_clone().expect("a pipe")).stderr(writer);
        let mut bash = Guarded::spawn(&mut bash);
        let stdin = bash.stdin.take().expect("it is piped");
        Self { bash, stdin, pieces: collect(reader), directory }
    }

    /// The directory in which it began.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Runs a command. Returns its output and exit code.
    pub(super) fn run(&mut self, command: &str) -> (String, i32) {
        let script = format!("{{ {command}\n}} </dev/null\nprintf '\\n%s %s\\n' '{END}' \"$?\"\n");
        self.stdin.write_all(script.as_bytes()).expect("bash reads");
        let deadline = Instant::now() + LONGEST;
        let mut written = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&written);
            if let Some((before, code)) = text.split_once(&format!("\n{END} "))
                && let Some((code, _)) = code.split_once('\n')
            {
                return (before.to_owned(), code.parse().expect("an exit code is a number"));
            }
            match self.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(piece) => written.extend(piece),
                Err(RecvTimeoutError::Timeout) => panic!("{command}\ndid not end:\n{text}"),
                Err(RecvTimeoutError::Disconnected) => panic!("{command}\nended the session:\n{text}"),
            }
        }
    }

    /// Repeats a command until it succeeds.
    pub(super) fn wait_until(&mut self, command: &str) {
        let deadline = Instant::now() + LONGEST;
        loop {
            let (said, code) = self.run(command);
            if code == 0 {
                return;
            }
            assert!(Instant::now() < deadline, "waited in vain for\n{command}\n{said}");
            thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let group = i32::try_from(self.bash.id()).expect("a process id is a positive i32");
        // All of it may already have ended.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        let _ = self.bash.wait();
    }
}

fn collect(mut reader: PipeReader) -> Receiver<Vec<u8>> {
    let (sender, pieces) = channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    pieces
}
