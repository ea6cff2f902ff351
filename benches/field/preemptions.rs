//! 39,000 preemptions on 130,000 Workers: executors of low priority fill the cluster. Then applications of high
//! priority arrive: 39,000 executors are ended for them and replaced.

use std::time::Duration;

use firesteel_master::Config;
use firesteel_protocol::Machine;
use firesteel_protocol::messages::Placing;
use firesteel_protocol::scheduling::Preemption;
use firesteel_testkit::master_events::NOW;

use super::cluster::{Ask, Size, decided, master, registers};
use super::workload::{Scale, Workload, timed};

const WORKERS: u64 = 130_000;
const PREEMPTIONS: u64 = 39_000;
/// A Worker, with the size of one executor.
const WORKER: Size = Size { cores: 16, memory: 65_536 };
/// The applications that fill the cluster.
const LOW: u64 = 130;
/// The number of applications of high priority.
const WAVES: [u64; 3] = [1, 39, 390];
/// 39,000 per second; the stricter goal is 39,000 in a tenth of a second.
const GOAL: Option<(f64, f64)> = Some((39_000.0, 390_000.0));

/// Whether an application gets its executors one by one, or all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taking {
    OneByOne,
    AsGang,
}

pub fn workloads(scale: Scale) -> Vec<Workload> {
    let mut workloads = Vec::new();
    for (words, taking) in [("applications", Taking::OneByOne), ("gangs", Taking::AsGang)] {
        for wave in WAVES {
            let (workers, wave, of_each) = match scale {
                Scale::Full => (WORKERS, wave, PREEMPTIONS / wave),
                Scale::Small => (260, wave.min(3), 26),
            };
            workloads.push(Workload {
                name: format!("preemptions by {wave} {words}"),
                decisions: wave * of_each,
                goal: GOAL,
                once: Box::new(move || preempt(workers, wave, of_each, taking)),
            });
        }
    }
    workloads
}

fn preempt(workers: u64, wave: u64, of_each: u64, taking: Taking) -> Duration {
    let executors = u32::try_from(PREEMPTIONS).expect("it is small");
    let preemption = Preemption::AtMost { executors, every: Duration::from_secs(60) };
    let mut master = master(Config { preemption, ..Config::default() }, workers, WORKER);
    let ask = |executors, priority, gang| {
        let placing = Placing { priority, gang, ..Placing::default() };
        Ask { executors, each: WORKER, placing }
    };
    for n in 0..LOW {
        let low = ask(workers / LOW, -1, 0);
        assert_eq!(decided(&master.apply(NOW, registers(n, &low))), (workers / LOW, 0));
    }
    let gang = if taking == Taking::AsGang { of_each } else { 0 };
    let events = (0..wave).map(|n| registers(LOW + n, &ask(of_each, 1, gang))).collect();
    let (time, effects) = timed(&mut master, events);
    assert_eq!(decided(&effects), (wave * of_each, wave * of_each));
    time
}
