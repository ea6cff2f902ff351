//! The disk of a durable Master: the records on the disk, and the effects that wait for the disk.
//!
//! As in the real daemon, a Master's messages are sent only once its records are durable, and later decisions form the
//! next batch. A Master that dies loses its waiting decisions. The batch that was being written is on the disk
//! completely or not at all.

use std::collections::VecDeque;

use firesteel_master::{self as master, Config, Effect, Master, Record, ReservationView};
use firesteel_protocol::Timestamp;

use crate::cluster::faults::Fault;
use crate::cluster::laws::ledger::{EventOutcome, Order};
use crate::cluster::processes::node::{Body, NodeEffects};
use crate::cluster::sabotage::Sabotage;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};

/// How many events of a Master pass between two test recoveries. The recovered Master is compared with the running one.
const COMPARED_EVERY: u64 = 64;

/// The disk of a durable Master.
#[derive(Debug, Default)]
pub(crate) struct MasterDisk {
    records: Vec<Record>,
    /// Records that are not urgent. They become durable together with the next records.
    waiting: Vec<Record>,
    /// The Master's decisions whose messages are not sent yet, oldest first.
    held: VecDeque<Held>,
    /// How many of these decisions the current write makes durable.
    writing: usize,
    /// Whether the Master can no longer write to the disk.
    is_cut_off: bool,
    /// With the bug `WriteUnfenced`: the former leader's unwritten decisions, until the next leader has begun.
    late: Vec<Held>,
}

/// An event of the Master with its effects, which are held back until the disk has written the records.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) event: master::Event,
    pub(crate) effects: Vec<Effect>,
    pub(crate) before: Vec<ReservationView>,
    pub(crate) after: Vec<ReservationView>,
    pub(crate) at: u64,
}

impl Held {
    fn records(&self) -> impl Iterator<Item = Record> {
        let records = self.effects.iter().filter_map(|effect| match effect {
            Effect::Persist(records) => Some(records),
            _ => None,
        });
        records.flatten().cloned()
    }
}

impl MasterDisk {
    /// Whether a write is in progress, so that the effects of the Master's next event must wait.
    pub(crate) fn is_busy(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether the Master can no longer write to the disk.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Cuts the Master off from its disk. It is uncertain whether the current write succeeded.
    pub(crate) fn cut_off(&mut self) {
        self.is_cut_off = true;
    }

    fn append(&mut self, held: &Held) {
        self.records.append(&mut self.waiting);
        self.records.extend(held.records());
    }
}

impl World {
    /// Recovers a Master from the records on its disk.
    pub(crate) fn recovered_master(&mut self, config: Config) -> Option<Master> {
        let mut records = self.master_disk.records.clone();
        if self.is_sabotaged_by(Sabotage::ReplayTwice) {
            let last = records.len().saturating_sub(3);
            records.extend_from_within(last..);
        }
        match Master::recover(config, self.timestamp(), records) {
            Ok(master) => {
                self.master_disk.records = master.image();
                Some(master)
            }
            Err(error) => {
                self.violate(format!("the Master cannot be recovered: {error}"));
                None
            }
        }
    }

    /// Whether the effects of a Master's event wait for its disk.
    pub(crate) fn must_wait(&self, effects: &[Effect]) -> bool {
        let must = |effect: &Effect| match effect {
            Effect::Persist(records) => !Record::may_wait(records),
            _ => false,
        };
        self.scenario.is_durable && (self.master_disk.is_busy() || effects.iter().any(must))
    }

    /// Keeps records for the next write.
    pub(crate) fn keep_waiting(&mut self, records: Vec<Record>) {
        if self.scenario.is_durable {
            self.master_disk.waiting.extend(records);
        }
    }

    /// Holds back the effects of an event until the event's records are durable.
    pub(crate) fn hold_back(&mut self, node: NodeIndex, mut held: Held) {
        if self.is_sabotaged_by(Sabotage::TellBeforeDurable) {
            self.tell_of(node, &held);
            held.effects.retain(|effect| matches!(effect, Effect::Persist(_)));
        }
        if self.master_disk.is_cut_off && self.is_sabotaged_by(Sabotage::TellUnwritten) {
            return self.tell_of(node, &held);
        }
        self.master_disk.held.push_back(held);
        if self.master_disk.writing == 0 && !self.master_disk.is_cut_off {
            self.begin_write(node);
        }
    }

    fn begin_write(&mut self, node: NodeIndex) {
        self.master_disk.writing = self.master_disk.held.len();
        // A new leader is often slow, so that messages of the former one may arrive before its first answers.
        let one_in = if self.follows_one_that_is_held_up(node) { 3 } else { 50 };
        let is_slow = self.is_rough() && self.dice.one_in(one_in);
        if is_slow {
            self.fault(Fault::SlowSync);
        }
        let millis = if is_slow { self.dice.between(500, 5_000) } else { self.dice.below(10) };
        self.after(millis, ScheduledEvent::Synced { node });
    }

    /// A write of the Master to its disk is complete.
    pub(crate) fn synced(&mut self, node: NodeIndex) {
        if self.master != Some(node) || self.master_disk.is_cut_off {
            return;
        }
        if self.is_rough() && self.dice.one_in(2_000) {
            self.fault(Fault::SyncFails);
            return self.crash_master();
        }
        let written: Vec<Held> = self.master_disk.held.drain(..self.master_disk.writing).collect();
        self.master_disk.writing = 0;
        written.iter().for_each(|held| self.master_disk.append(held));
        // With the bug, the messages were sent before.
        if !self.is_sabotaged_by(Sabotage::TellBeforeDurable) {
            written.iter().for_each(|held| self.tell_of(node, held));
        }
        if self.master_disk.is_busy() {
            self.begin_write(node);
        }
    }

    /// Enters a durable decision in the ledger, and performs its effects.
    fn tell_of(&mut self, node: NodeIndex, held: &Held) {
        let entry = self.enter(held);
        self.take_outcome(node, entry);
        self.check_unheard(&held.event);
        let told = held.effects.iter().filter(|effect| !matches!(effect, Effect::Persist(_)));
        self.perform(node, NodeEffects::Master(told.cloned().collect()));
    }

    /// Enters an event of the Master and its effects in the ledger.
    pub(crate) fn enter(&mut self, held: &Held) -> Result<EventOutcome, String> {
        let Held { event, effects, before, after, at } = held;
        let order = Order {
            queues: &self.scenario.queues,
            backfill: self.scenario.backfill,
            serving: self.scenario.serving,
            preemption: self.scenario.preemption,
            gang_preemption: self.scenario.gang_preemption,
            budget: self.scenario.budget,
            user_cores: self.scenario.user_cores,
            now: *at,
            before: before.clone(),
            after: after.clone(),
        };
        self.ledger.enter(event, effects, &order)
    }

    /// Handles the death of the Master. The batch in progress may be on the disk completely. Later records are lost.
    pub(crate) fn lose_held(&mut self) {
        let is_written = self.dice.one_in(2);
        let held = std::mem::take(&mut self.master_disk.held);
        let writing = std::mem::take(&mut self.master_disk.writing);
        let was_cut_off = std::mem::take(&mut self.master_disk.is_cut_off);
        if was_cut_off && self.is_sabotaged_by(Sabotage::WriteUnfenced) {
            self.master_disk.late.extend(held);
            return self.forget_waiting();
        }
        let is_entered = self.is_sabotaged_by(Sabotage::TellBeforeDurable);
        for held in held.into_iter().take(if is_written { writing } else { 0 }) {
            self.fault(Fault::WrittenUntold);
            self.master_disk.append(&held);
            if !is_entered && let Err(sentence) = self.enter(&held) {
                self.violate(sentence);
            }
        }
        self.forget_waiting();
    }

    fn forget_waiting(&mut self) {
        self.ledger.restart(&std::mem::take(&mut self.master_disk.waiting));
    }

    /// With the bug `WriteUnfenced`, writes a former leader's records after the next leader has read the journal.
    pub(crate) fn write_late(&mut self) {
        for held in std::mem::take(&mut self.master_disk.late) {
            self.master_disk.append(&held);
        }
    }

    /// Compares the Master with a Master that is recovered from all records. Replaces the records by the state that
    /// they lead to.
    pub(crate) fn compare_recovered(&mut self, node: NodeIndex) {
        let row = self.node(node);
        let Body::Master(master) = &row.body else { return };
        if !self.scenario.is_durable || self.is_former(node) || !row.events.is_multiple_of(COMPARED_EVERY) {
            return;
        }
        let held = self.master_disk.held.iter().flat_map(Held::records);
        let waiting = self.master_disk.waiting.iter().cloned();
        let records = self.master_disk.records.iter().cloned().chain(waiting).chain(held);
        let now: Timestamp = self.timestamp();
        let image = master.image();
        let recovered = Master::recover(Config::clone(master.config()), now, records);
        let difference = match recovered {
            Err(error) => Some(error.to_string()),
            Ok(recovered) => difference(&recovered.image(), &image),
        };
        if !self.master_disk.is_busy() {
            self.master_disk.records = image;
            self.master_disk.waiting.clear();
        }
        if let Some(difference) = difference {
            self.violate(format!("a Master that is recovered from its records is another one: {difference}"));
        }
    }

    pub(crate) fn is_sabotaged_by(&self, sabotage: Sabotage) -> bool {
        self.saboteur.as_ref().is_some_and(|saboteur| saboteur.is(sabotage))
    }
}

/// The first records in which two saved states differ.
fn difference(one: &[Record], other: &[Record]) -> Option<String> {
    let differ = one.iter().zip(other).find(|(one, other)| one != other);
    match differ {
        Some((one, other)) => {
            let (one, other) = (format!("{one:?}"), format!("{other:?}"));
            let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
            let from = same.saturating_sub(80);
            let part = |text: &str| text.chars().skip(from).take(200).collect::<String>();
            Some(format!("..{}.., not ..{}..", part(&one), part(&other)))
        }
        None if one.len() == other.len() => None,
        None => Some(format!("{} records, not {}", one.len(), other.len())),
    }
}
