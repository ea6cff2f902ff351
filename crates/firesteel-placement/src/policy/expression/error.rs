//! The errors in the text of an expression.

use super::LONGEST;
use super::parse::DEEPEST;

/// The error in the text of an expression, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at} of the expression: {wrong}")]
pub struct ExpressionError {
    /// The number of the character where the error was noticed; the first character is 1.
    pub at: usize,
    /// The kind of error.
    pub wrong: Wrong,
}

/// The kind of error at a place in the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The text has something else than expected.
    #[error("found {found}, expected {expected}")]
    Unexpected {
        /// The text that was found, in words.
        found: String,
        /// What may be at this place, in words.
        expected: &'static str,
    },
    /// No expression has this character.
    #[error("{0:?} means nothing here: use numbers, names, ( ) , + - * / % < <= > >= == != and or not")]
    Character(char),
    /// The quotes around a name are not closed.
    #[error("the name in quotes has no end: add a \"")]
    Quote,
    /// The number is not written in the notation of expressions.
    #[error("{text:?} is not a number here: {should}")]
    Number {
        /// The number as given.
        text: String,
        /// The notation to use instead.
        should: &'static str,
    },
    /// No field and no function has this name.
    #[error("{name:?} is neither a field nor a function: {}", meant(*suggestion, "a field begins with free, left, asked, total or cluster"))]
    Name {
        /// The name as given.
        name: String,
        /// A similar name that may have been meant.
        suggestion: Option<&'static str>,
    },
    /// The field has no part of this name.
    #[error("{whose:?} has no {name:?}: {}", meant(*suggestion, "write whole or largest, or leave it out"))]
    Part {
        /// The name of the field without the part.
        whose: String,
        /// The name as given.
        name: String,
        /// A similar name that may have been meant.
        suggestion: Option<&'static str>,
    },
    /// The name of a custom resource looks like a misspelt `cores` or `memory`.
    #[error("{name:?} looks like {meant}: write {meant}, or \"{name}\" in quotes for a custom resource")]
    Resource {
        /// The name as given.
        name: String,
        /// The name that may have been meant.
        meant: &'static str,
    },
    /// The function has a wrong number of arguments.
    #[error("{function} takes {takes}, and here are {found}")]
    Arguments {
        /// The function's name.
        function: &'static str,
        /// The arguments that the function takes, in words.
        takes: &'static str,
        /// The number of arguments.
        found: usize,
    },
    /// Two comparisons follow each other without an `and` or parentheses.
    #[error("a comparison has two sides: write a < b and b < c")]
    Comparisons,
    /// The expression has too many nested levels.
    #[error("the expression is nested too deeply: have at most {DEEPEST} levels and open values")]
    Deep,
    /// The expression has too many characters.
    #[error("the expression is too long: write at most {LONGEST} characters")]
    Long,
}

fn meant(suggestion: Option<&str>, otherwise: &str) -> String {
    suggestion.map_or_else(|| otherwise.to_owned(), |name| format!("did you mean {name}?"))
}

/// The known name that is most like this one. At most `most` letters may differ, and less than half of all.
pub(super) fn suggested(name: &str, names: &[&'static str], most: usize) -> Option<&'static str> {
    let distances = names.iter().map(|known| (strsim::osa_distance(name, known), *known));
    let (distance, nearest) = distances.min()?;
    (distance <= most && distance * 2 < nearest.len().max(3)).then_some(nearest)
}
