//! Why containers end.

/// Why a container's process ended, or why it never ran.
///
/// ```text
///  cause (at fault)                 counts as a failure        excludes its host
///  Ended, Preempted, Manager,       no                         no
///    DriverStopping
///  OverMemory (the executor's)      yes                        no
///  Failed (unknown)                 yes                        yes, if repeated there
/// ```
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("cause")]
pub enum Cause {
    /// The process exited with code 0, as executors do when the cluster asks them to end.
    #[display("it ended with code 0")]
    Ended,
    /// The manager preempted the container for another application.
    #[display("YARN gave its container to another application")]
    Preempted,
    /// The process used more memory than the container has.
    #[display("it used {}", over(*kind, used.as_deref()))]
    OverMemory {
        /// Whether physical or virtual memory was exceeded.
        kind: MemoryKind,
        /// The used and the allowed memory, such as `2.1 GB of 2 GB`, if the manager reports it.
        used: Option<String>,
    },
    /// The manager or the machine ended the container, with this status.
    #[display("the cluster ended its container with status {_0} ({})", manager_words(*_0))]
    Manager(i32),
    /// The process ended in another way, with this status. It exited by itself, was ended by a signal (128 plus the
    /// signal's number), or could not be started as requested.
    #[display("it failed with code {_0}{}", failure_words(*_0).map(|it| format!(" ({it})")).unwrap_or_default())]
    Failed(i32),
    #[display("it ended while the driver was ending")]
    DriverStopping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum MemoryKind {
    /// The size of the processes' address space.
    #[display("virtual")]
    Virtual,
    /// The physical memory that the processes occupy.
    #[display("physical")]
    Physical,
}

impl Cause {
    /// Reads the cause from an exit status and the manager's diagnostics.
    ///
    /// Source: YARN's `ContainerExitStatus`, 3.4.1, and Spark on YARN, 4.0.1.
    #[must_use]
    pub fn of(status: i32, diagnostics: &str) -> Self {
        let over = |kind| Self::OverMemory { kind, used: kind.used(diagnostics) };
        match status {
            0 => Self::Ended,
            -102 => Self::Preempted,
            -103 => over(MemoryKind::Virtual),
            -104 => over(MemoryKind::Physical),
            // The container was aborted, its disks failed, or it was killed: by the ApplicationMaster, by the manager,
            // or after the application's end.
            -100 | -101 | -105 | -106 | -107 => Self::Manager(status),
            _ => Self::Failed(status),
        }
    }

    /// Whether this end counts against the application, against the host, or against neither.
    #[must_use]
    pub fn counts_against(&self) -> CountsAgainst {
        match self {
            Self::Ended | Self::Preempted | Self::Manager(_) | Self::DriverStopping => CountsAgainst::None,
            Self::OverMemory { .. } => CountsAgainst::Application,
            Self::Failed(_) => CountsAgainst::Host,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountsAgainst {
    /// The end does not count as a failure.
    None,
    /// The end counts against the application, which fails after too many such ends.
    Application,
    /// The end also counts against the host, which is excluded after too many such ends.
    Host,
}

impl MemoryKind {
    /// The used memory in the diagnostics, such as `2.1 GB of 2 GB`: the text before ` physical memory used` or `
    /// virtual memory used`.
    fn used(self, diagnostics: &str) -> Option<String> {
        let (before, _) = diagnostics.split_once(&format!(" {self} memory used"))?;
        let words: Vec<&str> = before.split_whitespace().rev().take(5).collect();
        let [unit, most, of, other, amount] = words[..] else { return None };
        let is_unit = |text: &str| matches!(text, "KB" | "MB" | "GB" | "B" | "TB");
        let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
        let sound = of == "of" && is_unit(unit) && is_unit(other) && is_number(most) && is_number(amount);
        sound.then(|| format!("{amount} {other} of {most} {unit}"))
    }
}

fn over(kind: MemoryKind, used: Option<&str>) -> String {
    match used {
        Some(used) => format!("{used} of {kind} memory"),
        None => format!("more {kind} memory than its container has"),
    }
}

fn manager_words(status: i32) -> &'static str {
    match status {
        -100 => "its machine is lost, or it was released",
        -101 => "the machine's disks failed",
        -105 => "as was asked",
        -107 => "after the application's end",
        _ => "it was killed",
    }
}

/// What an exit code of Spark's executors means, in words.
fn failure_words(status: i32) -> Option<String> {
    let words = match status {
        50 => "an uncaught exception",
        51 => "an uncaught exception that could not be logged",
        52 => "out of memory",
        53 => "its local directory could not be made",
        54 | 55 => "its external block store failed",
        56 => "its driver did not answer",
        57 => "a task could not be ended",
        129.. => return Some(format!("signal {}", status - 128)),
        _ => return None,
    };
    Some(words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whose_fault_it_was() {
        for (status, counts_against) in [
            (0, CountsAgainst::None),
            (-100, CountsAgainst::None),
            (-101, CountsAgainst::None),
            (-102, CountsAgainst::None),
            (-103, CountsAgainst::Application),
            (-104, CountsAgainst::Application),
            (-105, CountsAgainst::None),
            (-106, CountsAgainst::None),
            (-107, CountsAgainst::None),
            (-108, CountsAgainst::Host),
            (-1000, CountsAgainst::Host),
            (-1, CountsAgainst::Host),
            (1, CountsAgainst::Host),
            (143, CountsAgainst::Host),
        ] {
            assert_eq!(Cause::of(status, "").counts_against(), counts_against, "{status}");
        }
    }

    #[test]
    fn what_the_manager_says_of_memory_is_repeated() {
        let says = "[pid=12] is running beyond physical memory limits. Current usage: 2.1 GB of 2 GB physical memory \
                    used; 5.8 GB of 4.2 GB virtual memory used. Killing container.";
        for (status, words) in [
            (-104, "it used 2.1 GB of 2 GB of physical memory"),
            (-103, "it used 5.8 GB of 4.2 GB of virtual memory"),
        ] {
            assert_eq!(Cause::of(status, says).to_string(), words);
        }
        for junk in
            ["", "physical memory used", "x GB of y GB physical memory used", "a b c d physical memory used"]
        {
            let cause = Cause::of(-104, junk);
            assert_eq!(cause, Cause::OverMemory { kind: MemoryKind::Physical, used: None }, "{junk}");
        }
        assert_eq!(Cause::of(137, "").to_string(), "it failed with code 137 (signal 9)");
        assert_eq!(Cause::of(56, "").to_string(), "it failed with code 56 (its driver did not answer)");
    }
}
