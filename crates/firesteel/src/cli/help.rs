//! Help of two lengths: `-h` fits on a screen, `--help` has everything.

/// What stands below the options in `-h`: examples, and where the rest is.
pub(super) fn short(command: &str, examples: &str) -> String {
    format!("{examples}\n\n{}", more(command))
}

/// Where the rest of a command's help is.
pub(super) fn more(command: &str) -> String {
    let command = if command.is_empty() { String::new() } else { format!(" {command}") };
    format!("firesteel{command} --help shows every option, the details and the exit codes.")
}
