//! `firesteel simulate --from`: shows how other policies would have decided on the cluster in a Master's journal.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use firesteel_master::Config;
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::PageSize;
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_sim::draft::Draft;

use super::Args;
use crate::cli::exit::{Exit, Failure};
use crate::cli::journal;
use crate::cli::placement::plan;

/// Lets each policy decide on the cluster in the journal of this directory.
pub(super) fn run(args: &Args, directory: &Path) -> Result<Exit, Failure> {
    let recorded = journal::read(directory)?;
    let written = written(&recorded.path);
    let config = Config { page: PageSize::UNBOUNDED, ..Config::default() };
    let mut master = recorded.recover(config, written).map_err(|error| journal::failure(&error))?;
    let mut draft = Draft::of_recorded(&mut master, written);
    draft.scheduling = SchedulingSettings {
        order: args.order.order(),
        queues: args.queues.clone().unwrap_or_default(),
        reservations: args.reservations.into(),
        preemption: args.preemption(),
        ..draft.scheduling
    };
    if args.anew {
        draft = draft.emptied();
    }
    let name = format!("{} as of {written}", directory.display());
    plan::compare(name, draft, &args.policies(), args.json, &args.pictures)
}

/// The time when a file was written. If the journal is not in a file: the current time.
fn written(path: &Path) -> Timestamp {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    let since_epoch = modified.unwrap_or_else(|_| SystemTime::now()).duration_since(UNIX_EPOCH);
    Timestamp::default() + since_epoch.unwrap_or_default()
}
