//! A read expression: steps that compute its value with a small stack.

use super::field::Field;
use super::number::Number;

/// The number of values that may be open at a time.
pub(super) const STACK: usize = 32;

/// The steps of an expression, each after those that compute its operands.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// The fields that the steps name, each once.
    pub(super) fields: Vec<Field>,
}

/// One step: it takes the latest values, and leaves its result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Number(Number),
    /// The field with this place in the program's list.
    Field(usize),
    One(fn(Number) -> Number),
    Two(fn(Number, Number) -> Number),
    /// Of a condition and two values, the first value if the condition is true.
    If,
}

impl Program {
    /// The value, with the value of each field. The steps must leave one value and have no more than [`STACK`] open.
    pub(super) fn value(&self, field: impl Fn(&Field) -> Number) -> Number {
        let mut stack = Stack { values: [Number::ZERO; STACK], open: 0 };
        for step in &self.steps {
            match step {
                Step::Number(number) => stack.push(*number),
                Step::Field(at) => stack.push(self.fields.get(*at).map_or(Number::ZERO, &field)),
                Step::One(of) => {
                    let one = stack.pop();
                    stack.push(of(one));
                }
                Step::Two(of) => {
                    let [other, one] = [stack.pop(), stack.pop()];
                    stack.push(of(one, other));
                }
                Step::If => {
                    let [other, one, condition] = [stack.pop(), stack.pop(), stack.pop()];
                    stack.push(if condition.is_true() { one } else { other });
                }
            }
        }
        stack.pop()
    }
}

/// The values that later steps take.
struct Stack {
    values: [Number; STACK],
    open: usize,
}

impl Stack {
    fn push(&mut self, number: Number) {
        if let Some(place) = self.values.get_mut(self.open) {
            *place = number;
            self.open += 1;
        }
    }

    /// The latest value; zero if there is none.
    fn pop(&mut self) -> Number {
        self.open = self.open.saturating_sub(1);
        self.values.get(self.open).copied().unwrap_or_default()
    }
}
