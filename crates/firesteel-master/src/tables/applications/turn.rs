//! The order of applications of the same priority in a queue.

use std::time::Duration;

use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::messages::ApplicationDescription;
use firesteel_protocol::scheduling::ServingOrder;
use firesteel_protocol::time::Timestamp;

/// The run time that is assumed for applications without an estimate. Applications without a gang also have their turn
/// later by this time.
const HOUR: Duration = Duration::from_secs(3600);

/// The time at which an application is due. The earliest time comes first. Among equal times, the first registration
/// comes first.
///
/// By [`ServingOrder::Shortest`], an application is due when it has waited for as long as its executors run together:
/// three executors for ten minutes are due half an hour after they were submitted. So applications with less work go
/// first, but none waits for ever: once an application is due, later submissions come after it. Applications without a
/// gang are due an hour later. This helps gangs, which can use free resources only if all of them are free at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn(Timestamp);

impl Turn {
    pub(crate) fn new(
        order: ServingOrder,
        submitted: Timestamp,
        description: &ApplicationDescription,
        run_time: Option<Duration>,
    ) -> Self {
        match order {
            // All applications have the same turn, so they are served in the order of registration.
            ServingOrder::Registration => Self::default(),
            ServingOrder::Shortest => {
                let own = run_time.unwrap_or(HOUR);
                let executors = u32::try_from(executors(description)).unwrap_or(u32::MAX);
                let work = own.saturating_mul(executors);
                Self(submitted + if description.gang > 1 { work } else { work.saturating_add(HOUR) })
            }
        }
    }
}

/// The number of executors with which an application starts, or which it wants at first. One if it sets no number.
fn executors(description: &ApplicationDescription) -> u64 {
    if description.gang > 1 {
        return description.gang;
    }
    let by_limit = match description.initial_limit {
        ExecutorLimit::AtMost(limit) => Some(limit),
        ExecutorLimit::Unlimited => None,
    };
    let each = description.profile.cores.filter(|cores| *cores > Cores::ZERO);
    let by_cores = description.max_cores.zip(each).and_then(|(max, each)| u64::try_from(max.0 / each.0).ok());
    [by_limit, by_cores].into_iter().flatten().min().unwrap_or(1).max(1)
}
