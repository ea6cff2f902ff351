//! Masters that share a cluster, without network faults.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use firesteel_testkit::proxy::{self, Direction};
use firesteel_testkit::zookeeper::{Ensemble, Host, ZOOKEEPER};
use firesteel_testkit::{Daemon, firesteel, http_get, run, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::exact_map::ExactMap;
use crate::shared::{Plan, SESSION, SharedCluster, assert_undisturbed, master, time_of};

pub(crate) fn trials() -> Vec<Trial> {
    ZOOKEEPER.trials(&[
        ("a_standby_takes_over_and_no_executor_notices", takes_over),
        ("a_map_goes_on_through_changes_of_masters_and_no_item_runs_twice", map_goes_on),
        ("a_standby_says_who_leads_and_everybody_follows", follow),
        ("a_master_that_is_asked_to_end_is_followed_at_once", asked_to_end),
        ("a_leader_that_was_stopped_says_nothing_when_it_runs_again", stopped_leader),
        ("a_leader_that_is_cut_off_from_zookeeper_ends_before_another_one_begins", cut_off),
        ("a_leader_outlives_a_server_of_zookeeper_and_leads_no_longer_without_a_majority", three_servers),
        ("a_leader_whose_candidate_somebody_deletes_ends_when_another_one_leads", deleted_candidate),
        ("masters_wait_for_zookeeper_that_is_not_there_yet", waits_for_zookeeper),
        ("a_password_keeps_others_away", password),
        ("a_chroot_that_is_not_there_is_named_and_one_that_is_there_is_used", chroot),
    ])
}

fn takes_over() {
    let plan =
        Plan { properties: &["spark.master.rest.enabled=true", "spark.master.rest.port=0"], ..Plan::HERE };
    let mut cluster = SharedCluster::start_as(plan, Ensemble::start(1));
    let launch = cluster.servers();
    let before = cluster.executors();
    let journal = format!("zookeeper://{}/spark", cluster.ensemble.url());
    let checked = run(firesteel().args(["journal", "check", &journal]));
    assert!(
        checked.stdout.contains("1 Worker, 1 application with 2 executors, 0 ended applications"),
        "{checked}"
    );
    let of_driver =
        |master: &Daemon| http_get(&master.address().to_string(), "/v1/submissions/status/driver-1", "").1;
    let standby = of_driver(&cluster.masters[1]);
    assert!(standby.contains("not alive: STANDBY") && standby.contains("\"success\" : false"), "{standby}");
    let killed = Instant::now();
    cluster.kill_master(0);
    let asked = run(firesteel().args(["status", "--master", cluster.masters[1].url()]));
    assert!(asked.stderr.contains("stands by; the Master that it says leads cannot be reached"), "{asked}");
    cluster.masters[1].wait_for_line(&["leads in epoch 2"]);
    // The servers end a session at the tick after its timeout.
    assert!(killed.elapsed() > SESSION - Duration::from_millis(500), "{:?}", killed.elapsed());
    cluster.masters[1]
        .wait_for_line(&["recovered 1 Worker, 1 application and 2 executors from zookeeper://"]);
    cluster.masters[1].wait_for_line(&["all Workers and applications are back"]);
    assert_eq!(cluster.executors(), before);
    assert_undisturbed(&launch);
    let leader = of_driver(&cluster.masters[1]);
    assert!(leader.starts_with("HTTP/1.1 200 ") && !leader.contains("STANDBY"), "{leader}");
    // The new leader places executors, and its decisions are kept for the next one.
    cluster.assert_places();
    cluster.restart_master(0);
    cluster.masters[0].wait_for_line(&["standing by"]);
    cluster.kill_master(1);
    cluster.masters[0].wait_for_line(&["leads in epoch 3"]);
    cluster.masters[0].wait_for_line(&["all Workers and applications are back"]);
    assert_eq!(cluster.executors(), before);
    assert_undisturbed(&launch);
    let status = cluster.masters[0].status();
    assert_eq!(status["completed"][0]["state"], "FINISHED", "the map of the epoch before: {status}");
}

fn map_goes_on() {
    let mut cluster = SharedCluster::start(1);
    let mut map = ExactMap::start(&cluster, "map", 80, "sleep 0.2");
    map.wait_for_items(8);
    cluster.kill_master(0);
    cluster.masters[1].wait_for_line(&["all Workers and applications are back"]);
    map.assert_exact();
    assert_eq!(map.begun(), 80, "no item ran twice");
    let status = cluster.masters[1].status();
    assert_eq!(status["completed"][0]["state"], "FINISHED", "{status}");
    assert_eq!(status["completed"][0]["executors_ended"], 2, "none was replaced: {status}");
}

fn follow() {
    let cluster = SharedCluster::start(1);
    let (leader, standby) = (&cluster.masters[0], &cluster.masters[1]);
    assert_eq!(standby.status()["url"], leader.url());
    let readyz = |master: &Daemon| master.get("/readyz");
    assert_eq!(readyz(leader), (200, "ready\n".to_owned()));
    assert_eq!(readyz(standby), (503, format!("standby: {} leads\n", leader.url())));
    assert_eq!(standby.get("/livez").0, 200);
    let link = format!("<a href=\"http://{}/\">its pages</a> show the cluster", leader.http());
    wait_for("the Worker to report where the leader's pages are", || {
        let (status, page) = standby.get("/");
        assert_eq!(status, 503, "{page}");
        page.contains(&link).then_some(())
    });
    assert!(standby.get("/json/").1.contains("\"status\" : \"STANDBY\""));
    assert!(standby.get("/metrics").1.contains("firesteel_master_status{status=\"standby\"} 1\n"));
    // A Worker that knows only the standby finds the leader.
    let worker = cluster.add_worker(Host::LOOPBACK, standby.url(), "another");
    worker.wait_for_line(&["stands by", leader.url(), "leads"]);
    worker.wait_for_line(&["registered with", leader.url()]);
    let mapped = run(firesteel().args(["map", "--master", standby.url(), "--", "echo", "{}", ":::", "one"]));
    assert_eq!((mapped.code(), mapped.stdout.as_str()), (0, "one\n"), "{mapped}");
    leader.wait_for_workers(2);
}

fn asked_to_end() {
    let mut cluster = SharedCluster::start(1);
    let launch = cluster.servers();
    let asked = Instant::now();
    let leader = cluster.masters.remove(0);
    assert_eq!(leader.terminate(), 0);
    cluster.masters[0].wait_for_line(&["leads in epoch 2"]);
    assert!(asked.elapsed() < SESSION, "it did not wait for the end of the session: {:?}", asked.elapsed());
    cluster.masters[0].wait_for_line(&["all Workers and applications are back"]);
    assert_undisturbed(&launch);
}

fn stopped_leader() {
    let mut cluster = SharedCluster::start(1);
    let launch = cluster.servers();
    let before = cluster.executors();
    cluster.masters[0].signal(Signal::SIGSTOP);
    // All connections are still open, but silent.
    cluster.masters[1].wait_for_line(&["leads in epoch 2"]);
    cluster.masters[1].wait_for_line(&["all Workers and applications are back"]);
    cluster.masters[0].signal(Signal::SIGCONT);
    cluster.masters[0].wait_for_line(&["leads no longer: standing by"]);
    assert_eq!(cluster.executors(), before);
    cluster.wait_for_leader(1);
    // And back to the first Master.
    cluster.kill_master(1);
    cluster.masters[0].wait_for_line(&["leads in epoch 3"]);
    wait_for("all to be back", || {
        (cluster.masters[0].log().matches("all Workers and applications are back").count() == 1).then_some(())
    });
    assert_eq!(cluster.executors(), before);
    assert_undisturbed(&launch);
}

fn cut_off() {
    for cut in [&[Direction::There, Direction::Back][..], &[Direction::There], &[Direction::Back]] {
        let ensemble = Ensemble::start(1);
        let server: SocketAddr = ensemble.url().parse().expect("it is one address");
        let is_cut = Arc::new(AtomicBool::new(false));
        let meddler = {
            let is_cut = Arc::clone(&is_cut);
            move |direction: Direction| {
                let is_cut = Arc::clone(&is_cut);
                move |_: &mut [u8]| {
                    while is_cut.load(Ordering::Relaxed) && cut.contains(&direction) {
                        thread::park_timeout(Duration::from_millis(10));
                    }
                    true
                }
            }
        };
        let between = proxy::start("127.0.0.1", move |_| server, meddler);
        let leader = master(&between.to_string(), &["--port", "0"]);
        leader.wait_for_line(&["leads in epoch 1"]);
        let other = master(&ensemble.url(), &["--port", "0"]);
        other.wait_for_line(&["standing by"]);
        let directory = tempfile::tempdir().expect("a temporary directory");
        let worker = Daemon::worker(&leader, directory.path(), &["--cores", "1", "--memory", "1g"]);
        leader.wait_for_workers(1);

        is_cut.store(true, Ordering::Relaxed);
        let ended = time_of(&leader, 0, "leads no longer");
        let begun = time_of(&other, 0, "leads in epoch 2");
        assert!(ended <= begun, "{ended} {begun}");
        // The Worker knew only the first Master, which reports the leader as soon as it knows it.
        is_cut.store(false, Ordering::Relaxed);
        leader.wait_for_line(&["standing by", other.url()]);
        worker.wait_for_line(&["registered with", other.url()]);
    }
}

fn three_servers() {
    // Time for the servers to elect their own leader on a busy machine, while the Master still leads.
    let plan = Plan { properties: &["firesteel.master.zookeeper.sessionTimeout=9s"], ..Plan::HERE };
    let mut cluster = SharedCluster::start_as(plan, Ensemble::start(3));
    let launch = cluster.servers();
    let before = cluster.executors();
    let is_deposed = |cluster: &SharedCluster| cluster.masters[0].log().contains("leads no longer");
    // Any one server may fail, including their leader.
    let leading = wait_for("a server that leads", || cluster.ensemble.leader());
    cluster.ensemble.kill(leading);
    wait_for("another server that leads", || cluster.ensemble.leader());
    cluster.assert_places();
    assert!(!is_deposed(&cluster), "the leader outlives a server");
    // Without a majority no Master leads, and everything that runs continues.
    let other = (leading + 1) % 3;
    cluster.ensemble.kill(other);
    wait_for("a Master that leads no longer", || is_deposed(&cluster).then_some(()));
    assert_eq!(cluster.executors(), before);
    cluster.ensemble.restart(other);
    cluster.ensemble.restart(leading);
    let back = |master: &Daemon| master.log().contains("all Workers and applications are back");
    wait_for("another Master that leads", || cluster.masters.iter().any(back).then_some(()));
    assert_eq!(cluster.executors(), before);
    assert_undisturbed(&launch);
}

fn deleted_candidate() {
    let cluster = SharedCluster::start(1);
    let launch = cluster.servers();
    let before = cluster.executors();
    let deleting = async {
        let client = zookeeper_client::Client::connect(&cluster.ensemble.url()).await?;
        client.delete("/spark/firesteel/candidates/candidate-0000000000", None).await
    };
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    runtime.block_on(deleting).expect("the node is there");
    cluster.masters[1].wait_for_line(&["leads in epoch 2"]);
    cluster.masters[0].wait_for_line(&["leads no longer"]);
    cluster.masters[1].wait_for_line(&["all Workers and applications are back"]);
    cluster.masters[0].wait_for_line(&["standing by", cluster.masters[1].url()]);
    assert_eq!(cluster.executors(), before);
    assert_undisturbed(&launch);
}

fn waits_for_zookeeper() {
    let mut ensemble = Ensemble::start(1);
    ensemble.kill(0);
    let master = master(&ensemble.url(), &["--port", "0"]);
    master.wait_for_line(&["ZooKeeper at", "cannot connect", "retrying"]);
    let asked = run(firesteel().args(["status", "--master", master.url()]));
    assert_ne!(asked.code(), 0);
    assert!(asked.stderr.contains("stands by, and no Master leads yet"), "{asked}");
    ensemble.restart(0);
    master.wait_for_line(&["leads in epoch 1"]);
    assert_eq!(master.status()["url"], master.url());
}

fn password() {
    let ensemble = Ensemble::start(1);
    let with = |password: &str| {
        let password = format!("firesteel.master.zookeeper.password={password}");
        master(&ensemble.url(), &["--port", "0", "--conf", &password])
    };
    let leader = with("ann:secret");
    leader.wait_for_line(&["leads in epoch 1"]);
    let stranger = with("ann:guessed");
    stranger.wait_for_line(&["not authorized"]);
    let friend = with("ann:secret");
    friend.wait_for_line(&["standing by", leader.url()]);
    for log in [leader.log(), stranger.log(), friend.log()] {
        assert!(!log.contains("secret") && !log.contains("guessed"), "{log}");
    }
}

/// The setting ends with a node of ZooKeeper, as in the addresses of ZooKeeper's own clients. They do not create the
/// node.
fn chroot() {
    let ensemble = Ensemble::start(1);
    let with = |node: &str| master(&format!("{}/{node}", ensemble.url()), &["--port", "0"]);
    let lost = with("absent");
    lost.wait_for_line(&["has no node /absent, with which spark.deploy.zookeeper.url ends: create it"]);
    let asked = run(firesteel().args(["status", "--master", lost.url()]));
    assert_ne!(asked.code(), 0, "{asked}");
    assert!(asked.stderr.contains("stands by, and no Master leads yet"), "{asked}");
    // A Master without a chroot creates the node of its journal.
    let leader = master(&ensemble.url(), &["--port", "0"]);
    leader.wait_for_line(&["leads in epoch 1"]);
    let within = with("spark");
    within.wait_for_line(&["leads in epoch 1"]);
    assert_eq!(within.status()["url"], within.url());
}
