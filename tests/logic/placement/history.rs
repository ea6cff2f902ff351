//! Random histories of a cluster: workers come, go and change; executors are placed and end.

use firesteel_placement::{Offer, Resources};
use quickcheck::{Arbitrary, Gen};

use super::reference::case::{Case, below, pick};
use super::reference::{Ask, ORDERS, Order, Worker};

#[derive(Clone, Debug)]
pub struct History {
    pub order: Order,
    pub workers: Vec<Worker>,
    pub steps: Vec<Step>,
}

/// One event. Numbers select one of the existing workers or placements, modulo their count.
#[derive(Clone, Debug)]
pub enum Step {
    Comes(Worker),
    Goes(usize),
    Changes(usize, Worker),
    Places { ask: Ask, spread_out: bool, kept: bool },
    Ends(usize),
}

impl Arbitrary for History {
    /// Mostly small clusters. Some fill a few leaves of a tree, and a few fill branches.
    fn arbitrary(g: &mut Gen) -> Self {
        let most = pick(g, &[1, 3, 6, 12, 12, 12, 12, 40, 40, 200, 200, 600]);
        let count = below(g, most + 1) as usize;
        let count = if below(g, 400) == 0 { 4000 } else { count };
        let mut workers = Case::with_workers(g, count).workers;
        // Nearly all are different.
        if below(g, 4) == 0 {
            for worker in &mut workers {
                worker.cores += below(g, 400);
                worker.memory += below(g, 400);
            }
        }
        let length = 1 + below(g, 24);
        let steps = (0..length).map(|_| step(g)).collect();
        Self { order: pick(g, &ORDERS), workers, steps }
    }

    /// Fewer steps, then fewer workers.
    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let (whole, same) = (self.clone(), self.clone());
        let steps = (0..self.steps.len()).map(move |gone| {
            let mut history = whole.clone();
            history.steps.remove(gone);
            history
        });
        let count = self.workers.len();
        let sizes = [count.div_ceil(2), count.div_ceil(4), 1].into_iter().filter(|&size| size > 0);
        let spans = sizes.flat_map(move |size| {
            (0..count).step_by(size).map(move |start| start..(start + size).min(count))
        });
        let fewer = spans.map(move |gone| {
            let mut history = same.clone();
            history.workers.drain(gone);
            history
        });
        Box::new(steps.chain(fewer))
    }
}

fn step(g: &mut Gen) -> Step {
    let n = usize::from(u16::arbitrary(g));
    let mut worker = || {
        let mut worker = Case::with_workers(g, 1).workers.remove(0);
        worker.id = format!("w{}", n % 1013);
        worker
    };
    match n / 1013 % 10 {
        0 | 1 => Step::Comes(worker()),
        2 => Step::Goes(n),
        3 => Step::Changes(n, worker()),
        4 | 5 => Step::Ends(n),
        _ => {
            let Case { mut ask, spread_out, .. } = Case::with_workers(g, 0);
            // Sometimes for a large part of a large cluster.
            if below(g, 3) == 0 {
                let limit = below(g, 800);
                ask = Ask { limit: Some(limit as u64), cores_left: i64::from(i32::MAX), ..ask };
            }
            // A share is released only where it was placed, so that nothing is in use that was never placed.
            Step::Places { ask, spread_out, kept: pick(g, &[true, true, false]) }
        }
    }
}

/// The workers as owned values, from which offers are made.
#[derive(Clone, Debug, Default)]
pub struct Model {
    rows: std::collections::BTreeMap<String, (Worker, Resources)>,
}

impl Model {
    pub fn set(&mut self, worker: Worker) {
        let resources = super::reference::case::addresses(&worker);
        self.rows.insert(worker.id.clone(), (worker, resources));
    }

    pub fn remove(&mut self, id: &str) {
        self.rows.remove(id);
    }

    pub fn get(&self, id: &str) -> Option<&Worker> {
        self.rows.get(id).map(|(worker, _)| worker)
    }

    /// The id of the worker at index `n`, modulo their count.
    pub fn nth(&self, n: usize) -> Option<String> {
        self.rows.keys().nth(n.checked_rem(self.rows.len())?).cloned()
    }

    pub fn workers(&self) -> Vec<Worker> {
        self.rows.values().map(|(worker, _)| worker.clone()).collect()
    }

    pub fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.rows.iter().map(|(id, (worker, resources))| Offer {
            worker: id,
            cores: firesteel_placement::Cores(worker.cores),
            memory: firesteel_placement::MiB(worker.memory),
            resources,
        })
    }

    pub fn resources(&self, id: &str) -> &Resources {
        self.rows.get(id).map_or(Resources::NONE, |(_, resources)| resources)
    }

    /// Takes the amounts of this number of executors from a worker; negative numbers give them back.
    pub fn hold(&mut self, id: &str, ask: &Ask, executors: i64, cores: i64) {
        let Some((mut worker, _)) = self.rows.remove(id) else { return };
        worker.cores -= cores;
        worker.memory -= ask.memory * executors;
        for (name, &each) in &ask.resources {
            let amount = worker.resources.entry(name.clone()).or_default();
            *amount = amount.saturating_add_signed(-(each as i64 * executors));
        }
        self.set(worker);
    }
}
