//! The executors of the application.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::locality::{Sites, Topology, nearness};
use firesteel_placement::{Cores, Resources};

use super::ended::Ended;
use super::executor::{Assigned, Executor, Fate, State, Trust};
use super::openings::Openings;
use super::reach::Reach;
use super::waiting::{Name, Needs, Shuns};
use crate::ids::{ExecutorId, PeerId, ProfileId, TaskId};
use crate::time::Timestamp;

/// The executors that have not ended, and the numbers of those that have.
#[derive(Clone, Debug, Default)]
pub(super) struct Executors {
    rows: BTreeMap<ExecutorId, Executor>,
    peers: BTreeMap<PeerId, ExecutorId>,
    ended: Ended,
    profiles: BTreeMap<ProfileId, Profile>,
    reach: Reach,
    /// Executors that came, went, or were given or done with a task since that was last asked.
    touched: BTreeSet<ExecutorId>,
    /// Until when something of an executor is waited for: that it registers, or the Master's word on a silent one.
    awaited: BTreeSet<(Timestamp, ExecutorId)>,
}

/// The executors of one profile.
#[derive(Clone, Debug, Default)]
struct Profile {
    /// Where there is room for tasks.
    openings: Openings,
    /// How many executors take tasks, or would if they were trusted.
    count: u64,
    /// The cores of the last that came to take some.
    last_cores: Cores,
    /// Whose turn it is.
    next: ExecutorId,
}

/// A profile that nobody has.
const NO_OPENINGS: &Openings = &Openings::NONE;

impl Executors {
    pub(super) fn iter(&self) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        self.rows.iter().map(|(&id, row)| (id, row))
    }

    pub(super) fn get(&self, id: ExecutorId) -> Option<&Executor> {
        self.rows.get(&id)
    }

    /// An executor of which another table of the driver says that it has not ended.
    pub(super) fn live(&self, id: ExecutorId) -> &Executor {
        self.get(id).expect("the executor has not ended")
    }

    fn live_mut(&mut self, id: ExecutorId) -> &mut Executor {
        self.rows.get_mut(&id).expect("the executor has not ended")
    }

    pub(super) fn of_peer(&self, peer: PeerId) -> Option<ExecutorId> {
        self.peers.get(&peer).copied()
    }

    /// Where there is room for the tasks of a profile.
    pub(super) fn openings(&self, profile: ProfileId) -> &Openings {
        self.profiles.get(&profile).map_or(NO_OPENINGS, |profile| &profile.openings)
    }

    /// Whether some executor takes tasks.
    pub(super) fn any_offering(&self) -> bool {
        self.profiles.values().any(|profile| !profile.openings.is_empty())
    }

    /// The cores of all executors that take tasks.
    pub(super) fn cores(&self) -> Cores {
        let cores = |profile: &Profile| profile.openings.cores().0;
        Cores(self.profiles.values().map(cores).fold(0, i64::saturating_add))
    }

    /// Until when something of an executor is waited for, of all the earliest, and of which.
    pub(super) fn next_due(&self) -> Option<(Timestamp, ExecutorId)> {
        self.awaited.first().copied()
    }

    /// The process of an executor that was announced runs: it is to register until then.
    pub(super) fn expect(&mut self, id: ExecutorId, until: Timestamp) {
        if let Some(row) = self.rows.get_mut(&id)
            && row.state == State::Announced
        {
            row.state = State::Expected(until);
            self.await_again(id, None);
        }
    }

    /// Something else is waited for of an executor.
    fn await_again(&mut self, id: ExecutorId, before: Option<Timestamp>) {
        if let Some(before) = before {
            self.awaited.remove(&(before, id));
        }
        if let Some(until) = self.live(id).until() {
            self.awaited.insert((until, id));
        }
    }

    /// The Master assigned an executor. Nothing if it is known already, or has ended.
    pub(super) fn announce(&mut self, id: ExecutorId, assigned: Assigned, topology: &Topology) {
        if !self.rows.contains_key(&id) && !self.ended.contains(id) {
            self.rows.insert(id, Executor::new(assigned, topology, State::Announced, Fate::Wanted));
            self.enter_reach(id);
        }
    }

    /// An executor registers. Whether its number was free.
    pub(super) fn register(
        &mut self,
        id: ExecutorId,
        peer: PeerId,
        assigned: Assigned,
        topology: &Topology,
    ) -> bool {
        let known = self.rows.get(&id);
        if self.ended.contains(id) || known.is_some_and(|row| !row.is_to_come()) {
            return false;
        }
        let (fate, before) = known.map_or((Fate::Wanted, None), |row| (row.fate, row.until()));
        if known.is_some() {
            self.leave_reach(id);
        }
        let row = Executor::new(assigned, topology, State::Offering(peer), fate);
        self.rows.insert(id, row);
        self.await_again(id, before);
        self.enter_reach(id);
        self.peers.insert(peer, id);
        self.touched.insert(id);
        self.start_offering(id);
        true
    }

    /// The Master is asked to end an executor. Its profile, if there is such an executor and it was wanted until
    /// now.
    pub(super) fn kill(&mut self, id: ExecutorId) -> Option<ProfileId> {
        let row = self.rows.get(&id).filter(|row| row.fate == Fate::Wanted)?;
        let (profile, before) = (row.profile, row.until());
        self.stop_offering(id);
        self.leave_reach(id);
        self.live_mut(id).fate = Fate::Killed;
        self.await_again(id, before);
        Some(profile)
    }

    /// How many executors of a profile take tasks, or would if they were trusted.
    pub(super) fn offering(&self, profile: ProfileId) -> u64 {
        self.profiles.get(&profile).map_or(0, |profile| profile.count)
    }

    /// The cores of the last executor of a profile that came to take tasks.
    pub(super) fn last_cores(&self, profile: ProfileId) -> Option<Cores> {
        self.profiles.get(&profile).map(|profile| profile.last_cores)
    }

    /// The executors that came, went, or were given or done with a task since this was asked.
    pub(super) fn take_touched(&mut self) -> BTreeSet<ExecutorId> {
        std::mem::take(&mut self.touched)
    }

    /// Gives an executor tasks from now on, or no more.
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

    /// Executors that are wanted, by profile.
    pub(super) fn wanted(&self, profile: ProfileId) -> usize {
        self.rows.values().filter(|row| row.profile == profile && row.fate == Fate::Wanted).count()
    }

    /// Executors that were to end and have not.
    pub(super) fn killed(&self) -> Vec<ExecutorId> {
        self.iter().filter(|(_, row)| row.fate == Fate::Killed).map(|(id, _)| id).collect()
    }

    /// An executor takes no more tasks.
    pub(super) fn leave(&mut self, id: ExecutorId) {
        if let State::Offering(peer) = self.live(id).state {
            self.set_state(id, State::Leaving(peer));
        }
    }

    /// An executor's connection ended; its end is waited for until then.
    pub(super) fn fall_silent(&mut self, id: ExecutorId, until: Timestamp) {
        let peer = self.live(id).peer().expect("the executor had a connection");
        self.peers.remove(&peer);
        self.set_state(id, State::Silent(until));
        self.await_again(id, None);
    }

    /// Takes out an executor for good. Its number stays taken.
    pub(super) fn remove(&mut self, id: ExecutorId) -> Option<Executor> {
        self.ended.insert(id);
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

    /// Forgets the numbers that were taken: another application begins. Every executor must be out.
    pub(super) fn forget_numbers(&mut self) {
        self.ended = Ended::default();
        self.profiles.values_mut().for_each(|profile| profile.next = ExecutorId::default());
    }

    /// Gives a task some of what an executor has free: the way to it, and the task's addresses.
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

    /// Takes back what a task had.
    pub(super) fn vacate(&mut self, id: ExecutorId, task: TaskId) {
        let row = self.rows.get_mut(&id).expect("a task runs on a live executor");
        let before = row.spare.clone();
        row.unload(task);
        self.touched.insert(id);
        if row.is_offering() {
            self.profiles.entry(row.profile).or_default().openings.change(id, &before, row);
        }
    }

    /// Whether an executor has room for what a task needs.
    pub(super) fn has_room(&self, id: ExecutorId, needs: &Needs) -> bool {
        self.rows.get(&id).is_some_and(|row| row.spare.holds(needs))
    }

    /// Whether an executor takes tasks, and has room for what one needs.
    pub(super) fn takes(&self, id: ExecutorId, needs: &Needs) -> bool {
        self.rows.get(&id).is_some_and(|row| row.is_offering() && row.spare.holds(needs))
    }

    /// Where executors are that take tasks, or are about to be.
    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The hosts and racks that executors of a profile came to first, or left last, since this was asked.
    pub(super) fn take_changed(&mut self) -> BTreeSet<(ProfileId, Name)> {
        self.reach.take_changed()
    }

    /// Whose turn it is of a profile.
    pub(super) fn next_in_rotation(&self, profile: ProfileId) -> ExecutorId {
        self.profiles.get(&profile).map_or(ExecutorId::default(), |profile| profile.next)
    }

    /// An executor with room for a task that has failed before: one at another host if there is one free, and of
    /// these the nearest; never one where it failed while there is another one that could ever take it.
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

    /// An executor begins to take tasks, or would if it were trusted.
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

    /// Enters an executor that takes tasks into the openings.
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

    /// For the invariants: the indexes say what the rows say. `needs` tells what a running task takes, if it runs
    /// on that executor.
    pub(super) fn contradiction<'a>(
        &self,
        needs: impl Fn(TaskId, ExecutorId) -> Option<&'a Needs>,
    ) -> Option<String> {
        let mut expected = Self::default();
        for (id, row) in self.iter() {
            if self.ended.contains(id) {
                return Some(format!("executor {id} is in the table and has ended"));
            }
            if let Some(wrong) = row.contradiction(|task| needs(task, id)) {
                return Some(format!("executor {id}: {wrong}"));
            }
            if let Some(peer) = row.peer() {
                expected.peers.insert(peer, id);
            }
            if let Some(until) = row.until() {
                expected.awaited.insert((until, id));
            }
            let profile = expected.profiles.entry(row.profile).or_default();
            if row.is_offering() {
                profile.openings.put_up(id, row);
            }
            profile.count += u64::from(row.could_offer());
            if row.is_in_reach() {
                expected.reach.enter(id, row.profile, &row.sites);
            }
        }
        for &id in self.profiles.keys().chain(expected.profiles.keys()) {
            let found = (self.offering(id), self.openings(id));
            let wanted = (expected.offering(id), expected.openings(id));
            if found != wanted {
                return Some(format!("of profile {id} there are {found:?}, the rows say {wanted:?}"));
            }
        }
        let found = (&self.peers, &self.awaited);
        let wanted = (&expected.peers, &expected.awaited);
        let agree = found == wanted && self.reach.agrees(&expected.reach);
        (!agree).then(|| {
            format!("the indexes are {found:?}, the rows say {wanted:?}, or executors are elsewhere")
        })
    }
}
