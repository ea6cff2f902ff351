//! Commands from the user's view: options, settings, output and exit codes.

mod cli;
mod client;
mod cluster_command;
mod config;
mod json;
mod logs;
mod man;
mod sbin;
mod settings;
mod standard_streams;
pub(super) mod terminal;
mod top;
