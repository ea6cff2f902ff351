//! Asking a running cluster: the Masters in turn.

use clap::Args;
use firesteel::net::{self, CallError};
use firesteel::settings::properties::Property;
use firesteel::settings::sources::{Files, Sources};
use firesteel::settings::variables::Environment;
use firesteel::settings::{Origin, Reader, keys};
use firesteel_core::address::{Address, parse_masters};
use firesteel_core::messages::{ClientToMaster, MasterToClient};
use firesteel_core::wire::Role;

use super::block_on;
use super::exit::{Exit, Failure};

/// Which Master is asked.
#[derive(Clone, Debug, Args)]
pub(super) struct Masters {
    /// The Master: spark://HOST:PORT[,HOST:PORT..]; of several, the first that answers
    /// [default: spark.master in spark-defaults.conf, $MASTER, or spark://127.0.0.1:7077]
    #[arg(long, value_name = "URL")]
    master: Option<String>,
}

/// A cluster that can be asked.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    masters: Vec<Address>,
    name: String,
}

/// Nobody answered: what went wrong with each Master.
#[derive(Debug, thiserror::Error)]
#[error("no Master could be asked: {}; is it running, and is --master its URL?", list(.0))]
pub(super) struct Unanswered(Vec<CallError>);

fn list(errors: &[CallError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Masters {
    /// Those of that URL, or those that every command would ask.
    pub(super) fn of(master: Option<String>) -> Self {
        Self { master }
    }

    /// The cluster, for a command of that name. A URL that is none is wrong usage.
    pub(super) fn cluster(&self, command: &str) -> Result<Cluster, Failure> {
        self.cluster_in(command, Environment::of_this_process())
    }

    /// The same, in that environment.
    pub(super) fn cluster_in(&self, command: &str, environment: Environment) -> Result<Cluster, Failure> {
        let masters = self.masters(environment)?;
        Ok(Cluster { masters, name: format!("firesteel {command} {}", std::process::id()) })
    }
}

impl Masters {
    /// Where `map` would go, if that is a running cluster: so that both speak of the same one.
    fn masters(&self, environment: Environment) -> Result<Vec<Address>, Failure> {
        let conf = Vec::new();
        let sources = Sources { reader: Reader::Application, conf, files: Files::Defaults, environment };
        let mut properties = sources.load().map_err(|error| Failure::source(&error))?.properties;
        if let Some(master) = &self.master {
            properties.set(keys::MASTER, master.as_str(), Origin::Flag("--master"));
        }
        let default = Property { value: "spark://127.0.0.1:7077".to_owned(), origin: Origin::Conf };
        let is_cluster = |it: &&Property| it.origin.is_command_line() || it.value.starts_with("spark://");
        let found = properties.all(keys::MASTER).find(is_cluster).unwrap_or(&default);
        parse_masters(&found.value).map_err(|error| match found.origin.is_command_line() {
            true => Failure::of(Exit::Usage, format!("--master: {error}")),
            false => Failure::of(Exit::Configuration, format!("the Master of {}: {error}", found.origin)),
        })
    }
}

impl Cluster {
    /// The first answer. Only a Master that does not answer makes the next one be asked.
    pub(super) async fn ask(&self, question: &ClientToMaster) -> Result<MasterToClient, Unanswered> {
        let mut errors = Vec::new();
        for master in &self.masters {
            match net::call(master, Role::Master, &self.name, question).await {
                Ok(answer) => return Ok(answer),
                Err(error) => errors.push(error),
            }
        }
        Err(Unanswered(errors))
    }

    /// The same, for commands that do nothing else meanwhile.
    pub(super) fn ask_now(&self, question: &ClientToMaster) -> Result<MasterToClient, Failure> {
        block_on(self.ask(question))?.map_err(|error| Failure::with(Exit::Unreachable, &error))
    }
}
