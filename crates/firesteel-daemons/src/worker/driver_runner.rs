//! The DriverRunner: runs one process of a cluster driver.
//!
//! The Worker's state machine decides whether the cluster driver is started again. Further starts append to the same
//! logs. These logs are not rolled.

use std::collections::BTreeMap;
use std::sync::Arc;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{DriverId, WorkerId};
use firesteel_protocol::process::{ExitStatus, NotStarted, StartFailure, StartStep};
use firesteel_spark::cluster_driver::SparkDriver;
use firesteel_worker::{DriverPlan, Event, LastMeasurement};

use super::environment;
use super::header::driver_header;
use super::runner::{ChildCommand, OutputTargets, Prepared, Run, Runner, RunnerContext, run};
use super::work_directory::{Outputs, WorkDirectory};
use firesteel_host::inbox::Inbox;

/// Starts a cluster driver. The inbox receives [`Event::DriverStarted`] or [`Event::DriverFailed`]. After
/// `DriverStarted` it receives [`Event::DriverMeasured`] and, when all of the driver's processes have ended,
/// [`Event::DriverExited`].
#[must_use]
pub fn start_driver(plan: DriverPlan, context: Arc<RunnerContext>, inbox: Inbox<Event>) -> Runner {
    let plan = Arc::new(plan);
    Runner::start(async move |signals| {
        let last = run(&plan, &context, signals, &inbox).await;
        let _ = inbox.send(last).await;
    })
}

impl Run for DriverPlan {
    fn name(&self) -> String {
        self.driver.to_string()
    }

    fn granted(&self) -> (Cores, MiB) {
        (self.cores, self.memory)
    }

    fn environment(&self) -> &BTreeMap<String, String> {
        &self.command.environment
    }

    fn prepare(&self, context: &RunnerContext, work: &WorkDirectory) -> Result<Prepared, NotStarted> {
        let driver = SparkDriver::of(&self.command);
        let is_java = driver.is_some();
        let command = match driver {
            None => ChildCommand::filled(&self.command, context),
            Some(Ok(driver)) => context.java.driver_program(&driver, self, work)?.into(),
            Some(Err(unsound)) => {
                return Err(StartFailure { step: StartStep::Program, error: unsound.to_string() }.into());
            }
        };
        let variables = variables(self, &command.words.environment, &context.worker);
        let header = driver_header(&command.words, &variables);
        let Outputs { stdout, stderr } = work.prepare_driver(&self.driver, &header)?;
        let (directory, outputs) = (work.of_driver(&self.driver), OutputTargets::files(stdout, stderr));
        let own = vec![directory.clone()];
        Ok(Prepared { command, is_java, directory, own, variables, outputs, pipes: Vec::new() })
    }

    fn started(&self, pid: u32) -> Event {
        Event::DriverStarted { driver: self.driver.clone(), pid }
    }

    fn measured(&self, last: LastMeasurement) -> Event {
        Event::DriverMeasured { driver: self.driver.clone(), last }
    }

    fn ended(&self, status: ExitStatus, _is_own: bool) -> Event {
        Event::DriverExited { driver: self.driver.clone(), status }
    }

    fn failed(&self, why: NotStarted) -> Event {
        Event::DriverFailed { driver: self.driver.clone(), why }
    }
}

/// All variables that a cluster driver gets in addition to the Worker's environment: the variables of its submitter,
/// and Firesteel's own variables. `MASTER` names the cluster for `firesteel map` and other commands, unless the
/// submitter set it.
fn variables(
    plan: &DriverPlan,
    asked: &BTreeMap<String, String>,
    worker: &WorkerId,
) -> BTreeMap<String, String> {
    let DriverPlan { driver, command: _, cores, memory, resources, on_worker, master_url, is_first: _ } =
        plan;
    let mut variables = BTreeMap::from([(environment::MASTER.to_owned(), master_url.clone())]);
    variables.extend(asked.clone());
    variables.extend(environment::of_resources(resources, on_worker, asked));
    variables.extend(own_variables(driver, worker));
    variables.extend([
        (environment::CORES.to_owned(), cores.0.to_string()),
        (environment::MEMORY_MIB.to_owned(), memory.0.to_string()),
    ]);
    variables
}

/// The variables that identify a cluster driver's processes.
fn own_variables(driver: &DriverId, worker: &WorkerId) -> [(String, String); 2] {
    [
        (environment::DRIVER_ID.to_owned(), driver.to_string()),
        (environment::WORKER_ID.to_owned(), worker.to_string()),
    ]
}
