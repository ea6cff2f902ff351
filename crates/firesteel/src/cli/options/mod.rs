//! Options that several commands have.

pub(super) mod any_bytes;
pub(super) mod common;
pub(super) mod conf;
pub(super) mod flag_value;
