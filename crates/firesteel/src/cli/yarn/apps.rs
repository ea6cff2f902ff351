//! `firesteel yarn apps`: lists applications.

use firesteel_host::plain;
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use firesteel_yarn::messages::application::{
    ApplicationReport, GetApplicationsRequest, YarnApplicationState,
};
use firesteel_yarn_mode::states::{STATES, final_status, is_over, state};
use serde::Serialize;

use super::{ClusterArgs, ask, codes};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::table::{duration, table};

const EXAMPLES: &str =
    "  firesteel yarn apps\n  firesteel yarn apps --state finished,failed --json | jq '.applications[].id'";

/// The options of `firesteel yarn apps`: which applications are listed.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("yarn apps", EXAMPLES), after_long_help = codes(EXAMPLES))]
pub(super) struct Apps {
    /// States to list, such as FINISHED, or ALL; may be repeated [default: all that are not over]
    #[arg(long = "state", value_name = "STATE", ignore_case = true, value_delimiter = ',', value_parser = names())]
    states: Vec<String>,
    /// Print everything as one JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    site: ClusterArgs,
}

const ALL: &str = "ALL";

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(STATES.map(state).into_iter().chain([ALL]))
}

/// Lists the applications, the latest first.
pub(super) fn run(args: &Apps) -> Result<Exit, Failure> {
    let states = args.states();
    let request = GetApplicationsRequest {
        application_states: states.into_iter().map(i32::from).collect(),
        ..GetApplicationsRequest::default()
    };
    let mut found = ask(&args.site.site()?, |client| async move { client.applications(request).await })?;
    found.sort_by_key(|report| std::cmp::Reverse((report.start_time(), report.application_id)));
    exit::written(if args.json { print_json(&found) } else { print_table(&found) })
}

impl Apps {
    fn states(&self) -> Vec<YarnApplicationState> {
        let is_named = |it: &YarnApplicationState| match self.states.as_slice() {
            [] => !is_over(*it),
            names => names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(ALL) || name.eq_ignore_ascii_case(state(*it))),
        };
        STATES.into_iter().filter(is_named).collect()
    }
}

fn print_table(found: &[ApplicationReport]) -> io::Result<()> {
    let now = SystemTime::now();
    let rows = found.iter().map(|report| {
        vec![
            report.application_id.unwrap_or_default().to_string(),
            report.name().to_owned(),
            report.application_type().to_owned(),
            report.user().to_owned(),
            report.queue().to_owned(),
            state(report.yarn_application_state()).to_owned(),
            final_status(report.final_application_status()).to_owned(),
            format!("{} ago", duration(since(now, report.start_time()))),
        ]
    });
    let header = ["APPLICATION", "NAME", "TYPE", "USER", "QUEUE", "STATE", "FINAL STATUS", "STARTED"];
    writeln!(plain::stdout(), "{}", table(&header, rows.collect()))
}

/// The time since `millis`, which is in milliseconds since 1970. The result is never negative, even if clocks differ.
pub(super) fn since(now: SystemTime, millis: i64) -> Duration {
    let then = UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    now.duration_since(then).unwrap_or_default()
}

fn print_json(found: &[ApplicationReport]) -> io::Result<()> {
    let document = Document { schema: 2, applications: found.iter().map(Application::of).collect() };
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, &document)?;
    writeln!(stdout)
}

#[derive(Serialize)]
struct Document {
    pub(super) schema: u32,
    applications: Vec<Application>,
}

/// An application as JSON. Times are in milliseconds since 1970; unknown values are null.
#[derive(Serialize)]
pub(super) struct Application {
    pub(super) id: String,
    pub(super) name: String,
    r#type: String,
    pub(super) user: String,
    queue: String,
    state: &'static str,
    final_status: &'static str,
    attempt: Option<i32>,
    progress: f32,
    started_ms: Option<i64>,
    ended_ms: Option<i64>,
    host: Option<String>,
    port: Option<i32>,
    tracking_url: Option<String>,
    containers: Option<i32>,
    memory_mib: Option<i64>,
    virtual_cores: Option<i32>,
    tags: Vec<String>,
    diagnostics: Option<String>,
}

impl Application {
    pub(super) fn of(report: &ApplicationReport) -> Self {
        let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty() && text != "N/A");
        let positive = |number: i64| Some(number).filter(|number| *number > 0);
        let usage = report.app_resource_usage.as_ref();
        // YARN reports -1 for a value that is hidden from the user or no longer exists.
        let known = |number: i64| Some(number).filter(|number| *number >= 0);
        let used = usage.and_then(|usage| usage.used_resources.as_ref());
        Self {
            id: report.application_id.unwrap_or_default().to_string(),
            name: report.name().to_owned(),
            r#type: report.application_type().to_owned(),
            user: report.user().to_owned(),
            queue: report.queue().to_owned(),
            state: state(report.yarn_application_state()),
            final_status: final_status(report.final_application_status()),
            attempt: report.current_application_attempt_id.as_ref().map(|attempt| attempt.attempt_id()),
            progress: report.progress(),
            started_ms: positive(report.start_time()),
            ended_ms: positive(report.finish_time()),
            host: set(report.host()),
            port: report.rpc_port.filter(|port| *port > 0),
            tracking_url: set(report.tracking_url()),
            containers: usage.and_then(|usage| usage.num_used_containers).filter(|count| *count >= 0),
            memory_mib: used.and_then(|used| known(used.memory())),
            virtual_cores: used.and_then(|used| used.virtual_cores).filter(|cores| *cores >= 0),
            tags: report.application_tags.clone(),
            diagnostics: set(report.diagnostics()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_named_in_any_case_and_without_a_name_nothing_that_is_over_is_listed() {
        let states = |names: &[&str]| {
            let states = names.iter().map(|name| (*name).to_owned()).collect();
            let apps = Apps {
                states,
                json: false,
                site: ClusterArgs { conf: crate::cli::options::conf::Conf::default() },
            };
            apps.states().into_iter().map(state).collect::<Vec<_>>()
        };
        assert_eq!(states(&[]), ["NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"]);
        assert_eq!(states(&["failed", "RUNNING"]), ["RUNNING", "FAILED"]);
        assert_eq!(states(&["all"]).len(), STATES.len());
    }

    #[test]
    fn names_stand_in_the_tables() {
        let value = serde_json::to_value(Application::of(&ApplicationReport::default())).expect("it is JSON");
        let tables = include_str!("../../../../../docs/JSON.md");
        for name in value.as_object().expect("an object").keys() {
            assert!(tables.contains(&format!("\n| `{name}` | ")), "{name}");
        }
    }

    #[test]
    fn what_yarn_does_not_know_is_null() {
        let report = ApplicationReport {
            rpc_port: Some(-1),
            host: Some("N/A".to_owned()),
            ..ApplicationReport::default()
        };
        let value = serde_json::to_value(Application::of(&report)).expect("it is JSON");
        for name in ["host", "port", "containers", "memory_mib", "started_ms", "diagnostics"] {
            assert!(value[name].is_null(), "{name}: {value}");
        }
        assert_eq!(since(SystemTime::now(), i64::MAX), Duration::ZERO);
    }
}
