//! The description of a simulated cluster, and of its applications.
//!
//! - [`Scenario`]: everything that determines a run; `applications`: its applications and their tasks.
//! - `needs`, `host_preferences`: what tasks need and which hosts they prefer, each with its law.

mod applications;
pub(super) mod host_preferences;
pub(super) mod needs;

use crate::cluster::scenario::applications::most_executors;
use crate::cluster::scenario::applications::wide;
use std::sync::Arc;
use std::time::Duration;

use firesteel_placement::Rule;
use firesteel_placement::{Cores, MiB, Policy, Resources, Strategy, WorkerOrder};
use firesteel_protocol::scheduling::queues::Queues;
use firesteel_protocol::scheduling::run_time::RUN_TIME;
use firesteel_protocol::scheduling::{Backfill, GangPreemption, Preemption, ServingOrder};

use super::faults::FaultPlan;
use super::faults::busy_master::BusyPeriod;
use super::faults::disks::FullDisk;
use super::faults::election::Election;
use super::faults::leaving::Departure;
use super::faults::partitions::Partition;
use super::faults::shortages::Shortage;
use super::faults::stalls::Stall;
use super::processes::cluster_drivers::SubmissionPlan;
use firesteel_sim::dice::Dice;
use host_preferences::LocalityPlan;

pub use applications::{AppKind, AppPlan, TaskFate, TaskPlan};

/// The complete input of a run: a cluster, its applications, and the probability of faults.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed of all random choices.
    pub seed: u64,
    pub strategy: Strategy,
    pub order: WorkerOrder,
    /// The rule that chooses Workers for applications that name no policy.
    pub rule: Rule,
    pub queues: Queues,
    /// The applications that may be served behind a waiting gang.
    pub backfill: Backfill,
    /// The maximum number of gangs for which resources are reserved.
    pub reservations: usize,
    /// The order in which the applications of a queue are served.
    pub serving: ServingOrder,
    /// Whether executors are preempted for other applications.
    pub preemption: Preemption,
    /// When executors of the same priority are preempted for a gang, and which executors.
    pub gang_preemption: Option<GangPreemption>,
    /// The machines that Workers run on.
    pub workers: Vec<WorkerPlan>,
    /// The number of the machine on which no executor can start until the faults stop.
    pub bad_worker: Option<usize>,
    /// A period in which the Master handles messages more slowly than they arrive.
    pub busy_spell: Option<BusyPeriod>,
    /// The machine whose disk is full for some time, if any.
    pub full_disk: Option<FullDisk>,
    /// The machine that has too few processes left for some time, if any.
    pub shortage: Option<Shortage>,
    /// Whether the Master records its decisions, and a new Master is recovered from these records.
    pub is_durable: bool,
    /// Whether a Master without records tolerates the executors of the former Master for some time.
    pub holds_foreign: bool,
    /// The election of Masters, if there are several. They are durable then.
    pub election: Option<Election>,
    /// The memory that the Master has for what live applications and cluster drivers describe, in bytes.
    pub budget: u64,
    /// The cores that each user may have.
    pub user_cores: Option<Cores>,
    /// The stalls of Workers' connections.
    pub stalls: Vec<Stall>,
    /// The partitions between Masters, machines and owners of applications.
    pub partitions: Vec<Partition>,
    /// The Worker that an operator decommissions, if any.
    pub departure: Option<Departure>,
    pub submissions: Vec<SubmissionPlan>,
    /// How cluster drivers are spread over Workers.
    pub driver_strategy: Strategy,
    /// The maximum number of cluster drivers that run at the same time.
    pub max_drivers: usize,
    pub apps: Vec<AppPlan>,
    pub faults: FaultPlan,
    /// How many events pass between two checks of the Master or of a driver, whose tables are the largest. The check of
    /// the Master includes the comparison with the ledger. Other machines are checked after each event.
    pub check_every: u64,
}

/// A machine with a Worker.
#[derive(Clone, Debug)]
pub struct WorkerPlan {
    /// When the machine's Worker starts, in milliseconds after the start.
    pub starts_at: u64,
    pub cores: Cores,
    pub memory: MiB,
    pub resources: Resources,
}

/// Separates the random numbers of tasks' needs from all others.
const NEEDS: u64 = 0x6E65_6564_7300;
/// Whether the executors of an application return.
const RETURNS: u64 = 0x7265_7475_726E;
const SHARES: u64 = 0x7368_6172_6573;

/// Separates the random numbers of policies from all others.
const POLICIES: u64 = 0x706F_6C69_6379;
/// The expressions of Masters in random scenarios, which use every kind of field.
const EXPRESSIONS: [&str; 4] = [
    "left.cores / cluster.cores + left.gpu / cluster.gpu",
    "if(asked.gpu == 0, total.gpu, left.gpu - left.gpu.whole) * 100 - left.cores",
    "placed * 3 + abs(total.cores - asked.cores) % 4 - free.gpu.largest",
    "max(free.memory / total.memory, asked.memory / cluster.memory, 0.5) or left.gpu < 1",
];
/// Separates the random numbers of the bad Worker from all others.
const BAD: u64 = 0xBAD;
/// Separates the random numbers of the busy Master from all others.
const BUSY: u64 = 0x0062_7573_7900;
/// Separates the random numbers of durable Masters from all others.
const DURABLE: u64 = 0x6475_7261_6200;
const FOREIGN: u64 = 0x666f_7265_6967;
/// Separates the random numbers of elections from all others.
const ELECTION: u64 = 0x656C_6563_7400;
/// Separates the random numbers of full disks from all others.
const DISKS: u64 = 0x6469_736B_7300;
/// Separates the random numbers of shortages from all others.
const SHORTAGES: u64 = 0x7368_6F72_7400;
/// Separates the random numbers of partitions from all others.
const PARTITIONS: u64 = 0x7061_7274_6564;
/// Separates the random numbers of departures from all others.
const DEPARTURES: u64 = 0x6465_7061_7274;
/// Separates the random numbers of cluster drivers from all others.
const DRIVERS: u64 = 0x6472_6976_6572;
/// Separates the random numbers of stalls from all others.
const STALLS: u64 = 0x7374_616C_6C73;
/// Separates the random numbers of estimates from all others.
const ESTIMATES: u64 = 0x6573_7469_6D61;
/// Separates the random numbers of the waiting times of gangs from all others.
const PATIENCE: u64 = 0x7061_7469_656E;
/// Separates the random numbers of the reservations from all others.
const RESERVATIONS: u64 = 0x7265_7365_7276;
/// Separates the random numbers of the Master's budget from all others.
const BUDGET: u64 = 0x6275_6467_6574;
/// Separates the random numbers of the users' limits from all others.
const USERS: u64 = 0x0075_7365_7273;
/// Separates the random numbers of queues, priorities and gangs from all others.
const TURNS: u64 = 0x7475_726E_7300;

/// The size of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Small,
    Large,
}

impl Scale {
    fn check_every(self) -> u64 {
        match self {
            Self::Small => 1,
            Self::Large => 512,
        }
    }
}

impl Scenario {
    /// Whether one of the Workers is unable to start processes for some time.
    pub(crate) fn may_start_nothing(&self) -> bool {
        self.full_disk.is_some() || self.shortage.is_some()
    }

    /// Whether one of the Workers measures resource usage, and reports the address of its HTTP server.
    pub(crate) fn is_measured(&self) -> bool {
        self.full_disk.is_some()
    }

    /// A small cluster: 1 to 6 Workers, 1 to 4 applications.
    #[must_use]
    pub fn small(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let workers = dice.between(1, 6);
        let apps = dice.between(1, 4);
        Self::rolled(seed, &mut dice, workers, apps, Scale::Small)
    }

    /// A large cluster: 100 to 300 Workers, 12 to 30 applications.
    #[must_use]
    pub fn large(seed: u64) -> Self {
        let mut dice = Dice::new(!seed);
        let workers = dice.between(100, 300);
        let apps = dice.between(12, 30);
        Self::rolled(seed, &mut dice, workers, apps, Scale::Large)
    }

    fn rolled(seed: u64, dice: &mut Dice, workers: u64, apps: u64, scale: Scale) -> Self {
        let faults = FaultPlan::rolled(dice);
        let gpus = dice.one_in(4);
        let mut scenario = Self {
            seed,
            strategy: if dice.one_in(3) { Strategy::Consolidate } else { Strategy::SpreadOut },
            order: *dice.pick(&WorkerOrder::ALL),
            rule: Rule::default(),
            queues: Queues::default(),
            backfill: Backfill::On,
            reservations: 1,
            serving: ServingOrder::Registration,
            preemption: Preemption::Off,
            gang_preemption: None,
            workers: (0..workers).map(|_| WorkerPlan::rolled(dice, gpus)).collect(),
            bad_worker: None,
            busy_spell: None,
            is_durable: false,
            holds_foreign: false,
            election: None,
            full_disk: None,
            shortage: None,
            budget: u64::MAX,
            user_cores: None,
            stalls: Vec::new(),
            partitions: Vec::new(),
            departure: None,
            submissions: Vec::new(),
            driver_strategy: Strategy::SpreadOut,
            max_drivers: usize::MAX,
            apps: (0..apps).map(|number| AppPlan::rolled(dice, gpus, number, scale)).collect(),
            faults,
            check_every: scale.check_every(),
        };
        // Uses a separate random generator, so that the other applications do not depend on launchers.
        let mut own = Dice::new(seed ^ 0x1A0C);
        for app in &mut scenario.apps {
            if own.one_in(6) {
                app.launched(&mut own);
            }
        }
        scenario.roll_policies();
        scenario.roll_estimates();
        let machines = scenario.workers.len();
        for app in &mut scenario.apps {
            app.locality = Arc::new(LocalityPlan::rolled(dice, machines, app.tasks.len()));
        }
        scenario.roll_turns(&mut Dice::new(seed ^ TURNS));
        scenario.roll_reservations(&mut Dice::new(seed ^ RESERVATIONS));
        let mut dice_of_budgets = Dice::new(seed ^ BUDGET);
        if dice_of_budgets.one_in(6) {
            scenario.budget = dice_of_budgets.between(2_000, 12_000);
        }
        let mut dice_of_users = Dice::new(seed ^ USERS);
        let has_gangs = scenario.apps.iter().any(|app| app.description.gang > 1);
        let takes_back = scenario.preemption != Preemption::Off || scenario.gang_preemption.is_some();
        if scenario.queues.is_empty() && !has_gangs && !takes_back && dice_of_users.one_in(4) {
            let cores = i64::try_from(dice_of_users.between(8, 24)).expect("it is small");
            scenario.user_cores = Some(Cores(cores));
        }
        let mut bad = Dice::new(seed ^ BAD);
        if machines > 1 && bad.one_in(4) {
            scenario.bad_worker = bad.index(machines);
        }
        scenario.full_disk = FullDisk::rolled(&mut Dice::new(seed ^ DISKS), scenario.faults.until, machines);
        let mut dice_of_shortages = Dice::new(seed ^ SHORTAGES);
        scenario.shortage = Shortage::rolled(&mut dice_of_shortages, scenario.faults.until, machines);
        scenario.stalls = Stall::rolled(&mut Dice::new(seed ^ STALLS), scenario.faults.until, machines);
        scenario.is_durable = Dice::new(seed ^ DURABLE).one_in(2);
        scenario.holds_foreign = Dice::new(seed ^ FOREIGN).one_in(2);
        if scenario.is_durable {
            let mut dice = Dice::new(seed ^ ELECTION);
            scenario.election = Election::rolled(&mut dice, scenario.faults.until, &scenario.apps);
        }
        let listeners = if scenario.election.is_some() { 2 } else { 1 };
        let parties = [listeners, machines, scenario.apps.len()];
        let mut dice_of_partitions = Dice::new(seed ^ PARTITIONS);
        scenario.partitions = Partition::rolled(&mut dice_of_partitions, scenario.faults.until, parties);
        let mut dice_of_departures = Dice::new(seed ^ DEPARTURES);
        scenario.departure = Departure::rolled(&mut dice_of_departures, scenario.faults.until, machines);
        let gpus = scenario.workers.iter().any(|worker| !worker.resources.is_empty());
        let mut drivers = Dice::new(seed ^ DRIVERS);
        scenario.submissions = SubmissionPlan::rolled(&mut drivers, gpus);
        if drivers.one_in(3) {
            scenario.driver_strategy = Strategy::Consolidate;
        }
        if drivers.one_in(4) {
            scenario.max_drivers = 2;
        }
        scenario.busy_spell = BusyPeriod::rolled(&mut Dice::new(seed ^ BUSY), scenario.faults.until);
        // Uses a separate random generator, so that a seed's cluster and faults do not depend on what its
        // tasks need.
        let mut dice = Dice::new(seed ^ NEEDS);
        scenario.apps.iter_mut().for_each(|app| app.roll_needs(&mut dice));
        scenario.roll_shares(&mut Dice::new(seed ^ SHARES));
        let mut dice = Dice::new(seed ^ RETURNS);
        for app in scenario.apps.iter_mut().filter(|_| dice.one_in(5)) {
            app.away_timeout = Duration::ZERO;
        }
        scenario
    }

    /// Decides about shared addresses. In every second cluster, executors share addresses, and Workers have gpus of two
    /// kinds.
    fn roll_shares(&mut self, dice: &mut Dice) {
        if !dice.one_in(2) {
            return;
        }
        for worker in &mut self.workers {
            let kinds = *dice.pick(&[&["gpu"][..], &["gpu:A"], &["gpu:B"], &["gpu:A", "gpu:B"]]);
            let mut named = Resources::default();
            for (number, (_, address, _)) in worker.resources.parts().enumerate() {
                named.insert(kinds[number % kinds.len()], address);
            }
            worker.resources = named;
        }
        self.apps.iter_mut().for_each(|app| app.roll_shares(dice));
    }

    /// Decides about queues, priorities and gangs. Two of five clusters have them.
    fn roll_turns(&mut self, dice: &mut Dice) {
        if dice.below(5) >= 2 {
            return;
        }
        if dice.one_in(2) {
            self.queues =
                dice.pick(&["a=3,b=1", "a,b", "b=2,default=1,a=5"]).parse().expect("they are queues");
        }
        self.backfill = if dice.one_in(4) { Backfill::Off } else { Backfill::On };
        for app in &mut self.apps {
            let description = &mut app.description;
            description.queue = match self.queues.is_empty() || dice.one_in(4) {
                true => None,
                false => Some((*dice.pick(&["a", "b"])).to_owned()),
            };
            description.priority = *dice.pick(&[0, 0, 0, 1, 7, -3]);
            description.gang = *dice.pick(&[0, 0, 1, 2, 3, 5]);
            let most = most_executors(description);
            // Sometimes it needs more executors at once than it requests, and is refused.
            if (description.gang, description.priority) != (5, 7) {
                description.gang = description.gang.min(most);
            }
        }
        if dice.one_in(2) {
            let executors = u32::try_from(dice.between(1, 4)).expect("it is small");
            self.preemption =
                Preemption::AtMost { executors, every: Duration::from_secs(dice.between(1, 60)) };
            // From a separate random generator, so that existing seeds keep their clusters.
            let mut own = Dice::new(self.seed ^ PATIENCE);
            let patience = *own.pick(&[None, Some(0), Some(2), Some(10), Some(60), Some(600)]);
            let reach = Duration::from_secs(*own.pick(&[0, 0, 2, 20, 600]));
            self.gang_preemption =
                patience.map(|patience| GangPreemption { patience: Duration::from_secs(patience), reach });
            if patience.is_some() && own.one_in(2) {
                self.roll_peers(&mut own);
            }
        }
    }

    /// Makes one application a gang that comes before all others. The others have its priority and its queue.
    fn roll_peers(&mut self, dice: &mut Dice) {
        self.make_equal();
        self.serving = ServingOrder::Shortest;
        let fixed = self.apps.iter_mut().filter(|app| app.description.profile.cores.is_some());
        if let Some(app) = fixed.last() {
            app.description.gang = most_executors(&app.description).min(dice.between(2, 5));
        }
    }
}

impl Scenario {
    /// Puts all applications into one queue, with the same priority. Each needs one executor to start.
    fn make_equal(&mut self) {
        self.queues = Queues::default();
        for AppPlan { description, .. } in &mut self.apps {
            (description.queue, description.priority, description.gang) = (None, 0, 0);
        }
    }

    /// Decides about reservations. In half of the clusters, several gangs may have reservations. In half of these,
    /// nearly all applications are gangs that announce run times, so that several gangs wait. The other applications
    /// announce no run times, and must not use the reserved resources.
    fn roll_reservations(&mut self, dice: &mut Dice) {
        self.reservations = *dice.pick(&[1, 1, 2, 3]);
        if self.reservations == 1 || !dice.one_in(2) {
            return;
        }
        self.make_equal();
        self.backfill = Backfill::On;
        for AppPlan { description, .. } in &mut self.apps {
            let variables = description.command.environment_mut();
            if dice.one_in(4) {
                variables.remove(RUN_TIME);
            } else {
                variables.insert(RUN_TIME.to_owned(), (*dice.pick(&["1", "10", "60", "600"])).to_owned());
                description.gang = most_executors(description).min(dice.between(2, 5));
            }
        }
    }

    /// Decides about run times. In half of the clusters, some applications announce run times, correct or wrong. In a
    /// quarter of the clusters, the run times decide the serving order.
    fn roll_estimates(&mut self) {
        let mut dice = Dice::new(self.seed ^ ESTIMATES);
        if dice.one_in(2) {
            return;
        }
        if dice.one_in(2) {
            self.serving = ServingOrder::Shortest;
        }
        for app in &mut self.apps {
            if dice.one_in(2) {
                let told = *dice.pick(&["1", "3", "10", "60", "600"]);
                app.description.command.environment_mut().insert(RUN_TIME.to_owned(), told.to_owned());
            }
        }
    }

    /// Decides about policies. A quarter of the Masters have an expression, and half of the others have Spark's policy.
    /// Three quarters of the applications use their Master's rule. A separate random generator keeps all other choices
    /// independent of policies.
    fn roll_policies(&mut self) {
        let mut dice = Dice::new(self.seed ^ POLICIES);
        if dice.one_in(2) {
            self.rule = Rule::Policy(*dice.pick(&Policy::ALL));
        }
        for app in &mut self.apps {
            app.description.policy = dice.one_in(4).then(|| *dice.pick(&Policy::ALL));
        }
        if dice.one_in(4) {
            let expression = format!("expr:{}", dice.pick(&EXPRESSIONS));
            self.rule = expression.parse().expect("it is a rule");
        }
    }
}

impl WorkerPlan {
    fn rolled(dice: &mut Dice, gpus: bool) -> Self {
        let cores = dice.between(1, 16);
        let addresses = if gpus { dice.below(5) } else { 0 };
        let gpu = (0..addresses).map(|address| address.to_string());
        let latest = if dice.one_in(4) { 30_000 } else { 2_000 };
        Self {
            starts_at: dice.below(latest),
            cores: Cores(wide(cores)),
            memory: MiB(wide(dice.between(1, 16)) * 1024),
            resources: if gpus { Resources::from_iter([("gpu", gpu)]) } else { Resources::default() },
        }
    }
}
