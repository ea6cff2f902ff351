//! Why is a demand not met, and what would change that?
//!
//! ```text
//! cargo run --example explain
//! ```

#![allow(clippy::disallowed_macros, reason = "an example prints")]

use firesteel_placement::explain::outlook::{Fit, Remedy};
use firesteel_placement::{Amount, Cluster, Cores, Demand, ExecutorSize, MiB, Strategy, Worker, WorkerOrder};

fn main() {
    let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
    for (id, cores, memory, gpus) in [("w1", 16, 65_536, 2), ("w2", 16, 32_768, 0), ("w3", 8, 65_536, 0)] {
        let mut worker = Worker::new(id, Cores(cores), MiB(memory));
        (0..gpus).for_each(|gpu: u32| worker.resources.insert("gpu", gpu.to_string()));
        cluster.add(worker);
    }
    let demand = |cores, memory, gpus, executors| Demand {
        size: ExecutorSize::Fixed(Cores(cores)),
        memory: MiB(memory),
        resources: [("gpu".to_owned(), Amount::Whole(gpus))]
            .into_iter()
            .filter(|(_, gpus)| !gpus.is_none())
            .collect(),
        cores_left: Cores(cores * executors),
        ..Demand::default()
    };
    // Two executors of 6 cores already run.
    let running = cluster.place(&demand(6, 8192, 0, 2), &Strategy::SpreadOut);
    for executor in running.executors() {
        println!("runs on {}: {} cores, {}", executor.worker, executor.cores, executor.memory);
    }
    for (name, demand) in [
        ("two of 12 cores", demand(12, 4096, 0, 2)),
        ("one of 4 cores and 4 gpus", demand(4, 4096, 4, 1)),
        ("one of 8 cores and 128 GiB", demand(8, 131_072, 0, 1)),
        ("one of 2 cores", demand(2, 1024, 0, 1)),
    ] {
        println!("\n{name}");
        let explanation = cluster.explain(&demand);
        match &explanation.shortfall {
            Some(shortfall) => println!("  {shortfall}"),
            None => println!("  nothing is missing that does not fit"),
        }
        match explanation.outlook.map(|outlook| outlook.fit) {
            Some(Fit::Later(remedies)) => {
                print("it fits on an empty Worker. Now it would fit with", &remedies)
            }
            Some(Fit::Never(remedies)) => print("it fits on no Worker. It would fit with", &remedies),
            Some(Fit::Now) | None => {}
        }
        for advice in explanation.advice {
            println!(
                "  advice: {:?} gives {} executors of {} cores in all",
                advice.change, advice.executors, advice.cores
            );
        }
    }
    cluster.give_back(running);
}

fn print(what: &str, remedies: &[Remedy]) {
    println!("  {what}:");
    for remedy in remedies {
        match remedy {
            Remedy::Freed { worker, more } => {
                let gpus = more.resources.get("gpu").copied().unwrap_or_default();
                println!(
                    "    - this much more on {worker}: {} cores, {}, {gpus} gpus",
                    more.cores, more.memory
                );
            }
            Remedy::ExecutorCores(cores) => println!("    - executors of {cores} cores"),
            Remedy::ExecutorMemory(memory) => println!("    - executors of {memory}"),
            Remedy::ExecutorResource { name, amount } => println!("    - executors with {amount} {name}"),
            Remedy::ExecutorCoresAndMemory(cores, memory) => {
                println!("    - executors of {cores} cores and {memory}")
            }
        }
    }
}
