//! What Workers report of themselves. Nothing is decided by it, and nothing of it is written down: who returns reports again.

use super::Master;
use super::merged::merged;
use crate::ids::{DriverId, ExecutorKey, PeerId, WorkerId};
use crate::messages::{TimedReport, Used, WorkerNews, WorkerReport, WorkerReports, is_web_address, page};
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

    /// A Worker says what an executor of its own used until its end.
    pub(super) fn on_executor_used(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        executor: &ExecutorKey,
        used: Used,
    ) {
        let Some(slot) = self.workers.slot_of_peer(peer) else { return };
        let worker = self.workers.row(slot).description.id.clone();
        let ended = self.applications.ended_executor(executor);
        if ended.is_some_and(|(_, record)| record.worker.id == worker) {
            self.remember_used(now, executor, Some(used));
        }
    }

    /// A Worker says what a cluster driver of its own used until its end.
    pub(super) fn on_driver_used(&mut self, now: Timestamp, peer: PeerId, driver: &DriverId, used: Used) {
        let Some(slot) = self.workers.slot_of_peer(peer) else { return };
        let worker = &self.workers.row(slot).description.id;
        let ended = self.drivers.ended(driver).and_then(|view| view.worker.as_ref());
        if ended.is_some_and(|place| place.worker == *worker) {
            self.remember_driver_used(now, driver, Some(used));
        }
    }

    /// A page of the reports of living Workers, from that id on.
    pub(super) fn reports_page(&self, from: &WorkerId) -> WorkerReports {
        let (workers, next) = page(self.config.page, self.news_from(from));
        WorkerReports { workers, next: next.map(|next| next.worker) }
    }

    /// What is to be said of Workers besides their states, by id, from that one on.
    pub(super) fn news_from(&self, from: &WorkerId) -> impl Iterator<Item = WorkerNews> {
        let until = self.next_foreign_end().unwrap_or(self.now);
        let living = self.workers.rows_from(from).map(move |row| {
            let (worker, report) = (row.description.id.clone(), row.report.as_deref().cloned());
            (worker.clone(), WorkerNews { worker, remark: row.remark(until), report })
        });
        let mut gone: Vec<WorkerNews> = self.workers.gone(from).collect();
        gone.sort_by(|one, other| one.worker.cmp(&other.worker));
        let gone = gone.into_iter().map(|news| (news.worker.clone(), news));
        merged(living, gone).filter(|news| !news.is_empty())
    }
}
