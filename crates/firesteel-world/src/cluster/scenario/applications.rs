//! The applications of a simulated cluster, and their tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use firesteel_engine::driver::{Allocation, DynamicAllocation, Ratio, TaskRequest};
use firesteel_engine::launcher::Until;
use firesteel_placement::advanced::resources::TaskResources;
use firesteel_placement::{Amount, Cores, ExecutorLimit, MiB, ResourceAmounts};
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationDescription, Placing, ResourceProfile, Submitter, TaskDirectory, TaskSpec, WantedExecutors,
    Work,
};
use firesteel_protocol::process::{Command, Placeholder};
use firesteel_protocol::secret::EXECUTOR_SECRET;
use firesteel_sim::dice::Dice;

use super::Scale;
use super::host_preferences::LocalityPlan;
use crate::cluster::effects::fetches::rolled_files;
use crate::cluster::laws::entrance::secret_of;

/// An application and its tasks.
#[derive(Clone, Debug)]
pub struct AppPlan {
    /// When the application's driver starts, in milliseconds after the start.
    pub starts_at: u64,
    /// The description that the Master receives. The command is added later, because it contains the driver's address.
    pub description: ApplicationDescription,
    /// Whether the application has a driver with tasks, or a launcher.
    pub kind: AppKind,
    pub allocation: Allocation,
    /// The application's resource profiles besides the default one.
    pub profiles: Vec<(ProfileId, ResourceProfile)>,
    pub tasks: Vec<TaskPlan>,
    pub locality: Arc<LocalityPlan>,
    /// The number of failed attempts after which a task has failed.
    pub max_task_failures: u32,
    /// The number of unacknowledged output bytes that each attempt may send.
    pub output_credit: u64,
    /// How long executors may take to return after their connection broke.
    pub away_timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppKind {
    /// A driver, whose executors run its tasks.
    Driver,
    /// A launcher whose executors are commands, with the condition for its end.
    Launcher(Until),
}

#[derive(Clone, Debug)]
pub struct TaskPlan {
    /// The resource profile of the executors on which the task runs.
    pub profile: ProfileId,
    pub cores: Cores,
    /// The amounts that the task takes of its executor's custom resources.
    pub resources: TaskResources,
    /// How long the task's process works, in milliseconds.
    pub millis: u64,
    /// The number of bytes on standard output and on standard error.
    pub output: [u64; 2],
    pub fate: TaskFate,
    /// When the user cancels the task, in milliseconds after its submission. The task may have ended before.
    pub given_up_after: Option<u64>,
    /// The only executor on which the task may run, if it is bound to one.
    pub on: Option<ExecutorId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFate {
    /// Every attempt succeeds.
    Succeeds,
    /// This many attempts fail before one succeeds.
    Fails { attempts: u32 },
    /// The task's program does not exist.
    CannotStart,
    /// The task never ends by itself.
    Hangs,
    /// The task succeeds in time, but ignores SIGTERM.
    IgnoresTerminate,
    /// The task needs more than any executor has, and is never attempted.
    Unfit,
}

/// The maximum number of tasks per core of an application. One core runs them well within an hour.
const TASKS_A_CORE: usize = 200;

/// The maximum number of executors of a fixed size that the application can have. 0 without a fixed size.
pub(super) fn most_executors(description: &ApplicationDescription) -> u64 {
    match (description.profile.cores, description.max_cores) {
        (None, _) => 0,
        (Some(_), None) => u64::MAX,
        (Some(each), Some(max)) => u64::try_from(max.0 / each.0).unwrap_or(0),
    }
}

impl AppPlan {
    pub(super) fn rolled(dice: &mut Dice, gpus: bool, number: u64, scale: Scale) -> Self {
        let (most_cores, most_tasks) = match scale {
            Scale::Small => (24, 40),
            Scale::Large => (600, 1_000),
        };
        let cores = (!dice.one_in(4)).then(|| dice.between(1, 4));
        let resources = if gpus && dice.one_in(2) {
            ResourceAmounts::from([("gpu".to_owned(), Amount::Whole(dice.between(0, 2)))])
        } else {
            ResourceAmounts::new()
        };
        let task_cores = cores.map_or(1, |cores| dice.between(1, cores));
        let tasks = dice.between(1, most_tasks);
        let mut tasks: Vec<_> = (0..tasks).map(|_| TaskPlan::rolled(dice, task_cores)).collect();
        let max_cores = (!dice.one_in(3)).then(|| dice.between(1, most_cores));
        if let Some(max) = max_cores {
            tasks.truncate(usize::try_from(max).unwrap_or(usize::MAX).saturating_mul(TASKS_A_CORE));
        }
        let description = ApplicationDescription::new(
            Submitter::new(format!("app {number}"), "simulated"),
            WantedExecutors {
                max_cores: max_cores.map(|max| Cores(wide(max))),
                profile: ResourceProfile {
                    cores: cores.map(|cores| Cores(wide(cores))),
                    memory: (!dice.one_in(4)).then(|| MiB(wide(dice.between(1, 24)) * 256)),
                    resources,
                },
                limit: if dice.one_in(4) {
                    ExecutorLimit::AtMost(dice.between(0, 3))
                } else {
                    ExecutorLimit::Unlimited
                },
                ..WantedExecutors::default()
            },
            Placing::default(),
            Work { files: rolled_files(dice, number), ..Work::of(executor_command(number)) },
        );
        Self {
            starts_at: dice.below(40_000),
            description,
            kind: AppKind::Driver,
            allocation: rolled_allocation(dice, scale),
            profiles: Vec::new(),
            tasks,
            locality: Arc::default(),
            max_task_failures: u32::try_from(dice.between(1, 4)).expect("it is small"),
            output_credit: *dice.pick(&[64, 256, 1024, 65_536]),
            away_timeout: Duration::from_secs(30),
        }
    }
}

impl AppPlan {
    /// Turns the application into one with a launcher.
    pub(super) fn launched(&mut self, dice: &mut Dice) {
        let until = *dice.pick(&[Until::Any, Until::All, Until::All, Until::Never]);
        self.kind = AppKind::Launcher(until);
        self.allocation = Allocation::Fixed;
        self.tasks.clear();
        let description = &mut self.description;
        description.relaunch = until.relaunch();
        description.max_cores = description.max_cores.map(|max| max.min(Cores(24)));
        description.initial_limit = match dice.below(3) {
            0 => ExecutorLimit::Unlimited,
            _ => ExecutorLimit::AtMost(dice.below(6)),
        };
    }
}

/// A random allocation. One of three applications has dynamic allocation.
fn rolled_allocation(dice: &mut Dice, scale: Scale) -> Allocation {
    if !dice.one_in(3) {
        return Allocation::Fixed;
    }
    let min = dice.below(3);
    // A thousand tasks should not wait for one executor.
    let (fewest, ratios) = match scale {
        Scale::Small => (1, [Ratio::ONE, Ratio(500_000), Ratio(1)]),
        Scale::Large => (20, [Ratio::ONE, Ratio(500_000), Ratio(250_000)]),
    };
    let max = if dice.one_in(3) { u64::MAX } else { min.max(fewest) + dice.below(6) };
    let time = |dice: &mut Dice, most| Duration::from_millis(dice.between(100, most));
    Allocation::Dynamic(DynamicAllocation {
        min,
        max,
        initial: min + dice.below(3).min(max - min),
        backlog_timeout: time(dice, 3_000),
        sustained_timeout: time(dice, 3_000),
        idle_timeout: time(dice, 20_000),
        ratio: *dice.pick(&ratios),
    })
}

impl TaskPlan {
    fn rolled(dice: &mut Dice, cores: u64) -> Self {
        let fate = match dice.below(60) {
            0 | 1 => TaskFate::Fails { attempts: 1 },
            2 => TaskFate::Fails { attempts: u32::MAX },
            3 => TaskFate::CannotStart,
            4 if dice.one_in(2) => TaskFate::Hangs,
            5 => TaskFate::IgnoresTerminate,
            _ => TaskFate::Succeeds,
        };
        let output = |dice: &mut Dice| if dice.one_in(2) { 0 } else { dice.below(1500) };
        Self {
            profile: ProfileId::DEFAULT,
            cores: Cores(wide(cores)),
            resources: TaskResources::new(),
            on: None,
            millis: if dice.one_in(10) { dice.between(1_000, 30_000) } else { dice.between(1, 1_500) },
            output: [output(dice), output(dice)],
            fate,
            given_up_after: dice.one_in(25).then(|| dice.below(3_000)),
        }
    }

    /// The request for a task. Its command line identifies the task.
    pub(crate) fn request(&self, app: usize, task: usize) -> TaskRequest {
        let spec = TaskSpec {
            command: Command {
                program: "task".to_owned(),
                arguments: vec![app.to_string(), task.to_string()],
                environment: BTreeMap::new(),
            },
            directory: TaskDirectory::Executor,
            stdin: bytes::Bytes::new(),
            cores: self.cores,
        };
        TaskRequest { profile: self.profile, resources: self.resources.clone(), on: self.on, ..spec.into() }
    }
}

/// The command of an application's executors, with the placeholders that a Worker fills in, and the driver's address.
fn executor_command(app: u64) -> Command {
    let words = [
        Placeholder::AppId,
        Placeholder::ExecutorId,
        Placeholder::Cores,
        Placeholder::Hostname,
        Placeholder::WorkerId,
        Placeholder::Memory,
        Placeholder::ResourceProfileId,
        Placeholder::Resources,
        Placeholder::WorkerUrl,
    ];
    Command {
        program: Placeholder::Firesteel.word().to_owned(),
        arguments: std::iter::once(app.to_string())
            .chain(words.map(|placeholder| placeholder.word().to_owned()))
            .collect(),
        environment: BTreeMap::from([(EXECUTOR_SECRET.to_owned(), secret_of(app).reveal().to_owned())]),
    }
}

pub(super) fn wide(number: u64) -> i64 {
    i64::try_from(number).expect("it is small")
}
