//! A fake manager of containers, and the machines that it has.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_core::allocator::{Allocated, Call, Completed, Granted, Location};
use firesteel_core::ids::{ContainerId, ProfileId};
use firesteel_placement::MiB;
use firesteel_placement::locality::{Locality, Topology};

use firesteel_sim::dice::Dice;

/// A manager as an application sees it: it counts what is wanted at each place, and grants containers one by one when
/// their machines report, nearest first if it can wait, which it counts down by itself.
#[derive(Clone, Debug)]
pub struct Manager {
    topology: Topology,
    /// Containers that there is room for, by host.
    machines: BTreeMap<String, u64>,
    wanted: BTreeMap<(ProfileId, Location), u64>,
    memory: BTreeMap<ProfileId, MiB>,
    excluded: BTreeSet<String>,
    /// Containers that are not gone.
    containers: BTreeMap<ContainerId, Held>,
    next: u64,
    /// For the next answer.
    granted: Vec<Granted>,
    completed: Vec<Completed>,
}

/// A container that somebody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// On which host.
    pub host: String,
    /// For which profile.
    pub profile: ProfileId,
}

/// How careful a manager is where it grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// On a host that is wanted, if one is.
    Nearest,
    /// Wherever there is room first.
    Anywhere,
}

impl Manager {
    /// A manager of those machines, which knows no application yet.
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

    /// How many containers of a profile it counts as wanted there.
    #[must_use]
    pub fn wanted(&self, profile: ProfileId, place: &Location) -> u64 {
        self.wanted.get(&(profile, place.clone())).copied().unwrap_or(0)
    }

    /// Everything that it counts as wanted.
    #[must_use]
    pub fn wants(&self) -> Vec<(ProfileId, Location, u64)> {
        self.wanted.iter().map(|((profile, place), count)| (*profile, place.clone(), *count)).collect()
    }

    /// Hosts that it avoids.
    #[must_use]
    pub fn excluded(&self) -> &BTreeSet<String> {
        &self.excluded
    }

    /// Containers that are not gone.
    #[must_use]
    pub fn containers(&self) -> &BTreeMap<ContainerId, Held> {
        &self.containers
    }

    /// The hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.machines.keys().map(String::as_str)
    }

    /// It is restarted: containers go on, and everything else is forgotten.
    pub fn forget(&mut self) {
        self.wanted.clear();
        self.excluded.clear();
    }

    /// An attempt at the application is over: its containers end with it, and nobody is told.
    pub fn end_all(&mut self) {
        self.forget();
        self.containers.clear();
        self.granted.clear();
        self.completed.clear();
    }

    /// A call comes: numbers replace what was known.
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

    /// The answer to a call: all that has happened since the last one.
    pub fn answer(&mut self) -> Allocated {
        Allocated {
            machines: self.machines.len() as u64,
            granted: std::mem::take(&mut self.granted),
            completed: std::mem::take(&mut self.completed),
            decommissioning: Vec::new(),
        }
    }

    /// Containers of which no answer has told yet.
    pub fn undelivered(&self) -> impl Iterator<Item = &ContainerId> {
        self.granted.iter().map(|granted| &granted.container)
    }

    /// How many containers more a machine has room for.
    #[must_use]
    pub fn room(&self, host: &str) -> u64 {
        let used = self.containers.values().filter(|held| held.host == host).count() as u64;
        self.machines.get(host).copied().unwrap_or(0).saturating_sub(used)
    }

    /// A machine reports, and is given a container if one is wanted there and it has room.
    pub fn offer(&mut self, host: &str, care: Care) -> Option<ContainerId> {
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
        let careless = |_| care == Care::Anywhere;
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

    /// Whether a machine with room is so near to where that profile is wanted.
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

    /// A container comes that nobody counted, perhaps with too little memory.
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

    /// A container that was granted is told of once more.
    pub fn grant_again(&mut self, dice: &mut Dice) {
        let ids: Vec<&ContainerId> = self.containers.keys().collect();
        let Some(index) = dice.index(ids.len()) else { return };
        let container = ids[index].clone();
        let Held { host, profile } = self.containers[&container].clone();
        let memory = self.memory.get(&profile).copied().unwrap_or(MiB(1024));
        self.granted.push(Granted { container, host, profile, memory });
    }

    /// A container is gone, which the next answer tells.
    pub fn end(&mut self, container: &ContainerId, status: i32) {
        if self.containers.remove(container).is_some() {
            let diagnostics = String::new();
            self.completed.push(Completed { container: container.clone(), status, diagnostics });
        }
    }

    /// An end is told once more.
    pub fn end_again(&mut self) {
        if let Some(last) = self.completed.last().cloned() {
            self.completed.push(last);
        }
    }
}
