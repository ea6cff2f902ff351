//! Expressions: policies that an operator or a researcher writes as a formula over the amounts of a Worker and the
//! demand of an executor.
//!
//! `left.cores` is an expression, and so is `if(asked.gpu == 0 and total.gpu > 0, 1000, 0) + left.gpu.whole`. Each
//! executor goes to the Worker with the lowest value. Ties are broken as under best fit ([`Measure::Expression`]).
//!
//! ```text
//! expression = and { "or" and }
//! and        = not { "and" not }
//! not        = "not" not | comparison
//! comparison = sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum ]
//! sum        = product { ( "+" | "-" ) product }
//! product    = signed { ( "*" | "/" | "%" ) signed }
//! signed     = "-" signed | value
//! value      = number | field | function "(" expression { "," expression } ")" | "(" expression ")"
//! function   = "min" | "max" | "abs" | "floor" | "if"
//! ```
//!
//! A text is compiled into a list of steps (`program.rs`). Its length, its depth and the number of values on the stack
//! are bounded, so that compiling and computing need only a small stack for any text. Computing cannot fail: numbers
//! are whole billionths and saturate at the ends of their range, and division by zero gives zero.
//!
//! [`Measure::Expression`]: super::Measure::Expression

mod error;
mod field;
mod number;
mod parse;
mod program;
#[cfg(test)]
mod tests;
mod token;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use error::{ExpressionError, Wrong};
pub(super) use number::Number;

use self::field::{Facts, Field};
use self::program::Program;
use super::room::Room;
use super::{ClusterTotal, Formula};
use crate::index::Slot;
use crate::{Demand, Offer};

/// The maximum number of characters of an expression.
pub const LONGEST: usize = 2000;

/// A rule for choosing Workers that is written as a formula: each executor goes to the Worker with the lowest value.
/// Between equal values, best fit decides, and then the id. Copies share one text.
///
/// Cores are whole numbers, and memory is in MiB. A custom resource (`gpu` in this table is an example) is a number of
/// addresses, which may be a fraction.
///
/// | field | meaning |
/// |---|---|
/// | `free.cores`, `free.memory`, `free.gpu` | free on the Worker before the executor |
/// | `left.cores`, `left.memory`, `left.gpu` | free on the Worker after it |
/// | `asked.cores`, `asked.memory`, `asked.gpu` | requested by the executor; `asked.cores` is 1 without a fixed size |
/// | `total.cores`, .. | what the Worker has, free or not |
/// | `cluster.cores`, .. | what all Workers have together |
/// | `free.gpu.whole`, `left.gpu.whole` | the number of addresses that are completely free |
/// | `free.gpu.largest`, `left.gpu.largest` | the largest free part of one address |
/// | `placed` | the number of executors that this placement has already put on the Worker |
///
/// Operators, from the weakest: `or`, `and`, `not`, comparisons (1 or 0), `+` `-`, `*` `/` `%`, `-` before a value.
/// Functions: `min`, `max`, `abs`, `floor` and `if(condition, a, b)`. Numbers have nine digits after the point, and
/// anything divided by zero is 0.
///
/// ```
/// # use firesteel_placement::Expression;
/// let balanced: Expression = "abs(left.cores / cluster.cores - left.memory / cluster.memory)".parse()?;
/// # Ok::<(), firesteel_placement::ExpressionError>(())
/// ```
#[derive(Clone)]
pub struct Expression(Arc<Read>);

/// A text and its compiled program.
struct Read {
    text: String,
    program: Program,
}

impl Expression {
    /// The text as given, without spaces around it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

impl Formula<'_> {
    /// The value for the next executor of the demand on this offer, from which `before` other executors have already
    /// taken. The executor must fit.
    pub(super) fn value(
        &self,
        demand: &Demand,
        cluster: &ClusterTotal,
        (slot, offer): (Slot, &Offer<'_>),
        before: u64,
    ) -> Number {
        let Read { program, .. } = &*self.expression.0;
        let needs = |need: fn(&Field) -> bool| program.fields.iter().any(need);
        let rooms = needs(Field::needs_rooms).then(|| {
            let mut free = Room::of(offer);
            if !demand.resources.is_empty() {
                (0..before).for_each(|_| free.take(demand));
            }
            let mut left = free.clone();
            left.take(demand);
            [free, left]
        });
        let whole = needs(Field::needs_whole).then(|| (self.whole)(slot)).flatten();
        let facts = Facts { demand, cluster, offer, whole, rooms, before };
        program.value(|field| field.value(&facts))
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        if text.chars().nth(LONGEST).is_some() {
            return Err(ExpressionError { at: LONGEST + 1, wrong: Wrong::Long });
        }
        let program = parse::program(text)?;
        Ok(Self(Arc::new(Read { text: text.trim().to_owned(), program })))
    }
}

/// Expressions are equal if their texts are equal.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.text == other.0.text
    }
}

impl Eq for Expression {}

/// Shows the text.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.text)
    }
}

/// Shows the text.
impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.0.text).finish()
    }
}
