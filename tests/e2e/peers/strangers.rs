//! A local cluster admits only its own processes. Other users know every port, since the system shows them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ClientToMaster, DriverToMaster, ExecutorToDriver, Offered, Sha256, StateCursor, WorkerDescription,
    WorkerToDriver, WorkerToMaster,
};
use firesteel_protocol::secret::{EXECUTOR_SECRET, Secret};
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, Hello, MAX_FRAME, MAX_HELLO, PREAMBLE, Role};
use firesteel_testkit::{DEADLINE, firesteel, processes, run, wait_for};
use nix::unistd::geteuid;

use super::wire::frame;
use crate::executors::driver::script;

/// A run of `firesteel map` in a local cluster, whose only task runs until the end of the test.
struct Victim {
    command: Child,
    /// Contains the user's directory for temporary files, and the task's output.
    directory: tempfile::TempDir,
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

impl Victim {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("tool"), "private").expect("it can be written");
        let mut command = firesteel();
        command
            .current_dir(directory.path())
            .env("TMPDIR", directory.path())
            .args(["map", "--master", "local-cluster[1,2,1024]", "--executor-cores", "1", "--chdir", "."])
            .args([
                "--files",
                "tool",
                "--",
                "sh",
                "-c",
                "env > environment.new; mv environment.new environment; sleep 600",
            ])
            .args([":::", "a"])
            .stdin(Stdio::null())
            .stderr(fs::File::create(directory.path().join("stderr")).expect("it can be made"));
        let command = command.stdout(Stdio::null()).spawn().expect("the binary can be started");
        let victim = Self { command, directory };
        wait_for("the task to begin", || victim.path("environment").is_file().then_some(()));
        victim
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Its output, and the logs of its daemons.
    fn logs(&self) -> String {
        let of_daemons = ["master.log", "worker-0.log"].map(|name| self.cluster().join(name));
        let all = of_daemons.into_iter().chain([self.path("stderr")]);
        all.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }

    fn cluster(&self) -> PathBuf {
        let entries = fs::read_dir(self.directory.path()).expect("it can be read").flatten();
        let mut found =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("firesteel-cluster-"));
        found.next().expect("it is there").path()
    }

    /// All its processes, each with the name of its command.
    fn processes(&self) -> Vec<(String, u32)> {
        let pids = [vec![self.command.id()], processes::descendants_of(self.command.id())].concat();
        let named = |pid: u32| Some((processes::command_line(pid).get(1)?.clone(), pid));
        pids.into_iter().filter_map(named).collect()
    }

    /// Its ports, by the listening command's name.
    fn ports(&self) -> BTreeMap<String, u16> {
        let listening = |(name, pid): (String, u32)| Some((name, listening_port(pid)?));
        self.processes().into_iter().filter_map(listening).collect()
    }

    /// The URL of the Master, and the secret.
    fn key(&self) -> (String, String) {
        let text = fs::read_to_string(self.cluster().join("key")).expect("it is there");
        let (url, secret) = text.trim_end().split_once('\n').expect("it has two lines");
        (url.to_owned(), secret.to_owned())
    }
}

/// The port on which a process listens, as `/proc` shows it to users who may see its descriptors.
fn listening_port(pid: u32) -> Option<u16> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let sockets: Vec<String> = links
        .filter_map(|link| fs::read_link(link.path()).ok()?.to_str().map(str::to_owned))
        .filter_map(|name| Some(name.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).ok()?;
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let is_its = columns[3] == "0A" && sockets.iter().any(|socket| socket == columns[9]);
        u16::from_str_radix(columns[1].split_once(':')?.1, 16).ok().filter(|_| is_its)
    })
}

/// The whole answer of a port's listener to these bytes.
pub(super) fn answer(port: u16, sent: &[u8]) -> Vec<u8> {
    read_all(send(port, sent))
}

/// The same, from a daemon that is told that nothing more follows.
pub(super) fn last_answer(port: u16, sent: &[u8]) -> Vec<u8> {
    let stream = send(port, sent);
    // It may have hung up.
    let _ = stream.shutdown(Shutdown::Write);
    read_all(stream)
}

fn send(port: u16, sent: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time-outs");
    // It may hang up before it has read everything.
    let _ = stream.write_all(sent);
    stream
}

fn read_all(mut stream: TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    match stream.read_to_end(&mut said) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => {
            panic!("{:?} is kept open: {error}", stream.peer_addr())
        }
        Ok(_) | Err(_) => said,
    }
}

/// The bytes of a peer with this role, which begins with this opening and sends a message without waiting for an
/// answer.
pub(super) fn attack(opening: &[u8], role: Role, message: &impl serde::Serialize) -> Vec<u8> {
    let hello = wire::encode(&Hello::new(role, "a stranger"), MAX_HELLO).expect("it is short");
    let message = wire::encode(message, MAX_FRAME).expect("it is short");
    [opening, &frame(&hello), &frame(&message)].concat()
}

#[test]
fn whoever_knows_the_ports_of_a_local_cluster_gets_in_nowhere() {
    let victim = Victim::start();
    let ports = victim.ports();
    assert_eq!(ports.keys().collect::<Vec<_>>(), ["map", "master", "worker"], "all who listen");
    let stolen = victim.path("stolen");
    let application = script(&format!("touch {}", stolen.display()), 1);
    let worker = WorkerDescription::new(
        WorkerId::new("worker-20260101000000-127.0.0.1-1"),
        Address::new("127.0.0.1", 1),
        Offered { cores: Cores(64), memory: MiB(65536), resources: Resources::default() },
        "/tmp".to_owned(),
    );
    let executor = ExecutorToDriver::RegisterExecutor {
        app: AppId::new("app-1"),
        executor: ExecutorId(0),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new("worker-1"),
        host: "127.0.0.1".to_owned(),
        cores: Cores(1),
        resources: Resources::default(),
        secret: Secret::new("guessed"),
        received: Some(0),
    };
    let attacks = |opening| {
        [
            attack(
                opening,
                Role::Driver,
                &DriverToMaster::RegisterApplication(Box::new(application.clone())),
            ),
            attack(opening, Role::Worker, &WorkerToMaster::register(worker.clone(), Vec::new())),
            attack(
                opening,
                Role::Client,
                &ClientToMaster::RequestMasterState { from: StateCursor::beginning() },
            ),
            attack(opening, Role::Executor, &executor),
            attack(
                opening,
                Role::Worker,
                &WorkerToDriver::RequestFile { sha256: Sha256([0; 32]), offset: 0 },
            ),
        ]
    };
    let encrypted = wire::encrypted_preamble(Version::CURRENT);
    let refused = [&encrypted[..], &[0]].concat();
    let guessed = [&encrypted[..], &[7; 8 + 48]].concat();
    for (name, port) in &ports {
        for opening in [&PREAMBLE[..], &encrypted, &guessed] {
            for sent in attacks(opening) {
                let said = answer(*port, &sent);
                // The answer can be lost where bytes were left unread.
                assert!(said == refused || said.is_empty(), "{name} answers {opening:?}: {said:?}");
            }
        }
        // Spark's RPC, and HTTP.
        for foreign in [&[0; 64][..], b"GET /json/ HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
            let said = answer(*port, foreign);
            assert!(!said.windows(4).any(|word| word == b"HTTP"), "{name}: {said:?}");
            assert!(said.len() <= PREAMBLE.len() + 200, "{name}: {said:?}");
        }
    }
    let logs = victim.logs();
    assert!(
        logs.contains("it has no secret, and this side connects only to those who know its own"),
        "{logs}"
    );
    assert!(logs.contains("it has another secret"), "{logs}");
    assert!(!stolen.exists());
}

#[test]
fn a_command_of_another_directory_for_temporary_files_is_told_what_is_there() {
    let victim = Victim::start();
    let elsewhere = tempfile::tempdir().expect("a directory");
    let (url, _) = victim.key();
    for (arguments, code) in [(&["status"][..], 76), (&["explain", "app-1"], 76), (&["kill", "app-1"], 76)] {
        let done = run(firesteel().args(arguments).args(["--master", &url]).env("TMPDIR", elsewhere.path()));
        assert_eq!(done.code(), code, "{done}");
        assert!(
            done.stderr.contains("it admits only those who know its secret, and this side has none"),
            "{done}"
        );
    }
    // The cluster's user is admitted.
    let own = |arguments: &[&str]| {
        let done =
            run(firesteel().args(arguments).args(["--master", &url]).env("TMPDIR", victim.directory.path()));
        assert_eq!(done.code(), 0, "{done}");
        done.stdout
    };
    let app = own(&["status", "--json"]);
    let app: serde_json::Value = serde_json::from_str(&app).expect("it is JSON");
    let id = app["applications"][0]["id"].as_str().expect("the map runs").to_owned();
    own(&["explain", &id]);
    own(&["logs", &id, "--stderr"]);
    own(&["map", "--executor-cores", "1", "--total-executor-cores", "1", "--", "true", ":::", "a"]);
}

#[test]
fn another_user_gets_in_neither_by_the_ports_nor_by_the_file() {
    if !geteuid().is_root() {
        eprintln!("left out: only root can become another user");
        return;
    }
    let victim = Victim::start();
    let (url, _) = victim.key();
    // The other user can run the program, and looks for the secret file.
    let place = tempfile::tempdir().expect("a directory");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::set_permissions(victim.directory.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let program = place.path().join("firesteel");
    fs::copy(firesteel().get_program(), &program).expect("it can be copied");
    let other = |words: &[&OsStr]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words);
        command.current_dir(place.path()).env("TMPDIR", victim.directory.path());
        run(&mut command)
    };
    let key = victim.cluster().join("key");
    let read = other(&["cat".as_ref(), key.as_os_str()]);
    assert!(read.code() != 0 && read.stdout.is_empty(), "{read}");
    for arguments in [&["status"][..], &["explain", "app-1"]] {
        let words: Vec<&OsStr> = [program.as_os_str()]
            .into_iter()
            .chain(arguments.iter().map(OsStr::new))
            .chain(["--master".as_ref(), OsStr::new(&url)])
            .collect();
        let done = other(&words);
        assert_eq!(done.code(), 76, "{done}");
        assert!(done.stderr.contains("for a local cluster be the user who started it"), "{done}");
    }
}

#[test]
fn the_secret_of_a_local_cluster_is_shown_to_nobody() {
    let victim = Victim::start();
    let (_, secret) = victim.key();
    assert_eq!(secret.len(), 32);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&victim.cluster()), mode(&victim.cluster().join("key"))), (0o700, 0o600));
    let of_task = fs::read_to_string(victim.path("environment")).expect("it is text");
    assert!(!of_task.contains(&secret) && !of_task.contains(EXECUTOR_SECRET), "{of_task}");
    for (name, pid) in victim.processes() {
        let words = processes::command_line(pid).join(" ");
        assert!(!words.contains(&secret), "{name}: {words}");
        let environment = fs::read(format!("/proc/{pid}/environ")).expect("it is ours");
        let has_it = environment.windows(secret.len()).any(|word| word == secret.as_bytes());
        assert!(!has_it, "{name}: executors know the secret of their application only");
    }
    assert!(!victim.logs().contains(&secret));
}

#[test]
fn an_executor_of_a_local_cluster_works_for_no_stranger_at_its_drivers_port() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let driver: SocketAddr = listener.local_addr().expect("it is bound");
    let mut executor = firesteel();
    executor.args(["executor", "--encrypted", "--driver-url"]).arg(driver.to_string());
    executor.args(["--app-id", "app-1", "--executor-id", "0", "--worker-id", "worker-1"]);
    executor.args(["--hostname", "here", "--cores", "1"]).env(EXECUTOR_SECRET, "hush");
    let executor = executor.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (mut stream, _) = listener.accept().expect("the executor dials");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time-outs");
    let mut opening = [0; 8 + 8 + 48];
    stream.read_exact(&mut opening).expect("an opening");
    assert_eq!(opening[..8], wire::encrypted_preamble(Version::CURRENT));
    // It answers like a driver that knows the secret.
    let answer = [&wire::encrypted_preamble(Version::CURRENT)[..], &[1], &[7; 56]].concat();
    stream.write_all(&answer).expect("it listens");
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest);
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    assert_eq!(rest, b"", "it registers with nobody else");
    let done = executor.wait_with_output().expect("it ends");
    let log = String::from_utf8_lossy(&done.stderr);
    assert!(log.contains("it has another secret"), "{log}");
}
