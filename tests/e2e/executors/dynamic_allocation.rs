//! Dynamic allocation with real processes: executors start with a backlog and end when they are idle.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use firesteel_testkit::{Daemon, Guarded, firesteel, wait_for};
use tempfile::TempDir;

/// A Master, a Worker of four cores, and a map whose tasks wait for the file `go`.
struct Rig {
    directory: TempDir,
    _worker: Daemon,
    master: Daemon,
    map: Guarded,
}

impl Rig {
    fn start(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(&[]);
        let worker =
            Daemon::worker(&master, &directory.path().join("work"), &["--cores", "4", "--memory", "4g"]);
        let mut map = firesteel();
        map.args(["map", "--master", master.url(), "--executor-cores", "1", "--executor-memory", "64m"]);
        for setting in ["enabled=true", "schedulerBacklogTimeout=100ms"].iter().chain(settings) {
            map.arg("--conf").arg(format!("spark.dynamicAllocation.{setting}"));
        }
        let script = "while [ ! -e go ]; do sleep 0.05; done; echo $1";
        map.args(["--chdir", directory.path().to_str().expect("it is UTF-8")]);
        map.args(["--", "sh", "-c", script, "sh"]);
        map.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let map = Guarded::spawn(&mut map);
        Self { directory, _worker: worker, master, map }
    }

    fn feed(&mut self, items: &str) {
        let stdin = self.map.stdin.as_mut().expect("it is a pipe");
        stdin.write_all(items.as_bytes()).expect("map reads");
    }

    fn go(&self) -> &Path {
        fs::write(self.directory.path().join("go"), "").expect("it can be written");
        self.directory.path()
    }

    /// The numbers of running and of ended executors. Checks that at most `most` ran at a time.
    fn executors(&self, most: usize) -> Option<(usize, usize)> {
        let status = self.master.status();
        let application = status["applications"].as_array()?.first()?;
        let count = |name: &str| Some(usize::try_from(application[name].as_u64()?).expect("it is small"));
        let (live, over) = (count("executors_live")?, count("executors_ended")?);
        assert!(live <= most, "{application:?}");
        Some((live, over))
    }

    fn wait(&self, what: &str, most: usize, is_so: impl Fn(usize, usize) -> bool) {
        wait_for(what, || self.executors(most).filter(|(live, over)| is_so(*live, *over)).map(|_| ()));
    }

    /// Ends the input. Returns the output of map.
    fn finish(mut self) -> String {
        drop(self.map.stdin.take());
        let output = self.map.release().wait_with_output().expect("map ends");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("it is UTF-8")
    }
}

#[test]
fn executors_come_with_a_backlog_and_go_when_they_are_idle() {
    let mut rig = Rig::start(&["maxExecutors=3", "executorIdleTimeout=300ms"]);
    rig.feed("1\n2\n3\n4\n5\n6\n7\n8\n");
    rig.wait("as many executors as there may be", 3, |live, _| live == 3);
    rig.go();
    rig.wait("all to go", 3, |live, over| live == 0 && over >= 3);
    rig.feed("9\n");
    rig.wait("one to come for one item, and go", 1, |live, over| live == 0 && over >= 4);
    assert_eq!(rig.finish(), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

#[test]
fn the_minimum_stays_and_a_busy_executor_is_not_ended() {
    let mut rig = Rig::start(&["minExecutors=1", "initialExecutors=2", "executorIdleTimeout=200ms"]);
    rig.feed("1\n");
    rig.wait("the idle one of two to go, and not the busy one", 2, |live, over| (live, over) == (1, 1));
    rig.feed("2\n");
    rig.wait("another one to come", 2, |live, over| (live, over) == (2, 1));
    rig.go();
    rig.wait("all but the minimum to go", 2, |live, over| (live, over) == (1, 2));
    assert_eq!(rig.finish(), "1\n2\n");
}
