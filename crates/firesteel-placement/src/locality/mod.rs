//! Where something would like to be, and where there is room for it: on its host, in its rack, anywhere.
//!
//! A *want* (a task, a request for a container) names hosts; a *place* (an executor, a Worker, a container) is
//! on one. Both have [`Sites`]: hosts, and the racks that a [`Topology`] knows for them. [`nearness`] says how
//! near two of them are, and in an index [`Located`] there is one rule by which wants meet places, nearest first:
//!
//! - the driver gives waiting tasks to executors with free cores ([`next_match`]),
//! - the Master takes Workers near an application's waiting tasks first ([`Located::nearest`]),
//! - an allocator gives the containers that it was granted to its requests ([`Located::first`]), after it asked for
//!   them by what tasks prefer and by what it has ([`needs`], [`wishes`] and [`wishes_of_one_host`]).
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

mod naming;
mod needs;
mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

pub use naming::{Naming, wishes_of_one_host};
pub use needs::{Expected, Pending, Wish, needs, wishes};
pub use topology::{Sites, Topology, TopologyError};

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

    /// The first thing in it that meets those sites at that level: one that shares a host with them, or a rack, or
    /// any. What it costs does not depend on how many things are in it, but for a logarithm.
    #[must_use]
    pub fn first(&self, sites: &Sites, level: Locality) -> Option<Id> {
        let index = match level {
            Locality::Host => &self.on_host,
            Locality::Rack => &self.in_rack,
            Locality::Any => return self.all.first().copied(),
        };
        sites.names(level).iter().filter_map(|name| index.get(name)?.first().copied()).min()
    }

    /// How near the nearest thing in it is.
    #[must_use]
    pub fn nearest(&self, sites: &Sites) -> Locality {
        let met = |level: &Locality| self.first(sites, *level).is_some();
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
