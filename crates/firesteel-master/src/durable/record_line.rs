//! Records in words, a line each. They show no secrets: neither tokens nor what commands are told.

use std::fmt;

use firesteel_placement::Cores;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::messages::{
    DriverDescription, ExecutorTarget, PastRow, Used, WorkerDescription, WorkerRemark, WorkerState,
};
use firesteel_protocol::time::Timestamp;

use crate::durable::record::{DriverEnd, Record};
use crate::tables::workers::standing::{Leave, WorkerStanding};

/// Written as `application 0: executor 3 launched on Worker 1 with 2 cores and 1 GiB`.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(f, "at {time}"),
            Self::Founded(counters) => write!(
                f,
                "next numbers: application {}, Worker {}; ids of applications count from {}",
                counters.applications, counters.workers, counters.first_application
            ),
            Self::WorkerRegistered { worker, description } => {
                write!(f, "Worker {worker} registered: ")?;
                write_worker(f, description)
            }
            Self::WorkerChanged { worker, standing } => write_standing(f, *worker, standing),
            Self::WorkerRemoved { worker, cause, last_heard } => match cause.state() {
                WorkerState::Left => {
                    write!(f, "Worker {worker} left in order: {cause}; last heard at {last_heard}")
                }
                _ => write!(f, "Worker {worker} lost: {cause}; last heard {last_heard}"),
            },
            Self::ApplicationRegistered { app, id, max_cores, description } => {
                let (name, user) = (&description.name, &description.user);
                write!(f, "application {app} registered: {id} ({name:?} of {user:?})")?;
                match *max_cores {
                    Cores::UNLIMITED => Ok(()),
                    cores => write!(f, ", at most {}", counted(cores.0, "core")),
                }
            }
            Self::TargetsSet { app, targets } => {
                write!(f, "application {app}: wants")?;
                let mut separator = "";
                for ExecutorTarget { id, total, .. } in targets {
                    write!(f, "{separator} {total} of profile {id}")?;
                    separator = ",";
                }
                Ok(())
            }
            Self::HostsPreferred { app, wishes } => {
                let (preferred, avoided) = (wishes.preferred.len(), wishes.avoided.len());
                write!(f, "application {app}: prefers {} and avoids {avoided}", counted(preferred, "host"))
            }
            Self::ApplicationChanged { app, standing } => {
                write!(f, "application {app}: {} in a row", counted(standing.in_a_row, "failure"))?;
                write_until(f, ", waits", standing.hold_until)?;
                match standing.blame.len() {
                    0 => Ok(()),
                    workers => write!(f, ", blames {}", counted(workers, "Worker")),
                }
            }
            Self::ExecutorLaunched { app, executor, worker, profile: _, cores, memory, resources } => {
                write!(f, "application {app}: executor {executor} launched on Worker {worker} with ")?;
                write!(f, "{} and {memory}", counted(cores.0, "core"))?;
                match resources {
                    None => Ok(()),
                    Some(resources) => write!(f, " and {resources}"),
                }
            }
            Self::ExecutorStarted { app, executor } => {
                write!(f, "application {app}: executor {executor} runs")
            }
            Self::ExecutorEnded { app, executor, state, used } => {
                write!(f, "application {app}: executor {executor} ended: {state}")?;
                write_used(f, *used)
            }
            Self::EndLearned { app, executor, status, used } => {
                write!(f, "application {app}: the process of executor {executor} ended")?;
                status.iter().try_for_each(|status| write!(f, ": {status}"))?;
                write_used(f, *used)
            }
            Self::ApplicationEnded { app, end } => write!(f, "application {app} ended: {end}"),
            Self::FormerWorker { worker, description } => {
                write!(f, "Worker {worker}, now lost: ")?;
                write_worker(f, description)
            }
            Self::DeadWorker { view, forgotten_at } => {
                write!(f, "lost Worker {} listed until {forgotten_at}", view.id)?;
                let departure = view.remark.as_ref().and_then(WorkerRemark::departure);
                departure.iter().try_for_each(|it| write!(f, "; gone since {}: {}", it.at, it.cause))
            }
            Self::ApplicationRestored(image) => write!(
                f,
                "  of which {} ended before; the next is executor {}",
                counted(image.ended.len() as u64 + image.forgotten, "executor"),
                image.next_executor
            ),
            Self::EndedRestored(image) => {
                write!(f, "application {} had ended: {} ({})", image.app, image.row.id, image.end)
            }
            Self::DriverSubmitted { driver, id, description } => {
                let DriverDescription { user, cores, memory, supervise, .. } = &**description;
                let supervised = if *supervise { ", supervised" } else { "" };
                write!(f, "cluster driver {driver} submitted: {id} of {user:?} with ")?;
                write!(f, "{} and {memory}", counted(cores.0, "core"))?;
                for (name, amount) in &description.resources {
                    write!(f, " and {amount} of {name:?}")?;
                }
                f.write_str(supervised)
            }
            Self::DriverLaunched { driver, worker, resources } => {
                write!(f, "cluster driver {driver}: launched on Worker {worker}")?;
                if resources.is_empty() { Ok(()) } else { write!(f, " with {resources}") }
            }
            Self::ForeignHeld(true) => f.write_str("executors of another state are left alone for a while"),
            Self::ForeignHeld(false) => f.write_str("executors of another state are no longer left alone"),
            Self::DriverReturned { driver } => write!(f, "cluster driver {driver}: waits again"),
            Self::DriverKillAsked { driver } => write!(f, "cluster driver {driver}: asked to end"),
            Self::DriverEnded { driver, end } => {
                let DriverEnd { state, restarts, used } = &**end;
                write!(f, "cluster driver {driver} ended: {state}")?;
                restarts.iter().try_for_each(|it| {
                    write!(f, "; started again {}, last {}", counted(it.restarts, "time"), it.last)
                })?;
                write_used(f, *used)
            }
            Self::EndedDriverRestored(image) => {
                write!(
                    f,
                    "cluster driver {} had ended: {} ({})",
                    image.driver, image.view.id, image.view.state
                )
            }
            Self::Archived(row) => match &**row {
                PastRow::Application(past) => {
                    write!(f, "application {} ended before: {}", past.number, past.view.id)
                }
                PastRow::Driver { number, view, .. } => {
                    write!(f, "cluster driver {number} ended before: {}", view.id)
                }
            },
            Self::CompletedCleared => f.write_str("ended applications and cluster drivers forgotten"),
            Self::DriversCounted { drivers, last_worker } => {
                write!(f, "next number of a cluster driver: {drivers}")?;
                match last_worker {
                    None => Ok(()),
                    Some(worker) => write!(f, "; the last one was given to {worker}"),
                }
            }
        }
    }
}

fn write_worker(f: &mut fmt::Formatter<'_>, description: &WorkerDescription) -> fmt::Result {
    let WorkerDescription { id, host, port, cores, memory, .. } = description;
    write!(f, "{id} at {host}:{port} with {} and {memory}", counted(cores.0, "core"))
}

fn write_standing(f: &mut fmt::Formatter<'_>, worker: u64, standing: &WorkerStanding) -> fmt::Result {
    let WorkerStanding { leaving, asked, distrust } = standing;
    match (leaving, distrust.until) {
        (true, _) => match asked {
            None => write!(f, "Worker {worker}: about to end"),
            Some(Leave { by: None }) => write!(f, "Worker {worker}: asked to leave"),
            Some(Leave { by: Some(by) }) => write!(f, "Worker {worker}: asked to leave by {by}"),
        },
        (false, Some(until)) => write!(f, "Worker {worker}: excluded until {until}"),
        (false, None) => write!(f, "Worker {worker}: given executors"),
    }
}

fn write_used(f: &mut fmt::Formatter<'_>, used: Option<Used>) -> fmt::Result {
    let Some(Used { cpu_millis, peak_memory }) = used else { return Ok(()) };
    write!(f, "; it used {cpu_millis} ms of processor time and at most {} MiB of memory", peak_memory >> 20)
}

fn write_until(f: &mut fmt::Formatter<'_>, what: &str, until: Option<Timestamp>) -> fmt::Result {
    match until {
        None => Ok(()),
        Some(until) => write!(f, "{what} until {until}"),
    }
}
