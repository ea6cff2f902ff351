use firesteel_host::meter::OwnerMeter;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    DiskSpace, ExecutorReport, ExecutorState, MachineUsage, RunningExecutor, TaskDirectory, Usage,
};
use firesteel_protocol::process::executor_command::{ExecutorCommand, JavaCommand};

use super::*;
use crate::http::exposition::tests::parsed;
use crate::http::query::Query;
use crate::wording::EXPOSED_WORKER;

const SPARK_JSON: &str = include_str!("../../../../../fixtures/http/spark-4.0.1-worker.json");
const SPARK_METRICS: &str = include_str!("../../../../../fixtures/http/spark-4.0.1-worker.prom");

fn gpus(addresses: &[&str]) -> Resources {
    [("gpu", addresses.to_vec())].into_iter().collect()
}

fn executor(app: &str, number: u32) -> ExecutorKey {
    ExecutorKey { app: AppId::new(app), executor: ExecutorId(number) }
}

fn plan(executor: ExecutorKey, name: &str) -> ExecutorPlan {
    ExecutorPlan {
        executor,
        profile: ProfileId::DEFAULT,
        app_name: name.to_owned(),
        command: ExecutorCommand::Java(Box::new(JavaCommand {
            environment: [("SPARK_USER".to_owned(), "root".to_owned())].into(),
            ..JavaCommand::default()
        })),
        directory: TaskDirectory::Executor,
        cores: Cores(2),
        memory: MiB(512),
        resources: gpus(&["0"]),
        on_worker: gpus(&["0"]),
        files: Vec::new(),
    }
}

/// The Worker from which Spark's responses were recorded.
fn recorded() -> (WorkerViewOfItself, Plans) {
    let (live, done) = (executor("app-20261126055910-0001", 0), executor("app-20261126055854-0000", 0));
    let mut plans = Plans::of(10);
    plans.add(&plan(done.clone(), "done"), 0);
    plans.add(&plan(live.clone(), "live"), 0);
    let running = RunningExecutor {
        executor: live,
        cores: Cores(2),
        memory: MiB(512),
        state: ExecutorState::Running,
        pid: Some(7),
    };
    let view = WorkerViewOfItself {
        id: WorkerId::new("worker-20261126055846-127.0.0.1-27078"),
        master_url: Some("spark://127.0.0.1:27077".to_owned()),
        cores: Cores(4),
        memory: MiB(4096),
        executors: vec![running],
        ended: vec![ExecutorReport::new(done, ExecutorState::Killed(None))],
        drivers: Vec::new(),
    };
    (view, plans)
}

/// The JSON without the fields that Firesteel's Workers do not have or do not show.
fn known(json: &str) -> String {
    json.replace("\"cores\" : 2,\n      \"memoryperexecutor\"", "\"cores\" : 0,\n      \"memoryperexecutor\"")
        .replace("\"Command(org.apache.spark.executor.CoarseGrainedExecutorBackend,...)\"", "\"\"")
}

/// The Worker's report about itself.
fn report() -> WorkerReport {
    let usage = Usage { cpu_millis: 9_000, millicores: 1_500, memory: 300 << 20, peak_memory: 400 << 20 };
    WorkerReport {
        worker: WorkerId::new("worker-20261126055846-127.0.0.1-27078"),
        web_address: None,
        master_web_address: None,
        machine: Some(MachineUsage {
            cores: 4,
            millicores: 2_000,
            memory: 8 << 30,
            memory_available: 1 << 30,
        }),
        disk: Some(DiskSpace { total: 100 << 30, available: 1 << 30 }),
        executors: (0..103).map(|number| (executor("app-1", number), usage)).collect(),
        drivers: Vec::new(),
    }
}

/// The metrics of this Worker.
pub(in super::super) fn metrics() -> String {
    let (view, _) = recorded();
    let meter = OwnerMeter::default();
    let seen = (view, report());
    metrics::of(SystemTime::now(), &HttpMeter::default(), (&meter, Default::default()), Some(&seen))
}

#[test]
fn the_json_is_spark_s() {
    let (view, plans) = recorded();
    let page = WorkerPage::of((&view, Some("http://localhost:28080/")), &plans, &gpus(&["0", "1"]));
    assert_eq!(jackson::json(&page), known(SPARK_JSON).trim_end());
}

#[test]
fn the_metrics_with_spark_s_names_are_spark_s() {
    assert_eq!(metrics::spark(&recorded().0).lines(), SPARK_METRICS);
}

#[test]
fn the_metrics_are_well_formed_and_say_what_is_there() {
    let (_, samples) = parsed(&metrics());
    for (series, value) in [
        ("firesteel_worker_registered", 1),
        ("firesteel_worker_cores", 4),
        ("firesteel_worker_cores_used", 2),
        ("firesteel_worker_memory_used_bytes", 512 << 20),
        ("firesteel_worker_executors{state=\"running\"}", 1),
        ("firesteel_worker_executors_listed", 1),
        ("firesteel_worker_machine_cpu_cores", 2),
        ("firesteel_worker_machine_memory_available_bytes", 1 << 30),
        ("firesteel_worker_disk_available_bytes", 1 << 30),
        ("firesteel_executor_cpu_seconds{app=\"app-1\",executor=\"0\"}", 9),
        ("firesteel_executor_memory_bytes{app=\"app-1\",executor=\"99\"}", 300 << 20),
        ("firesteel_worker_executors_not_shown", 3),
    ] {
        assert_eq!(samples.get(series), Some(&(value as f64)), "{series}");
    }
}

#[test]
fn plans_of_executors_that_are_no_longer_listed_are_forgotten() {
    let mut plans = Plans::of(2);
    for number in 0..100 {
        plans.add(&plan(executor("app-1", number), "a"), 1);
    }
    assert_eq!(plans.get(&executor("app-1", 99)).app_name, "a");
    assert_eq!(plans.get(&executor("app-1", 50)), plans::Plan::default());
}

#[test]
fn the_page_of_an_open_worker_says_so() {
    let (view, plans) = recorded();
    for is_exposed in [false, true] {
        let page = page::WorkerPage {
            view: &view,
            report: &report(),
            plans: &plans,
            resources: &gpus(&[]),
            query: &Query::of(""),
            is_exposed,
        };
        assert_eq!(page.document().contains(EXPOSED_WORKER), is_exposed);
    }
}
