//! What a daemon reports to the service manager that started it.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use firesteel_testkit::{Daemon, forgetful_master, processes, wait_for};
use nix::sys::signal::Signal;

/// A replacement for systemd.
struct ServiceManager(UnixDatagram);

impl ServiceManager {
    fn wait_for(&self, words: &str) -> String {
        loop {
            let message = self.next(Duration::from_secs(60)).unwrap_or_else(|| panic!("nobody said {words}"));
            if message.contains(words) {
                return message;
            }
        }
    }

    /// Drops the messages received so far.
    fn forget(&self) {
        while self.next(Duration::from_millis(1)).is_some() {}
    }

    /// The next message, if one comes within this time.
    fn next(&self, within: Duration) -> Option<String> {
        self.0.set_read_timeout(Some(within)).expect("it is a time");
        let mut message = [0; 1024];
        loop {
            match self.0.recv(&mut message) {
                Ok(length) => return Some(String::from_utf8_lossy(&message[..length]).into_owned()),
                // Children of other tests end meanwhile.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

#[test]
fn a_service_manager_hears_that_a_master_is_ready_that_its_loop_turns_and_that_it_ends() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let socket = directory.path().join("notify");
    let manager = ServiceManager(UnixDatagram::bind(&socket).expect("the directory is there"));
    let mut command = forgetful_master("0");
    let master = Daemon::start(command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "200000"));
    let ready = manager.wait_for("READY=1");
    assert!(ready.contains(&format!("STATUS=listening on {}", master.url())), "{ready}");
    manager.wait_for("WATCHDOG=1");
    manager.wait_for("WATCHDOG=1");
    master.signal(Signal::SIGSTOP);
    wait_for("the Master to stand still", || processes::is_stopped(master.pid()).then_some(()));
    // Earlier messages come first.
    manager.forget();
    assert_eq!(manager.next(Duration::from_millis(600)), None, "it stands still");
    master.signal(Signal::SIGCONT);
    manager.wait_for("WATCHDOG=1");
    assert_eq!(master.terminate(), 0);
    manager.wait_for("STOPPING=1");
}
