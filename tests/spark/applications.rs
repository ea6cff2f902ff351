//! Applications that run to their end.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use firesteel_testkit::ports::free_port;
use firesteel_testkit::proxy::{self, Direction};
use firesteel_testkit::wait::wait;
use firesteel_testkit::{clean, run_with_input, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::cluster::{
    Driver, LONGEST, SPARK, SparkCluster, app, driver, home, in_surroundings, line_of, releases, scala,
};
use crate::scenario::Scenario;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Scenario::trials(vec![
        Scenario::on_all("functions_run_on_executors", squares),
        Scenario::on_all("a_query_is_shuffled", query),
        Scenario::on_main("the_classic_experiment", classic),
        Scenario::on_all("dynamic_allocation_grows_and_shrinks", allocation),
        Scenario::on_main("spark_submit_runs_a_file", submit),
        Scenario::on_main("closures_of_spark_shell_run", closures),
        Scenario::on_main("profiles_have_their_memory_cores_and_number", profiles).since("3.4"),
        Scenario::on_main("executors_have_gpus_of_their_own", gpus),
        Scenario::on_main("barrier_tasks_begin_together", barrier),
        Scenario::on_main("structured_streaming_runs_batches", streaming),
        Scenario::on_main("a_remote_client_is_served_by_spark_connect", connect).since("4.0"),
        Scenario::on_main("executors_find_what_the_application_says", surroundings),
        Scenario::on_main("a_second_master_that_is_dead_and_localhost_do_no_harm", addresses),
        Scenario::on_main("an_answer_that_is_late_makes_one_application", late_answer),
        Scenario::on_main("queue_priority_and_policy_come_with_the_application", priority),
    ]);
    if releases().len() > 1 {
        trials.extend(SPARK.trials(&[("all_releases_at_once_on_one_master", all_releases)]));
    }
    trials
}

fn squares(version: &str) {
    let cluster = SparkCluster::start(2, 2);
    let output = cluster.run(cluster.driver(version, "squares", &[], &[]));
    assert!(output.contains("sum 332833500\n"), "{output}");
    cluster.wait_until_clean();
    let ended = cluster.applications("completed");
    assert_eq!((&ended[0]["name"], &ended[0]["state"]), (&"squares".into(), &"FINISHED".into()), "{ended:?}");
    let id = ended[0]["id"].as_str().expect("an id");
    assert!(output.contains(&format!("app {id}\n")), "{output}");
}

fn query(version: &str) {
    let cluster = SparkCluster::start(2, 2);
    let output = cluster.run(cluster.driver(version, "sql", &[], &[]));
    let sums: Vec<u64> = (0..7).map(|key| (0..10_000).filter(|id| id % 7 == key).sum()).collect();
    let expected: Vec<String> = sums.iter().enumerate().map(|(key, sum)| format!("{key} {sum}")).collect();
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

/// Four Workers of eight cores. One application has an executor of 4 cores. The next wants 24 cores in executors of 6:
/// it gets three on the other Workers, and a fourth when the first application has ended.
fn classic(version: &str) {
    let cluster = SparkCluster::start(4, 8);
    let start = |name: &str, max: u32, each: u32| {
        let file = cluster.root.path().join(name).display().to_string();
        let settings = [format!("spark.cores.max={max}"), format!("spark.executor.cores={each}")];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let driver = Driver::start(cluster.driver(version, "idle", &[&file], &settings));
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

/// The Workers of an application's executors. Each executor has this number of cores, and its own Worker.
fn workers_of(cluster: &SparkCluster, app: &str, cores: u32) -> BTreeSet<String> {
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
    let cluster = SparkCluster::start(2, 2);
    let output = cluster.run(cluster.driver(version, "allocation", &[], &[]));
    assert_eq!(output, "sum 36\nmost 3\nleast 0\nagain 3\n");
}

fn all_releases() {
    let cluster = SparkCluster::start(2, 6);
    let settings = ["spark.cores.max=2", "spark.executor.cores=1"];
    let start = |version: String| Driver::start(cluster.driver(&version, "squares", &[], &settings));
    let drivers: Vec<Driver> = releases().into_iter().map(start).collect();
    for driver in drivers {
        let output = driver.finish();
        assert!(output.contains("sum 332833500\n"), "{output}");
    }
    cluster.wait_until_clean();
}

fn submit(version: &str) {
    let cluster = SparkCluster::start(2, 2);
    let words = ["spark.cores.max=2", "spark.executor.cores=1"];
    let command = if line_of(version) == "3.3" {
        scala(cluster.master.url(), version, "squares", &[], &words)
    } else {
        let (file, url) = (app("squares.py").display().to_string(), cluster.master.url());
        let words = ["--total-executor-cores", "2", "--executor-cores", "1", &file, url];
        cluster.program(version, "spark-submit", &words)
    };
    let output = cluster.run(command);
    assert!(output.contains("sum 332833500\n"), "{output}");
    let ended = cluster.applications("completed");
    assert_eq!((&ended[0]["max_cores"], &ended[0]["executors_ended"]), (&2.into(), &2.into()), "{ended:?}");
}

fn closures(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let lines =
        "val factor = 3\nprintln(\"sum \" + sc.parallelize(1 to 100, 4).map(_ * factor).sum.toLong)\n";
    let done = run_with_input(&mut cluster.program(version, "spark-shell", &[]), lines.as_bytes().to_vec());
    let output = done.stdout;
    assert!(output.contains("sum 15150"), "{output}");
}

fn profiles(version: &str) {
    let cluster = SparkCluster::start(1, 10);
    let output = Driver::start(cluster.driver(version, "profiles", &["8"], &[])).finish();
    let expected = (0..8).map(|number| match number {
        0 => "-Xmx600M cores 2 True".to_owned(),
        number => format!("-Xmx{}M cores 1 True", 512 + number),
    });
    assert_eq!(output.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

fn gpus(version: &str) {
    let gpus = "spark.worker.resource.gpu.amount=4";
    let cluster = SparkCluster::with(1, &["--cores", "2", "--memory", "4g", "--conf", gpus]);
    let output = cluster.run(cluster.driver(version, "gpus", &[], &[]));
    assert_eq!(output, "[('0', '1'), ('2', '3')]\n");
}

fn barrier(version: &str) {
    let cluster = SparkCluster::start(2, 2);
    let output = cluster.run(cluster.driver(version, "barrier", &[], &[]));
    assert_eq!(output, "[(0, 4, 0), (1, 4, 1), (2, 4, 2), (3, 4, 3)]\n");
}

fn streaming(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let output = cluster.run(cluster.driver(version, "streaming", &[], &[]));
    assert_eq!(output, "counted 2 batches True\n");
}

/// A Spark Connect server is an application in client mode. Its client is the one of the release.
fn connect(version: &str) {
    let cluster = SparkCluster::start(2, 1);
    let port = free_port();
    let (port_setting, host_setting) =
        (format!("spark.connect.grpc.binding.port={port}"), "spark.connect.grpc.binding.address=127.0.0.1");
    let class = "org.apache.spark.sql.connect.service.SparkConnectServer";
    let words = ["--conf", &port_setting, "--conf", host_setting, "--class", class, "spark-internal"];
    let mut server = Driver::start(cluster.program(version, "spark-submit", &words));
    wait("the Spark Connect server", LONGEST, || {
        assert!(server.0.is_alive(), "{}", server.0.log());
        TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let jars = home(version).join("jars");
    let class_path = format!("{}:{}", jars.join("connect-repl/*").display(), jars.join("*").display());
    let mut client = in_surroundings(version, clean("java"));
    client.args(["-Xmx512m", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", &class_path]);
    client.arg(app("Remote.java")).arg(format!("sc://127.0.0.1:{port}"));
    let output = cluster.run(client);
    assert_eq!(output, "sum [332833500]\n");
    let live = cluster.applications("applications");
    assert_eq!(live.len(), 1, "{live:?}");
    assert_eq!(live[0]["executors"].as_array().map(Vec::len), Some(2), "{live:?}");
    server.0.signal(Signal::SIGTERM);
    server.0.wait();
    cluster.wait_until_clean();
    let ended = cluster.applications("completed");
    assert_eq!(ended[0]["state"], "FINISHED", "{ended:?}");
}

fn surroundings(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let output = cluster.run(cluster.driver(version, "surroundings", &[], &[]));
    let expected = "class path True\noption True True\nvariables red {{CORES}}\nscratch ['0o700'] True\n\
                    logs 2 [True, True] True\n";
    assert_eq!(output, expected);
    cluster.wait_until_clean();
}

fn addresses(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let port = cluster.master.address().port();
    let mut command = cluster.driver(version, "squares", &[], &[]);
    // Nothing listens on the discard port of loopback.
    command.env("MASTERS", format!("spark://127.0.0.1:9,localhost:{port}"));
    let output = cluster.run(command);
    assert!(output.contains("sum 332833500\n"), "{output}");
}

/// The Master's messages to a driver are delayed by 25 seconds, after the first. After 20 seconds the driver registers
/// again, on the same connection. There must be only one application.
fn late_answer(version: &str) {
    const DELAY: Duration = Duration::from_secs(25);
    let cluster = SparkCluster::start(1, 2);
    let (said, target) = (Arc::new(Mutex::new(Vec::new())), cluster.master.address());
    let hears = Arc::clone(&said);
    let wire = proxy::start(
        "127.0.0.1",
        move |_| target,
        move |direction| {
            let hears = Arc::clone(&hears);
            let mut answers = 0;
            move |bytes: &mut [u8]| {
                match direction {
                    Direction::There => {
                        hears.lock().expect("no thread panics with it").extend_from_slice(bytes)
                    }
                    Direction::Back => answers += 1,
                }
                let (begun, is_held) = (Instant::now(), direction == Direction::Back && answers == 2);
                while is_held && begun.elapsed() < DELAY {
                    thread::park_timeout(DELAY.saturating_sub(begun.elapsed()));
                }
                true
            }
        },
    );
    let begun = Instant::now();
    let file = cluster.root.path().join("go").display().to_string();
    let driver = Driver::start(driver(&format!("spark://{wire}"), version, "idle", &[&file], &[]));
    let id = driver.wait_for("ready ");
    assert!(begun.elapsed() > DELAY, "{:?}", begun.elapsed());
    wait_for("the second registration", || {
        let said = said.lock().expect("no thread panics with it");
        let name = b"deploy.DeployMessages$RegisterApplication";
        (said.windows(name.len()).filter(|bytes| bytes == name).count() >= 2).then_some(())
    });
    std::fs::write(&file, "").expect("it is written");
    assert!(driver.finish().contains("sum 4950\n"));
    cluster.wait_until_clean();
    let (live, ended) = (cluster.applications("applications"), cluster.applications("completed"));
    let ids: Vec<&Value> = live.iter().chain(&ended).map(|row| &row["id"]).collect();
    assert_eq!(ids, [&Value::from(id)]);
}

fn priority(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let settings =
        ["spark.executorEnv.FIRESTEEL_PRIORITY=7", "spark.executorEnv.FIRESTEEL_POLICY=spread-held"];
    cluster.run(cluster.driver(version, "squares", &[], &settings));
    let ended = cluster.applications("completed");
    assert_eq!(ended[0]["priority"], 7, "{ended:?}");
}
