//! A YARN cluster for experiments: `cargo run -p firesteel-yarn --example yarn-cluster`. It prints its addresses, and
//! runs until its standard input ends.

use std::io::{self, Read as _};
use std::process::ExitCode;

#[path = "cluster.rs"]
#[allow(dead_code, reason = "a harness is there before all of its users")]
mod cluster;
#[path = "../heavy/ports.rs"]
#[allow(dead_code, reason = "tests do more with it")]
mod ports;
#[path = "../heavy/wait.rs"]
#[allow(dead_code, reason = "tests do more with it")]
mod wait;

use cluster::YarnCluster;

fn main() -> ExitCode {
    let class_path = match cluster::class_path() {
        Ok(class_path) => class_path,
        Err(reason) => {
            eprintln!("yarn-cluster: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let cluster = match YarnCluster::start(&class_path) {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("yarn-cluster: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("ResourceManager: {}", cluster.resource_manager);
    println!("Scheduler:       {}", cluster.scheduler);
    println!("Pages:           http://{}", cluster.pages);
    println!();
    println!("export HADOOP_CONF_DIR={}", cluster.configuration().display());
    println!();
    println!("It ends with its standard input (ctrl-d).");
    let _ = io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}
