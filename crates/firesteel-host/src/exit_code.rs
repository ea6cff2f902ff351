//! The exit codes of all commands, in one table. Help, man pages and docs/EXIT-CODES.md are generated from this table.

use std::fmt::Write as _;

use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::master_search::connect_error::Evidence;

pub const DONE: u8 = 0;
pub const FAILURE: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// No Master, or no ResourceManager, could be reached.
pub const UNREACHABLE: u8 = 69;
/// The machine has too little memory, or too few processes or open files, to start.
pub const SHORTAGE: u8 = 71;
/// A Master did not answer in time, or the answer broke off.
pub const NO_ANSWER: u8 = 75;
/// The program that listens at a Master's address is not a Master of this version.
pub const NO_MASTER: u8 = 76;
/// The program that reads standard output closed the pipe.
pub const READER_GONE: u8 = 141;
/// A settings file or an environment variable is wrong.
pub const CONFIGURATION: u8 = 78;

/// All exit codes, each with its meaning.
pub const TABLE: &[(u8, &str)] = &[
    (DONE, "Done. A daemon ended because it was asked to."),
    (
        FAILURE,
        "Failed: an item, a command, or something that Firesteel needs. A line on standard error says what.",
    ),
    (USAGE, "Wrong usage, or an input that cannot be used. Nothing was done."),
    (
        UNREACHABLE,
        "No Master could be reached; on YARN, no ResourceManager, of which 75 and 76 are meant, too.",
    ),
    (
        SHORTAGE,
        "The machine has too few processes, open files or too little memory to start; see `ulimit -u` and `ulimit -n`. Of an \
         executor: its Worker takes no others until it can start them.",
    ),
    (
        NO_ANSWER,
        "A connection was accepted, but no Master answered in time, or the answer broke off. Nothing was printed as an \
         answer. The Master may be overloaded or stopped: trying again may help.",
    ),
    (
        NO_MASTER,
        "What listens at the address of the Master is something else, or speaks another version of the protocol.",
    ),
    (
        CONFIGURATION,
        "A file or a variable with settings is wrong, or asks for protection that Firesteel does not have. Nothing was \
         done; starting again does not help (systemd: RestartPreventExitStatus=78).",
    ),
    (127, "A command of launch, or a task of shell, could not be started."),
    (129, "Ended by SIGHUP (commands that are not daemons)."),
    (130, "Ended by ctrl-c, or SIGINT (commands that are not daemons)."),
    (
        READER_GONE,
        "The reader of the output of map or shell, or of the events of launch, has closed it. Unfinished work was ended. \
         Commands that only show something exit with 0 then.",
    ),
    (
        143,
        "Ended by SIGTERM (commands that are not daemons), or its application was ended by firesteel kill.",
    ),
];

#[must_use]
pub fn unanswered(evidence: Evidence) -> u8 {
    match evidence {
        Evidence::Unreachable => UNREACHABLE,
        Evidence::NoAnswer => NO_ANSWER,
        Evidence::Stranger => NO_MASTER,
    }
}

/// The meaning of an exit code. `None` if no command ends with this code by itself.
#[must_use]
pub fn meaning(code: u8) -> Option<&'static str> {
    TABLE.iter().find(|(other, _)| *other == code).map(|(_, meaning)| *meaning)
}

/// The text of docs/EXIT-CODES.md.
#[must_use]
pub fn markdown() -> String {
    let mut text = "\
# Exit codes

Each code means the same for every command. The `--help` of a command lists the codes that it uses. This page is generated
from the table in `crates/firesteel-host/src/exit_code.rs`.

With `--json`, an error is one line of JSON on standard error, `{\"schema\":1,\"error\":{\"code\":69,\"message\":\"..\"}}`. Standard
output then has data or nothing. [JSON](JSON.md) says what the values mean.

`firesteel launch` ends with the exit code of its command, and `firesteel submit --wait` with that of the driver; if signal N
ended it, with 128 + N.

| code | meaning |
|---|---|
"
    .to_owned();
    for (code, meaning) in TABLE {
        let _ = writeln!(text, "| {code} | {meaning} |");
    }
    text.push_str(
        "
## Executors

An executor of `firesteel map` or `shell` that ends before its driver accepts it tells its Worker why by its exit code. The
Master puts it into words wherever it shows how the executor ended.

| code | meaning |
|---|---|
",
    );
    for trouble in ExecutorTrouble::ALL {
        let _ = writeln!(text, "| {} | {} |", trouble.exit_code(), trouble.meaning());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_have_one_meaning() {
        assert!(TABLE.is_sorted_by(|(one, _), (other, _)| one < other));
        assert!(meaning(CONFIGURATION).is_some_and(|words| words.contains("settings")));
        assert_eq!(meaning(3), None);
    }
}
