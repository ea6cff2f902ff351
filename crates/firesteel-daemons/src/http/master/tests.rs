use firesteel_placement::{Cores, MiB};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::{
    ApplicationView, ClusterTotals, DiskSpace, Impairment, MachineUsage, Offered, Outcome, Submitter,
    TimedReport, Usage, WorkerDescription, WorkerReport, WorkerView,
};

use super::*;
use crate::http::exposition::tests::parsed;

const SPARK_JSON: &str = include_str!("../../../../../fixtures/http/spark-4.0.1-master.json");
const SPARK_METRICS: &str = include_str!("../../../../../fixtures/http/spark-4.0.1-master.prom");

fn gpus(addresses: &[&str]) -> firesteel_placement::Resources {
    [("gpu", addresses.to_vec())].into_iter().collect()
}

/// The cluster from which Spark's responses were recorded.
fn recorded() -> MasterView {
    let time = Timestamp::from_millis;
    let offered = Offered { cores: Cores(4), memory: MiB(4096), resources: gpus(&["0", "1"]) };
    let (id, address) =
        (WorkerId::new("worker-20261126055846-127.0.0.1-27078"), Address::new("127.0.0.1", 27_078));
    let worker = WorkerDescription::new(id, address, offered, "/work");
    let unused = WorkerView::unused(&worker, time(1_795_672_742_993));
    let worker =
        WorkerView { cores_used: Cores(2), memory_used: MiB(512), resources_used: gpus(&["0"]), ..unused };
    let application = |id: &str, name: &str, submitted, ended, state| ApplicationView {
        state,
        ended,
        gang: 1,
        max_cores: Some(Cores(2)),
        cores_granted: Cores(2),
        memory_per_executor: MiB(512),
        resources_per_executor: [("gpu".to_owned(), firesteel_placement::Amount::Whole(1))].into(),
        executors_live: 1,
        executors_ended: 3,
        ..ApplicationView::registered(AppId::new(id), Submitter::new(name, "root"), time(submitted))
    };
    let begun = 1_795_672_750_938;
    let executor = ExecutorKey { app: AppId::new("app-20261126055910-0001"), executor: ExecutorId(0) };
    let usage = Usage { cpu_millis: 9_000, millicores: 1_500, memory: 300 << 20, peak_memory: 400 << 20 };
    let report = WorkerReport {
        worker: worker.id.clone(),
        web_address: Some("http://127.0.0.1:28081/".to_owned()),
        master_web_address: None,
        machine: Some(MachineUsage {
            cores: 4,
            millicores: 2_000,
            memory: 8 << 30,
            memory_available: 4 << 30,
        }),
        disk: Some(DiskSpace { total: 100 << 30, available: 40 << 30 }),
        executors: vec![(executor, usage)],
        drivers: Vec::new(),
    };
    let (live, done) = ("app-20261126055910-0001", "app-20261126055854-0000");
    let ended = Some(time(1_795_672_734_500 + 10_124));
    let report = Some(Box::new(TimedReport { received: time(begun), report }));
    MasterView {
        now: time(begun + 1134),
        workers: vec![WorkerView { report, ..worker }],
        applications: vec![application(live, "live", begun, None, ApplicationState::Running)],
        completed: vec![application(done, "done", 1_795_672_734_500, ended, ApplicationState::Finished)],
        ..MasterView::empty("spark://127.0.0.1:27077")
    }
}

#[test]
fn the_json_is_spark_s() {
    let view = recorded();
    let page = MasterPage::of(&view, Status::of(&view));
    assert_eq!(jackson::json(&page), SPARK_JSON.trim_end());
    let only = |field| jackson::json(&page.only(field));
    assert_eq!(only("aliveworkers"), "{\n  \"aliveworkers\" : 1\n}");
    assert_eq!(only("applications"), "{\n  \"applications\" : \"\"\n}", "Spark has no such field");
    let utilization = "{\n  \"waitingDrivers\" : 0,\n  \"cores\" : 4,\n  \"coresused\" : 2,\n  \"coresutilization\" : 50,\n  \
        \"memory\" : 4096,\n  \"memoryused\" : 512,\n  \"memoryutilization\" : 12\n}";
    assert_eq!(jackson::json(&page.utilization()), utilization);
}

#[test]
fn a_worker_whose_resources_are_all_used_still_names_them() {
    let mut view = recorded();
    view.workers[0].resources_used = gpus(&["0", "1"]);
    let page: serde_json::Value =
        serde_json::from_str(&jackson::json(&MasterPage::of(&view, Status::Alive))).expect("it is JSON");
    let free = &page["workers"][0]["resourcesfree"];
    assert_eq!(*free, serde_json::json!({"gpu": {"name": "gpu", "addresses": []}}));
}

#[test]
fn one_that_stands_by_has_nothing_and_says_so() {
    let page = MasterPage::of_standby("spark://h:1");
    let json: serde_json::Value = serde_json::from_str(&jackson::json(&page)).expect("it is JSON");
    assert_eq!((&json["status"], &json["url"]), (&"STANDBY".into(), &"spark://h:1".into()));
    assert_eq!((&json["aliveworkers"], json["workers"].as_array().map(Vec::len)), (&0.into(), Some(0)));
    assert!(jackson::json(&page.utilization()).contains("\"coresutilization\" : 100"));
}

#[test]
fn a_master_recovers_while_somebody_is_away() {
    let view = recorded();
    assert_eq!(Status::of(&view), Status::Alive);
    let mut away = view.clone();
    away.workers[0].state = WorkerState::Unknown;
    assert_eq!(Status::of(&away), Status::Recovering);
    away.workers[0].away_since = Some(view.now);
    assert_eq!(Status::of(&away), Status::Alive, "its connection ended, and the Master was not restarted");
    let mut away = view;
    away.applications[0].state = ApplicationState::Unknown;
    assert_eq!(Status::of(&away), Status::Recovering);
}

#[test]
fn the_metrics_with_spark_s_names_are_spark_s() {
    assert_eq!(metrics::spark_master(&recorded()).lines(), SPARK_METRICS);
    let lines = metrics::spark_applications(&recorded()).lines();
    for line in [
        "metrics_application_live_1795672750938_cores_Number{type=\"gauges\"} 2\n",
        "metrics_application_live_1795672750938_runtime_ms_Value{type=\"gauges\"} 1134\n",
        "metrics_application_done_1795672734500_runtime_ms_Value{type=\"gauges\"} 10124\n",
    ] {
        assert!(lines.contains(line), "{lines}");
    }
    let json = |gauges: SparkGauges| -> serde_json::Value {
        serde_json::from_str(&gauges.answer(GaugeForm::Json).body).expect("it is JSON")
    };
    let gauges = json(metrics::spark_applications(&recorded()))["gauges"].clone();
    assert_eq!(gauges["application.live.1795672750938.status"]["value"], "RUNNING");
    assert_eq!(gauges["application.live.1795672750938.cores"]["value"], 2);
    let master = json(metrics::spark_master(&recorded()));
    assert_eq!(
        (&master["version"], &master["gauges"]["master.aliveWorkers"]["value"]),
        (&"4.0.0".into(), &1.into())
    );
    assert_eq!(master["timers"], serde_json::json!({}));
}

fn metrics_of(view: Option<&MasterView>) -> String {
    let (owner, journal) = (Default::default(), JournalMeter::default());
    let source = metrics::Source { owner: (&owner, Default::default()), journal: Some(&journal), view };
    metrics::of_leader(SystemTime::now(), &HttpMeter::default(), &source)
}

#[test]
fn the_metrics_are_well_formed_and_say_what_is_there() {
    let (_, samples) = parsed(&metrics_of(Some(&recorded())));
    for (series, value) in [
        ("firesteel_master_status{status=\"alive\"}", 1_i64),
        ("firesteel_master_status{status=\"standby\"}", 0),
        ("firesteel_master_workers{state=\"alive\"}", 1),
        ("firesteel_master_cores{state=\"alive\"}", 4),
        ("firesteel_master_cores_used{state=\"alive\"}", 2),
        ("firesteel_master_memory_bytes{state=\"alive\"}", 4 << 30),
        ("firesteel_master_memory_used_bytes{state=\"alive\"}", 512 << 20),
        ("firesteel_master_applications{state=\"running\"}", 1),
        ("firesteel_master_applications{state=\"finished\"}", 1),
        ("firesteel_master_queue_applications{queue=\"default\",state=\"running\"}", 1),
        ("firesteel_master_executors", 1),
        ("firesteel_application_cores{app=\"app-20261126055910-0001\",name=\"live\"}", 2),
        ("firesteel_application_executors_ended{app=\"app-20261126055910-0001\",name=\"live\"}", 3),
        ("firesteel_master_applications_not_shown", 0),
    ] {
        assert_eq!(samples.get(series), Some(&(value as f64)), "{series}");
    }
    assert!(samples["process_resident_memory_bytes"] > 0.0);
}

#[test]
fn an_application_counts_by_what_became_of_its_work() {
    let mut view = recorded();
    let ended = view.completed[0].clone();
    let of = |outcome| ApplicationView { outcome, ..ended.clone() };
    view.completed = vec![
        of(None),
        of(Some(Outcome::Succeeded)),
        of(Some(Outcome::failed("3 of 10 items failed"))),
        of(Some(Outcome::cancelled("ctrl-c"))),
    ];
    let (_, samples) = parsed(&metrics_of(Some(&view)));
    for (state, number) in [("finished", 2.0), ("failed", 1.0), ("killed", 1.0)] {
        assert_eq!(
            samples[&format!("firesteel_master_applications{{state=\"{state}\"}}")],
            number,
            "{state}"
        );
    }
}

#[test]
fn a_master_that_does_not_answer_still_has_metrics() {
    let (types, samples) = parsed(&metrics_of(None));
    assert_eq!(samples["firesteel_master_answers"], 0.0);
    assert!(types.contains_key("firesteel_master_event_duration_seconds"));
    assert!(!types.contains_key("firesteel_master_workers"));
    parsed(&metrics::of_standby(SystemTime::now(), &HttpMeter::default()));
}

#[test]
fn the_number_of_series_is_bounded() {
    let mut view = recorded();
    let live = view.applications[0].clone();
    for number in 0..10_000 {
        let id = AppId::new(format!("app-20261126055910-{number:04}"));
        view.applications.push(ApplicationView { id, name: "\"evil\\\n".to_owned(), ..live.clone() });
    }
    let (_, samples) = parsed(&metrics_of(Some(&view)));
    assert!(samples.len() < 700, "{}", samples.len());
    assert_eq!(samples["firesteel_master_applications_not_shown"], 9901.0);
}

#[test]
fn the_page_of_metrics_names_each() {
    let page = include_str!("../../../../../docs/MONITORING.md");
    let named: std::collections::BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with("firesteel_") || name.starts_with("process_"))
        .collect();
    let (mut types, _) = parsed(&metrics_of(Some(&recorded())));
    types.extend(parsed(&crate::http::worker::tests::metrics()).0);
    assert_eq!(named, types.keys().map(String::as_str).collect());
}

/// A view of Workers in all states, with a cluster driver on a Worker that serves and on a Worker that leaves.
fn mixed() -> MasterView {
    let base = recorded();
    let worker = |number: u16, state, cores, used| WorkerView {
        id: WorkerId::new(format!("w{number}")),
        port: number,
        state,
        cores: Cores(cores),
        cores_used: Cores(used),
        memory: MiB(1024 * cores),
        memory_used: MiB(1024 * used),
        ..base.workers[0].clone()
    };
    let full = Some(Impairment::CannotStart("No space left on device".to_owned()));
    let until = Some(Timestamp::from_millis(u64::MAX / 2));
    let mut workers = vec![
        worker(1, WorkerState::Alive, 1, 1),
        worker(2, WorkerState::Alive, 2, 0),
        WorkerView { impairment: full, ..worker(3, WorkerState::Alive, 4, 1) },
        WorkerView { impairment: Some(Impairment::Deaf), ..worker(4, WorkerState::Alive, 8, 0) },
        WorkerView { excluded_until: until, ..worker(5, WorkerState::Alive, 16, 0) },
        WorkerView { excluded_for: 2, ..worker(6, WorkerState::Alive, 32, 5) },
    ];
    workers.extend([
        worker(7, WorkerState::Decommissioned, 64, 3),
        worker(8, WorkerState::Unknown, 128, 0),
        worker(9, WorkerState::Dead, 256, 0),
    ]);
    MasterView { workers, ..base }
}

/// The sums computed by hand: Workers, cores, held cores and offered cores.
const MIXED: [i64; 4] = [6, 1 + 2 + 4 + 8 + 16 + 32, 1 + 1 + 5, 2 + 27];

#[test]
fn every_view_has_the_same_sums_over_workers_that_leave_are_dead_cannot_start_or_are_excluded() {
    let view = mixed();
    let [workers, cores, used, free] = MIXED;
    let totals = ClusterTotals::of(&view);
    let ClusterTotals { workers: alive, cores: all, cores_used, cores_free, .. } = totals;
    assert_eq!([alive.cast_signed(), all.0, cores_used.0, cores_free.0], MIXED);
    // JSON, with the fields of Spark's.
    let page = MasterPage::of(&view, Status::Alive);
    let json: serde_json::Value = serde_json::from_str(&jackson::json(&page)).expect("it is JSON");
    let fields = ["aliveworkers", "cores", "coresused", "memory", "memoryused"];
    let expected = [workers, cores, used, cores * 1024, used * 1024].map(serde_json::Value::from);
    assert_eq!(fields.map(|field| json[field].clone()), expected);
    // Metrics.
    let (_, samples) = parsed(&metrics_of(Some(&view)));
    for (name, value) in
        [("workers", workers), ("cores", cores), ("cores_used", used), ("memory_bytes", (cores * 1024) << 20)]
    {
        let series = format!("firesteel_master_{name}{{state=\"alive\"}}");
        assert_eq!(samples.get(&series), Some(&(value as f64)), "{series}");
    }
    // The first page.
    assert_eq!(pages::cluster::tests::cores_free(&view), free);
    // The picture.
    assert_eq!(pages::picture::tests::sums(&view), [workers, cores, used, free]);
}
