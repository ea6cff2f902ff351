//! `firesteel config show`: prints every known property with its effective value.

use firesteel_host::plain::{self, clean};
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use firesteel_settings::findings::{self, FindingReaders, Outcome};
use firesteel_settings::key::matched;
use firesteel_settings::near::near;
use firesteel_settings::secrets::shown;
use firesteel_settings::{Origin, Reader, reference};
use serde::Serialize;

use super::{ReaderArg, print_json, wrong};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::options::conf::Conf;
use crate::cli::options::flag_value;
use crate::cli::submission::submit::Submit;
use crate::cli::table::table;

const NOTES: &str =
    "A wrong value is shown with an error below the table: commands that read it do not start.";

const EXAMPLES: &str = "  firesteel config show --for worker
  firesteel config show spark.executor.memory
  firesteel config show --origin --conf spark.cores.max=8";

const CODES: &str =
    "Exit codes: 0 done; 2 wrong usage; 78 a value is wrong, or a settings file or variable is wrong.";

#[derive(Debug, ClapArgs)]
#[command(
    after_help = help::short("config show", EXAMPLES),
    after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}")
)]
pub(super) struct Show {
    /// Names of the settings to show, without -- [default: all]
    #[arg(value_name = "SETTING")]
    names: Vec<String>,
    /// Show the settings of this reader only [default: all readers]
    #[arg(long = "for", value_enum, value_name = "READER")]
    reader: Option<ReaderArg>,
    /// Show where each value comes from, and which values it overrides
    #[arg(long)]
    origin: bool,
    /// Print one JSON value, with the origins, instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    conf: Conf,
}

#[derive(Serialize)]
struct Shown {
    schema: u32,
    readers: Vec<ReaderSettings>,
}

#[derive(Serialize)]
struct ReaderSettings {
    #[serde(rename = "for")]
    reader: Reader,
    files: Vec<PathBuf>,
    settings: Vec<Setting>,
    /// An error about a combination of values that are valid on their own.
    error: Option<String>,
}

#[derive(Serialize)]
struct Setting {
    name: String,
    value: String,
    /// The origin of the value. `None`: the value is the default, and may be a description.
    origin: Option<Origin>,
    meaning: &'static str,
    overridden: Vec<Overridden>,
    /// The error in the value. Commands that read the value will not start.
    error: Option<String>,
}

#[derive(Serialize)]
struct Overridden {
    value: String,
    origin: Origin,
}

impl Show {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let readers = self.reader.map_or(Reader::ALL.to_vec(), |reader| vec![reader.into()]);
        let readers = readers
            .into_iter()
            .map(|reader| reader_settings(reader, &self.conf))
            .collect::<Result<_, _>>()?;
        let mut all = Shown { schema: 2, readers };
        if !self.names.is_empty() {
            all.keep(&self.names)?;
        }
        let is_wrong = all.readers.iter().any(|reader| reader.errors().next().is_some());
        let exit = if is_wrong { Exit::Configuration } else { Exit::Done };
        exit::written(if self.json { print_json(&all) } else { all.print(self.origin) }).map(|_| exit)
    }
}

fn reader_settings(reader: Reader, conf: &Conf) -> Result<ReaderSettings, Failure> {
    let sources = conf.sources(reader);
    let loaded = conf.load(reader)?;
    let flags = flag_value::flags(reader).iter().map(|flag| {
        let value = flag_value::choose(reader, flag.name, None, &sources.environment);
        let error = wrong(flag, &value);
        let (name, value, origin) = (flag.name.to_owned(), value.text, value.origin);
        Setting { name, value, origin, meaning: flag.meaning, overridden: Vec::new(), error }
    });
    let mut settings: Vec<Setting> = flags.collect();
    let findings = findings::of_properties(&loaded, reader, FindingReaders::One(reader));
    let error = |name: &str| {
        let wrong = findings.iter().find(|it| it.name == name && it.outcome == Outcome::BadValue);
        wrong.map(|finding| format!("{name}: {}", finding.why))
    };
    for key in reference::of(reader) {
        let names: Vec<&str> = loaded.properties.names(key.name).collect();
        for name in &names {
            let mut all = loaded.properties.all(name).map(|property| Overridden {
                value: shown(name, &property.value),
                origin: property.origin.clone(),
            });
            let Some(Overridden { value, origin }) = all.next() else { continue };
            let (error, overridden) = (error(name), all.collect());
            let (name, origin) = ((*name).to_owned(), Some(origin));
            settings.push(Setting { name, value, origin, meaning: key.meaning(), overridden, error });
        }
        if names.is_empty() {
            let (name, value) = (key.name.to_owned(), key.default.words().to_owned());
            let (meaning, overridden) = (key.meaning(), Vec::new());
            settings.push(Setting { name, value, origin: None, meaning, overridden, error: None });
        }
    }
    let error = findings::contradiction(&loaded.properties, reader).map(|error| error.to_string());
    Ok(ReaderSettings { reader, files: loaded.files, settings, error })
}

/// The setting that the user probably meant: the property of an option with the same name, or the
/// most similar name.
fn nearest<'a>(stranger: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.map(|name| name.trim_start_matches('-')).collect();
    let option = format!("--{}", stranger.trim_start_matches('-'));
    let property = Submit::property(&option).filter(|property| known.contains(property));
    property.or_else(|| near(stranger, known))
}

impl ReaderSettings {
    /// The errors that prevent the program from starting.
    fn errors(&self) -> impl Iterator<Item = &String> {
        self.settings.iter().filter_map(|setting| setting.error.as_ref()).chain(&self.error)
    }
}

impl Shown {
    /// Keeps only settings with one of these names, and only programs that read one of these settings.
    fn keep(&mut self, names: &[String]) -> Result<(), Failure> {
        let is = |setting: &Setting, name: &String| {
            setting.name.trim_start_matches('-') == name
                || matched(&setting.name, name).is_some_and(|words| !words.is_empty())
        };
        let settings = || self.readers.iter().flat_map(|reader| &reader.settings);
        if let Some(stranger) = names.iter().find(|name| !settings().any(|setting| is(setting, name))) {
            let words = match nearest(stranger, settings().map(|setting| setting.name.as_str())) {
                Some(meant) => format!("unknown setting {stranger:?}: did you mean {meant}?"),
                None => {
                    format!("unknown setting {stranger:?}: firesteel config show lists all settings")
                }
            };
            return Err(Failure::of(Exit::Usage, words));
        }
        for reader in &mut self.readers {
            reader.settings.retain(|setting| names.iter().any(|name| is(setting, name)));
        }
        self.readers.retain(|reader| !reader.settings.is_empty());
        Ok(())
    }

    fn print(&self, with_origin: bool) -> io::Result<()> {
        let mut stdout = plain::stdout();
        for (number, reader_settings) in self.readers.iter().enumerate() {
            let ReaderSettings { reader, files, settings, error: _ } = reader_settings;
            if number > 0 {
                writeln!(stdout)?;
            }
            writeln!(stdout, "For {}", reader.described())?;
            if with_origin {
                let files: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
                let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
                writeln!(stdout, "Files of properties: {files}")?;
            }
            let rows = settings.iter().map(|setting| {
                let mut row = vec![setting.name.clone(), setting.value.clone()];
                if with_origin {
                    row.push(origin(setting));
                }
                row
            });
            let header: &[&str] =
                if with_origin { &["SETTING", "VALUE", "ORIGIN"] } else { &["SETTING", "VALUE"] };
            writeln!(stdout, "{}", table(header, rows.collect()))?;
            for error in reader_settings.errors() {
                writeln!(stdout, "error: {}", clean(&error.to_string()))?;
            }
        }
        stdout.flush()
    }
}

/// The value's origin: `--conf, overrides 4 (/etc/spark/conf/spark-defaults.conf line 3)`.
fn origin(setting: &Setting) -> String {
    let mut words = setting.origin.as_ref().map_or("default".to_owned(), ToString::to_string);
    for Overridden { value, origin } in &setting.overridden {
        words += &format!(", overrides {value} ({origin})");
    }
    words
}
