//! Tests of the task runner with real processes.

use std::collections::BTreeMap;

use firesteel_placement::Cores;
use firesteel_protocol::ids::{AppId, ExecutorId, TaskId};
use firesteel_protocol::process::Command;
use tokio::time::timeout;

use super::*;
use firesteel_host::clock::Clock;
use firesteel_host::inbox::{InboxEntry, InboxReceiver, inbox};

const LONG: Duration = Duration::from_secs(20);

/// An executor on this machine, for one test only.
struct Rig {
    context: Arc<RunnerContext>,
    inbox: Inbox<Event>,
    receiver: InboxReceiver<Event>,
}

/// All events of a task.
#[derive(Debug, Default, PartialEq)]
struct Course {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: Option<ExitStatus>,
}

impl Rig {
    fn new() -> Self {
        // The name is unique on the machine, like a Worker's id.
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let name = scratch.path().file_name().expect("it has one").to_string_lossy().replace('.', "");
        let worker = WorkerId::new(format!("worker-test-{}{name}", std::process::id()));
        let executor = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        let context = Arc::new(RunnerContext { executor, worker, host: "here".to_owned() });
        let (inbox, receiver) = inbox(Clock::start());
        Self { context, inbox, receiver }
    }

    fn start(&self, spec: TaskSpec, allowed: u64) -> TaskRunner {
        let resources = Resources::from_iter([("gpu-a100", ["1", "0"])]);
        let launch = Launch { attempt: attempt(), spec, resources };
        TaskRunner::start(launch, allowed, Arc::clone(&self.context), self.inbox.clone())
    }

    async fn next(&mut self) -> Event {
        let entry = timeout(LONG, self.receiver.recv()).await;
        match entry.expect("an event in time").expect("the rig holds a sender") {
            InboxEntry::Own(event) => event,
            other => panic!("{other:?}"),
        }
    }

    async fn started(&mut self) -> u32 {
        match self.next().await {
            Event::TaskStarted { pid, .. } => pid,
            other => panic!("{other:?}"),
        }
    }

    /// Collects the events until the end, with unlimited credit for output.
    async fn rest(&mut self) -> Course {
        let mut course = Course::default();
        while course.status.is_none() {
            match self.next().await {
                Event::TaskOutput { stream: Stream::Stdout, bytes, .. } => course.stdout.extend(bytes),
                Event::TaskOutput { stream: Stream::Stderr, bytes, .. } => course.stderr.extend(bytes),
                Event::TaskExited { status, .. } => course.status = Some(status),
                other => panic!("{other:?}"),
            }
        }
        course
    }

    async fn course_of(&mut self, spec: TaskSpec) -> Course {
        let _runner = self.start(spec, u64::MAX);
        self.started().await;
        self.rest().await
    }
}

fn attempt() -> AttemptId {
    AttemptId { task: TaskId(17), attempt: 1 }
}

fn spec(program: &str, arguments: &[&str]) -> TaskSpec {
    let command = Command {
        program: program.to_owned(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        environment: BTreeMap::new(),
    };
    TaskSpec { command, directory: TaskDirectory::Executor, stdin: Bytes::new(), cores: Cores(1) }
}

fn shell(script: &str) -> TaskSpec {
    spec("sh", &["-c", script])
}

fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// Waits for the end of a process that was killed.
async fn is_gone(pid: i32) {
    let gone = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(1), gone).await.expect("it was killed");
}

fn number(bytes: &[u8]) -> i32 {
    String::from_utf8_lossy(bytes).trim().parse().expect("a process id")
}

#[tokio::test]
async fn both_outputs_and_the_exit_code_come_back() {
    let course = Rig::new().course_of(shell("echo out; echo err >&2; exit 3")).await;
    let expected =
        Course { stdout: b"out\n".to_vec(), stderr: b"err\n".to_vec(), status: Some(ExitStatus::Code(3)) };
    assert_eq!(course, expected);
}

#[tokio::test]
async fn a_task_reads_its_standard_input_rest_or_not_at_all() {
    let long = Bytes::from(vec![b'x'; 3_000_000]);
    let counted = TaskSpec { stdin: long.clone(), ..spec("wc", &["-c"]) };
    assert_eq!(Rig::new().course_of(counted).await.stdout, b"3000000\n");
    let unread = TaskSpec { stdin: long, ..shell("exec true") };
    assert_eq!(Rig::new().course_of(unread).await.status, Some(ExitStatus::SUCCESS));
    assert_eq!(Rig::new().course_of(spec("wc", &["-c"])).await.stdout, b"0\n", "nothing to read");
}

#[tokio::test]
async fn a_task_knows_who_it_is_and_keeps_its_executors_marker() {
    let mut rig = Rig::new();
    let mut task = shell(
        "echo $FIRESTEEL_TASK_ID $FIRESTEEL_TASK_ATTEMPT $FIRESTEEL_APP_ID $FIRESTEEL_EXECUTOR_ID \
         $FIRESTEEL_HOST $COLOUR; echo $FIRESTEEL_WORKER_ID",
    );
    for (name, value) in [("COLOUR", "red"), (APP_ID, "another"), (WORKER_ID, "another")] {
        task.command.environment.insert(name.to_owned(), value.to_owned());
    }
    let expected = format!("17 1 app-1 3 here red\n{}\n", rig.context.worker);
    let course = rig.course_of(task).await;
    assert_eq!(String::from_utf8_lossy(&course.stdout), expected);
}

#[tokio::test]
async fn a_task_runs_in_its_directory() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let path = scratch.path().canonicalize().expect("it exists").display().to_string();
    let task = TaskSpec { directory: TaskDirectory::Path(path.clone()), ..spec("pwd", &["-P"]) };
    assert_eq!(Rig::new().course_of(task).await.stdout, format!("{path}\n").into_bytes());
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    let at = |path: &str| TaskSpec { directory: TaskDirectory::Path(path.to_owned()), ..spec("true", &[]) };
    for (task, words) in [
        (spec("no-such-program", &[]), "cannot start the program: no-such-program: not found"),
        (spec("/etc", &[]), "cannot start the program: /etc: Permission denied (os error 13)"),
        (at("/no/such/place"), "cannot use the working directory: /no/such/place: not found"),
        (at("/etc/passwd"), "cannot use the working directory: /etc/passwd: not a directory"),
    ] {
        let mut rig = Rig::new();
        let _runner = rig.start(task, 1);
        match rig.next().await {
            Event::TaskNotStarted { why, .. } => assert_eq!(why.failure.to_string(), words),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn no_byte_is_read_without_an_allowance() {
    let mut rig = Rig::new();
    let runner = rig.start(shell("head -c 1000 /dev/zero; head -c 1000 /dev/zero >&2"), 700);
    rig.started().await;
    let mut read = 0;
    for allowed in [700, 1900, 2000] {
        while read < allowed {
            match rig.next().await {
                Event::TaskOutput { bytes, .. } => read += bytes.len(),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(read, allowed, "over both streams");
        let more = timeout(Duration::from_millis(30), rig.receiver.recv()).await;
        assert!(more.is_err(), "{more:?}");
        runner.allow(if allowed == 700 { 1200 } else { 100 });
    }
    assert_eq!(rig.rest().await.status, Some(ExitStatus::SUCCESS));
}

#[tokio::test]
async fn unwanted_output_is_thrown_away_and_a_signal_reaches_the_whole_group() {
    let mut rig = Rig::new();
    let runner = rig.start(shell("yes & yes & wait"), 100);
    rig.started().await;
    runner.drain();
    runner.signal(Signal::Terminate);
    assert_eq!(rig.rest().await.status, Some(ExitStatus::Signal(15)));
}

#[tokio::test]
async fn a_task_that_ignores_the_first_signal_is_ended_by_the_second() {
    let mut rig = Rig::new();
    let runner = rig.start(shell("trap '' TERM; echo ready; while :; do sleep 1; done"), u64::MAX);
    rig.started().await;
    assert!(matches!(rig.next().await, Event::TaskOutput { .. }), "it is ready");
    runner.signal(Signal::Terminate);
    assert!(timeout(Duration::from_millis(50), rig.receiver.recv()).await.is_err());
    runner.signal(Signal::Kill);
    assert_eq!(rig.rest().await.status, Some(ExitStatus::Signal(9)));
}

#[tokio::test]
async fn children_in_the_background_do_not_outlive_their_task_nor_hold_it_up() {
    let course = Rig::new().course_of(shell("sleep 1000 & echo $!")).await;
    assert_eq!(course.status, Some(ExitStatus::SUCCESS));
    is_gone(number(&course.stdout)).await;
}

/// Runs a task whose child leaves the process group, keeps the output open and sleeps. The task then ends.
async fn course_of_a_deserter(desert: &str) -> Course {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let script =
        format!("{desert} sh -c 'echo $$; : > gone; exec sleep 3' & until [ -e gone ]; do sleep 0.01; done");
    let directory = TaskDirectory::Path(scratch.path().display().to_string());
    Rig::new().course_of(TaskSpec { directory, ..shell(&script) }).await
}

#[tokio::test]
async fn a_child_that_left_the_group_and_holds_the_output_is_found() {
    let course = course_of_a_deserter("setsid").await;
    assert_eq!(course.status, Some(ExitStatus::SUCCESS));
    is_gone(number(&course.stdout)).await;
}

#[tokio::test]
async fn a_child_that_cannot_be_found_does_not_hold_the_task_up() {
    let course = course_of_a_deserter("env -i setsid").await;
    assert_eq!(course.status, Some(ExitStatus::SUCCESS));
    assert!(is_alive(number(&course.stdout)), "or this shows nothing; it ends by itself");
}

#[tokio::test]
async fn output_written_just_before_the_end_is_not_lost() {
    for _ in 0..20 {
        let course = Rig::new().course_of(shell("head -c 60000 /dev/zero; kill -9 $$")).await;
        assert_eq!((course.stdout.len(), course.status), (60_000, Some(ExitStatus::Signal(9))));
    }
}
