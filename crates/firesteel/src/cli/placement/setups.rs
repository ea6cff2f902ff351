//! Policies on the command lines of `plan` and `simulate`: names of set-ups, and expressions.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use firesteel_placement::advanced::policy::EXPRESSION;
use firesteel_sim::setup::Setup;

/// Set-ups separated by commas: the value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setups(pub(super) Vec<Setup>);

/// Parses the name of a set-up, or `expr:` and an expression. Help lists the names and their meanings.
#[derive(Clone, Debug)]
pub(super) struct SetupParser;

/// Parses several set-ups, separated by commas.
#[derive(Clone, Debug)]
pub(super) struct SetupsParser;

impl TypedValueParser for SetupParser {
    type Value = Setup;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Setup, clap::Error> {
        match value.to_str().is_some_and(|text| text.starts_with(EXPRESSION)) {
            true => {
                let expression = StringValueParser::new().try_map(|text| text.parse::<Setup>());
                expression.parse_ref(command, argument, value)
            }
            false => {
                let name = PossibleValuesParser::new(names())
                    .map(|name| name.parse().expect("the parser accepts only names of set-ups"));
                name.parse_ref(command, argument, value)
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(names().into_iter()))
    }
}

impl TypedValueParser for SetupsParser {
    type Value = Setups;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Setups, clap::Error> {
        let text = StringValueParser::new().parse_ref(command, argument, value)?;
        let one = |text: &str| SetupParser.parse_ref(command, argument, OsStr::new(text));
        split(&text).into_iter().map(one).collect::<Result<_, _>>().map(Setups)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        SetupParser.possible_values().map(|values| Box::new(values.collect::<Vec<_>>().into_iter()) as _)
    }
}

fn names() -> Vec<PossibleValue> {
    let value = |setup: Setup| PossibleValue::new(setup.name().into_owned()).help(setup.meaning());
    Setup::ALL.into_iter().map(value).collect()
}

/// Splits at commas, except at those inside the parentheses or quotes of an expression.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut is_quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, character) in text.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if !is_quoted && depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_an_expression_belong_to_it() {
        for (text, parts) in [
            ("spark", &["spark"][..]),
            ("spark,best-fit", &["spark", "best-fit"]),
            ("expr:min(left.cores, 2),spark", &["expr:min(left.cores, 2)", "spark"]),
            ("expr:left.\"a,b(\",spark", &["expr:left.\"a,b(\"", "spark"]),
            ("expr:if(1, max(2, 3), 4) + 1,expr:2", &["expr:if(1, max(2, 3), 4) + 1", "expr:2"]),
            ("spark,", &["spark", ""]),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
    }
}
