//! Describes applications as text: what each application asks for, what it has and where, and why it has no more.

use std::collections::BTreeMap;

use firesteel_placement::advanced::words::{list, none_or, of_resource};
use firesteel_placement::{Cores, ExecutorLimit, ResourceAmounts};
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::Blocker;
use firesteel_sim::draft::{ApplicationOutcome, DraftApplication, Outcome};

use firesteel_daemons::wording::explanation as explain;

/// The letters of applications. After Z come Greek and Cyrillic letters that do not look like Latin letters.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZΓΔΘΛΞΠΣΦΨΩБДЖИЦЧЩЪЫЭЮЯ";

/// The sign of all applications that have no letter of their own.
const SHARED: char = '#';

pub(super) fn mark(app: usize) -> char {
    LETTERS.chars().nth(app).unwrap_or(SHARED)
}

/// The letter of an application in lower case.
pub(super) fn small_mark(app: usize) -> char {
    mark(app).to_lowercase().next().unwrap_or(SHARED)
}

/// A sentence that says which applications share a sign. `None` if each application has its own letter.
pub(super) fn shared_mark(apps: usize) -> Option<String> {
    let letters = LETTERS.chars().count();
    (apps > letters + 1).then(|| format!("{SHARED} stands for all applications after the first {letters}."))
}

/// The amounts that an application asks for: `64 cores; each 16 cores, 48 GiB and 1 gpu`.
pub(super) fn asks(app: &DraftApplication) -> String {
    let description = &app.description;
    let profile = &description.profile;
    let all = match (description.max_cores, description.initial_limit) {
        (Some(cores), ExecutorLimit::Unlimited) => none_or(cores.0, "core") + &whole(cores, profile.cores),
        (Some(cores), ExecutorLimit::AtMost(limit)) => {
            format!("{} in at most {}", none_or(cores.0, "core"), none_or(limit, "executor"))
        }
        (None, ExecutorLimit::Unlimited) => "as many cores as possible".to_owned(),
        (None, ExecutorLimit::AtMost(limit)) => none_or(limit, "executor"),
    };
    let mut each: Vec<String> = profile.cores.map(|cores| none_or(cores.0, "core")).into_iter().collect();
    each.extend(profile.memory.map(|memory| memory.to_string()));
    each.extend(amounts(&profile.resources));
    let begins = match description.gang {
        0 | 1 => String::new(),
        gang => format!("; gang of {gang}"),
    };
    let kind = match (profile.cores, each.is_empty()) {
        (Some(_), _) => "each",
        (None, false) => "one executor per Worker, each",
        (None, true) => "one executor per Worker",
    };
    format!("{all}; {kind} {}", list(&each)).trim_end().to_owned() + &begins
}

/// The addition ` (196 in 28 executors)`, if whole executors cannot use all the cores. Empty if they can, or if one
/// executor is larger than all the cores.
fn whole(all: Cores, each: Option<Cores>) -> String {
    match each {
        Some(each) if each > Cores::ZERO && all >= each && all.0 % each.0 != 0 => {
            let count = all.0 / each.0;
            format!(" ({} in {})", count * each.0, none_or(count, "executor"))
        }
        Some(_) | None => String::new(),
    }
}

/// The amounts as text, such as `1 gpu`. Amounts of 0 are left out.
fn amounts(resources: &ResourceAmounts) -> Vec<String> {
    let some = resources.iter().filter(|(_, amount)| !amount.is_none());
    some.map(|(name, amount)| of_resource(*amount, name)).collect()
}

/// The places of an application's executors: `cpu-1 ×2, cpu-2`. These are the Workers with most executors, and then the
/// number of other Workers that have some.
pub(super) fn places(outcome: &Outcome, app: usize) -> String {
    const MOST: usize = 4;
    let mut on: BTreeMap<&str, u64> = BTreeMap::new();
    for worker in &outcome.workers {
        let count = worker.executors.iter().filter(|executor| executor.app == app).count() as u64;
        if count > 0 {
            on.insert(worker.id.as_str(), count);
        }
    }
    let mut workers: Vec<(&str, u64)> = on.into_iter().collect();
    workers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others = workers.len().saturating_sub(MOST);
    let named = workers.iter().take(if others == 1 { MOST + 1 } else { MOST });
    let mut words: Vec<String> = named
        .map(|(id, count)| if *count == 1 { (*id).to_owned() } else { format!("{id} ×{count}") })
        .collect();
    if others > 1 {
        words.push(format!("{others} others"));
    }
    words.join(", ")
}

/// Why an application has no more executors, in sentences. Empty if it has everything that it asks for.
pub(super) fn why(app: &ApplicationOutcome) -> Vec<String> {
    let Some(detail) = app.detail.as_ref().filter(|_| app.is_short()) else { return Vec::new() };
    let Some(scheduling) = &detail.scheduling else { return Vec::new() };
    let reasons =
        scheduling.profiles.iter().flat_map(|profile| explain::reasons(detail, scheduling, profile));
    let blocker = scheduling.blocker.clone().map(|blocker| explain::blocker(&signed(blocker)));
    blocker.into_iter().chain(reasons).collect()
}

/// Replaces an application's id with its letter, because the ids in a draft are only indices.
fn signed(blocker: Blocker) -> Blocker {
    match blocker {
        Blocker::Reserved { app, name, backfill } => {
            let sign = app.as_str().parse().map_or(app, |index| AppId::new(mark(index).to_string()));
            Blocker::Reserved { app: sign, name, backfill }
        }
        Blocker::Gang { .. } | Blocker::NeverFits { .. } => blocker,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_first_applications_have_letters_of_their_own_and_the_others_share_a_sign() {
        let letters: BTreeSet<char> = (0..48).flat_map(|app| [mark(app), small_mark(app)]).collect();
        assert_eq!(letters.len(), 2 * 48, "{letters:?}");
        assert_eq!((mark(48), small_mark(49)), (SHARED, SHARED));
        assert_eq!((shared_mark(48), shared_mark(49)), (None, None));
        assert_eq!(shared_mark(50).as_deref(), Some("# stands for all applications after the first 48."));
    }
}
