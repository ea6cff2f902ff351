//! The daemons around the state machines. The part of a daemon called shell feeds events to the state machine and
//! performs the machine's effects.
//!
//! - [`master`]: the Master's daemon.
//! - [`worker`]: the Worker's daemon, which runs executors as child processes.
//! - [`executor`]: the executor's daemon, which runs tasks as child processes.
//! - [`driver_daemon`]: the driver's daemon, which runs inside the command that submits an application.
//! - [`files`]: the files of an application, from the driver to the Workers.
//! - [`wording`]: texts for the reports of Masters and Workers.
//! - [`http`]: the HTTP server of Master and Worker.
//! - [`master_client`]: a client that asks Masters; [`log_client`]: logs, as such a client reads them.
//! - [`life_lock`]: locked files that show whether a process is alive.
//! - [`join`]: how a machine without a secret becomes a Worker.
//! - [`secret`]: secrets for applications and Workers.
//! - `tls`: certificates, and the handshakes of TLS.
//! - `exposure`: warnings of daemons that run as root or that other machines can reach.
//! - [`cluster_event`], [`remark`]: events that a driver does not get from its Masters, and a driver's remarks.

pub mod cluster_event;
pub mod driver_daemon;
pub mod executor;
mod exposure;
pub mod files;
pub mod http;
pub mod join;
pub mod life_lock;
pub mod log_client;
pub mod master;
pub mod master_client;
pub mod master_journal;
pub mod remark;
pub mod secret;
pub mod spark;
mod tls;
pub mod wording;
pub mod worker;
