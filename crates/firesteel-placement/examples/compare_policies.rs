//! Replays a trace under several placement rules, one of them defined in this file, and compares how long applications
//! wait.
//!
//! ```text
//! cargo run --example compare_policies               # the trace beside this file
//! cargo run --example compare_policies -- MINE.csv   # another one in the same form
//! ```
//!
//! An application starts when all its executors fit at once. Applications are served in the order in which they arrive.
//! An application that does not fit does not hold up the next one.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example reads a file and prints"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use firesteel_placement::{
    Amount, Cluster, Cores, Demand, ExecutorLimit, ExecutorSize, Expression, MiB, Placement, PlacementRule,
    Policy, Request, Strategy, Worker, WorkerOrder, by_score,
};

/// One line of a trace. Times are in seconds.
struct Application {
    name: String,
    arrives: u64,
    runs: u64,
    executors: u64,
    demand: Demand,
}

/// How long applications waited under one rule.
struct Figures {
    mean_wait: f64,
    longest_wait: u64,
    ended: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(path)?,
        None => include_str!("trace.csv").to_owned(),
    };
    let trace = read(&text)?;
    let expression: Expression = "left.gpu * 10 + left.cores".parse()?;
    // A rule of our own: keeps Workers with gpus for applications that ask for gpus, and fills up the other Workers.
    let own = by_score(|worker| {
        let (has, asks) =
            (worker.total.resources.count("gpu") > 0, worker.demand.resources.contains_key("gpu"));
        let wasted = if has && !asks { 1000.0 } else { 0.0 };
        wasted + worker.resource_left("gpu").as_f64() * 10.0 + worker.cores_left().0 as f64
    });
    let rules: [(&str, &dyn PlacementRule); 9] = [
        ("spark", &Strategy::SpreadOut),
        ("spark, consolidated", &Strategy::Consolidate),
        ("best-fit", &Policy::BestFit),
        ("least-fragmentation", &Policy::LeastFragmentation),
        ("learned-fragmentation", &Policy::LearnedFragmentation),
        ("spread-held", &Policy::SpreadHeld),
        ("lifetimes", &Policy::Lifetimes),
        ("an expression", &expression),
        ("our own", &own),
    ];
    println!("{:22} {:>12} {:>15} {:>12}", "rule", "mean wait, s", "longest wait, s", "all ended, s");
    for (name, rule) in rules {
        let Figures { mean_wait, longest_wait, ended } = replay(&trace, rule);
        println!("{name:22} {mean_wait:>12.1} {longest_wait:>15} {ended:>12}");
    }
    Ok(())
}

/// Eight Workers of 16 cores, of which three have four gpus each.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
    for n in 0..8 {
        let mut worker = Worker::new(format!("worker-{n}"), Cores(16), MiB(65_536));
        if n % 3 == 0 {
            (0..4).for_each(|gpu| worker.resources.insert("gpu", gpu.to_string()));
        }
        cluster.add(worker);
    }
    cluster
}

fn replay(trace: &[Application], rule: &dyn PlacementRule) -> Figures {
    let mut cluster = cluster();
    let mut arriving = trace.iter().peekable();
    let mut waiting: Vec<&Application> = Vec::new();
    // The running applications, by the time of their end and by their number.
    let mut running: BTreeMap<(u64, usize), Placement> = BTreeMap::new();
    let mut waits: Vec<u64> = Vec::new();
    let mut now = 0;
    loop {
        let arrival = arriving.peek().map(|application| application.arrives);
        let end = running.keys().next().map(|(end, _)| *end);
        let Some(next) = arrival.into_iter().chain(end).min() else { break };
        now = next;
        while let Some(entry) = running.first_entry().filter(|entry| entry.key().0 <= now) {
            cluster.give_back(entry.remove());
        }
        while let Some(application) = arriving.next_if(|application| application.arrives <= now) {
            waiting.push(application);
        }
        waiting.retain(|application| {
            let seconds = Duration::from_secs;
            let request = Request::from(&application.demand)
                .application(&application.name)
                .at(seconds(now))
                .runs_for(seconds(application.runs));
            let placement = cluster.place(request, rule);
            if placement.len() < application.executors {
                cluster.give_back(placement);
                return true;
            }
            waits.push(now - application.arrives);
            running.insert((now + application.runs, waits.len()), placement);
            false
        });
    }
    if let Some(application) = waiting.first() {
        let why = cluster.explain(&application.demand).shortfall;
        let why =
            why.map_or_else(|| "fewer executors fit than it starts with".to_owned(), |why| why.to_string());
        eprintln!("{} of the trace never starts: {why}", application.name);
    }
    let mean_wait = waits.iter().sum::<u64>() as f64 / waits.len().max(1) as f64;
    Figures { mean_wait, longest_wait: waits.iter().copied().max().unwrap_or(0), ended: now }
}

/// Reads lines of `arrives,runs,executors,cores,memory,gpus`, in the order of arrival. Lines that begin with `#` are
/// left out.
fn read(text: &str) -> Result<Vec<Application>, Box<dyn Error>> {
    let mut trace = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let fields: Vec<u64> = line
            .split(',')
            .map(|field| field.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|error| format!("line {}: {error}", number + 1))?;
        let [arrives, runs, executors, cores, memory, gpus] = fields[..] else {
            return Err(format!("line {}: six numbers are needed", number + 1).into());
        };
        let gpus = Some(Amount::Whole(gpus)).filter(|gpus| !gpus.is_none());
        let demand = Demand {
            size: ExecutorSize::Fixed(Cores(i64::try_from(cores)?)),
            memory: MiB(i64::try_from(memory)?),
            resources: gpus.into_iter().map(|gpus| ("gpu".to_owned(), gpus)).collect(),
            limit: ExecutorLimit::AtMost(executors),
            ..Demand::default()
        };
        trace.push(Application { name: format!("line {}", number + 1), arrives, runs, executors, demand });
    }
    Ok(trace)
}
