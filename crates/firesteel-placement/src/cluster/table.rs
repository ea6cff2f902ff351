//! The Workers of a cluster, and the executors that run on them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::placement::{Life, Placement};
use super::{Request, Worker};
use crate::index::{Index, Share, Slot};
use crate::policy::{Changes, ClusterTotal};
use crate::{Cores, Demand, MiB, Offer, Resources, WorkerOrder};

/// The Workers of a cluster. Only this file changes their free amounts.
#[derive(Debug)]
pub(super) struct Table {
    /// The Workers, with their free amounts.
    pub(super) index: Index<Arc<str>>,
    /// The Workers by slot.
    rows: Vec<Option<Row>>,
    /// The total amounts of all Workers.
    pub(super) total: ClusterTotal,
    /// The Workers that changed since a policy looked last.
    pub(super) changes: Changes,
    /// The number of executors on each Worker, by application. Contains only applications with a name.
    applications: BTreeMap<Arc<str>, BTreeMap<Slot, u64>>,
}

/// A Worker.
#[derive(Debug)]
pub(super) struct Row {
    id: Arc<str>,
    pub(super) host: String,
    cores: Cores,
    memory: MiB,
    resources: Resources,
    /// The free part of the resources. The free cores and the free memory are in the index.
    free: Resources,
    /// The number of executors that run on the Worker.
    pub(super) executors: u64,
    /// The known lifetimes of executors on the Worker, each with its number of executors.
    lives: Vec<(Life, u64)>,
}

impl Row {
    /// The total amounts.
    pub(super) fn total(&self) -> Offer<'_> {
        let Self { id, cores, memory, resources, .. } = self;
        Offer { worker: id, cores: *cores, memory: *memory, resources }
    }

    /// How much longer the Worker's executors are expected to run: at least as long again as they have run. `None` if
    /// it has none.
    pub(super) fn rest(&self, now: Duration) -> Option<Duration> {
        let rest = |(life, _): &(Life, u64)| {
            let left = life.ends.unwrap_or_default().saturating_sub(now);
            left.max(now.saturating_sub(life.begins))
        };
        (self.executors > 0).then(|| self.lives.iter().map(rest).max().unwrap_or_default())
    }
}

impl Table {
    pub(super) fn new(order: WorkerOrder) -> Self {
        Self {
            index: Index::new(order),
            rows: Vec::new(),
            total: ClusterTotal::default(),
            changes: Changes::All,
            applications: BTreeMap::new(),
        }
    }

    /// Adds a Worker whose id is new.
    pub(super) fn add(&mut self, worker: Worker) {
        let Worker { id, host, cores, memory, resources } = worker;
        let id: Arc<str> = id.into();
        let slot = self.index.insert(Arc::clone(&id), cores, memory, &resources);
        let free = resources.clone();
        let row = Row { id, host, cores, memory, resources, free, executors: 0, lives: Vec::new() };
        self.total.add(&row.total());
        self.changes = Changes::All;
        if self.rows.len() <= slot.index() {
            self.rows.resize_with(slot.index() + 1, || None);
        }
        self.rows[slot.index()] = Some(row);
    }

    /// Removes a Worker. Returns whether it was there.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some(slot) = self.index.remove(id) else { return false };
        if let Some(row) = self.rows[slot.index()].take() {
            self.total.remove(&row.total());
        }
        self.changes = Changes::All;
        for on in self.applications.values_mut() {
            on.remove(&slot);
        }
        self.applications.retain(|_, on| !on.is_empty());
        true
    }

    /// The Worker in a slot of the index.
    pub(super) fn row(&self, slot: Slot) -> &Row {
        self.rows[slot.index()].as_ref().expect("every slot of the index has its row")
    }

    /// The free amounts of the Worker in a slot.
    pub(super) fn offer(&self, slot: Slot) -> Option<Offer<'_>> {
        let (cores, memory) = self.index.free(slot)?;
        let row = self.row(slot);
        Some(Offer { worker: &row.id, cores, memory, resources: &row.free })
    }

    /// The free amounts of all Workers, in the order of their ids.
    pub(super) fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.index.slots().filter_map(|slot| self.offer(slot))
    }

    /// The total amounts of all Workers, in the order of their ids.
    pub(super) fn totals(&self) -> impl Iterator<Item = Offer<'_>> {
        self.index.slots().map(|slot| self.row(slot).total())
    }

    /// The Workers on which an application has executors. A Worker is repeated for each executor.
    pub(super) fn held_by(&self, application: Option<&str>) -> impl Iterator<Item = Slot> {
        let on = application.and_then(|name| self.applications.get(name)).into_iter().flatten();
        on.flat_map(|(slot, executors)| {
            std::iter::repeat_n(*slot, usize::try_from(*executors).unwrap_or(usize::MAX))
        })
    }

    /// The slots of Workers on which executors run.
    pub(super) fn in_use(&self) -> impl Iterator<Item = (Slot, &Row)> {
        self.index.slots().map(|slot| (slot, self.row(slot))).filter(|(_, row)| row.executors > 0)
    }

    /// Takes the amounts of the shares, which must fit.
    pub(super) fn take(&mut self, request: &Request<'_>, shares: Vec<Share>) -> Placement {
        let Request { demand, application, now, runs_for } = *request;
        self.index.take(demand, &shares);
        let life = (now.is_some() || runs_for.is_some()).then(|| {
            let begins = now.unwrap_or_default();
            Life { begins, ends: runs_for.map(|time| begins.saturating_add(time)) }
        });
        let application = application.map(|name| self.name(name));
        let mut workers = Vec::with_capacity(shares.len());
        let mut resources = Vec::new();
        for share in &shares {
            let row = self.rows[share.slot.index()].as_mut().expect("every slot of the index has its row");
            row.executors += share.executors;
            workers.push(Arc::clone(&row.id));
            if !demand.resources.is_empty() {
                let one = |_| row.free.take(&demand.resources).expect("what was placed fits");
                resources.extend((0..share.executors).map(one));
            }
            if let Some(life) = life {
                row.lives.push((life, share.executors));
            }
            self.changes.add(share.slot, self.rows.len());
            if let Some(name) = &application {
                let on = self.applications.entry(Arc::clone(name)).or_default();
                *on.entry(share.slot).or_default() += share.executors;
            }
        }
        Placement { demand: demand.clone(), shares, workers, resources, application, life }
    }

    /// The name of an application. All uses of an equal name share one string.
    fn name(&self, name: &str) -> Arc<str> {
        self.applications.get_key_value(name).map_or_else(|| name.into(), |(known, _)| Arc::clone(known))
    }

    /// Makes the amounts of ended executors free. Executors on Workers that were removed have already ended.
    pub(super) fn give_back(&mut self, placement: Placement) {
        let Placement { demand, mut shares, workers, resources, application, life } = placement;
        let mut resources = resources.into_iter();
        let mut at = 0;
        shares.retain(|share| {
            let worker = &workers[at];
            at += 1;
            let taken = resources.by_ref().take(usize::try_from(share.executors).unwrap_or(usize::MAX));
            let row = self.rows[share.slot.index()].as_mut().filter(|row| Arc::ptr_eq(&row.id, worker));
            let Some(row) = row else {
                taken.for_each(drop);
                return false;
            };
            taken.for_each(|taken| row.free.give_back(taken));
            row.executors -= share.executors;
            if let Some(life) = life {
                forget(&mut row.lives, life, share.executors);
            }
            true
        });
        if demand.resources.is_empty() {
            self.index.give_back(&demand, &shares);
        } else {
            shares.iter().for_each(|share| self.free_again(&demand, share));
        }
        for share in &shares {
            self.changes.add(share.slot, self.rows.len());
        }
        if let Some(name) = application {
            self.forget_held(&name, &shares);
        }
    }

    /// Updates the index with a Worker's free amounts after executors with custom resources have ended on it. Only the
    /// row knows from which addresses the executors' parts came.
    fn free_again(&mut self, demand: &Demand, share: &Share) {
        let Some((cores, memory)) = self.index.free(share.slot) else { return };
        let executors = i64::try_from(share.executors).unwrap_or(i64::MAX);
        let memory = memory + MiB(demand.memory.0.saturating_mul(executors));
        let row = self.rows[share.slot.index()].as_ref().expect("every slot of the index has its row");
        self.index.set(share.slot, cores + share.total(), memory, &row.free);
    }

    fn forget_held(&mut self, application: &str, shares: &[Share]) {
        let Some(on) = self.applications.get_mut(application) else { return };
        for share in shares {
            if let Some(executors) = on.get_mut(&share.slot) {
                *executors -= share.executors;
            }
        }
        on.retain(|_, executors| *executors > 0);
        if on.is_empty() {
            self.applications.remove(application);
        }
    }
}

/// Forgets executors that have ended.
fn forget(lives: &mut Vec<(Life, u64)>, life: Life, executors: u64) {
    let mut left = executors;
    lives.retain_mut(|(other, count)| {
        if *other == life {
            let ended = left.min(*count);
            (left, *count) = (left - ended, *count - ended);
        }
        *count > 0
    });
}
