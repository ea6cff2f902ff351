//! What the other crates of Firesteel use beyond a [`Cluster`](crate::Cluster): the parts of which a placement is made.
//!
//! A Master keeps tables of its own, for which it needs an [`index`] and a [`policy::Chooser`]; drivers and YARN mode
//! match tasks and containers to hosts ([`locality`]). These modules may change in any release.

/// How much of the cluster an application or queue has, compared with others.
pub mod dominant_share {
    pub use crate::dominant_share::DominantShare;
}

/// When several executors fit at once, if running executors end when they are expected to.
pub mod forecast {
    pub use crate::forecast::{Booking, Ending, Forecast, Planned, beside, forecast};
}

/// A cluster kept in order, so that a placement looks only at the Workers that it uses.
pub mod index {
    pub use crate::index::{Index, Share, Slot};
}

/// The one rule by which tasks and containers are matched to hosts, racks, anywhere.
pub mod locality {
    pub use crate::locality::{
        Expected, HostPreference, Locality, LocalityIndex, Naming, Pending, Sites, Topology, TopologyError,
        host_preferences, nearness, needs, next_match, single_host_preferences,
    };
}

/// Placement over a list of offers, with a look at each of them.
pub mod offers {
    pub use crate::assign::{Assignment, assign};
    pub use crate::order::order;
    pub use crate::place::{OfferExecutor, OfferPlacement, place, place_ranked};
}

/// The choice of Workers by any rule ([`Chooser`](crate::advanced::policy::Chooser)), and rules other than Spark's, one
/// function each.
pub mod policy {
    pub use crate::policy::expression::{LONGEST, Wrong};
    pub use crate::policy::{
        Candidate, Changes, Chooser, ClusterTotal, DemandModel, DemandStatistics, EXPRESSION, Formula,
        Measure, PlacementCache, Rest, Workers, fill, fill_by_rest, spread_held,
    };
}

/// Which executors end so that others fit, and what that costs on each Worker.
pub mod preemption {
    pub use crate::preemption::{Chosen, Cost, Costs, PreemptibleWorker, Victim, victims};
}

/// Capacity that is kept for several executors at once and is not free yet.
pub mod reservation {
    pub use crate::reservation::{WorkerCapacity, reserve};
}

/// Custom resources in words, their kinds, and how the tasks of an executor share its addresses.
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
