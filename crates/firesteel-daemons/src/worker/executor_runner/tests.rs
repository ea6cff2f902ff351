//! Tests of the ExecutorRunner with real processes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::process::executor_command::JavaCommand;
use firesteel_protocol::process::{Command, ExitStatus, Signal};
use firesteel_protocol::wire::Role;
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;
use crate::spark::authentication::HostedSecrets;
use crate::worker::accounts::Accounts;
use crate::worker::java::{Java, LogUrls};
use crate::worker::log::LogReader;
use crate::worker::reaper::{self, handle::Reapers};
use crate::worker::scratch_directories::ScratchRoots;
use crate::worker::spark_homes::SparkHomes;
use crate::worker::work_directory::WorkDirectory;
use firesteel_host::clock::Clock;
use firesteel_host::inbox::{InboxEntry, InboxReceiver, inbox};
use firesteel_host::net::Introduction;
use firesteel_host::own_program::OwnProgram;
use firesteel_protocol::messages::{LogRequest, LogStart};
use firesteel_settings::pages::LogLinks;
use firesteel_settings::rolling::{Compression, LEAST_SIZE, Rolling, Strategy};
use firesteel_worker::{LastMeasurement, Limits, LogRead};

/// Runs a reaper if the Worker of a [`Rig`] has started this program as one.
#[ctor::ctor]
fn be_a_reaper() {
    if std::env::args().nth(1).as_deref() == Some(reaper::COMMAND) {
        let code = if reaper::process::run().is_ok() { 0 } else { 1 };
        std::process::exit(code);
    }
}

/// A plan for executor `app-1/3` with 2 cores and 512 MiB.
pub(crate) fn plan(program: &str, arguments: &[&str]) -> ExecutorPlan {
    ExecutorPlan {
        executor: ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) },
        profile: ProfileId::DEFAULT,
        app_name: "a test".into(),
        command: ExecutorCommand::Program(Command {
            program: program.into(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            environment: BTreeMap::new(),
        }),
        directory: TaskDirectory::Executor,
        cores: Cores(2),
        memory: MiB(512),
        resources: Resources::default(),
        on_worker: Resources::default(),
        files: Vec::new(),
    }
}

/// A runner in its own work directory.
struct Rig {
    scratch: TempDir,
    context: Arc<RunnerContext>,
    inbox: Inbox<Event>,
    receiver: InboxReceiver<Event>,
    /// The processor time of the executor that ended last, in milliseconds.
    cpu_millis: u64,
}

impl Rig {
    fn new() -> Self {
        Self::with(None)
    }

    fn with(rolling: Option<Rolling>) -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDirectory::open(scratch.path()).expect("it can be used");
        // The name is unique on the machine, like a Worker's id.
        let name = scratch.path().file_name().expect("it has one").to_string_lossy().replace('.', "");
        let worker = WorkerId::new(format!("worker-test-{}{name}", std::process::id()));
        let (inbox, receiver) = inbox(Clock::start());
        let java = Java {
            homes: SparkHomes::of(&[scratch.path().join("spark")]),
            scratch: ScratchRoots::of(&[scratch.path().join("local")]).of_worker(&worker),
            worker: Address::new("127.0.0.1", 7078),
            logs: LogUrls { links: LogLinks::Worker, worker: None, id: worker.clone() },
            passwords: BTreeMap::new(),
        };
        let context = Arc::new(RunnerContext {
            accounts: Accounts::Own,
            confinement: None,
            limits: Limits::default(),
            introduction: Introduction::new(Role::Worker, worker.as_str()),
            worker,
            work,
            java,
            reapers: Reapers::new(OwnProgram::find().expect("/proc is there"), None, false),
            rolling,
            removed_bytes: Arc::default(),
            spark_secrets: HostedSecrets::default(),
            clock: Clock::start(),
        });
        Self { scratch, context, inbox, receiver, cpu_millis: 0 }
    }

    fn start(&self, plan: ExecutorPlan) -> Runner {
        start_executor(plan, Arc::clone(&self.context), self.inbox.clone())
    }

    fn shell(&self, script: &str) -> Runner {
        self.start(plan("sh", &["-c", script]))
    }

    async fn next(&mut self) -> Event {
        let entry = timeout(Duration::from_secs(20), self.receiver.recv()).await;
        match entry.expect("an event within 20 s").expect("the rig holds a sender") {
            InboxEntry::Own(event) => event,
            other => panic!("{other:?}"),
        }
    }

    async fn started(&mut self) -> u32 {
        match self.next().await {
            Event::RunnerStarted { pid, .. } => pid,
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the end of the executor. The executor's directory is measured after that.
    async fn exited(&mut self) -> ExitStatus {
        let ended = match self.next().await {
            Event::ExecutorMeasured { executor, last: LastMeasurement { cpu_millis, .. } } => {
                self.cpu_millis = cpu_millis;
                executor
            }
            other => panic!("{other:?}"),
        };
        let status = match self.next().await {
            Event::RunnerExited { status, executor } if executor == ended => status,
            other => panic!("{other:?}"),
        };
        match self.next().await {
            Event::DirectoryLeft { executor, bytes } if executor == ended => assert!(bytes > 0),
            other => panic!("{other:?}"),
        }
        status
    }

    async fn failed(&mut self) -> StartFailure {
        match self.next().await {
            Event::RunnerFailed { why, .. } => why.failure,
            other => panic!("{other:?}"),
        }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.scratch.path().join("app-1/3").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).expect("the file is there")
    }

    /// Waits until the executor has written this file, so that all of its earlier steps are done.
    async fn written(&self, name: &str) -> String {
        let path = self.file(name);
        let there = async {
            loop {
                match fs::read_to_string(&path) {
                    Ok(text) if text.ends_with('\n') => return text,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        timeout(Duration::from_secs(20), there).await.expect("the file within 20 s")
    }
}

/// Whether a process with this id is alive, and not a zombie.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_executor_runs_in_its_directory_and_writes_to_its_files() {
    let mut rig = Rig::new();
    let script = "pwd; echo $FIRESTEEL_CORES $FIRESTEEL_EXECUTOR_ID; echo oops >&2; cat; exit 7";
    let runner = rig.shell(script);
    let pid = rig.started().await;
    assert!(pid > 1);
    assert_eq!(rig.exited().await, ExitStatus::Code(7));
    let directory = rig.context.work.path().join("app-1/3");
    assert_eq!(rig.read("stdout"), format!("{}\n2 3\n", directory.display()));
    let stderr = rig.read("stderr");
    let (header, rest) = stderr.split_once("========================================\n\n").expect("a header");
    assert_eq!(rest, "oops\n");
    assert!(header.starts_with("Firesteel Executor Command: sh -c 'pwd; echo"), "{header}");
    assert!(header.contains("FIRESTEEL_EXECUTOR_DIR=") && header.contains(" FIRESTEEL_CORES=2 "), "{header}");
    assert!(runner.is_over());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_workers_own_program_is_filled_in_where_it_is_a_whole_word() {
    let mut rig = Rig::new();
    rig.start(plan("echo", &["{{FIRESTEEL}}", "x{{FIRESTEEL}}", "{{CORES}}"]));
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::SUCCESS);
    let own = rig.context.reapers.firesteel().path().display().to_string();
    assert_eq!(rig.read("stdout"), format!("{own} x{{{{FIRESTEEL}}}} {{{{CORES}}}}\n"));
    // It is started from the running file, under the file's former name.
    rig.start(plan("{{FIRESTEEL}}", &["--list"]));
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::SUCCESS);
    assert!(rig.read("stdout").contains("the_workers_own_program_is_filled_in"));
    rig.start(plan("/opt/firesteel", &[]));
    let failure = rig.failed().await;
    assert_eq!(failure.step, StartStep::Lookup);
    assert_eq!(failure.error, "/opt/firesteel: not found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_death_by_signal_is_told_as_one() {
    let mut rig = Rig::new();
    rig.shell("kill -SEGV $$");
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::Signal(11));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_signal_reaches_the_whole_process_group() {
    let mut rig = Rig::new();
    // The shell ends by itself when its child has ended.
    let runner = rig.shell("sleep 1000 & echo $! > child; wait $!; exit 5");
    let leader = rig.started().await;
    let child = rig.written("child").await;
    assert!(is_alive(&child));
    runner.signal(Signal::Terminate);
    assert_eq!(rig.exited().await, ExitStatus::Signal(15));
    assert!(!is_alive(&child) && !is_alive(&leader.to_string()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_signal_before_the_start_counts_from_the_start() {
    let mut rig = Rig::new();
    let runner = rig.shell("sleep 1000");
    runner.signal(Signal::Kill);
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::Signal(9));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn signals_to_an_executor_that_is_ending_hurt_nobody() {
    for _ in 0..50 {
        let mut rig = Rig::new();
        let runner = rig.start(plan("true", &[]));
        rig.started().await;
        runner.signal(Signal::Terminate);
        runner.signal(Signal::Kill);
        let status = rig.exited().await;
        let possible = [ExitStatus::SUCCESS, ExitStatus::Signal(15), ExitStatus::Signal(9)];
        assert!(possible.contains(&status), "{status}");
        runner.signal(Signal::Kill);
        assert!(runner.is_over());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_that_an_executor_started_outlives_it() {
    let mut rig = Rig::new();
    // One child in the group ignores SIGTERM and SIGHUP, one has its own session, one has lost its parents, and one has
    // also lost its environment.
    let script = "(trap '' TERM HUP; sleep 1000 & echo $! > in-group; wait) & \
         setsid sh -c 'echo $$ > in-session; exec sleep 1000' & \
         (setsid sh -c '(sleep 1000 & echo $! > orphan) &' &) ; \
         (env -i setsid sh -c 'echo $$ > stranger; exec sleep 1000' &) ; \
         while ! [ -s in-group -a -s in-session -a -s orphan -a -s stranger ]; do :; done; exit 0";
    rig.shell(script);
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::SUCCESS);
    for name in ["in-group", "in-session", "orphan", "stranger"] {
        assert!(!is_alive(&rig.read(name)), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_end_of_one_executor_leaves_the_others_alone() {
    let mut rig = Rig::new();
    let mut other = plan("sh", &["-c", "setsid sleep 1000 & echo $! > stray; wait"]);
    other.executor.executor = ExecutorId(33);
    let other = rig.start(other);
    let pid = rig.started().await;
    rig.start(plan("true", &[]));
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::SUCCESS);
    assert!(is_alive(&pid.to_string()));
    other.signal(Signal::Kill);
    assert_eq!(rig.exited().await, ExitStatus::Signal(9));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_program_that_does_not_exist_is_a_failure_that_names_it() {
    let mut rig = Rig::new();
    rig.start(plan("/no/such/program", &[]));
    let failure = rig.failed().await;
    let said = "cannot start the program: /no/such/program: not found";
    assert_eq!(failure.to_string(), said);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_directory_that_cannot_be_made_is_a_failure_that_names_it() {
    let mut rig = Rig::new();
    fs::write(rig.scratch.path().join("app-1"), "in the way").expect("a file");
    rig.start(plan("true", &[]));
    let failure = rig.failed().await;
    assert_eq!(failure.step, StartStep::Directory);
    assert!(failure.error.contains("app-1/3: "), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_log_that_cannot_be_made_is_a_failure_that_names_the_file() {
    let mut rig = Rig::new();
    fs::create_dir_all(rig.file("stderr")).expect("a directory");
    rig.start(plan("true", &[]));
    let failure = rig.failed().await;
    assert_eq!(failure.step, StartStep::Output);
    assert!(failure.error.contains("app-1/3/stderr: Is a directory"), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_runs_where_its_application_says() {
    let mut rig = Rig::new();
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let path = elsewhere.path().canonicalize().expect("it exists").display().to_string();
    rig.start(ExecutorPlan { directory: TaskDirectory::Path(path.clone()), ..plan("pwd", &["-P"]) });
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::SUCCESS);
    assert_eq!(rig.read("stdout"), format!("{path}\n"));
    rig.start(ExecutorPlan { directory: TaskDirectory::Path("/nowhere".into()), ..plan("pwd", &[]) });
    let said = "cannot use the working directory: /nowhere: not found";
    assert_eq!(rig.failed().await.to_string(), said);
}

const BY_SIZE: Rolling =
    Rolling { strategy: Strategy::BySize(LEAST_SIZE), retained: None, compression: Compression::Gzip };

fn read_log(rig: &Rig, stream: Stream) -> Vec<u8> {
    let reader = LogReader::new(rig.context.work.clone(), Arc::clone(&rig.context.removed_bytes));
    let executor = plan("sh", &[]).executor;
    let mut all = Vec::new();
    loop {
        let from = LogStart::Offset(all.len() as u64);
        match reader.read(&LogRequest { executor: executor.clone(), stream, from }.into()) {
            LogRead::Piece { bytes, .. } if bytes.is_empty() => return all,
            LogRead::Piece { bytes, .. } => all.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rolled_logs_are_whole_when_the_end_is_told() {
    let mut rig = Rig::with(Some(BY_SIZE));
    let _runner = rig.shell("seq 100000; seq 100000 >&2; exit 7");
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::Code(7));
    let numbers: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert!(read_log(&rig, Stream::Stdout) == numbers.as_bytes());
    let stderr = String::from_utf8(read_log(&rig, Stream::Stderr)).expect("it is text");
    let (header, rest) = stderr.split_once(&format!("{}\n\n", "=".repeat(40))).expect("a header");
    assert!(header.starts_with("Firesteel Executor Command: ") && rest == numbers);
    let directory = rig.context.work.of_executor(&plan("sh", &[]).executor);
    let names = fs::read_dir(directory).expect("it is there");
    let names: Vec<String> =
        names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().filter(|name| name.ends_with(".gz")).count() > 10, "{names:?}");
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
}

/// A directory with Spark 4.0.1, and a `java` that prints its arguments.
fn installation(root: &Path) {
    let java = root.join("jdk/bin/java");
    for (path, text) in [
        (root.join("spark/jars/spark-core_2.13-4.0.1.jar"), ""),
        (java.clone(), "#!/bin/sh\nprintf '%s\\n' \"$@\"\nenv >&2\n"),
    ] {
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }
    fs::set_permissions(&java, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn java_plan(root: &Path, releases: &[&str]) -> ExecutorPlan {
    let java_home = ("JAVA_HOME".to_owned(), root.join("jdk").display().to_string());
    let command = JavaCommand {
        main_class: "Backend".to_owned(),
        arguments: ["--worker-url", "{{WORKER_URL}}", "{{CORES}}x"].map(str::to_owned).to_vec(),
        environment: [java_home, ("PASSWORD".to_owned(), "s3cret".to_owned())].into(),
        java_options: vec![
            "-Did={{EXECUTOR_ID}}".to_owned(),
            "-Dspark.ssl.rpc.keyPassword=s3cret".to_owned(),
        ],
        releases: releases.iter().map(|release| (*release).to_owned()).collect(),
        ..JavaCommand::default()
    };
    let mut plan = plan("", &[]);
    plan.command = ExecutorCommand::Java(Box::new(command));
    plan.resources.insert("gpu", "1");
    plan
}

#[tokio::test(flavor = "multi_thread")]
async fn a_java_class_runs_with_the_spark_that_is_installed_here() {
    let mut rig = Rig::new();
    let root = rig.scratch.path().to_owned();
    installation(&root);
    let _runner = rig.start(java_plan(&root, &["4.0"]));
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::SUCCESS);
    let directory = root.join("app-1/3");
    let read = |name: &str| fs::read_to_string(directory.join(name)).expect("it is there");
    let (work, home) = (root.canonicalize().expect("it is there"), root.join("spark").display().to_string());
    let resources = work.join("app-1/3/resources.json").display().to_string();
    let stdout = read("stdout");
    let words: Vec<&str> = stdout.lines().collect();
    // The rest of the class path depends on the environment of the test.
    assert!(words[0] == "-cp" && words[1].contains(&format!("{home}/jars/*")), "{words:?}");
    let expected = [
        "-Xmx512M",
        "-Did=3",
        "Backend",
        "--worker-url",
        "spark://Worker@127.0.0.1:7078",
        "{{CORES}}x",
        "--resourcesFile",
        &resources,
    ];
    assert_eq!(words[2..], expected);
    let stderr = read("stderr");
    let (header, variables) = stderr.split_once("=====\n\n").expect("a header");
    assert!(!header.contains("s3cret") && variables.contains("PASSWORD=s3cret"), "{stderr}");
    let scratch = rig.context.java.scratch.make(&AppId::new("app-1"), None).expect("it is there");
    for line in [
        format!("SPARK_HOME={home}"),
        format!("SPARK_EXECUTOR_DIRS={}", scratch[0].display()),
        "FIRESTEEL_EXECUTOR_ID=3".to_owned(),
    ] {
        assert!(variables.lines().any(|found| found == line), "{line}: {variables}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_java_class_without_its_spark_says_what_was_sought_and_where() {
    let mut rig = Rig::new();
    let root = rig.scratch.path().to_owned();
    installation(&root);
    let _runner = rig.start(java_plan(&root, &["3.4", "3.5"]));
    let failure = rig.failed().await;
    assert!(failure.is_of_the_machine(), "{failure}");
    assert!(
        failure.error.starts_with("Spark 3.4 or 3.5, which its driver has, is not installed"),
        "{failure}"
    );
    assert!(failure.error.contains(&format!("{} has 4.0.1", root.join("spark").display())), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_processor_time_of_an_executor_is_exact_at_its_end_however_soon_that_is() {
    let mut rig = Rig::new();
    // The child's time counts with its parent's, which waits for it.
    let _runner = rig.shell("i=0; (while [ $i -lt 300000 ]; do i=$((i + 1)); done) & wait; times");
    rig.started().await;
    assert_eq!(rig.exited().await, ExitStatus::SUCCESS);
    // Four times as 0m0.25s: of the shell, then of its children.
    let times = rig.read("stdout");
    let seconds = |time: &str| -> f64 {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').expect("minutes and seconds");
        minutes.parse::<f64>().expect("a number") * 60.0 + seconds.parse::<f64>().expect("a number")
    };
    let millis = times.split_whitespace().map(seconds).sum::<f64>() * 1000.0;
    let measured = rig.cpu_millis as f64;
    assert!(millis > 0.0 && (measured - millis).abs() <= 50.0, "{measured} ms and {times}");
}
