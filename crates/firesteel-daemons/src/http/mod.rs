//! The HTTP server of a daemon: pages for people, JSON for monitors, whether it is alive and ready, and metrics.
//!
//! - `server`: accepts connections, within bounds; knows no path
//! - `site`: what is served to browsers and monitors
//! - `question`, `query`: what a request asks; `answer`: what it gets; `names`: how readers may call the server
//! - `pages`: what the pages of both daemons have in common
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
