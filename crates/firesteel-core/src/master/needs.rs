//! The custom resources that executors of applications need, for clients.

use firesteel_placement::ResourceAmounts;

use super::Master;
use super::application_table::AnyApplication;
use crate::ids::ProfileId;
use crate::messages::{ApplicationNeed, ApplicationNeeds, page};

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
