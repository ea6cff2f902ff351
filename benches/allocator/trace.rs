//! Traces: tasks whose input has three copies, on these hosts.

use firesteel_placement::advanced::locality::Topology;
use firesteel_sim::dice::Dice;

/// The number of hosts in a rack.
const RACK: usize = 25;

/// Hosts, and tasks that prefer some of them.
#[derive(Clone, Debug)]
pub struct Trace {
    pub hosts: Vec<String>,
    /// Each task's three hosts, by number.
    pub tasks: Vec<[usize; 3]>,
}

/// How input is spread over hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All hosts have about the same amount of input.
    Even,
    /// A few hosts have much more than the others, as in a cluster that has grown.
    Uneven,
}

impl Trace {
    /// A random trace; the same for the same seed. Copies are placed as by HDFS: one on any host, two on hosts of one
    /// other rack.
    pub fn rolled(seed: u64, hosts: usize, tasks: usize, spread: Spread) -> Self {
        let mut dice = Dice::new(seed);
        let index = |dice: &mut Dice, below: usize| dice.index(below).expect("there are hosts");
        let any = |dice: &mut Dice| match spread {
            Spread::Even => index(dice, hosts),
            Spread::Uneven => index(dice, hosts).min(index(dice, hosts)),
        };
        let task = |dice: &mut Dice| loop {
            let (first, second) = (any(dice), any(dice));
            let start = second / RACK * RACK;
            let third = start + index(dice, RACK.min(hosts - start));
            if first / RACK != second / RACK && second != third {
                break [first, second, third];
            }
        };
        let tasks = (0..tasks).map(|_| task(&mut dice)).collect();
        Self { hosts: (0..hosts).map(|host| format!("host{host:05}")).collect(), tasks }
    }

    pub fn rack(host: usize) -> String {
        format!("/rack{:03}", host / RACK)
    }

    pub fn topology(&self) -> Topology {
        self.hosts.iter().enumerate().map(|(number, host)| (host.clone(), Self::rack(number))).collect()
    }

    /// How many tasks prefer each host.
    pub fn wanted(&self) -> Vec<u64> {
        let mut wanted = vec![0; self.hosts.len()];
        self.tasks.iter().flatten().for_each(|host| wanted[*host] += 1);
        wanted
    }
}
