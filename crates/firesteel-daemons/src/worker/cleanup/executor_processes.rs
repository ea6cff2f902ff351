//! Ends the processes that an executor leaves, with one scan of all processes for all requests at the same time.
//!
//! A scan reads the environment of every process on the machine. When a Worker shuts down, its executors end together.
//! With hundreds of executors, one scan per executor would take quadratic time.

use std::time::Duration;

use nix::unistd::Pid;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use super::processes::{Marker, PAUSE, Survivors, kill_all, scan};

/// The maximum number of queued requests. When the queue is full, senders wait.
const REQUESTS: usize = 1024;

/// How long killed processes may take to end.
const LIMIT: Duration = Duration::from_secs(10);

/// The handle of the task that ends processes. The task ends when its last handle is dropped.
#[derive(Clone, Debug)]
pub struct ProcessCleanup {
    requests: mpsc::Sender<Request>,
}

#[derive(Debug)]
struct Request {
    marker: Marker,
    give_up: Instant,
    answer: oneshot::Sender<Result<(), Survivors>>,
}

impl ProcessCleanup {
    #[must_use]
    pub fn start() -> Self {
        let (sender, requests) = mpsc::channel(REQUESTS);
        tokio::spawn(serve(requests));
        Self { requests: sender }
    }

    /// Kills every process that carries the marker, until none is found.
    ///
    /// # Errors
    /// Some processes still exist after 10 s.
    pub async fn end_matching(&self, marker: Marker) -> Result<(), Survivors> {
        let (answer, answered) = oneshot::channel();
        let request = Request { marker, give_up: Instant::now() + LIMIT, answer };
        self.requests.send(request).await.expect("the cleanup lives as long as its handles");
        answered.await.expect("the cleanup answers every request")
    }
}

async fn serve(mut requests: mpsc::Receiver<Request>) {
    let mut waiting = Vec::new();
    loop {
        if waiting.is_empty() {
            match requests.recv().await {
                Some(request) => waiting.push(request),
                None => return,
            }
        } else {
            sleep(PAUSE).await;
        }
        while let Ok(request) = requests.try_recv() {
            waiting.push(request);
        }
        let markers: Vec<Marker> = waiting.iter().map(|request| request.marker.clone()).collect();
        let found = tokio::task::spawn_blocking(move || kill_matching_once(&markers)).await;
        let found = found.expect("looking for processes does not panic");
        waiting = answer(waiting, &found);
    }
}

/// Scans once and kills all processes that were found.
fn kill_matching_once(markers: &[Marker]) -> Vec<Vec<Pid>> {
    let found = scan(markers);
    found.iter().for_each(|matching| kill_all(matching));
    found
}

/// Answers the requests whose time is over or whose processes have all ended. Returns the other requests, which wait
/// for the next scan.
fn answer(waiting: Vec<Request>, found: &[Vec<Pid>]) -> Vec<Request> {
    let now = Instant::now();
    let mut left = Vec::new();
    for (request, matching) in waiting.into_iter().zip(found) {
        // The sender of the request may be gone.
        if matching.is_empty() {
            let _ = request.answer.send(Ok(()));
        } else if request.give_up <= now {
            let _ = request.answer.send(Err(Survivors::new(matching)));
        } else {
            left.push(request);
        }
    }
    left
}
