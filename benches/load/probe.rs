//! A probe that continuously asks small questions.

use std::collections::VecDeque;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::ClientToMaster;
use firesteel_protocol::wire::Role;
use firesteel_testkit::peers::link::Link;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{interval, timeout};

use crate::mocks::PATIENCE;
use crate::server::Door;

const PERIOD: Duration = Duration::from_millis(5);

/// A client with a thread of its own, which the mocks do not keep waiting.
pub(crate) struct Probe {
    stop: oneshot::Sender<()>,
    asking: JoinHandle<Vec<Duration>>,
}

/// The times of answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) median: Duration,
    /// The 99th percentile.
    pub(crate) most: Duration,
    pub(crate) longest: Duration,
}

impl Probe {
    pub(crate) fn start(door: &Door) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (connected, is_connected) = channel();
        let door = door.clone();
        let asking = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async {
                let link = door.dial(Role::Client, "probe").await;
                let _ = connected.send(());
                ask(link, stopped).await
            })
        });
        is_connected.recv().expect("the server admits the probe");
        Self { stop, asking }
    }

    /// Stops asking, and waits for the missing answers.
    pub(crate) fn finish(self) -> Delays {
        let Self { stop, asking } = self;
        drop(stop);
        Delays::of(asking.join().expect("the server answers the probe"))
    }
}

impl Delays {
    pub(crate) fn of(mut delays: Vec<Duration>) -> Self {
        delays.sort_unstable();
        let at = |hundredth: usize| {
            delays
                .get((delays.len() * hundredth).div_ceil(100).saturating_sub(1))
                .copied()
                .unwrap_or_default()
        };
        Self { median: at(50), most: at(99), longest: at(100) }
    }
}

/// How long after each question was due its answer came.
async fn ask(link: Link, mut stopped: oneshot::Receiver<()>) -> Vec<Duration> {
    let Link { mut incoming, mut outgoing } = link;
    let question =
        ClientToMaster::RequestApplication { app: "none".to_owned(), executors_from: ExecutorId(0) };
    let (mut due, mut delays) = (VecDeque::new(), Vec::new());
    let mut ticks = interval(PERIOD);
    let mut stops = false;
    while !stops || !due.is_empty() {
        tokio::select! {
            at = ticks.tick(), if !stops => {
                due.push_back(at);
                outgoing.push(&question);
                assert!(outgoing.flush().await, "the server goes on reading");
            }
            _ = &mut stopped, if !stops => stops = true,
            answer = timeout(PATIENCE, incoming.next()), if !due.is_empty() => {
                answer.expect("it comes in time").expect("the server goes on answering");
                delays.extend(due.pop_front().map(|at| at.elapsed()));
            }
        }
    }
    delays
}
