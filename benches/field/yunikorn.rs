//! The workload of `BenchmarkScheduling` in YuniKorn's core: 10,000 pods of two applications, in two queues, on 500 to
//! 5,000 nodes.
//!
//! The corresponding terms:
//!
//! | YuniKorn | Firesteel |
//! |---|---|
//! | a node with room for `pods / nodes + 1` pods | a Worker with room for as many executors |
//! | a pod of 1 vcore and 10 of memory | an executor of 1 core and 10 MiB |
//! | the queues `root.a` and `root.b`, 10,000 vcores guaranteed to each | `firesteel.master.queues=a=1,b=1` |
//! | node sorting `fair`, the default: the least used first | Spark's rule, spread out, the default |
//! | an application for each queue is accepted, then asks for half of the pods | the same |
//! | time from the last request until all pods are allocated | time of both requests |
//!
//! YuniKorn's scheduler already works while requests arrive, so its time is a little too short.
//!
//! A second workload has no counterpart: the cluster is full when both applications send their requests, and then a
//! third one ends. So one pass serves both queues, in turns.

use firesteel_master::{Config, Event, Master};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::Placing;
use firesteel_testkit::master_events::{NOW, registered};

use super::cluster::{Ask, Size, asks, decided, ends, master, registers};
use super::workload::{Scale, Workload, timed};

const NODES: [u64; 4] = [500, 1_000, 2_000, 5_000];
const PODS: u64 = 10_000;
const POD: Size = Size { cores: 1, memory: 10 };

pub fn workloads(scale: Scale) -> Vec<Workload> {
    let pods = scale.of(PODS);
    let of = |nodes: u64| {
        let scaled = scale.of(nodes);
        let one = Workload {
            name: format!("yunikorn {nodes}"),
            decisions: pods,
            goal: None,
            once: Box::new(move || one_by_one(scaled, pods)),
        };
        let both = Workload {
            name: format!("both queues {nodes}"),
            decisions: pods,
            goal: None,
            once: Box::new(move || by_turns(scaled, pods)),
        };
        [one, both]
    };
    NODES.into_iter().flat_map(of).collect()
}

/// A Master with two queues and their two applications, which have requested nothing yet.
fn cluster(nodes: u64, pods: u64) -> (Master, [AppId; 2], Size) {
    let room = i64::try_from(pods / nodes + 1).expect("it is small");
    let node = Size { cores: POD.cores * room, memory: POD.memory * room };
    let queues = "a=1,b=1".parse().expect("they are queues");
    let mut master = master(Config { queues, ..Config::default() }, nodes, node);
    let app = |queue: &str| registered(&master.apply(NOW, registers(number(queue), &ask(queue, 0))));
    let apps = ["a", "b"].map(app);
    (master, apps, node)
}

fn number(queue: &str) -> u64 {
    u64::from(queue == "b")
}

fn ask(queue: &str, executors: u64) -> Ask {
    Ask { executors, each: POD, placing: Placing { queue: Some(queue.to_owned()), ..Placing::default() } }
}

/// The requests of both applications, each for half of the pods.
fn requests([a, b]: [AppId; 2], pods: u64) -> Vec<Event> {
    vec![asks(0, a, &ask("a", pods / 2)), asks(1, b, &ask("b", pods - pods / 2))]
}

fn one_by_one(nodes: u64, pods: u64) -> std::time::Duration {
    let (mut master, apps, _) = cluster(nodes, pods);
    let (time, effects) = timed(&mut master, requests(apps, pods));
    assert_eq!(decided(&effects), (pods, 0));
    time
}

fn by_turns(nodes: u64, pods: u64) -> std::time::Duration {
    let (mut master, apps, node) = cluster(nodes, pods);
    let filler = Ask { each: node, ..ask("a", nodes) };
    let effects = master.apply(NOW, registers(2, &filler));
    assert_eq!(decided(&effects), (nodes, 0), "nothing is free");
    let filler = registered(&effects);
    let (_, waiting) = timed(&mut master, requests(apps, pods));
    assert_eq!(decided(&waiting), (0, 0), "all of them wait");
    let (time, effects) = timed(&mut master, vec![ends(2, filler)]);
    assert_eq!(decided(&effects), (pods, nodes));
    time
}
