//! `firesteel config check`: checks all settings.

use firesteel_host::plain::{self, clean};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args as ClapArgs;
use firesteel_apps::hosts::spark_env::{self, SparkEnvError};
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::host;
use firesteel_settings::Reader;
use firesteel_settings::findings::{self, Finding, FindingReaders, Outcome};
use firesteel_settings::origin::Origin;
use firesteel_settings::sources::{self, Files, Sources};
use firesteel_settings::variables::Environment;
use serde::Serialize;

use super::{ReaderArg, print_json, security, wrong};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::options::flag_value;
use crate::cli::table::table;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Without FILE, checks what daemons and applications would read here: the variables of this environment, \
spark-defaults.conf in $SPARK_CONF_DIR, $SPARK_HOME/conf or /etc/firesteel, and Spark's other files there. The script spark-env.sh is run, as \
firesteel cluster does, and the variables that it sets are checked.

Outcomes:
  read         it is used
  overridden   another setting takes precedence
  ignored      it is for another reader, or for Spark itself
  no effect    Firesteel does not know or support it
  refused      commands that read it do not start: it asks for protection that Firesteel lacks
  bad value    commands that read it do not start: the value cannot be used

Examples:
  firesteel config check
  firesteel config check /etc/spark/conf/spark-defaults.conf
  firesteel config check --for worker --json
  firesteel config check --security

With --security, open is what lets somebody in to whom nothing was granted, and weak what gives more than was granted. Flags of \
the daemons are not known here: set what they set (SPARK_MASTER_HOST, SPARK_WORKER_DIR).

Exit codes: 0 every setting can be used or has no effect; 1 with --security: something is open; 2 wrong usage; 78 a command would not start: a wrong value, a \
setting that asks for protection which Firesteel does not have, or a file that cannot be read.")]
pub(super) struct Check {
    /// Properties files to check, each by itself [default: what would be read here]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Check what commands with --properties-file FILE read here: FILE instead of spark-defaults.conf
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    properties_file: Option<PathBuf>,
    /// With --properties-file, check spark-defaults.conf, too, for properties that FILE does not set
    #[arg(long, requires = "properties_file")]
    load_spark_defaults: bool,
    /// Check for one reader only; settings of other readers are then shown as ignored
    #[arg(long = "for", value_enum, value_name = "READER")]
    reader: Option<ReaderArg>,
    /// Say what a Master and a Worker with these settings leave open on this machine, and what closes it
    #[arg(long, conflicts_with = "files")]
    security: bool,
    /// Print one JSON value instead of a table
    #[arg(long, conflicts_with = "security")]
    json: bool,
}

/// The variable that is set if spark-env.sh was already read. Spark's scripts do not read the file twice.
const SPARK_ENV_LOADED: &str = "SPARK_ENV_LOADED";

#[derive(Serialize)]
struct Checked {
    schema: u32,
    ok: bool,
    findings: Vec<Finding>,
    errors: Vec<String>,
}

impl Check {
    /// Checks the settings and prints the findings.
    pub(super) fn run(self) -> Result<Exit, Failure> {
        if self.security {
            return self.openings();
        }
        let audience = self.reader.map_or(FindingReaders::All, |reader| FindingReaders::One(reader.into()));
        let mut checked = Checked { schema: 3, ok: true, findings: Vec::new(), errors: Vec::new() };
        if self.files.is_empty() {
            let files = Files::of(self.properties_file.clone(), self.load_spark_defaults);
            checked.here(files, audience);
        }
        for path in &self.files {
            match findings::of_file(path) {
                Some(finding) => checked.findings.push(finding),
                None => checked.properties(Files::Named(path.clone()), &Environment::default(), audience),
            }
        }
        checked.ok = checked.errors.is_empty() && !checked.findings.iter().any(|it| it.outcome.is_fatal());
        let exit = if checked.ok { Exit::Done } else { Exit::Configuration };
        let written = if self.json { print_json(&checked) } else { checked.print() };
        exit::written(written).map(|_| exit)
    }
}

impl Check {
    /// Prints what is open, for the daemons that would be started here.
    fn openings(self) -> Result<Exit, Failure> {
        let own = Environment::of_this_process();
        let script = script(&own).map_err(|error| Failure::with(Exit::Configuration, &error))?;
        let environment = script.map_or(own, |(_, sourced)| sourced);
        let readers = self.reader.map_or(vec![Reader::Master, Reader::Worker], |reader| vec![reader.into()]);
        let mut openings = Vec::new();
        for reader in readers {
            let files = Files::of(self.properties_file.clone(), self.load_spark_defaults);
            let sources = Sources { reader, conf: Vec::new(), files, environment: environment.clone() };
            let loaded = sources.load().map_err(|error| Failure::with(Exit::Configuration, &error))?;
            let found = security::openings(reader, &loaded.properties, &environment);
            openings.extend(found.map_err(|error| Failure::setting(&error))?);
        }
        let is_closed = security::print(openings);
        let exit = if matches!(is_closed, Ok(false)) { Exit::Failure } else { Exit::Done };
        exit::written(is_closed.map(|_| ())).map(|_| exit)
    }
}

/// The script with variables for daemons that they would be started with here, and all variables after it.
fn script(own: &Environment) -> Result<Option<(PathBuf, Environment)>, SparkEnvError> {
    match sources::conf_directory(own).filter(|_| own.get(SPARK_ENV_LOADED).is_none()) {
        Some(directory) => spark_env::sourced(&directory),
        None => Ok(None),
    }
}

/// Whether Java cannot resolve this host name. If so, Spark's executors cannot use the host.
fn is_unknown_to_java(host: &str) -> bool {
    !host::is_known_to_java(&host::plain_or_as_given(host))
}

impl Checked {
    /// Checks the files and variables that a command would read here.
    fn here(&mut self, files: Files, audience: FindingReaders) {
        let own = Environment::of_this_process();
        let directory = sources::conf_directory(&own);
        let script = script(&own).unwrap_or_else(|error| {
            self.errors.push(error.to_string());
            None
        });
        let environment = script.as_ref().map_or(&own, |(_, sourced)| sourced).clone();
        self.findings.extend(findings::of_variables(&environment, audience));
        if let Some((path, _)) = script {
            let path = Arc::new(path);
            for finding in &mut self.findings {
                if own.get(&finding.name) != environment.get(&finding.name) {
                    finding.origin = Some(Origin::Script(Arc::clone(&path)));
                }
            }
        }
        for reader in audience.readers() {
            for flag in flag_value::flags(reader) {
                let value = flag_value::choose(reader, flag.name, None, &environment);
                let variable = self.findings.iter_mut().find(|it| value.is_of(&it.name));
                let Some(variable) = variable else { continue };
                if let Some(wrong) = wrong(flag, &value) {
                    variable.outcome = Outcome::BadValue;
                    variable.why = wrong;
                } else if reader == Reader::Worker && flag.name == "--host" && is_unknown_to_java(&value.text)
                {
                    variable
                        .why
                        .push_str(": Java finds no host in it, so executors of Spark's cannot start there");
                }
            }
        }
        self.properties(files, &environment, audience);
        self.findings.extend(directory.iter().flat_map(|directory| findings::of_files(directory)));
    }

    /// Checks the properties of all programs that read them. A finding that concerns several programs is printed once.
    fn properties(&mut self, files: Files, environment: &Environment, audience: FindingReaders) {
        for reader in audience.readers() {
            let (files, environment) = (files.clone(), environment.clone());
            let (found, wrong) = match (Sources { reader, conf: Vec::new(), files, environment }).load() {
                Ok(loaded) => {
                    let contradiction = findings::contradiction(&loaded.properties, reader);
                    let wrong = contradiction.map(|error| error.to_string());
                    (findings::of_properties(&loaded, reader, audience), wrong)
                }
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            let is_new = |it: &Finding| {
                !self.findings.iter().any(|other| (&other.name, &other.origin) == (&it.name, &it.origin))
            };
            let new: Vec<Finding> = found.into_iter().filter(is_new).collect();
            self.findings.extend(new);
            self.errors.extend(wrong.filter(|wrong| !self.errors.contains(wrong)));
        }
    }

    fn print(&self) -> io::Result<()> {
        let mut stdout = plain::stdout();
        if self.findings.is_empty() && self.errors.is_empty() {
            writeln!(stdout, "no settings found")?;
        }
        if !self.findings.is_empty() {
            let mut rows: Vec<&Finding> = self.findings.iter().collect();
            rows.sort_by_key(|finding| std::cmp::Reverse(finding.outcome));
            let rows = rows.into_iter().map(|finding| {
                let Finding { name, value, origin, outcome, why } = finding;
                let name = match value {
                    Some(value) => format!("{name}={value}"),
                    None => name.clone(),
                };
                let origin = origin.as_ref().map_or("environment".to_owned(), ToString::to_string);
                let origin = if value.is_none() && finding.origin.is_none() { String::new() } else { origin };
                vec![outcome.words().to_owned(), name, origin, why.clone()]
            });
            writeln!(stdout, "{}", table(&["OUTCOME", "SETTING", "FROM", "WHY"], rows.collect()))?;
        }
        for error in &self.errors {
            writeln!(stdout, "error: {}", clean(&error.to_string()))?;
        }
        let fatal =
            self.findings.iter().filter(|finding| finding.outcome.is_fatal()).count() + self.errors.len();
        if fatal > 0 {
            writeln!(stdout, "{}: commands that read this will not start", counted(fatal, "error"))?;
        }
        stdout.flush()
    }
}
