//! Why an application has no more executors, in sentences.

mod outlook;

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_host::plain::clean;
use firesteel_placement::advanced::words::{are, counted, duration, have, list, none_or, noun};
use firesteel_placement::explain::advice::{Advice, Change};
use firesteel_placement::explain::shortfall::Reason;
use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, Shortfall};
use firesteel_protocol::messages::{
    ApplicationDetail, Blocker, ExecutorState, ExecutorView, ImpairedWorker, LateWorker, ProfileView,
    SchedulingStatus,
};

use super::application::{heading, shown_state_and_end};
use super::worker;

/// The maximum number of late Workers that are named.
const MOST_LATE: usize = 3;

/// The explanation of an application, one sentence per entry. Sentences about a profile are indented.
#[must_use]
pub fn sentences(detail: &ApplicationDetail) -> Vec<String> {
    let mut all = vec![format!("{}.", heading(detail))];
    let Some(scheduling) = &detail.scheduling else {
        all.extend(ends(detail));
        return all;
    };
    all.push(holds(detail));
    if scheduling.cores_spent > Cores::ZERO {
        all.push(format!(
            "{} of its maximum were used by executors that have ended and are not replaced.",
            cores(scheduling.cores_spent)
        ));
    }
    if let Some(wait) = waits(detail, scheduling) {
        all.push(wait);
    }
    all.extend(exclusions(detail, scheduling));
    all.extend(scheduling.blocker.as_ref().map(blocker));
    for profile in &scheduling.profiles {
        all.extend(of_profile(detail, scheduling, profile));
    }
    if scheduling.profiles.iter().any(needs_room) {
        all.extend(others(scheduling));
    }
    all
}

/// The most important reason why a live application waits, or has less than it asks for. The driver gets the same
/// reason. `None`: the application has everything.
#[must_use]
pub fn brief(detail: &ApplicationDetail) -> Option<String> {
    let scheduling = detail.scheduling.as_ref()?;
    let shortfalls = scheduling.profiles.iter().filter_map(|profile| profile.shortfall.as_ref());
    let lacks = shortfalls.filter(|shortfall| shortfall.is_lack(detail.application.executors_live));
    match lacks.min_by_key(|shortfall| shortfall.reason.rank()) {
        Some(shortfall) => Some(match by_order(scheduling, &shortfall.reason) {
            Some(order) => blocker(order),
            None => sentence(&clean(&shortfall.to_string())),
        }),
        None => scheduling.blocker.as_ref().map(blocker),
    }
}

/// The blocker to add to a reason, if the serving order causes the reason.
fn by_order<'a>(scheduling: &'a SchedulingStatus, reason: &Reason) -> Option<&'a Blocker> {
    match reason {
        Reason::GangTooLarge { .. } | Reason::GangWaits { .. } | Reason::KeptForAnother => {
            scheduling.blocker.as_ref()
        }
        Reason::LimitReached { .. }
        | Reason::TooFewCoresLeft { .. }
        | Reason::NoWorkers
        | Reason::NotGranted { .. }
        | Reason::TooSmall { .. }
        | Reason::Busy { .. }
        | Reason::Held { .. }
        | Reason::Paused { .. }
        | Reason::Impaired { .. }
        | Reason::Excluded { .. }
        | Reason::Avoided { .. }
        | Reason::Labelled { .. }
        | Reason::UserLimit { .. } => None,
    }
}

/// The expected start of an application for which executors' resources are reserved. `None`: nothing is reserved for
/// it, or the time is unknown.
#[must_use]
pub fn expected_start(detail: &ApplicationDetail) -> Option<String> {
    let at = detail.scheduling.as_ref()?.expected_start?;
    let when = match at.since(detail.now) {
        Duration::ZERO => "at any moment".to_owned(),
        rest => format!("in {}", duration(rest)),
    };
    Some(format!("It is expected to start {when}: enough of what runs says that it will have ended by then."))
}

/// The late Workers with executors of the application. These executors may be lost soon. If the application lacks free
/// resources on Workers: all late Workers.
#[must_use]
pub fn late_workers(detail: &ApplicationDetail) -> Option<String> {
    let scheduling = detail.scheduling.as_ref()?;
    let lacks_room = scheduling.profiles.iter().any(needs_room);
    let words = |LateWorker { worker, executors }: &LateWorker| match executors {
        0 => lacks_room.then(|| worker.to_string()),
        own => Some(format!("{worker} with {own} of its executors")),
    };
    let late: Vec<String> = scheduling.late.iter().filter_map(words).collect();
    let (named, more) = late.split_at(late.len().min(MOST_LATE));
    let more = (!more.is_empty()).then(|| counted(more.len(), "other Worker"));
    let named: Vec<String> = named.iter().cloned().chain(more).collect();
    (!named.is_empty())
        .then(|| format!("Late, and lost if silent for spark.worker.timeout: {}.", list(&named)))
}

/// The reason, other than a lack of free resources, that keeps an application waiting.
#[must_use]
pub fn blocker(blocker: &Blocker) -> String {
    sentence(&clean(&blocker.to_string()))
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("{}{}.", first.map(String::from).unwrap_or_default(), letters.as_str())
}

/// The first sentence about an application's executors: `It has 2 executors with 8 cores in all; its maximum is 24
/// cores.`
fn holds(detail: &ApplicationDetail) -> String {
    let app = &detail.application;
    let most = match app.max_cores {
        Some(most) => format!("its maximum is {}", cores(most)),
        None => "it has no maximum of cores".to_owned(),
    };
    match app.executors_live {
        0 => format!("It has no executor; {most}."),
        live => {
            format!("It has {} with {} in all; {most}.", none_or(live, "executor"), cores(app.cores_granted))
        }
    }
}

fn waits(detail: &ApplicationDetail, scheduling: &SchedulingStatus) -> Option<String> {
    let until = scheduling.relaunch_at.filter(|until| *until > detail.now)?;
    let why = last_failed(detail).map(|executor| format!("; {}", logs_of(detail, executor)));
    Some(format!(
        "After {} in a row it is given no new one before {until}, in {}{}.",
        none_or(u64::from(scheduling.failures), "failed executor"),
        duration(until.since(detail.now)),
        why.unwrap_or_default()
    ))
}

/// The Workers on which the application temporarily gets no executors, and why.
fn exclusions(detail: &ApplicationDetail, scheduling: &SchedulingStatus) -> Vec<String> {
    let one = |excluded| format!("Excluded for it: {}.", worker::for_how_long(excluded, detail.now));
    let mut all: Vec<String> = scheduling.excluded.iter().map(one).collect();
    if scheduling.more_excluded > 0 {
        all.push(format!("Excluded for it, too: {}.", none_or(scheduling.more_excluded, "other Worker")));
    }
    all.extend(scheduling.impaired.iter().map(|ImpairedWorker { worker, impairment }| {
        format!("{worker} {}: it is given nothing new for now.", clean(&impairment.to_string()))
    }));
    all
}

/// The latest failed executor that the Master still lists.
fn last_failed(detail: &ApplicationDetail) -> Option<&ExecutorView> {
    detail.application.executors.iter().rev().find(|executor| match executor.state {
        ExecutorState::Exited(status) => status.shell_code() != 0,
        ExecutorState::Failed(_) => true,
        ExecutorState::Launching
        | ExecutorState::Running
        | ExecutorState::Killed(_)
        | ExecutorState::Lost(_) => false,
    })
}

/// The command that shows why an executor failed.
fn logs_of(detail: &ApplicationDetail, executor: &ExecutorView) -> String {
    format!("firesteel logs {} {} --stderr shows what the last one wrote", detail.application.id, executor.id)
}

fn of_profile(
    detail: &ApplicationDetail,
    scheduling: &SchedulingStatus,
    profile: &ProfileView,
) -> Vec<String> {
    let subject = match scheduling.profiles.len() {
        0 | 1 => "It".to_owned(),
        _ => format!("Profile {}", profile.id),
    };
    let mut all = vec![wants(&subject, profile)];
    all.extend(reasons(detail, scheduling, profile).into_iter().map(|reason| format!("  {reason}")));
    all
}

/// The reasons why a profile has no more executors, and the changes that would bring more.
#[must_use]
pub fn reasons(
    detail: &ApplicationDetail,
    scheduling: &SchedulingStatus,
    profile: &ProfileView,
) -> Vec<String> {
    let mut all = Vec::new();
    match &profile.shortfall {
        // What applies to the whole application was already said.
        Some(Shortfall { reason: Reason::Paused { .. }, .. }) => {}
        Some(Shortfall { reason, .. }) if by_order(scheduling, reason).is_some() => {}
        Some(shortfall) => all.push(sentence(&clean(&without_holder(shortfall).to_string()))),
        // The profile lacks no room: something else keeps it waiting, which was explained above.
        None if profile.may_have_more && profile.with_room > 0 && scheduling.blocker.is_some() => {}
        None if profile.may_have_more && profile.with_room > 0 => {
            all.push(format!("{} for one more now.", workers_have_room(profile.with_room)));
        }
        None if profile.may_have_more => {
            all.push(
                "It takes more as soon as a Worker has room, and none has room for one more now.".to_owned(),
            );
        }
        None => all.push("It has all that it asked for.".to_owned()),
    }
    match profile.shortfall.as_ref().map(|shortfall| &shortfall.reason) {
        Some(Reason::Busy { .. } | Reason::Held { .. }) => all.push(format!(
            "An executor would fit on {} of {} if nothing else ran there.",
            profile.large_enough,
            none_or(scheduling.cluster.workers, "Worker")
        )),
        Some(Reason::LimitReached { .. }) => {
            all.push(
                "The driver set this target, from the requested number of executors or by dynamic allocation."
                    .to_owned(),
            );
        }
        Some(
            Reason::TooFewCoresLeft { .. }
            | Reason::NoWorkers
            | Reason::NotGranted { .. }
            | Reason::TooSmall { .. }
            | Reason::GangTooLarge { .. }
            | Reason::GangWaits { .. }
            | Reason::KeptForAnother
            | Reason::Impaired { .. }
            | Reason::Avoided { .. }
            | Reason::Labelled { .. },
        )
        | None => {}
        // The application waits for time or for its user: no change to its request would help.
        Some(Reason::Excluded { .. } | Reason::Paused { .. } | Reason::UserLimit { .. }) => return all,
    }
    // A profile that has all requested executors needs no advice.
    if profile.shortfall.is_none() && !profile.may_have_more {
        return all;
    }
    all.extend(outlook::sentences(detail, profile));
    all.extend(profile.advice.iter().map(|advice| advised(detail, profile, advice)));
    all
}

/// The shortfall without the holders of cores, since the explanation lists the holders separately.
fn without_holder(shortfall: &Shortfall) -> Shortfall {
    match &shortfall.reason {
        Reason::Held { workers, .. } => {
            Shortfall { reason: Reason::Busy { workers: workers.clone() }, ..shortfall.clone() }
        }
        _ => shortfall.clone(),
    }
}

/// Whether the profile lacks free resources on Workers.
fn needs_room(profile: &ProfileView) -> bool {
    match profile.shortfall.as_ref().map(|shortfall| &shortfall.reason) {
        Some(Reason::Busy { .. } | Reason::Held { .. }) => true,
        Some(
            Reason::LimitReached { .. }
            | Reason::TooFewCoresLeft { .. }
            | Reason::NoWorkers
            | Reason::NotGranted { .. }
            | Reason::TooSmall { .. }
            | Reason::GangTooLarge { .. }
            | Reason::GangWaits { .. }
            | Reason::KeptForAnother
            | Reason::Excluded { .. }
            | Reason::Avoided { .. }
            | Reason::Paused { .. }
            | Reason::Impaired { .. }
            | Reason::Labelled { .. }
            | Reason::UserLimit { .. },
        ) => false,
        None => profile.may_have_more && profile.with_room == 0,
    }
}

/// The sentence about a profile: `It wants any number of executors of 4 cores and 1 GiB of memory; it has 2.`
fn wants(subject: &str, profile: &ProfileView) -> String {
    let size = match profile.size {
        ExecutorSize::Fixed(each) => cores(each),
        ExecutorSize::OnePerWorker => "all cores of a Worker".to_owned(),
    };
    let mut each = vec![size, format!("{} of memory", profile.memory)];
    each.extend(profile.resources.iter().map(|(name, amount)| format!("{amount} {}", clean(name))));
    let most = match profile.limit {
        ExecutorLimit::Unlimited => "any number of executors".to_owned(),
        ExecutorLimit::AtMost(limit) => format!("at most {}", counted(limit, "executor")),
    };
    format!("{subject} wants {most} of {}; it has {}.", list(&each), profile.held)
}

/// The sentence about an item of advice: `With --executor-cores 2, 3 more executors with 6 cores in all would be placed
/// at once.`
fn advised(detail: &ApplicationDetail, profile: &ProfileView, advice: &Advice) -> String {
    let most = detail.application.max_cores.unwrap_or(Cores::UNLIMITED);
    let instead = match advice.change {
        Change::ExecutorCores(each) => format!("--executor-cores {}", each.0),
        Change::ExecutorMemory(memory) => format!("--executor-memory {}m", memory.0),
        Change::ExecutorCoresAndMemory(each, memory) => {
            format!("--executor-cores {} and --executor-memory {}m", each.0, memory.0)
        }
        Change::MoreCores(more) => format!("--total-executor-cores {}", (most + more).0),
        Change::ExecutorLimit(limit) => target(limit),
    };
    let more = if profile.held > 0 { "more " } else { "" };
    let noun = noun(advice.executors, "executor");
    format!(
        "With {instead}, {} {more}{noun} with {} in all would be placed at once.",
        advice.executors,
        cores(advice.cores)
    )
}

/// The options that set the limit on the number of executors to this number.
fn target(limit: u64) -> String {
    format!(
        "--num-executors {limit} (or spark.dynamicAllocation.maxExecutors={limit}, or request {limit} in its shell)"
    )
}

fn others(scheduling: &SchedulingStatus) -> Vec<String> {
    let cluster = &scheduling.cluster;
    let mut all = vec![format!(
        "The cluster has {} with {} and {} of memory, of which {} and {} are free.",
        none_or(cluster.workers, "Worker"),
        cores(cluster.cores),
        cluster.memory,
        cores(cluster.cores_free),
        cluster.memory_free
    )];
    if !scheduling.holders.is_empty() {
        let mut holders: Vec<String> = scheduling
            .holders
            .iter()
            .map(|holder| {
                let with = none_or(holder.executors, "executor");
                format!("{} ({}) has {} in {with}", holder.app, clean(&holder.name), cores(holder.cores))
            })
            .collect();
        if scheduling.more_holders > 0 {
            holders.push(format!("{} have the rest", none_or(scheduling.more_holders, "other application")));
        }
        all.push(format!("Other applications hold cores: {}.", list(&holders)));
    }
    if scheduling.ahead > 0 {
        all.push(format!(
            "{} came earlier, may still have more, and {} served first.",
            none_or(scheduling.ahead, "other application"),
            are(scheduling.ahead)
        ));
    }
    all
}

fn ends(detail: &ApplicationDetail) -> Vec<String> {
    let app = &detail.application;
    if app.executors_ended == 0 {
        return vec!["It never had an executor.".to_owned()];
    }
    let mut by_end: BTreeMap<String, u64> = BTreeMap::new();
    for executor in &app.executors {
        *by_end.entry(clean(&shown_state_and_end(app, executor))).or_default() += 1;
    }
    let each: Vec<String> = by_end.iter().map(|(end, count)| format!("{count} {end}")).collect();
    let had = none_or(app.executors_ended, "executor");
    let mut all = vec![match app.executors_forgotten {
        0 => format!("It had {had}: {}.", list(&each)),
        forgotten => format!("It had {had}, of which {forgotten} are no longer listed: {}.", list(&each)),
    }];
    if let Some(executor) = last_failed(detail) {
        let (app, id) = (&app.id, executor.id);
        let (host, directory) = (clean(&executor.host), clean(&executor.directory));
        all.push(format!(
            "firesteel logs {app} {id} --stderr shows what the last failed one wrote, on {host} in {directory}."
        ));
    }
    all
}

fn workers_have_room(workers: u64) -> String {
    format!("{} {} room", counted(workers, "Worker"), have(workers))
}

fn cores(cores: Cores) -> String {
    none_or(cores.0.unsigned_abs(), "core")
}

#[cfg(test)]
mod tests;
