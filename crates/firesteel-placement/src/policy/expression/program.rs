//! A compiled expression: steps that compute its value with a small stack.

use super::field::Field;
use super::number::Number;

/// The maximum number of values on the stack.
pub(super) const STACK: usize = 32;

/// The steps of an expression. Each step comes after the steps that compute its operands.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// The fields that the steps use, without duplicates.
    pub(super) fields: Vec<Field>,
}

/// One step: it takes values from the top of the stack, and pushes its result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Number(Number),
    /// Pushes the value of the field with this index in the program's list.
    Field(usize),
    One(fn(Number) -> Number),
    Two(fn(Number, Number) -> Number),
    /// Takes a condition and two values. Pushes the first value if the condition is true, otherwise the second.
    If,
}

impl Program {
    /// Computes the expression's value from the value of each field. The steps must leave exactly one value, and never
    /// have more than [`STACK`] values on the stack.
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

/// The values that later steps will take.
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

    /// The value on the top of the stack; zero if it is empty.
    fn pop(&mut self) -> Number {
        self.open = self.open.saturating_sub(1);
        self.values.get(self.open).copied().unwrap_or_default()
    }
}
