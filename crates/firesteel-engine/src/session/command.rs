//! The commands of a session, for help, completion and corrections of mistyped names.

use strsim::osa_distance;

/// The help of all commands, in this order. The help of each command begins with its usage and a summary in one line.
const HELP: &str = include_str!("commands.txt");

/// Other names of commands.
const ALIASES: [(&str, &str); 5] =
    [("exit", "quit"), ("?", "help"), ("jobs", "tasks"), ("explain", "why"), ("ps", "tasks")];

const OVERVIEW: &str = "
help COMMAND explains one. Words are quoted as in a shell; ; separates commands, & at the end runs one in
the background, # begins a comment. tab completes, ctrl-c ends the foreground task, ctrl-d leaves.
";

/// The description of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The first word of a line with this command.
    pub name: &'static str,
    /// The syntax, on one line.
    pub usage: &'static str,
    /// The usage, a summary, and usually details with examples.
    pub help: &'static str,
}

impl Command {
    /// All commands, in the order of the help.
    pub fn all() -> impl Iterator<Item = Self> {
        HELP.split_terminator("\n%\n").map(|help| {
            let usage = help.lines().next().unwrap_or_default();
            Self { name: usage.split(' ').next().unwrap_or_default(), usage, help: help.trim_end() }
        })
    }

    /// The command with this name or alias.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        Self::all().find(|command| command.name == name)
    }

    /// The options that the usage lists.
    #[must_use]
    pub fn options(self) -> Vec<String> {
        let words = self
            .usage
            .split([' ', '|'])
            .map(|word| word.trim_start_matches('[').trim_end_matches([']', '.']));
        let options =
            words.filter(|word| word.starts_with('-')).flat_map(|word| match word.split_once("[task-]") {
                Some((dashes, name)) => vec![format!("{dashes}{name}"), format!("{dashes}task-{name}")],
                None => vec![word.to_owned()],
            });
        options.collect()
    }
}

/// An overview of the commands, one line each.
#[must_use]
pub fn overview() -> String {
    let width = Command::all().map(|command| command.name.len()).max().unwrap_or(0);
    let line = |command: Command| {
        let brief = command.help.lines().nth(1).unwrap_or_default();
        format!("  {:width$}{brief}\n", command.name)
    };
    Command::all().map(line).collect::<String>() + OVERVIEW
}

/// The known word that the user probably meant, as a question. Empty if no known word is similar.
pub(super) fn meant<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    match known.map(|known| (osa_distance(word, known), known)).min() {
        Some((slips, known)) if slips <= 2 && slips < word.chars().count().max(2) => {
            format!(" (did you mean {known}?)")
        }
        Some(_) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_command_is_recognised_and_nonsense_is_not() {
        for (typed, known) in [
            ("exectuors", Some("executors")),
            ("taks", Some("tasks")),
            ("mpa", Some("map")),
            ("rn", Some("run")),
            ("hlep", Some("help")),
            ("xyzzy", None),
            ("x", None),
            ("ls", None),
        ] {
            let expected = known.map(|known| format!(" (did you mean {known}?)")).unwrap_or_default();
            assert_eq!(meant(typed, Command::all().map(|command| command.name)), expected, "{typed}");
        }
    }

    #[test]
    fn help_fits_a_terminal() {
        let all = overview() + HELP;
        let long: Vec<&str> = all.lines().filter(|line| line.chars().count() > 118).collect();
        assert!(long.is_empty(), "{long:#?}");
        assert_eq!(Command::find("exit").map(|command| command.name), Some("quit"));
        assert_eq!(Command::all().count(), 18);
    }

    #[test]
    fn options_are_those_of_the_usage() {
        let options = |name| Command::find(name).expect("it exists").options().join(" ");
        assert_eq!(options("map"), "--profile --cores -i --input -0 --null --unordered");
        assert_eq!(options("profile"), "--cores --task-cores --memory --resource --task-resource");
        assert_eq!(options("why"), "");
    }
}
