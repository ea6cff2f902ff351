//! How one peer wants to be spoken to: with the classes of its release, and with references like its own.
//!
//! - `generation.rs`: which release of Spark a peer's messages show
//! - `vocabulary.rs`: the serial version ids of a peer's classes, known or learned
//! - `classes.rs`: the classes that we write, with their fields and serial version ids
//! - `composer.rs`: makes the objects of a message
//! - `copy.rs`: copies a part of one graph into another
//! - `fragment.rs`: a part of a peer's message that is sent on as it is
//! - `reference.rs`: a peer's reference to itself, which is the model of a reference to us

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
pub use vocabulary::{NotTold, Vocabulary};

/// How one peer wants to be spoken to.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// Its classes.
    pub vocabulary: Vocabulary,
    /// Its release of Spark, as far as its classes show it. `None`: a release that is not known here.
    pub release: Option<Release>,
    /// Its reference to itself.
    pub reference: Reference,
}
