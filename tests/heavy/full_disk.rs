//! A full disk. Each command runs in a mount namespace of its own, on a small file system in memory that goes
//! with it.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::cluster::processes::within;
use crate::cluster::{Finished, run, wait_for};
use crate::component::Component;

const MOUNT: Component = Component { name: "mount", look: can_mount };

pub(crate) fn trials() -> Vec<Trial> {
    MOUNT.trials(&[
        ("outputs_that_do_not_fit_the_disk_end_the_run_with_the_reason", outputs_that_do_not_fit),
        ("outputs_that_fit_memory_need_no_disk", outputs_that_fit_memory),
        ("executors_that_cannot_write_end_the_application_with_the_reason", executors_that_cannot_write),
        ("files_that_do_not_fit_a_workers_disk_fail_its_executors_and_leave_nothing", files_that_do_not_fit),
        ("a_local_cluster_without_room_says_so", local_cluster_without_room),
    ])
}

/// Whether a file system can be mounted, as root or as root of a namespace of one's own.
fn can_mount() -> Result<(), String> {
    let done = Command::new("unshare")
        .args(["--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output()
        .map_err(|error| format!("unshare: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ")),
    }
}

/// Runs a script where `$DISK` is a directory with so much room and `firesteel` is the binary.
fn on_disk(size: &str, script: &str) -> Finished {
    let disk = TempDir::new().expect("a temporary directory");
    let script = format!("mount -t tmpfs -o size={size} tmpfs \"$DISK\" && {script}");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &script]);
    let binary = Path::new(env!("CARGO_BIN_EXE_firesteel")).parent().expect("a binary is in a directory");
    let path = std::env::var("PATH").expect("there is a PATH");
    command
        .env("PATH", format!("{}:{path}", binary.display()))
        .env("DISK", disk.path())
        .env("TMPDIR", disk.path());
    let finished = run(&mut command);
    wait_for("nothing to be left on the disk", || within(disk.path()).is_empty().then_some(()));
    finished
}

fn outputs_that_do_not_fit() {
    let done = on_disk("4m", "firesteel map -- sh -c 'head -c 9000000 /dev/zero' ::: 1 2 >/dev/null");
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("No space left on device"), "{done}");
}

fn outputs_that_fit_memory() {
    let done = on_disk("4m", "firesteel map -- sh -c 'head -c 50000 /dev/zero' ::: 1 2 3 | wc -c");
    assert_eq!(done.code(), 0, "{done}");
    assert_eq!(done.stdout.trim(), "150000", "{done}");
}

/// The disk fills up while the cluster runs: no executor can be started any more.
fn executors_that_cannot_write() {
    let script = "
        firesteel master --port 0 --announce >\"$DISK/master\" 2>/dev/null & master=$!
        until [ -s \"$DISK/master\" ]; do :; done
        url=$(sed 's/.*\"\\(spark:[^\"]*\\)\".*/\\1/' \"$DISK/master\")
        firesteel worker -c 2 -m 1g -d \"$DISK/work\" --announce \"$url\" >\"$DISK/worker\" 2>/dev/null & worker=$!
        until [ -s \"$DISK/worker\" ]; do :; done
        cat /dev/zero >\"$DISK/fill\" 2>/dev/null
        firesteel map --master \"$url\" --executor-memory 512m -- echo ::: 1
        code=$?
        kill $worker $master
        wait
        exit $code";
    let done = on_disk("1m", script);
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("10 executors failed in a row"), "{done}");
    assert!(done.stderr.contains("No space left on device"), "{done}");
}

/// The disk has room for the Worker, and not for what the application brings.
fn files_that_do_not_fit() {
    let script = "
        firesteel master --port 0 --announce >\"$DISK/master\" 2>/dev/null & master=$!
        until [ -s \"$DISK/master\" ]; do :; done
        url=$(sed 's/.*\"\\(spark:[^\"]*\\)\".*/\\1/' \"$DISK/master\")
        firesteel worker -c 2 -m 1g -d \"$DISK/work\" --announce \"$url\" >\"$DISK/worker\" 2>/dev/null & worker=$!
        until [ -s \"$DISK/worker\" ]; do :; done
        firesteel map --master \"$url\" --executor-memory 512m --files \"$LARGE\" -- echo ::: 1
        code=$?
        echo left: $(find \"$DISK/work\" -name 'files*' -o -name large)
        kill $worker $master
        wait
        exit $code";
    let home = TempDir::new().expect("a temporary directory");
    let large = home.path().join("large");
    std::fs::write(&large, vec![7; 8 << 20]).expect("a file");
    let done = on_disk("4m", &script.replace("$LARGE", large.to_str().expect("UTF-8")));
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("cannot get the application's files: \"large\" from"), "{done}");
    assert!(done.stderr.contains("No space left on device"), "{done}");
    assert_eq!(done.stdout.trim(), "left:", "{done}");
}

fn local_cluster_without_room() {
    let done = on_disk("64k", "{ cat /dev/zero >\"$DISK/fill\" 2>/dev/null; firesteel map -- echo ::: 1; }");
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("No space left on device"), "{done}");
}
