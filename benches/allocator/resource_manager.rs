//! A fake ResourceManager that grants by the rules of YARN's CapacityScheduler, to one application.
//!
//! Each machine reports once a second, at a moment of its own. One that reports is given containers as long as it has
//! room and any is wanted: where its host is asked for, at once; else, where its rack is, if more than
//! [`NODE_DELAY`] machines have reported since the last grant and were given none; else anywhere, one at a time, if
//! more than that and [`RACK_DELAY`] have. What is granted is wanted no more, on its host, in its rack and anywhere.
//!
//! Containers that are given back, since the allocator wanted them no more when it heard of them, have room again.

use std::collections::BTreeMap;

use firesteel_application_master::allocator::{Allocated, Call, Completed, Granted, Location};
use firesteel_placement::MiB;
use firesteel_protocol::ids::{ContainerId, ProfileId};

use crate::setup::HOSTS;
use crate::trace::Trace;

/// `yarn.scheduler.capacity.node-locality-delay`: Hadoop's default.
const NODE_DELAY: u64 = 40;

/// `yarn.scheduler.capacity.rack-locality-additional-delay`: as many as there are machines. Hadoop's default depends on how
/// many hosts are asked for, and lets the last few requests go anywhere at once.
const RACK_DELAY: u64 = HOSTS as u64;

pub struct ResourceManager {
    room: Vec<u64>,
    hosts: Vec<Location>,
    racks: Vec<Location>,
    wanted: BTreeMap<Location, u64>,
    /// Machines that were given nothing since the last grant.
    missed: u64,
    granted: Vec<Granted>,
    completed: Vec<Completed>,
    /// On which machine, by container.
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

    /// A machine has room for one more.
    pub fn free(&mut self, host: usize) {
        self.room[host] += 1;
    }

    /// A machine reports.
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
