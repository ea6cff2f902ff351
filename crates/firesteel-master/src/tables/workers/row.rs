//! One of the Master's living Workers.

use std::sync::Arc;
use std::time::Duration;

use firesteel_placement::explain::shortfall;
use firesteel_placement::{Cores, Offer, ResourceAmounts, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_protocol::last_seen::LastSeen;
use firesteel_protocol::messages::{
    DepartureCause, Impairment, ShareState, TimedReport, Used, WorkerDescription, WorkerRemark, WorkerShare,
    WorkerState, WorkerView,
};
use firesteel_protocol::time::Timestamp;

use crate::tables::capacity::{Capacity, Holding};
use crate::tables::link::Link;
use crate::tables::sorted::Sorted;
use crate::tables::workers::health::{Availability, WorkerHealth};
use crate::tables::workers::orders::Orders;
use crate::tables::workers::unknown_processes::UnknownProcesses;

#[derive(Debug)]
pub(crate) struct WorkerRow {
    /// The Worker's number in the order of registration. Records refer to the Worker by this number.
    pub(crate) number: u64,
    /// The Worker's description without resources, which are in `capacity`. Records of executors share the description,
    /// and outlive the Worker.
    pub(crate) description: Arc<WorkerDescription>,
    pub(crate) link: Link,
    pub(crate) capacity: Capacity,
    pub(crate) executors: Sorted<ExecutorKey>,
    pub(crate) drivers: Sorted<u64>,
    pub(crate) orders: Orders,
    pub(crate) last_heartbeat: LastSeen,
    /// The time of the Worker's entry in the table of heartbeat checks.
    pub(crate) look: Timestamp,
    /// Whether the Worker has missed two heartbeats.
    pub(crate) is_late: bool,
    /// Whether the Worker may get executors. Only the table of Workers changes this recorded state.
    pub(super) health: WorkerHealth,
    /// Whether the Worker does not answer orders.
    pub(crate) deaf: bool,
    /// Why the Worker can start no executors, if it reports that.
    pub(crate) cannot_start: Option<String>,
    /// The executors and drivers that the Worker runs for a Master with another state, while they are left alone.
    pub(crate) unknown_processes: Option<Box<UnknownProcesses>>,
    pub(crate) report: Option<Box<TimedReport>>,
    /// Whether the Worker has returned but not yet listed its executors. Workers with a label list them in a separate
    /// message.
    pub(crate) is_to_list: bool,
    /// The Worker's recorded standing, if it is not the default.
    pub(crate) recorded: Option<Box<WorkerHealth>>,
}

/// The amounts of a Worker that are withheld in this pass.
#[derive(Debug, Default)]
pub(crate) struct Withheld {
    pub(crate) amounts: shortfall::Amounts,
    /// The executors with withheld addresses: the resources of each, and the number of executors.
    pub(crate) addresses: Vec<(ResourceAmounts, u64)>,
    /// The addresses that are free and not withheld.
    pub(crate) resources: Resources,
}

impl WorkerRow {
    pub(crate) fn new(number: u64, mut description: WorkerDescription, link: Link, now: Timestamp) -> Self {
        let resources = std::mem::take(&mut description.resources);
        let total = Holding { cores: description.cores, memory: description.memory, resources };
        Self {
            number,
            description: Arc::new(description),
            link,
            capacity: Capacity::new(total),
            executors: Sorted::default(),
            drivers: Sorted::default(),
            orders: Orders::default(),
            last_heartbeat: LastSeen::at(now),
            look: now,
            is_late: false,
            health: WorkerHealth::default(),
            deaf: false,
            cannot_start: None,
            unknown_processes: None,
            report: None,
            is_to_list: false,
            recorded: None,
        }
    }

    /// Whether the Worker may get executors, as recorded.
    pub(crate) fn health(&self) -> &WorkerHealth {
        &self.health
    }

    pub(crate) fn availability(&self) -> Availability {
        self.health.availability()
    }

    pub(crate) fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    pub(crate) fn address(&self) -> Address {
        Address::new(self.description.host.clone(), self.description.port)
    }

    pub(crate) fn offer(&self) -> Offer<'_> {
        let offer = self.capacity.offer(self.description.id.as_str());
        if self.serves() { offer } else { Offer { cores: Cores::ZERO, ..offer } }
    }

    /// An offer of the Worker's free amounts, as if it were neither excluded for all applications nor impaired.
    pub(crate) fn readmitted_offer(&self) -> Offer<'_> {
        match self.stays() {
            true => self.capacity.offer(self.description.id.as_str()),
            false => self.offer(),
        }
    }

    /// An offer of the Worker's free amounts without the withheld ones.
    pub(crate) fn open_offer<'a>(&'a self, withheld: Option<&'a Withheld>) -> Offer<'a> {
        let offer = self.offer();
        let Some(Withheld { amounts, resources, .. }) = withheld else { return offer };
        let (cores, memory) = (offer.cores - amounts.cores, offer.memory - amounts.memory);
        Offer { cores, memory, resources, ..offer }
    }

    pub(crate) fn whole_offer(&self) -> Offer<'_> {
        let offer = self.capacity.whole_offer(self.description.id.as_str());
        match self.availability() {
            Availability::Serving | Availability::Excluded => offer,
            Availability::Decommissioning => Offer { cores: Cores::ZERO, ..offer },
        }
    }

    pub(crate) fn serves(&self) -> bool {
        self.link.is_here()
            && self.availability() == Availability::Serving
            && !self.deaf
            && self.cannot_start.is_none()
            && self.unknown_processes.is_none()
    }

    /// When to check next whether the Worker is silent, unless a message comes before.
    pub(crate) fn next_look(&self, timeout: Duration) -> Timestamp {
        self.last_heartbeat.silent_at(if self.is_late { timeout } else { late_after(timeout) })
    }

    /// What is unusual about the Worker, if anything. Foreign executors and cluster drivers end at `until`.
    fn remark(&self, until: Timestamp) -> Option<WorkerRemark> {
        if let Some(UnknownProcesses { executors, drivers }) = self.unknown_processes.as_deref() {
            let (executors, drivers) = (executors.len() as u64, drivers.len() as u64);
            return Some(WorkerRemark::Foreign { executors, drivers, until });
        }
        self.is_late.then_some(WorkerRemark::Late)
    }

    /// Whether the Worker has announced its end, and nothing runs there any more.
    pub(crate) fn has_left(&self) -> bool {
        let is_empty = self.executors.len() == 0 && self.drivers.len() == 0;
        self.availability() == Availability::Decommissioning && is_empty
    }

    /// The cause of the Worker's departure, if it leaves in order.
    pub(crate) fn departure_cause(&self) -> DepartureCause {
        if self.health.asked.is_some() { DepartureCause::Asked } else { DepartureCause::Stopped }
    }

    /// The Worker's contribution to the sums over the cluster.
    pub(crate) fn share(&self) -> WorkerShare {
        let state = match self.availability() {
            Availability::Decommissioning => ShareState::Away,
            Availability::Serving | Availability::Excluded if !self.link.is_here() => ShareState::Away,
            Availability::Serving | Availability::Excluded if self.serves() => ShareState::Serving,
            Availability::Serving | Availability::Excluded => ShareState::Withheld,
        };
        let (total, free) = (self.capacity.total(), self.capacity.offer(self.description.id.as_str()));
        WorkerShare {
            state,
            cores: total.cores,
            cores_used: total.cores - free.cores,
            memory: total.memory,
            memory_used: total.memory - free.memory,
        }
    }

    /// The usage of one of the Worker's executors, according to the last report.
    pub(crate) fn used_by(&self, executor: &ExecutorKey) -> Option<Used> {
        let report = &self.report.as_ref()?.report;
        let (_, usage) = report.executors.iter().find(|(key, _)| key == executor)?;
        Some((*usage).into())
    }

    /// The usage of one of the Worker's cluster drivers, according to the last report.
    pub(crate) fn used_by_driver(&self, driver: &DriverId) -> Option<Used> {
        let report = &self.report.as_ref()?.report;
        let (_, usage) = report.drivers.iter().find(|(id, _)| id == driver)?;
        Some((*usage).into())
    }

    /// Why the Worker gets no new executors for now, if something is wrong with it.
    pub(crate) fn impairment(&self) -> Option<Impairment> {
        if self.deaf {
            return Some(Impairment::Deaf);
        }
        self.cannot_start.clone().map(Impairment::CannotStart)
    }

    /// Whether the Worker may get executors, now or after its exclusion.
    pub(crate) fn stays(&self) -> bool {
        !self.health.leaving
    }

    /// A copy of the Worker for clients. `excluded_for` is the number of applications for which it is excluded.
    pub(super) fn living_view(&self, excluded_for: u64, until: Timestamp) -> WorkerView {
        let view = self.view(match (self.link, self.availability()) {
            (Link::Away(_), _) => WorkerState::Unknown,
            (Link::Here(_), _) if self.unknown_processes.is_some() => WorkerState::Unknown,
            (Link::Here(_), Availability::Serving | Availability::Excluded) => WorkerState::Alive,
            (Link::Here(_), Availability::Decommissioning) => WorkerState::Decommissioned,
        });
        WorkerView {
            excluded_for,
            remark: self.remark(until),
            report: self.report.clone(),
            away_since: self.link.away_since(),
            ..view
        }
    }

    pub(crate) fn view(&self, state: WorkerState) -> WorkerView {
        let used = self.capacity.used();
        WorkerView {
            state,
            resources: self.capacity.total().resources.clone(),
            cores_used: used.cores,
            memory_used: used.memory,
            resources_used: used.resources,
            excluded_until: self.health.global_exclusion.until,
            impairment: self.impairment(),
            ..WorkerView::unused(&self.description, self.last_heartbeat.time())
        }
    }
}

/// The silence after which a Worker is late: the time of two heartbeats and a little more. Heartbeats come every
/// quarter of the timeout.
fn late_after(timeout: Duration) -> Duration {
    timeout / 2 + timeout / 16
}
