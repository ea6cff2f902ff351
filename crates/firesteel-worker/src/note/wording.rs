//! The notes of a Worker in words.

use std::fmt;

use firesteel_placement::advanced::words::{counted, none_or};
use firesteel_protocol::messages::DriverState;

use super::Note;

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { master_url, duplicate } => {
                write!(f, "registered with {master_url}{}", if_known(*duplicate))
            }
            Self::MasterLost { master_url, executors } => {
                write!(f, "lost the connection to {master_url}; {} running; reconnecting", count(*executors))
            }
            Self::MasterUnreachable { master, error } => write!(f, "cannot reach {}: {error}", master.url()),
            Self::MasterSilent { master } => write!(f, "{} does not answer", master.url()),
            Self::MasterHungUp { master } => {
                write!(f, "{} closed the connection without an answer", master.url())
            }
            Self::MasterStandsBy { master, leader: Some(leader) } => {
                write!(f, "{} stands by: {} leads", master.url(), leader.url())
            }
            Self::MasterStandsBy { master, leader: None } => {
                write!(f, "{} stands by, and no Master leads yet", master.url())
            }
            Self::Dispute(dispute) => dispute.fmt(f),
            Self::Refused { master, refusal } => {
                write!(f, "{} rejected this Worker: {refusal}", master.url())
            }
            Self::NextRound { failed, pause } => {
                write!(f, "retrying to register in {:.1} s, after {}", pause.as_secs_f64(), attempts(*failed))
            }
            Self::AskedToReconnect { master_url } => {
                write!(f, "{master_url} does not know this Worker: registering again")
            }
            Self::NotMyMaster { peer, message } => {
                write!(f, "dropped {message} from peer {peer}, which is not this Worker's Master")
            }
            Self::LaunchRepeated { executor } => {
                write!(f, "ignored a repeated request to launch executor {executor}")
            }
            Self::FetchingFiles { app, files, bytes, source } => {
                write!(f, "fetching {} ({bytes} bytes) of {app} from {source}", file_count(*files))
            }
            Self::FilesFetched { app } => write!(f, "fetched the files of {app}"),
            Self::FilesFailed { app, error } => write!(f, "cannot get the files of {app}: {error}"),
            Self::CannotStart { error } => {
                write!(f, "cannot start executors, and takes none until it can: {error}")
            }
            Self::CanStartAgain => f.write_str("can start executors again"),
            Self::StrayFetch { app } => write!(f, "dropped the files of {app}: no longer needed"),
            Self::ExecutorStarted { executor, pid } => write!(f, "executor {executor} runs as process {pid}"),
            Self::ExecutorEnded { executor, state } => write!(f, "executor {executor} ended: {state}"),
            Self::KillAsked { executor } => write!(f, "the Master ends executor {executor}"),
            Self::KillUnknown { executor } => {
                write!(f, "ignored a request to end executor {executor}: it does not run here")
            }
            Self::GraceOver { executor } => {
                write!(f, "executor {executor} did not end after SIGTERM: sending SIGKILL")
            }
            Self::UnknownRunner { executor } => write!(f, "a runner without a row: executor {executor}"),
            Self::EndForgotten { executor } => {
                write!(f, "too many ends that no Master confirmed: dropped that of executor {executor}")
            }
            Self::DriverLaunchRepeated { driver } => {
                write!(f, "answered a repeated request to launch {driver}")
            }
            Self::DriverStarted { driver, pid, starts: 1 } => write!(f, "{driver} runs as process {pid}"),
            Self::DriverStarted { driver, pid, starts } => {
                write!(f, "{driver} runs again as process {pid}; it was started {starts} times")
            }
            Self::DriverPauses { driver, status, pause } => {
                write!(f, "{driver} ended with {status}: starting it again after {} s", pause.as_secs())
            }
            Self::DriverEnded { driver, state: DriverState::Submitted } => {
                write!(f, "gave {driver} back to the Master")
            }
            Self::DriverEnded { driver, state } => write!(f, "{driver} ended: {state}"),
            Self::DriverKillAsked { driver } => write!(f, "the Master ends {driver}"),
            Self::DriverKillUnknown { driver } => {
                write!(f, "ignored a request to end {driver}: it does not run here")
            }
            Self::DriverGraceOver { driver } => {
                write!(f, "{driver} did not end after SIGTERM: sending SIGKILL")
            }
            Self::UnknownDriverRunner { driver } => write!(f, "a runner without a row: {driver}"),
            Self::DirectoriesRemoved { directories, unwritten_for } => {
                let (applications, seconds) = (ended_applications(*directories), unwritten_for.as_secs());
                write!(f, "removing the work of {applications}, not written for {seconds} s")
            }
            Self::SurplusRemoved { executors } => {
                let oldest = counted(*executors as u64, "ended executor");
                write!(f, "removing the work of the oldest {oldest}: more than the limits allow is kept")
            }
            Self::AskedToLeave { executors, within } => {
                let running = count(*executors);
                write!(
                    f,
                    "asked to leave: taking no more executors, and ending when none is left; {running} running"
                )?;
                within.map_or(Ok(()), |within| {
                    write!(f, "; what runs after {} s is ended", within.as_secs_f64())
                })
            }
            Self::ShuttingDown { executors } => write!(f, "shutting down with {}", count(*executors)),
            Self::ShutdownForced { executors } => {
                write!(f, "asked again to shut down: killing {}", count(*executors))
            }
            Self::LeftBehind { executors } => {
                write!(f, "ending, although {} did not end", counted(*executors as u64, "killed executor"))
            }
        }
    }
}

/// The rest of a sentence about a registration: whether the Master knew this Worker already.
fn if_known(duplicate: bool) -> &'static str {
    if duplicate { ", which had this Worker on another connection" } else { "" }
}

fn file_count(count: usize) -> String {
    counted(count as u64, "file")
}

fn attempts(count: u32) -> String {
    counted(count, "attempt")
}

fn ended_applications(count: usize) -> String {
    counted(count as u64, "ended application")
}

/// A number of executors: `no executor`, `2 executors`.
fn count(executors: usize) -> String {
    none_or(executors as u64, "executor")
}
