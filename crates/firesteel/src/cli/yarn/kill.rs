//! `firesteel yarn kill`: ends applications.

use clap::Args as ClapArgs;
use firesteel_yarn::messages::application::ApplicationReport;
use firesteel_yarn::messages::ids::NoId;
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn_mode::states::{diagnostics, final_status, is_over, state};
use serde_json::json;

use super::{ClusterArgs, ask, codes, report};
use crate::cli::client::ask::{Done, each, user_at_host};
use crate::cli::exit::{Exit, Failure};
use crate::cli::help;

const SCHEMA: u32 = 1;

const EXAMPLES: &str = "  firesteel yarn kill application_1700000000123_0007";

/// The options of `firesteel yarn kill`: which applications end.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("yarn kill", EXAMPLES), after_long_help = codes(EXAMPLES))]
pub(super) struct Kill {
    /// Ids of the applications
    #[arg(value_name = "APP", required = true, value_parser = id)]
    apps: Vec<String>,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    site: ClusterArgs,
}

/// Checks that a word is the id of an application.
fn id(word: &str) -> Result<String, NoId> {
    word.parse::<ApplicationId>().map(|_| word.to_owned())
}

pub(super) fn run(args: &Kill) -> Result<Exit, Failure> {
    let site = args.site.site()?;
    each(&args.apps, "not killed", args.json.then_some((SCHEMA, "killed")), |word| {
        let app: ApplicationId = word.parse().expect("it was checked");
        let done = report(&site, app).and_then(|report| {
            if is_over(report.yarn_application_state()) {
                return Err(Failure::of(Exit::Failure, format!("{app} was over already: {}", end(&report))));
            }
            let why = format!("killed by {}", user_at_host());
            ask(&site, |client| async move { client.kill(app, &why).await })
        });
        match done {
            Ok(()) => Ok(Ok(Done {
                lines: vec![format!("killed {app}")],
                rows: vec![json!({ "kind": "application", "id": app.to_string(), "has_ended": true })],
                more: 0,
            })),
            Err(failure) if failure.exit() == Exit::Failure => Ok(Err(failure.sentence().to_owned())),
            Err(failure) => Err(failure),
        }
    })
}

/// How an application ended, such as `FINISHED, FAILED: 3 of 10 items failed`.
fn end(report: &ApplicationReport) -> String {
    let mut end = state(report.yarn_application_state()).to_owned();
    let outcome = final_status(report.final_application_status());
    if outcome != end {
        end.push_str(&format!(", {outcome}"));
    }
    if let Some(reasons) = diagnostics(report) {
        end.push_str(&format!(": {reasons}"));
    }
    end
}

#[cfg(test)]
mod tests {
    use firesteel_yarn::messages::application::YarnApplicationState;
    use firesteel_yarn::messages::records::FinalApplicationStatus;

    use super::*;

    #[test]
    fn an_end_is_told_with_its_outcome_and_reasons() {
        let report =
            |state: YarnApplicationState, outcome: FinalApplicationStatus, reasons: &str| ApplicationReport {
                yarn_application_state: Some(state.into()),
                final_application_status: Some(outcome.into()),
                diagnostics: Some(reasons.to_owned()),
                ..ApplicationReport::default()
            };
        let finished =
            report(YarnApplicationState::Finished, FinalApplicationStatus::Failed, "3 of 10 items failed");
        assert_eq!(end(&finished), "FINISHED, FAILED: 3 of 10 items failed");
        let killed = report(YarnApplicationState::Killed, FinalApplicationStatus::Killed, "");
        assert_eq!(end(&killed), "KILLED");
    }
}
