//! The sweeper: ends what others left behind, with one look at all processes for all that ask at the same time.
//!
//! A look reads the environment of every process on the machine. When a Worker with hundreds of executors shuts
//! down, they end together, and a look for each of them would be quadratic.

use std::time::Duration;

use nix::unistd::Pid;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use super::strays::{Marker, PAUSE, Survivors, kill_all, look};

/// Requests that may wait. Who asks waits for room.
const REQUESTS: usize = 1024;

/// How long killed processes may take to be gone.
const LIMIT: Duration = Duration::from_secs(10);

/// The handle of the task that sweeps. The task ends with its last handle.
#[derive(Clone, Debug)]
pub struct Sweeper {
    requests: mpsc::Sender<Request>,
}

#[derive(Debug)]
struct Request {
    marker: Marker,
    give_up: Instant,
    answer: oneshot::Sender<Result<(), Survivors>>,
}

impl Sweeper {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let (sender, requests) = mpsc::channel(REQUESTS);
        tokio::spawn(serve(requests));
        Self { requests: sender }
    }

    /// Kills every process that carries the marker until none is found.
    ///
    /// # Errors
    /// Some are still there after 10 s.
    pub async fn sweep(&self, marker: Marker) -> Result<(), Survivors> {
        let (answer, answered) = oneshot::channel();
        let request = Request { marker, give_up: Instant::now() + LIMIT, answer };
        self.requests.send(request).await.expect("the sweeper lives as long as its handles");
        answered.await.expect("the sweeper answers every request")
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
        let found = tokio::task::spawn_blocking(move || kill_bearers_once(&markers)).await;
        let found = found.expect("looking for processes does not panic");
        waiting = answer(waiting, &found);
    }
}

/// One look; all that were found are killed.
fn kill_bearers_once(markers: &[Marker]) -> Vec<Vec<Pid>> {
    let found = look(markers);
    found.iter().for_each(|bearers| kill_all(bearers));
    found
}

/// Answers those for which nothing was found or the time is over. The others wait for the next look.
fn answer(waiting: Vec<Request>, found: &[Vec<Pid>]) -> Vec<Request> {
    let now = Instant::now();
    let mut left = Vec::new();
    for (request, bearers) in waiting.into_iter().zip(found) {
        // Who asked may have gone away.
        if bearers.is_empty() {
            let _ = request.answer.send(Ok(()));
        } else if request.give_up <= now {
            let _ = request.answer.send(Err(Survivors::new(bearers)));
        } else {
            left.push(request);
        }
    }
    left
}
