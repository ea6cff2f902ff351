//! How one peer wants to be spoken to: its generation of Spark, and what only it can tell.
//!
//! - `generation.rs`: which Scala and which release a peer's messages show
//! - `classes.rs`: the classes that we write, with their fields and serial version ids
//! - `composer.rs`: makes the objects of a message
//! - `reference.rs`: a peer's reference to itself, which is the model of a reference to us

mod classes;
mod composer;
mod generation;
mod reference;

pub(crate) use classes::{
    APPLICATION_REMOVED, EXECUTOR_ADDED, EXECUTOR_UPDATED, MASTER_CHANGED, REGISTERED_APPLICATION,
    WORKER_REMOVED,
};
pub(crate) use composer::Composer;
pub use generation::{Generation, Release};
pub use reference::Reference;

/// How one peer wants to be spoken to.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// The generation of its classes.
    pub generation: Generation,
    /// Its release of Spark, as far as its classes show it. `None`: a release that is not known here.
    pub release: Option<Release>,
    /// Its reference to itself.
    pub reference: Reference,
}
