//! Handles granted containers: they are matched with requests, and executors are launched in them.

use std::collections::BTreeSet;
use std::sync::Arc;

use firesteel_placement::advanced::locality::{Locality, Sites};
use firesteel_protocol::ids::ContainerId;

use super::Allocator;
use super::containers::{Container, Residue, Stage};
use super::effect::{Effect, Launch};
use super::event::Granted;
use super::note::Note;

/// A granted container that is not used yet.
struct Arrival {
    granted: Granted,
    sites: Sites,
}

impl Allocator {
    /// Matches granted containers with requests, the oldest request first. All containers are first matched with
    /// requests for their hosts. The remaining ones are matched with requests for their racks, and then with any
    /// request. Containers without a match are given back.
    ///
    /// A request that names hosts also counts as a request for any host, so it may be served elsewhere.
    ///
    /// Source: Spark on YARN, 4.0.1. In Spark, a container can become unneeded before its executor is launched. The
    /// application then keeps the container unused.
    pub(super) fn on_granted(&mut self, granted: Vec<Granted>) {
        let mut arrivals = Vec::with_capacity(granted.len());
        let mut seen = BTreeSet::new();
        for granted in granted {
            if !seen.insert(granted.container.clone()) {
                self.effects.note(Note::GrantedTwice { container: granted.container });
            } else if let Some(granted) = self.examine(granted) {
                let sites = self.config.topology.sites([granted.host.as_str()]);
                arrivals.push(Arrival { granted, sites });
            }
        }
        let mut kept = Vec::with_capacity(arrivals.len());
        for level in Locality::ALL {
            let mut rest = Vec::new();
            for arrival in arrivals {
                let profile = self.profiles.get_mut(&arrival.granted.profile);
                match profile.is_some_and(|profile| profile.requests.serve(&arrival.sites, level)) {
                    true => kept.push((arrival, level)),
                    false => rest.push(arrival),
                }
            }
            arrivals = rest;
        }
        for Arrival { granted, sites } in arrivals {
            if let Some(profile) = self.profiles.get_mut(&granted.profile) {
                profile.requests.remind(&sites);
            }
            self.give_back(granted);
        }
        for (Arrival { granted, .. }, level) in kept {
            self.use_container(granted, level);
        }
    }

    /// Returns the container, unless it is already known, or too small for an executor.
    fn examine(&mut self, granted: Granted) -> Option<Granted> {
        if self.containers.knows(&granted.container) {
            self.effects.note(Note::GrantedTwice { container: granted.container });
            return None;
        }
        // A container whose profile was never requested serves no request, and is given back.
        let Some(profile) = self.profiles.get_mut(&granted.profile) else { return Some(granted) };
        let asked = profile.size.memory;
        if granted.memory >= asked {
            return Some(granted);
        }
        let sites = self.config.topology.sites([granted.host.as_str()]);
        profile.requests.remind(&sites);
        let note = Note::TooSmall { container: granted.container.clone(), memory: granted.memory, asked };
        self.effects.note(note);
        self.keep(granted, Stage::Released(Residue::Nothing));
        None
    }

    fn give_back(&mut self, granted: Granted) {
        let (container, host) = (granted.container.clone(), Arc::from(granted.host.as_str()));
        self.effects.note(Note::Excess { container, host });
        self.keep(granted, Stage::Released(Residue::Nothing));
    }

    fn keep(&mut self, granted: Granted, stage: Stage) {
        let Granted { container, host, profile, memory: _ } = granted;
        self.containers.insert(container, Container { host: host.into(), profile, stage });
    }

    /// Launches an executor in a container that serves a request, if executors are still missing.
    fn use_container(&mut self, granted: Granted, level: Locality) {
        let profile = self.profiles.get_mut(&granted.profile).expect("it has met a request of the profile");
        if profile.launched() >= profile.target() {
            return self.give_back(granted);
        }
        let host = match profile.on_host.get_key_value(granted.host.as_str()) {
            Some((host, _)) => Arc::clone(host),
            None => Arc::from(granted.host.as_str()),
        };
        profile.starting += 1;
        *profile.on_host.entry(Arc::clone(&host)).or_default() += 1;
        let executor = self.next_executor;
        self.next_executor.0 = executor.0.checked_add(1).expect("nobody launches four billion executors");
        let launch = Launch {
            container: granted.container.clone(),
            host: Arc::clone(&host),
            executor,
            profile: granted.profile,
            cores: profile.size.cores,
            memory: profile.size.own_memory,
        };
        self.effects.note(Note::Matched { container: granted.container.clone(), host, level });
        self.keep(granted, Stage::Launching(executor));
        self.effects.push(Effect::Launch(launch));
    }

    /// Records that a container's process runs. Ignores late reports about containers that have ended or were given
    /// back.
    pub(super) fn on_started(&mut self, id: &ContainerId) {
        let Some(profile) = self.containers.run(id) else { return };
        let profile = self.profiles.get_mut(&profile).expect("an executor's profile is known");
        profile.starting -= 1;
        profile.running += 1;
    }
}
