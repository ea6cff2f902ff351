//! A cluster that gets a secret while it works: until a deadline peers are admitted without it, too.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use firesteel_protocol::Timestamp;
use firesteel_testkit::{CREDENTIALS, Cluster, DEADLINE, Daemon, firesteel, run, wait_for};

use super::secured::done;
/// How long the Master admits everybody after its restart: longer than what is done meanwhile takes on a busy machine.
const TRANSITION: Duration = Duration::from_secs(25);

#[test]
fn a_working_cluster_gets_a_secret_daemon_by_daemon() {
    let mut cluster = Cluster::plan().durable().worker(&["--cores", "2", "--memory", "2g"]).start(1);
    let server = [
        "launch",
        "--until",
        "never",
        "--num-executors",
        "1",
        "--executor-cores",
        "1",
        "--json",
        "--",
        "sleep",
        "300",
    ];
    let launch = Daemon::spawn(&mut cluster.command(&server));
    wait_for("the server", || launch.output_so_far().contains("executor_running").then_some(()));
    let credentials = cluster.path("credentials");
    done(firesteel().args(["secret", "new"]).arg(&credentials));
    for holder in ["worker", "user"] {
        done(firesteel().args(["secret", "grant", holder]).args([&credentials, &cluster.path(holder)]));
    }
    // The Master first.
    cluster.kill_master();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    let until = Timestamp::default() + now + TRANSITION;
    let settings = [
        format!("firesteel.credentials.file={}", credentials.display()),
        format!("firesteel.credentials.optionalUntil={until}"),
    ];
    let state = cluster.state();
    cluster.start_master_with(&state, &["--conf", &settings[0], "--conf", &settings[1]]);
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
    cluster.master.wait_for_line(&[&format!("until {until} everybody who can connect needs no secret")]);
    for stranger in ["Worker \"worker-", "driver \""] {
        cluster.master.wait_for_line(&[stranger, &format!("has no secret, and needs one from {until} on")]);
    }
    assert_eq!(launch.output_so_far().matches("executor_launched").count(), 1, "it runs on");
    // A driver of Spark's without a secret is served like before.
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/spark/spark-4.0.1/driver-to-master.bin");
    let port = cluster.master.address().port();
    let mut driver = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    driver.set_read_timeout(Some(DEADLINE)).expect("a socket has time-outs");
    driver.write_all(&fs::read(fixture).expect("it is there")).expect("it reads");
    cluster.master.wait_for_line(&["connection in Spark's RPC: it has no secret, and needs one from"]);
    // Then a Worker, which has its file, and the users.
    let mut worker = Daemon::worker_command(&cluster.master, &cluster.path("work-second"), &["--cores", "2"]);
    let _second = Daemon::start(worker.env(CREDENTIALS, cluster.path("worker")));
    cluster.master.wait_for_workers(2);
    for file in [Some("user"), None] {
        let mut status = cluster.command(&["status", "--json"]);
        if let Some(file) = file {
            status.env(CREDENTIALS, cluster.path(file));
        }
        let workers = done(&mut status).matches("\"ALIVE\"").count();
        assert_eq!(workers, 2, "{file:?}");
    }
    // A wrong secret is refused at any time.
    done(firesteel().args(["secret", "new"]).arg(cluster.path("other")));
    let refused = run(cluster.command(&["status"]).env(CREDENTIALS, cluster.path("other")));
    assert!(refused.code() != 0 && refused.stderr.contains("it has another secret"), "{refused}");
    // After the deadline those without a secret are gone, and stay out.
    cluster.master.wait_for_line(&["from now on everybody who connects needs a secret"]);
    cluster.master.wait_for_line(&["connection of Worker", "it has shown no secret, and has to now"]);
    cluster.master.wait_for_line(&["connection rejected: it has no secret"]);
    let mut said = Vec::new();
    driver.read_to_end(&mut said).expect("it is closed");
    assert!(String::from_utf8_lossy(&said).contains("RegisteredApplication"), "{said:?}");
    let refused = run(&mut cluster.command(&["status"]));
    assert!(refused.code() != 0 && refused.stderr.contains("this side has none"), "{refused}");
    let mut status = cluster.command(&["status", "--json"]);
    status.env(CREDENTIALS, cluster.path("user"));
    wait_for("the stranger to be away", || {
        (done(&mut status).matches("\"ALIVE\"").count() == 1).then_some(())
    });
}
