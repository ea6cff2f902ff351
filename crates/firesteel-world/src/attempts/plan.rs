//! The description of a world: cluster, application and faults.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_application_master::allocator::Decommissioning;
use firesteel_application_master::{Config, FinalStatus, Mode, Silence};
use firesteel_placement::{Cores, ExecutorLimit, MiB};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationDescription, ExecutorTarget, HostPreferences, Outcome, Placing, Relaunch, ResourceProfile,
    Submitter, WantedExecutors, Work,
};
use firesteel_protocol::process::{Command, Placeholder};

use crate::containers::Scenario;
use firesteel_sim::dice::Dice;

/// An application and its cluster, with the probability of their faults.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed that generated this plan and that drives the run.
    pub seed: u64,
    pub cluster: Scenario,
    /// The configuration of the first attempt. Only the attempt's number is different in later attempts.
    pub config: Config,
    /// The number of profiles that the driver uses.
    pub profiles: u32,
    /// Which of the application's executors are replaced.
    pub relaunch: Relaunch,
    /// How the application ends unless another event ends it first.
    pub ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("ending")]
pub enum Ending {
    /// The driver finishes. In cluster mode, its program then succeeds.
    DriverDone,
    /// The driver disappears for good. In client mode only.
    DriverVanishes,
    /// The program fails. In cluster mode only.
    ProgramFails,
    /// A user kills the application.
    Killed,
    /// The ApplicationMaster is told to end.
    Shutdown,
}

impl Plan {
    /// Generates a world on a cluster of 1 to 8 machines.
    #[must_use]
    pub fn rolled(seed: u64) -> Self {
        let mut cluster = Scenario::rolled(seed);
        let mut dice = Dice::new(seed ^ 0x00A7_7E3D);
        cluster.config.decommissioning = Decommissioning::Notified;
        let mode = *dice.pick(&[Mode::Client, Mode::Client, Mode::Cluster, Mode::Cluster, Mode::Unmanaged]);
        let most_attempts = match mode {
            Mode::Unmanaged => 1,
            Mode::Client | Mode::Cluster => u32::try_from(dice.between(1, 4)).expect("it is small"),
        };
        let ending = match (dice.below(6), mode) {
            (0, _) => Ending::Killed,
            (1, _) => Ending::Shutdown,
            (2, Mode::Client) => Ending::DriverVanishes,
            (2, Mode::Cluster) => Ending::ProgramFails,
            _ => Ending::DriverDone,
        };
        let config = Config {
            app: AppId::new("application_1_0001"),
            url: "spark://host0:4711".to_owned(),
            mode,
            attempt: 1,
            most_attempts,
            wait_time: Duration::from_secs(*dice.pick(&[5, 20, 100])),
            silence: if dice.one_in(2) { Silence::Failure } else { Silence::Success },
            longest_message: usize::try_from(*dice.pick(&[20, 1_000_000])).expect("it is small"),
            executors: 2,
            task_cores: Cores(1),
            allocator: cluster.config.clone(),
        };
        let relaunch = if dice.one_in(3) { Relaunch::WhenLost } else { Relaunch::WhenEnded };
        Self { seed, profiles: cluster.profiles, cluster, config, relaunch, ending }
    }

    /// The outcome that the driver reports when it finishes.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match self.seed % 5 {
            0 => Some(Outcome::failed("3 of 10 items failed")),
            1 => Some(Outcome::cancelled("none of 10 items done")),
            2 => Some(Outcome::Succeeded),
            _ => None,
        }
    }

    /// The status of the application if its driver is done.
    pub(super) fn status(&self) -> FinalStatus {
        match (self.config.mode, self.outcome()) {
            (Mode::Cluster, _) | (_, None | Some(Outcome::Succeeded)) => FinalStatus::Succeeded,
            (Mode::Client | Mode::Unmanaged, Some(Outcome::Failed(_))) => FinalStatus::Failed,
            (Mode::Client | Mode::Unmanaged, Some(Outcome::Cancelled(_))) => FinalStatus::Killed,
        }
    }

    pub(super) fn config_of(&self, attempt: u32) -> Config {
        Config { attempt, ..self.config.clone() }
    }

    /// The application's description, as the driver sends it.
    pub(super) fn description(&self, first_executor: ExecutorId, executors: u64) -> ApplicationDescription {
        let words = [
            Placeholder::ExecutorId,
            Placeholder::Hostname,
            Placeholder::Cores,
            Placeholder::Memory,
            Placeholder::ResourceProfileId,
            Placeholder::AppId,
        ];
        ApplicationDescription::new(
            Submitter::new("sums", "ann"),
            WantedExecutors {
                profile: profile(0),
                limit: ExecutorLimit::AtMost(executors),
                relaunch: self.relaunch,
                first: first_executor,
                ..WantedExecutors::default()
            },
            Placing::default(),
            Work::of(Command {
                program: Placeholder::Firesteel.word().to_owned(),
                arguments: words.map(|word| word.word().to_owned()).into(),
                environment: BTreeMap::new(),
            }),
        )
    }

    /// Random targets for all profiles. They fit on the machines that may be used.
    pub(super) fn targets(&self, dice: &mut Dice) -> Vec<ExecutorTarget> {
        let mut room = self.cluster.room();
        let mut target = |number| {
            let total = dice.below(room + 1);
            room -= total;
            target(number, total)
        };
        (0..self.profiles).map(&mut target).collect()
    }

    /// Random preferred and excluded hosts of tasks.
    pub(super) fn preferences(&self, dice: &mut Dice) -> HostPreferences {
        let hosts = self.cluster.machines.keys();
        let preferred: BTreeMap<String, u64> =
            hosts.clone().filter(|_| dice.one_in(3)).map(|host| (host.clone(), 3)).collect();
        let avoided = hosts.skip(1).filter(|_| dice.one_in(8)).cloned().collect();
        let tasks = if preferred.is_empty() { 0 } else { dice.between(1, 40) };
        HostPreferences { tasks, preferred, racks: BTreeMap::new(), avoided }
    }
}

pub(super) fn target(number: u32, total: u64) -> ExecutorTarget {
    ExecutorTarget { id: ProfileId(number), profile: profile(number), total }
}

/// The needs of an executor of this profile.
pub(super) fn profile(number: u32) -> ResourceProfile {
    ResourceProfile {
        cores: Some(Cores(i64::from(number) + 1)),
        memory: Some(MiB(1024 * (i64::from(number) + 1))),
        ..ResourceProfile::default()
    }
}

/// The address of a host's node manager.
pub(super) fn node_address(host: &str) -> Address {
    Address::new(host, 45454)
}
