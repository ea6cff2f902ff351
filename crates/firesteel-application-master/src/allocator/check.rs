//! The invariants of an allocator after every event.

use std::collections::BTreeMap;
use std::sync::Arc;

use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::machine::{Violation, ensure};

use super::containers::{Residue, Stage};
use super::{Allocator, Phase};

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    running: u64,
    starting: u64,
    on_host: BTreeMap<Arc<str>, u64>,
}

pub(super) fn check(allocator: &Allocator) -> Result<(), Violation> {
    let violated = |sentence| Err(Violation { machine: "allocator", sentence });
    allocator.effects.check("allocator")?;
    let default = allocator.profiles.contains_key(&ProfileId::DEFAULT);
    ensure!("allocator", default, "there is no default profile");
    if let Some(sentence) = allocator.containers.contradiction() {
        return violated(sentence);
    }
    let mut counts = BTreeMap::<ProfileId, Counts>::new();
    for (id, container) in allocator.containers.iter() {
        if let Some(executor) = container.stage.executor() {
            let next = allocator.next_executor;
            ensure!("allocator", executor < next, "executor {executor} of {id} is not below {next}");
        }
        let count = counts.entry(container.profile).or_default();
        match container.stage {
            Stage::Launching(_) => count.starting += 1,
            Stage::Running(_) => count.running += 1,
            Stage::Released(Residue::Nothing | Residue::Executor(_)) => continue,
        }
        *count.on_host.entry(Arc::clone(&container.host)).or_default() += 1;
    }
    for (id, profile) in &allocator.profiles {
        let expected = counts.remove(id).unwrap_or_default();
        let (running, starting, on_host) = (profile.running, profile.starting, profile.on_host.clone());
        let counted = Counts { running, starting, on_host };
        ensure!(
            "allocator",
            counted == expected,
            "profile {id} counts {counted:?}, its containers are {expected:?}"
        );
        if let Some(sentence) = profile.requests.contradiction() {
            return violated(format!("profile {id}: {sentence}"));
        }
    }
    let live = |count: &Counts| count.running + count.starting > 0;
    ensure!("allocator", !counts.values().any(live), "there are executors of no profile: {counts:?}");
    let lives = |executor| allocator.containers.of(executor).is_some();
    if let Some(sentence) = allocator.losses.contradiction(lives) {
        return violated(sentence);
    }
    let quiet = allocator.pace.deadline().is_none() && !allocator.pace.is_called();
    let awake = allocator.phase == Phase::Registered;
    ensure!("allocator", awake != quiet, "its phase is {:?}, its pace {:?}", allocator.phase, allocator.pace);
    Ok(())
}
