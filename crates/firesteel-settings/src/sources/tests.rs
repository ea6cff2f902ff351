//! Tests of the sources of properties and of their precedence.

use std::io::Write;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::keys;

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it can be made");
    fs::File::create(&path).expect("it can be made").write_all(text.as_bytes()).expect("it can be written");
    path
}

fn sources(reader: Reader, conf: &[&str], files: Files, variables: &[(&str, &str)]) -> Sources {
    let conf = conf.iter().map(|&pair| pair.to_owned()).collect();
    Sources { reader, conf, files, environment: environment(variables) }
}

/// The value of a property, and its origin as text.
fn found(sources: &Sources, key: &str) -> Option<(String, String)> {
    let properties = sources.load().expect("it can be read").properties;
    Some((properties.get(key)?.to_owned(), properties.origin(key)?.to_string()))
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn each_source_beats_the_next() {
    let directory = directory();
    let file = write(directory.path(), "conf/spark-defaults.conf", "# site\nspark.worker.timeout  4\n");
    let home = directory.path().display().to_string();
    let options = [("SPARK_MASTER_OPTS", "-Dspark.worker.timeout=2"), ("SPARK_HOME", home.as_str())];
    let all = [options[0], ("SPARK_DAEMON_JAVA_OPTS", "-Xmx1g -Dspark.worker.timeout=3"), options[1]];
    let timeout = |conf: &[&str], variables: &[(&str, &str)]| {
        found(&sources(Reader::Master, conf, Files::Defaults, variables), keys::WORKER_TIMEOUT)
    };
    let expected = |value: &str, origin: &str| Some((value.to_owned(), origin.to_owned()));
    assert_eq!(timeout(&["spark.worker.timeout=1"], &all), expected("1", "--conf"));
    assert_eq!(timeout(&[], &all), expected("2", "-D in $SPARK_MASTER_OPTS"));
    assert_eq!(timeout(&[], &all[1..]), expected("3", "-D in $SPARK_DAEMON_JAVA_OPTS"));
    assert_eq!(timeout(&[], &all[2..]), expected("4", &format!("{} line 2", file.display())));
    assert_eq!(timeout(&[], &[]), None);
}

#[test]
fn a_file_that_is_named_replaces_the_default_file_unless_both_are_wanted() {
    let directory = directory();
    write(directory.path(), "spark-defaults.conf", "spark.task.cpus 2\nspark.cores.max 8\n");
    let named = write(directory.path(), "named.conf", "spark.task.cpus 1\n");
    let variables = [("SPARK_CONF_DIR", directory.path().to_str().expect("it is UTF-8"))];
    let value = |files, key| found(&sources(Reader::Application, &[], files, &variables), key).map(|it| it.0);
    let both = Files::NamedThenDefaults(named.clone());
    assert_eq!(value(Files::Named(named.clone()), keys::TASK_CPUS).as_deref(), Some("1"));
    assert_eq!(value(Files::Named(named), keys::CORES_MAX), None);
    assert_eq!(value(both.clone(), keys::TASK_CPUS).as_deref(), Some("1"));
    assert_eq!(value(both, keys::CORES_MAX).as_deref(), Some("8"));
}

#[test]
fn no_default_file_is_read_where_none_is_wanted() {
    let directory = directory();
    write(directory.path(), "spark-defaults.conf", "spark.cores.max 8\n");
    let variables = [("SPARK_CONF_DIR", directory.path().to_str().expect("it is UTF-8"))];
    let value = |files| found(&sources(Reader::Application, &[], files, &variables), keys::CORES_MAX);
    assert_eq!(value(Files::Defaults).map(|it| it.0).as_deref(), Some("8"));
    assert_eq!(value(Files::None), None);
}

#[test]
fn the_directory_of_configuration_stands_before_sparks_home_even_if_it_is_empty() {
    let directory = directory();
    write(directory.path(), "conf/spark-defaults.conf", "spark.cores.max 8\n");
    let home = directory.path().to_str().expect("it is UTF-8");
    let variables = [("SPARK_HOME", home), ("SPARK_CONF_DIR", home)];
    let none = sources(Reader::Application, &[], Files::Defaults, &variables);
    assert_eq!(none.load().expect("a default file need not be there"), Loaded::default());
}

#[test]
fn a_named_file_that_is_not_there_or_not_regular_is_an_error() {
    let directory = directory();
    for (path, words) in [
        (directory.path().join("none.conf"), "cannot read the properties file"),
        (directory.path().to_owned(), "is not a regular file"),
        (PathBuf::from("/dev/null"), "is not a regular file"),
        (write(directory.path(), "bad.conf", "spark.a \\u12\n"), "bad.conf: line 1: \\u is not followed by"),
    ] {
        let error = sources(Reader::Worker, &[], Files::Named(path), &[]).load().expect_err("it is unusable");
        assert!(error.to_string().contains(words), "{error}");
    }
    let quote = sources(Reader::Worker, &[], Files::Defaults, &[("SPARK_WORKER_OPTS", "-Da='")]);
    let error = quote.load().expect_err("the quote has no end").to_string();
    assert_eq!(
        error,
        "cannot read $SPARK_WORKER_OPTS: a quote is not closed, or a backslash is the last character"
    );
}

#[test]
fn variables_stand_for_an_applications_properties_where_nothing_else_does() {
    let variables =
        [("MASTER", "spark://a:1"), ("SPARK_EXECUTOR_CORES", "2"), ("SPARK_WORKER_OPTS", "-Dspark.b=1")];
    let sources = sources(Reader::Application, &["spark.executor.cores=4"], Files::Defaults, &variables);
    let properties = sources.load().expect("it can be read").properties;
    assert_eq!(properties.origin(keys::MASTER), Some(&Origin::Variable("MASTER")));
    assert_eq!(properties.get(keys::EXECUTOR_CORES), Some("4"));
    let weaker: Vec<_> = properties.overridden(keys::EXECUTOR_CORES).map(|it| it.value.as_str()).collect();
    assert_eq!(weaker, ["2"]);
    assert_eq!(properties.get("spark.b"), None, "a Worker's options are not an application's");
}

#[test]
fn spark_local_dirs_takes_precedence_over_a_file_and_options() {
    let directory = directory();
    let path = write(directory.path(), "a.conf", "spark.local.dir /file\n");
    let variables = [("SPARK_LOCAL_DIRS", "/variable"), ("SPARK_WORKER_OPTS", "-Dspark.local.dir=/option")];
    let of = |conf: &[&str]| {
        let sources = sources(Reader::Worker, conf, Files::Named(path.clone()), &variables);
        let properties = sources.load().expect("it can be read").properties;
        properties.get(keys::LOCAL_DIRECTORIES).map(str::to_owned)
    };
    assert_eq!(of(&[]).as_deref(), Some("/variable"));
    assert_eq!(of(&["spark.local.dir=/conf"]).as_deref(), Some("/conf"));
}

#[test]
fn only_properties_of_spark_and_firesteel_count_and_the_last_line_wins() {
    let directory = directory();
    let text = "colour red\nspark.cores.max 1\nfiresteel.x y\nspark.cores.max 2\n";
    let path = write(directory.path(), "a.conf", text);
    let loaded =
        sources(Reader::Application, &[], Files::Named(path.clone()), &[]).load().expect("it is sound");
    let all: Vec<_> = loaded.properties.iter().collect();
    assert_eq!(all, [("firesteel.x", "y"), ("spark.cores.max", "2")]);
    let [(unknown, origin)] = &loaded.unknown[..] else { panic!("{loaded:?}") };
    assert_eq!((unknown.as_str(), origin.to_string()), ("colour", format!("{} line 1", path.display())));
    assert_eq!(loaded.files, [path]);
}
