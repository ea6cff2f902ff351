//! The description of a world of containers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_application_master::allocator::{
    Config, Decommissioning, ExecutorNeeds, HostExclusion, Sizing, Target,
};
use firesteel_placement::MiB;
use firesteel_placement::advanced::locality::{Naming, Topology};
use firesteel_protocol::ids::{ExecutorId, ProfileId};

use firesteel_sim::dice::Dice;

/// The machines of a YARN cluster, and the probability of their faults and the manager's faults.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that generated this scenario and that drives the run.
    pub seed: u64,
    pub machines: BTreeMap<String, u64>,
    pub config: Config,
    /// The number of profiles that the driver uses.
    pub profiles: u32,
    /// The virtual time until which faults occur, in milliseconds.
    pub until: u64,
    /// One in this many chances for a fault is taken. 0 means none.
    pub faults: u64,
}

impl Scenario {
    /// Generates a world of 1 to 8 machines.
    #[must_use]
    pub fn rolled(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let count = dice.between(1, 8);
        let machines: BTreeMap<String, u64> =
            (0..count).map(|number| (format!("host{number}"), dice.between(2, 12))).collect();
        let racks = dice.between(1, 3);
        let rows = machines.keys().map(|host| (host.clone(), format!("/rack{}", dice.below(racks))));
        let rows: Vec<_> = rows.collect();
        let topology: Topology = rows.into_iter().filter(|_| !dice.one_in(5)).collect();
        let topology = match dice.one_in(2) {
            true => topology.with_default_rack("/default-rack"),
            false => topology,
        };
        let exclusion = match dice.one_in(2) {
            true => HostExclusion::Off,
            false => {
                let timeout = Duration::from_millis(*dice.pick(&[1_000, 10_000, 60_000]));
                HostExclusion::On { failures: dice.below(3), timeout }
            }
        };
        // At least one machine is never excluded.
        let never = machines.keys().skip(1).filter(|_| dice.one_in(12)).cloned().collect();
        let config = Config {
            topology,
            sizing: Sizing::default(),
            initial_target: dice.below(3),
            first_executor: ExecutorId(1),
            heartbeat: Duration::from_secs(3),
            initial_pause: Duration::from_millis(200),
            most_errors: 5,
            most_failures: *dice.pick(&[8, 1_000_000, 1_000_000]),
            failure_window: dice.one_in(2).then(|| Duration::from_secs(dice.between(1, 60))),
            exclusion,
            never,
            naming: if seed.is_multiple_of(2) { Naming::Many } else { Naming::One },
            decommissioning: match dice.one_in(4) {
                true => Decommissioning::Ignored,
                false => Decommissioning::Notified,
            },
        };
        let profiles = u32::try_from(dice.between(1, 3)).expect("it is small");
        let faults = *dice.pick(&[0, 4, 8, 8, 20]);
        Self { seed, machines, config, profiles, until: dice.between(5_000, 60_000), faults }
    }

    /// How many executors fit on the machines where they may run.
    #[must_use]
    pub fn room(&self) -> u64 {
        let usable = self.machines.iter().filter(|(host, _)| !self.config.never.contains(*host));
        usable.map(|(_, room)| *room).sum()
    }

    /// The driver's next requests: targets that fit, with preferred and excluded hosts.
    pub(super) fn preferences(&self, dice: &mut Dice) -> (Vec<Target>, BTreeSet<String>) {
        let mut room = self.room();
        let mut targets = Vec::new();
        for profile in 0..self.profiles {
            let total = dice.below(room + 1);
            room -= total;
            if !dice.one_in(6) || self.profiles == 1 {
                targets.push(self.target(dice, profile, total));
            }
        }
        let excluded = self.machines.keys().skip(1).filter(|_| dice.one_in(8)).cloned().collect();
        (targets, excluded)
    }

    /// The last targets: one for every profile, without excluded hosts.
    pub(super) fn last_requests(&self, dice: &mut Dice) -> Vec<Target> {
        let mut room = self.room();
        let mut target = |profile| {
            let total = dice.below(room + 1);
            room -= total;
            self.target(dice, profile, total)
        };
        (0..self.profiles).map(&mut target).collect()
    }

    fn target(&self, dice: &mut Dice, profile: u32, total: u64) -> Target {
        let mut on_hosts = BTreeMap::new();
        for host in self.machines.keys().chain([&"nowhere".to_owned()]) {
            if dice.one_in(3) {
                on_hosts.insert(host.clone(), dice.between(1, 20));
            }
        }
        let memory = Some(MiB(1024 * i64::from(profile + 1)));
        Target {
            profile: ProfileId(profile),
            needs: ExecutorNeeds { memory, ..ExecutorNeeds::default() },
            total,
            tasks_per_executor: dice.between(1, 4),
            tasks: if on_hosts.is_empty() { 0 } else { dice.between(1, 40) },
            on_hosts,
        }
    }
}
