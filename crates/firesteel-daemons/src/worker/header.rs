//! The header at the top of an executor's `stderr`: how the executor was started.

use std::collections::BTreeMap;

use firesteel_protocol::process::{Command, Quoted};
use firesteel_settings::secrets::{shown, shown_arguments};

const BEGINNINGS: [&str; 2] = ["Firesteel Executor Command: ", "Firesteel Driver Command: "];

/// The maximum length of a header without its end, in bytes: a header is written at each start.
const LONGEST: usize = 64 << 10;

const END: &str = "\n========================================\n\n";

/// The header of an executor: the command and the added variables, quoted for a shell and without secrets. A line of 40
/// `=` and an empty line follow.
///
/// Source: Spark Worker, 4.0.1, which shows only the command.
#[must_use]
pub fn header(command: &Command, variables: &BTreeMap<String, String>) -> String {
    header_of("Executor", command, variables)
}

fn header_of(role: &str, command: &Command, variables: &BTreeMap<String, String>) -> String {
    let mut text = format!("Firesteel {role} Command: {}\n", redacted(command));
    text.push_str(&format!("Firesteel {role} Environment:"));
    for (name, value) in variables {
        text.push(' ');
        text.push_str(&Quoted(&format!("{name}={}", shown(name, value))).to_string());
    }
    if text.len() > LONGEST {
        let end = text.floor_char_boundary(LONGEST);
        let left_out = text.len() - end;
        text.truncate(end);
        text.push_str(&format!(" [{left_out} more bytes]"));
    }
    text.push_str(END);
    text
}

/// The header of a cluster driver's log. A driver that is started again gets another header. The format is that of an
/// executor's header.
///
/// Source: Spark Worker, 4.0.1 (`Launch Command`).
#[must_use]
pub fn driver_header(command: &Command, variables: &BTreeMap<String, String>) -> String {
    header_of("Driver", command, variables)
}

/// The length of the header at the beginning of a log, in bytes; 0 if the log has no header.
#[must_use]
pub fn length(beginning: &[u8]) -> usize {
    if !BEGINNINGS.iter().any(|words| beginning.starts_with(words.as_bytes())) {
        return 0;
    }
    let end = beginning.windows(END.len()).position(|window| window == END.as_bytes());
    end.map_or(0, |at| at + END.len())
}

fn redacted(command: &Command) -> Command {
    Command { arguments: shown_arguments(&command.arguments), ..command.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_environment_is_cut() {
        let variables = BTreeMap::from([("A".to_owned(), "\u{e9}".repeat(1 << 20))]);
        let header = header(&Command::of("true"), &variables);
        assert!(header.len() < LONGEST + 100 && header.contains(" more bytes]\n===="), "{}", header.len());
        assert_eq!(length(header.as_bytes()), header.len());
    }

    #[test]
    fn the_header_shows_command_and_environment_without_secrets() {
        let words =
            ["-c", "echo hi; X_TOKEN=abc run", "--token", "abc", "--api-key=def", "http://me:pqr@host"];
        let command = Command {
            program: "sh".into(),
            arguments: words.map(String::from).to_vec(),
            environment: BTreeMap::new(),
        };
        let variables = [
            ("APP", "a b"),
            ("AWS_SECRET_ACCESS_KEY", "jkl"),
            ("Auth_Token", "mno"),
            ("DATABASE_URL", "postgres://user:password@host/db"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let hidden = "*********(redacted)";
        let expected = format!(
            "Firesteel Executor Command: sh -c 'echo hi; X_TOKEN={hidden} run' --token '{hidden}' \
             '--api-key={hidden}' 'http://me:{hidden}@host'\n\
             Firesteel Executor Environment: 'APP=a b' 'AWS_SECRET_ACCESS_KEY={hidden}' 'Auth_Token={hidden}' \
             'DATABASE_URL=postgres://user:{hidden}@host/db'\n\
             ========================================\n\n"
        );
        assert_eq!(header(&command, &variables), expected);
        let with_more = expected.clone() + "more\n========================================\n\n";
        assert_eq!(length(with_more.as_bytes()), expected.len());
        assert_eq!(length(&with_more.as_bytes()[1..]), 0);
        assert_eq!(length(&expected.as_bytes()[..expected.len() - 1]), 0);
    }
}
