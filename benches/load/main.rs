//! How much does the Master's daemon cost under load, beside a null master that decides nothing?
//!
//! ```text
//! cargo bench -p firesteel --bench load                          everything, five rounds; about an hour
//! cargo bench -p firesteel --bench load -- burst --rounds 1      one scenario, once
//! cargo bench -p firesteel --bench load -- burst --system-calls  counts system calls with perf, which slows them down
//! cargo bench -p firesteel --bench load -- burst --workers 1000  with fewer Workers
//! cargo bench -p firesteel --bench load -- stability --rounds 1 --minutes 60 the scenarios with a duration, for an
//! hour
//! cargo bench -p firesteel --bench load -- --test                each once and small, and measures nothing
//! ```
//!
//! Mock Workers, drivers and clients in this process talk to a server in a process of its own, over sockets on
//! loopback. In each round the servers take turns. Processor time and context switches are those of the server alone.
//! Every wait has a limit, and every load an end. benches/README.md has the figures.

mod hostile;
mod mocks;
mod null;
mod probe;
mod scenarios;
mod server;
mod spark;
mod spark_null;
mod stability;
mod table;

use std::time::Duration;

use firesteel_testkit::arguments::{Arguments, Known};
use scenarios::{Scenario, Size};
use table::{Sheet, Table};
use tokio::runtime;
use tokio::task::LocalSet;

fn main() {
    firesteel_host::daemon::raise_open_files();
    if std::env::args().nth(1).is_some_and(|word| word == "null") {
        let runtime = runtime::Builder::new_multi_thread().enable_all().build();
        return runtime.expect("a runtime starts").block_on(null::serve());
    }
    if std::env::args().nth(1).is_some_and(|word| word == "attack") {
        return hostile::attack(std::env::args().skip(2));
    }
    let arguments = Arguments::of(Known {
        flags: &["--system-calls"],
        numbers: &["--rounds", "--workers", "--minutes"],
        words: &Scenario::ALL.map(|scenario| scenario.word()),
    });
    let test = arguments.test();
    let size = if test { Size::SMALL } else { Size::FULL };
    let span = arguments.number("--minutes").map_or(size.span, |minutes| Duration::from_secs(minutes * 60));
    let size = Size { workers: arguments.number("--workers").unwrap_or(size.workers), span, ..size };
    let rounds = arguments.number("--rounds").unwrap_or(if test { 1 } else { 5 });
    let named = |scenario: &Scenario| arguments.words().iter().any(|word| word == scenario.word());
    let all = !Scenario::ALL.iter().any(named);
    for scenario in Scenario::ALL.into_iter().filter(|scenario| all || named(scenario)) {
        println!("== {}", scenario.word());
        let mut table = Table::default();
        for _ in 0..rounds {
            for &kind in scenario.servers() {
                let mut sheet = Sheet::new(arguments.has("--system-calls"));
                let runtime = runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.expect("a runtime starts");
                LocalSet::new().block_on(&runtime, scenario.run(kind, size, &mut sheet));
                table.add(kind, sheet);
            }
        }
        table.print();
        let differences = table.differences();
        assert!(differences.is_empty(), "the null master writes other frames: {differences:#?}");
    }
}
