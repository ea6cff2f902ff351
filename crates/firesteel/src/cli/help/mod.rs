//! Help in two lengths: `-h` fits on one screen, and `--help` is complete.

pub(super) mod man;

/// The part below the options in `-h`: examples, and how to get the full help.
pub(super) fn short(command: &str, examples: &str) -> String {
    format!("Examples:\n{examples}\n\n{}", more(command))
}

/// The sentence that says how to get the full help of a command.
fn more(command: &str) -> String {
    let command = if command.is_empty() { String::new() } else { format!(" {command}") };
    format!("firesteel{command} --help shows every option, the details and the exit codes.")
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command, CommandFactory};

    use crate::cli::Cli;

    /// Maximum number of lines and columns of a short help.
    const SCREEN: (usize, usize) = (60, 100);

    /// Every command with its full name, except commands that users do not start.
    fn commands() -> Vec<Command> {
        let mut root = Cli::command();
        root.build();
        let mut all = Vec::new();
        let mut left = vec![root];
        while let Some(command) = left.pop() {
            let is_ours = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
            left.extend(command.get_subcommands().filter(is_ours).cloned());
            all.push(command);
        }
        all
    }

    fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
        command.get_arguments().filter(|argument| !argument.is_hide_set())
    }

    #[test]
    fn the_short_help_of_every_command_fits_on_a_screen() {
        for mut command in commands() {
            let help = command.render_help().to_string();
            let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            let size = (help.lines().count(), widest);
            let name = command.get_bin_name().unwrap_or("firesteel").to_owned();
            assert!(size.0 <= SCREEN.0 && size.1 <= SCREEN.1, "{name} -h has {size:?}:\n{help}");
        }
    }

    #[test]
    fn the_long_help_of_every_command_has_every_option() {
        let commands = commands();
        assert!(commands.len() > 15, "{} commands", commands.len());
        for mut command in commands {
            let help = command.render_long_help().to_string();
            for option in shown(&command).filter_map(Arg::get_long) {
                let is_there = help.lines().any(|line| line.contains(&format!("--{option}")));
                assert!(is_there, "--{option} is not in the help of {}", command.get_name());
            }
        }
    }

    #[test]
    fn the_short_help_says_where_the_rest_is() {
        for mut command in commands() {
            let all = shown(&command).count();
            let short = shown(&command).filter(|argument| !argument.is_hide_short_help_set()).count();
            let help = command.render_help().to_string();
            let name = command.get_bin_name().unwrap_or("firesteel");
            let is_whole = short == all && command.get_after_long_help().is_none();
            assert!(is_whole || help.contains(&format!("{name} --help shows")), "{name}:\n{help}");
        }
    }

    #[test]
    fn every_text_of_an_option_is_plain() {
        for command in commands() {
            for argument in shown(&command) {
                let text = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let name = format!("{} of {}", argument.get_id(), command.get_name());
                assert!(text.starts_with(char::is_uppercase), "{name}: {text:?}");
                assert!(!text.contains("otherwise") && !text.ends_with('.'), "{name}: {text:?}");
            }
        }
    }
}
