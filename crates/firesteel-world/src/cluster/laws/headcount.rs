//! The laws for the requests that drivers with dynamic allocation send to their Master.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_engine::driver::{Allocation, DynamicAllocation};
use firesteel_placement::ExecutorLimit;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, ProfileId};
use firesteel_protocol::messages::{DriverToExecutor, DriverToMaster, ExecutorTarget, Resumption};
use firesteel_protocol::time::millis;

use crate::cluster::network::message::Message;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{DriverPhase, NodeIndex, World};

/// How long after its idle timeout an executor may still take to end, in milliseconds.
const SLACK: u64 = 2_000;

/// The requests of one driver.
#[derive(Debug, Default)]
pub(crate) struct ExecutorRequests {
    targets: BTreeMap<ProfileId, u64>,
    /// The executors that the driver's user has ended.
    dismissed: BTreeSet<ExecutorId>,
}

impl ExecutorRequests {
    /// The user ends executors, busy or not.
    pub(crate) fn dismiss(&mut self, executors: &[ExecutorId]) {
        self.dismissed.extend(executors);
    }

    /// Checks targets that a driver sets while each profile has this many unfinished tasks.
    fn request(
        &mut self,
        bounds: &DynamicAllocation,
        targets: &[ExecutorTarget],
        tasks: &BTreeMap<ProfileId, u64>,
    ) -> Result<(), String> {
        for ExecutorTarget { id, total, .. } in targets {
            let tasks = tasks.get(id).copied().unwrap_or(0);
            let before = self.targets.insert(*id, *total);
            if *total > bounds.max {
                let max = bounds.max;
                return Err(format!("{total} executors of profile {id} are asked for, the maximum is {max}"));
            }
            if *total < bounds.min {
                let min = bounds.min;
                return Err(format!("{total} executors of profile {id} are asked for, the minimum is {min}"));
            }
            let is_more = before.is_some_and(|before| *total > before);
            if is_more && *total > tasks.max(bounds.min) {
                return Err(format!(
                    "{total} executors of profile {id} are asked for to run its {tasks} tasks"
                ));
            }
        }
        Ok(())
    }
}

impl World {
    /// Checks a message of a driver to its Master.
    pub(crate) fn hold_request(&mut self, node: NodeIndex, app: usize, message: &DriverToMaster) {
        let Allocation::Dynamic(bounds) = self.scenario.apps[app].allocation else { return };
        let Some(body) = self.driver_mut(node) else { return };
        let unfinished: Vec<u64> = body.tasks.unfinished().collect();
        let mut tasks = BTreeMap::<ProfileId, u64>::new();
        for task in unfinished {
            *tasks.entry(self.scenario.apps[app].profile_of(task)).or_default() += 1;
        }
        let Some(body) = self.driver_mut(node) else { return };
        let result = match message {
            DriverToMaster::RegisterApplication(description)
            | DriverToMaster::ResumeApplication(Resumption { description, .. }) => {
                match description.initial_limit {
                    ExecutorLimit::AtMost(total) if bounds.clamp(total) == total => Ok(()),
                    limit @ (ExecutorLimit::AtMost(_) | ExecutorLimit::Unlimited) => {
                        Err(format!("an application begins with {limit:?}, out of {bounds:?}"))
                    }
                }
            }
            DriverToMaster::RequestExecutors { targets, .. } => {
                body.headcount.request(&bounds, targets, &tasks)
            }
            DriverToMaster::KillExecutors { app, executors } => {
                let mut own = executors.clone();
                own.retain(|executor| !body.headcount.dismissed.contains(executor));
                self.none_is_busy(app, &own)
            }
            DriverToMaster::UnregisterApplication { .. }
            | DriverToMaster::PreferHosts { .. }
            | DriverToMaster::RequestShortfall { .. } => Ok(()),
        };
        self.hold(result);
    }

    fn none_is_busy(&self, app: &AppId, executors: &[ExecutorId]) -> Result<(), String> {
        for &executor in executors {
            let key = ExecutorKey { app: app.clone(), executor };
            let Some(&node) = self.processes.get(&key) else { continue };
            let runs = self.process(node).is_some_and(|process| !process.tasks.is_empty());
            if runs || self.task_is_under_way(node) {
                return Err(format!("executor {key} is busy, and dynamic allocation ends it"));
            }
        }
        Ok(())
    }

    fn task_is_under_way(&self, executor: NodeIndex) -> bool {
        self.pending().any(|scheduled_event| match scheduled_event {
            ScheduledEvent::Deliver {
                link,
                side,
                message: Message::DriverToExecutor(DriverToExecutor::LaunchTask { .. }),
            } => self.links[link.0].end(*side).node == executor,
            _ => false,
        })
    }

    /// An executor has become idle. Plans the check of the executor's idle timeout.
    pub(crate) fn became_idle(&mut self, node: NodeIndex) {
        let now = self.now;
        let Some(process) = self.process_mut(node) else { return };
        process.idle_since = Some(now);
        let app = process.app;
        if let (Allocation::Dynamic(bounds), true) = (self.scenario.apps[app].allocation, self.is_settled()) {
            let patience = millis(bounds.idle_timeout);
            self.after(patience + SLACK, ScheduledEvent::IdleCheck { node, since: now });
        }
    }

    /// Checks the number of executors that exceed the idle timeout. At most as many as are wanted may do so.
    pub(crate) fn check_idle(&mut self, node: NodeIndex, since: u64) {
        let Some(process) = self.process(node).filter(|process| process.idle_since == Some(since)) else {
            return;
        };
        let (app, profile) = (process.app, process.profile);
        let DriverPhase::Lives(driver) = self.drivers[app] else { return };
        let idle = self.processes.values().filter(|node| {
            self.process(**node).is_some_and(|other| {
                (other.app, other.profile) == (app, profile)
                    && other.asked_at.is_none()
                    && other.idle_since.is_some_and(|idle| idle <= since)
            })
        });
        let idle = idle.count() as u64;
        let Some(body) = self.driver_mut(driver) else { return };
        let wanted = body.headcount.targets.get(&profile).copied();
        if let Some(wanted) = wanted.filter(|wanted| idle > *wanted) {
            self.violate(format!(
                "{idle} executors of application {app} are idle for too long, {wanted} are wanted"
            ));
        }
    }
}
