//! Masters and applications as JSON: the values of `status` and `explain`. The name of a field ends in its unit. States
//! have the same words as in the tables.

mod application;
mod driver;
mod executor;
mod next_executor;
mod scheduling;
mod usage;
mod worker;

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use firesteel_protocol::messages::MasterView;
use firesteel_settings::scheduling::settings;
use serde::Serialize;

pub(super) use application::{Application, Detail};
pub(in crate::cli) use driver::Driver;
use firesteel_host::plain;
pub(super) use scheduling::Scheduling;
use usage::WorkerUsage;
use worker::Worker;

/// The part of the help that describes these JSON values.
pub(super) const HELP: &str = "\
In JSON, schema is incremented on incompatible changes. Names end in their unit: _ms, _mib and, for what is measured, _bytes; a point in time is in \
milliseconds since 1970 (UTC). The rows of a large cluster are read one page at a time, between began_ms and now_ms; a row that existed the \
whole time appears exactly once. lag_ms says how long messages of Workers and drivers recently waited for the Master. States \
have the names of the tables. settings has the properties by which the Master's scheduler decides, with their values.

An executor has id, worker, profile, state, exit_code (128 + N for signal N; null while it runs), error, cores, memory_mib, \
resources, host, port, directory, launched_ms, started_ms, ended_ms.

A Worker has excluded_for, the number of applications for which it is excluded. It may have excluded_until_ms (it is excluded \
for all applications until then), impairment (it is given nothing new, because something is wrong with it), label (it runs \
only Spark executors of these releases), and once it is lost or has left gone_ms and gone_why.

An application has id, name, user, state, end, outcome (succeeded, failed, cancelled, or null if its driver does not say), \
outcome_words, submitted_ms, ended_ms, queue, priority, gang, max_cores, cores_granted, executor_memory_mib, \
executors_live, executors_ended, executors_forgotten, executors.

A driver that was submitted with firesteel submit has id, user, command, cores, memory_mib, resources (the addresses that it was \
given), supervise, state, exit_code, error, successor (the driver that took its place), worker, host, port, directory, submitted_ms, \
launched_ms, ended_ms.

A row of usage has worker, web_address, reported_ms, machine (cores, cpu_millicores in use, memory), disk (of the work directory), \
executors (app, executor, cpu_ms, cpu_millicores, memory_bytes, peak_memory_bytes) and drivers. Memory and disk have total_bytes \
and available_bytes. Workers measure every 5 s. A Worker that has reported nothing has no row.";

/// A JSON value of a command, with its schema version.
#[derive(Serialize)]
pub(in crate::cli) struct Document<T> {
    pub(in crate::cli) schema: u32,
    #[serde(flatten)]
    pub(in crate::cli) value: T,
}

/// Writes a JSON value with this schema version to standard output.
pub(in crate::cli) fn print(schema: u32, value: impl Serialize) -> io::Result<()> {
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, &Document { schema, value })?;
    writeln!(stdout)
}

#[derive(Serialize)]
pub(in crate::cli) struct Master<'a> {
    schema: u32,
    url: &'a str,
    /// The Master's time when the Master made the first row.
    began_ms: u64,
    /// The Master's time when the Master made the last row.
    now_ms: u64,
    /// How long recent messages of Workers and drivers waited for the Master to handle them.
    lag_ms: u64,
    /// Whether other machines can connect to the Master without a secret.
    is_exposed: bool,
    /// The settings of the Master's scheduler, as properties.
    settings: BTreeMap<&'static str, String>,
    workers: Vec<Worker<'a>>,
    applications: Vec<Application<'a>>,
    completed: Vec<Application<'a>>,
    /// The cluster drivers, live and ended, in the order of their submission.
    drivers: Vec<Driver<'a>>,
    /// The latest reports of live Workers.
    usage: Vec<WorkerUsage<'a>>,
}

impl<'a> Master<'a> {
    /// The version of this JSON value. Version 5 uses one name for each thing.
    const SCHEMA: u32 = 5;

    pub(in crate::cli) fn of(view: &'a MasterView) -> Self {
        let MasterView {
            url,
            began,
            now,
            web_address: _,
            scheduling,
            reserved: _,
            lag_millis,
            workers,
            applications,
            completed,
            drivers,
            unread_executors: _,
            is_exposed,
        } = view;
        Self {
            schema: Self::SCHEMA,
            url,
            began_ms: began.millis(),
            now_ms: now.millis(),
            lag_ms: *lag_millis,
            is_exposed: *is_exposed,
            settings: settings(scheduling).into_iter().collect(),
            workers: workers.iter().map(Worker::of).collect(),
            applications: applications.iter().map(Application::of).collect(),
            completed: completed.iter().map(Application::of).collect(),
            drivers: drivers.iter().map(Driver::of).collect(),
            usage: workers.iter().filter_map(|it| it.report.as_deref()).map(WorkerUsage::of).collect(),
        }
    }
}
