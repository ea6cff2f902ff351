//! Tests of the cleanup in temporary work directories.

use std::fs::FileTimes;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;

const APP: &str = "app-20261121003159-0000";

struct Rig {
    scratch: TempDir,
    directory_cleanup: DirectoryCleanup,
}

impl Rig {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDirectory::open(&scratch.path().join("work")).expect("it can be used");
        Self { directory_cleanup: DirectoryCleanup::new(work), scratch }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory_cleanup.work.path().join(below)
    }

    /// Writes a file, and sets its time and the times of its directories to this number of seconds ago.
    fn write(&self, below: &str, seconds: u64) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        fs::write(&path, below).expect("it can be written");
        let time = SystemTime::now() - Duration::from_secs(seconds);
        for path in path.ancestors().take_while(|path| *path != self.directory_cleanup.work.path()) {
            let file = fs::File::open(path).expect("it can be opened");
            file.set_times(FileTimes::new().set_modified(time)).expect("it is ours");
        }
    }

    fn stale(&self, keep: &[&str]) -> Vec<String> {
        let keep = keep.iter().map(|app| AppId::new(*app)).collect();
        let ago = SystemTime::now() - Duration::from_secs(100);
        let since = ago.duration_since(SystemTime::UNIX_EPOCH).expect("it is later");
        let found = self.directory_cleanup.find_stale(&keep, Timestamp::default() + since);
        found.iter().map(ToString::to_string).collect()
    }

    fn wait_until_gone(&self, path: &Path) {
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while path.exists() {
            assert!(std::time::Instant::now() < deadline, "{} is still there", path.display());
            std::thread::yield_now();
        }
    }
}

#[test]
fn an_application_is_stale_when_nothing_in_its_directory_was_written_for_long_enough() {
    let rig = Rig::new();
    rig.write(&format!("{APP}/0/stdout"), 200);
    rig.write(&format!("{APP}/1/deep/below"), 200);
    assert_eq!(rig.stale(&[]), [APP]);
    assert_eq!(rig.stale(&[APP]), [""; 0], "it lives");
    // The directories above it stay old, since only the file is new.
    let file =
        fs::File::options().append(true).open(rig.path(&format!("{APP}/1/deep/below"))).expect("it is there");
    file.set_times(FileTimes::new().set_modified(SystemTime::now())).expect("it is ours");
    assert_eq!(rig.stale(&[]), [""; 0]);
}

#[test]
fn what_no_master_has_named_is_left_alone() {
    let rig = Rig::new();
    for name in ["data", "app-data", "app-1", "app-20261121003159-000x", "driver-20261121003159", ".hidden"] {
        rig.write(&format!("{name}/file"), 200);
    }
    rig.write("app-20261121003159-0001", 200);
    let elsewhere = rig.scratch.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("it can be made");
    symlink(&elsewhere, rig.path("app-20261121003159-0002")).expect("it can be made");
    assert_eq!(rig.stale(&[]), [""; 0]);
}

#[tokio::test]
async fn a_directory_is_removed_with_its_links_and_not_with_what_they_lead_to() {
    let rig = Rig::new();
    let elsewhere = rig.scratch.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("it can be made");
    fs::write(elsewhere.join("precious"), "kept").expect("it can be written");
    rig.write(&format!("{APP}/0/stdout"), 200);
    symlink(&elsewhere, rig.path(APP).join("0/link")).expect("it can be made");
    let now = Timestamp::from_millis(7);
    rig.directory_cleanup.remove_application(&AppId::new(APP), now);
    assert!(!rig.path(APP).exists(), "it is out of the way at once");
    rig.wait_until_gone(&rig.path(&format!("{REMOVED}{APP}-7")));
    assert!(elsewhere.join("precious").exists());
    rig.directory_cleanup.remove_application(&AppId::new(APP), now);
}

#[test]
fn what_a_worker_could_not_finish_removing_the_next_one_does() {
    let rig = Rig::new();
    rig.write(&format!("{REMOVED}{APP}-7/0/stdout"), 0);
    assert_eq!(rig.stale(&[]), [""; 0]);
    assert!(!rig.path(&format!("{REMOVED}{APP}-7")).exists());
}

#[test]
fn an_application_with_a_process_on_this_machine_is_not_stale_whoever_started_it() {
    let rig = Rig::new();
    let app = format!("app-20200101000000-{}", std::process::id() + 1_000);
    rig.write(&format!("{app}/0/stdout"), 200);
    assert_eq!(rig.stale(&[]), [app.as_str()]);
    let mut reaper = crate::worker::reaper::tests::posing_as(&format!("{app}/0"));
    assert_eq!(rig.stale(&[]), [""; 0]);
    reaper.kill().expect("it is ours");
    reaper.wait().expect("it is ours");
    assert_eq!(rig.stale(&[]), [app]);
}
