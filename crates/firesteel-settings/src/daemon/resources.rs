//! The parser of a Worker's custom resources: `gpu=2`, `gpu=0,1,5`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

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
pub const MOST: usize = 4096;

/// The name of the resource that GPUs are.
pub const GPU: &str = "gpu";

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

/// The custom resources that a Worker offers, and where their addresses are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerResources {
    /// The resources of `--resource`, in the place of all others of the same name.
    pub flags: Resources,
    /// `spark.worker.resource.NAME.*`, by name.
    pub requests: BTreeMap<String, ResourceRequest>,
    /// `spark.worker.resourcesFile`: the file with addresses.
    pub file: Option<PathBuf>,
    /// `firesteel.worker.gpus=auto`: the GPUs that the driver of the machine shows are offered, unless others are.
    pub has_gpus: bool,
}

/// One custom resource of a Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRequest {
    /// The name with its kind, if it has one.
    pub name: String,
    /// The number of addresses that the Worker must have at least.
    pub amount: usize,
    /// The program that prints the addresses. `None`: they are 0, 1 and so on, unless the file has them.
    pub script: Option<PathBuf>,
}

impl WorkerResources {
    pub(super) fn of(properties: &Properties) -> Result<Self, SettingError> {
        let path = |key: &str| properties.get(key).filter(|path| !path.is_empty()).map(PathBuf::from);
        // A script or a kind without an amount is a mistake in Spark, too.
        let names = properties.family(keys::WORKER_RESOURCE).chain(properties.family(keys::DISCOVERY_SCRIPT));
        let request = |(name, _): (&str, &str)| {
            let key = keys::WORKER_RESOURCE.replace("NAME", name);
            let at_most = |text: &str| text.parse().ok().filter(|amount| *amount <= MOST);
            let amount = properties.read(&key, "a whole number from 0 to 4096", at_most)?.unwrap_or(0);
            let script = path(&keys::DISCOVERY_SCRIPT.replace("NAME", name));
            let kind = with_kind(properties, keys::WORKER_RESOURCE_KIND, name)?;
            Ok((name.to_owned(), ResourceRequest { name: kind, amount, script }))
        };
        let auto = |text: &str| match text {
            "auto" => Some(true),
            "none" => Some(false),
            _ => None,
        };
        Ok(Self {
            flags: Resources::default(),
            requests: names.map(request).collect::<Result<_, _>>()?,
            file: path(keys::RESOURCES_FILE),
            has_gpus: properties.read(keys::WORKER_GPUS, "auto or none", auto)?.unwrap_or(false),
        })
    }

    /// The same with the resources of flags. What a flag names is asked of nothing else. Kinds are ignored in this
    /// comparison.
    #[must_use]
    pub fn with_flags(mut self, flags: Resources) -> Self {
        let said: BTreeSet<&str> = flags.iter().map(|(name, _)| without_kind(name)).collect();
        self.requests.retain(|name, _| !said.contains(without_kind(name)));
        self.has_gpus &= !said.contains(GPU);
        self.flags = flags;
        self
    }
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

    fn of(pairs: &[&str]) -> Result<WorkerResources, SettingError> {
        WorkerResources::of(&Properties::parse(pairs.iter().copied()).expect("they are pairs"))
    }

    fn request(name: &str, amount: usize, script: Option<&str>) -> ResourceRequest {
        ResourceRequest { name: name.to_owned(), amount, script: script.map(PathBuf::from) }
    }

    #[test]
    fn a_flag_takes_the_place_of_the_properties_of_the_same_resource() {
        let pairs = [
            "spark.worker.resource.gpu.amount=4",
            "spark.worker.resource.gpu.discoveryScript=/gpus.sh",
            "spark.worker.resource.nic.amount=1",
            "spark.worker.resourcesFile=/resources.json",
            "firesteel.worker.gpus=auto",
        ];
        let all = of(&pairs).expect("they are sound");
        assert_eq!(all.requests["gpu"], request("gpu", 4, Some("/gpus.sh")));
        assert!(all.has_gpus && all.file == Some("/resources.json".into()));
        let flags = parse(["gpu:T4=7,"]).expect("it is sound");
        let others = all.with_flags(flags.clone());
        let nic = BTreeMap::from([("nic".to_owned(), request("nic", 1, None))]);
        assert_eq!((others.flags, others.requests, others.has_gpus), (flags, nic, false));
        assert!(of(&["spark.worker.resource.gpu.amount=4097"]).is_err());
        assert!(of(&["firesteel.worker.gpus=2"]).is_err());
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
        assert_eq!(of(&pairs).expect("they are sound").requests["gpu"], request("gpu:T4", 2, None));
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
