//! What a run amounted to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use firesteel_core::driver::{FailureCause, TaskOutcome};
use firesteel_core::ids::{AppId, ExecutorId};
use firesteel_core::messages::TaskEnd;
use firesteel_placement::Cores;
use serde::{Serialize, Serializer};

use super::input::Content;

/// How many failed items are named.
const NAMED: usize = 10;

/// How many characters of an item are shown.
const SHOWN: usize = 200;

/// What a run amounted to. Serialises as the JSON of `--summary json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The version of this format.
    pub schema: u32,
    /// The application's last id, once a Master gave one.
    #[serde(serialize_with = "as_text")]
    pub app: Option<AppId>,
    /// Items that were taken from the input.
    pub items: u64,
    /// Of these, items that succeeded.
    pub succeeded: u64,
    /// Items that failed as often as they may.
    pub failed: u64,
    /// Items that were not over when the run ended early.
    pub cancelled: u64,
    /// Attempts that came to nothing and were made again.
    pub repeated_attempts: u64,
    /// From the start to the end.
    #[serde(rename = "elapsed_ms", serialize_with = "as_millis")]
    pub elapsed: Duration,
    /// Why the run ended early, if it did.
    pub error: Option<String>,
    /// The first items that failed.
    pub failures: Vec<Failure>,
    /// Every executor that was used, by number.
    pub executors: Vec<ExecutorUse>,
    /// The same by host.
    pub hosts: BTreeMap<String, HostUse>,
}

/// An item that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The item's number, from 1.
    pub number: u64,
    /// The item, or the beginning of it.
    pub item: String,
    /// How often it failed.
    pub failures: u32,
    /// What the last attempt's command returned; 128 and the signal if one ended it. Unknown if it never ran or
    /// nobody saw it end.
    pub exit_code: Option<i32>,
    /// How the last attempt ended, in words.
    pub cause: String,
}

/// An executor that was ready for tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutorUse {
    /// Its number.
    pub executor: u32,
    /// Its host.
    pub host: String,
    /// Its cores.
    pub cores: i64,
    /// Items that ended on it, well or not.
    pub items: u64,
    /// Why it was lost, if it was.
    pub lost: Option<String>,
}

/// What was used of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostUse {
    /// Executors.
    pub executors: u64,
    /// Their cores, over all of them.
    pub cores: i64,
    /// Items that ended there.
    pub items: u64,
}

/// Counts while a run goes on.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The summary so far; the executors are filled in at the end.
    pub summary: Summary,
    executors: BTreeMap<ExecutorId, ExecutorUse>,
}

impl Tally {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { summary: Summary { schema: 1, ..Summary::default() }, ..Self::default() }
    }

    /// Items that are over, well or not.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.summary.succeeded + self.summary.failed + self.summary.cancelled
    }

    /// Executors that are ready, and their cores.
    #[must_use]
    pub fn ready(&self) -> (u64, Cores) {
        let ready = self.executors.values().filter(|executor| executor.lost.is_none());
        ready.fold((0, Cores::ZERO), |(count, cores), executor| (count + 1, cores + Cores(executor.cores)))
    }

    /// An executor is ready for tasks.
    pub fn add_executor(&mut self, executor: ExecutorId, host: String, cores: Cores) {
        let fresh = ExecutorUse { executor: executor.0, host, cores: cores.0, items: 0, lost: None };
        self.executors.insert(executor, fresh);
    }

    /// An executor is lost.
    pub fn lose_executor(&mut self, executor: ExecutorId, why: &dyn fmt::Display) {
        if let Some(executor) = self.executors.get_mut(&executor) {
            executor.lost = Some(why.to_string());
        }
    }

    /// An item is over.
    pub fn add_outcome(&mut self, number: u64, item: &str, outcome: &TaskOutcome) {
        let item = item.to_owned();
        let on = match outcome {
            TaskOutcome::Succeeded { executor, .. } => {
                self.summary.succeeded += 1;
                Some(executor)
            }
            TaskOutcome::Failed { executor, failures, cause, .. } => {
                let (exit_code, failures) = (exit_code(cause), *failures);
                self.add_failure(Failure { number, item, failures, exit_code, cause: cause.to_string() });
                Some(executor)
            }
            TaskOutcome::TooLong { length, limit } => {
                let cause = format!("a task of {length} bytes is too long to be sent: {limit} are the most");
                self.add_failure(Failure { number, item, failures: 0, exit_code: None, cause });
                None
            }
            TaskOutcome::Cancelled => {
                self.summary.cancelled += 1;
                None
            }
        };
        if let Some(executor) = on.and_then(|on| self.executors.get_mut(on)) {
            executor.items += 1;
        }
    }

    fn add_failure(&mut self, failure: Failure) {
        self.summary.failed += 1;
        if self.summary.failures.len() < NAMED {
            self.summary.failures.push(failure);
        }
    }

    /// The run is over.
    #[must_use]
    pub fn close(self, elapsed: Duration) -> Summary {
        let mut hosts = BTreeMap::<String, HostUse>::new();
        for executor in self.executors.values() {
            let host = hosts.entry(executor.host.clone()).or_default();
            host.executors += 1;
            host.cores += executor.cores;
            host.items += executor.items;
        }
        Summary { elapsed, executors: self.executors.into_values().collect(), hosts, ..self.summary }
    }
}

/// An item as it is shown: on one line, and not too long.
#[must_use]
pub fn shown(content: &Content) -> String {
    let text = content.to_string();
    let mut short: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if short.len() < text.len() && text.chars().nth(SHOWN).is_some() {
        short.push_str("...");
    }
    short
}

fn exit_code(cause: &FailureCause) -> Option<i32> {
    match cause {
        FailureCause::Ended(TaskEnd::Exited(status)) => Some(status.shell_code()),
        FailureCause::Ended(TaskEnd::Killed | TaskEnd::NotStarted(_)) | FailureCause::ExecutorDied(_) => None,
    }
}

/// The lines for people: the count, the executors by host, the items that failed.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items in {}: ", self.items, seconds(self.elapsed))?;
        write!(f, "{} succeeded, {} failed", self.succeeded, self.failed)?;
        if self.cancelled > 0 {
            write!(f, ", {} cancelled", self.cancelled)?;
        }
        if self.repeated_attempts > 0 {
            write!(f, "; {} attempts repeated", self.repeated_attempts)?;
        }
        for (host, used) in &self.hosts {
            write!(f, "\n  on {host}: {} items, ", used.items)?;
            write!(f, "{} executors, {} cores", used.executors, used.cores)?;
        }
        self.write_failures(f)
    }
}

impl Summary {
    /// One line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a summary has nothing that JSON has not")
    }

    fn write_failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            let Failure { number, item, failures, cause, .. } = failure;
            write!(f, "\n  failed: item {number} ({item}): {cause}")?;
            if *failures > 1 {
                write!(f, ", after {failures} attempts")?;
            }
        }
        match self.failed.saturating_sub(self.failures.len() as u64) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more failed"),
        }
    }
}

/// `0.42 s`, `75.0 s`, `2 h 05 min`.
fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.2} s", duration.as_secs_f64()),
        10..600 => format!("{:.1} s", duration.as_secs_f64()),
        600..7200 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn as_text<S: Serializer>(app: &Option<AppId>, serializer: S) -> Result<S::Ok, S::Error> {
    app.as_ref().map(AppId::as_str).serialize(serializer)
}

fn as_millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).serialize(serializer)
}
