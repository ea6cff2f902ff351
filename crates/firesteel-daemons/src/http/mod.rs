//! The HTTP server of a daemon: JSON for monitors, whether it is alive and ready, and metrics.
//!
//! - `server`: accepts connections, within bounds; knows no path
//! - `answer`: what a request gets
//! - `master`, `worker`: the paths of each daemon, with what they answer
//! - `rest`: Spark's REST protocol for submissions, at a port of its own
//! - `snapshot`: a daemon's state, read from its owner at most once a second; `inquiry`: how the owner is asked
//! - `jackson`: JSON in the layout of Spark's pages
//! - `exposition`: metrics in the text format of Prometheus; `vitals`: those that every daemon has
//!
//! The owner loop does nothing for HTTP but answer the questions that `firesteel status` asks, and count. The server has a
//! thread of its own, which makes all texts.

mod answer;
mod exposition;
mod inquiry;
mod jackson;
pub(crate) mod master;
pub(crate) mod rest;
mod server;
mod snapshot;
mod vitals;
pub(crate) mod worker;

pub use server::HttpError;
pub(crate) use server::Server;
