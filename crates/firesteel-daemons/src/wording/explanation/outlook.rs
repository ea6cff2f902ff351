//! The changes that would allow the next executor, in sentences.

use firesteel_host::plain::clean;
use firesteel_placement::advanced::resources::WHOLE;
use firesteel_placement::advanced::words::{list, none_or, of_resource};
use firesteel_placement::explain::outlook::{Bound, Fit, Lack, Outlook, Remedy, TurnedDown};
use firesteel_placement::explain::shortfall::Amounts;
use firesteel_placement::{Cores, MiB, Quantity};
use firesteel_protocol::messages::{ApplicationDetail, ProfileView};

use super::{cores, target};

/// The resources that Workers lack, whether the executor can ever fit, and what would help. Empty for a profile that
/// was not examined.
pub(super) fn sentences(detail: &ApplicationDetail, profile: &ProfileView) -> Vec<String> {
    let Some(Outlook { bounds, fit, turned_down }) = &profile.outlook else { return Vec::new() };
    let mut all = Vec::new();
    let (is_there, remedies) = match fit {
        Fit::Now => (true, &[][..]),
        Fit::Later(remedies) => (false, &remedies[..]),
        Fit::Never(remedies) => (false, &remedies[..]),
    };
    // If all Workers lack the same, the shortfall's sentence is enough.
    if let ([_, _, ..], false) = (&turned_down[..], is_there) {
        all.push(format!("{}.", lacking(turned_down)));
    }
    let never = matches!(fit, Fit::Never(_));
    if never && !turned_down.is_empty() {
        all.push("It can never fit on this cluster, not even with nothing else on it.".to_owned());
    }
    let first: Vec<String> = bounds.iter().map(|bound| limit_text(detail, *bound)).collect();
    let one_of: Vec<String> = remedies.iter().map(remedy_text).collect();
    all.extend(match (&first[..], &one_of[..], is_there) {
        ([], _, true) | ([], [], false) => None,
        ([_, ..], _, true) => Some(format!("The next executor would fit with {}.", list(&first))),
        ([_, ..], [], false) => {
            Some(format!("The next executor needs {}, and a Worker with room.", list(&first)))
        }
        ([], [_, ..], false) => Some(format!("The next executor would fit {}.", either(&one_of))),
        ([_, ..], [_, ..], false) => {
            Some(format!("The next executor needs {}, and would then fit {}.", list(&first), either(&one_of)))
        }
    });
    all
}

/// The resources that Workers lack: `5 Workers lack 2 to 6 cores, 3 lack 1 GiB of memory`.
fn lacking(turned_down: &[TurnedDown]) -> String {
    let each =
        turned_down.iter().enumerate().map(|(number, TurnedDown { lack, workers, nearest, farthest })| {
            let who = match number {
                0 => none_or(*workers, "Worker"),
                _ => workers.to_string(),
            };
            let lacks = if *workers == 1 { "lacks" } else { "lack" };
            format!("{who} {lacks} {}", between(lack, *nearest, *farthest))
        });
    each.collect::<Vec<_>>().join(", ")
}

fn between(lack: &Lack, nearest: Quantity, farthest: Quantity) -> String {
    let mib = |whole: Quantity| MiB(i64::try_from(whole.thousandths() / WHOLE).unwrap_or(i64::MAX));
    let range = |noun: &str| match nearest == farthest {
        true => of_resource(farthest, noun),
        false => format!("{nearest} to {}", of_resource(farthest, noun)),
    };
    match lack {
        Lack::Cores => range("core"),
        Lack::Memory if nearest == farthest => format!("{} of memory", mib(farthest)),
        Lack::Memory => format!("{} to {} of memory", mib(nearest), mib(farthest)),
        Lack::Resource(name) => range(&clean(name)),
    }
}

/// A higher limit of the application: `--total-executor-cores 24 (4 more)`.
fn limit_text(detail: &ApplicationDetail, bound: Bound) -> String {
    match bound {
        Bound::MoreCores(more) => {
            let most = detail.application.max_cores.unwrap_or(Cores::UNLIMITED);
            format!("--total-executor-cores {} ({} more)", (most + more).0, more.0)
        }
        Bound::Limit(limit) => target(limit),
    }
}

fn remedy_text(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Freed { worker, more } => format!("with {} free on {}", to_free(more), clean(worker)),
        Remedy::ExecutorCores(cores) => format!("with --executor-cores {}", cores.0),
        Remedy::ExecutorMemory(memory) => format!("with --executor-memory {}", size(*memory)),
        Remedy::ExecutorResource { name, amount } => {
            format!("with --executor-resource {}={amount}", clean(name))
        }
        Remedy::ExecutorCoresAndMemory(cores, memory) => {
            format!("with --executor-cores {} and --executor-memory {}", cores.0, size(*memory))
        }
    }
}

/// The resources to free: `2 more cores and 4 GiB more`.
fn to_free(more: &Amounts) -> String {
    let mut parts = Vec::new();
    if more.cores > Cores::ZERO {
        parts.push(cores(more.cores).replacen(' ', " more ", 1));
    }
    if more.memory > MiB::ZERO {
        parts.push(format!("{} more of memory", more.memory));
    }
    let some = more.resources.iter().filter(|(_, amount)| **amount > Quantity::ZERO);
    parts.extend(some.map(|(name, amount)| of_resource(*amount, &clean(name)).replacen(' ', " more ", 1)));
    list(&parts)
}

/// An amount of memory in the notation of the option: `12g`, `1500m`.
fn size(memory: MiB) -> String {
    match memory.0 {
        mib if mib > 0 && mib % 1024 == 0 => format!("{}g", mib / 1024),
        mib => format!("{mib}m"),
    }
}

/// The parts as alternatives: `a, or b`, `a, b, or c`.
fn either(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{}, or {last}", first.join(", ")),
    }
}
