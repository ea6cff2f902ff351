//! Firesteel on a Hadoop YARN cluster: submission, the ApplicationMaster's daemon, and monitoring.
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
//! The ApplicationMaster implements the Master's side of the driver protocol. It listens like a Master and registers
//! its address with the ResourceManager. A driver that connects to this address finds a Master with a single
//! application. So drivers, launchers and executors do not know that they run on YARN.
//!
//! The daemon runs in one of three modes ([`Deploy`](blueprint::Deploy)):
//!
//! - *client*: the daemon runs in a container, and the driver runs on the machine where the application was submitted;
//! - *unmanaged*: the daemon is a task of the submitting process, like the driver;
//! - *cluster*: the daemon runs in a container and starts the driver there, as a program whose variable `MASTER` names
//!   the daemon.
//!
//! The modules, in the order of an application's life:
//!
//! - [`site`], [`hadoop_conf`], [`site_file`], [`addresses`], [`racks`]: the YARN cluster, from Hadoop's configuration.
//! - [`submission`], [`contexts`], [`staging`], [`preferred_hosts`]: the submission of an application, with its staged
//!   files and preferred hosts.
//! - [`client`], [`cluster_mode`]: the submitting command after the submission, in each mode.
//! - [`monitor`], [`states`]: watching an application's reports.
//! - [`blueprint`], [`application_master`]: the ApplicationMaster, and the file with its instructions.
//! - [`container_logs`]: the output of containers.

pub mod addresses;
pub mod application_master;
pub mod blueprint;
pub mod client;
pub mod cluster_mode;
pub mod container_logs;
pub mod contexts;
pub mod hadoop_conf;
pub mod monitor;
pub mod preferred_hosts;
pub mod racks;
pub mod site;
pub mod site_file;
pub mod staging;
pub mod states;
pub mod submission;
