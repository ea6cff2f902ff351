//! Commands whose caller closed a standard stream (`>&-`).

use std::fs::OpenOptions;
use std::process::Command;

use firesteel_testkit::{Daemon, Finished, clean, firesteel, run};

/// Runs a command line of the program in a shell that redirects its streams.
fn redirected(arguments: &[&str], redirections: &str) -> Finished {
    let program = firesteel().get_program().to_owned();
    let mut shell = clean("sh");
    shell.arg("-c").arg(format!("exec \"$0\" \"$@\" {redirections}")).arg(program).args(arguments);
    run(&mut shell)
}

const LOCAL: &str = "local-cluster[1,1,1024]";

#[test]
fn output_to_a_closed_stream_is_an_error_in_every_command() {
    let master = Daemon::master(&[]);
    let map = ["-q", "map", "--master", LOCAL, "--", "echo", ":::", "lost"];
    for arguments in [
        &map[..],
        &["launch", "--master", LOCAL, "--total-executor-cores", "1", "--", "true"],
        &["-q", "shell", "--master", LOCAL, "--command", "run echo lost"],
        &["status", "--master", master.url()],
        &["status", "--json", "--master", master.url()],
        &["completions", "bash"],
        &["--version"],
        &["map", "--help"],
    ] {
        let done = redirected(arguments, ">&-");
        assert_eq!(done.code(), 1, "{arguments:?}: {done}");
        let words = "cannot write to standard output: Bad file descriptor";
        assert!(done.stderr.contains(words), "{arguments:?}: {done}");
    }
    // Items' output on standard error is also output. There is no place for the error message.
    let silent = ["-q", "map", "--master", LOCAL, "--", "sh", "-c", "echo lost >&2", ":::", "1"];
    assert_eq!(redirected(&silent, "2>&-").code(), 1);
}

#[test]
fn a_closed_standard_input_is_an_error_for_a_command_that_reads_it() {
    for (arguments, words) in [
        (&["map", "--master", LOCAL, "--", "echo"][..], "cannot open standard input: Bad file descriptor"),
        (&["plan", "-"], "cannot read standard input: Bad file descriptor"),
        (&["shell", "--master", LOCAL], "Bad file descriptor"),
    ] {
        let done = redirected(arguments, "<&-");
        assert_ne!(done.code(), 0, "{arguments:?}: {done}");
        assert!(done.stderr.contains(words), "{arguments:?}: {done}");
    }
}

#[test]
fn a_closed_stream_that_is_not_used_does_not_matter() {
    let map = ["-q", "map", "--master", LOCAL, "--", "true", ":::", "1"];
    for redirections in ["<&- >&- 2>&-", ">/dev/null 2>/dev/null </dev/null"] {
        let done = redirected(&map, redirections);
        assert_eq!(done.code(), 0, "{redirections}: {done}");
    }
}

/// Python and Node.js open `/dev/null` in this way for their children.
#[test]
fn a_dev_null_for_reading_and_writing_is_not_a_closed_stream() {
    let null = || OpenOptions::new().read(true).write(true).open("/dev/null").expect("Linux has it");
    let mut map: Command = firesteel();
    map.args(["-q", "map", "--master", LOCAL, "--", "echo", ":::", "1"]);
    let ended = map.stdin(null()).stdout(null()).stderr(null()).status().expect("it can be started");
    assert_eq!(ended.code(), Some(0));
}
