//! The reaper: a small process between the Worker and one executor, cluster driver or service. It knows which processes
//! belong to it, and ends all of them.
//!
//! - [`process`]: what the reaper does; `message`: what it and the Worker tell each other.
//! - [`handle`]: the Worker's side.
//! - [`control_group`]: the control group of one executor; `restraint`: what a reaper takes from its process.
//!
//! ```text
//! Worker --- reaper of app-1/0 --- executor --- its tasks ..
//!       |                      `-- a process that has lost its parent
//!       `--- reaper of app-1/1 --- ..
//! ```
//!
//! The reaper starts the executor and adopts each descendant that loses its parent ([`children`]). So the processes of
//! the executor are the descendants of the reaper, whatever they do with their group, session or environment. When the
//! executor has ended, the reaper kills its descendants until it has none, and only then reports the end. It does the
//! same at once when the connection to the Worker ends, which the kernel closes even if the Worker was killed.
//!
//! If a reaper is killed, the Worker adopts its descendants and kills them. If the Worker and a reaper are killed
//! together, the descendants are left. The next Worker in the work directory finds them by their control group, and
//! otherwise by the variables that they carry ([`dead_workers`](super::dead_workers)).
//!
//! [`children`]: firesteel_host::children

use std::collections::BTreeSet;
use std::fs;

pub mod control_group;
pub mod handle;
mod message;
pub mod process;
pub mod restraint;

/// The command with which a Worker starts a reaper: `firesteel __reaper <executor>`.
pub const COMMAND: &str = "__reaper";

/// The names of the executors, cluster drivers and services of this machine that have a reaper, whichever Worker
/// started them.
#[must_use]
pub fn names() -> BTreeSet<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| name_in(&fs::read(entry.path().join("cmdline")).ok()?)).collect()
}

/// The name in the command line of a reaper. Its words end with NUL bytes.
fn name_in(command_line: &[u8]) -> Option<String> {
    let mut words = command_line.strip_suffix(b"\0")?.rsplit(|byte| *byte == 0);
    let name = words.next()?;
    (words.next()? == COMMAND.as_bytes()).then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process with the command line of a reaper, which waits.
    pub(crate) fn posing_as(name: &str) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read never", COMMAND, name]).stdin(Stdio::piped());
        let child = shell.spawn().expect("there is sh");
        while !names().contains(name) {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn a_reaper_is_known_by_its_last_words() {
        let name = |words: &[&str]| {
            name_in(words.iter().map(|word| format!("{word}\0")).collect::<String>().as_bytes())
        };
        assert_eq!(name(&["/opt/firesteel", COMMAND, "app-1/3"]), Some("app-1/3".to_owned()));
        assert_eq!(name(&["firesteel", COMMAND, "driver-1"]), Some("driver-1".to_owned()));
        for words in [&["firesteel", COMMAND][..], &[COMMAND, "app-1/3", "x"], &["app-1/3"], &[]] {
            assert_eq!(name(words), None, "{words:?}");
        }
    }
}
