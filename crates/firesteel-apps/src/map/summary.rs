//! The summary of a run: its counts, failed items and executors, as text and as JSON.

mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_engine::driver::FailureCause;
use firesteel_engine::map::{self, Cause, Ending, Tally};
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::TaskEnd;
use firesteel_protocol::time::millis;
use serde::{Serialize, Serializer};

use super::items::Content;
use super::remarks;
use firesteel_host::plain::{clean, escaped};

/// The maximum number of characters of an item in text output.
const SHOWN: usize = 200;

/// The maximum number of characters of an item in JSON.
const KEPT: usize = 4096;

/// The summary of a run. It serialises as the JSON of `--summary json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Version of this format.
    pub schema: u32,
    /// The last id of the application, once a Master has assigned an id.
    #[serde(serialize_with = "as_text")]
    pub app: Option<AppId>,
    pub items: u64,
    pub succeeded: u64,
    /// Number of items that reached their limit of failures.
    pub failed: u64,
    /// The number of items that had not ended when the run ended early.
    pub cancelled: u64,
    /// The number of items that cannot become a command. At most 1, because the input ends at such an item.
    pub unusable: u64,
    /// The number of items that were never read from the input. `None` if the run ended early and the number is
    /// unknown.
    pub unread: Option<u64>,
    /// The number of items that succeeded but whose output was not printed.
    pub unprinted: u64,
    /// The number of items for another run, as far as known: all items except those that succeeded and were printed.
    pub left: u64,
    /// Number of attempts that were lost and repeated.
    pub repeated_attempts: u64,
    /// Duration of the run from its start to its end.
    #[serde(rename = "elapsed_ms", serialize_with = "as_millis")]
    pub elapsed: Duration,
    /// How near to their preferred hosts the items ran.
    pub locality: LocalityUse,
    /// Executors and hosts that were excluded for some time, as text, in the order of the exclusions.
    #[serde(rename = "exclusions")]
    pub excluded: Vec<String>,
    /// Why the run ended early, if that was an error.
    pub error: Option<String>,
    /// The first 1000 failed items, by number.
    pub failures: Vec<Failure>,
    /// Number of failed items that are not in `failures`.
    pub failures_omitted: u64,
    pub executors: Vec<ExecutorUse>,
    pub hosts: BTreeMap<String, HostUse>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The number of the item, counted from 1.
    pub number: u64,
    /// The item, or its beginning with `...` if it has more than 4096 characters. It can represent [any
    /// bytes](firesteel_protocol::byte_text).
    pub item: String,
    #[serde(rename = "failed_attempts")]
    pub failures: u32,
    /// The exit code of the last attempt, or 128 plus the number of the signal that ended it. `None` if the command
    /// never ran or its end was not observed.
    pub exit_code: Option<i32>,
    /// How the last attempt ended, as text.
    #[serde(rename = "end")]
    pub cause: String,
    /// The hosts of the failed attempts, in order.
    pub hosts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutorUse {
    #[serde(rename = "id")]
    pub executor: u32,
    pub host: String,
    pub cores: i64,
    /// Number of items that ended on this executor, with or without success.
    pub items: u64,
    /// Why the executor was lost. `None` if it was not lost.
    pub lost: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostUse {
    pub executors: u64,
    pub cores: i64,
    pub items: u64,
}

/// Number of items by the distance to their preferred hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LocalityUse {
    /// Number of items that ended on a preferred host.
    #[serde(rename = "preferred_host")]
    pub host: u64,
    /// Number of items that ended in the rack of a preferred host.
    #[serde(rename = "same_rack")]
    pub rack: u64,
    /// Number of items that ended on any other host.
    #[serde(rename = "elsewhere")]
    pub any: u64,
}

impl LocalityUse {
    fn of(used: map::LocalityUse) -> Self {
        let map::LocalityUse { host, rack, any } = used;
        Self { host, rack, any }
    }
}

impl Summary {
    #[must_use]
    pub fn of(tally: &Tally, ending: &Ending, elapsed: Duration) -> Self {
        let totals = tally.totals;
        let executors: Vec<ExecutorUse> = tally.executors().map(ExecutorUse::of).collect();
        let mut hosts = BTreeMap::<String, HostUse>::new();
        for executor in &executors {
            let host = hosts.entry(executor.host.clone()).or_default();
            host.executors += 1;
            host.cores += executor.cores;
            host.items += executor.items;
        }
        let failures: Vec<Failure> = tally.failures.iter().map(Failure::of).collect();
        Self {
            schema: 2,
            app: tally.app.clone(),
            items: totals.taken,
            succeeded: totals.succeeded,
            failed: totals.failed,
            cancelled: totals.cancelled,
            unusable: totals.unusable,
            unread: totals.unread,
            unprinted: totals.unprinted,
            left: totals.left(),
            repeated_attempts: tally.repeated_attempts,
            elapsed,
            locality: LocalityUse::of(tally.locality),
            excluded: tally.excluded.iter().map(ToString::to_string).collect(),
            error: remarks::error(ending),
            failures_omitted: totals.failed.saturating_sub(failures.len() as u64),
            failures,
            executors,
            hosts,
        }
    }

    /// The summary as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        escaped(&serde_json::to_string(self).expect("a summary has nothing that JSON has not"))
    }
}

impl Failure {
    fn of((number, failure): (&u64, &map::Failure)) -> Self {
        let (exit_code, cause) = match &failure.cause {
            Cause::Failed(cause) => (exit_code(cause), cause.to_string()),
            Cause::Unfit(unfit) => (None, format!("cannot run: {unfit}")),
        };
        let map::Failure { words, failures, hosts, .. } = failure.clone();
        Self { number: *number, item: words, failures, exit_code, cause, hosts }
    }
}

impl ExecutorUse {
    fn of(executor: &map::ExecutorUse) -> Self {
        Self {
            executor: executor.executor.0,
            host: executor.host.clone(),
            cores: executor.cores.0,
            items: executor.items,
            lost: executor.lost.as_ref().map(ToString::to_string),
        }
    }
}

/// The text of an item for the summary: unchanged, but shortened if it is very long.
#[must_use]
pub fn kept(content: &Content) -> String {
    beginning(content.to_string(), KEPT)
}

/// The text of an item for a human reader: on one line, and shortened if it is long.
#[must_use]
pub fn shown(item: &str) -> String {
    clean(&beginning(item.to_owned(), SHOWN))
}

fn beginning(mut text: String, most: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(most) {
        text.truncate(at);
        text.push_str("...");
    }
    text
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

fn as_text<S: Serializer>(app: &Option<AppId>, serializer: S) -> Result<S::Ok, S::Error> {
    app.as_ref().map(AppId::as_str).serialize(serializer)
}

fn as_millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    millis(*duration).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use firesteel_engine::driver::{ExecutorLoss, Note, TaskOutcome};
    use firesteel_engine::map::{Config, Event, Item, MapRun, Scope};
    use firesteel_placement::Cores;
    use firesteel_placement::advanced::locality::Locality;
    use firesteel_protocol::ids::{AttemptId, ExecutorId, ProfileId, TaskId};
    use firesteel_protocol::messages::{TaskDirectory, TaskSpec};
    use firesteel_protocol::process::{Command, ExitStatus};
    use firesteel_protocol::{Machine as _, Timestamp};

    use super::*;

    /// A run that has taken this number of items.
    fn run(items: u64) -> MapRun {
        let mut run = MapRun::new(Config {
            scope: Scope::Application,
            profile: ProfileId::DEFAULT,
            items: Some(items),
        });
        let note = |executor, host: &str| {
            let (executor, host) = (ExecutorId(executor), host.to_owned());
            Event::NoteReceived(Note::ExecutorRegistered {
                executor,
                profile: ProfileId::DEFAULT,
                host,
                cores: Cores(4),
            })
        };
        let start = [Event::Start, note(0, "a"), note(1, "b"), note(2, "b")];
        start.into_iter().for_each(|event| tell(&mut run, event));
        for number in 1..=items {
            let command =
                Command { program: "true".to_owned(), arguments: Vec::new(), environment: BTreeMap::new() };
            let (directory, cores) = (TaskDirectory::Executor, Cores(1));
            let request = TaskSpec { command, directory, stdin: Bytes::new(), cores }.into();
            let words = ["x", "y", "z"][usize::try_from(number - 1).expect("it is small") % 3].to_owned();
            tell(&mut run, Event::InputItem(Item { number, words, bytes: 0, request }));
        }
        run
    }

    fn tell(run: &mut MapRun, event: Event) {
        run.apply(Timestamp::default(), event);
    }

    fn fail(run: &mut MapRun, number: u64, executor: u32, status: ExitStatus) {
        let (task, executor) = (TaskId(number), ExecutorId(executor));
        let attempt = AttemptId { task, attempt: 3 };
        let cause = FailureCause::Ended(TaskEnd::Exited(status));
        let outcome = TaskOutcome::Failed { attempt, executor, locality: None, failures: 4, cause };
        tell(run, Event::TaskEnded { task, outcome });
    }

    fn summary(run: &MapRun, millis: u64) -> Summary {
        Summary::of(run.tally(), run.ending(), Duration::from_millis(millis))
    }

    /// A run with one success, one item that failed on two hosts, one cancelled item, and a lost
    /// executor.
    fn mixed() -> MapRun {
        let mut run = run(3);
        let (task, executor, host) = (TaskId(1), ExecutorId(2), "b".to_owned());
        tell(
            &mut run,
            Event::NoteReceived(Note::ExecutorLost {
                executor,
                host,
                loss: ExecutorLoss::Disconnected,
                tasks: 0,
            }),
        );
        let attempt = AttemptId { task, attempt: 0 };
        let outcome =
            TaskOutcome::Succeeded { attempt, executor: ExecutorId(1), locality: Some(Locality::Rack) };
        tell(&mut run, Event::TaskEnded { task, outcome });
        for host in ["b", "a", "b", "b"] {
            let attempt = AttemptId { task: TaskId(2), attempt: 0 };
            let cause = FailureCause::Ended(TaskEnd::Exited(ExitStatus::Code(1)));
            let note =
                Note::TaskFailed { attempt, executor, host: host.to_owned(), cause, failures: 1, limit: 4 };
            tell(&mut run, Event::NoteReceived(note));
        }
        fail(&mut run, 2, 2, ExitStatus::Signal(9));
        tell(&mut run, Event::TaskEnded { task: TaskId(3), outcome: TaskOutcome::Cancelled });
        run
    }

    #[test]
    fn items_are_counted_where_they_ended() {
        let summary = summary(&mixed(), 1500);
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
             \n  of items that prefer hosts: 0 ran on a preferred host, 1 in the same rack as one, 0 elsewhere\
             \n  failed: item 2 (y): signal 9 (SIGKILL), after 4 attempts on b, a"
        );
    }

    #[test]
    fn large_counts_are_all_written_alike() {
        let mut summary = summary(&mixed(), 1500);
        let (many, more) = (1_250, 2_000);
        (summary.items, summary.succeeded, summary.failed, summary.cancelled) = (many, many, many, many);
        (summary.unusable, summary.unread, summary.unprinted) = (many, Some(many), many);
        summary.repeated_attempts = many;
        summary.locality = LocalityUse { host: many, rack: many, any: many };
        summary.hosts.entry("b".to_owned()).or_default().items = more;
        let text = summary.to_string();
        assert_eq!(text.matches("1,250").count(), 10, "{text}");
        assert!(!text.contains("1250") && !text.contains("2000"), "{text}");
    }

    #[test]
    fn every_item_is_in_the_first_line_once() {
        let mut run = run(2);
        let error = "item 3 is too long".to_owned();
        tell(&mut run, Event::InputFailed { error, item: firesteel_engine::map::Unusable::Taken });
        let mut summary = summary(&run, 0);
        (summary.unread, summary.unprinted) = (Some(7), 1);
        (summary.succeeded, summary.cancelled) = (1, 1);
        assert_eq!(
            summary.to_string().lines().next(),
            Some(
                "10 items in 0.00 s: 1 succeeded, 0 failed, 1 cancelled, 1 unusable, 7 not begun; \
                  1 of those that succeeded not printed"
            )
        );
    }

    #[test]
    fn a_run_that_ended_before_its_input_says_so() {
        let mut summary = summary(&mixed(), 1500);
        summary.unread = None;
        let first = "3 items in 1.50 s: 1 succeeded, 1 failed, 1 cancelled; more of the input was not read";
        assert_eq!(summary.to_string().lines().next(), Some(first));
    }

    #[test]
    fn the_json_has_a_schema_number_and_every_count() {
        let json: serde_json::Value = serde_json::from_str(&summary(&mixed(), 1500).to_json()).expect("JSON");
        assert_eq!((json["schema"].as_u64(), json["elapsed_ms"].as_u64()), (Some(2), Some(1500)));
        assert_eq!((json["unread"].as_u64(), json["left"].as_u64()), (Some(0), Some(2)));
        assert_eq!(json["failures"][0]["exit_code"], 137);
        assert_eq!(json["failures"][0]["hosts"], serde_json::json!(["b", "a"]));
        assert!(json["executors"][2]["lost"].is_string());
        assert_eq!(
            json["locality"],
            serde_json::json!({ "preferred_host": 0, "same_rack": 1, "elsewhere": 0 })
        );
        assert!(json["app"].is_null() && json["error"].is_null());
    }

    #[test]
    fn only_the_first_failures_are_named() {
        let mut few = run(12);
        (1..=12).rev().for_each(|number| fail(&mut few, number, 0, ExitStatus::Code(1)));
        let text = summary(&few, 0).to_string();
        assert!(text.contains("failed: item 1 (x)") && !text.contains("item 11"), "{text}");
        assert_eq!(text.matches("failed: item").count(), 10);
        assert!(text.ends_with("and 2 more failed"), "{text}");
        let mut many = run(1005);
        (1..=1005).for_each(|number| fail(&mut many, number, 0, ExitStatus::Code(1)));
        let summary = summary(&many, 0);
        assert_eq!((summary.failures.len(), summary.failures_omitted), (1000, 5));
    }

    #[test]
    fn a_long_item_is_shown_in_part_and_on_one_line() {
        assert_eq!(shown("a\nb"), "a\u{fffd}b");
        assert_eq!(shown(&firesteel_protocol::byte_text::of(b"caf\xe9".to_vec())), "caf\u{fffd}");
        assert_eq!(shown(&"é".repeat(SHOWN)), "é".repeat(SHOWN));
        assert_eq!(shown(&"x".repeat(SHOWN + 1)), format!("{}...", "x".repeat(SHOWN)));
        let argument = |text: &str| kept(&Content::Argument(text.into()));
        assert_eq!(argument("a\nb"), "a\nb");
        assert_eq!(argument(&"é".repeat(KEPT)), "é".repeat(KEPT));
        assert_eq!(argument(&"x".repeat(KEPT + 1)), format!("{}...", "x".repeat(KEPT)));
    }
}
