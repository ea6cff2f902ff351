//! The needs of a profile's next executor, as JSON.

use firesteel_placement::advanced::resources::ResourceQuantities;
use firesteel_placement::explain::outlook::{Bound, Fit, Lack, Outlook, Remedy, TurnedDown};
use firesteel_placement::{Quantity, ResourceAmounts};
use serde::Serialize;

/// The exact needs of a profile's next executor.
#[derive(Serialize)]
pub(super) struct NextExecutor<'a> {
    /// Whether the next executor fits on a Worker now, if the application's own limits are ignored.
    has_room: bool,
    /// Whether some Worker is large enough for the executor when the Worker is empty.
    can_ever_fit: bool,
    more_cores: Option<i64>,
    limit: Option<u64>,
    /// The changes that would help. Each of them is sufficient by itself.
    remedies: Vec<Remedied<'a>>,
    turned_down: Vec<Lacking<'a>>,
}

/// One remedy. The fields that are not `None` are the things that have to change.
#[derive(Default, Serialize)]
struct Remedied<'a> {
    /// The Worker on which the resources of the next three fields would have to be free.
    worker: Option<&'a str>,
    more_free_cores: Option<i64>,
    more_free_memory_mib: Option<i64>,
    more_free_resources: Option<&'a ResourceQuantities>,
    executor_cores: Option<i64>,
    executor_memory_mib: Option<i64>,
    executor_resources: Option<ResourceAmounts>,
}

/// Workers that lack `cores`, `memory_mib`, or the resource with this name.
#[derive(Serialize)]
struct Lacking<'a> {
    lack: &'a str,
    workers: u64,
    nearest: Quantity,
    farthest: Quantity,
}

impl<'a> NextExecutor<'a> {
    pub(super) fn of(outlook: &'a Outlook) -> Self {
        let Outlook { bounds, fit, turned_down } = outlook;
        let (has_room, can_ever_fit, remedies) = match fit {
            Fit::Now => (true, true, &[][..]),
            Fit::Later(remedies) => (false, true, &remedies[..]),
            Fit::Never(remedies) => (false, false, &remedies[..]),
        };
        let mut next = Self {
            has_room,
            can_ever_fit,
            more_cores: None,
            limit: None,
            remedies: remedies.iter().map(Remedied::of).collect(),
            turned_down: turned_down.iter().map(Lacking::of).collect(),
        };
        for bound in bounds {
            match bound {
                Bound::MoreCores(more) => next.more_cores = Some(more.0),
                Bound::Limit(limit) => next.limit = Some(*limit),
            }
        }
        next
    }
}

impl<'a> Remedied<'a> {
    fn of(remedy: &'a Remedy) -> Self {
        match remedy {
            Remedy::Freed { worker, more } => Self {
                worker: Some(worker),
                more_free_cores: Some(more.cores.0),
                more_free_memory_mib: Some(more.memory.0),
                more_free_resources: Some(&more.resources),
                ..Self::default()
            },
            Remedy::ExecutorCores(cores) => Self { executor_cores: Some(cores.0), ..Self::default() },
            Remedy::ExecutorMemory(memory) => Self { executor_memory_mib: Some(memory.0), ..Self::default() },
            Remedy::ExecutorResource { name, amount } => Self {
                executor_resources: Some(ResourceAmounts::from([(name.clone(), *amount)])),
                ..Self::default()
            },
            Remedy::ExecutorCoresAndMemory(cores, memory) => {
                Self { executor_cores: Some(cores.0), executor_memory_mib: Some(memory.0), ..Self::default() }
            }
        }
    }
}

impl<'a> Lacking<'a> {
    fn of(turned_down: &'a TurnedDown) -> Self {
        let TurnedDown { lack, workers, nearest, farthest } = turned_down;
        let lack = match lack {
            Lack::Cores => "cores",
            Lack::Memory => "memory_mib",
            Lack::Resource(name) => name,
        };
        Self { lack, workers: *workers, nearest: *nearest, farthest: *farthest }
    }
}
