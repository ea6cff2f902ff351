//! Splits a line into commands and words, with the quoting of a POSIX shell.
//!
//! Blanks separate words. `;` ends a command, and `&` ends a command that runs in the background.
//! `#` at the beginning of a word starts a comment. Text in single quotes is literal. In double
//! quotes, a backslash escapes `"`, `\`, `$` and a backquote. Outside quotes, it escapes any
//! character. Nothing is expanded.

use std::str::Chars;

use super::RunMode;

/// One command of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Sentence {
    /// The words of the command, at least one.
    pub(super) words: Vec<String>,
    pub(super) place: RunMode,
    /// The first word that has a special meaning in a POSIX shell but not here: `|`, `*.txt`, `$HOME`.
    pub(super) idle: Option<String>,
}

/// A placeholder for each quoted character.
const KEPT: char = '\0';
const BACKSLASH: &str = "a backslash ends the line, and there is nothing after it to keep";
const AND: &str =
    "&& has no meaning here: write a line for each command, or run sh -c '...' for a shell line";

/// Splits a line into commands, or returns why it cannot be split.
pub(super) fn sentences(line: &str) -> Result<Vec<Sentence>, String> {
    let mut cutter = Cutter::default();
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            '\'' | '"' => cutter.keep(&quoted(&mut rest, character)?),
            '\\' => cutter.keep(&rest.next().ok_or(BACKSLASH)?.to_string()),
            '#' if cutter.word.is_none() => break,
            ';' => cutter.end(RunMode::Foreground, ';')?,
            '&' if rest.as_str().starts_with('&') && cutter.has_words() => return Err(AND.to_owned()),
            '&' => cutter.end(RunMode::Background, '&')?,
            blank if blank.is_whitespace() => cutter.end_word(),
            other => {
                cutter.word.get_or_insert_default().push(other);
                cutter.bare.push(other);
            }
        }
    }
    if cutter.has_words() {
        cutter.end(RunMode::Foreground, ';')?;
    }
    Ok(cutter.sentences)
}

/// Reads the text up to the closing quote.
fn quoted(rest: &mut Chars<'_>, quote: char) -> Result<String, String> {
    let mut text = String::new();
    while let Some(character) = rest.next() {
        match character {
            _ if character == quote => return Ok(text),
            '\\' if quote == '"' => match rest.next() {
                Some(kept @ ('"' | '\\' | '$' | '`')) => text.push(kept),
                Some(other) => text.extend(['\\', other]),
                None => break,
            },
            other => text.push(other),
        }
    }
    Err(format!("the quote {quote} is not closed"))
}

#[derive(Default)]
struct Cutter {
    sentences: Vec<Sentence>,
    sentence: Sentence,
    /// The current word. It exists from its first character or quote.
    word: Option<String>,
    /// The part of the current word that is outside quotes.
    bare: String,
}

impl Cutter {
    /// Adds quoted text to the current word.
    fn keep(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
        self.bare.push(KEPT);
    }

    fn end_word(&mut self) {
        let bare = std::mem::take(&mut self.bare);
        let Some(word) = self.word.take() else { return };
        if self.sentence.idle.is_none() && means_something(&bare) {
            self.sentence.idle = Some(word.clone());
        }
        self.sentence.words.push(word);
    }

    fn has_words(&self) -> bool {
        self.word.is_some() || !self.sentence.words.is_empty()
    }

    fn end(&mut self, place: RunMode, by: char) -> Result<(), String> {
        self.end_word();
        if self.sentence.words.is_empty() {
            return Err(format!("there is no command before {by}"));
        }
        self.sentences.push(Sentence { place, ..std::mem::take(&mut self.sentence) });
        Ok(())
    }
}

/// Whether a POSIX shell would change the word. `bare` is the part of the word that is outside quotes.
fn means_something(bare: &str) -> bool {
    let is_redirection = bare.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['<', '>']);
    let is_variable = bare.strip_prefix('$').is_some_and(|name| !name.is_empty());
    bare.starts_with('|') || is_redirection || is_variable || bare.contains('*')
}

/// The word as a user can type it, with quotes if it needs them.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+=./:,@%^{}[]~?*!".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str) -> Result<Vec<(Vec<String>, RunMode)>, String> {
        let cut = sentences(line)?;
        Ok(cut.into_iter().map(|sentence| (sentence.words, sentence.place)).collect())
    }

    #[test]
    fn words_are_cut_and_quoted_as_in_a_posix_shell() {
        for (line, expected) in [
            ("run echo a  b", &["run", "echo", "a", "b"][..]),
            ("\trun 'a b' \"c d\"", &["run", "a b", "c d"]),
            (r"a\ b c\\d \'", &["a b", r"c\d", "'"]),
            (r#""a\"b\\c\n\$d""#, &[r#"a"b\c\n$d"#]),
            (r"'a\b'", &[r"a\b"]),
            ("'' \"\"", &["", ""]),
            ("a''b'c'\"d\"", &["abcd"]),
            ("run x # a comment", &["run", "x"]),
            ("run x#y '#'", &["run", "x#y", "#"]),
            ("run sh -c 'a; b & c'", &["run", "sh", "-c", "a; b & c"]),
            ("map echo {} ::: 1 2", &["map", "echo", "{}", ":::", "1", "2"]),
            ("größe 'ü'", &["größe", "ü"]),
        ] {
            let words: Vec<String> = expected.iter().map(ToString::to_string).collect();
            assert_eq!(cut(line), Ok(vec![(words, RunMode::Foreground)]), "{line}");
        }
    }

    #[test]
    fn a_line_may_have_several_commands_and_some_in_the_background() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (front, back) = (RunMode::Foreground, RunMode::Background);
        for (line, expected) in [
            ("", vec![]),
            ("   # nothing", vec![]),
            ("a; b c ;", vec![(words("a"), front), (words("b c"), front)]),
            ("run x & run y&z", vec![(words("run x"), back), (words("run y"), back), (words("z"), front)]),
            ("a;#b", vec![(words("a"), front)]),
        ] {
            assert_eq!(cut(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_word_that_only_a_shell_would_understand_is_found_unless_it_is_quoted() {
        let idle = |line: &str| sentences(line).expect("it can be cut").remove(0).idle;
        for (line, word) in [
            ("run echo a | cat", "|"),
            ("run ls *.toml", "*.toml"),
            ("run echo $HOME/x", "$HOME/x"),
            ("run a > b", ">"),
            ("run a 2>/dev/null", "2>/dev/null"),
            ("run a >>b", ">>b"),
            ("run a < b", "<"),
            ("run a || b", "||"),
            ("map ls ::: *", "*"),
        ] {
            assert_eq!(idle(line).as_deref(), Some(word), "{line}");
        }
        for line in
            ["run echo 'a | b' \"*\" \\$x $ a\\*", "run echo a|b", "run sh -c 'ls *'", "run echo {} [a] 5 ~"]
        {
            assert_eq!(idle(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_not_closed_is_named() {
        for (line, error) in [
            ("run 'a", "the quote ' is not closed"),
            ("run \"a", "the quote \" is not closed"),
            ("run \"a\\", "the quote \" is not closed"),
            ("run \\", BACKSLASH),
            ("; a", "there is no command before ;"),
            ("a ;; b", "there is no command before ;"),
            ("&", "there is no command before &"),
            ("run a && run b", AND),
            ("run a&&b", AND),
        ] {
            assert_eq!(cut(line), Err(error.to_owned()), "{line}");
        }
    }

    #[test]
    fn a_quoted_word_comes_back_as_it_was() {
        for word in ["a", "", "a b", "it's", "#x", "a;b", "$x", "\\", "{}", "ü"] {
            let words = vec![word.to_owned()];
            assert_eq!(cut(&quote(word)), Ok(vec![(words, RunMode::Foreground)]), "{word}");
        }
    }
}
