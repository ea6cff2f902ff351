//! Splits a line into commands and words, with the quoting of a POSIX shell.
//!
//! Blanks separate words. `;` ends a command, and `&` ends a command that runs in the background.
//! `#` at the beginning of a word starts a comment. Text in single quotes is literal. In double
//! quotes, a backslash escapes `"`, `\`, `$` and a backquote. Outside quotes, it escapes any
//! character. Nothing is expanded.

use firesteel_engine::session::Place;

/// One command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Words of the command, at least one.
    pub words: Vec<String>,
    /// Whether the session waits for the command.
    pub place: Place,
    /// The first word that has a meaning in a POSIX shell but none here: `|`, `*.txt`, `$HOME`.
    pub idle: Option<String>,
}

/// Why a line cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A quote is not closed.
    #[error("the quote {0} is not closed")]
    Open(char),
    /// The line ends with a backslash.
    #[error("a backslash ends the line, and there is nothing after it to keep")]
    Backslash,
    /// Two commands are joined by `&&`.
    #[error("&& has no meaning here: write a line for each command, or run sh -c '...' for a shell line")]
    And,
    /// A command is missing before `&` or `;`.
    #[error("there is no command before {0}")]
    Empty(char),
}

/// Splits a line into commands.
///
/// # Errors
/// A quote is not closed, a backslash ends the line, a command is missing before `;` or `&`, or the
/// line contains `&&`.
pub fn sentences(line: &str) -> Result<Vec<Sentence>, WordsError> {
    let mut cutter = Cutter::default();
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            '\'' => {
                quoted(&mut rest, cutter.word())?;
                cutter.bare.push(KEPT);
            }
            '"' => {
                double_quoted(&mut rest, cutter.word())?;
                cutter.bare.push(KEPT);
            }
            '\\' => {
                let kept = rest.next().ok_or(WordsError::Backslash)?;
                cutter.word().push(kept);
                cutter.bare.push(KEPT);
            }
            '#' if cutter.word.is_none() => break,
            ';' => cutter.end(Place::Foreground, ';')?,
            '&' if rest.as_str().starts_with('&') && cutter.has_words() => return Err(WordsError::And),
            '&' => cutter.end(Place::Background, '&')?,
            blank if blank.is_whitespace() => cutter.end_word(),
            other => {
                cutter.word().push(other);
                cutter.bare.push(other);
            }
        }
    }
    cutter.end_word();
    if !cutter.words.is_empty() {
        cutter.end(Place::Foreground, ';')?;
    }
    Ok(cutter.sentences)
}

/// A stand-in for each quoted character.
const KEPT: char = '\0';

#[derive(Default)]
struct Cutter {
    sentences: Vec<Sentence>,
    words: Vec<String>,
    word: Option<String>,
    /// The part of the current word that is outside quotes.
    bare: String,
    idle: Option<String>,
}

impl Cutter {
    /// The current word, which exists from its first character or quote on.
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let bare = std::mem::take(&mut self.bare);
        let Some(word) = self.word.take() else { return };
        if self.idle.is_none() && means_something(&bare) {
            self.idle = Some(word.clone());
        }
        self.words.push(word);
    }

    fn has_words(&self) -> bool {
        self.word.is_some() || !self.words.is_empty()
    }

    fn end(&mut self, place: Place, by: char) -> Result<(), WordsError> {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return Err(WordsError::Empty(by));
        }
        self.sentences.push(Sentence { words, place, idle: self.idle.take() });
        Ok(())
    }
}

/// Whether a POSIX shell would change the word, given the part of it outside quotes.
fn means_something(bare: &str) -> bool {
    let is_redirection = bare.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['<', '>']);
    let is_variable = bare.strip_prefix('$').is_some_and(|name| !name.is_empty());
    bare.starts_with('|') || is_redirection || is_variable || bare.contains('*')
}

fn quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    for character in rest {
        match character {
            '\'' => return Ok(()),
            other => word.push(other),
        }
    }
    Err(WordsError::Open('\''))
}

fn double_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok(()),
            '\\' => match rest.next() {
                Some(kept @ ('"' | '\\' | '$' | '`')) => word.push(kept),
                Some(other) => word.extend(['\\', other]),
                None => break,
            },
            other => word.push(other),
        }
    }
    Err(WordsError::Open('"'))
}

/// The word as it can be typed, with quotes if it needs them.
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

    fn cut(line: &str) -> Result<Vec<(Vec<String>, Place)>, WordsError> {
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
            assert_eq!(cut(line), Ok(vec![(words, Place::Foreground)]), "{line}");
        }
    }

    #[test]
    fn a_line_may_have_several_commands_and_some_in_the_background() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (front, back) = (Place::Foreground, Place::Background);
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
            ("run 'a", WordsError::Open('\'')),
            ("run \"a", WordsError::Open('"')),
            ("run \"a\\", WordsError::Open('"')),
            ("run \\", WordsError::Backslash),
            ("; a", WordsError::Empty(';')),
            ("a ;; b", WordsError::Empty(';')),
            ("&", WordsError::Empty('&')),
            ("run a && run b", WordsError::And),
            ("run a&&b", WordsError::And),
        ] {
            assert_eq!(cut(line), Err(error), "{line}");
        }
    }

    #[test]
    fn a_quoted_word_comes_back_as_it_was() {
        for word in ["a", "", "a b", "it's", "#x", "a;b", "$x", "\\", "{}", "ü"] {
            let words = vec![word.to_owned()];
            assert_eq!(cut(&quote(word)), Ok(vec![(words, Place::Foreground)]), "{word}");
        }
    }
}
