//! The parts from which a placement is made. Firesteel's other crates use them beyond a [`Cluster`](crate::Cluster).
//!
//! A Master keeps its own tables, for which it needs an [`index`] and a [`policy::Chooser`]. Drivers and YARN mode
//! match tasks and containers to hosts ([`locality`]). These modules may change in any release.

/// The share of a cluster that an application or queue holds, compared with others.
pub mod dominant_share {
    pub use crate::dominant_share::DominantShare;
}

/// The time when several executors fit at once, if running executors end as expected.
pub mod forecast {
    pub use crate::forecast::{Booking, Ending, Forecast, Planned, beside, forecast};
}

/// The Workers of a cluster in an order that is kept up to date, so that a placement looks only at the Workers it uses.
pub mod index {
    pub use crate::index::{Index, Share, Slot};
}

/// The rule by which tasks and containers are matched to preferred hosts, to racks, or to any host.
pub mod locality {
    pub use crate::locality::{
        Expected, HostPreference, Locality, LocalityIndex, Naming, Pending, Sites, Topology, TopologyError,
        host_preferences, nearness, needs, next_match, single_host_preferences,
    };
}

/// Placement over a list of offers, which looks at each offer.
pub mod offers {
    pub use crate::assign::{Assignment, assign};
    pub use crate::order::order;
    pub use crate::place::{OfferExecutor, OfferPlacement, place, place_ranked};
}

/// The choice of Workers by any rule ([`Chooser`](crate::advanced::policy::Chooser)), and one function for each rule
/// that is not Spark's.
pub mod policy {
    pub use crate::policy::expression::{LONGEST, Wrong};
    pub use crate::policy::{
        Candidate, Changes, Chooser, ClusterTotal, DemandModel, DemandStatistics, EXPRESSION, Formula,
        Measure, PlacementCache, Rest, Workers, fill, fill_by_rest, spread_held,
    };
}

/// The choice of the executors that must end so that others fit, and the cost of this on each Worker.
pub mod preemption {
    pub use crate::preemption::{Chosen, Cost, Costs, PreemptibleWorker, Victim, victims};
}

/// Capacity that is kept for several executors at once, although it is not free yet.
pub mod reservation {
    pub use crate::reservation::{WorkerCapacity, reserve};
}

/// Custom resources as text, their kinds, and how the tasks of an executor share its addresses.
pub mod resources {
    pub use crate::resources::amount::{NoAmount, ResourceQuantities, WHOLE};
    pub use crate::resources::resource_name::{kind, overlapping, serves, without_kind};
    pub use crate::resources::{
        AddressPool, AddressTwice, FreeAddresses, NoTaskAmount, TakenAddresses, TaskAmount, TaskResources,
    };
}

/// Counts, durations and lists in English sentences.
pub mod words {
    pub use crate::words::{are, choice, counted, duration, have, list, none_or, noun, of_resource};
}
