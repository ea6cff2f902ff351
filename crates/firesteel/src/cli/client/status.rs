//! `firesteel status`: a snapshot of a cluster.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args as ClapArgs;
use firesteel_host::plain;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{
    ApplicationView, ExecutorView, MasterView, Outcome, WorkerRemark, WorkerView,
};
use firesteel_protocol::state_reader::Extent;
use firesteel_settings::scheduling::changed_settings;
use firesteel_settings::secrets::shown_text;

use super::application;
use super::ask::{self, Masters};
use super::document;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::submission::submit_driver;
use crate::cli::table::{clean, duration, table};
use firesteel_daemons::wording::EXPOSED;
use firesteel_daemons::wording::application::{addresses, cores, live_state, resources, state};
use firesteel_daemons::wording::driver::driver_state;
use firesteel_daemons::wording::worker::state_alone;

const EXAMPLES: &str = "  firesteel status --master spark://10.0.0.1:7077
  firesteel status app-20261120212235-0000     one application, live or ended
  firesteel status app-20261120212235-0000/3   one executor of it
  firesteel status driver-20261120212235-0000  one cluster driver
  firesteel status --json | jq '.applications[].id'";

const CODES: &str = "\
Exit codes: 0 done; 1 failed, or the application is not known; 2 wrong usage; 69 no Master could be reached; \
75 a Master did not answer in time or in full; 76 what listens there is no Master of this version; \
78 a settings file or variable is wrong.";

/// The options of `firesteel status`: which Master is asked, and what is shown.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("status", EXAMPLES),
    after_long_help = format!("{EXAMPLES}\n\n{}\n\n{CODES}", document::HELP)
)]
pub(in crate::cli) struct Args {
    /// Show one application (id or name), executor (APP/EXECUTOR) or cluster driver (id) in detail
    #[arg(value_name = "APP")]
    app: Option<String>,
    #[command(flatten)]
    masters: Masters,
    /// List all dead Workers and completed applications that the Master still lists, with the full reasons
    #[arg(long)]
    all: bool,
    /// Print everything as one JSON value
    #[arg(long)]
    json: bool,
}

/// Asks a Master for its state or for one application, and prints the answer.
pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    let cluster = args.masters.cluster("status")?;
    if let Some(word) = &args.app {
        if let Some(view) = ask::driver_named(&cluster, word)? {
            return exit::written(submit_driver::print(&view, args.json));
        }
        let (app, executor) = ask::parts(word);
        let mut detail = ask::detail(&cluster, app)?;
        if let Some(executor) = executor {
            let executors = &mut detail.application.executors;
            executors.retain(|it| it.id == executor);
            if executors.is_empty() {
                let words = format!("application {} has no executor {executor}", detail.application.id);
                return Err(Failure::of(Exit::Failure, words + ", or the Master no longer lists it"));
            }
        }
        return exit::written(application::print(&detail, args.json));
    }
    let view = ask::now(cluster.state(Extent::Whole))?;
    exit::written(if args.json {
        print_json(&view)
    } else {
        print_tables(&view, if args.all { Length::Whole } else { Length::Short })
    })
}

fn print_json(view: &MasterView) -> io::Result<()> {
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, &document::Master::of(view))?;
    writeln!(stdout)
}

fn print_tables(view: &MasterView, length: Length) -> io::Result<()> {
    let mut stdout = plain::stdout();
    writeln!(stdout, "{}", tables(view, length))?;
    stdout.flush()
}

/// The number of ended entries in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// Only the latest entries.
    Short,
    /// All entries that the Master has.
    Whole,
}

/// Number of completed applications in a short table.
const COMPLETED: usize = 10;

/// Number of dead Workers in a short table.
const DEAD: usize = 3;

/// Maximum number of characters of a reason in a short table. The application's detail has the full
/// reason.
const REASON: usize = 60;

/// The lag beyond which a Master is reported as behind.
const LAG: Duration = Duration::from_secs(1);

pub(super) fn tables(view: &MasterView, length: Length) -> String {
    let MasterView { url, now, lag_millis, is_exposed, .. } = view;
    let (shown, dead) = without_older_dead(&view.workers, length);
    let earlier = match length {
        Length::Short => view.completed.len().saturating_sub(COMPLETED),
        Length::Whole => 0,
    };
    let latest = completed(&view.completed[earlier..], *now, length);
    let parts = [
        ("Workers", workers(view, &shown), dead, "dead"),
        ("Applications", applications(&view.applications, *now), 0, ""),
        ("Executors", executors(&view.applications, *now), 0, ""),
        ("Completed applications", latest, earlier, "earlier"),
    ];
    let mut text = format!("Master {}", clean(url));
    let lag = Duration::from_millis(*lag_millis);
    if lag > LAG {
        let _ = write!(text, ", {} behind: messages wait before it handles them", duration(lag));
    }
    if *is_exposed {
        let _ = write!(text, "\nIt is open: {EXPOSED}");
    }
    if let Some(settings) = settings(&changed_settings(&view.scheduling)) {
        let _ = write!(text, "\n\n{settings}");
    }
    let drivers = (!view.drivers.is_empty()).then(|| drivers(view, length));
    let drivers = drivers.map(|(rows, folded)| ("Drivers", rows, folded, "earlier"));
    for (name, rows, folded, which) in parts.into_iter().chain(drivers) {
        let _ = write!(text, "\n\n{name}\n{rows}");
        if folded > 0 {
            let _ = write!(text, "\n  and {folded} more, {which}: firesteel status --all lists them");
        }
    }
    text
}

/// The settings of a Master's scheduler, with a headline. `None` if there is no setting to show.
pub(in crate::cli) fn settings(settings: &[(&'static str, String)]) -> Option<String> {
    let rows = settings.iter().map(|(key, value)| vec![(*key).to_owned(), value.clone()]).collect();
    (!settings.is_empty()).then(|| format!("Scheduling settings\n{}", table(&["SETTING", "VALUE"], rows)))
}

/// All live Workers and the latest dead ones, and the number of omitted Workers.
fn without_older_dead(workers: &[WorkerView], length: Length) -> (Vec<&WorkerView>, usize) {
    let mut dead: Vec<&WorkerView> = workers.iter().filter(|worker| worker.state.is_gone()).collect();
    dead.sort_by_key(|worker| (Reverse(worker.last_heartbeat), &worker.id));
    let folded: BTreeSet<&WorkerId> = match length {
        Length::Short => dead.into_iter().skip(DEAD).map(|worker| &worker.id).collect(),
        Length::Whole => BTreeSet::new(),
    };
    (workers.iter().filter(|worker| !folded.contains(&worker.id)).collect(), folded.len())
}

fn workers(view: &MasterView, workers: &[&WorkerView]) -> String {
    let now = view.now;
    let gone = |worker: &WorkerView| worker.remark.as_ref().and_then(WorkerRemark::departure).cloned();
    let is_one_gone = workers.iter().any(|worker| gone(worker).is_some());
    let rows = workers.iter().map(|worker| {
        let mut row = vec![
            worker.id.to_string(),
            // The last column tells when and why it is gone, since that column can be wrapped.
            state_alone(worker, now),
            format!("{}/{}", worker.cores_used.0, worker.cores.0),
            format!("{} of {}", worker.memory_used, worker.memory),
            resources(&worker.resources_used, &worker.resources),
            format!("{} ago", duration(now.since(worker.last_heartbeat))),
        ];
        let words = gone(worker)
            .map(|it| format!("{} ago: {}", duration(now.since(it.at)), clean(&it.cause.to_string())));
        row.extend(is_one_gone.then(|| words.unwrap_or_default()));
        row
    });
    let header = ["WORKER", "STATE", "CORES", "MEMORY", "RESOURCES", "HEARTBEAT", "GONE"];
    table(&header[..header.len() - usize::from(!is_one_gone)], rows.collect())
}

fn applications(applications: &[ApplicationView], now: Timestamp) -> String {
    let rows = applications.iter().map(|application| {
        vec![
            application.id.to_string(),
            application.name.clone(),
            application.user.clone(),
            live_state(application, now),
            cores(application),
            application.executors_live.to_string(),
            application.memory_per_executor.to_string(),
            format!("{} ago", duration(now.since(application.submitted))),
        ]
    });
    let header =
        ["APPLICATION", "NAME", "USER", "STATE", "CORES", "EXECUTORS", "MEMORY PER EXECUTOR", "SUBMITTED"];
    table(&header, rows.collect())
}

fn completed(applications: &[ApplicationView], now: Timestamp, length: Length) -> String {
    let rows = applications.iter().map(|application| {
        let ended = application.ended.unwrap_or_default();
        vec![
            application.id.to_string(),
            application.name.clone(),
            application.user.clone(),
            state(application.state).to_owned(),
            application.outcome.as_ref().map(Outcome::word).unwrap_or_default().to_owned(),
            duration(ended.since(application.submitted)),
            format!("{} ago", duration(now.since(ended))),
            shortened(reason(application), length),
        ]
    });
    let header = ["APPLICATION", "NAME", "USER", "STATE", "OUTCOME", "DURATION", "ENDED", "REASON"];
    table(&header, rows.collect())
}

/// Why an application ended: the reason of its state. If there is none, the message of its outcome.
fn reason(application: &ApplicationView) -> &str {
    let words = application.outcome.as_ref().and_then(Outcome::words);
    application.end.as_deref().or(words).unwrap_or_default()
}

fn shortened(reason: &str, length: Length) -> String {
    match reason.char_indices().nth(REASON) {
        Some((at, _)) if length == Length::Short => format!("{}...", reason[..at].trim_end()),
        Some(_) | None => reason.to_owned(),
    }
}

fn executors(applications: &[ApplicationView], now: Timestamp) -> String {
    let row = |application: &ApplicationView, executor: &ExecutorView| {
        vec![
            format!("{}/{}", application.id, executor.id),
            executor.state.name().to_owned(),
            executor.cores.0.to_string(),
            executor.memory.to_string(),
            addresses(&executor.resources),
            executor.worker.to_string(),
            format!("{} ago", duration(now.since(executor.launched))),
        ]
    };
    let rows = applications.iter().flat_map(|application| {
        let live = application.executors.iter().filter(|executor| !executor.state.is_finished());
        live.map(move |executor| row(application, executor))
    });
    table(&["EXECUTOR", "STATE", "CORES", "MEMORY", "RESOURCES", "WORKER", "LAUNCHED"], rows.collect())
}

/// The table of cluster drivers, and the number of ended drivers that are left out.
fn drivers(view: &MasterView, length: Length) -> (String, usize) {
    let MasterView { drivers, now, .. } = view;
    let ended = drivers.iter().filter(|driver| driver.state.is_finished()).count();
    let mut folded = match length {
        Length::Short => ended.saturating_sub(COMPLETED),
        Length::Whole => 0,
    };
    let left_out = folded;
    let mut rows = Vec::new();
    for driver in drivers {
        if driver.state.is_finished() && folded > 0 {
            folded -= 1;
            continue;
        }
        let worker = driver.worker.as_ref().map(|place| place.worker.to_string());
        let command = shown_text(&driver.command);
        let named = driver.name.as_ref().map(|name| format!("{name}: {command}"));
        rows.push(vec![
            driver.id.to_string(),
            driver.user.clone(),
            shortened(&driver_state(driver, *now), length),
            driver.cores.0.to_string(),
            driver.memory.to_string(),
            worker.unwrap_or_default(),
            format!("{} ago", duration(now.since(driver.submitted))),
            shortened(&named.unwrap_or(command), length),
        ]);
    }
    let header = ["DRIVER", "USER", "STATE", "CORES", "MEMORY", "WORKER", "SUBMITTED", "COMMAND"];
    (table(&header, rows), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_placement::{Cores, MiB, Resources};
    use firesteel_protocol::address::Address;
    use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId};
    use firesteel_protocol::messages::{
        ApplicationState, ExecutorState, Offered, Submitter, WorkerDescription, WorkerState,
    };
    use firesteel_protocol::process::ExitStatus;

    fn application() -> ApplicationView {
        let executor = ExecutorView {
            id: ExecutorId(0),
            worker: WorkerId::new("w1"),
            profile: ProfileId::DEFAULT,
            cores: Cores(4),
            memory: MiB(1024),
            resources: Resources::from_iter([("gpu", ["0", "1"])]),
            state: ExecutorState::Running,
            host: "h1".to_owned(),
            port: 7078,
            directory: "/var/spark/app-1/0".to_owned(),
            launched: Timestamp::default(),
            started: None,
            ended: None,
        };
        ApplicationView {
            state: ApplicationState::Running,
            max_cores: Some(Cores(24)),
            cores_granted: Cores(4),
            memory_per_executor: MiB(1024),
            executors_live: 1,
            executors: vec![executor],
            ..ApplicationView::registered(
                AppId::new("app-1"),
                Submitter::new("sums", "ann"),
                Timestamp::default(),
            )
        }
    }

    fn worker() -> WorkerView {
        let offered = Offered {
            cores: Cores(8),
            memory: MiB(4096),
            resources: Resources::from_iter([("gpu", ["0", "1", "2"])]),
        };
        let worker = WorkerDescription::new(WorkerId::new("w1"), Address::new("h", 1), offered, "/work");
        WorkerView {
            cores_used: Cores(4),
            memory_used: MiB(1024),
            resources_used: Resources::from_iter([("gpu", ["0", "1"])]),
            ..WorkerView::unused(&worker, Timestamp::default())
        }
    }

    fn view() -> MasterView {
        MasterView { applications: vec![application()], ..MasterView::empty("spark://h:1") }
    }

    #[test]
    fn tables_have_a_line_for_each_row() {
        let worker = worker();
        let squeezed = |table: String| -> Vec<String> {
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        let now = Timestamp::from_millis(3_500);
        assert_eq!(
            squeezed(workers(&MasterView { now, ..view() }, &[&worker])),
            [
                "WORKER STATE CORES MEMORY RESOURCES HEARTBEAT",
                "w1 ALIVE 4/8 1 GiB of 4 GiB gpu 2/3 3.5 s ago"
            ]
        );
        assert_eq!(
            squeezed(executors(&[application()], now)),
            [
                "EXECUTOR STATE CORES MEMORY RESOURCES WORKER LAUNCHED",
                "app-1/0 RUNNING 4 1 GiB gpu 0,1 w1 3.5 s ago"
            ]
        );
        assert_eq!(
            squeezed(applications(&[application()], now))[1],
            "app-1 sums ann RUNNING 4 of 24 1 1 GiB 3.5 s ago"
        );
        let end = Some("its driver's connection ended".to_owned());
        let ended = ApplicationView { end, ended: Some(now), ..application() };
        let later = Timestamp::from_millis(65_500);
        assert_eq!(
            squeezed(completed(&[ended], later, Length::Short))[1],
            "app-1 sums ann RUNNING 3.5 s 1 m 2 s ago its driver's connection ended"
        );
        let (state, outcome) = (ApplicationState::Finished, Some(Outcome::failed("3 of 10 items failed")));
        let ended = ApplicationView { state, outcome, ended: Some(now), ..application() };
        assert_eq!(
            squeezed(completed(&[ended], later, Length::Short))[1],
            "app-1 sums ann FINISHED failed 3.5 s 1 m 2 s ago 3 of 10 items failed"
        );
        let bare = ApplicationView { executors_live: 0, executors: Vec::new(), ..application() };
        assert_eq!(
            squeezed(applications(&[bare], now))[1],
            "app-1 sums ann RUNNING (0 executors) 4 of 24 0 1 GiB 3.5 s ago"
        );
        assert_eq!(workers(&view(), &[]), "  none");
    }

    #[test]
    fn only_executors_that_have_not_ended_are_listed() {
        let mut application = application();
        application.executors[0].state = ExecutorState::Exited(ExitStatus::Code(1));
        assert_eq!(executors(&[application], Timestamp::default()), "  none");
    }

    #[test]
    fn of_what_is_over_the_latest_are_listed_and_the_others_on_request() {
        let end = Some(format!("it was refused: {}", "x".repeat(100)));
        let ended = |number: u64| ApplicationView {
            id: AppId::new(format!("app-{number}")),
            end: end.clone(),
            ended: Some(Timestamp::from_millis(number)),
            ..application()
        };
        let dead = |number: u64| WorkerView {
            id: WorkerId::new(format!("w{number}")),
            state: if number == 0 { WorkerState::Alive } else { WorkerState::Dead },
            last_heartbeat: Timestamp::from_millis(number),
            ..worker()
        };
        let view = MasterView {
            workers: (0..6).map(dead).collect(),
            completed: (0..12).map(ended).collect(),
            ..view()
        };
        let count = |text: &str, word: &str| text.lines().filter(|line| line.contains(word)).count();
        let short = tables(&view, Length::Short);
        assert_eq!((count(&short, "app-"), count(&short, " DEAD ")), (2 + 10, 3), "{short}");
        assert!(short.contains("and 2 more, dead: ") && short.contains("and 2 more, earlier: "), "{short}");
        assert!(short.contains("w5") && short.contains("app-11 ") && short.contains("xxx..."), "{short}");
        let whole = tables(&view, Length::Whole);
        assert!(count(&whole, "app-") == 2 + 12 && whole.contains(&"x".repeat(100)), "{whole}");
        assert!(!whole.contains("more"), "{whole}");
    }

    #[test]
    fn cores_without_a_maximum_are_shown_alone() {
        for max_cores in [None, Some(Cores::UNLIMITED)] {
            assert_eq!(cores(&ApplicationView { max_cores, ..application() }), "4");
        }
    }

    #[test]
    fn the_json_value_has_a_schema_and_the_masters_tables() {
        let value = serde_json::to_value(document::Master::of(&view())).expect("it is JSON");
        assert_eq!(value["schema"], 5);
        let application = &value["applications"][0];
        assert_eq!((&application["state"], &application["submitted_ms"]), (&"RUNNING".into(), &0.into()));
        let executor = &application["executors"][0];
        assert_eq!(
            (&executor["state"], &executor["exit_code"]),
            (&"RUNNING".into(), &serde_json::Value::Null)
        );
        assert_eq!((&executor["cores"], &executor["memory_mib"]), (&4.into(), &1024.into()));
    }
}
