//! The limits that a kernel holds: a Worker in a User Mode Linux, whose control groups have controllers.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::wait::poll;
use libtest_mimic::Trial;

const UML: Component = Component { name: "uml", look: has_user_mode_linux, prepare: || Readiness::Ready };

/// The first process of that Linux.
const INIT: &str = "limits.sh";

/// How long the machine may run.
const LONGEST: Duration = Duration::from_secs(180);

fn has_user_mode_linux() -> Result<(), String> {
    let found = Command::new("linux.uml").arg("--version").output();
    found.map(drop).map_err(|error| format!("linux.uml: {error}"))
}

pub(crate) fn trials() -> Vec<Trial> {
    UML.trials(&[("limits::the_kernel_holds_an_executor_to_its_memory_and_its_threads", held)])
}

fn held() {
    let out = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(out.path().join("ram")).expect("the name is free");
    let init = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tools").join(INIT);
    let variable = |name: &str, value: &str| format!("{name}={value}");
    let console = fs::File::create(out.path().join("console")).expect("it is made");
    let mut machine = Command::new("linux.uml")
        .args(["mem=1000M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "quiet"])
        .args(["con=null", "con0=null,fd:1"])
        .arg(variable("init", &init.display().to_string()))
        // What the kernel does not know becomes a variable of its first process.
        .arg(variable("OUT", &out.path().display().to_string()))
        .arg(variable("FIRESTEEL", env!("CARGO_BIN_EXE_firesteel")))
        .arg(variable("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))
        // Where the machine keeps its memory, as a file.
        .env("TMPDIR", out.path())
        .stdin(Stdio::null())
        .stdout(console.try_clone().expect("a descriptor"))
        .stderr(console)
        .spawn()
        .expect("it was found");
    let ended = poll(LONGEST, || machine.try_wait().expect("it is ours").is_some().then_some(()));
    if ended.is_none() {
        machine.kill().expect("it is ours");
        machine.wait().expect("it is ours");
    }
    let read = |name: &str| fs::read_to_string(out.path().join(name)).unwrap_or_default();
    let expected = [
        "processes in the Worker's own group: 0",
        "memory.max: 469762048",
        "memory.oom.group: 1",
        "pids.max: 30",
        "cpu.max: 200000 100000",
        "cpu.weight: 200",
        "exit code of what takes memory: 137",
        "the kernel ended it, because it needed more memory than its Worker allows: 448 MiB",
        "exit code of what forks: 2",
        "the neighbour runs",
        "groups of the killed Worker: 0",
        "exit code of the Worker: 0",
        "groups after the last Worker: 0",
        "controllers after the last Worker: ",
    ];
    let seen = read("seen");
    let logs = ["errors", "worker.log", "master.log", "launch.log", "console"].map(read).join("\n---\n");
    assert_eq!(seen.lines().collect::<Vec<_>>(), expected, "{logs}");
}
