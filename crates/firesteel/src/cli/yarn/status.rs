//! `firesteel yarn status`: shows one application.

use firesteel_host::plain;
use std::io::{self, Write as _};
use std::time::SystemTime;

use clap::Args as ClapArgs;
use firesteel_yarn::messages::application::{ApplicationAttemptReport, ApplicationReport};
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn_mode::states::{attempt_state, diagnostics, final_status, state};
use serde::Serialize;

use super::apps::{Application, since};
use super::{ClusterArgs, ask, codes, report};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::table::{clean, duration};

const EXAMPLES: &str = "  firesteel yarn status application_1700000000123_0007";

/// The options of `firesteel yarn status`: which application is shown.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("yarn status", EXAMPLES), after_long_help = codes(EXAMPLES))]
pub(super) struct Status {
    /// Id of the application
    #[arg(value_name = "APP")]
    app: ApplicationId,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    site: ClusterArgs,
}

pub(super) fn run(args: &Status) -> Result<Exit, Failure> {
    let site = args.site.site()?;
    let report = report(&site, args.app)?;
    if args.json {
        return exit::written(print_json(&report));
    }
    // The attempt's report has the log's address. An application without an attempt has no log.
    let attempt = match report.current_application_attempt_id {
        Some(attempt) => ask(&site, |client| async move { client.attempt_report(attempt).await }).ok(),
        None => None,
    };
    exit::written(print(&report, attempt.as_ref()))
}

fn print_json(report: &ApplicationReport) -> io::Result<()> {
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, &Document { schema: 2, application: Application::of(report) })?;
    writeln!(stdout)
}

#[derive(Serialize)]
struct Document {
    pub(super) schema: u32,
    application: Application,
}

fn print(report: &ApplicationReport, attempt: Option<&ApplicationAttemptReport>) -> io::Result<()> {
    let mut stdout = plain::stdout();
    for (name, value) in lines(report, attempt, SystemTime::now()) {
        writeln!(stdout, "{name:<14}{}", clean(&value))?;
    }
    Ok(())
}

/// The lines of the report, without unknown values.
fn lines(
    report: &ApplicationReport,
    attempt: Option<&ApplicationAttemptReport>,
    now: SystemTime,
) -> Vec<(&'static str, String)> {
    let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty() && text != "N/A");
    let ago = |millis: i64| (millis > 0).then(|| format!("{} ago", duration(since(now, millis))));
    let usage = report.app_resource_usage.as_ref();
    let used = usage.and_then(|usage| {
        let containers = usage.num_used_containers.filter(|count| *count >= 0)?;
        let used = usage.used_resources.as_ref()?;
        Some(format!("{containers} containers, {} MiB, {} vcores", used.memory(), used.virtual_cores()))
    });
    let master = match (set(report.host()), report.rpc_port.filter(|port| *port > 0)) {
        (Some(host), Some(port)) => Some(format!("{host}:{port}")),
        (host, _) => host,
    };
    let attempt = attempt.map(|attempt| {
        let id = attempt.application_attempt_id.unwrap_or_default();
        let state = attempt_state(attempt.yarn_application_attempt_state());
        match attempt.am_container_id {
            Some(container) => format!("{}, {state}, in {container}", id.attempt_id()),
            None => format!("{}, {state}", id.attempt_id()),
        }
    });
    let rows = [
        ("application", Some(report.application_id.unwrap_or_default().to_string())),
        ("name", set(report.name())),
        ("type", set(report.application_type())),
        ("user", set(report.user())),
        ("queue", set(report.queue())),
        ("tags", set(&report.application_tags.join(", "))),
        ("state", Some(state(report.yarn_application_state()).to_owned())),
        ("final status", Some(final_status(report.final_application_status()).to_owned())),
        ("started", ago(report.start_time())),
        ("finished", ago(report.finish_time())),
        ("attempt", attempt),
        ("master", master),
        ("uses", used),
        ("page", set(report.tracking_url())),
        ("diagnostics", diagnostics(report)),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use firesteel_yarn::messages::application::YarnApplicationState;

    use super::*;

    #[test]
    fn what_is_not_known_has_no_line() {
        let report = ApplicationReport {
            application_id: Some(ApplicationId::new(1, 2)),
            name: Some("sums".to_owned()),
            yarn_application_state: Some(YarnApplicationState::Accepted.into()),
            host: Some("N/A".to_owned()),
            rpc_port: Some(-1),
            diagnostics: Some("waiting\n for room".to_owned()),
            ..ApplicationReport::default()
        };
        let found = lines(&report, None, SystemTime::now());
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let expected = [
            ("application", "application_1_0002"),
            ("name", "sums"),
            ("state", "ACCEPTED"),
            ("final status", "UNDEFINED"),
            ("diagnostics", "waiting for room"),
        ];
        assert_eq!(found, expected);
    }
}
