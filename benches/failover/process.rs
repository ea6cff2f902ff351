//! Samples the processor time of processes.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use crate::moment::Moment;

/// The pause between two samples.
const PAUSE: Duration = Duration::from_millis(10);

/// Samples some processes until it is stopped.
pub(crate) struct Meter {
    stop: Sender<()>,
    looking: JoinHandle<Vec<(Moment, Vec<Duration>)>>,
}

/// The samples: the processor time of each process.
pub(crate) struct Readings(Vec<(Moment, Vec<Duration>)>);

impl Meter {
    pub(crate) fn start(pids: Vec<u32>) -> Self {
        let (stop, stopped) = channel();
        let looking = thread::spawn(move || {
            let mut readings = Vec::new();
            loop {
                readings.push((Moment::now(), pids.iter().map(|pid| used(*pid)).collect()));
                if stopped.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
                    return readings;
                }
            }
        });
        Self { stop, looking }
    }

    pub(crate) fn finish(self) -> Readings {
        drop(self.stop);
        Readings(self.looking.join().expect("it does not panic"))
    }
}

impl Readings {
    /// The processor time of the processes in `which` between two moments, in seconds.
    pub(crate) fn between(&self, from: Moment, to: Moment, which: std::ops::Range<usize>) -> f64 {
        let at = |moment| {
            let after = self.0.iter().find(|(at, _)| *at >= moment).or(self.0.last());
            let (_, used) = after.expect("it has looked at least once");
            used[which.clone()].iter().sum::<Duration>().as_secs_f64()
        };
        at(to) - at(from)
    }
}

/// The processor time of a process since it began; zero if it has ended.
fn used(pid: u32) -> Duration {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id is a positive i32"));
    let now = clock_getcpuclockid(pid).and_then(|clock| clock.now());
    now.map(Duration::from).unwrap_or_default()
}
