//! Requests of status clients, and their answers.

pub(crate) mod history;
mod logs;
pub(crate) mod plain_name;
pub(crate) mod questions;
pub(crate) mod reasons;
pub(crate) mod view;
