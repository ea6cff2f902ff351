//! How a Worker starts an executor of Spark: the program, its arguments and its variables.
//!
//! - [`installation`]: an installation of Spark; `java_modules`: its options for Java 17 and later.
//! - [`driver`], [`shuffle_service`]: how a Worker starts a cluster driver, and the external shuffle service.
//!
//! Source: Spark Worker, 4.0.1 (CommandUtils, ExecutorRunner and the launcher).

pub mod driver;
pub mod installation;
mod java_modules;
pub mod shuffle_service;

use std::collections::BTreeMap;

use firesteel_protocol::address::Address;
use firesteel_protocol::host;
use firesteel_protocol::process::Command;
use firesteel_protocol::process::executor_command::JavaCommand;

use installation::{Installation, Variables, has_secret};

/// The variable with the search path of the system's libraries.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The variable with the scratch directories of an executor, separated by colons.
pub const EXECUTOR_DIRECTORIES: &str = "SPARK_EXECUTOR_DIRS";

/// The values that a Worker fills into the command of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// The application's id (`{{APP_ID}}`).
    pub app: String,
    /// The executor's number in its application (`{{EXECUTOR_ID}}`).
    pub number: i32,
    /// The number of the executor's resource profile (`{{RESOURCE_PROFILE_ID}}`); 0 is the default profile.
    pub profile: i32,
    /// The executor's number of cores (`{{CORES}}`).
    pub cores: i32,
    /// The executor's memory in MiB, used as the JVM's heap.
    pub memory: i32,
    /// The address of the executor's Worker. The executor ends when its connection to this address ends. It listens on
    /// the Worker's host itself.
    pub worker: Address,
    /// The path of the file with the addresses of the executor's custom resources; `None` if it has none.
    pub resources_file: Option<String>,
    /// The executor's scratch directories.
    pub directories: Vec<String>,
}

/// The program of an executor. `inherited` are the Worker's own environment variables.
pub fn program(
    command: &JavaCommand,
    installation: &Installation,
    executor: &Executor,
    inherited: &BTreeMap<String, String>,
) -> Command {
    let variables = Variables { own: &command.environment, inherited };
    let mut arguments = installation.java_options.clone();
    arguments.extend(["-cp".to_owned(), installation.class_path(&command.class_path, variables)]);
    arguments.push(format!("-Xmx{}M", executor.memory));
    arguments.extend(java_options(command).map(|option| executor.in_option(option)));
    arguments.push(command.main_class.clone());
    arguments.extend(command.arguments.iter().map(|argument| executor.in_argument(argument)));
    if let Some(file) = &executor.resources_file {
        arguments.extend(["--resourcesFile".to_owned(), file.clone()]);
    }
    let mut environment = environment(command, installation, variables);
    environment.insert(EXECUTOR_DIRECTORIES.to_owned(), executor.directories.join(":"));
    Command { program: variables.java(), arguments, environment }
}

/// The JVM options of a command, except those with secrets.
pub(crate) fn java_options(command: &JavaCommand) -> impl Iterator<Item = &String> {
    command.java_options.iter().filter(|option| !has_secret(option))
}

/// The environment variables of a Java class: the variables of its command, and the variables that Spark's scripts
/// need.
pub(crate) fn environment(
    command: &JavaCommand,
    installation: &Installation,
    variables: Variables<'_>,
) -> BTreeMap<String, String> {
    let mut environment = command.environment.clone();
    if !command.library_path.is_empty() {
        let paths = command.library_path.iter().map(String::as_str).chain(variables.each(LIBRARY_PATH));
        environment.insert(LIBRARY_PATH.to_owned(), paths.collect::<Vec<_>>().join(":"));
    }
    environment.insert("SPARK_HOME".to_owned(), installation.home.clone());
    environment.insert("SPARK_LAUNCH_WITH_SCALA".to_owned(), "0".to_owned());
    environment
}

impl Executor {
    /// An argument. If the whole argument is a placeholder, its value.
    fn in_argument(&self, argument: &str) -> String {
        match argument {
            "{{WORKER_URL}}" => format!("spark://Worker@{}", self.worker),
            "{{EXECUTOR_ID}}" => self.number.to_string(),
            "{{HOSTNAME}}" => host::in_url(&self.worker.host).into_owned(),
            "{{CORES}}" => self.cores.to_string(),
            "{{APP_ID}}" => self.app.clone(),
            "{{RESOURCE_PROFILE_ID}}" => self.profile.to_string(),
            other => other.to_owned(),
        }
    }

    /// An option of the JVM, with two placeholders replaced anywhere in it.
    fn in_option(&self, option: &str) -> String {
        option.replace("{{APP_ID}}", &self.app).replace("{{EXECUTOR_ID}}", &self.number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn variables(rows: &[(&str, &str)]) -> BTreeMap<String, String> {
        rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn command() -> JavaCommand {
        JavaCommand {
            main_class: "Backend".to_owned(),
            arguments: words(
                "--executor-id {{EXECUTOR_ID}} --hostname {{HOSTNAME}} --cores {{CORES}} --app-id {{APP_ID}} \
                 --worker-url {{WORKER_URL}} --resourceProfileId {{RESOURCE_PROFILE_ID}}",
            ),
            environment: variables(&[("SPARK_USER", "ann")]),
            class_path: Vec::new(),
            library_path: Vec::new(),
            java_options: words("-Dspark.driver.port=4 --add-opens=java.base/java.lang=ALL-UNNAMED"),
            ..JavaCommand::default()
        }
    }

    fn installation() -> Installation {
        Installation {
            home: "/opt/spark".to_owned(),
            configuration: "/opt/spark/conf".to_owned(),
            first_jars: Vec::new(),
            java_options: Vec::new(),
        }
    }

    fn executor() -> Executor {
        Executor {
            app: "app-20261120-0007".to_owned(),
            number: 3,
            profile: 1,
            cores: 2,
            memory: 512,
            worker: Address { host: "10.0.0.2".to_owned(), port: 7079 },
            resources_file: None,
            directories: vec!["/scratch/a".to_owned(), "/scratch/b".to_owned()],
        }
    }

    fn started(command: &JavaCommand, inherited: &[(&str, &str)]) -> Command {
        program(command, &installation(), &executor(), &variables(inherited))
    }

    #[test]
    fn an_executor_is_started_with_the_words_that_spark_s_worker_uses() {
        let Command { program, arguments, environment } = started(&command(), &[]);
        assert_eq!(program, "java");
        let expected = words(
            "-cp /opt/spark/conf/:/opt/spark/jars/* -Xmx512M -Dspark.driver.port=4 \
             --add-opens=java.base/java.lang=ALL-UNNAMED Backend --executor-id 3 --hostname 10.0.0.2 --cores 2 \
             --app-id app-20261120-0007 --worker-url spark://Worker@10.0.0.2:7079 --resourceProfileId 1",
        );
        assert_eq!(arguments, expected);
        let ours = [
            ("SPARK_EXECUTOR_DIRS", "/scratch/a:/scratch/b"),
            ("SPARK_HOME", "/opt/spark"),
            ("SPARK_LAUNCH_WITH_SCALA", "0"),
            ("SPARK_USER", "ann"),
        ];
        assert_eq!(environment, variables(&ours));
    }

    #[test]
    fn an_ipv6_address_is_in_brackets_wherever_spark_reads_it() {
        let executor = Executor { worker: Address::new("fd00::2", 7079), ..executor() };
        let arguments = program(&command(), &installation(), &executor, &variables(&[])).arguments;
        let after = |word: &str| {
            let at = arguments.iter().position(|argument| argument == word).expect("it is there");
            arguments[at + 1].as_str()
        };
        assert_eq!(after("--hostname"), "[fd00::2]");
        assert_eq!(after("--worker-url"), "spark://Worker@[fd00::2]:7079");
    }

    #[test]
    fn only_whole_arguments_and_two_names_in_options_are_replaced() {
        let mut command = command();
        command.arguments = words("{{CORES}}x x{{APP_ID}} {{EXECUTOR_ID}} {{USER_JAR}} {{MEMORY}} {{cores}}");
        command.java_options =
            words("-Xlog:gc:{{APP_ID}}-{{EXECUTOR_ID}}.log -Dcores={{CORES}} {{EXECUTOR_ID}}{{APP_ID}}");
        let arguments = started(&command, &[]).arguments;
        let (options, rest) = arguments[3..].split_at(3);
        assert_eq!(options, words("-Xlog:gc:app-20261120-0007-3.log -Dcores={{CORES}} 3app-20261120-0007"));
        assert_eq!(rest[1..], words("{{CORES}}x x{{APP_ID}} 3 {{USER_JAR}} {{MEMORY}} {{cores}}"));
    }

    #[test]
    fn the_class_path_has_the_application_s_entries_first() {
        let mut command = command();
        command.class_path = words("/a.jar /b/*");
        let installation = Installation {
            configuration: "/etc/spark/".to_owned(),
            first_jars: words("/opt/spark/jars/slf4j-api-2.jar"),
            java_options: words("-server -Xss4m"),
            ..installation()
        };
        let inherited =
            [("HADOOP_CONF_DIR", "/etc/hadoop"), ("SPARK_DIST_CLASSPATH", "/dist/*"), ("YARN_CONF_DIR", "")];
        let arguments = program(&command, &installation, &executor(), &variables(&inherited)).arguments;
        let class_path =
            "/a.jar:/b/*:/etc/spark/:/opt/spark/jars/slf4j-api-2.jar:/opt/spark/jars/*:/etc/hadoop:/dist/*";
        assert_eq!(arguments[..5], words(&format!("-server -Xss4m -cp {class_path} -Xmx512M")));
    }

    #[test]
    fn the_application_s_variables_go_before_the_worker_s() {
        let mut command = command();
        command.library_path = words("/lib/a /lib/b");
        let inherited = [("JAVA_HOME", "/jdk17"), ("LD_LIBRARY_PATH", "/usr/lib"), ("SPARK_HOME", "/other")];
        let one = started(&command, &inherited);
        assert_eq!(one.program, "/jdk17/bin/java");
        assert_eq!(one.environment["LD_LIBRARY_PATH"], "/lib/a:/lib/b:/usr/lib");
        assert_eq!(one.environment["SPARK_HOME"], "/opt/spark");
        command.environment = variables(&[("JAVA_HOME", "/jdk21"), ("LD_LIBRARY_PATH", "/mine")]);
        let other = started(&command, &inherited);
        assert_eq!(other.program, "/jdk21/bin/java");
        assert_eq!(other.environment["LD_LIBRARY_PATH"], "/lib/a:/lib/b:/mine:/usr/lib");
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let mut command = command();
        let inherited = [("JAVA_HOME", "/jdk17"), ("HADOOP_CONF_DIR", "/etc/hadoop")];
        command.environment = variables(&[("JAVA_HOME", ""), ("HADOOP_CONF_DIR", "")]);
        let one = started(&command, &inherited);
        assert_eq!(one.program, "/jdk17/bin/java");
        assert!(one.arguments[1].ends_with(":/etc/hadoop"), "{:?}", one.arguments);
        assert_eq!(started(&command, &[("JAVA_HOME", "")]).program, "java");
    }

    #[test]
    fn no_secret_is_among_the_arguments_or_shown() {
        let mut command = command();
        command.java_options = words(
            "-Dspark.authenticate.secret=s3cret -Dspark.ssl.rpc.keyStorePassword=s3cret -Dspark.authenticate=true \
             -Dspark.ssl.rpc.enabled=true",
        );
        command.environment = variables(&[("DATABASE_URL", "s3cret")]);
        let program = started(&command, &[]);
        assert!(!format!("{program:?}").contains("s3cret"), "{program:?}");
        assert_eq!(program.arguments[3..5], words("-Dspark.authenticate=true -Dspark.ssl.rpc.enabled=true"));
        assert!(!format!("{command:?}").contains("s3cret"), "{command:?}");
    }

    #[test]
    fn an_executor_with_resources_is_told_their_file() {
        let executor = Executor { resources_file: Some("/work/r.json".to_owned()), ..executor() };
        let arguments = program(&command(), &installation(), &executor, &BTreeMap::new()).arguments;
        assert_eq!(arguments[arguments.len() - 2..], words("--resourcesFile /work/r.json"));
    }
}
