//! The reference of all properties: for `--help`, for man pages, and for docs/SETTINGS.md.

use std::fmt::Write as _;

use super::key::{Key, Reader};
use super::keys;
use super::sources::variables::{self, Role};
use super::spark_properties::protection::{self, Refusing};
use super::spark_properties::{self, Row, Treatment};

/// The properties of this program (`reader`), except those for YARN, each with its default and meaning. Lines have at
/// most 98 columns.
#[must_use]
pub fn help(reader: Reader) -> String {
    let mut text = "Precedence of settings: flag, --conf, properties file, environment variable.\n\n\
                    Properties (--conf KEY=VALUE), with their defaults:"
        .to_owned();
    for key in of(reader).filter(|key| !key.is_yarns()) {
        let _ = write!(text, "\n  {} ({})", key.name, key.default.words());
        wrap(&mut text, key.meaning(), 98, "\n      ");
    }
    if of(reader).any(|key| key.is_yarns()) {
        text.push_str("\n\nfiresteel help yarn lists the properties for --master yarn.");
    }
    text
}

/// The properties of applications on YARN, in the format of [`help`].
#[must_use]
pub fn help_on_yarn() -> String {
    let mut text = "Properties (--conf KEY=VALUE) for --master yarn, with their defaults:".to_owned();
    for key in of(Reader::Application).filter(|key| key.is_yarns()) {
        let _ = write!(text, "\n  {} ({})", key.name, key.default.words());
        wrap(&mut text, &capitalised(key.meaning_on_yarn()), 98, "\n      ");
    }
    text
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

#[must_use]
pub fn markdown() -> String {
    let mut text = "\
# Settings

The properties that Firesteel reads, generated from the table in `crates/firesteel-settings/src/keys.rs`. Properties that
begin with `spark.` have the meaning that they have in Spark 4.0.1; those that begin with `firesteel.` are Firesteel's own.
A part in capitals stands for any name. A value that cannot be used is an error.

Precedence, highest first:

1. the flag for the property;
2. `--conf`;
3. for a Worker, `SPARK_LOCAL_DIRS` for `spark.local.dir`;
4. for daemons, `-D` options in `SPARK_MASTER_OPTS` or `SPARK_WORKER_OPTS`, then in `SPARK_DAEMON_JAVA_OPTS`;
5. the file of `--properties-file`, or else `spark-defaults.conf` in `$SPARK_CONF_DIR`, `$SPARK_HOME/conf` or `/etc/firesteel`
   (`--load-spark-defaults` reads both);
6. the environment variable for a property (see [below](#environment-variables)).

`firesteel config show --origin` shows each effective value and the values that it overrides. `firesteel config check`
checks everything that is set.
"
    .to_owned();
    for reader in Reader::ALL {
        let title = match reader {
            Reader::Master => "Master",
            Reader::Worker => "Worker",
            Reader::Application => "Application",
        };
        let rows = of(reader).filter(|key| !key.is_yarns()).map(|key| (key, key.meaning().to_owned()));
        text += &section(title, rows);
    }
    let yarns = of(Reader::Application).filter(|key| key.is_yarns());
    text += &section("Application on YARN", yarns.map(|key| (key, capitalised(key.meaning_on_yarn()))));
    text + &variables_markdown() + &protection_markdown() + &sparks_markdown()
}

/// A heading, and a table of these properties with their meanings.
fn section(title: &str, rows: impl Iterator<Item = (&'static Key, String)>) -> String {
    let mut text = format!("\n## {title}\n\n| property | default | meaning |\n|---|---|---|\n");
    for (key, meaning) in rows {
        let default = match key.default {
            super::key::Default::Value(value) => format!("`{value}`"),
            super::key::Default::Otherwise(words) => words.to_owned(),
        };
        let _ = writeln!(text, "| `{}` | {default} | {meaning} |", key.name);
    }
    text
}

fn variables_markdown() -> String {
    let mut text = "\n## Environment variables\n\nAn empty variable counts as unset.\n\n".to_owned();
    text.push_str("| variable | read by | used as | meaning |\n|---|---|---|---|\n");
    for variable in variables::TABLE {
        let (role, meaning) = match variable.role {
            Role::Flag(flag) => (format!("default of `{flag}`"), variable.meaning),
            Role::Property(key) => (format!("default of `{key}`"), variable.meaning),
            Role::Override(key) => (format!("`{key}`, overrides it"), variable.meaning),
            Role::Options => ("properties".to_owned(), variable.meaning),
            Role::Place => ("directory".to_owned(), variable.meaning),
            Role::Java | Role::JavaOptions => ("for Java".to_owned(), variable.meaning),
            Role::Ignored => ("(ignored)".to_owned(), variable.meaning),
        };
        let readers: Vec<_> = variable.readers.iter().map(|reader| reader.described()).collect();
        let readers = if variable.role == Role::Ignored { String::new() } else { readers.join(", ") };
        let _ = writeln!(text, "| `{}` | {readers} | {role} | {meaning} |", variable.name);
    }
    text
}

fn sparks_markdown() -> String {
    let mut text = "
## Spark's properties without effect

`*` stands for the rest of a name. The first matching row counts, unless Firesteel reads the property (see above).

- *not Firesteel's*: Spark itself may use this property, so Firesteel warns only if it is set on the command line.
- *Spark's applications*: these use it as before. It has no effect on Firesteel's own applications, which warn of it.
- *no effect*: Firesteel warns.

A value in brackets is what Firesteel does anyway, so it causes no warning.

| property | | reason |
|---|---|---|
"
    .to_owned();
    for Row { name, treatment, harmless, why } in spark_properties::TABLE {
        let treatment = match treatment {
            Treatment::NotOurs => "not Firesteel's",
            Treatment::SparkApplications => "Spark's applications",
            Treatment::NoEffect => "no effect",
        };
        let except: Vec<_> = harmless.iter().filter(|value| !value.is_empty()).copied().collect();
        let except = if except.is_empty() { String::new() } else { format!(" ({})", except.join(", ")) };
        let _ = writeln!(text, "| `{name}` | {treatment}{except} | {why} |");
    }
    text
}

fn protection_markdown() -> String {
    let mut text = "
## Properties that ask for protection

Nothing starts with these, unless the value is empty or `false`: exit code 78, or 2 if it is on the command line.

| property | refused by | reason |
|---|---|---|
"
    .to_owned();
    for protection::Row { name, refusing, why } in protection::TABLE {
        let who = match refusing {
            Refusing::All => "all",
            Refusing::WithoutCredentials => "all without `firesteel.credentials.file`",
            Refusing::ApplicationsWithoutCredentials => {
                "Firesteel's own applications without `firesteel.credentials.file`"
            }
            Refusing::WithoutCredentialsOrYarn => {
                "all without `firesteel.credentials.file`, but applications on YARN"
            }
            Refusing::Applications => "Firesteel's own applications",
        };
        let _ = writeln!(text, "| `{name}` | {who} | {why} |");
    }
    text
}

/// The properties that this program (`reader`) reads. Spark's properties come first.
pub fn of(reader: Reader) -> impl Iterator<Item = &'static Key> {
    let all = move || keys::all().filter(move |key| key.readers.contains(&reader));
    all().filter(|key| key.is_sparks()).chain(all().filter(|key| !key.is_sparks()))
}

/// Appends the words in lines of at most `width` columns. Each line begins with `indent`.
fn wrap(text: &mut String, words: &str, width: usize, indent: &str) {
    let mut column = width;
    for word in words.split_whitespace() {
        if column + 1 + word.len() > width {
            text.push_str(indent);
            column = indent.len() - 1;
        } else {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_under_each_other() {
        let mut text = "key".to_owned();
        wrap(&mut text, "one two three", 10, "\n  ");
        assert_eq!(text, "key\n  one two\n  three");
    }

    #[test]
    fn help_has_the_readers_properties_and_no_others() {
        let help = help(Reader::Worker);
        assert!(help.contains("\n  firesteel.worker.killGrace (10s)\n      Time between"), "{help}");
        assert!(!help.contains("spark.cores.max"));
        assert!(help.lines().all(|line| line.len() <= 98));
    }

    #[test]
    fn properties_for_yarn_have_a_list_of_their_own() {
        let (all, yarns) = (help(Reader::Application), help_on_yarn());
        assert!(yarns.contains("spark.yarn.queue (default)\n      The cluster's queue"), "{yarns}");
        assert!(!all.contains("spark.yarn.") && !yarns.contains("spark.cores.max"));
    }
}
