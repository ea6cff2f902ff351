//! What applications and cluster drivers need, for clients.

use firesteel_placement::ResourceAmounts;

use super::Master;
use super::application_table::AnyApplication;
use super::cluster_driver::ClusterDriver;
use super::cluster_driver_table::PastDriver;
use crate::ids::ProfileId;
use crate::messages::{
    ApplicationNeed, ApplicationNeeds, ApplicationRunTime, ApplicationRunTimes, DriverResources, DriverShare,
    page,
};

impl Master {
    /// A page of the needs of applications, from that number on.
    pub(super) fn needs_page(&self, from: u64) -> ApplicationNeeds {
        let (needs, next) = page(self.config.page, self.needs_from(from));
        ApplicationNeeds { needs, next: next.map(|need| need.number) }
    }

    /// The needs of the applications that have any, by number.
    pub(super) fn needs_from(&self, from: u64) -> impl Iterator<Item = ApplicationNeed> {
        self.applications.from(from).map(need).filter(|need| !need.resources.is_empty())
    }

    /// A page of how long live applications say that they run, from that number on.
    pub(super) fn run_times_page(&self, from: u64) -> ApplicationRunTimes {
        let told = self.applications.live_from(from).filter_map(|live| {
            Some(ApplicationRunTime { number: live.sequence, app: live.id.clone(), run_time: live.run_time? })
        });
        let (times, next) = page(self.config.page, told);
        ApplicationRunTimes { times, next: next.map(|time| time.number) }
    }

    /// A page of the custom resources of cluster drivers, from that number on.
    pub(super) fn driver_resources_page(&self, from: u64) -> DriverResources {
        let (drivers, next) = page(self.config.page, self.driver_shares_from(from));
        DriverResources { drivers, next: next.map(|share| share.number) }
    }

    /// The custom resources of the cluster drivers that need any, by number.
    pub(super) fn driver_shares_from(&self, from: u64) -> impl Iterator<Item = DriverShare> {
        let share = |(number, driver): (u64, Result<&ClusterDriver, &PastDriver>)| match driver {
            Ok(live) => DriverShare {
                number,
                driver: live.id.clone(),
                needs: live.needs.clone(),
                has: live.has().clone(),
                name: live.name().map(str::to_owned),
                restarts: live.restarts,
                wait: self.wait_of(live),
            },
            Err(past) => DriverShare {
                number,
                driver: past.view.id.clone(),
                needs: past.needs.clone(),
                has: past.has.clone(),
                name: past.name.clone(),
                restarts: past.restarts,
                wait: None,
            },
        };
        self.drivers.from(from).map(share).filter(|share| !share.is_empty())
    }
}

fn need(application: AnyApplication<'_>) -> ApplicationNeed {
    match application {
        AnyApplication::Live(live) => {
            let profile = live.profiles.get(&ProfileId::DEFAULT);
            let resources = profile.map(|profile| profile.resources.clone()).unwrap_or_default();
            ApplicationNeed { number: live.sequence, app: live.id.clone(), resources }
        }
        // Its profiles are forgotten, and its executors are not.
        AnyApplication::Ended(ended) => {
            let executor = ended.executors.iter().find(|record| record.profile == ProfileId::DEFAULT);
            let had = executor.map(|record| &record.share.resources);
            let resources: ResourceAmounts = had
                .into_iter()
                .flat_map(|had| had.quantities())
                .filter_map(|(name, quantity)| Some((name, quantity.amount()?)))
                .collect();
            ApplicationNeed { number: ended.sequence, app: ended.row.id.clone(), resources }
        }
    }
}
