//! Words that stand where options end and look like options: misspelt ones, those of other programs, and those that
//! come too late.

use clap::{Args, Command};
use firesteel_settings::near::{near, near_within};

use super::exit::{Exit, Failure};

/// Options of programs like these, and what is written here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["-j", "--jobs", "-P", "--max-procs"], "write --total-executor-cores N for N at once"),
    (&["--retries"], "write --conf spark.task.maxFailures=N for N attempts in all"),
    (&["--timeout"], "give the command one: -- timeout SECONDS COMMAND"),
    (&["--joblog", "--results"], "--summary-file FILE has what came of the items"),
    (&["--resume", "--resume-failed"], "--failed FILE has the items for another run with --input FILE"),
    (&["--dry-run"], "put echo before the command; firesteel plan says where executors would go"),
    (&["--gpus", "--num-gpus", "--gres"], "write --executor-resource gpu=N"),
    (&["-a", "--arg-file"], "write --input FILE"),
    (&["-k", "--keep-order"], "outputs have the order of the input unless --unordered is given"),
    (&["-n", "-N", "-L", "--max-args", "-X", "-m"], "an item is one argument; --pipe gives blocks of lines"),
    (&["-I", "-i{}"], "{} stands for the item"),
    (&["-d", "-0d"], "items are lines; --null for NUL bytes"),
    (&["-np", "--np", "--instances", "--replicas"], "write --num-executors N"),
    (&["--memory", "--mem"], "write --executor-memory SIZE"),
    (&["--cores", "--cpus"], "write --executor-cores N, or --total-executor-cores N for all together"),
];

/// Subcommands of programs like these, and what is written here.
const SUBCOMMANDS: &[(&[&str], &str)] = &[
    (
        &["submit", "spark-submit"],
        "drivers of Spark's do not run here; map runs a command for each item, launch one on every executor, and shell \
         what is typed",
    ),
    (&["stop", "cancel", "terminate"], "kill ends applications"),
    (&["ps", "ls", "list", "jobs"], "status shows what runs once, and top again and again"),
    (&["run", "exec", "start"], "map, launch and shell run commands; master and worker start a cluster"),
    (&["sim"], "simulate replays a trace"),
];

/// The shells whose lines are looked at.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh", "ash"];

/// What to say of a subcommand that there is not; `None` if nothing is known of it.
pub(super) fn subcommand(word: &str) -> Option<String> {
    let elsewhere = SUBCOMMANDS.iter().find(|(words, _)| words.contains(&word));
    let commands = <super::Cli as clap::CommandFactory>::command();
    let known = commands.get_subcommands().filter(|command| !command.is_hide_set());
    let meant =
        || near_within(1, word, known.map(Command::get_name)).map(|meant| format!("is {meant} meant?"));
    elsewhere.map(|(_, advice)| (*advice).to_owned()).or_else(meant)
}

/// What is wrong with the first word of a command, if something is. Where the command begins, options end, so that a
/// misspelt option looks like the command's name.
pub(super) fn first_word<A: Args>(name: &str, word: &str) -> Result<(), Failure> {
    if word.is_empty() {
        let words = format!("the command's name is empty: write firesteel {name} -- COMMAND");
        return Err(Failure::of(Exit::Usage, words));
    }
    if word.starts_with('-') { Err(option::<A>(name, word)) } else { Ok(()) }
}

/// An option where the command should begin, for the command with those options.
fn option<A: Args>(name: &str, word: &str) -> Failure {
    let bare = word.split_once('=').map_or(word, |(bare, _)| bare);
    let is = |other: &str| other == bare || (is_short(other) && is_number_after(other, bare));
    let known = options::<A>(name);
    let meant = near(bare, known.iter().map(String::as_str));
    let elsewhere = ELSEWHERE.iter().find(|(words, _)| words.iter().any(|other| is(other)));
    let advice = match (meant, elsewhere) {
        (Some(meant), _) => format!("is {meant} meant?"),
        (None, Some((_, advice))) => (*advice).to_owned(),
        (None, None) => format!("see firesteel {name} --help"),
    };
    Failure::of(Exit::Usage, format!("{word:?} is no option of firesteel {name}: {advice}"))
}

/// What to say of a command's argument that is one of our options: it stands too late. `None`: there is none, or the
/// command was set apart with `--`, so that all that follows is meant for it.
pub(super) fn late<A: Args>(name: &str, command: &[String]) -> Option<String> {
    let before = std::env::args().take_while(|word| Some(word) != command.first());
    if before.into_iter().any(|word| word == "--") {
        return None;
    }
    let known = options::<A>(name);
    // Options of one word are many a program's.
    let ours = |word: &&String| {
        let bare = word.split_once('=').map_or(word.as_str(), |(bare, _)| bare);
        bare.matches('-').count() > 2 && known.iter().any(|option| option == bare)
    };
    let late = command.iter().skip(1).find(ours)?;
    Some(format!(
        "{late} stands after the command and is given to it: options of firesteel {name} stand before; for no such \
         remark write -- before the command"
    ))
}

/// What to say of a command that looks like a shell line. `None`: it does not, or there is such a program.
pub(super) fn shell_line(command: &[String], arguments: &str) -> Option<String> {
    let [line] = command else { return None };
    let is_line = line.contains(char::is_whitespace) && !std::path::Path::new(line).exists();
    is_line.then(|| {
        format!("{line:?} is taken for the name of a program: for a shell line write -- sh -c {arguments}")
    })
}

/// What to say of `{}` in a line for a shell: what stands in an item would be run.
pub(super) fn item_in_line(command: &[String]) -> Option<String> {
    let ShellLine { shell, line, .. } = ShellLine::of(command)?;
    line.contains("{}").then(|| {
        format!("{{}} stands in the line of {shell}, which runs what stands in the item: write -- {shell} -c '... \"$1\"' {shell}")
    })
}

/// What to say of a line for a shell that looks for arguments which are not there. `None`: it does not, or it is not
/// sure.
pub(super) fn empty_argument(command: &[String]) -> Option<String> {
    let ShellLine { shell, line, after } = ShellLine::of(command)?;
    // Functions and set have arguments of their own.
    let is_sure = !line.contains("()") && !line.contains("set ") && !line.contains("{}");
    let argument = first_argument(line).filter(|_| is_sure && after.is_empty())?;
    Some(format!(
        "{argument} is empty in the line of {shell}: the first word after the line is $0; write one more: {shell} -c \
         '...' {shell}"
    ))
}

/// `sh -c LINE ..`.
struct ShellLine<'a> {
    shell: &'a str,
    line: &'a str,
    /// The words after the line.
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
        // What is no option is a script, but for the value of -o.
        let is_option = |at: usize| {
            let is_dashed = |word: &str| word.starts_with('-') || word.starts_with('+');
            is_dashed(&arguments[at]) || (at > 0 && matches!(arguments[at - 1].as_str(), "-o" | "+o" | "-O"))
        };
        let line = arguments.get(at + 1).filter(|_| (0..at).all(is_option))?;
        Some(Self { shell, line, after: &arguments[at + 2..] })
    }
}

/// The first argument that a line for a shell looks for, as it is written there: `$1`, `$@` or `$*`.
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

/// All long options, as they are written.
fn options<A: Args>(name: &str) -> Vec<String> {
    let command = A::augment_args(Command::new(name.to_owned()));
    let own = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let own = own.filter_map(|argument| argument.get_long().map(|long| format!("--{long}")));
    own.chain(["--quiet", "--verbose", "--color", "--help"].map(str::to_owned)).collect()
}

fn is_short(option: &str) -> bool {
    option.len() == 2
}

/// `-j4`.
fn is_number_after(option: &str, word: &str) -> bool {
    word.strip_prefix(option).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_option_and_one_of_another_program_are_told_apart() {
        for (word, advice) in [
            ("--num-executers", "is --num-executors meant?"),
            ("--executor-core=4", "is --executor-cores meant?"),
            ("--jobs=4", "write --total-executor-cores N for N at once"),
            ("-j8", "write --total-executor-cores N for N at once"),
            ("--colour-me", "see firesteel map --help"),
        ] {
            let failure = option::<super::super::map::Args>("map", word);
            assert_eq!(
                failure,
                Failure::of(Exit::Usage, format!("{word:?} is no option of firesteel map: {advice}"))
            );
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
        assert_eq!(subcommand("mpa").as_deref(), Some("is map meant?"));
        assert_eq!(subcommand("stop").as_deref(), Some("kill ends applications"));
        assert!(subcommand("submit").is_some_and(|advice| advice.contains("do not run here")));
        assert_eq!(subcommand("frobnicate"), None);
    }
}
