//! The choice of victims on one Worker: executors that end so that others fit.

use std::borrow::{Borrow, Cow};
use std::cmp::Reverse;

use super::{Cost, PreemptibleWorker};
use crate::{Demand, Offer};

/// The victims that were chosen on one Worker so far.
#[derive(Debug)]
pub(super) struct Choice<W> {
    worker: W,
    /// The numbers of the chosen victims, in order.
    pub(super) ended: Vec<usize>,
    /// The number of new executors on the Worker.
    placed: u64,
    /// The cost of the first new executor.
    pub(super) first: Option<Cost>,
}

impl<W: Borrow<PreemptibleWorker>> Choice<W> {
    pub(super) fn new(worker: W, first: Option<Cost>) -> Self {
        Self { worker, ended: Vec::new(), placed: 0, first }
    }

    /// The cost of one more new executor.
    pub(super) fn cost(&self, demand: &Demand) -> Option<Cost> {
        let more = self.one_more(demand)?;
        let victims = &self.worker.borrow().victims;
        let highest = more.iter().map(|&victim| victims[victim].priority).max();
        let oldest = more.iter().map(|&victim| Reverse(victims[victim].launched)).max();
        Some(Cost { victims: more.len(), highest, oldest })
    }

    /// Adds one more new executor. These further victims end for it.
    pub(super) fn place(&mut self, more: Vec<usize>) {
        self.ended.extend(more);
        self.ended.sort_unstable();
        self.placed += 1;
    }

    /// The further victims that one more executor needs: none if it already fits. `None` if it does not fit even when
    /// all victims end.
    pub(super) fn one_more(&self, demand: &Demand) -> Option<Vec<usize>> {
        let fits = |more: &[usize]| self.fits(demand, self.placed + 1, more);
        if fits(&[]) {
            return Some(Vec::new());
        }
        let open: Vec<usize> =
            (0..self.worker.borrow().victims.len()).filter(|victim| !self.ended.contains(victim)).collect();
        if !fits(&open) {
            return None;
        }
        if let Some(one) = open.iter().find(|one| fits(&[**one])) {
            return Some(vec![*one]);
        }
        let pairs =
            open.iter().enumerate().flat_map(|(at, one)| open[at + 1..].iter().map(|other| [*one, *other]));
        if let Some(pair) = pairs.into_iter().find(|pair| fits(pair)) {
            return Some(pair.to_vec());
        }
        let enough = (3..=open.len()).find(|count| fits(&open[..*count]))?;
        let mut some = open[..enough].to_vec();
        for at in (0..some.len()).rev() {
            let one = some.remove(at);
            if !fits(&some) {
                some.insert(at, one);
            }
        }
        Some(some)
    }

    /// Whether this number of executors fits after the chosen victims and `more` have ended.
    fn fits(&self, demand: &Demand, executors: u64, more: &[usize]) -> bool {
        self.executors_that_fit(demand, more) >= executors
    }

    /// The number of executors that fit after the chosen victims and `more` have ended.
    pub(super) fn executors_that_fit(&self, demand: &Demand, more: &[usize]) -> u64 {
        let PreemptibleWorker { mut cores, mut memory, ref resources, ref victims } = *self.worker.borrow();
        let mut resources = Cow::Borrowed(resources);
        for victim in self.ended.iter().chain(more).map(|victim| &victims[*victim]) {
            cores += victim.cores;
            memory += victim.memory;
            if !victim.resources.is_empty() {
                resources.to_mut().add(&victim.resources);
            }
        }
        Offer { worker: "", cores, memory, resources: &resources }.executors_that_fit(demand)
    }
}
