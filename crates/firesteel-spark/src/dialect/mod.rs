//! The classes of one peer's release, and references in the format of that release.
//!
//! - `generation.rs`: which release of Spark a peer's messages show
//! - `vocabulary.rs`: the serial version ids of a peer's classes, known or learned
//! - `classes.rs`: the classes that Firesteel writes, with their fields and serial version ids
//! - `composer.rs`: makes the objects of a message
//! - `copy.rs`: copies a part of one graph into another
//! - `fragment.rs`: a part of a peer's message that is passed on unchanged
//! - `reference.rs`: a peer's reference to itself, which is the model of references to the Master

mod classes;
mod composer;
mod copy;
mod fragment;
mod generation;
mod reference;
mod vocabulary;

pub(crate) use classes::{
    APPLICATION_FINISHED, APPLICATION_REMOVED, DRIVER_STATUS_RESPONSE, EXECUTOR_ADDED, EXECUTOR_UPDATED,
    KILL_DRIVER_RESPONSE, KILL_EXECUTOR, LAUNCH_EXECUTOR, MASTER_CHANGED, RECONNECT_WORKER,
    REGISTER_WORKER_FAILED, REGISTERED_APPLICATION, REGISTERED_WORKER, SUBMIT_DRIVER_RESPONSE,
    WORKER_REMOVED,
};
pub(crate) use composer::Composer;
pub use fragment::Fragment;
pub use generation::{Generation, Release};
pub(crate) use generation::{PROFILE, of_failure};
pub use reference::Reference;
pub(crate) use vocabulary::told;
pub use vocabulary::{ClassNames, UnknownSerialId};

/// The data that is needed to write messages for one peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// The classes of the peer's release.
    pub vocabulary: ClassNames,
    /// The peer's release of Spark, as far as its classes show the release; `None` if it is unknown.
    pub release: Option<Release>,
    /// The peer's reference to itself, the model for references to the Master.
    pub reference: Reference,
}
