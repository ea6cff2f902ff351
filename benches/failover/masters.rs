//! An elected Master: the real program.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use firesteel_testkit::CREDENTIALS;
use firesteel_testkit::wait::wait;
use serde_json::Value;

use crate::moment::Moment;

/// The time limit of every wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A Master, which ends when this is dropped, or when this process ends.
pub(crate) struct Master {
    process: Child,
    _stdin: ChildStdin,
    log: PathBuf,
    credentials: Option<PathBuf>,
    /// `host:port`.
    pub(crate) address: String,
}

impl Master {
    /// Starts a Master on a free port of loopback. Its log goes to a file, since a pipe would make this process part of
    /// the measurement.
    pub(crate) fn start(zookeeper: &str, session: Duration, log: &Path, credentials: Option<&Path>) -> Self {
        let mut command = firesteel(credentials);
        command.args(["master", "--host", "127.0.0.1", "--port", "0", "--announce", "--until-stdin-closes"]);
        for setting in [
            "spark.deploy.recoveryMode=ZOOKEEPER".to_owned(),
            format!("spark.deploy.zookeeper.url={zookeeper}"),
            format!("firesteel.master.zookeeper.sessionTimeout={}ms", session.as_millis()),
        ] {
            command.args(["--conf", &setting]);
        }
        let file = File::create(log).expect("a log is opened");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        let mut process = command.spawn().expect("the Master starts");
        let stdin = process.stdin.take().expect("it is a pipe");
        let stdout = process.stdout.take().expect("it is a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the Master announces its address");
        let ready: Value = serde_json::from_str(&line).expect("an announcement is JSON");
        let url = ready["url"].as_str().expect("an announcement has a url");
        let address = url.trim_start_matches("spark://").to_owned();
        let credentials = credentials.map(Path::to_owned);
        Self { process, _stdin: stdin, log: log.to_owned(), credentials, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits for a line of its log with these words after a moment. Returns the line and its time.
    pub(crate) fn line(&self, words: &str, after: Moment) -> (Moment, String) {
        wait(&format!("a Master to say {words:?}"), PATIENCE, || self.find(words, after))
    }

    fn find(&self, words: &str, after: Moment) -> Option<(Moment, String)> {
        let log = self.log();
        let line = log.lines().find(|line| line.contains(words))?;
        // `2026-11-26T01:02:03.456Z`.
        let (_, time) = line.split_once('T')?;
        Some((Moment::of_day(time, after), line.to_owned()))
    }

    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Kills it, and returns the moment before.
    pub(crate) fn kill(&mut self) -> Moment {
        let before = Moment::now();
        self.process.kill().expect("it is our child");
        self.process.wait().expect("it is our child");
        before
    }

    /// The output of `firesteel status --json` about it.
    pub(crate) fn status(&self) -> Value {
        let url = format!("spark://{}", self.address);
        let mut status = firesteel(self.credentials.as_deref());
        let output = status.args(["status", "--json", "--master", &url]).output();
        let output = output.expect("firesteel runs");
        assert!(output.status.success(), "status: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("status prints JSON")
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        // The bench may have killed it before.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(20)..].join("\n");
            eprintln!("--- the end of the log of the Master at {} ---\n{last}", self.address);
        }
    }
}

fn firesteel(credentials: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firesteel"));
    command.stdin(Stdio::null()).env_remove("RUST_LOG").envs(credentials.map(|file| (CREDENTIALS, file)));
    command
}
