//! Firesteel on somebody else's cluster: Hadoop YARN.
//!
//! ```text
//!   firesteel map --master yarn                        ResourceManager                     NodeManagers
//!  +----------------------------+   submit, watch     +---------------+
//!  | client: stages files and a | ------------------> |               |  start    +---------------------------+
//!  | Blueprint, submits, waits  | <------------------ |               | --------> | firesteel                 |
//!  |                            |   host and port     |               |           |   application-master      |
//!  |  driver  - - - - - - - - - | - - - - - - - - - - - - - - - - - - - - - - - > |  register, allocate, start|
//!  +----------------------------+     RegisterApplication, ExecutorAdded, ..      +---------------------------+
//!                                                                                      | startContainers
//!                                     RegisterExecutor, LaunchTask, ..            +---------------------------+
//!             driver  <---------------------------------------------------------- | ./firesteel executor ..   |
//!                                                                                 +---------------------------+
//! ```
//!
//! The ApplicationMaster answers a Master's side of the driver protocol. It listens like a Master, registers with the
//! ResourceManager under the address where it does, and whoever dials that finds a Master that has one application.
//! So drivers, launchers and executors do not know where they run.
//!
//! Three ways of one daemon, which differ in who starts it and where the driver is
//! ([`Deploy`](blueprint::Deploy)):
//!
//! - *client*: it runs in a container, the driver where the application was submitted;
//! - *unmanaged*: it is a task of the submitter's own process;
//! - *cluster*: it runs in a container, and so does the driver: a program that it starts, whose `MASTER` it is.
//!
//! [`Blueprint`](blueprint::Blueprint) is all that it is told.

pub mod addresses;
pub mod application_master;
pub mod blueprint;
pub mod client;
pub mod cluster_mode;
pub mod container_logs;
pub mod contexts;
pub mod hadoop_conf;
pub mod monitor;
pub mod racks;
pub mod site;
pub mod site_file;
pub mod staging;
pub mod states;
pub mod submission;
pub mod wished;
