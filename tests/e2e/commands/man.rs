//! Manual pages, and completion in a shell.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use firesteel_testkit::{Daemon, Finished, firesteel, run, wait_for};

/// The commands that a help text lists.
fn commands(arguments: &[&str]) -> Vec<String> {
    let help = run(firesteel().args(arguments).arg("--help")).stdout;
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let list = list.split("\n\n").next().unwrap_or_default();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split("  ").next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// The text below a heading of a page.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let headings = [format!(".SH {heading}\n"), format!(".SH \"{heading}\"\n")];
    let found = headings.iter().find_map(|heading| page.split_once(heading.as_str()));
    found.map_or("", |(_, rest)| rest.split(".SH ").next().unwrap_or_default())
}

#[test]
fn every_command_has_a_manual_page_with_all_sections() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let done = run(firesteel().args(["man", "--out"]).arg(directory.path()));
    assert_eq!((done.code(), done.stdout.as_str()), (0, ""), "{done}");
    let mut names = vec!["firesteel".to_owned()];
    for command in commands(&[]) {
        names.push(format!("firesteel-{command}"));
        names.extend(commands(&[&command]).iter().map(|below| format!("firesteel-{command}-{below}")));
    }
    assert!(names.iter().any(|name| name == "firesteel-config-show"), "{names:?}");
    for name in names {
        let path = directory.path().join(format!("{name}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
            assert!(!section(&page, heading).is_empty(), "{name} has no {heading}");
        }
        let help = "the help of the command has no paragraph of that kind";
        assert!(section(&page, "EXIT STATUS").contains(".TP"), "{name} has no exit codes: {help}");
        assert!(section(&page, "EXAMPLES").contains("firesteel"), "{name} has no examples: {help}");
    }
}

#[test]
fn a_synopsis_has_what_stands_for_the_values() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    run(firesteel().args(["man", "--out"]).arg(directory.path()));
    for (name, parts) in [
        (
            "map",
            &[
                "[\\fB\\-\\-master\\fR \\fIURL\\fR]",
                "[\\fB\\-i|\\-\\-input\\fR \\fIFILE\\fR]",
                "\\fICOMMAND\\fR...",
            ][..],
        ),
        ("logs", &["\\fIAPP\\fR", "[\\fIEXECUTOR\\fR]", "[\\fB\\-f|\\-\\-follow\\fR]"]),
        ("man", &["\\fB\\-\\-out\\fR \\fIDIR\\fR"]),
        ("worker", &["[\\fB\\-\\-resource\\fR \\fINAME=..\\fR]..."]),
    ] {
        let page = std::fs::read_to_string(directory.path().join(format!("firesteel-{name}.1")))
            .expect("it is there");
        let synopsis = section(&page, "SYNOPSIS");
        for part in parts {
            assert!(synopsis.contains(part), "{part} is not in {synopsis}");
        }
    }
}

/// The completions of the last word, as the scripts ask for them.
fn offered(shell: &str, words: &[&str]) -> Vec<String> {
    let done = run(firesteel()
        .env("FIRESTEEL_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_IFS", "\n")
        .arg("--")
        .args(words));
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""), "{done}");
    done.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn commands_options_and_properties_are_completed() {
    assert_eq!(offered("bash", &["firesteel", "stat"]), ["status"]);
    assert_eq!(offered("bash", &["firesteel", "worker", "--work"]), ["--work-dir"]);
    assert_eq!(offered("bash", &["firesteel", "config", "show", "--for", "w"]), ["worker"]);
    let keys = offered("bash", &["firesteel", "map", "--conf", "spark.cores"]);
    assert_eq!(keys, ["spark.cores.max="]);
    let all = offered("bash", &["firesteel", ""]);
    assert!(all.contains(&"map".to_owned()) && !all.contains(&"executor".to_owned()), "{all:?}");
}

fn script(shell: &str) -> Finished {
    run(firesteel().args(["completions", shell]))
}

#[test]
fn there_is_a_script_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let done = script(shell);
        assert_eq!((done.code(), done.stderr.as_str()), (0, ""), "{done}");
        assert!(done.stdout.contains("FIRESTEEL_COMPLETE"), "{done}");
    }
}

/// The completions of bash itself for the last word, with the script.
fn offered_in_bash(words: &[&str], variables: &[(&str, &str)]) -> String {
    let (last, all) = (words.last().expect("there is a word"), words.join(" "));
    let ask = format!(
        "COMP_WORDS=({all}); COMP_CWORD={}; COMP_LINE=\"{all}\"; COMP_POINT=${{#COMP_LINE}}; \
         _clap_complete_firesteel firesteel '{last}' '{}'; echo \"${{COMPREPLY[@]}}\"",
        words.len() - 1,
        words[words.len() - 2]
    );
    // The script names the command, which PATH need not contain here.
    let directory = Path::new(env!("CARGO_BIN_EXE_firesteel")).parent().expect("it is in a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{}\n{ask}", script("bash").stdout)]).env_remove("MASTER");
    command.env("PATH", format!("{}:{path}", directory.display())).envs(variables.iter().copied());
    let done = run(&mut command);
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""), "{done}");
    done.stdout.trim().to_owned()
}

#[test]
fn bash_completes_with_the_script() {
    assert_eq!(offered_in_bash(&["firesteel", "wor"], &[]), "worker");
}

/// Completion offers the running applications and executors.
#[test]
fn ids_are_completed_from_the_master() {
    let master = Daemon::master(&[]);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let _worker = Daemon::worker(&master, directory.path(), &["--cores", "1", "--memory", "1g"]);
    let mut map = firesteel();
    map.args(["map", "--master", master.url(), "--name", "long", "--", "sleep", ":::", "600"]);
    let _map = Daemon::spawn(&mut map);
    let id = wait_for("the application", || {
        let status = master.status();
        Some(status["applications"].get(0)?["id"].as_str()?.to_owned())
    });
    let url = format!("--master={}", master.url());
    let named = offered("bash", &["firesteel", "kill", &url, "app-"]);
    assert_eq!(named, [id.as_str()]);
    assert_eq!(offered("fish", &["firesteel", "status", &url, "app-"]), [format!("{id}\tlong")]);
    let done = run(firesteel()
        .env("FIRESTEEL_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("MASTER", master.url())
        .args(["--", "firesteel", "explain", "app-"]));
    assert_eq!(done.stdout, id, "without --master, it is the Master that the command would ask");
    assert!(offered("bash", &["firesteel", "kill", &url, "nothing"]).is_empty());

    let asks = [("MASTER", master.url())];
    assert_eq!(offered_in_bash(&["firesteel", "kill", "app-"], &asks), id);
    wait_for("the executor to be known", || {
        // Options are offered after them.
        let offered = offered_in_bash(&["firesteel", "logs", &id, "''"], &asks);
        offered.starts_with("0 --stderr ").then_some(())
    });
}

#[test]
fn nobody_waits_long_for_a_master_that_does_not_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let url = format!("--master=spark://{}", silent.local_addr().expect("it is bound"));
    let begun = Instant::now();
    assert!(offered("bash", &["firesteel", "kill", &url, "app-"]).is_empty());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(offered("bash", &["firesteel", "kill", "--master=spark://127.0.0.1:1", "app-"]).is_empty());
}
