//! A fake ResourceManager that grants by the rules of YARN's CapacityScheduler, to one application.
//!
//! Each machine reports once a second, at a moment of its own. The reporting machine gets containers while it has room
//! and some are wanted. Requests for its host are granted at once. Requests for its rack are granted if more than
//! [`NODE_DELAY`] machines have reported since the last grant without getting any. Requests for anywhere are granted
//! one at a time, if more than [`NODE_DELAY`] and [`RACK_DELAY`] machines have. A grant lowers the counts of its host,
//! of its rack and of anywhere.
//!
//! If the allocator gives a container back because it no longer needs it, the machine has room again.

use std::collections::BTreeMap;

use firesteel_application_master::allocator::{Allocated, Call, Completed, Granted, Location};
use firesteel_placement::MiB;
use firesteel_protocol::ids::{ContainerId, ProfileId};

use crate::setup::HOSTS;
use crate::trace::Trace;

/// `yarn.scheduler.capacity.node-locality-delay`: Hadoop's default.
const NODE_DELAY: u64 = 40;

/// `yarn.scheduler.capacity.rack-locality-additional-delay`: the number of machines. Hadoop's default depends on the
/// number of requested hosts, and lets the last few requests go anywhere at once.
const RACK_DELAY: u64 = HOSTS as u64;

pub struct ResourceManager {
    room: Vec<u64>,
    hosts: Vec<Location>,
    racks: Vec<Location>,
    wanted: BTreeMap<Location, u64>,
    /// Machines that reported since the last grant and got nothing.
    missed: u64,
    granted: Vec<Granted>,
    completed: Vec<Completed>,
    /// The machine of each container.
    on: Vec<usize>,
}

impl ResourceManager {
    pub fn new(trace: &Trace, room: Vec<u64>) -> Self {
        Self {
            room,
            hosts: trace.hosts.iter().map(|host| Location::Host(host.as_str().into())).collect(),
            racks: (0..trace.hosts.len()).map(|host| Location::Rack(Trace::rack(host).into())).collect(),
            wanted: BTreeMap::new(),
            missed: 0,
            granted: Vec::new(),
            completed: Vec::new(),
            on: Vec::new(),
        }
    }

    pub fn hear(&mut self, call: &Call) {
        for ask in &call.asks {
            self.wanted.insert(ask.location.clone(), ask.containers);
        }
        for container in &call.release {
            let number =
                container.as_str().rsplit('_').next().and_then(|number| number.parse::<usize>().ok());
            self.room[self.on[number.expect("it ends with its number")]] += 1;
            let (container, diagnostics) = (container.clone(), String::new());
            self.completed.push(Completed { container, status: -100, diagnostics });
        }
    }

    pub fn answer(&mut self) -> Allocated {
        Allocated {
            machines: self.room.len() as u64,
            granted: std::mem::take(&mut self.granted),
            completed: std::mem::take(&mut self.completed),
            decommissioning: Vec::new(),
        }
    }

    /// A machine has room for one more container.
    pub fn free(&mut self, host: usize) {
        self.room[host] += 1;
    }

    pub fn report(&mut self, host: usize) {
        while self.room[host] > 0 && self.wants(&Location::Any) {
            let near =
                self.wants(&self.hosts[host]) || self.wants(&self.racks[host]) && self.missed > NODE_DELAY;
            if !near && self.missed <= NODE_DELAY + RACK_DELAY {
                self.missed += 1;
                break;
            }
            self.grant(host);
            if !near {
                break;
            }
            self.missed = 0;
        }
    }

    fn wants(&self, location: &Location) -> bool {
        self.wanted.get(location).is_some_and(|count| *count > 0)
    }

    fn grant(&mut self, host: usize) {
        self.room[host] -= 1;
        for location in [&self.hosts[host], &self.racks[host], &Location::Any] {
            if let Some(count) = self.wanted.get_mut(location) {
                *count = count.saturating_sub(1);
            }
        }
        let container = ContainerId::new(format!("container_{:06}", self.on.len()));
        self.on.push(host);
        let host = self.hosts[host].to_string();
        self.granted.push(Granted { container, host, profile: ProfileId::DEFAULT, memory: MiB(2048) });
    }
}
