//! `firesteel config`: settings, their effects, and their precedence.

use firesteel_testkit::{firesteel, run};
use serde_json::{Value, json};

fn conf(text: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("spark-defaults.conf"), text).expect("it can be written");
    directory
}

/// The printed JSON value; checks the exit code.
fn asked(arguments: &[&str], variables: &[(&str, &str)], code: i32) -> Value {
    let done = run(firesteel().arg("config").args(arguments).arg("--json").envs(variables.iter().copied()));
    assert_eq!(done.code(), code, "{done}");
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done}"))
}

fn outcome(checked: &Value, name: &str) -> String {
    let findings = checked["findings"].as_array().expect("there are findings");
    let found = findings.iter().find(|finding| finding["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not among {checked:#}"))["effect"]
        .as_str()
        .expect("an outcome is a word")
        .to_owned()
}

#[test]
fn check_says_what_comes_of_everything_that_is_set() {
    let directory = conf(
        "spark.worker.timeout 60\nspark.sql.ansi.enabled true\nspark.deploy.recoveryCompressionCodec lz4\n",
    );
    std::fs::write(directory.path().join("spark-env.sh"), "").expect("it can be written");
    let path = directory.path().to_str().expect("it is UTF-8");
    let variables = [("SPARK_CONF_DIR", path), ("SPARK_LOG_DIR", "/logs"), ("SPARK_WORKER_CORES", "4")];
    let checked = asked(&["check"], &variables, 0);
    assert_eq!((&checked["schema"], &checked["ok"]), (&json!(3), &json!(true)));
    for (name, expected) in [
        ("spark.worker.timeout", "read"),
        ("spark.sql.ansi.enabled", "ignored"),
        ("spark.deploy.recoveryCompressionCodec", "not_honoured"),
        ("SPARK_LOG_DIR", "ignored"),
        ("SPARK_WORKER_CORES", "read"),
        (&format!("{path}/spark-env.sh"), "ignored"),
    ] {
        assert_eq!(outcome(&checked, name), expected, "{name}");
    }
    let worker = asked(&["check", "--for", "worker"], &variables, 0);
    assert_eq!(outcome(&worker, "spark.worker.timeout"), "ignored", "it is a Master's");
}

/// The finding about this setting.
fn finding(checked: &Value, name: &str) -> Value {
    let findings = checked["findings"].as_array().expect("there are findings");
    findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("{checked:#}")).clone()
}

#[test]
fn check_reads_what_spark_env_sets() {
    let directory = conf("");
    let script = directory.path().join("spark-env.sh");
    let write = |text: &str| std::fs::write(&script, text).expect("it can be written");
    let path = directory.path().to_str().expect("it is UTF-8");
    let variables = [("SPARK_CONF_DIR", path), ("SPARK_WORKER_CORES", "4")];
    write("# ours\nSPARK_WORKER_CORES=0\nexport SPARK_WORKER_MEMORY=$((2 * 4))g\n");
    let checked = asked(&["check"], &variables, 78);
    let from_script = json!({"kind": "script", "where": script});
    let cores = finding(&checked, "SPARK_WORKER_CORES");
    assert_eq!(
        (&cores["value"], &cores["effect"], &cores["origin"]),
        (&json!("0"), &json!("bad_value"), &from_script)
    );
    let memory = finding(&checked, "SPARK_WORKER_MEMORY");
    assert_eq!(
        (&memory["value"], &memory["effect"], &memory["origin"]),
        (&json!("8g"), &json!("read"), &from_script)
    );
    assert_eq!(finding(&checked, "SPARK_CONF_DIR")["origin"], Value::Null, "the script does not set it");

    write("SPARK_WORKER_HOST=rack_1-node\n");
    let host = finding(&asked(&["check"], &variables, 0), "SPARK_WORKER_HOST");
    assert!(host["reason"].as_str().expect("a sentence").contains("Java finds no host in it"), "{host}");

    let loaded = [&variables[..], &[("SPARK_ENV_LOADED", "1")]].concat();
    assert_eq!(
        finding(&asked(&["check"], &loaded, 0), "SPARK_WORKER_CORES")["value"],
        "4",
        "it was read before"
    );
    write("exit 1");
    let errors = asked(&["check"], &variables, 78)["errors"].clone();
    assert!(errors[0].as_str().expect("a sentence").contains("spark-env.sh ends the shell"), "{errors}");
}

#[test]
fn check_reads_a_properties_file_as_a_command_with_that_option_does() {
    let directory = conf("spark.cores.max lots\nspark.worker.timeout 60\n");
    let path = directory.path().to_str().expect("it is UTF-8");
    let file = directory.path().join("my.conf");
    std::fs::write(&file, "spark.cores.max 3\n").expect("it can be written");
    let variables = [("SPARK_CONF_DIR", path), ("SPARK_WORKER_CORES", "4")];
    let file = file.to_str().expect("it is UTF-8");
    let only = asked(&["check", "--properties-file", file], &variables, 0);
    assert_eq!(outcome(&only, "spark.cores.max"), "read");
    assert_eq!(outcome(&only, "SPARK_WORKER_CORES"), "read", "variables are read, too");
    assert!(!only.to_string().contains("spark.worker.timeout"), "{only:#}");
    let both = asked(&["check", "--properties-file", file, "--load-spark-defaults"], &variables, 0);
    assert_eq!(outcome(&both, "spark.worker.timeout"), "read");
    let none = asked(&["check", "--properties-file", "/nowhere"], &variables, 78);
    assert!(none["errors"][0].as_str().expect("a sentence").contains("/nowhere"), "{none:#}");
}

#[test]
fn check_ends_with_78_where_something_would_not_start() {
    for (text, variables) in [
        ("spark.task.cpus lots\n", &[][..]),
        ("spark.authenticate true\n", &[]),
        ("spark.modify.acls ann\n", &[]),
        ("spark.cores.max 1\nspark.executor.cores 2\n", &[]),
        ("spark.a \\u12\n", &[]),
        ("", &[("SPARK_WORKER_CORES", "0")][..]),
        ("", &[("SPARK_WORKER_MEMORY", "10000")]),
        ("", &[("SPARK_MASTER_PORT", "x")]),
        ("", &[("SPARK_WORKER_HOST", "a b")]),
        ("", &[("SPARK_MASTER_OPTS", "'")]),
    ] {
        let directory = conf(text);
        let path = directory.path().to_str().expect("it is UTF-8");
        let mut all = vec![("SPARK_CONF_DIR", path)];
        all.extend(variables);
        assert_eq!(asked(&["check"], &all, 78)["ok"], json!(false), "{text} {variables:?}");
    }
}

#[test]
fn show_has_every_origin_and_what_it_overrides() {
    let directory = conf("spark.cores.max 8\n");
    let path = directory.path().to_str().expect("it is UTF-8");
    let arguments = ["show", "--for", "application", "--conf", "spark.cores.max=3"];
    let shown = asked(&arguments, &[("SPARK_CONF_DIR", path), ("MASTER", "spark://a:1")], 0);
    let application = &shown["readers"][0];
    assert_eq!((&shown["schema"], &application["for"]), (&json!(2), &json!("application")));
    let settings = application["settings"].as_array().expect("there are settings");
    let setting = |name: &str| {
        let found = settings.iter().find(|setting| setting["name"] == name);
        let mut found = found.unwrap_or_else(|| panic!("{name} is not shown")).clone();
        found.as_object_mut().expect("it is an object").remove("meaning");
        found
    };
    let file = json!({"kind": "file", "where": {"path": format!("{path}/spark-defaults.conf"), "line": 1}});
    assert_eq!(
        setting("spark.cores.max"),
        json!({
            "name": "spark.cores.max",
            "value": "3",
            "origin": {"kind": "conf"},
            "overridden": [{"value": "8", "origin": file}],
            "error": null,
        })
    );
    assert_eq!(setting("spark.master")["origin"], json!({"kind": "variable", "where": "MASTER"}));
    assert_eq!(setting("spark.task.cpus")["origin"], json!(null));
    let worker = asked(&["show", "--for", "worker"], &[("SPARK_WORKER_CORES", "4")], 0);
    let cores = &worker["readers"][0]["settings"][2];
    assert_eq!((&cores["name"], &cores["value"]), (&json!("--cores"), &json!("4")));
}

#[test]
fn show_marks_what_cannot_be_used_and_ends_with_78() {
    let memory =
        ["show", "--for", "application", "--conf", "spark.executor.memory=2x", "spark.executor.memory"];
    let shown = asked(&memory, &[], 78);
    let settings = &shown["readers"][0]["settings"];
    assert_eq!(settings.as_array().map(Vec::len), Some(1), "only what was asked for: {shown}");
    let error = settings[0]["error"].as_str().expect("it is wrong");
    assert!(error.starts_with("spark.executor.memory: write "), "{error}");

    let shown = asked(&["show", "--for", "worker", "memory"], &[("SPARK_WORKER_MEMORY", "2")], 78);
    let error = shown["readers"][0]["settings"][0]["error"].as_str().expect("it is wrong");
    assert!(error.starts_with("$SPARK_WORKER_MEMORY: "), "{error}");

    let least = ["show", "--conf", "spark.dynamicAllocation.minExecutors=3"];
    let both = [&least[..], &["--conf", "spark.dynamicAllocation.maxExecutors=2"]].concat();
    let both = [&both[..], &["--conf", "spark.dynamicAllocation.enabled=true"]].concat();
    let shown = asked(&both, &[], 78);
    let errors = shown["readers"].as_array().expect("a list").iter().filter_map(|it| it["error"].as_str());
    assert!(errors.count() > 0, "{shown}");
}
