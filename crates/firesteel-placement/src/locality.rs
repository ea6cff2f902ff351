//! Where something would like to be, and where there is room for it: on its host, in its rack, anywhere.
//!
//! A *want* (a task, a request for a container) names hosts; a *place* (an executor, a Worker, a container) is
//! on one. Both have [`Sites`]: hosts, and the racks that a [`Topology`] knows for them. [`nearness`] says how
//! near two of them are, an index [`Located`] finds what is on a host or in a rack without a walk, and
//! [`next_match`] is the one rule by which wants meet places:
//!
//! - the driver gives waiting tasks to executors with free cores,
//! - the Master takes Workers near an application's waiting tasks first ([`Located::nearest`]),
//! - an allocator gives the containers that it was granted to its requests.
//!
//! Whoever serves all wants runs a level to its end before the next one, nearest first:
//!
//! ```
//! use firesteel_placement::locality::{Locality, Located, Topology, next_match};
//!
//! let topology = Topology::parse("h1 /r1\nh2 /r1\nh3 /r2").expect("rows of two");
//! let (mut wants, mut places) = (Located::default(), Located::default());
//! for (want, hosts) in [(1, vec!["h1"]), (2, vec!["h1"]), (3, vec![])] {
//!     wants.insert(want, &topology.sites(hosts));
//! }
//! for (place, host) in ["h3", "h2", "h1"].into_iter().enumerate() {
//!     places.insert(place, &topology.sites([host]));
//! }
//! let mut met = Vec::new();
//! for level in Locality::ALL {
//!     while let Some((want, place)) = next_match(&wants, &places, level, 0, |_| true) {
//!         wants.remove(want, &topology.sites(if want == 3 { vec![] } else { vec!["h1"] }));
//!         places.remove(place, &topology.sites([["h3", "h2", "h1"][place]]));
//!         met.push((want, place, level));
//!     }
//! }
//! assert_eq!(met, [(1, 2, Locality::Host), (2, 1, Locality::Rack), (3, 0, Locality::Any)]);
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// How near a place is to what is wanted. Nearer is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Locality {
    /// On a host that is wanted. Spark: `NODE_LOCAL`.
    Host,
    /// In the rack of a host that is wanted. Spark: `RACK_LOCAL`.
    Rack,
    /// Elsewhere. Spark: `ANY`.
    Any,
}

impl Locality {
    /// All three, nearest first.
    pub const ALL: [Self; 3] = [Self::Host, Self::Rack, Self::Any];

    /// The next one, farther away; the last one is its own.
    #[must_use]
    pub fn farther(self) -> Self {
        match self {
            Self::Host => Self::Rack,
            Self::Rack | Self::Any => Self::Any,
        }
    }
}

/// `host`, `rack`, `any`.
impl fmt::Display for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Rack => "rack",
            Self::Any => "any",
        })
    }
}

/// Which host is in which rack. A host without a row has no rack: nothing is near it but itself.
///
/// Source: Hadoop's `TableMapping`; there, hosts without a row share `/default-rack`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    racks: BTreeMap<Arc<str>, Arc<str>>,
}

/// A line of a topology table that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} is {text:?}: write a host and its rack with a blank between, such as \"node-1 /rack-1\""
)]
pub struct TopologyError {
    /// Counted from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

impl Topology {
    /// A table with a host and its rack on each line, blanks between. Empty lines and those that begin with `#`
    /// count for nothing; of two rows for a host the last one counts.
    ///
    /// Source: Hadoop's `TableMapping`, which skips lines that are not so.
    ///
    /// # Errors
    /// The first line that has not two words.
    pub fn parse(table: &str) -> Result<Self, TopologyError> {
        let rows = (1..).zip(table.lines().map(str::trim));
        let rows = rows.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
        let row = |(line, text): (usize, &str)| {
            let mut words = text.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some(host), Some(rack), None) => Ok((host.to_owned(), rack.to_owned())),
                _ => Err(TopologyError { line, text: text.to_owned() }),
            }
        };
        rows.map(row).collect::<Result<Vec<_>, _>>().map(Self::from_iter)
    }

    /// The rack of a host, if it has a row.
    #[must_use]
    pub fn rack(&self, host: &str) -> Option<&str> {
        self.racks.get(host).map(AsRef::as_ref)
    }

    /// The rows, by host.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.racks.iter().map(|(host, rack)| (&**host, &**rack))
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.racks.is_empty()
    }

    /// Those hosts, each once, with their racks.
    pub fn sites<'a>(&self, hosts: impl IntoIterator<Item = &'a str>) -> Sites {
        let names: BTreeSet<&str> = hosts.into_iter().collect();
        let racks: BTreeSet<&Arc<str>> = names.iter().filter_map(|host| self.racks.get(*host)).collect();
        Sites {
            hosts: names.into_iter().map(Arc::from).collect(),
            racks: racks.into_iter().cloned().collect(),
        }
    }
}

impl FromIterator<(String, String)> for Topology {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(rows: T) -> Self {
        let mut names = BTreeSet::<Arc<str>>::new();
        let mut racks = BTreeMap::new();
        for (host, rack) in rows {
            let rack = names.get(&*rack).cloned().unwrap_or_else(|| {
                let rack = Arc::<str>::from(rack);
                names.insert(Arc::clone(&rack));
                rack
            });
            racks.insert(Arc::from(host), rack);
        }
        Self { racks }
    }
}

/// The hosts where something would like to be, or the one where it is, with their racks. Without hosts: it does
/// not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sites {
    /// In order, each once.
    hosts: Vec<Arc<str>>,
    /// In order, each once.
    racks: Vec<Arc<str>>,
}

impl Sites {
    /// The hosts, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(AsRef::as_ref)
    }

    /// Their racks, in order.
    pub fn racks(&self) -> impl Iterator<Item = &str> {
        self.racks.iter().map(AsRef::as_ref)
    }

    /// Whether no host is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    fn names(&self, level: Locality) -> &[Arc<str>] {
        match level {
            Locality::Host => &self.hosts,
            Locality::Rack => &self.racks,
            Locality::Any => &[],
        }
    }
}

/// How near one is to the other: `Host` if they share a host, else `Rack` if they share a rack, else `Any`.
#[must_use]
pub fn nearness(one: &Sites, other: &Sites) -> Locality {
    let share = |level| one.names(level).iter().any(|name| other.names(level).contains(name));
    Locality::ALL.into_iter().find(|level| share(*level)).unwrap_or(Locality::Any)
}

/// An index of things by their hosts and racks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<Id> {
    on_host: BTreeMap<Arc<str>, BTreeSet<Id>>,
    in_rack: BTreeMap<Arc<str>, BTreeSet<Id>>,
    all: BTreeSet<Id>,
}

impl<Id> Default for Located<Id> {
    fn default() -> Self {
        Self { on_host: BTreeMap::new(), in_rack: BTreeMap::new(), all: BTreeSet::new() }
    }
}

impl<Id: Ord + Copy> Located<Id> {
    /// Adds one thing. It must not be in it with other sites.
    pub fn insert(&mut self, id: Id, sites: &Sites) {
        self.all.insert(id);
        for (index, names) in [(&mut self.on_host, &sites.hosts), (&mut self.in_rack, &sites.racks)] {
            for name in names {
                match index.get_mut(name) {
                    Some(ids) => {
                        ids.insert(id);
                    }
                    None => {
                        index.insert(Arc::clone(name), BTreeSet::from([id]));
                    }
                }
            }
        }
    }

    /// Takes one thing out, by the sites with which it was added. Whether it was in.
    pub fn remove(&mut self, id: Id, sites: &Sites) -> bool {
        for (index, names) in [(&mut self.on_host, &sites.hosts), (&mut self.in_rack, &sites.racks)] {
            for name in names {
                if let Some(ids) = index.get_mut(name) {
                    ids.remove(&id);
                    if ids.is_empty() {
                        index.remove(name);
                    }
                }
            }
        }
        self.all.remove(&id)
    }

    /// Everything in it, in order.
    #[must_use]
    pub fn all(&self) -> &BTreeSet<Id> {
        &self.all
    }

    /// What is on a host, in order.
    pub fn on_host(&self, host: &str) -> impl Iterator<Item = Id> {
        self.on_host.get(host).into_iter().flatten().copied()
    }

    /// What is in a rack, in order.
    pub fn in_rack(&self, rack: &str) -> impl Iterator<Item = Id> {
        self.in_rack.get(rack).into_iter().flatten().copied()
    }

    /// How many things each host has, by host.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.on_host.iter().map(|(host, ids)| (&**host, ids.len()))
    }

    /// How many hosts have something.
    #[must_use]
    pub fn host_count(&self) -> usize {
        self.on_host.len()
    }

    /// Whether anything in it has a rack.
    #[must_use]
    pub fn any_rack(&self) -> bool {
        !self.in_rack.is_empty()
    }

    /// How near the nearest thing in it is.
    #[must_use]
    pub fn nearest(&self, sites: &Sites) -> Locality {
        let met = |level: &Locality| match level {
            Locality::Host => sites.hosts.iter().any(|host| self.on_host.contains_key(host)),
            Locality::Rack => sites.racks.iter().any(|rack| self.in_rack.contains_key(rack)),
            Locality::Any => true,
        };
        Locality::ALL.into_iter().find(met).unwrap_or(Locality::Any)
    }
}

/// The next want to be served and its place, of all that meet at that level: the place whose turn is next (the
/// first from `turn` on, else the first of all) among those where `fits` and a want is, and the first want
/// there. `None` if none meet.
///
/// The answer depends on the order of ids alone, not on that in which things came. It costs no more than the
/// fewer of wanted hosts and hosts with places (racks, at that level), and the places on those.
pub fn next_match<W: Ord + Copy, P: Ord + Copy>(
    wants: &Located<W>,
    places: &Located<P>,
    level: Locality,
    turn: P,
    fits: impl Fn(P) -> bool,
) -> Option<(W, P)> {
    let pair = |(wants, places): (&BTreeSet<W>, &BTreeSet<P>)| {
        let from_turn = places.range((Bound::Included(turn), Bound::Unbounded));
        let before = places.range((Bound::Unbounded, Bound::Excluded(turn)));
        let place = from_turn.chain(before).copied().find(|place| fits(*place))?;
        Some((*wants.first()?, place))
    };
    let in_turn = |(want, place): &(W, P)| (*place < turn, *place, *want);
    match level {
        Locality::Host => meet(&wants.on_host, &places.on_host).filter_map(pair).min_by_key(in_turn),
        Locality::Rack => meet(&wants.in_rack, &places.in_rack).filter_map(pair).min_by_key(in_turn),
        Locality::Any => pair((&wants.all, &places.all)),
    }
}

type ByName<Id> = BTreeMap<Arc<str>, BTreeSet<Id>>;

/// What both have of a name. Walks the shorter one.
fn meet<'a, W, P>(
    wants: &'a ByName<W>,
    places: &'a ByName<P>,
) -> impl Iterator<Item = (&'a BTreeSet<W>, &'a BTreeSet<P>)> {
    let few_wants = wants.len() <= places.len();
    let by_want = few_wants.then_some(wants).into_iter().flatten();
    let by_place = (!few_wants).then_some(places).into_iter().flatten();
    let by_want = by_want.filter_map(|(name, wants)| Some((wants, places.get(name)?)));
    by_want.chain(by_place.filter_map(|(name, places)| Some((wants.get(name)?, places))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_is_a_table_of_hosts_and_racks() {
        let topology = Topology::parse("# racks\n\n h1   /r1\nh2\t/r1\nh1 /r2\n").expect("it is one");
        assert_eq!(topology.iter().collect::<Vec<_>>(), [("h1", "/r2"), ("h2", "/r1")]);
        assert_eq!((topology.rack("h2"), topology.rack("h9")), (Some("/r1"), None));
        for (table, line, text) in [("h1 /r1\nh2", 2, "h2"), ("a b c\n", 1, "a b c")] {
            assert_eq!(Topology::parse(table), Err(TopologyError { line, text: text.to_owned() }));
        }
    }

    #[test]
    fn nearness_is_host_then_rack_then_any() {
        let topology = Topology::parse("a /1\nb /1\nc /2").expect("it is one");
        let near = |one: &[&str], other: &[&str]| {
            let sites = |hosts: &[&str]| topology.sites(hosts.iter().copied());
            nearness(&sites(one), &sites(other))
        };
        for (one, other, expected) in [
            (&["a"][..], &["a"][..], Locality::Host),
            (&["c", "a"], &["a"], Locality::Host),
            (&["a"], &["b"], Locality::Rack),
            (&["c", "a"], &["b"], Locality::Rack),
            (&["a"], &["c"], Locality::Any),
            // Hosts without a row share no rack.
            (&["x"], &["y"], Locality::Any),
            (&["x"], &["x"], Locality::Host),
            (&[], &["a"], Locality::Any),
            (&[], &[], Locality::Any),
        ] {
            assert_eq!(near(one, other), expected, "{one:?} {other:?}");
            assert_eq!(near(other, one), expected, "{other:?} {one:?}");
        }
    }

    #[test]
    fn places_take_turns_and_the_first_want_goes_first() {
        let none = Topology::default();
        let (mut wants, mut places) = (Located::default(), Located::default());
        for (want, hosts) in [(7, vec!["a", "b"]), (3, vec!["b"]), (9, vec![])] {
            wants.insert(want, &none.sites(hosts));
        }
        for (place, host) in [(1, "a"), (2, "b"), (3, "b"), (4, "c")] {
            places.insert(place, &none.sites([host]));
        }
        let next = |level, turn| next_match(&wants, &places, level, turn, |_| true);
        assert_eq!(next(Locality::Host, 0), Some((7, 1)));
        assert_eq!(next(Locality::Host, 2), Some((3, 2)));
        assert_eq!(next(Locality::Host, 4), Some((7, 1)));
        assert_eq!(next(Locality::Rack, 0), None);
        assert_eq!(next(Locality::Any, 4), Some((3, 4)));
        let only = next_match(&wants, &places, Locality::Host, 0, |place| place == 3);
        assert_eq!(only, Some((3, 3)));
    }
}
