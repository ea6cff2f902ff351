//! The tokens of an expression's text: numbers, names and marks.

use super::error::{ExpressionError, Wrong};
use super::field::Segment;
use super::number::{NoNumber, Number};

/// A token of an expression, and the number of its first character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) what: WordKind,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    Number(Number),
    /// A name that consists of segments with points between them.
    Name(Vec<Segment>),
    /// `(`, `)`, `,` or an operator.
    Mark(&'static str),
    End,
}

/// The marks, longer ones first: `<=` must come before `<`, because the first match counts.
const MARKS: [&str; 14] = ["<=", ">=", "==", "!=", "<", ">", "(", ")", ",", "+", "-", "*", "/", "%"];

impl WordKind {
    /// The token in words, for error messages.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(segments) => format!("{:?}", shown(segments)),
            Self::Mark(mark) => format!("{mark:?}"),
            Self::End => "the end".to_owned(),
        }
    }

    /// Whether the token is this word, without points and quotes.
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Name(segments) if segments.len() == 1 && !segments[0].is_quoted && segments[0].text == word)
    }
}

/// The name as written in the text.
pub(super) fn shown(segments: &[Segment]) -> String {
    let one = |segment: &Segment| match segment.is_quoted {
        true => format!("\"{}\"", segment.text),
        false => segment.text.clone(),
    };
    segments.iter().map(one).collect::<Vec<_>>().join(".")
}

/// All tokens of the text, and a token for the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let mut reader = Reader { rest: text, at: 1 };
    let mut tokens = Vec::new();
    loop {
        reader.take(|first| first.is_whitespace());
        let at = reader.at;
        let what = reader.next()?;
        let is_end = what == WordKind::End;
        tokens.push(Token { at, what });
        if is_end {
            return Ok(tokens);
        }
    }
}

/// The part of the text that is not read yet, and the number of its first character.
struct Reader<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<WordKind, ExpressionError> {
        let Some(first) = self.rest.chars().next() else { return Ok(WordKind::End) };
        if first.is_ascii_digit() {
            return self.number();
        }
        if begins_name(first) || first == '"' {
            return self.name();
        }
        let mark = MARKS.into_iter().find(|mark| self.rest.starts_with(mark));
        let mark = mark.ok_or(ExpressionError { at: self.at, wrong: Wrong::Character(first) })?;
        self.skip(mark.len());
        Ok(WordKind::Mark(mark))
    }

    fn number(&mut self) -> Result<WordKind, ExpressionError> {
        let at = self.at;
        let text = self.take(|next| next.is_ascii_alphanumeric() || matches!(next, '.' | '_'));
        let number = Number::read(text).map_err(|wrong| {
            let should = match wrong {
                NoNumber::Form => "write digits, and a point between digits: 12, 0.25",
                NoNumber::Digits => "write at most nine digits after the point",
                NoNumber::Large => "write less than 10^29",
            };
            ExpressionError { at, wrong: Wrong::Number { text: text.to_owned(), should } }
        })?;
        Ok(WordKind::Number(number))
    }

    fn name(&mut self) -> Result<WordKind, ExpressionError> {
        let mut segments = vec![self.segment()?];
        while self.rest.starts_with('.') {
            self.skip(1);
            let segment = self.segment()?;
            segments.push(segment);
        }
        Ok(WordKind::Name(segments))
    }

    /// Reads a segment of a name. The segment may be empty, but no field has an empty segment.
    fn segment(&mut self) -> Result<Segment, ExpressionError> {
        let at = self.at;
        if !self.rest.starts_with('"') {
            let text = self.take(|next| begins_name(next) || next.is_ascii_digit() || next == ':');
            return Ok(Segment { text: text.to_owned(), at, is_quoted: false });
        }
        self.skip(1);
        let text = self.take(|next| next != '"');
        if self.rest.is_empty() {
            return Err(ExpressionError { at, wrong: Wrong::Quote });
        }
        self.skip(1);
        Ok(Segment { text: text.to_owned(), at, is_quoted: true })
    }

    /// Takes the characters up to the first one for which `holds` is false.
    fn take(&mut self, holds: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|next| !holds(next)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        (self.rest, self.at) = (rest, self.at + taken.chars().count());
        taken
    }

    /// Skips this number of ASCII characters.
    fn skip(&mut self, characters: usize) {
        (self.rest, self.at) = (&self.rest[characters..], self.at + characters);
    }
}

fn begins_name(first: char) -> bool {
    first.is_ascii_alphabetic() || first == '_'
}
