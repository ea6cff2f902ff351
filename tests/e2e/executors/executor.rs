//! The executor's process; the test plays its Worker and its driver.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use bytes::Bytes;
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{AttemptId, TaskId};
use firesteel_protocol::messages::{
    DriverToExecutor, ExecutorToDriver, HeartbeatRules, TaskDirectory, TaskEnd, TaskSpec, TaskState,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::wire::{self, MAX_FRAME};
use firesteel_testkit::processes::{children_of, is_alive};
use firesteel_testkit::{Guarded, firesteel, run, wait_for};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::driver::{introduce, read_frame, write_frame};
use crate::daemons::worker::signal;

/// An executor, with its connection to the driver.
struct Executor {
    /// A shell in place of the Worker, which leads a process group.
    worker: Guarded,
    pid: u32,
    stream: TcpStream,
}

impl Drop for Executor {
    fn drop(&mut self) {
        // None of its processes may be left.
        let _ = killpg(Pid::from_raw(self.worker.id().cast_signed()), Signal::SIGKILL);
        let _ = self.worker.wait();
    }
}

impl Executor {
    /// Starts an executor and receives its registration.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let driver = listener.local_addr().expect("it is bound").to_string();
        let mut executor = firesteel();
        executor.args(arguments(&driver));
        let mut worker = Command::new("sh");
        // The shell must not become the executor, since it must be its parent.
        worker.args(["-c", r#""$@"; exit $?"#, "sh"]).arg(executor.get_program()).args(executor.get_args());
        let worker = Guarded::spawn(worker.process_group(0).stderr(Stdio::null()));
        let (mut stream, _) = listener.accept().expect("the executor dials");
        introduce(&mut stream);
        let pid = children_of(worker.id())[0];
        let mut executor = Self { worker, pid, stream };
        match executor.next() {
            ExecutorToDriver::RegisterExecutor { app, executor, cores, .. } => {
                assert_eq!((app.as_str(), executor.0, cores), ("app-1", 3, Cores(2)));
            }
            other => panic!("{other:?}"),
        }
        executor
    }

    fn say(&mut self, message: &DriverToExecutor) {
        write_frame(&mut self.stream, &wire::encode(message, MAX_FRAME).expect("it is short"));
    }

    fn next(&mut self) -> ExecutorToDriver {
        wire::decode(&read_frame(&mut self.stream)).expect("a message")
    }

    /// Runs a script that first writes a process id.
    fn launch(&mut self, script: &str) -> (AttemptId, u32) {
        let attempt = AttemptId { task: TaskId(1), attempt: 0 };
        let command = firesteel_protocol::process::Command {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: Default::default(),
        };
        let (directory, stdin) = (TaskDirectory::Executor, Bytes::new());
        let spec = TaskSpec { command, directory, stdin, cores: Cores(1) };
        let resources = Resources::default();
        self.say(&DriverToExecutor::LaunchTask { attempt, spec, resources, credit: 1000 });
        assert_eq!(self.next(), ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Running });
        match self.next() {
            ExecutorToDriver::TaskOutput { bytes, .. } => {
                let text = String::from_utf8_lossy(&bytes).trim().to_owned();
                (attempt, text.parse().expect("a process id"))
            }
            other => panic!("{other:?}"),
        }
    }

    /// Waits for its end and checks that none of its tasks is left. Returns the exit code.
    fn end(mut self, task: u32) -> i32 {
        let status = self.worker.wait().expect("it is our child");
        assert!(!is_alive(task), "the task outlived its executor");
        status.code().expect("a shell's exit code")
    }
}

fn arguments(driver: &str) -> [&str; 13] {
    let [url, app, number, worker, host, cores] =
        ["--driver-url", "--app-id", "--executor-id", "--worker-id", "--hostname", "--cores"];
    ["executor", url, driver, app, "app-1", number, "3", worker, "worker-1", host, "here", cores, "2"]
}

#[test]
fn an_executor_and_its_tasks_end_with_a_worker_that_is_killed() {
    let mut executor = Executor::start();
    let (_, task) = executor.launch("echo $$; exec sleep 1000");
    signal(executor.worker.id(), Signal::SIGKILL);
    let pid = executor.pid;
    wait_for("the executor to end", || (!is_alive(pid)).then_some(()));
    assert!(!is_alive(task), "the task outlived its executor");
}

#[test]
fn an_executor_and_its_tasks_end_with_a_driver_that_is_gone() {
    let mut executor = Executor::start();
    let rules = HeartbeatRules { interval_millis: 3_600_000, patience_millis: 3_600_000, away_millis: 0 };
    executor.say(&DriverToExecutor::RegisteredExecutor { rules, received: 0 });
    let (_, task) = executor.launch("echo $$; exec sleep 1000");
    executor.stream.shutdown(std::net::Shutdown::Both).expect("it is open");
    assert_eq!(executor.end(task), 0);
}

#[test]
fn an_executor_that_is_terminated_ends_its_tasks_first_and_says_so() {
    let mut executor = Executor::start();
    let (attempt, task) = executor.launch("trap 'exit 9' TERM; echo $$; while :; do sleep 0.01; done");
    signal(executor.pid, Signal::SIGTERM);
    let killed = TaskState::Ended(TaskEnd::Killed);
    assert_eq!(executor.next(), ExecutorToDriver::StatusUpdate { attempt, state: killed });
    assert_eq!(executor.end(task), 0);
}

#[test]
fn a_ctrl_c_is_not_meant_for_the_executor() {
    let mut executor = Executor::start();
    let (attempt, task) = executor.launch("echo $$; sleep 0.1; exit 4");
    signal(executor.pid, Signal::SIGINT);
    let ended = TaskState::Ended(TaskEnd::Exited(ExitStatus::Code(4)));
    assert_eq!(executor.next(), ExecutorToDriver::StatusUpdate { attempt, state: ended });
    executor.say(&DriverToExecutor::StopExecutor);
    assert_eq!(executor.end(task), 0);
}

#[test]
fn an_executor_without_a_driver_says_so_in_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let nobody = listener.local_addr().expect("it is bound").to_string();
    drop(listener);
    let done = run(firesteel().args(arguments(&nobody)));
    assert_eq!(done.code(), 83, "{done}");
    let words = format!("executor app-1/3 cannot reach its driver: cannot connect to {nobody}");
    assert!(done.stderr.contains(&words), "{done}");
}
