//! The result of an action on a daemon, read from the last line of the script's output.

use std::process::Output;

use super::shell_words;

/// The result of an action on a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Started {
        pid: u32,
        /// The URL on which the daemon listens.
        url: String,
    },
    Running {
        pid: u32,
        /// The URL on which the daemon listens, if the action asks for it.
        url: String,
    },
    /// The daemon was running, and has ended as requested.
    Ended {
        pid: u32,
    },
    Stopped,
    Failed {
        /// The reason, as text.
        why: String,
        /// Whether the machine lacks processes, open files or memory.
        is_shortage: bool,
    },
}

impl Outcome {
    /// Parses the result from the output of the script.
    pub(super) fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        if let Some(outcome) = text.lines().last().and_then(Self::parse) {
            return outcome;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().rev().find(|line| !line.trim().is_empty());
        let why = last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned());
        let is_shortage = shell_words::tell_of_shortage(&why);
        Self::Failed { why, is_shortage }
    }

    fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (pid, url) = rest.split_once(' ').unwrap_or((rest, ""));
        let url = url.trim().to_owned();
        match word {
            "started" => Some(Self::Started { pid: pid.parse().ok()?, url }),
            "running" => Some(Self::Running { pid: pid.parse().ok()?, url }),
            "ended" => Some(Self::Ended { pid: pid.parse().ok()? }),
            "stopped" => Some(Self::Stopped),
            "failed" => Some(Self::Failed { why: rest.to_owned(), is_shortage: false }),
            "short" => Some(Self::Failed { why: rest.to_owned(), is_shortage: true }),
            _ => None,
        }
    }

    /// The URL of a running daemon.
    pub(super) fn url(&self) -> Option<&str> {
        match self {
            Self::Started { url, .. } | Self::Running { url, .. } => {
                Some(url).filter(|url| !url.is_empty()).map(String::as_str)
            }
            Self::Ended { .. } | Self::Stopped | Self::Failed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn check(stdout: &str, stderr: &str, expected: Outcome) {
        let (stdout, stderr) = (stdout.as_bytes().to_vec(), stderr.as_bytes().to_vec());
        let output = Output { status: ExitStatus::from_raw(255 << 8), stdout, stderr };
        assert_eq!(Outcome::of(&output), expected);
    }

    #[test]
    fn the_last_line_says_what_became_of_a_daemon() {
        let url = "spark://node-1:7077".to_owned();
        check("Welcome!\nstarted 7 spark://node-1:7077\n", "", Outcome::Started { pid: 7, url: url.clone() });
        check("running 7 spark://node-1:7077\n", "x", Outcome::Running { pid: 7, url });
        check("running 7\n", "", Outcome::Running { pid: 7, url: String::new() });
        check("ended 7\n", "", Outcome::Ended { pid: 7 });
        check("stopped\n", "", Outcome::Stopped);
        let failed = |is_shortage| Outcome::Failed { why: "it ended at once: no".to_owned(), is_shortage };
        check("failed it ended at once: no\n", "", failed(false));
        check("short it ended at once: no\n", "", failed(true));
    }

    #[test]
    fn without_such_a_line_the_last_words_of_ssh_are_the_reason() {
        let failed = |why: &str, is_shortage| Outcome::Failed { why: why.to_owned(), is_shortage };
        let words = "ssh: connect to host node-9 port 22: No route to host";
        check("", &format!("{words}\n\n"), failed(words, false));
        check("started x\n", "", failed("exit status: 255", false));
        for words in [
            "sh: 41: Cannot fork",
            "sh: fork: Resource temporarily unavailable",
            "sh: 1: .: 3: Too many open files",
        ] {
            check("", words, failed(words, true));
        }
    }
}
