//! The metrics of a Master. A second page has the metrics of Spark's Master under Spark's names.

use std::collections::BTreeMap;
use std::time::SystemTime;

use firesteel_host::journal::JournalMeter;
use firesteel_host::meter::{OwnerMeter, Traffic};
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::{
    ApplicationState, ApplicationView, Impairment, MasterView, Usage, WorkerRemark, WorkerReport,
    WorkerState, WorkerView, sum,
};

use super::Status;
use crate::http::exposition::Exposition;
use crate::http::server::HttpMeter;
use crate::http::vitals::{self, OwnerNames, SparkGauges};
use crate::wording::application::state as state_name;

/// The maximum number of applications with separate metrics. The applications that registered first count.
const MOST_APPLICATIONS: usize = 100;

/// The maximum number of applications on the metrics page that uses the names of Spark's metrics.
const MOST_SPARK_APPLICATIONS: usize = 1000;

const OWNER: OwnerNames = OwnerNames {
    events: "firesteel_master_event_duration_seconds",
    inbox_messages: "firesteel_master_inbox_messages",
    inbox_bytes: "firesteel_master_inbox_bytes",
    outbox_bytes: "firesteel_master_outbox_bytes",
    connections: "firesteel_master_connections",
};

pub(super) struct Source<'a> {
    pub(super) owner: (&'a OwnerMeter, Traffic),
    pub(super) journal: Option<&'a JournalMeter>,
    /// The state of the Master. `None`: the Master did not answer in time.
    pub(super) view: Option<&'a MasterView>,
}

pub(super) fn of_standby(started: SystemTime, meter: &HttpMeter) -> String {
    let mut page = Exposition::default();
    status(&mut page, Some(Status::Standby));
    vitals::process(&mut page, started);
    vitals::http(&mut page, meter);
    page.finish()
}

pub(super) fn of_leader(started: SystemTime, meter: &HttpMeter, source: &Source<'_>) -> String {
    let mut page = Exposition::default();
    status(&mut page, source.view.map(Status::of));
    page.gauge(
        "firesteel_master_answers",
        "Whether the Master answered in time; without it, its state is missing here.",
    )
    .sample(&[], u8::from(source.view.is_some()));
    let (owner, traffic) = source.owner;
    vitals::owner(&mut page, &OWNER, owner, traffic);
    if let Some(journal) = source.journal {
        journal_metrics(&mut page, journal);
    }
    if let Some(view) = source.view {
        state(&mut page, view);
    }
    vitals::process(&mut page, started);
    vitals::http(&mut page, meter);
    page.finish()
}

/// Adds the status metrics. `None`: the Master is the leader, but its exact status is unknown.
fn status(page: &mut Exposition, status: Option<Status>) {
    let mut family =
        page.gauge("firesteel_master_status", "1 for the status that the Master has, 0 for the others.");
    for it in Status::ALL {
        let has_it = status == Some(it);
        family = family.sample(&[("status", &it.name().to_lowercase())], u8::from(has_it));
    }
}

fn journal_metrics(page: &mut Exposition, journal: &JournalMeter) {
    page.histogram(
        "firesteel_master_journal_commit_duration_seconds",
        "How long a batch of records takes to become durable.",
        &journal.commits.distribution(),
    );
    page.counter("firesteel_master_journal_written_bytes_total", "Bytes that were written to the journal.")
        .sample(&[], journal.bytes.get());
    page.counter(
        "firesteel_master_journal_images_total",
        "How often an image replaced the journal's batches.",
    )
    .sample(&[], journal.images.get());
}

const WORKER_STATES: [(WorkerState, &str); 5] = [
    (WorkerState::Alive, "alive"),
    (WorkerState::Decommissioned, "decommissioned"),
    (WorkerState::Dead, "dead"),
    (WorkerState::Unknown, "unknown"),
    (WorkerState::Left, "left"),
];

const APPLICATION_STATES: [(ApplicationState, &str); 6] = [
    (ApplicationState::Waiting, "waiting"),
    (ApplicationState::Running, "running"),
    (ApplicationState::Unknown, "unknown"),
    (ApplicationState::Finished, "finished"),
    (ApplicationState::Failed, "failed"),
    (ApplicationState::Killed, "killed"),
];

fn state(page: &mut Exposition, view: &MasterView) {
    page.gauge("firesteel_master_lag_seconds", "How long messages of Workers and drivers waited lately.")
        .sample(&[], view.lag_millis as f64 / 1e3);
    workers(page, view);
    let mut family =
        page.gauge("firesteel_master_applications", "Applications that the Master lists, by state.");
    for (state, name) in APPLICATION_STATES {
        let all = view.applications.iter().chain(&view.completed);
        family = family.sample(&[("state", name)], all.filter(|app| app.result() == state).count());
    }
    let executors: u64 = view.applications.iter().map(|app| app.executors_live).sum();
    page.gauge("firesteel_master_executors", "Executors that have not ended.").sample(&[], executors);
    usage(page, view);
    queues(page, view);
    applications(page, view);
}

fn workers(page: &mut Exposition, view: &MasterView) {
    let sums = |page: &mut Exposition, name, help, of: fn(&WorkerView) -> i64| {
        let mut family = page.gauge(name, help);
        for (state, label) in WORKER_STATES {
            let of_state = view.workers.iter().filter(|worker| worker.state == state);
            family = family.sample(&[("state", label)], of_state.map(of).sum::<i64>());
        }
    };
    sums(page, "firesteel_master_workers", "Workers that the Master lists, by state.", |_| 1);
    sums(page, "firesteel_master_cores", "Cores of the Workers, by their state.", |worker| worker.cores.0);
    sums(
        page,
        "firesteel_master_cores_used",
        "Cores that executors and cluster drivers hold, by their Worker's state.",
        |worker| worker.cores_used.0,
    );
    sums(page, "firesteel_master_memory_bytes", "Memory of the Workers, by their state.", |worker| {
        worker.memory.0 << 20
    });
    sums(
        page,
        "firesteel_master_memory_used_bytes",
        "Memory that executors and cluster drivers hold, by their Worker's state.",
        |worker| worker.memory_used.0 << 20,
    );
    let impaired = |is: fn(&Impairment) -> bool| {
        view.workers.iter().filter(|worker| worker.impairment.as_ref().is_some_and(is)).count()
    };
    page.gauge(
        "firesteel_master_workers_impaired",
        "Workers that get no executors until something is mended.",
    )
    .sample(&[("reason", "deaf")], impaired(|it| *it == Impairment::Deaf))
    .sample(&[("reason", "cannot_start")], impaired(|it| matches!(it, Impairment::CannotStart(_))));
    let late = view.workers.iter().filter(|worker| worker.remark == Some(WorkerRemark::Late)).count();
    page.gauge("firesteel_master_workers_late", "Workers of which two heartbeats are missing.")
        .sample(&[], late);
    let excluded = view.workers.iter().filter(|worker| worker.excluded_until.is_some()).count();
    page.gauge(
        "firesteel_master_workers_excluded",
        "Workers that no application uses for now, since executors failed there.",
    )
    .sample(&[], excluded);
}

fn reports(view: &MasterView) -> impl Iterator<Item = &WorkerReport> {
    view.workers.iter().filter_map(|worker| Some(&worker.report.as_ref()?.report))
}

/// The usage of executors, as measured by Workers.
fn usage(page: &mut Exposition, view: &MasterView) {
    let all = sum(reports(view).map(WorkerReport::of_executors));
    page.gauge("firesteel_master_executors_cpu_cores", "Cores that all executors used lately.")
        .sample(&[], all.millicores as f64 / 1e3);
    page.gauge("firesteel_master_executors_memory_bytes", "Memory in RAM of all executors.")
        .sample(&[], all.memory);
}

/// The queues in the settings. Without any, a single queue called `default`.
fn queues(page: &mut Exposition, view: &MasterView) {
    let mut names: Vec<&str> = view.scheduling.queues.iter().map(|queue| queue.name.as_str()).collect();
    if names.is_empty() {
        names.push("default");
    }
    let of = |name: &str, app: &&ApplicationView| app.queue.as_deref().unwrap_or("default") == name;
    let mut family =
        page.gauge("firesteel_master_queue_applications", "Live applications by queue and state.");
    for name in &names {
        for (state, label) in &APPLICATION_STATES[..3] {
            let in_queue = view.applications.iter().filter(|app| of(name, app));
            let number = in_queue.filter(|app| app.state == *state).count();
            family = family.sample(&[("queue", name), ("state", label)], number);
        }
    }
    let mut family =
        page.gauge("firesteel_master_queue_cores_used", "Cores that the applications of a queue hold.");
    for name in &names {
        let in_queue = view.applications.iter().filter(|app| of(name, app));
        family = family.sample(&[("queue", name)], in_queue.map(|app| app.cores_granted.0).sum::<i64>());
    }
}

fn applications(page: &mut Exposition, view: &MasterView) {
    let all = &view.applications;
    let mut used: BTreeMap<&AppId, Usage> = BTreeMap::new();
    for (executor, usage) in reports(view).flat_map(|report| &report.executors) {
        let of_app = used.entry(&executor.app).or_default();
        *of_app = sum([*of_app, *usage].into_iter());
    }
    let shown = &all[..all.len().min(MOST_APPLICATIONS)];
    let each = |page: &mut Exposition, name, help, of: fn(&ApplicationView) -> u64| {
        let mut family = page.gauge(name, help);
        for app in shown {
            family = family.sample(&[("app", app.id.as_str()), ("name", &app.name)], of(app));
        }
    };
    each(page, "firesteel_application_cores", "Cores that a live application holds.", |app| {
        u64::try_from(app.cores_granted.0).unwrap_or(0)
    });
    each(page, "firesteel_application_executors", "Executors of a live application.", |app| {
        app.executors_live
    });
    each(
        page,
        "firesteel_application_executors_ended",
        "Executors of a live application that have ended.",
        |app| app.executors_ended,
    );
    let of = |app: &ApplicationView| used.get(&app.id).copied().unwrap_or_default();
    let mut family = page.gauge("firesteel_application_cpu_cores", "Cores that its executors used lately.");
    for app in shown {
        let cores = of(app).millicores as f64 / 1e3;
        family = family.sample(&[("app", app.id.as_str()), ("name", &app.name)], cores);
    }
    let mut family = page.gauge("firesteel_application_memory_bytes", "Memory in RAM of its executors.");
    for app in shown {
        family = family.sample(&[("app", app.id.as_str()), ("name", &app.name)], of(app).memory);
    }
    page.gauge(
        "firesteel_master_applications_not_shown",
        "Live applications without metrics of their own, beyond the first 100.",
    )
    .sample(&[], all.len() - shown.len());
}

pub(super) fn spark_master(view: &MasterView) -> SparkGauges {
    let alive = view.workers.iter().filter(|worker| worker.state == WorkerState::Alive).count();
    let waiting = view.applications.iter().filter(|app| app.state == ApplicationState::Waiting).count();
    let mut gauges = SparkGauges::default();
    gauges.add("master.aliveWorkers".to_owned(), alive);
    gauges.add("master.apps".to_owned(), view.applications.len());
    gauges.add("master.waitingApps".to_owned(), waiting);
    gauges.add("master.workers".to_owned(), view.workers.len());
    gauges
}

/// The metrics of Spark's Master about each application.
pub(super) fn spark_applications(view: &MasterView) -> SparkGauges {
    let mut gauges = SparkGauges::default();
    let all = view.applications.iter().chain(view.completed.iter().rev());
    for app in all.take(MOST_SPARK_APPLICATIONS) {
        let name = |metric: &str| format!("application.{}.{}.{metric}", app.name, app.submitted.millis());
        let until = app.ended.unwrap_or(view.now);
        let runtime = u64::try_from(until.since(app.submitted).as_millis()).unwrap_or(u64::MAX);
        gauges.add(name("cores"), app.cores_granted.0);
        gauges.add(name("runtime_ms"), runtime);
        gauges.add(name("status"), state_name(app.state));
    }
    gauges
}
