//! The daemons of Firesteel: the shell around the state machines of `firesteel-core`.

pub mod beginning;
pub mod clock;
pub mod cluster;
pub mod daemon;
pub mod description;
pub mod driver_daemon;
pub mod executor;
pub mod exit_code;
pub mod files;
pub mod inbox;
mod kind;
pub mod launch;
pub mod local_cluster;
pub mod map;
pub mod master;
pub mod master_url;
pub mod net;
pub mod over;
pub mod owner;
mod process_group;
pub mod settings;
pub mod shell;
pub mod signals;
mod start_failure;
pub mod table;
pub mod version;
pub mod worker;
