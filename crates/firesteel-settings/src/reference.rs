//! The table of properties for people: in `--help`, on man pages, and as docs/SETTINGS.md.

use std::fmt::Write as _;

use super::key::{Key, Reader};
use super::keys;
use super::sparks::{self, Row, Verdict};
use super::variables::{self, Role};

/// The properties that the reader has, one after the other with default and meaning, in lines of at most 98 columns.
#[must_use]
pub fn help(reader: Reader) -> String {
    let mut text =
        "Properties (--conf KEY=VALUE) with defaults; a flag beats --conf, that a file, that a variable:"
            .to_owned();
    for key in of(reader) {
        let _ = write!(text, "\n  {} ({})", key.name, key.default.words());
        wrap(&mut text, key.meaning(), 98, "\n      ");
    }
    text
}

/// docs/SETTINGS.md.
#[must_use]
pub fn markdown() -> String {
    let mut text = "\
# Settings

The properties that Firesteel reads, made from the table in `crates/firesteel-settings/src/keys.rs`. Those that begin
with `spark.` mean what they mean in Spark 4.0.1; those that begin with `firesteel.` are Firesteel's own. A part in
capitals stands for any words. A value that cannot be used is an error.

The strongest wins, from the first to the last: a flag that stands for the property; `--conf`; for daemons, `-D` options in
`SPARK_MASTER_OPTS` or `SPARK_WORKER_OPTS` and then in `SPARK_DAEMON_JAVA_OPTS`; the file of `--properties-file` or, without
one, `spark-defaults.conf` in `$SPARK_CONF_DIR` or `$SPARK_HOME/conf` (`--load-spark-defaults` reads both); for
applications, variables that stand for a property. `firesteel config show --origin` shows what counts and what it beats,
`firesteel config check` what comes of everything that is set.
"
    .to_owned();
    for reader in Reader::ALL {
        let title = match reader {
            Reader::Master => "A Master's",
            Reader::Worker => "A Worker's",
            Reader::Application => "An application's",
        };
        let _ = write!(text, "\n## {title}\n\n| property | default | meaning |\n|---|---|---|\n");
        for key in of(reader) {
            let default = match key.default {
                super::key::Default::Value(value) => format!("`{value}`"),
                super::key::Default::Otherwise(words) => words.to_owned(),
            };
            let _ = writeln!(text, "| `{}` | {default} | {} |", key.name, key.meaning());
        }
    }
    text + &variables_markdown() + &sparks_markdown()
}

fn variables_markdown() -> String {
    let mut text = "\n## Variables of the environment\n\nOne that is empty counts as unset.\n\n".to_owned();
    text.push_str("| variable | read by | as | meaning |\n|---|---|---|---|\n");
    for variable in variables::TABLE {
        let (role, meaning) = match variable.role {
            Role::Flag(flag) => (format!("`{flag}`, which is stronger"), variable.meaning),
            Role::Property(key) => (format!("`{key}`, where that is set nowhere else"), variable.meaning),
            Role::Options => ("properties".to_owned(), variable.meaning),
            Role::Place => ("a place of files".to_owned(), variable.meaning),
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

`*` stands for the rest of a name, and the first row that has a name counts, unless the property is read (above). What is
*not Firesteel's* may stand in a file that Spark reads too; it is told only if it stands on the command line. What has *no
effect* is a warning, and with what is *refused* nothing starts. Values in brackets ask for what happens anyway.

| property | | why |
|---|---|---|
"
    .to_owned();
    for Row { name, verdict, harmless, why } in sparks::TABLE {
        let verdict = match verdict {
            Verdict::NotOurs => "not Firesteel's",
            Verdict::NoEffect => "no effect",
            Verdict::Refused => "refused",
        };
        let except: Vec<_> = harmless.iter().filter(|value| !value.is_empty()).copied().collect();
        let except = if except.is_empty() { String::new() } else { format!(" ({})", except.join(", ")) };
        let _ = writeln!(text, "| `{name}` | {verdict}{except} | {why} |");
    }
    text
}

/// The reader's rows: Spark's first.
pub fn of(reader: Reader) -> impl Iterator<Item = &'static Key> {
    let all = move || keys::TABLE.iter().filter(move |key| key.readers.contains(&reader));
    all().filter(|key| key.is_sparks()).chain(all().filter(|key| !key.is_sparks()))
}

/// Appends the words in lines of at most `width` columns, each after `indent`.
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
        assert!(help.contains("\n  firesteel.worker.killGrace (10s)\n      How long"), "{help}");
        assert!(!help.contains("spark.cores.max"));
        assert!(help.lines().all(|line| line.len() <= 98));
    }
}
