//! The durable change of the numbers that are given next.

use firesteel_protocol::messages::GivenNumbers;
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::durable::record::Record;

impl Master {
    /// Leaves out these numbers. The applications with numbers below `recovered` number their next executors from
    /// there. No number becomes lower.
    pub(crate) fn leave_out_numbers(&mut self, now: Timestamp, given: GivenNumbers, recovered: u64) {
        let GivenNumbers { executors, applications, drivers } = given;
        let apps: Vec<u64> = self.applications.registered_before(recovered).map(|app| app.sequence).collect();
        for app in apps {
            if let Some(application) = self.applications.at_mut(app) {
                application.next_executor = application.next_executor.max(executors);
            }
        }
        self.lineage.executors = self.lineage.executors.max(executors);
        self.applications.count_from(applications);
        self.drivers.count_from(drivers);
        self.records.add(now, Record::NumbersLeftOut { given, recovered });
    }
}
