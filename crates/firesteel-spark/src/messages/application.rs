//! An application as its driver describes it.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_protocol::process::executor_command::JavaCommand;

use super::{Fields, Unreadable};
use crate::dialect::Release;
use crate::java::Node;
use crate::scala;

/// The description of an application that a driver registers with a Master.
///
/// Source: Spark's ApplicationDescription, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The application's name, for users (`name`).
    pub name: String,
    /// The user who submitted the application (`user`).
    pub user: String,
    /// The URL of the driver's pages (`appUiUrl`); empty if it has none.
    pub ui_url: String,
    /// `spark.cores.max`: the maximum number of cores that the application wants.
    pub max_cores: Option<i32>,
    /// The number of executors that the application wants at the start (`initialExecutorLimit`). `None`: as many as its
    /// maximum of cores allows.
    pub initial_limit: Option<i32>,
    /// The needs of an executor in the default profile (`defaultProfile`).
    pub profile: Profile,
    /// The command of each executor (`command`).
    pub command: JavaCommand,
}

/// The needs of an executor: Spark's `ResourceProfile`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The profile's number; 0 is the default profile of the application.
    pub id: i32,
    /// The amounts by name: `cores`, `memory` in MiB, `offHeap`, `memoryOverhead`, `pyspark.memory`; all other names
    /// are custom resources.
    pub amounts: BTreeMap<String, i64>,
}

impl Application {
    /// The maximum number of values of an application that is accepted. Applications of Spark have some hundreds.
    pub(super) const MOST: u32 = 1 << 14;

    pub(super) fn read(application: &Fields<'_>, release: Option<Release>) -> Result<Self, Unreadable> {
        let profile = match application.has("defaultProfile") {
            true => Profile::read(application, "defaultProfile", application.value("defaultProfile")?)?,
            false => Profile::of_spark_3_3(application)?,
        };
        Ok(Self {
            name: application.text("name")?,
            user: application.text("user")?,
            ui_url: application.optional_text("appUiUrl")?.unwrap_or_default(),
            max_cores: application.integer_in_option("maxCores")?,
            initial_limit: application.integer_in_option("initialExecutorLimit")?,
            profile,
            command: java_command(
                &application.object("command", "org.apache.spark.deploy.Command")?,
                release,
            )?,
        })
    }
}

impl Profile {
    /// Reads a profile in a field of a message.
    fn read<'a>(message: &Fields<'a>, field: &'static str, node: Node<'a>) -> Result<Self, Unreadable> {
        let profile = message.object_of(field, node, "org.apache.spark.resource.ResourceProfile")?;
        let mut amounts = BTreeMap::new();
        for (name, request) in profile.entries("executorResources")? {
            let class = "org.apache.spark.resource.ExecutorResourceRequest";
            let request = profile.object_of("executorResources", request, class)?;
            amounts.insert(profile.text_of("executorResources", name)?, request.long("amount")?);
        }
        Ok(Self { id: profile.int("_id")?, amounts })
    }

    /// The default profile of an application before Spark 3.4. There, several fields of the application contain it.
    fn of_spark_3_3(application: &Fields<'_>) -> Result<Self, Unreadable> {
        let mut amounts = BTreeMap::new();
        amounts.insert("memory".to_owned(), i64::from(application.int("memoryPerExecutorMB")?));
        if let Some(cores) = application.integer_in_option("coresPerExecutor")? {
            amounts.insert("cores".to_owned(), i64::from(cores));
        }
        for requirement in application.elements("resourceReqsPerExecutor")? {
            let class = "org.apache.spark.resource.ResourceRequirement";
            let requirement = application.object_of("resourceReqsPerExecutor", requirement, class)?;
            amounts.insert(requirement.text("resourceName")?, i64::from(requirement.int("amount")?));
        }
        Ok(Self { id: 0, amounts })
    }
}

/// Reads the command of a driver of one of these releases.
pub(super) fn java_command(
    command: &Fields<'_>,
    release: Option<Release>,
) -> Result<JavaCommand, Unreadable> {
    let mut environment = BTreeMap::new();
    for (name, value) in command.entries("environment")? {
        let text = |node| command.text_of("environment", node);
        environment.insert(text(name)?, text(value)?);
    }
    let releases = release.map(Release::numbers).unwrap_or_default();
    Ok(JavaCommand {
        main_class: command.text("mainClass")?,
        arguments: command.texts("arguments")?,
        environment,
        class_path: command.texts("classPathEntries")?,
        library_path: command.texts("libraryPathEntries")?,
        java_options: command.texts("javaOpts")?,
        releases: releases.iter().map(|number| (*number).to_owned()).collect(),
        description: Bytes::new(),
    })
}

/// Reads one of Spark's maps from profiles to numbers of executors.
pub(super) fn totals(message: &Fields<'_>, field: &'static str) -> Result<Vec<(Profile, i32)>, Unreadable> {
    let mut totals = Vec::new();
    for (profile, total) in message.entries(field)? {
        let total = scala::integer(total).map_err(|mismatch| message.mismatch(field, mismatch))?;
        totals.push((Profile::read(message, field, profile)?, total));
    }
    Ok(totals)
}
