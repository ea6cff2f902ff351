//! `--conf` and `--properties-file`: the properties of a command.

use std::path::PathBuf;

use clap::Args;
use firesteel_settings::sources::{Files, Loaded, Sources};
use firesteel_settings::variables::Environment;
use firesteel_settings::{Origin, Properties, Reader, findings, property_effect, reference};

use super::any_bytes::any_bytes;
use super::exit::Failure;

/// Where properties are read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(super) struct Conf {
    /// Set a property, as for spark-submit; may be repeated
    #[arg(long = "conf", value_name = "KEY=VALUE", help_heading = "Properties", value_parser = any_bytes())]
    pairs: Vec<String>,
    /// Read properties from FILE [default: spark-defaults.conf in $SPARK_CONF_DIR or $SPARK_HOME/conf]
    #[arg(long, value_name = "FILE", help_heading = "Properties", hide_short_help = true)]
    properties_file: Option<PathBuf>,
    /// Also read spark-defaults.conf, for properties that --properties-file does not set
    #[arg(long, requires = "properties_file", help_heading = "Properties", hide_short_help = true)]
    load_spark_defaults: bool,
    /// Read only --conf, and $MASTER for an application
    #[arg(long, hide = true, conflicts_with = "properties_file")]
    only_conf: bool,
}

impl Conf {
    /// Returns the properties, and an error if one of them is dangerous. Properties without effect
    /// are logged as warnings.
    pub(super) fn properties(&self, reader: Reader) -> Result<Properties, Failure> {
        let Loaded { properties, unknown, .. } = self.load(reader)?;
        property_effect::refuse_danger(&properties, reader).map_err(|refusal| Failure::refusal(&refusal))?;
        property_effect::warn(&properties, reader);
        for (name, origin) in unknown.iter().filter(|(_, origin)| matches!(origin, Origin::File { .. })) {
            tracing::warn!("{name} ({origin}) has no effect: {}", findings::why_unknown(name, origin));
        }
        Ok(properties)
    }

    /// Loads all properties without checks.
    pub(super) fn load(&self, reader: Reader) -> Result<Loaded, Failure> {
        self.sources(reader).load().map_err(|error| Failure::source(&error))
    }

    /// The sources of the properties.
    pub(super) fn sources(&self, reader: Reader) -> Sources {
        let files = match (&self.properties_file, self.load_spark_defaults) {
            (None, _) => Files::Defaults,
            (Some(path), false) => Files::Named(path.clone()),
            (Some(path), true) => Files::NamedThenDefaults(path.clone()),
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

/// The help below the options of a command that reads properties.
pub(super) fn help(words: &str, reader: Reader) -> String {
    format!("{words}\n\n{}", reference::help(reader))
}
