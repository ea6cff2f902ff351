//! Hadoop's configuration, read in the same way as by Hadoop's own clients.
//!
//! Later sources override earlier ones: `core-site.xml`, `hdfs-site.xml`, `yarn-site.xml`, and then properties that
//! begin with `spark.hadoop.`. If a file marks a property as final, later sources cannot override it. Files are
//! searched in the directories of `HADOOP_CONF_DIR` and then of `YARN_CONF_DIR`. As on Spark's class path, the first
//! file of each name is used.
//!
//! Source: Hadoop 3.4.1, `Configuration`; Spark 4.0.1 for the directories.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::site_file::{self, Finality, SiteFileError};
use firesteel_settings::description;
use firesteel_settings::variables::Environment;
use firesteel_settings::{Properties, keys};

/// The variables that name the directories. Earlier variables take precedence.
pub const DIRECTORIES: [&str; 2] = ["HADOOP_CONF_DIR", "YARN_CONF_DIR"];

/// The files, from the lowest to the highest precedence.
const FILES: [&str; 3] = ["core-site.xml", "hdfs-site.xml", "yarn-site.xml"];

/// The prefix of Spark properties that set Hadoop properties.
const PREFIX: &str = "spark.hadoop.";

/// The maximum number of variables that are replaced in one value.
const MOST_SUBSTITUTIONS: usize = 20;

/// Deprecated names of properties, each with its current name.
const RENAMED: [(&str, &str); 4] = [
    ("fs.default.name", "fs.defaultFS"),
    ("topology.node.switch.mapping.impl", "net.topology.node.switch.mapping.impl"),
    ("topology.script.file.name", "net.topology.script.file.name"),
    ("topology.script.number.args", "net.topology.script.number.args"),
];

/// The properties of Hadoop's configuration, with their origins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HadoopConf {
    rows: BTreeMap<String, Row>,
    files: Vec<PathBuf>,
    /// The values of `${user.name}` and similar variables.
    system: BTreeMap<&'static str, String>,
    environment: Environment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    value: String,
    origin: Origin,
    finality: Finality,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    File(Arc<PathBuf>),
    Property,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HadoopConfError {
    /// No setting names the cluster.
    #[error(
        "nothing says where the YARN cluster is: set HADOOP_CONF_DIR or YARN_CONF_DIR to the directory that has its \
         yarn-site.xml, or write --conf spark.hadoop.yarn.resourcemanager.hostname=HOST"
    )]
    Nowhere,
    /// The variables name no directory with Hadoop's files.
    #[error("{variables}: {} has neither core-site.xml nor yarn-site.xml", words(directories))]
    NoFiles {
        /// The variables that are set, as text.
        variables: String,
        /// The directories that were searched.
        directories: Vec<PathBuf>,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// A file is not one of Hadoop's files.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: SiteFileError },
    /// A value cannot be used.
    #[error("{name} cannot be {value:?} ({origin}): write {expected}")]
    Value {
        name: String,
        value: String,
        origin: String,
        /// The form that is expected.
        expected: &'static str,
    },
    /// The variables in a value refer to each other in a cycle.
    #[error("{name} ({origin}) nests more than {MOST_SUBSTITUTIONS} variables")]
    TooDeep { name: String, origin: String },
}

fn words(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
}

impl HadoopConf {
    /// Reads the configuration that the environment and the properties describe.
    ///
    /// # Errors
    /// Neither the environment nor the properties describe a configuration, or a file cannot be read.
    pub fn load(environment: &Environment, properties: &Properties) -> Result<Self, HadoopConfError> {
        let set: Vec<(&str, &str)> =
            DIRECTORIES.iter().filter_map(|name| Some((*name, environment.get(name)?))).collect();
        let directories: Vec<PathBuf> =
            set.iter().flat_map(|(_, value)| std::env::split_paths(value)).collect();
        let mut conf = Self::new(environment.clone());
        for name in FILES {
            if let Some(path) =
                directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file())
            {
                conf.add_file(path)?;
            }
        }
        for (name, value) in properties.family(keys::HADOOP) {
            conf.set(name, value);
        }
        match (conf.files.is_empty(), set.is_empty()) {
            (true, true) if !conf.names_a_resource_manager() => Err(HadoopConfError::Nowhere),
            (true, false) => {
                let variables: Vec<String> =
                    set.iter().map(|(name, value)| format!("{name} is {value:?}")).collect();
                Err(HadoopConfError::NoFiles { variables: variables.join(" and "), directories })
            }
            _ => Ok(conf),
        }
    }

    fn new(environment: Environment) -> Self {
        let home = environment.get("HOME").unwrap_or("/").to_owned();
        let system =
            [("user.name", description::user()), ("user.home", home), ("java.io.tmpdir", "/tmp".to_owned())];
        Self { system: BTreeMap::from(system), environment, ..Self::default() }
    }

    /// A configuration with only these values.
    #[must_use]
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut conf = Self::new(Environment::default());
        pairs.into_iter().for_each(|(name, value)| conf.set(name, value));
        conf
    }

    fn set(&mut self, name: &str, value: &str) {
        let row = Row { value: value.to_owned(), origin: Origin::Property, finality: Finality::Final };
        self.rows.insert(current(name).to_owned(), row);
    }

    fn add_file(&mut self, path: PathBuf) -> Result<(), HadoopConfError> {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| HadoopConfError::Unreadable { path: path.clone(), error })?;
        let found =
            site_file::parse(&text).map_err(|error| HadoopConfError::File { path: path.clone(), error })?;
        let shared = Arc::new(path.clone());
        for property in found {
            let name = current(&property.name).to_owned();
            let row = Row {
                value: property.value,
                origin: Origin::File(Arc::clone(&shared)),
                finality: property.finality,
            };
            if self.rows.get(&name).is_none_or(|row| row.finality == Finality::Open) {
                self.rows.insert(name, row);
            }
        }
        self.files.push(path);
        Ok(())
    }

    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The directory of the last file. Relative paths begin there.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.files.last().and_then(|path| path.parent())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.keys().map(String::as_str)
    }

    fn names_a_resource_manager(&self) -> bool {
        self.names().any(|name| {
            ["hostname", "address", "ha.rm-ids"]
                .iter()
                .any(|end| name == format!("yarn.resourcemanager.{end}"))
        })
    }

    /// Where a value is set, as text for users.
    #[must_use]
    pub fn origin(&self, name: &str) -> String {
        match self.rows.get(name).map(|row| &row.origin) {
            Some(Origin::File(path)) => path.display().to_string(),
            Some(Origin::Property) => format!("{PREFIX}{name}"),
            None => "not set".to_owned(),
        }
    }

    /// A value with its variables replaced and surrounding blanks removed. `None` if the property is not set, or empty.
    ///
    /// # Errors
    /// The variables in the value refer to each other in a cycle.
    pub fn get(&self, name: &str) -> Result<Option<String>, HadoopConfError> {
        let Some(row) = self.rows.get(name) else { return Ok(None) };
        let value = self
            .substituted(&row.value)
            .ok_or_else(|| HadoopConfError::TooDeep { name: name.to_owned(), origin: self.origin(name) })?;
        Ok(Some(value.trim().to_owned()).filter(|value| !value.is_empty()))
    }

    /// Parses a value with `read`.
    ///
    /// # Errors
    /// The value cannot be parsed.
    pub fn read<T>(
        &self,
        name: &str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, HadoopConfError> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let error = || HadoopConfError::Value {
            name: name.to_owned(),
            value: value.clone(),
            origin: self.origin(name),
            expected,
        };
        read(&value).map(Some).ok_or_else(error)
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// The value is anything else.
    pub fn count(&self, name: &str) -> Result<Option<u64>, HadoopConfError> {
        self.read(name, "a whole number", |text| text.parse().ok())
    }

    /// Whether the value is `true`; anything else counts as false.
    ///
    /// # Errors
    /// The same as for [`get`](Self::get).
    pub fn is_true(&self, name: &str) -> Result<bool, HadoopConfError> {
        Ok(self.get(name)?.is_some_and(|value| value.eq_ignore_ascii_case("true")))
    }

    /// The values of a list separated by commas.
    ///
    /// # Errors
    /// The same as for [`get`](Self::get).
    pub fn list(&self, name: &str) -> Result<Vec<String>, HadoopConfError> {
        let value = self.get(name)?.unwrap_or_default();
        Ok(value.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    /// The value with its variables replaced. A variable without a value, or with itself as its value, is
    /// not replaced. `None` if the replacements do not end.
    fn substituted(&self, value: &str) -> Option<String> {
        let mut text = value.to_owned();
        let mut seen = BTreeSet::new();
        for _ in 0..MOST_SUBSTITUTIONS {
            let Some((start, end)) = variable(&text) else { return Some(text) };
            let name = &text[start + 2..end];
            if !seen.insert(name.to_owned()) {
                return Some(value.to_owned());
            }
            let Some(value_of) = self.value_of(name) else { return Some(text) };
            text.replace_range(start..=end, &value_of);
        }
        None
    }

    /// The value of a variable: `env.NAME` (with `:-` or `-` and a default value), a system property, or
    /// another property.
    fn value_of(&self, name: &str) -> Option<String> {
        let environment = |name: &str| self.environment.get(name).map(str::to_owned);
        let found = match name.strip_prefix("env.").filter(|rest| !rest.is_empty()) {
            Some(rest) => match rest.split_once('-') {
                Some((name, default)) => {
                    environment(name.strip_suffix(':').unwrap_or(name)).or_else(|| Some(default.to_owned()))
                }
                None => environment(rest),
            },
            None => self.system.get(name).cloned(),
        };
        found.or_else(|| self.rows.get(current(name)).map(|row| row.value.clone()))
    }
}

fn current(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// The first `${NAME}` that has no other variable in its name, as the positions of its `$` and its `}`.
fn variable(text: &str) -> Option<(usize, usize)> {
    text.match_indices("${").find_map(|(start, _)| {
        let rest = &text[start + 2..];
        let end = rest.find(['}', '$', ' ']).filter(|end| *end > 0 && rest.as_bytes()[*end] == b'}')?;
        Some((start, start + 2 + end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a directory with these files, given as names and texts.
    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            std::fs::write(directory.path().join(name), format!("<configuration>{text}</configuration>"))
                .expect("written");
        }
        directory
    }

    fn property(name: &str, value: &str) -> String {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    }

    fn environment(pairs: &[(&str, &Path)]) -> Environment {
        pairs.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string())).collect()
    }

    fn properties(pairs: &[&str]) -> Properties {
        Properties::parse(pairs.iter().copied()).expect("they are pairs")
    }

    #[test]
    fn a_later_file_beats_an_earlier_one_unless_that_has_the_last_word() {
        let last_word = "<property><name>b</name><value>core</value><final>true</final></property>";
        let core = property("a", "core") + last_word + &property("c", "core");
        let yarn = property("a", "yarn") + &property("b", "yarn");
        let directory = directory(&[("core-site.xml", &core), ("yarn-site.xml", &yarn)]);
        let environment = environment(&[("HADOOP_CONF_DIR", directory.path())]);
        let conf =
            HadoopConf::load(&environment, &properties(&["spark.hadoop.c=mine", "spark.hadoop.b=mine"]));
        let conf = conf.expect("it can be read");
        let value = |name| conf.get(name).expect("no loop");
        assert_eq!(value("a").as_deref(), Some("yarn"));
        assert_eq!(value("b").as_deref(), Some("mine"), "the user's properties beat what is final, too");
        assert_eq!(value("c").as_deref(), Some("mine"));
        assert_eq!(value("d"), None);
        assert!(conf.origin("a").ends_with("/yarn-site.xml"), "{}", conf.origin("a"));
        assert_eq!(conf.origin("c"), "spark.hadoop.c");
    }

    #[test]
    fn the_first_directory_that_has_a_file_counts() {
        let hadoop = directory(&[("core-site.xml", &property("a", "hadoop"))]);
        let yarn = directory(&[
            ("core-site.xml", &property("a", "yarn")),
            ("yarn-site.xml", &property("b", "yarn")),
        ]);
        let both = environment(&[("HADOOP_CONF_DIR", hadoop.path()), ("YARN_CONF_DIR", yarn.path())]);
        let conf = HadoopConf::load(&both, &Properties::default()).expect("it can be read");
        assert_eq!(conf.get("a").expect("no loop").as_deref(), Some("hadoop"));
        assert_eq!(conf.get("b").expect("no loop").as_deref(), Some("yarn"));
        assert_eq!(conf.files().len(), 2);
    }

    #[test]
    fn what_says_nothing_is_told() {
        let said = |environment: &Environment, pairs: &[&str]| {
            HadoopConf::load(environment, &properties(pairs)).expect_err("nothing says anything").to_string()
        };
        assert_eq!(
            said(&Environment::default(), &["spark.hadoop.a=b"]),
            "nothing says where the YARN cluster is: set HADOOP_CONF_DIR or YARN_CONF_DIR to the directory that has \
             its yarn-site.xml, or write --conf spark.hadoop.yarn.resourcemanager.hostname=HOST"
        );
        let nowhere = environment(&[("YARN_CONF_DIR", Path::new("/nowhere"))]);
        assert_eq!(
            said(&nowhere, &[]),
            "YARN_CONF_DIR is \"/nowhere\": /nowhere has neither core-site.xml nor yarn-site.xml"
        );
        let broken = directory(&[("yarn-site.xml", "<property>")]);
        let broken = said(&environment(&[("YARN_CONF_DIR", broken.path())]), &[]);
        assert!(broken.contains("/yarn-site.xml: not XML: "), "{broken}");
        let enough = properties(&["spark.hadoop.yarn.resourcemanager.hostname=rm"]);
        assert!(HadoopConf::load(&Environment::default(), &enough).is_ok());
    }

    #[test]
    fn variables_are_replaced_as_hadoop_replaces_them() {
        let mut conf = HadoopConf::of([
            ("host", "rm"),
            ("address", "${host}:8032"),
            ("which", "os"),
            ("nested", "${h${which}t}"),
            ("unknown", "${host} ${nobody}"),
            ("itself", "${itself}"),
            ("round", "a ${back}"),
            ("back", "b ${round}"),
            ("home", "${env.PLACE}/${env.NONE:-x}/${env.NONE-y}/${env.PLACE:-z}"),
            ("user", "${user.home}"),
            ("no", "$host {host} ${} ${a b} ${host"),
            ("fs.default.name", "hdfs://nn"),
            ("blank", "  "),
        ]);
        conf.environment = environment(&[("PLACE", Path::new("/p"))]);
        for (name, expected) in [
            ("address", Some("rm:8032")),
            ("nested", Some("rm")),
            ("unknown", Some("rm ${nobody}")),
            ("itself", Some("${itself}")),
            ("round", Some("a ${back}")),
            ("home", Some("/p/x/y//p")),
            ("user", Some("/")),
            ("no", Some("$host {host} ${} ${a b} ${host")),
            ("fs.defaultFS", Some("hdfs://nn")),
            ("blank", None),
        ] {
            assert_eq!(conf.get(name).expect("no loop").as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn variables_in_variables_have_an_end() {
        let rows: Vec<(String, String)> =
            (0..25).map(|n| (format!("v{n}"), format!("${{v{}}}", n + 1))).collect();
        let conf = HadoopConf::of(rows.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let error = conf.get("v0").expect_err("it is too deep").to_string();
        assert_eq!(error, "v0 (spark.hadoop.v0) nests more than 20 variables");
        assert_eq!(conf.get("v10").expect("that is not").as_deref(), Some("${v25}"));
    }

    #[test]
    fn values_have_kinds() {
        let conf = HadoopConf::of([("n", " 7 "), ("b", "True"), ("l", "a, ,b,"), ("bad", "x")]);
        assert_eq!(conf.count("n").expect("a number"), Some(7));
        assert!(conf.is_true("b").expect("no loop") && !conf.is_true("n").expect("no loop"));
        assert_eq!(conf.list("l").expect("no loop"), ["a", "b"]);
        let error = conf.count("bad").expect_err("no number").to_string();
        assert_eq!(error, "bad cannot be \"x\" (spark.hadoop.bad): write a whole number");
    }
}
