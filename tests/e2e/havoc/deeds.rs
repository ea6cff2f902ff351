//! The faults of havoc.

use std::fmt;
use std::thread;
use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_sim::dice::Dice;
use nix::sys::signal::Signal;

use super::victims::{Victims, send};

/// The generator of faults, with a count per kind.
#[derive(Debug)]
pub(crate) struct Actions {
    dice: Dice,
    counts: [u64; KINDS.len()],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    KillExecutor,
    KillWorker,
    KillWorkerAndReapers,
    StopExecutor,
    StopWorker,
    StopMaster,
    KillMaster,
    Stall,
    Deafen,
    Cut,
    Flip,
    RemoveState,
    Flood,
}

const KINDS: [(Kind, &str); 13] = [
    (Kind::KillExecutor, "executor killed"),
    (Kind::KillWorker, "Worker killed"),
    (Kind::KillWorkerAndReapers, "Worker killed with no reapers left"),
    (Kind::StopExecutor, "executor stopped"),
    (Kind::StopWorker, "Worker stopped"),
    (Kind::StopMaster, "Master stopped"),
    (Kind::KillMaster, "Master killed"),
    (Kind::Stall, "route stalled"),
    (Kind::Deafen, "route deafened"),
    (Kind::Cut, "route cut"),
    (Kind::Flip, "bit flipped"),
    (Kind::RemoveState, "state removed under the Master"),
    (Kind::Flood, "flood of long messages"),
];

impl Actions {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), counts: [0; KINDS.len()] }
    }

    /// Waits for a moment, then lets a fault strike.
    pub(crate) fn next(&mut self, victims: &Victims) {
        thread::park_timeout(Duration::from_millis(self.dice.between(50, 500)));
        let index = self.dice.index(KINDS.len()).expect("there are kinds");
        if self.perform(KINDS[index].0, victims) {
            self.counts[index] += 1;
        }
    }

    /// Lets a fault strike. Returns whether there was a target.
    fn perform(&mut self, kind: Kind, victims: &Victims) -> bool {
        let worker = self.dice.index(victims.workers.len()).expect("there are Workers");
        let routes: Vec<_> = victims.routes().collect();
        let route = *self.dice.pick(&routes);
        let executors = victims.executors();
        let executor = self.dice.index(executors.len()).map(|index| executors[index]);
        let pause = Duration::from_millis(*self.dice.pick(&[50, 500, 1500, 6000]));
        match kind {
            Kind::KillExecutor | Kind::StopExecutor => {
                let Some(pid) = executor else { return false };
                if kind == Kind::KillExecutor {
                    send(pid, Signal::SIGKILL);
                } else {
                    stop(pause, |signal| send(pid, signal));
                }
            }
            Kind::KillWorker => victims.kill_worker(worker, false),
            Kind::KillWorkerAndReapers => victims.kill_worker(worker, true),
            Kind::StopWorker => stop(pause, |signal| victims.workers[worker].daemon().signal(signal)),
            Kind::StopMaster => stop(pause, |signal| victims.master().signal(signal)),
            Kind::KillMaster => victims.kill_master(pause),
            Kind::Stall => meanwhile(pause, || route.stall(), || route.go_on()),
            Kind::Deafen => meanwhile(pause, || route.deafen(), || route.go_on()),
            Kind::Cut => route.cut(),
            Kind::Flip => route.flip(),
            Kind::RemoveState => victims.remove_state(),
            Kind::Flood => victims.flood(pause),
        }
        true
    }
}

/// Does something, and undoes it after a pause.
fn meanwhile(pause: Duration, begin: impl Fn(), end: impl Fn()) {
    begin();
    thread::park_timeout(pause);
    end();
}

/// Stops a process with a signal, and continues it after a pause.
fn stop(pause: Duration, send: impl Fn(Signal)) {
    meanwhile(pause, || send(Signal::SIGSTOP), || send(Signal::SIGCONT));
}

/// `3 executors killed, 1 Worker killed, ..`
impl fmt::Display for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = KINDS.iter().zip(self.counts).map(|((_, name), count)| {
            let (noun, rest) = name.split_once(' ').expect("a name has two words");
            format!("{} {rest}", counted(count, noun))
        });
        f.write_str(&told.collect::<Vec<_>>().join(", "))
    }
}
