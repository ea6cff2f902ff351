//! Flags of daemons, which environment variables can replace.

use firesteel_protocol::address::Address;
use firesteel_settings::variables::{self, Environment, Role};
use firesteel_settings::{Origin, Reader};

use crate::cli::exit::{Exit, Failure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Flag {
    pub(in crate::cli) name: &'static str,
    pub(super) default: &'static str,
    pub(in crate::cli) meaning: &'static str,
}

/// The value of a flag and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct FlagValue {
    pub(in crate::cli) text: String,
    /// The origin of the value. `None`: the value is the default.
    pub(in crate::cli) origin: Option<Origin>,
    flag: &'static str,
}

/// The flags of a daemon that listens. Empty for an application.
pub(in crate::cli) fn flags(reader: Reader) -> &'static [Flag] {
    const fn flag(name: &'static str, default: &'static str, meaning: &'static str) -> Flag {
        Flag { name, default, meaning }
    }
    const HOST: Flag = flag("--host", "127.0.0.1", "Host name or address to listen on.");
    const PORT: &str = "Port to listen on; 0 takes any free port.";
    match reader {
        Reader::Master => const { &[HOST, flag("--port", "7077", PORT)] },
        Reader::Worker => {
            const {
                &[
                    HOST,
                    flag("--port", "0", PORT),
                    flag("--cores", "all", "Cores for executors."),
                    flag("--memory", "all but 1 GiB", "Memory for executors."),
                    flag(
                        "--work-dir",
                        "work",
                        "Directory in which each executor gets a directory of its own.",
                    ),
                ]
            }
        }
        Reader::Application => &[],
    }
}

/// Determines the value of the flag with this name. Precedence: flag, environment variables in order, default.
pub(in crate::cli) fn choose(
    reader: Reader,
    name: &'static str,
    given: Option<&str>,
    environment: &Environment,
) -> FlagValue {
    if let Some(value) = given {
        return FlagValue { text: value.to_owned(), origin: Some(Origin::Flag(name)), flag: name };
    }
    let replacements = variables::of(reader).filter(|variable| variable.role == Role::Flag(name));
    for variable in replacements {
        match environment.get(variable.name) {
            Some(value) if is_foreign(name, value) => {
                let variable = variable.name;
                tracing::warn!(
                    "ignoring ${variable}={value}: it is a URL (Kubernetes sets such variables), not a port"
                );
            }
            Some(value) => {
                let origin = Some(Origin::Variable(variable.name));
                return FlagValue { text: value.to_owned(), origin, flag: name };
            }
            None => {}
        }
    }
    if let (Reader::Worker, "--work-dir", Some(home)) = (reader, name, environment.get("SPARK_HOME")) {
        let origin = Some(Origin::Variable("SPARK_HOME"));
        return FlagValue { text: format!("{home}/work"), origin, flag: name };
    }
    let flag = flags(reader).iter().find(|flag| flag.name == name).expect("the daemon has the flag");
    FlagValue { text: flag.default.to_owned(), origin: None, flag: name }
}

/// Whether Kubernetes has set this variable. For a service called spark-master, Kubernetes sets
/// `SPARK_MASTER_PORT=tcp://10.0.0.1:7077`.
pub(super) fn is_foreign(flag: &str, value: &str) -> bool {
    flag == "--port" && value.starts_with("tcp://")
}

impl FlagValue {
    /// The value, unless it is the default.
    pub(in crate::cli) fn chosen(&self) -> Option<&str> {
        self.origin.is_some().then_some(self.text.as_str())
    }

    /// Whether the value comes from this environment variable.
    pub(in crate::cli) fn is_of(&self, variable: &str) -> bool {
        matches!(&self.origin, Some(Origin::Variable(name)) if *name == variable)
    }

    /// An error about the value: the name of the flag or variable, and then `words`.
    pub(in crate::cli) fn error(&self, words: impl std::fmt::Display) -> Failure {
        match &self.origin {
            Some(origin) if !origin.is_command_line() => {
                Failure::of(Exit::Configuration, format!("{origin}{words}"))
            }
            Some(_) | None => Failure::of(Exit::Usage, format!("{}{words}", self.flag)),
        }
    }
}

/// The address to listen on, from `--host` and `--port`.
pub(in crate::cli) fn address(host_value: &FlagValue, port_value: &FlagValue) -> Result<Address, Failure> {
    Ok(Address::new(host(host_value)?, port(port_value)?))
}

/// The port; 0 takes any free port.
pub(in crate::cli) fn port(value: &FlagValue) -> Result<u16, Failure> {
    value.text.parse().map_err(|_| {
        let words = "write a port from 1 to 65535, or 0 for any free port";
        value.error(format_args!(" cannot be {:?}: {words}", value.text))
    })
}

/// The host without brackets. In Spark, an IPv6 address is written in brackets.
pub(in crate::cli) fn host(value: &FlagValue) -> Result<String, Failure> {
    let name = &value.text;
    firesteel_protocol::host::plain(name).ok_or_else(|| {
        let words = "write a name or an IP address, without a port";
        value.error(format_args!(" cannot be {name:?}: {words}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &'static str, given: Option<&str>, variables: &[(&str, &str)]) -> (String, String) {
        let environment =
            variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let value = choose(Reader::Worker, name, given, &environment);
        (value.text, value.origin.map_or("default".to_owned(), |origin| origin.to_string()))
    }

    fn pair(value: &str, origin: &str) -> (String, String) {
        (value.to_owned(), origin.to_owned())
    }

    #[test]
    fn a_flag_beats_its_variables_and_these_each_other_in_order() {
        let variables = [("SPARK_LOCAL_IP", "10.0.0.1"), ("SPARK_WORKER_HOST", "node-1")];
        assert_eq!(chosen("--host", Some("node-2"), &variables), pair("node-2", "--host"));
        assert_eq!(chosen("--host", None, &variables), pair("node-1", "$SPARK_WORKER_HOST"));
        assert_eq!(chosen("--host", None, &variables[..1]), pair("10.0.0.1", "$SPARK_LOCAL_IP"));
        assert_eq!(chosen("--host", None, &[]), pair("127.0.0.1", "default"));
    }

    #[test]
    fn variables_that_are_empty_or_kubernetes_count_as_unset() {
        assert_eq!(chosen("--port", None, &[("SPARK_WORKER_PORT", "")]), pair("0", "default"));
        assert_eq!(
            chosen("--port", None, &[("SPARK_WORKER_PORT", "tcp://10.0.0.1:1")]),
            pair("0", "default")
        );
    }

    #[test]
    fn a_worker_works_below_sparks_home_as_in_spark() {
        let home = [("SPARK_HOME", "/opt/spark")];
        assert_eq!(chosen("--work-dir", None, &home), pair("/opt/spark/work", "$SPARK_HOME"));
        let both = [home[0], ("SPARK_WORKER_DIR", "/srv/work")];
        assert_eq!(chosen("--work-dir", None, &both), pair("/srv/work", "$SPARK_WORKER_DIR"));
    }
}
