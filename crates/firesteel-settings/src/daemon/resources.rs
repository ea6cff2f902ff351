//! The parser of a Worker's custom resources: `gpu=2`, `gpu=0,1,5`.

use std::collections::BTreeSet;

use firesteel_placement::Resources;
use firesteel_placement::advanced::resources::AddressTwice;
use firesteel_placement::advanced::resources::without_kind;

use crate::application::amounts::with_kind;
use crate::{Properties, SettingError, keys};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    #[error(
        "{text:?} is not a resource: write NAME=AMOUNT or NAME=ADDRESS,ADDRESS,.. such as gpu=2 or gpu=0,1,5"
    )]
    Malformed { text: String },
    /// The amount is 0. The user may have meant the address 0.
    #[error(
        "{text:?} means none: leave it out, or write {name}=0, (with the comma) for the single address 0"
    )]
    Nothing { text: String, name: String },
    /// One address occurs twice.
    #[error("{text:?} has the address {address:?} twice")]
    Twice { text: String, address: String },
    /// Two flags name the same resource.
    #[error("the resource {name:?} is given twice")]
    Again { name: String },
    /// Two kinds of one resource have the same address.
    #[error(
        "{one} and {other} both have the address {address:?}: give each kind its own addresses, such as {one}=0,1"
    )]
    OfTwoKinds { one: String, other: String, address: String },
    #[error("{text:?} is more than {MOST} addresses")]
    TooMany { text: String },
}

/// The maximum number of addresses of one resource.
const MOST: usize = 4096;

/// Parses the resources of `--resource` flags. A number alone is an amount: `gpu=2` has the addresses 0 and 1. For a
/// single address that is a number, put a comma after the number: `gpu=5,`. The name may have a kind: `gpu:A100=2`.
///
/// # Errors
/// The error for the first flag that does not have this form.
pub fn parse<'a>(flags: impl IntoIterator<Item = &'a str>) -> Result<Resources, ResourceError> {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for flag in flags {
        let (name, addresses) = one(flag)?;
        if all.iter().any(|(other, _)| *other == name) {
            return Err(ResourceError::Again { name: name.to_owned() });
        }
        for (other, theirs) in all.iter().filter(|(other, _)| without_kind(other) == without_kind(name)) {
            if let Some(address) = addresses.iter().find(|address| theirs.contains(address)) {
                let (one, other, address) = ((*other).to_owned(), name.to_owned(), address.clone());
                return Err(ResourceError::OfTwoKinds { one, other, address });
            }
        }
        all.push((name, addresses));
    }
    Ok(all.into_iter().collect())
}

/// The resources in `spark.worker.resource.NAME.amount`, with the addresses 0, 1 and so on. The kinds come from
/// `firesteel.worker.resource.NAME.kind`.
pub(super) fn of_worker(properties: &Properties) -> Result<Resources, SettingError> {
    let amount = |(name, _): (&str, &str)| {
        let key = keys::WORKER_RESOURCE.replace("NAME", name);
        let at_most = |text: &str| text.parse().ok().filter(|amount| *amount <= MOST);
        let amount = properties.read(&key, "a whole number from 0 to 4096", at_most)?.unwrap_or(0);
        let name = with_kind(properties, keys::WORKER_RESOURCE_KIND, name)?;
        Ok((name, (0..amount).map(|address| address.to_string()).collect::<Vec<_>>()))
    };
    properties.family(keys::WORKER_RESOURCE).map(amount).collect()
}

/// The resources of the flags, and the resources in the properties that no flag names. Kinds are ignored in this
/// comparison.
#[must_use]
pub fn merged(flags: &Resources, properties: &Resources) -> Resources {
    let said: BTreeSet<&str> = flags.iter().map(|(name, _)| without_kind(name)).collect();
    let owned = |(name, addresses): (&str, Vec<&str>)| {
        (name.to_owned(), addresses.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let all = |resources: &Resources| -> Vec<(String, Vec<String>)> {
        resources.iter().map(|(name, addresses)| owned((name, addresses.collect()))).collect()
    };
    let others = all(properties).into_iter().filter(|(name, _)| !said.contains(without_kind(name)));
    all(flags).into_iter().chain(others).collect()
}

/// Whether the word can name a resource or one of its addresses: ASCII letters, digits and `-_.:`.
#[must_use]
pub fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
}

/// Parses an executor's resources, in the syntax in which its Worker writes them: `gpu=0,1;nic=a`, `gpu=0@0.25`, or
/// empty. Numbers are addresses.
///
/// # Errors
/// The error for the first part that does not have this form.
pub fn parse_exact(text: &str) -> Result<Resources, ResourceError> {
    let part = |part: &str| {
        let malformed = || ResourceError::Malformed { text: part.to_owned() };
        let (name, addresses) = part.split_once('=').ok_or_else(malformed)?;
        Ok((name.to_owned(), addresses.split(',').map(str::to_owned).collect::<Vec<_>>()))
    };
    let parts = text.split(';').filter(|text| !text.is_empty()).map(part);
    let named: Vec<_> = parts.collect::<Result<_, _>>()?;
    Resources::of_words(named)
        .map_err(|AddressTwice { address }| ResourceError::Twice { text: text.to_owned(), address })
}

fn one(text: &str) -> Result<(&str, Vec<String>), ResourceError> {
    let malformed = || ResourceError::Malformed { text: text.to_owned() };
    let too_many = || ResourceError::TooMany { text: text.to_owned() };
    let (name, value) = text.split_once('=').ok_or_else(malformed)?;
    if !is_name(name) || name.split(':').any(str::is_empty) || value.is_empty() {
        return Err(malformed());
    }
    if value.bytes().all(|b| b.is_ascii_digit()) {
        let amount = value.parse().ok().filter(|amount| *amount <= MOST).ok_or_else(too_many)?;
        if amount == 0 {
            return Err(ResourceError::Nothing { text: text.to_owned(), name: name.to_owned() });
        }
        return Ok((name, (0..amount).map(|address: usize| address.to_string()).collect()));
    }
    let mut addresses: Vec<String> = Vec::new();
    for address in value.strip_suffix(',').unwrap_or(value).split(',').map(str::trim) {
        if !is_name(address) {
            return Err(malformed());
        }
        if addresses.iter().any(|other| other == address) {
            return Err(ResourceError::Twice { text: text.to_owned(), address: address.to_owned() });
        }
        addresses.push(address.to_owned());
    }
    if addresses.len() > MOST { Err(too_many()) } else { Ok((name, addresses)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_amounts_or_addresses() {
        let parsed = parse(["gpu=2", "fpga=f1,f0", "nic=5,"]).expect("they are sound");
        let expected =
            Resources::from_iter([("gpu", vec!["0", "1"]), ("fpga", vec!["f0", "f1"]), ("nic", vec!["5"])]);
        assert_eq!(parsed, expected);
        assert_eq!(parse(["gpu=0,"]), Ok(Resources::from_iter([("gpu", ["0"])])));
        assert_eq!(parse([]), Ok(Resources::default()));
    }

    #[test]
    fn a_flag_takes_the_place_of_the_property_of_the_same_resource() {
        let properties = ["spark.worker.resource.gpu.amount=4", "spark.worker.resource.nic.amount=1"];
        let properties =
            of_worker(&Properties::parse(properties).expect("they are pairs")).expect("they are sound");
        let flags = parse(["gpu=7,"]).expect("it is sound");
        let expected = Resources::from_iter([("gpu", ["7"]), ("nic", ["0"])]);
        assert_eq!(merged(&flags, &properties), expected);
        let too_many = Properties::parse(["spark.worker.resource.gpu.amount=4097"]).expect("it is a pair");
        assert!(of_worker(&too_many).is_err());
    }

    #[test]
    fn a_worker_says_its_kinds() {
        let parsed = parse(["gpu:A100=0,1", "gpu:T4=2,"]).expect("they are sound");
        assert_eq!(parsed, Resources::from_iter([("gpu:A100", vec!["0", "1"]), ("gpu:T4", vec!["2"])]));
        let error = parse(["gpu:A100=2", "gpu:T4=1"]).expect_err("both have the address 0");
        assert_eq!(
            error.to_string(),
            "gpu:A100 and gpu:T4 both have the address \"0\": give each kind its own addresses, such as gpu:A100=0,1"
        );
        let pairs = ["spark.worker.resource.gpu.amount=2", "firesteel.worker.resource.gpu.kind=T4"];
        let properties =
            of_worker(&Properties::parse(pairs).expect("they are pairs")).expect("they are sound");
        assert_eq!(properties, Resources::from_iter([("gpu:T4", ["0", "1"])]));
        assert_eq!(merged(&parsed, &properties), parsed, "the flags say which gpus there are");
    }

    #[test]
    fn an_executor_reads_what_its_worker_writes() {
        let all = Resources::from_iter([("gpu", vec!["7"]), ("nic", vec!["a:b", "c"])]);
        assert_eq!(parse_exact(&all.to_string()), Ok(all));
        let part = Resources::of_words([("gpu", ["7@0.25"])]).expect("it is one");
        assert_eq!(parse_exact(&part.to_string()), Ok(part));
        assert!(matches!(parse_exact("gpu=0,0@0.5"), Err(ResourceError::Twice { .. })));
        assert_eq!(parse_exact(""), Ok(Resources::default()));
        assert!(matches!(parse_exact("gpu=0;2"), Err(ResourceError::Malformed { .. })));
    }

    #[test]
    fn malformed_resources_are_refused() {
        for text in [
            "gpu", "=2", "gpu:=2", ":A100=2", "gpu=", "gpu=a b", "gpu=0,,1", "g/pu=1", "gpu=-1,/", "gpu=1.5/",
        ] {
            assert!(matches!(parse([text]), Err(ResourceError::Malformed { .. })), "{text:?}");
        }
        assert!(matches!(parse(["gpu=0"]), Err(ResourceError::Nothing { .. })));
        assert!(matches!(parse(["gpu=0,1,0"]), Err(ResourceError::Twice { .. })));
        assert!(matches!(parse(["gpu=1", "gpu=2"]), Err(ResourceError::Again { .. })));
        assert!(matches!(parse(["gpu=4097"]), Err(ResourceError::TooMany { .. })));
        assert!(matches!(parse(["gpu=99999999999999999999"]), Err(ResourceError::TooMany { .. })));
    }
}
