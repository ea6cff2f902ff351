//! The shell's commands, for help, completion and corrections of mistyped names.

use std::fmt::Write;

/// The description of a command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Name of the command.
    pub name: &'static str,
    /// Syntax of the command.
    pub usage: &'static str,
    /// Summary of the command in one line.
    pub brief: &'static str,
    /// Further details, with examples.
    pub details: &'static str,
}

/// All commands, in the order of the help.
pub const COMMANDS: [Command; 18] = [
    Command {
        name: "run",
        usage: "run [--on EXECUTOR | --profile P] [--cores N] [--retries N] COMMAND...",
        brief: "run a command on an executor and show its output",
        details: "\
The exit code is that of the command; 128 + N for signal N, 127 if the program is not found. A command that fails is
not retried without --retries; if its executor is lost through no fault of the command, it runs again.
ctrl-c ends the command. With & at the end it runs in the background: see watch, wait, cancel. With --on it runs only
on that executor (executors lists them), waits for room there, and ends with it.

  run hostname
  run --on 1 df -h .
  run sh -c 'du -sh /data | tail -1'
  run --cores 2 make -j2 &",
    },
    Command {
        name: "map",
        usage: "map [--profile P] [--cores N] [-i FILE] [-0] [--unordered] COMMAND... [::: ITEM...]",
        brief: "run a command once for each item; outputs are in input order",
        details: "\
{} in the command is replaced by the item; without one, the item becomes the last argument. Items are the words after
::: or the lines of FILE (NUL-terminated with -0). An item that fails is retried, up to spark.task.maxFailures
attempts in all. The exit code is 1 if an item failed. ctrl-c ends all of its tasks.

  map gzip -k ::: a.txt b.txt
  map -i hosts.txt ping -c 1 {}",
    },
    Command {
        name: "executors",
        usage: "executors",
        brief: "list the executors and their tasks",
        details: "STATE is assigned (not registered yet), ready, leaving, or silent (its connection ended).",
    },
    Command {
        name: "tasks",
        usage: "tasks [--all]",
        brief: "list the tasks of run: those that have not ended, and the latest others",
        details: "With --all, the last 1000. Items of map are not listed.",
    },
    Command {
        name: "watch",
        usage: "watch [TASK]",
        brief: "show the output of a background task, until it ends",
        details: "\
Without TASK, the last one. The exit code is that of the task. ctrl-c ends the watching, not the task. Outputs are
kept on the disk of this machine, up to firesteel.shell.keptOutput in all; those of the tasks that ended first go
first.",
    },
    Command {
        name: "wait",
        usage: "wait [TASK...] | wait --executors N [--for SECONDS]",
        brief: "wait until background tasks end or executors are ready",
        details: "\
Without TASK, until all have ended. The exit code is that of the last task that failed. With --executors, until N
executors are ready; after SECONDS (60) it fails with the reason, and at once if the target is lower.

  run ./long.sh & wait
  wait --executors 4 --for 10",
    },
    Command {
        name: "cancel",
        usage: "cancel TASK... | cancel --all",
        brief: "cancel tasks: SIGTERM, and SIGKILL after 5 s",
        details: "",
    },
    Command {
        name: "request",
        usage: "request N [--profile P] [--kill]",
        brief: "set the number of executors to N",
        details: "\
More start when Workers have room; why explains what is missing. A lower number ends no running executor, as in Spark.
With --kill, idle ones end until N are left, and then busy ones, whose tasks run again elsewhere.

  request 8
  request 1 --kill",
    },
    Command {
        name: "kill",
        usage: "kill EXECUTOR... [--replace]",
        brief: "kill executors; their tasks run again elsewhere",
        details: "With --replace, new ones replace them; otherwise the number of wanted executors falls.",
    },
    Command {
        name: "why",
        usage: "why",
        brief: "explain why there are fewer executors than requested",
        details: "The Master answers with the requested and the free amounts.",
    },
    Command {
        name: "profile",
        usage: "profile add COUNT [--[task-]cores N] [--memory SIZE] [--[task-]resource NAME=N]... | profile list",
        brief: "request executors of another size too, for run --profile and map --profile",
        details: "\
A resource profile is a size of executors. --cores and --memory default to those of the application; custom resources
have no default. request N --profile P changes COUNT. Tasks with --profile P run on executors of this profile only.
--task-cores and --task-resource are what each task takes of its executor: cores default to those of set, and custom
resources have no default: a whole number of addresses, or at most 0.5 of one. FIRESTEEL_TASK_RESOURCE_NAME has them.

  profile add 2 --cores 4 --memory 2g --resource gpu=2 --task-resource gpu=1
  run --profile 1 sh -c 'train --gpu $FIRESTEEL_TASK_RESOURCE_GPU'",
    },
    Command {
        name: "status",
        usage: "status",
        brief: "show the application, its Master, its cores and its tasks",
        details: "",
    },
    Command {
        name: "set",
        usage: "set [cores N | directory DIR | env NAME=VALUE | env NAME]",
        brief: "show or set the defaults of later tasks",
        details: "\
cores: default of --cores. directory: working directory of tasks; \"executor\" is the executor's own. env: a variable
of tasks; without =VALUE it is removed.",
    },
    Command {
        name: "settings",
        usage: "settings",
        brief: "show the settings of the application",
        details: "",
    },
    Command {
        name: "history",
        usage: "history [N]",
        brief: "show the last typed lines",
        details: "The arrows and ctrl-r recall them.",
    },
    Command {
        name: "source",
        usage: "source FILE",
        brief: "run the commands of a file until one fails",
        details: "\
The exit code is that of the last command that failed; with --keep-going the others run, too. FILE is a regular file
of at most 4 MiB on the machine of the shell.",
    },
    Command { name: "help", usage: "help [COMMAND]", brief: "list the commands, or explain one", details: "" },
    Command {
        name: "quit",
        usage: "quit [CODE]",
        brief: "leave and end the application (as ctrl-d)",
        details: "\
The exit code is CODE, or else 0, or in a script that of the last command that failed. At the prompt, running tasks
are reported first; a second quit cancels them.",
    },
];

/// Aliases of commands.
const ALIASES: [(&str, &str); 5] =
    [("exit", "quit"), ("?", "help"), ("jobs", "tasks"), ("explain", "why"), ("ps", "tasks")];

/// The command with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Command> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, command)| command);
    COMMANDS.iter().find(|command| command.name == name)
}

/// A line for each command.
#[must_use]
pub fn overview() -> String {
    let width = COMMANDS.iter().map(|command| command.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Command { name, brief, .. } in COMMANDS {
        writeln!(text, "  {name:width$}  {brief}").expect("a text takes every line");
    }
    text + "\nhelp COMMAND explains one. Words are quoted as in a shell; ; separates commands, & at the end runs one in\n\
            the background, # begins a comment. tab completes, ctrl-c ends the foreground task, ctrl-d leaves.\n"
}

/// The full help of one command.
#[must_use]
pub fn help(command: &Command) -> String {
    let Command { usage, brief, details, .. } = command;
    match details.is_empty() {
        true => format!("{usage}\n  {brief}\n"),
        false => format!("{usage}\n  {brief}\n\n{details}\n"),
    }
}

/// The command name that the user probably meant, if one is similar.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = COMMANDS.iter().map(|command| command.name);
    let near = names.map(|known| (distance(name, known), known)).min()?;
    (near.0 <= 2 && near.0 < name.chars().count().max(2)).then_some(near.1)
}

/// The edit distance: the number of characters to insert, remove, change, or swap with the next
/// one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => {
                    let change = usize::from(a[i - 1] != b[j - 1]);
                    let mut best =
                        (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        best = best.min(rows[i - 2][j - 2] + 1);
                    }
                    best
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_command_is_recognised_and_nonsense_is_not() {
        for (typed, meant) in [
            ("exectuors", Some("executors")),
            ("taks", Some("tasks")),
            ("mpa", Some("map")),
            ("rn", Some("run")),
            ("hlep", Some("help")),
            ("xyzzy", None),
            ("x", None),
            ("ls", None),
        ] {
            assert_eq!(nearest(typed), meant, "{typed}");
        }
    }

    #[test]
    fn help_fits_a_terminal() {
        let all = COMMANDS.iter().map(help).collect::<String>() + &overview();
        let long: Vec<&str> = all.lines().filter(|line| line.chars().count() > 118).collect();
        assert!(long.is_empty(), "{long:#?}");
        assert_eq!(find("exit").map(|command| command.name), Some("quit"));
    }
}
