//! Custom resources that a Spark application requests with an environment variable of its executors.
//!
//! Spark counts only whole addresses, and has no kinds of resources. So an application that wants a fraction of an
//! address, or a kind, requests it only from the Master: `spark.executorEnv.FIRESTEEL_RESOURCES=gpu=0.25`. The
//! executors find these resources in their environment variables; Spark itself is not informed of them.

use std::collections::BTreeMap;

use firesteel_placement::{Amount, ResourceAmounts, Resources};

/// The environment variable of executors that contains the requests: `gpu=0.25` or `gpu:A100=1,nic=1`.
pub const RESOURCES: &str = "FIRESTEEL_RESOURCES";

/// The amounts that the variable requests.
///
/// # Errors
///
/// A part of the text is not `NAME=AMOUNT`. The error is the first such part.
pub fn asked(environment: &BTreeMap<String, String>) -> Result<ResourceAmounts, String> {
    let text = environment.get(RESOURCES).map_or("", String::as_str);
    let one = |part: &str| -> Result<(String, Amount), String> {
        let pair =
            part.split_once('=').and_then(|(name, amount)| Some((name.trim(), amount.trim().parse().ok()?)));
        let (name, amount) = pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| part.to_owned())?;
        Ok((name.to_owned(), amount))
    };
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
}

/// The addresses that are reported to Spark: the addresses of resources that the variable does not name.
#[must_use]
pub fn told_to_spark(
    given: &Resources,
    environment: &BTreeMap<String, String>,
) -> BTreeMap<String, Vec<String>> {
    let own = asked(environment).unwrap_or_default();
    let others = given.iter().filter(|(name, _)| !own.contains_key(*name));
    others.map(|(name, addresses)| (name.to_owned(), addresses.map(str::to_owned).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(text: &str) -> BTreeMap<String, String> {
        [(RESOURCES.to_owned(), text.to_owned())].into()
    }

    #[test]
    fn a_variable_asks_for_parts_and_kinds_of_which_spark_is_not_told() {
        let quarter = "0.25".parse().expect("it is an amount");
        let expected = [("gpu".to_owned(), quarter), ("nic:fast".to_owned(), Amount::Whole(1))].into();
        let environment = variable(" gpu=0.25, nic:fast=1 ");
        assert_eq!(asked(&environment), Ok(expected));
        assert_eq!(asked(&BTreeMap::new()), Ok(ResourceAmounts::new()));
        for text in ["gpu", "gpu=1.5", "=1", "gpu=x"] {
            assert_eq!(asked(&variable(text)), Err(text.to_owned()));
        }
        let given =
            Resources::of_words([("gpu", vec!["0@0.25"]), ("fpga", vec!["f0"])]).expect("they differ");
        assert_eq!(told_to_spark(&given, &environment), [("fpga".to_owned(), vec!["f0".to_owned()])].into());
    }
}
