//! Advice on words that look like options in the wrong place: misspelt options, options of other programs, and options
//! that come too late.

use std::ffi::OsString;

use clap::{Args, Command, CommandFactory as _};
use firesteel_settings::near::near_within;

use crate::cli::exit::{Exit, Failure};

/// Options of similar programs, and the equivalent options of Firesteel.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["-j", "--jobs", "-P", "--max-procs"], "to run N at once write --total-executor-cores N"),
    (&["--retries"], "for N attempts in all write --conf spark.task.maxFailures=N"),
    (&["--timeout"], "to limit each item write -- timeout SECONDS COMMAND"),
    (
        &["--joblog", "--results"],
        "no file lists the items that succeeded; --summary-file FILE has the counts and some of the failures, --failed \
         FILE every item that did not succeed",
    ),
    (&["--resume", "--resume-failed"], "run once with --failed FILE, and again with --input FILE"),
    (&["--dry-run"], "write echo before the command; firesteel plan shows where executors would be placed"),
    (&["--gpus", "--num-gpus", "--gres"], "write --executor-resource gpu=N"),
    (&["-a", "--arg-file"], "write --input FILE"),
    (&["-k", "--keep-order"], "outputs are in input order unless --unordered is given"),
    (
        &["-n", "-N", "-L", "--max-args", "-X", "-m"],
        "each item is one argument; --pipe passes blocks of lines",
    ),
    (&["-I", "-i"], "{} is replaced by the item"),
    (&["-d"], "items are lines; with --null they end with NUL bytes"),
    (&["--np", "--instances", "--replicas"], "write --num-executors N"),
    (&["--memory", "--mem"], "write --executor-memory SIZE"),
    (&["--cores", "--cpus"], "write --executor-cores N, or --total-executor-cores N for all together"),
];

/// Subcommands of similar programs, and what to do instead.
const SUBCOMMANDS: &[(&[&str], &str)] = &[
    (
        &["spark-submit", "spark-shell", "pyspark", "spark-sql"],
        "Spark's own spark-submit, spark-shell and pyspark take a Firesteel Master's URL (--master spark://HOST:PORT); \
         firesteel map runs a command for each item, launch one on every executor, and shell the commands that you type",
    ),
    (&["start-master", "start-master.sh"], "write firesteel master"),
    (
        &["start-worker", "start-worker.sh", "start-slave", "start-slave.sh"],
        "write firesteel worker spark://HOST:PORT",
    ),
    (
        &["start-all", "start-all.sh", "start-workers", "start-workers.sh"],
        "firesteel cluster start starts a Master here and a Worker on each host of conf/workers, by ssh",
    ),
    (
        &["stop-master", "stop-master.sh", "stop-worker", "stop-worker.sh"],
        "daemons run in the foreground: end them with ctrl-c, SIGTERM or a service manager",
    ),
    (
        &["stop-all", "stop-all.sh", "stop-workers", "stop-workers.sh"],
        "firesteel cluster stop ends the daemons that firesteel cluster start has started",
    ),
    (&["stop", "cancel", "terminate"], "firesteel kill ends applications; daemons end by ctrl-c or SIGTERM"),
    (&["ps", "ls", "list", "jobs"], "firesteel status prints a snapshot; top keeps it up to date"),
    (
        &["run", "exec", "start"],
        "firesteel map, launch and shell run commands; master and worker start a cluster",
    ),
    (&["sim"], "write firesteel simulate"),
];

/// The shells whose command lines are checked.
pub(super) const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh", "ash"];

/// Advice about an unknown subcommand of Firesteel, or of its command `parent`. `None` if there is no advice.
pub(in crate::cli) fn subcommand(parent: Option<&str>, word: &str) -> Option<String> {
    let elsewhere = SUBCOMMANDS.iter().filter(|_| parent.is_none()).find(|(words, _)| words.contains(&word));
    let firesteel = crate::cli::Cli::command();
    let command = parent.map_or(Some(&firesteel), |parent| firesteel.find_subcommand(parent))?;
    let known = command.get_subcommands().filter(|command| !command.is_hide_set());
    let meant =
        || near_within(1, word, known.map(Command::get_name)).map(|meant| format!("did you mean {meant}?"));
    elsewhere.map(|(_, advice)| (*advice).to_owned()).or_else(meant)
}

/// Advice about an option that this command does not have. `None` if there is no advice.
pub(in crate::cli) fn argument(command: Option<&str>, option: &str) -> Option<String> {
    if option == "--wait" {
        return Some("firesteel submit --status DRIVER --wait waits for a cluster driver, and firesteel attach APP for a detached application".to_owned());
    }
    // What other programs can do is advice for those that run an application.
    let firesteel = crate::cli::Cli::command();
    let mut known = firesteel.find_subcommand(command?)?.get_arguments();
    known.any(|argument| argument.get_long() == Some("executor-cores")).then_some(())?;
    let (_, advice) = ELSEWHERE.iter().find(|(words, _)| words.contains(&option))?;
    Some((*advice).to_owned())
}

/// Returns an error if the first word of a command is empty.
pub(super) fn first_word(name: &str, word: &str) -> Result<(), Failure> {
    match word.is_empty() {
        true => {
            let words = format!("the name of the command is empty: write firesteel {name} -- COMMAND");
            Err(Failure::of(Exit::Usage, words))
        }
        false => Ok(()),
    }
}

/// Whether `--` precedes this word on a command line.
fn is_separated(line: impl IntoIterator<Item = OsString>, word: &str) -> bool {
    line.into_iter().take_while(|other| other != word).any(|other| other == "--")
}

/// A warning about an argument of a command that looks like an option of Firesteel and comes too late. `None`: there is
/// no such argument, or `--` separates the command, so that all arguments belong to it.
pub(super) fn late<A: Args>(name: &str, command: &[String]) -> Option<String> {
    if is_separated(std::env::args_os(), command.first()?) {
        return None;
    }
    let known = options::<A>(name);
    // Many programs have one-word options with these names.
    let ours = |word: &&String| {
        let bare = word.split_once('=').map_or(word.as_str(), |(bare, _)| bare);
        bare.matches('-').count() > 2 && known.iter().any(|option| option == bare)
    };
    let late = command.iter().skip(1).find(ours)?;
    Some(format!(
        "{late} comes after the command, so the command gets it: write options of firesteel {name} before the command; if \
         the command needs it, write -- before the command"
    ))
}

/// Advice about a command that looks like a line for a shell. `None` if it does not look like one, or if a program of
/// this name exists.
pub(super) fn shell_line(command: &[String], arguments: &str) -> Option<String> {
    let [line] = command else { return None };
    let is_line = line.contains(char::is_whitespace) && !std::path::Path::new(line).exists();
    is_line.then(|| {
        format!("{line:?} is used as the name of a program: for a shell line write -- sh -c {arguments}")
    })
}

/// A warning about `{}` in a line for a shell, because the shell would run the item's text as code.
pub(super) fn item_in_line(command: &[String]) -> Option<String> {
    let ShellLine { shell, line, .. } = ShellLine::of(command)?;
    line.contains("{}").then(|| {
        format!("{{}} in the line lets {shell} run the text of the item as commands: write -- {shell} -c '... \"$1\"' {shell}")
    })
}

/// A warning about a line for a shell that uses arguments which are missing. `None` if the line uses no arguments, or
/// if this is uncertain.
pub(super) fn empty_argument(command: &[String]) -> Option<String> {
    let ShellLine { shell, line, after } = ShellLine::of(command)?;
    // Functions and `set` define arguments of their own.
    let is_sure = !line.contains("()") && !line.contains("set ") && !line.contains("{}");
    let argument = first_argument(line).filter(|_| is_sure && after.is_empty())?;
    Some(format!(
        "{argument} is empty, because {shell} takes the first word after the line as $0: write {shell} -c '...' {shell}"
    ))
}

/// A command of the form `sh -c LINE ..`.
struct ShellLine<'a> {
    shell: &'a str,
    line: &'a str,
    after: &'a [String],
}

impl<'a> ShellLine<'a> {
    fn of(command: &'a [String]) -> Option<Self> {
        let (program, arguments) = command.split_first()?;
        let shell = program.rsplit('/').next().filter(|name| SHELLS.contains(name))?;
        let is_c = |word: &String| {
            let letters = word.strip_prefix('-').unwrap_or_default();
            letters.contains('c') && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
        };
        let at = arguments.iter().position(is_c)?;
        // A word that is not an option is a script, unless it is the value of -o.
        let is_option = |at: usize| {
            let is_dashed = |word: &str| word.starts_with('-') || word.starts_with('+');
            is_dashed(&arguments[at]) || (at > 0 && matches!(arguments[at - 1].as_str(), "-o" | "+o" | "-O"))
        };
        let line = arguments.get(at + 1).filter(|_| (0..at).all(is_option))?;
        Some(Self { shell, line, after: &arguments[at + 2..] })
    }
}

/// The first argument that a line for a shell uses, as it is written in the line: `$1`, `$@` or `$*`.
fn first_argument(line: &str) -> Option<String> {
    let (mut letters, mut is_quoted) = (line.chars().peekable(), false);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => is_quoted = !is_quoted,
            '\'' if !is_quoted => drop(letters.by_ref().find(|letter| *letter == '\'')),
            '$' => {
                letters.next_if_eq(&'{');
                if let Some(name @ ('1' | '@' | '*')) = letters.peek() {
                    return Some(format!("${name}"));
                }
            }
            _ => {}
        }
    }
    None
}

/// All long options, with their dashes.
fn options<A: Args>(name: &str) -> Vec<String> {
    let command = A::augment_args(Command::new(name.to_owned()));
    let own = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let own = own.filter_map(|argument| argument.get_long().map(|long| format!("--{long}")));
    own.chain(["--quiet", "--verbose", "--color", "--help"].map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_another_program_is_known_where_applications_run() {
        let jobs = "to run N at once write --total-executor-cores N";
        for (command, option, advice) in [
            ("map", "--jobs", Some(jobs)),
            ("launch", "-j", Some(jobs)),
            ("map", "--colour-me", None),
            ("submit", "--jobs", None),
        ] {
            assert_eq!(argument(Some(command), option).as_deref(), advice, "{command} {option}");
        }
        assert!(argument(None, "--wait").is_some_and(|advice| advice.contains("firesteel attach")));
    }

    #[test]
    fn what_stands_after_two_dashes_is_the_program_whatever_its_name_is() {
        let line = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (words, first, expected) in [
            ("firesteel map -- --odd a", "--odd", true),
            ("firesteel map --name=x -- -j4", "-j4", true),
            ("firesteel map --odd -- a", "--odd", false),
            ("firesteel map --odd a -- --odd", "--odd", false),
            ("firesteel map --odd a", "--odd", false),
        ] {
            assert_eq!(is_separated(line(words), first), expected, "{words}");
        }
    }

    #[test]
    fn one_word_with_blanks_is_a_shell_line() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(shell_line(&words(&["wc -l {} | cut -f1"]), "'...'").is_some());
        assert_eq!(shell_line(&words(&["sh", "-c", "wc -l"]), "'...'"), None);
        assert_eq!(shell_line(&words(&["wc"]), "'...'"), None);
    }

    #[test]
    fn a_line_without_its_arguments_and_one_that_would_run_its_item_are_remarked_when_that_is_sure() {
        let empty = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            empty_argument(&words).and_then(|words| words.split_once(' ').map(|(first, _)| first.to_owned()))
        };
        for line in ["wc -l $1", "wc -l \"$1\"", "wc ${1%.gz}", "echo 'a' $1"] {
            assert_eq!(empty(&["sh", "-c", line]).as_deref(), Some("$1"), "{line}");
        }
        assert_eq!(empty(&["/bin/bash", "-o", "pipefail", "-ec", "wc \"$@\""]).as_deref(), Some("$@"));
        assert_eq!(empty(&["sh", "-c", "wc \"$@\" it's"]).as_deref(), Some("$@"));
        for line in [
            "awk '{ print $1 }' \"$0\"",
            "echo \\$1",
            "f() { echo $1; }; f a",
            "set -- a; echo $1",
            "$HOME/x",
        ] {
            assert_eq!(empty(&["sh", "-c", line]), None, "{line}");
        }
        assert_eq!(empty(&["sh", "-c", "wc $1", "sh"]), None);
        assert_eq!(empty(&["sh", "script", "-c", "wc $1"]), None);
        assert_eq!(empty(&["awk", "-c", "$1"]), None);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(item_in_line(&words(&["sh", "-c", "wc {} | sort", "sh"])).is_some());
        assert_eq!(item_in_line(&words(&["sh", "-c", "wc \"$1\"", "sh", "{}"])), None);
    }

    #[test]
    fn a_misspelt_subcommand_and_one_of_another_program_are_told_apart() {
        let meant = |word: &str| subcommand(None, word);
        assert_eq!(meant("mpa").as_deref(), Some("did you mean map?"));
        assert!(meant("stop").is_some_and(|advice| advice.contains("firesteel kill ends applications")));
        assert!(meant("spark-submit").is_some_and(|advice| advice.contains("take a Firesteel Master's URL")));
        assert_eq!(subcommand(Some("config"), "shwo").as_deref(), Some("did you mean show?"));
        for word in ["frobnicate", "metrics", "history-server"] {
            assert_eq!(meant(word), None, "{word}");
        }
    }

    #[test]
    fn the_scripts_of_spark_are_known() {
        for (word, advice) in [
            ("start-master", "firesteel master"),
            ("start-worker.sh", "firesteel worker"),
            ("stop-master.sh", "ctrl-c"),
            ("start-all.sh", "firesteel cluster start"),
            ("stop-all.sh", "firesteel cluster stop"),
            ("spark-submit", "firesteel map"),
        ] {
            let found = subcommand(None, word).unwrap_or_default();
            assert!(found.contains(advice), "{word}: {found}");
        }
    }
}
