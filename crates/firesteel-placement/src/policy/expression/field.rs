//! The fields of an expression: amounts of a Worker, and amounts that an executor asks for.

use super::error::{ExpressionError, Wrong, suggested};
use super::number::Number;
use crate::policy::ClusterTotal;
use crate::policy::room::Room;
use crate::resources::amount::Quantity;
use crate::resources::resource_name::{kind, serves};
use crate::{Demand, Offer};

/// A field of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// An amount of the Worker.
    Worker(AmountTime, CountedAmount),
    /// An amount that each executor asks for.
    Asked(Resource),
    /// An amount that the Worker has in total, free or not.
    Total(Resource),
    /// An amount that all Workers have together in total, free or not.
    Cluster(Resource),
    /// The number of executors that this placement has already put on the Worker.
    Placed,
}

/// The moment at which a Worker's free amount is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AmountTime {
    /// Before the executor takes its share.
    Free,
    /// After the executor has taken its share.
    Left,
}

/// The part of a resource that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CountedAmount {
    /// All that is free of the resource.
    All(Resource),
    /// The addresses of a custom resource that are completely free.
    Whole(String),
    /// The largest free fraction of one address of a custom resource.
    Largest(String),
}

/// Cores, memory, or a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Cores,
    Memory,
    /// A custom resource with this name. The name may have a kind.
    Custom(String),
}

/// One segment of a field's name, between points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) text: String,
    /// The number of the segment's first character.
    pub(super) at: usize,
    /// Whether the segment is in quotes, so that it names a custom resource.
    pub(super) is_quoted: bool,
}

/// The data from which the fields of one executor on one Worker are computed.
pub(super) struct Facts<'a> {
    pub(super) demand: &'a Demand,
    pub(super) cluster: &'a ClusterTotal,
    pub(super) offer: &'a Offer<'a>,
    /// The total amounts of the Worker, if a field asks for them.
    pub(super) whole: Option<Offer<'a>>,
    /// The Worker's custom resources before and after the executor, if a field asks for them.
    pub(super) rooms: Option<[Room<'a>; 2]>,
    /// The number of executors that this placement has already put on the Worker.
    pub(super) before: u64,
}

/// The words with which field names begin.
pub(super) const FIRST: [&str; 6] = ["free", "left", "asked", "total", "cluster", "placed"];

impl Field {
    /// The field of this name. `None` if the first word does not begin a field.
    pub(super) fn named(segments: &[Segment]) -> Result<Option<Self>, ExpressionError> {
        let [first @ Segment { is_quoted: false, .. }, rest @ ..] = segments else { return Ok(None) };
        let field: fn(Resource) -> Self = match first.text.as_str() {
            "placed" => return none_after("placed", rest).map(|()| Some(Self::Placed)),
            "free" => |resource| Self::Worker(AmountTime::Free, CountedAmount::All(resource)),
            "left" => |resource| Self::Worker(AmountTime::Left, CountedAmount::All(resource)),
            "asked" => Self::Asked,
            "total" => Self::Total,
            "cluster" => Self::Cluster,
            _ => return Ok(None),
        };
        let Some((resource, part)) = rest.split_first() else {
            let found = format!("{:?} alone", first.text);
            return Err(unexpected(
                first.at,
                found,
                "a resource after it: free.cores, free.memory, free.gpu",
            ));
        };
        let at = resource.at;
        match (field(Resource::named(resource)?), part) {
            (Self::Cluster(Resource::Custom(name)), _) if kind(&name).is_some() => {
                let expected = "a resource without a kind, since cluster counts all kinds together";
                Err(unexpected(at, format!("{name:?}"), expected))
            }
            (Self::Worker(when, CountedAmount::All(Resource::Custom(name))), [part, rest @ ..]) => {
                let whose = format!("{}.{name}", first.text);
                let thing = match (part.text.as_str(), part.is_quoted) {
                    ("whole", false) => CountedAmount::Whole(name),
                    ("largest", false) => CountedAmount::Largest(name),
                    (_, _) => return Err(no_part(whose, part)),
                };
                none_after(&format!("{whose}.{}", part.text), rest)?;
                Ok(Some(Self::Worker(when, thing)))
            }
            (field, rest) => {
                let shown: Vec<&str> = segments[..2].iter().map(|segment| segment.text.as_str()).collect();
                none_after(&shown.join("."), rest).map(|()| Some(field))
            }
        }
    }

    /// Whether the field asks for the Worker's total amounts.
    pub(super) fn needs_whole(&self) -> bool {
        matches!(self, Self::Total(_))
    }

    /// Whether the field asks for the Worker's custom resources.
    pub(super) fn needs_rooms(&self) -> bool {
        match self {
            Self::Worker(
                _,
                CountedAmount::All(Resource::Custom(_)) | CountedAmount::Whole(_) | CountedAmount::Largest(_),
            ) => true,
            Self::Worker(_, CountedAmount::All(Resource::Cores | Resource::Memory))
            | Self::Asked(_)
            | Self::Total(_)
            | Self::Cluster(_)
            | Self::Placed => false,
        }
    }

    /// The value of the field.
    pub(super) fn value(&self, facts: &Facts<'_>) -> Number {
        let Facts { demand, cluster, offer, whole, rooms, before } = facts;
        let room =
            |when: AmountTime| rooms.as_ref().map(|rooms| &rooms[usize::from(when == AmountTime::Left)]);
        let left = |free: i64, each: i64, when: AmountTime| {
            let executors = before.saturating_add(u64::from(when == AmountTime::Left));
            let executors = i64::try_from(executors).unwrap_or(i64::MAX);
            Number::whole(free.saturating_sub(each.max(0).saturating_mul(executors)))
        };
        match self {
            Self::Worker(when, CountedAmount::All(Resource::Cores)) => {
                left(offer.cores.0, demand.size.step().0, *when)
            }
            Self::Worker(when, CountedAmount::All(Resource::Memory)) => {
                left(offer.memory.0, demand.memory.0, *when)
            }
            Self::Worker(when, CountedAmount::All(Resource::Custom(name))) => {
                Number::thousandths(room(*when).map_or(0, |room| room.free(name)))
            }
            Self::Worker(when, CountedAmount::Whole(name)) => {
                quantity(Quantity::whole(room(*when).map_or(0, |room| room.whole(name))))
            }
            Self::Worker(when, CountedAmount::Largest(name)) => {
                Number::thousandths(room(*when).map_or(0, |room| room.largest(name)))
            }
            Self::Asked(Resource::Cores) => Number::whole(demand.size.step().0),
            Self::Asked(Resource::Memory) => Number::whole(demand.memory.0),
            Self::Asked(Resource::Custom(name)) => {
                let asked = demand.resources.iter().filter(|(asked, _)| serves(asked, name));
                quantity(asked.map(|(_, amount)| amount.quantity()).sum())
            }
            Self::Total(Resource::Cores) => {
                whole.as_ref().map_or(Number::ZERO, |all| Number::whole(all.cores.0))
            }
            Self::Total(Resource::Memory) => {
                whole.as_ref().map_or(Number::ZERO, |all| Number::whole(all.memory.0))
            }
            Self::Total(Resource::Custom(name)) => {
                whole.as_ref().map_or(Number::ZERO, |all| quantity(all.resources.quantity(name)))
            }
            Self::Cluster(Resource::Cores) => Number::whole(cluster.cores().0),
            Self::Cluster(Resource::Memory) => Number::whole(cluster.memory().0),
            Self::Cluster(Resource::Custom(name)) => quantity(cluster.addresses(name)),
            Self::Placed => Number::whole(i64::try_from(*before).unwrap_or(i64::MAX)),
        }
    }
}

impl Resource {
    fn named(segment: &Segment) -> Result<Self, ExpressionError> {
        let Segment { text, at, is_quoted } = segment;
        match (text.as_str(), is_quoted) {
            ("cores", false) => Ok(Self::Cores),
            ("memory", false) => Ok(Self::Memory),
            ("", _) => {
                Err(unexpected(*at, "a point without a name after it".to_owned(), "the name of a resource"))
            }
            (name, true) => Ok(Self::Custom(name.to_owned())),
            (name, false) => match looks_like(name) {
                None => Ok(Self::Custom(name.to_owned())),
                Some(meant) => {
                    Err(ExpressionError { at: *at, wrong: Wrong::Resource { name: name.to_owned(), meant } })
                }
            },
        }
    }
}

/// The name that a name without quotes was probably meant to be. `None` if it may be a custom resource.
fn looks_like(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "cpu" | "cpus" => Some("cores"),
        "mem" | "ram" => Some("memory"),
        name => suggested(name, &["cores", "memory"], 1),
    }
}

fn quantity(quantity: Quantity) -> Number {
    Number::thousandths(quantity.thousandths())
}

fn none_after(whose: &str, rest: &[Segment]) -> Result<(), ExpressionError> {
    let Some(Segment { text, at, .. }) = rest.first() else { return Ok(()) };
    Err(unexpected(*at, format!("{text:?} after {whose:?}"), "the end of the name"))
}

fn no_part(whose: String, part: &Segment) -> ExpressionError {
    let suggestion = suggested(&part.text, &["whole", "largest"], 2);
    ExpressionError { at: part.at, wrong: Wrong::Part { whose, name: part.text.clone(), suggestion } }
}

fn unexpected(at: usize, found: String, expected: &'static str) -> ExpressionError {
    ExpressionError { at, wrong: Wrong::Unexpected { found, expected } }
}
