//! What Workers report of themselves. Nothing is decided by it, and nothing of it is written down: who returns reports again.

use super::Master;
use crate::ids::{PeerId, WorkerId};
use crate::messages::{TimedReport, WorkerReport, WorkerReports, is_web_address, page};
use crate::time::Timestamp;

impl Master {
    /// A Worker reports what is used there. What it says of executors that it does not have is left out.
    pub(super) fn on_worker_reported(&mut self, now: Timestamp, peer: PeerId, mut report: WorkerReport) {
        let Some(slot) = self.own_slot(peer, &report.worker) else { return };
        let row = self.workers.row_mut(slot);
        report.web_address = report.web_address.filter(|text| is_web_address(text));
        report.executors.retain(|(executor, _)| row.executors.contains(executor));
        report.drivers.truncate(row.drivers.len());
        row.report = Some(Box::new(TimedReport { received: now, report }));
    }

    /// A page of the reports of living Workers, from that id on.
    pub(super) fn reports_page(&self, from: &WorkerId) -> WorkerReports {
        let (reports, next) = page(self.config.page, self.reports_from(from));
        WorkerReports { reports, next: next.map(|next| next.report.worker) }
    }

    /// The reports of living Workers by id, from that one on.
    pub(super) fn reports_from(&self, from: &WorkerId) -> impl Iterator<Item = TimedReport> {
        self.workers.rows_from(from).filter_map(|row| row.report.as_deref().cloned())
    }
}
