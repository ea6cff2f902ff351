//! The HTTP server of a daemon: pages for people, JSON for monitors, health and metrics.
//!
//! - `server`: accepts connections, within limits; knows no paths
//! - `site`: the interface to the daemon that is served
//! - `question`, `query`: requests; `answer`: responses; `names`: the host names by which readers may call the server
//! - `pages`: the common parts of both daemons' pages
//! - `master`, `worker`: the paths of each daemon, with their responses
//! - `rest`: Spark's REST protocol for submissions, at a port of its own
//! - `snapshot`: a daemon's state, read from its owner at most once a second; `inquiry`: how the owner gets requests
//! - `jackson`: JSON in the layout of Spark's pages
//! - `exposition`: metrics in the text format of Prometheus; `vitals`: the metrics of every daemon
//!
//! For HTTP, the owner loop only counts, and answers the requests that `firesteel status` sends. The server has a
//! thread of its own, which makes all texts.

mod answer;
mod exposition;
mod inquiry;
mod jackson;
pub(crate) mod master;
mod names;
mod pages;
mod query;
mod question;
pub(crate) mod rest;
mod server;
mod site;
mod snapshot;
mod vitals;
pub(crate) mod worker;

pub use server::HttpError;
pub(crate) use server::Server;
