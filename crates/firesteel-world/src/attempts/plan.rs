//! What a world is made of.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::allocator::Decommissioning;
use firesteel_core::application_master::{Config, Mode, Silence};
use firesteel_core::ids::{AppId, ExecutorId, ProfileId};
use firesteel_core::messages::{
    ApplicationDescription, ExecutorTarget, HostWishes, Placing, Relaunch, ResourceProfile, Submitter,
    WantedExecutors, Work,
};
use firesteel_core::process::{Command, Placeholder};
use firesteel_placement::{Cores, ExecutorLimit, MiB};

use crate::containers::Scenario;
use firesteel_sim::dice::Dice;

/// An application, the cluster that it is on, and how badly both behave.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed that it was rolled with, and that the run goes on with.
    pub seed: u64,
    /// The cluster, and when faults strike.
    pub cluster: Scenario,
    /// What the first attempt is told. The others have its number alone for themselves.
    pub config: Config,
    /// Profiles that the driver speaks of.
    pub profiles: u32,
    /// Which of its executors are replaced.
    pub relaunch: Relaunch,
    /// How the application ends if nothing else ends it.
    pub ending: Ending,
}

/// How an application ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its driver is done; in cluster mode its program then ends well.
    DriverDone,
    /// Its driver goes and never comes back. In client mode.
    DriverVanishes,
    /// Its program ends badly. In cluster mode.
    ProgramFails,
    /// Somebody kills it.
    Killed,
    /// The ApplicationMaster is asked to end.
    Shutdown,
}

impl Plan {
    /// A world on a cluster of 1 to 8 machines.
    #[must_use]
    pub fn rolled(seed: u64) -> Self {
        let mut cluster = Scenario::rolled(seed);
        let mut dice = Dice::new(seed ^ 0x00A7_7E3D);
        cluster.config.decommissioning = Decommissioning::Told;
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

    /// What an attempt is told.
    pub(super) fn config_of(&self, attempt: u32) -> Config {
        Config { attempt, ..self.config.clone() }
    }

    /// The application, as its driver describes it.
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

    /// Targets of all profiles that there is room for on machines that may be used.
    pub(super) fn targets(&self, dice: &mut Dice) -> Vec<ExecutorTarget> {
        let mut room = self.cluster.room();
        let mut target = |number| {
            let total = dice.below(room + 1);
            room -= total;
            target(number, total)
        };
        (0..self.profiles).map(&mut target).collect()
    }

    /// Where tasks would like to run, and where not.
    pub(super) fn wishes(&self, dice: &mut Dice) -> HostWishes {
        let hosts = self.cluster.machines.keys();
        let preferred: BTreeMap<String, u64> =
            hosts.clone().filter(|_| dice.one_in(3)).map(|host| (host.clone(), 3)).collect();
        let avoided = hosts.skip(1).filter(|_| dice.one_in(8)).cloned().collect();
        let tasks = if preferred.is_empty() { 0 } else { dice.between(1, 40) };
        HostWishes { tasks, preferred, racks: BTreeMap::new(), avoided }
    }
}

/// One target.
pub(super) fn target(number: u32, total: u64) -> ExecutorTarget {
    ExecutorTarget { id: ProfileId(number), profile: profile(number), total }
}

/// What executors of a profile need.
pub(super) fn profile(number: u32) -> ResourceProfile {
    ResourceProfile {
        cores: Some(Cores(i64::from(number) + 1)),
        memory: Some(MiB(1024 * (i64::from(number) + 1))),
        ..ResourceProfile::default()
    }
}

/// Who starts containers on a host.
pub(super) fn node_address(host: &str) -> Address {
    Address::new(host, 45454)
}
