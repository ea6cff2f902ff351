//! `firesteel config`: what is set, what comes of it, and what counts.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use firesteel::settings::findings::{self, Audience, Finding, Outcome};
use firesteel::settings::sources::{self, Files, Sources};
use firesteel::settings::variables::Environment;
use firesteel::settings::{Origin, Reader, reference};
use serde::Serialize;

use super::choice;
use super::conf::Conf;
use super::exit::{self, Exit, Failure};
use super::table::table;
use super::worker;

/// The two questions.
#[derive(Debug, ClapArgs)]
#[command(after_help = "  firesteel config check
  firesteel config show --origin

Exit codes: 0 done; 2 wrong usage; 78 something would not start.")]
pub(super) struct Args {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Say what comes of every property and variable that is set: read, ignored, or not to be honoured
    Check(Check),
    /// Show every property that is read, with the value that counts
    Show(Show),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Without FILE, what a daemon or application would read here and now is checked: the variables of this environment, \
spark-defaults.conf in $SPARK_CONF_DIR or $SPARK_HOME/conf, and what else lies there.

  firesteel config check
  firesteel config check /etc/spark/conf/spark-defaults.conf
  firesteel config check --for worker --json

Exit codes: 0 everything can be used, or has no effect; 2 wrong usage; 78 something would not start: a value that cannot \
be used, a setting that asks for protection which Firesteel does not have, or a file that cannot be read.")]
struct Check {
    /// Check these files of properties instead, each alone
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Ask for one reader; what others read is ignored then
    #[arg(long = "for", value_enum, value_name = "READER")]
    reader: Option<For>,
    /// Print one JSON value instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "  firesteel config show --for worker
  firesteel config show --origin --conf spark.cores.max=8

Exit codes: 0 done; 2 wrong usage; 78 a file or variable with settings is wrong.")]
struct Show {
    /// Whose properties are shown; all by default
    #[arg(long = "for", value_enum, value_name = "READER")]
    reader: Option<For>,
    /// Say where each value comes from, and what it beats
    #[arg(long)]
    origin: bool,
    /// Print one JSON value, which has the origins, instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    conf: Conf,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum For {
    /// A Master
    Master,
    /// A Worker
    Worker,
    /// What submits: map, shell, launch
    Application,
}

impl From<For> for Reader {
    fn from(reader: For) -> Self {
        match reader {
            For::Master => Self::Master,
            For::Worker => Self::Worker,
            For::Application => Self::Application,
        }
    }
}

/// Answers the question.
pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args.question {
        Question::Check(check) => check.run(),
        Question::Show(show) => show.run(),
    }
}

/// The JSON value of `config check`.
#[derive(Serialize)]
struct Checked {
    schema: u32,
    ok: bool,
    findings: Vec<Finding>,
    errors: Vec<String>,
}

impl Check {
    fn run(self) -> Result<Exit, Failure> {
        let audience = self.reader.map_or(Audience::All, |reader| Audience::One(reader.into()));
        let mut checked = Checked { schema: 1, ok: true, findings: Vec::new(), errors: Vec::new() };
        if self.files.is_empty() {
            checked.here(audience);
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

impl Checked {
    /// What would be read here and now.
    fn here(&mut self, audience: Audience) {
        let environment = Environment::of_this_process();
        self.findings.extend(findings::of_variables(&environment, audience));
        for reader in audience.readers() {
            for flag in choice::flags(reader) {
                let choice = choice::choose(reader, flag.name, None, &environment);
                let wrong = match flag.name {
                    "--cores" => worker::cores(&choice).err(),
                    "--memory" => worker::memory(&choice).err(),
                    "--port" => choice::port(&choice).err(),
                    "--host" => choice::host(&choice).err(),
                    _ => None,
                };
                let variable = self.findings.iter_mut().find(|it| choice.is_of(&it.name));
                if let (Some(failure), Some(variable)) = (wrong, variable) {
                    variable.outcome = Outcome::BadValue;
                    failure.sentence().clone_into(&mut variable.why);
                }
            }
        }
        self.properties(Files::Defaults, &environment, audience);
        let directory = sources::conf_directory(&environment);
        self.findings.extend(directory.iter().flat_map(|directory| findings::of_files(directory)));
    }

    /// What comes of the properties that the readers find. One that several find is told once.
    fn properties(&mut self, files: Files, environment: &Environment, audience: Audience) {
        for reader in audience.readers() {
            let (files, environment) = (files.clone(), environment.clone());
            let (found, wrong) = match (Sources { reader, conf: Vec::new(), files, environment }).load() {
                Ok(loaded) => {
                    let contradiction = findings::contradiction(&loaded.properties);
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
        let mut stdout = io::stdout().lock();
        if self.findings.is_empty() && self.errors.is_empty() {
            writeln!(stdout, "nothing is set")?;
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
            writeln!(stdout, "error: {error}")?;
        }
        let fatal =
            self.findings.iter().filter(|finding| finding.outcome.is_fatal()).count() + self.errors.len();
        if fatal > 0 {
            writeln!(stdout, "nothing that reads this starts: {fatal} to mend")?;
        }
        stdout.flush()
    }
}

/// The JSON value of `config show`.
#[derive(Serialize)]
struct Shown {
    schema: u32,
    readers: Vec<OfReader>,
}

#[derive(Serialize)]
struct OfReader {
    #[serde(rename = "for")]
    reader: Reader,
    files: Vec<PathBuf>,
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    name: String,
    value: String,
    /// `None`: it is the default, and the value may be words.
    origin: Option<Origin>,
    meaning: &'static str,
    beaten: Vec<Beaten>,
}

#[derive(Serialize)]
struct Beaten {
    value: String,
    origin: Origin,
}

impl Show {
    fn run(self) -> Result<Exit, Failure> {
        let readers = self.reader.map_or(Reader::ALL.to_vec(), |reader| vec![reader.into()]);
        let readers =
            readers.into_iter().map(|reader| of_reader(reader, &self.conf)).collect::<Result<_, _>>()?;
        let shown = Shown { schema: 1, readers };
        exit::written(if self.json { print_json(&shown) } else { shown.print(self.origin) })
    }
}

fn of_reader(reader: Reader, conf: &Conf) -> Result<OfReader, Failure> {
    let sources = conf.sources(reader);
    let loaded = conf.load(reader)?;
    let flags = choice::flags(reader).iter().map(|flag| {
        let choice = choice::choose(reader, flag.name, None, &sources.environment);
        let (value, origin) = (choice.value, choice.origin);
        Setting { name: flag.name.to_owned(), value, origin, meaning: flag.meaning, beaten: Vec::new() }
    });
    let mut settings: Vec<Setting> = flags.collect();
    for key in reference::of(reader) {
        let names: Vec<&str> = loaded.properties.names(key.name).collect();
        for name in &names {
            let mut all = loaded.properties.all(name).map(|property| Beaten {
                value: findings::shown(name, &property.value).to_owned(),
                origin: property.origin.clone(),
            });
            let Some(Beaten { value, origin }) = all.next() else { continue };
            let (name, beaten) = ((*name).to_owned(), all.collect());
            settings.push(Setting { name, value, origin: Some(origin), meaning: key.meaning(), beaten });
        }
        if names.is_empty() {
            let (name, value) = (key.name.to_owned(), key.default.words().to_owned());
            settings.push(Setting { name, value, origin: None, meaning: key.meaning(), beaten: Vec::new() });
        }
    }
    Ok(OfReader { reader, files: loaded.files, settings })
}

impl Shown {
    fn print(&self, with_origin: bool) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        for (number, OfReader { reader, files, settings }) in self.readers.iter().enumerate() {
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
        }
        stdout.flush()
    }
}

/// `--conf, beats 4 (/etc/spark/conf/spark-defaults.conf line 3)`.
fn origin(setting: &Setting) -> String {
    let mut words = setting.origin.as_ref().map_or("default".to_owned(), ToString::to_string);
    for Beaten { value, origin } in &setting.beaten {
        words += &format!(", beats {value} ({origin})");
    }
    words
}

fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, value)?;
    writeln!(stdout)
}
