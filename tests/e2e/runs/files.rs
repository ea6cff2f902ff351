//! `--files` and `--archives`: commands and data that exist on one machine only.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::{Daemon, Finished, firesteel, run, wait_for};
use nix::sys::signal::Signal;
use tempfile::TempDir;

/// A Master, Workers of two cores, and a directory from which applications are submitted.
struct Site {
    workers: Vec<Daemon>,
    master: Daemon,
    work: TempDir,
    home: TempDir,
}

impl Site {
    fn start(workers: usize) -> Self {
        Self::with_master(Daemon::master(&[]), workers)
    }

    fn with_master(master: Daemon, workers: usize) -> Self {
        let directory = || tempfile::tempdir().expect("a temporary directory");
        let mut site = Self { workers: Vec::new(), master, work: directory(), home: directory() };
        for worker in 0..workers {
            let cores = ["--cores", "2", "--memory", "2g"];
            site.workers.push(Daemon::worker(&site.master, &site.work_dir(worker), &cores));
        }
        site.master.wait_for_workers(workers);
        site
    }

    fn work_dir(&self, worker: usize) -> PathBuf {
        self.work.path().join(format!("work-{worker}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, content).expect("a file");
    }

    fn script(&self, name: &str, body: &str) {
        self.write(name, format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(self.path(name), Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// `firesteel map` from the home directory.
    fn map(&self, arguments: &[&str]) -> Command {
        let mut command = firesteel();
        command.current_dir(self.home.path());
        command.args([
            "map",
            "--summary",
            "none",
            "--executor-memory",
            "512m",
            "--master",
            self.master.url(),
        ]);
        command.args(arguments);
        command
    }

    /// How many fetches Workers have begun.
    fn fetches(&self) -> usize {
        let begun = |log: String| {
            log.lines().filter(|line| line.contains("fetching ") && line.contains(" bytes) of app-")).count()
        };
        self.workers.iter().map(|worker| begun(worker.log())).sum()
    }

    /// All files of applications in the Workers' directories, and links to them.
    fn left_over(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for app in (0..self.workers.len()).flat_map(|worker| entries(&self.work_dir(worker))) {
            let inside = entries(&app);
            let links = inside.iter().flat_map(|executor| entries(executor)).filter(|path| path.is_symlink());
            found.extend(links.collect::<Vec<_>>());
            let named =
                |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("files"));
            found.extend(inside.into_iter().filter(named));
        }
        found
    }

    fn wait_until_clean(&self) {
        wait_for("all files to be removed", || self.left_over().is_empty().then_some(()));
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

fn good(done: Finished) -> String {
    assert_eq!(done.code(), 0, "{done}");
    done.stdout
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_script_and_its_data_need_exist_on_one_machine_only() {
    let site = Site::start(2);
    site.script("tool", "echo \"$1 $(cat data.txt) $(cat \"$FIRESTEEL_FILES_DIR/data.txt\")\"");
    site.write("sub/data", "42");
    let out = good(run(&mut site.map(&[
        "--files",
        "./tool,sub/data#data.txt",
        "--",
        "./tool",
        ":::",
        "a",
        "b",
        "c",
    ])));
    assert_eq!(out, "a 42 42\nb 42 42\nc 42 42\n");
    site.wait_until_clean();
    let outputs = (0..2).flat_map(|worker| entries(&site.work_dir(worker))).flat_map(|app| entries(&app));
    let kept = outputs.filter(|executor| executor.join("stderr").is_file()).count();
    assert!(kept >= 1, "what executors wrote is kept");
}

#[test]
fn a_worker_that_unpacks_for_long_is_heard_of_all_the_while() {
    let site = Site::with_master(Daemon::master(&["--conf", "spark.worker.timeout=1s"]), 1);
    let mut pack = tar::Builder::new(fs::File::create(site.path("many.tar")).expect("a file"));
    // Creating so many files takes a second or two.
    for number in 0..60_000 {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(0);
        pack.append_data(&mut header, format!("{}/{number}", number % 100), std::io::empty())
            .expect("it is written");
    }
    pack.finish().expect("it is written");
    let count =
        ["--archives", "many.tar#many", "--", "sh", "-c", "find many/ -type f | wc -l", "sh", ":::", "all"];
    assert_eq!(good(run(&mut site.map(&count))).trim(), "60000");
    let status = site.master.status();
    assert_eq!(status["workers"].as_array().map(Vec::len), Some(1), "{status}");
    let log = site.master.log();
    assert!(!log.contains("no heartbeat"), "{log}");
    site.wait_until_clean();
}

#[test]
fn an_archive_is_a_directory_with_its_tree_and_modes() {
    let site = Site::start(1);
    site.script("pack/bin/greet", "cat \"$(dirname \"$0\")/../share/hello\"");
    site.write("pack/share/hello", "hello from inside\n");
    let tar = |arguments: &[&str]| {
        good(run(Command::new("tar").current_dir(site.home.path()).args(arguments)));
    };
    tar(&["-czf", "pack.tgz", "-C", "pack", "."]);
    tar(&["-cf", "pack.tar", "pack"]);
    fs::remove_dir_all(site.path("pack")).expect("it is ours");
    let script = "tools/bin/greet; pack.tar/pack/bin/greet; touch pack.tar/pack/new && rm pack.tar/pack/new; \
                  ls -l tools/share/hello | cut -c1-10";
    let out = good(run(&mut site.map(&[
        "--archives",
        "pack.tgz#tools",
        "--archives",
        "pack.tar",
        "--",
        "sh",
        "-c",
        script,
        ":::",
        "x",
    ])));
    assert_eq!(out, "hello from inside\nhello from inside\n-r--------\n");
    site.wait_until_clean();
}

#[test]
fn a_file_can_be_read_by_nobody_who_could_not_read_the_original() {
    let site = Site::start(1);
    site.write("key", "secret");
    fs::set_permissions(site.path("key"), Permissions::from_mode(0o600)).expect("it is ours");
    site.script("tool", "true");
    let modes =
        "stat -L -c '%a %F' \"$FIRESTEEL_FILES_DIR\" key tool; test ! -w key -o \"$(id -u)\" = 0 && cat key";
    let command = ["--files", "key,tool", "--", "sh", "-c", modes, "sh", ":::", "x"];
    let out = good(run(&mut site.map(&command)));
    assert_eq!(out, "700 directory\n400 regular file\n500 regular file\nsecret");
    let apps = entries(&site.work_dir(0)).into_iter().filter(|path| path.join("0").is_dir());
    let [app] = &apps.collect::<Vec<_>>()[..] else { panic!("one application ran") };
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
    assert_eq!((mode(app), mode(&app.join("0"))), (0o750, 0o750));
    for log in ["stdout", "stderr"] {
        assert_eq!(mode(&app.join("0").join(log)), 0o640, "{log}");
    }
}

#[test]
fn a_large_file_comes_whole_and_once_for_all_executors_of_a_worker() {
    let site = Site::start(2);
    let length: usize = 300 << 20;
    let mut content = vec![0; length];
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    for chunk in content.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.copy_from_slice(&state.to_le_bytes());
    }
    site.write("large", &content);
    drop(content);
    let expected = good(run(Command::new("sha256sum").current_dir(site.home.path()).arg("large")));
    // Each executor has one core, so each Worker runs two. Each waits for the others.
    fs::create_dir(site.path("began")).expect("a directory");
    let began = site.path("began").display().to_string();
    let script = format!(
        "touch {began}/$FIRESTEEL_EXECUTOR_ID; until [ $(ls {began} | wc -l) -ge 4 ]; do sleep 0.05; done; \
         sha256sum large"
    );
    let items = ["1", "2", "3", "4"];
    let arguments = ["--executor-cores", "1", "--files", "large", "--", "sh", "-c", &script, ":::"];
    let out = good(run(&mut site.map(&[&arguments[..], &items[..]].concat())));
    assert_eq!(out, expected.repeat(4));
    assert_eq!(site.fetches(), 2, "one for each Worker");
    site.wait_until_clean();
}

#[test]
fn a_file_that_was_changed_since_is_refused() {
    let site = Site::start(1);
    site.script("tool", "cat data");
    site.write("data", "as submitted");
    // A Worker that has room only after the file was changed.
    let mut blocker = Daemon::spawn(&mut site.map(&["--", "sh", "-c", "echo up >&2; sleep 600", ":::", "x"]));
    site.workers[0].wait_for_line(&["runs as process"]);
    let mut waiting =
        Daemon::spawn(&mut site.map(&["--name", "late", "--files", "tool,data", "--", "./tool", ":::", "x"]));
    site.master.wait_for_line(&["registered app-", "(late)"]);
    site.write("data", "as changed !");
    blocker.signal(Signal::SIGINT);
    blocker.wait();
    site.workers[0].wait_for_line(&["cannot get the files", "its content differs from what was submitted"]);
    site.wait_until_clean();
    // With its old content the file is accepted again.
    site.write("data", "as submitted");
    assert_eq!(waiting.wait(), 0, "{}", waiting.log());
    assert_eq!(waiting.output(), "as submitted");
}

#[test]
fn what_cannot_be_brought_along_is_said_before_anything_is_started() {
    let site = Site::start(0);
    site.write("a/x", "");
    site.write("b/x", "");
    for (arguments, words) in [
        (["--files", "missing"], "cannot read the file \"missing\""),
        (["--files", "a"], "\"a\" is a directory"),
        (["--files", "a/x,b/x"], "would both have the name \"x\""),
        (["--files", "a/x#../x"], "cannot be the name of"),
        (["--archives", "a/x"], "cannot unpack \"a/x\""),
        (["--files", "https://host/x"], "is not a path on this machine"),
    ] {
        let done = run(&mut site.map(&[&arguments[..], &["--", "true", ":::", "1"]].concat()));
        assert_eq!(done.code(), 2, "{done}");
        assert!(done.stderr.contains(words) && done.stderr.lines().count() == 1, "{done}");
    }
    assert_eq!(site.master.status()["completed"].as_array().map(Vec::len), Some(0));
}

#[test]
fn an_archive_that_no_worker_would_unpack_is_refused_before_anything_is_started() {
    let site = Site::start(0);
    site.write("evil", "evil");
    site.write("zero.tgz", "");
    let tar = |arguments: &[&str]| {
        let mut tar = Command::new("tar");
        good(run(tar.current_dir(site.home.path()).args(arguments)));
    };
    tar(&["-cPf", "up.tar", "--transform", "s,^,../../../../,", "evil"]);
    tar(&["-cPzf", "absolute.tgz", "--transform", "s,^,/tmp/,", "evil"]);
    tar(&["-cf", "none.tar", "-T", "/dev/null"]);
    symlink("..", site.path("link")).expect("a link");
    tar(&["-cf", "through.tar", "link", "evil", "--transform", "flags=r;s,^evil,link/evil,"]);
    for (archive, words) in [
        ("up.tar", "leads out of the directory"),
        ("absolute.tgz", "leads out of the directory"),
        ("through.tar", "its entry \"link/evil\" leads through its link \"link\""),
        ("none.tar", "it has no entries"),
        ("zero.tgz", "cannot copy \"zero.tgz\" to the executors"),
        ("gone.tgz", "cannot read the file \"gone.tgz\""),
    ] {
        let done = run(&mut site.map(&["--archives", archive, "--", "true", ":::", "1"]));
        assert_eq!(done.code(), 2, "{done}");
        assert!(done.stderr.contains(words) && done.stderr.lines().count() == 1, "{done}");
    }
    assert_eq!(site.master.status()["completed"].as_array().map(Vec::len), Some(0));
}

/// `venv-pack` and `conda-pack` make such archives.
#[test]
fn a_packed_environment_has_its_link_to_the_interpreter_of_the_system() {
    let site = Site::start(1);
    site.write("env/lib/data", "data");
    fs::create_dir(site.path("env/bin")).expect("a directory");
    symlink("/bin/sh", site.path("env/bin/python3")).expect("a link");
    let mut tar = Command::new("tar");
    good(run(tar.current_dir(site.home.path()).args(["-C", "env", "-czf", "env.tgz", "."])));
    let script = "cat environment/lib/data; environment/bin/python3 -c 'echo ran'";
    let archives = ["--archives", "env.tgz#environment", "--", "sh", "-c", script, ":::", "1"];
    let done = good(run(&mut site.map(&archives)));
    assert_eq!(done, "dataran\n");
    site.wait_until_clean();
}

#[test]
fn a_driver_that_is_killed_during_a_fetch_leaves_nothing() {
    let site = Site::start(1);
    // It is sparse: quick to read here, and slow to transfer.
    let file = fs::File::create(site.path("large")).expect("a file");
    file.set_len(400 << 20).expect("a sparse file");
    let mut driver = Daemon::spawn(&mut site.map(&["--files", "large", "--", "true", ":::", "x"]));
    let partial = || {
        let inside: Vec<PathBuf> =
            entries(&site.work_dir(0)).iter().flat_map(|below| entries(below)).collect();
        let partial = inside.iter().find(|path| path.to_string_lossy().ends_with(".partial"))?;
        (fs::metadata(partial.join("large")).ok()?.len() > 0).then_some(())
    };
    wait_for("the first bytes", partial);
    driver.signal(Signal::SIGKILL);
    driver.wait();
    site.wait_until_clean();
    // The Worker keeps its own record there.
    let record = [site.work_dir(0).join(".firesteel-workers")];
    wait_for("the application's directory to go", || (entries(&site.work_dir(0)) == record).then_some(()));
    assert_eq!(site.fetches(), 1);
}

#[test]
fn a_worker_that_ends_takes_its_files_with_it() {
    let mut site = Site::start(1);
    site.write("data", "data");
    let mut driver = Daemon::spawn(&mut site.map(&["--files", "data", "--", "sleep", "600", ":::", "x"]));
    site.workers[0].wait_for_line(&["fetched the files of"]);
    wait_for("the file", || site.left_over().first().map(|_| ()));
    assert_eq!(site.workers.remove(0).terminate(), 0);
    site.workers.clear();
    let left = entries(&site.work_dir(0)).into_iter().flat_map(|app| entries(&app));
    let left: Vec<PathBuf> = left.filter(|path| path.to_string_lossy().contains("/files-")).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    driver.signal(Signal::SIGINT);
    driver.wait();
}

#[test]
fn workers_that_share_a_work_directory_do_not_share_files() {
    let mut site = Site::start(1);
    site.write("data", "data");
    let cores = ["--cores", "2", "--memory", "2g"];
    site.workers.push(Daemon::worker(&site.master, &site.work_dir(0), &cores));
    site.workers[1].wait_for_line(&["registered with"]);
    fs::create_dir(site.path("began")).expect("a directory");
    let began = site.path("began").display().to_string();
    // Each executor waits for the other one.
    let script = format!(
        "touch {began}/$FIRESTEEL_EXECUTOR_ID; until [ $(ls {began} | wc -l) -ge 2 ]; do sleep 0.05; done; cat data"
    );
    let items = [":::", "1", "2", "3", "4"];
    let arguments = ["--executor-cores", "2", "--files", "data", "--", "sh", "-c", &script];
    let out = good(run(&mut site.map(&[&arguments[..], &items[..]].concat())));
    assert_eq!(out, "data".repeat(4));
    assert_eq!(site.fetches(), 2);
    site.wait_until_clean();
}

#[test]
fn local_clusters_bring_files_too() {
    let site = Site::start(0);
    site.script("tool", "echo \"tool $1\"");
    let mut command = firesteel();
    command.current_dir(site.home.path());
    command.args(["map", "--master", "local-cluster[2,1,1024]", "--conf", "spark.files=tool"]);
    let out = good(run(command.args(["--", "./tool", ":::", "b", "a"])));
    assert_eq!(sorted(&out), ["tool a", "tool b"]);
}
