//! The table of Workers by id and slot, with the index that placements read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::policy::{Changes, ClusterTotal};
use firesteel_placement::{Cores, Demand, MiB, Offer, ResourceAmounts, Resources, WorkerOrder};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::messages::{Departure, Impairment, WorkerRemark, WorkerView};
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::time::Timestamp;

use super::dead::DeadWorkers;
use super::label_counts::LabelCounts;
use crate::tables::capacity::{Grant, Holding};
use crate::tables::link::{Absence, Link};
use crate::tables::workers::orders::Orders;
use crate::tables::workers::row::{Withheld, WorkerRow};

/// Up to this number of Workers, the table looks at every Worker instead of searching the index.
const FEW: usize = 16;

/// The living Workers, and the lost ones that the Master remembers.
///
/// The free amounts of a living Worker are in its row and in the index, which finds Workers with enough free resources.
/// Only this table changes these amounts, and it always changes both.
#[derive(Debug)]
pub(crate) struct WorkerTable {
    /// The living Workers by id, and in the worker order.
    pub(super) index: Index<WorkerId>,
    /// The rows of the living Workers, by slot.
    pub(super) rows: Vec<Option<WorkerRow>>,
    /// The total amounts of all living Workers together.
    pub(super) whole: ClusterTotal,
    /// The Workers whose amounts changed since the scheduler last asked.
    pub(super) moved: Changes,
    /// The Workers that may have more free resources than at the last pass.
    pub(super) gained: BTreeSet<Slot>,
    /// The amounts withheld until the end of this pass. The index does not count them as free.
    pub(super) withheld: BTreeMap<Slot, Withheld>,
    /// The Workers that are excluded for all applications, by the end of the exclusion.
    pub(super) excluded: BTreeSet<(Timestamp, Slot)>,
    pub(super) labels: LabelCounts,
    pub(super) by_peer: BTreeMap<PeerId, Slot>,
    pub(super) by_address: BTreeMap<Address, WorkerId>,
    /// When to check each Worker's heartbeat next; never later than its timeout. A heartbeat does not change the
    /// Worker's entry. An outdated entry is updated when it is the first one.
    pub(super) looks: BTreeSet<(Timestamp, Slot)>,
    pub(super) late: BTreeSet<Slot>,
    /// The living Workers that are away, by the time when they are lost.
    pub(super) away: BTreeSet<(Timestamp, Slot)>,
    pub(super) dead: DeadWorkers,
    /// The number of Workers that have ever registered.
    next_number: u64,
    /// The Workers whose standings may have changed in the current event.
    pub(super) changed: BTreeSet<Slot>,
}

impl WorkerTable {
    pub(crate) fn new(order: WorkerOrder) -> Self {
        Self {
            index: Index::new(order),
            rows: Vec::new(),
            whole: ClusterTotal::default(),
            moved: Changes::All,
            gained: BTreeSet::new(),
            withheld: BTreeMap::new(),
            excluded: BTreeSet::new(),
            labels: LabelCounts::default(),
            by_peer: BTreeMap::new(),
            by_address: BTreeMap::new(),
            looks: BTreeSet::new(),
            late: BTreeSet::new(),
            away: BTreeSet::new(),
            dead: DeadWorkers::default(),
            next_number: 0,
            changed: BTreeSet::new(),
        }
    }

    /// Adds a Worker with a new id, connection, address and number. Returns its slot. Forgets a lost Worker with the
    /// same id or address.
    pub(crate) fn insert(&mut self, mut row: WorkerRow, timeout: Duration) -> Slot {
        self.count_from(row.number + 1);
        let (id, address) = (row.description.id.clone(), row.address());
        row.look = row.next_look(timeout);
        self.dead.forget_same(&id, (&address.host, address.port));
        let Offer { cores, memory, resources, .. } = row.offer();
        let slot = self.index.insert(id.clone(), cores, memory, resources);
        self.gained.insert(slot);
        self.moved = Changes::All;
        self.whole.add(&row.whole_offer());
        self.labels.add(&row.description.label);
        match row.link {
            Link::Here(peer) => {
                self.by_peer.insert(peer, slot);
                self.looks.insert((row.look, slot));
            }
            Link::Away(absence) => drop(self.away.insert((absence.until, slot))),
        }
        self.by_address.insert(address, id);
        if self.rows.len() <= slot.index() {
            self.rows.resize_with(slot.index() + 1, || None);
        }
        self.rows[slot.index()] = Some(row);
        slot
    }

    pub(crate) fn remove(&mut self, id: &WorkerId) -> WorkerRow {
        let slot = self.index.remove(id).expect("the Worker is alive");
        let row = self.rows[slot.index()].take().expect("every slot of the index has its row");
        self.moved = Changes::All;
        self.whole.remove(&row.whole_offer());
        self.labels.remove(&row.description.label);
        if let Some(until) = row.health.global_exclusion.until {
            self.excluded.remove(&(until, slot));
        }
        match row.link {
            Link::Here(peer) => {
                self.by_peer.remove(&peer);
                self.looks.remove(&(row.look, slot));
            }
            Link::Away(absence) => drop(self.away.remove(&(absence.until, slot))),
        }
        self.late.remove(&slot);
        self.by_address.remove(&row.address());
        row
    }

    pub(crate) fn all_admit(&self, label: Option<&Label>) -> bool {
        self.labels.all_admit(label)
    }

    /// The Workers by id, and in the worker order.
    pub(crate) fn index(&self) -> &Index<WorkerId> {
        &self.index
    }

    /// An offer of the free amounts of the Worker in this slot, without withheld amounts. `None` if the slot has no
    /// Worker.
    pub(crate) fn offer_at(&self, slot: Slot) -> Option<Offer<'_>> {
        Some(self.at(slot)?.open_offer(self.withheld.get(&slot)))
    }

    /// The Workers whose amounts changed since the last call.
    pub(crate) fn take_moved(&mut self) -> Changes {
        self.moved.take()
    }

    /// Takes placed shares out of the index. [`grant`](Self::grant) then takes them from the rows, one executor at a
    /// time.
    pub(crate) fn claim(&mut self, demand: &Demand, shares: &[Share]) {
        self.index.take(demand, shares);
        for share in shares {
            self.moved.add(share.slot, self.rows.len());
        }
    }

    /// Takes an executor's share from the Worker's row. It was already taken from the index.
    pub(crate) fn grant(&mut self, slot: Slot, each: &Demand, cores: Cores) -> Option<Grant> {
        let grant = self.row_mut(slot).capacity.take(cores, each.memory, &each.resources);
        self.withhold_anew(slot);
        grant
    }

    /// Takes an executor's share from the Worker's row and from the index.
    pub(crate) fn grant_at_once(
        &mut self,
        slot: Slot,
        cores: Cores,
        memory: MiB,
        resources: &ResourceAmounts,
    ) -> Option<Grant> {
        let grant = self.row_mut(slot).capacity.take(cores, memory, resources);
        self.index_anew(slot);
        grant
    }

    /// Takes a share with exactly these addresses from the Worker's row and from the index. Used for executors that
    /// already existed.
    pub(crate) fn grant_exactly(&mut self, slot: Slot, share: Holding) -> Option<Grant> {
        let grant = self.row_mut(slot).capacity.take_exactly(share);
        self.index_anew(slot);
        grant
    }

    pub(crate) fn give_back(&mut self, slot: Slot, grant: Grant) {
        self.row_mut(slot).capacity.give_back(grant);
        self.index_anew(slot);
        self.gained.insert(slot);
    }

    /// The largest number of free cores among the Workers with newly freed resources.
    pub(crate) fn most_gained(&self) -> Option<Cores> {
        // A Worker that had newly freed resources may be lost by now.
        let rows = self.gained.iter().filter_map(|slot| self.at(*slot));
        rows.map(|row| row.offer().cores).max()
    }

    /// Whether one executor of a demand fits on a Worker with newly freed resources. The demand did not fit at the last
    /// pass.
    pub(crate) fn gained_room_for(&self, one: &Demand) -> bool {
        if self.gained.len() > FEW {
            return self.index.fits_anywhere(one);
        }
        self.gained.iter().any(|slot| self.index.fits(*slot, one))
    }

    /// The first Worker by id with enough free resources for a cluster driver. With `after`, the search starts after
    /// that Worker, and continues at the beginning. A late Worker is chosen only if no other fits. Workers with a label
    /// run only executors.
    pub(crate) fn first_with_room(&self, one: &Demand, after: Option<&WorkerId>) -> Option<Slot> {
        if !self.index.fits_anywhere(one) {
            return None;
        }
        let fits = |slot: &Slot| {
            let row = self.row(*slot);
            row.description.label.is_none() && row.offer().fits(one)
        };
        let prompt = |slot: &Slot| !self.late.contains(slot) && fits(slot);
        let Some(last) = after else {
            let mut all = self.index.iter().map(|(_, slot)| slot);
            return all.find(prompt).or_else(|| self.late.iter().copied().find(fits));
        };
        let behind = self.index.iter_from(last).filter(|(id, _)| *id != last);
        let before = self.index.iter().take_while(|(id, _)| *id <= last);
        let mut all = behind.chain(before).map(|(_, slot)| slot);
        all.find(prompt).or_else(|| self.late.iter().copied().find(fits))
    }

    pub(crate) fn open_offer<'a>(&'a self, slot: Slot, row: &'a WorkerRow) -> Offer<'a> {
        row.open_offer(self.withheld.get(&slot))
    }

    /// Forgets which Workers have newly freed resources, after the pass has considered them.
    pub(crate) fn settle(&mut self) {
        self.gained.clear();
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.gained.is_empty()
    }

    pub(super) fn index_anew(&mut self, slot: Slot) {
        self.withhold_anew(slot);
        let row = self.rows[slot.index()].as_ref().expect("every slot of the index has its row");
        let Offer { cores, memory, resources, .. } = match self.withheld.is_empty() {
            true => row.offer(),
            false => row.open_offer(self.withheld.get(&slot)),
        };
        self.index.set(slot, cores, memory, resources);
        self.moved.add(slot, self.rows.len());
    }

    /// Remembers a removed Worker, and forgets other lost Workers whose time is over.
    pub(crate) fn retire(&mut self, row: &WorkerRow, departure: Departure, remember: Duration) {
        self.dead.forget(departure.at);
        let forgotten_at = row.last_heartbeat.time() + remember;
        // A Worker can have thousands of addresses. After it is lost, nobody needs them or its impairment.
        let (resources, resources_used) = (Resources::default(), Resources::default());
        let (impairment, state) = (None, departure.cause.state());
        let remark = Some(WorkerRemark::Gone(departure));
        let view = WorkerView { resources, resources_used, impairment, remark, ..row.view(state) };
        self.dead.add(view, forgotten_at);
    }

    /// Remembers a lost Worker until this time.
    pub(crate) fn retire_view(&mut self, view: WorkerView, forgotten_at: Timestamp) {
        self.dead.add(view, forgotten_at);
    }

    /// The lost Workers that are remembered at this time, in the order in which they were lost. Each has the time when
    /// it is forgotten.
    pub(crate) fn dead(&self, now: Timestamp) -> impl Iterator<Item = (&WorkerView, Timestamp)> {
        self.dead.at(now)
    }

    /// Forgets lost Workers whose time is over. Called before they are shown.
    pub(crate) fn forget_dead(&mut self, now: Timestamp) {
        self.dead.forget(now);
    }

    pub(crate) fn registered(&self) -> u64 {
        self.next_number
    }

    /// Makes the next Worker get this number or a higher one.
    pub(crate) fn count_from(&mut self, number: u64) {
        self.next_number = self.next_number.max(number);
    }

    /// The Workers whose standings may have changed since the last call.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Slot> {
        std::mem::take(&mut self.changed)
    }

    pub(crate) fn late(&self) -> &BTreeSet<Slot> {
        &self.late
    }

    pub(crate) fn away(&self) -> usize {
        self.away.len()
    }

    /// The time when the next Worker that is away is lost, and the Worker.
    pub(crate) fn next_loss(&self) -> Option<(Timestamp, Slot)> {
        self.away.first().copied()
    }

    /// Records that a living Worker is away. If it was away before, its times change.
    pub(crate) fn set_away(&mut self, slot: Slot, absence: Absence) {
        let row = self.row_mut(slot);
        row.is_late = false;
        let (old, look) = (std::mem::replace(&mut row.link, Link::Away(absence)), row.look);
        match old {
            Link::Here(peer) => {
                self.by_peer.remove(&peer);
                self.looks.remove(&(look, slot));
                self.late.remove(&slot);
                self.consider_anew(slot);
            }
            Link::Away(earlier) => drop(self.away.remove(&(earlier.until, slot))),
        }
        self.away.insert((absence.until, slot));
    }

    pub(crate) fn alive_count(&self) -> usize {
        self.index.len()
    }

    /// Moves a living Worker to another connection, on which it gets orders again. Returns whether it had stopped
    /// answering orders.
    pub(crate) fn move_to(&mut self, id: &WorkerId, peer: PeerId) -> bool {
        let slot = self.slot(id).expect("the Worker is alive");
        let row = self.row_mut(slot);
        row.orders = Orders::default();
        let (old, look) = (std::mem::replace(&mut row.link, Link::Here(peer)), row.look);
        match old {
            Link::Here(old) => {
                self.by_peer.remove(&old);
            }
            Link::Away(absence) => {
                self.away.remove(&(absence.until, slot));
                self.looks.insert((look, slot));
                self.consider_anew(slot);
            }
        }
        self.by_peer.insert(peer, slot);
        self.set_deaf(slot, false)
    }

    /// The slot of a living Worker. After this Worker has been removed, another Worker may get the slot.
    pub(crate) fn slot(&self, id: &WorkerId) -> Option<Slot> {
        self.index.slot(id)
    }

    pub(crate) fn get(&self, id: &WorkerId) -> Option<&WorkerRow> {
        self.slot(id).map(|slot| self.row(slot))
    }

    /// A Worker that another table of the Master names, so it must be alive.
    pub(crate) fn living(&self, id: &WorkerId) -> &WorkerRow {
        self.get(id).expect("the Worker is alive")
    }

    /// The Worker in a slot from the index or from an executor, so it must be alive.
    pub(crate) fn row(&self, slot: Slot) -> &WorkerRow {
        self.at(slot).expect("every slot of the index has its row")
    }

    /// The living Worker in this slot, for changes.
    pub(crate) fn row_mut(&mut self, slot: Slot) -> &mut WorkerRow {
        self.rows[slot.index()].as_mut().expect("every slot of the index has its row")
    }

    /// The Worker in this slot. The slot may be out of date, and have no Worker.
    pub(super) fn at(&self, slot: Slot) -> Option<&WorkerRow> {
        self.rows.get(slot.index())?.as_ref()
    }

    pub(crate) fn is_alive(&self, slot: Slot) -> bool {
        self.at(slot).is_some()
    }

    pub(crate) fn of_peer(&self, peer: PeerId) -> Option<&WorkerRow> {
        self.slot_of_peer(peer).map(|slot| self.row(slot))
    }

    pub(crate) fn slot_of_peer(&self, peer: PeerId) -> Option<Slot> {
        self.by_peer.get(&peer).copied()
    }

    pub(crate) fn at_address(&self, address: &Address) -> Option<&WorkerId> {
        self.by_address.get(address)
    }

    /// The slots of living Workers on a host.
    pub(crate) fn on_host(&self, host: &str) -> impl Iterator<Item = Slot> {
        let [first, last] = [u16::MIN, u16::MAX].map(|port| Address { host: host.to_owned(), port });
        self.by_address.range(first..=last).map(|(_, id)| self.slot(id).expect("the Worker is alive"))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &WorkerRow> {
        self.slots().map(|(_, row)| row)
    }

    /// The living Workers by id, with their slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (Slot, &WorkerRow)> {
        self.index.iter().map(|(_, slot)| (slot, self.row(slot)))
    }

    /// The impaired living Workers, by id.
    pub(crate) fn impaired(&self) -> impl Iterator<Item = (Slot, &WorkerRow, Impairment)> {
        self.slots().filter_map(|(slot, row)| Some((slot, row, row.impairment()?)))
    }

    pub(crate) fn whole(&self) -> &ClusterTotal {
        &self.whole
    }

    pub(crate) fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.iter().map(WorkerRow::offer)
    }

    pub(crate) fn whole_offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.iter().map(WorkerRow::whole_offer)
    }

    /// An offer of the total amounts of the Worker in this slot. `None` if the slot has no Worker.
    pub(crate) fn whole_offer(&self, slot: Slot) -> Option<Offer<'_>> {
        self.at(slot).map(WorkerRow::whole_offer)
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len() + self.dead.len()
    }

    /// The index, so that a test can corrupt it.
    #[cfg(test)]
    pub(crate) fn index_mut(&mut self) -> &mut Index<WorkerId> {
        &mut self.index
    }
}
