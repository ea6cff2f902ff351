//! Expressions compute the stated values, and any text is accepted or rejected safely.

use std::collections::BTreeMap;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::advanced::policy::{Formula, Measure, fill};
use firesteel_placement::{Expression, Rule};
use firesteel_placement::{Offer, Resources};
use quickcheck::{Arbitrary, Gen};

use super::{Looked, Numbered, one_by_one_with};
use crate::placement::reference::case::{Case, pick};
use crate::placement::reference::{Ask, Worker};
use crate::suites::laws::{ensure, hold};

/// The number of billionths in one.
const ONE: i128 = 1_000_000_000;

/// An expression as a tree. Its value is computed without the code under test.
#[derive(Clone, Debug)]
enum Tree {
    /// A number of thousandths.
    Number(i64),
    Field(&'static str, &'static str),
    Minus(Box<Tree>),
    Not(Box<Tree>),
    Floor(Box<Tree>),
    Two(&'static str, Box<[Tree; 2]>),
    If(Box<[Tree; 3]>),
}

const OPERATORS: [&str; 16] =
    ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "and", "or", "min", "max", "+"];

impl Tree {
    fn grown(g: &mut Gen, depth: u32) -> Self {
        let inner = |g: &mut Gen| Self::grown(g, depth - 1);
        match if depth == 0 { 0 } else { u32::arbitrary(g) % 8 } {
            0 if bool::arbitrary(g) => Self::Number(i64::from(u16::arbitrary(g) % 5000)),
            0 | 1 => {
                let resource = pick(g, &["cores", "memory", "gpu", "fpga"]);
                let when = pick(g, &["free", "left", "asked", "total", "cluster", "placed", "whole"]);
                match when {
                    "placed" => Self::Field("placed", ""),
                    "whole" if matches!(resource, "gpu" | "fpga") => Self::Field("whole", resource),
                    "whole" => Self::Field("left", resource),
                    when => Self::Field(when, resource),
                }
            }
            2 => Self::Minus(Box::new(inner(g))),
            3 => Self::Not(Box::new(inner(g))),
            4 => Self::Floor(Box::new(inner(g))),
            5 => Self::If(Box::new([inner(g), inner(g), inner(g)])),
            _ => Self::Two(pick(g, &OPERATORS), Box::new([inner(g), inner(g)])),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(thousandths) => format!("{}.{:03}", thousandths / 1000, thousandths % 1000),
            Self::Field("placed", _) => "placed".to_owned(),
            Self::Field("whole", resource) => format!("left.{resource}.whole"),
            Self::Field(when, resource) => format!("{when}.{resource}"),
            Self::Minus(of) => format!("-({})", of.text()),
            Self::Not(of) => format!("(not {})", of.text()),
            Self::Floor(of) => format!("floor({})", of.text()),
            Self::If(of) => format!("if({}, {}, {})", of[0].text(), of[1].text(), of[2].text()),
            Self::Two(name @ ("min" | "max"), of) => format!("{name}({}, {})", of[0].text(), of[1].text()),
            Self::Two(operator, of) => format!("({} {operator} {})", of[0].text(), of[1].text()),
        }
    }

    /// The value in billionths; `None` if numbers may exceed the range.
    fn value(&self, looked: &Looked<'_>, ask: &Ask, workers: &[Worker]) -> Option<i128> {
        let of = |tree: &Tree| tree.value(looked, ask, workers);
        let truth = |is_true: bool| if is_true { ONE } else { 0 };
        let value = match self {
            Self::Number(thousandths) => i128::from(*thousandths) * (ONE / 1000),
            Self::Field(when, resource) => {
                let amount = |worker: &Worker| match *resource {
                    "cores" => worker.cores,
                    "memory" => worker.memory,
                    name => worker.resources.get(name).copied().unwrap_or(0) as i64,
                };
                let amount = match *when {
                    "free" => amount(looked.before),
                    "left" | "whole" => amount(looked.after),
                    "total" => amount(workers.iter().find(|it| it.id == looked.before.id)?),
                    "cluster" => workers.iter().map(|worker| amount(worker).max(0)).sum(),
                    "asked" => match *resource {
                        "cores" => ask.cores?,
                        "memory" => ask.memory,
                        name => ask.resources.get(name).copied().unwrap_or(0) as i64,
                    },
                    _ => looked.placed as i64,
                };
                i128::from(amount) * ONE
            }
            Self::Minus(tree) => -of(tree)?,
            Self::Not(tree) => truth(of(tree)? == 0),
            Self::Floor(tree) => of(tree)?.div_euclid(ONE) * ONE,
            Self::If(trees) => {
                let [condition, one, other] = [of(&trees[0])?, of(&trees[1])?, of(&trees[2])?];
                if condition == 0 { other } else { one }
            }
            Self::Two(operator, trees) => {
                let [one, other] = [of(&trees[0])?, of(&trees[1])?];
                match *operator {
                    "+" => one + other,
                    "-" => one - other,
                    "*" => one.checked_mul(other)? / ONE,
                    "/" if other == 0 => 0,
                    "/" => one.checked_mul(ONE)? / other,
                    "%" if other == 0 => 0,
                    "%" => one % other,
                    "<" => truth(one < other),
                    "<=" => truth(one <= other),
                    ">" => truth(one > other),
                    ">=" => truth(one >= other),
                    "==" => truth(one == other),
                    "!=" => truth(one != other),
                    "and" => truth(one != 0 && other != 0),
                    "or" => truth(one != 0 || other != 0),
                    "min" => one.min(other),
                    _ => one.max(other),
                }
            }
        };
        (value.abs() < i128::MAX / 4).then_some(value)
    }
}

#[derive(Clone, Debug)]
struct Ruled {
    case: Case,
    tree: Tree,
}

impl Arbitrary for Ruled {
    fn arbitrary(g: &mut Gen) -> Self {
        Self { case: Case::arbitrary(g), tree: Tree::grown(g, 4) }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let tree = self.tree.clone();
        Box::new(self.case.shrink().map(move |case| Self { case, tree: tree.clone() }))
    }
}

#[test]
fn each_executor_goes_where_the_value_is_the_least() {
    hold("placement::expressions", 6_000, |Ruled { case, tree }: &Ruled| {
        if case.ask.cores.is_none() {
            return Ok(());
        }
        let expression: Expression =
            tree.text().parse().map_err(|error| format!("{}: {error}", tree.text()))?;
        let translated = case.translate();
        let numbered = Numbered::new(translated.offers());
        let total = |slot: Slot| {
            numbered.offers.iter().find(|offer| numbered.index.slot(&offer.worker) == Some(slot)).copied()
        };
        let measure = Measure::Expression(Formula { expression: &expression, whole: &total });
        let shares = fill(measure, &translated.demand, numbered.candidates(|_| 0), &numbered.whole());
        let given = numbered.named(&shares).into_iter();
        let given: BTreeMap<String, u64> =
            given.map(|(id, executors, _)| (id.to_owned(), executors)).collect();
        let is_large = std::cell::Cell::new(false);
        let value = |looked: &Looked<'_>| {
            let value = tree.value(looked, &case.ask, &case.workers);
            is_large.set(is_large.get() || value.is_none());
            value.unwrap_or(0)
        };
        let expected = one_by_one_with(&value, false, &case.ask, &case.workers, |_| 0);
        let text = tree.text();
        ensure!(is_large.get() || given == expected, "{text} gives {given:?}, one by one {expected:?}");
        Ok(())
    });
}

#[test]
fn the_formula_of_best_fit_decides_as_best_fit() {
    let shares = ["cores", "memory", "gpu", "fpga", "nic"].map(|it| format!("left.{it} / cluster.{it}"));
    let expression: Expression = format!("max({})", shares.join(", ")).parse().expect("it can be read");
    hold("placement::expressions", 4_000, |case: &Case| {
        let translated = case.translate();
        let numbered = Numbered::new(translated.offers());
        let none = |_: Slot| None;
        let measure = Measure::Expression(Formula { expression: &expression, whole: &none });
        let [ours, best_fit] = [measure, Measure::LeftOver]
            .map(|measure| fill(measure, &translated.demand, numbered.candidates(|_| 0), &numbered.whole()));
        ensure!(ours == best_fit, "the formula {ours:?}, best fit {best_fit:?}");
        Ok(())
    });
}

/// A text of words that occur in expressions, and of other words.
#[derive(Clone, Debug)]
struct Text(String);

const WORDS: [&str; 32] = [
    "(",
    ")",
    ",",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    "<=",
    "==",
    "!=",
    "and",
    "or",
    "not",
    "min",
    "if",
    "abs",
    "floor",
    "left",
    ".",
    "cores",
    "memory",
    "gpu",
    "whole",
    "free.gpu.largest",
    "placed",
    "\"",
    "0",
    "12.5",
    " ",
    "170141183460469231731687303715",
];

impl Arbitrary for Text {
    fn arbitrary(g: &mut Gen) -> Self {
        if u8::arbitrary(g).is_multiple_of(4) {
            return Self(String::arbitrary(g));
        }
        let repeated = pick(g, &[1, 1, 1, 40, 400]);
        let words = Vec::<u8>::arbitrary(g).into_iter().map(|word| WORDS[usize::from(word) % WORDS.len()]);
        Self(words.collect::<String>().repeat(repeated))
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.shrink().map(Self))
    }
}

#[test]
fn no_text_does_any_harm_and_what_is_read_is_shown_as_it_is_read() {
    hold("placement::expressions", 40_000, |Text(text): &Text| {
        let expression: Expression = match text.parse() {
            Ok(expression) => expression,
            Err(error) => {
                let characters = text.chars().count();
                ensure!(
                    (1..=characters + 1).contains(&error.at),
                    "{error} is not in {characters} characters"
                );
                return Ok(());
            }
        };
        ensure!(expression.to_string().parse() == Ok(expression.clone()), "{expression} is another one");
        let rule = Rule::Expression(expression.clone());
        ensure!(rule.to_string().parse() == Ok(rule.clone()), "{rule} is another rule");
        let case = Case::arbitrary(&mut Gen::from_size_and_seed(8, text.len() as u64));
        let translated = case.translate();
        let numbered = Numbered::new(translated.offers());
        let total = |_: Slot| {
            Some(Offer {
                worker: "",
                cores: numbered.offers.first()?.cores,
                memory: numbered.offers.first()?.memory,
                resources: Resources::NONE,
            })
        };
        let measure = Measure::Expression(Formula { expression: &expression, whole: &total });
        fill(measure, &translated.demand, numbered.candidates(|_| 0), &numbered.whole());
        Ok(())
    });
}
