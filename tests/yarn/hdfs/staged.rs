//! Files for containers, on HDFS.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use firesteel_testkit::yarn::YarnCluster;
use firesteel_testkit::{run, run_with_input};
use hdfs_native::WriteOptions;
use libtest_mimic::Trial;
use tempfile::TempDir;

use super::servers::{Hdfs, STAGING, YARN_AND_HDFS, with};
use crate::program::commands::{submit, submit_copied, wait, yarn};

pub(crate) fn trials() -> Vec<Trial> {
    YARN_AND_HDFS.trials(&[
        ("hdfs::containers_get_their_files_from_hdfs_in_client_and_in_cluster_mode", || with(both_modes)),
        ("hdfs::an_application_master_takes_away_what_was_staged_on_hdfs", || with(taken_away)),
        ("hdfs::what_is_staged_on_hdfs_is_its_users_and_can_be_kept_and_used_again", || with(kept)),
        ("hdfs::what_is_on_hdfs_already_is_fetched_from_there", || with(remote)),
        ("hdfs::an_hdfs_that_is_not_there_or_objects_is_told_in_time", || with(refused)),
    ])
}

/// A file to bring along, in its own directory.
fn brought() -> (TempDir, String) {
    let directory = TempDir::new().expect("there is room");
    let file = directory.path().join("greeting.txt");
    fs::write(&file, "hello\n").expect("there is room");
    let words = file.display().to_string();
    (directory, words)
}

fn both_modes(cluster: &YarnCluster, hdfs: &Hdfs) {
    let (_directory, file) = brought();
    let script = ["--files", &file, "--", "sh", "-c", "cat greeting.txt; echo $1", "sh"];
    let (input, expected) = (b"1\n2\n".to_vec(), "hello\n1\nhello\n2\n");

    // The program goes there, too.
    let mut client = submit_copied(cluster, "map");
    hdfs.by_default(&mut client);
    let done = run_with_input(client.args(script), input.clone());
    assert_eq!((done.code(), done.stdout.as_str()), (0, expected), "{done}");

    let directory = TempDir::new().expect("there is room");
    let output = directory.path().join("output");
    let options = ["--deploy-mode", "cluster", "--output", output.to_str().expect("it is text")];
    let mut in_cluster = submit(cluster, "map", &options);
    hdfs.by_default(&mut in_cluster);
    let done = run_with_input(in_cluster.args(script), input);
    assert_eq!((done.code(), done.stdout.as_str()), (0, ""), "{done}");
    assert_eq!(fs::read_to_string(&output).expect("it was written"), expected, "{done}");

    assert_eq!(hdfs.client().get_file_info(STAGING).expect("it was made").owner, "alice");
    let left = hdfs.list(STAGING);
    assert!(left.is_empty(), "nobody needs what was staged any more: {left:?}");
}

/// The submitting command ends first; the ApplicationMaster still removes the staged files at the end.
fn taken_away(cluster: &YarnCluster, hdfs: &Hdfs) {
    let met = TempDir::new().expect("there is room");
    let go_on = met.path().join("go-on");
    let script = format!("until [ -e {} ]; do sleep 0.1; done", go_on.display());
    let options = ["--deploy-mode", "cluster", "--conf", "spark.yarn.submit.waitAppCompletion=false"];
    let mut submitted = submit(cluster, "map", &options);
    hdfs.by_default(&mut submitted);
    let done = run(submitted.args(["--", "sh", "-c", &script, "sh", ":::", "a"]));
    assert_eq!(done.code(), 0, "{done}");
    let staged = hdfs.list(STAGING);
    assert_eq!(staged.len(), 1, "its containers need it: {staged:?}");
    fs::write(&go_on, "").expect("there is room");
    wait("the ApplicationMaster to clean up", || hdfs.list(STAGING).is_empty().then_some(()));
}

fn kept(cluster: &YarnCluster, hdfs: &Hdfs) {
    let mut first = submit_copied(cluster, "map");
    hdfs.by_default(&mut first);
    first.args(["--conf", "spark.hadoop.dfs.replication=2"]);
    first.args(["--conf", "spark.yarn.preserve.staging.files=true", "--", "echo", ":::", "a"]);
    let done = run(&mut first);
    assert_eq!((done.code(), done.stdout.as_str()), (0, "a\n"), "{done}");

    let staged = hdfs.list(STAGING);
    let [application] = staged.as_slice() else { panic!("{staged:?}") };
    assert_eq!((application.permission, application.owner.as_str()), (0o700, "alice"));
    let files = hdfs.list(&application.path);
    let mut names: Vec<&str> = files.iter().filter_map(|file| file.path.rsplit('/').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["__firesteel__.json", "firesteel"]);
    assert!(files.iter().all(|file| file.permission == 0o644 && file.replication == Some(2)), "{files:?}");

    // All applications may share one program there.
    let program = format!("firesteel.yarn.binary={}{}/firesteel", hdfs.url, application.path);
    let mut second = submit_copied(cluster, "map");
    hdfs.by_default(&mut second);
    let done = run(second.args(["--conf", &program, "--", "echo", ":::", "b"]));
    assert_eq!((done.code(), done.stdout.as_str()), (0, "b\n"), "{done}");
    assert_eq!(hdfs.list(STAGING).len(), 1, "the first one's alone");
    hdfs.client().delete(&application.path, true).expect("it may do everything");
}

fn remote(cluster: &YarnCluster, hdfs: &Hdfs) {
    let client = hdfs.client();
    let mut file = client.create("/data/words.txt", WriteOptions::default()).expect("it is new");
    file.write_bytes("from afar\n".into()).and_then(|_| file.close()).expect("there is room");
    let (_directory, here) = brought();
    let both = format!("{here},{}/data/words.txt#words", hdfs.url);
    // Another file system is the default, so that only this file is on HDFS.
    let options = ["--files", &both, "--", "sh", "-c", "cat words greeting.txt", "sh", ":::", "a"];
    let done = run(&mut submit(cluster, "map", &options));
    assert_eq!((done.code(), done.stdout.as_str()), (0, "from afar\nhello\n"), "{done}");
    let missing = format!("{}/data/none", hdfs.url);
    let done = run(&mut submit(cluster, "map", &["--files", &missing, "--", "true", ":::", "a"]));
    assert_ne!(done.code(), 0, "{done}");
    assert!(done.stderr.contains(&format!("{missing}: file not found")), "{done}");
}

fn refused(cluster: &YarnCluster, hdfs: &Hdfs) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = silent.local_addr().expect("it is bound").port();
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        listener.local_addr().expect("it is bound").port()
    };
    let at = |port: u16| format!("spark.hadoop.fs.defaultFS=hdfs://127.0.0.1:{port}");
    let objection = format!("spark.hadoop.fs.defaultFS={}", hdfs.url);
    let cases = [
        (at(port), "alice", "did not answer within"),
        (at(gone), "alice", "Connection refused"),
        (objection, "bob", "AccessControlException: Permission denied: user=bob"),
    ];
    for (setting, user, reason) in cases {
        let begun = Instant::now();
        let mut command = submit(cluster, "map", &["--conf", &setting, "--", "true", ":::", "a"]);
        let done = run(command.env("HADOOP_USER_NAME", user));
        assert_eq!(done.code(), 1, "{done}");
        let said: Vec<&str> = done.stderr.lines().filter(|line| line.contains("cannot stage")).collect();
        let [line] = said.as_slice() else { panic!("{done}") };
        assert!(line.contains(reason) && line.contains("/user/"), "{line}");
        assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    }
    let listed = yarn(cluster, &["apps"]);
    assert!(!listed.stdout.contains("application_"), "nothing was submitted: {listed}");
}
