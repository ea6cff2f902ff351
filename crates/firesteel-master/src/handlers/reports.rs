//! Workers' reports about themselves. Reports affect no decision and are not recorded, because returning Workers report
//! again.

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{TimedReport, WorkerReport, is_web_address};
use firesteel_protocol::time::Timestamp;

use crate::Master;

impl Master {
    /// Stores a Worker's report of its usage. Executors that the Worker does not have are left out.
    pub(crate) fn on_worker_reported(&mut self, now: Timestamp, peer: PeerId, mut report: WorkerReport) {
        let Some(slot) = self.own_slot(peer, &report.worker) else { return };
        let row = self.workers.row_mut(slot);
        report.web_address = report.web_address.filter(|text| is_web_address(text));
        report.executors.retain(|(executor, _)| row.executors.contains(executor));
        report.drivers.truncate(row.drivers.len());
        row.report = Some(Box::new(TimedReport { received: now, report }));
    }
}
