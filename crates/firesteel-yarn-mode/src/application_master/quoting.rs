//! Quoting of words for a NodeManager.
//!
//! A NodeManager writes a bash script. It puts a container's command between double quotes, as an argument of `bash
//! -c`. It also puts the value of a variable between double quotes. So a shell parses a value once, and parses a
//! command twice. Before that, in both values and commands, the NodeManager replaces `{{NAME}}` by `$NAME`, and
//! `<LOG_DIR>` and `<CPS>` by their values. With the quoting here, every text arrives unchanged.
//!
//! Source: Hadoop's `ContainerLaunch`, 3.4.1. Spark 4.0.1 does not quote back quotes, backslashes and texts
//! that look like placeholders.

use firesteel_protocol::byte_text;
use firesteel_protocol::process::Quoted;

/// The placeholder of the directory in which a container's process starts.
pub(super) const HERE: &str = "{{PWD}}";

/// The placeholder of the container's log directory.
pub(crate) const LOGS: &str = "<LOG_DIR>";

/// Quotes a word of a command.
pub(super) fn word(text: &str) -> String {
    between_double_quotes(&Quoted(text).to_string())
}

/// Quotes the value of a variable.
pub(crate) fn value(text: &str) -> String {
    between_double_quotes(text)
}

/// Quotes a text so that a shell reads it unchanged between double quotes, and so that a NodeManager finds no
/// placeholder in the text.
fn between_double_quotes(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match (before, c) {
            // The quotes end and begin again: the shell joins the parts, but the NodeManager sees them separated.
            (Some('{'), '{') | (Some('}'), '}') => escaped.push_str("\"\""),
            _ => {}
        }
        match c {
            '\\' | '$' | '"' | '`' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("<\"\""),
            _ => match byte_text::byte(c) {
                // Bash reads the byte in a quotation of its own.
                Some(byte) => escaped.push_str(&format!("\"$'\\x{byte:02x}'\"")),
                None => escaped.push(c),
            },
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

    /// Replaces placeholders in the same way as a NodeManager.
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
