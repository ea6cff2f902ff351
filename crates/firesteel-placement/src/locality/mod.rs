//! Locality: requests prefer hosts, and get targets on these hosts, in their racks, or anywhere.
//!
//! A *request* (a task, a request for a container) names the hosts that it prefers. A *target* (an executor, a Worker,
//! a container) is on one host. Both have [`Sites`]: hosts, and their racks in a [`Topology`]. [`nearness`] computes
//! how near two sites are. A [`LocalityIndex`] finds the nearest requests or targets:
//!
//! - The driver gives waiting tasks to executors with free cores ([`next_match`]).
//! - The Master prefers Workers near an application's waiting tasks ([`LocalityIndex::nearest`]).
//! - An allocator first asks for containers on hosts that tasks prefer and that have too few executors ([`needs`],
//!   [`host_preferences`] and [`single_host_preferences`]). Then it gives the granted containers to its requests
//!   ([`LocalityIndex::first`]).
//!
//! To serve all requests, finish each level before the next one, beginning with the nearest:
//!
//! ```
//! use firesteel_placement::advanced::locality::{Locality, LocalityIndex, Topology, next_match};
//!
//! let topology = Topology::parse("h1 /r1\nh2 /r1\nh3 /r2").expect("rows of two");
//! let (mut requests, mut targets) = (LocalityIndex::default(), LocalityIndex::default());
//! for (request, hosts) in [(1, vec!["h1"]), (2, vec!["h1"]), (3, vec![])] {
//!     requests.insert(request, &topology.sites(hosts));
//! }
//! for (target, host) in ["h3", "h2", "h1"].into_iter().enumerate() {
//!     targets.insert(target, &topology.sites([host]));
//! }
//! let mut served = Vec::new();
//! for level in Locality::ALL {
//!     while let Some((request, target)) = next_match(&requests, &targets, level, 0, |_| true) {
//!         requests.remove(request, &topology.sites(if request == 3 { vec![] } else { vec!["h1"] }));
//!         targets.remove(target, &topology.sites([["h3", "h2", "h1"][target]]));
//!         served.push((request, target, level));
//!     }
//! }
//! assert_eq!(served, [(1, 2, Locality::Host), (2, 1, Locality::Rack), (3, 0, Locality::Any)]);
//! ```

mod naming;
mod needs;
mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

pub use naming::{Naming, single_host_preferences};
pub use needs::{Expected, HostPreference, Pending, host_preferences, needs};
pub use topology::{Sites, Topology, TopologyError};

/// How near a target is to the preferred hosts of a request. A nearer level compares as less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Locality {
    /// On a preferred host. Spark: `NODE_LOCAL`.
    Host,
    /// In the rack of a preferred host. Spark: `RACK_LOCAL`.
    Rack,
    /// On any other host. Spark: `ANY`.
    Any,
}

impl Locality {
    /// All three levels, nearest first.
    pub const ALL: [Self; 3] = [Self::Host, Self::Rack, Self::Any];

    /// The next level, which is farther away. `Any` for the last level.
    #[must_use]
    pub fn farther(self) -> Self {
        match self {
            Self::Host => Self::Rack,
            Self::Rack | Self::Any => Self::Any,
        }
    }
}

/// Formats the level as `host`, `rack` or `any`.
impl fmt::Display for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Rack => "rack",
            Self::Any => "any",
        })
    }
}

/// How near two sites are: `Host` if they share a host, else `Rack` if they share a rack, else `Any`.
#[must_use]
pub fn nearness(one: &Sites, other: &Sites) -> Locality {
    let shared = |level| one.names(level).iter().any(|name| other.names(level).contains(name));
    Locality::ALL.into_iter().find(|level| shared(*level)).unwrap_or(Locality::Any)
}

/// An index of requests or targets by host and rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalityIndex<Id> {
    on_host: BTreeMap<Arc<str>, BTreeSet<Id>>,
    in_rack: BTreeMap<Arc<str>, BTreeSet<Id>>,
    all: BTreeSet<Id>,
}

impl<Id> Default for LocalityIndex<Id> {
    fn default() -> Self {
        Self { on_host: BTreeMap::new(), in_rack: BTreeMap::new(), all: BTreeSet::new() }
    }
}

impl<Id: Ord + Copy> LocalityIndex<Id> {
    /// Adds an id with its sites. The id must not be in the index with other sites.
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

    /// Removes an id. The sites must be the same as when it was added. Returns whether the id was in the index.
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

    /// All ids, in order.
    #[must_use]
    pub fn all(&self) -> &BTreeSet<Id> {
        &self.all
    }

    /// The ids on a host, in order.
    pub fn on_host(&self, host: &str) -> impl Iterator<Item = Id> {
        self.on_host.get(host).into_iter().flatten().copied()
    }

    /// The ids in a rack, in order.
    pub fn in_rack(&self, rack: &str) -> impl Iterator<Item = Id> {
        self.in_rack.get(rack).into_iter().flatten().copied()
    }

    /// Each host with the number of its ids.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.on_host.iter().map(|(host, ids)| (&**host, ids.len()))
    }

    /// The number of hosts that have ids.
    #[must_use]
    pub fn host_count(&self) -> usize {
        self.on_host.len()
    }

    /// Whether any id has a rack.
    #[must_use]
    pub fn any_rack(&self) -> bool {
        !self.in_rack.is_empty()
    }

    /// The first id that matches these sites at this level: it has a host in common, a rack in common, or is any id.
    /// The cost is logarithmic in the number of ids.
    #[must_use]
    pub fn first(&self, sites: &Sites, level: Locality) -> Option<Id> {
        let index = match level {
            Locality::Host => &self.on_host,
            Locality::Rack => &self.in_rack,
            Locality::Any => return self.all.first().copied(),
        };
        sites.names(level).iter().filter_map(|name| index.get(name)?.first().copied()).min()
    }

    /// The level of the id that is nearest to these sites.
    #[must_use]
    pub fn nearest(&self, sites: &Sites) -> Locality {
        let matches = |level: &Locality| self.first(sites, *level).is_some();
        Locality::ALL.into_iter().find(matches).unwrap_or(Locality::Any)
    }
}

/// The next request to be served at a level, and its target. A target qualifies if `fits` is true for it and a request
/// matches it. The result is the first such target from `start` on, or else the first of all, with the first request
/// that matches it. So targets take turns. `None` if no request matches a target.
///
/// The result depends only on the order of the ids, not on the order in which they were added. Either the requests or
/// the targets have fewer hosts (racks at the rack level). The cost is proportional to this smaller number, and to the
/// number of targets on these hosts.
pub fn next_match<R: Ord + Copy, T: Ord + Copy>(
    requests: &LocalityIndex<R>,
    targets: &LocalityIndex<T>,
    level: Locality,
    start: T,
    fits: impl Fn(T) -> bool,
) -> Option<(R, T)> {
    let pair = |(requests, targets): (&BTreeSet<R>, &BTreeSet<T>)| {
        let from_start = targets.range((Bound::Included(start), Bound::Unbounded));
        let before = targets.range((Bound::Unbounded, Bound::Excluded(start)));
        let target = from_start.chain(before).copied().find(|target| fits(*target))?;
        Some((*requests.first()?, target))
    };
    let in_turn = |(request, target): &(R, T)| (*target < start, *target, *request);
    match level {
        Locality::Host => common(&requests.on_host, &targets.on_host).filter_map(pair).min_by_key(in_turn),
        Locality::Rack => common(&requests.in_rack, &targets.in_rack).filter_map(pair).min_by_key(in_turn),
        Locality::Any => pair((&requests.all, &targets.all)),
    }
}

type ByName<Id> = BTreeMap<Arc<str>, BTreeSet<Id>>;

/// The requests and the targets of each name that both maps have. Walks the map with fewer names.
fn common<'a, R, T>(
    requests: &'a ByName<R>,
    targets: &'a ByName<T>,
) -> impl Iterator<Item = (&'a BTreeSet<R>, &'a BTreeSet<T>)> {
    let few_requests = requests.len() <= targets.len();
    let by_request = few_requests.then_some(requests).into_iter().flatten();
    let by_target = (!few_requests).then_some(targets).into_iter().flatten();
    let by_request = by_request.filter_map(|(name, requests)| Some((requests, targets.get(name)?)));
    by_request.chain(by_target.filter_map(|(name, targets)| Some((requests.get(name)?, targets))))
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
    fn targets_take_turns_and_the_first_request_goes_first() {
        let none = Topology::default();
        let (mut requests, mut targets) = (LocalityIndex::default(), LocalityIndex::default());
        for (request, hosts) in [(7, vec!["a", "b"]), (3, vec!["b"]), (9, vec![])] {
            requests.insert(request, &none.sites(hosts));
        }
        for (target, host) in [(1, "a"), (2, "b"), (3, "b"), (4, "c")] {
            targets.insert(target, &none.sites([host]));
        }
        let next = |level, start| next_match(&requests, &targets, level, start, |_| true);
        assert_eq!(next(Locality::Host, 0), Some((7, 1)));
        assert_eq!(next(Locality::Host, 2), Some((3, 2)));
        assert_eq!(next(Locality::Host, 4), Some((7, 1)));
        assert_eq!(next(Locality::Rack, 0), None);
        assert_eq!(next(Locality::Any, 4), Some((3, 4)));
        let only = next_match(&requests, &targets, Locality::Host, 0, |target| target == 3);
        assert_eq!(only, Some((3, 3)));
    }
}
