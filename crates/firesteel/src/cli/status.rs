//! `firesteel status`.

use std::io::{self, Write};

use clap::Args as ClapArgs;
use firesteel_core::messages::{
    ApplicationView, ClientToMaster, ExecutorView, MasterToClient, MasterView, WorkerView,
};
use firesteel_placement::{Cores, Resources};
use serde::Serialize;

use super::ask::Masters;
use super::exit::{self, Exit, Failure};
use super::table::{duration, table};

/// What is shown of which Master.
#[derive(Debug, ClapArgs)]
#[command(after_help = "  firesteel status
  firesteel status --master spark://node-1:7077 --json

Exit codes: 0 done; 1 failed; 2 wrong usage; 69 no Master could be reached; 78 a file or variable with settings is \
wrong.")]
pub(super) struct Args {
    #[command(flatten)]
    masters: Masters,
    /// Print one JSON value instead of tables
    #[arg(long)]
    json: bool,
}

/// Asks a Master for its state and prints it.
pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args.masters.cluster("status")?.ask_now(&ClientToMaster::RequestMasterState)? {
        MasterToClient::MasterStateResponse(view) => {
            exit::written(if args.json { print_json(&view) } else { print_tables(&view) })
        }
    }
}

/// The JSON value. `schema` rises when a field goes or changes its meaning.
#[derive(Serialize)]
struct Status<'a> {
    schema: u32,
    #[serde(flatten)]
    master: &'a MasterView,
}

fn print_json(view: &MasterView) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, &Status { schema: 1, master: view })?;
    writeln!(stdout)
}

fn print_tables(view: &MasterView) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "Master {}", view.url)?;
    writeln!(stdout, "\nWorkers\n{}", workers(&view.workers))?;
    writeln!(stdout, "\nApplications\n{}", applications(&view.applications))?;
    writeln!(stdout, "\nExecutors\n{}", executors(&view.applications))?;
    if !view.completed.is_empty() {
        writeln!(stdout, "\nCompleted applications\n{}", completed(&view.completed))?;
    }
    stdout.flush()
}

fn workers(workers: &[WorkerView]) -> String {
    let rows = workers.iter().map(|worker| {
        let resources = resources(&worker.resources_used, &worker.resources);
        vec![
            worker.id.to_string(),
            format!("{:?}", worker.state).to_uppercase(),
            format!("{}/{}", worker.cores_used.0, worker.cores.0),
            format!("{} of {}", worker.memory_used, worker.memory),
            resources,
            worker.last_heartbeat.to_string(),
        ]
    });
    table(&["WORKER", "STATE", "CORES", "MEMORY", "RESOURCES", "LAST HEARTBEAT"], rows.collect())
}

fn applications(applications: &[ApplicationView]) -> String {
    let rows = applications.iter().map(|application| {
        vec![
            application.id.to_string(),
            application.name.clone(),
            application.user.clone(),
            format!("{:?}", application.state).to_uppercase(),
            cores(application),
            running(application).to_string(),
            application.memory_per_executor.to_string(),
            application.submitted.to_string(),
        ]
    });
    let header =
        ["APPLICATION", "NAME", "USER", "STATE", "CORES", "EXECUTORS", "MEMORY PER EXECUTOR", "SUBMITTED"];
    table(&header, rows.collect())
}

fn completed(applications: &[ApplicationView]) -> String {
    let rows = applications.iter().map(|application| {
        vec![
            application.id.to_string(),
            application.name.clone(),
            application.user.clone(),
            format!("{:?}", application.state).to_uppercase(),
            application.end.clone().unwrap_or_default(),
            application.ended.map(|time| time.to_string()).unwrap_or_default(),
            application.ended.map(|time| duration(time.since(application.submitted))).unwrap_or_default(),
        ]
    });
    table(&["APPLICATION", "NAME", "USER", "STATE", "REASON", "ENDED", "DURATION"], rows.collect())
}

fn executors(applications: &[ApplicationView]) -> String {
    let row = |application: &ApplicationView, executor: &ExecutorView| {
        vec![
            format!("{}/{}", application.id, executor.id),
            executor.worker.to_string(),
            executor.state.to_string(),
            executor.cores.0.to_string(),
            executor.memory.to_string(),
            addresses(&executor.resources),
        ]
    };
    let rows = applications
        .iter()
        .flat_map(|application| application.executors.iter().map(move |executor| row(application, executor)));
    table(&["EXECUTOR", "WORKER", "STATE", "CORES", "MEMORY", "RESOURCES"], rows.collect())
}

/// The executors that have not ended. Those that did are shown for as long as the application runs.
fn running(application: &ApplicationView) -> usize {
    application.executors.iter().filter(|executor| !executor.state.is_finished()).count()
}

/// `8 of 24`, or `8` where there is no maximum.
fn cores(application: &ApplicationView) -> String {
    let granted = application.cores_granted.0;
    match application.max_cores {
        Some(most) if most < Cores::UNLIMITED => format!("{granted} of {}", most.0),
        Some(_) | None => granted.to_string(),
    }
}

/// `gpu 1/2`.
fn resources(used: &Resources, all: &Resources) -> String {
    let each = all.iter().map(|(name, _)| format!("{name} {}/{}", used.count(name), all.count(name)));
    each.collect::<Vec<_>>().join(", ")
}

/// `gpu 0,1`.
fn addresses(resources: &Resources) -> String {
    let each = resources
        .iter()
        .map(|(name, addresses)| format!("{name} {}", addresses.collect::<Vec<_>>().join(",")));
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_core::Timestamp;
    use firesteel_core::ids::{AppId, ExecutorId, ProfileId, WorkerId};
    use firesteel_core::messages::{ApplicationState, ExecutorState, WorkerState};
    use firesteel_core::process::ExitStatus;
    use firesteel_placement::MiB;

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
            directory: "/work/app-1/0".to_owned(),
            launched: Timestamp::default(),
            started: None,
            ended: None,
        };
        ApplicationView {
            id: AppId::new("app-1"),
            name: "sums".to_owned(),
            user: "ann".to_owned(),
            state: ApplicationState::Running,
            end: None,
            submitted: Timestamp::default(),
            ended: None,
            max_cores: Some(Cores(24)),
            cores_granted: Cores(4),
            memory_per_executor: MiB(1024),
            executors: vec![executor],
        }
    }

    #[test]
    fn tables_have_a_line_for_each_row() {
        let worker = WorkerView {
            id: WorkerId::new("w1"),
            host: "h".to_owned(),
            port: 1,
            state: WorkerState::Alive,
            cores: Cores(8),
            cores_used: Cores(4),
            memory: MiB(4096),
            memory_used: MiB(1024),
            resources: Resources::from_iter([("gpu", ["0", "1", "2"])]),
            resources_used: Resources::from_iter([("gpu", ["0", "1"])]),
            last_heartbeat: Timestamp::default(),
        };
        let squeezed = |table: String| -> Vec<String> {
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(
            squeezed(workers(&[worker])),
            [
                "WORKER STATE CORES MEMORY RESOURCES LAST HEARTBEAT",
                "w1 ALIVE 4/8 1 GiB of 4 GiB gpu 2/3 1970-01-01T00:00:00.000Z"
            ]
        );
        assert_eq!(
            squeezed(executors(&[application()])),
            ["EXECUTOR WORKER STATE CORES MEMORY RESOURCES", "app-1/0 w1 RUNNING 4 1 GiB gpu 0,1"]
        );
        assert_eq!(
            squeezed(applications(&[application()]))[1],
            "app-1 sums ann RUNNING 4 of 24 1 1 GiB 1970-01-01T00:00:00.000Z"
        );
        let end = Some("its driver's connection ended".to_owned());
        let ended = ApplicationView { end, ended: Some(Timestamp::default()), ..application() };
        assert!(squeezed(completed(&[ended]))[1].contains("its driver's connection ended"));
        assert_eq!(workers(&[]), "  none");
    }

    #[test]
    fn executors_that_ended_are_not_counted() {
        let mut application = application();
        application.executors[0].state = ExecutorState::Exited(ExitStatus::Code(1));
        assert_eq!(running(&application), 0);
        assert_eq!(executors(&[application]).lines().count(), 2, "they are listed");
    }

    #[test]
    fn cores_without_a_maximum_are_shown_alone() {
        for max_cores in [None, Some(Cores::UNLIMITED)] {
            assert_eq!(cores(&ApplicationView { max_cores, ..application() }), "4");
        }
    }

    #[test]
    fn the_json_value_has_a_schema_and_the_masters_tables() {
        let view = MasterView {
            url: "spark://h:1".to_owned(),
            workers: Vec::new(),
            applications: vec![application()],
            completed: Vec::new(),
        };
        let value = serde_json::to_value(Status { schema: 1, master: &view }).expect("it is JSON");
        assert_eq!(value["schema"], 1);
        assert_eq!(value["applications"][0]["executors"][0]["cores"], 4);
        assert_eq!(value["applications"][0]["state"], "RUNNING");
    }
}
