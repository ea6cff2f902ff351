//! `firesteel sbin`: start scripts with the names, arguments and files of Spark's, for what calls those.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use firesteel_host::plain;
use firesteel_protocol::byte_text;
use firesteel_protocol::process::Quoted;

use crate::cli::exit::{Exit, Failure, written};
use crate::cli::help;
use crate::cli::own_program;

/// The scripts, each with its name.
const SCRIPTS: &[(&str, &str)] = &[
    ("spark-config.sh", include_str!("../../../sbin/spark-config.sh")),
    ("spark-daemon.sh", include_str!("../../../sbin/spark-daemon.sh")),
    ("start-all.sh", include_str!("../../../sbin/start-all.sh")),
    ("start-master.sh", include_str!("../../../sbin/start-master.sh")),
    ("start-worker.sh", include_str!("../../../sbin/start-worker.sh")),
    ("start-workers.sh", include_str!("../../../sbin/start-workers.sh")),
    ("stop-all.sh", include_str!("../../../sbin/stop-all.sh")),
    ("stop-master.sh", include_str!("../../../sbin/stop-master.sh")),
    ("stop-worker.sh", include_str!("../../../sbin/stop-worker.sh")),
    ("stop-workers.sh", include_str!("../../../sbin/stop-workers.sh")),
    ("workers.sh", include_str!("../../../sbin/workers.sh")),
];

/// The text in a script that stands for this program.
const PROGRAM: &str = "FIRESTEEL_PROGRAM";
/// How the second line of each script begins. A file without it is Spark's.
const OURS: &str = "# firesteel sbin: ";

const EXAMPLES: &str = "  firesteel sbin install /opt/spark
  /opt/spark/sbin/start-master.sh && /opt/spark/sbin/start-worker.sh spark://node-1:7077";

const NOTES: &str = "\
The scripts start this program where Spark's of the same names start Spark's Master and Workers. Arguments, variables (SPARK_MASTER_HOST, \
SPARK_WORKER_CORES, SPARK_WORKER_INSTANCES, SPARK_MASTER_OPTS, SPARK_NO_DAEMONIZE, ..), conf/spark-env.sh, conf/workers, and the \
names of logs and of files with process ids are Spark's. In an installation of Spark, spark-daemon.sh still starts Spark's other programs, such as \
the history server.

A file of Spark's that is replaced stays beside it as NAME.spark: rename it to go back.";

const CODES: &str = "Exit codes: 0 done; 1 a file cannot be written; 2 wrong usage.";

/// The options of `firesteel sbin`.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("sbin", EXAMPLES), after_long_help = format!("{EXAMPLES}\n\n{NOTES}\n\n{CODES}"))]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write the scripts into DIR/sbin
    #[command(after_help = help::short("sbin install", EXAMPLES), after_long_help = format!("{EXAMPLES}\n\n{NOTES}\n\n{CODES}"))]
    Install {
        /// The installation of Spark over which the scripts are laid, or any other directory
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}

/// Writes the scripts, and prints where they are.
pub(in crate::cli) fn run(Args { verb: Verb::Install { directory } }: &Args) -> Result<Exit, Failure> {
    let program = Quoted(&byte_text::of_os(own_program()?)).to_string();
    let folder = directory.join("sbin");
    fs::create_dir_all(&folder).map_err(|error| Failure::of_write(&folder, &error))?;
    let mut kept = Vec::new();
    for (name, text) in SCRIPTS {
        let path = folder.join(name);
        let was_sparks = install(&path, &text.replace(PROGRAM, &program))
            .map_err(|error| Failure::of_write(&path, &error))?;
        kept.extend(was_sparks.then(|| format!("{name}.spark")));
    }
    let mut line = format!("{}: {} scripts", folder.display(), SCRIPTS.len());
    if !kept.is_empty() {
        line = format!("{line}; Spark's are kept: {}", kept.join(", "));
    }
    written(writeln!(plain::stdout(), "{line}"))
}

/// Puts a script in its place at once. Returns whether a file of Spark's was there, which then has another name.
fn install(path: &Path, text: &str) -> io::Result<bool> {
    let is_sparks = match fs::read_to_string(path) {
        Ok(found) => !found.lines().nth(1).is_some_and(|line| line.starts_with(OURS)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    let new = path.with_extension("sh.new");
    fs::write(&new, text)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
    if is_sparks {
        fs::rename(path, path.with_extension("sh.spark"))?;
    }
    fs::rename(&new, path)?;
    Ok(is_sparks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_says_whose_it_is_and_is_installed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sbin");
        let files = fs::read_dir(folder).expect("it is there");
        let mut names: Vec<_> = files.map(|file| file.expect("readable").file_name()).collect();
        names.sort();
        assert_eq!(names, SCRIPTS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for (name, text) in SCRIPTS {
            assert!(text.lines().nth(1).is_some_and(|line| line.starts_with(OURS)), "{name}");
        }
    }
}
