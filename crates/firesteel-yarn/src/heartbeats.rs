//! The heartbeats of an ApplicationMaster: the changes to report, and whether the ResourceManager received
//! them. The ApplicationMaster counts its wanted containers itself.
//!
//! Counts are absolute: a count is the number of containers that are wanted at a location. A ResourceManager lowers its
//! own counts by the containers that it grants. So a count is reported again even if it has not changed.
//!
//! A heartbeat without a response may have been processed. A ResourceManager that gets the same response id again
//! repeats its response without reading the request. So exactly the same request is sent until a response arrives.
//! Later changes follow in the next request.

use std::collections::{BTreeMap, BTreeSet};

use crate::messages::master::{AllocateRequest, AllocateResponse, ResourceBlacklistRequest, ResourceRequest};
use crate::messages::records::ContainerId;

/// The changes to report. Counts are absolute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The number of wanted containers at each listed location. Other locations do not change.
    pub ask: Vec<ResourceRequest>,
    /// Containers to give back.
    pub release: Vec<ContainerId>,
    /// Hosts that are excluded from now on.
    pub exclude: Vec<String>,
    /// Hosts that are no longer excluded.
    pub include: Vec<String>,
}

/// Unsent changes, with only the latest value for each key.
#[derive(Clone, Debug, Default)]
struct Latest {
    ask: BTreeMap<(i32, String), ResourceRequest>,
    release: BTreeSet<ContainerId>,
    /// Each changed host, and whether it may be used.
    hosts: BTreeMap<String, bool>,
}

impl Latest {
    fn is_empty(&self) -> bool {
        self.ask.is_empty() && self.release.is_empty() && self.hosts.is_empty()
    }
}

/// The meaning of a response from the ResourceManager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    All,
    /// The last request was received, and there are more changes to report.
    More,
    /// The response repeats the previous response, with the same grants.
    Repeated,
}

/// The state of heartbeats: the changes to report, and the last response.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats {
    response_id: i32,
    changes: Latest,
    /// The request that was sent and has not been answered yet.
    sent: Option<(AllocateRequest, Latest)>,
}

impl Heartbeats {
    /// Adds changes to report. They replace earlier changes with the same key that were not sent yet.
    pub fn add(&mut self, changes: Changes) {
        let Changes { ask, release, exclude, include } = changes;
        let key = |ask: &ResourceRequest| {
            (ask.priority.unwrap_or_default().priority(), ask.resource_name().to_owned())
        };
        self.changes.ask.extend(ask.into_iter().map(|ask| (key(&ask), ask)));
        self.changes.release.extend(release);
        self.changes.hosts.extend(exclude.into_iter().map(|host| (host, false)));
        self.changes.hosts.extend(include.into_iter().map(|host| (host, true)));
    }

    /// The next heartbeat. If the last heartbeat was not answered, the same heartbeat again.
    pub fn next(&mut self, progress: f32) -> AllocateRequest {
        if let Some((sent, _)) = &self.sent {
            return sent.clone();
        }
        let changes = std::mem::take(&mut self.changes);
        let hosts = |wanted: bool| {
            let named = changes.hosts.iter().filter(move |(_, is_wanted)| **is_wanted == wanted);
            named.map(|(host, _)| host.clone()).collect()
        };
        let request = AllocateRequest {
            ask: changes.ask.values().cloned().collect(),
            release: changes.release.iter().copied().collect(),
            blacklist_request: Some(ResourceBlacklistRequest {
                blacklist_additions: hosts(false),
                blacklist_removals: hosts(true),
            }),
            response_id: Some(self.response_id),
            progress: Some(progress),
            ..AllocateRequest::default()
        };
        self.sent = Some((request.clone(), changes));
        request
    }

    pub fn answered(&mut self, response: &AllocateResponse) -> Acknowledged {
        if response.response_id() == self.response_id {
            self.refused();
            return Acknowledged::Repeated;
        }
        self.sent = None;
        self.response_id = response.response_id();
        if self.changes.is_empty() { Acknowledged::All } else { Acknowledged::More }
    }

    /// Records that the ResourceManager refused a request without processing it. The request's changes are reported
    /// again, except changes with a newer value.
    pub fn refused(&mut self) {
        let Some((_, sent)) = self.sent.take() else { return };
        for (key, ask) in sent.ask {
            self.changes.ask.entry(key).or_insert(ask);
        }
        self.changes.release.extend(sent.release);
        for (host, wanted) in sent.hosts {
            self.changes.hosts.entry(host).or_insert(wanted);
        }
    }

    /// Starts over with a ResourceManager that has lost the registration. The caller then reports everything again.
    pub fn forgotten(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::records::Resource;

    fn ask(location: &str, containers: i32) -> ResourceRequest {
        ResourceRequest::new(0, location, Resource::new(1024, 1), containers)
    }

    fn changes(asks: &[(&str, i32)]) -> Changes {
        let ask = asks.iter().map(|(location, containers)| ask(location, *containers)).collect();
        Changes { ask, ..Changes::default() }
    }

    fn asks(request: &AllocateRequest) -> Vec<(&str, i32)> {
        request.ask.iter().map(|ask| (ask.resource_name(), ask.num_containers())).collect()
    }

    fn response(id: i32) -> AllocateResponse {
        AllocateResponse { response_id: Some(id), ..AllocateResponse::default() }
    }

    #[test]
    fn what_was_not_answered_is_sent_again_as_it_was_and_what_came_since_follows() {
        let mut heartbeats = Heartbeats::default();
        heartbeats.add(changes(&[("*", 3), ("h1", 1)]));
        let first = heartbeats.next(0.1);
        assert_eq!((first.response_id(), asks(&first)), (0, vec![("*", 3), ("h1", 1)]));
        heartbeats.add(changes(&[("*", 2)]));
        heartbeats.add(Changes { exclude: vec!["h9".to_owned()], ..Changes::default() });
        assert_eq!(heartbeats.next(0.1), first, "nobody knows whether it was done");
        assert_eq!(heartbeats.answered(&response(1)), Acknowledged::More);
        let second = heartbeats.next(0.1);
        assert_eq!((second.response_id(), asks(&second)), (1, vec![("*", 2)]));
        let hosts = second.blacklist_request.as_ref().expect("it is always there");
        assert_eq!(hosts.blacklist_additions, ["h9"]);
        assert_eq!(heartbeats.answered(&response(2)), Acknowledged::All);
        assert_eq!(asks(&heartbeats.next(0.1)), []);
    }

    #[test]
    fn what_was_refused_is_told_again_unless_something_else_was_said_since() {
        let mut heartbeats = Heartbeats::default();
        heartbeats.add(changes(&[("*", 3), ("h1", 1)]));
        heartbeats.next(0.1);
        heartbeats.add(changes(&[("*", 5)]));
        heartbeats.refused();
        assert_eq!(asks(&heartbeats.next(0.1)), [("*", 5), ("h1", 1)]);
        assert_eq!(heartbeats.answered(&response(0)), Acknowledged::Repeated);
        assert_eq!(asks(&heartbeats.next(0.1)), [("*", 5), ("h1", 1)]);
        heartbeats.forgotten();
        assert_eq!((heartbeats.next(0.1).response_id(), asks(&heartbeats.next(0.1))), (0, vec![]));
    }
}
