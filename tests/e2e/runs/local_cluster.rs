//! A whole cluster for one command: started, used, and ended.

use std::path::{Path, PathBuf};
use std::time::Instant;

use firesteel_apps::local_cluster::{Directory, LocalCluster, LocalClusterError, Options, key};
use firesteel_daemons::master_client::MasterClient;
use firesteel_host::net::Introduction;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::state_reader::Extent;
use firesteel_testkit::{Daemon, firesteel, processes, run, wait_for};
use nix::sys::signal::Signal;

fn options(spec: &str, directory: Directory) -> Options {
    Options {
        spec: spec.parse().expect("the spec is sound"),
        program: PathBuf::from(env!("CARGO_BIN_EXE_firesteel")),
        directory,
        properties: Vec::new(),
    }
}

/// Tries to start a cluster that must not start, and returns the error message.
async fn refused(options: Options) -> String {
    match LocalCluster::start(options).await {
        Ok(cluster) => {
            cluster.end().await;
            panic!("the cluster started");
        }
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_cluster_is_there_when_it_is_said_to_be_and_leaves_nothing() {
    let started = Instant::now();
    let options = options("local-cluster[3,5,2048]", Directory::Temporary);
    let cluster = LocalCluster::start(options).await.expect("the cluster starts");
    eprintln!("a cluster of 3 Workers was ready after {:?}", started.elapsed());

    let pids = cluster.pids();
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|pid| processes::is_alive(*pid)));
    let ours = Introduction::from("a test").with_keys(key::of(&[cluster.master().clone()]));
    let mut client = MasterClient::open(cluster.master(), ours).await.expect("the Master answers");
    let view = client.state(Extent::Whole).await.expect("the Master answers");
    let sizes: Vec<_> = view.workers.iter().map(|worker| (worker.cores, worker.memory)).collect();
    assert_eq!(sizes, [(Cores(5), MiB(2048)); 3]);

    let directory = cluster.directory().to_owned();
    assert!(directory.join("master.log").is_file() && directory.join("worker-2").is_dir());
    let everyone: Vec<u32> =
        pids.iter().flat_map(|pid| [vec![*pid], processes::descendants_of(*pid)].concat()).collect();
    let ended = Instant::now();
    cluster.end().await;
    eprintln!("it ended within {:?}", ended.elapsed());
    assert!(pids.iter().all(|pid| !processes::is_alive(*pid)));
    wait_for("reapers to end", || everyone.iter().all(|pid| !processes::is_alive(*pid)).then_some(()));
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_cluster_that_is_merely_dropped_ends_by_itself() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let kept = directory.path().join("a").join("b");
    let options = options("local-cluster[1,1,512]", Directory::Kept(kept.clone()));
    let cluster = LocalCluster::start(options).await.expect("the cluster starts");
    let pids = cluster.pids();
    drop(cluster);
    wait_for("the cluster to end", || pids.iter().all(|pid| !processes::is_alive(*pid)).then_some(()));
    assert!(kept.join("worker-0.log").is_file());
}

#[tokio::test]
async fn a_worker_that_ends_at_once_is_named_with_its_last_words() {
    let mut options = options("local-cluster[2,1,512]", Directory::Temporary);
    options.properties.push("spark.worker.maxRegistrationRetries=often".to_owned());
    let words = refused(options).await;
    assert!(words.starts_with("the Worker "), "{words}");
    assert!(words.contains("spark.worker.maxRegistrationRetries cannot be \"often\""), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
}

#[tokio::test]
async fn a_master_that_ends_at_once_is_named_with_its_last_words() {
    let mut options = options("local-cluster[1,1,512]", Directory::Temporary);
    options.properties.push("spark.worker.timeout=0".to_owned());
    let words = refused(options).await;
    assert!(words.starts_with("the Master of the local cluster ended (exit status: 2)"), "{words}");
    assert!(words.contains("spark.worker.timeout cannot be \"0\""), "{words}");
}

#[tokio::test]
async fn a_program_that_is_none_is_named() {
    let mut options = options("local-cluster[1,1,512]", Directory::Temporary);
    options.program = PathBuf::from("/no/such/firesteel");
    let words = refused(options.clone()).await;
    assert!(
        words.starts_with("cannot start the Master of the local cluster, /no/such/firesteel: "),
        "{words}"
    );
    options.program = PathBuf::from("/bin/true");
    let words = refused(options).await;
    assert!(words.contains("ended (exit status: 0); the end of its log: nothing"), "{words}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let path: &Path = file.path();
    let options = options("local-cluster[1,1,512]", Directory::Kept(path.join("work")));
    let error = LocalCluster::start(options).await.expect_err("a file is no directory");
    assert!(matches!(error, LocalClusterError::Directory { .. }), "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

/// Master, Workers, reapers, executors and tasks: none outlives a command that was killed.
#[test]
fn a_command_that_is_killed_leaves_no_process_of_its_cluster() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = firesteel();
    command.args(["map", "--master", "local-cluster[2,1,512]", "--executor-memory", "256m"]);
    command.args(["sleep", "{}", ":::", "601", "602"]).env("TMPDIR", directory.path());
    let mut map = Daemon::spawn(&mut command);
    let pid = map.pid();
    let sleepers = || {
        let words = processes::descendants_of(pid).into_iter().map(processes::command_line);
        words.filter(|words| words.first().is_some_and(|word| word == "sleep")).count()
    };
    wait_for("both tasks to run", || {
        assert!(map.is_alive(), "{}", map.log());
        (sleepers() == 2).then_some(())
    });
    let everyone = processes::descendants_of(pid);
    assert!(everyone.len() >= 7, "a Master, 2 Workers, 2 executors and 2 tasks at least: {everyone:?}");
    map.signal(Signal::SIGKILL);
    assert_eq!(map.wait(), 137);
    wait_for("everyone to end", || everyone.iter().all(|pid| !processes::is_alive(*pid)).then_some(()));
    assert_eq!(processes::within(directory.path()), Vec::<u32>::new());
    // The next cluster removes the directory.
    let next = |items: &str| {
        let mut command = firesteel();
        command.args([
            "map",
            "--master",
            "local-cluster[1,1,512]",
            "--executor-memory",
            "256m",
            "true",
            ":::",
            items,
        ]);
        let done = run(command.env("TMPDIR", directory.path()));
        assert_eq!(done.code(), 0, "{done}");
    };
    assert_eq!(entries(directory.path()).len(), 1);
    next("1");
    assert_eq!(entries(directory.path()), Vec::<PathBuf>::new());
}

/// All processes at once: no Worker and no reaper had time to end its processes.
#[test]
fn a_cluster_all_of_which_is_killed_at_once_leaves_nothing_to_the_next_one() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let cluster = |last: &[&str]| {
        let mut command = firesteel();
        command.args(["launch", "--master", "local-cluster[2,1,512]", "--executor-memory", "256m"]);
        command.args(["--num-executors", "2", "--until", "all", "--"]).args(last);
        command.env("TMPDIR", directory.path());
        command
    };
    let mut launch = Daemon::spawn(&mut cluster(&["sleep", "603"]));
    let is_sleeper = |pid: &u32| processes::command_line(*pid).first().is_some_and(|word| word == "sleep");
    let sleepers: Vec<u32> = wait_for("both executors to run", || {
        assert!(launch.is_alive(), "{}", launch.log());
        let all = processes::descendants_of(launch.pid()).into_iter();
        let sleepers: Vec<u32> = all.filter(is_sleeper).collect();
        (sleepers.len() == 2).then_some(sleepers)
    });
    let others: Vec<u32> =
        processes::descendants_of(launch.pid()).into_iter().filter(|pid| !is_sleeper(pid)).collect();
    launch.signal(Signal::SIGSTOP);
    others.iter().for_each(|pid| processes::signal(*pid, Signal::SIGSTOP).expect("it runs"));
    wait_for("the daemons to stand still", || {
        others.iter().chain([&launch.pid()]).all(|pid| processes::is_stopped(*pid)).then_some(())
    });
    // Children first: if a parent ended first, the kernel would continue a stopped reaper, which leads its own group.
    others.iter().rev().for_each(|pid| processes::signal(*pid, Signal::SIGKILL).expect("it is stopped"));
    launch.signal(Signal::SIGKILL);
    assert_eq!(launch.wait(), 137);
    wait_for("the daemons to end", || others.iter().all(|pid| !processes::is_alive(*pid)).then_some(()));
    assert!(sleepers.iter().all(|pid| processes::is_alive(*pid)), "nobody ends them yet");

    let done = run(&mut cluster(&["true"]));
    assert_eq!(done.code(), 0, "{done}");
    assert!(sleepers.iter().all(|pid| !processes::is_alive(*pid)));
    assert_eq!(entries(directory.path()), Vec::<PathBuf>::new());
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).expect("it is there").flatten().map(|entry| entry.path()).collect()
}
