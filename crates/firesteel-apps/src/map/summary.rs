//! What a run amounted to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use firesteel_core::driver::{ExclusionCause, FailureCause, TaskOutcome};
use firesteel_core::ids::{AppId, ExecutorId};
use firesteel_core::messages::TaskEnd;
use firesteel_placement::Cores;
use firesteel_placement::locality::Locality;
use serde::{Serialize, Serializer};

use super::items::Content;
use firesteel_host::progress::counted;

/// How many failed items are named to people, and how many at most to programs.
const NAMED: usize = 10;
const NAMED_IN_JSON: usize = 1000;

/// How many hosts on which an item failed are named to people.
const NAMED_HOSTS: usize = 4;

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
    /// How near to their preferred hosts items ended, those that prefer any.
    pub locality: LocalityUse,
    /// Executors and hosts that got no more items for a while, in words, in the order in which that was decided.
    pub excluded: Vec<String>,
    /// Why the run ended early, if it did.
    pub error: Option<String>,
    /// The items that failed, by number: the first 1000 of them.
    pub failures: Vec<Failure>,
    /// How many more failed than are there.
    pub failures_omitted: u64,
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
    /// The hosts where it failed, in the order in which it did.
    pub hosts: Vec<String>,
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

/// How many items with preferred hosts ended how near to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LocalityUse {
    /// On one of them.
    pub host: u64,
    /// In the rack of one.
    pub rack: u64,
    /// Elsewhere.
    pub any: u64,
}

impl LocalityUse {
    fn add(&mut self, locality: Locality) {
        match locality {
            Locality::Host => self.host += 1,
            Locality::Rack => self.rack += 1,
            Locality::Any => self.any += 1,
        }
    }
}

/// Counts while a run goes on.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The summary so far; the executors are filled in at the end.
    pub summary: Summary,
    executors: BTreeMap<ExecutorId, ExecutorUse>,
    /// The first items that failed, by number.
    failures: BTreeMap<u64, Failure>,
    /// Where items that are not over have failed, by number.
    failed_on: BTreeMap<u64, Vec<String>>,
    /// Executors of the application before it was registered anew, whose numbers came again.
    earlier: Vec<ExecutorUse>,
}

impl Tally {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { summary: Summary { schema: 1, ..Summary::default() }, ..Self::default() }
    }

    /// Executors that are ready, and their cores.
    #[must_use]
    pub fn ready(&self) -> (u64, Cores) {
        let ready = self.executors.values().filter(|executor| executor.lost.is_none());
        ready.fold((0, Cores::ZERO), |(count, cores), executor| (count + 1, cores + Cores(executor.cores)))
    }

    /// An executor is ready for tasks. It may be told of twice; its number comes again only after it is lost.
    pub fn add_executor(&mut self, executor: ExecutorId, host: String, cores: Cores) {
        if self.executors.get(&executor).is_some_and(|known| known.lost.is_none()) {
            return;
        }
        let fresh = ExecutorUse { executor: executor.0, host, cores: cores.0, items: 0, lost: None };
        self.earlier.extend(self.executors.insert(executor, fresh));
    }

    /// An executor is lost.
    pub fn lose_executor(&mut self, executor: ExecutorId, why: &dyn fmt::Display) {
        if let Some(executor) = self.executors.get_mut(&executor) {
            executor.lost = Some(why.to_string());
        }
    }

    /// An executor or a host gets no more items for a while.
    pub fn exclude(&mut self, cause: &ExclusionCause) {
        if self.summary.excluded.len() < NAMED {
            self.summary.excluded.push(cause.to_string());
        }
    }

    /// An attempt at an item failed on that host.
    pub fn fail_on(&mut self, number: u64, host: &str) {
        let hosts = self.failed_on.entry(number).or_default();
        if !hosts.iter().any(|other| other == host) {
            hosts.push(host.to_owned());
        }
    }

    /// An item is over.
    pub fn add_outcome(&mut self, number: u64, item: &str, outcome: &TaskOutcome) {
        let item = item.to_owned();
        let hosts = self.failed_on.remove(&number).unwrap_or_default();
        let on = match outcome {
            TaskOutcome::Succeeded { executor, locality, .. } => {
                self.summary.succeeded += 1;
                locality.iter().for_each(|locality| self.summary.locality.add(*locality));
                Some(executor)
            }
            TaskOutcome::Failed { executor, locality, failures, cause, .. } => {
                locality.iter().for_each(|locality| self.summary.locality.add(*locality));
                let (exit_code, failures) = (exit_code(cause), *failures);
                let cause = cause.to_string();
                self.add_failure(Failure { number, item, failures, exit_code, cause, hosts });
                Some(executor)
            }
            TaskOutcome::Unfit(unfit) => {
                let cause = format!("cannot run: {unfit}");
                self.add_failure(Failure { number, item, failures: 0, exit_code: None, cause, hosts });
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
        self.failures.insert(failure.number, failure);
        if self.failures.len() > NAMED_IN_JSON {
            self.failures.pop_last();
        }
    }

    /// The run is over.
    #[must_use]
    pub fn close(self, elapsed: Duration) -> Summary {
        let mut hosts = BTreeMap::<String, HostUse>::new();
        let executors: Vec<_> = self.earlier.into_iter().chain(self.executors.into_values()).collect();
        for executor in &executors {
            let host = hosts.entry(executor.host.clone()).or_default();
            host.executors += 1;
            host.cores += executor.cores;
            host.items += executor.items;
        }
        let failures: Vec<_> = self.failures.into_values().collect();
        let failures_omitted = self.summary.failed.saturating_sub(failures.len() as u64);
        Summary { elapsed, executors, hosts, failures, failures_omitted, ..self.summary }
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
        FailureCause::Ended(TaskEnd::Exited(status)) | FailureCause::FatalExit(status) => {
            Some(status.shell_code())
        }
        FailureCause::Ended(TaskEnd::Killed | TaskEnd::NotStarted(_))
        | FailureCause::ExecutorDied(_)
        | FailureCause::StartsNowhere { .. } => None,
    }
}

/// The lines for people: the count, the executors by host, the items that failed.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}: ", counted(self.items, "item"), seconds(self.elapsed))?;
        write!(f, "{} succeeded, {} failed", self.succeeded, self.failed)?;
        if self.cancelled > 0 {
            write!(f, ", {} cancelled", self.cancelled)?;
        }
        if self.repeated_attempts > 0 {
            write!(f, "; {} repeated", counted(self.repeated_attempts, "attempt"))?;
        }
        for (host, used) in &self.hosts {
            let cores = u64::try_from(used.cores).unwrap_or(0);
            let used = [(used.items, "item"), (used.executors, "executor"), (cores, "core")];
            write!(f, "\n  on {host}: {}", used.map(|(count, noun)| counted(count, noun)).join(", "))?;
        }
        let LocalityUse { host, rack, any } = self.locality;
        if host + rack + any > 0 {
            write!(
                f,
                "\n  of items that prefer hosts: {host} ran on a preferred host, {rack} in the rack of one, {any} elsewhere"
            )?;
        }
        self.excluded.iter().try_for_each(|excluded| write!(f, "\n  {excluded}"))?;
        self.write_failures(f)
    }
}

impl Summary {
    /// One line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a summary has nothing that JSON has not")
    }

    /// How many items failed that people are not told of one by one.
    #[must_use]
    pub fn unnamed(&self) -> u64 {
        self.failed.saturating_sub(NAMED as u64)
    }

    fn write_failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in self.failures.iter().take(NAMED) {
            let Failure { number, item, failures, cause, hosts, .. } = failure;
            write!(f, "\n  failed: item {number} ({item}): {cause}")?;
            if *failures > 1 {
                write!(f, ", after {failures} attempts")?;
                match hosts.len() {
                    0 => {}
                    1..=NAMED_HOSTS => write!(f, " on {}", hosts.join(", "))?,
                    many => write!(f, " on {many} hosts")?,
                }
            }
        }
        match self.unnamed() {
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

#[cfg(test)]
mod tests {
    use firesteel_core::driver::ExecutorLoss;
    use firesteel_core::ids::{AttemptId, TaskId};
    use firesteel_core::process::ExitStatus;

    use super::*;

    fn failed(executor: u32, status: ExitStatus) -> TaskOutcome {
        let attempt = AttemptId { task: TaskId(0), attempt: 3 };
        let cause = FailureCause::Ended(TaskEnd::Exited(status));
        TaskOutcome::Failed { attempt, executor: ExecutorId(executor), locality: None, failures: 4, cause }
    }

    fn tally() -> Tally {
        let mut tally = Tally::new();
        for (executor, host) in [(0, "a"), (1, "b"), (2, "b")] {
            tally.add_executor(ExecutorId(executor), host.into(), Cores(4));
        }
        tally.lose_executor(ExecutorId(2), &"gone");
        let attempt = AttemptId { task: TaskId(0), attempt: 0 };
        tally.add_outcome(
            1,
            "x",
            &TaskOutcome::Succeeded { attempt, executor: ExecutorId(1), locality: Some(Locality::Rack) },
        );
        for host in ["b", "a", "b", "b"] {
            tally.fail_on(2, host);
        }
        tally.add_outcome(2, "y", &failed(2, ExitStatus::Signal(9)));
        tally.add_outcome(3, "z", &TaskOutcome::Cancelled);
        tally.summary.items = 3;
        tally
    }

    #[test]
    fn items_are_counted_where_they_ended() {
        let tally = tally();
        assert_eq!(tally.ready(), (2, Cores(8)));
        let summary = tally.close(Duration::from_millis(1500));
        let hosts = BTreeMap::from([
            ("a".to_owned(), HostUse { executors: 1, cores: 4, items: 0 }),
            ("b".to_owned(), HostUse { executors: 2, cores: 8, items: 2 }),
        ]);
        assert_eq!(summary.hosts, hosts);
        assert_eq!(
            summary.to_string(),
            "3 items in 1.50 s: 1 succeeded, 1 failed, 1 cancelled\
             \n  on a: 0 items, 1 executor, 4 cores\
             \n  on b: 2 items, 2 executors, 8 cores\
             \n  of items that prefer hosts: 0 ran on a preferred host, 1 in the rack of one, 0 elsewhere\
             \n  failed: item 2 (y): signal 9 (SIGKILL), after 4 attempts on b, a"
        );
    }

    #[test]
    fn an_application_that_registered_anew_keeps_count_of_its_earlier_executors() {
        let mut tally = Tally::new();
        for _ in 0..2 {
            tally.lose_executor(ExecutorId(0), &ExecutorLoss::ApplicationReplaced);
            tally.add_executor(ExecutorId(0), "a".to_owned(), Cores(4));
            let attempt = AttemptId { task: TaskId(0), attempt: 0 };
            tally.add_outcome(
                1,
                "x",
                &TaskOutcome::Succeeded { attempt, executor: ExecutorId(0), locality: None },
            );
        }
        let summary = tally.close(Duration::from_secs(1));
        assert_eq!(summary.hosts["a"], HostUse { executors: 2, cores: 8, items: 2 });
        assert_eq!(summary.executors.len(), 2);
    }

    #[test]
    fn an_executor_that_is_told_of_twice_counts_once() {
        let mut tally = Tally::new();
        for _ in 0..2 {
            tally.add_executor(ExecutorId(0), "a".to_owned(), Cores(4));
            let attempt = AttemptId { task: TaskId(0), attempt: 0 };
            let succeeded = TaskOutcome::Succeeded { attempt, executor: ExecutorId(0), locality: None };
            tally.add_outcome(1, "x", &succeeded);
        }
        let summary = tally.close(Duration::from_secs(1));
        assert_eq!(summary.hosts["a"], HostUse { executors: 1, cores: 4, items: 2 });
    }

    #[test]
    fn the_json_has_a_schema_number_and_every_count() {
        let json: serde_json::Value =
            serde_json::from_str(&tally().close(Duration::from_millis(1500)).to_json()).expect("JSON");
        assert_eq!((json["schema"].as_u64(), json["elapsed_ms"].as_u64()), (Some(1), Some(1500)));
        assert_eq!(json["failures"][0]["exit_code"], 137);
        assert_eq!(json["failures"][0]["hosts"], serde_json::json!(["b", "a"]));
        assert_eq!(json["executors"][2]["lost"], "gone");
        assert_eq!(json["locality"], serde_json::json!({ "host": 0, "rack": 1, "any": 0 }));
        assert!(json["app"].is_null() && json["error"].is_null());
    }

    #[test]
    fn only_the_first_failures_are_named() {
        let mut tally = Tally::new();
        for number in (1..=12).rev() {
            tally.add_outcome(number, "x", &failed(0, ExitStatus::Code(1)));
        }
        let text = tally.clone().close(Duration::ZERO).to_string();
        assert!(text.contains("failed: item 1 (x)") && !text.contains("item 11"), "{text}");
        assert_eq!(text.matches("failed: item").count(), 10);
        assert!(text.ends_with("and 2 more failed"), "{text}");
        for number in 13..=1005 {
            tally.add_outcome(number, "x", &failed(0, ExitStatus::Code(1)));
        }
        let summary = tally.close(Duration::ZERO);
        assert_eq!((summary.failures.len(), summary.failures_omitted), (1000, 5));
    }

    #[test]
    fn a_long_item_is_shown_in_part_and_on_one_line() {
        let argument = |text: &str| shown(&Content::Argument(text.into()));
        assert_eq!(argument("a\nb"), "a\u{fffd}b");
        assert_eq!(argument(&"é".repeat(SHOWN)), "é".repeat(SHOWN));
        assert_eq!(argument(&"x".repeat(SHOWN + 1)), format!("{}...", "x".repeat(SHOWN)));
    }

    #[test]
    fn durations_read_well() {
        for (millis, text) in
            [(420, "0.42 s"), (75_000, "75.0 s"), (610_000, "10 min 10 s"), (7_500_000, "2 h 05 min")]
        {
            assert_eq!(seconds(Duration::from_millis(millis)), text);
        }
    }
}
