//! Settings from the user's view: files, variables, flags, and their precedence.

use std::path::{Path, PathBuf};

use firesteel_host::exit_code;
use firesteel_settings::reference;
use firesteel_testkit::{Daemon, firesteel, run};
use tempfile::TempDir;

/// Checks a page against its recorded text; `UPDATE_GOLDEN=1` records it.
fn check_page(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        std::fs::write(&path, found).expect("docs can be written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(recorded == found, "docs/{name} is not what its table says: UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn the_page_of_settings_is_the_table_of_properties() {
    check_page("SETTINGS.md", &reference::markdown());
}

#[test]
fn the_page_of_exit_codes_is_their_table() {
    check_page("EXIT-CODES.md", &exit_code::markdown());
}

/// A directory with a `spark-defaults.conf` of that text.
fn conf(text: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("spark-defaults.conf"), text).expect("it can be written");
    directory
}

fn file(directory: &TempDir) -> PathBuf {
    directory.path().join("spark-defaults.conf")
}

#[test]
fn a_daemon_reads_the_default_file_and_says_what_has_no_effect() {
    let directory = conf(
        "spark.worker.timeout 7s\nspark.deploy.recoveryCompressionCodec lz4\nspark.sql.ansi.enabled true\ncolour red\n",
    );
    let mut command = firesteel();
    command.args(["master", "--port", "0"]).env("SPARK_CONF_DIR", directory.path());
    let master = Daemon::start(&mut command);
    let line = master.wait_for_line(&["WARN", "spark.deploy.recoveryCompressionCodec=lz4"]);
    assert!(line.contains(&format!("({} line 2)", file(&directory).display())), "{line}");
    master.wait_for_line(&["WARN", "colour", "line 4) has no effect: only names that begin with spark."]);
    assert!(!master.log().contains("spark.sql"), "a file may be Spark's too: {}", master.log());
}

#[test]
fn nothing_starts_with_a_setting_that_asks_for_protection() {
    let commands = [
        &["master", "--port", "0"][..],
        &["worker", "--port", "0", "spark://127.0.0.1:1"],
        &["map", "--", "true", ":::", "a"],
        &["launch", "--", "true"],
        &["shell"],
        &["submit", "--deploy-mode", "cluster", "--master", "spark://127.0.0.1:1", "--", "true"],
    ];
    for (setting, why) in [
        ("spark.authenticate=true", "only with firesteel.credentials.file"),
        ("spark.network.crypto.enabled=true", "only with firesteel.credentials.file"),
        ("spark.authenticate.enableSaslEncryption=true", "the old ciphers of SASL"),
        ("spark.ssl.enabled=true", "Firesteel has TLS for its pages, by"),
        ("spark.ssl.ui.enabled=true", "Firesteel has TLS for its pages, by"),
        ("spark.acls.enable=true", "only with firesteel.credentials.file do users prove"),
        ("spark.ui.view.acls=ann", "only with firesteel.credentials.file do users prove"),
        ("spark.modify.acls.groups=staff", "only with firesteel.credentials.file do users prove"),
    ] {
        let directory = conf(&setting.replace('=', " "));
        for arguments in commands {
            let done = run(firesteel().args(arguments).env("SPARK_CONF_DIR", directory.path()));
            assert_eq!(done.code(), 78, "{setting} {done}");
            assert!(done.stderr.contains(setting) && done.stderr.contains(why), "{done}");
        }
    }
    // Daemons have TLS, with a certificate; Firesteel's own applications have another encryption.
    let tls = conf("spark.ssl.rpc.enabled true\n");
    for (arguments, words) in [
        (commands[0], "spark.ssl.rpc.certChain is not set, which spark.ssl.rpc.enabled needs"),
        (commands[1], "spark.ssl.rpc.certChain is not set, which spark.ssl.rpc.enabled needs"),
        (commands[2], "spark.ssl.rpc.enabled=true"),
        (commands[3], "only with firesteel.credentials.file"),
    ] {
        let done = run(firesteel().args(arguments).env("SPARK_CONF_DIR", tls.path()));
        assert!(done.code() == 78 && done.stderr.contains(words), "{done}");
    }
    let secret = conf("spark.authenticate.secret hush-hush\n");
    let done = run(firesteel().args(["master", "--port", "0"]).env("SPARK_CONF_DIR", secret.path()));
    assert_eq!(done.code(), 78, "{done}");
    assert!(done.stderr.contains("spark.authenticate.secret=") && !done.stderr.contains("hush"), "{done}");
    for setting in ["spark.authenticate=true", "firesteel.credentials.optionalUntil=tomorrow"] {
        let flag = run(firesteel().args(["master", "--port", "0", "--conf", setting]));
        assert_eq!(flag.code(), 2, "{flag}");
    }
}

#[test]
fn a_bad_value_in_a_file_is_told_with_its_line_and_exit_code_78() {
    let directory = conf("\n# cores\nspark.task.cpus lots\n");
    let done = run(firesteel().args(["map", "--properties-file"]).arg(file(&directory)).args(["--", "true"]));
    assert_eq!(done.code(), 78, "{done}");
    let expected =
        format!("spark.task.cpus cannot be \"lots\" ({} line 3): write", file(&directory).display());
    assert!(done.stderr.contains(&expected), "{done}");
    for (text, words) in [
        ("spark.master mesos\n", "line 1: \"mesos\" is not a master URL"),
        ("spark.cores.max 1\nspark.executor.cores 2\n", "no executor could ever start"),
    ] {
        let directory = conf(text);
        let done =
            run(firesteel().args(["map", "--", "true", ":::", "a"]).env("SPARK_CONF_DIR", directory.path()));
        assert_eq!(done.code(), 78, "{done}");
        assert!(done.stderr.contains(words), "{done}");
    }
    let none = run(firesteel().args(["master", "--properties-file", "/no/such.conf"]));
    assert_eq!(none.code(), 78, "{none}");
    assert!(none.stderr.contains("cannot read the properties file /no/such.conf: No such file"), "{none}");
}

#[test]
fn a_submitted_command_reads_file_conf_and_flags_each_stronger_than_the_former() {
    let directory = conf("spark.task.cpus 2\nspark.executor.cores 2\nspark.executorEnv.COLOUR red\n");
    let cores = |arguments: &[&str]| {
        let mut command = firesteel();
        command.args(["map", "--master", "local-cluster[1,4,1024]"]).args(arguments);
        command.args(["--", "sh", "-c", "echo $FIRESTEEL_CORES", "sh", ":::", "a"]);
        let done = run(command.env("SPARK_CONF_DIR", directory.path()));
        assert_eq!(done.code(), 0, "{done}");
        done.stdout.trim().to_owned()
    };
    assert_eq!(cores(&[]), "2");
    assert_eq!(cores(&["--conf", "spark.executor.cores=3"]), "3");
    assert_eq!(cores(&["--conf", "spark.executor.cores=3", "--executor-cores", "4"]), "4");
    let named = directory.path().join("named.conf");
    std::fs::write(&named, "spark.executor.cores = 1\n").expect("it can be written");
    let named = named.to_str().expect("it is UTF-8");
    assert_eq!(cores(&["--properties-file", named]), "1", "it replaces spark-defaults.conf");
    let both = ["--properties-file", named, "--load-spark-defaults", "--executor-cores", "2"];
    assert_eq!(cores(&both), "2");
}

#[test]
fn the_daemons_of_a_local_cluster_have_the_applications_properties() {
    let done = run(firesteel().args([
        "--verbose",
        "map",
        "--master",
        "local-cluster[1,1,512]",
        "--conf",
        "spark.worker.timeout=soon",
        "--",
        "true",
        ":::",
        "a",
    ]));
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("spark.worker.timeout cannot be \"soon\""), "{done}");
}

#[test]
fn an_empty_variable_counts_as_unset_and_a_wrong_one_is_named() {
    let mut command = firesteel();
    command
        .args(["master", "-h", "127.0.0.78", "--conf", "spark.deploy.recoveryMode=NONE"])
        .env("SPARK_MASTER_PORT", "")
        .env("SPARK_MASTER_HOST", "");
    let master = Daemon::start(&mut command);
    assert_eq!(master.url(), "spark://127.0.0.78:7077");
    for (name, value, words) in [
        ("SPARK_MASTER_PORT", "x", "firesteel: $SPARK_MASTER_PORT cannot be \"x\": write a port"),
        ("SPARK_MASTER_HOST", "a b", "firesteel: $SPARK_MASTER_HOST cannot be \"a b\": write a name"),
        ("SPARK_MASTER_OPTS", "-Dspark.worker.timeout=x", "(-D in $SPARK_MASTER_OPTS): write"),
        ("SPARK_DAEMON_JAVA_OPTS", "'", "cannot read $SPARK_DAEMON_JAVA_OPTS: a quote"),
    ] {
        let done = run(firesteel().arg("master").env(name, value));
        assert_eq!(done.code(), 78, "{done}");
        assert!(done.stderr.contains(words), "{done}");
    }
}

#[test]
fn status_asks_the_master_that_map_would_use() {
    let master = Daemon::master(&[]);
    let directory = conf(&format!("spark.master {}\n", master.url()));
    let status = |variables: &[(&str, &str)]| {
        let mut command = firesteel();
        command.arg("status").envs(variables.iter().copied());
        run(&mut command)
    };
    let conf = directory.path().to_str().expect("it is UTF-8");
    for variables in [
        &[("MASTER", master.url())][..],
        &[("SPARK_CONF_DIR", conf)],
        // As in spark-submit, the file takes precedence over the variable.
        &[("SPARK_CONF_DIR", conf), ("MASTER", "spark://127.0.0.1:1")],
    ] {
        let done = status(variables);
        assert_eq!(done.code(), 0, "{done}");
        assert!(done.stdout.contains(master.url()), "{done}");
    }
    // A wrong value must not select another cluster.
    for value in ["foo", "local[2]", "local-cluster[1,1,512]", "spark://nowhere"] {
        for words in [&["status"][..], &["kill", "a"], &["explain", "a"], &["logs", "a", "0"], &["top"]] {
            let wrong = run(firesteel().args(words).env("MASTER", value));
            let name =
                format!("firesteel: spark.master of $MASTER: \"{}", value.trim_start_matches("spark://"));
            assert_eq!(wrong.code(), 78, "{words:?} {wrong}");
            assert!(wrong.stderr.starts_with(&name), "{words:?} {wrong}");
        }
    }
    let wrong = status(&[("MASTER", "spark://nowhere")]);
    assert_eq!(wrong.code(), 78, "{wrong}");
    assert!(wrong.stderr.contains("spark.master of $MASTER: \"nowhere\" has no usable port"), "{wrong}");
}

#[test]
fn every_help_that_lists_properties_says_their_precedence() {
    for command in ["master", "worker", "map", "launch", "shell"] {
        let help = run(firesteel().args([command, "--help"])).stdout;
        let words = "Precedence of settings: flag, --conf, properties file, environment variable.";
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(words), "{command}: {help}");
        if ["map", "launch", "shell"].contains(&command) {
            assert!(help.contains("[default: spark.master, then $MASTER]"), "{command}: {help}");
        }
    }
}
