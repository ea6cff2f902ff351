//! `firesteel kill`: ends applications and cluster drivers.

use clap::Args as ClapArgs;
use firesteel_placement::advanced::words::none_or;
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{KillAnswer, KillDriverAnswer};
use serde_json::{Value, json};

use super::ask::{self, Done, Masters};
use crate::cli::exit::{Exit, Failure};
use crate::cli::help;
use crate::cli::submission::submit_driver;
use firesteel_daemons::wording::application::state_and_outcome;

const SCHEMA: u32 = 1;

const EXAMPLES: &str = "  firesteel kill app-20261120212235-0000
  firesteel kill nightly-sums                  by its name
  firesteel kill driver-20261120212235-0000    a cluster driver";

const NOTES: &str = "\
The Master ends the executors and tells the driver who killed the application, so that the driver ends, too. A killed \
application has the state KILLED; firesteel status APP still shows it. \
With --json, killed lists what was killed, with what it had, and refused each name that could not be killed, with the error.";

const CODES: &str = "\
Exit codes: 0 all are killed; 1 an application is not known, or had already ended; 2 wrong usage; 69 no Master could be \
reached; 75 a Master did not answer in time or in full; 76 what listens there is no Master of this version; \
78 a settings file or variable is wrong.";

/// The options of `firesteel kill`: which applications end.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("kill", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(in crate::cli) struct Args {
    /// Applications, by id or name, and cluster drivers, by id
    #[arg(value_name = "APP", required = true)]
    apps: Vec<String>,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    masters: Masters,
}

/// Ends the applications one by one, and prints the result of each.
pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    let cluster = args.masters.cluster("kill")?;
    ask::each(&args.apps, "not killed", args.json.then_some((SCHEMA, "killed")), |app| {
        if ask::driver_named(&cluster, app)?.is_some() {
            let id = DriverId::new(app);
            let answer = match ask::now(cluster.kill_driver(&id))? {
                Ok(answer) => answer,
                Err(why) => return Ok(Err(why)),
            };
            let has_ended = matches!(answer, KillDriverAnswer::Killed { .. });
            let done = submit_driver::outcome(&id, answer);
            return Ok(done.map(|(driver, line)| {
                let row = json!({ "kind": "driver", "id": driver.as_str(), "has_ended": has_ended });
                Done { lines: vec![line], rows: vec![row], more: 0 }
            }));
        }
        Ok(ask::now(cluster.kill(app))?.and_then(|answer| {
            let line = outcome(app, &answer)?;
            Ok(Done { lines: vec![line], rows: row(&answer), more: 0 })
        }))
    })
}

fn row(answer: &KillAnswer) -> Vec<Value> {
    match answer {
        KillAnswer::Killed { app, executors, cores } => vec![json!({
            "kind": "application", "id": app.as_str(), "has_ended": true, "executors_live": executors,
            "cores_granted": cores.0,
        })],
        KillAnswer::Over { .. } | KillAnswer::Unknown | KillAnswer::Ambiguous { .. } => Vec::new(),
    }
}

/// The result as text. `Ok` if the application is killed.
pub(super) fn outcome(app: &str, answer: &KillAnswer) -> Result<String, String> {
    match answer {
        KillAnswer::Killed { app, executors, cores } => Ok(format!(
            "killed {app}, which had {} with {}",
            none_or(*executors, "executor"),
            none_or(cores.0, "core"),
        )),
        KillAnswer::Over { app, state, outcome, ended } => Err(format!(
            "{app} had already ended: {} at {ended}",
            state_and_outcome(*state, outcome.as_ref())
        )),
        KillAnswer::Unknown => Err(ask::unknown(app)),
        KillAnswer::Ambiguous { apps } => Err(ask::ambiguous(app, apps)),
    }
}
