//! Words that stand where options end and look like options: misspelt ones, those of other programs, and those that
//! come too late.

use clap::{Args, Command};
use firesteel::settings::near::near;

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
}
