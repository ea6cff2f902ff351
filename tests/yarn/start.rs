//! A YARN cluster for experiments: `cargo run -p firesteel-yarn --example yarn-cluster`. It prints its addresses, and
//! runs until its standard input ends.

use std::io::{self, Read as _};
use std::process::ExitCode;

use firesteel_testkit::yarn::{YarnCluster, class_path};

fn main() -> ExitCode {
    let class_path = match class_path() {
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
