//! A line cut into commands and words, with the quoting of a POSIX shell.
//!
//! Blanks separate words; `;` ends a command, and `&` ends one that is to run in the background; `#` at the
//! beginning of a word begins a comment. Between single quotes everything is as it stands; between double quotes a
//! backslash keeps `"`, `\`, `$` and a backquote; outside of quotes it keeps any character. Nothing is expanded.

/// A command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Its words, at least one.
    pub words: Vec<String>,
    /// Whether it is waited for.
    pub place: Place,
}

/// Whether a command is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is.
    Foreground,
    /// It is not: it ended with `&`.
    Background,
}

/// Why a line cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A quote is not closed.
    #[error("the quote {0} is not closed")]
    Open(char),
    /// The line ends with a backslash.
    #[error("a backslash ends the line, and there is nothing after it to keep")]
    Backslash,
    /// `&` or `;` stands where a command should.
    #[error("there is no command before {0}")]
    Empty(char),
}

/// Cuts a line.
///
/// # Errors
/// A quote is not closed, a backslash ends the line, or there is no command before a `;` or `&`.
pub fn sentences(line: &str) -> Result<Vec<Sentence>, WordsError> {
    let mut cutter = Cutter::default();
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            '\'' => quoted(&mut rest, cutter.word())?,
            '"' => double_quoted(&mut rest, cutter.word())?,
            '\\' => {
                let kept = rest.next().ok_or(WordsError::Backslash)?;
                cutter.word().push(kept);
            }
            '#' if cutter.word.is_none() => break,
            ';' => cutter.end(Place::Foreground, ';')?,
            '&' => cutter.end(Place::Background, '&')?,
            blank if blank.is_whitespace() => cutter.end_word(),
            other => cutter.word().push(other),
        }
    }
    cutter.end_word();
    if !cutter.words.is_empty() {
        cutter.end(Place::Foreground, ';')?;
    }
    Ok(cutter.sentences)
}

#[derive(Default)]
struct Cutter {
    sentences: Vec<Sentence>,
    words: Vec<String>,
    word: Option<String>,
}

impl Cutter {
    /// The word at hand: it is there from its first character or quote on.
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end(&mut self, place: Place, by: char) -> Result<(), WordsError> {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return Err(WordsError::Empty(by));
        }
        self.sentences.push(Sentence { words, place });
        Ok(())
    }
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

/// The word as it can be typed: with quotes where it needs some.
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
    fn what_is_not_closed_is_named() {
        for (line, error) in [
            ("run 'a", WordsError::Open('\'')),
            ("run \"a", WordsError::Open('"')),
            ("run \"a\\", WordsError::Open('"')),
            ("run \\", WordsError::Backslash),
            ("; a", WordsError::Empty(';')),
            ("a ;; b", WordsError::Empty(';')),
            ("&", WordsError::Empty('&')),
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
