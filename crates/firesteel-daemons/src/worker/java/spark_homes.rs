//! The installations of Spark on this machine, and which installation an executor gets.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use firesteel_protocol::byte_text;
use firesteel_protocol::process::executor_command::JavaCommand;
use firesteel_protocol::process::{StartFailure, StartStep};
use firesteel_settings::java_options;
use firesteel_spark::launch::installation::Installation;

/// The variable in which a driver or a Worker names an installation.
const SPARK_HOME: &str = "SPARK_HOME";

/// The variable with the directory of Spark's configuration.
const SPARK_CONF_DIR: &str = "SPARK_CONF_DIR";

/// The directories in which to look for Spark.
#[derive(Clone, Debug, Default)]
pub struct SparkHomes {
    homes: Vec<PathBuf>,
    configuration: Option<PathBuf>,
}

/// The result of looking for Spark in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    Version(String),
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSpark(String);

impl SparkHomes {
    /// The directories in the settings. If there are none, the value of `SPARK_HOME` in this process.
    #[must_use]
    pub fn of(settings: &[PathBuf]) -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let homes = match settings {
            [] => variable(SPARK_HOME).into_iter().collect(),
            named => named.to_vec(),
        };
        Self { homes, configuration: variable(SPARK_CONF_DIR) }
    }

    /// The paths of the installations, and of their configuration.
    pub(in crate::worker) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.homes.iter().chain(&self.configuration).map(PathBuf::as_path)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.homes.is_empty()
    }

    /// The installation for a command: the one that the application names, or the first installation of the driver's
    /// release. Blocks the thread.
    ///
    /// # Errors
    /// No installation fits. The error names the wanted release and the searched directories.
    pub fn choose(&self, command: &JavaCommand) -> Result<Installation, StartFailure> {
        let configuration = command.environment.get(SPARK_CONF_DIR).filter(|path| !path.is_empty());
        let configuration =
            configuration.map(|path| byte_text::path(path)).or_else(|| self.configuration.clone());
        let configuration = configuration.as_deref();
        if let Some(named) = command.environment.get(SPARK_HOME) {
            let home = &*byte_text::path(named);
            return match look(home) {
                Found::Version(version) => installation(home, &version, configuration),
                Found::Nothing => {
                    Err(none(format!("the application names {named} as SPARK_HOME, and no Spark is there")))
                }
            };
        }
        let looked = self.look();
        let fitting =
            looked.iter().find_map(|(home, found)| Some((home, fitting(found, &command.releases)?)));
        let (home, version) = fitting.ok_or_else(|| none(unfit(&looked, &command.releases)))?;
        installation(home, version, configuration)
    }

    /// The first installation, and its version. Blocks the thread.
    ///
    /// # Errors
    /// There is no installation, or its configuration cannot be read.
    pub fn first(&self) -> Result<(Installation, String), NoSpark> {
        let looked = self.look();
        let version = |found: &Found| match found {
            Found::Version(version) => Some(version.clone()),
            Found::Nothing => None,
        };
        let first = looked.iter().find_map(|(home, found)| Some((*home, version(found)?)));
        let (home, version) =
            first.ok_or_else(|| NoSpark(format!("Spark is not installed here: {}", places(&looked))))?;
        let found = installation(home, &version, self.configuration.as_deref());
        Ok((found.map_err(|failure| NoSpark(failure.error))?, version))
    }

    fn look(&self) -> Vec<(&Path, Found)> {
        self.homes.iter().map(|home| (home.as_path(), look(home))).collect()
    }
}

fn installation(
    home: &Path,
    version: &str,
    configuration: Option<&Path>,
) -> Result<Installation, StartFailure> {
    let configuration = configuration.map_or_else(|| home.join("conf"), Path::to_owned);
    let jars = home.join("jars");
    let first = names(&jars).filter(|name| name.starts_with("slf4j-api-") && name.ends_with(".jar"));
    // Spark 3 does not keep these jars apart by name.
    let mut first_jars: Vec<String> = match version.starts_with("3.") {
        true => Vec::new(),
        false => first.map(|name| byte_text::of_os(jars.join(name))).collect(),
    };
    first_jars.sort_unstable();
    Ok(Installation {
        home: byte_text::of_os(home),
        java_options: java_options(&configuration.join("java-opts"))?,
        configuration: byte_text::of_os(configuration),
        first_jars,
    })
}

/// The options in a file. An option may be in quotes. Empty if the file does not exist.
fn java_options(file: &Path) -> Result<Vec<String>, StartFailure> {
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let unread = |error: &dyn fmt::Display| none(format!("cannot read {}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| unread(&error))?;
    let lines: Result<Vec<Vec<String>>, _> = text.lines().map(java_options::words).collect();
    lines.map(|lines| lines.concat()).map_err(|error| unread(&error))
}

/// The version of Spark in a directory. It is read from the name of the core jar: `spark-core_2.13-4.0.1.jar`.
fn look(home: &Path) -> Found {
    let version = |name: String| {
        let (_, rest) = name.strip_prefix("spark-core_")?.strip_suffix(".jar")?.split_once('-')?;
        Some(rest.to_owned())
    };
    names(&home.join("jars")).find_map(version).map_or(Found::Nothing, Found::Version)
}

/// The names of a directory's files. Empty if the directory cannot be read.
fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// The version that was found. `None` if it belongs to none of these releases.
fn fitting<'a>(found: &'a Found, releases: &[String]) -> Option<&'a str> {
    let Found::Version(version) = found else { return None };
    let is_of =
        |release: &String| version.strip_prefix(release.as_str()).is_some_and(|rest| rest.starts_with('.'));
    (releases.is_empty() || releases.iter().any(is_of)).then_some(version)
}

fn unfit(looked: &[(&Path, Found)], releases: &[String]) -> String {
    let sought = match releases {
        [] => "Spark".to_owned(),
        releases => format!("Spark {}, which its driver has,", releases.join(" or ")),
    };
    let places = places(looked);
    format!(
        "{sought} is not installed here: {places}; name its directory with SPARK_HOME of the Worker, with \
         firesteel.worker.sparkHomes, or with spark.executorEnv.SPARK_HOME of the application"
    )
}

/// A text that describes the contents of the directories.
fn places(looked: &[(&Path, Found)]) -> String {
    let place = |(home, found): &(&Path, Found)| match found {
        Found::Version(version) => format!("{} has {version}", home.display()),
        Found::Nothing => format!("{} has none", home.display()),
    };
    match looked {
        [] => "the Worker has no SPARK_HOME".to_owned(),
        looked => looked.iter().map(place).collect::<Vec<_>>().join(", "),
    }
}

fn none(error: String) -> StartFailure {
    StartFailure { step: StartStep::Lookup, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(root: &Path, name: &str, files: &[&str]) -> PathBuf {
        let home = root.join(name);
        for file in files {
            let path = home.join(file);
            fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it is made");
            fs::write(path, "-server\n -Xss4m -Dname='a b'\n").expect("it is written");
        }
        home
    }

    fn command(releases: &[&str], home: Option<&Path>) -> JavaCommand {
        let variable = |home: &Path| (SPARK_HOME.to_owned(), home.display().to_string());
        JavaCommand {
            releases: releases.iter().map(|release| (*release).to_owned()).collect(),
            environment: home.map(variable).into_iter().collect(),
            ..JavaCommand::default()
        }
    }

    #[test]
    fn an_installation_whose_path_is_not_utf_8_is_passed_on_byte_for_byte() {
        let root = tempfile::tempdir().expect("there is room");
        let home = root.path().join(byte_text::os(&byte_text::of(b"caf\xe9".to_vec())));
        installed(&home, "", &["jars/spark-core_2.13-4.0.1.jar", "jars/slf4j-api-2.jar"]);
        let homes = SparkHomes { homes: vec![home.clone()], configuration: None };
        let found = homes.choose(&command(&[], None)).expect("it is there");
        assert_eq!(byte_text::path(&found.home), home);
        assert_eq!(byte_text::path(&found.configuration), home.join("conf"));
        assert_eq!(byte_text::path(&found.first_jars[0]), home.join("jars/slf4j-api-2.jar"));
    }

    #[test]
    fn an_executor_gets_the_first_installation_of_its_driver_s_release() {
        let root = tempfile::tempdir().expect("there is room");
        let three =
            installed(root.path(), "three", &["jars/spark-core_2.12-3.5.7.jar", "jars/slf4j-api-1.jar"]);
        let files = ["jars/spark-core_2.13-4.0.1.jar", "jars/slf4j-api-2.0.16.jar", "conf/java-opts"];
        let four = installed(root.path(), "four", &files);
        let empty = installed(root.path(), "empty", &[]);
        let homes =
            SparkHomes { homes: vec![empty.clone(), three.clone(), four.clone()], configuration: None };
        let chosen = |command: &JavaCommand| homes.choose(command).expect("one fits").home;
        assert_eq!(chosen(&command(&["4.0"], None)), four.display().to_string());
        assert_eq!(chosen(&command(&["3.4", "3.5"], None)), three.display().to_string());
        assert_eq!(
            chosen(&command(&[], None)),
            three.display().to_string(),
            "the first, if no release is known"
        );
        assert_eq!(
            chosen(&command(&["3.5"], Some(&four))),
            four.display().to_string(),
            "the application says so"
        );

        let installation = homes.choose(&command(&["4.0"], None)).expect("one fits");
        assert_eq!(installation.java_options, ["-server", "-Xss4m", "-Dname=a b"]);
        assert_eq!(installation.first_jars, [four.join("jars/slf4j-api-2.0.16.jar").display().to_string()]);
        assert_eq!(homes.choose(&command(&["3.5"], None)).expect("one fits").first_jars, [""; 0]);

        let other = root.path().join("other");
        fs::create_dir(&other).expect("it is made");
        let mut named = command(&["4.0"], None);
        named.environment.insert(SPARK_CONF_DIR.to_owned(), other.display().to_string());
        let installation = homes.choose(&named).expect("one fits");
        assert_eq!(installation.configuration, other.display().to_string(), "the application says so");
        assert_eq!(installation.java_options, [""; 0]);
        fs::write(other.join("java-opts"), "-Dname='a").expect("it is written");
        let unread = homes.choose(&named).expect_err("a quote is not closed").to_string();
        assert!(unread.contains("other/java-opts: a quote is not closed"), "{unread}");

        let (first, version) = homes.first().expect("there are two");
        assert_eq!((first.home, version), (three.display().to_string(), "3.5.7".to_owned()));
        let none = SparkHomes { homes: vec![empty.clone()], configuration: None };
        let missing = none.first().expect_err("nothing is there").to_string();
        assert_eq!(missing, format!("Spark is not installed here: {} has none", empty.display()));

        let missing = homes.choose(&command(&["4", "5.1"], Some(&empty))).expect_err("nothing is there");
        assert!(missing.is_of_the_machine(), "{missing}");
        let missing = homes.choose(&command(&["4.1", "4.2"], None)).expect_err("none fits").to_string();
        let expected = format!(
            "Spark 4.1 or 4.2, which its driver has, is not installed here: {} has none, {} has 3.5.7, {} has 4.0.1;",
            empty.display(),
            three.display(),
            four.display()
        );
        assert!(missing.contains(&expected), "{missing}");
    }

    #[test]
    fn a_release_is_told_by_whole_numbers() {
        let version = |version: &str| Found::Version(version.to_owned());
        let release = ["4.1".to_owned()];
        assert_eq!(fitting(&version("4.1.0-SNAPSHOT"), &release), Some("4.1.0-SNAPSHOT"));
        assert_eq!(fitting(&version("4.10.0"), &release), None);
    }
}
