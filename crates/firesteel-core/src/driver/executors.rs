//! The executors of the application.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::Cores;
use firesteel_placement::locality::{Located, Sites, Topology, nearness};

use super::waiting::{Name, Needs, Shuns};
use crate::ids::{ExecutorId, PeerId, ProfileId, TaskId, WorkerId};
use crate::time::Timestamp;

/// The executors that have not ended, and the numbers of those that have.
#[derive(Clone, Debug, Default)]
pub(super) struct Executors {
    rows: BTreeMap<ExecutorId, Executor>,
    peers: BTreeMap<PeerId, ExecutorId>,
    ended: Ended,
    /// Executors that take tasks and have free cores, by how many.
    free: BTreeMap<Cores, BTreeSet<ExecutorId>>,
    /// The same executors by where they are.
    places: Located<ExecutorId>,
    /// Where executors are that take tasks, or are about to be.
    reach: Located<ExecutorId>,
    /// Hosts and racks that were reached first, or are no longer, since that was last asked.
    changed: BTreeSet<Name>,
    /// Executors that take tasks: how many have how many cores in all.
    sizes: BTreeMap<Cores, usize>,
    /// Executors that take tasks, or would if they were trusted, by profile: how many, and the cores of the last that came.
    profiles: BTreeMap<ProfileId, Offering>,
    /// Executors that came, went, or were given or done with a task since that was last asked.
    touched: BTreeSet<ExecutorId>,
    /// When the Master's word on a silent executor is no longer waited for.
    silent: BTreeSet<(Timestamp, ExecutorId)>,
    /// Whose turn it is.
    next: ExecutorId,
}

/// An executor that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Executor {
    pub(super) profile: ProfileId,
    pub(super) worker: WorkerId,
    pub(super) host: String,
    /// That host, and its rack.
    pub(super) sites: Sites,
    pub(super) cores: Cores,
    pub(super) state: State,
    pub(super) fate: Fate,
    pub(super) trust: Trust,
    free: Cores,
    running: BTreeSet<TaskId>,
}

/// The executors of one profile that take tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offering {
    count: u64,
    last_cores: Cores,
}

/// Where an executor was assigned, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assigned {
    pub(super) profile: ProfileId,
    pub(super) worker: WorkerId,
    pub(super) host: String,
    pub(super) cores: Cores,
}

/// Whether the driver wants an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Wanted,
    /// The Master was asked to end it, or will be once there is one. It takes no more tasks.
    Killed,
}

/// Whether an executor is given tasks, by what became of those that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Trusted,
    /// What failed there succeeded elsewhere, or it is on a host where that is so.
    Excluded,
}

/// ```text
///  (nothing) --ExecutorAdded--> ANNOUNCED
///      |                            |
///      `--- RegisterExecutor -------+--> OFFERING --killed a task unasked--> LEAVING
///                                           |                                   |
///                                           `--------- connection ended --------+--> SILENT
/// ```
/// From each state an executor is lost by the Master's word; a silent one also by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The Master assigned it; it has not been heard from.
    Announced,
    /// It takes tasks.
    Offering(PeerId),
    /// It ends by itself and takes no more tasks.
    Leaving(PeerId),
    /// Its connection ended. The Master's word on how it ended is waited for until then.
    Silent(Timestamp),
}

impl Executor {
    pub(super) fn peer(&self) -> Option<PeerId> {
        match self.state {
            State::Offering(peer) | State::Leaving(peer) => Some(peer),
            State::Announced | State::Silent(_) => None,
        }
    }

    pub(super) fn running(&self) -> &BTreeSet<TaskId> {
        &self.running
    }

    fn new(assigned: Assigned, topology: &Topology, state: State, fate: Fate) -> Self {
        let Assigned { profile, worker, host, cores } = assigned;
        let (sites, running) = (topology.sites([host.as_str()]), BTreeSet::new());
        Self { profile, worker, host, sites, cores, state, fate, trust: Trust::Trusted, free: cores, running }
    }

    /// Whether it takes tasks, or would if it were trusted, and has none.
    pub(super) fn is_idle(&self) -> bool {
        self.could_offer() && self.running.is_empty()
    }

    fn is_offering(&self) -> bool {
        self.could_offer() && self.trust == Trust::Trusted
    }

    /// Whether it takes tasks, or would if it were trusted.
    pub(super) fn could_offer(&self) -> bool {
        matches!((self.state, self.fate), (State::Offering(_), Fate::Wanted))
    }

    /// Whether it takes tasks, or is about to.
    fn is_in_reach(&self) -> bool {
        match self.state {
            State::Announced | State::Offering(_) => {
                (self.fate, self.trust) == (Fate::Wanted, Trust::Trusted)
            }
            State::Leaving(_) | State::Silent(_) => false,
        }
    }
}

impl Executors {
    pub(super) fn iter(&self) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        self.rows.iter().map(|(&id, row)| (id, row))
    }

    pub(super) fn get(&self, id: ExecutorId) -> Option<&Executor> {
        self.rows.get(&id)
    }

    pub(super) fn of_peer(&self, peer: PeerId) -> Option<ExecutorId> {
        self.peers.get(&peer).copied()
    }

    /// Whether some executor takes tasks.
    pub(super) fn any_offering(&self) -> bool {
        !self.sizes.is_empty()
    }

    /// The cores of the largest executor that takes tasks.
    pub(super) fn largest(&self) -> Option<Cores> {
        self.sizes.keys().next_back().copied()
    }

    /// The cores of all executors that take tasks.
    pub(super) fn cores(&self) -> Cores {
        let of_size = |(size, &count): (&Cores, &usize)| {
            Cores(size.0.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)))
        };
        self.sizes.iter().map(of_size).sum()
    }

    /// When the next silent executor is given up, and which it is.
    pub(super) fn next_loss(&self) -> Option<(Timestamp, ExecutorId)> {
        self.silent.first().copied()
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
        let known = self.rows.get(&id).map(|row| row.state);
        if self.ended.contains(id) || !matches!(known, None | Some(State::Announced)) {
            return false;
        }
        let fate = self.rows.get(&id).map_or(Fate::Wanted, |row| row.fate);
        let row = Executor::new(assigned, topology, State::Offering(peer), fate);
        self.leave_reach(id);
        self.rows.insert(id, row);
        self.enter_reach(id);
        self.peers.insert(peer, id);
        self.touched.insert(id);
        self.start_offering(id);
        true
    }

    /// The Master is asked to end an executor. Its profile, if there is such an executor and it was wanted until
    /// now.
    pub(super) fn kill(&mut self, id: ExecutorId) -> Option<ProfileId> {
        let profile = self.rows.get(&id).filter(|row| row.fate == Fate::Wanted)?.profile;
        self.stop_offering(id);
        self.leave_reach(id);
        self.rows.get_mut(&id)?.fate = Fate::Killed;
        Some(profile)
    }

    /// How many executors of a profile take tasks, or would if they were trusted.
    pub(super) fn offering(&self, profile: ProfileId) -> u64 {
        self.profiles.get(&profile).map_or(0, |offering| offering.count)
    }

    /// The cores of the last executor of a profile that came to take tasks.
    pub(super) fn last_cores(&self, profile: ProfileId) -> Option<Cores> {
        self.profiles.get(&profile).map(|offering| offering.last_cores)
    }

    /// The executors that came, went, or were given or done with a task since this was asked.
    pub(super) fn take_touched(&mut self) -> BTreeSet<ExecutorId> {
        std::mem::take(&mut self.touched)
    }

    /// Gives an executor tasks from now on, or no more.
    pub(super) fn set_trust(&mut self, id: ExecutorId, trust: Trust) {
        if self.rows.get(&id).is_none_or(|row| row.trust == trust) {
            return;
        }
        self.withdraw(id);
        self.leave_reach(id);
        if let Some(row) = self.rows.get_mut(&id) {
            row.trust = trust;
        }
        self.touched.insert(id);
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
        if let Some(State::Offering(peer)) = self.rows.get(&id).map(|row| row.state) {
            self.set_state(id, State::Leaving(peer));
        }
    }

    /// An executor's connection ended; its end is waited for until then.
    pub(super) fn fall_silent(&mut self, id: ExecutorId, until: Timestamp) {
        let Some(peer) = self.rows.get(&id).and_then(Executor::peer) else { return };
        self.peers.remove(&peer);
        self.set_state(id, State::Silent(until));
        self.silent.insert((until, id));
    }

    /// Takes out an executor for good. Its number stays taken.
    pub(super) fn remove(&mut self, id: ExecutorId) -> Option<Executor> {
        self.ended.insert(id);
        if let State::Silent(until) = self.rows.get(&id)?.state {
            self.silent.remove(&(until, id));
        }
        self.stop_offering(id);
        self.leave_reach(id);
        let row = self.rows.remove(&id)?;
        if let Some(peer) = row.peer() {
            self.peers.remove(&peer);
        }
        Some(row)
    }

    /// Forgets the numbers that were taken: another application begins. Every executor must be out.
    pub(super) fn forget_numbers(&mut self) {
        self.ended = Ended::default();
        self.next = ExecutorId::default();
    }

    /// Gives a task some of an executor's free cores.
    pub(super) fn occupy(&mut self, id: ExecutorId, task: TaskId, cores: Cores) -> PeerId {
        let row = self.rows.get_mut(&id).expect("tasks are launched on executors in the table");
        let before = row.free;
        row.free -= cores;
        row.running.insert(task);
        self.touched.insert(id);
        let (peer, after) = (row.peer(), row.free);
        self.index_free(id, before, after);
        self.next = ExecutorId(id.0.wrapping_add(1));
        peer.expect("tasks are launched on executors that are connected")
    }

    /// Takes a task's cores back.
    pub(super) fn vacate(&mut self, id: ExecutorId, task: TaskId, cores: Cores) {
        let Some(row) = self.rows.get_mut(&id) else { return };
        if row.running.remove(&task) {
            self.touched.insert(id);
            let before = row.free;
            row.free += cores;
            let (offering, after) = (row.is_offering(), row.free);
            if offering {
                self.index_free(id, before, after);
            }
        }
    }

    /// Whether some executor has so many cores free.
    pub(super) fn any_free(&self, cores: Cores) -> bool {
        self.free.last_key_value().is_some_and(|(most, _)| *most >= cores)
    }

    /// Whether an executor has room for what a task needs.
    pub(super) fn has_room(&self, id: ExecutorId, needs: &Needs) -> bool {
        self.rows.get(&id).is_some_and(|row| row.free >= needs.cores)
    }

    /// Executors that take tasks and have free cores, by where they are.
    pub(super) fn places(&self) -> &Located<ExecutorId> {
        &self.places
    }

    /// Where executors are that take tasks, or are about to be.
    pub(super) fn reach(&self) -> &Located<ExecutorId> {
        &self.reach
    }

    /// The hosts and racks that executors came to first, or left last, since this was asked.
    pub(super) fn take_changed(&mut self) -> BTreeSet<Name> {
        std::mem::take(&mut self.changed)
    }

    /// Whose turn it is.
    pub(super) fn turn(&self) -> ExecutorId {
        self.next
    }

    /// An executor with room for a task that has failed before: one at another host if there is one free, and of
    /// these the nearest; never one where it failed while there is another one that could ever take it.
    pub(super) fn for_retry(&self, needs: &Needs, shuns: &Shuns, wanted: &Sites) -> Option<ExecutorId> {
        let large: usize = self.sizes.range(needs.cores..).map(|(_, count)| count).sum();
        let offers = |id: &&ExecutorId| {
            self.rows.get(*id).is_some_and(|row| row.is_offering() && row.cores >= needs.cores)
        };
        let at_hosts = shuns.not_at.iter().flat_map(|host| self.reach.on_host(host));
        let shunned: BTreeSet<ExecutorId> = shuns.not_on.iter().copied().chain(at_hosts).collect();
        let spoilt = shunned.iter().filter(offers).count();
        let free = self.free.range(needs.cores..).rev().flat_map(|(_, ids)| ids).copied();
        let usable = free.filter(|id| spoilt == large || !shunned.contains(id));
        usable.min_by_key(|id| {
            let row = &self.rows[id];
            (shuns.rather_not_at.contains(&row.host), nearness(wanted, &row.sites))
        })
    }

    fn set_state(&mut self, id: ExecutorId, state: State) {
        self.stop_offering(id);
        self.leave_reach(id);
        if let Some(row) = self.rows.get_mut(&id) {
            row.state = state;
        }
        self.enter_reach(id);
    }

    fn enter_reach(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get(&id).filter(|row| row.is_in_reach()) {
            let sites = row.sites.clone();
            self.note_change(&sites);
            self.reach.insert(id, &sites);
        }
    }

    fn leave_reach(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get(&id) {
            let sites = row.sites.clone();
            if self.reach.remove(id, &sites) {
                self.note_change(&sites);
            }
        }
    }

    /// Remembers which of the names nobody else is at.
    fn note_change(&mut self, sites: &Sites) {
        let hosts = sites.hosts().filter(|host| self.reach.on_host(host).next().is_none());
        let racks = sites.racks().filter(|rack| self.reach.in_rack(rack).next().is_none());
        let hosts = hosts.map(|host| Name::Host(host.to_owned()));
        self.changed.extend(hosts.chain(racks.map(|rack| Name::Rack(rack.to_owned()))));
    }

    /// An executor begins to take tasks, or would if it were trusted.
    fn start_offering(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get(&id).filter(|row| row.could_offer()) {
            self.touched.insert(id);
            let (cores, offering) = (row.cores, self.profiles.entry(row.profile).or_default());
            *offering = Offering { count: offering.count + 1, last_cores: cores };
        }
        self.put_up(id);
    }

    fn stop_offering(&mut self, id: ExecutorId) {
        if let Some(row) = self.rows.get(&id).filter(|row| row.could_offer()) {
            self.touched.insert(id);
            if let Some(offering) = self.profiles.get_mut(&row.profile) {
                offering.count -= 1;
            }
        }
        self.withdraw(id);
    }

    /// Enters an executor that takes tasks into the indexes of those.
    fn put_up(&mut self, id: ExecutorId) {
        let Some(row) = self.rows.get(&id).filter(|row| row.is_offering()) else { return };
        let (cores, free) = (row.cores, row.free);
        *self.sizes.entry(cores).or_default() += 1;
        self.index_free(id, Cores::ZERO, free);
    }

    fn withdraw(&mut self, id: ExecutorId) {
        let Some(row) = self.rows.get(&id).filter(|row| row.is_offering()) else { return };
        let (cores, free) = (row.cores, row.free);
        self.index_free(id, free, Cores::ZERO);
        if let Some(count) = self.sizes.get_mut(&cores) {
            *count -= 1;
            if *count == 0 {
                self.sizes.remove(&cores);
            }
        }
    }

    fn index_free(&mut self, id: ExecutorId, before: Cores, after: Cores) {
        if let Some(ids) = self.free.get_mut(&before) {
            ids.remove(&id);
            if ids.is_empty() {
                self.free.remove(&before);
            }
        }
        if after > Cores::ZERO {
            self.free.entry(after).or_default().insert(id);
        }
        if (before > Cores::ZERO) != (after > Cores::ZERO)
            && let Some(row) = self.rows.get(&id)
        {
            match after > Cores::ZERO {
                true => self.places.insert(id, &row.sites),
                false => _ = self.places.remove(id, &row.sites),
            }
        }
    }

    /// For the invariants: the indexes say what the rows say. `cores` tells what a running task takes, if it
    /// runs on that executor.
    pub(super) fn contradiction(
        &self,
        cores: impl Fn(TaskId, ExecutorId) -> Option<Cores>,
    ) -> Option<String> {
        let mut expected = Self { ended: self.ended.clone(), next: self.next, ..Self::default() };
        for (id, row) in self.iter() {
            if self.ended.contains(id) {
                return Some(format!("executor {id} is in the table and has ended"));
            }
            let mut used = Cores::ZERO;
            for &task in &row.running {
                let Some(cores) = cores(task, id) else {
                    return Some(format!("executor {id} runs task {task}, which does not run there"));
                };
                used += cores;
            }
            if row.cores - used != row.free || (row.free < Cores::ZERO && !row.running.is_empty()) {
                return Some(format!("executor {id} has {} free of {}, {used} used", row.free, row.cores));
            }
            if let Some(peer) = row.peer() {
                expected.peers.insert(peer, id);
            }
            if let State::Silent(until) = row.state {
                expected.silent.insert((until, id));
            }
            if row.is_offering() {
                *expected.sizes.entry(row.cores).or_default() += 1;
                expected.index_free(id, Cores::ZERO, row.free);
                if row.free > Cores::ZERO {
                    expected.places.insert(id, &row.sites);
                }
            }
            if row.could_offer() {
                expected.profiles.entry(row.profile).or_default().count += 1;
            }
            if row.is_in_reach() {
                expected.reach.insert(id, &row.sites);
            }
        }
        let indexes = |table: &Self| {
            let by_place = (table.places.clone(), table.reach.clone());
            (table.peers.clone(), table.silent.clone(), table.sizes.clone(), table.free.clone(), by_place)
        };
        if let Some((profile, _)) =
            self.profiles.iter().find(|(profile, row)| row.count != expected.offering(**profile))
        {
            return Some(format!("executors of profile {profile} are counted wrong"));
        }
        let (found, wanted) = (indexes(self), indexes(&expected));
        (found != wanted).then(|| format!("the indexes are {found:?}, the rows say {wanted:?}"))
    }
}

/// Numbers of executors that have ended. The Master counts from 0, so nearly all of them lie below a floor.
#[derive(Clone, Debug, Default)]
struct Ended {
    floor: u32,
    above: BTreeSet<u32>,
}

impl Ended {
    fn contains(&self, id: ExecutorId) -> bool {
        id.0 < self.floor || self.above.contains(&id.0)
    }

    fn insert(&mut self, id: ExecutorId) {
        if id.0 >= self.floor {
            self.above.insert(id.0);
            while self.above.remove(&self.floor) {
                self.floor = self.floor.saturating_add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_numbers_are_remembered_in_little_space() {
        let mut ended = Ended::default();
        for id in [2, 0, 1, 5] {
            ended.insert(ExecutorId(id));
        }
        assert_eq!((ended.floor, ended.above.len()), (3, 1));
        assert_eq!((0..7).map(|id| ended.contains(ExecutorId(id))).filter(|&ended| ended).count(), 4);
    }
}
