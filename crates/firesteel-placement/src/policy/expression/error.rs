//! What is wrong with the text of an expression.

use super::LONGEST;
use super::parse::DEEPEST;

/// What is wrong with the text of an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at} of the expression: {wrong}")]
pub struct ExpressionError {
    /// The number of the character at which it was noticed; the first is 1.
    pub at: usize,
    /// What is wrong there.
    pub wrong: Wrong,
}

/// What is wrong at a place in the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// There is something else than expected.
    #[error("found {found}, expected {expected}")]
    Unexpected {
        /// What is there, in words.
        found: String,
        /// What may be there, in words.
        expected: &'static str,
    },
    /// No expression has this character.
    #[error("{0:?} means nothing here: use numbers, names, ( ) , + - * / % < <= > >= == != and or not")]
    Character(char),
    /// The quotes around a name are not closed.
    #[error("the name in quotes has no end: add a \"")]
    Quote,
    /// A number that is not written as expressions have them.
    #[error("{text:?} is not a number here: {should}")]
    Number {
        /// The text as given.
        text: String,
        /// What to write.
        should: &'static str,
    },
    /// Neither a field nor a function has this name.
    #[error("{name:?} is neither a field nor a function: {}", meant(*suggestion, "a field begins with free, left, asked, total or cluster"))]
    Name {
        /// The name as given.
        name: String,
        /// A name that may have been meant.
        suggestion: Option<&'static str>,
    },
    /// A field has no part of this name.
    #[error("{whose:?} has no {name:?}: {}", meant(*suggestion, "write whole or largest, or leave it out"))]
    Part {
        /// The field without the part.
        whose: String,
        /// The name as given.
        name: String,
        /// A name that may have been meant.
        suggestion: Option<&'static str>,
    },
    /// A custom resource looks like cores or memory that are misspelt.
    #[error("{name:?} looks like {meant}: write {meant}, or \"{name}\" in quotes for a custom resource")]
    Resource {
        /// The name as given.
        name: String,
        /// What may have been meant.
        meant: &'static str,
    },
    /// A function with a wrong number of arguments.
    #[error("{function} takes {takes}, and here are {found}")]
    Arguments {
        /// The function's name.
        function: &'static str,
        /// What it takes, in words.
        takes: &'static str,
        /// The number of arguments.
        found: usize,
    },
    /// Two comparisons without an `and` or parentheses between them.
    #[error("a comparison has two sides: write a < b and b < c")]
    Comparisons,
    /// There are too many levels.
    #[error("the expression is nested too deeply: have at most {DEEPEST} levels and open values")]
    Deep,
    /// There are too many characters.
    #[error("the expression is too long: write at most {LONGEST} characters")]
    Long,
}

fn meant(suggestion: Option<&str>, otherwise: &str) -> String {
    suggestion.map_or_else(|| otherwise.to_owned(), |name| format!("did you mean {name}?"))
}

/// The one of these names that is like this one: at most this number of letters differ, and less than half of them.
pub(super) fn suggested(name: &str, names: &[&'static str], most: usize) -> Option<&'static str> {
    let distances = names.iter().map(|known| (distance(name, known), *known));
    let (distance, nearest) = distances.min()?;
    (distance <= most && distance * 2 < nearest.len().max(3)).then_some(nearest)
}

/// The number of characters to insert, remove, change, or swap with the next one.
fn distance(one: &str, other: &str) -> usize {
    let [one, other] = [one, other].map(|text| text.chars().collect::<Vec<char>>());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for (row, here) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, there) in other.iter().enumerate() {
            let changed = rows[row][column] + usize::from(here != there);
            let inserted = (rows[row][column + 1] + 1).min(next[column] + 1);
            let is_swapped = row > 0 && column > 0 && one[row - 1] == *there && other[column - 1] == *here;
            let swapped = if is_swapped { rows[row - 1][column - 1] + 1 } else { usize::MAX };
            next.push(changed.min(inserted).min(swapped));
        }
        rows.push(next);
    }
    rows[one.len()][other.len()]
}
