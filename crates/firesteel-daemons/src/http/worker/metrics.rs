//! The metrics of a Worker. A second page has the metrics of Spark's Worker under Spark's names.

use std::time::SystemTime;

use firesteel_host::meter::{OwnerMeter, Traffic};
use firesteel_protocol::messages::{Usage, WorkerReport, WorkerViewOfItself};

use crate::http::exposition::Exposition;
use crate::http::server::HttpMeter;
use crate::http::vitals::{self, OwnerNames, SparkGauges};

const OWNER: OwnerNames = OwnerNames {
    events: "firesteel_worker_event_duration_seconds",
    inbox_messages: "firesteel_worker_inbox_messages",
    inbox_bytes: "firesteel_worker_inbox_bytes",
    outbox_bytes: "firesteel_worker_outbox_bytes",
    connections: "firesteel_worker_connections",
};

/// The metrics of a Worker. `seen` is the Worker's state and report, or `None` if the Worker did not answer in time.
pub(super) fn of(
    started: SystemTime,
    meter: &HttpMeter,
    (owner, traffic): (&OwnerMeter, Traffic),
    seen: Option<&(WorkerViewOfItself, WorkerReport)>,
) -> String {
    let mut page = Exposition::default();
    page.gauge(
        "firesteel_worker_answers",
        "Whether the Worker answered in time; without it, its state is missing here.",
    )
    .sample(&[], u8::from(seen.is_some()));
    if let Some((view, report)) = seen {
        state(&mut page, view);
        usage(&mut page, report);
    }
    vitals::owner(&mut page, &OWNER, owner, traffic);
    vitals::process(&mut page, started);
    vitals::http(&mut page, meter);
    page.finish()
}

fn state(page: &mut Exposition, view: &WorkerViewOfItself) {
    let (cores, mebibytes) = (view.cores_used().0, view.memory_used().0);
    page.gauge("firesteel_worker_registered", "Whether a Master has accepted this Worker.")
        .sample(&[], u8::from(view.master_url.is_some()));
    page.gauge("firesteel_worker_cores", "Cores that this Worker offers.").sample(&[], view.cores.0);
    page.gauge("firesteel_worker_cores_used", "Cores that its executors and cluster drivers hold.")
        .sample(&[], cores);
    page.gauge("firesteel_worker_memory_bytes", "Memory that this Worker offers.")
        .sample(&[], view.memory.0 << 20);
    page.gauge("firesteel_worker_memory_used_bytes", "Memory that its executors and cluster drivers hold.")
        .sample(&[], mebibytes << 20);
    let mut family = page.gauge("firesteel_worker_executors", "Executors that have not ended, by state.");
    for state in ["launching", "running"] {
        let of_state = |name: &str| name.eq_ignore_ascii_case(state);
        let number = view.executors.iter().filter(|running| of_state(running.state.name())).count();
        family = family.sample(&[("state", state)], number);
    }
    page.gauge("firesteel_worker_executors_listed", "Ended executors that this Worker still lists.")
        .sample(&[], view.ended.len());
}

const MOST_EXECUTORS: usize = 100;

/// The usage of the machine and of the processes, as far as it was measured.
fn usage(page: &mut Exposition, report: &WorkerReport) {
    if let Some(machine) = report.machine {
        page.gauge("firesteel_worker_machine_cpu_cores", "Cores of the machine that were used lately.")
            .sample(&[], machine.millicores as f64 / 1e3);
        page.gauge("firesteel_worker_machine_memory_bytes", "Memory of the machine.")
            .sample(&[], machine.memory);
        page.gauge("firesteel_worker_machine_memory_available_bytes", "Memory that programs can still have.")
            .sample(&[], machine.memory_available);
    }
    if let Some(disk) = report.disk {
        page.gauge("firesteel_worker_disk_bytes", "Size of the work directory's disk.")
            .sample(&[], disk.total);
        page.gauge("firesteel_worker_disk_available_bytes", "Free space on the work directory's disk.")
            .sample(&[], disk.available);
    }
    let shown = &report.executors[..report.executors.len().min(MOST_EXECUTORS)];
    let each = |page: &mut Exposition, name, help, of: fn(&Usage) -> f64| {
        let mut family = page.gauge(name, help);
        for (key, usage) in shown {
            let number = key.executor.to_string();
            family = family.sample(&[("app", key.app.as_str()), ("executor", &number)], of(usage));
        }
    };
    each(
        page,
        "firesteel_executor_cpu_seconds",
        "Processor time of a running executor since its start.",
        |it| it.cpu_millis as f64 / 1e3,
    );
    each(page, "firesteel_executor_cpu_cores", "Cores that the executor used lately.", |it| {
        it.millicores as f64 / 1e3
    });
    each(page, "firesteel_executor_memory_bytes", "Memory in RAM of the executor.", |it| it.memory as f64);
    page.gauge(
        "firesteel_worker_executors_not_shown",
        "Measured executors that have no metrics of their own, since there are too many.",
    )
    .sample(&[], report.executors.len() - shown.len());
}

pub(super) fn spark(view: &WorkerViewOfItself) -> SparkGauges {
    let (cores, mebibytes) = (view.cores_used().0, view.memory_used().0);
    let mut gauges = SparkGauges::default();
    gauges.add("worker.coresFree".to_owned(), view.cores.0 - cores);
    gauges.add("worker.coresUsed".to_owned(), cores);
    gauges.add("worker.executors".to_owned(), view.executors.len());
    gauges.add("worker.memFree_MB".to_owned(), view.memory.0 - mebibytes);
    gauges.add("worker.memUsed_MB".to_owned(), mebibytes);
    gauges
}
