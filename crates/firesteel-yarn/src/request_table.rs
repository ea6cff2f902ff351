//! What an ApplicationMaster wants of its ResourceManager, as the two count it.
//!
//! An ask is absolute: so many containers are wanted at this location. A request that names hosts counts at each of
//! them, at each of their racks, and at `*`; one that names none counts at `*` alone. A ResourceManager lowers its own
//! numbers by what it grants, and the ApplicationMaster must lower its own by taking the request away that a grant
//! was for. So every location that changed is told again, even where the number is the one told before: the
//! ResourceManager's own may be lower.
//!
//! What was sent and not answered may have been done. A ResourceManager that is asked again with the same response id
//! answers as before without reading the request, so exactly the same is sent until there is an answer; what is
//! wanted meanwhile comes with the next.

use std::collections::{BTreeMap, BTreeSet};

use crate::messages::master::{AllocateRequest, AllocateResponse, ResourceBlacklistRequest, ResourceRequest};
use crate::messages::records::{ContainerId, Resource};
use crate::messages::resource::ANYWHERE;

/// A request's number; the lower the older.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(u64);

/// One container that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerRequest {
    /// The lower the more urgent. One priority has one capability.
    pub priority: i32,
    /// What it is to have.
    pub capability: Resource,
    /// Where it should be; no host is for anywhere.
    pub hosts: BTreeSet<String>,
    /// Where it may be if not there: at least the racks of its hosts.
    pub racks: BTreeSet<String>,
    /// The label that its node must have.
    pub node_label: Option<String>,
}

impl ContainerRequest {
    /// One that any node will do for.
    #[must_use]
    pub fn anywhere(priority: i32, capability: Resource) -> Self {
        Self { priority, capability, hosts: BTreeSet::new(), racks: BTreeSet::new(), node_label: None }
    }

    /// The same, on a host of these, or in a rack of theirs: without the rack it would be wanted nowhere but there.
    #[must_use]
    pub fn near(mut self, hosts: &[&str], rack_of: impl Fn(&str) -> String) -> Self {
        for &host in hosts {
            self.hosts.insert(host.to_owned());
            self.racks.insert(rack_of(host));
        }
        self
    }

    /// The same, in one of these racks, too.
    #[must_use]
    pub fn in_racks(mut self, racks: &[&str]) -> Self {
        self.racks.extend(racks.iter().map(|&rack| rack.to_owned()));
        self
    }

    fn locations(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().chain(&self.racks).map(String::as_str).chain([ANYWHERE])
    }

    /// The labels of hosts and racks are not asked for.
    fn key(&self, location: &str) -> Key {
        Key {
            priority: self.priority,
            location: location.to_owned(),
            amounts: amounts(&self.capability),
            node_label: self.node_label.clone().filter(|_| location == ANYWHERE),
        }
    }
}

/// What an ask is about; in the order in which they are sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    priority: i32,
    location: String,
    amounts: BTreeMap<String, i64>,
    node_label: Option<String>,
}

#[derive(Clone, Debug)]
struct Ask {
    capability: Resource,
    requests: BTreeSet<RequestId>,
}

/// What one heartbeat tells.
#[derive(Clone, Debug, Default)]
struct News {
    asks: BTreeSet<Key>,
    release: BTreeSet<ContainerId>,
    exclude: BTreeSet<String>,
    include: BTreeSet<String>,
}

/// Whether a response is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// It is.
    Fresh,
    /// It was there before, with the same grants.
    Repeated,
}

/// What is wanted, and what the ResourceManager has been told of it.
#[derive(Debug, Default)]
pub struct RequestTable {
    requests: BTreeMap<RequestId, ContainerRequest>,
    next_request: u64,
    asks: BTreeMap<Key, Ask>,
    /// To be told with the next heartbeat.
    news: News,
    /// What was sent and not answered.
    sent: Option<(AllocateRequest, News)>,
    /// Containers that were given back, and whose end was not reported yet.
    released: BTreeSet<ContainerId>,
    /// Hosts that are not wanted, as they were told last, or will be.
    excluded: BTreeSet<String>,
    /// Of the last response.
    response_id: i32,
}

impl RequestTable {
    /// Wants a container more.
    pub fn add(&mut self, request: ContainerRequest) -> RequestId {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        for location in request.locations() {
            let key = request.key(location);
            let ask = self
                .asks
                .entry(key.clone())
                .or_insert_with(|| Ask { capability: request.capability.clone(), requests: BTreeSet::new() });
            ask.requests.insert(id);
            self.news.asks.insert(key);
        }
        self.requests.insert(id, request);
        id
    }

    /// Wants it no more, or has it. None if it was not wanted.
    pub fn remove(&mut self, id: RequestId) -> Option<ContainerRequest> {
        let request = self.requests.remove(&id)?;
        for location in request.locations() {
            let key = request.key(location);
            if let Some(ask) = self.asks.get_mut(&key) {
                ask.requests.remove(&id);
            }
            self.news.asks.insert(key);
        }
        Some(request)
    }

    /// What is wanted, oldest first.
    pub fn requests(&self) -> impl Iterator<Item = (RequestId, &ContainerRequest)> {
        self.requests.iter().map(|(&id, request)| (id, request))
    }

    /// Who wants a container of that priority at a location that such a capability would do for, in groups of one
    /// capability; in each the oldest request first.
    #[must_use]
    pub fn matching(&self, priority: i32, location: &str, capability: &Resource) -> Vec<Vec<RequestId>> {
        let offered = amounts(capability);
        let first =
            Key { priority, location: location.to_owned(), amounts: BTreeMap::new(), node_label: None };
        let there = self
            .asks
            .range(first..)
            .take_while(|(key, _)| key.priority == priority && key.location == location);
        let fits = |wanted: &BTreeMap<String, i64>| {
            wanted.iter().all(|(name, amount)| offered.get(name).copied().unwrap_or(0) >= *amount)
        };
        there
            .filter(|(key, ask)| !ask.requests.is_empty() && fits(&key.amounts))
            .map(|(_, ask)| ask.requests.iter().copied().collect())
            .collect()
    }

    /// Gives a container back, or has it killed.
    pub fn release(&mut self, container: ContainerId) {
        self.released.insert(container);
        self.news.release.insert(container);
    }

    /// Wants nothing on that host.
    pub fn exclude(&mut self, host: &str) {
        if self.excluded.insert(host.to_owned()) && !self.news.include.remove(host) {
            self.news.exclude.insert(host.to_owned());
        }
    }

    /// Takes containers of that host again.
    pub fn include(&mut self, host: &str) {
        if self.excluded.remove(host) && !self.news.exclude.remove(host) {
            self.news.include.insert(host.to_owned());
        }
    }

    /// The next heartbeat: what has changed, or what was sent last if that was not answered.
    pub fn heartbeat(&mut self, progress: f32) -> AllocateRequest {
        if let Some((sent, _)) = &self.sent {
            return sent.clone();
        }
        let news = std::mem::take(&mut self.news);
        let request = AllocateRequest {
            ask: news.asks.iter().filter_map(|key| self.ask(key)).collect(),
            release: news.release.iter().copied().collect(),
            blacklist_request: Some(ResourceBlacklistRequest {
                blacklist_additions: news.exclude.iter().cloned().collect(),
                blacklist_removals: news.include.iter().cloned().collect(),
            }),
            response_id: Some(self.response_id),
            progress: Some(progress),
            ..AllocateRequest::default()
        };
        self.sent = Some((request.clone(), news));
        request
    }

    /// The heartbeat was answered.
    pub fn answered(&mut self, response: &AllocateResponse) -> Response {
        if response.response_id() == self.response_id {
            // Whether the request was read with it is not known; asks are absolute, so telling them twice does no harm.
            self.refused();
            return Response::Repeated;
        }
        self.sent = None;
        self.response_id = response.response_id();
        for completed in &response.completed_container_statuses {
            if let Some(container) = completed.container_id {
                self.released.remove(&container);
            }
        }
        let news = &self.news.asks;
        self.asks.retain(|key, ask| !ask.requests.is_empty() || news.contains(key));
        Response::Fresh
    }

    /// The heartbeat was refused: nothing of it was done, and all of it is told again.
    pub fn refused(&mut self) {
        let Some((_, news)) = self.sent.take() else { return };
        self.news.asks.extend(news.asks);
        self.news.release.extend(news.release.intersection(&self.released));
        self.news.exclude.extend(news.exclude.intersection(&self.excluded).cloned());
        self.news.include.extend(news.include.difference(&self.excluded).cloned());
    }

    /// The ResourceManager knows nothing any more: everything is told again, from the first response on.
    pub fn forgotten(&mut self) {
        self.sent = None;
        self.response_id = 0;
        self.asks.retain(|_, ask| !ask.requests.is_empty());
        self.news = News {
            asks: self.asks.keys().cloned().collect(),
            release: self.released.clone(),
            exclude: self.excluded.clone(),
            include: BTreeSet::new(),
        };
    }

    /// What is asked for; nothing for one that came, went, and was never told of.
    fn ask(&self, key: &Key) -> Option<ResourceRequest> {
        let Ask { capability, requests } = self.asks.get(key)?;
        let count = i32::try_from(requests.len()).unwrap_or(i32::MAX);
        let request = ResourceRequest::new(key.priority, &key.location, capability.clone(), count);
        Some(ResourceRequest { node_label_expression: key.node_label.clone(), ..request })
    }
}

/// A resource's amounts by name, whichever way they are written.
fn amounts(resource: &Resource) -> BTreeMap<String, i64> {
    use crate::messages::resource::{MEMORY, VCORES};
    let listed = resource.resource_value_map.iter();
    let mut amounts: BTreeMap<String, i64> =
        listed.map(|information| (information.key.clone(), information.value())).collect();
    amounts.insert(MEMORY.to_owned(), resource.memory());
    amounts.insert(VCORES.to_owned(), i64::from(resource.virtual_cores()));
    amounts
}
