//! The outcome as a picture: curves over time or over load, or bars.

mod compaction;
mod curves;
mod page;

use firesteel_sim::replay::Fill;

use self::page::Page;
use super::figures::{mean, merged};
use super::runs::{Report, Results};
use super::text::{line, percent};

/// The picture as an SVG document.
pub(super) fn draw(report: &Report) -> String {
    let mut page = Page::new(report);
    match &report.results {
        Results::Replays(all) => {
            page.legend(all, |runs| line(&merged(runs, |outcome| &outcome.began)));
            page.waits(all);
            page.over_time(report, all);
        }
        Results::Fills(all) => {
            page.legend(all, |runs| format!("{} not allocated", percent(mean(runs, Fill::unallocated))));
            page.fills(report, all);
        }
        Results::Compactions(all) => page.compactions(all),
    }
    page.document()
}
