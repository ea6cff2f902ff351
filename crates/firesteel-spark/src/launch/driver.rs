//! How a Worker starts a cluster driver of Spark: the program, its arguments and its variables.
//!
//! Source: Spark Worker, 4.0.1 (CommandUtils and DriverRunner).

use std::collections::BTreeMap;

use firesteel_protocol::address::Address;
use firesteel_protocol::process::Command;

use super::installation::{Installation, Variables};
use super::java_modules;
use crate::authentication::SECRET_VARIABLE;
use crate::cluster_driver::SparkDriver;
use crate::launch::{environment, java_options};

/// The class that runs the class of a cluster driver, and ends it when the connection to its Worker ends.
pub const WRAPPER: &str = "org.apache.spark.deploy.worker.DriverWrapper";

/// The placeholder for the Worker's URL in an argument.
pub(crate) const WORKER_URL: &str = "{{WORKER_URL}}";

/// The placeholder for the path of the jar in an argument.
pub(crate) const USER_JAR: &str = "{{USER_JAR}}";

/// The property with the URL of the Masters.
const MASTER: &str = "-Dspark.master=";

/// A driver does not start without this property, although a variable with the secret takes precedence over it. Here it
/// tells where the secret is.
///
/// Source: Spark's `SecurityManager` (`initializeAuth`, `getSecretKey`), 4.0.1.
const SECRET_IN_VARIABLE: &str = "-Dspark.authenticate.secret=in:_SPARK_AUTH_SECRET";

/// The property with the path of the file that lists the addresses of the driver's custom resources.
const RESOURCES_FILE: &str = "-Dspark.driver.resourcesFile=";

/// The values that a Worker fills into the command of a cluster driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverLocation {
    /// The address of the driver's Worker. The driver ends when its connection to this address ends.
    pub worker: Address,
    /// The URL of the Worker's Masters: `spark://host:port[,host:port..]`.
    pub masters: String,
    /// The path of the driver's jar. If it has no jar: the path of its directory.
    pub jar: String,
    /// The driver's memory in MiB, used as the JVM's heap.
    pub memory: i64,
    /// The path of the file with the addresses of the driver's custom resources; `None` if it has none.
    pub resources_file: Option<String>,
}

/// The program of a cluster driver. `inherited` are the Worker's own environment variables.
///
/// The driver's application registers with the Masters in the Worker's settings. The submitting client's addresses are
/// not used: a client that submits by REST knows only the ports for REST, and may use other host names.
pub fn program(
    driver: &SparkDriver,
    installation: &Installation,
    place: &DriverLocation,
    inherited: &BTreeMap<String, String>,
) -> Command {
    let SparkDriver { jar: _, command } = driver;
    let variables = Variables { own: &command.environment, inherited };
    let mut arguments = installation.java_options.clone();
    arguments.extend(["-cp".to_owned(), installation.class_path(&command.class_path, variables)]);
    arguments.push(format!("-Xmx{}M", place.memory));
    let is_given = |option: &&str| command.java_options.iter().any(|given| given == option);
    arguments.extend(
        java_modules::OPTIONS.iter().filter(|option| !is_given(option)).map(|option| (*option).to_owned()),
    );
    let options = java_options(command).filter(|option| !option.starts_with(MASTER));
    arguments.extend(options.cloned());
    arguments.push(format!("{MASTER}{}", place.masters));
    if command.environment.contains_key(SECRET_VARIABLE) {
        arguments.push(SECRET_IN_VARIABLE.to_owned());
    }
    arguments.extend(place.resources_file.iter().map(|file| format!("{RESOURCES_FILE}{file}")));
    arguments.push(WRAPPER.to_owned());
    arguments.extend([WORKER_URL, USER_JAR].map(|word| place.in_argument(word)));
    arguments.push(command.main_class.clone());
    arguments.extend(command.arguments.iter().map(|argument| place.in_argument(argument)));
    let environment = environment(command, installation, variables);
    Command { program: variables.java(), arguments, environment }
}

impl DriverLocation {
    /// An argument. If the whole argument is a placeholder, its value.
    fn in_argument(&self, argument: &str) -> String {
        match argument {
            WORKER_URL => format!("spark://Worker@{}", self.worker),
            USER_JAR => self.jar.clone(),
            other => other.to_owned(),
        }
    }
}

/// Variables that concern the submitter's machine and mean nothing on a Worker's machine.
///
/// Source: Spark 4.0.1 (`RestSubmissionClient`, `StandaloneRestServer`).
const OF_A_MACHINE: [&str; 5] =
    ["SPARK_ENV_LOADED", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"];

/// Whether a driver gets this environment variable of its submitter.
pub(crate) fn is_passed_on(name: &str) -> bool {
    !OF_A_MACHINE.contains(&name) && !name.is_empty() && !name.contains(['=', '\0'])
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::process::executor_command::JavaCommand;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn started(options: &str) -> Command {
        let command = JavaCommand {
            main_class: "Pi".to_owned(),
            arguments: words("{{WORKER_URL}} ten"),
            environment: [("SPARK_X".to_owned(), "1".to_owned())].into(),
            class_path: words("/mine.jar"),
            java_options: words(options),
            ..JavaCommand::default()
        };
        started_with(command)
    }

    fn started_with(command: JavaCommand) -> Command {
        let installation = Installation {
            home: "/opt/spark".to_owned(),
            configuration: "/opt/spark/conf".to_owned(),
            first_jars: Vec::new(),
            java_options: words("-server"),
        };
        let place = DriverLocation {
            worker: Address { host: "10.0.0.2".to_owned(), port: 7079 },
            masters: "spark://a:7077,b:7077".to_owned(),
            jar: "/work/driver-1/pi.jar".to_owned(),
            memory: 512,
            resources_file: Some("/work/driver-1/resources.json".to_owned()),
        };
        let inherited = [("JAVA_HOME".to_owned(), "/jdk17".to_owned())].into();
        program(&SparkDriver { jar: "file:/pi.jar".to_owned(), command }, &installation, &place, &inherited)
    }

    #[test]
    fn a_driver_finds_its_secret_in_a_variable_and_not_among_its_options() {
        let mut command = JavaCommand { main_class: "Pi".to_owned(), ..JavaCommand::default() };
        command.java_options = words("-Dspark.authenticate=true -Dspark.authenticate.secret=hush");
        let started = |command: &JavaCommand| started_with(command.clone()).arguments;
        let is_secret = |argument: &&String| argument.starts_with("-Dspark.authenticate.secret");
        assert_eq!(started(&command).iter().find(is_secret), None);
        command.environment.insert(SECRET_VARIABLE.to_owned(), "hush".to_owned());
        let arguments = started(&command);
        assert_eq!(arguments.iter().find(is_secret).map(String::as_str), Some(SECRET_IN_VARIABLE));
        assert!(SECRET_IN_VARIABLE.ends_with(SECRET_VARIABLE));
        assert!(arguments.iter().all(|argument| !argument.contains("hush")));
    }

    #[test]
    fn a_driver_is_started_as_by_spark_s_worker_and_knows_all_masters() {
        let Command { program, arguments, environment } =
            started("-Dspark.master=spark://a:6066 -Dspark.app.name=x -Dspark.ssl.rpc.keyPassword=s3cret");
        assert_eq!(program, "/jdk17/bin/java");
        assert_eq!(
            arguments[..4],
            words("-server -cp /mine.jar:/opt/spark/conf/:/opt/spark/jars/* -Xmx512M")
        );
        assert_eq!(arguments[4..22], java_modules::OPTIONS);
        let rest = "-Dspark.app.name=x -Dspark.master=spark://a:7077,b:7077 \
                    -Dspark.driver.resourcesFile=/work/driver-1/resources.json \
                    org.apache.spark.deploy.worker.DriverWrapper spark://Worker@10.0.0.2:7079 \
                    /work/driver-1/pi.jar Pi spark://Worker@10.0.0.2:7079 ten";
        assert_eq!(arguments[22..], words(rest));
        let expected = [("SPARK_HOME", "/opt/spark"), ("SPARK_LAUNCH_WITH_SCALA", "0"), ("SPARK_X", "1")];
        let expected: BTreeMap<String, String> =
            expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(environment, expected);
    }

    #[test]
    fn an_option_that_the_submitter_gave_is_not_repeated() {
        let arguments = started(&java_modules::OPTIONS.join(" ")).arguments;
        let opens = arguments.iter().filter(|word| word.starts_with("--add-opens=")).count();
        assert_eq!(opens, 15);
    }

    #[test]
    fn variables_of_the_submitter_s_machine_are_not_passed_on() {
        let named = ["SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_USER", "PYSPARK_PYTHON", "", "A=B"];
        let passed: Vec<&str> = named.into_iter().filter(|name| is_passed_on(name)).collect();
        assert_eq!(passed, ["SPARK_USER", "PYSPARK_PYTHON"]);
    }
}
