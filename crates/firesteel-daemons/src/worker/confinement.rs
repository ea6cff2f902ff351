//! What confined programs reach: the system, and directories of their own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use firesteel_host::start::failed;
use firesteel_protocol::byte_text;
use firesteel_protocol::process::{NotStarted, StartStep};
use firesteel_settings::ConfinementSettings;
use serde::{Deserialize, Serialize};

use super::directories::work_directory::WorkDirectory;
use super::java::spark_homes::SparkHomes;
use super::runner::Prepared;

/// Where systems keep programs and their settings, without the data of users and services.
const SYSTEM: [&str; 15] = [
    "/bin",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/opt",
    "/proc",
    // The names of other machines, to which /etc/resolv.conf leads.
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib/ca-certificates",
];

/// The directory for temporary files of a confined program, in its own directory.
const TEMPORARY: &str = "tmp";

/// The paths that a program reaches. Texts stand for bytes, as in [`byte_text`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// What it reads and executes. What is not there is left out.
    pub system: Vec<String>,
    /// What it reads and executes, too.
    pub readable: Vec<String>,
    /// What it reads, executes and writes.
    pub writable: Vec<String>,
    /// The files that it does not reach, wherever they are.
    pub hidden: Vec<String>,
}

/// What all confined programs of a Worker reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement(Reach);

impl Confinement {
    /// Spark's installations and the Worker's Java can be read, too.
    #[must_use]
    pub fn of(settings: &ConfinementSettings, homes: &SparkHomes) -> Self {
        let texts = |paths: &[PathBuf]| paths.iter().map(byte_text::of_os).collect::<Vec<_>>();
        let java = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let installed = homes.paths().map(Path::to_path_buf).chain(java).collect::<Vec<_>>();
        let mut system: Vec<String> = SYSTEM.map(str::to_owned).into();
        system.extend(texts(&installed));
        let hidden = settings.hidden.iter().map(byte_text::of_os).collect();
        let (readable, writable) = (texts(&settings.readable), texts(&settings.writable));
        Self(Reach { system, readable, writable, hidden })
    }

    /// Lets a program keep its temporary files in its own directory, and returns what it reaches.
    ///
    /// # Errors
    /// There is no room, or the directory is gone.
    pub(super) fn confine(&self, prepared: &mut Prepared, work: &WorkDirectory) -> Result<Reach, NotStarted> {
        let path = prepared.own[0].join(TEMPORARY);
        match work.act(|| fs::create_dir(&path)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(StartStep::Directory, path.display(), &error));
            }
            Ok(()) | Err(_) => {}
        }
        let path = byte_text::of_os(path);
        if prepared.is_java {
            // Options that follow take precedence.
            prepared.command.words.arguments.insert(0, format!("-Djava.io.tmpdir={path}"));
            // Spark's drivers have scratch directories there; its executors have others.
            prepared.variables.insert("SPARK_LOCAL_DIRS".to_owned(), path.clone());
        }
        prepared.variables.entry("TMPDIR".to_owned()).or_insert(path);
        let mut reach = self.0.clone();
        reach.writable.extend(prepared.own.iter().map(byte_text::of_os));
        Ok(reach)
    }
}
