//! The scheduling pass.

use firesteel_placement::index::{Flaw, Share};
use firesteel_placement::locality;
use firesteel_placement::{Demand, Offer};

use super::application::Application;
use super::choice::choose;
use super::{Master, Pass};
use crate::ids::{AppId, ProfileId};
use crate::time::Timestamp;

impl Master {
    /// Runs the scheduling pass if the event called for one.
    ///
    /// Applications are served first in, first out, each with its profiles in the order of their numbers. An
    /// application that cannot use what is free does not keep the next one from it. Those for which nothing can have
    /// changed since the last pass are passed over (see `backlog`). Where there are queues, priorities or gangs the order
    /// is another one, and everybody is looked at (see `queue_scheduling`).
    ///
    /// Source: Spark Master, 4.0.1 (`startExecutorsOnWorkers`).
    pub(super) fn settle(&mut self, now: Timestamp) {
        if std::mem::replace(&mut self.pass, Pass::NotDue) == Pass::NotDue {
            return;
        }
        if self.schedules_by_queue() {
            self.serve_queues(now);
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

    /// Has the next pass go through all applications, as if nothing were known of them. It decides the same, and takes
    /// longer: for laws, and for whoever doubts.
    pub fn doubt(&mut self) {
        self.applications.touch_all();
    }

    /// Has the index over the Workers err, for the simulator, whose checks have to see it.
    #[doc(hidden)]
    pub fn misindex(&mut self, flaw: Flaw) {
        self.workers.misindex(flaw);
    }

    /// Has the rule err by which Workers are near to what applications wish for from now on, for laws that have to see it.
    #[doc(hidden)]
    pub fn misjudge(&mut self, flaw: locality::Flaw) {
        self.misjudges = Some(flaw);
    }

    /// Launches the executors of one profile of one application that there is room for.
    fn place(&mut self, now: Timestamp, app: &AppId, profile: ProfileId) {
        let application = self.applications.live(app);
        let demand = application.demand(application.profile(profile));
        let shares = choose(&self.config, &mut self.workers, application, &demand);
        self.launch(now, app, profile, &demand, shares);
    }

    /// Launches what was placed.
    pub(super) fn launch(
        &mut self,
        now: Timestamp,
        app: &AppId,
        profile: ProfileId,
        demand: &Demand,
        shares: Vec<Share>,
    ) {
        self.workers.claim(demand, &shares);
        for Share { slot, executors, cores } in shares {
            for _ in 0..executors {
                self.launch_executor(now, app, profile, demand, slot, cores);
            }
        }
    }

    /// What Workers have free for an application: all but those on hosts that it avoids, and, in the pass that serves
    /// those behind a reservation, but for what is reserved.
    pub(super) fn offers<'a>(&'a self, application: &'a Application) -> impl Iterator<Item = Offer<'a>> {
        let rows = self.workers.slots();
        let welcome = rows.filter(|(_, row)| !application.wishes.avoids(&row.description.host));
        welcome.map(|(slot, row)| self.workers.open_offer(slot, row))
    }
}
