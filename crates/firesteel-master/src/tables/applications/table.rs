//! The table of live applications by number and id, in the order of their submission.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId, ProfileId};
use firesteel_protocol::time::{Timestamp, first_due};

use crate::limits::Charges;
use crate::tables::applications::application::Application;
use crate::tables::applications::backlog::{Backlog, DemandKey, ReadyDemands, Shape};
use crate::tables::applications::ended::{Ended, EndedApplications};
use crate::tables::applications::exclusions::Exclusions;
use crate::tables::applications::host_preferences::LimitedPreferences;
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::link::{Absence, Link};
use crate::tables::merged::merged;
use crate::tables::workers::table::WorkerTable;
use crate::users::Rooms;

/// The live applications in the order of registration, and the latest ended ones.
#[derive(Debug, Default)]
pub(crate) struct ApplicationTable {
    /// The live applications by number, which is the order of registration.
    rows: BTreeMap<u64, Application>,
    numbers: BTreeMap<AppId, u64>,
    by_peer: BTreeMap<PeerId, AppId>,
    /// The live applications whose drivers are away, by the time when they are lost.
    away: BTreeSet<(Timestamp, u64)>,
    /// The applications that wait after failures, by the time from which they may get executors again.
    held: BTreeSet<(Timestamp, AppId)>,
    /// The applications with excluded Workers, by the end of the first exclusion.
    excluding: BTreeSet<(Timestamp, AppId)>,
    backlog: Backlog,
    /// The numbers of applications with a priority, or with a gang that possibly has not started.
    special: BTreeSet<u64>,
    /// The number of live applications by queue and priority.
    priorities: BTreeMap<(usize, i32), usize>,
    /// The memory that the live applications take for what they describe.
    kept: Charges,
    ended: EndedApplications,
    next_sequence: u64,
    /// The applications whose standings may have changed in the current event, by number.
    changed: BTreeSet<u64>,
}

/// A live application, or one that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyApplication<'a> {
    Live(&'a Application),
    Ended(&'a Ended),
}

impl ApplicationTable {
    pub(crate) fn registered(&self) -> u64 {
        self.next_sequence
    }

    /// Makes the next application get this number or a higher one.
    pub(crate) fn count_from(&mut self, number: u64) {
        self.next_sequence = self.next_sequence.max(number);
    }

    pub(crate) fn mark(&mut self, id: &AppId) {
        self.changed.insert(self.live(id).sequence);
    }

    /// The applications whose standings may have changed since the last call, by number. Some may have ended.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.changed)
    }

    /// Makes every application forget the profiles that it no longer needs. A pass does this for each application that
    /// it considers.
    pub(crate) fn forget_profiles(&mut self) {
        self.rows.values_mut().for_each(Application::forget_profiles);
    }

    /// The memory that the live applications take for what they describe.
    pub(crate) fn kept(&self) -> &Charges {
        &self.kept
    }

    /// Sets the hosts that a live application prefers and excludes.
    pub(crate) fn prefer(&mut self, number: u64, preferences: LimitedPreferences) {
        let row = self.rows.get_mut(&number).expect("the application is live");
        self.kept.subtract(&row.description.user, row.preferences.weight());
        self.kept.add(&row.description.user, preferences.weight());
        considered(&mut self.backlog, row).preferences = preferences;
    }

    pub(crate) fn away(&self) -> usize {
        self.away.len()
    }

    /// The time when the next application whose driver is away is lost, and its number.
    pub(crate) fn next_loss(&self) -> Option<(Timestamp, u64)> {
        self.away.first().copied()
    }

    /// Records that the driver of the live application with this number is away. If it was away before, its times
    /// change.
    pub(crate) fn set_away(&mut self, number: u64, absence: Absence) {
        let row = self.at_mut(number).expect("the application is live");
        match std::mem::replace(&mut row.link, Link::Away(absence)) {
            Link::Here(peer) => drop(self.by_peer.remove(&peer)),
            Link::Away(earlier) => drop(self.away.remove(&(earlier.until, number))),
        }
        self.away.insert((absence.until, number));
    }

    pub(crate) fn is_numbered(&self, number: u64) -> bool {
        self.rows.contains_key(&number)
    }

    /// The live application with this number, for changes.
    pub(crate) fn at_mut(&mut self, number: u64) -> Option<&mut Application> {
        let row = self.rows.get_mut(&number)?;
        Some(considered(&mut self.backlog, row))
    }

    /// The live application with this number, for changes that do not affect scheduling passes.
    pub(crate) fn recorded_mut(&mut self, number: u64) -> Option<&mut Application> {
        self.rows.get_mut(&number)
    }

    /// The id of the application with this number, live or ended.
    pub(crate) fn id_of(&self, number: u64) -> Option<AppId> {
        match self.from(number).next()? {
            AnyApplication::Live(app) => (app.sequence == number).then(|| app.id.clone()),
            AnyApplication::Ended(ended) => (ended.sequence == number).then(|| ended.row.id.clone()),
        }
    }

    /// Records that a driver has returned, or has another connection. Returns the former link.
    pub(crate) fn move_to(&mut self, id: &AppId, peer: PeerId) -> Link {
        let row = self.live_mut(id);
        let (old, number) = (std::mem::replace(&mut row.link, Link::Here(peer)), row.sequence);
        match old {
            Link::Here(old) => drop(self.by_peer.remove(&old)),
            Link::Away(absence) => drop(self.away.remove(&(absence.until, number))),
        }
        self.by_peer.insert(peer, id.clone());
        old
    }

    /// Puts an application into its place in the queue.
    pub(crate) fn insert(&mut self, row: Application) {
        self.count_from(row.sequence + 1);
        self.numbers.insert(row.id.clone(), row.sequence);
        match row.link {
            Link::Here(peer) => drop(self.by_peer.insert(peer, row.id.clone())),
            Link::Away(absence) => drop(self.away.insert((absence.until, row.sequence))),
        }
        self.backlog.touch(row.sequence);
        if row.is_special() {
            self.special.insert(row.sequence);
        }
        *self.priorities.entry((row.queue, row.description.priority)).or_default() += 1;
        self.kept.add(&row.description.user, row.weight());
        self.rows.insert(row.sequence, row);
    }

    pub(crate) fn remove(&mut self, id: &AppId) -> Application {
        let sequence = self.live_mut(id).sequence;
        let row = self.rows.remove(&sequence).expect("it was found live");
        self.kept.subtract(&row.description.user, row.weight());
        self.backlog.forget(row.sequence);
        self.numbers.remove(id);
        self.special.remove(&row.sequence);
        let place = (row.queue, row.description.priority);
        let others = self.priorities.get_mut(&place).expect("it was counted");
        *others -= 1;
        if *others == 0 {
            self.priorities.remove(&place);
        }
        match row.link {
            Link::Here(peer) => drop(self.by_peer.remove(&peer)),
            Link::Away(absence) => drop(self.away.remove(&(absence.until, row.sequence))),
        }
        if let Some(until) = row.failures.hold_until {
            self.held.remove(&(until, row.id.clone()));
        }
        if let Some(until) = row.exclusions.next_end() {
            self.excluding.remove(&(until, row.id.clone()));
        }
        row
    }

    /// Removes all ended applications, and returns them in the order in which they ended.
    pub(crate) fn forget_ended(&mut self) -> Vec<(u64, Ended)> {
        self.ended.take_all()
    }

    /// Remembers an ended application, but at most `limit` of them. Returns the applications that are dropped.
    pub(crate) fn retire(&mut self, ended: Ended, limit: usize) -> Vec<(u64, Ended)> {
        self.ended.insert((ended.sequence, ended.row.id.clone()), ended, limit)
    }

    /// Gives an application no executors before `until`. With `None`, it may get executors at once.
    pub(crate) fn hold(&mut self, id: &AppId, until: Option<Timestamp>) {
        self.mark(id);
        let row = self.live_mut(id);
        if let Some(old) = std::mem::replace(&mut row.failures.hold_until, until) {
            self.held.remove(&(old, id.clone()));
        }
        if let Some(until) = until {
            self.held.insert((until, id.clone()));
        }
    }

    pub(crate) fn next_release(&self) -> Option<Timestamp> {
        self.held.first().map(|(time, _)| *time)
    }

    /// Lets applications be served again whose waits are over. Returns whether there were any.
    pub(crate) fn release(&mut self, now: Timestamp) -> bool {
        let mut released = false;
        while let Some(id) = first_due(&self.held, now) {
            self.hold(&id, None);
            released = true;
        }
        released
    }

    /// Sets what the users may still get. Applications whose room has changed are considered by the next pass.
    pub(crate) fn set_rooms(&mut self, rooms: &Rooms) {
        for row in self.rows.values_mut() {
            let room = rooms.of(&row.description.user);
            if row.room != room {
                considered(&mut self.backlog, row).room = room;
            }
        }
    }

    pub(crate) fn live_count(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn change_exclusions<T>(
        &mut self,
        id: &AppId,
        change: impl FnOnce(&mut Exclusions) -> T,
    ) -> T {
        self.mark(id);
        let exclusions = &mut self.live_mut(id).exclusions;
        let before = exclusions.next_end();
        let result = change(exclusions);
        let after = exclusions.next_end();
        if let Some(before) = before {
            self.excluding.remove(&(before, id.clone()));
        }
        if let Some(after) = after {
            self.excluding.insert((after, id.clone()));
        }
        result
    }

    /// When the exclusion of the next Worker ends.
    pub(crate) fn next_readmission(&self) -> Option<Timestamp> {
        self.excluding.first().map(|(time, _)| *time)
    }

    /// Ends the exclusions whose time is over. Returns whether there were any.
    pub(crate) fn readmit_workers(&mut self, now: Timestamp) -> bool {
        let mut readmitted = false;
        while let Some(id) = first_due(&self.excluding, now) {
            self.change_exclusions(&id, |exclusions| exclusions.release(now));
            readmitted = true;
        }
        readmitted
    }

    /// The number of applications for which each Worker is excluded.
    pub(crate) fn excluded_for(&self) -> BTreeMap<Slot, u64> {
        let mut counts = BTreeMap::new();
        for (_, id) in &self.excluding {
            self.live(id).exclusions.iter().for_each(|(slot, _)| *counts.entry(slot).or_default() += 1);
        }
        counts
    }

    pub(crate) fn forget_worker(&mut self, worker: Slot) {
        let remembers = |row: &&Application| row.exclusions.remembers(worker);
        let ids: Vec<AppId> = self.rows.values().filter(remembers).map(|row| row.id.clone()).collect();
        for id in &ids {
            self.change_exclusions(id, |exclusions| exclusions.forget(worker));
        }
    }

    pub(crate) fn get(&self, id: &AppId) -> Option<&Application> {
        self.rows.get(self.numbers.get(id)?)
    }

    /// An application that another table of the Master names, so it must be live.
    pub(crate) fn live(&self, id: &AppId) -> &Application {
        self.get(id).expect("the application is live")
    }

    /// The live application, to change it. The next pass considers it.
    pub(crate) fn live_mut(&mut self, id: &AppId) -> &mut Application {
        let row = self.numbers.get(id).and_then(|number| self.rows.get_mut(number));
        let row = row.expect("the application is live");
        considered(&mut self.backlog, row)
    }

    /// A live application by its number.
    pub(crate) fn numbered(&self, sequence: u64) -> &Application {
        self.rows.get(&sequence).expect("the application is live")
    }

    /// Whether any application may have to be served out of the order of registration. Drops gangs that have started.
    pub(crate) fn has_special(&mut self) -> bool {
        self.special.retain(|sequence| self.rows.get(sequence).is_some_and(Application::is_special));
        !self.special.is_empty()
    }

    /// Makes the next pass consider every application.
    pub(crate) fn touch_all(&mut self) {
        for row in self.rows.values_mut() {
            considered(&mut self.backlog, row);
        }
    }

    /// The demands that may fit since the last pass.
    pub(crate) fn ready_demands(&self, workers: &WorkerTable) -> ReadyDemands {
        self.backlog.ready_demands(workers)
    }

    /// The demand to serve after `last`. Its application may have changed, or the demand is ready.
    pub(crate) fn next_demand(
        &self,
        ready: &mut ReadyDemands,
        workers: &WorkerTable,
        last: Option<DemandKey>,
    ) -> Option<(AppId, DemandKey)> {
        let touched = self.next_touched(last);
        let key = self.backlog.next(ready, workers, touched).or(touched)?;
        Some((self.numbered(key.0).id.clone(), key))
    }

    fn next_touched(&self, last: Option<DemandKey>) -> Option<DemandKey> {
        let from = last.map_or(0, |(sequence, _)| sequence);
        self.backlog.touched_from(from).find_map(|sequence| {
            let row = self.numbered(sequence);
            let after = match last {
                Some((same, profile)) if same == sequence => Excluded(profile),
                _ => Unbounded,
            };
            let (profile, _) = row.profiles.range((after, Unbounded)).next()?;
            row.may_be_served().then_some((sequence, *profile))
        })
    }

    /// Files the demands of applications that may have changed. These applications forget the profiles that they no
    /// longer need. Called at the end of a pass, when no waiting demand fits.
    pub(crate) fn file(&mut self) {
        for sequence in self.backlog.take_touched() {
            let row = self.rows.get_mut(&sequence).expect("an application that is touched is live");
            row.forget_profiles();
            let waiting: Vec<(ProfileId, Shape)> = row.waiting().collect();
            let file = |(profile, shape)| (profile, self.backlog.file((sequence, profile), shape));
            row.filed = waiting.into_iter().map(file).collect();
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.backlog.is_settled()
    }

    pub(crate) fn of_peer(&self, peer: PeerId) -> Option<&AppId> {
        self.by_peer.get(&peer)
    }

    /// Whether this application is live and its driver has this connection.
    pub(crate) fn is_drivers(&self, id: &AppId, peer: PeerId) -> bool {
        self.by_peer.get(&peer) == Some(id)
    }

    pub(crate) fn queue(&self) -> impl Iterator<Item = &Application> {
        self.rows.values()
    }

    /// The live applications with lower numbers than this one, in order.
    pub(crate) fn registered_before(&self, number: u64) -> impl Iterator<Item = &Application> {
        self.rows.range(..number).map(|(_, row)| row)
    }

    /// All applications that could be waiting for executors, in no particular order; one can appear twice. Every
    /// application that is not listed has all executors it asks for, or is not allowed to get more now.
    pub(crate) fn may_wait(&self) -> impl Iterator<Item = &Application> {
        let sequences = self.backlog.touched_from(0).chain(self.backlog.filed());
        sequences.map(|sequence| self.numbered(sequence))
    }

    pub(crate) fn has_lower(&self, queue: usize, priority: i32) -> bool {
        self.priorities.range((queue, i32::MIN)..(queue, priority)).next().is_some()
    }

    pub(crate) fn ended(&self) -> &EndedApplications {
        &self.ended
    }

    pub(crate) fn from(&self, number: u64) -> impl Iterator<Item = AnyApplication<'_>> {
        let live = self.rows.range(number..).map(|(sequence, row)| (*sequence, AnyApplication::Live(row)));
        let ended = self.ended.from(number).map(|(sequence, ended)| (sequence, AnyApplication::Ended(ended)));
        merged(live, ended)
    }

    pub(crate) fn live_from(&self, number: u64) -> impl Iterator<Item = &Application> {
        self.rows.range(number..).map(|(_, row)| row)
    }

    /// The numbers of live applications, of ended applications and of live executors.
    pub(crate) fn totals(&self) -> (usize, usize, usize) {
        let executors = self.rows.values().map(|row| row.executors.len()).sum();
        (self.rows.len(), self.ended.len(), executors)
    }

    /// The record of an ended executor, with its application's number. `None` if the Master no longer remembers the
    /// executor or the application.
    pub(crate) fn ended_executor(&mut self, key: &ExecutorKey) -> Option<(u64, &mut ExecutorRecord)> {
        let number = key.executor;
        match self.numbers.get(&key.app).and_then(|number| self.rows.get_mut(number)) {
            Some(app) => {
                let record = app.ended.iter_mut().rev().find(|record| record.id == number)?;
                Some((app.sequence, record))
            }
            None => {
                let ended = self.ended.get_mut(&key.app)?;
                Some((ended.sequence, ended.executor_mut(number)?))
            }
        }
    }

    /// Whether all indexes agree with the rows.
    pub(crate) fn is_consistent(&self) -> bool {
        let numbers =
            self.rows.iter().all(|(n, row)| row.sequence == *n && self.numbers.get(&row.id) == Some(n));
        let peers = self
            .by_peer
            .iter()
            .all(|(peer, id)| self.get(id).is_some_and(|row| row.link == Link::Here(*peer)));
        let here = self.rows.values().filter(|row| row.link.is_here()).count();
        let absences = self.rows.values().filter_map(|row| Some((row.link.absence()?.until, row.sequence)));
        let away: BTreeSet<_> = absences.collect();
        let holds: BTreeSet<_> =
            self.rows.values().filter_map(|row| Some((row.failures.hold_until?, row.id.clone()))).collect();
        let ends: BTreeSet<_> =
            self.rows.values().filter_map(|row| Some((row.exclusions.next_end()?, row.id.clone()))).collect();
        let mut priorities = BTreeMap::new();
        for row in self.rows.values() {
            *priorities.entry((row.queue, row.description.priority)).or_default() += 1;
        }
        let mut kept = Charges::default();
        self.rows.values().for_each(|row| kept.add(&row.description.user, row.weight()));
        numbers
            && kept == self.kept
            && peers
            && priorities == self.priorities
            && self.ended.is_consistent(|ended, number, id| ended.sequence == number && ended.row.id == *id)
            && ends == self.excluding
            && self.rows.values().all(|row| row.exclusions.is_consistent())
            && self.is_filed()
            && holds == self.held
            && away == self.away
            && (self.numbers.len(), self.by_peer.len()) == (self.rows.len(), here)
    }

    /// Whether exactly the waiting demands are in the backlog.
    fn is_filed(&self) -> bool {
        let filed = |row: &Application| {
            let key = |profile: &ProfileId| (row.sequence, *profile);
            let known = row.filed.iter().all(|(profile, shape)| self.backlog.is_filed(key(profile), shape));
            let filed = row.filed.iter().map(|(profile, shape)| (*profile, (**shape).clone()));
            match self.backlog.is_touched(row.sequence) {
                true => row.filed.is_empty(),
                false => known && filed.eq(row.waiting()),
            }
        };
        let count: usize = self.rows.values().map(|row| row.filed.len()).sum();
        self.rows.values().all(filed) && count == self.backlog.len()
    }
}

/// Returns the application and marks it for the next pass.
fn considered<'a>(backlog: &mut Backlog, row: &'a mut Application) -> &'a mut Application {
    if backlog.touch(row.sequence) {
        for (profile, shape) in std::mem::take(&mut row.filed) {
            backlog.unfile((row.sequence, profile), &shape);
        }
    }
    row
}
