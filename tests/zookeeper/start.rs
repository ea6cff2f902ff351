//! A ZooKeeper for experiments: `cargo run -p firesteel --example zookeeper` starts one server, and with `-- 3` an
//! ensemble of three. It prints its addresses, and runs until its standard input ends.

use std::io::{self, Read as _};
use std::process::ExitCode;

use firesteel_testkit::zookeeper::{self, Ensemble};

fn main() -> ExitCode {
    let servers = match std::env::args().nth(1).as_deref() {
        None | Some("1") => 1,
        Some("3") => 3,
        Some(other) => {
            eprintln!("zookeeper: {other:?} is not 1 or 3");
            return ExitCode::FAILURE;
        }
    };
    if let Err(reason) = zookeeper::look() {
        eprintln!("zookeeper: {reason}");
        return ExitCode::FAILURE;
    }
    let ensemble = Ensemble::start(servers);
    println!(
        "firesteel master --conf spark.deploy.recoveryMode=ZOOKEEPER --conf spark.deploy.zookeeper.url={}",
        ensemble.url()
    );
    println!("It ends with its standard input (ctrl-d).");
    let _ = io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}
