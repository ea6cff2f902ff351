//! Executors and cluster drivers under an account of their own: what they can and cannot do.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use firesteel_host::account::Account;
use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::{CREDENTIALS, Daemon, Finished, firesteel, processes, run, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use tempfile::TempDir;

/// The account of the executors.
const NAME: &str = "nobody";

const ACCOUNT: Component =
    Component { name: "account", look: can_run_as_another, prepare: || Readiness::Ready };

fn can_run_as_another() -> Result<(), String> {
    Account::find(NAME).map(drop).map_err(|error| error.to_string())
}

pub(crate) fn trials() -> Vec<Trial> {
    ACCOUNT.trials(&[
        ("contained::users_run_programs_under_their_own_accounts", users),
        ("contained::an_executor_has_the_rights_of_its_account_only", rights),
        ("contained::an_executor_leads_the_worker_nowhere_by_links", links),
        ("contained::a_cluster_driver_has_the_rights_of_its_account_only", cluster_driver),
        ("contained::what_another_account_runs_ends_with_its_worker", ends),
        ("contained::an_account_that_cannot_be_used_is_refused", refused),
    ])
}

/// A cluster with a secret. Its Worker runs programs under another account.
struct Site {
    // Fields are dropped in this order.
    worker: Daemon,
    master: Daemon,
    directory: TempDir,
}

impl Site {
    fn start(settings: &[&str]) -> Self {
        Self::start_as(NAME, settings)
    }

    /// The accounts of the executors, and settings of the Worker.
    fn start_as(run_as: &str, settings: &[&str]) -> Self {
        let directory = open_directory();
        let path = |name: &str| directory.path().join(name);
        let made = run(firesteel().args(["secret", "new"]).arg(path("credentials")));
        assert_eq!(made.code(), 0, "{made}");
        let master = Daemon::start(
            firesteel()
                .args(["master", "--port", "0", "--webui-port", "none"])
                .args([
                    "--conf",
                    "spark.deploy.recoveryMode=NONE",
                    "--conf",
                    "spark.deploy.maxExecutorRetries=1",
                ])
                .env(CREDENTIALS, path("credentials")),
        );
        let run_as = format!("firesteel.worker.runAs={run_as}");
        let mut worker = Daemon::worker_command(&master, &path("work"), &["-c", "2", "-m", "2g"]);
        worker.args(["--conf", &run_as]).args(settings.iter().flat_map(|setting| ["--conf", setting]));
        let worker = Daemon::start(worker.env(CREDENTIALS, path("credentials")));
        let site = Self { worker, master, directory };
        site.worker.wait_for_line(&["executors and cluster drivers run"]);
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a command of somebody who may submit. Returns its output.
    fn done(&self, words: &[&str]) -> String {
        let done = self.run("credentials", words);
        assert_eq!(done.code(), 0, "{done}\n{}", self.worker.log());
        done.stdout
    }

    /// Runs a command of somebody with this file.
    fn run(&self, file: &str, words: &[&str]) -> Finished {
        let mut command = firesteel();
        command.args([words[0], "--master", self.master.url()]).args(&words[1..]);
        run(command.env(CREDENTIALS, self.path(file)))
    }

    /// The directories in the work directory, with this number of parts in their paths.
    fn directories(&self, depth: usize) -> Vec<PathBuf> {
        let below =
            |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found = vec![self.path("work")];
        for _ in 0..depth {
            found = found.into_iter().flat_map(below).filter(|path| path.is_dir()).collect();
        }
        found
    }
}

/// A temporary directory that other accounts can pass through.
fn open_directory() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711)).expect("it is ours");
    directory
}

fn account() -> Account {
    Account::find(NAME).expect("it is there")
}

/// What a program tries, line by line. `$1` is the Worker's process, `$2` the directory of the cluster.
pub(crate) const TRIES: &str = r#"
    echo "id $(id -u) $(id -G) $(id -un) $USER $LOGNAME $HOME"
    say() { if "$@" >/dev/null 2>&1; then echo "can $*"; else echo "cannot $*"; fi; }
    say test -w .
    say touch made
    say mkdir sub
    say cat given
    say cat "$2/credentials"
    say cat "/proc/$1/environ"
    say kill -0 "$1"
    say ls "$2/work"
    say ls ..
    say touch ../beside
    say touch "$2/beside"
    say mv "../$FIRESTEEL_EXECUTOR_ID" ../away
"#;

fn tries(site: &Site) -> String {
    format!("set -- {} {}\n{TRIES}", site.worker.pid(), site.directory.path().display())
}

fn rights() {
    let site = Site::start(&[]);
    let given = site.path("given");
    fs::write(&given, "for the executor").expect("there is room");
    fs::set_permissions(&given, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let files = given.display().to_string();
    site.done(&[
        "launch",
        "--num-executors",
        "1",
        "--executor-cores",
        "1",
        "--files",
        &files,
        "--",
        "sh",
        "-c",
        &tries(&site),
    ]);
    let user = account().user();
    let directory = site.directories(2).into_iter().find(|path| path.ends_with("0")).expect("the executor's");
    let about = fs::metadata(&directory).expect("it is there");
    assert_eq!((about.uid(), about.permissions().mode() & 0o7777), (user, 0o750));
    for (name, mode) in [("stdout", 0o640), ("stderr", 0o640)] {
        let about = fs::metadata(directory.join(name)).expect("it is there");
        assert_eq!((about.uid(), about.permissions().mode() & 0o7777), (user, mode), "{name}");
    }
    let stdout = fs::read_to_string(directory.join("stdout")).expect("it is there");
    let mut lines = stdout.lines();
    let id = lines.next().unwrap_or_default();
    assert!(id.starts_with("id 65534 65534 nobody nobody nobody /"), "{stdout}");
    let can: Vec<&str> = lines.clone().filter_map(|line| line.strip_prefix("can ")).collect();
    assert_eq!(can, ["test -w .", "touch made", "mkdir sub", "cat given"], "{stdout}");
    assert_eq!(lines.filter(|line| line.starts_with("cannot ")).count(), 8, "{stdout}");
    assert!(!site.worker.log().contains("as root"), "{}", site.worker.log());
}

/// The account is that of the user whom the secret proves, and never of one that a submitter names.
fn users() {
    let site = Site::start_as("*", &[]);
    for name in [NAME, "daemon", "ann"] {
        let granted = run(firesteel()
            .args(["secret", "grant", "user", "--name", name])
            .args([site.path("credentials"), site.path(name)]));
        assert_eq!(granted.code(), 0, "{granted}");
    }
    let launch = [
        "launch",
        "--num-executors",
        "1",
        "--executor-cores",
        "1",
        "--env",
        "FIRESTEEL_USER=root",
        "--",
        "sh",
        "-c",
    ];
    let script = "echo is $(id -un) for $FIRESTEEL_USER, in $HOME; touch made";
    wait_for("the file of a user to be admitted", || (site.run(NAME, &["status"]).code() == 0).then_some(()));
    let done = site.run(NAME, &[&launch[..], &[script]].concat());
    assert_eq!(done.code(), 0, "{done}\n{}", site.worker.log());
    let stdout =
        site.directories(2).into_iter().filter_map(|path| fs::read_to_string(path.join("stdout")).ok());
    let stdout: String = stdout.collect();
    assert!(stdout.contains("is nobody for nobody, in /"), "{stdout}");
    for (file, words) in [
        ("credentials", "no user is proven: submit with a file of firesteel secret grant user --name"),
        ("daemon", "no account here for the user daemon: it is an account of the system's"),
        ("ann", "no account here for the user ann: there is no such account"),
    ] {
        let refused = site.run(file, &[&launch[..], &[script]].concat());
        assert!(refused.code() != 0 && refused.stdout.contains(words), "{refused}");
    }
    let made = site.directories(2).into_iter().filter(|path| path.join("made").exists());
    assert_eq!(made.count(), 1);
}

fn cluster_driver() {
    let site = Site::start(&[]);
    let script = tries(&site);
    let id = site.done(&["submit", "--deploy-mode", "cluster", "--", "sh", "-c", &script]);
    let directory = site.path("work").join(id.trim());
    let stdout = wait_for("the cluster driver's output", || {
        let text = fs::read_to_string(directory.join("stdout")).ok()?;
        text.contains("/away\n").then_some(text)
    });
    assert_eq!(fs::metadata(&directory).expect("it is there").uid(), account().user());
    assert!(stdout.contains("id 65534 65534 nobody"), "{stdout}");
    let can: Vec<&str> = stdout.lines().filter_map(|line| line.strip_prefix("can ")).collect();
    assert_eq!(can, ["test -w .", "touch made", "mkdir sub"], "{stdout}");
}

/// The Worker is root, and writes, reads and removes in directories that belong to somebody else.
fn links() {
    let site = Site::start(&[
        "spark.executor.logs.rolling.strategy=size",
        "spark.executor.logs.rolling.maxSize=2048",
        "spark.executor.logs.rolling.enableCompression=true",
        "spark.executor.logs.rolling.maxRetainedFiles=3",
    ]);
    let precious = site.path("precious");
    fs::create_dir(&precious).expect("there is room");
    let secret = precious.join("secret");
    fs::write(&secret, "the words of root").expect("there is room");
    fs::set_permissions(&precious, fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let script = format!(
        "secret={}; for round in $(seq 300); do
             for name in stdout stderr .stdout.new .stderr.new .stdout--$round.new stdout--2026-11-30 resources.json; do
                 ln -sf $secret $name; done
             rm -rf out; ln -sfn {} out
             seq 200; seq 200 >&2
         done; ls -la >&2",
        secret.display(),
        precious.display()
    );
    site.done(&["launch", "--num-executors", "1", "--executor-cores", "1", "--", "sh", "-c", &script]);
    let app =
        site.directories(1).into_iter().find(|path| path.join("0").is_dir()).expect("the application's");
    let id = app.file_name().expect("it has a name").to_string_lossy().into_owned();
    for stream in ["stdout", "stderr"] {
        let mut logs = firesteel();
        logs.args(["logs", "--master", site.master.url(), &format!("{id}/0")]);
        logs.args((stream == "stderr").then_some("--stderr")).env(CREDENTIALS, site.path("credentials"));
        let shown = run(&mut logs);
        assert!(!shown.to_string().contains("words of root"), "{shown}");
    }
    let words: Vec<String> = fs::read_dir(app.join("0"))
        .expect("it is there")
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|suffix| suffix == "gz"))
        .map(|entry| run(std::process::Command::new("zcat").arg(entry.path())).stdout)
        .collect();
    assert!(words.iter().all(|text| !text.contains("words of root")));
    assert_eq!(fs::read_to_string(&secret).expect("it stays"), "the words of root");
    assert_eq!(fs::metadata(&secret).expect("it stays").uid(), 0);
    fs::remove_dir_all(&app).expect("root may");
    assert!(secret.exists());
}

fn ends() {
    let mut site = Site::start(&["firesteel.worker.killGrace=100ms"]);
    let file = site.path("pid");
    fs::write(&file, "").expect("there is room");
    account().give(&fs::File::open(&file).expect("it is there")).expect("root may");
    let mut launch = firesteel();
    launch.args(["launch", "--master", site.master.url(), "--until", "never", "--num-executors", "1", "--"]);
    let script =
        format!("trap '' TERM; setsid sleep 1000 & echo $! > {}; sleep 1000; sleep 1000", file.display());
    launch.args(["sh", "-c", &script]).env(CREDENTIALS, site.path("credentials"));
    let _launch = Daemon::spawn(&mut launch);
    let pid: u32 = wait_for("the process", || fs::read_to_string(&file).ok()?.trim().parse().ok());
    let is_there = || Path::new(&format!("/proc/{pid}/cmdline")).exists();
    wait_for("its program to begin", || {
        processes::command_line(pid).iter().any(|word| word == "sleep").then_some(())
    });
    site.worker.signal(Signal::SIGTERM);
    assert_eq!(site.worker.wait(), 0);
    assert!(!is_there(), "{}", site.worker.log());
}

fn refused() {
    let directory = open_directory();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).expect("there is room");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("it is ours");
    for (account, work, code, words) in [
        (
            "root",
            directory.path().join("work"),
            78,
            "firesteel.worker.runAs=root: programs of others may not run as root",
        ),
        ("no-such-account", directory.path().join("work"), 78, "there is no such account"),
        (
            NAME,
            closed.join("work"),
            1,
            "the account of the executors cannot enter it, or a directory above it",
        ),
    ] {
        let mut worker = firesteel();
        worker
            .args(["worker", "--port", "0", "--webui-port", "none", "-c", "1", "-m", "1g", "--work-dir"])
            .arg(work);
        worker.args(["--conf", &format!("firesteel.worker.runAs={account}"), "spark://127.0.0.1:1"]);
        let ended = run(&mut worker);
        assert_eq!(ended.code(), code, "{ended}");
        assert!(ended.stderr.contains(words), "{ended}");
    }
}
