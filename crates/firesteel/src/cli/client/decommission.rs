//! `firesteel decommission`: lets Workers leave in order.

use std::time::Duration;

use clap::Args as ClapArgs;
use firesteel_placement::advanced::words::{counted, have, none_or};
use firesteel_protocol::messages::{DecommissionAnswer, LeavingWorker};
use firesteel_settings::duration;
use serde_json::{Value, json};

use super::ask::{self, Done, Masters};
use crate::cli::exit::{Exit, Failure};
use crate::cli::help;

const SCHEMA: u32 = 1;

const EXAMPLES: &str = "  firesteel decommission worker-20261120212235-node-2-7078
  firesteel decommission node-2                  all Workers on this host
  firesteel decommission node-2 --deadline 10m   what still runs then is ended";

const NOTES: &str = "\
The Workers get no more executors, and status shows them as DECOMMISSIONED. Drivers are told: map, shell and Spark's drivers \
give executors there no more tasks. Each executor ends when its tasks have ended, and is replaced; Spark's only with \
spark.decommission.enabled=true. Commands of launch run on. A Worker ends, with \
exit code 0, when its last executor and its last driver of firesteel submit have ended, or at the deadline; those that still run then are ended as by SIGTERM to the \
Worker. The command does not wait for that. Asking again changes the deadline, or removes it; only a new start of the Worker \
makes it take executors again. A service manager that restarts the Worker whatever its exit code brings it back at once. \
With --json, leaving lists the Workers, with what still runs there, and refused each name that is no living Worker's.";

const CODES: &str = "\
Exit codes: 0 all were asked to leave; 1 no living Worker has this id or host; 2 wrong usage; 69 no Master could be \
reached; 75 a Master did not answer in time or in full; 76 what listens there is no Master of this version; \
78 a settings file or variable is wrong.";

/// The longest deadline that is accepted for executors.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// The options of `firesteel decommission`: which Workers leave.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("decommission", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(in crate::cli) struct Args {
    /// Worker ids, or hosts (all Workers on that host)
    #[arg(value_name = "WORKER", required = true)]
    workers: Vec<String>,
    /// Stop executors that still run after this time, such as 10m [default: never]
    #[arg(long, value_name = "TIME", value_parser = time)]
    deadline: Option<Duration>,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    masters: Masters,
}

/// Sends the request for each Worker in turn, and prints the results.
pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    let cluster = args.masters.cluster("decommission")?;
    ask::each(&args.workers, "not decommissioned", args.json.then_some((SCHEMA, "leaving")), |which| {
        let answer = ask::now(cluster.decommission(which, args.deadline))?;
        Ok(answer.and_then(|answer| done(which, &answer)))
    })
}

fn time(text: &str) -> Result<Duration, String> {
    match duration::parse(text, duration::Unit::Seconds) {
        Some(time) if time <= LONGEST => Ok(time),
        Some(_) => Err("write a time of at most 365d".to_owned()),
        None => Err(format!("write {}", duration::EXPECTED)),
    }
}

/// A line and a row for each Worker that leaves. An error if no such Worker exists.
fn done(which: &str, answer: &DecommissionAnswer) -> Result<Done, String> {
    match answer {
        DecommissionAnswer::Unknown => Err(format!(
            "no living Worker has the id or host {which:?}; firesteel status lists the Workers, and an id has the host in it"
        )),
        DecommissionAnswer::Leaving { workers, more } => {
            let mut lines: Vec<String> = workers.iter().map(line).collect();
            if *more > 0 {
                lines.push(format!("and {more} more"));
            }
            Ok(Done { lines, rows: workers.iter().map(row).collect(), more: *more })
        }
    }
}

fn row(worker: &LeavingWorker) -> Value {
    let LeavingWorker { id, executors, drivers, ends_itself } = worker;
    json!({
        "id": id.as_str(), "executors_live": executors, "drivers_live": drivers, "ends_itself": ends_itself,
    })
}

fn line(worker: &LeavingWorker) -> String {
    let LeavingWorker { id, executors, drivers, ends_itself } = worker;
    if *ends_itself && *drivers > 0 {
        let (executors, drivers) = (none_or(*executors, "executor"), counted(*drivers, "driver"));
        return format!("{id} leaves: it ends when what it has has ended, {executors} and {drivers}");
    }
    let (count, have) = (counted(*executors, "executor"), have(*executors));
    match (ends_itself, executors) {
        (true, 0) => format!("{id} ends now: it has no executor"),
        (true, _) => format!("{id} leaves: it ends when {count} {have} ended"),
        (false, _) => format!(
            "{id} gets no more executors; it has {}. It is a Worker of Spark's own: stop it yourself, since it does not \
             end by itself and knows no deadline",
            none_or(*executors, "executor")
        ),
    }
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::WorkerId;

    use super::*;

    #[test]
    fn each_worker_has_a_line_that_says_when_it_ends() {
        let worker = |executors, ends_itself| LeavingWorker {
            id: WorkerId::new("w1"),
            executors,
            drivers: 0,
            ends_itself,
        };
        for (leaving, words) in [
            (worker(0, true), "w1 ends now: it has no executor"),
            (worker(1, true), "w1 leaves: it ends when 1 executor has ended"),
            (worker(2, true), "w1 leaves: it ends when 2 executors have ended"),
        ] {
            let answer = DecommissionAnswer::Leaving { workers: vec![leaving], more: 0 };
            assert_eq!(done("w1", &answer).map(|done| done.lines), Ok(vec![words.to_owned()]));
        }
        let answer = DecommissionAnswer::Leaving { workers: vec![worker(3, false)], more: 2 };
        let [spark, more] = &done("host", &answer).expect("there are some").lines[..] else {
            panic!("two lines")
        };
        assert!(
            spark.starts_with("w1 gets no more executors; it has 3 executors. It is a Worker of Spark's own")
        );
        assert_eq!(more, "and 2 more");
        assert!(done("nobody", &DecommissionAnswer::Unknown).is_err());
    }
}
