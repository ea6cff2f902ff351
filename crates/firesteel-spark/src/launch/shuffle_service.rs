//! How a Worker starts Spark's external shuffle service: the program, its arguments and its variables.
//!
//! Source: Spark's launcher, 4.0.1 (`SparkClassCommandBuilder`), and its class `ExternalShuffleService`.

use std::collections::BTreeMap;

use firesteel_protocol::process::Command;
use firesteel_protocol::secret::Secret;

use super::installation::{Installation, Variables, has_secret};
use super::java_modules;
use crate::authentication::SECRET_VARIABLE;

/// The class of the service.
pub const CLASS: &str = "org.apache.spark.deploy.ExternalShuffleService";

/// The heap of a daemon of Spark if `SPARK_DAEMON_MEMORY` is not set.
const MEMORY: &str = "1g";

/// The settings of an external shuffle service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShuffleService {
    /// The TCP port on which the service listens.
    pub port: u16,
    /// The directory in which the service stores the registered executors, so that the next process of the service can
    /// read them.
    pub database: String,
    /// The properties of the Worker that the service reads, with their values.
    pub properties: Vec<(String, String)>,
    /// The words of `SPARK_DAEMON_JAVA_OPTS`.
    pub daemon_options: Vec<String>,
    /// The words of `SPARK_SHUFFLE_OPTS`, which take precedence over `daemon_options` and `properties`.
    pub options: Vec<String>,
    /// The secret that executors have to prove; `None` if they prove none.
    pub secret: Option<Secret>,
}

/// The program of the service. `inherited` are the Worker's own environment variables.
#[must_use]
pub fn program(
    service: &ShuffleService,
    installation: &Installation,
    inherited: &BTreeMap<String, String>,
) -> Command {
    let mut environment = BTreeMap::from([("SPARK_HOME".to_owned(), installation.home.clone())]);
    if let Some(secret) = &service.secret {
        environment.insert(SECRET_VARIABLE.to_owned(), secret.reveal().to_owned());
    }
    let variables = Variables { own: &environment, inherited };
    let first: Vec<String> = variables.get("SPARK_DAEMON_CLASSPATH").into_iter().map(str::to_owned).collect();
    let mut arguments = installation.java_options.clone();
    arguments.extend(["-cp".to_owned(), installation.class_path(&first, variables)]);
    arguments.extend(options(service));
    arguments.push(format!("-Xmx{}", variables.get("SPARK_DAEMON_MEMORY").unwrap_or(MEMORY)));
    arguments.extend(java_modules::OPTIONS.map(str::to_owned));
    arguments.push(CLASS.to_owned());
    Command { program: variables.java(), arguments, environment }
}

/// The options of the JVM, in increasing precedence, because the JVM uses the last value of a property. Values that the
/// Worker depends on come last.
fn options(service: &ShuffleService) -> impl Iterator<Item = String> {
    let ShuffleService { port, database, properties, daemon_options, options, secret } = service;
    let property = |(name, value): &(String, String)| format!("-D{name}={value}");
    let ours = [format!("-Dspark.shuffle.service.port={port}"), format!("-Dspark.local.dir={database}")];
    let all = daemon_options.iter().cloned().chain(properties.iter().map(property));
    let authentication = secret.as_ref().map(|_| "-Dspark.authenticate=true".to_owned());
    all.chain(options.iter().cloned()).filter(|option| !has_secret(option)).chain(ours).chain(authentication)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn installation() -> Installation {
        Installation {
            home: "/opt/spark".to_owned(),
            configuration: "/etc/spark".to_owned(),
            first_jars: words("/opt/spark/jars/slf4j-api-2.jar"),
            java_options: words("-server"),
        }
    }

    fn service() -> ShuffleService {
        ShuffleService {
            port: 7447,
            database: "/work/database".to_owned(),
            properties: Vec::new(),
            daemon_options: Vec::new(),
            options: Vec::new(),
            secret: None,
        }
    }

    fn started(service: &ShuffleService, inherited: &[(&str, &str)]) -> Command {
        let inherited = inherited.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        program(service, &installation(), &inherited.collect())
    }

    #[test]
    fn a_service_with_a_secret_wants_it_proven_and_does_not_show_it() {
        let service = ShuffleService {
            secret: Some(Secret::new("hush")),
            options: words("-Dspark.authenticate=false"),
            ..service()
        };
        let Command { arguments, environment, .. } = started(&service, &[]);
        assert_eq!(environment[SECRET_VARIABLE], "hush");
        let last = arguments.iter().rfind(|argument| argument.starts_with("-Dspark.authenticate"));
        assert_eq!(last.map(String::as_str), Some("-Dspark.authenticate=true"));
        assert!(arguments.iter().all(|argument| !argument.contains("hush")));
    }

    #[test]
    fn the_service_is_started_as_spark_s_launcher_starts_it() {
        let Command { program, arguments, environment } = started(&service(), &[]);
        assert_eq!(program, "java");
        assert_eq!(environment, BTreeMap::from([("SPARK_HOME".to_owned(), "/opt/spark".to_owned())]));
        let expected = words(
            "-server -cp /etc/spark/:/opt/spark/jars/slf4j-api-2.jar:/opt/spark/jars/* \
             -Dspark.shuffle.service.port=7447 -Dspark.local.dir=/work/database -Xmx1g",
        );
        let (before, after) = arguments.split_at(expected.len());
        assert_eq!(before, expected);
        assert_eq!(after[..java_modules::OPTIONS.len()], java_modules::OPTIONS);
        assert_eq!(after[java_modules::OPTIONS.len()..], [CLASS]);
    }

    #[test]
    fn the_variables_of_spark_s_daemons_count() {
        let inherited = [
            ("JAVA_HOME", "/jdk17"),
            ("SPARK_HOME", "/other"),
            ("SPARK_DAEMON_MEMORY", "2g"),
            ("SPARK_DAEMON_CLASSPATH", "/a.jar:/b.jar"),
            ("HADOOP_CONF_DIR", "/etc/hadoop"),
            ("SPARK_DIST_CLASSPATH", "/dist/*"),
        ];
        let Command { program, arguments, environment } = started(&service(), &inherited);
        assert_eq!(program, "/jdk17/bin/java");
        assert_eq!(environment["SPARK_HOME"], "/opt/spark");
        let class_path = "/a.jar:/b.jar:/etc/spark/:/opt/spark/jars/slf4j-api-2.jar:/opt/spark/jars/*:\
                          /etc/hadoop:/dist/*";
        assert_eq!(arguments[2], class_path);
        assert!(arguments.contains(&"-Xmx2g".to_owned()), "{arguments:?}");
        assert_eq!(started(&service(), &[("SPARK_DAEMON_MEMORY", "")]).arguments[5], "-Xmx1g");
    }

    #[test]
    fn the_service_s_own_options_take_precedence_and_the_worker_knows_its_port() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let service = ShuffleService {
            properties: vec![pair("spark.shuffle.io.serverThreads", "4")],
            daemon_options: words("-Xss4m -Dspark.shuffle.io.serverThreads=3"),
            options: words("-Dspark.shuffle.io.serverThreads=5 -Dspark.shuffle.service.port=1"),
            ..service()
        };
        let expected = words(
            "-Xss4m -Dspark.shuffle.io.serverThreads=3 -Dspark.shuffle.io.serverThreads=4 \
             -Dspark.shuffle.io.serverThreads=5 -Dspark.shuffle.service.port=1 \
             -Dspark.shuffle.service.port=7447 -Dspark.local.dir=/work/database -Xmx1g",
        );
        assert_eq!(started(&service, &[]).arguments[3..][..expected.len()], expected);
    }

    #[test]
    fn no_secret_is_among_the_arguments() {
        let secret = "spark.ssl.rpc.keyStorePassword".to_owned();
        let service = ShuffleService {
            properties: vec![(secret, "s3cret".to_owned())],
            daemon_options: words("-Dspark.authenticate.secret=s3cret"),
            options: words("-Dspark.ssl.keyPassword=s3cret"),
            ..service()
        };
        let program = started(&service, &[]);
        assert!(!format!("{program:?}").contains("s3cret"), "{program:?}");
    }
}
