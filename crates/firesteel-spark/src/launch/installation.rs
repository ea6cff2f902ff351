//! An installation of Spark on a machine, and the class path and options of every JVM that runs it.
//!
//! Source: Spark's launcher, 4.0.1 (`AbstractCommandBuilder`).

use std::collections::BTreeMap;

/// An installation of Spark on the Worker's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The directory of the installation, `SPARK_HOME`.
    pub home: String,
    /// The directory of its configuration: `SPARK_CONF_DIR`, or `conf` in the installation.
    pub configuration: String,
    /// The paths of the installation's `slf4j-api-*.jar`, which Spark 4 puts before all other jars.
    pub first_jars: Vec<String>,
    /// The words of the file `java-opts` in the configuration.
    pub java_options: Vec<String>,
}

/// The environment variables of a process that will be started. An empty variable counts as unset, as in Spark.
#[derive(Clone, Copy, Debug)]
pub struct Variables<'a> {
    /// Additional variables, which take precedence over the inherited ones.
    pub own: &'a BTreeMap<String, String>,
    /// The variables of the Worker.
    pub inherited: &'a BTreeMap<String, String>,
}

impl<'a> Variables<'a> {
    /// The process's own value of a variable. If there is none, the inherited value. `None` if both are unset or empty.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a str> {
        self.each(name).next()
    }

    /// The process's own value and the inherited value of a variable, if they are set.
    pub fn each(self, name: &str) -> impl Iterator<Item = &'a str> {
        let values = [self.own.get(name), self.inherited.get(name)].into_iter().flatten();
        values.map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The program that runs Java classes, from `JAVA_HOME`. If that is not set, `java` from `PATH`.
    #[must_use]
    pub fn java(self) -> String {
        self.get("JAVA_HOME").map_or_else(|| "java".to_owned(), |home| format!("{home}/bin/java"))
    }
}

impl Installation {
    /// The class path of a JVM that runs this Spark, with these entries first.
    #[must_use]
    pub fn class_path(&self, first: &[String], variables: Variables<'_>) -> String {
        let Self { home, configuration, first_jars, .. } = self;
        let mut entries = first.to_vec();
        entries.push(format!("{}/", configuration.trim_end_matches('/')));
        entries.extend_from_slice(first_jars);
        entries.push(format!("{home}/jars/*"));
        let others = ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"];
        entries.extend(others.into_iter().filter_map(|name| variables.get(name)).map(str::to_owned));
        entries.retain(|entry| !entry.is_empty());
        entries.join(":")
    }
}

/// Whether an option of the JVM contains a secret. Every user of the machine could read it in the process list.
#[must_use]
pub fn has_secret(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    name == "-Dspark.authenticate.secret" || name.starts_with("-Dspark.ssl.") && name.ends_with("assword")
}
