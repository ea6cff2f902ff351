//! 2,250 gangs of four on 5,000 Workers: each gang gets its four executors at once, or none.

use std::time::Duration;

use firesteel_master::{Config, Master};
use firesteel_protocol::Machine;
use firesteel_protocol::messages::Placing;
use firesteel_testkit::master_events::{NOW, registered};

use super::cluster::{Ask, Size, decided, ends, master, registers};
use super::workload::{Scale, Workload, timed};

const GANGS: u64 = 2_250;
const WORKERS: u64 = 5_000;
const MEMBERS: u64 = 4;
const WORKER: Size = Size { cores: 16, memory: 65_536 };
const MEMBER: Size = Size { cores: 4, memory: 8_192 };
const GOAL: Option<(f64, f64)> = Some((100_000.0, 500_000.0));

pub fn workloads(scale: Scale) -> Vec<Workload> {
    let (workers, gangs) = (scale.of(WORKERS), scale.of(GANGS));
    let decisions = gangs * MEMBERS;
    let one_by_one = Workload {
        name: "gangs that register one by one".to_owned(),
        decisions,
        goal: GOAL,
        once: Box::new(move || one_by_one(workers, gangs)),
    };
    let together = Workload {
        name: "gangs that wait and start together".to_owned(),
        decisions,
        goal: GOAL,
        once: Box::new(move || together(workers, gangs)),
    };
    vec![one_by_one, together]
}

fn cluster(workers: u64) -> Master {
    master(Config::default(), workers, WORKER)
}

fn gang() -> Ask {
    Ask { executors: MEMBERS, each: MEMBER, placing: Placing { gang: MEMBERS, ..Placing::default() } }
}

/// Registers one gang after the other; each is placed at once.
fn one_by_one(workers: u64, gangs: u64) -> Duration {
    let mut master = cluster(workers);
    let events = (0..gangs).map(|n| registers(n, &gang())).collect();
    let (time, effects) = timed(&mut master, events);
    assert_eq!(decided(&effects), (gangs * MEMBERS, 0));
    time
}

/// Registers all gangs on a full cluster. Then the application that filled it ends, and all gangs start.
fn together(workers: u64, gangs: u64) -> Duration {
    let mut master = cluster(workers);
    let filler = Ask { executors: workers, each: WORKER, placing: Placing::default() };
    let effects = master.apply(NOW, registers(gangs, &filler));
    assert_eq!(decided(&effects), (workers, 0), "nothing is free");
    let filler = registered(&effects);
    let (_, waiting) = timed(&mut master, (0..gangs).map(|n| registers(n, &gang())).collect());
    assert_eq!(decided(&waiting), (0, 0), "all of them wait");
    let (time, effects) = timed(&mut master, vec![ends(gangs, filler)]);
    assert_eq!(decided(&effects), (gangs * MEMBERS, workers));
    time
}
