//! Words as a NodeManager must be given them.
//!
//! A NodeManager writes a script of bash. It puts a container's command between double quotes, as an argument of
//! `bash -c`, and the value of a variable between double quotes, too: so one shell reads values, and two, one after the
//! other, read commands. Before, it replaces `{{NAME}}` by `$NAME`, `<LOG_DIR>` and `<CPS>` by what they stand for, in
//! both. What is written here comes out at the other end as it was, whatever is in it.
//!
//! Source: Hadoop's `ContainerLaunch`, 3.4.1. Spark 4.0.1 leaves back quotes and backslashes as they are, and what looks
//! like a placeholder.

use firesteel_core::process::Quoted;

/// Where a container's process starts, as a NodeManager fills it in.
pub(super) const HERE: &str = "{{PWD}}";

/// Where its logs are.
pub(crate) const LOGS: &str = "<LOG_DIR>";

/// A word of a command.
pub(super) fn word(text: &str) -> String {
    between_double_quotes(&Quoted(text).to_string())
}

/// The value of a variable.
pub(crate) fn value(text: &str) -> String {
    between_double_quotes(text)
}

/// What the shell reads as this text, between double quotes, and a NodeManager finds nothing in to replace.
fn between_double_quotes(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match (before, c) {
            // The quotes end and begin anew: the shell joins what was apart for the NodeManager.
            (Some('{'), '{') | (Some('}'), '}') => escaped.push_str("\"\""),
            _ => {}
        }
        match c {
            '\\' | '$' | '"' | '`' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("<\"\""),
            _ => escaped.push(c),
        }
        before = Some(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const WORDS: [&str; 14] = [
        "",
        "plain",
        "two words",
        "it's",
        "'",
        "\"quoted\"",
        "$HOME ${HOME} $(id) `id`",
        "back\\slash \\\\ \\n",
        "{{PWD}} {{{x}}} }}",
        "<LOG_DIR>/x <CPS> < <<",
        "a\nb",
        "!history ; & | * ? ~ #",
        "é",
        "--conf=a='b' \"c\\\"",
    ];

    /// As a NodeManager does.
    fn expanded(text: &str) -> String {
        text.replace("<LOG_DIR>", "/logs").replace("<CPS>", ":").replace("{{", "$").replace("}}", "")
    }

    fn output(script: &str) -> String {
        let output = Command::new("bash").args(["-c", script]).output().expect("there is a bash");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it is text")
    }

    #[test]
    fn a_command_comes_through_both_shells_as_it_was() {
        let words: Vec<String> = WORDS.iter().map(|text| word(text)).collect();
        let command = format!("printf '%s|' {}", words.join(" "));
        let script = format!("exec /bin/bash -c \"{}\"", expanded(&command));
        assert_eq!(output(&script), WORDS.map(|word| format!("{word}|")).concat());
    }

    #[test]
    fn a_variable_comes_through_as_it_was() {
        for text in WORDS {
            let script = format!("export X=\"{}\"\nprintf '%s|' \"$X\"", expanded(&value(text)));
            assert_eq!(output(&script), format!("{text}|"));
        }
    }

    #[test]
    fn places_are_filled_in() {
        assert_eq!(expanded(&format!("{HERE}/firesteel 1>{LOGS}/stdout")), "$PWD/firesteel 1>/logs/stdout");
    }
}
