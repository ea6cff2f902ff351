//! The HTTP server of a daemon: pages for people, JSON for monitors, health and metrics.
//!
//! - `server`: accepts connections, within limits; knows no paths
//! - `site`: the interface to the daemon that is served
//! - `question`, `query`: requests; `answer`: responses; `names`: the host names that a request may use for the server;
//!   `password`: who may send requests
//! - `sign_in`, `sessions`: the page on which a reader of pages signs in, and the readers who have
//! - `pages`: the common parts of both daemons' pages
//! - `master`, `worker`: the paths of each daemon, with their responses
//! - `rest`: Spark's REST protocol for submissions, at a port of its own
//! - `rpc_port`: JSON, health and REST at the port of the daemon's own protocol
//! - `snapshot`: a daemon's state, read from its owner at most once a second; `inquiry`: how the owner gets requests
//! - `jackson`: JSON in the layout of Spark's pages
//! - `exposition`: metrics in the text format of Prometheus; `vitals`: the metrics of every daemon
//!
//! The owner loop does little work for HTTP: it counts, and it answers the same requests that `firesteel status` sends.
//! The server runs on a thread of its own, which renders all texts.

mod answer;
mod exposition;
mod inquiry;
mod jackson;
pub(crate) mod master;
mod names;
mod pages;
mod password;
mod query;
mod question;
pub(crate) mod rest;
mod rpc_port;
mod server;
mod sessions;
mod sign_in;
mod site;
mod snapshot;
mod vitals;
pub(crate) mod worker;

pub(crate) use names::Names;
pub(crate) use password::Passwords;
pub(crate) use rpc_port::{FIRSTS, RestAtRpcPort, RpcPortSite};
pub use server::HttpError;
pub(crate) use server::Server;
