//! The pending requests of one profile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firesteel_placement::advanced::locality::{Locality, LocalityIndex, Pending, Sites};
use firesteel_protocol::time::Timestamp;

use super::effect::Location;

/// Pending requests. Requests made at the same time for the same hosts form one group with a number. An index by host
/// and rack finds the group that a container serves, so the cost of a granted container does not grow with the number
/// of requests. (Spark looks at every request.)
///
/// The numbers for the manager are computed by location, once for each call, because a request for many hosts counts at
/// each host.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// The groups by number. A lower number means an older group.
    groups: BTreeMap<u64, Group>,
    next: u64,
    located: LocalityIndex<u64>,
    pending: u64,
    /// The number wanted at each location, as of the last call.
    wanted: BTreeMap<Location, u64>,
    /// The groups that have grown or shrunk since the last call, with the difference in the number of executors.
    moved: BTreeMap<u64, (Arc<Sites>, i64)>,
    /// The locations that the next call must name in any case.
    touched: BTreeSet<Location>,
    /// The locations that the last call named.
    named: BTreeSet<Location>,
}

#[derive(Clone, Debug)]
struct Group {
    sites: Arc<Sites>,
    executors: u64,
    /// When these requests were made.
    since: Timestamp,
}

/// The groups of requests, divided by the present preferences of waiting tasks. Each part is in the order of age.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Groups with a host that waiting tasks prefer.
    pub(super) local: Vec<u64>,
    /// Groups for hosts that no waiting task prefers any more.
    pub(super) stale: Vec<u64>,
    /// Groups that name no host.
    pub(super) any: Vec<u64>,
}

impl Requests {
    pub(super) fn pending(&self) -> u64 {
        self.pending
    }

    /// Asks for this many more executors on these hosts.
    pub(super) fn add(&mut self, now: Timestamp, sites: Sites, executors: u64) {
        if executors == 0 {
            return;
        }
        let (id, sites) = (self.next, Arc::new(sites));
        self.next += 1;
        self.located.insert(id, &sites);
        self.pending += executors;
        self.moved.insert(id, (Arc::clone(&sites), i64::try_from(executors).unwrap_or(i64::MAX)));
        self.groups.insert(id, Group { sites, executors, since: now });
    }

    /// Withdraws at most `most` requests of these groups, in this order. Returns the number of withdrawn requests.
    pub(super) fn cancel(&mut self, ids: &[u64], most: u64) -> u64 {
        let mut left = most;
        for id in ids {
            let count = self.groups[id].executors.min(left);
            self.take_from(*id, count);
            left -= count;
        }
        most - left
    }

    /// The groups that name exactly one host: the number, the host and the time of each.
    pub(super) fn of_one_host(&self) -> impl Iterator<Item = (u64, &str, Timestamp)> {
        self.groups.iter().filter_map(|(id, group)| {
            let mut hosts = group.sites.hosts();
            let (host, more) = (hosts.next()?, hosts.next());
            more.is_none().then_some((*id, host, group.since))
        })
    }

    /// The number of executors that these groups ask for.
    pub(super) fn count(&self, ids: &[u64]) -> u64 {
        ids.iter().filter_map(|id| self.groups.get(id)).map(|group| group.executors).sum()
    }

    /// Lets a container serve the oldest matching request at this level. Returns whether a request matched.
    pub(super) fn serve(&mut self, container: &Sites, level: Locality) -> bool {
        let id = self.located.first(container, level);
        id.inspect(|id| self.take_from(*id, 1)).is_some()
    }

    fn take_from(&mut self, id: u64, count: u64) {
        if count == 0 {
            return;
        }
        let group = self.groups.get_mut(&id).expect("a group with requests is in the table");
        group.executors -= count;
        self.pending -= count;
        let sites = Arc::clone(&group.sites);
        if group.executors == 0 {
            self.groups.remove(&id);
            self.located.remove(id, &sites);
        }
        let (_, moved) = self.moved.entry(id).or_insert((sites, 0));
        *moved -= i64::try_from(count).unwrap_or(i64::MAX);
    }

    /// All groups, divided by the present preferences of waiting tasks.
    pub(super) fn parts(&self, on_hosts: &BTreeMap<String, u64>) -> Parts {
        let mut parts = Parts::default();
        for (id, group) in &self.groups {
            let part = match group.sites.is_empty() {
                true => &mut parts.any,
                false if group.sites.hosts().any(|host| on_hosts.contains_key(host)) => &mut parts.local,
                false => &mut parts.stale,
            };
            part.push(*id);
        }
        parts
    }

    /// The number of executors that these groups ask for, in total and on each host.
    pub(super) fn naming(&self, ids: &[u64]) -> Pending {
        let mut pending = Pending::default();
        for group in ids.iter().filter_map(|id| self.groups.get(id)) {
            pending.executors += group.executors;
            for host in group.sites.hosts() {
                match pending.naming.get_mut(host) {
                    Some(count) => *count += group.executors,
                    None => _ = pending.naming.insert(host.to_owned(), group.executors),
                }
            }
        }
        pending
    }

    /// Handles a container that serves no request. The manager may now count one container less than was requested. So
    /// the next call names its locations again.
    pub(super) fn remind(&mut self, container: &Sites) {
        self.touched.extend(locations(container));
    }

    /// The numbers that the next call must name. A number must be named if it has changed, or if the manager may have
    /// reduced it or not received it.
    pub(super) fn asks(&mut self) -> Vec<(Location, u64)> {
        for (_, (sites, moved)) in std::mem::take(&mut self.moved) {
            for location in locations(&sites) {
                let count = self.wanted.get(&location).copied().unwrap_or(0).saturating_add_signed(moved);
                match count {
                    0 => _ = self.wanted.remove(&location),
                    _ => _ = self.wanted.insert(location.clone(), count),
                }
                self.touched.insert(location);
            }
        }
        self.named = std::mem::take(&mut self.touched);
        let ask = |location: &Location| (location.clone(), self.wanted.get(location).copied().unwrap_or(0));
        self.named.iter().map(ask).collect()
    }

    /// Records that the manager may not have received the last call.
    pub(super) fn resend_all(&mut self) {
        self.touched.append(&mut self.named);
    }

    /// Records that the manager has forgotten everything.
    pub(super) fn forget(&mut self) {
        self.named.clear();
        self.touched = self.wanted.keys().cloned().collect();
    }

    pub(super) fn contradiction(&self) -> Option<String> {
        let pending: u64 = self.groups.values().map(|group| group.executors).sum();
        if pending != self.pending {
            return Some(format!("{} requests are counted, {pending} are pending", self.pending));
        }
        let (mut located, mut wanted) = (LocalityIndex::default(), BTreeMap::<Location, i64>::new());
        for (id, group) in &self.groups {
            if group.executors == 0 {
                return Some(format!("group {id} of requests has none"));
            }
            located.insert(*id, &group.sites);
            for location in locations(&group.sites) {
                *wanted.entry(location).or_default() += group.executors as i64;
            }
        }
        if located != self.located {
            return Some(format!("the index of requests is {:?}, it should be {located:?}", self.located));
        }
        for (sites, moved) in self.moved.values() {
            for location in locations(sites) {
                *wanted.entry(location).or_default() -= moved;
            }
        }
        wanted.retain(|_, count| *count != 0);
        let told: BTreeMap<Location, i64> =
            self.wanted.iter().map(|(location, count)| (location.clone(), *count as i64)).collect();
        (wanted != told).then(|| format!("the manager is told {told:?}, it should be {wanted:?}"))
    }
}

/// The locations at which a request for these hosts counts.
fn locations(sites: &Sites) -> impl Iterator<Item = Location> {
    let hosts = sites.hosts().map(|host| Location::Host(host.into()));
    hosts.chain(sites.racks().map(|rack| Location::Rack(rack.into()))).chain([Location::Any])
}
