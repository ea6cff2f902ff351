//! Turns a Java class into the program of one of Spark's executors or cluster drivers.
//!
//! - [`spark_homes`]: the installations of Spark, and which installation an executor gets.
//! - `driver_jar`: the jar of a cluster driver, which is fetched into the driver's directory.

mod driver_jar;
pub mod spark_homes;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use firesteel_host::start::failed;
use firesteel_protocol::address::Address;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::{ExecutorKey, WorkerId};
use firesteel_protocol::process::executor_command::JavaCommand;
use firesteel_protocol::process::{Command, NotStarted, StartFailure, StartStep};
use firesteel_protocol::secret::Secret;
use firesteel_settings::pages::LogLinks;
use firesteel_spark::cluster_driver::SparkDriver;
use firesteel_spark::launch::driver::{self, DriverLocation};
use firesteel_spark::launch::{self, Executor};
use firesteel_spark::shares::told_to_spark;
use firesteel_worker::{DriverPlan, ExecutorPlan};
use serde_json::json;

use super::cleanup::scratch_directories::ScratchDirectories;
use super::directories::work_directory::WorkDirectory;
use super::environment::inherited;
use crate::files::private::OwnDirectory;
use spark_homes::SparkHomes;

/// The settings and paths that a Worker needs to start Spark's executors and cluster drivers.
#[derive(Debug)]
pub struct Java {
    pub homes: SparkHomes,
    pub scratch: ScratchDirectories,
    pub worker: Address,
    pub logs: LogUrls,
    /// The variables with the passwords of the files of Spark's applications.
    pub passwords: BTreeMap<String, Secret>,
}

/// The URLs at which the logs of a Worker's executors can be read. Spark's executors report the URLs to their driver,
/// and the driver's pages link to them.
#[derive(Clone, Debug)]
pub struct LogUrls {
    /// Whether the links lead to the Worker or to the Master.
    pub links: LogLinks,
    pub worker: Option<String>,
    pub id: WorkerId,
}

impl LogUrls {
    /// The variables of an executor's environment. Source: Spark ExecutorRunner, 4.0.1.
    fn variables(&self, executor: &ExecutorKey) -> Vec<(String, String)> {
        let pages = match (&self.links, &self.worker) {
            (LogLinks::Master(at), _) => format!("{}/proxy/{}/", at.as_deref().unwrap_or_default(), self.id),
            (LogLinks::Worker, Some(worker)) => worker.clone(),
            (LogLinks::Worker, None) => return Vec::new(),
        };
        let variable = |(name, stream)| {
            let log = format!("appId={}&executorId={}&logType={stream}", executor.app, executor.executor);
            (format!("SPARK_LOG_URL_{name}"), format!("{pages}logPage/?{log}"))
        };
        [("STDERR", "stderr"), ("STDOUT", "stdout")].map(variable).into()
    }
}

impl Java {
    /// The program of an executor. Makes the executor's scratch directories, and the file with its resources. Blocks
    /// the thread.
    ///
    /// # Errors
    ///
    /// No installation of Spark fits, or a file or directory cannot be made.
    pub fn program(
        &self,
        command: &JavaCommand,
        plan: &ExecutorPlan,
        work: &WorkDirectory,
    ) -> Result<Command, NotStarted> {
        let installation = self.homes.choose(command)?;
        let directories = self.scratch.make(&plan.executor.app, work.account())?;
        let executor = Executor {
            app: plan.executor.app.to_string(),
            number: spark_s(plan.executor.executor.0)?,
            profile: spark_s(plan.profile.0)?,
            cores: spark_s(plan.cores.0)?,
            memory: spark_s(plan.memory.0)?,
            worker: self.worker.clone(),
            resources_file: resources_file(command, plan, work)?,
            directories: directories.iter().map(byte_text::of_os).collect(),
        };
        let mut program = launch::program(command, &installation, &executor, &inherited());
        program.environment.extend(self.logs.variables(&plan.executor));
        Ok(self.with_passwords(program))
    }

    /// The program with the passwords of its files, unless it brings its own. Source: Spark Worker, 4.0.1.
    fn with_passwords(&self, mut program: Command) -> Command {
        for (name, password) in &self.passwords {
            let variable = program.environment.entry(name.clone());
            variable.or_insert_with(|| password.reveal().to_owned());
        }
        program
    }
}

impl Java {
    /// The program of a cluster driver. Makes the driver's directory, and fetches its jar into that directory. Blocks
    /// the thread.
    ///
    /// # Errors
    ///
    /// No installation of Spark fits, the jar cannot be fetched, or the directory cannot be made.
    pub fn driver_program(
        &self,
        driver: &SparkDriver,
        plan: &DriverPlan,
        work: &WorkDirectory,
    ) -> Result<Command, NotStarted> {
        let installation = self.homes.choose(&driver.command)?;
        let directory = work.of_driver(&plan.driver);
        work.make_driver(&plan.driver)
            .map_err(|error| failed(StartStep::Directory, directory.display(), &error))?;
        let jar = work.act(|| driver_jar::fetch(&driver.jar, &directory))?;
        let place = DriverLocation {
            worker: self.worker.clone(),
            masters: plan.master_url.clone(),
            jar: byte_text::of_os(jar.unwrap_or(directory)),
            memory: plan.memory.0,
            resources_file: driver_resources_file(plan, work)?,
        };
        Ok(self.with_passwords(driver::program(driver, &installation, &place, &inherited())))
    }
}

/// Converts a number to the type that Spark uses.
fn spark_s(number: impl TryInto<i32> + Copy + ToString) -> Result<i32, StartFailure> {
    number.try_into().map_err(|_| StartFailure {
        step: StartStep::Program,
        error: format!("{} is more than any number of Spark's", number.to_string()),
    })
}

/// Writes the addresses of custom resources into the executor's directory. `None` if the executor has no addresses.
///
/// Source: Spark Worker, 4.0.1.
fn resources_file(
    command: &JavaCommand,
    plan: &ExecutorPlan,
    work: &WorkDirectory,
) -> Result<Option<String>, NotStarted> {
    let resources = told_to_spark(&plan.resources, &command.environment);
    if resources.is_empty() {
        return Ok(None);
    }
    let directory = (work.make_executor(&plan.executor), work.of_executor(&plan.executor));
    work.act(|| written(directory, &described("spark.executor", &resources))).map(Some)
}

/// Writes the addresses of custom resources into the cluster driver's directory. `None` if the driver has no addresses.
///
/// Source: Spark Worker, 4.0.1.
fn driver_resources_file(plan: &DriverPlan, work: &WorkDirectory) -> Result<Option<String>, NotStarted> {
    let resources = told_to_spark(&plan.resources, &BTreeMap::new());
    if resources.is_empty() {
        return Ok(None);
    }
    let directory = (work.make_driver(&plan.driver), work.of_driver(&plan.driver));
    work.act(|| written(directory, &described("spark.driver", &resources))).map(Some)
}

/// Writes a description of resources into a directory. Returns its path.
fn written(
    (directory, path): (io::Result<OwnDirectory>, PathBuf),
    description: &str,
) -> Result<String, NotStarted> {
    let path = path.join(RESOURCES);
    directory
        .and_then(|directory| directory.create_log(RESOURCES)?.write_all(description.as_bytes()))
        .map_err(|error| failed(StartStep::Directory, path.display(), &error))?;
    Ok(byte_text::of_os(path))
}

/// The name of the file with the addresses of custom resources.
const RESOURCES: &str = "resources.json";

/// The resource addresses of a Spark component, in the format that Spark's Worker writes.
fn described(component: &str, resources: &BTreeMap<String, Vec<String>>) -> String {
    let one = |(name, addresses)| {
        let id = json!({"componentName": component, "resourceName": name});
        json!({"id": id, "addresses": addresses})
    };
    serde_json::Value::Array(resources.iter().map(one).collect()).to_string()
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::{AppId, ExecutorId};

    use super::*;

    #[test]
    fn executors_know_where_their_logs_are_as_in_spark() {
        let executor = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        let variables = |links, worker: Option<&str>| {
            LogUrls { links, worker: worker.map(str::to_owned), id: WorkerId::new("worker-1") }
                .variables(&executor)
        };
        let log = |stream: &str| format!("logPage/?appId=app-1&executorId=3&logType={stream}");
        let found = variables(LogLinks::Worker, Some("http://h:8081/"));
        let expected = [("STDERR", "stderr"), ("STDOUT", "stdout")].map(|(name, stream)| {
            (format!("SPARK_LOG_URL_{name}"), format!("http://h:8081/{}", log(stream)))
        });
        assert_eq!(found, expected);
        assert_eq!(variables(LogLinks::Worker, None), []);
        let proxied = variables(LogLinks::Master(None), Some("http://h:8081/"));
        assert_eq!(proxied[1].1, format!("/proxy/worker-1/{}", log("stdout")));
        let at = Some("https://p/spark".to_owned());
        let proxied = variables(LogLinks::Master(at), None);
        assert_eq!(proxied[0].1, format!("https://p/spark/proxy/worker-1/{}", log("stderr")));
    }

    #[test]
    fn resources_are_described_as_spark_s_worker_does() {
        let resources = [("gpu".to_owned(), vec!["0".to_owned(), "1".to_owned()])].into();
        let expected = json!([{
            "id": {"componentName": "spark.executor", "resourceName": "gpu"},
            "addresses": ["0", "1"],
        }]);
        let found: serde_json::Value =
            serde_json::from_str(&described("spark.executor", &resources)).expect("it is JSON");
        assert_eq!(found, expected);
    }
}
