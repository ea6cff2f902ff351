//! A full disk. Each command runs in its own mount namespace, on a small file system in memory.

use std::path::Path;
use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::ports::free_port;
use firesteel_testkit::processes::within;
use firesteel_testkit::{Finished, run, wait_for};
use libtest_mimic::Trial;
use tempfile::TempDir;

const MOUNT: Component = Component { name: "mount", look: can_mount, prepare: || Readiness::Ready };

pub(crate) fn trials() -> Vec<Trial> {
    MOUNT.trials(&[
        ("outputs_that_do_not_fit_the_disk_end_the_run_with_the_reason", outputs_that_do_not_fit),
        ("outputs_that_fit_memory_need_no_disk", outputs_that_fit_memory),
        ("a_worker_whose_disk_is_full_gets_nothing_until_it_can_write_again", full_disk_of_a_worker),
        ("a_master_whose_disk_is_full_ends_and_has_lost_nothing_when_there_is_room", full_disk_of_a_master),
        ("rolled_logs_that_do_not_fit_hold_nobody_up", rolled_logs_that_do_not_fit),
        ("files_that_do_not_fit_a_workers_disk_fail_its_executors_and_leave_nothing", files_that_do_not_fit),
        ("a_local_cluster_without_room_says_so", local_cluster_without_room),
    ])
}

/// Whether a file system can be mounted, as root or as root of a user namespace.
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

/// Runs a script in which `$DISK` is a directory of this size and `firesteel` is the binary.
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

/// The disk of the Master's journal fills up. Decisions that it could not write have no effect.
fn full_disk_of_a_master() {
    let script = "
        other=$(mktemp -d -p /tmp)
        start() {
            firesteel master --port PORT --conf spark.deploy.recoveryDirectory=\"$DISK/state\" 2>>\"$other/log\" & master=$!
        }
        start
        export MASTER=spark://127.0.0.1:PORT
        firesteel worker --port 0 -c 4 -m 4g -d \"$other/work\" 2>/dev/null & worker=$!
        firesteel launch --until never --num-executors 1 --executor-cores 1 --json -- sleep 1000 >\"$other/launch\" 2>/dev/null &
        launch=$!
        until grep -q executor_running \"$other/launch\"; do kill -0 $launch || exit 1; done
        cat /dev/zero >\"$DISK/fill\" 2>/dev/null
        until grep -q 'No space left' \"$other/log\"; do timeout 2 firesteel map --quiet -- true ::: 1 2>/dev/null; done
        wait $master
        echo \"the Master ended with $?\"
        tail -n 1 \"$other/log\"
        rm \"$DISK/fill\"
        start
        # The Worker and the launch. A map whose farewell was not written down is waited for in vain.
        until [ $(grep -c 'reconnected$' \"$other/log\") = 2 ]; do kill -0 $master || exit 1; done
        firesteel map --quiet -- echo ::: again
        grep -c executor_launched \"$other/launch\"
        grep -c executor_ended \"$other/launch\"
        kill $launch $worker
        wait $launch $worker
        kill $master
        wait
        rm -r \"$other\"";
    let done = on_disk("1m", &script.replace("PORT", &free_port().to_string()));
    let lines: Vec<&str> = done.stdout.lines().collect();
    let [ended, why, again, launched, lost] = lines[..] else { panic!("{done}") };
    assert_eq!(ended, "the Master ended with 1", "{done}");
    assert!(why.contains("No space left on device") && why.contains("Executors keep running"), "{done}");
    assert_eq!((again, launched, lost), ("again", "1", "0"), "{done}");
}

/// The disk fills up while the cluster runs: no executor can be started any more.
fn full_disk_of_a_worker() {
    let script = "
        firesteel master --port 0 --announce >\"$DISK/master\" 2>/dev/null & master=$!
        until [ -s \"$DISK/master\" ]; do :; done
        url=$(sed 's/.*\"\\(spark:[^\"]*\\)\".*/\\1/' \"$DISK/master\")
        firesteel worker -c 2 -m 1g -d \"$DISK/work\" --announce \"$url\" >\"$DISK/worker\" 2>/dev/null & worker=$!
        until [ -s \"$DISK/worker\" ]; do :; done
        cat /dev/zero >\"$DISK/fill\" 2>/dev/null
        timeout 60 firesteel map --master \"$url\" --executor-memory 512m -- echo ::: 1 & map=$!
        until firesteel status --master \"$url\" | grep 'ALIVE, cannot start executors: cannot write in'; do kill -0 $map || exit 1; done
        firesteel explain echo --master \"$url\"
        rm \"$DISK/fill\"
        wait $map
        code=$?
        kill $worker $master
        wait
        exit $code";
    let done = on_disk("1m", script);
    assert_eq!(done.code(), 0, "{done}");
    assert!(done.stdout.ends_with("\n1\n"), "{done}");
    assert!(done.stdout.contains("given nothing new for now"), "{done}");
    assert!(done.stdout.contains("No space left on device"), "{done}");
}

/// An executor writes far more than the disk can hold, through a Worker that rolls its log. The executor is not
/// blocked; the Worker reports the full disk once and serves the log. Without a limit on the number of files, the disk
/// stays full.
fn rolled_logs_that_do_not_fit() {
    let script = "
        firesteel master --port 0 --announce >\"$DISK/master\" 2>/dev/null & master=$!
        until [ -s \"$DISK/master\" ]; do :; done
        url=$(sed 's/.*\"\\(spark:[^\"]*\\)\".*/\\1/' \"$DISK/master\")
        firesteel worker -c 2 -m 1g -d \"$DISK/work\" --announce --conf spark.executor.logs.rolling.strategy=size \
            --conf spark.executor.logs.rolling.maxSize=100k $ROLLING \"$url\" >\"$DISK/worker\" & worker=$!
        until [ -s \"$DISK/worker\" ]; do :; done
        firesteel launch --master \"$url\" --num-executors 1 --executor-memory 512m --until all -q -- \
            sh -c 'head -c 20000000 /dev/zero; echo the end'
        code=$?
        app=$(firesteel status --master \"$url\" --json | grep -o '\"app-[0-9-]*\"' | tr -d '\"' | head -n 1)
        firesteel logs --master \"$url\" $app 0 | wc -c
        firesteel logs --master \"$url\" $app 0 -n 1 | tail -c 8
        kill $worker $master
        wait
        exit $code";
    let bytes = |done: &Finished| -> u64 {
        let first = done.stdout.lines().next().unwrap_or_default();
        first.trim().parse().unwrap_or_else(|_| panic!("no number of bytes: {done}"))
    };
    let dropped = "dropping output until it can be written again";

    let all = on_disk("4m", &format!("ROLLING=; {script}"));
    assert_eq!(all.code(), 0, "{all}");
    assert_eq!(all.stderr.matches(dropped).count(), 1, "{all}");
    assert!(all.stderr.contains("No space left on device"), "{all}");
    assert!(all.stderr.contains(": dropped ") && all.stderr.contains(" bytes of output"), "{all}");
    assert!((1_000_000..5_000_000).contains(&bytes(&all)), "{all}");

    // With a limit there is room again and again, and the latest output is available.
    let few =
        on_disk("4m", &format!("ROLLING='--conf spark.executor.logs.rolling.maxRetainedFiles=3'; {script}"));
    assert_eq!(few.code(), 0, "{few}");
    assert!(!few.stderr.contains(dropped), "{few}");
    assert!((300_000..410_000).contains(&bytes(&few)), "{few}");
    assert!(few.stdout.ends_with("the end\n"), "{few}");
}

/// The disk has room for the Worker, but not for the application's files.
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
