//! The scheduling pass.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, Offer, place, place_ranked};

use super::application::Application;
use super::{Master, Pass};
use crate::ids::{AppId, ProfileId, WorkerId};
use crate::time::Timestamp;

impl Master {
    /// Runs the scheduling pass if the event called for one.
    ///
    /// Applications are served first in, first out, each with its profiles in the order of their numbers. An
    /// application that cannot use what is free does not keep the next one from it.
    ///
    /// Source: Spark Master, 4.0.1 (`startExecutorsOnWorkers`).
    pub(super) fn settle(&mut self, now: Timestamp) {
        if std::mem::replace(&mut self.pass, Pass::NotDue) == Pass::NotDue {
            return;
        }
        let waiting: Vec<(AppId, ProfileId)> = self
            .applications
            .queue()
            .filter(|app| app.failures.hold_until.is_none())
            .flat_map(|app| app.profiles.keys().map(|profile| (app.id.clone(), *profile)))
            .collect();
        for (app, profile) in waiting {
            for (worker, cores) in self.decide(&app, profile) {
                self.launch_executor(now, &app, profile, &worker, cores);
            }
        }
    }

    /// What Workers have free for an application: all but those on hosts that it avoids.
    pub(super) fn offers<'a>(&'a self, application: &'a Application) -> impl Iterator<Item = Offer<'a>> {
        let rows = self.workers.iter().filter(|(_, row)| !application.wishes.avoids(&row.description.host));
        rows.map(|(id, row)| row.capacity.offer(id.as_str()))
    }

    /// Workers near the hosts that it prefers come first; without such wishes the decision is Spark's.
    ///
    /// Where executors of one profile of one application go now, in the order in which they are launched.
    fn decide(&self, app: &AppId, profile: ProfileId) -> Vec<(WorkerId, Cores)> {
        let Some(application) = self.applications.get(app) else { return Vec::new() };
        let Some(wanted) = application.profiles.get(&profile) else { return Vec::new() };
        let demand = application.demand(wanted);
        let (by, strategy) = (self.config.worker_order, self.config.strategy);
        let placement = if application.wishes.is_empty() {
            place(&demand, self.workers.offers(), by, strategy)
        } else {
            let hosts: BTreeMap<&str, &str> =
                self.workers.iter().map(|(id, row)| (id.as_str(), row.description.host.as_str())).collect();
            let rank = |offer: &Offer<'_>| application.wishes.rank(hosts[offer.worker]);
            place_ranked(&demand, self.offers(application), by, strategy, rank)
        };
        placement.executors().map(|executor| (WorkerId::new(executor.worker), executor.cores)).collect()
    }
}
