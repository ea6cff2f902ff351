//! The scripts of `firesteel sbin`: what Spark's scripts of the same names do, with Firesteel's daemons.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use firesteel_testkit::ports::free_port;
use firesteel_testkit::{
    Daemon, Finished, Guarded, clean, firesteel, processes, run, wait_for, write_program,
};
use nix::sys::signal::Signal;
use tempfile::TempDir;

const MASTER: &str = "org.apache.spark.deploy.master.Master";
const WORKER: &str = "org.apache.spark.deploy.worker.Worker";
const HISTORY: &str = "org.apache.spark.deploy.history.HistoryServer";

/// A replacement for ssh: it records its arguments, and runs the command as another machine with its own pid files.
const SSH: &str = r#"#!/bin/sh
echo "$*" >>"$SSH_WORDS"
while [ "$1" != -- ]; do shift; done
[ "$2" = 127.0.0.9 ] && { echo "ssh: connect to host 127.0.0.9 port 22: No route to host" >&2; exit 255; }
SPARK_IDENT_STRING=$2 SPARK_WORKER_HOST=$2 exec sh -c "$3"
"#;

/// A directory with the scripts, whose path has a space. All daemons that work in it are ended with it.
struct Site {
    directory: TempDir,
    /// The port of the Master.
    port: u16,
}

impl Site {
    fn new(lines: &str) -> Self {
        let site = Self { directory: TempDir::new().expect("a temporary directory"), port: free_port() };
        for folder in ["spark home/conf", "bin"] {
            fs::create_dir_all(site.path(folder)).expect("it is new");
        }
        let variables = format!(
            "SPARK_MASTER_HOST=127.0.0.1\nSPARK_MASTER_PORT={}\nSPARK_MASTER_WEBUI_PORT=none\n\
             : ${{SPARK_WORKER_HOST:=127.0.0.1}}\nSPARK_WORKER_WEBUI_PORT=none\nSPARK_WORKER_MEMORY=1g\n{lines}",
            site.port
        );
        site.write("spark home/conf/spark-env.sh", &variables);
        site.write("bin/ssh", SSH);
        site
    }

    fn with_scripts(lines: &str) -> Self {
        let site = Self::new(lines);
        let done = site.install();
        assert_eq!((done.code(), done.stderr.as_str()), (0, ""), "{done}");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file that may be run.
    fn write(&self, name: &str, text: &str) {
        write_program(&self.path(name), text);
    }

    fn install(&self) -> Finished {
        run(firesteel().args(["sbin", "install"]).arg(self.path("spark home")))
    }

    fn script(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = clean(self.path("spark home/sbin").join(name));
        let path = std::env::var("PATH").expect("there is a PATH");
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.env("SPARK_PID_DIR", self.path("pids")).env("SPARK_IDENT_STRING", "me");
        command.env("SSH_WORDS", self.path("ssh.words"));
        command.args(arguments);
        command
    }

    fn run(&self, name: &str, arguments: &[&str]) -> Finished {
        run(&mut self.script(name, arguments))
    }

    fn daemon(&self, action: &str, class: &str, number: &str) -> Finished {
        self.run("spark-daemon.sh", &[action, class, number])
    }

    fn pid_file(&self, class: &str, number: u8) -> PathBuf {
        self.path(&format!("pids/spark-me-{class}-{number}.pid"))
    }

    fn pid(&self, class: &str, number: u8) -> u32 {
        let text = fs::read_to_string(self.pid_file(class, number)).expect("there is a pid file");
        text.trim().parse().expect("a number")
    }

    /// The cores of the Workers of its Master.
    fn workers(&self) -> Option<Vec<i64>> {
        let url = format!("spark://127.0.0.1:{}", self.port);
        let status = run(firesteel().args(["status", "--json", "--master", &url]));
        let status: serde_json::Value = serde_json::from_str(&status.stdout).ok()?;
        status["workers"].as_array()?.iter().map(|worker| worker["cores"].as_i64()).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for pid in processes::within(self.directory.path()) {
            let _ = processes::signal(pid, Signal::SIGKILL);
        }
    }
}

#[test]
fn a_cluster_is_started_shown_and_stopped_with_the_names_and_codes_of_spark() {
    let lines = "SPARK_WORKER_INSTANCES=2\nSPARK_WORKER_CORES=3\nSPARK_DAEMON_MEMORY=1g\n\
                 SPARK_MASTER_OPTS=\"-Dspark.deploy.defaultCores=5 -Dspark.deploy.recoveryMode=NONE\"\n";
    let site = Site::with_scripts(lines);
    let started = site.run("start-all.sh", &[]);
    assert_eq!((started.code(), started.stderr.as_str()), (0, ""), "{started}");
    let host = nix::unistd::gethostname().expect("it has a name");
    let log = |class: &str, number: u8| {
        let name = format!("spark home/logs/spark-me-{class}-{number}-{}.out", host.to_string_lossy());
        site.path(&name)
    };
    let logging = |class, number| format!("starting {class}, logging to {}\n", log(class, number).display());
    let [one, two] = [1, 2].map(|number| format!("localhost: {}", logging(WORKER, number)));
    assert_eq!(started.stdout, format!("{}{one}{two}", logging(MASTER, 1)));
    wait_for("two Workers", || (site.workers()? == [3, 3]).then_some(()));
    let command = processes::command_line(site.pid(MASTER, 1));
    assert_eq!(command[1..], ["master", "--announce"]);
    let home = site.path("spark home");
    assert_eq!(processes::directory_of(site.pid(MASTER, 1)), Some(home), "wherever the script was called");
    let journal = site.path(&format!("spark home/recovery-{}", site.port));
    assert!(!journal.exists(), "SPARK_MASTER_OPTS is read");

    let again = site.run("start-master.sh", &[]);
    let words = format!("{MASTER} running as process {}.  Stop it first.\n", site.pid(MASTER, 1));
    assert_eq!((again.code(), again.stdout), (1, words));

    let status = |number: &str| {
        let done = site.daemon("status", WORKER, number);
        (done.code(), done.stdout)
    };
    let victim = site.pid(WORKER, 2);
    processes::signal(victim, Signal::SIGKILL).expect("it runs");
    wait_for("its end", || (!processes::is_alive(victim)).then_some(()));
    let file = site.pid_file(WORKER, 2);
    assert_eq!(status("1"), (0, format!("{WORKER} is running.\n")));
    assert_eq!(status("2"), (1, format!("{} file is present but {WORKER} not running\n", file.display())));
    assert_eq!(status("3"), (2, format!("{WORKER} not running.\n")));
    let url = format!("spark://127.0.0.1:{}", site.port);
    let partly = site.run("start-worker.sh", &[&url]);
    assert_eq!(partly.code(), 1, "the first runs, the second is started: {partly}");
    assert_eq!(status("2").0, 0);
    assert!(log(WORKER, 2).with_extension("out.1").is_file(), "the earlier log is kept");

    let stopped = site.run("stop-all.sh", &["--wait"]);
    let expected = format!("localhost: stopping {WORKER}\nlocalhost: stopping {WORKER}\nstopping {MASTER}\n");
    assert_eq!((stopped.code(), stopped.stdout), (0, expected));
    assert_eq!(fs::read_dir(site.path("pids")).expect("it is there").count(), 0);
    let none = site.run("stop-master.sh", &[]);
    assert_eq!((none.code(), none.stdout), (0, format!("no {MASTER} to stop\n")));
}

#[test]
fn a_daemon_in_the_foreground_is_the_process_of_the_script() {
    let site = Site::with_scripts("");
    let mut command = site.script("start-master.sh", &["--port", "0"]);
    command.current_dir(site.path("bin"));
    let master = Daemon::start(command.env("SPARK_NO_DAEMONIZE", ""));
    assert_eq!(processes::command_line(master.pid())[1..], ["master", "--port", "0", "--announce"]);
    let place = site.path("bin");
    assert_eq!(processes::directory_of(master.pid()), Some(place), "where it was called");
    assert!(!site.path("pids").exists() && !site.path("spark home/logs").exists());
    let mut command = site.script("start-worker.sh", &[master.url()]);
    // A variable of Kubernetes'.
    command.env("SPARK_WORKER_PORT", "tcp://10.0.0.1:7077");
    let worker = Daemon::start(command.env("SPARK_NO_DAEMONIZE", "1"));
    assert_eq!(processes::command_line(worker.pid())[1..], ["worker", master.url(), "--announce"]);
    assert_eq!((worker.terminate(), master.terminate()), (0, 0));

    let help = site.run("start-worker.sh", &["--help"]);
    assert!(help.code() == 0 && help.stdout.contains("Usage: firesteel worker"), "{help}");
}

#[test]
fn a_daemon_that_fails_is_told_with_the_end_of_its_log_and_its_exit_code() {
    let site = Site::with_scripts("SPARK_MASTER_OPTS=-Dspark.worker.timeout=never\n");
    let failed = site.run("start-all.sh", &[]);
    assert_eq!(failed.code(), 1, "{failed}");
    for words in ["failed to launch: nice -n 0 ", "  firesteel: spark.worker.timeout", "full log in "] {
        assert!(failed.stdout.contains(words), "{words}: {failed}");
    }
    assert!(!failed.stdout.contains(WORKER), "without a Master no Worker is started: {failed}");
    assert!(!site.pid_file(MASTER, 1).exists());
    assert_eq!(site.run("start-master.sh", &[]).code(), 78);

    let wrong: [&[&str]; 4] = [&[], &["start", MASTER], &["restart", MASTER, "1"], &["--config", "nowhere"]];
    for arguments in wrong {
        let done = site.run("spark-daemon.sh", arguments);
        assert_eq!((done.code(), done.stdout.as_str()), (1, ""), "{arguments:?}: {done}");
        assert!(!done.stderr.is_empty(), "{arguments:?}");
    }
    let usage = site.run("workers.sh", &[]);
    assert!(usage.code() == 1 && usage.stderr.starts_with("Usage: "), "{usage}");
}

/// Names of other processes in pid files, and starts at the same time.
#[test]
fn one_daemon_is_started_and_no_other_process_is_ended() {
    let site = Site::with_scripts("");
    let mut other = Guarded::spawn(Command::new("sleep").arg("1000"));
    fs::create_dir(site.path("pids")).expect("it is new");
    fs::write(site.pid_file(MASTER, 1), other.id().to_string()).expect("it can be written");
    let stopped = site.run("stop-master.sh", &[]);
    assert_eq!((stopped.code(), stopped.stdout), (0, format!("no {MASTER} to stop\n")));

    let starts: Vec<_> = (0..4)
        .map(|_| {
            let mut script = site.script("start-master.sh", &[]);
            std::thread::spawn(move || run(&mut script))
        })
        .collect();
    let mut codes: Vec<_> = starts.into_iter().map(|start| start.join().expect("it ends").code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1, 1, 1]);
    assert_eq!(site.daemon("status", MASTER, "1").code(), 0);
    assert_eq!(site.run("stop-master.sh", &[]).code(), 0);
    assert!(other.try_wait().expect("it is our child").is_none(), "another process of this user");
    let _ = other.kill();
    let _ = other.wait();
}

#[test]
fn workers_are_started_on_the_hosts_of_the_file_by_ssh() {
    let site = Site::with_scripts("SPARK_WORKER_CORES=1\n");
    site.write("spark home/conf/workers", "# two machines\n127.0.0.2\n127.0.0.9 # away\n\nann@127.0.0.3\n");
    assert_eq!(site.run("start-master.sh", &[]).code(), 0);
    let started = site.run("start-workers.sh", &["--cores", "2"]);
    assert_eq!(started.code(), 1, "{started}");
    assert!(started.stdout.contains("127.0.0.9: ssh: connect to host"), "{started}");
    assert!(started.stdout.contains("127.0.0.2: starting"), "{started}");
    let words = fs::read_to_string(site.path("ssh.words")).expect("ssh was called");
    assert_eq!(words.lines().count(), 3, "{words}");
    assert!(words.lines().all(|line| line.contains("-n -o BatchMode=yes -- ")), "{words}");

    let stopped = site.run("stop-workers.sh", &[]);
    assert_eq!(stopped.code(), 1, "one host is away: {stopped}");
    assert!(stopped.stdout.contains(&format!("127.0.0.2: stopping {WORKER}")), "{stopped}");
    let mut command = site.script("workers.sh", &["echo", "a  b", "$HOME"]);
    let echoed = run(command.env("SPARK_SSH_FOREGROUND", "yes").env("SPARK_SSH_OPTS", "-p 2222"));
    assert!(echoed.stdout.contains("127.0.0.2: a  b $HOME\n"), "words stay words: {echoed}");
    let words = fs::read_to_string(site.path("ssh.words")).expect("ssh was called");
    assert!(words.contains("-p 2222 -- 127.0.0.2 "), "{words}");
    assert_eq!(site.run("stop-master.sh", &[]).code(), 0);
}

/// A stand-in for `bin/spark-class`, which becomes a JVM or fails.
const SPARK_CLASS: &str = r#"#!/usr/bin/env bash
[[ $2 != wrong ]] || { echo "no such class" && exit 3; }
exec "$(dirname "$0")/java" 1000
"#;

#[test]
fn over_an_installation_of_spark_the_files_of_spark_are_kept_and_its_other_programs_start() {
    let site = Site::new("");
    let sparks = "#!/usr/bin/env bash\n\n# Licensed\n";
    site.write("spark home/sbin/spark-daemon.sh", sparks);
    site.write("spark home/sbin/start-history-server.sh", sparks);
    let first = site.install();
    let sbin = site.path("spark home/sbin");
    let scripts = format!("{}: 11 scripts", sbin.display());
    assert_eq!(first.stdout, format!("{scripts}; Spark's are kept: spark-daemon.sh.spark\n"));
    assert_eq!(site.install().stdout, format!("{scripts}\n"), "its own files are not Spark's");
    for name in ["spark-daemon.sh.spark", "start-history-server.sh"] {
        assert_eq!(fs::read_to_string(sbin.join(name)).expect("it is kept"), sparks);
    }

    let without = site.daemon("start", HISTORY, "1");
    assert_eq!(without.code(), 1, "{without}");
    assert!(without.stderr.contains("is Spark's, and there is no"), "{without}");
    site.write("spark home/bin/spark-class", SPARK_CLASS);
    fs::copy("/bin/sleep", site.path("spark home/bin/java")).expect("it can be copied");
    let started = site.daemon("start", HISTORY, "1");
    assert_eq!(started.code(), 0, "{started}");
    assert_eq!(site.daemon("status", HISTORY, "1").code(), 0);
    assert_eq!(processes::command_line(site.pid(HISTORY, 1))[1..], ["1000"]);
    assert_eq!(site.daemon("stop", HISTORY, "1").code(), 0);
    let wrong = site.run("spark-daemon.sh", &["start", HISTORY, "2", "wrong"]);
    assert_eq!(wrong.code(), 3, "{wrong}");
    assert!(wrong.stdout.contains("  no such class\n"), "{wrong}");

    fs::remove_dir_all(&sbin).expect("it is ours");
    fs::write(&sbin, "").expect("it can be written");
    let blocked = site.install();
    assert_eq!(blocked.code(), 1, "{blocked}");
    assert!(blocked.stderr.contains("cannot write "), "{blocked}");
}
