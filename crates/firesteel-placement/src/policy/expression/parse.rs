//! Compiles the text of an expression into a program, by recursive descent with a bound on its depth.

use super::error::{ExpressionError, Wrong, suggested};
use super::field::{FIRST, Field, Segment};
use super::number::Number;
use super::program::{Program, STACK, Step};
use super::token::{Token, WordKind, shown, tokens};

/// The number of levels that may be nested: parentheses, functions and signs before a value.
pub(super) const DEEPEST: usize = STACK;

/// A name that is followed by parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Abs,
    Floor,
    If,
}

/// An operator between two values.
type Operator = (&'static str, fn(Number, Number) -> Number);

const COMPARISONS: [Operator; 6] = [
    ("<", |one, other| Number::truth(one < other)),
    ("<=", |one, other| Number::truth(one <= other)),
    (">", |one, other| Number::truth(one > other)),
    (">=", |one, other| Number::truth(one >= other)),
    ("==", |one, other| Number::truth(one == other)),
    ("!=", |one, other| Number::truth(one != other)),
];
const SUMS: [Operator; 2] = [("+", Number::plus), ("-", Number::minus)];
const PRODUCTS: [Operator; 3] = [("*", Number::times), ("/", Number::over), ("%", Number::rest)];

/// What a value may be, for error messages.
const VALUE: &str = "a number, a field such as left.cores, a function, - or (";
/// What may follow a value, for error messages.
const AFTER_VALUE: &str = "an operator or the end";

/// Compiles a whole text.
pub(super) fn program(text: &str) -> Result<Program, ExpressionError> {
    let mut parser =
        Parser { tokens: tokens(text)?, next: 0, depth: 0, open: 0, program: Program::default() };
    parser.either()?;
    match &parser.token().what {
        WordKind::End => Ok(parser.program),
        WordKind::Number(_) | WordKind::Name(_) | WordKind::Mark(_) => Err(parser.unexpected(AFTER_VALUE)),
    }
}

struct Parser {
    /// The tokens of the text. The last one marks the end.
    tokens: Vec<Token>,
    next: usize,
    /// The number of levels around the next token.
    depth: usize,
    /// The number of values that the steps so far leave on the stack.
    open: usize,
    program: Program,
}

impl Parser {
    /// Parses values with `or` between them.
    fn either(&mut self) -> Result<(), ExpressionError> {
        self.both()?;
        while self.took_word("or") {
            self.both()?;
            self.two(|one, other| Number::truth(one.is_true() || other.is_true()));
        }
        Ok(())
    }

    /// Parses values with `and` between them.
    fn both(&mut self) -> Result<(), ExpressionError> {
        self.negation()?;
        while self.took_word("and") {
            self.negation()?;
            self.two(|one, other| Number::truth(one.is_true() && other.is_true()));
        }
        Ok(())
    }

    /// Parses a comparison that may have `not` before it.
    fn negation(&mut self) -> Result<(), ExpressionError> {
        if !self.token().what.is_word("not") {
            return self.comparison();
        }
        self.deeper(|parser| {
            parser.next += 1;
            parser.negation()?;
            parser.push(Step::One(|one| Number::truth(!one.is_true())));
            Ok(())
        })
    }

    /// Parses a sum, or two sums with a comparison between them.
    fn comparison(&mut self) -> Result<(), ExpressionError> {
        self.sum()?;
        let Some(compare) = self.took_operator(&COMPARISONS) else { return Ok(()) };
        self.sum()?;
        self.two(compare);
        let at = self.token().at;
        match self.took_operator(&COMPARISONS) {
            None => Ok(()),
            Some(_) => Err(ExpressionError { at, wrong: Wrong::Comparisons }),
        }
    }

    fn sum(&mut self) -> Result<(), ExpressionError> {
        self.product()?;
        while let Some(operator) = self.took_operator(&SUMS) {
            self.product()?;
            self.two(operator);
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), ExpressionError> {
        self.signed()?;
        while let Some(operator) = self.took_operator(&PRODUCTS) {
            self.signed()?;
            self.two(operator);
        }
        Ok(())
    }

    /// Parses a value that may have `-` before it.
    fn signed(&mut self) -> Result<(), ExpressionError> {
        if self.token().what != WordKind::Mark("-") {
            return self.value();
        }
        self.deeper(|parser| {
            parser.next += 1;
            parser.signed()?;
            parser.push(Step::One(Number::negated));
            Ok(())
        })
    }

    fn value(&mut self) -> Result<(), ExpressionError> {
        let Token { at, what } = self.token().clone();
        match what {
            WordKind::Number(number) => {
                self.next += 1;
                self.open(at, Step::Number(number))
            }
            WordKind::Mark("(") => self.deeper(|parser| {
                parser.next += 1;
                parser.either()?;
                parser.expect(")", "an operator or )")
            }),
            WordKind::Name(segments) if !is_operator(&segments) => {
                self.next += 1;
                match Field::named(&segments)? {
                    Some(field) => self.field(at, field),
                    None => match Function::named(&segments) {
                        Some(function) => self.deeper(|parser| parser.call(at, function)),
                        None => Err(unknown(at, &segments)),
                    },
                }
            }
            WordKind::Name(_) | WordKind::Mark(_) | WordKind::End => Err(self.unexpected(VALUE)),
        }
    }

    fn field(&mut self, at: usize, field: Field) -> Result<(), ExpressionError> {
        let fields = &mut self.program.fields;
        let place = fields.iter().position(|known| *known == field).unwrap_or_else(|| {
            fields.push(field);
            fields.len() - 1
        });
        self.open(at, Step::Field(place))
    }

    /// Parses the arguments of a function, in parentheses.
    fn call(&mut self, at: usize, function: Function) -> Result<(), ExpressionError> {
        self.expect("(", "( after the name of a function")?;
        let mut found = 0;
        if self.token().what != WordKind::Mark(")") {
            loop {
                self.either()?;
                found += 1;
                match function.between() {
                    Some(between) if found > 1 => self.two(between),
                    Some(_) | None => {}
                }
                if self.token().what != WordKind::Mark(",") {
                    break;
                }
                self.next += 1;
            }
        }
        self.expect(")", "an operator, a comma or )")?;
        match (function, found) {
            (Function::Min | Function::Max, 1..) => {}
            (Function::Abs, 1) => self.push(Step::One(Number::abs)),
            (Function::Floor, 1) => self.push(Step::One(Number::floor)),
            (Function::If, 3) => {
                self.push(Step::If);
                self.open = self.open.saturating_sub(2);
            }
            (Function::Min | Function::Max | Function::Abs | Function::Floor | Function::If, _) => {
                let wrong = Wrong::Arguments { function: function.name(), takes: function.takes(), found };
                return Err(ExpressionError { at, wrong });
            }
        }
        Ok(())
    }

    /// Parses a part that is one level deeper.
    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), ExpressionError>,
    ) -> Result<(), ExpressionError> {
        if self.depth == DEEPEST {
            return Err(ExpressionError { at: self.token().at, wrong: Wrong::Deep });
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Adds a step that pushes one value.
    fn open(&mut self, at: usize, step: Step) -> Result<(), ExpressionError> {
        if self.open == STACK {
            return Err(ExpressionError { at, wrong: Wrong::Deep });
        }
        self.open += 1;
        self.push(step);
        Ok(())
    }

    /// Adds a step that replaces two values by one.
    fn two(&mut self, operator: fn(Number, Number) -> Number) {
        self.open = self.open.saturating_sub(1);
        self.push(Step::Two(operator));
    }

    fn push(&mut self, step: Step) {
        self.program.steps.push(step);
    }

    fn token(&self) -> &Token {
        &self.tokens[self.next]
    }

    fn took_word(&mut self, word: &str) -> bool {
        let is_here = self.token().what.is_word(word);
        self.next += usize::from(is_here);
        is_here
    }

    fn took_operator(&mut self, operators: &[Operator]) -> Option<fn(Number, Number) -> Number> {
        let WordKind::Mark(here) = self.token().what else { return None };
        let (_, operator) = operators.iter().find(|(mark, _)| *mark == here)?;
        self.next += 1;
        Some(*operator)
    }

    fn expect(&mut self, mark: &'static str, expected: &'static str) -> Result<(), ExpressionError> {
        if self.token().what != WordKind::Mark(mark) {
            return Err(self.unexpected(expected));
        }
        self.next += 1;
        Ok(())
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let Token { at, what } = self.token();
        ExpressionError { at: *at, wrong: Wrong::Unexpected { found: what.words(), expected } }
    }
}

impl Function {
    const ALL: [Self; 5] = [Self::Min, Self::Max, Self::Abs, Self::Floor, Self::If];

    fn named(segments: &[Segment]) -> Option<Self> {
        let [Segment { text, is_quoted: false, .. }] = segments else { return None };
        Self::ALL.into_iter().find(|function| function.name() == text)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Abs => "abs",
            Self::Floor => "floor",
            Self::If => "if",
        }
    }

    /// The arguments that the function takes, in words.
    const fn takes(self) -> &'static str {
        match self {
            Self::Min | Self::Max => "at least one value",
            Self::Abs | Self::Floor => "one value",
            Self::If => "three values: a condition, and what to take if it holds and if not",
        }
    }

    /// The operation that combines two arguments into one value, if the function takes any number of arguments.
    fn between(self) -> Option<fn(Number, Number) -> Number> {
        match self {
            Self::Min => Some(|one, other| one.min(other)),
            Self::Max => Some(|one, other| one.max(other)),
            Self::Abs | Self::Floor | Self::If => None,
        }
    }
}

/// Whether the name is an operator between values, such as `and`.
fn is_operator(segments: &[Segment]) -> bool {
    let [Segment { text, is_quoted: false, .. }] = segments else { return false };
    matches!(text.as_str(), "and" | "or" | "not")
}

/// The error for a name that is neither a field nor a function.
fn unknown(at: usize, segments: &[Segment]) -> ExpressionError {
    let first = segments.first().filter(|first| !first.is_quoted).map_or("", |first| first.text.as_str());
    let names: Vec<&'static str> = match segments.len() {
        1 => FIRST.into_iter().chain(Function::ALL.map(Function::name)).collect(),
        _ => FIRST.to_vec(),
    };
    let suggestion = suggested(first, &names, 2);
    ExpressionError { at, wrong: Wrong::Name { name: shown(segments), suggestion } }
}
