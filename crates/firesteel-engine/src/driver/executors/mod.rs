//! The table of the application's executors.

mod away;
mod check;
mod ended;
pub(super) mod executor;
mod heartbeats;
pub(super) mod membership;
mod openings;
pub(super) mod reach;
mod shortage;
mod suspects;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::advanced::locality::{Sites, Topology, nearness};
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{ExecutorId, PeerId, ProfileId, TaskId};
use firesteel_protocol::last_seen::LastSeen;
use firesteel_protocol::time::Timestamp;

use self::ended::Ended;
use self::executor::{Assigned, Executor, Fate, State, Trust};
use self::openings::Openings;
use self::reach::Reach;
use super::tasks::waiting::{Name, Needs, TaskExclusions};

/// The table of executors that have not ended, and the numbers of ended executors.
#[derive(Clone, Debug, Default)]
pub(super) struct Executors {
    rows: BTreeMap<ExecutorId, Executor>,
    peers: BTreeMap<PeerId, ExecutorId>,
    ended: Ended,
    profiles: BTreeMap<ProfileId, Profile>,
    reach: Reach,
    /// Executors that were added or removed, or got other tasks, since this set was last taken.
    touched: BTreeSet<ExecutorId>,
    /// The deadlines by which executors must register or show a sign of life, or by which the Master must report their
    /// ends.
    awaited: BTreeSet<(Timestamp, ExecutorId)>,
    /// Executors that the driver gave up and that the Master has not ended yet.
    abandoned: BTreeSet<ExecutorId>,
    /// Executors on machines that are short of processes, open files or memory.
    short: BTreeSet<ExecutorId>,
    suspects: BTreeSet<ExecutorId>,
}

#[derive(Clone, Debug, Default)]
struct Profile {
    /// The executors with free resources for tasks.
    openings: Openings,
    /// The number of executors that take tasks, including excluded ones.
    count: u64,
    /// The cores of the executor that most recently began to take tasks.
    last_cores: Cores,
    /// The executor that gets the next task.
    next: ExecutorId,
}

/// The openings of a profile that has no executors.
const NO_OPENINGS: &Openings = &Openings::NONE;

impl Executors {
    pub(super) fn iter(&self) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        self.rows.iter().map(|(&id, row)| (id, row))
    }

    pub(super) fn get(&self, id: ExecutorId) -> Option<&Executor> {
        self.rows.get(&id)
    }

    /// Whether a Master has announced an executor with this number or the executor's end.
    pub(super) fn is_known(&self, id: ExecutorId) -> bool {
        self.rows.contains_key(&id) || self.ended.contains(id)
    }

    /// Looks up an executor that another table refers to. The executor must not have ended.
    pub(super) fn live(&self, id: ExecutorId) -> &Executor {
        self.get(id).expect("the executor has not ended")
    }

    fn live_mut(&mut self, id: ExecutorId) -> &mut Executor {
        self.rows.get_mut(&id).expect("the executor has not ended")
    }

    pub(super) fn of_peer(&self, peer: PeerId) -> Option<ExecutorId> {
        self.peers.get(&peer).copied()
    }

    /// The executors of a profile with free resources for tasks.
    pub(super) fn openings(&self, profile: ProfileId) -> &Openings {
        self.profiles.get(&profile).map_or(NO_OPENINGS, |profile| &profile.openings)
    }

    /// Whether any executor takes tasks.
    pub(super) fn any_offering(&self) -> bool {
        self.profiles.values().any(|profile| !profile.openings.is_empty())
    }

    /// The earliest deadline of an executor, and the executor's number.
    pub(super) fn next_due(&self) -> Option<(Timestamp, ExecutorId)> {
        self.awaited.first().copied()
    }

    /// The process of an assigned executor runs. The executor must register by `until`.
    pub(super) fn expect(&mut self, id: ExecutorId, until: Timestamp) {
        if let Some(row) = self.rows.get_mut(&id)
            && row.state == State::Announced
        {
            row.state = State::Expected(until);
            self.await_again(id, None);
        }
    }

    /// Updates the index of deadlines after a change of an executor's deadline from `before`.
    fn await_again(&mut self, id: ExecutorId, before: Option<Timestamp>) {
        if let Some(before) = before {
            self.awaited.remove(&(before, id));
        }
        if let Some(until) = self.live(id).until() {
            self.awaited.insert((until, id));
        }
    }

    /// The Master assigned an executor. Changes nothing if the driver already knows the executor or the executor's end.
    pub(super) fn announce(&mut self, id: ExecutorId, assigned: Assigned, topology: &Topology) {
        if !self.rows.contains_key(&id) && !self.ended.contains(id) {
            self.rows.insert(id, Executor::new(assigned, topology, State::Announced, Fate::Wanted));
            self.enter_reach(id);
        }
    }

    /// An executor registers. At `look`, the driver checks for a sign of life. Returns whether the executor's number
    /// was free.
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
        (row.heard, row.look) = (LastSeen::at(now), look);
        self.rows.insert(id, row);
        self.await_again(id, before);
        self.enter_reach(id);
        self.peers.insert(peer, id);
        self.touched.insert(id);
        self.start_offering(id);
        true
    }

    /// Marks an executor that the Master is asked to end. Returns the executor's profile, if the executor is in the
    /// table and was still wanted.
    pub(super) fn kill(&mut self, id: ExecutorId) -> Option<ProfileId> {
        let row = self.rows.get(&id).filter(|row| row.fate == Fate::Wanted)?;
        let (profile, before) = (row.profile, row.until());
        self.stop_offering(id);
        self.leave_reach(id);
        self.live_mut(id).fate = Fate::Killed;
        self.await_again(id, before);
        Some(profile)
    }

    /// The number of executors of a profile that take tasks, including excluded ones.
    pub(super) fn offering(&self, profile: ProfileId) -> u64 {
        self.profiles.get(&profile).map_or(0, |profile| profile.count)
    }

    /// The cores of the executor of a profile that most recently began to take tasks.
    pub(super) fn last_cores(&self, profile: ProfileId) -> Option<Cores> {
        self.profiles.get(&profile).map(|profile| profile.last_cores)
    }

    /// Takes the set of executors that were added or removed, or got other tasks.
    pub(super) fn take_touched(&mut self) -> BTreeSet<ExecutorId> {
        std::mem::take(&mut self.touched)
    }

    /// Trusts an executor with tasks, or excludes it.
    pub(super) fn set_trust(&mut self, id: ExecutorId, trust: Trust) {
        if self.live(id).trust == trust {
            return;
        }
        self.remove_opening(id);
        self.leave_reach(id);
        self.live_mut(id).trust = trust;
        self.add_opening(id);
        self.enter_reach(id);
    }

    pub(super) fn wanted(&self, profile: ProfileId) -> usize {
        self.rows.values().filter(|row| row.profile == profile && row.fate == Fate::Wanted).count()
    }

    /// Executors that have not ended, although the driver asked the Master to end them.
    pub(super) fn killed(&self) -> Vec<ExecutorId> {
        let killed = self.iter().filter(|(_, row)| row.fate == Fate::Killed).map(|(id, _)| id);
        killed.chain(self.abandoned.iter().copied()).collect()
    }

    /// The connected executors, each with its connection.
    pub(super) fn connected(&self) -> impl Iterator<Item = (PeerId, ExecutorId)> {
        self.peers.iter().map(|(&peer, &id)| (peer, id))
    }

    /// Records a message from a connected executor as a sign of life.
    pub(super) fn hear(&mut self, id: ExecutorId, now: Timestamp) {
        self.live_mut(id).heard = LastSeen::at(now);
    }

    /// Moves the next check for a sign of life of a connected executor to `look`.
    pub(super) fn look_at(&mut self, id: ExecutorId, look: Timestamp) {
        let row = self.live_mut(id);
        let before = std::mem::replace(&mut row.look, look);
        self.await_again(id, Some(before));
    }

    /// Gives silent connected executors the full timeout again, once per silence. Returns how many.
    pub(super) fn excuse(&mut self, now: Timestamp, timeout: Duration) -> usize {
        let is_silent = |row: &&mut Executor| row.peer().is_some() && row.heard.silent_at(timeout) <= now;
        self.rows.values_mut().filter(is_silent).filter_map(|row| row.heard.excuse(now).then_some(())).count()
    }

    /// Remembers an executor that the driver gave up, until the Master reports its end.
    pub(super) fn abandon(&mut self, id: ExecutorId) {
        self.abandoned.insert(id);
    }

    /// Forgets the given-up executors with numbers below `first`, which have ended.
    pub(super) fn forget_abandoned(&mut self, first: ExecutorId) {
        self.abandoned.retain(|id| *id >= first);
    }

    /// An executor ended a task without a request. So the executor is shutting down and takes no more tasks.
    pub(super) fn leave(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.interrupted += 1;
        }
        self.expect_end(id);
    }

    /// An executor will end with its Worker, or to free resources for an urgent application. It takes no more tasks,
    /// and is [drained](Self::drained) once it has none.
    pub(super) fn drain(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.drains = true;
            self.touched.insert(id);
            if matches!(row.state, State::Away { .. }) {
                self.leave_reach(id);
            }
            self.expect_end(id);
        }
    }

    /// Executors that the driver was told to drain and that have no task. Each is returned only once.
    pub(super) fn drained(&self) -> Vec<ExecutorId> {
        let is_drained = |id: &ExecutorId| self.get(*id).is_some_and(Executor::is_drained);
        self.touched.iter().copied().filter(is_drained).collect()
    }

    /// Stops giving tasks to an executor that will end.
    fn expect_end(&mut self, id: ExecutorId) {
        let state = self.rows.get(&id).map(|row| row.state);
        if let Some(State::Offering(peer)) = state {
            self.set_state(id, State::Leaving(peer));
        }
    }

    /// Removes an executor that has ended. The executor's number is not used again.
    pub(super) fn remove(&mut self, id: ExecutorId) -> Option<Executor> {
        self.ended.insert(id);
        self.abandoned.remove(&id);
        self.short.remove(&id);
        self.suspects.remove(&id);
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

    /// Forgets the used numbers, for a new application. All executors must have been removed.
    pub(super) fn forget_numbers(&mut self) {
        self.ended = Ended::default();
        self.abandoned.clear();
        self.profiles.values_mut().for_each(|profile| profile.next = ExecutorId::default());
    }

    /// Assigns a part of an executor to a task. Returns the task's addresses.
    pub(super) fn occupy(&mut self, id: ExecutorId, task: TaskId, needs: &Needs) -> Resources {
        let row = self.rows.get_mut(&id).expect("tasks are launched on live executors");
        let before = row.spare.clone();
        let addresses = row.load(task, needs).expect("tasks are launched where there is room");
        self.touched.insert(id);
        let profile = self.profiles.entry(row.profile).or_default();
        profile.openings.change(id, &before, row);
        profile.next = ExecutorId(id.0.wrapping_add(1));
        addresses
    }

    /// Frees the cores and addresses of a task on its executor.
    pub(super) fn vacate(&mut self, id: ExecutorId, task: TaskId) {
        self.change(id, |row| row.unload(task));
        self.touched.insert(id);
    }

    /// Changes the free amounts on an executor, and updates the index of executors with free resources.
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

    pub(super) fn has_room(&self, id: ExecutorId, needs: &Needs) -> bool {
        self.rows.get(&id).is_some_and(|row| row.spare.holds(needs))
    }

    /// Whether an executor takes tasks and has enough free for this task.
    pub(super) fn takes(&self, id: ExecutorId, needs: &Needs) -> bool {
        self.rows.get(&id).is_some_and(|row| row.is_offering() && row.spare.holds(needs))
    }

    /// The hosts and racks of executors that take tasks, or will soon.
    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Takes the hosts and racks that got their first executor of a profile, or lost their last one.
    pub(super) fn take_changed(&mut self) -> BTreeSet<(ProfileId, Name)> {
        self.reach.take_changed()
    }

    /// The executor of a profile that gets the next task, in rotation.
    pub(super) fn next_in_rotation(&self, profile: ProfileId) -> ExecutorId {
        self.profiles.get(&profile).map_or(ExecutorId::default(), |profile| profile.next)
    }

    /// An executor for a task that failed before. Prefers hosts where the task did not fail, then the nearest host.
    /// Takes an executor where the task failed too often only if no other executor could run it.
    pub(super) fn for_retry(
        &self,
        needs: &Needs,
        excludes: &TaskExclusions,
        wanted: &Sites,
    ) -> Option<ExecutorId> {
        let openings = self.openings(needs.profile);
        let large = openings.as_large(needs);
        let could =
            |row: &Executor| row.is_offering() && row.profile == needs.profile && row.size().holds(needs);
        let offers = |id: &&ExecutorId| self.rows.get(*id).is_some_and(could);
        let at_hosts = excludes.not_at.iter().flat_map(|host| self.reach.on_host(needs.profile, host));
        let excluded: BTreeSet<ExecutorId> = excludes.not_on.iter().copied().chain(at_hosts).collect();
        let spoilt = excluded.iter().filter(offers).count();
        let free = openings.with_free(needs);
        let usable = free.filter(|id| spoilt == large || !excluded.contains(id));
        usable.min_by_key(|id| {
            let row = &self.rows[id];
            (excludes.rather_not_at.contains(&row.host), nearness(wanted, &row.sites))
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

    /// An executor begins to take tasks, unless it is excluded.
    fn start_offering(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.could_offer() {
            self.touched.insert(id);
            let profile = self.profiles.entry(row.profile).or_default();
            profile.count += 1;
            profile.last_cores = row.cores;
        }
        self.add_opening(id);
    }

    fn stop_offering(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.could_offer() {
            self.touched.insert(id);
            let profile = self.profiles.get_mut(&row.profile);
            profile.expect("an executor that takes tasks counts in its profile").count -= 1;
        }
        self.remove_opening(id);
    }

    /// Adds an executor that takes tasks to the openings.
    fn add_opening(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.is_offering() {
            self.profiles.entry(row.profile).or_default().openings.add(id, row);
        }
    }

    fn remove_opening(&mut self, id: ExecutorId) {
        let row = self.rows.get(&id).expect("the executor has not ended");
        if row.is_offering() {
            self.profiles.entry(row.profile).or_default().openings.remove(id, row);
        }
    }
}
