//! `firesteel cluster`: daemons on the machines of a file. Loopback addresses simulate the other machines, and a script
//! replaces ssh.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::processes;
use firesteel_testkit::{Finished, Guarded, clean, firesteel, run, wait_for, write_program};
use nix::sys::signal::Signal;
use tempfile::TempDir;

/// A replacement for ssh: it records its arguments, gives each host its own home, and runs the command. Names that end
/// with .alias belong to one host. 127.0.0.9 does not answer.
const SSH: &str = r#"#!/bin/sh
echo "$*" >>"$SSH_WORDS"
while [ "$1" != -- ]; do shift; done
[ "$2" = 127.0.0.9 ] && { echo "ssh: connect to host 127.0.0.9 port 22: No route to host" >&2; exit 255; }
echo "Welcome to $2!"
case $2 in *.alias) home=$HOME/one ;; *) home=$HOME/$2 ;; esac
mkdir -p "$home"
HOME=$home SPARK_LOG_DIR=$home SPARK_PID_DIR=$home exec sh -c "$3"
"#;

/// A directory with homes, settings and a replacement for ssh. All its daemons are ended with it.
struct Site {
    directory: TempDir,
}

impl Site {
    fn new(workers: &str) -> Self {
        let site = Self { directory: TempDir::new().expect("a temporary directory") };
        for folder in ["conf", "home"] {
            fs::create_dir(site.path(folder)).expect("it is new");
        }
        write_program(&site.path("bin/ssh"), SSH);
        fs::write(site.path("conf/workers"), workers).expect("it can be written");
        // Free ports, so that no other program on this machine interferes.
        let variables = "SPARK_MASTER_HOST=127.0.0.1\nSPARK_MASTER_PORT=0\nSPARK_MASTER_WEBUI_PORT=none\n\
                         SPARK_WORKER_WEBUI_PORT=none\nSPARK_WORKER_CORES=3\nSPARK_WORKER_MEMORY=1g\n\
                         case $HOME in */home | */one) SPARK_WORKER_HOST=127.0.0.1 ;; esac\n";
        fs::write(site.path("conf/spark-env.sh"), variables).expect("it can be written");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = firesteel();
        let path = std::env::var("PATH").expect("there is a PATH");
        command.args(["cluster", verb, "--conf-dir"]).arg(self.path("conf"));
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.env("HOME", self.path("home")).env("SSH_WORDS", self.path("ssh.words"));
        command.env_remove("XDG_STATE_HOME");
        command
    }

    fn run(&self, verb: &str) -> Finished {
        run(&mut self.command(verb))
    }

    /// The processes that run in its homes.
    fn processes(&self) -> Vec<u32> {
        processes::within(&self.path("home"))
    }

    /// Waits until no process is left in its homes. A Worker's reapers may end after it.
    fn wait_until_empty(&self) {
        wait_for("nothing to run", || self.processes().is_empty().then_some(()));
    }

    fn ssh_words(&self) -> String {
        fs::read_to_string(self.path("ssh.words")).unwrap_or_default()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for pid in self.processes() {
            let _ = processes::signal(pid, Signal::SIGKILL);
        }
    }
}

/// The states in a table, in the order of its rows, each with its host and daemon.
fn states(done: &Finished) -> Vec<String> {
    let rows = done.stdout.lines().skip(1);
    rows.map(|row| row.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect()
}

/// The number after `process` in a row.
fn pid_of(done: &Finished, host: &str) -> u32 {
    let row = done.stdout.lines().find(|row| row.trim_start().starts_with(host)).expect("it has a row");
    let after = row.split_once("process ").expect("it runs").1;
    after.split([',', ' ']).next().and_then(|pid| pid.parse().ok()).expect("a number")
}

#[test]
fn a_cluster_is_started_once_shown_and_stopped() {
    let site = Site::new("# two machines\nlocalhost\nann@127.0.0.2 # over there\n127.0.0.3\n");
    let before = site.run("status");
    assert_eq!(
        (before.code(), states(&before)),
        (
            1,
            ["localhost master", "localhost worker", "ann@127.0.0.2 worker", "127.0.0.3 worker"]
                .map(|row| format!("{row} stopped"))
                .to_vec()
        ),
        "{before}"
    );

    let started = site.run("start");
    assert_eq!(started.code(), 0, "{started}");
    assert!(states(&started).iter().all(|row| row.ends_with(" started")), "{started}");
    let url = started.stdout.lines().nth(1).and_then(|row| row.split_whitespace().last()).expect("a URL");
    assert!(url.starts_with("spark://127.0.0.1:"), "{started}");
    let workers = wait_for("three Workers", || {
        let status = run(firesteel().args(["status", "--json", "--master", url]));
        let status: serde_json::Value = serde_json::from_str(&status.stdout).ok()?;
        let workers = status["workers"].as_array()?.clone();
        (workers.len() == 3).then_some(workers)
    });
    let hosts: std::collections::BTreeSet<&str> =
        workers.iter().filter_map(|worker| worker["host"].as_str()).collect();
    assert_eq!(hosts, ["127.0.0.1", "127.0.0.2", "127.0.0.3"].into(), "each listens under the file's name");
    assert!(workers.iter().all(|worker| worker["cores"] == 3), "spark-env.sh is read: {workers:?}");
    assert!(!site.ssh_words().contains("localhost"), "this machine needs no ssh");
    assert!(site.ssh_words().contains("BatchMode=yes -- ann@127.0.0.2 sh -s"), "{}", site.ssh_words());

    // Running daemons are left alone, and ended ones are started again.
    let victim = pid_of(&started, "127.0.0.3");
    processes::signal(victim, Signal::SIGKILL).expect("it runs");
    wait_for("its end", || (!processes::is_alive(victim)).then_some(()));
    let partly = site.run("status");
    assert_eq!(partly.code(), 1, "{partly}");
    assert!(partly.stderr.contains("1 of 4 daemons do not run"), "{partly}");
    let again = site.run("start");
    assert_eq!(again.code(), 0, "{again}");
    let expected = ["localhost master running", "localhost worker running", "ann@127.0.0.2 worker running"];
    assert_eq!(states(&again)[..3], expected, "{again}");
    assert_eq!(states(&again)[3], "127.0.0.3 worker started");
    assert_eq!(pid_of(&again, "localhost"), pid_of(&started, "localhost"));
    assert_eq!(site.run("status").code(), 0);

    let stopped = site.run("stop");
    assert_eq!(stopped.code(), 0, "{stopped}");
    assert!(states(&stopped).iter().all(|row| row.ends_with(" stopped")), "{stopped}");
    site.wait_until_empty();
    assert_eq!(site.run("stop").code(), 0, "to stop what does not run is no error");
}

#[test]
fn a_machine_that_is_away_keeps_no_other_from_starting() {
    let site = Site::new("127.0.0.9\n127.0.0.2\n");
    let started = site.run("start");
    assert_eq!(started.code(), 1, "{started}");
    assert_eq!(
        states(&started),
        ["localhost master started", "127.0.0.9 worker failed", "127.0.0.2 worker started"],
        "{started}"
    );
    assert!(started.stdout.contains("No route to host"), "{started}");
    assert!(started.stderr.contains("1 of 3 daemons could not be started"), "{started}");
    let stopped = site.run("stop");
    assert_eq!(stopped.code(), 1, "{stopped}");
    site.wait_until_empty();
}

#[test]
fn without_its_master_no_worker_is_started() {
    let site = Site::new("localhost\n");
    fs::write(site.path("conf/spark-defaults.conf"), "spark.worker.timeout never\n")
        .expect("it can be written");
    let done = site.run("start");
    assert_eq!((done.code(), states(&done)), (1, vec!["localhost master failed".to_owned()]), "{done}");
    assert!(done.stdout.contains("spark.worker.timeout"), "the last line of its log is shown: {done}");
    assert!(done.stderr.contains("no Worker was started"), "{done}");
}

#[test]
fn ssh_gets_the_options_of_spark_and_one_host_at_a_time_in_the_foreground() {
    let site = Site::new("127.0.0.2\n127.0.0.3\n");
    let mut command = site.command("status");
    command.env("SPARK_SSH_OPTS", "-p 2222").env("SPARK_SSH_FOREGROUND", "yes");
    let done = run(&mut command);
    assert_eq!(done.code(), 1, "{done}");
    assert_eq!(site.ssh_words(), "-p 2222 -- 127.0.0.2 sh -s\n-p 2222 -- 127.0.0.3 sh -s\n");
}

#[test]
fn spark_env_says_how_ssh_is_called() {
    let site = Site::new("127.0.0.2\n[FD00:0:0::2]\nann@fd00::2\nfd00::2\n");
    let script = fs::read_to_string(site.path("conf/spark-env.sh")).expect("it is there");
    let script = format!("{script}SPARK_SSH_OPTS=\"-p 2222 -i $HOME/key\"\nSPARK_SSH_FOREGROUND=yes\n");
    fs::write(site.path("conf/spark-env.sh"), script).expect("it can be written");
    assert_eq!(site.run("status").code(), 1, "nothing runs");
    let options = format!("-p 2222 -i {}/key --", site.path("home").display());
    let expected = ["127.0.0.2", "fd00::2", "ann@fd00::2"].map(|host| format!("{options} {host} sh -s\n"));
    assert_eq!(site.ssh_words(), expected.concat());

    fs::write(site.path("conf/spark-env.sh"), "echo not here >&2\nexit 1\n").expect("it can be written");
    let done = site.run("status");
    assert_eq!(done.code(), 78, "{done}");
    assert!(
        done.stderr.contains("spark-env.sh ends the shell that reads it (exit status: 1): not here"),
        "{done}"
    );
}

#[test]
fn a_machine_with_two_names_gets_one_worker() {
    let site = Site::new("a.alias\nb.alias\n127.0.0.3\n");
    let started = site.run("start");
    assert_eq!(started.code(), 0, "{started}");
    assert_eq!(pid_of(&started, "a.alias"), pid_of(&started, "b.alias"), "{started}");
    assert_ne!(pid_of(&started, "a.alias"), pid_of(&started, "127.0.0.3"), "{started}");
    let row =
        started.stdout.lines().find(|row| row.trim_start().starts_with("b.alias")).expect("it has a row");
    assert!(row.ends_with(": the same as on a.alias"), "{started}");
    for verb in ["status", "stop"] {
        let done = site.run(verb);
        assert_eq!(done.code(), 0, "{verb}: {done}");
    }
    site.wait_until_empty();
}

/// A pid file may name an unrelated process by now, which must not be ended.
#[test]
fn a_process_that_is_no_daemon_of_firesteel_is_never_ended() {
    let site = Site::new("localhost\n");
    let mut other = Guarded::spawn(Command::new("sleep").arg("1000"));
    let mut command = site.command("stop");
    let pids: &Path = &site.path("pids");
    fs::create_dir(pids).expect("it is new");
    for daemon in ["master", "worker"] {
        fs::write(pids.join(format!("firesteel-me-{daemon}.pid")), other.id().to_string())
            .expect("it can be written");
    }
    let done = run(command.env("SPARK_PID_DIR", pids).env("SPARK_IDENT_STRING", "me"));
    let is_alive = other.try_wait().expect("it is our child").is_none();
    let _ = other.kill();
    let _ = other.wait();
    assert!(is_alive && done.code() == 0 && done.stdout.contains("it did not run"), "{done}");
}

#[test]
fn a_machine_with_too_few_open_files_for_its_daemon_is_told_by_the_exit_code() {
    let site = Site::new("localhost\n");
    let start = site.command("start");
    let with = |files: u32| {
        let mut limited = clean("prlimit");
        limited.args([&format!("--nofile={files}"), "--"]).arg(start.get_program()).args(start.get_args());
        limited.envs(start.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let done = run(&mut limited);
        site.run("stop");
        done
    };
    // The daemons need more open files than the command. How many are open before depends on the caller.
    let (mut few, mut enough) = (4, 256);
    while few + 1 < enough {
        let files = (few + enough) / 2;
        *(if with(files).code() == 0 { &mut enough } else { &mut few }) = files;
    }
    let done = with(few);
    assert_eq!(done.code(), 71, "{few}: {done}");
    assert!(
        done.stdout.contains("it ended at once") && done.stdout.contains("Too many open files"),
        "{few}: {done}"
    );
    for files in few - 4..few {
        let done = with(files);
        assert_eq!(done.code(), 71, "{files}: {done}");
    }
    site.wait_until_empty();
}
