//! Workers and executors on a machine without free processes, and programs that cannot be run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use firesteel_testkit::{Daemon, binary, clean, firesteel, limited, run, wait_for, write_program};

fn worker(program: impl AsRef<OsStr>, master: &Daemon, work: &Path, cores: &str) -> Command {
    let mut worker = clean(program);
    worker.args(["worker", "--host", "127.0.0.1", "--port", "0", "--webui-port", "none"]);
    worker.args(["--cores", cores, "--memory", "4g", "--work-dir"]).arg(work).arg(master.url());
    worker
}

fn map(master: &Daemon, words: &[&str]) -> Command {
    let mut map = firesteel();
    map.args(["map", "--master", master.url(), "--"]).args(words);
    map
}

#[test]
fn tasks_that_meet_a_shortage_wait_and_do_not_fail() {
    let master = Daemon::master(&[]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let _worker = Daemon::start(&mut limited("-n 64", &worker(binary(), &master, work.path(), "40")));
    let items: Vec<String> = (0..80).map(|item| item.to_string()).collect();
    let done = run(map(&master, &["sh", "-c", "sleep 0.2; echo $0", "{}", ":::"]).args(&items));
    assert_eq!(done.code(), 0, "{done}");
    assert_eq!(done.stdout.lines().count(), 80, "{done}");
    assert_eq!(done.stderr.matches("takes no more tasks for now").count(), 1, "it is said once: {done}");
    assert!(done.stderr.contains("80 succeeded, 0 failed") && !done.stderr.contains("retries"), "{done}");
}

#[test]
fn a_worker_that_can_start_no_process_says_so_and_is_not_counted_against_applications() {
    let master = Daemon::master(&[]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let worker = Daemon::start(&mut worker(binary(), &master, work.path(), "1"));
    let files = |limit: &str| {
        let done = run(clean("prlimit").args(["--pid", &worker.pid().to_string(), limit]));
        assert_eq!(done.code(), 0, "{done}");
    };
    files("--nofile=3:1024");
    let mut map = Daemon::spawn(&mut map(&master, &["echo", ":::", "item"]));
    worker.wait_for_line(&[
        "WARN",
        "cannot start executors: ",
        "accepting no executors until the cause is removed",
        "Too many open files",
    ]);
    wait_for("the Master to know", || {
        let reason = master.status()["workers"][0]["impairment"].as_str()?.to_owned();
        reason.contains("cannot start executors").then_some(())
    });
    files("--nofile=1024:1024");
    worker.wait_for_line(&["can start executors again"]);
    assert_eq!(map.wait(), 0, "{}", map.log());
    assert_eq!(map.output(), "item\n");
}

fn threads(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

#[test]
fn a_worker_that_is_given_no_more_threads_later_does_its_work_with_those_that_it_has() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("left out: only root can become a user without processes");
        return;
    }
    let master = Daemon::master(&[]);
    let place = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).expect("it is ours");
    let program = place.path().join("firesteel");
    fs::copy(binary(), &program).expect("it can be copied");
    let worker = worker(&program, &master, &place.path().join("work"), "1");
    let mut other_user = clean("setpriv");
    other_user.args(["--reuid=64322", "--regid=64322", "--clear-groups"]);
    other_user.arg(worker.get_program()).args(worker.get_args());
    let worker = Daemon::start(&mut other_user);
    // Longer than Tokio keeps an idle thread by default.
    let idle_until = Instant::now() + Duration::from_secs(11);
    let at_first = threads(worker.pid());
    wait_for("its threads to be idle", || {
        assert!(threads(worker.pid()) >= at_first, "a thread has ended");
        (Instant::now() > idle_until).then_some(())
    });
    let limit = |limit: &str| {
        let mut set = clean("setpriv");
        set.args(["--reuid=64322", "--regid=64322", "--clear-groups", "prlimit", "--pid"]);
        let done = run(set.args([&worker.pid().to_string(), limit]));
        assert_eq!(done.code(), 0, "{done}");
    };
    limit("--nproc=1:");
    let mut map = Daemon::spawn(&mut map(&master, &["echo", ":::", "item"]));
    worker.wait_for_line(&[
        "WARN",
        "cannot start executors: ",
        "accepting no executors until the cause is removed",
    ]);
    limit("--nproc=1024:");
    worker.wait_for_line(&["can start executors again"]);
    assert_eq!(map.wait(), 0, "{}", map.log());
    assert_eq!(worker.terminate(), 0);
}

#[test]
fn a_worker_whose_program_was_removed_starts_executors_under_its_name() {
    let master = Daemon::master(&[]);
    let installed = tempfile::tempdir().expect("a temporary directory");
    let program = installed.path().join("firesteel");
    fs::copy(binary(), &program).expect("it can be copied");
    let work = tempfile::tempdir().expect("a temporary directory");
    let _worker = Daemon::start(&mut worker(&program, &master, work.path(), "1"));
    fs::remove_file(&program).expect("it is ours");
    let words = ["sh", "-c", "cat /proc/$PPID/comm; tr '\\0' ' ' </proc/$PPID/cmdline", ":::", "item"];
    let done = run(&mut map(&master, &words));
    assert_eq!(done.code(), 0, "{done}");
    let expected = format!("firesteel\n{} executor ", program.display());
    assert!(done.stdout.starts_with(&expected), "{done}");
}

#[test]
fn a_work_directory_that_was_removed_is_made_again_with_the_record_of_its_worker() {
    let master = Daemon::master(&[]);
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let work = scratch.path().join("work");
    let worker = Daemon::start(&mut worker(binary(), &master, &work, "1"));
    fs::remove_dir_all(&work).expect("it is ours");
    worker.wait_for_line(&["WARN", "the work directory was gone: made", "again"]);
    let records = || fs::read_dir(work.join(".firesteel-workers")).ok();
    wait_for("the record", || (records()?.count() == 1).then_some(()));
    let done = run(&mut map(&master, &["echo", ":::", "item"]));
    assert_eq!((done.code(), done.stdout.as_str()), (0, "item\n"), "{done}");
    assert_eq!(worker.terminate(), 0);
}

#[test]
fn scripts_run_as_by_execvp_and_a_missing_interpreter_is_named_after_one_attempt() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in [("job", "echo ran $1\n"), ("tool", "#!/opt/conda/bin/python\nprint(1)\n")] {
        write_program(&scratch.path().join(name), text);
    }
    let map =
        |program: &str| run(firesteel().args(["map", "--", program, ":::", "1"]).current_dir(scratch.path()));
    let done = map("./job");
    assert_eq!((done.code(), done.stdout.as_str()), (0, "ran 1\n"), "{done}");
    let done = map("./tool");
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("./tool: its interpreter /opt/conda/bin/python is not found"), "{done}");
    assert!(!done.stderr.contains("4 failures"), "{done}");
}

/// The arguments of each command; `%` is a directory of its own, and there is no Master.
const COMMANDS: [&str; 28] = [
    "master --until-stdin-closes --host 127.0.0.1 --port 0 --webui-port none",
    "worker --until-stdin-closes --host 127.0.0.1 --port 0 --webui-port none --work-dir %/work spark://127.0.0.1:1",
    "map --local-cluster 1 -- echo ::: 1",
    "launch -- true",
    "shell -c status",
    "submit --master spark://127.0.0.1:1 --status driver-1",
    "submit --master spark://127.0.0.1:1 --deploy-mode cluster -- true",
    "status --master spark://127.0.0.1:1",
    "explain --master spark://127.0.0.1:1 app-1",
    "kill --master spark://127.0.0.1:1 app-1",
    "decommission --master spark://127.0.0.1:1 worker-1",
    "history --master spark://127.0.0.1:1",
    "top --master spark://127.0.0.1:1",
    "logs --master spark://127.0.0.1:1 app-1",
    "attach",
    "plan %/plan.toml",
    "simulate %/trace",
    "config check",
    "config show",
    "cluster status",
    "cluster stop",
    "journal check %/journal",
    "yarn --conf spark.hadoop.yarn.resourcemanager.hostname=127.0.0.1 apps",
    "completions bash",
    "man --out %/man",
    "executor --driver-url 127.0.0.1:1 --app-id app-1 --executor-id 0 --worker-id w --hostname 127.0.0.1 --cores 1",
    "application-master --blueprint %/blueprint",
    "__reaper 1",
];

/// The exit codes of a command that starts, other than a shortage: there is no Master, and its input is wrong.
const OTHERS: [i32; 6] = [0, 1, 2, 69, 78, 83];

/// Two limits: few open files, and few processes, for a user without other processes.
fn limits() -> impl Iterator<Item = (&'static str, String)> {
    let files = [4, 5, 8, 12, 16, 20].map(|most| ("", format!("--nofile={most}")));
    let processes = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12].map(|most| ("setpriv", format!("--nproc={most}")));
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        eprintln!("left out: only root can become a user without processes");
    }
    files.into_iter().chain(processes.into_iter().filter(move |_| is_root))
}

#[test]
fn every_command_ends_with_a_sentence_where_files_or_processes_are_few() {
    let place = tempfile::tempdir().expect("a directory");
    let all = fs::Permissions::from_mode(0o777);
    fs::set_permissions(place.path(), all).expect("it is ours");
    let program = place.path().join("firesteel");
    fs::copy(binary(), &program).expect("it can be copied");
    let mut found = Vec::new();
    for (user, limit) in limits() {
        let mut short = 0;
        for words in COMMANDS {
            let words = words.replace('%', &place.path().display().to_string());
            let mut command = clean(if user.is_empty() { "prlimit" } else { user });
            if !user.is_empty() {
                command.args(["--reuid=64321", "--regid=64321", "--clear-groups", "prlimit"]);
            }
            command.args([&limit, "--"]).arg(&program).args(words.split(' '));
            command.env("TMPDIR", place.path()).env("HOME", place.path()).current_dir(place.path());
            let done = run(&mut command);
            let is_sound = done.code() == 71 || OTHERS.contains(&done.code());
            if !is_sound || done.stderr.contains("panicked") || done.stderr.contains("backtrace") {
                found.push(format!("{limit} {words}: {done}"));
            }
            if done.code() == 71 {
                short += 1;
                let why = ["Too many open files", "Resource temporarily unavailable", "Cannot fork"];
                assert!(why.iter().any(|why| done.stderr.contains(why)), "{limit} {words}: {done}");
            }
        }
        // With the largest limits, most commands start.
        assert!(short > 0 || limit.ends_with("20") || limit.ends_with("12"), "{limit}");
    }
    assert!(found.is_empty(), "{found:#?}");
}
