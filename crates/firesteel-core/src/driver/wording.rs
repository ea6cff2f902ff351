//! The notes of a driver in words.

use std::fmt;

use firesteel_placement::shortfall::Reason;

use super::{MasterStanding, Note, Readmission, Replacement};
use crate::ids::{ExecutorId, ProfileId};

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MasterUnreachable { master, error, patience } => {
                write!(f, "{} is not reached yet, and {patience}: {error}", master.url())
            }
            Self::Registered { app, master } => write!(f, "registered with {} as {app}", master.url()),
            Self::MasterLost { master } => {
                write!(f, "the connection to {} ended: tasks go on, and it is dialled again", master.url())
            }
            Self::ExecutorAdded { executor, worker, host, cores, memory } => {
                write!(f, "executor {executor} is assigned to {worker} on {host}: {cores} cores, {memory}")
            }
            Self::ExecutorRegistered { executor, profile: _, host, cores } => {
                write!(f, "executor {executor} on {host} is ready: {cores} cores")
            }
            Self::ExecutorRefused { executor, reason } => {
                write!(f, "executor {executor} is refused: {reason}")
            }
            Self::ExecutorAbsent { executor, host, waited } => {
                let waited = waited.as_secs();
                write!(
                    f,
                    "executor {executor} on {host} has run for {waited} s without a word: another one is asked for"
                )
            }
            Self::ExecutorLost { executor, host, loss, tasks } => {
                write!(f, "executor {executor} on {host} is lost: {loss}; tasks that ran there: {tasks}")
            }
            Self::TargetSet { profile, total } => {
                write!(f, "{total} executors are wanted in all{}", OfProfile(*profile))
            }
            Self::TargetIsDynamic { total } => {
                write!(
                    f,
                    "dynamic allocation decides how many executors there are: the wish for {total} is ignored"
                )
            }
            Self::IdleExecutorsKilled { executors, idle } => {
                write!(f, "{} had nothing to do for {idle:?}: asked to end", Numbers(executors))
            }
            Self::ExecutorsKilled { executors, replacement } => {
                let others = match replacement {
                    Replacement::Wanted => "others come in their place",
                    Replacement::Unwanted => "no others come in their place",
                };
                write!(f, "asked to end {}: {others}", Numbers(executors))
            }
            Self::KillUnknown { executors } => write!(f, "there is no {} to end", Numbers(executors)),
            Self::ProfileUnknown { profile } => write!(f, "there is no resource profile {profile}"),
            Self::ProfileRefused { profile, reason } => {
                write!(f, "resource profile {profile} is not taken: {reason}")
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
                write!(f, "{cause}; no more tasks run there for {} s", timeout.as_secs())
            }
            Self::Readmitted { executor, host, why: Readmission::TimeIsUp } => {
                write!(f, "executor {executor} on {host} gets tasks again: its exclusion is over")
            }
            Self::Readmitted { executor, host, why: Readmission::NoOtherLeft } => {
                write!(f, "executor {executor} on {host} gets tasks again: there is no other one left")
            }
            Self::HostsReadmitted { hosts } => {
                write!(f, "{} may have executors again: there is no other one left", hosts.join(", "))
            }
            Self::TaskTooLarge { task, cores, largest } => write!(
                f,
                "task {task} takes {cores} cores, and the largest executor has {largest}: it waits for a larger one"
            ),
            Self::NeverFits { profile: _, shortfall } => {
                let wanted = match shortfall.reason {
                    Reason::GangTooLarge { .. } => "more Workers",
                    Reason::TooSmall { .. }
                    | Reason::LimitReached { .. }
                    | Reason::TooFewCoresLeft { .. }
                    | Reason::NoWorkers
                    | Reason::NotGranted { .. }
                    | Reason::Busy { .. }
                    | Reason::GangWaits { .. }
                    | Reason::KeptForAnother => "a larger Worker",
                };
                write!(f, "{shortfall}; the application waits for {wanted}")
            }
            Self::NoExecutor { waited, master: MasterStanding::Registered { shortfalls, unwanted, .. } } => {
                write!(f, "no executor has come for {} s: ", waited.as_secs())?;
                let mut reasons: Vec<String> = Vec::new();
                for (profile, shortfall) in shortfalls {
                    reasons.push(match *profile {
                        ProfileId::DEFAULT => shortfall.to_string(),
                        profile => format!("profile {profile}: {shortfall}"),
                    });
                }
                for profile in unwanted {
                    reasons.push(format!("tasks wait for one{}, and none is wanted", OfProfile(*profile)));
                }
                if reasons.is_empty() {
                    return f.write_str("those assigned have not registered yet");
                }
                f.write_str(&reasons.join("; "))
            }
            Self::NoExecutor { waited, master: MasterStanding::Lost } => {
                write!(f, "no executor has come for {} s, and no Master is connected", waited.as_secs())
            }
            Self::CreditExceeded { executor, attempt, sent, granted } => write!(
                f,
                "executor {executor} sent {sent} bytes of task {attempt}'s output and might send {granted}: it is given up"
            ),
            Self::UnexpectedMessage { peer } => {
                write!(f, "connection {peer} sent a message that it may not send now: it is closed")
            }
            Self::UnexpectedTask { task } => write!(f, "task {task} came out of order: it is ignored"),
        }
    }
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
