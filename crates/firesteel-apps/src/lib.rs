//! Applications that come with Firesteel, and the clusters that they run on.
//!
//! [`launch`], [`map`] and [`shell`] are the applications. Each begins in [`beginning`], which
//! opens its files and gets its [`cluster`]. A [`master_url`] names the cluster; [`local_cluster`]
//! starts one on this machine. [`over`] explains why an application ended, and [`table`] formats
//! tables and durations.

pub mod beginning;
pub mod cluster;
pub mod launch;
pub mod local_cluster;
pub mod map;
pub mod master_url;
pub mod over;
pub mod shell;
pub mod table;
