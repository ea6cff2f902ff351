//! Removes characters from text that could mislead readers of terminals and logs.
//!
//! Names, hosts and error texts come from peers and files, and can contain anything. A control character moves a
//! terminal's cursor, changes its colours or begins a forged line; a bidirectional mark shows words in another order.
//! All text of Firesteel therefore goes to a terminal through [`stdout`], [`stderr`] or [`json`], and to the log
//! through [`clean`]. The output of tasks and the logs of executors are not cleaned: their bytes stay unchanged.

use std::io::{self, StderrLock, StdoutLock, Write};

use firesteel_protocol::byte_text;

use crate::standard::{self, Standard};

/// The replacement for a hidden character.
pub const REPLACEMENT: char = '\u{fffd}';

/// Whether a terminal would obey this character instead of showing it: control characters, bidirectional marks, and the
/// separators of lines and paragraphs. The private-use characters that represent bytes outside of UTF-8 count, too.
#[must_use]
pub fn is_hidden(letter: char) -> bool {
    let is_mark = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}');
    letter.is_control()
        || is_mark
        || matches!(letter, '\u{2028}' | '\u{2029}')
        || byte_text::byte(letter).is_some()
}

/// The text on one line. [`REPLACEMENT`] replaces each hidden character, including line feeds and tabs.
#[must_use]
pub fn clean(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars().map(|letter| if is_hidden(letter) { REPLACEMENT } else { letter }).collect()
}

/// The text with its line breaks. Line feeds and tabs stay. [`REPLACEMENT`] replaces each other hidden character.
#[must_use]
pub fn clean_lines(text: &str) -> String {
    let keeps = |letter| matches!(letter, '\n' | '\t') || !is_hidden(letter);
    text.chars().map(|letter| if keeps(letter) { letter } else { REPLACEMENT }).collect()
}

/// Whether the terminal can draw blocks, lines and dots: the locale uses UTF-8, and the terminal is not `dumb`.
#[must_use]
pub fn draws_glyphs() -> bool {
    let variable = |name| std::env::var(name).ok();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|it| !it.is_empty());
    can_draw(locale.as_deref(), variable("TERM").as_deref())
}

/// Like [`draws_glyphs`], with the variables as arguments. `locale` is the value of the first locale variable that is
/// not empty (`LC_ALL`, `LC_CTYPE`, `LANG`); `None` means the locale `C`. `term` is the value of `TERM`.
fn can_draw(locale: Option<&str>, term: Option<&str>) -> bool {
    let encoding =
        locale.and_then(|locale| locale.split_once('.')).map(|(_, rest)| rest.to_ascii_lowercase());
    let is_utf8 = encoding.is_some_and(|rest| rest.starts_with("utf-8") || rest.starts_with("utf8"));
    is_utf8 && term != Some("dumb")
}

/// The way in which a writer shows a hidden character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As [`REPLACEMENT`].
    Replaced,
    /// As a JSON escape. Programs that read the JSON get the original character back.
    Escaped,
}

/// A writer of text without hidden characters, except line feeds and tabs. Text must not be split inside a
/// character; `write!` never does that.
#[derive(Debug)]
pub struct Plain<W> {
    out: W,
    form: Form,
}

#[must_use]
pub fn stdout() -> Plain<Standard<StdoutLock<'static>>> {
    Plain { out: standard::stdout().lock(), form: Form::Replaced }
}

#[must_use]
pub fn stderr() -> Plain<Standard<StderrLock<'static>>> {
    Plain { out: standard::stderr().lock(), form: Form::Replaced }
}

/// Standard output for JSON. Hidden characters are not lost: they are written as `\u` escapes.
#[must_use]
pub fn json() -> Plain<Standard<StdoutLock<'static>>> {
    Plain { out: standard::stdout().lock(), form: Form::Escaped }
}

/// Replaces hidden characters in JSON with `\u` escapes. In valid JSON, hidden characters occur only in strings.
#[must_use]
pub fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\n' | '\t' => text.push(letter),
            letter if is_hidden(letter) => {
                letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}"));
            }
            letter => text.push(letter),
        }
    }
    text
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let shown = match self.form {
            Form::Replaced => clean_lines(&text),
            Form::Escaped => escaped(&text),
        };
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All hidden characters, and some visible ones.
    fn letters() -> impl Iterator<Item = char> {
        let marks = ('\u{600}'..='\u{61f}').chain('\u{2000}'..='\u{206f}');
        ('\0'..='\u{ff}').chain(marks).chain('\u{10fe70}'..='\u{10ff10}')
    }

    #[test]
    fn glyphs_are_drawn_in_locales_of_utf_8_only() {
        for (locale, term, expected) in [
            (Some("C.UTF-8"), Some("xterm"), true),
            (Some("de_DE.utf8@euro"), None, true),
            (Some("en_US.UTF-8"), Some("dumb"), false),
            (Some("de_DE.ISO-8859-1"), Some("xterm"), false),
            (Some("de_DE"), Some("xterm"), false),
            (Some("C"), Some("xterm"), false),
            (Some("POSIX"), Some("xterm"), false),
            (None, Some("xterm"), false),
        ] {
            assert_eq!(can_draw(locale, term), expected, "{locale:?} {term:?}");
        }
    }

    #[test]
    fn no_hidden_character_passes() {
        let all: String = letters().collect();
        for text in [clean(&all), clean_lines(&all), escaped(&all)] {
            assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !is_hidden(c)), "{text:?}");
        }
        assert!(!clean(&all).contains(['\n', '\t']));
        assert_eq!(clean("a\u{1b}[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d");
        assert_eq!(clean_lines("a\tb\r\nc\u{9b}"), "a\tb\u{fffd}\nc\u{fffd}");
    }

    #[test]
    fn words_of_all_languages_pass() {
        for text in ["naïve", "Łódź", "東京", "שלום", "مرحبا", "█░", "e\u{301}", "👩\u{200d}🔬"]
        {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn json_keeps_every_character() {
        let all: String = letters().collect();
        let json = serde_json::to_string(&all).expect("a string can be written as JSON");
        assert_eq!(serde_json::from_str::<String>(&escaped(&json)).expect("it is JSON"), all);
    }

    #[test]
    fn a_writer_replaces_what_format_writes() {
        let mut text = Plain { out: Vec::new(), form: Form::Replaced };
        let host = "a\u{1b}[31m\u{2066}b";
        writeln!(text, "host {host}").expect("memory takes it");
        assert_eq!(text.out, "host a\u{fffd}[31m\u{fffd}b\n".as_bytes());
        let mut json = Plain { out: Vec::new(), form: Form::Escaped };
        serde_json::to_writer(&mut json, "a\u{202e}\u{7f}é").expect("memory takes it");
        assert_eq!(json.out, "\"a\\u202e\\u007fé\"".as_bytes());
    }
}
