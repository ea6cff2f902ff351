//! The history, as clients read it page by page.

use std::collections::BTreeMap;

use firesteel_protocol::messages::{HistoryCursor, HistoryPage, PastRow, page};

use crate::Master;
use crate::tables::archive::past_driver;
use crate::tables::merged::merged;

impl Master {
    pub(crate) fn history_page(&self, from: HistoryCursor) -> HistoryPage {
        let applications = self.applications.ended().iter().map(|(_, ended)| ended.past());
        let drivers = self.drivers.ended_in_order().map(|(number, driver)| past_driver(number, driver));
        let latest =
            applications.chain(drivers).map(|row| (row.cursor(), row)).filter(|(cursor, _)| *cursor >= from);
        let latest: BTreeMap<HistoryCursor, PastRow> = latest.collect();
        let archived = self.archive.from(from);
        let (rows, next) = page(self.config.page, merged(archived, latest.into_iter()));
        HistoryPage { now: self.now, rows, next: next.map(|row| row.cursor()) }
    }
}
