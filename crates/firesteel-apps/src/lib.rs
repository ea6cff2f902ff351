//! Applications that Firesteel brings along, and the clusters that they run on.

pub mod beginning;
pub mod cluster;
pub mod launch;
pub mod local_cluster;
pub mod map;
pub mod master_url;
pub mod over;
pub mod shell;
pub mod table;
