//! The outcome as a picture: curves over time or over load, or bars.

mod compaction;
mod curves;
pub(super) mod page;

use firesteel_sim::replay::Fill;

use self::page::Page;
use super::figures::{mean, merged};
use super::runs::{Report, Results, Run, Runs};
use super::text::{heading, line, percent};

pub(super) fn draw(report: &Report) -> String {
    let title = match &report.results {
        Results::Replays(_) => "How long applications wait",
        Results::Fills(_) if report.has_gpus => "GPUs that cannot be allocated",
        Results::Fills(_) => "Capacity that cannot be allocated",
        Results::Compactions(_) => "How few Workers hold the same load",
    };
    let mut page = Page::new(title, &heading(report));
    match &report.results {
        Results::Replays(all) => {
            page.legend(&named(all, |runs| line(&merged(runs, |outcome| &outcome.began))));
            page.waits(all);
            page.over_time(report, all);
        }
        Results::Fills(all) => {
            page.legend(&named(all, |runs| {
                format!("{} not allocated", percent(mean(runs, Fill::unallocated)))
            }));
            page.fills(report, all);
        }
        Results::Compactions(all) => page.compactions(all),
    }
    page.document()
}

fn named<T>(all: &[Runs<T>], result: impl Fn(&[Run<T>]) -> String) -> Vec<(String, String)> {
    all.iter().map(|(setup, runs)| (setup.to_string(), result(runs))).collect()
}
