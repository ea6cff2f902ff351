//! A fake manager of containers, with its machines.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_application_master::allocator::{Allocated, Call, Completed, Granted, Location};
use firesteel_placement::MiB;
use firesteel_placement::advanced::locality::{Locality, Topology};
use firesteel_protocol::ids::{ContainerId, ProfileId};

use firesteel_sim::dice::Dice;

/// A container manager as an application sees it. It counts the wanted containers at each place. When a machine
/// reports, the manager grants containers one by one, each for the nearest place if it can wait. It then lowers the
/// count itself.
#[derive(Clone, Debug)]
pub struct Manager {
    topology: Topology,
    /// The number of containers that fit on each host.
    machines: BTreeMap<String, u64>,
    wanted: BTreeMap<(ProfileId, Location), u64>,
    memory: BTreeMap<ProfileId, MiB>,
    excluded: BTreeSet<String>,
    /// The containers that have not ended.
    containers: BTreeMap<ContainerId, Held>,
    next: u64,
    /// The containers granted since the last response.
    granted: Vec<Granted>,
    completed: Vec<Completed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub host: String,
    /// The profile for which the container was granted.
    pub profile: ProfileId,
}

/// How carefully a manager chooses the machine for a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantChoice {
    /// The manager grants a container on a wanted host, if a host is wanted.
    Nearest,
    /// The manager grants a container on the first machine with free resources.
    Anywhere,
}

impl Manager {
    /// Makes a manager of these machines, without an application yet.
    #[must_use]
    pub fn new(topology: Topology, machines: BTreeMap<String, u64>) -> Self {
        Self {
            topology,
            machines,
            wanted: BTreeMap::new(),
            memory: BTreeMap::new(),
            excluded: BTreeSet::new(),
            containers: BTreeMap::new(),
            next: 0,
            granted: Vec::new(),
            completed: Vec::new(),
        }
    }

    /// How many containers of a profile the manager counts as wanted at this place.
    #[must_use]
    pub fn wanted(&self, profile: ProfileId, place: &Location) -> u64 {
        self.wanted.get(&(profile, place.clone())).copied().unwrap_or(0)
    }

    /// All counts of wanted containers.
    #[must_use]
    pub fn wants(&self) -> Vec<(ProfileId, Location, u64)> {
        self.wanted.iter().map(|((profile, place), count)| (*profile, place.clone(), *count)).collect()
    }

    #[must_use]
    pub fn excluded(&self) -> &BTreeSet<String> {
        &self.excluded
    }

    /// The containers that have not ended.
    #[must_use]
    pub fn containers(&self) -> &BTreeMap<ContainerId, Held> {
        &self.containers
    }

    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.machines.keys().map(String::as_str)
    }

    /// Restarts the manager. Containers keep running, and the manager forgets everything else.
    pub fn forget(&mut self) {
        self.wanted.clear();
        self.excluded.clear();
    }

    /// Ends an attempt at the application. Its containers also end, and their ends are not reported.
    pub fn end_all(&mut self) {
        self.forget();
        self.containers.clear();
        self.granted.clear();
        self.completed.clear();
    }

    /// Handles a call. The numbers in the call replace the earlier ones.
    pub fn hear(&mut self, call: &Call) {
        for ask in &call.asks {
            self.memory.insert(ask.profile, ask.size.memory);
            match ask.containers {
                0 => _ = self.wanted.remove(&(ask.profile, ask.location.clone())),
                count => _ = self.wanted.insert((ask.profile, ask.location.clone()), count),
            }
        }
        self.excluded.extend(call.exclude.iter().cloned());
        for host in &call.include {
            self.excluded.remove(host);
        }
        for container in &call.release {
            self.end(container, -100);
        }
    }

    /// The response to a call: all changes since the last response.
    pub fn answer(&mut self) -> Allocated {
        Allocated {
            machines: self.machines.len() as u64,
            granted: std::mem::take(&mut self.granted),
            completed: std::mem::take(&mut self.completed),
            decommissioning: Vec::new(),
        }
    }

    /// The containers that were granted, but that no response has reported yet.
    pub fn undelivered(&self) -> impl Iterator<Item = &ContainerId> {
        self.granted.iter().map(|granted| &granted.container)
    }

    /// How many more containers fit on a machine.
    #[must_use]
    pub fn room(&self, host: &str) -> u64 {
        let used = self.containers.values().filter(|held| held.host == host).count() as u64;
        self.machines.get(host).copied().unwrap_or(0).saturating_sub(used)
    }

    /// A machine reports. It gets a container if one is wanted there and still fits.
    pub fn offer(&mut self, host: &str, care: GrantChoice) -> Option<ContainerId> {
        if self.room(host) == 0 || self.excluded.contains(host) {
            return None;
        }
        let profiles: Vec<ProfileId> = self.memory.keys().copied().collect();
        let here = Location::Host(host.into());
        let rack = self.topology.rack(host).map(|rack| Location::Rack(rack.into()));
        let wanted: Vec<ProfileId> =
            profiles.into_iter().filter(|profile| self.wanted(*profile, &Location::Any) > 0).collect();
        let first =
            |served: &dyn Fn(ProfileId) -> bool| wanted.iter().copied().find(|profile| served(*profile));
        let careless = |_| care == GrantChoice::Anywhere;
        let on_host = |profile| self.wanted(profile, &here) > 0;
        let in_rack = |profile| {
            let near = rack.as_ref().is_some_and(|rack| self.wanted(profile, rack) > 0);
            near && !self.has_room(profile, Locality::Host)
        };
        let anywhere =
            |profile| !self.has_room(profile, Locality::Host) && !self.has_room(profile, Locality::Rack);
        let profile = first(&careless)
            .or_else(|| first(&on_host))
            .or_else(|| first(&in_rack))
            .or_else(|| first(&anywhere))?;
        for place in [Some(&here), rack.as_ref(), Some(&Location::Any)].into_iter().flatten() {
            if let Some(count) = self.wanted.get_mut(&(profile, place.clone())) {
                *count -= 1;
                if *count == 0 {
                    self.wanted.remove(&(profile, place.clone()));
                }
            }
        }
        Some(self.grant(host, profile, 0))
    }

    /// Whether a container fits on a machine at this distance from a place where the profile is wanted.
    fn has_room(&self, profile: ProfileId, level: Locality) -> bool {
        let place = |host: &str| match level {
            Locality::Host => Some(Location::Host(host.into())),
            Locality::Rack => self.topology.rack(host).map(|rack| Location::Rack(rack.into())),
            Locality::Any => Some(Location::Any),
        };
        let mut free =
            self.machines.keys().filter(|host| self.room(host) > 0 && !self.excluded.contains(*host));
        free.any(|host| place(host).is_some_and(|place| self.wanted(profile, &place) > 0))
    }

    /// Grants a container that was not requested, perhaps with too little memory.
    pub fn grant(&mut self, host: &str, profile: ProfileId, missing: i64) -> ContainerId {
        let container = ContainerId::new(format!("container_{:06}", self.next));
        self.next += 1;
        let memory = self.memory.get(&profile).copied().unwrap_or(MiB(1024));
        let (held, host) = (Held { host: host.to_owned(), profile }, host.to_owned());
        self.containers.insert(container.clone(), held);
        let memory = MiB(memory.0 - missing);
        self.granted.push(Granted { container: container.clone(), host, profile, memory });
        container
    }

    /// Reports a granted container once more.
    pub fn grant_again(&mut self, dice: &mut Dice) {
        let ids: Vec<&ContainerId> = self.containers.keys().collect();
        let Some(index) = dice.index(ids.len()) else { return };
        let container = ids[index].clone();
        let Held { host, profile } = self.containers[&container].clone();
        let memory = self.memory.get(&profile).copied().unwrap_or(MiB(1024));
        self.granted.push(Granted { container, host, profile, memory });
    }

    /// Ends a container. The next response reports the end.
    pub fn end(&mut self, container: &ContainerId, status: i32) {
        if self.containers.remove(container).is_some() {
            let diagnostics = String::new();
            self.completed.push(Completed { container: container.clone(), status, diagnostics });
        }
    }

    /// Reports an end once more.
    pub fn end_again(&mut self) {
        if let Some(last) = self.completed.last().cloned() {
            self.completed.push(last);
        }
    }
}
