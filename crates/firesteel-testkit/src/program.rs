//! The program under test, as its users run it.
//!
//! ```text
//! let master = Daemon::master(&[]);
//! let directory = tempfile::tempdir().expect("a temporary directory");
//! let worker = Daemon::worker(&master, directory.path(), &["--cores", "4", "--memory", "1g"]);
//! master.wait_for_workers(1);
//! assert_eq!(worker.terminate(), 0);
//! ```

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::wait::{DEADLINE, wait_for};
use crate::{processes, signals};

/// The path of the program under test. Cargo builds the program before the tests and benches of its crate, and passes
/// them the path. A test that runs without Cargo finds the program relative to its own path.
///
/// # Panics
/// The program is in neither place, because this is a test or bench of another crate.
pub fn binary() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let told = env::var_os("CARGO_BIN_EXE_firesteel").map(PathBuf::from);
        let path = told.unwrap_or_else(|| {
            let test = env::current_exe().expect("a program knows its file");
            let profile =
                test.parent().and_then(Path::parent).expect("it is in the folder deps of its profile");
            profile.join("firesteel")
        });
        assert!(
            path.is_file(),
            "{} is missing: only tests and benches of its crate build it",
            path.display()
        );
        path.into_os_string().into_string().expect("its path is UTF-8")
    })
}

/// A command of the program under test.
pub fn firesteel() -> Command {
    clean(binary())
}

/// A Master on this port without a journal.
pub fn forgetful_master(port: &str) -> Command {
    let mut command = firesteel();
    command.args(["master", "--port", port, "--webui-port", "0", "--conf", "spark.deploy.recoveryMode=NONE"]);
    command
}

/// Sends an HTTP request for a path, with these further lines of a head. Returns the status and the whole response.
pub fn http_get(address: &str, path: &str, head: &str) -> (u16, String) {
    http(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{head}\r\n"))
}

/// The same for a form that is sent.
pub fn http_post(address: &str, path: &str, head: &str, form: &str) -> (u16, String) {
    let length = form.len();
    let lines = format!("Host: {address}\r\n{head}Content-Length: {length}\r\n");
    http(address, &format!("POST {path} HTTP/1.1\r\n{lines}\r\n{form}"))
}

fn http(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it serves HTTP");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("an answer has a status"), answer)
}

/// Writes a file that may be run, and the directories above it.
pub fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it is made");
    fs::write(path, text).expect("it is written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// The same command under a limit of the shell's `ulimit`.
pub fn limited(limit: &str, command: &Command) -> Command {
    let mut shell = clean("sh");
    shell.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// A command of this program, in a clean environment.
pub fn clean(program: impl AsRef<OsStr>) -> Command {
    signals::give_children_the_defaults();
    let mut command = Command::new(program);
    // Variables of the tests' own environment must not count.
    for (name, _) in std::env::vars() {
        if is_ours(&name) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether a variable of this name would change the behaviour of Firesteel.
pub fn is_ours(name: &str) -> bool {
    const OTHERS: [&str; 7] = [
        "RUST_LOG",
        "MASTER",
        "NO_COLOR",
        "HADOOP_CONF_DIR",
        "YARN_CONF_DIR",
        "HADOOP_USER_NAME",
        "FIRESTEEL_LOG_FORMAT",
    ];
    name.starts_with("SPARK_") || OTHERS.contains(&name)
}

/// The scratch directories of applications in the directories of Workers below this directory.
pub fn scratch_of_applications(local: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    entries(local).iter().flat_map(|worker| entries(worker)).collect()
}

/// A running daemon, which is killed when it is dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Guarded,
    stdout: Text,
    stderr: Text,
    url: String,
    http: String,
    /// The file with the daemon's credentials, if it has any.
    credentials: Option<OsString>,
}

/// The variable that names a file with credentials.
pub const CREDENTIALS: &str = "FIRESTEEL_CREDENTIALS_FILE";

impl Daemon {
    /// A Master on a free port of loopback.
    pub fn master(arguments: &[&str]) -> Self {
        Self::start(firesteel().args(["master", "--port", "0"]).args(arguments))
    }

    /// A Worker of this Master, on a free port of loopback, with this work directory.
    pub fn worker(master: &Daemon, work_dir: &Path, arguments: &[&str]) -> Self {
        Self::start(&mut Self::worker_command(master, work_dir, arguments))
    }

    /// The command that starts such a Worker.
    pub fn worker_command(master: &Daemon, work_dir: &Path, arguments: &[&str]) -> Command {
        let mut command = firesteel();
        command.args(["worker", "--port", "0", "--work-dir"]).arg(work_dir).args(arguments).arg(master.url());
        command
    }

    /// Starts any daemon that supports `--announce`. Returns when the daemon is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut daemon = Self::spawn(command.arg("--announce"));
        let line = wait_for("a daemon's announcement", || {
            let line = daemon.stdout.first_line();
            assert!(line.is_some() || daemon.is_alive(), "a daemon ended at once:\n{}", daemon.log());
            line
        });
        let ready: Value = serde_json::from_str(&line).expect("an announcement is JSON");
        daemon.url = ready["url"].as_str().expect("an announcement has a url").to_owned();
        daemon.http = ready["http"].as_str().unwrap_or_default().to_owned();
        daemon
    }

    /// Starts any command, without waiting until it is ready.
    pub fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let credentials = command.get_envs().find(|(name, _)| *name == CREDENTIALS);
        let credentials = credentials.and_then(|(_, file)| file.map(OsStr::to_owned));
        let mut child = Guarded::spawn(command);
        let stdout = Text::collect(child.stdout.take().expect("it is piped"));
        let stderr = Text::collect(child.stderr.take().expect("it is piped"));
        Self { child, stdout, stderr, url: String::new(), http: String::new(), credentials }
    }

    /// The URL on which the daemon listens, `spark://host:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of the daemon's HTTP server, `host:port`. Empty if the daemon has no HTTP server.
    pub fn http(&self) -> &str {
        self.http.trim_start_matches("http://").trim_end_matches('/')
    }

    /// Sends an HTTP request for a path to the daemon. Returns the status and the body of the response.
    pub fn get(&self, path: &str) -> (u16, String) {
        let (status, answer) = http_get(self.http(), path, "");
        let (_, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        (status, body.to_owned())
    }

    /// The socket address in the daemon's URL.
    pub fn address(&self) -> SocketAddr {
        let address = self.url.strip_prefix("spark://").expect("a URL has a scheme");
        address.parse().expect("daemons in tests listen on an IP address")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        self.stderr.so_far()
    }

    /// Whether the daemon has written to standard output.
    pub fn has_written(&self) -> bool {
        !self.stdout.so_far().is_empty()
    }

    /// The whole standard output of the daemon. Waits until the daemon has ended.
    pub fn output(&self) -> String {
        self.stdout.whole()
    }

    /// The standard output of the daemon so far.
    pub fn output_so_far(&self) -> String {
        self.stdout.so_far()
    }

    /// Waits for a line of the daemon's log that contains all these words. Returns this line.
    pub fn wait_for_line(&self, words: &[&str]) -> String {
        self.stderr.wait_for_line(words)
    }

    /// Whether the daemon's process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// The output of `firesteel status --json` about this Master, asked with its own credentials.
    pub fn status(&self) -> Value {
        let mut command = firesteel();
        command.args(["status", "--json", "--master", &self.url]);
        command.envs(self.credentials.iter().map(|file| (CREDENTIALS, file)));
        let done = run(&mut command);
        assert_eq!(done.code(), 0, "{done}\n{}", self.log());
        serde_json::from_str(&done.stdout).expect("status prints JSON")
    }

    /// Waits until a Master has this number of Workers.
    pub fn wait_for_workers(&self, count: usize) {
        wait_for("the Workers to register", || {
            (self.status()["workers"].as_array()?.len() == count).then_some(())
        });
    }

    pub fn signal(&self, signal: Signal) {
        // It may already have ended.
        let _ = processes::signal(self.child.id(), signal);
    }

    /// Ends the daemon with SIGTERM. Returns its exit code as a POSIX shell reports it.
    pub fn terminate(mut self) -> i32 {
        self.signal(Signal::SIGTERM);
        self.wait()
    }

    /// Waits until the daemon has ended and its output is complete. Returns its exit code as a POSIX shell reports it.
    pub fn wait(&mut self) -> i32 {
        let child = &mut self.child;
        let status = wait_for("a process to end", || child.try_wait().expect("it is our child"));
        // Its last output may still be in the pipes.
        self.stdout.whole();
        self.stderr.whole();
        shell_code(status)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- log of process {} ---\n{}", self.child.id(), self.log());
        }
    }
}

/// A process that a test started. The process is killed when this value is dropped. If the test fails, its descendants
/// are killed, too, so that no process is left behind.
#[derive(Debug)]
pub struct Guarded(Option<Child>);

impl Guarded {
    /// Starts this command.
    pub fn spawn(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))))
    }

    /// Returns the process, which is then no longer guarded.
    pub fn release(mut self) -> Child {
        self.0.take().expect("it is released once")
    }
}

impl Deref for Guarded {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().expect("it is not released")
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is not released")
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        let below = if thread::panicking() { processes::descendants_of(child.id()) } else { Vec::new() };
        // It may already have ended.
        let _ = child.kill();
        let _ = child.wait();
        for pid in below {
            let _ = processes::signal(pid, Signal::SIGKILL);
        }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The exit status of the command.
    pub status: ExitStatus,
    /// The standard output of the command.
    pub stdout: String,
    /// The standard error of the command.
    pub stderr: String,
}

impl Finished {
    /// The exit code as a POSIX shell reports it: 128 + n for signal n.
    pub fn code(&self) -> i32 {
        shell_code(self.status)
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n--- stdout ---\n{}\n--- stderr ---\n{}", self.status, self.stdout, self.stderr)
    }
}

/// Runs a command to its end, without standard input.
pub fn run(command: &mut Command) -> Finished {
    run_with_input(command, Vec::new())
}

/// Runs a command to its end with these bytes on standard input.
pub fn run_with_input(command: &mut Command, input: Vec<u8>) -> Finished {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Guarded::spawn(command);
    let mut stdin = child.stdin.take().expect("it is piped");
    // A command may end without having read everything.
    let writer = thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, &input)));
    let stdout = Text::collect(child.stdout.take().expect("it is piped"));
    let stderr = Text::collect(child.stderr.take().expect("it is piped"));
    let deadline = Instant::now() + 4 * DEADLINE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if Instant::now() > deadline {
            panic!("{command:?} did not end:\n{}", stderr.so_far());
        }
        thread::park_timeout(Duration::from_millis(10));
    };
    writer.join().expect("writing does not panic");
    Finished { status, stdout: stdout.whole(), stderr: stderr.whole() }
}

fn shell_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).expect("it ended somehow")
}

/// The output of a process, collected by a thread so that the process never blocks.
#[derive(Clone, Debug)]
struct Text(Arc<(Mutex<Collected>, Condvar)>);

#[derive(Debug, Default)]
struct Collected {
    bytes: Vec<u8>,
    ended: bool,
}

impl Text {
    fn collect(source: impl Read + Send + 'static) -> Self {
        let text = Self(Arc::default());
        let into = text.clone();
        thread::spawn(move || {
            let mut source = BufReader::new(source);
            loop {
                let piece = source.fill_buf().map(<[u8]>::to_vec).unwrap_or_default();
                source.consume(piece.len());
                let (collected, changed) = &*into.0;
                let mut collected = collected.lock().expect("no thread panics with the lock");
                collected.ended = piece.is_empty();
                collected.bytes.extend(piece);
                changed.notify_all();
                if collected.ended {
                    return;
                }
            }
        });
        text
    }

    fn so_far(&self) -> String {
        let collected = self.0.0.lock().expect("no thread panics with the lock");
        String::from_utf8_lossy(&collected.bytes).into_owned()
    }

    /// The whole output, once the stream is closed at the other end. The process may leave children behind that keep
    /// the stream open.
    fn whole(&self) -> String {
        let (collected, changed) = &*self.0;
        let collected = collected.lock().expect("no thread panics with the lock");
        let (collected, _) = changed
            .wait_timeout_while(collected, DEADLINE, |collected| !collected.ended)
            .expect("no thread panics with the lock");
        String::from_utf8_lossy(&collected.bytes).into_owned()
    }

    fn first_line(&self) -> Option<String> {
        self.so_far().split_once('\n').map(|(line, _)| line.to_owned())
    }

    fn wait_for_line(&self, words: &[&str]) -> String {
        let (collected, changed) = &*self.0;
        let deadline = Instant::now() + DEADLINE;
        let mut seen = collected.lock().expect("no thread panics with the lock");
        loop {
            let text = String::from_utf8_lossy(&seen.bytes).into_owned();
            if let Some(line) = text.lines().find(|line| words.iter().all(|word| line.contains(word))) {
                return line.to_owned();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.ended {
                // Ending the daemons also needs the lock, to show the log of the failed test.
                drop(seen);
                panic!("no line of the log has {words:?}:\n{text}");
            }
            seen = changed.wait_timeout(seen, left).expect("no thread panics with the lock").0;
        }
    }
}
