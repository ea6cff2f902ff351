//! Tests of the executor's daemon with real tasks. The test plays the driver.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_protocol::ids::{ProfileId, TaskId};
use firesteel_protocol::messages::{
    DriverToExecutor, ExecutorToDriver, HeartbeatRules, Stream, TaskDirectory, TaskEnd, TaskSpec, TaskState,
};
use firesteel_protocol::process::{Command, ExitStatus};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use firesteel_host::clock::Clock;
use firesteel_host::inbox::{InboxReceiver, inbox};
use firesteel_host::lease::Lease;
use firesteel_host::net::{AcceptedRole, Arrival, Listener, Peers};
use firesteel_protocol::wire::Hello;

/// What the driver receives: a message, or `None` when the connection has ended.
type Received = (PeerId, Option<ExecutorToDriver>);

/// A driver, and its only executor.
struct Rig {
    peers: Peers<Received>,
    receiver: InboxReceiver<Received>,
    executor: JoinHandle<Result<(), ExecutorError>>,
    peer: PeerId,
}

fn options(port: u16) -> Options {
    Options {
        driver: Address::new("127.0.0.1", port),
        app: AppId::new("app-1"),
        executor: ExecutorId(3),
        profile: ProfileId(2),
        worker: WorkerId::new("worker-1"),
        host: "here".to_owned(),
        cores: Cores(2),
        resources: Resources::from_iter([("gpu", ["0", "1"])]),
        secret: Secret::new("hush"),
        is_encrypted: false,
    }
}

fn hear(arrival: Arrival, body: &[u8]) -> Result<Received, DecodeError> {
    Ok((arrival.peer, Some(wire::decode(body)?)))
}

impl Rig {
    /// Starts an executor, which has introduced itself to the driver.
    async fn new() -> Self {
        let listener = Listener::bind(&Address::new("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local().port();
        let (inbox, receiver) = inbox(Clock::start());
        let peers =
            Peers::new(Hello::new(Role::Driver, "driver"), QueueLimits::default(), inbox, Lease::default());
        peers.serve(listener, vec![AcceptedRole { role: Role::Executor, decode: hear }]);
        let executor = tokio::spawn(run(options(port)));
        let mut rig = Self { peers, receiver, executor, peer: PeerId(0) };
        let (peer, message) = rig.hear().await;
        let Options { app, executor, profile, worker, host, cores, resources, secret, .. } = options(port);
        let expected = ExecutorToDriver::RegisterExecutor {
            app,
            executor,
            profile,
            worker,
            host,
            cores,
            resources,
            secret,
            received: Some(0),
        };
        assert_eq!(message, Some(expected));
        rig.peer = peer;
        rig
    }

    async fn hear(&mut self) -> Received {
        let heard = async {
            loop {
                let entry = self.receiver.recv().await.expect("the rig holds a sender");
                if let Some((_, heard)) = self.peers.admit(entry, |peer| (peer, None)) {
                    return heard;
                }
            }
        };
        timeout(Duration::from_secs(20), heard).await.expect("something in time")
    }

    fn say(&mut self, message: DriverToExecutor) {
        self.peers.send(self.peer, message);
        self.peers.hand_over();
    }

    fn launch(&mut self, task: u64, script: &str) -> AttemptId {
        let attempt = AttemptId { task: TaskId(task), attempt: 0 };
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        let command = Command { program: "sh".to_owned(), arguments, environment: BTreeMap::new() };
        let (directory, stdin) = (TaskDirectory::Executor, Bytes::new());
        let spec = TaskSpec { command, directory, stdin, cores: Cores(1) };
        let resources = Resources::default();
        self.say(DriverToExecutor::LaunchTask { attempt, spec, resources, credit: 1 << 20 });
        attempt
    }

    /// The first line of a task that was just launched.
    async fn line(&mut self, task: AttemptId) -> String {
        let running = ExecutorToDriver::StatusUpdate { attempt: task, state: TaskState::Running };
        assert_eq!(self.hear().await, (self.peer, Some(running)));
        match self.hear().await {
            (_, Some(ExecutorToDriver::TaskOutput { attempt, stream: Stream::Stdout, bytes })) => {
                assert_eq!(attempt, task);
                String::from_utf8_lossy(&bytes).trim().to_owned()
            }
            other => panic!("{other:?}"),
        }
    }

    async fn end(&mut self) -> (AttemptId, TaskEnd) {
        match self.hear().await {
            (_, Some(ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Ended(end) })) => {
                (attempt, end)
            }
            other => panic!("{other:?}"),
        }
    }

    async fn exit(self) -> Result<(), ExecutorError> {
        timeout(Duration::from_secs(20), self.executor).await.expect("it ends").expect("it does not panic")
    }
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

#[tokio::test]
async fn a_task_runs_and_the_executor_ends_when_it_is_told_to() {
    let mut rig = Rig::new().await;
    let rules = HeartbeatRules { interval_millis: 3_600_000, patience_millis: 3_600_000, away_millis: 0 };
    rig.say(DriverToExecutor::RegisteredExecutor { rules, received: 0 });
    let task = rig.launch(1, "echo hi; exit 3");
    assert_eq!(rig.line(task).await, "hi");
    assert_eq!(rig.end().await, (task, TaskEnd::Exited(ExitStatus::Code(3))));
    rig.say(DriverToExecutor::StopExecutor);
    assert_eq!(rig.hear().await, (rig.peer, None));
    rig.exit().await.expect("it was told to end");
}

#[tokio::test]
async fn a_killed_task_ends_and_others_go_on() {
    let mut rig = Rig::new().await;
    let killed = rig.launch(1, "echo $$; exec sleep 1000");
    let pid = rig.line(killed).await;
    let other = rig.launch(2, "echo x; read nothing; exit 7");
    assert_eq!(rig.line(other).await, "x");
    assert_eq!(rig.end().await, (other, TaskEnd::Exited(ExitStatus::Code(7))));
    rig.say(DriverToExecutor::KillTask { attempt: killed });
    assert_eq!(rig.end().await, (killed, TaskEnd::Killed));
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn no_task_outlives_the_connection_to_the_driver() {
    let mut rig = Rig::new().await;
    let rules = HeartbeatRules { interval_millis: 3_600_000, patience_millis: 3_600_000, away_millis: 0 };
    rig.say(DriverToExecutor::RegisteredExecutor { rules, received: 0 });
    let task = rig.launch(1, "echo $$; exec sleep 1000");
    let pid = rig.line(task).await;
    rig.peers.close(rig.peer);
    rig.peers.hand_over();
    rig.exit().await.expect("that is no error");
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn a_refused_executor_says_why() {
    let mut rig = Rig::new().await;
    rig.say(DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::NumberTaken));
    let error = rig.exit().await.expect_err("it was refused");
    assert_eq!(error.to_string(), "the driver rejected executor app-1/3: its number is taken");
}

#[tokio::test]
async fn a_driver_that_is_not_there_is_named() {
    let listener = Listener::bind(&Address::new("127.0.0.1", 0)).await.expect("a free port");
    let port = listener.local().port();
    drop(listener);
    let error = run(options(port)).await.expect_err("nobody listens");
    let words = format!(
        "executor app-1/3 cannot reach its driver: cannot connect to 127.0.0.1:{port}: \
         Connection refused (os error 111)"
    );
    assert_eq!(error.to_string(), words);
}

#[tokio::test]
async fn an_executor_says_by_its_trouble_why_it_never_reached_its_driver() {
    let trouble = async |host: &str, port| {
        let driver = Address::new(host, port);
        let ended = timeout(Duration::from_secs(20), run(Options { driver, ..options(port) })).await;
        ended.expect("it ends").expect_err("there is no driver").trouble()
    };
    assert_eq!(trouble("no-such-host.invalid", 7100).await, ExecutorTrouble::UnknownHost);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = closed.local_addr().expect("it is bound").port();
    drop(closed);
    assert_eq!(trouble("127.0.0.1", port).await, ExecutorTrouble::NothingListens);
    // A listener writes this and closes the connection.
    for (written, expected) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", ExecutorTrouble::NoDriver),
        ("SSH-2.0-OpenSSH_9.2\r\n", ExecutorTrouble::NoDriver),
        ("", ExecutorTrouble::Mute),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let stranger = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            std::io::Write::write_all(&mut stream, written.as_bytes())?;
            // Otherwise the connection would be reset, and the written bytes could be lost.
            std::io::Read::read(&mut stream, &mut [0; 64])
        });
        assert_eq!(trouble("127.0.0.1", port).await, expected, "{written:?}");
        stranger.join().expect("it does not panic").expect("the executor dialled");
    }
}
