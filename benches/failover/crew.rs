//! Processes of mocks, which exchange lines of text with the bench.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use firesteel_daemons::secret::credentials::Credentials;
use firesteel_host::net::Keyring;
use firesteel_testkit::CREDENTIALS;
use tokio::runtime;
use tokio::sync::mpsc;

use crate::masters::PATIENCE;
use crate::moment::Moment;

/// The longest life of a process of mocks.
const LONGEST: Duration = Duration::from_secs(600);

/// A process of mocks. It ends when this is dropped, or when this process ends.
pub(crate) struct MockProcess {
    process: Child,
    stdin: ChildStdin,
    said: Receiver<String>,
}

impl MockProcess {
    /// Starts this program again with these words, and with the credentials of this file.
    pub(crate) fn start(words: &[&str], credentials: Option<&Path>) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.args(words).envs(credentials.map(|file| (CREDENTIALS, file)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("this program starts");
        let stdin = process.stdin.take().expect("it is a pipe");
        let stdout = process.stdout.take().expect("it is a pipe");
        let (said, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        Self { process, stdin, said: lines }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends the process a command.
    pub(crate) fn tell(&mut self, words: &str) {
        writeln!(self.stdin, "{words}").expect("the mocks live");
    }

    /// Waits until the process reports `words`. Returns the time of that, and the rest of the line. Earlier lines are
    /// skipped.
    pub(crate) fn hear(&self, words: &str) -> (Moment, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.said.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("waited {PATIENCE:?} for mocks to say {words:?}"));
            let (moment, said) = line.split_once(' ').expect("mocks say when");
            if let Some(more) = said.strip_prefix(words) {
                return (Moment::read(moment), more.trim_start().to_owned());
            }
        }
    }
}

impl Drop for MockProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The keys of the mocks in this process.
pub(crate) fn keyring() -> Option<Keyring> {
    let path = std::env::var_os(CREDENTIALS)?;
    let credentials = Credentials::open(Path::new(&path)).expect("the bench has made it");
    Some(Keyring::new(credentials.keys()))
}

/// Reports to the bench, as a process of mocks.
pub(crate) fn say(words: &str) {
    let mut stdout = io::stdout().lock();
    // The other process may have ended.
    let _ = writeln!(stdout, "{} {words}", Moment::now()).and_then(|()| stdout.flush());
}

/// Runs mocks in this process, with the commands that it receives. It ends when standard input ends.
pub(crate) fn run<Mocks: Future<Output = ()>>(mocks: impl FnOnce(mpsc::UnboundedReceiver<String>) -> Mocks) {
    let (sender, told) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
        std::process::exit(0);
    });
    thread::spawn(|| {
        thread::sleep(LONGEST);
        std::process::exit(1);
    });
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        mocks(told).await;
        // Runs until it is killed, or standard input ends.
        std::future::pending::<()>().await;
    });
}
