//! The scheduling pass: it serves waiting applications in order until nothing more fits.

use firesteel_placement::advanced::index::Share;
use firesteel_placement::{Demand, Offer};
use firesteel_protocol::ids::{AppId, ProfileId};
use firesteel_protocol::time::Timestamp;

use crate::scheduler::choice::choose;
use crate::scheduler::lifetimes::RunningTimes;
use crate::tables::applications::application::Application;
use crate::tables::workers::row::WorkerRow;
use crate::{Master, Pass};

impl Master {
    /// Runs the scheduling pass if it is due.
    ///
    /// Cluster drivers come before all executors. Applications are served first in, first out, and the profiles of an
    /// application in the order of their numbers. An application that cannot use the free resources does not block the
    /// next one. The pass skips demands for which no Worker has gained free resources since the last pass (see
    /// `backlog`). With queues, priorities or gangs, the order is different, and every application is considered (see
    /// `scheduler::queues`).
    ///
    /// Source: Spark Master, 4.0.1 (`startExecutorsOnWorkers`).
    pub(crate) fn settle(&mut self, now: Timestamp) {
        if std::mem::replace(&mut self.pass, Pass::NotDue) == Pass::NotDue {
            return;
        }
        self.place_drivers(now);
        self.limit_users();
        if self.schedules_by_queue() {
            let executors_ended = self.serve_queues(now);
            if executors_ended {
                // The resources that the other drivers leave may be enough for a cluster driver.
                self.place_drivers(now);
            }
        } else {
            self.serve_first_come(now);
        }
        self.applications.file();
        self.workers.settle();
    }

    fn serve_first_come(&mut self, now: Timestamp) {
        let mut ready = self.applications.ready_demands(&self.workers);
        let mut last = None;
        while let Some((app, key)) = self.applications.next_demand(&mut ready, &self.workers, last) {
            let (_, profile) = key;
            self.place(now, &app, profile);
            last = Some(key);
        }
    }

    /// Makes the next pass consider every application, ignoring the backlog. The decisions are the same. For
    /// tests.
    pub fn reconsider_all(&mut self) {
        self.applications.touch_all();
    }

    /// Launches as many executors of one profile as fit.
    fn place(&mut self, now: Timestamp, app: &AppId, profile: ProfileId) {
        let application = self.applications.live(app);
        let demand = application.demand(application.profile(profile));
        let times = RunningTimes { now, applications: &self.applications, run_times: &self.run_times };
        let shares = choose(&self.config, (&mut self.workers, &mut self.memory), times, application, &demand);
        self.launch(now, app, profile, &demand, shares);
    }

    /// Launches executors on the Workers where they were placed.
    pub(crate) fn launch(
        &mut self,
        now: Timestamp,
        app: &AppId,
        profile: ProfileId,
        demand: &Demand,
        shares: Vec<Share>,
    ) {
        self.workers.claim(demand, &shares);
        // For each executor, a line is logged, and its Worker and its driver get a message.
        let executors: u64 = shares.iter().map(|share| share.executors).sum();
        self.effects.reserve(usize::try_from(executors).unwrap_or(0).saturating_mul(3));
        for Share { slot, executors, cores, .. } in shares {
            for _ in 0..executors {
                self.launch_executor(now, app, profile, demand, slot, cores);
            }
        }
        self.limit_users();
    }

    /// The free amounts of the Workers for an application. Excluded Workers, and amounts withheld in this pass, are
    /// left out.
    pub(crate) fn offers<'a>(&'a self, application: &'a Application) -> impl Iterator<Item = Offer<'a>> {
        let rows = self.workers.slots();
        let eligible = rows.filter(|(slot, row)| !application.excludes(*slot, row));
        eligible.map(|(slot, row)| self.workers.open_offer(slot, row))
    }

    /// The total amounts of the Workers that run executors of an application.
    pub(crate) fn whole_offers<'a>(
        &'a self,
        application: &'a Application,
    ) -> impl Iterator<Item = Offer<'a>> {
        let admitting = self.workers.iter().filter(|row| application.is_admitted_by(row));
        admitting.map(WorkerRow::whole_offer)
    }
}
