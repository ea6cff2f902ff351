//! `firesteel config show`: every property that is read, with the value that counts.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use firesteel::settings::secrets::shown;
use firesteel::settings::{Origin, Reader, reference};
use serde::Serialize;

use super::{For, print_json};
use crate::cli::choice;
use crate::cli::conf::Conf;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::table::table;

#[derive(Debug, ClapArgs)]
#[command(after_help = "  firesteel config show --for worker
  firesteel config show --origin --conf spark.cores.max=8

Exit codes: 0 done; 2 wrong usage; 78 a file or variable with settings is wrong.")]
pub(super) struct Show {
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
    /// Reads everything, and prints it.
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let readers = self.reader.map_or(Reader::ALL.to_vec(), |reader| vec![reader.into()]);
        let readers =
            readers.into_iter().map(|reader| of_reader(reader, &self.conf)).collect::<Result<_, _>>()?;
        let all = Shown { schema: 1, readers };
        exit::written(if self.json { print_json(&all) } else { all.print(self.origin) })
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
                value: shown(name, &property.value).to_owned(),
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
