//! The notes of a driver in words.

use std::fmt;

use firesteel_placement::advanced::words::{are, counted, list, none_or};
use firesteel_placement::explain::shortfall::Reason;
use firesteel_protocol::ids::{ExecutorId, ProfileId};

use crate::driver::{ExclusionCause, MasterStatus, Note, Readmission, Replacement};

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MasterUnreachable { master, error, patience } => {
                write!(f, "cannot reach {}, {patience}: {error}", master.url())
            }
            Self::Registered { app, master } => write!(f, "registered with {} as {app}", master.url()),
            Self::MasterLost { master } => {
                write!(f, "lost the connection to {}: tasks go on; reconnecting", master.url())
            }
            Self::Dispute(dispute) => dispute.fmt(f),
            Self::ExecutorAdded { executor, worker, host, cores, memory } => {
                let cores = counted(cores.0, "core");
                write!(f, "executor {executor} is assigned to {worker} on {host}: {cores}, {memory}")
            }
            Self::ExecutorRegistered { executor, profile: _, host, cores } => {
                write!(f, "executor {executor} on {host} is ready: {}", counted(cores.0, "core"))
            }
            Self::ExecutorRefused { executor, reason } => {
                write!(f, "executor {executor} is refused: {reason}")
            }
            Self::ExecutorAbsent { executor, host, waited } => {
                let waited = waited.as_secs();
                write!(
                    f,
                    "executor {executor} on {host} did not register within {waited} s of its start: requesting a \
                     replacement"
                )
            }
            Self::ExecutorLost { executor, host, loss, tasks } => {
                write!(f, "executor {executor} on {host} is lost with {}: {loss}", none_or(*tasks, "task"))
            }
            Self::ExecutorShort { executor, host, failure, running: 0 } => write!(
                f,
                "executor {executor} on {host} can start nothing for now: {failure}; no task fails for that, and it \
                 will try again"
            ),
            Self::ExecutorShort { executor, host, failure, running: _ } => write!(
                f,
                "executor {executor} on {host} can start no more tasks for now: {failure}; no task fails for that, and it \
                 takes others as some end"
            ),
            Self::ExecutorsExcused { executors, late } => write!(
                f,
                "this driver stood still or was busy for {:.1} s; {} get their time again",
                late.as_secs_f64(),
                counted(*executors as u64, "silent executor")
            ),
            Self::TargetSet { profile, total } => {
                write!(f, "the target is {}{}", counted(*total, "executor"), OfProfile(*profile))
            }
            Self::TargetIsDynamic { total } => {
                write!(f, "ignored a target of {}: dynamic allocation sets it", counted(*total, "executor"))
            }
            Self::IdleExecutorsKilled { executors, idle } => {
                write!(f, "asked {} to end after {idle:?} without a task", Numbers(executors))
            }
            Self::IdleExecutorsGivenBack { executors, to } => write!(
                f,
                "asked {} to end without a task: tasks of profile {to} need the room",
                Numbers(executors)
            ),
            Self::ExecutorsKilled { executors, replacement: Replacement::Wanted } => {
                write!(f, "asked {} to end: requesting replacements", Numbers(executors))
            }
            Self::ExecutorsKilled { executors, replacement: Replacement::Unwanted } => {
                write!(f, "asked {} to end: without replacement", Numbers(executors))
            }
            Self::KillUnknown { executors } => write!(f, "cannot end {}: not running", Numbers(executors)),
            Self::ProfileUnknown { profile } => write!(f, "unknown resource profile {profile}"),
            Self::ProfileRefused { profile, reason } => {
                write!(f, "rejected resource profile {profile}: {reason}")
            }
            Self::RequestRefused { request } => write!(f, "the Master refused {request}"),
            Self::WorkerRemoved { worker, host, reason } => {
                write!(f, "{worker} on {host} is gone: {reason}")
            }
            Self::TaskFailed { attempt, executor, host, cause, failures, limit } => {
                write!(
                    f,
                    "task {attempt} failed on executor {executor} on {host}: {cause} ({failures} of {limit} failures)"
                )
            }
            Self::Excluded { cause, timeout } => {
                let what = match cause {
                    ExclusionCause::HostAvoided { .. } => "executors",
                    _ => "tasks",
                };
                write!(f, "{cause}; no more {what} start there for {} s", timeout.as_secs())
            }
            Self::Readmitted { executor, host, why: Readmission::TimeIsUp } => {
                write!(f, "executor {executor} on {host} is no longer excluded: its time is over")
            }
            Self::Readmitted { executor, host, why: Readmission::NoOtherLeft } => {
                write!(f, "executor {executor} on {host} is no longer excluded: no other executor is left")
            }
            Self::Readmitted { executor, host, why: Readmission::OnTrial } => {
                write!(f, "executor {executor} on {host} was excluded for its time: one task is tried there")
            }
            Self::Readmitted { executor, host, why: Readmission::Proven } => {
                write!(
                    f,
                    "executor {executor} on {host} is no longer excluded: a task that was tried did not fail"
                )
            }
            Self::HostsReadmitted { hosts } => {
                write!(f, "{} no longer excluded: no other executor is left", hosts_are(hosts))
            }
            Self::TaskTooLarge { task, cores, largest } => write!(
                f,
                "task {task} needs {}, and the largest executor has {largest}: waiting for a larger one",
                counted(cores.0, "core")
            ),
            Self::NeverFits { profile: _, shortfall } => {
                write!(f, "{shortfall}; the application waits for {}", remedy(&shortfall.reason))
            }
            Self::StillWaiting { shortfalls } => {
                let reasons = shortfalls.iter().map(|(_, shortfall)| shortfall.to_string());
                write!(f, "{}; waiting", joined(reasons))
            }
            Self::NoExecutor { waited, master } => {
                write!(f, "no executor has registered for {} s{}", waited.as_secs(), why_none(master))
            }
            Self::CreditExceeded { executor, attempt, sent, granted } => write!(
                f,
                "dropped executor {executor}: it sent {sent} bytes of the output of task {attempt}, and {granted} were allowed"
            ),
            Self::UnexpectedMessage { peer } => {
                write!(f, "closed connection {peer}: it sent an unexpected message")
            }
            Self::UnexpectedTask { task } => write!(f, "ignored task {task}: it came out of order"),
        }
    }
}

/// What ends the wait of an application that can never get the executors that it asks for.
fn remedy(reason: &Reason) -> &'static str {
    match reason {
        Reason::GangTooLarge { .. } => "more Workers",
        Reason::TooSmall { .. }
        | Reason::LimitReached { .. }
        | Reason::TooFewCoresLeft { .. }
        | Reason::NoWorkers
        | Reason::NotGranted { .. }
        | Reason::Busy { .. }
        | Reason::Held { .. }
        | Reason::GangWaits { .. }
        | Reason::KeptForAnother
        | Reason::Avoided { .. }
        | Reason::Paused { .. }
        | Reason::Excluded { .. }
        | Reason::Impaired { .. }
        | Reason::Labelled { .. } => "a larger Worker",
    }
}

/// Why there is no executor, as the end of a sentence.
fn why_none(master: &MasterStatus) -> String {
    let (shortfalls, unwanted) = match master {
        MasterStatus::Lost => return ", and no Master is connected".to_owned(),
        MasterStatus::Registered { shortfalls, unwanted, .. } => (shortfalls, unwanted),
    };
    if shortfalls.is_empty() && unwanted.is_empty() {
        return ": the assigned ones have not registered yet".to_owned();
    }
    let missing = shortfalls.iter().map(|(profile, shortfall)| match *profile {
        ProfileId::DEFAULT => shortfall.to_string(),
        profile => format!("profile {profile}: {shortfall}"),
    });
    let untargeted =
        unwanted.iter().map(|profile| format!("tasks need one{}, and the target is 0", OfProfile(*profile)));
    format!(": {}", joined(missing.chain(untargeted)))
}

fn joined(reasons: impl Iterator<Item = String>) -> String {
    reasons.collect::<Vec<_>>().join("; ")
}

/// Written as ` of profile 2`, or as nothing for the default profile.
struct OfProfile(ProfileId);

impl fmt::Display for OfProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ProfileId::DEFAULT => Ok(()),
            profile => write!(f, " of profile {profile}"),
        }
    }
}

/// Written as `h1 is`, or `h1 and h2 are`.
fn hosts_are(hosts: &[String]) -> String {
    format!("{} {}", list(hosts), are(hosts.len()))
}

/// Written as `executor 3` or `executors 3, 4`.
struct Numbers<'a>(&'a [ExecutorId]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(numbers) = self;
        f.write_str(if numbers.len() == 1 { "executor" } else { "executors" })?;
        let comma = |at| if at == 0 { "" } else { "," };
        numbers.iter().enumerate().try_for_each(|(at, number)| write!(f, "{} {number}", comma(at)))
    }
}
