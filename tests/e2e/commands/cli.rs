//! Invalid command lines: the message and the exit code.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use firesteel_testkit::{Daemon, Guarded, firesteel, processes, run, wait_for};
use nix::sys::signal::Signal;

/// Runs the command. Checks its exit code and its message on standard error, which is one line if it is ours. Standard
/// output must be empty.
fn check(arguments: &[&str], code: i32, words: &str) {
    let done = run(firesteel().args(arguments));
    assert_eq!(done.code(), code, "{arguments:?}: {done}");
    assert!(done.stderr.contains(words), "{arguments:?}: {done}");
    assert_eq!(done.stdout, "", "{arguments:?}");
    if let Some(line) = done.stderr.strip_prefix("firesteel: ") {
        assert_eq!(line.lines().count(), 1, "{arguments:?}: {done}");
    }
}

#[test]
fn what_follows_two_dashes_is_the_program_even_if_it_looks_like_an_option() {
    for (arguments, code) in [
        (&["map", "--master", "local-cluster[1,1,512]", "--", "--no-such-program", ":::", "a"][..], 1),
        (&["launch", "--master", "local-cluster[1,1,512]", "--", "--no-such-program"], 127),
        (&["submit", "--deploy-mode", "cluster", "--master", "spark://127.0.0.1:1", "--", "--odd"], 69),
    ] {
        let done = run(firesteel().args(arguments));
        assert!(!done.stderr.contains("unexpected argument"), "{done}");
        assert_eq!(done.code(), code, "{done}");
    }
}

#[test]
fn wrong_usage_is_told_with_exit_code_2() {
    for (arguments, words) in [
        (&[][..], "Usage: firesteel"),
        (&["conquer"], "unrecognized subcommand 'conquer'"),
        (&["master", "--speed", "9"], "unexpected argument '--speed'"),
        (&["master", "extra"], "unexpected argument 'extra'"),
        (&["master", "--port"], "a value is required for '--port <PORT>'"),
        (&["master", "--port", "70000"], "--port cannot be \"70000\""),
        (&["master", "--port", "x"], "--port cannot be \"x\""),
        (&["master", "--host", "a b"], "--host cannot be \"a b\""),
        (&["master", "--host", "a:7077"], "--host cannot be \"a:7077\""),
        (&["master", "--host", ""], "--host cannot be \"\""),
        (&["master", "--conf", "spark.worker.timeout"], "is not a property: write --conf KEY=VALUE"),
        (&["master", "--conf", "spark.worker.timeout=soon"], "spark.worker.timeout cannot be \"soon\""),
        (&["master", "--conf", "spark.deploy.workerSelectionPolicy=BEST"], "write CORES_FREE_DESC, "),
        (&["master", "--conf", "spark.deploy.defaultCores=0"], "spark.deploy.defaultCores cannot be \"0\""),
        (&["worker"], "no Master given: write firesteel worker spark://HOST:PORT"),
        (&["worker", "--master", "spark://a:1", "spark://b:2"], "cannot be used with"),
        (&["worker", "--resource", "gpu=0", "spark://a:1"], "write gpu=0, (with the comma)"),
        (&["worker", "spark://a:1", "spark://b:2"], "unexpected argument 'spark://b:2'"),
        (&["worker", "a:7077"], "\"a:7077\" does not begin with spark://"),
        (&["worker", "spark://a"], "\"a\" has no usable port"),
        (&["worker", "spark://a:7077,"], "\"\" has no usable port"),
        (&["worker", "-c", "0", "spark://a:1"], "--cores cannot be \"0\""),
        (&["worker", "-c", "two", "spark://a:1"], "--cores cannot be \"two\""),
        (&["worker", "-c", "65537", "spark://a:1"], "write a whole number from 1 to 65536"),
        (&["worker", "-m", "10000", "spark://a:1"], "--memory: \"10000\" is less than 1 MiB"),
        (&["worker", "-m", "1.5g", "spark://a:1"], "--memory: \"1.5g\" has a fraction"),
        (&["worker", "-m", "lots", "spark://a:1"], "--memory: \"lots\" is not a size"),
        (&["worker", "--resource", "gpu", "spark://a:1"], "--resource: \"gpu\" is not a resource"),
        (&["worker", "--resource", "gpu=0,0", "spark://a:1"], "has the address \"0\" twice"),
        (&["status", "--master", "http://a"], "--master: \"http://a\" does not begin with spark://"),
        (&["status", "--yaml"], "unexpected argument '--yaml'"),
        (&["map", "--total-cores", "8", "--", "true"], "a similar argument exists: '--total-executor-cores'"),
        (&["map", "--executor-core=1", "echo", ":::", "a"], "a similar argument exists: '--executor-cores'"),
        (&["launch", "--num-executers", "2", "true"], "a similar argument exists: '--num-executors'"),
        (&["submit", "--driver-memroy", "200m", "prog"], "a similar argument exists: '--driver-memory'"),
        (
            &["submit", "--supervise", "--driver-core=2", "prog"],
            "a similar argument exists: '--driver-cores'",
        ),
        (&["submit", "--frobnicate", "--", "prog"], "unexpected argument '--frobnicate' found"),
        (&["shell", "--executor-core", "2"], "'--executor-cores'"),
    ] {
        check(arguments, 2, words);
    }
}

#[test]
fn a_port_in_use_is_told_with_its_address_and_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = taken.local_addr().expect("it is bound");
    let port = address.port().to_string();
    let words =
        format!("cannot listen on {address}: the port is in use: end the program that has it, or choose");
    check(&["master", "--port", &port], 1, &words);
}

#[test]
fn an_address_that_is_not_this_machines_is_told() {
    check(&["master", "--host", "192.0.2.1", "--port", "0"], 1, "cannot listen on 192.0.2.1:0: ");
    check(&["master", "--host", "no-such-host.invalid", "--port", "0"], 1, "unknown host");
}

#[test]
fn a_work_directory_that_cannot_be_written_is_told() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let below = file.path().join("work").display().to_string();
    check(&["worker", "--work-dir", &below, "spark://127.0.0.1:1"], 1, &below);
    check(&["worker", "--work-dir", "/proc/firesteel", "spark://127.0.0.1:1"], 1, "/proc/firesteel");
}

#[test]
fn a_master_that_is_not_there_is_told_with_exit_code_69() {
    check(&["status", "--master", "spark://127.0.0.1:1"], 69, "cannot connect to 127.0.0.1:1");
}

#[test]
fn a_port_where_something_else_listens_is_not_a_master() {
    let other = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = other.local_addr().expect("it is bound");
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().expect("status connects");
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("it listens");
    });
    check(
        &["status", "--master", &format!("spark://{address}")],
        76,
        "the peer speaks HTTP, not Firesteel's protocol",
    );
    answering.join().expect("it does not panic");
}

#[test]
fn help_and_version_go_to_standard_output() {
    for (arguments, words) in [
        (&["--help"][..], "Exit codes: 0 done"),
        (&["help", "master"], "--port"),
        (&["master", "--help"], "[default: 127.0.0.1]"),
        (&["worker", "--help"], "--work-dir"),
        (&["--version"], "firesteel 0."),
    ] {
        let done = run(firesteel().args(arguments));
        assert_eq!((done.code(), done.stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(done.stdout.contains(words), "{arguments:?}: {done}");
    }
}

#[test]
fn with_json_an_error_is_json_on_standard_error() {
    for (arguments, code, words) in [
        (&["status", "--json", "--master", "spark://127.0.0.1:1"][..], 69, "no Master answered"),
        (&["status", "--json", "--yaml"], 2, "unexpected argument '--yaml' found"),
        (&["status", "--json", "--master", "http://a"], 2, "does not begin with spark://"),
        (&["config", "show", "--json", "--conf", "x"], 2, "is not a property"),
    ] {
        let done = run(firesteel().args(arguments));
        assert_eq!((done.code(), done.stdout.as_str()), (code, ""), "{done}");
        let error: serde_json::Value = serde_json::from_str(&done.stderr).expect("it is one JSON value");
        assert_eq!((&error["schema"], &error["error"]["code"]), (&1.into(), &code.into()), "{done}");
        assert!(error["error"]["message"].as_str().is_some_and(|said| said.contains(words)), "{done}");
    }
    let other = run(firesteel().args(["map", "--master", "spark://nowhere", "ls", "--json"]));
    assert!(other.stderr.starts_with("firesteel: "), "the words are another command's: {other}");
}

#[test]
fn colours_are_where_they_are_wanted() {
    let has_colours = |arguments: &[&str], variables: &[(&str, &str)]| {
        let done = run(firesteel().args(arguments).envs(variables.iter().copied()));
        done.stdout.contains('\u{1b}') || done.stderr.contains('\u{1b}')
    };
    assert!(!has_colours(&["--help"], &[]), "this is no terminal");
    assert!(has_colours(&["--help", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(has_colours(&["--help"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(&["--help", "--color=never"], &[("CLICOLOR_FORCE", "1")]));
    let log = ["map", "--master", "local-cluster[1,1,512]", "--conf", "spark.x=1", "--", "true", ":::", "a"];
    assert!(has_colours(&[&["--color", "always"], &log[..]].concat(), &[]));
    assert!(has_colours(&log, &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(&log, &[]));
}

/// `3372250` of `firesteel 0.1.0 (3372250, 2026-11-21, protocol 2)`, where this is a repository and not a tarball.
#[test]
fn the_version_has_the_commit_and_the_protocol() {
    let said = run(firesteel().arg("--version")).stdout;
    let begins = format!("firesteel {} (", env!("CARGO_PKG_VERSION"));
    let commit = said.strip_prefix(&begins).unwrap_or_else(|| panic!("{said}"));
    assert!(
        commit.ends_with(&format!(", protocol {})\n", firesteel_protocol::version::Version::CURRENT)),
        "{said}"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = std::process::Command::new("git").arg("-C").arg(&root).args(["rev-parse", "HEAD"]).output();
    match git {
        Ok(git) if git.status.success() && root.join(".git").exists() => {
            let head = String::from_utf8(git.stdout).expect("it is text");
            assert_eq!(commit.get(..7), head.get(..7), "{said}");
        }
        Ok(_) | Err(_) => assert!(commit.starts_with("unknown commit, "), "{said}"),
    }
}

#[test]
fn h_is_the_host_as_in_spark() {
    let master = Daemon::master(&["-h", "127.0.0.2"]);
    assert!(master.url().starts_with("spark://127.0.0.2:"), "{}", master.url());
    assert_eq!(master.terminate(), 0);
}

#[test]
fn unknown_properties_are_a_warning() {
    let master = Daemon::master(&["--conf", "spark.eventLog.enabled=true", "--conf", "spark.cores.max=4"]);
    let line = master.wait_for_line(&["spark.eventLog.enabled"]);
    assert!(line.contains("WARN") && line.contains("has no effect"), "{line}");
    assert!(!master.log().contains("spark.cores.max"));
}

#[test]
fn the_environment_says_what_flags_do_not() {
    let master = Daemon::start(firesteel().arg("master").env("SPARK_MASTER_PORT", "0"));
    assert!(!master.url().ends_with(":0"));
    // Kubernetes sets such a value for a service called spark-master. The default port may be in use on this machine,
    // so only the warning is checked.
    let mut command = firesteel();
    command
        .args(["master", "-h", "127.0.0.77", "--conf", "spark.deploy.recoveryMode=NONE"])
        .env("SPARK_MASTER_PORT", "tcp://10.0.0.1:7077");
    let confused = Daemon::spawn(&mut command);
    confused.wait_for_line(&["WARN", "ignoring", "tcp://10.0.0.1:7077"]);
}

#[test]
fn a_broken_pipe_on_standard_output_is_quiet() {
    let master = Daemon::master(&[]);
    let mut status = Guarded::spawn(
        firesteel()
            .args(["status", "--json", "--master", master.url()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    drop(status.stdout.take());
    let mut stderr = String::new();
    status.stderr.take().expect("it is piped").read_to_string(&mut stderr).expect("it is text");
    assert_eq!(stderr, "");
    assert_eq!(status.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_master_ends_in_order_however_it_is_asked() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut master = Daemon::master(&[]);
        master.signal(signal);
        assert_eq!(master.wait(), 0);
        assert!(master.log().contains(&format!("ended: {signal}")), "{}", master.log());
    }
}

#[test]
fn a_daemon_that_lives_by_its_standard_input_ends_with_it() {
    let mut command = firesteel();
    command.args(["master", "--port", "0", "--until-stdin-closes"]).stdin(Stdio::piped());
    let mut child = Guarded::spawn(command.stderr(Stdio::null()));
    let pid = child.id();
    assert!(processes::is_alive(pid));
    drop(child.stdin.take());
    let status = wait_for("the Master to end", || child.try_wait().expect("it is our child"));
    assert_eq!(status.code(), Some(0));
}

/// Tests the harness itself: a test that fails while it waits still ends its daemons.
#[test]
fn a_line_that_never_comes_fails_its_test_and_ends_its_daemons() {
    let master = Daemon::master(&[]);
    let other = Daemon::master(&[]);
    let pids = [master.pid(), other.pid()];
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _dropped_with_the_panic = &other;
        master.signal(Signal::SIGTERM);
        master.wait_for_line(&["words that no Master says"]);
    }));
    let said = failed.expect_err("the line never comes");
    assert!(said.downcast_ref::<String>().expect("a panic with words").starts_with("no line of the log has"));
    assert!(pids.iter().all(|&pid| !processes::is_alive(pid)));
}
