//! The notes as lines of the log.

use std::fmt;
use std::time::Duration;

use firesteel_placement::advanced::words::{counted, none_or};

use super::{Ignored, Note};

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkerRegistered { worker, cores, memory } => {
                write!(f, "registered {worker} with {} and {memory}", counted(cores.0, "core"))
            }
            Self::WorkerReconnected { worker } => write!(f, "{worker} reconnected"),
            Self::ApplicationReconnected { app } => write!(f, "{app} reconnected"),
            Self::Recovered => f.write_str("all Workers and applications are back"),
            Self::WorkerLeaving { worker } => {
                write!(f, "{worker} is shutting down: it gets no more executors")
            }
            Self::WorkerRefused { worker, reason } => write!(f, "refused {worker:?}: {reason}"),
            Self::WorkersExcused { workers, late } => write!(
                f,
                "this Master stood still or was busy for {:.1} s; {} get their time again",
                late.as_secs_f64(),
                counted(*workers, "silent Worker")
            ),
            Self::OrderRepeated { executor, worker } => {
                write!(f, "{worker} did not answer the request to launch {executor}: asked again")
            }
            Self::WorkerImpaired { worker, impairment } => {
                write!(f, "{worker} is given nothing new for now: it {impairment}")
            }
            Self::WorkerRecovered { worker } => write!(f, "{worker} is given executors again"),
            Self::Behind { lag } => write!(
                f,
                "this Master is behind: messages wait for {:.1} s before it handles them",
                lag.as_secs_f64()
            ),
            Self::CaughtUp { longest } => write!(
                f,
                "this Master has caught up: messages waited for up to {:.1} s",
                longest.as_secs_f64()
            ),
            Self::WorkerRemoved { worker, reason, executors } => {
                write!(f, "removed {worker} with {}: {reason}", none_or(*executors as u64, "executor"))
            }
            Self::ApplicationRegistered { app, name } => write!(f, "registered {app} ({name})"),
            Self::ApplicationRefused { name, reason } => {
                write!(f, "refused an application ({name}): {reason}")
            }
            Self::ApplicationRemoved { app, end } => write!(f, "removed {app}: {end}"),
            Self::Reserved { app, executors, workers, at } => {
                let workers = counted(*workers as u64, "Worker");
                write!(f, "{app} waits for {executors} executors at once: reserved room on {workers}")?;
                at.map_or(Ok(()), |at| write!(f, ", and expected to start at {at}"))
            }
            Self::GangNeverFits { app, executors, room } => {
                write!(
                    f,
                    "{app} needs {executors} executors at once, and all Workers together have room for {room}"
                )
            }
            Self::ExecutorLaunched { executor, worker, cores, memory } => {
                let cores = counted(cores.0, "core");
                write!(f, "launching executor {executor} on {worker} with {cores} and {memory}")
            }
            Self::ExecutorPreempted { executor, by } => {
                write!(f, "ending executor {executor} to make room for {by}")
            }
            Self::ExecutorEnded { executor, state } => write!(f, "executor {executor} is {state}"),
            Self::RelaunchDelayed { app, failures, millis } => {
                let failed = counted(*failures, "executor");
                write!(f, "{failed} of {app} failed in a row: next launch in {millis} ms")
            }
            Self::WorkerExcluded { worker, app, end, millis } => {
                write!(
                    f,
                    "executors of {app} {end} on {worker}: excluding {worker} for {app} for {millis} ms"
                )
            }
            Self::WorkerDistrusted { worker, millis } => write!(
                f,
                "executors of several applications fail on {worker} and run elsewhere: excluding {worker} for all \
                 applications for {millis} ms"
            ),
            Self::UnknownExecutor { executor, worker } => {
                write!(f, "{worker} runs {executor}, which belongs to no known application: stopping it")
            }
            Self::WorkerLeft { worker } => write!(f, "{worker} has left"),
            Self::WorkerLate { worker, silent } => write!(
                f,
                "no heartbeat of {worker} for {} s: it is lost if it stays silent for spark.worker.timeout",
                silent.as_secs()
            ),
            Self::WorkerHeard { worker } => write!(f, "{worker} sends heartbeats again"),
            Self::EndedExecutorReturned { executor, worker, state, ended } => write!(
                f,
                "{worker} still runs {executor}, which counts as {state} since {ended}: stopping it"
            ),
            Self::ForeignHeld { worker, executors, drivers, place, remaining } => {
                let what = match (executors, drivers) {
                    (_, 0) => counted(*executors as u64, "executor"),
                    (0, _) => counted(*drivers as u64, "driver"),
                    _ => {
                        let executors = counted(*executors as u64, "executor");
                        format!("{executors} and {}", counted(*drivers as u64, "driver"))
                    }
                };
                write!(f, "{worker} runs {what} of another Master: this one's state, in {place}, is new. ")?;
                write_advice(f, *remaining)
            }
            Self::ForeignDriverWaits { app, executors, place, remaining } => {
                let executors = counted(*executors as u64, "executor");
                write!(f, "{app} has returned with {executors}, and this Master does not know it: ")?;
                write!(f, "its state, in {place}, is new. ")?;
                write_advice(f, *remaining)
            }
            Self::DriverSubmitted { driver, user } => write!(f, "{user:?} submitted {driver}"),
            Self::DriverRefused { why } => write!(f, "refused a driver: {why}"),
            Self::DriverLaunched { driver, worker, cores, memory, resources } => {
                write!(f, "launching {driver} on {worker} with {} and {memory}", counted(cores.0, "core"))?;
                if resources.is_empty() { Ok(()) } else { write!(f, " and {resources}") }
            }
            Self::DriverOrderRepeated { driver, worker } => {
                write!(f, "{worker} did not answer the request to launch {driver}: asked again")
            }
            Self::DriverReturned { driver, worker } => {
                write!(f, "{driver} did not run on {worker}, and waits for a Worker again")
            }
            Self::DriverKillAsked { driver, by } => write!(f, "{by} asked for the end of {driver}"),
            Self::DriverEnded { driver, state } => write!(f, "{driver} is {state}"),
            Self::UnknownDriver { driver, worker } => {
                write!(f, "{worker} runs {driver}, which is not to run there: stopping it")
            }
            Self::Audited(audit) => audit.fmt(f),
            Self::Inconsistent(violation) => write!(f, "a bug in Firesteel, please report it: {violation}"),
            Self::Ignored { peer, reason } => write!(f, "ignored a message of connection {peer}: {reason}"),
        }
    }
}

/// What to do about executors of another state.
fn write_advice(f: &mut fmt::Formatter<'_>, remaining: Duration) -> fmt::Result {
    write!(
        f,
        "They go on for {} s, and then they are ended. To keep them, stop this Master now and start it where the old state \
         is; to end them at once, start it as a new Master",
        remaining.as_secs()
    )
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegistered => f.write_str("its Worker is not registered"),
            Self::NotItsOwn { named } => write!(f, "it names {named:?}, which does not belong to its sender"),
            Self::OddState { executor, state } => write!(f, "executor {executor} cannot become {state} now"),
            Self::UnknownExecutor { executor } => write!(f, "unknown executor {executor}"),
            Self::OddDriverState { driver, state } => write!(f, "{driver} cannot become {state} now"),
            Self::UnknownDriver { driver } => write!(f, "{driver} does not run there"),
        }
    }
}

firesteel_protocol::kinds!("master note", Note: WorkerRegistered WorkerReconnected ApplicationReconnected Recovered WorkerLeaving WorkerRefused
    WorkerRemoved WorkersExcused OrderRepeated WorkerImpaired WorkerRecovered Behind CaughtUp ApplicationRegistered ApplicationRefused ApplicationRemoved Reserved GangNeverFits
    ExecutorPreempted ExecutorLaunched ExecutorEnded RelaunchDelayed WorkerExcluded WorkerDistrusted UnknownExecutor Inconsistent
    Ignored DriverSubmitted DriverRefused DriverLaunched DriverOrderRepeated DriverReturned DriverKillAsked DriverEnded
    UnknownDriver Audited ForeignHeld ForeignDriverWaits WorkerLeft WorkerLate WorkerHeard EndedExecutorReturned);
