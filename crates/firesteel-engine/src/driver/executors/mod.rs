//! The table of the application's executors.

mod check;
mod doubts;
mod ended;
pub(super) mod executor;
mod heartbeats;
pub(super) mod membership;
mod openings;
pub(super) mod reach;
mod shortage;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::advanced::locality::{Sites, Topology, nearness};
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{ExecutorId, PeerId, ProfileId, TaskId};
use firesteel_protocol::last_heard::LastHeard;
use firesteel_protocol::time::Timestamp;

use self::ended::Ended;
use self::executor::{Assigned, Executor, Fate, State, Trust};
use self::openings::Openings;
use self::reach::Reach;
use super::tasks::waiting::{Name, Needs, Shuns};

/// The executors that have not ended, and the numbers of those that have.
#[derive(Clone, Debug, Default)]
pub(super) struct Executors {
    rows: BTreeMap<ExecutorId, Executor>,
    peers: BTreeMap<PeerId, ExecutorId>,
    ended: Ended,
    profiles: BTreeMap<ProfileId, Profile>,
    reach: Reach,
    /// The executors that came or went, or whose tasks changed, since this set was last taken.
    touched: BTreeSet<ExecutorId>,
    /// Until when the driver waits for executors to register, for a sign of life, or for the news of their ends.
    awaited: BTreeSet<(Timestamp, ExecutorId)>,
    /// The executors that the driver gave up, and that the Master has yet to end.
    abandoned: BTreeSet<ExecutorId>,
    /// The executors whose machines are short of something.
    short: BTreeSet<ExecutorId>,
    /// The executors in doubt.
    doubtful: BTreeSet<ExecutorId>,
}

/// The executors of one profile.
#[derive(Clone, Debug, Default)]
struct Profile {
    /// The executors with room for tasks.
    openings: Openings,
    /// The number of executors that take tasks, or would if they were not excluded.
    count: u64,
    /// The cores of the latest executor that came to take tasks.
    last_cores: Cores,
    /// The executor that gets the next task.
    next: ExecutorId,
}

/// The openings of a profile without executors.
const NO_OPENINGS: &Openings = &Openings::NONE;

impl Executors {
    pub(super) fn iter(&self) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        self.rows.iter().map(|(&id, row)| (id, row))
    }

    pub(super) fn get(&self, id: ExecutorId) -> Option<&Executor> {
        self.rows.get(&id)
    }

    /// Whether a Master has told of an executor with this number, or has told that it ended.
    pub(super) fn is_known(&self, id: ExecutorId) -> bool {
        self.rows.contains_key(&id) || self.ended.contains(id)
    }

    /// An executor that another table of the driver names, so that it has not ended.
    pub(super) fn live(&self, id: ExecutorId) -> &Executor {
        self.get(id).expect("the executor has not ended")
    }

    fn live_mut(&mut self, id: ExecutorId) -> &mut Executor {
        self.rows.get_mut(&id).expect("the executor has not ended")
    }

    pub(super) fn of_peer(&self, peer: PeerId) -> Option<ExecutorId> {
        self.peers.get(&peer).copied()
    }

    /// The executors of a profile with room for tasks.
    pub(super) fn openings(&self, profile: ProfileId) -> &Openings {
        self.profiles.get(&profile).map_or(NO_OPENINGS, |profile| &profile.openings)
    }

    /// Whether any executor takes tasks.
    pub(super) fn any_offering(&self) -> bool {
        self.profiles.values().any(|profile| !profile.openings.is_empty())
    }

    /// The next time at which waiting for an executor is over, and its number.
    pub(super) fn next_due(&self) -> Option<(Timestamp, ExecutorId)> {
        self.awaited.first().copied()
    }

    /// The process of an assigned executor runs. The executor has to register by `until`.
    pub(super) fn expect(&mut self, id: ExecutorId, until: Timestamp) {
        if let Some(row) = self.rows.get_mut(&id)
            && row.state == State::Announced
        {
            row.state = State::Expected(until);
            self.await_again(id, None);
        }
    }

    /// Updates until when the driver waits for an executor.
    fn await_again(&mut self, id: ExecutorId, before: Option<Timestamp>) {
        if let Some(before) = before {
            self.awaited.remove(&(before, id));
        }
        if let Some(until) = self.live(id).until() {
            self.awaited.insert((until, id));
        }
    }

    /// The Master assigned an executor. Changes nothing if the driver knows it already, or it has ended.
    pub(super) fn announce(&mut self, id: ExecutorId, assigned: Assigned, topology: &Topology) {
        if !self.rows.contains_key(&id) && !self.ended.contains(id) {
            self.rows.insert(id, Executor::new(assigned, topology, State::Announced, Fate::Wanted));
            self.enter_reach(id);
        }
    }

    /// An executor registers now. At `look`, the driver will look for a sign of life. Returns whether its number was free.
    pub(super) fn register(
        &mut self,
        id: ExecutorId,
        peer: PeerId,
        assigned: Assigned,
        topology: &Topology,
        now: Timestamp,
        look: Timestamp,
    ) -> bool {
        let known = self.rows.get(&id);
        if self.ended.contains(id) || known.is_some_and(|row| !row.is_to_come()) {
            return false;
        }
        let (fate, before) = known.map_or((Fate::Wanted, None), |row| (row.fate, row.until()));
        if known.is_some() {
            self.leave_reach(id);
        }
        let mut row = Executor::new(assigned, topology, State::Offering(peer), fate);
        (row.heard, row.look) = (LastHeard::at(now), look);
        self.rows.insert(id, row);
        self.await_again(id, before);
        self.enter_reach(id);
        self.peers.insert(peer, id);
        self.touched.insert(id);
        self.start_offering(id);
        true
    }

    /// The Master is asked to end an executor. Returns its profile, if the executor is in the table and was
    /// wanted until now.
    pub(super) fn kill(&mut self, id: ExecutorId) -> Option<ProfileId> {
        let row = self.rows.get(&id).filter(|row| row.fate == Fate::Wanted)?;
        let (profile, before) = (row.profile, row.until());
        self.stop_offering(id);
        self.leave_reach(id);
        self.live_mut(id).fate = Fate::Killed;
        self.await_again(id, before);
        Some(profile)
    }

    /// The number of executors of a profile that take tasks, or would if they were not excluded.
    pub(super) fn offering(&self, profile: ProfileId) -> u64 {
        self.profiles.get(&profile).map_or(0, |profile| profile.count)
    }

    /// The cores of the latest executor of a profile that came to take tasks.
    pub(super) fn last_cores(&self, profile: ProfileId) -> Option<Cores> {
        self.profiles.get(&profile).map(|profile| profile.last_cores)
    }

    /// Takes the set of executors that came or went, or whose tasks changed.
    pub(super) fn take_touched(&mut self) -> BTreeSet<ExecutorId> {
        std::mem::take(&mut self.touched)
    }

    /// Gives an executor tasks from now on, or none.
    pub(super) fn set_trust(&mut self, id: ExecutorId, trust: Trust) {
        if self.live(id).trust == trust {
            return;
        }
        self.withdraw(id);
        self.leave_reach(id);
        self.live_mut(id).trust = trust;
        self.put_up(id);
        self.enter_reach(id);
    }

    /// The number of executors of a profile that are wanted.
    pub(super) fn wanted(&self, profile: ProfileId) -> usize {
        self.rows.values().filter(|row| row.profile == profile && row.fate == Fate::Wanted).count()
    }

    /// The executors that the Master is to end and that have not ended.
    pub(super) fn killed(&self) -> Vec<ExecutorId> {
        let killed = self.iter().filter(|(_, row)| row.fate == Fate::Killed).map(|(id, _)| id);
        killed.chain(self.abandoned.iter().copied()).collect()
    }

    /// The connections of executors.
    pub(super) fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.peers.keys().copied()
    }

    /// A message arrived from a connected executor.
    pub(super) fn hear(&mut self, id: ExecutorId, now: Timestamp) {
        self.live_mut(id).heard = LastHeard::at(now);
    }

    /// Puts off looking for a sign of life of a connected executor.
    pub(super) fn look_at(&mut self, id: ExecutorId, look: Timestamp) {
        let row = self.live_mut(id);
        let before = std::mem::replace(&mut row.look, look);
        self.await_again(id, Some(before));
    }

    /// Begins the time of connected executors that are silent again, once for each silence. Returns their number.
    pub(super) fn excuse(&mut self, now: Timestamp, timeout: Duration) -> usize {
        let is_silent = |row: &&mut Executor| row.peer().is_some() && row.heard.silent_at(timeout) <= now;
        self.rows.values_mut().filter(is_silent).filter_map(|row| row.heard.excuse(now).then_some(())).count()
    }

    /// Remembers an executor that the driver gave up, until the Master says that it has ended.
    pub(super) fn abandon(&mut self, id: ExecutorId) {
        self.abandoned.insert(id);
    }

    /// Forgets the executors with numbers below `first` that the driver gave up: they have ended.
    pub(super) fn forget_abandoned(&mut self, first: ExecutorId) {
        self.abandoned.retain(|id| *id >= first);
    }

    /// An executor ended a task unasked: it is ending by itself and takes no more tasks.
    pub(super) fn leave(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.interrupted += 1;
        }
        self.expect_end(id);
    }

    /// An executor will end with its Worker, or for an urgent application: it takes no more tasks, and is
    /// [drained](Self::drained) when it has none.
    pub(super) fn drain(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.drains = true;
            self.touched.insert(id);
            self.expect_end(id);
        }
    }

    /// The executors that will end and have no task, as far as that is new.
    pub(super) fn drained(&self) -> Vec<ExecutorId> {
        let is_drained = |id: &ExecutorId| self.get(*id).is_some_and(Executor::is_drained);
        self.touched.iter().copied().filter(is_drained).collect()
    }

    /// An executor will end: it takes no more tasks, if it is one that does.
    fn expect_end(&mut self, id: ExecutorId) {
        let state = self.rows.get(&id).map(|row| row.state);
        if let Some(State::Offering(peer)) = state {
            self.set_state(id, State::Leaving(peer));
        }
    }

    /// An executor's connection ended. The driver waits until `until` for the news of its end.
    pub(super) fn disconnect(&mut self, id: ExecutorId, until: Timestamp) {
        let row = self.live(id);
        let (peer, before) = (row.peer().expect("the executor had a connection"), row.until());
        self.peers.remove(&peer);
        self.set_state(id, State::Disconnected(until));
        self.await_again(id, before);
    }

    /// Removes an executor for good. Its number stays taken.
    pub(super) fn remove(&mut self, id: ExecutorId) -> Option<Executor> {
        self.ended.insert(id);
        self.abandoned.remove(&id);
        self.short.remove(&id);
        self.doubtful.remove(&id);
        if let Some(until) = self.rows.get(&id)?.until() {
            self.awaited.remove(&(until, id));
        }
        self.stop_offering(id);
        self.leave_reach(id);
        let row = self.rows.remove(&id).expect("it was found above");
        if let Some(peer) = row.peer() {
            self.peers.remove(&peer);
        }
        Some(row)
    }

    /// Forgets the numbers that were taken, for a new application. Every executor must have been removed.
    pub(super) fn forget_numbers(&mut self) {
        self.ended = Ended::default();
        self.abandoned.clear();
        self.profiles.values_mut().for_each(|profile| profile.next = ExecutorId::default());
    }

    /// Gives a task a part of an executor. Returns the executor's connection and the task's addresses.
    pub(super) fn occupy(&mut self, id: ExecutorId, task: TaskId, needs: &Needs) -> (PeerId, Resources) {
        let row = self.rows.get_mut(&id).expect("tasks are launched on live executors");
        let before = row.spare.clone();
        let addresses = row.load(task, needs).expect("tasks are launched where there is room");
        let peer = row.peer().expect("tasks are launched on executors that are connected");
        self.touched.insert(id);
        let profile = self.profiles.entry(row.profile).or_default();
        profile.openings.change(id, &before, row);
        profile.next = ExecutorId(id.0.wrapping_add(1));
        (peer, addresses)
    }

    /// Takes back what a task used of its executor.
    pub(super) fn vacate(&mut self, id: ExecutorId, task: TaskId) {
        self.change(id, |row| row.unload(task));
        self.touched.insert(id);
    }

    /// Changes what is free on an executor.
    fn change<T>(&mut self, id: ExecutorId, change: impl FnOnce(&mut Executor) -> T) -> T {
        let row = self.rows.get_mut(&id).expect("a task runs on a live executor");
        let before = row.spare.clone();
        let result = change(row);
        row.count_spare();
        if row.is_offering() {
            self.profiles.entry(row.profile).or_default().openings.change(id, &before, row);
        }
        result
    }

    /// Whether an executor has room for a task.
    pub(super) fn has_room(&self, id: ExecutorId, needs: &Needs) -> bool {
        self.rows.get(&id).is_some_and(|row| row.spare.holds(needs))
    }

    /// Whether an executor takes tasks and has room for this one.
    pub(super) fn takes(&self, id: ExecutorId, needs: &Needs) -> bool {
        self.rows.get(&id).is_some_and(|row| row.is_offering() && row.spare.holds(needs))
    }

    /// The places of executors that take tasks, or will soon.
    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Takes the hosts and racks that got their first executor of a profile, or lost their last one.
    pub(super) fn take_changed(&mut self) -> BTreeSet<(ProfileId, Name)> {
        self.reach.take_changed()
    }

    /// The executor of a profile that gets the next task.
    pub(super) fn next_in_rotation(&self, profile: ProfileId) -> ExecutorId {
        self.profiles.get(&profile).map_or(ExecutorId::default(), |profile| profile.next)
    }

    /// An executor for a task that failed before. Prefers hosts where it did not fail, and among these the
    /// nearest. Never takes an executor where it failed too often while another one could run it.
    pub(super) fn for_retry(&self, needs: &Needs, shuns: &Shuns, wanted: &Sites) -> Option<ExecutorId> {
        let openings = self.openings(needs.profile);
        let large = openings.as_large(needs);
        let could =
            |row: &Executor| row.is_offering() && row.profile == needs.profile && row.size().holds(needs);
        let offers = |id: &&ExecutorId| self.rows.get(*id).is_some_and(could);
        let at_hosts = shuns.not_at.iter().flat_map(|host| self.reach.on_host(needs.profile, host));
        let shunned: BTreeSet<ExecutorId> = shuns.not_on.iter().copied().chain(at_hosts).collect();
        let spoilt = shunned.iter().filter(offers).count();
        let free = openings.with_free(needs);
        let usable = free.filter(|id| spoilt == large || !shunned.contains(id));
        usable.min_by_key(|id| {
            let row = &self.rows[id];
            (shuns.rather_not_at.contains(&row.host), nearness(wanted, &row.sites))
        })
    }

    fn set_state(&mut self, id: ExecutorId, state: State) {
        self.stop_offering(id);
        self.leave_reach(id);
        self.live_mut(id).state = state;
        self.enter_reach(id);
    }

    fn enter_reach(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.is_in_reach() {
            self.reach.enter(id, row.profile, &row.sites);
        }
    }

    fn leave_reach(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        self.reach.leave(id, row.profile, &row.sites);
    }

    /// An executor starts to take tasks, or would if it were not excluded.
    fn start_offering(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.could_offer() {
            self.touched.insert(id);
            let profile = self.profiles.entry(row.profile).or_default();
            profile.count += 1;
            profile.last_cores = row.cores;
        }
        self.put_up(id);
    }

    fn stop_offering(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.could_offer() {
            self.touched.insert(id);
            let profile = self.profiles.get_mut(&row.profile);
            profile.expect("an executor that takes tasks counts in its profile").count -= 1;
        }
        self.withdraw(id);
    }

    /// Adds an executor that takes tasks to the openings.
    fn put_up(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.is_offering() {
            self.profiles.entry(row.profile).or_default().openings.put_up(id, row);
        }
    }

    fn withdraw(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.is_offering() {
            self.profiles.entry(row.profile).or_default().openings.withdraw(id, row);
        }
    }
}
