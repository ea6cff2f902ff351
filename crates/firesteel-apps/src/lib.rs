//! Applications that come with Firesteel, and the clusters that they run on.
//!
//! [`launch`], [`map`] and [`shell`] are the applications. [`startup`] opens an application's files and gets its
//! [`cluster`]. A [`master_url`] names the cluster; [`local_cluster`] starts a cluster on this machine. [`end_reason`]
//! explains why an application ended, and [`table`] formats tables and durations. [`hosts`] starts daemons on other
//! machines. [`detached`] holds applications that keep running after their command has returned. `scratch` is the
//! temporary directory of a command.

pub mod cluster;
pub mod detached;
pub mod end_reason;
pub mod hosts;
pub mod launch;
pub mod local_cluster;
pub mod map;
pub mod master_url;
mod scratch;
pub mod shell;
pub mod startup;
pub mod table;
