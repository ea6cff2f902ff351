//! Runs a script on another machine by ssh, or on this machine.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use firesteel_protocol::host::plain_or_as_given;

/// The options of ssh if `SPARK_SSH_OPTS` is not set. ssh must not ask questions, because several machines are reached
/// at the same time.
const OPTIONS: &[&str] = &["-o", "StrictHostKeyChecking=accept-new", "-o", "ConnectTimeout=10"];
const NO_QUESTIONS: &[&str] = &["-o", "BatchMode=yes"];

/// The way in which scripts are run on other machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteShell {
    /// The options of ssh. `None`: Firesteel's default options.
    options: Option<Vec<String>>,
    /// Whether machines are reached one after the other, so that ssh can ask for a password.
    is_foreground: bool,
}

impl RemoteShell {
    /// Takes the values of `SPARK_SSH_OPTS` and `SPARK_SSH_FOREGROUND`.
    ///
    /// Source: Spark 4.0.1 (`sbin/workers.sh`), where the default option is `StrictHostKeyChecking=no`.
    #[must_use]
    pub fn new(options: Option<&str>, foreground: Option<&str>) -> Self {
        let options = options.map(|text| text.split_whitespace().map(str::to_owned).collect());
        Self { options, is_foreground: foreground.is_some_and(|value| !value.is_empty()) }
    }

    /// How many machines are reached at the same time, out of `hosts` machines.
    pub(super) fn at_once(&self, hosts: usize) -> usize {
        if self.is_foreground { 1 } else { hosts.clamp(1, 64) }
    }

    /// Runs a script on a machine, and blocks until the script has ended.
    ///
    /// # Errors
    /// The shell or ssh cannot be started.
    pub(super) fn run(&self, host: &str, script: &str) -> io::Result<Output> {
        let mut command = if is_here(host) {
            let mut command = Command::new("sh");
            command.arg("-s");
            command
        } else {
            let mut command = Command::new("ssh");
            match &self.options {
                Some(options) => command.args(options),
                None if self.is_foreground => command.args(OPTIONS),
                None => command.args(OPTIONS).args(NO_QUESTIONS),
            };
            command.args(["--", &for_ssh(host), "sh -s"]);
            command
        };
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().expect("it is piped");
        // The POSIX shell may have ended without reading: its exit status says why. The script fits into the buffer of
        // a pipe.
        let _ = stdin.write_all(script.as_bytes());
        drop(stdin);
        child.wait_with_output()
    }
}

/// The host in the form that ssh expects: an IPv6 address without brackets.
fn for_ssh(host: &str) -> String {
    match host.rsplit_once('@') {
        Some((user, host)) => format!("{user}@{}", plain_or_as_given(host)),
        None => plain_or_as_given(host),
    }
}

/// Whether a host of the file is this machine, so that ssh is not needed.
pub(super) fn is_here(host: &str) -> bool {
    matches!(plain_or_as_given(host).to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "::1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreground_takes_one_machine_at_a_time() {
        assert_eq!(RemoteShell::new(None, Some("yes")).at_once(50), 1);
        assert_eq!(RemoteShell::new(None, None).at_once(5), 5);
        assert_eq!(RemoteShell::new(Some("-p 2222"), Some("")).at_once(1000), 64);
    }

    #[test]
    fn ssh_gets_ipv6_addresses_without_brackets() {
        for (host, word) in [
            ("node-1", "node-1"),
            ("ann@node_1", "ann@node_1"),
            ("[fe80::1%eth0]", "fe80::1%eth0"),
            ("ann@[FD00:0:0::2]", "ann@fd00::2"),
        ] {
            assert_eq!(for_ssh(host), word);
        }
    }

    #[test]
    fn a_script_runs_here_without_ssh() {
        let done = RemoteShell::default().run("localhost", "echo $((6 * 7))").expect("there is a shell");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "42\n");
    }
}
