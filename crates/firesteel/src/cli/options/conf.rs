//! `--conf` and `--properties-file`: the properties of a command.

use std::path::PathBuf;

use clap::Args;
use firesteel_settings::protection::ClusterManager;
use firesteel_settings::sources::{Files, Loaded, Sources};
use firesteel_settings::variables::Environment;
use firesteel_settings::{Origin, Properties, Reader, findings, property_effect, reference};

use super::any_bytes::any_bytes;
use crate::cli::exit::Failure;

/// The options that say where properties are read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(in crate::cli) struct Conf {
    /// Set a property, as for spark-submit; may be repeated
    #[arg(long = "conf", value_name = "KEY=VALUE", help_heading = "Properties", value_parser = any_bytes())]
    pairs: Vec<String>,
    /// Read properties from FILE [default: spark-defaults.conf in $SPARK_CONF_DIR, $SPARK_HOME/conf or /etc/firesteel]
    #[arg(long, value_name = "FILE", help_heading = "Properties", hide_short_help = true)]
    properties_file: Option<PathBuf>,
    /// Also read spark-defaults.conf, for properties that --properties-file does not set
    #[arg(long, requires = "properties_file", help_heading = "Properties", hide_short_help = true)]
    load_spark_defaults: bool,
    /// Read no file, and no environment variable but $MASTER for an application
    #[arg(long, hide = true, conflicts_with = "properties_file")]
    only_conf: bool,
}

impl Conf {
    /// Returns the properties of a command or daemon that does not use YARN. A property that asks for protection which
    /// Firesteel does not have is an error. Properties without effect are logged as warnings.
    pub(in crate::cli) fn properties(&self, reader: Reader) -> Result<Properties, Failure> {
        let loaded = self.load(reader)?;
        let manager = ClusterManager::standalone(&loaded.properties);
        checked(loaded, reader, manager)
    }

    /// Like [`properties`](Self::properties), for an application, which may run on YARN. `set` sets the properties of
    /// the application's options.
    pub(in crate::cli) fn of_application(
        &self,
        set: impl FnOnce(&mut Properties),
    ) -> Result<Properties, Failure> {
        let mut loaded = self.load(Reader::Application)?;
        set(&mut loaded.properties);
        let manager = ClusterManager::of(&loaded.properties, Reader::Application);
        checked(loaded, Reader::Application, manager)
    }

    /// Like [`properties`](Self::properties), for a command that asks a YARN cluster.
    pub(in crate::cli) fn on_yarn(&self) -> Result<Properties, Failure> {
        checked(self.load(Reader::Application)?, Reader::Application, ClusterManager::Yarn)
    }

    /// Loads all properties without checks.
    pub(in crate::cli) fn load(&self, reader: Reader) -> Result<Loaded, Failure> {
        self.sources(reader).load().map_err(|error| Failure::source(&error))
    }

    pub(in crate::cli) fn sources(&self, reader: Reader) -> Sources {
        let files = match self.only_conf {
            true => Files::None,
            false => Files::of(self.properties_file.clone(), self.load_spark_defaults),
        };
        let environment = Environment::of_this_process();
        let environment = match (self.only_conf, reader) {
            (false, _) => environment,
            // An ApplicationMaster that starts a driver tells it where the Master is.
            (true, Reader::Application) => environment
                .get("MASTER")
                .map(|url| ("MASTER".to_owned(), url.to_owned()))
                .into_iter()
                .collect(),
            (true, Reader::Master | Reader::Worker) => Environment::default(),
        };
        Sources { reader, conf: self.pairs.clone(), files, environment }
    }
}

/// Returns the properties, or an error if one of them asks for protection that Firesteel does not have.
fn checked(loaded: Loaded, reader: Reader, manager: ClusterManager) -> Result<Properties, Failure> {
    let Loaded { properties, unknown, .. } = loaded;
    property_effect::refuse_danger(&properties, reader, manager)
        .map_err(|refusal| Failure::refusal(&refusal))?;
    property_effect::warn(&properties, reader, manager);
    for (name, origin) in unknown.iter().filter(|(_, origin)| matches!(origin, Origin::File { .. })) {
        tracing::warn!("{name} ({origin}) has no effect: {}", findings::why_unknown(name, origin));
    }
    Ok(properties)
}

/// The help below the options of a command that reads properties.
pub(in crate::cli) fn help(words: &str, reader: Reader) -> String {
    format!("{words}\n\n{}", reference::help(reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_reads_only_its_arguments_reads_no_file() {
        let conf = Conf { only_conf: true, ..Conf::default() };
        for reader in [Reader::Application, Reader::Master, Reader::Worker] {
            assert_eq!(conf.sources(reader).files, Files::None);
            assert_eq!(Conf::default().sources(reader).files, Files::Defaults);
        }
    }
}
