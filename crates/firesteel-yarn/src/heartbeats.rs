//! The heartbeats of an ApplicationMaster: the changes to report, and whether the ResourceManager received
//! them. The ApplicationMaster counts its wanted containers itself.
//!
//! Counts are absolute: each gives the number of containers that are wanted at a location. A
//! ResourceManager lowers its own counts by what it grants. So a count is reported again even if it is the
//! one reported before.
//!
//! A heartbeat without a response may have been processed. A ResourceManager that gets the same response id
//! again repeats its response without reading the request. So exactly the same request is sent until there
//! is a response. Later changes follow in the next one.

use std::collections::{BTreeMap, BTreeSet};

use crate::messages::master::{AllocateRequest, AllocateResponse, ResourceBlacklistRequest, ResourceRequest};
use crate::messages::records::ContainerId;

/// The changes to report. Counts are absolute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct News {
    /// The number of wanted containers at locations. Other locations do not change.
    pub ask: Vec<ResourceRequest>,
    /// Containers that are given back.
    pub release: Vec<ContainerId>,
    /// Hosts that are excluded from now on.
    pub exclude: Vec<String>,
    /// Hosts that are no longer excluded.
    pub include: Vec<String>,
}

/// The same changes, with the latest value for each key.
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

/// The meaning of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// All changes were received.
    All,
    /// The last request was received; there are more changes to report.
    More,
    /// The response is a repetition, with the same grants.
    Repeated,
}

/// The state of heartbeats: the changes to report, and the last response.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats {
    response_id: i32,
    news: Latest,
    /// The request that was sent and not answered.
    sent: Option<(AllocateRequest, Latest)>,
}

impl Heartbeats {
    /// Adds changes to report. They replace earlier changes with the same key that were not sent yet.
    pub fn tell(&mut self, news: News) {
        let News { ask, release, exclude, include } = news;
        let key = |ask: &ResourceRequest| {
            (ask.priority.unwrap_or_default().priority(), ask.resource_name().to_owned())
        };
        self.news.ask.extend(ask.into_iter().map(|ask| (key(&ask), ask)));
        self.news.release.extend(release);
        self.news.hosts.extend(exclude.into_iter().map(|host| (host, false)));
        self.news.hosts.extend(include.into_iter().map(|host| (host, true)));
    }

    /// The next heartbeat. It repeats the last one if that was not answered.
    pub fn next(&mut self, progress: f32) -> AllocateRequest {
        if let Some((sent, _)) = &self.sent {
            return sent.clone();
        }
        let news = std::mem::take(&mut self.news);
        let hosts = |wanted: bool| {
            let named = news.hosts.iter().filter(move |(_, is_wanted)| **is_wanted == wanted);
            named.map(|(host, _)| host.clone()).collect()
        };
        let request = AllocateRequest {
            ask: news.ask.values().cloned().collect(),
            release: news.release.iter().copied().collect(),
            blacklist_request: Some(ResourceBlacklistRequest {
                blacklist_additions: hosts(false),
                blacklist_removals: hosts(true),
            }),
            response_id: Some(self.response_id),
            progress: Some(progress),
            ..AllocateRequest::default()
        };
        self.sent = Some((request.clone(), news));
        request
    }

    /// Takes the response to a heartbeat.
    pub fn answered(&mut self, response: &AllocateResponse) -> Heard {
        if response.response_id() == self.response_id {
            self.refused();
            return Heard::Repeated;
        }
        self.sent = None;
        self.response_id = response.response_id();
        if self.news.is_empty() { Heard::All } else { Heard::More }
    }

    /// Takes a refusal: the request was not processed. Its changes are reported again, except those with a
    /// newer value.
    pub fn refused(&mut self) {
        let Some((_, sent)) = self.sent.take() else { return };
        for (key, ask) in sent.ask {
            self.news.ask.entry(key).or_insert(ask);
        }
        self.news.release.extend(sent.release);
        for (host, wanted) in sent.hosts {
            self.news.hosts.entry(host).or_insert(wanted);
        }
    }

    /// Starts over with a ResourceManager that has forgotten everything. The caller reports everything
    /// again.
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

    fn news(asks: &[(&str, i32)]) -> News {
        let ask = asks.iter().map(|(location, containers)| ask(location, *containers)).collect();
        News { ask, ..News::default() }
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
        heartbeats.tell(news(&[("*", 3), ("h1", 1)]));
        let first = heartbeats.next(0.1);
        assert_eq!((first.response_id(), asks(&first)), (0, vec![("*", 3), ("h1", 1)]));
        heartbeats.tell(news(&[("*", 2)]));
        heartbeats.tell(News { exclude: vec!["h9".to_owned()], ..News::default() });
        assert_eq!(heartbeats.next(0.1), first, "nobody knows whether it was done");
        assert_eq!(heartbeats.answered(&response(1)), Heard::More);
        let second = heartbeats.next(0.1);
        assert_eq!((second.response_id(), asks(&second)), (1, vec![("*", 2)]));
        let hosts = second.blacklist_request.as_ref().expect("it is always there");
        assert_eq!(hosts.blacklist_additions, ["h9"]);
        assert_eq!(heartbeats.answered(&response(2)), Heard::All);
        assert_eq!(asks(&heartbeats.next(0.1)), []);
    }

    #[test]
    fn what_was_refused_is_told_again_unless_something_else_was_said_since() {
        let mut heartbeats = Heartbeats::default();
        heartbeats.tell(news(&[("*", 3), ("h1", 1)]));
        heartbeats.next(0.1);
        heartbeats.tell(news(&[("*", 5)]));
        heartbeats.refused();
        assert_eq!(asks(&heartbeats.next(0.1)), [("*", 5), ("h1", 1)]);
        assert_eq!(heartbeats.answered(&response(0)), Heard::Repeated);
        assert_eq!(asks(&heartbeats.next(0.1)), [("*", 5), ("h1", 1)]);
        heartbeats.forgotten();
        assert_eq!((heartbeats.next(0.1).response_id(), asks(&heartbeats.next(0.1))), (0, vec![]));
    }
}
