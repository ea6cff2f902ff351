//! Applications that run to their end.

use std::collections::BTreeSet;

use libtest_mimic::Trial;

use crate::binary::{run_with_input, wait_for};
use crate::cluster::{Cluster, Driver, MAIN, SPARK};

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("python_functions_run_on_3_5", || squares("3.5.9")),
        ("python_functions_run_on_4_0", || squares(MAIN)),
        ("python_functions_run_on_4_3", || squares("4.3.0")),
        ("a_query_is_shuffled_on_3_5", || query("3.5.9")),
        ("a_query_is_shuffled_on_4_0", || query(MAIN)),
        ("a_query_is_shuffled_on_4_3", || query("4.3.0")),
        ("the_classic_experiment_on_3_5", || classic("3.5.9")),
        ("the_classic_experiment_on_4_0", || classic(MAIN)),
        ("the_classic_experiment_on_4_3", || classic("4.3.0")),
        ("dynamic_allocation_grows_and_shrinks_on_3_5", || allocation("3.5.9")),
        ("dynamic_allocation_grows_and_shrinks_on_4_0", || allocation(MAIN)),
        ("dynamic_allocation_grows_and_shrinks_on_4_3", || allocation("4.3.0")),
        ("three_releases_at_once", three_releases),
        ("spark_submit_runs_a_file", submit),
        ("closures_of_spark_shell_run", closures),
        ("profiles_have_their_memory_cores_and_number", profiles),
        ("executors_have_gpus_of_their_own", gpus),
        ("barrier_tasks_begin_together", barrier),
        ("structured_streaming_runs_batches", streaming),
        ("executors_find_what_the_application_says", surroundings),
        ("a_second_master_that_is_dead_and_localhost_do_no_harm", addresses),
        ("queue_and_priority_come_with_the_application", priority),
    ])
}

fn squares(version: &str) {
    let cluster = Cluster::start(2, 2);
    let output = cluster.run(&mut cluster.python(version, "squares.py", &[], &[]));
    assert!(output.contains("sum 332833500\n"), "{output}");
    cluster.wait_until_clean();
    let ended = cluster.applications("completed");
    assert_eq!((&ended[0]["name"], &ended[0]["state"]), (&"squares".into(), &"FINISHED".into()), "{ended:?}");
    let id = ended[0]["id"].as_str().expect("an id");
    assert!(output.contains(&format!("app {id}\n")), "{output}");
}

fn query(version: &str) {
    let cluster = Cluster::start(2, 2);
    let output = cluster.run(&mut cluster.python(version, "sql.py", &[], &[]));
    let sums: Vec<u64> = (0..7).map(|key| (0..10_000).filter(|id| id % 7 == key).sum()).collect();
    let expected: Vec<String> = sums.iter().enumerate().map(|(key, sum)| format!("{key} {sum}")).collect();
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

/// Four Workers of eight cores. One application has an executor of 4 cores. The next wants 24 cores in executors of 6: it has
/// three on the other Workers, and a fourth when the first application has ended.
fn classic(version: &str) {
    let cluster = Cluster::start(4, 8);
    let start = |name: &str, max: u32, each: u32| {
        let file = cluster.root.path().join(name).display().to_string();
        let settings = [format!("spark.cores.max={max}"), format!("spark.executor.cores={each}")];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let driver = Driver::start(cluster.python(version, "idle.py", &[&file], &settings));
        let id = driver.wait_for("ready ");
        (driver, file, id)
    };
    let (first, first_file, first_id) = start("first", 4, 4);
    assert_eq!(workers_of(&cluster, &first_id, 4).len(), 1);
    let (second, second_file, second_id) = start("second", 24, 6);
    let others = workers_of(&cluster, &second_id, 6);
    assert_eq!(others.len(), 3, "they are spread out");
    assert!(others.is_disjoint(&workers_of(&cluster, &first_id, 4)));
    std::fs::write(&first_file, "").expect("it is written");
    assert!(first.finish().contains("sum 4950"));
    wait_for("the fourth executor", || (workers_of(&cluster, &second_id, 6).len() == 4).then_some(()));
    std::fs::write(&second_file, "").expect("it is written");
    assert!(second.finish().contains("sum 4950"));
}

/// The Workers of an application's executors, each of which has this number of cores and a Worker of its own.
fn workers_of(cluster: &Cluster, app: &str, cores: u32) -> BTreeSet<String> {
    let apps = cluster.applications("applications");
    let row =
        apps.iter().find(|row| row["id"] == app).unwrap_or_else(|| panic!("{app} is not there: {apps:?}"));
    let executors = row["executors"].as_array().expect("a list");
    assert!(executors.iter().all(|executor| executor["cores"] == cores), "{executors:?}");
    let workers: BTreeSet<String> = executors.iter().map(|executor| executor["worker"].to_string()).collect();
    assert_eq!(workers.len(), executors.len(), "{executors:?}");
    workers
}

fn allocation(version: &str) {
    let cluster = Cluster::start(2, 2);
    let output = cluster.run(&mut cluster.python(version, "allocation.py", &[], &[]));
    assert_eq!(output, "sum 36\nmost 3\nleast 0\nagain 3\n");
}

fn three_releases() {
    let cluster = Cluster::start(2, 6);
    let settings = ["spark.cores.max=2"];
    let start = |version| Driver::start(cluster.python(version, "squares.py", &[], &settings));
    let drivers: Vec<Driver> = crate::cluster::RELEASES.into_iter().map(start).collect();
    for driver in drivers {
        let output = driver.finish();
        assert!(output.contains("sum 332833500\n"), "{output}");
    }
    cluster.wait_until_clean();
}

fn submit() {
    let cluster = Cluster::start(2, 2);
    let file = cluster.file("squares.py");
    let words = ["--total-executor-cores", "2", "--executor-cores", "1", &file, cluster.master.url()];
    let output = cluster.run(&mut cluster.program(MAIN, "spark-submit", &words));
    assert!(output.contains("sum 332833500\n"), "{output}");
    let ended = cluster.applications("completed");
    assert_eq!((&ended[0]["max_cores"], &ended[0]["executors_ended"]), (&2.into(), &2.into()), "{ended:?}");
}

fn closures() {
    let cluster = Cluster::start(1, 2);
    let lines =
        "val factor = 3\nprintln(\"sum \" + sc.parallelize(1 to 100, 4).map(_ * factor).sum.toLong)\n";
    let done = run_with_input(&mut cluster.program(MAIN, "spark-shell", &[]), lines.as_bytes().to_vec());
    let output = done.stdout;
    assert!(output.contains("sum 15150"), "{output}");
}

fn profiles() {
    let cluster = Cluster::start(1, 10);
    let output = Driver::start(cluster.python(MAIN, "profiles.py", &["70"], &[])).finish();
    let expected = (0..70).map(|number| match number {
        0 => "-Xmx600M cores 2 True".to_owned(),
        number => format!("-Xmx{}M cores 1 True", 512 + number),
    });
    assert_eq!(output.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

fn gpus() {
    let gpus = "spark.worker.resource.gpu.amount=4";
    let cluster = Cluster::with(1, &["--cores", "2", "--memory", "4g", "--conf", gpus]);
    let output = cluster.run(&mut cluster.python(MAIN, "gpus.py", &[], &[]));
    assert_eq!(output, "[('0', '1'), ('2', '3')]\n");
}

fn barrier() {
    let cluster = Cluster::start(2, 2);
    let output = cluster.run(&mut cluster.python(MAIN, "barrier.py", &[], &[]));
    assert_eq!(output, "[(0, 4, 0), (1, 4, 1), (2, 4, 2), (3, 4, 3)]\n");
}

fn streaming() {
    let cluster = Cluster::start(1, 2);
    let output = cluster.run(&mut cluster.python(MAIN, "streaming.py", &[], &[]));
    assert_eq!(output, "counted 2 batches True\n");
}

fn surroundings() {
    let cluster = Cluster::start(1, 2);
    let output = cluster.run(&mut cluster.python(MAIN, "surroundings.py", &[], &[]));
    let expected = "class path True\noption True True\nvariables red {{CORES}}\nscratch ['0o700'] True\n";
    assert_eq!(output, expected);
    cluster.wait_until_clean();
}

fn addresses() {
    let cluster = Cluster::start(1, 2);
    let port = cluster.master.address().port();
    let mut command = cluster.python(MAIN, "squares.py", &[], &[]);
    // Nothing listens on the discard port of loopback.
    command.env("MASTERS", format!("spark://127.0.0.1:9,localhost:{port}"));
    let output = cluster.run(&mut command);
    assert!(output.contains("sum 332833500\n"), "{output}");
}

fn priority() {
    let cluster = Cluster::start(1, 2);
    let settings = ["spark.executorEnv.FIRESTEEL_PRIORITY=7"];
    cluster.run(&mut cluster.python(MAIN, "squares.py", &[], &settings));
    let ended = cluster.applications("completed");
    assert_eq!(ended[0]["priority"], 7, "{ended:?}");
}
