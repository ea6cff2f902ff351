//! The needs of tasks by profile and custom resource, and the law for the executors that may run a task.

use std::collections::BTreeMap;

use firesteel_engine::driver::Allocation;
use firesteel_placement::advanced::resources::without_kind;
use firesteel_placement::advanced::resources::{TaskAmount, TaskResources};
use firesteel_placement::{Amount, Cores, MiB, Part, Quantity, Resources};
use firesteel_protocol::ids::{AttemptId, ExecutorId, ProfileId};
use firesteel_protocol::messages::ResourceProfile;

use super::{AppKind, AppPlan, TaskFate, TaskPlan};
use crate::cluster::processes::programs::ExecutorProcess;
use firesteel_sim::dice::Dice;

/// The first profile of scenarios. Profiles that users add during the run have smaller numbers.
const FIRST: u32 = 10;
/// A profile that is never added to any driver.
const NOBODYS: ProfileId = ProfileId(99);
/// The unit for all amounts of tasks and all parts of executors' addresses. Each is a multiple of this.
const WHOLE: u64 = 3000;

impl AppPlan {
    /// Chooses random profiles and custom resources for tasks.
    pub(crate) fn roll_needs(&mut self, dice: &mut Dice) {
        if !matches!(self.kind, AppKind::Driver) {
            return;
        }
        let gpus = self.description.profile.resources.get("gpu").copied();
        if dice.one_in(3) && self.tasks.len() < 100 {
            for number in 0..u32::try_from(dice.between(1, 2)).expect("it is small") {
                let mut needs = ResourceProfile {
                    // No task takes more than 4 cores.
                    cores: dice.one_in(2).then_some(Cores(4)),
                    memory: dice.one_in(2).then_some(MiB(512)),
                    ..ResourceProfile::default()
                };
                if gpus.is_some() && dice.one_in(2) {
                    needs.resources.insert("gpu".to_owned(), Amount::Whole(dice.between(1, 2)));
                }
                self.profiles.push((ProfileId(FIRST + number), needs));
            }
        }
        if let (false, Allocation::Dynamic(bounds)) = (self.profiles.is_empty(), &mut self.allocation) {
            // Idle executors that one profile keeps might never become free for another profile.
            bounds.min = 0;
        }
        let amounts: BTreeMap<ProfileId, TaskAmount> = self
            .all_profiles()
            .filter_map(|(id, needs)| Some((id, *needs.resources.get("gpu")?)))
            .filter(|(_, each)| !each.is_none())
            .map(|(id, each)| (id, rolled_amount(dice, each.addresses())))
            .collect();
        let ids: Vec<ProfileId> = self.all_profiles().map(|(id, _)| id).collect();
        let binds = dice.one_in(4);
        for (number, task) in (0..).zip(&mut self.tasks) {
            task.profile = if dice.one_in(2) { *dice.pick(&ids) } else { ProfileId::DEFAULT };
            if let Some(amount) = amounts.get(&task.profile).filter(|_| !dice.one_in(4)) {
                task.resources.insert("gpu".to_owned(), *amount);
            }
            // A task that prefers another host is not bound to an executor.
            if binds && dice.one_in(5) && !self.locality.hosts.contains_key(&number) {
                task.on = Some(ExecutorId(u32::try_from(dice.below(4)).expect("it is small")));
                // More than any executor has.
                if number % 16 == 7 {
                    task.cores = Cores(1_000);
                }
            }
            if dice.one_in(300) {
                task.fate = TaskFate::Unfit;
                match dice.one_in(2) {
                    true => task.profile = NOBODYS,
                    false => _ = task.resources.insert("gpu".to_owned(), TaskAmount::Whole(9)),
                }
            }
        }
    }

    /// Lets executors share addresses and name the kinds of resources. This affects every second application with
    /// custom resources, and its tasks.
    pub(crate) fn roll_shares(&mut self, dice: &mut Dice) {
        let with_gpus =
            |needs: &ResourceProfile| needs.resources.get("gpu").is_some_and(|amount| !amount.is_none());
        let mut amounts = BTreeMap::new();
        let others = self.profiles.iter_mut().map(|(id, needs)| (*id, needs));
        for (id, needs) in std::iter::once((ProfileId::DEFAULT, &mut self.description.profile)).chain(others)
        {
            if !with_gpus(needs) || dice.one_in(3) {
                continue;
            }
            let asked = needs.resources.remove("gpu").unwrap_or_default();
            let name = if dice.one_in(3) { *dice.pick(&["gpu:A", "gpu:B"]) } else { "gpu" };
            let part = Part::of(*dice.pick(&[100, 250, 250, 500, 600])).map(Amount::Part);
            let amount = if dice.one_in(3) { asked } else { part.unwrap_or(asked) };
            needs.resources.insert(name.to_owned(), amount);
            amounts.insert(id, amount);
        }
        for task in &mut self.tasks {
            let (Some(amount), false) = (amounts.get(&task.profile), task.fate == TaskFate::Unfit) else {
                continue;
            };
            if let (Amount::Part(part), Some(own)) = (amount, task.resources.get_mut("gpu")) {
                let half = Part::of(part.thousandths() / 2).unwrap_or(*part);
                *own = TaskAmount::Part(if dice.one_in(2) { half } else { *part });
            }
        }
    }

    /// All profiles with the needs of their executors. The default profile comes first.
    pub(crate) fn all_profiles(&self) -> impl Iterator<Item = (ProfileId, &ResourceProfile)> {
        let others = self.profiles.iter().map(|(id, needs)| (*id, needs));
        std::iter::once((ProfileId::DEFAULT, &self.description.profile)).chain(others)
    }

    pub(crate) fn profile_of(&self, task: u64) -> ProfileId {
        let task = usize::try_from(task).ok().and_then(|task| self.tasks.get(task));
        task.map_or(ProfileId::DEFAULT, |task| task.profile)
    }
}

fn rolled_amount(dice: &mut Dice, each: u64) -> TaskAmount {
    match dice.below(4) {
        0 => TaskAmount::Whole(u32::try_from(dice.between(1, each)).expect("it is small")),
        1 => TaskAmount::Shared(3),
        2 => TaskAmount::Shared(2),
        _ => TaskAmount::Whole(1),
    }
}

/// Checks a task that starts in an executor's process. The executor has the task's profile, or the task is bound to
/// this executor. The task has as many addresses as it requested, and all of them belong to the executor. No address
/// has more tasks than may share it.
pub(crate) fn check(
    process: &ExecutorProcess,
    attempt: AttemptId,
    plan: &TaskPlan,
    given: &Resources,
) -> Result<(), String> {
    if process.profile != plan.profile {
        return Err(format!(
            "attempt {attempt} of profile {} runs on executor {} of profile {}",
            plan.profile, process.key, process.profile
        ));
    }
    if let Some(on) = plan.on.filter(|on| *on != process.key.executor) {
        return Err(format!("attempt {attempt} is for executor {on} alone, and runs on {}", process.key));
    }
    let asked: BTreeMap<String, u64> =
        plan.resources.iter().map(|(name, amount)| (name.clone(), amount.addresses())).collect();
    let addresses = given.iter().map(|(name, addresses)| (name.to_owned(), addresses.count() as u64));
    if addresses.collect::<BTreeMap<_, _>>() != asked {
        return Err(format!("attempt {attempt} takes {:?}, and is given {given}", plan.resources));
    }
    let is_own = |(name, address, _): &(&str, &str, Quantity)| {
        let mut own = process.resources.parts();
        own.any(|(resource, one, _)| without_kind(resource) == *name && one == *address)
    };
    if let Some((name, address, _)) = given.parts().find(|one| !is_own(one)) {
        return Err(format!(
            "attempt {attempt} is given {name} {address}, and executor {} has none",
            process.key
        ));
    }
    let mut used = BTreeMap::<(&str, &str), u64>::new();
    let running = process.tasks.values().map(|task| (&task.asked, &task.given));
    for (asked, given) in running.chain([(&plan.resources, given)]) {
        for (name, addresses) in given.iter() {
            for address in addresses {
                *used.entry((name, address)).or_default() += part(asked, name);
            }
        }
    }
    // Tasks can take at most what the executor has of an address.
    let most = |(name, address): (&str, &str)| {
        let own = process.resources.parts();
        let of_it = own.filter(|(resource, one, _)| without_kind(resource) == name && *one == address);
        of_it.map(|(.., part)| part.thousandths()).sum::<u64>() * WHOLE / 1000
    };
    match used.iter().find(|(address, used)| **used > most(**address)) {
        None => Ok(()),
        Some(((name, address), used)) => Err(format!(
            "tasks of executor {} have {used}/{WHOLE} of {name} {address} between them",
            process.key
        )),
    }
}

/// The part of an address that a task takes.
fn part(asked: &TaskResources, name: &str) -> u64 {
    match asked.get(name) {
        Some(TaskAmount::Shared(sharers)) => WHOLE / u64::from(*sharers),
        Some(TaskAmount::Part(part)) => part.thousandths() * WHOLE / 1000,
        Some(TaskAmount::Whole(_)) | None => WHOLE,
    }
}
